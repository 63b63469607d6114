"""Graders that cannot fail are problems of their file."""

import re
from typing import Any

import pytest
import regex
from cases import case, exactly
from hypothesis import given, strategies as st

from baselinekit.graders.by_model import Criterion, ModelJudge, Scoring
from baselinekit.graders.by_schema import JsonSchema, StructuralMatch
from baselinekit.graders.by_text import Contains, MustInclude, RegexMatch, matches_everything
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating, Method, RatingScale

EMPTY = Contains(all=[""])
ANY = exactly("<<any>>")


def messages_of(method: Method, expected: Any = None) -> list[str]:
    grader = Grader("g", "code", method, at=("grader",))
    return [problem.message.split(":")[0] for problem in problems_of(grader, case(grader, expected=expected))]


def judge(**scoring: Any) -> ModelJudge:
    return ModelJudge("is it right?", scoring=Scoring(**scoring))


@pytest.mark.parametrize(
    ("method", "expected", "what"),
    [
        (Contains(), exactly(["a", ""], type="contains"), "this cannot fail"),
        (Contains(), exactly(None, type="contains"), "null is not a text that could be in the output"),
        (MustInclude((Contains(all=["a"]), EMPTY)), None, "this cannot fail"),
        (RegexMatch(), exactly("a", "()", type="pattern"), "this cannot fail"),
        (RegexMatch("^.*$", flags=["dotall"]), None, "this cannot fail"),
        (JsonSchema({"properties": {"a": {}}}), None, "this fails only for text that is not JSON"),
        (StructuralMatch(), ANY, "this cannot fail"),
        (FunctionOutput("f", [Call(".*", comparator="regex")]), None, "this cannot fail"),
        (judge(type="categorical", categories=["a", "b"], passing=["b", "a"]), None, "this cannot fail"),
        (ModelJudge([]), None, "a model grader without a rubric"),
        (ModelJudge([Criterion("a", "x"), Criterion("a", "y")]), None, "two criteria are called a"),
        (HumanRating(rating_scale=RatingScale(threshold=1)), None, "this cannot fail"),
    ],
)
def test_grader_that_cannot_fail_is_a_problem(method: Method, expected: Any, what: str) -> None:
    assert what in messages_of(method, expected)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (RegexMatch(), exactly("a", "(", type="pattern")),
        (Contains(), exactly("a", [""], type="contains")),
        (MustInclude((Contains(all=["a"]), EMPTY)), None),
    ],
)
def test_problem_of_an_alternative_has_its_place(method: Method, expected: Any) -> None:
    grader = Grader("g", "code", method, at=("expected",))
    found = problems_of(grader, case(grader, expected=expected))
    assert [problem.at for problem in found] == [("alternatives", 0)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Contains(), exactly(["a", 3], type="contains")),
        (RegexMatch("^.*$"), None),
        (JsonSchema(True), None),
        (JsonSchema({"properties": {"a": {"type": "string"}}}), None),
        (StructuralMatch(), exactly({"a": "<<any>>"})),
        (FunctionOutput("f", [Call("a.*", comparator="regex")]), None),
        (judge(type="categorical", categories=["a", "b"], passing=["a"]), None),
    ],
)
def test_grader_that_can_fail_is_no_problem(method: Method, expected: Any) -> None:
    assert messages_of(method, expected) == []


IN_EVERY_TEXT = ["", ".*", "(?:)", "(a|b)*", "x|", "^", ".*$", r"\A.*", "(?P<a>b?)", "a{0,3}"]
IN_EVERY_TEXT += [r"^[\s\S]*$", "(?i)a*", "^a?|b"]
IN_SOME_TEXTS = ["^.*$", r"\$", "(?=a)", "(?!a)", "[*]", r"\B", r"a\*"]
IN_SOME_TEXTS += [r"^[\s\S]{0,500}$", "^(?!.*sorry).*$", "^a?$|^b?$"]


def test_matches_everything_is_true_for_patterns_that_every_text_has() -> None:
    assert [pattern for pattern in IN_EVERY_TEXT if not matches_everything(pattern, ())] == []
    assert [pattern for pattern in IN_SOME_TEXTS if matches_everything(pattern, ())] == []


PIECES = [
    *("a", "b*", ".", ".*", "?", "*", "|", "(", ")", "(?:", "^", "$", "[^a]", "[ab]", r"\b", r"\A"),
    *(r"\Z", "(?!b)", "{0}"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=7), st.text("ab\n x", max_size=6))
def test_matches_everything_is_true_only_for_patterns_found_in_any_text(pieces: list[str], text: str) -> None:
    pattern = "".join(pieces)
    try:
        regex.compile(pattern)
    except (regex.error, re.error):
        return
    if matches_everything(pattern, ()):
        assert regex.search(pattern, text, timeout=5) is not None
