"""The attempts of a run. Workers make them and write nothing; the run writes down their results, and has
failed attempts tried again."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import ASKED_ELSEWHERE, Elsewhere, Group, Terms, in_threads
from baselinekit.commands.pending import seen_of
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.commands.recording import keep_seen
from baselinekit.errors import BaselinekitError, CannotReplay, NotRecorded, Problem
from baselinekit.evals.attempts import AttemptResult, EvalClients, Examiner, PendingWrites, without_output
from baselinekit.evals.cases import CaseAttempt, Memory, spots_of
from baselinekit.evals.checks import Prepared, prepare_cases
from baselinekit.evals.promptrows import is_query, note_use
from baselinekit.graders import graders
from baselinekit.kinds.kind import ALONE
from baselinekit.model.evals import Case
from baselinekit.model.grades import iterate_grades
from baselinekit.model.values import Json
from baselinekit.structs import Struct, field, replace

if TYPE_CHECKING:  # only needed once something differs
    from baselinekit.model.changes import KeptOutput


class CaseTurn(Struct):
    """An attempt that is to be made, by its number. No other attempt with the same `claim` runs meanwhile.
    `retries`: how often it is tried again if it fails."""

    case: Case
    number: int
    claim: str | None = None
    retries: int = 0


class JudgedAttempt(Struct):
    """The result of an attempt, and what the run has to write for it: the `pending` change of a baseline, or
    the id of the baseline that it `settles`, as nothing differs any more. `warning`: why the change cannot be
    kept; `slip`: what else is to be written, None where it is written already."""

    case_attempt: CaseAttempt
    pending: "KeptOutput | None" = None
    settles: str = ""
    warning: str = ""
    slip: PendingWrites | None = None

    @property
    def is_wrong(self) -> bool:
        return self.case_attempt.attempt.outcome in ("failed", "error")


def turns_of(project: Project, case: Case, attempts: int, retries: int) -> list[CaseTurn]:
    """The turns of a case. A case that must not run in parallel claims everything."""
    claim = project.claim(case.recipe) if case.parallel else ALONE
    most = 1 if case.skip is not None else attempts
    return [CaseTurn(case, number, claim, retries) for number in range(1, most + 1)]


class CaseWorker:
    """Makes attempts, from several threads at once. It writes nothing and handles no signal. `elsewhere`:
    returns the clients for an attempt that puts what is to be written on a slip."""

    def __init__(
        self,
        here: CaptureEnvironment,
        examiner: Examiner,
        context: RunContext,
        prepared: Callable[[Case], Prepared],
        elsewhere: Callable[[PendingWrites], EvalClients] | None = None,
    ):
        self._here = here
        self._examiner = examiner
        self._context = context
        self._prepared = prepared
        self._elsewhere = elsewhere

    def judge(self, turn: CaseTurn) -> JudgedAttempt:
        """Make one attempt. An unexpected error becomes the outcome of its case, and the run goes on."""
        examiner, slip = self._examiner, None
        if self._elsewhere is not None:
            slip = PendingWrites()
            examiner = replace(examiner, outside=self._elsewhere(slip))
        try:
            prepared = self._prepared(turn.case)
            result = examiner.attempt(prepared, turn.number)
            if result.comparison is None or result.observation is None:
                return JudgedAttempt(CaseAttempt(result.attempt), slip=slip)
            return replace(self._judge_comparison(prepared, result), slip=slip)
        except Exception as error:
            return JudgedAttempt(CaseAttempt(examiner.fault(turn.number, error)), slip=slip)

    def _judge_comparison(self, prepared: Prepared, result: AttemptResult) -> JudgedAttempt:
        """Build the result of an attempt that was compared. What differs from the baseline of the case is
        kept, so that it can be accepted as after `compare`."""
        comparison, observation, baseline = result.comparison, result.observation, prepared.baseline
        assert comparison is not None
        assert observation is not None
        case = prepared.case
        is_record = any(graders.row_of(grader).compares == "baseline" for grader in case.graders)
        is_record &= (
            case.baseline is not None and case.recipe == case.baseline.current
        )  # not --target's answer
        pending, settles, warning = None, "", ""
        if is_record and baseline is not None and comparison.passed:
            settles = baseline.id
        elif is_record and baseline is not None:
            try:
                pending = seen_of(
                    self._here, baseline, comparison, observation, self._context.clock.timestamp()
                )
            except BaselinekitError as error:
                warning = error.problems[0].message
        redactor = self._here.project.redactor.knowing(observation.output)
        drift = {}
        if result.attempt.outcome == "failed" and baseline is not None:
            drift = drift_of(self._here, baseline, observation)
        spots = spots_of(comparison, case, redactor)
        return JudgedAttempt(
            CaseAttempt(result.attempt, spots, comparison.count, drift), pending, settles, warning
        )


# Workers in another process, or on another machine. They get the cases as they were read, not yet prepared.


class CaseOrder(Struct):
    """What the work elsewhere needs to know about a run. `jobs`: how many attempts are made at once, by all
    workers together; `together`: the questions for each target that answers many cases at a time; `first`:
    whether the first case that does not pass ends the run."""

    jobs: int
    together: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    first: bool = False


class CasesElsewhere:
    """Prepares the cases that it is sent, and makes the attempts. `known`: the environment of the run, on
    another machine."""

    def __init__(
        self,
        project: Project,
        context: RunContext,
        together: dict[str, list[tuple[str, Any]]],
        outside: Callable[[PendingWrites], EvalClients],
        known: Mapping[str, Json] | None = None,
    ):
        self.here = CaptureEnvironment(project, replace(context.clients, batches=together), known)
        self._is_far = known is not None
        self._context = context
        self._outside = outside
        self._examiner = Examiner(self.here, outside(PendingWrites()), context.clock.seconds)

    def judge(self) -> Callable[[CaseTurn], JudgedAttempt]:
        """Return what makes the attempts of one chunk. Each case is prepared once."""
        lock, ready = threading.Lock(), dict[str, Prepared]()

        def prepared(case: Case) -> Prepared:
            with lock:
                if case.id not in ready:
                    ready[case.id] = self._prepared(case)
            return ready[case.id]

        return CaseWorker(self.here, self._examiner, self._context, prepared, self._outside).judge

    def _prepared(self, case: Case) -> Prepared:
        try:
            (prepared_case,) = prepare_cases(self.here, [case], self._examiner.outside.check)
        except BaselinekitError as error:
            if not self._is_far:
                raise
            raise type(error)(*(_missing_on_worker(problem) for problem in error.problems)) from None
        return prepared_case


def _missing_on_worker(problem: Problem) -> Problem:
    message = f"on the worker, and not here: {problem.message}"
    hint = "install it there, or put it where it is sent along: docs/many-machines.md#evals-on-a-cluster"
    return replace(problem, message=message, hint=hint)


def _code_of(judged: JudgedAttempt) -> str | None:
    """The code of the attempt. That another worker must be asked may be the code of a single grade."""
    attempt = judged.case_attempt.attempt
    elsewhere = any(grade.code == ASKED_ELSEWHERE for grade in iterate_grades(attempt.grades))
    return ASKED_ELSEWHERE if elsewhere else attempt.code


OF_ATTEMPTS = Terms[CaseTurn, JudgedAttempt](
    id=lambda turn: turn.case.id,
    code=_code_of,
    is_failure=lambda turn, judged: judged.is_wrong and not turn.retries,
    error=lambda turn, problem: JudgedAttempt(
        CaseAttempt(without_output(turn.number, "error", CannotReplay(problem)))
    ),
)


def groups_of(turns: Sequence[CaseTurn], order: CaseOrder) -> list[Group[CaseTurn]]:
    """Return what must stay in one chunk: all attempts at a case, so that its questions are numbered as in
    one process, and all cases that one start of a program answers."""
    batch_of = {id: key for key, asked in order.together.items() for id, _ in asked}
    groups: dict[tuple[str | None, str, str], list[CaseTurn]] = {}
    for turn in turns:
        batch = batch_of.get(turn.case.id, "")
        groups.setdefault((turn.claim, batch, "" if batch else turn.case.id), []).append(turn)
    return [(claim, None, group) for (claim, *_), group in groups.items()]


# The run, which has attempts made and writes down their results.


class Attempts(Struct):
    """All attempts of a run. `take`: writes down the slip of an attempt that was made elsewhere;
    `order.first`: the first attempt that does not pass ends the run."""

    project: Project
    context: RunContext
    memory: Memory
    take: Callable[[PendingWrites], None]
    order: CaseOrder
    warnings: set[str] = field(default_factory=set)
    _made: dict[tuple[str, int], list[CaseAttempt]] = field(default_factory=dict)
    _first: dict[tuple[str, int], CaseTurn] = field(default_factory=dict)
    _failed: list[CaseTurn] = field(default_factory=list)

    def run(
        self,
        turns: Sequence[CaseTurn],
        judge: Callable[[CaseTurn], JudgedAttempt],
        elsewhere: Elsewhere[CaseTurn, JudgedAttempt] | None,
    ) -> list[tuple[CaseAttempt, ...] | None]:
        """Run the turns, those of trigger queries before the others. Return for each its attempt and the
        retries, or None if it was not made."""
        context, order = self.context, self.order
        advance = context.advance(len(turns))

        def goes_on() -> bool:
            return not (order.first and self._failed)

        def due(turn: CaseTurn, first: CaseTurn) -> list[CaseTurn]:
            """The attempt to make next; once there is none, the turn is over."""
            further = self._due(first)
            if further is None:
                made = self._made[first.case.id, first.number]
                advance(made[-1].attempt.outcome if made else "skipped")
                if made and made[-1].attempt.outcome in ("failed", "error"):
                    self._failed.append(first)
            return [] if further is None else [further]

        def finished(turn: CaseTurn, judged: JudgedAttempt) -> list[CaseTurn]:
            first = self._first[turn.case.id, turn.number]
            if not self._write(turn, judged):
                return []
            self._made[first.case.id, first.number].append(judged.case_attempt)
            return due(turn, first)

        queries = [turn for turn in turns if is_query(turn.case)]
        for together in (queries, [turn for turn in turns if not is_query(turn.case)]):
            some: list[CaseTurn] = []
            for first in together:
                if not goes_on() or context.stop.is_set():
                    break
                self._made[first.case.id, first.number] = []
                some += due(first, first)
            if some and goes_on() and not context.stop.is_set():
                stop, cancel = context.stop, context.cancel
                if elsewhere is None:
                    in_threads(
                        *(some, judge, order.jobs, stop, cancel, finished),
                        claim=lambda turn: turn.claim,
                        goes_on=goes_on,
                    )
                else:
                    elsewhere.run(groups_of(some, order), judge, stop, cancel, finished)
        made = [self._made.get((turn.case.id, turn.number)) for turn in turns]
        pairs = zip(made, turns, strict=True)
        return [
            tuple(attempts or ()) if attempts or turn.case.skip is not None else None
            for attempts, turn in pairs
        ]

    def _due(self, first: CaseTurn) -> CaseTurn | None:
        """The attempt to make next, after those that the journal has; None where there is none."""
        attempts = self._made[first.case.id, first.number]
        while first.case.skip is None and (not attempts or self._is_tried_again(first, attempts)):
            number = first.number + len(attempts)
            if (remembered := self.memory.known(first.case, number)) is None:
                self._first[first.case.id, number] = first
                return replace(first, number=number, retries=first.retries - len(attempts))
            attempts.append(remembered)
        return None

    def _is_tried_again(self, first: CaseTurn, attempts: Sequence[CaseAttempt]) -> bool:
        last = attempts[-1].attempt
        is_wrong = last.outcome in ("failed", "error") and last.verdict != "refused"
        return is_wrong and len(attempts) <= first.retries and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> bool:
        """Write down an attempt. Return whether it counts. One that was under way in this process when the
        run was stopped does not; it is only remembered, unless it is an error, which may be due to the
        stop."""
        case, case_attempt, stop = turn.case, judged.case_attempt, self.context.stop
        attempt = case_attempt.attempt
        if judged.slip is not None:
            try:
                self.take(judged.slip)
            except NotRecorded as error:
                self._warn(error.problems[0].message)
        self._warn(keep_seen(self.project.root, judged.pending, judged.settles, judged.warning))
        # before it is in the journal: a resumed run does not send it again, and so does not note it
        if case.folder is not None:
            for warning in note_use(self.project, case, attempt, self.context.clock.timestamp()):
                self._warn(warning)
        cut_off = attempt.outcome == "error" and stop.is_set()
        if attempt.outcome != "skipped" and not cut_off:
            try:
                self.memory.add(case, case_attempt)
            except NotRecorded as error:
                self._warn(f"this run cannot be resumed: {error.problems[0].message}")
        return not cut_off and (judged.slip is not None or not stop.is_set())

    def _warn(self, warning: str) -> None:
        if warning:
            self.warnings.add(warning)
