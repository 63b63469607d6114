"""`baselinekit run` of cases that a model answers, as a whole process: what a trivial case takes, beside a
bare client that asks the same, and how much longer than they must slow answers take."""

import json
import os
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from heapq import heapreplace
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.measure import Ended, Engine, Say, about, in_turn, median, whole
from benchmarks.replay import command
from benchmarks.results import Found, Note, Row, Scale, Versus
from benchmarks.slow import ANSWER, answering_slowly

RUN, PEER = "run", "bare httpx client"
JOBS = 8
MOST = 0.0025
"""Seconds that a trivial case may take, of a processor and of the clock."""

SHORTEST, LONGEST = 0.1, 2.0
GOALS = {64: 1.15, 256: 1.3}


def rows(scale: Scale, say: Say) -> Found:
    yield from trivial(scale, say)
    count, longest = scale.pick(8, 2_000), LONGEST / 100 if scale.quick else LONGEST
    for jobs, goal in GOALS.items():
        yield from slow(count, longest, min(jobs, count), goal, scale.pick(1, 3 if jobs > 64 else 1), say)
    yield Note(
        "Ideal: the calls in their order, each begun as soon as one before it has ended, for nobody knows "
        "beforehand which of them take long. Ours is the whole process: the start, the files, the report."
    )
    load, cores = os.getloadavg()[1], os.cpu_count() or 1
    if load > 1.5 * cores:  # our own work is a load of one
        yield Note(
            f"Measured under a load of {load:.0f} on {cores} cores, where wall time says little but beside "
            "the bare client."
        )


def trivial(scale: Scale, say: Say) -> Found:
    """Cases of which the model answers each at once."""
    count = scale.pick(8, 5_000)
    with answering_slowly(0) as url, TemporaryDirectory() as folder:
        write(Path(folder), url, [0.0] * count)
        engines = [running(Path(folder), count, JOBS), asking(url, count, JOBS)]
        times = in_turn(engines, min(3, scale.rounds), about(say, f"{count:,} trivial cases"))
    for of in ("cpu", "wall"):
        what = f"{count:,} trivial cases"
        yield Versus(times, of).row(what, RUN, PEER)
        own = median(times[RUN], of) / count
        short = f"`run` of {count:,} trivial cases, a case" if of == "cpu" else ""
        yield Row("a trivial case", own, of=of, rounds=len(times[RUN]), goal=MOST, short=short)


def slow(count: int, longest: float, jobs: int, goal: float, rounds: int, say: Say) -> Found:
    """Cases of which the model answers each after a while of its own."""
    seconds = varying(count, longest)
    what = f"{count:,} calls of {min(seconds):.2g} to {max(seconds):.2g} s, {jobs} at once"
    with answering_slowly(0) as url, TemporaryDirectory() as folder:
        write(Path(folder), url, seconds)
        engines = [running(Path(folder), count, jobs), asking(url, count, jobs, longest)]
        times = in_turn(engines, rounds, about(say, what))
    took, least = median(times[RUN], "wall"), ideal(seconds, jobs)
    yield Row(
        f"`run` of {what}", took, "ideal", least, took / least, "wall", rounds, goal, short=f"`run` of {what}"
    )
    for of in ("wall", "cpu"):
        yield Versus(times, of).row(f"`run` of {what}", RUN, PEER)


def varying(count: int, longest: float) -> list[float]:
    """Always the same, each as likely as any other."""
    chance = random.Random(7)
    return [round(chance.uniform(longest / LONGEST * SHORTEST, longest), 4) for _ in range(count)]


def ideal(seconds: Sequence[float], jobs: int) -> float:
    """When the last of them ends, if each is begun as soon as one before it has ended."""
    ends = [0.0] * jobs
    for each in seconds:
        heapreplace(ends, ends[0] + each)
    return max(ends)


def question(number: int, seconds: float) -> str:
    return f"Say fine, for the time number {number}." + (f" It takes {seconds} s." if seconds else "")


def write(root: Path, url: str, seconds: Sequence[float]) -> None:
    """A project with one file of cases."""
    (root / "evals").mkdir()
    (root / "baselinekit.yaml").write_text(f"models: {{m: {{openai: x, base_url: '{url}'}}}}\n")
    cases = [
        {
            "id": f"case-{number}",
            "input": {"type": "prompt", "content": question(number, each)},
            "expected": {"type": "exact", "value": ANSWER},
        }
        for number, each in enumerate(seconds)
    ]
    suite = {
        "metadata": {"id": "many"},
        "config": {"execution": {"type": "prompt", "model": "m"}},
        "grader": {"type": "code", "config": {"method": "exact_match"}},
        "test_cases": cases,
    }
    (root / "evals/many.json").write_text(json.dumps(suite))


def running(root: Path, count: int, jobs: int) -> Engine:
    def right(ended: Ended) -> bool:
        return ended.exit_code == 0 and f"{count} passed" in ended.output.replace(",", "")

    argv = [*command(), "run", "-q", "-j", str(jobs), "--no-record", "evals/many.json"]
    return whole(RUN, argv, right, cwd=str(root), env={"CI": ""})


def asking(url: str, count: int, jobs: int, longest: float = 0) -> Engine:
    argv = [sys.executable, "-m", "benchmarks.evals", url, str(count), str(jobs), str(longest)]
    return whole(PEER, argv, lambda ended: ended.output.strip() == str(count))


def ask_all(url: str, count: int, jobs: int, longest: float) -> int:
    """How many of the answers were right: by a client a thread, which is what a careful hand writes."""
    seconds = varying(count, longest) if longest else [0.0] * count
    numbers, lock, good = iter(enumerate(seconds)), threading.Lock(), []

    def shared() -> Iterator[str]:
        while True:
            with lock:
                one = next(numbers, None)
            if one is None:
                return
            yield question(*one)

    def worker() -> None:
        with httpx.Client(base_url=url, verify=False) as client:
            good.append(sum(asked(client, text) for text in shared()))

    def asked(client: httpx.Client, text: str) -> bool:
        messages = [{"role": "user", "content": text}]
        answer = client.post("/v1/chat/completions", json={"model": "x", "messages": messages}).json()
        return bool(answer["choices"][0]["message"]["content"] == ANSWER)

    threads = [threading.Thread(target=worker) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(good)


if __name__ == "__main__":
    address, *rest = sys.argv[1:]
    sys.stdout.write(f"{ask_all(address, int(rest[0]), int(rest[1]), float(rest[2]))}\n")
