"""`run -v`: what each grader made of an output."""

import pytest
from report.reports import report, result

from baselinekit.model.grades import Attempt, Grade, PassRule
from baselinekit.model.results import CaseFacts, Result
from baselinekit.report.evals import terminal
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


def case(*attempts: Attempt, outcome: str = "passed", reason: str = "") -> Result:
    return replace(result("a", outcome), case=CaseFacts("capability", attempts), reason=reason)


def test_a_judge_shows_its_score_its_criteria_and_why_in_lines_that_fit() -> None:
    told = terminal.format_passed(report(case(Attempt(1, "passed", 0.79, (JUDGE, OPTIONAL)))), PLAIN)
    assert told.splitlines()[1:] == [
        "    passed   judge (model) 0.79",
        "             accuracy 4.0   tone 4.4",
        "             It says what the message says, and it",
        "             says it kindly; the second half is",
        "             long",
        "             - shorter",
        "    failed   brief (code) 0.00, optional",
        "             it has 12 words",
    ]


def test_without_v_each_of_several_graders_has_a_line() -> None:
    failed = case(Attempt(1, "failed", 0.0, (JUDGE, OPTIONAL)), outcome="failed", reason="no")
    told = terminal.format_failure(failed, PLAIN)
    assert "    failed   brief (code) 0.00, optional  it has 12 words\n" in told
    assert "accuracy" not in told


def test_the_parts_of_a_grade_stand_below_it_by_their_way_and_how_they_count() -> None:
    parts = (
        Grade("facts", "code", "passed", 1.0, weight=2, required=False),
        Grade("safe", "code", "failed", 0.0, "it says how", line=9),
    )
    gate = Grade("gate", "code", "failed", 0.67, "safe had to hold", required=False, parts=parts)
    by_mean = replace(case(Attempt(1, "failed", 0.67, (gate,)), outcome="failed", reason="no"), line=3)
    assert by_mean.case is not None
    by_mean = replace(by_mean, case=replace(by_mean.case, pass_rule=PassRule("mean")))
    assert terminal.format_failure(by_mean, PLAIN).splitlines()[-3:] == [
        "    failed   gate (code) 0.67  safe had to hold",
        "    passed   gate/facts (code) 1.00, weight 2",
        f"    failed   gate/safe (code) 0.00, required  it says how  {by_mean.file}:9",
    ]


def test_graders_that_are_not_shown_are_counted() -> None:
    many = tuple(replace(OPTIONAL, grader=f"g{number}") for number in range(23))
    told = terminal.format_failure(case(Attempt(1, "failed", 0.0, many), outcome="failed"), PLAIN)
    assert "    … and 3 more graders" in told.splitlines()


@pytest.mark.parametrize("verbose", [False, True])
def test_why_an_attempt_could_not_be_judged_is_told_though_another_one_failed(verbose: bool) -> None:
    error = Attempt(1, "error", None, (), "the judge answered in no form", "BK703")
    attempts = (error, Attempt(2, "passed", 1.0), Attempt(3, "failed", 0.0, (), "too long"))
    failed = case(*attempts, replace(error, number=4), outcome="failed", reason="too long")
    told = terminal.format_failure(failed, replace(PLAIN, verbose=verbose)).splitlines()
    assert told[-2:] == [
        "    attempts  error, passed, failed, error",
        "      attempt 1 error: BK703 the judge answered in no form",
    ]


def test_what_a_judge_says_cannot_dress_up_as_ours() -> None:
    told = "".join(
        terminal.format_grades([(replace(JUDGE, reason="fine\x1b[31m\nPASSED  b\n" * 60), "")], PLAIN)
    )
    assert "\x1b" not in told
    assert "… and" in told
