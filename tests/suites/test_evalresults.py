"""Where the reports of a suite are kept."""

import os
from pathlib import Path

from baselinekit.suites.evalresults import keep

TEXTS = {".json": "{}\n", ".md": "# x\n"}


def kept(folder: Path, started: str = "2024-01-20T14:30:52Z") -> list[str]:
    return [os.path.relpath(path, folder) for path in keep(str(folder), started, TEXTS, str(folder))]


def test_h64_by_day_and_time_and_latest_leads_to_the_day(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert kept(folder) == ["2024-01-20/run-143052.json", "2024-01-20/run-143052.md"]
    assert (folder / "latest" / "run-143052.md").read_text() == "# x\n"
    assert os.readlink(folder / "latest") == "2024-01-20"
    kept(folder, "2024-01-21T00:00:01Z")
    assert os.readlink(folder / "latest") == "2024-01-21"


def test_h64_two_runs_in_one_second_are_two(tmp_path: Path) -> None:
    kept(tmp_path)
    assert kept(tmp_path) == ["2024-01-20/run-143052-2.json", "2024-01-20/run-143052-2.md"]
    assert kept(tmp_path)[0] == "2024-01-20/run-143052-3.json"


def test_a_folder_that_somebody_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    kept(tmp_path)
    assert (tmp_path / "latest").is_dir()
    assert not (tmp_path / "latest").is_symlink()


def test_a_file_called_latest_becomes_the_link(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("2024-01-01\n")
    kept(tmp_path)
    assert os.readlink(tmp_path / "latest") == "2024-01-20"
