"""One attempt at an eval case: one observation and its grades."""

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

from baselinekit.commands.judging import compare_settled, observe
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    OutOfBudget,
    Refused,
    cannot_replay,
    internal_error,
)
from baselinekit.evals.checks import Prepared, setting_of_case
from baselinekit.evals.judgeprograms import run_judge
from baselinekit.evals.scripts import Trace, run_after, run_before
from baselinekit.graders import graders
from baselinekit.graders.task import GradeClients, JudgeProgram, JudgeRun, keys_of, parse_json_output
from baselinekit.graders.verdict import code_of, combine_grades
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.settings import Clients, Execute, ModelCalls, Setting
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Classified, FunctionOutput, Grade, Grader, Outcome, map_grades
from baselinekit.model.ratings import RatingItem
from baselinekit.model.recipes import (
    Answer,
    ModelQuestion,
    Observation,
    Recipe,
    SandboxResult,
    Seconds,
    Usage,
)
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import MASK, Redactor, Scope, Secret
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import LONGEST_MESSAGE, mask_and_clip, no_mask

# Everything that an attempt asks (a flow of requests, a judge, a sandbox) shares the time limit of its case.


T = TypeVar("T")


class TimeLeft(Struct):
    """How much of its time limit an attempt has left. `limit` is None for a case without a limit; `key`: the
    key of the limit in the file of the case."""

    limit: Seconds | None
    seconds: Callable[[], float]
    began: float
    key: str = "timeout_seconds"

    def left(self) -> float:
        """Return the seconds that are left; CannotReplay if there are none."""
        if self.limit is None:
            return inf
        left = self.limit - (self.seconds() - self.began)
        if left <= 0:
            raise cannot_replay("BK722", f"its {self.limit:g} s were used up", f"raise its `{self.key}`")
        return left

    def call(self, client: Callable[[], T]) -> T:
        """Call a client. If the time of the case is over, the error says so instead of naming the request
        that was under way."""
        try:
            return client()
        except CannotReplay:
            self.left()
            raise

    def within(self, clients: Clients) -> Clients:
        """Return the same clients, each limited to the time that the case has left."""
        if self.limit is None:
            return clients

        def limited(call: Callable[[Any], T]) -> Callable[[Any], T]:
            def limited_call(asked: Any) -> T:
                left = self.left() if asked.timeout is None else min(asked.timeout, self.left())
                return self.call(lambda: call(replace(asked, timeout=left)))

            return limited_call

        return replace(
            clients,
            send=limited(clients.send),
            execute=limited(clients.execute),
            sleep=lambda seconds: clients.sleep(min(seconds, self.left())),
            models=ModelCalls(limited(clients.models.ask), clients.models.check),
        )


_TURNS_PER_ATTEMPT = 1_000
"""The turns of two attempts lie this far apart: the samples of one judgement use the numbers between."""

_LONGEST_OUTPUT = 20_000


class PendingWrites(Struct):
    """What the run has to write down for an attempt that was made by a worker, which writes nothing itself:
    the outputs that are `queued` for people to rate, and the answers, a line of JSON each."""

    queued: list[RatingItem] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)


class EvalClients(Struct):
    """The clients that only evals need. `run` runs generated code in a sandbox, with the client that it is
    given; `rated` returns the grade by the ratings of people; `check` refuses in advance what may not be run;
    `answered` is called with the answer to each attempt; `take` writes down the slip of an attempt that was
    made elsewhere."""

    run: Callable[[FunctionOutput, str, Execute], SandboxResult] = lambda method, code, execute: (
        SandboxResult((), flaw="there is no sandbox to run the program in")
    )
    rated: Callable[[Case, Grader, Observation], Grade] = lambda case, grader, observation: grader.graded(
        "unscored", None, "it has no rating yet", verdict="pending"
    )
    check: Callable[[FunctionOutput], None] = lambda method: None
    answered: Callable[[Case, int, Observation], None] = lambda case, number, observation: None
    take: Callable[[PendingWrites], None] = lambda slip: None


class AttemptResult(Struct):
    """An attempt, and what was observed; where it has a baseline also the comparison."""

    attempt: Attempt
    observation: Observation | None = None
    compared: tuple[Comparison, Observation] | None = None


