"""The line of the progress bar."""

from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.grades import Outcome
from baselinekit.report.terminal import format_progress
from baselinekit.report.wording import Style, width


@pytest.mark.parametrize(
    ("total", "tally", "seconds", "columns", "shown"),
    [
        (8, {}, 0.0, 60, f"comparing {'─' * 40} 0/8 -:--"),
        (8, {"passed": 2}, 2.0, 60, f"comparing {'━' * 10}{'─' * 30} 2/8 0:06"),
        (3, {"passed": 1, "failed": 1}, 9, 80, f"comparing {'━' * 26}{'─' * 14} 2/3 1 failed 0:04"),
        (20_000, {"passed": 10}, 30, 60, f"comparing {'─' * 30} 10/20,000 16:39:30"),
        (9, {"error": 2}, 7, 40, f"comparing {'━' * 2}{'─' * 9} 2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 33, "2/9 2 errors 0:24"),
        (9, {"error": 2}, 7, 17, ""),
        (9, {"error": 2}, 7, 3, ""),
        (2, {"passed": 5}, 1, 60, f"comparing {'━' * 40} 5/2 0:00"),
    ],
)
def test_format_progress_leaves_out_parts_that_do_not_fit(
    total: int, tally: Mapping[Outcome, int], seconds: float, columns: int, shown: str
) -> None:
    assert format_progress("comparing", total, tally, seconds, Style(False, columns), "━─") == shown


OUTCOMES = st.sampled_from(["passed", "failed", "error", "skipped"])


@given(
    st.integers(2, 10**6),
    st.dictionaries(OUTCOMES, st.integers(1, 10**6)),
    st.floats(0, 10**6),
    st.integers(1, 300),
)
def test_format_progress_never_reaches_the_last_column(
    total: int, tally: dict[Outcome, int], seconds: float, columns: int
) -> None:
    line = format_progress("replaying", total, tally, seconds, Style(True, columns), "━─")
    assert width(line) < columns
