"""Several hundred replies that would turn a failure into a pass: none does."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from cases import exactly, graded, judge
from hostile_replies import AROUND, BAD_SCORES, DRESSED, NO_REPLY, NONCES, RAW_SCORES, SEVERAL, Reply
from hypothesis import given, settings, strategies as st

from baselinekit.graders.by_model import Criterion, ModelJudge, Scoring
from baselinekit.graders.by_rubric import RubricItem, RubricJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.judging import object_at

WORDS = {"justification": "because", "specific_feedback": ["so"]}
NUMERIC = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])
CATEGORY = ModelJudge(
    "Is it good?", scoring=Scoring("categorical", categories=["good", "poor"], passing=["good"])
)
BOOLEAN = ModelJudge("Is it good?", scoring=Scoring("boolean"))
RUBRIC = RubricJudge(["Names it", RubricItem("kind", score_ranges={"0": "no", "6": "yes"})])


def checks(met: bool, score: int) -> dict[str, Any]:
    found = [{"id": "rubric-1", "satisfied": met}, {"id": "kind", "score": score}]
    return {"checks": [{**one, "reasoning": "so"} for one in found], "overall_reasoning": ""}


KINDS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "numeric": (
        NUMERIC,
        {"scores": {"right": 5, "kind": 5}, "overall_score": 5, "passed": True, **WORDS},
        {"scores": {"right": 1, "kind": 1}, "overall_score": 1, "passed": False, **WORDS},
    ),
    "categorical": (
        CATEGORY,
        {"category": "good", "justification": ""},
        {"category": "poor", "justification": ""},
    ),
    "boolean": (BOOLEAN, {"passed": True, "justification": ""}, {"passed": False, "justification": ""}),
    "prompt": (
        TemplateJudge(),
        {"score": 1, "hits": ["it"], "misses": [], "reasoning": ""},
        {"score": 0, "hits": [], "misses": ["it"], "reasoning": ""},
    ),
    "rubric": (RUBRIC, checks(True, 10), checks(False, 0)),
}
DECISIVE = {
    "numeric": "scores",
    "categorical": "category",
    "boolean": "passed",
    "prompt": "score",
    "rubric": "checks",
}
REPLIES = {**NONCES, **SEVERAL, **DRESSED}


def outcome(how: Any, said: Callable[[str, str], str], output: str = "an output") -> str:
    """What a judge's reply makes of an output; `said` is given the nonce and the question."""
    clients = judge(lambda nonce, ask: said(nonce, ask.messages[-1].content))
    return graded(output, how, exactly("the gold"), clients, kind="model").outcome


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REPLIES)
def test_f36_no_reply_of_another_form_is_a_pass(kind: str, name: str) -> None:
    how, good, bad = KINDS[kind]
    reply: Reply = REPLIES[name]
    assert (
        outcome(how, lambda nonce, _: reply(nonce, {"nonce": nonce, **good}, {"nonce": nonce, **bad}))
        == "error"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", AROUND)
def test_f36_what_stands_around_a_verdict_changes_nothing(kind: str, name: str) -> None:
    how, *verdicts = KINDS[kind]
    for said, expected in zip(verdicts, ("passed", "failed"), strict=True):
        assert outcome(how, lambda n, _, said=said: AROUND[name](n, {"nonce": n, **said}, {})) == expected  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
def test_f36_what_is_no_reply_at_all_is_an_error(kind: str) -> None:
    how, good, bad = KINDS[kind]
    assert {outcome(how, lambda nonce, _, text=text: text) for text in NO_REPLY} == {"error"}  # type: ignore[misc]
    assert outcome(how, lambda nonce, _: json.dumps({"nonce": nonce, **good})) == "passed"
    assert outcome(how, lambda nonce, _: json.dumps({"nonce": nonce, **bad})) == "failed"


@pytest.mark.parametrize("kind", KINDS)
def test_f36_a_reply_that_was_cut_is_an_error_wherever_it_was_cut(kind: str) -> None:
    how, good, _ = KINDS[kind]
    whole = len(json.dumps({"nonce": "0" * 16, **good}))
    cuts = [slice(0, end) for end in range(whole)] + [slice(begin, None) for begin in range(1, whole)]
    for cut in cuts:
        said = outcome(how, lambda nonce, _, cut=cut: json.dumps({"nonce": nonce, **good})[cut])  # type: ignore[misc]
        assert said == "error", cut


@pytest.mark.parametrize("kind", KINDS)
def test_f36_what_decides_has_its_very_name_and_further_keys_say_nothing(kind: str) -> None:
    how, good, _ = KINDS[kind]
    for key in ("nonce", *good):
        others = [
            key.title(),
            key.upper(),
            f" {key}",
            f"{key} ",
            f"{key}\u200b",
            f"\u202e{key}",
            f"{key}s",
            "",
        ]
        others += [key.translate(str.maketrans("aoei", "\u0430\u043e\u0435\u0456")), f"{key}\u0301"]
        for other in others:
            swapped = {"nonce": "NONCE", **good}
            swapped = {other if name == key else name: value for name, value in swapped.items()}
            more = {"nonce": "NONCE", **good, other: good.get(key, "NONCE")}
            swapped_fails, more_fails = key in ("nonce", DECISIVE[kind]), key == "nonce"
            for form, fails in ((swapped, swapped_fails), (more, more_fails)):
                text = json.dumps(form, ensure_ascii=False)
                found = outcome(how, lambda nonce, _, text=text: text.replace("NONCE", nonce))  # type: ignore[misc]
                assert found == ("error" if fails else "passed"), form


def scored(scores: Any, **more: Any) -> str:
    good = KINDS["numeric"][1]
    return outcome(NUMERIC, lambda nonce, _: json.dumps({"nonce": nonce, **good, "scores": scores, **more}))


@pytest.mark.parametrize("score", BAD_SCORES, ids=lambda score: repr(score)[:20])
def test_f36_no_score_that_is_none_makes_a_pass(score: Any) -> None:
    assert scored({"right": score, "kind": 5}) == "error"
    assert scored({"right": 5, "kind": score}) == "error"
    assert scored({"right": 1, "kind": 1}, overall_score=score) == "error"  # which says passed: true
    assert scored({"right": 1, "kind": 1}, overall_score=score, passed=False) == "failed"


@pytest.mark.parametrize("raw", RAW_SCORES)
def test_f36_nor_one_that_is_no_number_of_json(raw: str) -> None:
    good = {**KINDS["numeric"][1], "scores": {"right": "RAW", "kind": 5}}

    def said(nonce: str, _: str) -> str:
        return json.dumps({"nonce": nonce, **good}).replace('"RAW"', raw)

    assert outcome(NUMERIC, said) == "error"


@pytest.mark.parametrize(
    "scores",
    [
        *({}, None, 5, "5", True, [5, 5], [["right", 5], ["kind", 5]], {"right": 5}, {"kind": 5}),
        *(
            {"right": 5, "kind": 5, "more": 5},
            {"Right": 5, "kind": 5},
            {"right": 5, "k\u0456nd": 5},
            {"overall": 5},
        ),
        *({"right": 5, "kind": 5, "": 5}, {"right": {"right": 5}, "kind": 5}, [{"right": 5, "kind": 5}]),
    ],
)
def test_f36_all_criteria_and_no_others(scores: Any) -> None:
    assert scored(scores) == "error"


@pytest.mark.parametrize("passed", [True, False, None, "true", "yes", 1, 5, [True], {"passed": True}])
@pytest.mark.parametrize("overall", [5, 4.9, 1, None, "5", 500])
def test_f36_whatever_is_claimed_the_scores_decide(passed: Any, overall: Any) -> None:
    low, high = {"right": 1, "kind": 5}, {"right": 5, "kind": 5}
    """A verdict that is not that of the scores is none: nobody could say which of them is meant."""
    assert scored(low, passed=passed, overall_score=overall) == ("failed" if passed is False else "error")
    assert scored(high, passed=passed, overall_score=overall) == (
        "passed" if passed is True or passed == "true" else "error"
    )


@pytest.mark.parametrize(
    "value", [None, "", "Good", "good ", "good\u200b", "g\u043eod", ["good"], {"is": "good"}, 0]
)
def test_f36_a_category_is_one_of_those_that_were_named(value: Any) -> None:
    assert (
        outcome(CATEGORY, lambda n, _: json.dumps({"nonce": n, "category": value, "justification": ""}))
        == "error"
    )


@pytest.mark.parametrize("value", [None, "", "yes", 1, 0, 1.0, [True], {"passed": True}, "\u2705"])
def test_f36_yes_or_no_is_true_or_false(value: Any) -> None:
    assert (
        outcome(BOOLEAN, lambda n, _: json.dumps({"nonce": n, "passed": value, "justification": ""}))
        == "error"
    )


VALUES = st.sampled_from(
    [5, 4, 3, 1, 0, 5.0, -1, 50, True, False, None, "5", "good", "poor", "", [], {}, [5]]
)
KEYS = st.sampled_from(
    ["scores", "overall_score", "passed", "justification", "specific_feedback", "category", "x"]
)
SCORED = st.dictionaries(st.sampled_from(["right", "kind", "more"]), VALUES, max_size=3)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.dictionaries(KEYS, VALUES | SCORED, max_size=7), st.booleans(), st.sampled_from(sorted(KINDS)))
def test_f36_what_passes_says_so_in_the_very_form(said: dict[str, Any], known: bool, kind: str) -> None:
    how = KINDS[kind][0]
    found = outcome(
        how, lambda nonce, _: json.dumps({"nonce": nonce if known else nonce[::-1] + "x", **said})
    )
    if found == "passed":
        assert known
        assert DECISIVE[kind] in said
        assert _scores_of(said) >= 3 * 4


