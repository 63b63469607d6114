"""A grader made of others: its score, its gates, and what becomes of it where one of them cannot judge."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from cases import case, judge
from hypothesis import given, strategies as st

from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.by_text import Contains
from baselinekit.graders.by_usage import CostLimit, LatencyLimit
from baselinekit.graders.composite import Aggregator, Composite, grade_from_parts, make_composite
from baselinekit.graders.graders import grade, grade_all, graders_with_positions, model_calls_of, problems_of
from baselinekit.graders.task import GradeClients, JudgeProgram, JudgeRun
from baselinekit.graders.verdict import combine_grades, exact_fraction, verdict_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grade, Grader, HumanRating, Outcome, PassRule, iterate_grades, map_grades
from baselinekit.model.recipes import Answer, ModelQuestion, Observation, Usage
from baselinekit.structs import replace

MEAN = PassRule("mean")


def says(text: str, name: str, weight: float = 1, required: bool = False) -> Grader:
    return Grader(name, "code", Contains(all=[text]), weight, required)


UNKNOWN = Grader("cost", "code", CostLimit(1), required=False)
"""Nobody tells what the answer cost, so it cannot judge."""


def whole(
    *graders: Grader, aggregator: Aggregator | None = None, judge: Grader | None = None, pass_at: Any = None
) -> Grader:
    method, problems = make_composite(graders, aggregator or Aggregator(), judge, pass_at)
    assert problems == []
    return Grader("gate", "code", method, required=False)


def judged(grader: Grader, output: str = "facts", clients: Any = None, **more: Any) -> Grade:
    about = case(grader, **{"pass_rule": MEAN, **more})
    return grade(grader, about, Observation(output, 1.0), clients or GradeClients())


FACTS, TONE, SAFE = says("facts", "facts"), says("tone", "tone"), says("safe", "safe", required=True)


@pytest.mark.parametrize(
    ("graders", "output", "outcome", "verdict", "score"),
    [
        ([FACTS, TONE], "facts", "failed", None, 0.5),
        ([FACTS, TONE], "facts tone", "passed", None, 1.0),
        ([says("facts", "facts", 4), TONE], "facts", "passed", None, 0.8),
        ([says("facts", "facts", 3), TONE], "facts", "failed", "borderline", 0.75),
        ([says("facts", "facts", 9), SAFE], "facts", "failed", None, 0.9),
        ([says("facts", "facts", 9), SAFE], "safe", "failed", None, 0.1),
        ([FACTS, says("tone", "tone", 0)], "facts", "passed", None, 1.0),
    ],
)
def test_a50_the_mean_of_the_parts_by_weight_and_their_gates(
    graders: list[Grader], output: str, outcome: str, verdict: str | None, score: float
) -> None:
    found = judged(whole(*graders), output)
    assert (found.outcome, found.verdict, found.score) == (outcome, verdict, pytest.approx(score))
    assert [part.grader for part in found.parts] == [grader.name for grader in graders]


def test_a50_weights_by_name_go_before_those_that_a_grader_states() -> None:
    stated = whole(
        says("facts", "facts", 1), TONE, aggregator=Aggregator(weights={"facts": 0.8, "tone": 0.2})
    )
    assert judged(stated).score == 0.8
    assert judged(stated).outcome == "passed"


def test_a45_a_gate_within_fails_the_case_from_any_depth() -> None:
    inner = Grader("inner", "code", whole(says("facts", "facts", 9), SAFE).method, required=False)
    outer = whole(inner, says("facts", "again", 99))
    found = judged(outer)
    assert (found.outcome, found.failed_gates) == ("failed", ("inner/safe",))
    about = case(outer, says("facts", "further", 99), pass_rule=MEAN)
    grades = grade_all(about, Observation("facts", 1.0), lambda position: GradeClients())
    outcome, score, reason, _ = combine_grades(grades, MEAN)
    assert (outcome, reason.startswith("gate: inner: safe had to hold; safe: ")) == ("failed", True)
    assert score is not None
    assert score > 0.9


@pytest.mark.parametrize(
    ("on_error", "required", "outcome", "score"),
    [
        ("error", False, "error", None),
        ("zero", False, "failed", 0.5),
        ("ignore", False, "passed", 1.0),
        ("ignore", True, "error", None),
        ("zero", True, "failed", 0.5),
    ],
)
def test_a50_what_could_not_be_judged_is_an_error_unless_the_aggregator_says_otherwise(
    on_error: Any, required: bool, outcome: str, score: float | None
) -> None:
    unknown = Grader("cost", "code", CostLimit(1), required=required)
    found = judged(whole(FACTS, unknown, aggregator=Aggregator(on_error=on_error)))
    assert (found.outcome, found.score) == (outcome, score)
    assert (found.code == "BK671") == (outcome == "error")
    assert found.failed_gates == (("cost",) if (on_error, required) == ("zero", True) else ())
    assert found.parts[1].outcome == "error"  # shown as what it is, however it counts


def test_a_gate_that_failed_decides_though_another_part_could_not_judge() -> None:
    found = judged(whole(says("facts", "facts", required=True), UNKNOWN), "nothing")
    assert (found.outcome, found.failed_gates) == ("failed", ("facts",))


def test_nothing_is_left_where_all_that_could_not_judge_are_left_out() -> None:
    found = judged(whole(UNKNOWN, aggregator=Aggregator(on_error="ignore")))
    assert (found.outcome, found.code, found.score) == ("error", "BK675", None)


def test_its_own_limit_goes_before_that_of_the_case() -> None:
    assert judged(whole(FACTS, TONE, pass_at=0.5)).outcome == "passed"
    strict = judged(whole(says("facts", "facts", 9), TONE, pass_at=1))
    assert (strict.outcome, strict.verdict) == ("failed", "borderline")


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=6))
def test_the_score_is_the_exact_mean(parts: Sequence[tuple[bool, int]]) -> None:
    graders = [says("facts" if good else "none", f"g{n}", weight) for n, (good, weight) in enumerate(parts)]
    mean = Fraction(sum(w for good, w in parts if good), sum(w for _, w in parts))
    found = judged(whole(*graders))
    assert (found.outcome, found.verdict) == verdict_of(mean, MEAN)
    assert found.score is not None
    assert exact_fraction(found.score) == mean


# An aggregator that judges.


def program(told: list[dict[str, Any]], said: dict[str, Any]) -> GradeClients:
    def run(about: Case, start: JudgeProgram) -> JudgeRun:
        told.append(json.loads(start.stdin))
        return JudgeRun(0, json.dumps(said).encode(), b"")

    return GradeClients(program=run)


BY_PROGRAM = Grader("aggregator", "code", CodeJudge(["decide"]))


def test_a50_a_program_is_told_every_result_and_decides() -> None:
    told: list[dict[str, Any]] = []
    found = judged(whole(FACTS, TONE, judge=BY_PROGRAM), clients=program(told, {"score": 0.9}))
    assert (found.outcome, found.score) == ("passed", 0.9)
    assert [part.grader for part in found.parts] == ["facts", "tone", "aggregator"]
    results = told[0]["results"]
    assert {name: (one["score"], one["verdict"]) for name, one in results.items()} == {
        "facts": (1.0, "pass"),
        "tone": (0.0, "fail"),
    }
    assert told[0]["candidate_answer"] == "facts"


def test_a50_a_program_makes_no_failed_gate_good() -> None:
    found = judged(whole(FACTS, SAFE, judge=BY_PROGRAM), clients=program([], {"score": 1}))
    assert (found.outcome, found.failed_gates) == ("failed", ("safe",))


def test_a50_no_judge_is_asked_about_what_could_not_be_judged() -> None:
    told: list[dict[str, Any]] = []
    found = judged(whole(FACTS, UNKNOWN, judge=BY_PROGRAM), clients=program(told, {"score": 1}))
    assert (found.outcome, told) == ("error", [])
    left = judged(
        whole(FACTS, UNKNOWN, judge=BY_PROGRAM, aggregator=Aggregator("code_judge", on_error="ignore")),
        clients=program(told, {"score": 1}),
    )
    assert (left.outcome, len(told)) == ("passed", 1)
    assert told[0]["results"]["cost"]["score"] is None


def test_a50_a_judge_that_fails_is_the_error_of_the_whole() -> None:
    found = judged(whole(FACTS, judge=BY_PROGRAM), clients=program([], {"score": "much"}))
    assert (found.outcome, found.code, found.score) == ("error", "BK654", None)


def test_a50_a_model_is_shown_the_results_as_an_object_of_judgement() -> None:
    shown: list[str] = []

    def reply(nonce: str, asked: ModelQuestion) -> dict[str, Any]:
        shown.append(asked.messages[1].content)
        return {"nonce": nonce, "score": 0.7, "hits": [], "misses": ["tone"], "reasoning": "half of it"}

    prompt = "Decide:\n{{EVALUATOR_RESULTS_JSON}}"
    for text in (prompt, "Decide."):
        by_model = Grader("aggregator", "model", TemplateJudge(text))
        found = judged(whole(FACTS, TONE, judge=by_model), clients=judge(reply))
        assert (found.outcome, found.verdict, found.score) == ("failed", "borderline", 0.7)
        assert '"tone": {' in shown[-1]
        assert "<<<" in shown[-1]
        assert found.usage == Usage(10, 5)
    alone = Grader("alone", "model", TemplateJudge(prompt))
    assert judged(alone, clients=judge(reply)).code == "BK660"  # nothing to sum up


# What stands around it.


def test_every_part_has_its_position_and_what_it_asks_is_counted() -> None:
    models = [Grader(name, "model", TemplateJudge("{{candidate_answer}}")) for name in ("a", "b")]
    outer = whole(FACTS, Grader("inner", "code", whole(*models).method), judge=models[0])
    assert [(position, one.name) for position, one in graders_with_positions([SAFE, outer])] == [
        ((0,), "safe"),
        ((1, 0), "facts"),
        ((1, 1, 0), "a"),
        ((1, 1, 1), "b"),
        ((1, 1), "inner"),
        ((1, 2), "a"),
        ((1,), "gate"),
    ]
    assert model_calls_of(outer) == ("judge", 3)
    assert model_calls_of(whole(FACTS)) is None


def test_models_within_are_not_asked_where_a_rule_has_failed_the_case() -> None:
    by_model = whole(Grader("a", "model", TemplateJudge("{{candidate_answer}}")))
    about = case(says("safe", "safe", required=True), by_model, judge_after_failure=False, pass_rule=MEAN)
    grades = grade_all(about, Observation("facts", 1.0), lambda position: GradeClients())
    assert [one.verdict for one in grades] == [None, "not judged"]
    about = case(says("safe", "safe"), by_model, judge_after_failure=False, pass_rule=MEAN)
    asked: list[ModelQuestion] = []

    def ask(question: ModelQuestion) -> Answer:
        asked.append(question)
        return Answer("unreadable")

    grade_all(about, Observation("facts", 1.0), lambda position: GradeClients(ask=ask))
    assert asked  # by the mean, a check that failed settles nothing


def test_a_rating_that_comes_later_decides_the_composite_that_waited_for_it() -> None:
    people = Grader("people", "human", HumanRating(), required=False)
    waiting = GradeClients(
        rated=lambda about, grader, seen: grader.graded("unscored", None, verdict="pending")
    )
    found = judged(whole(FACTS, people), clients=waiting)
    assert (found.outcome, found.verdict, found.score) == ("unscored", "pending", None)
    for score, outcome in ((1.0, "passed"), (0.0, "failed")):
        rated: Outcome = "passed" if score else "failed"
        later = (found.parts[0], Grade("people", "human", rated, score, required=False))
        again = grade_from_parts(with_parts(found, later), MEAN)
        assert (again.outcome, again.score) == (outcome, (1 + score) / 2)
    by_program = judged(whole(FACTS, people, judge=BY_PROGRAM), clients=waiting)
    assert (by_program.outcome, by_program.verdict) == ("unscored", "pending")
    later = (found.parts[0], Grade("people", "human", "passed", 1.0, required=False))
    unasked = grade_from_parts(with_parts(by_program, later), MEAN)
    assert (unasked.outcome, unasked.verdict) == ("unscored", "not judged")


def with_parts(grade: Grade, parts: tuple[Grade, ...]) -> Grade:
    return replace(grade, parts=parts)


def test_all_grades_are_called_by_their_way_and_changed_at_any_depth() -> None:
    inner = Grader("inner", "code", whole(FACTS, TONE).method, required=False)
    found = judged(whole(inner, SAFE))
    names = ["gate", "gate/inner", "gate/inner/facts", "gate/inner/tone", "gate/safe"]
    assert [one.grader for one in iterate_grades([found])] == names

    def masked(one: Grade) -> Grade:
        return replace(one, reason="***")

    assert {one.reason for one in iterate_grades([map_grades(found, masked)])} == {"***"}


def test_the_case_by_all_goes_by_its_limits_as_well() -> None:
    grader = whole(says("facts", "facts", 3), TONE)
    assert judged(grader, pass_rule=PassRule()).outcome == "failed"
    assert judged(grader, pass_rule=PassRule(pass_at=0.7)).outcome == "passed"


@pytest.mark.parametrize(
    ("aggregator", "judge", "at", "what"),
    [
        (Aggregator(weights={"fact": 1}), None, ("aggregator", "weights", "fact"), "no grader 'fact'"),
        (
            Aggregator("code_judge", weights={"facts": 1}),
            BY_PROGRAM,
            ("aggregator", "weights"),
            "no effect where the aggregator is a code_judge",
        ),
    ],
)
def test_weights_that_fit_nothing_are_told(
    aggregator: Aggregator, judge: Grader | None, at: tuple[str, ...], what: str
) -> None:
    _, problems = make_composite([FACTS], aggregator, judge)
    assert [(problem.at, what in problem.message) for problem in problems] == [(at, True)]


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (Composite(()), "this cannot fail"),
        (Composite((says("facts", "facts", 0),)), "none of its graders has any weight"),
        (Composite((FACTS,), pass_at=1.5), "this cannot pass"),
    ],
)
def test_a_composite_that_cannot_decide_is_told(method: Composite, what: str) -> None:
    grader = Grader("gate", "code", method)
    assert [what in problem.message for problem in problems_of(grader, case(grader))] == [True]


def test_graders_of_one_name_are_told_apart() -> None:
    found = judged(whole(FACTS, FACTS, Grader("facts", "code", LatencyLimit(9), required=False)))
    assert [part.grader for part in found.parts] == ["facts", "facts-2", "facts-3"]


def test_a_case_has_what_a_judge_within_needs() -> None:
    grader = whole(Grader("a", "model", TemplateJudge()))
    about = case(grader, wanted=GoodAnswer("names the river"))
    assert not list(problems_of(grader, about))
