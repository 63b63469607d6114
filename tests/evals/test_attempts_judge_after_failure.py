"""Whether a model is asked what a check by rules has already found wrong."""

from pathlib import Path
from typing import Any

import pytest
from evalcases import World, case, outcomes, suite

from baselinekit.evals.attempts import EvalClients
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.by_text import Contains
from baselinekit.model.grades import Grade, Grader, HumanRating
from baselinekit.model.recipes import Usage
from baselinekit.model.results import Result

JUDGE = Grader("judge", "model", ScoreLine("Is it right?"))
YES = Grader("contains", "code", Contains(all=["yes"]))
OPTIONAL = Grader("contains", "code", Contains(all=["yes"]), required=False)
PEOPLE = Grader("people", "human", HumanRating())
GOOD, POOR = "SCORE=5 REASON=Right.", "SCORE=1 REASON=Wrong."


def grades(result: Result) -> tuple[Grade, ...]:
    assert result.case is not None
    return result.case.attempts[0].grades


def judged(tmp_path: Path, says: str, *graders: Grader, reply: str = GOOD, **more: Any) -> tuple[Result, int]:
    world = World(tmp_path)
    world.reply = reply
    outside = EvalClients(rated=lambda case, grader, seen: grader.graded("failed", 0.0, "people say no"))
    (result,) = world.run(suite(case("a", says, *graders, expected=None, **more)), outside=outside).results
    return result, len(world.asked)


def test_e3_a_case_that_has_failed_already_is_not_judged(tmp_path: Path) -> None:
    result, asked = judged(tmp_path, "no", YES, JUDGE, judge_after_failure=False)
    assert asked == 0
    assert (result.outcome, result.verdict, result.code) == ("failed", None, None)
    by_rules, by_model = grades(result)
    assert by_rules.outcome == "failed"
    assert by_model == JUDGE.graded(
        "unscored", None, "no model was asked: contains failed", verdict="not judged"
    )
    assert by_model.usage == Usage()
    assert result.reason.startswith("contains: 'yes' is not in the output")


@pytest.mark.parametrize(
    ("says", "graders", "wants"),
    [
        ("no", (YES, JUDGE), True),  # as every form of file but one has it, where nothing else is said
        ("yes", (YES, JUDGE), False),  # nothing has failed
        ("no", (OPTIONAL, JUDGE), False),  # what failed does not count
        ("no", (JUDGE,), False),
        ("no", (PEOPLE, JUDGE), False),  # what people say is another question
    ],
)
def test_e3_it_is_judged_where_no_check_has_failed_it(
    tmp_path: Path, says: str, graders: tuple[Grader, ...], wants: bool
) -> None:
    result, asked = judged(tmp_path, says, *graders, judge_after_failure=wants)
    assert asked == 1
    assert grades(result)[-1].outcome == "passed"


def test_e3_models_are_asked_last_and_the_grades_keep_the_order_of_the_case(tmp_path: Path) -> None:
    result, asked = judged(tmp_path, "no", JUDGE, YES, judge_after_failure=False)
    assert asked == 0
    assert [(one.grader, one.outcome) for one in grades(result)] == [
        ("judge", "unscored"),
        ("contains", "failed"),
    ]


def test_e3_where_none_is_required_all_of_them_count(tmp_path: Path) -> None:
    free = Grader("judge", "model", ScoreLine("Is it right?"), required=False)
    result, asked = judged(tmp_path, "no", OPTIONAL, free, judge_after_failure=False)
    assert (result.outcome, asked) == ("failed", 0)


def test_e3_every_judge_of_the_case_is_spared_and_each_attempt_decides_for_itself(tmp_path: Path) -> None:
    world = World(tmp_path, lambda given, turn: "yes" if turn == 2 else "no")
    world.reply = GOOD
    other = Grader("other", "model", ScoreLine("Is it kind?"))
    made = case("a", "x", YES, JUDGE, other, expected=None, judge_after_failure=False)
    report = world.run(suite(made), attempts=3, jobs=1)
    assert len(world.asked) == 2
    (result,) = report.results
    assert result.case is not None
    assert [[one.verdict for one in attempt.grades] for attempt in result.case.attempts] == [
        [None, "not judged", "not judged"],
        [None, None, None],
        [None, "not judged", "not judged"],
    ]


def test_e3_metrics_and_exit_code_are_those_of_a_failure(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reply = GOOD
    cases = [
        case(id, says, YES, JUDGE, expected=None, judge_after_failure=False)
        for id, says in (("a", "no"), ("b", "yes"))
    ]
    report = world.run(suite(*cases))
    assert outcomes(report) == {"a": "failed", "b": "passed"}
    assert report.exit_code == 1
    assert report.suite is not None
    assert report.suite.metrics[0].value == 0.5


def test_e3_a_judge_that_fails_spares_no_other_one_its_question(tmp_path: Path) -> None:
    other = Grader("other", "model", ScoreLine("Is it kind?"))
    result, asked = judged(tmp_path, "yes", JUDGE, other, reply=POOR, judge_after_failure=False)
    assert asked == 2
    assert [one.outcome for one in grades(result)] == ["failed", "failed"]


def test_e4_e5_what_is_quoted_of_an_answer_or_a_reply_has_no_secret_that_the_answer_names(
    tmp_path: Path,
) -> None:
    says = '{"password": "Wq7vTz93kLp2", "note": "say Wq7vTz93kLp2 at the door"}'
    near = Grader("contains", "code", Contains(all=["say Wq7vTz93kLp3 at the door"]), required=False)
    result, _ = judged(tmp_path, says, near, JUDGE, reply="It names Wq7vTz93kLp2.")
    by_rules, by_model = grades(result)
    assert "at the door" in by_rules.reason.partition("nearest")[2]
    assert by_model.details["reply"] == "It names ***."
    assert "Wq7vTz93kLp2" not in repr(result)


def test_e5_a_reply_that_cannot_be_read_is_told_from_a_low_score(tmp_path: Path) -> None:
    unread, _ = judged(tmp_path, "yes", YES, JUDGE, reply="Fine, I think.")
    low, _ = judged(tmp_path, "yes", YES, JUDGE, reply=POOR)
    assert (unread.outcome, unread.verdict, unread.code) == ("error", "unparseable", "BK640")
    assert (low.outcome, low.verdict, low.code) == ("failed", None, None)
    assert "'Fine, I think.'" in unread.reason
    assert low.reason == "judge: 1 of 5, and 4 passes: Wrong."
