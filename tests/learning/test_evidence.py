"""What is said of a learnt placeholder goes with it, and one of which nothing is said is somebody's word."""

from typing import Any

import pytest

from baselinekit.learning.varying import is_handwritten, select_valid_evidence
from baselinekit.model.values import Path

BEFORE: Any = {
    "at": "<<any_iso_datetime>>",
    "id": "<<any_uuid(4)>>",
    "rows": [{"n": "<<any_integer(0)>>"}, {"n": "<<any_integer(0)>>"}],
    "text": "made <<any_iso_date>>, in two\nlines",
    "by": "<<any_email>>",
}
LEARNT = {key: f"2 replays: {key}" for key in ("at", "id", "rows.*.n", "text", "gone", "rows[1].x")}


def test_select_valid_evidence_keeps_lines_of_placeholders() -> None:
    kept = {key: LEARNT[key] for key in ("at", "id", "rows.*.n", "text")}
    assert select_valid_evidence(LEARNT, BEFORE, BEFORE) == kept
    moved = {
        **BEFORE,
        "rows": [*BEFORE["rows"], {"n": 3}],
        "text": "new\nmade <<any_iso_date>>, in two\nlines",
    }
    assert select_valid_evidence(LEARNT, BEFORE, moved) == kept


@pytest.mark.parametrize(
    ("key", "after"),
    [
        ("at", {**BEFORE, "at": "2026-01-01"}),
        ("at", {key: value for key, value in BEFORE.items() if key != "at"}),
        ("text", {**BEFORE, "text": "made today"}),
    ],
)
def test_select_valid_evidence_drops_lines_without_placeholder(key: str, after: Any) -> None:
    assert key not in select_valid_evidence(LEARNT, BEFORE, after)


@pytest.mark.parametrize(
    ("path", "value", "by_hand"),
    [
        (("at",), BEFORE["at"], False),
        (("rows", 1, "n"), "<<any_integer(0)>>", False),
        (("rows", 7, "x"), "<<any_integer(0)>>", False),  # as the row beside it has it
        (("by",), "<<any_email>>", True),
        (("by",), "ada@example.com", False),
    ],
)
def test_is_handwritten_without_evidence(path: Path, value: Any, by_hand: bool) -> None:
    assert is_handwritten(value, path, LEARNT) == by_hand
