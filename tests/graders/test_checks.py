"""Checks in one line: each form means a grader, and the grader is written back as the same line."""

import pytest

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_text import Contains, RegexMatch
from baselinekit.graders.graders import FORMS, check_of, grade_checks, problems_of_checks, read_checks
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json

SCHEMA: Json = {"type": "object", "required": ["id"]}
EXAMPLES: list[tuple[str, Json, str, str]] = [
    ("contains", "mill", "the mill", "the mull"),
    ("not_contains", "mill", "the mull", "the mill"),
    ("contains_any", ["mill", "wheel"], "a wheel", "a river"),
    ("contains_all", ["mill", "wheel"], "a mill with a wheel", "a wheel"),
    ("matches", r"\d+ wheels", "2 wheels", "two wheels"),
    ("not_matches", r"\d+ wheels", "two wheels", "2 wheels"),
    ("min_tokens", 3, "one two three", "one two"),
    ("max_tokens", 3, "one two three", "one two three four"),
    ("json_schema", SCHEMA, '{"id": 1}', '{"name": "a"}'),
]


def recipe(*checks: dict[str, Json]) -> Recipe:
    return Recipe(PromptInput(text="?"), PromptExecution("prompt", checks=list(checks)))


def outcomes(checks: Recipe, text: str) -> dict[str, str]:
    grades = grade_checks(checks, Observation(text, 0.1), GradeClients())
    return {grade.grader: grade.outcome for grade in grades}


@pytest.mark.parametrize(("name", "value", "good", "bad"), EXAMPLES, ids=[name for name, *_ in EXAMPLES])
def test_check_passes_fails_and_is_written_back(name: str, value: Json, good: str, bad: str) -> None:
    checks = recipe({name: value})
    assert problems_of_checks(checks, ()) == []
    assert outcomes(checks, good) == {name: "passed"}
    assert outcomes(checks, bad) == {name: "failed"}
    (grader,), _ = read_checks([{name: value}])
    assert check_of(grader) == {name: value}


def test_check_of_a_grader_without_a_short_form_is_none() -> None:
    assert {name for name, *_ in EXAMPLES} == {*FORMS}
    of_text, without_case = Contains(all=["a"], of="text"), Contains(all=["a"], case_sensitive=False)
    others = (Contains(all=["a"], none=["b"]), RegexMatch("a", flags=["ignorecase"]), RegexMatch())
    for method in (of_text, without_case, *others):
        assert check_of(Grader("g", "code", method)) is None
    checks = recipe({"contains": "a"}, {"max_tokens": 9}, {"contains": "b"})
    assert outcomes(checks, "a") == {"contains": "passed", "max_tokens": "passed", "contains 2": "failed"}


@pytest.mark.parametrize(
    ("check", "at", "message"),
    [
        ({"contain": "a"}, (0, "contain"), "there is no check 'contain'"),
        ({"contains": "a", "matches": "b"}, (0,), "a check has one key"),
        ({"matches": ".*"}, (0, "matches"), "this cannot fail"),
    ],
)
def test_problems_of_checks_have_places(check: dict[str, Json], at: tuple[object, ...], message: str) -> None:
    (problem,) = problems_of_checks(recipe(check), ("current",))
    assert problem.at == ("current", *at)
    assert message in problem.message
