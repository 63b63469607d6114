"""Judges by a rubric: what they are asked, what of their replies counts, and on which scale they are read."""

import json
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
from baselinekit.graders.by_model import (
    Criterion,
    ModelJudge,
    Sample,
    Scoring,
    describe_criteria,
    judge_question,
)
from baselinekit.graders.by_template import RubricItem, RubricJudge, TemplateJudge
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import ModelQuestion
from baselinekit.report.evalterminal import format_grades
from baselinekit.report.wording import Style

TWO = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])
GOOD_OR_POOR = Scoring("categorical", categories=["good", "poor"], passing=["good"])


def reply(nonce: str, /, **more: Any) -> dict[str, Any]:
    said = {"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": True, "justification": "good"}
    return {"nonce": nonce, **said, "specific_feedback": [], **more}


def question_text(how: ModelJudge, output: Any = "out", **more: Any) -> str:
    return judge_question(how, case(Grader("g", "model", how), **more), output).messages[-1].content


def judged(how: Any, *texts: Any, **more: Any) -> Grade:
    """The grade of a judge that gives these replies, the last one again and again, or a good one with `more`
    in it. N in a text is the nonce."""
    replies = [*texts]

    def says(_: str, ask: ModelQuestion) -> Any:
        nonce = ask.messages[1].content.rpartition('{"nonce": "')[2][:16]
        said = replies.pop(0) if len(replies) > 1 else (replies or [reply(nonce, **more)])[0]
        return re.sub(r"\bN\b", nonce, said) if isinstance(said, str) else said(nonce, ask)

    clients = judge(says if texts else lambda nonce, _: reply(nonce, **more))
    return graded("out", how, exactly("the gold"), clients, kind="model")


@pytest.mark.parametrize(
    ("scores", "score", "passed"),
    [
        ({"right": 5, "kind": 5}, 1.0, True),
        ({"right": 1, "kind": 1}, 0.0, False),
        ({"right": 5, "kind": 1}, 0.75, True),
        ({"right": 1, "kind": 5}, 0.25, False),
        ({"right": 3.9, "kind": 4}, 0.73125, False),
    ],
)
def test_h33_the_overall_score_is_computed_from_the_weights(
    scores: dict[str, float], score: float, passed: bool
) -> None:
    found = judged(TWO, scores=scores, passed=passed)
    assert (found.score, found.outcome) == (pytest.approx(score), "passed" if passed else "failed")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"scores": {"right": 1, "kind": 1}}, "passed: true, but its scores make 1 of 5, and 4 passes"),
        ({"passed": False}, "passed: false, but its scores make 5 of 5, and 4 passes"),
        ({"scores": {"right": 3, "kind": 4}}, "passed: true, but its scores make 3.25 of 5, and 4 passes"),
    ],
)
def test_h33_a_judge_that_contradicts_its_scores_has_judged_nothing(
    said: dict[str, Any], reason: str
) -> None:
    found = judged(TWO, **said)
    assert (found.outcome, found.score, found.code) == ("error", None, "BK641")
    assert f"the judge contradicts itself: it says {reason}" in found.reason


def test_h33_a_slip_in_the_sum_is_told_and_decides_nothing() -> None:
    found = judged(TWO, overall_score=3)
    assert (found.outcome, found.score) == ("passed", 1.0)
    assert found.details["disagrees"] == "the judge says 3 overall, its scores make 5"


@pytest.mark.parametrize(
    "bad", ["no JSON", "", '{"nonce": "0"}', lambda nonce, _: reply(nonce, passed=False)]
)
def test_unreadable_reply_is_asked_once_more_with_the_complaint(bad: Any) -> None:
    questions: list[str] = []

    def good(nonce: str, ask: ModelQuestion) -> Any:
        questions.append(ask.messages[1].content)
        return reply(nonce)

    found = judged(TWO, bad, good)
    assert (found.outcome, found.usage.tokens_in) == ("passed", 20)  # both were paid for
    assert len(found.details["replies_that_could_not_be_read"]) == 1
    complaint = questions[0].partition("\n\nAn earlier reply could not be used: it ")[2]
    assert complaint
    assert "no JSON'" not in complaint  # what it said is not repeated: the text may want to say it