class Examiner(Struct):
    """Makes attempts, from several threads at once."""

    here: CaptureEnvironment
    outside: EvalClients
    seconds: Callable[[], float]

    def attempt(self, prepared: Prepared, number: int) -> AttemptResult:
        """Make one attempt. An expected error becomes the outcome of the attempt; any other is raised, and
        the caller reports it with `fault`."""
        began, trace = self.seconds(), Trace(self.here.project.redactor)
        try:
            result = self._make(prepared, number, began, trace)
        except OutOfBudget as error:
            result = AttemptResult(without_output(number, "skipped", error, "limit"))
        except BaselinekitError as error:
            verdict = "refused" if isinstance(error, Refused) else None
            result = AttemptResult(without_output(number, "error", error, verdict))
        redactor = trace.redactor
        if result.observation is not None:
            redactor = redactor.knowing(result.observation.output)
        attempt = replace(
            _masked(result.attempt, redactor, trace),
            seconds=self.seconds() - began,
            sent=trace.sent,
            verified=trace.verified,
        )
        return replace(result, attempt=attempt)

    def fault(self, number: int, error: Exception) -> Attempt:
        """Return the attempt for one that was never made, or that failed with an unexpected error."""
        redactor = self.here.project.redactor
        return _masked(without_output(number, "error", internal_error(error)), redactor, Trace(redactor))

    def _make(self, prepared: Prepared, number: int, began: float, trace: Trace) -> AttemptResult:
        if prepared.fault is not None:
            raise prepared.fault
        case, project = prepared.case, self.here.project
        time = TimeLeft(case.timeout, self.seconds, began, case.timeout_key)
        setting = setting_of_case(project, case.source.file, time.within(self.here.clients))
        setting = replace(setting, turn=number - 1, asker=case.id, ceilings=setting.ceilings.of_a_case())
        recipe, inputs = apply_before_script(prepared, setting, trace)
        if recipe is not case.recipe:
            case = replace(case, recipe=recipe)
        if trace.redactor is not setting.redactor:
            setting = replace(setting, redactor=trace.redactor)
        if case.timeout is not None:  # the limit of the case holds unless the recipe has a shorter one
            recipe = replaying.within(recipe, case.timeout)
        observation = observe(recipe, setting)
        self.outside.answered(case, number, observation)
        is_prompt = case.folder is not None and not kind_of(recipe).asks_nobody
        trace.sent = is_prompt and not observation.recorded
        trace.environment = observation.environment
        if (after := prepared.scripts[1]) is not None:
            trace.verified = run_after(after, case, inputs, observation.output, setting, trace)
        time.left()
        comparisons: list[Comparison] = []
        session, expanded_case = _JudgeSession(setting, observation.output), _expanded(case, setting.scope)
        grades = graders.grade_all(
            expanded_case,
            observation,
            lambda position: self._clients(prepared, position, session, comparisons),
        )
        outcome, score, reason, verdict = combine_grades(grades, case.pass_rule)
        code = code_of(grades, outcome)
        if outcome == "passed" and observation.flaw is not None:  # the whole output might fail
            outcome, score, reason, code = "error", None, observation.flaw, "BK613"
        attempt = Attempt(
            number,
            outcome,
            score,
            grades,
            reason,
            code,
            verdict,
            observation.attempts - 1,
            usage=sum((grade.usage for grade in grades), observation.usage),
            output=None if outcome == "passed" else observation.output,
            environment=session.environment(observation),
        )
        compared = (comparisons[0], observation) if comparisons else None
        return AttemptResult(attempt, observation, compared)

    def _clients(
        self,
        prepared: Prepared,
        position: graders.Position,
        session: "_JudgeSession",
        comparisons: list[Comparison],
    ) -> GradeClients:
        def ask(question: ModelQuestion) -> Answer:
            turn = question.turn + session.setting.turn * _TURNS_PER_ATTEMPT
            return session.ask(replace(question, turn=turn, asker=session.setting.asker))

        def compare(case: Case, grader: Grader, observation: Observation) -> tuple[Comparison, int]:
            """Compare with every right value. Return the nearest comparison, and the number of its value."""
            candidates = []
            for matcher in prepared.matchers[position]:
                actual, expected = observation, matcher.known.output
                if graders.row_of(grader).compares == "expected" and case.expected is not None:
                    part = graders.task_of(grader, case).look(actual.output, keys_of(expected))
                    actual = replace(actual, output=part, loss=None)
                if isinstance(actual.output, str) and not isinstance(expected, str):
                    value = parse_json_output(actual.output)
                    actual = actual if value is ABSENT else actual.with_output(value)
                candidates.append(compare_settled(matcher, actual, session.judged))
            nearest = min(range(len(candidates)), key=lambda number: candidates[number].count)
            comparisons.append(candidates[nearest])
            return candidates[nearest], nearest

        def program(case: Case, judge_program: JudgeProgram) -> JudgeRun:
            execute = session.setting.clients.execute
            models = self.here.project.models
            return run_judge(prepared.programs[position], judge_program, execute, ask, session.mask, models)

        return GradeClients(
            ask=ask,
            program=program,
            text=lambda path: prepared.texts[path],
            run=lambda method, code: self.outside.run(method, code, session.setting.clients.execute),
            compare=compare,
            schema=lambda case, path: prepared.schemas[position],
            rated=self.outside.rated,
            mask=session.mask,
        )


