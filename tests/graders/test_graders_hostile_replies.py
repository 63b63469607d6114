"""Several hundred replies that would turn a failure into a pass: none does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cases import exactly, graded, judge
from hostile_replies import AROUND, BAD_SCORES, DRESSED, NO_REPLY, NONCES, RAW_SCORES, SEVERAL
from hypothesis import given, strategies as st

from baselinekit.graders.by_model import Criterion, ModelJudge, Scoring
from baselinekit.graders.by_template import RubricItem, RubricJudge, TemplateJudge
from baselinekit.graders.judging import object_at

WORDS = {"justification": "because", "specific_feedback": ["so"]}
NUMERIC = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])
CATEGORIES = Scoring("categorical", categories=["good", "poor"], passing=["good"])
BY_CATEGORY = ModelJudge("Is it good?", scoring=CATEGORIES)
BY_BOOLEAN = ModelJudge("Is it good?", scoring=Scoring("boolean"))
BY_RUBRIC = RubricJudge(["Names it", RubricItem("kind", score_ranges={"0": "no", "6": "yes"})])


def scores(right: Any, passed: bool) -> dict[str, Any]:
    return {"scores": {"right": right, "kind": right}, "overall_score": right, "passed": passed, **WORDS}


def checks(met: bool, score: int) -> dict[str, Any]:
    found = [{"id": "rubric-1", "satisfied": met}, {"id": "kind", "score": score}]
    return {"checks": [{**check, "reasoning": "so"} for check in found], "overall_reasoning": ""}


KINDS: dict[str, tuple[Any, str, dict[str, Any], dict[str, Any]]] = {
    "numeric": (NUMERIC, "scores", scores(5, True), scores(1, False)),
    "categorical": (
        BY_CATEGORY,
        "category",
        *({"category": word, "justification": ""} for word in ("good", "poor")),
    ),
    "boolean": (BY_BOOLEAN, "passed", *({"passed": value, "justification": ""} for value in (True, False))),
    "prompt": (TemplateJudge(), "score", *({"score": score, "hits": [], "misses": []} for score in (1, 0))),
    "rubric": (BY_RUBRIC, "checks", checks(True, 10), checks(False, 0)),
}
"""The judge, the key that decides, the reply that passes and the one that fails."""

REPLIES = {**NONCES, **SEVERAL, **DRESSED}


def outcome(how: Any, reply: Callable[[str], str]) -> str:
    """The outcome by a judge whose reply is made of the nonce."""
    clients = judge(lambda nonce, _: reply(nonce))
    return graded("an output", how, exactly("the gold"), clients, kind="model").outcome


def outcome_of(kind: str, reply: dict[str, Any]) -> str:
    return outcome(KINDS[kind][0], lambda nonce: json.dumps({"nonce": nonce, **reply}))


@pytest.mark.parametrize("kind", KINDS)
def test_f36_reply_of_another_form_is_an_error(kind: str) -> None:
    how, _, good, bad = KINDS[kind]
    for name, reply in REPLIES.items():
        found = outcome(
            how, lambda nonce, r=reply: r(nonce, {"nonce": nonce, **good}, {"nonce": nonce, **bad})
        )  # type: ignore[misc]
        assert found == "error", name
    assert {outcome(how, lambda nonce, text=text: text) for text in NO_REPLY} == {"error"}  # type: ignore[misc]
    whole = len(json.dumps({"nonce": "0" * 16, **good}))
    for cut in [slice(0, end) for end in range(whole)] + [slice(begin, None) for begin in range(1, whole)]:
        found = outcome(how, lambda nonce, cut=cut: json.dumps({"nonce": nonce, **good})[cut])  # type: ignore[misc]
        assert found == "error", cut


@pytest.mark.parametrize("kind", KINDS)
def test_f36_reply_with_a_verdict_in_other_text_is_read(kind: str) -> None:
    how, _, good, bad = KINDS[kind]
    for name, around in AROUND.items():
        for reply, expected in ((good, "passed"), (bad, "failed")):
            found = outcome(how, lambda nonce, a=around, r=reply: a(nonce, {"nonce": nonce, **r}, {}))  # type: ignore[misc]
            assert found == expected, name


@pytest.mark.parametrize("kind", KINDS)
def test_f36_reply_with_a_misspelt_key_is_an_error(kind: str) -> None:
    how, decisive, good, _ = KINDS[kind]
    for key in ("nonce", *good):
        look_alike = key.translate(str.maketrans("aoei", "\u0430\u043e\u0435\u0456"))
        for other in (key.title(), f" {key}", f"{key}\u200b", f"\u202e{key}", "", look_alike, f"{key}\u0301"):
            stated = {"nonce": "NONCE", **good}
            swapped = {other if name == key else name: value for name, value in stated.items()}
            more = {**stated, other: good.get(key, "NONCE")}
            for form, fails in ((swapped, key in ("nonce", decisive)), (more, key == "nonce")):
                text = json.dumps(form, ensure_ascii=False)
                found = outcome(how, lambda nonce, text=text: text.replace("NONCE", nonce))  # type: ignore[misc]
                assert found == ("error" if fails else "passed"), form


def scored(stated: Any, **more: Any) -> str:
    return outcome_of("numeric", {**KINDS["numeric"][2], "scores": stated, **more})


def test_f36_reply_with_a_wrong_score_is_an_error() -> None:
    for score in BAD_SCORES:
        assert scored({"right": score, "kind": 5}) == scored({"right": 5, "kind": score}) == "error", score
        assert scored({"right": 1, "kind": 1}, overall_score=score) == "error"  # which says passed: true
        assert scored({"right": 1, "kind": 1}, overall_score=score, passed=False) == "failed"
    for raw in RAW_SCORES:
        reply = json.dumps({"nonce": "NONCE", **KINDS["numeric"][2], "scores": {"right": "RAW", "kind": 5}})
        text = reply.replace('"RAW"', raw)
        assert outcome(NUMERIC, lambda nonce, text=text: text.replace("NONCE", nonce)) == "error", raw  # type: ignore[misc]


@pytest.mark.parametrize(
    "stated",
    [
        *({}, None, 5, "5", True, [5, 5], [["right", 5], ["kind", 5]], {"right": 5}, {"kind": 5}),
        *({"right": 5, "kind": 5, "more": 5}, {"Right": 5, "kind": 5}, {"right": 5, "k\u0456nd": 5}),
        *({"overall": 5}, {"right": 5, "kind": 5, "": 5}, {"right": {"right": 5}, "kind": 5}),
    ],
)
def test_f36_reply_without_exactly_the_criteria_is_an_error(stated: Any) -> None:
    assert scored(stated) == "error"


@pytest.mark.parametrize("passed", [True, False, None, "true", "yes", 1, 5, [True], {"passed": True}])
def test_f36_reply_whose_verdict_contradicts_its_scores_is_an_error(passed: Any) -> None:
    for overall in (5, 1, None, "5", 500):
        low = scored({"right": 1, "kind": 5}, passed=passed, overall_score=overall)
        high = scored({"right": 5, "kind": 5}, passed=passed, overall_score=overall)
        assert low == ("failed" if passed is False else "error")
        assert high == ("passed" if passed is True or passed == "true" else "error")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("categorical", [None, "", "Good", "good ", "good\u200b", "g\u043eod", ["good"], {"is": "good"}, 0]),
        ("boolean", [None, "", "yes", 1, 0, 1.0, [True], {"passed": True}, "\u2705"]),
    ],
)
def test_f36_reply_with_another_category_or_boolean_is_an_error(kind: str, values: list[Any]) -> None:
    for value in values:
        assert outcome_of(kind, {KINDS[kind][1]: value, "justification": ""}) == "error", value


VALUES = st.sampled_from([5, 4, 1, 0, 50, True, False, None, "5", "good", "poor", "", [], {}, [5]])
KEYS = st.sampled_from(
    ["scores", "overall_score", "passed", "justification", "specific_feedback", "category", "x"]
)
SCORED = st.dictionaries(st.sampled_from(["right", "kind", "more"]), VALUES, max_size=3)


def is_pass(reply: dict[str, Any]) -> bool:
    if "scores" not in reply:
        return reply.get("passed") is True or reply.get("score") == 1 or reply.get("category") == "good"
    weighted = (reply["scores"].get("right"), 3), (reply["scores"].get("kind"), 1)
    return sum((float(value) - 1) * weight for value, weight in weighted) >= 12


@given(st.dictionaries(KEYS, VALUES | SCORED, max_size=7), st.booleans(), st.sampled_from(sorted(KINDS)))
def test_f36_reply_that_passes_has_nonce_and_verdict(reply: dict[str, Any], known: bool, kind: str) -> None:
    how, decisive, _, _ = KINDS[kind]
    found = outcome(how, lambda nonce: json.dumps({"nonce": nonce if known else nonce[::-1] + "x", **reply}))
    assert found != "passed" or (known and decisive in reply and is_pass(reply))


BENDS = ["", "5", "true", '"', "{", "}", ",", ":", "\\", "\x00", "0", "-", "e9", "\u200b"]


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 300), st.sampled_from(BENDS), st.integers(0, 8))
def test_f36_failing_reply_with_one_change_does_not_pass(kind: str, place: int, more: str, less: int) -> None:
    """Letters more, less or others, except those that make another verdict of it."""
    how, _, _, bad = KINDS[kind]
    replies: list[str] = []

    def bent(nonce: str) -> str:
        text = json.dumps({"nonce": nonce, **bad})
        at = place % len(text)
        replies.append(text[:at] + more + text[at + less :])
        return replies[-1]

    if outcome(how, bent) == "passed":
        assert is_pass(object_at(replies[-1], replies[-1].find("nonce")))  # type: ignore[arg-type]
