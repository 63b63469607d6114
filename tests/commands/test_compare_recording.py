"""The recorder: a file of many baselines is not written for each of them, and nothing is left unwritten."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from commandline import until
from storehelp import CASE, write, write_baseline

from baselinekit.commands.recording import Recorder
from baselinekit.model.baselines import Baseline
from baselinekit.store.atomic import lock
from baselinekit.store.reading import load

pytestmark = pytest.mark.slow


@contextmanager
def recorder(root: Path, baselines: list[Baseline]) -> Iterator[Recorder]:
    sources = [one.source for one in baselines]
    with closing(Recorder(str(root), lambda: "2024-02-01T00:00:00Z", False, sources)) as writer:
        yield writer


def counts(root: Path, file: str) -> list[int]:
    return [one.metadata.failure_count for one in load([file], str(root))]


def test_recorder_writes_a_file_when_its_last_baseline_is_judged(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "".join(CASE.format(number=number) for number in range(300)))
    baselines = load(["f.yaml"], str(tmp_path))
    first = (tmp_path / "f.yaml").stat().st_ino
    with recorder(tmp_path, baselines) as writer:
        for one in baselines[:-1]:
            writer.add(one.source, False)
        assert (tmp_path / "f.yaml").stat().st_ino == first
        writer.add(baselines[-1].source, None)
        until(lambda: counts(tmp_path, "f.yaml") == [1] * 299 + [0])
    assert (writer.failures, writer.notes) == ([], [])


def test_recorder_writes_the_other_files_while_one_is_locked(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    held, free = load(files, str(tmp_path))
    with recorder(tmp_path, [held, free]) as writer, lock(str(tmp_path), files[0]):
        writer.add(held.source, False)
        writer.add(free.source, False)
        until(lambda: counts(tmp_path, files[1]) == [1])
        assert counts(tmp_path, files[0]) == [0]
    assert counts(tmp_path, files[0]) == [1]


def test_a_file_that_stays_locked_is_given_up_while_the_others_are_written(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    held, free = load(files, str(tmp_path))
    sources = [held.source, free.source]
    writer = Recorder(str(tmp_path), lambda: "2024-02-01T00:00:00Z", False, sources, wait=lambda: 0.1)
    with lock(str(tmp_path), files[0]), closing(writer):
        writer.add(held.source, False)
        writer.add(free.source, False)
    assert counts(tmp_path, files[1]) == [1]
    assert [problem.code for failure in writer.failures for problem in failure.problems] == ["BK121"]
    assert counts(tmp_path, files[0]) == [0]


def test_recorder_reports_a_file_that_was_removed(tmp_path: Path) -> None:
    baselines = load([write_baseline(tmp_path)], str(tmp_path))
    (tmp_path / "b.yaml").unlink()
    with recorder(tmp_path, baselines) as writer:
        writer.add(baselines[0].source, True)
    assert [problem.code for failure in writer.failures for problem in failure.problems] == ["BK111"]
