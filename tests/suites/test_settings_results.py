"""Where the reports of a suite are kept."""

import os
from pathlib import Path

import pytest

from baselinekit.errors import Refused
from baselinekit.suites.settings import check_days, write_reports

TEXTS = {".json": "{}\n", ".md": "# x\n"}


def kept(folder: Path, started: str = "2024-01-20T14:30:52Z") -> list[str]:
    written, why = write_reports(str(folder), started, TEXTS, str(folder))
    assert why == ""
    return [os.path.relpath(path, folder) for path in written]


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


@pytest.mark.parametrize(
    "what", ["a folder", "a file", "a long file", "a link out", "a link to a file", "bytes"]
)
def test_a_latest_that_is_not_ours_is_left_as_it_is(tmp_path: Path, what: str) -> None:
    latest, other = tmp_path / "latest", tmp_path / "other"
    other.write_text("2024-01-01\n")
    made = {
        "a folder": lambda: latest.mkdir(),
        "a file": lambda: latest.write_text("precious"),
        "a long file": lambda: latest.write_text("2024-01-01\nand what else there was that day"),
        "a link out": lambda: latest.symlink_to("/tmp"),
        "a link to a file": lambda: latest.symlink_to("other"),
        "bytes": lambda: latest.write_bytes(b"\xff\xfe"),
    }
    made[what]()
    before = os.readlink(latest) if latest.is_symlink() else latest.is_dir() or latest.read_bytes()
    written, why = write_reports(str(tmp_path), "2024-01-20T14:30:52Z", TEXTS, str(tmp_path))
    assert before == (os.readlink(latest) if latest.is_symlink() else latest.is_dir() or latest.read_bytes())
    assert [os.path.basename(path) for path in written] == ["run-143052.json", "run-143052.md"]
    assert why.startswith("BK120 ")
    assert "latest was not made by baselinekit" in why


def test_f41_a_day_that_is_a_link_leads_no_report_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "p", tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    (root / "2024-01-20").symlink_to(outside)
    with pytest.raises(Refused, match="BK404"):
        check_days(str(root), str(root))
    with pytest.raises(Refused, match="BK404"):
        write_reports(str(root), "2024-01-20T14:30:52Z", TEXTS, str(root))
    assert list(outside.iterdir()) == []


def test_h64_a_file_called_latest_becomes_the_link(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("2024-01-01\n")
    kept(tmp_path)
    assert os.readlink(tmp_path / "latest") == "2024-01-20"
