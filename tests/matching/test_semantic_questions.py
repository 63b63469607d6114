"""Questions that a comparison leaves to a judge or a local model: which are put, and what the answers do."""

from typing import Any

import pytest
import ruled
from hypothesis import given, strategies as st

from baselinekit.model.baselines import Comparison, SimilarityQuestion
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape

MEANINGS = (
    ("red cars drive quickly", "scarlet autos go fast"),
    ("the sea is deep", "oceans have great depth"),
    ("birds sing at dawn", "at sunrise there is birdsong"),
)
RED, SEA, BIRDS = (first for first, _ in MEANINGS)
SCARLET, OCEANS, SUNRISE = (second for _, second in MEANINGS)


def alike(question: SimilarityQuestion) -> float:
    return float(any({question.expected, question.actual} <= set(texts) for texts in MEANINGS))


def settle(
    expected: Json, actual: Json, rules: dict[str, Any] | None = None, method: str = "judge"
) -> tuple[Comparison, list[list[SimilarityQuestion]]]:
    """The comparison with every answer, and the questions of each round."""
    stated = {"type": "semantic", "method": method, **(rules or {})}
    matcher = ruled.matcher(expected, stated)
    observation = Observation(actual, 0.0)
    answers: dict[SimilarityQuestion, tuple[float, str]] = {}
    rounds: list[list[SimilarityQuestion]] = []
    comparison = matcher.compare(observation)
    while comparison.questions:
        assert len(rounds) < 5
        assert not answers.keys() & set(comparison.questions), "what is answered is not asked again"
        rounds.append(list(comparison.questions))
        answers |= {question: (alike(question), "so it seems") for question in comparison.questions}
        comparison = matcher.compare(observation, answers)
    return comparison, rounds


@pytest.mark.parametrize("method", ["judge", "embedding"])
def test_semantic_questions_are_asked_together_and_once(method: str) -> None:
    expected = {"a": RED, "b": SEA, "c": RED, "d": "the same", "e": 1}
    actual = {"a": SCARLET, "b": OCEANS, "c": SCARLET, "d": "the same", "e": 1}
    comparison, rounds = settle(expected, actual, method=method)
    assert comparison.passed
    assert [[(q.expected, q.actual, q.method) for q in questions] for questions in rounds] == [
        [(RED, SCARLET, method), (SEA, OCEANS, method)]
    ]
    assert comparison.resolved is not actual
    assert comparison.resolved == expected, "what means the same keeps the author's words"


def test_semantic_answer_settles_the_difference() -> None:
    comparison, _ = settle({"a": RED, "b": SEA}, {"a": OCEANS, "b": OCEANS})
    (difference,) = comparison.differences
    assert (difference.path, difference.kind) == (("a",), "similarity")
    assert difference.note == "similarity 0.00, at least 1 is required (judge: so it seems)"
    assert comparison.resolved == {"a": OCEANS, "b": SEA}


def test_min_similarity_of_rule_decides_verdict() -> None:
    rules = {"type": "semantic", "method": "judge", "min_similarity": 0.6}
    matcher = ruled.matcher(RED, rules)
    question = SimilarityQuestion(RED, SCARLET, "judge")
    for score, passes in ((0.6, True), (0.59, False), (1.0, True)):
        assert matcher.compare(Observation(SCARLET, 0.0), {question: (score, "")}).passed is passes


def test_embedding_differing_facts_fail_without_a_question() -> None:
    rules = {"min_similarity": 0}
    comparison, rounds = settle("it costs 5 euros", "the price is 6 euros", rules, "embedding")
    assert (rounds, comparison.differences[0].note) == ([], "the numbers differ: 5, 6")


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
def test_judge_answer_is_the_verdict(expected: str, actual: str, same: bool) -> None:
    matcher = ruled.matcher(escape(expected), {"type": "semantic", "method": "judge"})
    observation = Observation(actual, 0.0)
    questions = matcher.compare(observation).questions
    assert len(questions) == (expected != actual)
    answers = {question: (float(same), "so it seems") for question in questions}
    assert matcher.compare(observation, answers).passed is (same or expected == actual)


def test_semantic_questions_are_only_about_texts() -> None:
    comparison, rounds = settle({"a": RED, "b": RED, "c": 1}, {"a": 1, "c": 2})
    assert rounds == []
    assert sorted(ruled.shown(comparison)) == [["a", "type"], ["b", "missing"], ["c", "value"]]


