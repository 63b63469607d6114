"""Judges by a rubric: their question, their replies, and the scale on which these are read."""

import re
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from cases import case, exactly, graded, judge
from hypothesis import given, strategies as st
from rubrics import KNOWN_WRONG, REFUSED, RUBRICS

from baselinekit.errors import Problem
from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_model import Criterion, ModelJudge, Sample, Scoring, judge_question
from baselinekit.graders.by_template import RubricItem, RubricJudge, TemplateJudge
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import ModelQuestion

TWO = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])
GOOD_OR_BAD = Scoring("categorical", categories=["good", "poor"], passing=["bad"])
GOOD_OR_POOR = Scoring("categorical", categories=["good", "poor"], passing=["good"])


def reply(nonce: str, /, **more: Any) -> dict[str, Any]:
    verdict = {"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": True, "justification": "good"}
    return {"nonce": nonce, **verdict, "specific_feedback": [], **more}


def question_text(how: ModelJudge, output: Any = "out", **more: Any) -> str:
    return judge_question(how, case(Grader("g", "model", how), **more), output).messages[-1].content


def judged(how: Any, *texts: Any, **more: Any) -> Grade:
    """The grade of a judge that gives these replies, the last one again and again, or a good one with `more`
    in it. N in a text is the nonce."""
    replies = [*texts]

    def answer(nonce: str, question: ModelQuestion) -> Any:
        text = replies.pop(0) if len(replies) > 1 else (replies or [reply(nonce, **more)])[0]
        if isinstance(text, str):
            return re.sub(r"\bN\b", nonce, text)
        return text(nonce, question) if callable(text) else text

    return graded("out", how, exactly("the gold"), judge(answer), kind="model")


@pytest.mark.parametrize(
    ("scores", "score", "passed"),
    [({"right": 5, "kind": 1}, 0.75, True), ({"right": 3.9, "kind": 4}, 0.73125, False)],
)
def test_h33_overall_score_is_computed_by_weights(
    scores: dict[str, float], score: float, passed: bool
) -> None:
    found = judged(TWO, scores=scores, passed=passed)
    assert (found.score, found.outcome) == (pytest.approx(score), "passed" if passed else "failed")


def test_h33_judge_that_contradicts_its_scores_is_an_error_and_a_wrong_mean_decides_nothing() -> None:
    found = judged(TWO, scores={"right": 1, "kind": 1})
    assert (found.outcome, found.score, found.code) == ("error", None, "BK641")
    reason = "it has passed: true, but its scores make 1 of 5, and 4 passes"
    assert f"the judge contradicts itself: {reason}" in found.reason
    found = judged(TWO, overall_score=3)
    assert (found.outcome, found.score) == ("passed", 1.0)
    assert found.details["disagrees"] == "the judge gives 3 overall, its scores make 5"


@pytest.mark.parametrize("bad", ["no JSON", lambda nonce, _: reply(nonce, passed=False)])
def test_unreadable_reply_is_asked_once_more_with_the_complaint(bad: Any) -> None:
    questions: list[str] = []

    def good(nonce: str, question: ModelQuestion) -> Any:
        questions.append(question.messages[1].content)
        return reply(nonce)

    found = judged(TWO, bad, good)
    assert (found.outcome, found.usage.tokens_in) == ("passed", 20)  # both were paid for
    assert len(found.details["replies_that_could_not_be_read"]) == 1
    assert "\n\nAn earlier reply could not be used: it " in questions[0]
    assert "no JSON'" not in questions[0]  # what it said is not repeated: the text may want to say it


def test_h33_required_criterion_and_threshold_that_is_just_reached() -> None:
    how = ModelJudge([Criterion("right", weight=1, required=True), Criterion("kind", weight=9)])
    found = judged(how, scores={"right": 2, "kind": 5}, passed=False)
    assert (found.outcome, found.details["unmet"]) == ("failed", ["right"])
    for threshold, passed in ((3, True), (4.0, True), (4.1, False), (None, True)):
        how = ModelJudge([Criterion("right")], scoring=Scoring(threshold=threshold))
        assert (judged(how, scores={"right": 4}, passed=passed).outcome == "passed") == passed
    mean = "`overall_score` is the weighted mean of the scores, and `passed` is true if it is 4 or more."
    assert mean in question_text(TWO)
    how = ModelJudge([Criterion("a", required=True), Criterion("b")], scoring=Scoring(threshold=2.5))
    assert "`passed` is true if it is 2.5 or more, and a too." in question_text(how)


