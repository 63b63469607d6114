"""The attempts of a run. Workers make them and write nothing; the run writes down their results, and has
failed attempts tried again."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from baselinekit.commands.chunks import Chunk, ChunkDone, Engine
from baselinekit.commands.context import RunContext, ThreadPool
from baselinekit.commands.judging import keep_seen
from baselinekit.commands.pending import seen_of
from baselinekit.commands.project import CaptureEnvironment, Project, drift_of
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.evals.attempts import AttemptResult, EvalClients, Examiner, PendingWrites
from baselinekit.evals.cases import CaseAttempt, Memory, spots_of
from baselinekit.evals.checks import Prepared, prepare_cases
from baselinekit.evals.promptrows import is_query, note_use
from baselinekit.frozen import frozen
from baselinekit.graders import graders
from baselinekit.kinds.kind import ALONE
from baselinekit.model.evals import Case
from baselinekit.model.grades import FunctionOutput
from baselinekit.model.values import Json
from baselinekit.replaying.settings import Clients

if TYPE_CHECKING:  # only needed once something differs
    from baselinekit.model.changes import KeptOutput


@frozen
class CaseTurn:
    """An attempt that is to be made, by its number. No other attempt with the same `claim` runs meanwhile.
    `retries`: how often it is tried again if it fails."""

    case: Case
    number: int
    claim: str | None = None
    retries: int = 0


@frozen
class JudgedAttempt:
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


CaseEngine = Engine[CaseTurn, JudgedAttempt]


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

    def run(
        self, chunk: Chunk[CaseTurn], jobs: int, goes_on: Callable[[int], bool]
    ) -> ChunkDone[JudgedAttempt]:
        """Judge a chunk, in threads. `goes_on` gets the number of failures that are not tried again, and
        returns whether to continue."""
        context, failed_turns = self._context, list[CaseTurn]()

        def work(turn: CaseTurn) -> JudgedAttempt:
            judged = self.judge(turn)
            if judged.is_wrong and not turn.retries:
                failed_turns.append(turn)
            return judged

        pool = ThreadPool(jobs, work, context.cancel, context.stop, lambda turn: turn.claim)
        judged = pool.run(chunk.entries, lambda _judged: goes_on(len(failed_turns)))
        return ChunkDone(tuple(judged), self._here.seen)

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
            return (
                replace(self._judge_comparison(prepared, result), slip=slip)
                if slip
                else self._judge_comparison(prepared, result)
            )
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


@frozen
class CaseOrder:
    """What a worker elsewhere needs to know about a run. `jobs`: how many attempts are made at once, by all
    workers together; `together`: the questions for each target that answers many cases at a time; `first`:
    whether the first case that does not pass ends the run."""

    jobs: int
    together: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    first: bool = False


class CasesElsewhere:
    """Prepares the cases that it is sent, and makes the attempts. `afar`: builds the environment on another
    machine, with the git facts of the machine of the run."""

    def __init__(
        self,
        project: Project,
        context: RunContext,
        order: CaseOrder,
        outside: Callable[[PendingWrites], EvalClients],
        afar: Callable[[Project, Clients], CaptureEnvironment] | None = None,
    ):
        self._here = (afar or CaptureEnvironment)(project, replace(context.clients, batches=order.together))
        self._is_afar = afar is not None
        self._context = context
        self._outside = outside
        self._examiner = Examiner(self._here, outside(PendingWrites()), context.clock.seconds)

    def run(self, chunk: Chunk[CaseTurn], jobs: int, most: int | None) -> ChunkDone[JudgedAttempt]:
        """Judge in `jobs` threads, until `most` attempts have failed that are not tried again."""
        ready = ReadyCases(self._here, self._examiner.outside.check, self._is_afar)
        worker = CaseWorker(self._here, self._examiner, self._context, ready.prepared, self._outside)
        return worker.run(chunk, jobs, lambda wrong: most is None or wrong < most)


class ReadyCases:
    """Cases, prepared when they are first asked for. `is_afar`: on another machine, where something may be
    missing that the machine of the run has."""

    def __init__(
        self, here: CaptureEnvironment, check: Callable[[FunctionOutput], None], is_afar: bool = False
    ):
        self._here = here
        self._check = check
        self._is_afar = is_afar
        self._ready: dict[str, Prepared] = {}
        self._lock = threading.Lock()

    def prepared(self, case: Case) -> Prepared:
        with self._lock:
            if (prepared_case := self._ready.get(case.id)) is None:
                prepared_case = self._ready[case.id] = self._prepared(case)
        return prepared_case

    def _prepared(self, case: Case) -> Prepared:
        try:
            (prepared_case,) = prepare_cases(self._here, [case], self._check)
        except BaselinekitError as error:
            if not self._is_afar:
                raise
            raise type(error)(*(_missing_on_worker(problem) for problem in error.problems)) from None
        return prepared_case


def _missing_on_worker(problem: Problem) -> Problem:
    message = f"on the worker, and not here: {problem.message}"
    hint = "install it there, or put it where it is sent along: docs/many-machines.md#evals-on-a-cluster"
    return replace(problem, message=message, hint=hint)


def chunks_of(turns: Sequence[CaseTurn], order: CaseOrder, most: int) -> list[Chunk[CaseTurn]]:
    """Divide attempts into chunks of about `most`. All attempts at a case are in one chunk, so that its
    questions are numbered as in one process, and so are all cases that one start of a program answers. A case
    that claims something has its own chunk."""
    batch_of = {id: key for key, asked in order.together.items() for id, _ in asked}
    groups: dict[tuple[str | None, str], list[CaseTurn]] = {}
    free: list[CaseTurn] = []
    number = 0
    for turn in turns:
        if (batch := batch_of.get(turn.case.id)) is not None:
            groups.setdefault((turn.claim, f"batch {batch}"), []).append(turn)
        elif turn.claim is not None:
            groups.setdefault((turn.claim, f"case {turn.case.id}"), []).append(turn)
        else:
            if len(free) >= most and free[-1].case.id != turn.case.id:
                number, free = number + 1, []
            free.append(turn)
            groups.setdefault((None, f"chunk {number}"), free)
    return [Chunk(tuple(group), claim) for (claim, _), group in groups.items()]


# The run, which has attempts made and writes down their results.


@frozen
class Attempts:
    """All attempts of a run. `take`: writes down the slip of an attempt that was made elsewhere; `first`: the
    first attempt that does not pass ends the run; `seen`: facts about the environment in which they were
    made."""

    project: Project
    context: RunContext
    memory: Memory
    take: Callable[[PendingWrites], None]
    first: bool = False
    warnings: set[str] = field(default_factory=set)
    seen: dict[str, Json] = field(default_factory=dict)
    _made: dict[tuple[str, int], list[CaseAttempt]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, turns: Sequence[CaseTurn], engine: CaseEngine) -> list[tuple[CaseAttempt, ...] | None]:
        """Run the turns, those of trigger queries before the others. Return for each its attempt and the
        retries, or None if it was not made."""
        advance, stop_early = self.context.advance(len(turns)), threading.Event()
        context = self.context

        def finished(done: list[tuple[CaseAttempt, ...]]) -> bool:
            for attempts in done:
                advance(attempts[0].attempt.outcome if attempts else "skipped")
                if self.first and attempts and attempts[-1].attempt.outcome in ("failed", "error"):
                    stop_early.set()
            return not stop_early.is_set()

        def work(chunk: Chunk[CaseTurn]) -> list[tuple[CaseAttempt, ...]]:
            return self.make(chunk, engine)

        queries = [turn for turn in turns if is_query(turn.case)]
        for together in (queries, [turn for turn in turns if not is_query(turn.case)]):
            if together and not (stop_early.is_set() or context.stop.is_set()):
                pool = ThreadPool(engine.slots, work, engine.cancel, context.stop, lambda chunk: chunk.claim)
                pool.run(engine.chunks(together), finished)
        made = [self._made.get((turn.case.id, turn.number)) for turn in turns]
        pairs = zip(made, turns, strict=True)
        return [
            tuple(attempts or ()) if attempts or turn.case.skip is not None else None
            for attempts, turn in pairs
        ]

    def make(self, chunk: Chunk[CaseTurn], engine: CaseEngine) -> list[tuple[CaseAttempt, ...]]:
        """Make the attempts of a chunk, with retries. Those in the journal are not made again."""
        made: list[list[CaseAttempt]] = [[] for _ in chunk.entries]
        under_way = [
            (first, attempts)
            for first, attempts in zip(chunk.entries, made, strict=True)
            if first.case.skip is None
        ]
        for first, attempts in under_way:
            self._made[first.case.id, first.number] = attempts
        while due := [(*entry, turn) for entry in under_way if (turn := self._due(*entry)) is not None]:
            done = engine.judge(Chunk(tuple(turn for _, _, turn in due), chunk.claim))
            self.seen.update(done.seen if not self.seen else ())
            under_way = []
            for (first, attempts, turn), judged in zip(due, done.judged, strict=True):
                if judged is not None and self._write(turn, judged):
                    attempts.append(judged.case_attempt)
                    under_way.append((first, attempts))
        return [tuple(attempts) for attempts in made]

    def _due(self, first: CaseTurn, attempts: list[CaseAttempt]) -> CaseTurn | None:
        """The attempt to make next, after those that the journal has; None where there is none."""
        while not attempts or self._is_tried_again(first, attempts):
            retries_made = len(attempts)
            remembered = self.memory.known(first.case, first.number + retries_made)
            if remembered is None and not retries_made:
                return first
            if remembered is None:
                retries_left = first.retries - retries_made
                return replace(first, number=first.number + retries_made, retries=retries_left)
            attempts.append(remembered)
        return None

    def _is_tried_again(self, first: CaseTurn, attempts: Sequence[CaseAttempt]) -> bool:
        last = attempts[-1].attempt
        is_wrong = last.outcome in ("failed", "error") and last.verdict != "refused"
        return is_wrong and len(attempts) <= first.retries and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> bool:
        """Write down an attempt. Return whether it counts. One that was under way in this process when the
        run was stopped does not; one from elsewhere had finished, unless it is an error, which may only be
        due to the stop."""
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
            for warning in note_use(self.project, case, attempt, self.context.clock.timestamp(), stop):
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
            with self._lock:
                self.warnings.add(warning)