def test_h33_a_required_criterion_and_a_threshold_that_is_just_reached() -> None:
    how = ModelJudge([Criterion("right", weight=1, required=True), Criterion("kind", weight=9)])
    found = judged(how, scores={"right": 2, "kind": 5}, passed=False)
    assert (found.outcome, found.details["unmet"]) == ("failed", ["right"])
    for threshold, passed in ((3, True), (4.0, True), (4.1, False), (None, True)):
        how = ModelJudge([Criterion("right")], scoring=Scoring(threshold=threshold))
        assert (judged(how, scores={"right": 4}, passed=passed).outcome == "passed") == passed
    mean = "`overall_score` is the weighted mean of the scores, and `passed` is true if it is 4 or more."
    assert mean in question_text(TWO)
    how = ModelJudge([Criterion("a", required=True), Criterion("b")], scoring=Scoring(threshold=2.5))
    assert (
        "is the mean of the scores, and `passed` is true if it is 2.5 or more, and a too."
        in question_text(how)
    )


def test_h30_categories() -> None:
    how = ModelJudge("Is it good?", scoring=GOOD_OR_POOR)
    for category, outcome in (("good", "passed"), ("poor", "failed"), ("so-so", "error")):
        found = judged(how, f'{{"nonce": "N", "category": "{category}", "justification": ""}}')
        assert (found.outcome, found.reason == "poor") == (outcome, category == "poor")
        if outcome != "error":
            (line, *_) = format_grades([(found, "")], Style(colour=False))
            assert line.endswith(f", {category}")


def test_h30_yes_or_no() -> None:
    how = ModelJudge("Is it good?", scoring=Scoring("boolean"))
    verdicts = {"true": "passed", "false": "failed", '"True"': "passed", "1": "error", '"yes"': "error"}
    for passed, outcome in verdicts.items():
        assert judged(how, f'{{"nonce": "N", "passed": {passed}, "confidence": 1}}').outcome == outcome


def test_h30_examples_are_shown_and_the_settings_are_sent() -> None:
    how = ModelJudge("Judge.", "strict", 0.0, 700, examples=[Sample("short", 2, "the input", "too brief")])
    ask = judge_question(how, case(Grader("g", "model", how)), "out")
    assert (ask.model, ask.temperature, ask.max_tokens) == ("strict", 0.0, 700)
    assert '"justification": "too brief"' in ask.messages[-1].content


def test_h3_h4_h5_the_judge_sees_context_lists_and_alternatives() -> None:
    lists = {"must_include": ["PostgreSQL 14+"], "must_not_include": ["legacy"]}
    shown = question_text(
        TWO, expected=exactly(lists, "two", type="semantic"), context={"targets": ["dependencies"]}
    )
    for text in ("PostgreSQL 14+", "legacy", "dependencies", "expected, alternative 1"):
        assert text in shown


def test_h31_slots_in_the_judged_text_are_not_filled_in() -> None:
    how = ModelJudge("THE RUBRIC", prompt='{rubric}\nlike {"a": 1}, of {output}, {expected} and {input}')
    shown = question_text(how, "I am {expected} and {rubric}", expected=exactly("the gold {output}"))
    parts = ['THE RUBRIC\nlike {"a": 1}, of the output below', "I am {expected} and {rubric}"]
    assert [part for part in (*parts, "the gold {output}") if part not in shown] == []
    assert shown.count("THE RUBRIC") == 1


@pytest.mark.parametrize(
    ("scores", "score", "flips"), [([5, 5, 5], 1.0, 0), ([5, 1, 5], 1.0, 1 / 3), ([1, 5, 1], 0.0, 1 / 3)]
)
def test_of_several_samples_the_middle_one_counts(scores: list[int], score: float, flips: float) -> None:
    def says(nonce: str, ask: ModelQuestion) -> Any:
        return reply(nonce, scores={"right": scores[ask.turn]}, passed=scores[ask.turn] == 5)

    found = judged(ModelJudge([Criterion("right")], samples=3), says)
    assert (found.score, found.usage.tokens_in) == (score, 30)
    assert found.details["samples"]["flip_rate"] == pytest.approx(flips)


