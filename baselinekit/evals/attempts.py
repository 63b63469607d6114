"""One attempt at an eval case: one observation, and what each grader makes of it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeVar

from baselinekit.errors import BaselinekitError, CannotReplay, OutOfBudget, Refused, cannot, fault_of_ours
from baselinekit.evals.checks import Prepared, setting_of_case
from baselinekit.evals.judgeprograms import run_judge
from baselinekit.evals.scripts import Trace, run_after, run_before
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.grade.task import GradeClients, JudgeProgram, JudgeRun, keys_of, parsed
from baselinekit.grade.verdict import code_of, combined
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.grades import (
    Attempt,
    Classified,
    FunctionOutput,
    Grade,
    Grader,
    Outcome,
    RatingItem,
    with_each,
)
from baselinekit.model.recipes import (
    Answer,
    Ask,
    Observation,
    ProcessResult,
    ProcessSpec,
    Ran,
    Recipe,
    Request,
    Response,
    Seconds,
    Usage,
)
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying import dispatch as replaying
from baselinekit.replaying.settings import Clients, Execute, ModelClient, Setting
from baselinekit.texts import LONGEST_MESSAGE, already_masked, clipped
from baselinekit.variables import MASK, Redactor, Scope, Secret
from baselinekit.workflow.judging import compare_settled, observe
from baselinekit.workflow.project import CaptureEnvironment

# All that an attempt asks (a flow of requests, a judge, a sandbox) shares the time limit of its case.


T = TypeVar("T")


@frozen
class TimeLeft:
    """How much of its limit an attempt has left. `limit` is None for a case that may take as long as it
    takes; `key`: what it is called in the file of the case."""

    limit: Seconds | None
    seconds: Callable[[], float]
    began: float
    key: str = "timeout_seconds"

    def left(self) -> float:
        """CannotReplay where nothing is."""
        if self.limit is None:
            return inf
        left = self.limit - (self.seconds() - self.began)
        if left <= 0:
            raise cannot("BK722", f"its {self.limit:g} s were used up", f"raise its `{self.key}`")
        return left

    def call(self, client: Callable[[], T]) -> T:
        """What a client gives. If the time of the case is over, the error says so, instead of naming the one
        request in which it happened."""
        try:
            return client()
        except CannotReplay:
            self.left()
            raise

    def within(self, clients: Clients) -> Clients:
        """The same clients, none of which works longer than the case has time."""
        if self.limit is None:
            return clients

        def send(request: Request) -> Response:
            out = replace(request, timeout=min(request.timeout, self.left()))
            return self.call(lambda: clients.send(out))

        def execute(run: ProcessSpec) -> ProcessResult:
            begun = replace(run, timeout=min(run.timeout, self.left()))
            return self.call(lambda: clients.execute(begun))

        def sleep(seconds: float) -> None:
            clients.sleep(min(seconds, self.left()))

        return replace(clients, send=send, execute=execute, sleep=sleep, models=_Asked(self, clients.models))


@frozen
class _Asked:
    time: TimeLeft
    models: ModelClient

    def ask(self, ask: Ask) -> Answer:
        left = self.time.left()
        asked = replace(ask, timeout=left if ask.timeout is None else min(ask.timeout, left))
        return self.time.call(lambda: self.models.ask(asked))

    def check(self, name: str) -> None:
        self.models.check(name)


_WAITS = (0.25, 0.5)
"""Before an observation is asked for again, because there was nobody to ask."""

_NOBODY_THERE = frozenset(("BK301", "BK304", "BK611"))
_ENOUGH = 5
"""After so many attempts in a row that found nobody there, the next ones do not wait for them any more."""

_TURNS = 1_000
"""Samples of one judgement tell themselves apart by smaller numbers."""

_LONGEST_OUTPUT = 20_000


@frozen
class Slip:
    """What an attempt leaves to be written down, where it was made by somebody who writes nothing: outputs
    that are to wait for people, and what was `answered`, a line of JSON each."""

    queued: list[RatingItem] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)


@frozen
class Outside:
    """What only evals need of the world: a place to run a program in, started by the client that it is given,
    and what people have said. `check` refuses beforehand what may not be run; `answered` hears of what was
    answered to an attempt; `take` writes down what an attempt has left that was made elsewhere."""

    run: Callable[[FunctionOutput, str, Execute], Ran] = lambda method, code, execute: Ran(
        (), flaw="there is no sandbox to run the program in"
    )
    rated: Callable[[Case, Grader, Observation], Grade] = lambda case, grader, observation: grader.graded(
        "unscored", None, "it has no rating yet", verdict="pending"
    )
    check: Callable[[FunctionOutput], None] = lambda method: None
    answered: Callable[[Case, int, Observation], None] = lambda case, number, observation: None
    take: Callable[[Slip], None] = lambda slip: None


@frozen
class AttemptResult:
    """An attempt, and where it has a baseline what was found and what it was found in."""

    attempt: Attempt
    comparison: Comparison | None = None
    observation: Observation | None = None


@dataclass(slots=True)
class _Line:
    """How often in a row nobody was there: a lost count does no harm."""

    broken: int = 0


@frozen
class Examiner:
    """Makes attempts, from several threads at once."""

    here: CaptureEnvironment
    outside: Outside
    stopped: Callable[[], bool]
    seconds: Callable[[], float]
    _line: _Line = field(default_factory=_Line)

    def attempt(self, prepared: Prepared, number: int) -> AttemptResult:
        """What goes wrong with one is its error; what nobody expected is for the caller to tell (`fault`)."""
        began, trace = self.seconds(), Trace(self.here.project.redactor)
        try:
            made = self._made(prepared, number, began, trace)
        except OutOfBudget as error:
            made = AttemptResult(without_output(number, "skipped", error, "limit"))
        except BaselinekitError as error:
            verdict = "refused" if isinstance(error, Refused) else None
            made = AttemptResult(without_output(number, "error", error, verdict))
        redactor = trace.redactor
        if made.observation is not None:
            redactor = redactor.knowing(made.observation.output)
        attempt = replace(
            _masked(made.attempt, redactor, trace),
            seconds=self.seconds() - began,
            sent=trace.sent,
            verified=trace.verified,
        )
        return AttemptResult(attempt, made.comparison, made.observation)

    def fault(self, number: int, error: Exception) -> Attempt:
        """The attempt that was never made, or that met what nobody expected."""
        told = error if isinstance(error, BaselinekitError) else fault_of_ours(error)
        attempt = without_output(number, "error", told)
        return _masked(attempt, self.here.project.redactor)

    def _made(self, prepared: Prepared, number: int, began: float, trace: Trace) -> AttemptResult:
        if prepared.fault is not None:
            raise prepared.fault
        case, project = prepared.case, self.here.project
        time = TimeLeft(case.timeout, self.seconds, began, case.timeout_key)
        setting = setting_of_case(project, case.source.file, time.within(self.here.clients))
        setting = replace(setting, turn=number - 1, asker=case.id, ceilings=setting.ceilings.of_a_case())
        recipe, inputs = given_by_scripts(prepared, setting, trace)
        if recipe is not case.recipe:
            case = replace(case, recipe=recipe)
        if trace.redactor is not setting.redactor:
            setting = replace(setting, redactor=trace.redactor)
        if case.timeout is not None:  # the time of its case, where it has no shorter one of its own
            recipe = kind_of(recipe).within(recipe, case.timeout)
        observation, again = self._observed(recipe, setting)
        self.outside.answered(case, number, observation)
        is_prompt = case.folder is not None and not kind_of(recipe).asks_nobody
        trace.sent = is_prompt and not observation.recorded
        trace.environment = observation.environment
        if (after := prepared.scripts[1]) is not None:
            trace.verified = run_after(after, case, inputs, observation.output, setting, trace)
        time.left()
        found: list[Comparison] = []
        bench, shown = _Bench(setting, observation.output), _expanded(case, setting.scope)
        grades = graders.grade_all(
            shown, observation, lambda position: self._clients(prepared, position, bench, found)
        )
        outcome, score, reason, verdict = combined(grades, case.pass_rule)
        telling = code_of(grades, outcome)
        if outcome == "passed" and observation.flaw is not None:  # nobody knows what the whole would be
            outcome, score, reason, telling = "error", None, observation.flaw, "BK613"
        attempt = Attempt(
            number,
            outcome,
            score,
            grades,
            reason,
            telling,
            verdict,
            again,
            usage=sum((grade.usage for grade in grades), observation.usage),
            output=None if outcome == "passed" else observation.output,
            environment=bench.environment(observation),
        )
        return AttemptResult(attempt, found[0] if found else None, observation)

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
                setting.clients.sleep(wait)
            else:
                self._line.broken = 0
                return observation, again + observation.attempts - 1
        raise AssertionError("the last wait is None")

    def _clients(
        self, prepared: Prepared, position: graders.Position, bench: "_Bench", found: list[Comparison]
    ) -> GradeClients:
        def ask(asked: Ask) -> Answer:
            turn = asked.turn + bench.setting.turn * _TURNS
            return bench.ask(replace(asked, turn=turn, asker=bench.setting.asker))

        def compare(case: Case, grader: Grader, observation: Observation) -> tuple[Comparison, int]:
            """Of all that would be right, what comes nearest, and which of them that is."""
            compared = []
            for matcher in prepared.matchers[position]:
                seen, wanted = observation, matcher.known.output
                if graders.row_of(grader).compares == "expected" and case.expected is not None:
                    part = graders.task_of(grader, case).look(seen.output, keys_of(wanted))
                    seen = seen.with_output(part)
                if isinstance(seen.output, str) and not isinstance(wanted, str):
                    value = parsed(seen.output)
                    seen = seen if value is ABSENT else seen.with_output(value)
                compared.append(compare_settled(matcher, seen, bench.judged))
            nearest = min(range(len(compared)), key=lambda number: compared[number].count)
            found.append(compared[nearest])
            return compared[nearest], nearest

        def program(case: Case, stated: JudgeProgram) -> JudgeRun:
            execute = bench.setting.clients.execute
            return run_judge(prepared.programs[position], stated, execute, ask, bench.mask)

        return GradeClients(
            ask=ask,
            program=program,
            text=lambda path: prepared.texts[path],
            run=lambda method, code: self.outside.run(method, code, bench.setting.clients.execute),
            compare=compare,
            schema=lambda case, path: prepared.schemas[position],
            rated=self.outside.rated,
            mask=bench.mask,
        )


class _Bench:
    """Where an output is judged. Which judges were served is noted: another one may judge otherwise."""

    def __init__(self, setting: Setting, output: Json):
        self.setting = setting
        self._output = output
        self._redactor: Redactor | None = None
        self._judges: set[str] = set()

    @property
    def judged(self) -> Setting:
        """Where a comparison asks: its questions are noted here."""
        return replace(self.setting, clients=replace(self.setting.clients, models=self))

    def mask(self, text: str) -> str:
        """A text that a grader quotes, without the secrets that the output names either."""
        if self._redactor is None:
            self._redactor = self.setting.redactor.knowing(self._output)
        return self._redactor.mask(text)

    def ask(self, asked: Ask) -> Answer:
        answer = self.setting.clients.models.ask(asked)
        self._judges.add(answer.served or asked.model)
        return answer

    def check(self, name: str) -> None:
        self.setting.clients.models.check(name)

    def environment(self, observation: Observation) -> dict[str, Json]:
        """What the answer told of where it comes from, and who judged it."""
        told = dict(observation.environment)
        judges = sorted({*self._judges, *([str(told["judge"])] if "judge" in told else [])})
        return {**told, "judge": ", ".join(judges)} if judges else told


def _expanded(case: Case, scope: Scope) -> Case:
    """The case as those see it who judge: with what its variables stand for, without the secrets."""
    secrets = dict.fromkeys(scope.secrets, Secret(MASK))
    scope = replace(scope, secrets=secrets) if secrets else scope
    with suppress(BaselinekitError):  # a name that a flow fills in on its way
        asked = scope.expand(case.recipe.input)
        return case if asked is case.recipe.input else replace(case, recipe=replace(case.recipe, input=asked))
    return case


def given_by_scripts(prepared: Prepared, setting: Setting, trace: Trace) -> tuple[Recipe, dict[str, Json]]:
    """The recipe with what the script before it prints as inputs, and all inputs of it. From now on those
    that are secrets by their names are masked."""
    case, before = prepared.case, prepared.scripts[0]
    if case.folder is None and not any(prepared.scripts):
        return case.recipe, {}
    inputs, _ = replaying.inputs_of(case.recipe, setting)
    trace.redactor = trace.redactor.knowing(inputs)
    if before is None:
        return case.recipe, inputs
    printed = run_before(before, case, inputs, setting, trace)
    trace.redactor = trace.redactor.knowing(printed)
    for name in printed.keys() - prepared.names:
        trace.notes.append(f"{before.file} printed {name}, which is no input of the prompt")
    given = {name: value for name, value in printed.items() if name in prepared.names}
    recipe = kind_of(case.recipe).with_inputs(case.recipe, given)
    _, asked = replaying.inputs_of(recipe, setting)
    known = {*given, *inputs, *setting.scope.values, *setting.scope.secrets}
    for name in sorted(asked & prepared.names - known):
        what = f"nothing was sent: {before.file} did not print {name}, which the prompt needs"
        raise cannot("BK761", what, f"print {name}=…, or give it in the case")
    return recipe, {**inputs, **given}


def without_output(
    number: int, outcome: Outcome, error: BaselinekitError, verdict: str | None = None
) -> Attempt:
    problem = error.problems[0]
    return Attempt(number, outcome, None, (), problem.with_hint, problem.code, verdict)


def _masked(attempt: Attempt, redactor: Redactor, trace: Trace | None = None) -> Attempt:
    """Without secrets, and then as far as a report needs it; with what was told on the way."""
    mask = redactor.mask_value
    notes = attempt.notes if trace is None else trace.notes
    environment = attempt.environment or ({} if trace is None else dict(trace.environment))

    def masked(grade: Grade) -> Grade:
        reason = clipped(grade.reason, LONGEST_MESSAGE, redactor.mask)
        details = mask(grade.details)
        classified = grade.classified and masked_classes(grade.classified, redactor)
        is_same = details is grade.details and reason == grade.reason and classified is None
        return grade if is_same else replace(grade, reason=reason, details=details, classified=classified)

    grades = tuple(with_each(grade, masked) for grade in attempt.grades)
    output = mask(attempt.output)
    return replace(
        attempt,
        grades=grades,
        reason=clipped(attempt.reason, LONGEST_MESSAGE, redactor.mask),
        output=clipped(output, _LONGEST_OUTPUT, already_masked) if isinstance(output, str) else output,
        notes=tuple(clipped(note, LONGEST_MESSAGE, redactor.mask) for note in notes),
        environment=mask(environment),
    )


def masked_classes(entry: Classified, redactor: Redactor) -> Classified:
    """What was given comes from outside."""
    given = None if entry.given is None else redactor.mask(entry.given)
    return Classified(redactor.mask(entry.wanted), given)


def used_by(attempts: tuple[Attempt, ...]) -> Usage:
    """What all of them took together."""
    return sum((attempt.usage for attempt in attempts), Usage())
