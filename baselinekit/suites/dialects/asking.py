"""`input:` and `execution:` of a case: what is asked, and whom, as a recipe."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from baselinekit.errors import BaselinekitError, Problem, nearest
from baselinekit.kinds import command, http, skill
from baselinekit.kinds.command import CommandInput
from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import KINDS, kind_of
from baselinekit.model.recipes import Execution, HttpRequest, Recipe
from baselinekit.model.values import Json
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.validate import below, check
from baselinekit.store.dialects.native import recipe as native_recipe
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.records import beside
from baselinekit.variables import unexpanded

ReadRecipe = tuple[Recipe | None, list[Problem]]
"""The recipe of a case, if it could be read, and what is wrong with its input."""

EXECUTIONS: dict[str, Any] = {name: kind.execution for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class StatedInput:
    """The `input:` of a case."""

    type: Literal["prompt", "file", "api_call", "skill", "command"]
    content: Json
    context: Json = None


@dataclass(frozen=True, slots=True)
class CaseOrigin:
    """Where a case is written, and whom it asks when it does not say so itself. `default`: nobody did."""

    root: str
    file: str
    target: Execution


def execution(raw: Json) -> tuple[Execution | None, list[Problem]]:
    """An `execution:` by its type."""
    if not isinstance(raw, dict):
        return None, [
            Problem("BK105", f"expected a mapping, found {describe_value(raw)}", "such as {type: prompt}")
        ]
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in EXECUTIONS:
        known = f"one of {', '.join(EXECUTIONS)}"
        if kind is None:
            return None, [Problem("BK104", "the key 'type' is missing", known, at=("type",))]
        hint = nearest(str(kind), EXECUTIONS) or known
        return None, [Problem("BK105", f"unknown type {describe_value(kind)}", hint, at=("type",))]
    stated, problems = check(EXECUTIONS[kind], raw)
    return stated, problems


def recipe(raw: Json, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    """The recipe of a case, or what is wrong with its input. `own`: whom the case itself says to ask."""
    asked, problems = check(StatedInput, raw)
    if asked is None:
        return None, problems
    made, problems = _KINDS[asked.type](asked, own, where)
    if made is not None and not problems:
        for problem in kind_of(made).check(made):  # of the recipe: in the file it stands below the content
            at = problem.at or ()
            at = ("content", *at[2:]) if at[:2] == ("current", "input") else ()
            problems.append(replace(problem, at=at))
    return (None if problems else made), problems


def _prompt(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    if not isinstance(asked.content, str):
        return None, [_kind("a text", asked.content)]
    return _texted(asked.content, asked, own, where)


def _file(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    """What is in the file is asked as it is: a `{{name}}` in there is no variable."""
    if not isinstance(asked.content, str) or not asked.content:
        return None, [_kind("the path of a file", asked.content)]
    text, problem = file_text(where.root, where.file, asked.content)
    if text is None:
        return None, below([problem] if problem else [], ("content",))
    return _texted(unexpanded(text), asked, own, where)


def _texted(text: str, asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    target = own or where.target
    question = KINDS[target.type].input_of_text(text, asked.context)
    if question is not None:
        return Recipe(question, target), []
    what = f"a {asked.type} is for a model or a skill, not for {target.type}"
    return None, [Problem("BK715", what, "`execution: {type: skill, skill_name: …}`", at=("type",))]


def _request(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    request, problems = check(HttpRequest, asked.content)
    target, other = _target(asked, own, where, http.KIND, "type: http")
    if request is None or other:
        return None, [*below(problems, ("content",)), *other]
    return native_recipe(request, target), []


def _skill(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    target, other = _target(asked, own or where.target, where, skill.KIND, "type: skill, skill_name: …")
    content = asked.content if asked.context is None else {"content": asked.content, "context": asked.context}
    return None if other else Recipe(content, target), other


def _command(asked: StatedInput, own: Execution | None, where: CaseOrigin) -> ReadRecipe:
    content = {"argv": asked.content} if isinstance(asked.content, list) else asked.content
    stated, problems = check(CommandInput, content)
    if isinstance(asked.content, list):
        problems = [replace(one, at=(one.at or ())[1:]) for one in problems]
    target, other = _target(asked, own, where, command.KIND, "type: command")
    if stated is None or other:
        return None, [*below(problems, ("content",)), *other]
    return Recipe(stated, target), []


def _target(
    asked: StatedInput, own: Execution | None, where: CaseOrigin, kind: RecipeKind, words: str
) -> tuple[Execution, list[Problem]]:
    """Whom an input of one kind is asked of, and what is wrong where the case itself names another kind."""
    usual = where.target.type == kind.name
    target: Execution = own or (where.target if usual else kind.execution(kind.name))
    if target.type == kind.name:
        return target, []
    what = f"an input of `type: {asked.type}` cannot be sent to an execution of `type: {target.type}`"
    return target, [Problem("BK715", what, f"`execution: {{{words}}}`", at=("type",))]


def _kind(wanted: str, content: Json) -> Problem:
    return Problem("BK105", f"expected {wanted}, found {describe_value(content)}", at=("content",))


def file_text(root: str, file: str, name: str) -> tuple[str | None, Problem | None]:
    """The text of a file that an eval file names, from its own folder on."""
    folder, path = beside(root, file, name)
    try:
        return read(folder, path, MAX_OUTPUT_BYTES).decode("utf-8"), None
    except UnicodeDecodeError:
        return None, Problem("BK112", f"{path} is not UTF-8 text", "name a text file", at=())
    except BaselinekitError as error:
        (problem,) = error.problems
        what = f"{path}: {problem.message}" if problem.place else problem.message
        return None, replace(problem, message=what, place=None, at=())


_KINDS: dict[str, Callable[[StatedInput, Execution | None, CaseOrigin], ReadRecipe]] = {
    "prompt": _prompt,
    "file": _file,
    "api_call": _request,
    "skill": _skill,
    "command": _command,
}
