"""What a judge is asked, and what of its replies counts: nothing but the very form that it was shown."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import CannotReplay
from baselinekit.graders.judging import (
    meaning_question,
    nonce_of,
    read_scores,
    read_similarity,
)
from baselinekit.model.recipes import ModelQuestion, Scores

TEXT = "A fine day."
RUBRIC = {"clarity": "is it clear?", "brevity": "is it short?"}
SCORES = Scores(RUBRIC, "judge", [1, 5])
NONCE = nonce_of(TEXT)
GOOD: dict[str, Any] = {"nonce": NONCE, "scores": {"clarity": 4, "brevity": 4.5}, "justification": "good"}


def asked(ask: ModelQuestion) -> str:
    return ask.messages[-1].content


def scored(answer: str) -> Any:
    return read_scores(answer, TEXT, RUBRIC, SCORES)


def refused(answer: str) -> str:
    with pytest.raises(CannotReplay) as raised:
        scored(answer)
    (problem,) = raised.value.problems
    assert problem.code == "BK640"
    return problem.message


def test_a_reply_as_it_was_asked_for_counts() -> None:
    assert scored(json.dumps(GOOD)) == {"clarity": 4, "brevity": 4.5}
    fenced = f"I have thought about it.\n\n```json\n{json.dumps(GOOD, indent=2)}\n```\n"
    assert scored(fenced) == {"clarity": 4, "brevity": 4.5}
    other_order = {**GOOD, "scores": {"brevity": 1, "clarity": 5}}
    assert list(scored(json.dumps(other_order)).items()) == [("clarity", 5), ("brevity", 1)]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "is not one JSON object"),
        ("4.5", "is not one JSON object"),
        ("Score: 50", "is not one JSON object"),
        ("[]", "is not one JSON object"),
        (json.dumps(GOOD) + json.dumps(GOOD), "does not contain the nonce exactly once"),
        (f"```\n{json.dumps(GOOD)}\n```\n\n```\n{json.dumps(GOOD)}\n```", "the nonce exactly once"),
        (json.dumps(GOOD)[:-1], "is not one JSON object"),
        (json.dumps(GOOD).replace(NONCE, "0" * 16), "does not repeat the nonce"),
        (json.dumps({**GOOD, "nonce": None}), "does not repeat the nonce"),
        (json.dumps({"scores": GOOD["scores"], "justification": ""}), "does not repeat the nonce"),
        (json.dumps({"nonce": NONCE, "justification": "good"}), "has no scores"),
        (f'{{"nonce": "{NONCE}", "nonce": "{NONCE}", "scores": {{}}}}', "is not one JSON object"),
    ],
)
def test_f36_a_reply_of_another_form_is_no_score(answer: str, why: str) -> None:
    assert why in refused(answer)


@pytest.mark.parametrize(
    "scores",
    [
        *(
            {},
            {"clarity": 4},
            {"clarity": 4, "brevity": 4, "more": 5},
            {"Clarity": 4, "brevity": 4},
            [4, 4],
            None,
        ),
        *({"clarity": value, "brevity": 4} for value in (0.99, 5.01, -1, None, "4 of 5", True, [4], 10**400)),
    ],
)
def test_f36_read_scores_of_other_criteria_or_out_of_range_is_unusable(scores: Any) -> None:
    why = refused(json.dumps({**GOOD, "scores": scores}))
    assert "does not score clarity, brevity" in why or "scores clarity with" in why or "JSON object" in why


def test_f37_a_judge_that_echoes_an_older_reply_gives_no_score() -> None:
    assert "nonce" in refused(json.dumps({**GOOD, "nonce": nonce_of("another text")}))
    with pytest.raises(CannotReplay):
        read_similarity(similar(GOOD_FACTS, GOOD_FACTS), "a", "c")


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_the_nonce_stands_in_none_of_the_texts_and_hangs_on_all_of_them(texts: list[str]) -> None:
    nonce = nonce_of(*texts)
    assert all(nonce not in text for text in texts)
    assert nonce == nonce_of(*texts)  # otherwise no recording would answer a question
    assert nonce != nonce_of(*texts[:-1], texts[-1] + "x")


def facts(verdicts: str) -> list[dict[str, str]]:
    words = {"k": "kept", "c": "changed", "m": "missing"}
    return [{"fact": f"fact {number}", "verdict": words[one]} for number, one in enumerate(verdicts, 1)]


def similar(first: Any, second: Any, **more: Any) -> str:
    reply = {"first_in_second": first, "second_in_first": second, "reason": "so"}
    return json.dumps({"nonce": nonce_of("a", "b"), **reply, **more})


@pytest.mark.parametrize(
    ("first", "second", "score", "why"),
    [
        ("k", "k", 1, "so"),
        ("kkkk", "kk", 1, "so"),
        ("kkkm", "kk", 0.75, "missing: fact 4; so"),
        ("kk", "kkkm", 0.75, "missing: fact 4; so"),
        ("mk", "kkkm", 0.5, "missing: fact 1; missing: fact 4; so"),
        ("m", "m", 0, "missing: fact 1; missing: fact 1; so"),
        ("kkkkkkkkkc", "kkkkkkkkkk", 0, "changed: fact 10; so"),
        ("kkkkkkkkkk", "ckkkkkkkkk", 0, "changed: fact 1; so"),
    ],
)
def test_facts_count_in_both_directions(first: str, second: str, score: float, why: str) -> None:
    assert read_similarity(similar(facts(first), facts(second)), "a", "b") == (score, why)
    assert nonce_of("a", "b") in asked(meaning_question("a", "b", "judge"))


GOOD_FACTS = facts("k")


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        None,
        1,
        {},
        "kept",
        ["kept"],
        [{"fact": "x"}],
        [{"fact": "x", "verdict": "same"}],
        [{"fact": "x", "verdict": ["kept"]}],
        [{"fact": 1, "verdict": "kept"}],
        [*GOOD_FACTS, None],
    ],
)
def test_f36_facts_of_another_form_are_no_verdict(wrong: Any) -> None:
    for reply in (similar(wrong, GOOD_FACTS), similar(GOOD_FACTS, wrong)):
        with pytest.raises(CannotReplay, match="BK640"):
            read_similarity(reply, "a", "b")
    assert read_similarity(similar(GOOD_FACTS, GOOD_FACTS, passed=True), "a", "b") == (1, "so")
