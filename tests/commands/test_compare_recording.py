"""The recorder: a file of many baselines is not written for each of them, and nothing is left unwritten."""

from pathlib import Path

import pytest
from commandline import until
from storehelp import CASE, write, write_baseline

from baselinekit.commands.recording import Recorder
from baselinekit.model.baselines import Baseline
from baselinekit.store.atomic import lock
from baselinekit.store.reading import load

pytestmark = pytest.mark.slow


def recorder(root: Path, baselines: list[Baseline], seconds: float = 20.0) -> Recorder:
    sources = [one.source for one in baselines]
    return Recorder(str(root), lambda: "2024-02-01T00:00:00Z", False, sources, lambda: seconds)


def counts(root: Path, file: str) -> list[int]:
    return [one.metadata.failure_count for one in load([file], str(root))]


def test_recorder_writes_a_file_when_its_last_baseline_is_judged(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "".join(CASE.format(number=number) for number in range(300)))
    baselines = load(["f.yaml"], str(tmp_path))
    writer, first = recorder(tmp_path, baselines), (tmp_path / "f.yaml").stat().st_ino
    for one in baselines[:-1]:
        writer.add(one.source, False)
    assert (tmp_path / "f.yaml").stat().st_ino == first
    writer.add(baselines[-1].source, None)
    until(lambda: counts(tmp_path, "f.yaml") == [1] * 299 + [0])
    assert writer.close() == ([], ())


def test_recorder_gives_up_a_file_that_stays_locked_and_writes_the_others(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    held, free = load(files, str(tmp_path))
    writer = recorder(tmp_path, [held, free], 0.5)
    with lock(str(tmp_path), files[0]):
        writer.add(held.source, False)
        writer.add(free.source, False)
        until(lambda: counts(tmp_path, files[1]) == [1])
        _, (problem,) = writer.close()
    assert problem.startswith("BK121")
    assert counts(tmp_path, files[0]) == [0]


def test_recorder_reports_a_file_that_was_removed(tmp_path: Path) -> None:
    baselines = load([write_baseline(tmp_path)], str(tmp_path))
    (tmp_path / "b.yaml").unlink()
    writer = recorder(tmp_path, baselines)
    writer.add(baselines[0].source, True)
    _, (problem,) = writer.close()
    assert problem.startswith("BK111")
