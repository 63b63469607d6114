"""What of an output a grader looks at: the answer, unless it says otherwise."""

from typing import Any

import pytest

from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, ExactMatch, MustInclude, RegexMatch
from baselinekit.graders.graders import grade, problems_of
from baselinekit.graders.task import GradeClients
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grader, Method
from baselinekit.model.recipes import HttpRequest, Observation, Recipe

COMMAND = Recipe(CommandInput(["x"]), CommandExecution("command"))
REQUEST = Recipe(HttpRequest(), HttpExecution("http"))
SKILL = Recipe("x", SkillExecution("skill", "x"))
SAID: Any = {"exit_code": 1, "stdout": "bye\n", "stderr": "oh no"}
ANSWERED: Any = {
    "status": 200,
    "headers": {"content-type": "text/plain"},
    "body": {"id": 7, "tags": ["a", "b"]},
}


def case(recipe: Recipe, expected: Expected | None) -> Case:
    return Case("c", recipe, (), expected=expected)


def judged(recipe: Recipe, output: Any, method: Method, expected: Expected | None = None) -> tuple[str, str]:
    grader = Grader("g", "code", method)
    found = grade(grader, case(recipe, expected), Observation(output, 0.1), GradeClients())
    return found.outcome, found.reason


@pytest.mark.parametrize(
    ("method", "expected", "passed"),
    [
        (Contains(), Expected("contains", "stdout"), False),
        (Contains(), Expected("contains", "bye"), True),
        (Contains(none=["err"]), None, True),
        (Contains(all=["oh no"]), None, False),
        (Contains(all=["oh no"], of="stderr"), None, True),
        (Contains(), Expected("contains", "oh no", of="stderr"), True),
        (Contains(all=["bye"]), Expected("contains", "oh no", of="stderr"), True),
        (Contains(all=["exit_code"], of="$"), None, True),
        (RegexMatch("^bye$"), None, True),
        (RegexMatch(), Expected("pattern", "^1$", of="exit_code"), True),
        (MustInclude(("bye",), ("stdout", "oh no")), None, True),
        (ExactMatch(), Expected("exact", "bye\n"), True),
        (ExactMatch(), Expected("exact", 1, of="exit_code"), True),
        (ExactMatch(), Expected("exact", 0, of="exit_code"), False),
        (ExactMatch(of="stderr"), Expected("exact", "oh no", of="exit_code"), True),
        (ExactMatch(), Expected("exact", SAID), True),
        (ExactMatch(), Expected("exact", {**SAID, "exit_code": 0}, ["bye"]), True),
        (ExactMatch(), Expected("exact", {"stdout": "bye\n"}), False),
        (JsonSchema({"type": "object"}), None, False),
        (JsonSchema({"required": ["exit_code"]}), None, True),
    ],
)
def test_of_a_command_it_is_the_standard_output(method: Method, expected: Any, passed: bool) -> None:
    assert judged(COMMAND, SAID, method, expected)[0] == ("passed" if passed else "failed")


@pytest.mark.parametrize(
    ("method", "expected", "passed"),
    [
        (Contains(), Expected("contains", "body"), False),
        (Contains(), Expected("contains", "tags"), True),
        (Contains(), Expected("contains", "plain", of="headers.content-type"), True),
        (ExactMatch(), Expected("exact", {"id": 7, "tags": ["a", "b"]}), True),
        (ExactMatch(), Expected("exact", {"status": 200}), False),
        (ExactMatch(), Expected("exact", 200, of="status"), True),
        (ExactMatch(), Expected("exact", 7, of="id"), True),
        (ExactMatch(), Expected("exact", 7, of="$.body.id"), True),
        (ExactMatch(), Expected("exact", "a", of="body.tags[0]"), True),
        (ExactMatch(), Expected("exact", ["a", "b"], of="tags[*]"), True),
        (JsonSchema({"required": ["id"]}), None, True),
        (JsonSchema({"properties": {"status": {"const": 404}}}), None, False),
        (JsonSchema({"properties": {"status": {"const": 404}}}, of="body"), None, True),
        (JsonSchema({"type": "integer"}, of="id"), None, True),
    ],
)
def test_of_a_response_it_is_the_body(method: Method, expected: Any, passed: bool) -> None:
    assert judged(REQUEST, ANSWERED, method, expected)[0] == ("passed" if passed else "failed")


def test_what_collects_its_own_parts_and_what_has_none_are_seen_whole() -> None:
    collected: Any = {"first": {"status": 200}, "body": "x"}
    assert judged(REQUEST, collected, Contains(all=["first"]))[0] == "passed"
    assert judged(SKILL, SAID, Contains(all=["stdout"]))[0] == "passed"
    assert judged(SKILL, '{"name": "Ada"}', ExactMatch(of="name"), Expected("exact", "Ada"))[0] == "passed"
    assert judged(REQUEST, {"status": 204, "headers": {}}, ExactMatch(), Expected("exact", ""))[0] == "passed"


def test_a_reason_names_the_part_that_was_looked_at_or_is_missing() -> None:
    assert judged(REQUEST, ANSWERED, Contains(none=["x"], of="nme")) == ("failed", "the output has no nme")
    assert judged(SKILL, "no JSON", Contains(all=["x"], of="name")) == ("failed", "the output has no name")
    assert judged(COMMAND, SAID, Contains(all=["x"]))[1] == "stdout: 'x' is not in the output"
    assert judged(REQUEST, ANSWERED, ExactMatch(of="id"), Expected("exact", 8))[1].startswith("id: it is not")
    assert judged(SKILL, "a text", Contains(all=["q"]))[1] == "'q' is not in the output"


@pytest.mark.parametrize(
    ("recipe", "of", "code"),
    [
        (COMMAND, "sterr", "BK709"),
        (COMMAND, "body", "BK709"),
        (COMMAND, "", "BK201"),
        (COMMAND, "a..b", "BK201"),
        (COMMAND, "exit_code", None),
        (COMMAND, "stdout.items[0]", None),
        (COMMAND, "$", None),
        (REQUEST, "anything", None),
    ],
)
def test_a_part_that_no_output_has_is_told_beforehand(recipe: Recipe, of: str, code: str | None) -> None:
    told = problems_of(Grader("g", "code", Contains(all=["x"], of=of)), case(recipe, None))
    assert [(problem.code, problem.at) for problem in told] == ([(code, ("config", "of"))] if code else [])
