"""Verdicts are written where they can be, and nothing keeps the others from their files."""

from pathlib import Path
from threading import Thread

import pytest
from commandline import until
from storehelp import write_baseline

from baselinekit.commands.recording import record_verdicts
from baselinekit.model.baselines import Baseline
from baselinekit.store.atomic import lock
from baselinekit.store.reading import load
from baselinekit.store.record import Mark

pytestmark = pytest.mark.slow


def record(root: Path, baselines: list[Baseline], seconds: float = 20.0) -> tuple[list[str], tuple[str, ...]]:
    marks = [Mark(one.source, False) for one in baselines]
    return record_verdicts(str(root), marks, "2024-02-01T00:00:00Z", False, lambda: seconds)


def counts(root: Path, file: str) -> list[int]:
    return [one.metadata.failure_count for one in load([file], str(root))]


def test_record_verdicts_writes_the_other_files_while_one_is_locked(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    baselines = load(files, str(tmp_path))
    recording = Thread(target=record, args=(tmp_path, baselines))
    with lock(str(tmp_path), files[0]):
        recording.start()
        until(lambda: counts(tmp_path, files[1]) == [1])
        assert counts(tmp_path, files[0]) == [0]
    recording.join()
    assert counts(tmp_path, files[0]) == [1]


def test_record_verdicts_gives_up_a_file_that_stays_locked(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(2)]
    baselines = load(files, str(tmp_path))
    with lock(str(tmp_path), files[0]):
        _, (problem,) = record(tmp_path, baselines, 0.1)
    assert problem.startswith("BK121")
    assert [counts(tmp_path, file) for file in files] == [[0], [1]]


def test_record_verdicts_reports_a_file_that_was_removed(tmp_path: Path) -> None:
    baselines = load([write_baseline(tmp_path)], str(tmp_path))
    (tmp_path / "b.yaml").unlink()
    _, (problem,) = record(tmp_path, baselines)
    assert problem.startswith("BK111")
