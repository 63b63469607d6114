"""Questions about the output of a recipe, and replies in the form that they show."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import CannotReplay
from baselinekit.graders.judging import meaning_question, nonce_of, read_scores, read_similarity
from baselinekit.model.recipes import Scores

TEXT = "A fine day."
RUBRIC = {"clarity": "is it clear?", "brevity": "is it short?"}
NONCE = nonce_of(TEXT)
GOOD: dict[str, Any] = {"nonce": NONCE, "scores": {"clarity": 4, "brevity": 4.5}, "justification": "good"}


def scored(answer: Any) -> Any:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return read_scores(text, TEXT, RUBRIC, Scores(RUBRIC, "judge", [1, 5]))


def refused(answer: Any) -> str:
    with pytest.raises(CannotReplay) as raised:
        scored(answer)
    (problem,) = raised.value.problems
    assert problem.code == "BK640"
    return problem.message


def test_read_scores_of_a_reply_in_the_shown_form() -> None:
    fenced = f"I have thought about it.\n\n```json\n{json.dumps(GOOD, indent=2)}\n```\n"
    assert scored(GOOD) == scored(fenced) == {"clarity": 4, "brevity": 4.5}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (json.dumps(GOOD) * 2, "does not contain the nonce exactly once"),
        ({**GOOD, "nonce": nonce_of("another text")}, "does not repeat the nonce"),
        ({"nonce": NONCE, "justification": "good"}, "has no scores"),
        (f'{{"nonce": "{NONCE}", "nonce": "{NONCE}", "scores": {{}}}}', "is not one JSON object"),
    ],
)
def test_f36_read_scores_of_another_form_is_an_error(answer: Any, why: str) -> None:
    assert why in refused(answer)


def test_f36_read_scores_of_other_criteria_or_out_of_range_is_an_error() -> None:
    for scores in ({}, {"clarity": 4}, {"clarity": 4, "brevity": 4, "more": 5}, [4, 4], None):
        assert "does not score clarity, brevity" in refused({**GOOD, "scores": scores})
    for value in (0.99, 5.01, -1, None, "4 of 5", True, [4]):
        assert "scores clarity with" in refused({**GOOD, "scores": {"clarity": value, "brevity": 4}})


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_f37_nonce_is_in_no_text_and_depends_on_all(texts: list[str]) -> None:
    nonce = nonce_of(*texts)
    assert all(nonce not in text for text in texts)
    assert nonce == nonce_of(*texts)  # otherwise no recording would answer a question
    assert nonce != nonce_of(*texts[:-1], texts[-1] + "x")


def facts(verdicts: str) -> list[dict[str, str]]:
    words = {"k": "kept", "c": "changed", "m": "missing"}
    return [{"fact": f"fact {number}", "verdict": words[letter]} for number, letter in enumerate(verdicts, 1)]


def similar(first: Any, second: Any, **more: Any) -> str:
    reply = {"first_in_second": first, "second_in_first": second, "reason": "so"}
    return json.dumps({"nonce": nonce_of("a", "b"), **reply, **more})


@pytest.mark.parametrize(
    ("first", "second", "score", "why"),
    [("kkkm", "kk", 0.75, "missing: fact 4; so"), ("kkkkkkkkkc", "kkkkkkkkkk", 0, "changed: fact 10; so")],
)
def test_read_similarity_counts_facts_both_ways(first: str, second: str, score: float, why: str) -> None:
    assert read_similarity(similar(facts(first), facts(second), passed=True), "a", "b") == (score, why)
    assert nonce_of("a", "b") in meaning_question("a", "b", "judge").messages[-1].content


@pytest.mark.parametrize(
    "wrong",
    [
        *([], None, {}, "kept", ["kept"], [{"fact": "x"}], [{"fact": 1, "verdict": "kept"}]),
        *([{"fact": "x", "verdict": "same"}], [{"fact": "x", "verdict": ["kept"]}], [*facts("k"), None]),
    ],
)
def test_f36_read_similarity_of_another_form_is_an_error(wrong: Any) -> None:
    for reply in (similar(wrong, facts("k")), similar(facts("k"), wrong)):
        with pytest.raises(CannotReplay, match="BK640"):
            read_similarity(reply, "a", "b")
    with pytest.raises(CannotReplay):
        read_similarity(similar(facts("k"), facts("k")), "a", "c")
