"""The attempts of a run: each made by a worker that writes nothing, and written down by the run, which has it
made again where it is to be."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.evals.attempts import AttemptResult, Examiner, Outside, Slip
from baselinekit.evals.cases import CaseAttempt, Memory, spots_of
from baselinekit.evals.checks import Prepared, prepare_cases
from baselinekit.evals.promptrows import note_use
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.kind import ALONE
from baselinekit.model.evals import Case
from baselinekit.model.grades import FunctionOutput
from baselinekit.model.values import Json
from baselinekit.replaying.settings import Clients
from baselinekit.workflow.chunks import Chunk, ChunkDone, Engine
from baselinekit.workflow.context import RunContext, ThreadPool
from baselinekit.workflow.judging import keep_seen
from baselinekit.workflow.pending import seen_of
from baselinekit.workflow.project import CaptureEnvironment, Project, drift_of

if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen


@frozen
class CaseTurn:
    """An attempt that is to be made: the one of this number. What it claims no other may use meanwhile.
    `retries`: how often the case is tried again if it fails."""

    case: Case
    number: int
    claim: str | None = None
    retries: int = 0


@frozen
class JudgedAttempt:
    """What came of an attempt, and what is to be written for it: what differs from a baseline is `pending`,
    or nothing is any more for the one that it `settles`. `warning`: why what came cannot be kept; `slip`:
    what else there is to write, which an attempt in this process writes itself."""

    told: CaseAttempt
    pending: "Seen | None" = None
    settles: str = ""
    warning: str = ""
    slip: Slip | None = None

    @property
    def is_wrong(self) -> bool:
        return self.told.attempt.outcome in ("failed", "error")


CaseEngine = Engine[CaseTurn, JudgedAttempt]


def turns_of(project: Project, case: Case, attempts: int, retries: int) -> list[CaseTurn]:
    """Those of a case. One that is not to run beside others has all for itself."""
    claim = project.claim(case.recipe) if case.parallel else ALONE
    most = 1 if case.skip is not None else attempts
    return [CaseTurn(case, number, claim, retries) for number in range(1, most + 1)]


class CaseWorker:
    """Makes attempts, from several threads at once. It writes nothing and hears no signal. `elsewhere`: the
    world of an attempt that leaves on a slip what is to be written."""

    def __init__(
        self,
        here: CaptureEnvironment,
        examiner: Examiner,
        context: RunContext,
        prepared: Callable[[Case], Prepared],
        elsewhere: Callable[[Slip], Outside] | None = None,
    ):
        self._here = here
        self._examiner = examiner
        self._context = context
        self._prepared = prepared
        self._elsewhere = elsewhere

    def run(
        self, chunk: Chunk[CaseTurn], jobs: int, goes_on: Callable[[int], bool]
    ) -> ChunkDone[JudgedAttempt]:
        """A whole chunk, in threads. `goes_on` is told how many have failed that are not tried again."""
        context, wrong = self._context, list[CaseTurn]()

        def work(turn: CaseTurn) -> JudgedAttempt:
            judged = self.judge(turn)
            if judged.is_wrong and not turn.retries:
                wrong.append(turn)
            return judged

        pool = ThreadPool(jobs, work, context.cancel, context.stop, lambda turn: turn.claim)
        judged = pool.run(chunk.entries, lambda one: goes_on(len(wrong)))
        return ChunkDone(tuple(judged), self._here.seen)

    def judge(self, turn: CaseTurn) -> JudgedAttempt:
        """One attempt. What nobody expected is the error of its case: the others are examined."""
        examiner, slip = self._examiner, None
        if self._elsewhere is not None:
            slip = Slip()
            examiner = replace(examiner, outside=self._elsewhere(slip))
        try:
            prepared = self._prepared(turn.case)
            made = examiner.attempt(prepared, turn.number)
            if made.comparison is None or made.observation is None:
                return JudgedAttempt(CaseAttempt(made.attempt), slip=slip)
            return (
                replace(self._compared(prepared, made), slip=slip) if slip else self._compared(prepared, made)
            )
        except Exception as error:
            return JudgedAttempt(CaseAttempt(examiner.fault(turn.number, error)), slip=slip)

    def _compared(self, prepared: Prepared, made: AttemptResult) -> JudgedAttempt:
        """With what differs; from a baseline of its own for whoever takes that for right, as compare does."""
        comparison, observation, baseline = made.comparison, made.observation, prepared.baseline
        assert comparison is not None
        assert observation is not None
        is_record = any(graders.row_of(grader).compares == "baseline" for grader in prepared.case.graders)
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
        if made.attempt.outcome == "failed" and baseline is not None:
            drift = drift_of(self._here, baseline, observation)
        spots = spots_of(comparison, prepared.case, redactor)
        return JudgedAttempt(
            CaseAttempt(made.attempt, spots, comparison.count, drift), pending, settles, warning
        )


# The same in another process, or on another machine, where the cases come as they were read.


@frozen
class CaseOrder:
    """What a worker elsewhere has to know of a run. `jobs`: how many attempts are made at once, everywhere;
    `together`: what is asked of each target that answers many cases at a time; `first`: whether one that does
    not pass ends the run."""

    jobs: int
    together: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    first: bool = False


class CasesElsewhere:
    """Makes ready what it is sent, and makes the attempts. `afar`: what is known of the place of the run and
    of its git, if this is another machine."""

    def __init__(
        self,
        project: Project,
        context: RunContext,
        order: CaseOrder,
        outside: Callable[[Slip], Outside],
        afar: Callable[[Project, Clients], CaptureEnvironment] | None = None,
    ):
        self._here = (afar or CaptureEnvironment)(project, replace(context.clients, batches=order.together))
        self._is_afar = afar is not None
        self._context = context
        self._outside = outside
        self._examiner = Examiner(self._here, outside(Slip()), context.stop.is_set, context.clock.seconds)

    def run(self, chunk: Chunk[CaseTurn], jobs: int, most: int | None) -> ChunkDone[JudgedAttempt]:
        """In `jobs` threads, until `most` have failed that are not tried again."""
        ready = ReadyCases(self._here, self._examiner.outside.check, self._is_afar)
        worker = CaseWorker(self._here, self._examiner, self._context, ready.prepared, self._outside)
        return worker.run(chunk, jobs, lambda wrong: most is None or wrong < most)


class ReadyCases:
    """Cases made ready when they are first asked for. `is_afar`: on another machine, where something may be
    missing that the caller has found."""

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
            if (found := self._ready.get(case.id)) is None:
                found = self._ready[case.id] = self._prepared(case)
        return found

    def _prepared(self, case: Case) -> Prepared:
        try:
            (found,) = prepare_cases(self._here, [case], self._check)
        except BaselinekitError as error:
            if not self._is_afar:
                raise
            raise type(error)(*(_missing_there(problem) for problem in error.problems)) from None
        return found


def _missing_there(problem: Problem) -> Problem:
    what = f"on the worker, and not here: {problem.message}"
    hint = "install it there, or put it where it is sent along: docs/many-machines.md#evals-on-a-cluster"
    return replace(problem, message=what, hint=hint)


def chunks_of(turns: Sequence[CaseTurn], order: CaseOrder, most: int) -> list[Chunk[CaseTurn]]:
    """All attempts at a case in one chunk, so that its questions are told apart as ever, and so are all cases
    that one start of a program answers; of the others about `most` are in each. A case that claims something
    is by itself."""
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
    return [Chunk(tuple(few), claim) for (claim, _), few in groups.items()]


# The run, which has attempts made and writes down what comes of them.


@frozen
class Attempts:
    """All attempts of a run. `take`: writes down what one has left that was made elsewhere; `first`: one that
    does not pass ends the run. `seen`: what was found out about the places where they were made."""

    project: Project
    context: RunContext
    memory: Memory
    take: Callable[[Slip], None]
    first: bool = False
    warnings: set[str] = field(default_factory=set)
    seen: dict[str, Json] = field(default_factory=dict)
    _made: dict[tuple[str, int], list[CaseAttempt]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, turns: Sequence[CaseTurn], engine: CaseEngine) -> list[tuple[CaseAttempt, ...] | None]:
        """What came of each: itself, and those that are made because it failed; None where none was made."""
        advance, wrong = self.context.advance(len(turns)), threading.Event()
        context, chunks = self.context, engine.chunks(turns)

        def finished(done: list[tuple[CaseAttempt, ...]]) -> bool:
            for told in done:
                advance(told[0].attempt.outcome if told else "skipped")
                if self.first and told and told[-1].attempt.outcome in ("failed", "error"):
                    wrong.set()
            return not wrong.is_set()

        def work(chunk: Chunk[CaseTurn]) -> list[tuple[CaseAttempt, ...]]:
            return self.made(chunk, engine)

        pool = ThreadPool(engine.slots, work, engine.cancel, context.stop, lambda chunk: chunk.claim)
        pool.run(chunks, finished)
        found = [self._made.get((turn.case.id, turn.number)) for turn in turns]
        pairs = zip(found, turns, strict=True)
        return [tuple(told or ()) if told or turn.case.skip is not None else None for told, turn in pairs]

    def made(self, chunk: Chunk[CaseTurn], engine: CaseEngine) -> list[tuple[CaseAttempt, ...]]:
        """What came of each turn of a chunk. What an earlier run has made is not made again."""
        all_told: list[list[CaseAttempt]] = [[] for _ in chunk.entries]
        under_way = [
            (first, told)
            for first, told in zip(chunk.entries, all_told, strict=True)
            if first.case.skip is None
        ]
        for first, told in under_way:
            self._made[first.case.id, first.number] = told
        while due := [(*one, turn) for one in under_way if (turn := self._due(*one)) is not None]:
            done = engine.judge(Chunk(tuple(turn for _, _, turn in due), chunk.claim))
            self.seen.update(done.seen if not self.seen else ())
            under_way = []
            for (first, told, turn), judged in zip(due, done.judged, strict=True):
                if judged is not None and self._write(turn, judged):
                    told.append(judged.told)
                    under_way.append((first, told))
        return [tuple(told) for told in all_told]

    def _due(self, first: CaseTurn, told: list[CaseAttempt]) -> CaseTurn | None:
        """The attempt to make next, after those that are known; None where there is none."""
        while not told or self._is_tried_again(first, told):
            again = len(told)
            known = self.memory.known(first.case, first.number + again)
            if known is None and not again:
                return first
            if known is None:
                left = first.retries - again
                return replace(first, number=first.number + again, retries=left)
            told.append(known)
        return None

    def _is_tried_again(self, first: CaseTurn, told: Sequence[CaseAttempt]) -> bool:
        last = told[-1].attempt
        is_wrong = last.outcome in ("failed", "error") and last.verdict != "refused"
        return is_wrong and len(told) <= first.retries and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> bool:
        """Whether it counts. What was under way here when all was ended does not; elsewhere it never came to
        its end, but what failed then may only have failed for that."""
        case, told, stop = turn.case, judged.told, self.context.stop
        attempt = told.attempt
        if judged.slip is not None:
            try:
                self.take(judged.slip)
            except NotRecorded as error:
                self._warn(error.problems[0].message)
        self._warn(keep_seen(self.project.root, judged.pending, judged.settles, judged.warning))
        # before it is in the journal: who goes on with this run does not send it again, nor note it
        if case.folder is not None:
            for warning in note_use(self.project, case, attempt, self.context.clock.timestamp(), stop):
                self._warn(warning)
        cut_off = attempt.outcome == "error" and stop.is_set()
        if attempt.outcome != "skipped" and not cut_off:
            try:
                self.memory.add(case, told)
            except NotRecorded as error:
                self._warn(f"this run cannot be resumed: {error.problems[0].message}")
        return not cut_off and (judged.slip is not None or not stop.is_set())

    def _warn(self, warning: str) -> None:
        if warning:
            with self._lock:
                self.warnings.add(warning)
