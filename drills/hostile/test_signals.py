"""A signal at any moment: the command ends soon, what was finished is kept, and nobody is left behind."""

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commandline import start as start_command, until
from drill import FAILING, HOLD, PASSING, ROOT, THOROUGH, Drill, record
from steady import Steady
from warm import Ended, Warm

LONGEST = 5.0
ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Processes of their own, with nothing prepared; none outlives its test."""
    with ExitStack() as all_of_them:

        def begin(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
            process = all_of_them.enter_context(start_command(folder, *words))
            all_of_them.callback(process.kill)
            return process

        yield begin


def gone(
    process: "subprocess.Popen[bytes]", *numbers: int, then: Callable[[], None] = lambda: None
) -> tuple[str, float]:
    """What a process said after these signals, and the seconds that it took to end. `then`: what happens
    once it has had all of them."""
    began = time.monotonic()
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.005)
    until(lambda: not is_pending(process.pid))
    then()
    out, err = process.communicate(timeout=4 * LONGEST)
    printed = (out + err).decode()
    assert "Traceback" not in printed, printed
    return printed, time.monotonic() - began


def clean(project: Drill, runs: Warm, ended: Ended) -> None:
    """Ended by the signal or before it; whole files, and the next run is as always."""
    assert "Traceback" not in ended.said, ended.said
    assert ended.exit_code in (130, 1, -2, -15, -1), (ended.exit_code, ended.said)
    before = project.standing()
    for id, standing in before.items():
        assert standing in ((False, 0), (id in PASSING, int(id in FAILING))), id
    again = runs.run(project.folder, "compare")
    assert again.exit_code == 1, again.said
    after = project.standing()
    assert all(after[id] == (True, 0) for id in PASSING)
    assert all(after[id].count == before[id].count + 1 for id in FAILING)
    assert project.litter() == []


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_f02_signal_at_a_random_moment_leaves_whole_files(project: Drill, runs: Warm, number: int) -> None:
    source = random.Random(int(number))
    project.lay()
    whole = min(runs.run(project.folder, "compare").seconds for _ in range(3))
    interrupted = 0
    for turn in range(100 if THOROUGH else 6):
        project.lay()
        when = source.uniform(0, whole)
        twice = [(when, number)] + [(when + source.uniform(0, 0.01), number)] * (turn % 2)
        ended = runs.run(project.folder, "compare", signals=twice)
        assert ended.seconds < LONGEST
        clean(project, runs, ended)
        interrupted += ended.exit_code != 1
    assert interrupted


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGHUP, 1), (signal.SIGPIPE, 1), (signal.SIGINT, 2), (signal.SIGTERM, 9)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_f02_signal_during_slow_requests_keeps_what_is_finished(
    tmp_path: Path, start: Start, number: int, times: int
) -> None:
    ids = [f"n{index}" for index in range(12)]
    files = {f"baselines/{id}.yaml": record(id, 1) for id in ids}
    (tmp_path / "project").mkdir()
    with Steady({"n": 1}, slow_from=4) as service:
        project = Drill(tmp_path / "project", service)
        project.lay(files)
        process = start(project.folder, "compare", "-j", "8")
        until(lambda: service.asked == 12)
        until(lambda: sum(one.passed for one in project.standing(files).values()) == 4)
        then = service.go_on if number == signal.SIGPIPE else lambda: None
        printed, took = gone(process, *[number] * times, then=then)
        service.go_on()
        further = re.findall(r"^next: baselinekit (compare .*--lf.*)$", printed, re.M)[:1]
        if number != signal.SIGPIPE:
            then_said, _ = start(project.folder, *further[0].split()).communicate(timeout=60)
            assert b"8 passed in" in then_said, (printed, then_said)
    kept = project.standing(files)
    if number == signal.SIGPIPE:  # no reason to end: a pipe that is not read is told where it is written to
        assert (process.returncode, sum(one.passed for one in kept.values())) == (0, 12), printed
        return
    assert took < LONGEST
    assert process.returncode == 130
    assert "8 skipped, 4 passed" in printed, printed
    assert sum(one.passed for one in kept.values()) == 12  # 8 of them by the next command
    assert project.litter() == []


def test_f03_compare_that_waits_for_a_lock_can_be_interrupted(project: Drill, start: Start) -> None:
    project.lay()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(project.folder)], stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        process = start(project.folder, "compare")
        until(lambda: project.standing()["d"].count == 1)
        time.sleep(0.2)
        printed, took = gone(process, signal.SIGINT, signal.SIGINT)
    finally:
        holder.kill()
        holder.communicate()
    assert (process.returncode, took < LONGEST) == (130, True), (printed, took)
    standing = project.standing()
    assert (standing["b"].count, standing["d"].count) == (0, 1)
    assert project.litter() == []


def is_pending(pid: int) -> bool:
    """Whether a signal has been sent to a process that has not reached it yet."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    if "State:\tZ" in status:
        return False
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(int(mask, 16) for mask in masks)
