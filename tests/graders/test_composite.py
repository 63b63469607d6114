"""A grader made of others: its score, its gates, and what becomes of it where one of them cannot judge."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from cases import case, judge
from hypothesis import given, strategies as st

from baselinekit.graders.base import (
    GradeClients,
    JudgeProgram,
    JudgeRun,
    combine_grades,
    exact_fraction,
    verdict_of,
)
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.by_text import Contains
from baselinekit.graders.by_trace import CostLimit
from baselinekit.graders.composite import Aggregator, Composite, grade_from_parts, make_composite
from baselinekit.graders.graders import grade, grade_all, graders_with_positions, model_calls_of, problems_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grade, Grader, HumanRating, Outcome, PassRule, iterate_grades, map_grades
from baselinekit.model.recipes import ModelQuestion, Observation, Usage
from baselinekit.structs import replace

MEAN = PassRule("mean")


def says(text: str, name: str = "", weight: float = 1, required: bool = False) -> Grader:
    return Grader(name or text, "code", Contains(all=[text]), weight, required)


FACTS, TONE, SAFE = says("facts"), says("tone"), says("safe", required=True)
UNKNOWN = Grader("cost", "code", CostLimit(1), required=False)
"""It cannot judge: what the answer cost is not known."""

BY_PROGRAM = Grader("aggregator", "code", CodeJudge(["decide"]))


def whole(*graders: Grader, name: str = "gate", judge: Grader | None = None, **more: Any) -> Grader:
    method, problems = make_composite(graders, Aggregator(**more.pop("aggregator", {})), judge, **more)
    assert problems == []
    return Grader(name, "code", method, required=False)


def judged(grader: Grader, output: str = "facts", clients: Any = None, rule: PassRule = MEAN) -> Grade:
    return grade(grader, case(grader, pass_rule=rule), Observation(output, 1.0), clients or GradeClients())


@pytest.mark.parametrize(
    ("graders", "more", "outcome", "verdict", "score"),
    [
        ([FACTS, TONE], {}, "failed", None, 0.5),
        ([FACTS, says("act")], {}, "passed", None, 1.0),
        ([says("facts", weight=4), TONE], {}, "passed", None, 0.8),
        ([says("facts", weight=3), TONE], {}, "failed", "borderline", 0.75),
        ([says("facts", weight=9), SAFE], {}, "failed", None, 0.9),
        ([FACTS, says("tone", weight=0)], {}, "passed", None, 1.0),
        ([FACTS, TONE], {"aggregator": {"weights": {"facts": 0.8, "tone": 0.2}}}, "passed", None, 0.8),
        ([FACTS, TONE], {"pass_at": 0.5}, "passed", None, 0.5),
        ([says("facts", weight=9), TONE], {"pass_at": 1}, "failed", "borderline", 0.9),
    ],
)
def test_a50_the_mean_of_the_parts_by_weight_and_their_gates(
    graders: list[Grader], more: Any, outcome: str, verdict: str | None, score: float
) -> None:
    found = judged(whole(*graders, **more))
    assert (found.outcome, found.verdict, found.score) == (outcome, verdict, pytest.approx(score))
    assert [part.grader for part in found.parts] == [grader.name for grader in graders]


def test_a45_a_gate_within_fails_the_case_from_any_depth() -> None:
    outer = whole(whole(says("facts", weight=9), SAFE, name="inner"), says("facts", "again", 99))
    found = judged(outer)
    assert (found.outcome, found.failed_gates) == ("failed", ("inner/safe",))
    about = case(outer, says("facts", "further", 99), pass_rule=MEAN)
    grades = grade_all(about, Observation("facts", 1.0), lambda position: GradeClients())
    outcome, score, reason, _ = combine_grades(grades, MEAN)
    assert (outcome, reason.startswith("gate: inner: safe had to hold; safe: ")) == ("failed", True)
    assert (score or 0) > 0.9


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
    unknown = replace(UNKNOWN, required=required)
    found = judged(whole(FACTS, unknown, aggregator={"on_error": on_error}))
    assert (found.outcome, found.score) == (outcome, score)
    assert (found.code == "BK671") == (outcome == "error")
    assert found.failed_gates == (("cost",) if (on_error, required) == ("zero", True) else ())
    assert found.parts[1].outcome == "error"  # shown as what it is, however it counts
    gate = judged(whole(says("facts", required=True), unknown, aggregator={"on_error": on_error}), "nothing")
    assert (gate.outcome, gate.failed_gates[0]) == ("failed", "facts")


def test_composite_without_a_part_that_could_judge_is_an_error() -> None:
    found = judged(whole(UNKNOWN, aggregator={"on_error": "ignore"}))
    assert (found.outcome, found.code, found.score) == ("error", "BK675", None)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=1, max_size=6))
def test_the_score_is_the_exact_mean(parts: Sequence[tuple[bool, int]]) -> None:
    graders = [says("facts" if good else "none", f"g{n}", weight) for n, (good, weight) in enumerate(parts)]
    mean = Fraction(sum(w for good, w in parts if good), sum(w for _, w in parts))
    found = judged(whole(*graders))
    assert (found.outcome, found.verdict) == verdict_of(mean, MEAN)
    assert exact_fraction(found.score or 0.0) == mean


# An aggregator that judges.


def program(told: list[dict[str, Any]], said: dict[str, Any]) -> GradeClients:
    def run(about: Case, start: JudgeProgram) -> JudgeRun:
        told.append(json.loads(start.stdin))
        return JudgeRun(0, json.dumps(said).encode(), b"")

    return GradeClients(program=run)


def test_a50_a_program_is_told_every_result_and_decides() -> None:
    told: list[dict[str, Any]] = []
    found = judged(whole(FACTS, TONE, judge=BY_PROGRAM), clients=program(told, {"score": 0.9}))
    assert (found.outcome, found.score) == ("passed", 0.9)
    assert [part.grader for part in found.parts] == ["facts", "tone", "aggregator"]
    results = {name: (one["score"], one["verdict"]) for name, one in told[0]["results"].items()}
    assert results == {"facts": (1.0, "pass"), "tone": (0.0, "fail")}
    assert told[0]["candidate_answer"] == "facts"


@pytest.mark.parametrize(
    ("parts", "on_error", "score", "outcome", "asked"),
    [
        ((FACTS, SAFE), "error", 1, "failed", True),  # no program makes a failed gate good
        ((FACTS, UNKNOWN), "error", 1, "error", False),
        ((FACTS, UNKNOWN), "ignore", 1, "passed", True),
        ((FACTS,), "error", "much", "error", True),
    ],
)
def test_a50_a_program_that_judges_and_parts_that_could_not(
    parts: tuple[Grader, ...], on_error: str, score: Any, outcome: str, asked: bool
) -> None:
    told: list[dict[str, Any]] = []
    grader = whole(*parts, judge=BY_PROGRAM, aggregator={"type": "code_judge", "on_error": on_error})
    found = judged(grader, clients=program(told, {"score": score}))
    assert (found.outcome, bool(told)) == (outcome, asked)


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


# What is around it.


def test_every_part_has_its_position_and_what_it_asks_is_counted() -> None:
    models = [Grader(name, "model", TemplateJudge("{{candidate_answer}}")) for name in ("a", "b")]
    outer = whole(FACTS, whole(*models, name="inner"), judge=models[0])
    names = [(position, one.name) for position, one in graders_with_positions([SAFE, outer])]
    assert names == [
        *(((0,), "safe"), ((1, 0), "facts"), ((1, 1, 0), "a"), ((1, 1, 1), "b"), ((1, 1), "inner")),
        *(((1, 2), "a"), ((1,), "gate")),
    ]
    assert (model_calls_of(outer), model_calls_of(whole(FACTS))) == (("judge", 3), None)


def test_models_within_are_not_asked_where_a_rule_has_failed_the_case() -> None:
    by_model = whole(Grader("a", "model", TemplateJudge("{{candidate_answer}}")))
    for required, verdicts in ((True, [None, "not judged"]), (False, [None, None])):
        graders = says("safe", required=required), by_model
        about = case(*graders, judge_after_failure=False, pass_rule=MEAN)
        clients = judge(lambda nonce, asked: "unreadable")
        grades = grade_all(about, Observation("facts", 1.0), lambda position, clients=clients: clients)
        assert [one.verdict for one in grades] == verdicts  # by the mean, a failed check settles nothing


def test_a_rating_that_comes_later_decides_the_composite_that_waited_for_it() -> None:
    people = Grader("people", "human", HumanRating(), required=False)
    waiting = GradeClients(
        rated=lambda about, grader, seen: grader.graded("unscored", None, verdict="pending")
    )
    found = judged(whole(FACTS, people), clients=waiting)
    assert (found.outcome, found.verdict, found.score) == ("unscored", "pending", None)
    for score in (1.0, 0.0):
        rated: Outcome = "passed" if score else "failed"
        later = (found.parts[0], Grade("people", "human", rated, score, required=False))
        again = grade_from_parts(replace(found, parts=later), MEAN)
        assert (again.outcome, again.score) == (rated, (1 + score) / 2)
        by_program = judged(whole(FACTS, people, judge=BY_PROGRAM), clients=waiting)
        unasked = grade_from_parts(replace(by_program, parts=later), MEAN)
        assert (by_program.verdict, unasked.outcome, unasked.verdict) == ("pending", "unscored", "not judged")


def test_all_grades_are_named_by_their_path_and_changed_at_any_depth() -> None:
    found = judged(whole(whole(FACTS, FACTS, name="inner"), SAFE))
    names = ["gate", "gate/inner", "gate/inner/facts", "gate/inner/facts-2", "gate/safe"]
    assert [one.grader for one in iterate_grades([found])] == names
    masked = map_grades(found, lambda one: replace(one, reason="***"))
    assert {one.reason for one in iterate_grades([masked])} == {"***"}


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
def test_make_composite_weights_that_fit_nothing(
    aggregator: Aggregator, judge: Grader | None, at: tuple[str, ...], what: str
) -> None:
    _, problems = make_composite([FACTS], aggregator, judge)
    assert [(problem.at, what in problem.message) for problem in problems] == [(at, True)]


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (Composite(()), "this cannot fail"),
        (Composite((says("facts", weight=0),)), "none of its graders has any weight"),
        (Composite((FACTS,), pass_at=1.5), "this cannot pass"),
        (whole(Grader("a", "model", TemplateJudge())).method, None),
    ],
)
def test_composite_problems(method: Composite, what: str | None) -> None:
    grader = Grader("gate", "code", method)
    found = [*problems_of(grader, case(grader, wanted=GoodAnswer("names the river")))]
    assert [what in problem.message for problem in found if what] == ([True] if what else [])
