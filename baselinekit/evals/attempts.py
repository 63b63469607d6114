"""Attempts at eval cases: one observation and its grades each, which make the result of a case; and the
journal of a run. Workers make attempts, in threads of the run or elsewhere, and write nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from baselinekit import __version__, errors
from baselinekit.clients.models.proxy import Proxy
from baselinekit.clients.programs import children
from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import Terms
from baselinekit.commands.judging import compare_settled, observe, target_of
from baselinekit.commands.pending import kept_output_of
from baselinekit.commands.programs import Trace, run_in_name
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, OutOfBudget, Refused
from baselinekit.evals.checks import Prepared, ReadyJudge, setting_of_case
from baselinekit.files.jsontext import encode
from baselinekit.graders import base, by_human, graders
from baselinekit.graders.base import GradeClients, JudgeProgram, JudgeRun, JudgeStopped
from baselinekit.graders.composite import without_places
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.dispatch import digest, recipe_hash
from baselinekit.kinds.settings import Clients, Execute, ModelCalls, Setting
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import reported
from baselinekit.model import grades, recipes
from baselinekit.model.baselines import Comparison
from baselinekit.model.evals import Case
from baselinekit.model.grades import (
    Attempt,
    Classified,
    Exchange,
    FunctionOutput,
    Grade,
    Grader,
    Outcome,
    PassRule,
)
from baselinekit.model.ratings import RatingItem
from baselinekit.model.recipes import Answer, ModelQuestion, Observation, ProcessSpec, Recipe, SandboxResult
from baselinekit.model.results import CaseFacts, ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import resultfile
from baselinekit.schema import read_as
from baselinekit.secrets.variables import MASK, Redactor, Scope, Secret
from baselinekit.store.journal import Journal, name_of
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import LONGEST_MESSAGE, Mask, mask_and_clip, no_mask

# All attempts at one eval case -> one result.


_LONGEST_SHOWN = 2_000


class CaseAttempt(Struct):
    """An attempt with what its result needs, also if an earlier run made it. `drift`: how the environment has
    changed since its baseline was captured."""

    attempt: Attempt
    spots: tuple[ReportedDifference, ...] = ()
    count: int = 0
    drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)


def outcome_of(attempts: Sequence[Attempt], retried: int) -> tuple[Outcome, str | None, Attempt]:
    """The outcome, the verdict, and the attempt that explains them.

    Where failed attempts are tried again, one that passed is enough, and the case is called flaky. Where
    several attempts were asked for, all of them have to pass; a case that only sometimes did is flaky."""
    passed = [attempt for attempt in attempts if attempt.outcome == "passed"]
    if len(passed) == len(attempts):
        return "passed", attempts[0].verdict, attempts[0]
    if retried and passed:
        return "passed", "flaky", passed[0]
    worst = next(
        outcome for outcome in grades.OUTCOMES if any(attempt.outcome == outcome for attempt in attempts)
    )
    deciding = next(attempt for attempt in attempts if attempt.outcome == worst)
    return worst, "flaky" if passed and worst == "failed" else deciding.verdict, deciding


def result_of(
    prepared: Prepared, case_attempts: Sequence[CaseAttempt], retried: int, wanted: int, project: Project
) -> Result:
    """The result of a case. `wanted`: how many attempts there should be. A case with fewer cannot pass."""
    attempts = tuple(case_attempt.attempt for case_attempt in case_attempts)
    count = len(attempts)
    is_cut_short = count - retried < wanted
    outcome, verdict, deciding = outcome_of(attempts, retried)
    of_deciding = next(one for one in case_attempts if one.attempt is deciding)
    if is_cut_short and outcome == "passed":
        outcome, verdict = "skipped", "limit"
    reason = "" if outcome == "passed" else reason_with_count(deciding, attempts)
    if is_cut_short and outcome == "skipped":
        reason = f"only {count} of {wanted} attempts were made"
    notes: tuple[str, ...] = ()
    if retried and outcome == "passed":
        first = attempts[0]
        notes = (f"flaky: {first.outcome} at first ({first.reason}), and passed at attempt {count}",)
    recipe = prepared.case.recipe
    is_failed = outcome == "failed"
    is_explained = outcome != "passed" and not kind_of(recipe).asks_nobody
    return replace(
        skipped_result(prepared, reason, verdict),
        outcome=outcome,
        code=deciding.code if outcome == deciding.outcome else None,
        target=target_of(recipe, project) if is_explained else "",
        differences=of_deciding.spots if is_failed else (),
        difference_count=of_deciding.count if is_failed else 0,
        notes=notes,
        attempts=count,
        seconds=sum(attempt.seconds for attempt in attempts) / count,
        usage=sum((attempt.usage for attempt in attempts), recipes.Usage()),
        scores=judged_scores(deciding),
        environment_drift=of_deciding.drift if is_failed else {},
        case=_facts(prepared, attempts, mean_score(attempts, retried), deciding, retried),
    )


def skipped_result(prepared: Prepared, why: str, verdict: str | None = "limit") -> Result:
    """The result of a case that was not run."""
    case = prepared.case
    return Result(
        case.id,
        case.source.file,
        None,
        case.recipe.kind,
        "skipped",
        reason=why,
        verdict=verdict,
        name=case.name,
        criticality=case.criticality,
        recipe_hash=recipe_hash(case.recipe),
        case=_facts(prepared),
    )


def _facts(
    prepared: Prepared,
    attempts: tuple[Attempt, ...] = (),
    score: float | None = None,
    deciding: Attempt | None = None,
    retried: int = 0,
) -> CaseFacts:
    case = prepared.case
    return CaseFacts(
        case.kind,
        attempts,
        category=case.category,
        tags=case.tags,
        difficulty=case.difficulty,
        weight=case.weight,
        score=score,
        fingerprint=fingerprint(prepared, deciding),
        retried=retried,
        pass_rule=case.pass_rule if attempts else PassRule(),
    )


def noted(results: Sequence[Result]) -> list[str]:
    """The notes of the attempts: the same note once, with the first case that has it."""
    first_ids: dict[str, str] = {}
    for result in results:
        for attempt in result.case.attempts if result.case is not None else ():
            for note in attempt.notes:
                first_ids.setdefault(note, result.id)
    return [f"{id}: {note}" for note, id in first_ids.items()]


def fingerprint(prepared: Prepared, attempt: Attempt | None = None) -> dict[str, str]:
    """What the verdict depends on, to check whether two runs are comparable: the question with its right
    values, the graders, the files, and the models that answered."""
    case = prepared.case
    environment = attempt.environment if attempt else {}
    baseline = prepared.baseline or case.baseline
    stored_output = baseline.baseline.output if baseline and baseline.baseline else None
    judged_by: list[Any] = []
    for grader in case.graders:
        row, method = graders.row_of(grader), grader.method
        name, how = type(method).__name__, without_places(method)
        if row.compares == "baseline" and baseline is not None:
            how = baseline.comparison
        judged_by.append([grader.name, name, how, grader.weight, grader.required])
    judged_by.append(case.pass_rule)
    question = [case.recipe, case.expected, case.context, stored_output, case.wanted]
    changing = {"files": prepared.files, "model": environment.get("model"), "judge": environment.get("judge")}
    found = {name: str(value) for name, value in changing.items() if value}
    return {"case": digest(question), "grader": digest(judged_by)} | found


def explain_grades(attempt: Attempt, file: str = "") -> Iterator[str]:
    """Explain the grades in words, for every form of report: `contains failed (evals/a.yaml:12): …`. `file`:
    the file that the lines of the graders are in."""
    for grade in grades.iterate_grades(attempt.grades):
        words = ", ".join(filter(None, (f"{grade.grader} {grade.outcome}", grade.verdict)))
        place = f" ({file}:{grade.line})" if grade.line is not None else ""
        yield ": ".join(filter(None, (f"{words}{place}", grade.reason)))
        for side in ("expected", "actual"):
            if side in grade.details:
                yield f"{side}: {_format_value(grade.details[side])}"
    is_shown = any("actual" in grade.details for grade in grades.iterate_grades(attempt.grades))
    if attempt.output is not None and not is_shown:
        yield f"actual: {_format_value(attempt.output)}"


def _format_value(value: Json) -> str:
    return mask_and_clip(value if isinstance(value, str) else encode(value), _LONGEST_SHOWN, no_mask)


def reason_with_count(deciding: Attempt, attempts: Sequence[Attempt]) -> str:
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    often = f"{passed} of {len(attempts)} attempts passed" if len(attempts) > 1 else ""
    return "; ".join(filter(None, (often, deciding.reason)))


def judged_scores(attempt: Attempt) -> dict[str, int | float]:
    """The scores of the graders that judge (not those of single checks), and of composite graders."""
    judged = [grade for grade in grades.iterate_grades(attempt.grades) if grade.kind != "code" or grade.parts]
    return {grade.grader: round(grade.score, 6) for grade in judged if grade.score is not None}


def mean_score(attempts: Sequence[Attempt], retried: int) -> float | None:
    """The mean score of the attempts without retries; None if one of them has no score."""
    scores = [attempt.score for attempt in attempts[: len(attempts) - retried]]
    present = [score for score in scores if score is not None]
    return round(sum(present) / len(present), 6) if present and len(present) == len(scores) else None


# The journal of a run, from which a resumed run takes the attempts that were made already.

Key = tuple[str, int]
"""A case by its id, and the number of the attempt."""


def _read_attempt(record: Json) -> CaseAttempt | None:
    """Return what `Memory.add` has written; None if it is not valid: then it is made again."""
    try:
        resultfile.restore_usage(record["attempt"])
        for spot in record["spots"]:
            resultfile.restore_difference(spot)
        record["drift"] = resultfile.restore_drift(record["drift"])
    except (AttributeError, KeyError, TypeError):
        return None
    return read_as(CaseAttempt, record)[0]


def key_of(project: Project, name: str, cases: Sequence[Prepared], tries: int, retries: Sequence[int]) -> str:
    """The key of the journal. It is the same for two runs that would make the same attempts: the same cases,
    graders, settings and files. What a run itself records in a file does not change it."""
    fingerprints = [(one.case.id, one.case.judge_after_failure, fingerprint(one)) for one in cases]
    settings = (
        project.override_base_url,
        project.base_url,
        project.operator.environment,
        sorted(map(repr, project.scope.values.items())),
        sorted(map(repr, project.models.items())),
        sorted(map(repr, project.config.skills.items())),
    )
    return name_of(__version__, name, repr(fingerprints), repr(settings), str(tries), repr(list(retries)))


class Memory:
    """The attempts that were finished before, and those that are finished now."""

    def __init__(self, journal: Journal | None, go_on: bool):
        self._journal = journal
        self._known: dict[Key, tuple[CaseAttempt, int | None]] = {}
        for entry in journal.begin(go_on) if journal else ():
            is_attempt = isinstance(entry, dict) and entry.keys() == {"id", "failures", "told"}
            known = _read_attempt(entry["told"]) if is_attempt else None
            if known is not None:
                self._known[entry["id"], known.attempt.number] = known, entry["failures"]

    def __len__(self) -> int:
        return len(self._known)

    def known(self, case: Case, number: int) -> CaseAttempt | None:
        """The attempt, if it was finished before."""
        entry = self._known.get((case.id, number))
        return entry[0] if entry else None

    def is_recorded(self, case: Case) -> bool:
        """Whether the earlier run has already written a failure into the file of the case."""
        entry = self._known.get((case.id, 1))
        baseline = case.baseline
        return entry is not None and baseline is not None and baseline.metadata.failure_count != entry[1]

    def add(self, case: Case, attempt: CaseAttempt) -> None:
        failures = None if case.baseline is None else case.baseline.metadata.failure_count
        if self._journal is not None:
            record = {
                "attempt": resultfile.written(attempt.attempt),
                "spots": [resultfile.written(spot) | {"at": list(spot.at)} for spot in attempt.spots],
                "count": attempt.count,
                "drift": resultfile.drift_document(attempt.drift),
            }
            self._journal.add({"id": case.id, "failures": failures, "told": record})

    def forget(self) -> None:
        if self._journal is not None:
            self._journal.forget()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


if TYPE_CHECKING:  # only needed once something differs
    from baselinekit.model.changes import KeptOutput

_TIMEOUT = 120
_INTERRUPTED = "BK330"
_CALLED = "the judge"
T = TypeVar("T")
_LONGEST_OUTPUT = 20_000
_MOST_SPOTS = 1_000
_TURNS_PER_ATTEMPT = 1_000
"""The turns of two attempts lie this far apart: the samples of one judgement use the numbers between."""


# Everything that an attempt asks (a flow of requests, a judge, a sandbox) shares the time limit of its case.


class TimeLeft(Struct):
    """How much of its time limit an attempt has left. `limit` is None for a case without a limit."""

    limit: recipes.Seconds | None
    seconds: Callable[[], float]
    began: float

    def left(self) -> float:
        """Return the seconds that are left; CannotReplay if there are none."""
        if self.limit is None:
            return inf
        left = self.limit - (self.seconds() - self.began)
        if left <= 0:
            raise errors.cannot_replay("BK722", f"its {self.limit:g} s were used up", "raise its time limit")
        return left

    def within(self, clients: Clients) -> Clients:
        """Return the same clients, each limited to the time that the case has left. Once it has
        none left, that is the error, not the request that was under way."""
        if self.limit is None:
            return clients

        def limited(call: Callable[[Any], T]) -> Callable[[Any], T]:
            def limited_call(asked: Any) -> T:
                left = self.left() if asked.timeout is None else min(asked.timeout, self.left())
                try:
                    return call(replace(asked, timeout=left))
                except CannotReplay:
                    self.left()
                    raise

            return limited_call

        return replace(
            clients,
            send=limited(clients.send),
            execute=limited(clients.execute),
            sleep=lambda seconds: clients.sleep(min(seconds, self.left())),
            models=ModelCalls(limited(clients.models.ask), clients.models.check),
        )


# Running a judge.


def run_judge(
    program: ReadyJudge,
    judge: JudgeProgram,
    execute: Execute,
    ask: Callable[[ModelQuestion], Answer],
    mask: Mask,
    models: Iterable[str] = (),
) -> JudgeRun:
    """Run a judge to its end; JudgeStopped if it does not finish. `models`: the declared ones, which it may
    ask beside its own."""
    timeout = float(_TIMEOUT if judge.timeout is None else judge.timeout)
    run = ProcessSpec(program.argv, judge.stdin, cwd=program.cwd, timeout=timeout, mask=mask)
    if judge.model_calls is None:
        finished = run_in_name(_CALLED, replace(run, env=children.child_environment(program.passed)), execute)
        return JudgeRun(finished.exit_code, finished.stdout, finished.stderr)
    with Proxy(ask, judge.model, judge.model_calls, timeout, models) as proxy:
        environment = children.child_environment(program.passed, proxy.environment)
        try:
            finished = run_in_name(_CALLED, replace(run, env=environment), execute)
        except NeverSent:
            raise
        except CannotReplay as error:
            proxy.close()
            if error.problems[0].code == _INTERRUPTED:
                raise
            stopped = JudgeStopped(*error.problems, calls=proxy.calls, usage=proxy.usage)
            raise (proxy.ended or stopped) from None
    if proxy.ended is not None:  # by the limits of the run, or because it was interrupted
        raise proxy.ended
    return JudgeRun(
        finished.exit_code,
        finished.stdout,
        finished.stderr,
        calls=proxy.calls,
        failed_calls=proxy.failed,
        usage=proxy.usage,
    )


# What goes to a worker, and what comes back.


class PendingWrites(Struct):
    """What the run has to write down for an attempt: the outputs that are `queued` for people to rate, and
    the answers, a line of JSON each."""

    queued: list[RatingItem] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)


class EvalClients(Struct):
    """The clients that only evals need. `run` runs generated code in a sandbox, with the client that it is
    given; `rated` returns the grade by the ratings of people; `check` refuses in advance what may not be run;
    `answered` is called with the answer to each attempt."""

    run: Callable[[FunctionOutput, str, Execute], SandboxResult] = lambda method, code, execute: (
        SandboxResult((), flaw="there is no sandbox to run the program in")
    )
    rated: Callable[[Case, Grader, Observation], Grade] = lambda case, grader, observation: grader.graded(
        "unscored", None, "it has no rating yet", verdict="pending"
    )
    check: Callable[[FunctionOutput], None] = lambda method: None
    answered: Callable[[Case, int, Observation], None] = lambda case, number, observation: None


Outside = Callable[[PendingWrites], EvalClients]
"""Returns clients that note what is to be written on the slip that they are given."""


class CaseTurn(Struct):
    """An attempt that is to be made: the `first` one by its number, or one of the `retries` that may follow,
    after the attempts already `tried`. No other attempt with the same `claim` runs meanwhile."""

    case: Case
    first: int
    claim: str | None = None
    retries: int = 0
    tried: int = 0

    @property
    def number(self) -> int:
        return self.first + self.tried

    @property
    def key(self) -> Key:
        return self.case.id, self.first


class JudgedAttempt(Struct):
    """The result of an attempt, and what the run has to write for it: the `pending` change of a baseline, or
    `settled_id`, the baseline that does not differ any more. `warning`: why the change cannot be kept;
    `slip`: what else is to be written."""

    case_attempt: CaseAttempt
    pending: "KeptOutput | None" = None
    settled_id: str = ""
    warning: str = ""
    slip: PendingWrites = field(default_factory=PendingWrites)


class CaseOrder(Struct):
    """What the work elsewhere needs to know about a run. `jobs`: how many attempts are made at once, by all
    workers together; `together`: the questions for each target that answers many cases at a time; `first`:
    whether the first case that does not pass ends the run; `files`: those of the cases; `transcripts`:
    whether what is asked and answered is kept."""

    jobs: int
    together: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    first: bool = False
    files: frozenset[str] = frozenset()
    transcripts: bool = False


def is_wrong(made: CaseAttempt) -> bool:
    return made.attempt.outcome in ("failed", "error")


OF_ATTEMPTS = Terms[CaseTurn, JudgedAttempt](
    id=lambda turn: turn.case.id,
    code=lambda judged: judged.case_attempt.attempt.code,
    is_failure=lambda turn, judged: is_wrong(judged.case_attempt) and turn.tried == turn.retries,
    error=lambda turn, problem: JudgedAttempt(
        CaseAttempt(_no_output(turn.number, "error", CannotReplay(problem)))
    ),
)


class CaseWorker(Struct):
    """Makes attempts, from several threads at once. It writes nothing and handles no signal. `transcripts`:
    whether what is asked and answered is kept."""

    environment: CaptureEnvironment
    outside: Outside
    context: RunContext
    prepared: Callable[[Case], Prepared]
    transcripts: bool = False

    def judge(self, turn: CaseTurn) -> JudgedAttempt:
        """Make one attempt. An error becomes its outcome, also an unexpected one, and the run goes on."""
        slip = PendingWrites()
        try:
            judged = self._attempt(turn, self.outside(slip))
        except Exception as error:
            redactor = self.environment.project.redactor
            fault = _no_output(turn.number, "error", errors.internal_error(error))
            judged = JudgedAttempt(CaseAttempt(_masked(fault, redactor, Trace(redactor))))
        return replace(judged, slip=slip)

    def _attempt(self, turn: CaseTurn, outside: EvalClients) -> JudgedAttempt:
        prepared, number = self.prepared(turn.case), turn.number
        began, trace = self.context.seconds(), Trace(self.environment.project.redactor)
        trace.transcript = [] if self.transcripts else None
        observation, comparisons = None, list[Comparison]()
        try:
            attempt, observation, comparisons = self._observed(prepared, number, outside, began, trace)
        except OutOfBudget as error:
            attempt = _no_output(number, "skipped", error, "limit")
        except BaselinekitError as error:
            attempt = _no_output(number, "error", error, "refused" if isinstance(error, Refused) else None)
        redactor = trace.redactor
        if observation is not None:
            redactor = redactor.knowing(observation.output)
        seconds = self.context.seconds() - began
        facts = {"seconds": seconds, "sent": trace.sent, "verified": trace.verified}
        facts["judged_seconds"] = round(trace.judged_seconds, 6)
        attempt = replace(_masked(attempt, redactor, trace), **facts)
        if observation is None or not comparisons:
            return JudgedAttempt(CaseAttempt(attempt))
        return self._compared(prepared, attempt, comparisons[0], observation)

    def _observed(
        self, prepared: Prepared, number: int, outside: EvalClients, began: float, trace: Trace
    ) -> tuple[Attempt, Observation, list[Comparison]]:
        if prepared.fault is not None:
            raise prepared.fault
        case, project = prepared.case, self.environment.project
        time = TimeLeft(case.timeout, self.context.seconds, began)
        setting = setting_of_case(project, case.source.file, time.within(self.environment.clients))
        setting = replace(setting, turn=number - 1, asker=case.id, ceilings=setting.ceilings.of_a_case())
        recipe, inputs = _apply_before(prepared, setting, trace)
        if recipe is not case.recipe:
            case = replace(case, recipe=recipe)
        setting = replace(setting, redactor=trace.redactor)
        if case.timeout is not None:  # the limit of the case holds unless the recipe has a shorter one
            recipe = replaying.within(recipe, case.timeout)
        observation = observe(recipe, _noting(setting, trace))
        if trace.transcript == []:  # no model was asked
            question, reply = by_human.describe_input(case), base.text_of(observation.output)
            trace.transcript.append(Exchange(question, reply))
        outside.answered(case, number, observation)
        is_prompt = case.folder is not None and not kind_of(recipe).asks_nobody
        trace.sent = is_prompt and not observation.recorded
        trace.environment = observation.environment
        if (after := prepared.scripts[1]) is not None:
            from baselinekit.eva.scripts import run_after  # only prompt folders have scripts

            trace.verified = run_after(after, case, inputs, observation.output, setting, trace)
        time.left()
        judging = _Judging(prepared, setting, observation, outside, self.environment, trace)
        judged_from = self.context.seconds()
        grades = graders.grade_all(_expanded(case, setting.scope), observation, judging.clients_at)
        if judging.has_asked:
            trace.judged_seconds = self.context.seconds() - judged_from
        outcome, score, reason, verdict = base.combine_grades(grades, case.pass_rule)
        code = base.code_of(grades, outcome)
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
            output=None if outcome == "passed" and trace.transcript is None else observation.output,
            environment=judging.seen_environment(),
        )
        return attempt, observation, judging.comparisons

    def _compared(
        self, prepared: Prepared, attempt: Attempt, comparison: Comparison, observation: Observation
    ) -> JudgedAttempt:
        """Build the result of an attempt that was compared. What differs from the baseline of the case is
        kept, so that it can be accepted as after `compare`."""
        case, baseline, environment = prepared.case, prepared.baseline, self.environment
        path = case.baseline.output_path if case.baseline else ("expected", "value")
        redactor = environment.project.redactor.knowing(observation.output)
        spots = tuple(reported(comparison.differences[:_MOST_SPOTS], case.source.file, path, redactor))
        is_explained = attempt.outcome == "failed" and baseline is not None
        drift = drift_of(environment, baseline, observation) if is_explained and baseline else {}
        judged = JudgedAttempt(CaseAttempt(attempt, spots, comparison.count, drift))
        is_record = any(graders.row_of(grader).compares == "baseline" for grader in case.graders)
        is_stored_recipe = case.baseline is not None and case.recipe == case.baseline.current
        if baseline is None or not is_stored_recipe or not is_record:  # --target changes the recipe
            return judged
        if comparison.passed:
            return replace(judged, settled_id=baseline.id)
        try:
            at = self.context.timestamp()
            return replace(judged, pending=kept_output_of(environment, baseline, comparison, observation, at))
        except BaselinekitError as error:
            return replace(judged, warning=error.problems[0].message)


class _Judging:
    """The judging of one output. It keeps the comparisons, and which judges answered: another judge may
    decide differently."""

    def __init__(
        self,
        prepared: Prepared,
        setting: Setting,
        observation: Observation,
        outside: EvalClients,
        environment: CaptureEnvironment,
        trace: Trace,
    ):
        self._trace, self._names = trace, dict(graders.graders_with_positions(prepared.case.graders))
        self._prepared, self._setting, self._observation = prepared, setting, observation
        self._outside, self._environment = outside, environment
        self._judges: set[str] = set()
        self.comparisons: list[Comparison] = []

    @cached_property
    def _redactor(self) -> Redactor:
        """Masks what a grader quotes. Secrets that the output names are masked too."""
        return self._setting.redactor.knowing(self._observation.output)

    @property
    def has_asked(self) -> bool:
        """Whether a model has judged."""
        return bool(self._judges)

    def mask(self, text: str) -> str:
        return self._redactor.mask(text)

    def seen_environment(self) -> dict[str, Json]:
        """Return the environment that the answer reported, with the judges."""
        environment = dict(self._observation.environment)
        judges = sorted({*self._judges, *([str(environment["judge"])] if "judge" in environment else [])})
        return {**environment, "judge": ", ".join(judges)} if judges else environment

    def ask(self, question: ModelQuestion) -> Answer:
        answer = self._setting.clients.models.ask(question)
        self._judges.add(answer.served or question.model)
        return answer

    def _ask_as_grader(self, question: ModelQuestion, position: graders.Position) -> Answer:
        turn = question.turn + self._setting.turn * _TURNS_PER_ATTEMPT
        answer = self.ask(replace(question, turn=turn, asker=self._setting.asker))
        _note(self._trace, question, answer, self._names[position].name)
        return answer

    def clients_at(self, position: graders.Position) -> GradeClients:
        prepared, setting = self._prepared, self._setting

        def compare(case: Case, grader: Grader, observation: Observation) -> tuple[Comparison, int]:
            """Compare with every right value. Return the nearest comparison, and the number of its value."""
            models = ModelCalls(self.ask, setting.clients.models.check)
            judged = replace(setting, clients=replace(setting.clients, models=models))
            candidates = []
            for matcher in prepared.matchers[position]:
                actual, expected = observation, matcher.known.output
                if graders.row_of(grader).compares == "expected" and case.expected is not None:
                    part = graders.task_of(grader, case).look(actual.output, base.keys_of(expected))
                    actual = replace(actual, output=part, loss=None)
                if isinstance(actual.output, str) and not isinstance(expected, str):
                    value = base.parse_json_output(actual.output)
                    actual = actual if value is ABSENT else actual.with_output(value)
                candidates.append(compare_settled(matcher, actual, judged))
            nearest = min(range(len(candidates)), key=lambda number: candidates[number].count)
            self.comparisons.append(candidates[nearest])
            return candidates[nearest], nearest

        def program(case: Case, judge_program: JudgeProgram) -> JudgeRun:
            return run_judge(
                prepared.programs[position],
                judge_program,
                setting.clients.execute,
                partial(self._ask_as_grader, position=position),
                self.mask,
                models=self._environment.project.models,
            )

        return GradeClients(
            ask=partial(self._ask_as_grader, position=position),
            program=program,
            text=lambda path: prepared.texts[path],
            run=lambda method, code: self._outside.run(method, code, setting.clients.execute),
            compare=compare,
            rated=self._outside.rated,
            mask=self.mask,
        )


def _noting(setting: Setting, trace: Trace) -> Setting:
    """The setting, whose models note what they are asked, if that is kept."""

    def ask(question: ModelQuestion) -> Answer:
        answer = models.ask(question)
        _note(trace, question, answer)
        return answer

    models = setting.clients.models
    if trace.transcript is None:
        return setting
    return replace(setting, clients=replace(setting.clients, models=ModelCalls(ask, models.check)))


def _note(trace: Trace, question: ModelQuestion, answer: Answer, grader: str = "") -> None:
    if trace.transcript is not None:
        asked = "\n\n".join(f"[{message.role}]\n{message.content}" for message in question.messages)
        trace.transcript.append(Exchange(asked, answer.text, answer.served or question.model, grader))


def _expanded(case: Case, scope: Scope) -> Case:
    """The case as a judge sees it: its variables are replaced by their values, its secrets are masked."""
    secrets = dict.fromkeys(scope.secrets, Secret(MASK))
    scope = replace(scope, secrets=secrets) if secrets else scope
    with suppress(BaselinekitError):  # a name whose value only a step of the flow gives
        expanded_input = scope.expand(case.recipe.input)
        if expanded_input is not case.recipe.input:
            return replace(case, recipe=replace(case.recipe, input=expanded_input))
    return case


def _apply_before(prepared: Prepared, setting: Setting, trace: Trace) -> tuple[Recipe, dict[str, Json]]:
    """Return the recipe with the inputs that the script before it prints, and all of its inputs. From now on
    those that are secrets by their names are masked."""
    case, before = prepared.case, prepared.scripts[0]
    if case.folder is None and not any(prepared.scripts):
        return case.recipe, {}
    inputs, _ = replaying.inputs_of(case.recipe, setting)
    trace.redactor = trace.redactor.knowing(inputs)
    if before is None:
        return case.recipe, inputs
    from baselinekit.eva.scripts import run_before

    printed = run_before(before, case, inputs, setting, trace)
    trace.redactor = trace.redactor.knowing(printed)
    for name in printed.keys() - prepared.names:
        trace.notes.append(f"{before.file} printed {name}, which is not an input of the prompt")
    given = {name: value for name, value in printed.items() if name in prepared.names}
    recipe = kind_of(case.recipe).with_inputs(case.recipe, given)
    return recipe, {**inputs, **given}


def _no_output(number: int, outcome: Outcome, error: BaselinekitError, verdict: str | None = None) -> Attempt:
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

    output = mask(attempt.output)
    return replace(
        attempt,
        grades=tuple(grades.map_grades(grade, mask_grade) for grade in attempt.grades),
        reason=mask_and_clip(attempt.reason, LONGEST_MESSAGE, redactor.mask),
        output=mask_and_clip(output, _LONGEST_OUTPUT, no_mask) if isinstance(output, str) else output,
        notes=tuple(mask_and_clip(note, LONGEST_MESSAGE, redactor.mask) for note in trace.notes),
        transcript=tuple(
            replace(
                one,
                question=mask_and_clip(one.question, _LONGEST_OUTPUT, redactor.mask),
                reply=mask_and_clip(one.reply, _LONGEST_OUTPUT, redactor.mask),
            )
            for one in trace.transcript or ()
        ),
        environment=mask(attempt.environment or dict(trace.environment)),
    )


def masked_classes(entry: Classified, redactor: Redactor) -> Classified:
    """Mask both labels: the given one comes from outside."""
    given = None if entry.given is None else redactor.mask(entry.given)
    return Classified(redactor.mask(entry.wanted), given)
