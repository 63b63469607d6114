"""Which result file somebody meant who named something beside it."""

from pathlib import Path

import pytest

from baselinekit.commands.history import find_result_file

DAY = "results/2024-01-20"
FILES = [
    f"{DAY}/run-100000.json",
    f"{DAY}/run-143052.json",
    f"{DAY}/run-143052.eval.json",
    f"{DAY}/run-143052.ctrf.json",
    f"{DAY}/run-143052.junit.xml",
    "results/2024-01-19/run-200000.json",
    "alone/x.eval.json",
    "empty/notes.txt",
]


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (f"{DAY}/run-143052.eval.json", f"{DAY}/run-143052.json"),
        (f"{DAY}/run-143052.junit.xml", f"{DAY}/run-143052.json"),
        (f"{DAY}/run-143052.json", None),
        (DAY, f"{DAY}/run-143052.json"),
        ("results", f"{DAY}/run-143052.json"),
        (".", f"{DAY}/run-143052.json"),
        ("results/latest", "results/latest/run-143052.json"),
        ("alone", None),
        ("alone/x.eval.json", None),
        ("empty", None),
        ("nowhere.json", None),
        ("latest", None),
    ],
)
def test_what_lies_beside_leads_to_the_result_file(tmp_path: Path, named: str, found: str | None) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "results/latest").symlink_to("2024-01-20")
    assert find_result_file(named, str(tmp_path), str(tmp_path)) == found
