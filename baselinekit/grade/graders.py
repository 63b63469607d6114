"""All graders by their rows, and what they make of an output: a grade each, and one verdict together.

A new grader is one file (its config, its checks, its judging) and one row here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from baselinekit.errors import BaselinekitError, OutOfBudget, Problem
from baselinekit.grade import (
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
from baselinekit.grade.task import GradeClients, GraderType, Task
from baselinekit.grade.verdict import gates_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, PassRule
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json

_BY_ALL = PassRule()
NOT_JUDGED = "not judged"
"""The verdict of a judge that nobody asked, because the case had failed already."""

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
"""Where a grader stands among those of its case: its number, and below one that is made of others theirs."""


def positions(stated: Sequence[Grader], graders: Graders = GRADERS) -> Iterator[tuple[Position, Grader]]:
    """All graders of a case, each behind those that it is made of."""
    for number, grader in enumerate(stated):
        for below, part in positions(row_of(grader, graders).parts(grader.method), graders):
            yield (number, *below), part
        yield (number,), grader


def grade(
    grader: Grader, case: Case, observation: Observation, clients: GradeClients, graders: Graders = GRADERS
) -> Grade:
    """What a grader makes of an output. Whatever keeps it from judging is an error, never a verdict."""
    return _grade_at((0,), grader, case, observation, lambda position: clients, graders)


def _grade_at(
    position: Position,
    grader: Grader,
    case: Case,
    observation: Observation,
    clients: Callable[[Position], GradeClients],
    graders: Graders,
) -> Grade:
    """The grade of a grader where it stands. `clients`: of the one at a position."""

    def part(number: int, inner: Grader, results: Mapping[str, Json]) -> Grade:
        def of_part(at: Position) -> GradeClients:
            return replace(clients(at), results=results) if at == (*position, number) else clients(at)

        return _grade_at((*position, number), inner, case, observation, of_part, graders)

    try:
        task = task_of(grader, case, graders)
        if task.look(observation.output) is ABSENT:
            return task.decide((False, f"the output has no {task.of}", {}))
        return row_of(grader, graders).judge(task, observation, replace(clients(position), part=part))
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
    """What all graders of a case make of an output, in their order. Models are asked last, and where the case
    does not want it they are not asked for what a check by rules has already found wrong."""
    judges = [number for number, grader in enumerate(case.graders) if asks(grader, graders)]
    rules = [number for number in range(len(case.graders)) if number not in judges]
    counting = any(grader.required for grader in case.graders)
    grades: dict[int, Grade] = {}
    for number in (*rules, *judges):
        grader = case.graders[number]
        wrong = (grades[rule] for rule in rules) if number in judges and not case.judge_after_failure else ()
        failed = next((one for one in wrong if fails_case(one, counting, case.pass_rule)), None)
        if failed is None:
            grades[number] = _grade_at((number,), grader, case, observation, clients, graders)
        else:
            reason = f"no model was asked: {failed.grader} failed"
            grades[number] = grader.graded("unscored", None, reason, verdict=NOT_JUDGED)
    return tuple(grades[number] for number in range(len(case.graders)))


def fails_case(grade: Grade, some_required: bool, rule: PassRule = _BY_ALL) -> bool:
    """Whether a check by rules settles that the case fails, whatever else is found."""
    if grade.kind != "code" or grade.outcome != "failed":
        return False
    if rule.by == "mean":
        return bool(gates_of([grade]))
    return grade.required or not some_required


def problems_of(grader: Grader, case: Case, graders: Graders = GRADERS) -> Iterator[Problem]:
    """What is wrong with a grader before anything is asked, checks that cannot fail or cannot pass included,
    with paths below the grader."""
    task = task_of(grader, case, graders)
    yield from task.part_problems()
    yield from row_of(grader, graders).problems(task)


def row_of(grader: Grader, graders: Graders = GRADERS) -> GraderType:
    return graders[type(grader.method)]


def files_of(grader: Grader, graders: Graders = GRADERS) -> Mapping[str, str | None]:
    """The paths that a grader's config names, by their keys."""
    return row_of(grader, graders).files(grader.method)


def asks(grader: Grader, graders: Graders = GRADERS) -> tuple[str, int] | None:
    """The model that a grader asks about one output, and how often. Of one that is made of others, the first
    that any of them asks, and how often they ask together."""
    asked = [row_of(one, graders).asks(one.method) for _, one in positions([grader], graders)]
    known = [one for one in asked if one is not None]
    return (known[0][0], sum(often for _, often in known)) if known else None


def all_of(stated: Sequence[Grader], graders: Graders = GRADERS) -> list[Grader]:
    """The graders of a case, and those that they are made of."""
    return [grader for _, grader in positions(stated, graders)]