def _scores_of(said: dict[str, Any]) -> float:
    if "scores" not in said:
        return (
            12
            if said.get("passed") is True or said.get("score") == 1 or said.get("category") == "good"
            else 0
        )
    return sum(
        (float(value) - 1) * weight
        for value, weight in zip(map(said["scores"].get, ("right", "kind")), (3, 1), strict=True)
    )


@pytest.mark.slow
@settings(max_examples=300)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_f36_a_failure_that_is_bent_in_one_place_does_not_pass(kind: str, data: st.DataObject) -> None:
    """A letter more, less or another; but for the one that makes another verdict of it."""
    how, _, bad = KINDS[kind]

    def said(nonce: str, _: str) -> str:
        text = json.dumps({"nonce": nonce, **bad})
        place = data.draw(st.integers(0, len(text)))
        more = data.draw(
            st.sampled_from(
                ["", "5", "true", '"', "{", "}", ",", ":", "\\", "\x00", "0", "-", "e9", "\u200b"]
            )
        )
        return text[:place] + more + text[place + data.draw(st.integers(0, 8)) :]

    replies: list[str] = []
    found = outcome(how, lambda nonce, asked: replies.append(said(nonce, asked)) or replies[-1])  # type: ignore[func-returns-value]
    if found == "passed":
        assert _scores_of(object_at(replies[-1], replies[-1].find("nonce"))) >= 12  # type: ignore[arg-type]


def test_there_are_enough_of_them() -> None:
    replies = len(REPLIES) * len(KINDS) + len(NO_REPLY) + 2 * len(BAD_SCORES) + len(RAW_SCORES)
    assert replies > 200
