"""The line of the progress bar."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.grades import Outcome
from baselinekit.report.terminal import format_progress
from baselinekit.report.wording import Style

LINES = "━─"


@pytest.mark.parametrize(
    ("total", "tally", "seconds", "columns", "shown"),
    [
        (8, {}, 0.0, 60, f"comparing {'─' * 40} 0/8 -:--"),
        (8, {"passed": 2}, 2.0, 60, f"comparing {'━' * 10}{'─' * 30} 2/8 0:06"),
        (
            3,
            {"passed": 1, "failed": 1, "error": 1},
            9,
            80,
            f"comparing {'━' * 40} 3/3 1 failed, 1 error 0:00",
        ),
        (20_000, {"passed": 10}, 30, 60, f"comparing {'─' * 30} 10/20,000 16:39:30"),
        (9, {"error": 2}, 7, 40, f"comparing {'━' * 2}{'─' * 9} 2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 35, "comparing ━───── 2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 33, "2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 30, "2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 17, "2/9 2 errors"),
        (9, {"error": 2}, 7, 12, "2/9"),
        (9, {"error": 2}, 7, 3, ""),
        (2, {"passed": 5}, 1, 60, f"comparing {'━' * 40} 5/2 0:00"),
    ],
)
def test_what_is_shown_fits(
    total: int, tally: Mapping[Outcome, int], seconds: float, columns: int, shown: str
) -> None:
    assert format_progress("comparing", total, tally, seconds, Style(False, columns), LINES) == shown


def test_colours_add_nothing_but_colours() -> None:
    tally: dict[Outcome, int] = {"passed": 1, "failed": 1}
    for columns in (60, 18):
        painted = format_progress("asking", 4, tally, 1, Style(True, columns), LINES)
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == format_progress(
            "asking", 4, tally, 1, Style(False, columns), LINES
        )
        assert "\x1b[31m1 failed\x1b[0m" in painted


@given(
    st.integers(2, 10**6),
    st.dictionaries(
        st.sampled_from(["passed", "failed", "error", "skipped", "flaky"]), st.integers(1, 10**6)
    ),
    st.floats(0, 10**6),
    st.integers(1, 300),
)
def test_no_line_reaches_the_last_column(
    total: int, tally: dict[Outcome, int], seconds: float, columns: int
) -> None:
    assert len(format_progress("replaying", total, tally, seconds, Style(False, columns), LINES)) < columns