def test_h30_category_and_boolean_verdicts() -> None:
    how = ModelJudge("Is it good?", scoring=GOOD_OR_POOR)
    for category, outcome in (("good", "passed"), ("poor", "failed"), ("so-so", "error")):
        found = judged(how, f'{{"nonce": "N", "category": "{category}", "justification": ""}}')
        assert (found.outcome, found.reason == "poor") == (outcome, category == "poor")
        assert outcome == "error" or found.details["category"] == category
    how = ModelJudge("Is it good?", scoring=Scoring("boolean"))
    verdicts = {"true": "passed", "false": "failed", '"True"': "passed", "1": "error", '"yes"': "error"}
    for passed, outcome in verdicts.items():
        assert judged(how, f'{{"nonce": "N", "passed": {passed}, "confidence": 1}}').outcome == outcome


def test_h3_h4_h5_h30_h31_question_has_settings_examples_lists_and_alternatives() -> None:
    how = ModelJudge("Judge.", "strict", 0.0, 700, examples=[Sample("short", 2, "the input", "too brief")])
    question = judge_question(how, case(Grader("g", "model", how)), "out")
    assert (question.model, question.temperature, question.max_tokens) == ("strict", 0.0, 700)
    assert '"justification": "too brief"' in question.messages[-1].content
    lists = {"must_include": ["PostgreSQL 14+"], "must_not_include": ["legacy"]}
    expected = exactly(lists, "two", type="semantic")
    shown = question_text(TWO, expected=expected, context={"targets": ["dependencies"]})
    for text in ("PostgreSQL 14+", "legacy", "dependencies", "expected, alternative 1"):
        assert text in shown
    how = ModelJudge("THE RUBRIC", prompt='{rubric}\nlike {"a": 1}, of {output}, {expected} and {input}')
    shown = question_text(how, "I am {expected} and {rubric}", expected=exactly("the gold {output}"))
    parts = ['THE RUBRIC\nlike {"a": 1}, of the output below', "I am {expected} and {rubric}"]
    assert [part for part in (*parts, "the gold {output}") if part not in shown] == []
    assert shown.count("THE RUBRIC") == 1  # slots in the judged text are not filled in


@pytest.mark.parametrize(
    ("scores", "score", "flips"), [([5, 5, 5], 1.0, 0), ([5, 1, 5], 1.0, 1 / 3), ([1, 5, 1], 0.0, 1 / 3)]
)
def test_judge_with_samples_counts_the_middle_one(scores: list[int], score: float, flips: float) -> None:
    def sample(nonce: str, question: ModelQuestion) -> Any:
        score = scores[question.turn]
        return reply(nonce, scores={"right": score}, passed=score == 5)

    found = judged(ModelJudge([Criterion("right")], samples=3), sample)
    assert (found.score, found.usage.tokens_in) == (score, 30)
    assert found.details["samples"]["flip_rate"] == pytest.approx(flips)


CHECKS = '{"nonce": "N", "checks": [{"id": "rubric-1", "satisfied": "true"}, {"id": "kind", "score": "10"}]}'
RUBRIC = RubricJudge(["Names it", RubricItem("kind", score_ranges={"0": "no", "6": "yes"})])


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (TWO, '{"nonce": "N", "scores": {"right": "5", "kind": "4.5"}, "passed": "true"}'),
        (TemplateJudge(), '{"nonce": "N", "score": "0.9", "confidence": 1}'),
        (RUBRIC, CHECKS),
    ],
)
def test_h32_numbers_between_quotes_and_further_keys_are_read(how: Any, text: str) -> None:
    assert judged(how, text).outcome == "passed"


# The scale is the same in the question and in the verdict.


