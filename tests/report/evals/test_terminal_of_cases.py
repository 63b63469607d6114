"""Eval cases on a terminal: what each grader made of an output, each attempt, and why cases were skipped."""

from typing import Any

import pytest
from report.reports import report, result

from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import CaseFacts, Result
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.sections import skipped_blocks
from baselinekit.report.terminal import format_failure
from baselinekit.report.wording import Style
from baselinekit.structs import replace

PLAIN = Style(colour=False, width=50)
HOSTILE = "fine\x1b[31m\nPASSED  b\n" * 60
JUDGE = Grade("judge", "model", "failed", 0.4, HOSTILE, details={HOSTILE: HOSTILE, "scores": {"tone": 2}})
BRIEF = Grade("brief", "code", "passed", 1.0, "it has 12 words", required=False, line=7)


def failed(*attempts: Attempt, **facts: Any) -> Result:
    return replace(result("a", "failed"), case=CaseFacts("capability", attempts), **facts)


def test_format_failure_lists_every_attempt_with_its_reason() -> None:
    error = Attempt(1, "error", None, (), "the judge answered in no form", "BK702")
    attempts = (error, Attempt(2, "passed", 1.0), Attempt(3, "failed", 0.0, (), "too long", again=2))
    assert format_failure(failed(*attempts, reason="too long"), PLAIN).splitlines()[-3:] == [
        "  attempt 1  error          BK702 the judge answered in no form",
        "  attempt 2  passed  1.000",
        "  attempt 3  failed  0.000  too long replayed 2 more times",
    ]


@pytest.mark.parametrize("verbose", [False, True])
def test_format_failure_escapes_grades_and_shows_their_details_with_verbose(verbose: bool) -> None:
    attempt = Attempt(1, "failed", 0.4, (JUDGE, BRIEF), output="Hello\x1b[2J")
    text = format_failure(failed(attempt), replace(PLAIN, verbose=verbose))
    assert ("\x1b" in text, "\nPASSED" in text, "+ Hello\\x1b[2J" in text) == (False, False, True)
    row = "brief  code, optional  passed  1.000  baselines/shop/users-list.yaml:7  it has 12 words"
    assert row in text
    assert ('scores: {"tone": 2}' in text) == verbose


def test_skipped_blocks_have_a_line_for_each_reason() -> None:
    def skipped(id: str, reason: str) -> Result:
        return replace(result(id, "skipped"), reason=reason)

    few = report(*(skipped(f"c{n}", "later") for n in range(5)), skipped("x", "no \x1b[2Jkey"))
    assert [*terminal_lines(skipped_blocks(few), PLAIN)] == [
        "  skipped 5: later (c0, c1, c2 and 2 more)",
        "  skipped 1: no \\x1b[2Jkey (x)",
    ]
