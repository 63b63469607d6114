"""What cannot fail is no pass, and is told before anybody is asked."""

import re
from typing import Any

import pytest
import regex
from cases import case, exactly
from hypothesis import given, strategies as st

from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import JsonSchema, StructuralMatch
from baselinekit.graders.by_text import Contains, MustInclude, RegexMatch, matches_everything
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating, Method, RatingScale

EMPTY = MustInclude(("",))
ANY = exactly("<<any>>")


def messages_of(method: Method, expected: Any = None) -> list[str]:
    grader = Grader("g", "code", method, at=("grader",))
    return [problem.message.split(":")[0] for problem in problems_of(grader, case(grader, expected=expected))]


def judge(**scoring: Any) -> ModelJudge:
    return ModelJudge("is it right?", scoring=Scoring(**scoring))


def scaled(**scale: Any) -> HumanRating:
    return HumanRating(rating_scale=RatingScale(**scale))


@pytest.mark.parametrize(
    ("method", "expected", "what"),
    [
        (Contains(), exactly([], type="contains"), "this cannot fail"),
        (Contains(), exactly("", type="contains"), "this cannot fail"),
        (Contains(), exactly(["a", ""], type="contains"), "this cannot fail"),
        (Contains(), exactly(None, type="contains"), "null is not a text that could be in the output"),
        (Contains(), exactly([["a"]], type="contains"), '["a"] is not a text that could be in the output'),
        (Contains(all=[""]), None, "this cannot fail"),
        (Contains(any=["a", ""]), None, "this cannot fail"),
        (Contains(none=[""]), None, "this cannot pass"),
        (EMPTY, None, "this cannot fail"),
        (MustInclude(("a",), alternatives=(EMPTY,)), None, "this cannot fail"),
        (MustInclude((), ("",)), None, "this cannot pass"),
        (RegexMatch(""), None, "this cannot fail"),
        (RegexMatch(".*", must_match=False), None, "this cannot pass"),
        (RegexMatch(), exactly("a", "()", type="pattern"), "this cannot fail"),
        (RegexMatch("^.*$", flags=["dotall"]), None, "this cannot fail"),
        (JsonSchema({}), None, "this fails only for text that is not JSON"),
        (JsonSchema({"title": "a", "tpye": "object"}), None, "this fails only for text that is not JSON"),
        (
            JsonSchema({"properties": {"a": {}}, "required": []}),
            None,
            "this fails only for text that is not JSON",
        ),
        (JsonSchema(False), None, "this cannot pass"),
        (StructuralMatch(), ANY, "this cannot fail"),
        (StructuralMatch(), exactly({"a": 1}, "<<any?>>"), "this cannot fail"),
        (FunctionOutput("f", [Call(".*", comparator="regex")]), None, "this cannot fail"),
        (judge(type="categorical", categories=["a", "b"], passing=["b", "a"]), None, "this cannot fail"),
        (judge(threshold=6), None, "this cannot pass"),
        (ModelJudge([]), None, "a model grader without a rubric"),
        (scaled(threshold=1), None, "this cannot fail"),
        (scaled(type="ranking", threshold=0), None, "this cannot fail"),
    ],
)
def test_what_cannot_fail_or_cannot_pass_is_told(method: Method, expected: Any, what: str) -> None:
    assert what in messages_of(method, expected)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Contains(), exactly(["a", 3], type="contains")),
        (Contains(none=["sorry"]), None),
        (Contains(all=[" "]), exactly("", type="exact")),
        (MustInclude((), ("a",)), None),
        (RegexMatch("^$"), None),
        (RegexMatch("^(?!.*sorry)"), None),
        (RegexMatch("^.*$"), None),
        (JsonSchema(True), None),
        (JsonSchema({"properties": {"a": {"type": "string"}}}), None),
        (JsonSchema({"not": {}}), None),
        (StructuralMatch(), exactly({"a": "<<any>>"})),
        (StructuralMatch(), exactly("<<any_string>>")),
        (FunctionOutput("f", [Call("a.*", comparator="regex")]), None),
        (judge(type="categorical", categories=["a", "b"], passing=["a"]), None),
        (judge(threshold=5), None),
        (scaled(threshold=5), None),
        (scaled(type="ranking", threshold=1), None),
    ],
)
def test_what_can_do_both_is_let_be(method: Method, expected: Any) -> None:
    assert messages_of(method, expected) == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("", ".*", "()", "(?:)", "a*", "a?", "(a|b)*", "x|", "|x", "^", "$", "^.*", ".*$", r"\A.*"),
        *(r"\s*", "[^x]*"),
        *("(?P<a>b?)", "a{0,3}", "(a*)*", r"^[\s\S]*$", "(?i)a*", "^a?|b", "a|b*"),
    ],
)
def test_patterns_that_every_text_has(pattern: str) -> None:
    assert matches_everything(pattern, ())


@pytest.mark.parametrize(
    "pattern",
    [
        *(".", ".+", "^$", "^a*$", "a", "^.*$", r"\b", "^a", "a$", r"\$", r"\^", "(?=a)", "(?!a)"),
        *("(?<!a)", "a*b"),
        *(r"^[\s\S]{0,500}$", "^(?!.*sorry)", "^(?!.*sorry).*$", r"a\*", "[*]", r"\B", "^a?$|^b?$", r"\Z\A"),
    ],
)
def test_patterns_that_some_text_does_not_have(pattern: str) -> None:
    assert not matches_everything(pattern, ())


PIECES = [
    *("a", "b*", ".", ".*", "?", "*", "|", "(", ")", "(?:", "^", "$", "[^a]", "[ab]", r"\b", r"\A"),
    *(r"\Z", "(?!b)", "{0}"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=7), st.text("ab\n x", max_size=6))
def test_a_pattern_that_is_told_is_found_in_every_text(pieces: list[str], text: str) -> None:
    pattern = "".join(pieces)
    try:
        regex.compile(pattern)
    except (regex.error, re.error):
        return
    if matches_everything(pattern, ()):
        assert regex.search(pattern, text, timeout=5) is not None
