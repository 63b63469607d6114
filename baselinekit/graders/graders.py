"""The table of all graders, the grading of an output by the graders of its case, and checks: graders in one
line (`contains: <diff>`).

A new grader is one file (its config, its checks, its judging) and one row here."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from baselinekit.errors import BaselinekitError, OutOfBudget, Problem
from baselinekit.graders import (
    by_field,
    by_function,
    by_human,
    by_line,
    by_model,
    by_program,
    by_schema,
    by_template,
    by_text,
    by_trace,
    composite,
)
from baselinekit.graders.base import GradeClients, GraderType, Task, gates_of
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.by_text import Contains, RegexMatch, TokenCount
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, Method, PassRule
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Count, Meta, Struct, field, replace

NOT_JUDGED = "not judged"
"""The verdict of a judge that was not asked, because the case had failed already."""

_ROWS = (
    by_text.EXACT_MATCH,
    by_text.REGEX,
    by_text.CONTAINS,
    by_text.TOKEN_COUNT,
    by_text.MUST_INCLUDE,
    by_schema.JSON_SCHEMA,
    by_schema.SCHEMA_REFUSED,
    by_schema.STRUCTURAL_MATCH,
    by_schema.BASELINE_MATCH,
    by_function.FUNCTION_OUTPUT,
    by_program.CODE_JUDGE,
    by_model.MODEL_JUDGE,
    by_line.SCORE_LINE,
    by_line.DECISION_LINE,
    by_template.TEMPLATE_JUDGE,
    by_template.RUBRIC_JUDGE,
    by_human.HUMAN_RATING,
    by_trace.TOOL_TRAJECTORY,
    by_field.FIELD_ACCURACY,
    by_trace.LATENCY,
    by_trace.COST,
    by_trace.TOKEN_USAGE,
    composite.COMPOSITE,
)
GRADERS: dict[type, GraderType] = {row.config: row for row in _ROWS}


def task_of(grader: Grader, case: Case) -> Task:
    return row_of(grader).task(grader, case)


Position = tuple[int, ...]
"""The number of a grader in its case; for a part of a composite, followed by its number in there."""


def graders_with_positions(case_graders: Sequence[Grader]) -> Iterator[tuple[Position, Grader]]:
    """All graders of a case with their positions. The parts of a composite come before it."""
    for number, grader in enumerate(case_graders):
        parts = row_of(grader).parts(grader.method)
        for inner_position, part in graders_with_positions(parts):
            yield (number, *inner_position), part
        yield (number,), grader


def grade(grader: Grader, case: Case, observation: Observation, clients: GradeClients) -> Grade:
    """The grade that a grader gives an output. Whatever keeps it from judging is an error, never a
    verdict."""
    return _grade_at((0,), grader, case, observation, lambda position: clients)


def _grade_at(
    position: Position,
    grader: Grader,
    case: Case,
    observation: Observation,
    clients: Callable[[Position], GradeClients],
    results: Mapping[str, Json] = MappingProxyType({}),
) -> Grade:
    """The grade of the grader at a position. `clients`: those of the grader at a position; `results`: those
    of the other parts of a composite, if it sums them up."""

    def grade_part(number: int, inner: Grader, results: Mapping[str, Json]) -> Grade:
        return _grade_at((*position, number), inner, case, observation, clients, results)

    try:
        task = task_of(grader, case)
        if task.look(observation.output) is ABSENT:
            return task.decide(False, f"the output has no {task.of}", {})
        handed_in = replace(clients(position), part=grade_part, results=results)
        return row_of(grader).judge(task, observation, handed_in)
    except OutOfBudget:
        raise
    except BaselinekitError as error:
        problem = error.problems[0]
        return grader.graded("error", None, problem.with_hint, code=problem.code)


def grade_all(
    case: Case, observation: Observation, clients: Callable[[Position], GradeClients]
) -> tuple[Grade, ...]:
    """The grades of all graders of a case, in their order. Models are asked last; if a check by rules has
    failed the case by then, they are asked only if the case wants it."""
    numbers = range(len(case.graders))
    judges = [number for number in numbers if model_calls_of(case.graders[number])]
    rules = [number for number in numbers if number not in judges]
    has_required = any(grader.required for grader in case.graders)
    grades: dict[int, Grade] = {}
    for number in (*rules, *judges):
        grader = case.graders[number]
        failed = [grades[rule] for rule in rules if number in judges and not case.judge_after_failure]
        failed = [grade for grade in failed if fails_case(grade, has_required, case.pass_rule)]
        if failed:
            reason = f"no model was asked: {failed[0].grader} failed"
            grades[number] = grader.graded("unscored", None, reason, verdict=NOT_JUDGED)
        else:
            grades[number] = _grade_at((number,), grader, case, observation, clients)
    return tuple(grades[number] for number in numbers)


def fails_case(grade: Grade, has_required: bool, rule: PassRule) -> bool:
    """Whether this is a check by rules that fails the case, whatever the other grades are."""
    if grade.kind != "code" or grade.outcome != "failed":
        return False
    if rule.by == "mean":
        return bool(gates_of([grade]))
    return grade.required or not has_required


def problems_of(grader: Grader, case: Case) -> Iterator[Problem]:
    """The problems of a grader that are known before anything is asked, with paths below the grader. A check
    that cannot fail is one of them."""
    task = task_of(grader, case)
    yield from task.part_problems()
    yield from row_of(grader).problems(task)


def row_of(grader: Grader) -> GraderType:
    return GRADERS[type(grader.method)]


def model_calls_of(grader: Grader) -> tuple[str, int] | None:
    """The model that a grader asks about one output, and how often. For a composite: the first model that a
    part asks, and how often all parts ask."""
    asked = [row_of(part).asks(part.method) for part in with_parts([grader])]
    model_calls = [call for call in asked if call is not None]
    return (model_calls[0][0], sum(count for _, count in model_calls)) if model_calls else None


def with_parts(case_graders: Sequence[Grader]) -> list[Grader]:
    """The graders of a case, and the parts of those that are composites."""
    return [grader for _, grader in graders_with_positions(case_graders)]


# Checks of a text, one line each (`contains: <diff>`), and the graders that they mean.


class CheckForm(Struct):
    """The form of a check: the type of its value, the key that this becomes in the config of its grader, and
    what else the config states."""

    kind: Any
    config: type[Any]
    key: str
    others: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_in_list(self) -> bool:
        return self.kind is _Text and self.config is Contains

    def method(self, value: Json) -> Method:
        return self.config(**{self.key: [value] if self.is_in_list else value}, **self.others)

    def value(self, method: Any) -> Json:
        value = getattr(method, self.key)
        return next(iter(value), None) if self.is_in_list else value


_Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
_Texts = Annotated[list[_Text], Meta(min_length=1, description="a list of texts")]
_Schema = dict[str, Any] | bool
FORMS: Mapping[str, CheckForm] = {
    "contains": CheckForm(_Text, Contains, "all"),
    "not_contains": CheckForm(_Text, Contains, "none"),
    "contains_any": CheckForm(_Texts, Contains, "any"),
    "contains_all": CheckForm(_Texts, Contains, "all"),
    "matches": CheckForm(_Text, RegexMatch, "pattern"),
    "not_matches": CheckForm(_Text, RegexMatch, "pattern", {"must_match": False}),
    "min_tokens": CheckForm(Count, TokenCount, "min"),
    "max_tokens": CheckForm(Count, TokenCount, "max"),
    "json_schema": CheckForm(_Schema, JsonSchema, "schema"),
}


def check_of(grader: Grader) -> dict[str, Json] | None:
    """A grader as one line; None if it cannot be written as one."""
    for name, form in FORMS.items():
        if isinstance(grader.method, form.config):
            value = form.value(grader.method)
            if not read_as(form.kind, value)[1] and form.method(value) == grader.method:
                return {name: value}
    return None


def read_checks(checks: Sequence[Mapping[str, Json]]) -> tuple[list[Grader], list[Problem]]:
    """The graders of some checks, each with a name of its own, and the problems of the checks."""
    check_graders: list[Grader] = []
    problems: list[Problem] = []
    counts = Counter[str]()
    for number, raw in enumerate(checks):
        if len(raw) != 1:
            hint = "write each as an entry of its own: - contains: …"
            problems.append(Problem("BK712", "a check has one key", hint, at=(number,)))
            continue
        ((name, value),) = raw.items()
        if name not in FORMS:
            hint = f"one of {', '.join(FORMS)}"
            problems.append(Problem("BK712", f"there is no check {name!r}", hint, at=(number, name)))
        elif wrong := read_as(FORMS[name].kind, value)[1]:
            problems += prefix_paths(wrong, (number, name))
        else:
            counts[name] += 1
            grader_name = name if counts[name] == 1 else f"{name} {counts[name]}"
            check_graders.append(Grader(grader_name, "code", FORMS[name].method(value), at=(number, name)))
    return check_graders, problems


def problems_of_checks(recipe: Recipe, at: Path) -> list[Problem]:
    """The problems of a recipe's checks that are known before anything is asked."""
    check_graders, problems = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    for grader in check_graders:
        problems += [replace(problem, at=grader.at) for problem in problems_of(grader, case)]
    return prefix_paths(problems, at)


def grade_checks(recipe: Recipe, observation: Observation, clients: GradeClients) -> list[Grade]:
    """The grade of each check of a recipe for an answer."""
    check_graders, _ = read_checks(recipe.checks)
    case = Case("", recipe, tuple(check_graders))
    return [grade(grader, case, observation, clients) for grader in check_graders]