def test_semantic_field_rule_has_own_method() -> None:
    methods = {"b": "embedding", "c": "lexical"}
    fields = {key: {"type": "semantic", "method": method} for key, method in methods.items()}
    matcher = ruled.matcher({"a": RED, "b": SEA, "c": SEA}, {"fields": fields})
    comparison = matcher.compare(Observation({"a": RED, "b": OCEANS, "c": OCEANS}, 0.0))
    assert comparison.questions == (SimilarityQuestion(SEA, OCEANS, "embedding"),)
    assert ruled.shown(comparison) == [["c", "similarity"]], "which is called words now"


def test_semantic_ordered_array_asks_only_about_pairs() -> None:
    comparison, rounds = settle([RED, SEA, BIRDS], [SCARLET, OCEANS, SUNRISE])
    assert comparison.passed
    assert [len(questions) for questions in rounds] == [3]
    comparison, _ = settle([RED, SEA], [OCEANS, SCARLET])
    assert comparison.count == 2


@pytest.mark.parametrize("how", ["unordered", "subset"])
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"text": text}, lambda text: [[text]]])
def test_semantic_unordered_rows_are_paired_by_meaning(how: str, wrap: Any) -> None:
    expected, actual = [wrap(t) for t in (RED, SEA, BIRDS)], [wrap(t) for t in (SUNRISE, SCARLET, OCEANS)]
    more = [wrap("something else")] if how == "subset" else []
    comparison, rounds = settle({"x": expected}, {"x": actual + more}, {"arrays": {"x": how}})
    assert comparison.passed, comparison.differences
    assert len(rounds) == 1
    assert comparison.resolved == {"x": expected}


def test_semantic_unordered_equal_rows_are_not_asked_about() -> None:
    shuffled = {"x": [BIRDS, RED, SEA]}
    comparison, rounds = settle({"x": [RED, SEA, BIRDS]}, shuffled, {"arrays": {"x": "unordered"}})
    assert comparison.passed
    assert rounds == []


def test_semantic_unordered_row_with_other_meaning_fails() -> None:
    rules = {"arrays": {"x": "unordered"}}
    for stored, came in (
        ([RED, SEA], [OCEANS, SUNRISE]),
        ([RED, RED], [SCARLET, OCEANS]),  # each has a partner of its own
        ([RED], [SCARLET, SCARLET]),  # one too many
    ):
        assert not settle({"x": stored}, {"x": came}, rules)[0].passed


def test_semantic_rows_with_other_id_are_not_asked_about() -> None:
    rules = {"arrays": {"x": "unordered"}, "fields": {"x.*.id": {"type": "structural"}}}
    expected = [{"text": RED, "id": 1}, {"text": SEA, "id": 2}, {"text": BIRDS, "id": 3}]
    actual = [{"text": SUNRISE, "id": 3}, {"text": SCARLET, "id": 1}, {"text": OCEANS, "id": 2}]
    comparison, rounds = settle({"x": expected}, {"x": actual}, rules)
    assert comparison.passed
    assert [len(questions) for questions in rounds] == [3]


def test_semantic_nested_unordered_arrays_are_paired() -> None:
    rules = {"arrays": {"x": "unordered", "x.*": "unordered"}}
    expected = {"x": [[RED, SEA], [BIRDS]]}
    comparison, _ = settle(expected, {"x": [[SUNRISE], [OCEANS, SCARLET]]}, rules)
    assert comparison.passed, comparison.differences
    comparison, _ = settle(expected, {"x": [[SUNRISE], [OCEANS, SUNRISE]]}, rules)
    assert not comparison.passed


@pytest.mark.parametrize("how", ["ordered", "unordered"])
def test_semantic_rows_that_fail_elsewhere_are_not_asked_about(how: str) -> None:
    expected = [{"text": RED, "apples": 5}, {"text": SEA, "apples": 6}]
    actual = [{"text": BIRDS, "apples": 7}, {"text": SCARLET, "apples": 5}, {"text": OCEANS, "apples": 6}]
    comparison, rounds = settle({"x": expected}, {"x": actual}, {"arrays": {"x": how}})
    assert ruled.shown(comparison) == [["x[0]", "extra"]]
    ((first, second),) = rounds
    assert {(q.expected, q.actual) for q in (first, second)} == {(SEA, OCEANS), (RED, SCARLET)}