NUMERIC = '"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": true, "justification": "so"'
CHECKS = '{"nonce": "N", "checks": [{"id": "rubric-1", "satisfied": true}, {"id": "kind", "score": 10}]}'
RUBRIC = RubricJudge(["Names it", RubricItem("kind", score_ranges={"0": "no", "6": "yes"})])


@pytest.mark.parametrize(
    ("how", "text", "outcome"),
    [
        # numbers, true or false between quotes, and further keys
        (TWO, '{"nonce": "N", "scores": {"right": "5", "kind": "4.5"}, "passed": "true"}', "passed"),
        (TWO, '{"nonce": "N", "scores": {"right": "1", "kind": "1"}, "passed": "False"}', "failed"),
        (TemplateJudge(), '{"nonce": "N", "score": "0.9", "confidence": 1}', "passed"),
        (RUBRIC, CHECKS.replace("true", '"true"').replace("10", '"10", "confidence": 1'), "passed"),
        (TWO, f'{{"confidence": "high", "nonce": "N", {NUMERIC}}}', "passed"),
        (TWO, '{"nonce": "N", "scores": {"right": 1, "kind": 5}}', "failed"),
        # words around it
        (TWO, f'The set {{a, b}} is right.\n\n{{"nonce": "N", {NUMERIC}}}', "passed"),
        (TWO, f'```json\n{{"a": 1}}\n```\nis right.\n```json\n{{"nonce": "N", {NUMERIC}}}\n```', "passed"),
        (RUBRIC, f"After some thought:\n{CHECKS}", "passed"),
        # the nonce, a criterion or the range is wrong
        (TWO, f"{{{NUMERIC}}}", "error"),
        (TWO, f'{{"nonce": "N", {NUMERIC}}} {{"nonce": "N", {NUMERIC}}}', "error"),
        (TWO, f'{{"result": {{"nonce": "N", {NUMERIC}}}}}', "error"),
        (TWO, '{"nonce": "N", "scores": {"right": "5 of 5", "kind": 5}, "passed": true}', "error"),
        (TemplateJudge(), '{"nonce": "N", "score": "90"}', "error"),
        (RUBRIC, '{"nonce": "N", "checks": [{"id": "kind", "satisfied": true}]}', "error"),
    ],
)
def test_h32_a_reply_is_an_error_only_where_nonce_criterion_or_range_is_wrong(
    how: Any, text: str, outcome: str
) -> None:
    found = judged(how, text)
    assert found.outcome == outcome, found.reason


# One scale from the question to the verdict.


def honest(names: list[str], scores: list[float], weights: list[float]) -> GradeClients:
    """A judge that does what the question asks, and knows nothing else."""

    def says(nonce: str, question: ModelQuestion) -> dict[str, Any]:
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
        return {
            "nonce": nonce,
            "scores": dict(zip(names, scores, strict=True)),
            **verdict,
            "justification": "so",
        }

    return judge(says)


@pytest.mark.parametrize(
    ("rubric", "threshold", "scores", "outcome", "score"),
    [
        ("1. Right (0-5)\n2. Kind (0-5)", None, (0, 0), "failed", 0),
        ("1. Right (0-5)\n2. Kind (0-5)", None, (3.75, 3.75), "passed", 0.75),
        ("1. Right (0-5)\n2. Kind (0-5)", None, (3.5, 3.99), "failed", 0.749),
        ("1. Right (0-5)\n2. Kind (0-5)", 4, (3.9, 3.9), "failed", 0.78),
        ("1. Right (0-5)\n2. Kind (0-5)", 4, (3, 5), "passed", 0.8),
        ("1. Right (0-10)\n2. Kind (0-10)", None, (7, 8), "passed", 0.75),
        ("1. Right (0-5)\n2. Kind (0-10)", None, (4, 7), "passed", 0.75),
        ("1. Right (0-5)\n2. Kind (0-10)", None, (4, 6), "failed", 0.7),
        ("1. Right (weight: 3)\n2. Kind (weight: 1)", None, (3, 5), "failed", 0.625),
    ],
)
def test_judge_that_does_what_it_was_asked_is_read_on_its_own_scale(
    rubric: str, threshold: float | None, scores: tuple[float, ...], outcome: str, score: float
) -> None:
    how = ModelJudge(rubric, scoring=Scoring(threshold=threshold))
    clients = honest(["right", "kind"], [*scores], [one.weight for one in how.criteria])
    found = graded("out", how, clients=clients, kind="model")
    assert (found.outcome, found.score, "disagrees" in found.details) == (
        outcome,
        pytest.approx(score),
        False,
    )
    assert found.reason == ("0 of 5: so" if score == 0 else found.reason)


