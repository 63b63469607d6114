"""The part of an output that a grader looks at: the answer, unless another is stated."""

from typing import Any

import pytest
from cases import case, graded

from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, ExactMatch, RegexMatch
from baselinekit.graders.graders import problems_of
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.programs import CommandExecution, CommandInput
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Grader, Method
from baselinekit.model.recipes import HttpRequest, Recipe

COMMAND = Recipe(CommandInput(["x"]), CommandExecution("command"))
REQUEST = Recipe(HttpRequest(), HttpExecution("http"))
SKILL = Recipe("x", SkillExecution("skill", "x"))
EXIT_CODE, BODY = "exit_code", {"id": 7, "tags": ["a", "b"]}
RAN: Any = {"exit_code": 1, "stdout": "bye\n", "stderr": "oh no"}
RESPONSE: Any = {"status": 200, "headers": {"content-type": "text/plain"}, "body": BODY}


def judged(recipe: Recipe, output: Any, method: Method, expected: Expected | None = None) -> tuple[str, str]:
    found = graded(output, method, expected, recipe=recipe)
    return found.outcome, found.reason


@pytest.mark.parametrize(
    ("recipe", "method", "expected", "passed"),
    [
        # of a command it is the standard output
        (COMMAND, Contains(), Expected("contains", "stdout"), False),
        (COMMAND, Contains(all=["bye"]), Expected("contains", "oh no", of="stderr"), True),
        (COMMAND, Contains(all=["exit_code"], of="$"), None, True),
        (COMMAND, RegexMatch(), Expected("pattern", "^1$", of=EXIT_CODE), True),
        (COMMAND, ExactMatch(), Expected("exact", {**RAN, EXIT_CODE: 0}, ["bye"]), True),
        (COMMAND, JsonSchema({"required": [EXIT_CODE]}), None, True),
        # of a response it is the body
        (REQUEST, Contains(), Expected("contains", "plain", of="headers.content-type"), True),
        (REQUEST, ExactMatch(), Expected("exact", ["a", "b"], of="tags[*]"), True),
        (REQUEST, JsonSchema({"properties": {"status": {"const": 404}}}), None, False),
        (REQUEST, JsonSchema({"properties": {"status": {"const": 404}}}, of="body"), None, True),
    ],
)
def test_look_at_the_answer_or_a_part(recipe: Recipe, method: Method, expected: Any, passed: bool) -> None:
    output = RAN if recipe is COMMAND else RESPONSE
    assert judged(recipe, output, method, expected)[0] == ("passed" if passed else "failed")


def test_look_at_the_whole_of_an_output_without_an_answer() -> None:
    collected: Any = {"first": {"status": 200}, "body": "x"}
    assert judged(REQUEST, collected, Contains(all=["first"]))[0] == "passed"
    assert judged(SKILL, '{"name": "Ada"}', ExactMatch(of="name"), Expected("exact", "Ada"))[0] == "passed"
    assert judged(REQUEST, {"status": 204, "headers": {}}, ExactMatch(), Expected("exact", ""))[0] == "passed"


@pytest.mark.parametrize(
    ("recipe", "output", "method", "reason"),
    [
        (REQUEST, RESPONSE, Contains(none=["x"], of="nme"), "the output has no nme"),
        (SKILL, "no JSON", Contains(all=["x"], of="name"), "the output has no name"),
        (COMMAND, RAN, Contains(all=["x"]), "stdout: 'x' is not in the output"),
    ],
)
def test_reason_names_the_part_or_its_lack(recipe: Recipe, output: Any, method: Method, reason: str) -> None:
    assert judged(recipe, output, method) == ("failed", reason)


@pytest.mark.parametrize(
    ("recipe", "of", "code"),
    [(COMMAND, "sterr", "BK709"), (COMMAND, "stdout.items[0]", None), (REQUEST, "anything", None)],
)
def test_part_that_no_output_has_is_a_problem(recipe: Recipe, of: str, code: str | None) -> None:
    found = problems_of(Grader("g", "code", Contains(all=["x"], of=of)), case(recipe=recipe))
    assert [(problem.code, problem.at) for problem in found] == ([(code, ("config", "of"))] if code else [])
