"""How time is taken: engines in turn, round after round, so that what disturbs the machine disturbs all of
them; processor time of a thread or of this process for what runs inside, wait4 for whole processes.

An engine says after each round, outside the clock, whether its answer was right: a wrong one is no figure."""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Say = Callable[[str], None]
LEAST_SECONDS = 0.005
"""What takes less is repeated within a round, and divided."""

LONGEST_SECONDS = 900.0
"""A program that takes longer is killed."""


def about(say: Say, what: str) -> Say:
    """Say it, and of what."""
    return lambda text: say(f"{what}: {text}")


class WrongAnswerError(Exception):
    """An engine did not do the work that it is measured for."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One round of one engine, in seconds and bytes."""

    cpu: float
    wall: float
    peak: int = 0


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that can be measured. It is not asked again once its rounds took `at_most` seconds."""

    name: str
    once: Callable[[], Spent]
    at_most: float = float("inf")


Times = Mapping[str, Sequence[Spent]]


def in_turn(
    engines: Sequence[Engine], rounds: int, say: Say, given_up: dict[str, str] | None = None
) -> Times:
    """Every engine once a round. What is in memory already is no concern of the garbage collector. An engine
    with a wrong answer ends it all, unless there is a place for those that are `given_up`."""
    spent: dict[str, list[Spent]] = {engine.name: [] for engine in engines}
    gc.collect()
    gc.freeze()
    try:
        for number in range(rounds):
            for engine in engines:
                has_enough = sum(one.wall for one in spent[engine.name]) >= engine.at_most
                if has_enough or engine.name in (given_up or {}):
                    continue
                say(f"round {number + 1} of {rounds}: {engine.name}")
                try:
                    spent[engine.name].append(engine.once())
                except WrongAnswerError as error:
                    if given_up is None:
                        raise
                    given_up[engine.name] = str(error)
    finally:
        gc.unfreeze()
    return spent


def inside(
    name: str,
    run: Callable[[], Any],
    right: Callable[[Any], bool],
    *,
    clock: Callable[[], float] = time.thread_time,
    at_most: float = float("inf"),
) -> Engine:
    """A function of this process. What takes little is repeated within a round."""
    repeats = 0

    def once() -> Spent:
        nonlocal repeats
        if not repeats:
            repeats = _repeats(run) if at_most == float("inf") else 1
        gc.collect()
        began, wall = clock(), time.perf_counter()
        for _ in range(repeats):
            answer = run()
        cpu, wall = clock() - began, time.perf_counter() - wall
        if not right(answer):
            raise WrongAnswerError(f"{name}: {str(answer)[:200]}")
        return Spent(cpu / repeats, wall / repeats)

    return Engine(name, once, at_most)


def _repeats(run: Callable[[], Any]) -> int:
    began = time.perf_counter()
    run()
    return max(1, round(LEAST_SECONDS / max(time.perf_counter() - began, 1e-7)))


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that is over."""

    spent: Spent
    exit_code: int
    output: str


def process(argv: Sequence[str], cwd: str | None = None, env: Mapping[str, str] | None = None) -> Ended:
    """Run a program to its end. Its memory counts from this process's own, which is therefore kept small."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        killer = threading.Timer(LONGEST_SECONDS, child.kill)
        killer.start()
        _, status, used = os.wait4(child.pid, 0)
        killer.cancel()
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    unit = 1 if sys.platform == "darwin" else 1024
    return Ended(Spent(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * unit), child.returncode, text)


def whole(
    name: str,
    argv: Sequence[str],
    right: Callable[[Ended], bool],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] = lambda: None,
    at_most: float = float("inf"),
) -> Engine:
    """A whole process."""

    def once() -> Spent:
        before()
        ended = process(argv, cwd, env)
        if not right(ended):
            raise WrongAnswerError(f"{name}: exit code {ended.exit_code}\n{ended.output[-2000:]}")
        return ended.spent

    return Engine(name, once, at_most)


def median(spent: Sequence[Spent], of: str = "cpu") -> float:
    return float(statistics.median(getattr(one, of) for one in spent))


def ratio(ours: Sequence[Spent], theirs: Sequence[Spent], of: str = "cpu") -> float:
    """The median of the rounds' ratios: what slowed a whole round down is in both of its figures. Beside a
    peer that had few rounds, the ratio of the medians: its round may have been our odd one."""
    if len(ours) != len(theirs):
        return median(ours, of) / median(theirs, of)
    pairs = zip(ours, theirs, strict=True)
    return float(statistics.median(getattr(one, of) / getattr(other, of) for one, other in pairs))