class _JudgeSession:
    """The judging of one output. It records which judges answered: another judge may decide differently."""

    def __init__(self, setting: Setting, output: Json):
        self.setting = setting
        self._output = output
        self._redactor: Redactor | None = None
        self._judges: set[str] = set()

    @property
    def judged(self) -> Setting:
        """The setting in which a comparison asks its questions, so that its judges are recorded here too."""
        return replace(
            self.setting,
            clients=replace(
                self.setting.clients, models=ModelCalls(self.ask, self.setting.clients.models.check)
            ),
        )

    def mask(self, text: str) -> str:
        """Mask a text that a grader quotes. Secrets that the output names are masked too."""
        if self._redactor is None:
            self._redactor = self.setting.redactor.knowing(self._output)
        return self._redactor.mask(text)

    def ask(self, question: ModelQuestion) -> Answer:
        answer = self.setting.clients.models.ask(question)
        self._judges.add(answer.served or question.model)
        return answer

    def environment(self, observation: Observation) -> dict[str, Json]:
        """Return the environment that the answer reported, with the judges."""
        environment = dict(observation.environment)
        judges = sorted({*self._judges, *([str(environment["judge"])] if "judge" in environment else [])})
        return {**environment, "judge": ", ".join(judges)} if judges else environment


def _expanded(case: Case, scope: Scope) -> Case:
    """The case as a judge sees it: its variables are replaced by their values, its secrets are masked."""
    secrets = dict.fromkeys(scope.secrets, Secret(MASK))
    scope = replace(scope, secrets=secrets) if secrets else scope
    with suppress(BaselinekitError):  # a name whose value only a step of the flow gives
        expanded_input = scope.expand(case.recipe.input)
        return (
            case
            if expanded_input is case.recipe.input
            else replace(case, recipe=replace(case.recipe, input=expanded_input))
        )
    return case


def apply_before_script(prepared: Prepared, setting: Setting, trace: Trace) -> tuple[Recipe, dict[str, Json]]:
    """Return the recipe with the inputs that the script before it prints, and all of its inputs. From now on
    those that are secrets by their names are masked."""
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
    _, needed_names = replaying.inputs_of(recipe, setting)
    known_names = {*given, *inputs, *setting.scope.values, *setting.scope.secrets}
    for name in sorted(needed_names & prepared.names - known_names):
        message = f"nothing was sent: {before.file} did not print {name}, which the prompt needs"
        raise cannot_replay("BK761", message, f"print {name}=…, or give it in the case")
    return recipe, {**inputs, **given}


def without_output(
    number: int, outcome: Outcome, error: BaselinekitError, verdict: str | None = None
) -> Attempt:
    problem = error.problems[0]
    return Attempt(number, outcome, None, (), problem.with_hint, problem.code, verdict)


def _masked(attempt: Attempt, redactor: Redactor, trace: Trace) -> Attempt:
    """Return the attempt without secrets, its texts cut to what a report needs, with the notes and the
    environment of the trace."""
    mask = redactor.mask_value

    def mask_grade(grade: Grade) -> Grade:
        classified = grade.classified and masked_classes(grade.classified, redactor)
        reason = mask_and_clip(grade.reason, LONGEST_MESSAGE, redactor.mask)
        return replace(grade, reason=reason, details=mask(grade.details), classified=classified)

    grades = tuple(map_grades(grade, mask_grade) for grade in attempt.grades)
    output = mask(attempt.output)
    return replace(
        attempt,
        grades=grades,
        reason=mask_and_clip(attempt.reason, LONGEST_MESSAGE, redactor.mask),
        output=mask_and_clip(output, _LONGEST_OUTPUT, no_mask) if isinstance(output, str) else output,
        notes=tuple(mask_and_clip(note, LONGEST_MESSAGE, redactor.mask) for note in trace.notes),
        environment=mask(attempt.environment or dict(trace.environment)),
    )


def masked_classes(entry: Classified, redactor: Redactor) -> Classified:
    """Mask both labels: the given one comes from outside."""
    given = None if entry.given is None else redactor.mask(entry.given)
    return Classified(redactor.mask(entry.wanted), given)


def used_by(attempts: tuple[Attempt, ...]) -> Usage:
    """Return the usage of all attempts together."""
    return sum((attempt.usage for attempt in attempts), Usage())
