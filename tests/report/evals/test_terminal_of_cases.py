"""Eval cases on a terminal: what each grader made of an output, metrics, and why cases were skipped."""

import pytest
from report.reports import metric, report, result

from baselinekit.model.grades import Attempt, Grade, PassRule
from baselinekit.model.results import CaseFacts, Metric, Result, SuiteFacts
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


def test_format_passed_wraps_score_criteria_and_reason_of_a_judge() -> None:
    graded = case(Attempt(1, "passed", 0.79, (JUDGE, OPTIONAL)))
    assert evalterminal.format_passed(report(graded), PLAIN).splitlines()[1:] == [
        "    passed   judge (model) 0.79",
        "             accuracy 4.0   tone 4.4",
        "             It says what the message says, and it",
        "             says it kindly; the second half is",
        "             long",
        "             - shorter",
        "    failed   brief (code) 0.00, optional",
        "             it has 12 words",
    ]


def test_format_failure_has_a_line_for_each_grader_and_each_part() -> None:
    parts = (
        Grade("facts", "code", "passed", 1.0, weight=2, required=False),
        Grade("safe", "code", "failed", 0.0, "it says how", line=9),
    )
    gate = Grade("gate", "code", "failed", 0.67, "safe had to hold", required=False, parts=parts)
    failed = case(Attempt(1, "failed", 0.67, (gate,)), outcome="failed", reason="no")
    assert failed.case is not None
    failed = replace(failed, case=replace(failed.case, pass_rule=PassRule("mean")))
    assert evalterminal.format_failure(failed, PLAIN).splitlines()[-3:] == [
        "    failed   gate (code) 0.67  safe had to hold",
        "    passed   gate/facts (code) 1.00, weight 2",
        f"    failed   gate/safe (code) 0.00, required  it says how  {failed.file}:9",
    ]


def test_format_failure_counts_graders_that_it_does_not_show() -> None:
    many = tuple(replace(OPTIONAL, grader=f"g{number}") for number in range(23))
    text = evalterminal.format_failure(case(Attempt(1, "failed", 0.0, many), outcome="failed"), PLAIN)
    assert "    … and 3 more graders" in text.splitlines()


@pytest.mark.parametrize("verbose", [False, True])
def test_format_failure_says_why_another_attempt_could_not_be_judged(verbose: bool) -> None:
    error = Attempt(1, "error", None, (), "the judge answered in no form", "BK703")
    attempts = (error, Attempt(2, "passed", 1.0), Attempt(3, "failed", 0.0, (), "too long"))
    failed = case(*attempts, replace(error, number=4), outcome="failed", reason="too long")
    assert evalterminal.format_failure(failed, replace(PLAIN, verbose=verbose)).splitlines()[-2:] == [
        "    attempts  error, passed, failed, error",
        "      attempt 1 error: BK703 the judge answered in no form",
    ]


def test_format_grades_escapes_what_a_judge_says() -> None:
    hostile = replace(JUDGE, reason="fine\x1b[31m\nPASSED  b\n" * 60)
    text = "".join(evalterminal.format_grades([(hostile, "")], PLAIN))
    assert ("\x1b" in text, "… and" in text) == (False, True)


def test_format_metrics_shows_those_with_a_threshold_or_more_attempts() -> None:
    def lines(*metrics: Metric) -> list[str]:
        return evalterminal.format_metrics(report(suite=SuiteFacts("s", metrics=metrics)), PLAIN).splitlines()

    assert lines(Metric("pass@1", 0.88, "per case", 0.7, 0.96, 25, 0.9), metric("x", None, why="no")) == [
        "pass@1           0.880  (0.700 to 0.960, per case, n=25)  FAIL  at least 0.9"
    ]
    once = lines(metric("pass rate", 1.0), metric("pass@1", 1.0), metric("pass^3", 1.0))
    assert [line.split() for line in once] == [["pass@1", "1.000"]]


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