def honest(names: list[str], scores: list[float], weights: list[float]) -> GradeClients:
    """A judge that does what the question asks, and knows nothing else."""

    def answer(nonce: str, question: ModelQuestion) -> dict[str, Any]:
        text = question.messages[-1].content
        bounds = re.findall(r"Score (\w+) from (\S+) \(worst\) to (\S+) \(best\)", text)
        ranges = {name: (Fraction(low), Fraction(high)) for name, low, high in bounds}
        values = [Fraction(str(score)) for score in scores]
        if "as a share of its own range" in text:
            ends = [ranges[name] for name in names]
            values = [(value - low) / (high - low) for value, (low, high) in zip(values, ends, strict=True)]
        mean = sum(value * Fraction(str(weight)) for value, weight in zip(values, weights, strict=True))
        mean /= sum(Fraction(str(weight)) for weight in weights)
        (threshold,) = re.findall(r"`passed` is true if it is (\S+) or more", text)
        verdict = {"overall_score": float(mean), "passed": mean >= Fraction(threshold)}
        scored = dict(zip(names, scores, strict=True))
        return {"nonce": nonce, "scores": scored, **verdict, "justification": "so"}

    return judge(answer)


RANGES = st.sampled_from([None, [0, 5], [1, 5], [0, 10], [-2, 2], [0, 100]])
RATED = st.lists(st.tuples(RANGES, st.sampled_from([1, 2, 0.5]), st.integers(0, 8)), min_size=1, max_size=4)


@given(RATED)
def test_judge_that_follows_its_question_is_read_on_its_scale(rated: list[tuple[Any, float, int]]) -> None:
    """Each criterion: its range, its weight, and its score in eighths of the range."""
    names = [f"c{number}" for number in range(len(rated))]
    pairs = [*zip(names, rated, strict=True)]
    how = ModelJudge([Criterion(name, weight=weight, range=bounds) for name, (bounds, weight, _) in pairs])
    ends = [bounds or (1, 5) for bounds, _, _ in rated]
    scores = [low + (high - low) * part / 8 for (low, high), (_, _, part) in zip(ends, rated, strict=True)]
    clients = honest(names, scores, [weight for _, weight, _ in rated])
    found = graded("out", how, clients=clients, kind="model")
    assert found.outcome in ("passed", "failed"), found.reason
    assert "disagrees" not in found.details
    mean = sum(weight * part / 8 for _, weight, part in rated) / sum(weight for _, weight, _ in rated)
    assert found.score == pytest.approx(mean)


# Criteria and weights as a text states them, measured by a table of rubrics with known answers.


def problems(how: ModelJudge) -> list[Problem]:
    return list(problems_of(Grader("g", "model", how), case()))


def read(text: str) -> object:
    how = ModelJudge(text)
    if found := problems(how):
        assert all(problem.code == "BK702" and problem.hint for problem in found)
        return REFUSED
    return [(criterion.name, pytest.approx(criterion.weight)) for criterion in how.criteria]


def test_h33_rubrics_with_known_answers_give_the_error_rate_of_the_docs() -> None:
    assert len({text for text, _ in RUBRICS}) == len(RUBRICS) >= 100
    wrong = {text for text, wanted in RUBRICS if read(text) != wanted}
    assert wrong == {*KNOWN_WRONG}
    measured = (Path(__file__).parents[2] / "benchmarks" / "README.md").read_text("utf-8")
    assert f"| rubrics with weights | {len(RUBRICS)} | {len(wrong)} |" in measured


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (ModelJudge(""), "a model grader without a rubric"),
        (ModelJudge("x", scoring=GOOD_OR_BAD), "`passing` names no category, or one that there is not"),
        (ModelJudge("x", scoring=Scoring(range=[5, 1])), "[5, 1] is not a range"),
        (ModelJudge([Criterion("a", weight=0)]), "no criterion has any weight"),
        (ModelJudge("1. A (w: 3)\n2. B"), "line 1 of the rubric: '(w: 3)' looks like a weight"),
    ],
)
def test_model_judge_problems(how: ModelJudge, message: str) -> None:
    assert [problem.message.partition(" but ")[0] for problem in problems(how)] == [message]


@pytest.mark.slow
def test_long_rubric_is_read_in_little_time() -> None:
    for part in ("1. a (40%)\n", "| a | 1% |\n", "(weight " * 3, "(" * 50, "1 % " * 9):
        began = process_time()
        read(part * 2_000)
        assert process_time() - began < 10
