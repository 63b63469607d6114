"""What of a judge's reply is read: a table of replies, and one scale from the question to the verdict."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from cases import exactly, graded, judge
from hypothesis import given, strategies as st

from baselinekit.graders.by_model import Criterion, ModelJudge, Scoring
from baselinekit.graders.by_rubric import RubricItem, RubricJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.task import GradeClients
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import ModelQuestion

REFERENCE = """\
Score the extraction on these criteria:
1. Completeness: Did it find all required items? (0-5)
2. Accuracy: Are the extracted items correct? (0-5)
3. Relevance: Did it avoid including irrelevant information? (0-5)
"""
JUDGES: dict[str, Any] = {
    "0-5": ModelJudge(REFERENCE),
    "0-5, 4 passes": ModelJudge(REFERENCE, scoring=Scoring(threshold=4)),
    "0-10": ModelJudge("1. Right (0-10)\n2. Kind (0-10)"),
    "0-5 and 0-10": ModelJudge("1. Right (0-5)\n2. Kind (0-10)"),
    "1-5": ModelJudge("1. Right (weight: 3)\n2. Kind (weight: 1)"),
    "categories": ModelJudge(
        "Is it good?", scoring=Scoring("categorical", categories=["good", "poor"], passing=["good"])
    ),
    "yes or no": ModelJudge("Is it good?", scoring=Scoring("boolean")),
    "prompt": TemplateJudge(),
    "rubric": RubricJudge(["Names it", RubricItem("kind", score_ranges={"0": "no", "6": "yes"})]),
}
KINDS = {"0-5": ("completeness", "accuracy", "relevance"), "0-10": ("right", "kind")}
KINDS |= {"0-5, 4 passes": KINDS["0-5"], "0-5 and 0-10": KINDS["0-10"], "1-5": KINDS["0-10"]}


def said_of(question: ModelQuestion, scores: dict[str, float], weights: dict[str, float]) -> dict[str, Any]:
    """The reply of a judge that does what the question asks, and knows nothing else."""
    text = question.messages[-1].content
    ranges = {
        name: (Fraction(low), Fraction(high))
        for name, low, high in re.findall(r"Score (\w+) from (\S+) \(worst\) to (\S+) \(best\)", text)
    }
    by_share = "as a share of its own range" in text
    values = {
        name: (Fraction(str(score)) - ranges[name][0]) / (ranges[name][1] - ranges[name][0])
        if by_share
        else Fraction(str(score))
        for name, score in scores.items()
    }
    mean = sum(value * Fraction(str(weights[name])) for name, value in values.items())
    mean /= sum(Fraction(str(weight)) for weight in weights.values())
    (threshold,) = re.findall(r"`passed` is true if it is (\S+) or more", text)
    reply = {"scores": scores, "overall_score": float(mean), "passed": mean >= Fraction(threshold)}
    return {**reply, "justification": "so", "specific_feedback": []}


def honest(how: str, *scores: float) -> GradeClients:
    criteria = JUDGES[how].criteria
    named = dict(zip(KINDS[how], scores, strict=True))
    weights = {criterion.name: criterion.weight for criterion in criteria}
    return judge(lambda nonce, asked: {"nonce": nonce, **said_of(asked, named, weights)})


HONEST: list[tuple[str, tuple[float, ...], str, float]] = [
    ("0-5", (0, 0, 0), "failed", 0),
    ("0-5", (5, 5, 5), "passed", 1),
    ("0-5", (3.5, 3.75, 3.99), "failed", 0.7493333),
    ("0-5", (3.75, 3.75, 3.75), "passed", 0.75),
    ("0-5", (3.5, 4, 4), "passed", 11.5 / 15),
    ("0-5", (3, 4, 5), "passed", 0.8),
    ("0-5, 4 passes", (3.9, 3.9, 3.9), "failed", 0.78),
    ("0-5, 4 passes", (3, 4, 5), "passed", 0.8),
    ("0-10", (6, 6), "failed", 0.6),
    ("0-10", (7, 8), "passed", 0.75),
    ("0-5 and 0-10", (4, 7), "passed", 0.75),
    ("0-5 and 0-10", (4, 6), "failed", 0.7),
    ("1-5", (4, 4), "passed", 0.75),
    ("1-5", (3, 5), "failed", 0.625),
]

NUMERIC = '"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": true, "justification": "so"'
CHECKS = '"checks": [{"id": "rubric-1", "satisfied": true}, {"id": "kind", "score": 10}]'
WRITTEN: list[tuple[str, str, str]] = [
    # a number, true or false between quotes
    ("1-5", '{"nonce": "N", "scores": {"right": "5", "kind": "4.5"}, "passed": "true"}', "passed"),
    ("1-5", '{"nonce": "N", "scores": {"right": "1", "kind": "1"}, "passed": "False"}', "failed"),
    ("yes or no", '{"nonce": "N", "passed": "true", "justification": "so"}', "passed"),
    ("yes or no", '{"nonce": "N", "passed": "False", "justification": "so"}', "failed"),
    ("prompt", '{"nonce": "N", "score": "0.9", "hits": [], "misses": [], "reasoning": ""}', "passed"),
    ("rubric", f'{{"nonce": "N", {CHECKS}}}'.replace("true", '"true"').replace("10", '"10"'), "passed"),
    # further keys, and words that are left out
    ("1-5", f'{{"nonce": "N", {NUMERIC}, "confidence": 0.9}}', "passed"),
    ("1-5", f'{{"confidence": "high", "nonce": "N", {NUMERIC}}}', "passed"),
    ("categories", '{"nonce": "N", "category": "good", "confidence": 1}', "passed"),
    ("prompt", '{"nonce": "N", "score": 0.2, "confidence": 1}', "failed"),
    ("rubric", f'{{"nonce": "N", {CHECKS}}}'.replace("10", '10, "confidence": 1'), "passed"),
    ("1-5", '{"nonce": "N", "scores": {"right": 5, "kind": 5}}', "passed"),
    ("1-5", '{"nonce": "N", "scores": {"right": 1, "kind": 5}}', "failed"),
    # words around it
    ("1-5", f'Here is my verdict: {{"nonce": "N", {NUMERIC}}}', "passed"),
    ("1-5", f'The set {{a, b}} is right.\n\n{{"nonce": "N", {NUMERIC}}}', "passed"),
    ("1-5", f'```json\n{{"a": 1}}\n```\nis right.\n```json\n{{"nonce": "N", {NUMERIC}}}\n```', "passed"),
    ("categories", 'I have read it.\n{"nonce": "N", "category": "poor"}', "failed"),
    ("yes or no", '{"nonce": "N", "passed": false}\n\nI hope this helps.', "failed"),
    ("prompt", 'Sure!\n\n```json\n{"nonce": "N", "score": 1}\n```', "passed"),
    ("rubric", f'After some thought:\n{{"nonce": "N", {CHECKS}}}', "passed"),
    # the nonce is wrong
    ("1-5", f"{{{NUMERIC}}}", "error"),
    ("1-5", f'{{"nonce": "{"0" * 16}", {NUMERIC}}}', "error"),
    ("1-5", f'{{"nonce": "N", {NUMERIC}}} {{"nonce": "N", {NUMERIC}}}', "error"),
    ("1-5", f'{{"result": {{"nonce": "N", {NUMERIC}}}}}', "error"),
    ("yes or no", 'N {"passed": true}', "error"),
    # a criterion is wrong
    ("1-5", '{"nonce": "N", "scores": {"right": 5}, "passed": true}', "error"),
    ("1-5", '{"nonce": "N", "scores": {"right": 5, "kind": 5, "style": 5}, "passed": true}', "error"),
    ("categories", '{"nonce": "N", "category": "so-so"}', "error"),
    ("rubric", '{"nonce": "N", "checks": []}', "error"),
    ("rubric", '{"nonce": "N", "checks": [{"id": "kind", "satisfied": true}]}', "error"),
    # the range is wrong, or it is no verdict
    ("1-5", '{"nonce": "N", "scores": {"right": 6, "kind": 5}, "passed": true}', "error"),
    ("1-5", '{"nonce": "N", "scores": {"right": "5 of 5", "kind": 5}, "passed": true}', "error"),
    ("0-10", '{"nonce": "N", "scores": {"right": "11", "kind": 5}, "passed": true}', "error"),
    ("prompt", '{"nonce": "N", "score": "90"}', "error"),
    ("yes or no", '{"nonce": "N", "passed": "yes"}', "error"),
    ("yes or no", '{"nonce": "N", "passed": <true or false>}', "error"),
]


def verdict(how: str, clients: GradeClients) -> Grade:
    return graded("out", JUDGES[how], exactly("the gold"), clients, kind="model")


@pytest.mark.parametrize(("how", "scores", "outcome", "score"), HONEST)
def test_judge_that_does_what_it_was_asked_is_read_on_its_own_scale(
    how: str, scores: tuple[float, ...], outcome: str, score: float
) -> None:
    found = verdict(how, honest(how, *scores))
    assert (found.outcome, found.details.get("disagrees")) == (outcome, None)
    assert found.score == pytest.approx(score)


@pytest.mark.parametrize(("how", "text", "outcome"), WRITTEN)
def test_reply_is_an_error_only_where_nonce_criterion_or_range_is_wrong(
    how: str, text: str, outcome: str
) -> None:
    found = verdict(how, judge(lambda nonce, _: re.sub(r"\bN\b", nonce, text)))
    assert found.outcome == outcome, found.reason


RANGES = st.sampled_from([None, [0, 5], [1, 5], [0, 10], [-2, 2], [0, 100]])


@given(st.data(), st.lists(st.tuples(RANGES, st.sampled_from([1, 2, 0.5])), min_size=1, max_size=4))
def test_judge_that_follows_the_question_never_contradicts_itself(
    data: st.DataObject, criteria: list[tuple[Any, float]]
) -> None:
    names = [f"c{number}" for number in range(len(criteria))]
    how = ModelJudge(
        [
            Criterion(name, weight=weight, range=bounds)
            for name, (bounds, weight) in zip(names, criteria, strict=True)
        ]
    )
    eighths = st.integers(0, 8)
    scores = {}
    for name, (bounds, _) in zip(names, criteria, strict=True):
        low, high = bounds or (1, 5)
        scores[name] = low + (high - low) * data.draw(eighths) / 8
    weights = {name: weight for name, (_, weight) in zip(names, criteria, strict=True)}
    clients = judge(lambda nonce, asked: {"nonce": nonce, **said_of(asked, scores, weights)})
    found = graded("out", how, clients=clients, kind="model")
    assert found.outcome in ("passed", "failed"), found.reason
    assert "disagrees" not in found.details


@pytest.mark.parametrize("how", JUDGES)
def test_form_of_the_reply_shows_numbers_and_booleans_without_quotes(how: str) -> None:
    shown: list[str] = []
    verdict(how, judge(lambda nonce, asked: shown.append(asked.messages[-1].content)))
    form = shown[0].rpartition("with the same nonce: ")[2]
    assert "<" in form
    assert not re.findall(r'"<[^>]*(?:\d|true)[^>]*>"', form)
    assert json.loads(re.sub(r": (<[^<>]*>)", r': "\1"', form))["nonce"]
