"""One attempt at an eval case: one observation, and what each grader makes of it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from baselinekit.errors import BaselinekitError, CannotReplay, OutOfBudget, Problem, Refused, cannot
from baselinekit.evals.casechecks import Prepared
from baselinekit.grade import dispatch as grading
from baselinekit.model.asking import Answer, Ask, Usage
from baselinekit.model.comparison import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.graders import FunctionOutput, Grader
from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import HttpExecution, Recipe, Seconds
from baselinekit.model.running import Ran
from baselinekit.model.values import ABSENT, Json
from baselinekit.replay.dispatch import Setting
from baselinekit.workflow.here import Here
from baselinekit.workflow.observing import observe, settled

_WAITS = (0.25, 0.5)
"""Before an observation is asked for again, because there was nobody to ask."""

_NOBODY_THERE = frozenset(("BK301", "BK304", "BK611"))
_ENOUGH = 5
"""After so many attempts in a row that found nobody there, the next ones do not wait for them any more."""

_TURNS = 1_000
"""Samples of one judgement tell themselves apart by smaller numbers."""

_LONGEST_OUTPUT = 20_000


def _no_sandbox(method: FunctionOutput, code: str) -> Ran:
    return Ran((), flaw="there is no sandbox to run the program in")


def _nobody_rated(case: Case, grader: Grader, observation: Observation) -> Grade:
    return Grade(
        grader.name,
        "human",
        "unscored",
        None,
        "nobody has rated it yet",
        "pending",
        weight=grader.weight,
        required=grader.required,
    )


@dataclass(frozen=True, slots=True)
class Outside:
    """What only evals need of the world: a place to run a program in, and what people have said. `check`
    refuses beforehand what may not be run."""

    run: Callable[[FunctionOutput, str], Ran] = _no_sandbox
    rated: Callable[[Case, Grader, Observation], Grade] = _nobody_rated
    check: Callable[[FunctionOutput], None] = lambda method: None


@dataclass(frozen=True, slots=True)
class Made:
    """An attempt, and where it has a baseline what was found and what it was found in."""

    attempt: Attempt
    comparison: Comparison | None = None
    observation: Observation | None = None


@dataclass(slots=True)
class _Line:
    """How often in a row nobody was there: a lost count does no harm."""

    broken: int = 0


@dataclass(frozen=True, slots=True)
class Examiner:
    """Makes attempts, from several threads at once."""

    here: Here
    outside: Outside
    stopped: Callable[[], bool]
    seconds: Callable[[], float]
    _line: _Line = field(default_factory=_Line)

    def attempt(self, prepared: Prepared, number: int) -> Made:
        """Nothing that goes wrong here stops the others."""
        began = self.seconds()
        try:
            made = self._made(prepared, number, began)
        except OutOfBudget as error:
            made = Made(_without_output(number, "skipped", error, "limit"))
        except BaselinekitError as error:
            verdict = "refused" if isinstance(error, Refused) else None
            made = Made(_without_output(number, "error", error, verdict))
        except Exception as error:  # a fault of ours must not take the other results with it
            fault = Problem("BK399", f"internal error: {type(error).__name__}: {error}", "please report it")
            made = Made(_without_output(number, "error", CannotReplay(fault)))
        took = self.seconds() - began
        redactor = self.here.project.redactor
        if made.observation is not None:
            redactor = redactor.knowing(made.observation.output)
        return replace(made, attempt=_masked(replace(made.attempt, seconds=took), redactor.mask_value))

    def _made(self, prepared: Prepared, number: int, began: float) -> Made:
        case, project = prepared.case, self.here.project
        setting = project.setting(os.path.dirname(case.source.file), self.here.doors)
        setting = replace(setting, turn=number - 1)
        observation, again = self._observed(_within(case.recipe, case.timeout), setting)
        self._left(case, began)
        found: list[Comparison] = []
        grades = []
        for position, grader in enumerate(case.graders):
            doors = self._doors(prepared, position, setting, found, began)
            grades.append(grading.grade(grader, case, observation, doors))
        outcome, score, reason, verdict = grading.combined(grades)
        telling = next((grade.code for grade in grades if grade.required and grade.outcome == outcome), None)
        if outcome == "passed" and observation.flaw is not None:  # nobody knows what the whole would be
            outcome, score, reason, telling = "error", None, observation.flaw, "BK613"
        attempt = Attempt(
            number,
            outcome,
            score,
            tuple(grades),
            reason,
            telling,
            verdict,
            again,
            usage=sum((grade.usage for grade in grades), observation.usage),
            output=None if outcome == "passed" else _kept(observation.output),
            environment=dict(observation.environment),
        )
        return Made(attempt, found[0] if found else None, observation)

    def _observed(self, recipe: Recipe, setting: Setting) -> tuple[Observation, int]:
        """The observation, and how often it was asked for again."""
        for again, wait in enumerate((*_WAITS, None)):
            try:
                observation = observe(recipe, setting)
            except CannotReplay as error:
                gone = error.problems[0].code in _NOBODY_THERE
                if not gone or wait is None or self._line.broken >= _ENOUGH or self.stopped():
                    self._line.broken += gone
                    raise
                setting.doors.sleep(wait)
            else:
                self._line.broken = 0
                return observation, again + observation.attempts - 1
        raise AssertionError("the last wait is None")

    def _doors(
        self, prepared: Prepared, position: int, setting: Setting, found: list[Comparison], began: float
    ) -> grading.Doors:
        def ask(asked: Ask) -> Answer:
            left = self._left(prepared.case, began)
            timeout = asked.timeout if left is None else min(left, asked.timeout or left)
            turn = asked.turn + setting.turn * _TURNS
            return self.here.doors.models.ask(replace(asked, turn=turn, timeout=timeout))

        def compare(case: Case, grader: Grader, observation: Observation) -> Comparison:
            comparison = _nearest(prepared, position, observation, setting)
            found.append(comparison)
            return comparison

        return grading.Doors(
            ask=ask,
            run=self.outside.run,
            compare=compare,
            schema=lambda case, path: prepared.schemas[position],
            rated=self.outside.rated,
        )

    def _left(self, case: Case, began: float) -> float | None:
        """How much of its time the case has left: each request of a flow is within it, and not their sum."""
        if case.timeout is None:
            return None
        left = case.timeout - (self.seconds() - began)
        if left <= 0:
            raise cannot("BK722", f"its {case.timeout:g} s were over before it was graded", "raise its limit")
        return left


def _nearest(prepared: Prepared, position: int, observation: Observation, setting: Setting) -> Comparison:
    """Of all that would be right, what comes nearest."""
    nearest = None
    for matcher in prepared.matchers[position]:
        seen = observation
        if isinstance(observation.output, str) and not isinstance(matcher.known.output, str):
            value = grading.parsed(observation.output)
            seen = observation if value is ABSENT else observation.with_output(value)
        comparison = settled(matcher, seen, setting)
        if nearest is None or comparison.count < nearest.count:
            nearest = comparison
    assert nearest is not None
    return nearest


def _within(recipe: Recipe, limit: Seconds | None) -> Recipe:
    """The recipe with the time of its case, where it has no shorter one of its own."""
    if limit is None:
        return recipe
    execution = recipe.execution
    own = execution.timeout
    if isinstance(execution, HttpExecution) and getattr(recipe.input, "timeout", None) is not None:
        return replace(recipe, input=replace(recipe.input, timeout=min(recipe.input.timeout, limit)))
    return replace(recipe, execution=replace(execution, timeout=limit if own is None else min(own, limit)))


def _without_output(
    number: int, outcome: str, error: BaselinekitError, verdict: str | None = None
) -> Attempt:
    problem = error.problems[0]
    reason = problem.what + (f": {problem.mend}" if problem.mend else "")
    return Attempt(number, outcome, None, (), reason, problem.code, verdict)  # type: ignore[arg-type]


def _kept(output: Json) -> Json:
    """The output as far as a report needs it."""
    if isinstance(output, str) and len(output) > _LONGEST_OUTPUT:
        return f"{output[:_LONGEST_OUTPUT]}… and {len(output) - _LONGEST_OUTPUT:,} more characters"
    return output


def _masked(attempt: Attempt, mask: Callable[..., Json]) -> Attempt:
    grades = tuple(
        replace(grade, reason=mask(grade.reason), details=mask(grade.details)) for grade in attempt.grades
    )
    return replace(
        attempt,
        grades=grades,
        reason=mask(attempt.reason),
        output=mask(attempt.output),
        environment=mask(attempt.environment),
    )


def used_by(attempts: tuple[Attempt, ...]) -> Usage:
    """What all of them took together."""
    return sum((attempt.usage for attempt in attempts), Usage())
