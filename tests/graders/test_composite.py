"""A grader made of others: its score, its gates, and parts that cannot judge."""

import json
from typing import Any

import pytest
from cases import case, judge

from baselinekit.graders.base import GradeClients, JudgeProgram, JudgeRun, combine_grades
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.by_text import Contains
from baselinekit.graders.by_trace import CostLimit
from baselinekit.graders.composite import Aggregator, Composite, grade_from_parts, make_composite
from baselinekit.graders.graders import grade, grade_all, model_calls_of, problems_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, HumanRating, Outcome, PassRule
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
        ([says("facts", weight=3), TONE], {}, "failed", "borderline", 0.75),
        ([says("facts", weight=9), SAFE], {}, "failed", None, 0.9),
        ([FACTS, TONE], {"aggregator": {"weights": {"facts": 0.8, "tone": 0.2}}}, "passed", None, 0.8),
        ([FACTS, TONE], {"pass_at": 0.5}, "passed", None, 0.5),
        ([says("facts", weight=9), TONE], {"pass_at": 1}, "failed", "borderline", 0.9),
    ],
)
def test_a50_composite_score_is_the_weighted_mean_with_gates(
    graders: list[Grader], more: Any, outcome: str, verdict: str | None, score: float
) -> None:
    found = judged(whole(*graders, **more))
    assert (found.outcome, found.verdict, found.score) == (outcome, verdict, pytest.approx(score))
    assert [part.grader for part in found.parts] == [grader.name for grader in graders]


def test_a45_composite_gate_at_any_depth_fails_the_case() -> None:
    outer = whole(whole(says("facts", weight=9), SAFE, name="inner"), says("facts", "again", 99))
    found = judged(outer)
    assert (found.outcome, found.failed_gates) == ("failed", ("inner/safe",))
    made = case(outer, says("facts", "further", 99), pass_rule=MEAN)
    grades = grade_all(made, Observation("facts", 1.0), lambda position: GradeClients())
    outcome, score, reason, _ = combine_grades(grades, MEAN)
    assert (outcome, reason.startswith("gate: inner: safe had to hold; safe: ")) == ("failed", True)
    assert (score or 0) > 0.9


@pytest.mark.parametrize(
    ("on_error", "required", "outcome", "score"),
    [
        ("error", False, "error", None),
        ("ignore", False, "passed", 1.0),
        ("ignore", True, "error", None),
        ("zero", True, "failed", 0.5),
    ],
)
def test_a50_composite_part_that_cannot_judge_counts_by_on_error(
    on_error: Any, required: bool, outcome: str, score: float | None
) -> None:
    unknown = replace(UNKNOWN, required=required)
    found = judged(whole(FACTS, unknown, aggregator={"on_error": on_error}))
    assert (found.outcome, found.score) == (outcome, score)
    assert (found.code == "BK670") == (outcome == "error")
    assert found.failed_gates == (("cost",) if (on_error, required) == ("zero", True) else ())
    assert found.parts[1].outcome == "error"  # shown as what it is, however it counts
    alone = judged(whole(UNKNOWN, aggregator={"on_error": "ignore"}))
    assert (alone.outcome, alone.code, alone.score) == ("error", "BK675", None)
    gate = judged(whole(says("facts", required=True), unknown, aggregator={"on_error": on_error}), "nothing")
    assert (gate.outcome, gate.failed_gates[0]) == ("failed", "facts")


# An aggregator that judges.


def program(received: list[dict[str, Any]], printed: dict[str, Any]) -> GradeClients:
    def run(_: Case, start: JudgeProgram) -> JudgeRun:
        received.append(json.loads(start.stdin))
        return JudgeRun(0, json.dumps(printed).encode(), b"")

    return GradeClients(program=run)


def test_a50_composite_program_receives_every_result_and_decides() -> None:
    received: list[dict[str, Any]] = []
    found = judged(whole(FACTS, TONE, judge=BY_PROGRAM), clients=program(received, {"score": 0.9}))
    assert (found.outcome, found.score) == ("passed", 0.9)
    assert [part.grader for part in found.parts] == ["facts", "tone", "aggregator"]
    results = {name: (part["score"], part["verdict"]) for name, part in received[0]["results"].items()}
    assert results == {"facts": (1.0, "pass"), "tone": (0.0, "fail")}
    assert received[0]["candidate_answer"] == "facts"


@pytest.mark.parametrize(
    ("parts", "on_error", "score", "outcome", "is_run"),
    [
        ((FACTS, SAFE), "error", 1, "failed", True),  # no program makes a failed gate good
        ((FACTS, UNKNOWN), "error", 1, "error", False),
        ((FACTS, UNKNOWN), "ignore", 1, "passed", True),
    ],
)
def test_a50_composite_program_with_failed_gate_or_error_in_a_part(
    parts: tuple[Grader, ...], on_error: str, score: Any, outcome: str, is_run: bool
) -> None:
    received: list[dict[str, Any]] = []
    grader = whole(*parts, judge=BY_PROGRAM, aggregator={"type": "code_judge", "on_error": on_error})
    found = judged(grader, clients=program(received, {"score": score}))
    assert (found.outcome, bool(received)) == (outcome, is_run)


def test_a50_composite_model_sees_the_results_between_marks() -> None:
    shown: list[str] = []

    def reply(nonce: str, question: ModelQuestion) -> dict[str, Any]:
        shown.append(question.messages[1].content)
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


# In its case.


def test_composite_models_are_not_asked_after_a_failed_rule() -> None:
    model = Grader("a", "model", TemplateJudge("{{candidate_answer}}"))
    by_model = whole(model)
    assert model_calls_of(whole(FACTS, whole(model, model, name="inner"), judge=model)) == ("judge", 3)
    for required, verdicts in ((True, [None, "not judged"]), (False, [None, None])):
        graders = says("safe", required=required), by_model
        made = case(*graders, judge_after_failure=False, pass_rule=MEAN)
        clients = judge(lambda nonce, question: "unreadable")
        grades = grade_all(made, Observation("facts", 1.0), lambda position, clients=clients: clients)
        assert [found.verdict for found in grades] == verdicts  # by the mean, a failed check settles nothing


def test_composite_that_waits_for_a_rating_is_decided_by_it() -> None:
    people = Grader("people", "human", HumanRating(), required=False)
    waiting = GradeClients(
        rated=lambda case, grader, output: grader.graded("unscored", None, verdict="pending")
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


def test_composite_problems() -> None:
    for parts, what in (
        ((), "this cannot fail"),
        ((says("a", weight=0),), "none of its graders has any weight"),
    ):
        grader = Grader("gate", "code", Composite(parts))
        (problem,) = problems_of(grader, case(grader))
        assert what in problem.message
