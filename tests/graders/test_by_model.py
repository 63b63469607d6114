"""Judges by a rubric: what they are asked, what of their replies counts, and that no text persuades them."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from cases import case, exactly, graded, judge
from rubrics import KNOWN_WRONG, REFUSED, RUBRICS

from baselinekit.errors import Problem
from baselinekit.graders.by_model import (
    Criterion,
    ModelJudge,
    Sample,
    Scoring,
    describe_criteria,
    judge_question,
)
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import ModelQuestion
from baselinekit.report.evals.terminal import format_grades
from baselinekit.report.wording import Style

TWO = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])


def reply(nonce: str, /, **more: Any) -> dict[str, Any]:
    said = {"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": True, "justification": "good"}
    return {"nonce": nonce, **said, "specific_feedback": [], **more}


def asked(how: ModelJudge, output: Any = "out", **more: Any) -> str:
    grader = Grader("g", "model", how)
    ask: ModelQuestion = judge_question(how, case(grader, **more), output)
    return ask.messages[-1].content


@pytest.mark.parametrize(
    ("scores", "score", "passed"),
    [
        ({"right": 5, "kind": 5}, 1.0, True),
        ({"right": 1, "kind": 1}, 0.0, False),
        ({"right": 4, "kind": 4}, 0.75, True),
        ({"right": 5, "kind": 1}, 0.75, True),
        ({"right": 1, "kind": 5}, 0.25, False),
        ({"right": 3.9, "kind": 4}, 0.73125, False),
    ],
)
def test_h33_the_overall_score_is_computed_from_the_weights(
    scores: dict[str, float], score: float, passed: bool
) -> None:
    clients = judge(lambda nonce, _: reply(nonce, scores=scores, passed=passed))
    found = graded("out", TWO, clients=clients, kind="model")
    assert found.score == pytest.approx(score)
    assert found.outcome == ("passed" if passed else "failed")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"scores": {"right": 1, "kind": 1}}, "passed: true, but its scores make 1 of 5, and 4 passes"),
        ({"passed": False}, "passed: false, but its scores make 5 of 5, and 4 passes"),
        ({"scores": {"right": 3, "kind": 4}}, "passed: true, but its scores make 3.25 of 5, and 4 passes"),
    ],
)
def test_h33_a_judge_that_contradicts_its_scores_has_judged_nothing(said: dict[str, Any], told: str) -> None:
    found = graded("out", TWO, clients=judge(lambda nonce, _: reply(nonce, **said)), kind="model")
    assert (found.outcome, found.score, found.code) == ("error", None, "BK641")
    assert f"the judge contradicts itself: it says {told}" in found.reason


def test_h33_a_slip_in_the_sum_is_told_and_decides_nothing() -> None:
    clients = judge(lambda nonce, _: reply(nonce, overall_score=3))
    found = graded("out", TWO, clients=clients, kind="model")
    assert (found.outcome, found.score) == ("passed", 1.0)
    assert found.details["disagrees"] == "the judge says 3 overall, its scores make 5"


def test_a_judge_is_told_what_passes() -> None:
    assert (
        "`overall_score` is the weighted mean of the scores, and `passed` is true if it is 4 or more."
        in asked(TWO)
    )
    how = ModelJudge([Criterion("a", required=True), Criterion("b")], scoring=Scoring(threshold=2.5))
    assert "is the mean of the scores, and `passed` is true if it is 2.5 or more, and a too." in asked(how)


@pytest.mark.parametrize("bad", ["no JSON", "", '{"nonce": "0"}', "contradiction"])
def test_an_unreadable_reply_is_asked_once_more_with_the_complaint(bad: str) -> None:
    questions: list[ModelQuestion] = []

    def says(nonce: str, ask: ModelQuestion) -> Any:
        questions.append(ask)
        nonce = ask.messages[1].content.rpartition('{"nonce": "')[2][:16]
        if len(questions) == 1:
            return reply(nonce, passed=False) if bad == "contradiction" else bad
        return reply(nonce)

    found = graded("out", TWO, clients=judge(says), kind="model")
    assert found.outcome == "passed"
    assert found.usage.tokens_in == 20  # both were paid for
    first, second = questions
    assert second.messages[0] == first.messages[0]
    more = second.messages[1].content.removeprefix(first.messages[1].content)
    assert more.startswith("\n\nAn earlier reply could not be used: it ")
    assert "no JSON'" not in more  # what it said is not repeated: it may be what the text wants to say
    assert len(found.details["replies_that_could_not_be_read"]) == 1


def test_a_required_criterion_that_is_not_met_fails_whatever_the_mean() -> None:
    how = ModelJudge([Criterion("right", weight=1, required=True), Criterion("kind", weight=9)])
    scores = {"right": 2, "kind": 5}
    clients = judge(lambda nonce, _: reply(nonce, scores=scores, passed=False))
    found = graded("out", how, clients=clients, kind="model")
    assert found.outcome == "failed"
    assert found.details["unmet"] == ["right"]


@pytest.mark.parametrize(("threshold", "passed"), [(3, True), (4.0, True), (4.1, False), (None, True)])
def test_h33_a_threshold_that_is_just_reached_passes(threshold: float | None, passed: bool) -> None:
    how = ModelJudge([Criterion("right")], scoring=Scoring(threshold=threshold))
    clients = judge(lambda nonce, _: reply(nonce, scores={"right": 4}, passed=passed))
    assert (graded("out", how, clients=clients, kind="model").outcome == "passed") == passed


def test_h30_categories() -> None:
    scoring = Scoring("categorical", categories=["good", "poor"], passing=["good"])
    how = ModelJudge("Is it good?", scoring=scoring)
    for category, outcome in (("good", "passed"), ("poor", "failed"), ("so-so", "error"), (1, "error")):
        clients = judge(
            lambda nonce, _, c=category: {"nonce": nonce, "category": c, "justification": ""}  # type: ignore[misc]
        )
        found = graded("out", how, clients=clients, kind="model")
        assert found.outcome == outcome
        if outcome == "failed":
            assert found.reason == "poor"
        if outcome != "error":
            (line, *_) = format_grades([(found, "")], Style(colour=False))
            assert line.endswith(f", {category}")


def test_h30_yes_or_no() -> None:
    how = ModelJudge("Is it good?", scoring=Scoring("boolean"))
    for passed, outcome in ((True, "passed"), (False, "failed"), (1, "error"), ("yes", "error")):
        clients = judge(
            lambda nonce, _, p=passed: {"nonce": nonce, "passed": p, "justification": ""}  # type: ignore[misc]
        )
        assert graded("out", how, clients=clients, kind="model").outcome == outcome


def test_h30_examples_are_shown_and_the_settings_are_sent() -> None:
    how = ModelJudge("Judge.", "strict", 0.0, 700, examples=[Sample("short", 2, "the input", "too brief")])
    grader = Grader("g", "model", how)
    ask = judge_question(how, case(grader), "out")
    assert (ask.model, ask.temperature, ask.max_tokens) == ("strict", 0.0, 700)
    assert '"justification": "too brief"' in ask.messages[-1].content


def test_h3_h4_h5_the_judge_sees_context_lists_and_alternatives() -> None:
    lists = {"must_include": ["PostgreSQL 14+"], "must_not_include": ["legacy"]}
    shown = asked(TWO, expected=exactly(lists, "two", type="semantic"), context={"targets": ["dependencies"]})
    for text in ("PostgreSQL 14+", "legacy", "dependencies", "expected, alternative 1"):
        assert text in shown


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nDone."])
def test_h32_a_reply_may_stand_in_fences(around: str) -> None:
    clients = judge(lambda nonce, _: around.replace("{}", json.dumps(reply(nonce))))
    found = graded("out", TWO, clients=clients, kind="model")
    assert (found.outcome, found.score) == ("passed", 1.0)
    assert found.details["overall_score"] == 5.0
    assert found.details["justification"] == "good"
    assert found.details["specific_feedback"] == []


def test_h31_slots_in_the_judged_text_are_not_filled_in() -> None:
    how = ModelJudge("THE RUBRIC", prompt='{rubric}\nlike {"a": 1}, of {output}, {expected} and {input}')
    shown = asked(how, "I am {expected} and {rubric}", expected=exactly("the gold {output}"))
    assert 'THE RUBRIC\nlike {"a": 1}, of the output below' in shown
    assert "I am {expected} and {rubric}" in shown
    assert "the gold {output}" in shown
    assert shown.count("THE RUBRIC") == 1


@pytest.mark.parametrize(
    ("scores", "score", "flips"), [([5, 5, 5], 1.0, 0), ([5, 1, 5], 1.0, 1 / 3), ([1, 5, 1], 0.0, 1 / 3)]
)
def test_of_several_samples_the_middle_one_counts(scores: list[int], score: float, flips: float) -> None:
    how = ModelJudge([Criterion("right")], samples=3)
    clients = judge(
        lambda nonce, ask: reply(nonce, scores={"right": scores[ask.turn]}, passed=scores[ask.turn] == 5)
    )
    found = graded("out", how, clients=clients, kind="model")
    assert found.score == score
    assert found.details["samples"]["flip_rate"] == pytest.approx(flips)
    assert found.usage.tokens_in == 30


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (ModelJudge(""), "without a rubric"),
        (ModelJudge("x", scoring=Scoring("categorical", categories=["a", "b"])), "is incomplete"),
        (
            ModelJudge("x", scoring=Scoring("categorical", categories=["a", "b"], passing=["c"])),
            "not a category",
        ),
        (ModelJudge("x", scoring=Scoring(range=[5, 1])), "is not a range"),
        (ModelJudge([Criterion("a", weight=0)]), "no criterion has any weight"),
        (
            ModelJudge("1. Tone (weight: -1): kind?\n2. Form: short?"),
            "'(weight: -1)' looks like a weight but could not be read",
        ),
        (ModelJudge("1. Tone (weight: 60%): kind?"), "the weights make 60 %"),
    ],
)
def test_what_cannot_work_is_found_beforehand(how: ModelJudge, said: str) -> None:
    grader = Grader("g", "model", how)
    assert said in "; ".join(problem.message for problem in problems_of(grader, case(grader)))


# Criteria and weights as a text states them, measured by a table of rubrics with known answers.


def problems(how: ModelJudge) -> list[Problem]:
    return list(problems_of(Grader("g", "model", how), case()))


def read(text: str) -> object:
    how = ModelJudge(text)
    if found := problems(how):
        assert all(problem.code == "BK702" and problem.hint for problem in found)
        return REFUSED
    return [(one.name, pytest.approx(one.weight)) for one in how.criteria]


def test_h33_read_rubrics_with_known_answers_gives_the_error_rate_of_the_docs() -> None:
    assert len({text for text, _ in RUBRICS}) == len(RUBRICS) >= 100
    wrong = {text for text, wanted in RUBRICS if read(text) != wanted}
    assert wrong == {*KNOWN_WRONG}
    measured = (Path(__file__).parents[2] / "benchmarks" / "README.md").read_text("utf-8")
    assert f"| rubrics with weights | {len(RUBRICS)} | {len(wrong)} |" in measured
    (problem,) = problems(ModelJudge("Criteria:\n1. Accuracy (weight: high)\n2. Tone"))
    message = "line 2 of the rubric: '(weight: high)' looks like a weight but could not be read"
    assert problem.message == message


def test_describe_criteria_shows_weights_and_ranges() -> None:
    how = ModelJudge("1. Accuracy (weight: 3) (0-10)\n2. Tone (weight: 1)")
    assert describe_criteria(how) == ["accuracy: weight 3 (75%), 0 to 10", "tone: weight 1 (25%), 1 to 5"]
    assert describe_criteria(ModelJudge("Is it right?")) == ["overall: all of it, 1 to 5"]
    assert describe_criteria(ModelJudge([Criterion("a", required=True), Criterion("b")])) == [
        "a: weight 1 (50%), 1 to 5, required",
        "b: weight 1 (50%), 1 to 5",
    ]
    assert describe_criteria(ModelJudge("ok?", scoring=Scoring("boolean"))) == ["boolean"]


@pytest.mark.slow
def test_read_long_rubrics_in_little_time() -> None:
    for part in ("1. a (40%)\n", "| a | 1% |\n", "(weight " * 3, "(" * 50, "- " * 20, "1 % " * 9, "   " * 30):
        began = process_time()
        read(part * 2_000)
        assert process_time() - began < 10
