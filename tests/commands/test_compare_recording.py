"""The recorder: a file of many baselines is not written for each of them, and nothing is left unwritten."""

import contextlib
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from storehelp import CASE, write, write_baseline

from baselinekit.commands.recording import _MOST_READY, Recorder
from baselinekit.model.baselines import Baseline
from baselinekit.store.atomic import STRIPES, lock
from baselinekit.store.reading import load
from baselinekit.store.record import Mark

pytestmark = pytest.mark.slow


@contextmanager
def recorder(root: Path, baselines: list[Baseline]) -> Iterator[Recorder]:
    sources = [one.source for one in baselines]
    with closing(Recorder(str(root), lambda: "2024-02-01T00:00:00Z", False, sources)) as writer:
        yield writer


def counts(root: Path, file: str) -> list[int]:
    return [one.metadata.failure_count for one in load([file], str(root))]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_file_is_written_when_its_last_baseline_is_judged(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "".join(CASE.format(number=number) for number in range(300)))
    baselines = load(["f.yaml"], str(tmp_path))
    first = (tmp_path / "f.yaml").stat().st_ino
    with recorder(tmp_path, baselines) as writer:
        began = time.monotonic()
        for one in baselines[:-1]:
            writer.add(one.source, False)
        time.sleep(0.3)
        now = (tmp_path / "f.yaml").stat().st_ino
        assert now == first or time.monotonic() - began > 1, "after a second it does not wait any longer"
        writer.add(baselines[-1].source, None)
        until(lambda: counts(tmp_path, "f.yaml") == [1] * 299 + [0])
    assert (writer.failures, writer.notes) == ([], [])


def test_nor_does_it_wait_for_ever_for_the_others(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "".join(CASE.format(number=number) for number in range(3)))
    baselines = load(["f.yaml"], str(tmp_path))
    with recorder(tmp_path, baselines) as writer:
        writer.add(baselines[0].source, False)
        until(lambda: counts(tmp_path, "f.yaml") == [1, 0, 0])
        writer.add(baselines[1].source, False)
        until(lambda: counts(tmp_path, "f.yaml") == [1, 1, 0])


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(100)]
    baselines = load(files, str(tmp_path))
    with recorder(tmp_path, baselines) as writer:
        for one in baselines[:70]:
            writer.add(one.source, False)
    assert [one.metadata.failure_count for one in load(files, str(tmp_path))] == [1] * 70 + [0] * 30


def test_a_file_that_somebody_else_writes_keeps_no_later_one_back(tmp_path: Path) -> None:
    """Its verdicts are recorded once the file is free, each of them once and in their order."""
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2, 4)]
    write(tmp_path, "held.yaml", "".join(CASE.format(number=number) for number in range(2)))
    first, second, *free = load(["held.yaml", *files], str(tmp_path))
    with recorder(tmp_path, [first, second, *free]) as writer:
        with lock(str(tmp_path), "held.yaml"):
            writer.add(first.source, False)
            writer.add(second.source, False)
            time.sleep(0.2)
            for one in free:
                writer.add(one.source, False)
                until(lambda file=one.source.file: counts(tmp_path, file) == [1])  # type: ignore[misc]
            assert counts(tmp_path, "held.yaml") == [0, 0]
        until(lambda: counts(tmp_path, "held.yaml") == [1, 1])
    assert (counts(tmp_path, "held.yaml"), writer.failures, writer.notes) == ([1, 1], [], [])


def test_a_file_that_stays_locked_is_given_up_while_the_others_are_written(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    held, free = load(files, str(tmp_path))
    sources = [held.source, free.source]
    writer = Recorder(str(tmp_path), lambda: "2024-02-01T00:00:00Z", False, sources, wait=0.1)
    with lock(str(tmp_path), files[0]), closing(writer):
        writer.add(held.source, False)
        until(lambda: bool(writer.failures))
        writer.add(free.source, False)
        until(lambda: counts(tmp_path, files[1]) == [1])
    assert [problem.code for failure in writer.failures for problem in failure.problems] == ["BK121"]
    assert counts(tmp_path, files[0]) == [0]


def test_what_goes_wrong_in_the_writer_is_told(tmp_path: Path) -> None:
    baselines = load([write_baseline(tmp_path)], str(tmp_path))
    (tmp_path / "b.yaml").unlink()
    with recorder(tmp_path, baselines) as writer:
        writer.add(baselines[0].source, True)
    assert [problem.code for failure in writer.failures for problem in failure.problems] == ["BK111"]


def test_f01_of_what_is_judged_no_more_waits_in_memory_than_a_kill_may_cost(tmp_path: Path) -> None:
    """Somebody else has all locks, so that nothing can be written: whoever brings more is held up. Beside the
    files that wait stand those that the writer has just tried, however many it took when it began."""
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(150)]
    baselines = load(files, str(tmp_path))
    most = 0

    def judge() -> None:
        nonlocal most
        for baseline in baselines:
            writer.add(baseline.source, False)
            most = max(most, len(writer._waiting))

    with recorder(tmp_path, baselines) as writer:
        judging = threading.Thread(target=judge)
        with contextlib.ExitStack() as locks:
            for file in {zlib.crc32(file.encode()) % STRIPES: file for file in files}.values():
                locks.enter_context(lock(str(tmp_path), file))
            judging.start()
            until(lambda: len(writer._waiting) > _MOST_READY)
            judging.join(0.5)
            assert judging.is_alive()
        judging.join(20)
    assert most <= 2 * (_MOST_READY + 1)
    assert [one.metadata.failure_count for one in load(files, str(tmp_path))] == [1] * 150


class ClosedMeanwhile(Recorder):
    """One that is closed when its writer knows already that this is not the last time, and begins to take."""

    closer: threading.Thread | None = None

    def _take(self, unfinished: bool) -> list[list[Mark]]:
        if self.closer is None:
            closer = threading.Thread(target=self.close, daemon=True)
            closer.start()
            self.closer = closer
            time.sleep(0.1)
        return super()._take(unfinished)


def test_a_writer_that_is_closed_at_any_moment_ends(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", CASE.format(number=0))
    (baseline,) = load(["a.yaml"], str(tmp_path))
    writer = ClosedMeanwhile(str(tmp_path), lambda: "2024-02-01T00:00:00Z", False, [baseline.source])
    writer.add(baseline.source, False)
    until(lambda: writer.closer is not None)
    assert writer.closer is not None
    writer.closer.join(10)
    assert not writer.closer.is_alive()
    assert counts(tmp_path, "a.yaml") == [1]
