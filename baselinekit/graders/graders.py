"""The table of all graders, and the grading of an output by the graders of its case.

A new grader is one file (its config, its checks, its judging) and one row here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from baselinekit.errors import BaselinekitError, OutOfBudget, Problem
from baselinekit.graders import (
    by_field,
    by_function,
    by_human,
    by_line,
    by_matcher,
    by_model,
    by_program,
    by_rubric,
    by_schema,
    by_template,
    by_text,
    by_trace,
    by_usage,
    composite,
)
from baselinekit.graders.task import GradeClients, GraderType, Task
from baselinekit.graders.verdict import gates_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, PassRule
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.structs import replace

_DEFAULT_RULE = PassRule()
NOT_JUDGED = "not judged"
"""The verdict of a judge that was not asked, because the case had failed already."""

Graders = Mapping[type, GraderType]


def by_config(*rows: GraderType) -> Graders:
    return {row.config: row for row in rows}


GRADERS = by_config(
    by_text.EXACT_MATCH,
    by_text.REGEX,
    by_text.CONTAINS,
    by_text.TOKEN_COUNT,
    by_text.MUST_INCLUDE,
    by_schema.JSON_SCHEMA,
    by_schema.SCHEMA_REFUSED,
    by_matcher.STRUCTURAL_MATCH,
    by_matcher.BASELINE_MATCH,
    by_function.FUNCTION_OUTPUT,
    by_program.CODE_JUDGE,
    by_model.MODEL_JUDGE,
    by_line.SCORE_LINE,
    by_line.DECISION_LINE,
    by_template.TEMPLATE_JUDGE,
    by_rubric.RUBRIC_JUDGE,
    by_human.HUMAN_RATING,
    by_trace.TOOL_TRAJECTORY,
    by_field.FIELD_ACCURACY,
    by_usage.LATENCY,
    by_usage.COST,
    by_usage.TOKEN_USAGE,
    composite.COMPOSITE,
)


def task_of(grader: Grader, case: Case, graders: Graders = GRADERS) -> Task:
    return row_of(grader, graders).task(grader, case)


Position = tuple[int, ...]
"""The number of a grader in its case; for a part of a composite, followed by its number in there."""


def graders_with_positions(
    case_graders: Sequence[Grader], graders: Graders = GRADERS
) -> Iterator[tuple[Position, Grader]]:
    """All graders of a case with their positions. The parts of a composite come before it."""
    for number, grader in enumerate(case_graders):
        parts = row_of(grader, graders).parts(grader.method)
        for inner_position, part in graders_with_positions(parts, graders):
            yield (number, *inner_position), part
        yield (number,), grader


def grade(
    grader: Grader, case: Case, observation: Observation, clients: GradeClients, graders: Graders = GRADERS
) -> Grade:
    """The grade that a grader gives an output. Whatever keeps it from judging is an error, never a
    verdict."""
    return _grade_at((0,), grader, case, observation, lambda position: clients, graders)


def _grade_at(
    position: Position,
    grader: Grader,
    case: Case,
    observation: Observation,
    clients: Callable[[Position], GradeClients],
    graders: Graders,
    results: Mapping[str, Json] = MappingProxyType({}),
) -> Grade:
    """The grade of the grader at a position. `clients`: those of the grader at a position; `results`: those
    of the other parts of a composite, if it sums them up."""

    def grade_part(number: int, inner: Grader, results: Mapping[str, Json]) -> Grade:
        return _grade_at((*position, number), inner, case, observation, clients, graders, results)

    try:
        task = task_of(grader, case, graders)
        if task.look(observation.output) is ABSENT:
            return task.decide((False, f"the output has no {task.of}", {}))
        handed_in = replace(clients(position), part=grade_part, results=results)
        return row_of(grader, graders).judge(task, observation, handed_in)
    except OutOfBudget:
        raise
    except BaselinekitError as error:
        problem = error.problems[0]
        return grader.graded("error", None, problem.with_hint, code=problem.code)


def grade_all(
    case: Case,
    observation: Observation,
    clients: Callable[[Position], GradeClients],
    graders: Graders = GRADERS,
) -> tuple[Grade, ...]:
    """The grades of all graders of a case, in their order. Models are asked last; if a check by rules has
    failed the case by then, they are asked only if the case wants it."""
    numbers = range(len(case.graders))
    judges = [number for number in numbers if model_calls_of(case.graders[number], graders)]
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
            grades[number] = _grade_at((number,), grader, case, observation, clients, graders)
    return tuple(grades[number] for number in numbers)


def fails_case(grade: Grade, has_required: bool, rule: PassRule = _DEFAULT_RULE) -> bool:
    """Whether this is a check by rules that fails the case, whatever the other grades are."""
    if grade.kind != "code" or grade.outcome != "failed":
        return False
    if rule.by == "mean":
        return bool(gates_of([grade]))
    return grade.required or not has_required


def problems_of(grader: Grader, case: Case, graders: Graders = GRADERS) -> Iterator[Problem]:
    """The problems of a grader that are known before anything is asked, with paths below the grader. A check
    that cannot fail or cannot pass is one of them."""
    task = task_of(grader, case, graders)
    yield from task.part_problems()
    yield from row_of(grader, graders).problems(task)


def row_of(grader: Grader, graders: Graders = GRADERS) -> GraderType:
    return graders[type(grader.method)]


def files_of(grader: Grader, graders: Graders = GRADERS) -> Mapping[str, str | None]:
    """The paths that a grader's config names, by their keys."""
    return row_of(grader, graders).files(grader.method)


def model_calls_of(grader: Grader, graders: Graders = GRADERS) -> tuple[str, int] | None:
    """The model that a grader asks about one output, and how often. For a composite: the first model that a
    part asks, and how often all parts ask."""
    parts = [part for _, part in graders_with_positions([grader], graders)]
    asked = [row_of(part, graders).asks(part.method) for part in parts]
    model_calls = [call for call in asked if call is not None]
    return (model_calls[0][0], sum(count for _, count in model_calls)) if model_calls else None


def with_parts(case_graders: Sequence[Grader], graders: Graders = GRADERS) -> list[Grader]:
    """The graders of a case, and the parts of those that are composites."""
    return [grader for _, grader in graders_with_positions(case_graders, graders)]