RANGES = st.sampled_from([None, [0, 5], [1, 5], [0, 10], [-2, 2], [0, 100]])
RATED = st.lists(st.tuples(RANGES, st.sampled_from([1, 2, 0.5]), st.integers(0, 8)), min_size=1, max_size=4)


@given(RATED)
def test_judge_that_follows_the_question_never_contradicts_itself(
    rated: list[tuple[Any, float, int]],
) -> None:
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


@pytest.mark.parametrize("how", [TWO, ModelJudge("x", scoring=GOOD_OR_POOR), TemplateJudge(), RUBRIC])
def test_form_of_the_reply_shows_numbers_and_booleans_without_quotes(how: Any) -> None:
    shown: list[str] = []
    clients = judge(lambda nonce, asked: shown.append(asked.messages[-1].content))
    graded("out", how, exactly("the gold"), clients, kind="model")
    form = shown[0].rpartition("with the same nonce: ")[2]
    assert "<" in form
    assert not re.findall(r'"<[^>]*(?:\d|true)[^>]*>"', form)
    assert json.loads(re.sub(r": (<[^<>]*>)", r': "\1"', form))["nonce"]


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


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (ModelJudge(""), "a model grader without a rubric"),
        (
            ModelJudge("x", scoring=Scoring("categorical", categories=["a", "b"])),
            "categorical scoring is incomplete",
        ),
        (
            ModelJudge("x", scoring=Scoring("categorical", categories=["a", "b"], passing=["c"])),
            "`passing` names 'c', which is not a category",
        ),
        (ModelJudge("x", scoring=Scoring(range=[5, 1])), "[5, 1] is not a range"),
        (ModelJudge([Criterion("a", weight=0)]), "no criterion has any weight"),
        (
            ModelJudge("Criteria:\n1. Accuracy (weight: high)\n2. Tone"),
            "line 2 of the rubric: '(weight: high)' looks like a weight but could not be read",
        ),
    ],
)
def test_judge_problems(how: ModelJudge, message: str) -> None:
    assert [problem.message for problem in problems(how)] == [message]


def test_describe_criteria_shows_weights_and_ranges() -> None:
    how = ModelJudge("1. Accuracy (weight: 3) (0-10)\n2. Tone (weight: 1)")
    assert describe_criteria(how) == ["accuracy: weight 3 (75%), 0 to 10", "tone: weight 1 (25%), 1 to 5"]
    assert describe_criteria(ModelJudge("Is it right?")) == ["overall: all of it, 1 to 5"]
    lines = describe_criteria(ModelJudge([Criterion("a", required=True), Criterion("b")]))
    assert lines == ["a: weight 1 (50%), 1 to 5, required", "b: weight 1 (50%), 1 to 5"]
    assert describe_criteria(ModelJudge("ok?", scoring=Scoring("boolean"))) == ["boolean"]


@pytest.mark.slow
def test_read_long_rubrics_in_little_time() -> None:
    for part in ("1. a (40%)\n", "| a | 1% |\n", "(weight " * 3, "(" * 50, "- " * 20, "1 % " * 9, "   " * 30):
        began = process_time()
        read(part * 2_000)
        assert process_time() - began < 10
