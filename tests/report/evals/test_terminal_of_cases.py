"""Eval cases on a terminal: what each grader made of an output, metrics, and why cases were skipped."""

import pytest
from report.reports import report, result

from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import CaseFacts, Result
from baselinekit.report import evalterminal
from baselinekit.report.wording import Style
from baselinekit.structs import replace

PLAIN = Style(colour=False, width=50)
JUDGE = Grade(
    "judge",
    "model",
    "passed",
    0.79,
    "It says what the message says, and it says it kindly; the second half is long",
    details={"scores": {"accuracy": 4.0, "tone": 4.4}, "specific_feedback": ["shorter"]},
)
OPTIONAL = Grade("brief", "code", "failed", 0.0, "it has 12 words", required=False)


def case(*attempts: Attempt, outcome: str = "passed", **facts: object) -> Result:
    return replace(result("a", outcome), case=CaseFacts("capability", attempts), **facts)


@pytest.mark.parametrize("verbose", [False, True])
def test_format_failure_says_why_another_attempt_could_not_be_judged(verbose: bool) -> None:
    error = Attempt(1, "error", None, (), "the judge answered in no form", "BK703")
    attempts = (error, Attempt(2, "passed", 1.0), Attempt(3, "failed", 0.0, (), "too long"))
    failed = case(*attempts, replace(error, number=4), outcome="failed", reason="too long")
    assert evalterminal.format_failure(failed, replace(PLAIN, verbose=verbose)).splitlines()[-2:] == [
        "    attempts  error, passed, failed, error",
        "      attempt 1 error: BK703 the judge answered in no form",
    ]


def test_format_grades_escapes_the_reason_of_a_judge() -> None:
    hostile = replace(JUDGE, reason="fine\x1b[31m\nPASSED  b\n" * 60)
    text = "".join(evalterminal.format_grades([(hostile, "")], PLAIN))
    assert ("\x1b" in text, "… and" in text) == (False, True)


def test_format_skipped_has_a_line_for_each_reason_and_with_verbose_for_each_case() -> None:
    def skipped(id: str, reason: str) -> Result:
        return replace(case(outcome="skipped", reason=reason), id=id, code=None)

    few = report(*(skipped(f"c{n}", "later") for n in range(5)), skipped("x", "no \x1b[2Jkey"))
    lines = ["skipped 5: later (c0, c1, c2 and 2 more)", "skipped 1: no \\x1b[2Jkey (x)"]
    assert evalterminal.format_skipped(few, PLAIN).splitlines() == lines
    verbose = evalterminal.format_skipped(few, replace(PLAIN, verbose=True)).splitlines()
    assert (len(verbose), verbose[-1]) == (6, "skipped   x: no \\x1b[2Jkey")
    many = report(*(skipped(f"c{n}", f"reason {n}") for n in range(9)))
    assert evalterminal.format_skipped(many, PLAIN).splitlines()[-1] == "skipped … for 4 more reasons: -v"
