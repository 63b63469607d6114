"""The attempts of a run: each made by a worker that writes nothing, and written down by the run, which has it
made again where it is to be."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.evals.attempts import AttemptResult, Examiner
from baselinekit.evals.cases import CaseAttempt, Memory, spots_of
from baselinekit.evals.checks import Prepared
from baselinekit.evals.promptrows import note_use
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.kinds.kind import ALONE
from baselinekit.model.evals import Case
from baselinekit.workflow.chunks import Chunk, Engine
from baselinekit.workflow.context import RunContext, ThreadPool
from baselinekit.workflow.judging import keep_seen
from baselinekit.workflow.pending import seen_of
from baselinekit.workflow.project import CaptureEnvironment, Project, drift_of

if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen


@frozen
class CaseTurn:
    """An attempt that is to be made: the one of this number. What it claims no other may use meanwhile."""

    case: Case
    number: int
    claim: str | None = None


@frozen
class JudgedAttempt:
    """What came of an attempt, and what is to be written for it: what differs from a baseline is `pending`,
    or nothing is any more for the one that it `settles`. `warning`: why what came cannot be kept."""

    told: CaseAttempt
    pending: "Seen | None" = None
    settles: str = ""
    warning: str = ""


CaseEngine = Engine[CaseTurn, JudgedAttempt]


def turns_of(project: Project, case: Case, attempts: int) -> list[CaseTurn]:
    """Those of a case. One that is not to run beside others has all for itself."""
    claim = project.claim(case.recipe) if case.parallel else ALONE
    most = 1 if case.skip is not None else attempts
    return [CaseTurn(case, number, claim) for number in range(1, most + 1)]


class CaseWorker:
    """Makes attempts, from several threads at once. It writes nothing and hears no signal."""

    def __init__(
        self,
        here: CaptureEnvironment,
        examiner: Examiner,
        timestamp: Callable[[], str],
        prepared: Callable[[Case], Prepared],
    ):
        self._here = here
        self._examiner = examiner
        self._timestamp = timestamp
        self._prepared = prepared

    def judge(self, turn: CaseTurn) -> JudgedAttempt:
        """One attempt. What nobody expected is the error of its case: the others are examined."""
        try:
            prepared = self._prepared(turn.case)
            made = self._examiner.attempt(prepared, turn.number)
            if made.comparison is None or made.observation is None:
                return JudgedAttempt(CaseAttempt(made.attempt))
            return self._compared(prepared, made)
        except Exception as error:
            return JudgedAttempt(CaseAttempt(self._examiner.fault(turn.number, error)))

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
                pending = seen_of(self._here, baseline, comparison, observation, self._timestamp())
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


@frozen
class Attempts:
    """All attempts of a run. `retries`: how often a case is tried again after it failed; `first`: one that
    does not pass ends the run."""

    project: Project
    context: RunContext
    memory: Memory
    retries: Callable[[Case], int]
    first: bool = False
    warnings: set[str] = field(default_factory=set)
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
        found: dict[tuple[str, int], tuple[CaseAttempt, ...]] = {}
        for chunk, done in zip(chunks, pool.run(chunks, finished), strict=True):
            for turn, told in zip(chunk.entries, done or (), strict=False):
                if told or turn.case.skip is not None:
                    found[turn.case.id, turn.number] = told
        return [found.get((turn.case.id, turn.number)) for turn in turns]

    def made(self, chunk: Chunk[CaseTurn], engine: CaseEngine) -> list[tuple[CaseAttempt, ...]]:
        """What came of each turn of a chunk. What an earlier run has made is not made again."""
        all_told: list[list[CaseAttempt]] = [[] for _ in chunk.entries]
        under_way = [
            (first, told)
            for first, told in zip(chunk.entries, all_told, strict=True)
            if first.case.skip is None
        ]
        while due := [(*one, turn) for one in under_way if (turn := self._due(*one)) is not None]:
            done = engine.judge(Chunk(tuple(turn for _, _, turn in due), chunk.claim))
            under_way = []
            for (first, told, turn), judged in zip(due, done.judged, strict=True):
                if judged is not None:
                    self._write(turn, judged)
                    told.append(judged.told)
                    under_way.append((first, told))
        return [tuple(told) for told in all_told]

    def _due(self, first: CaseTurn, told: list[CaseAttempt]) -> CaseTurn | None:
        """The attempt to make next, after those that are known; None where there is none."""
        while not told or self._is_tried_again(first.case, told):
            number = first.number + len(told)
            known = self.memory.known(first.case, number)
            if known is None:
                return CaseTurn(first.case, number, first.claim) if told else first
            told.append(known)
        return None

    def _is_tried_again(self, case: Case, told: Sequence[CaseAttempt]) -> bool:
        last = told[-1].attempt
        is_wrong = last.outcome in ("failed", "error") and last.verdict != "refused"
        return is_wrong and len(told) <= self.retries(case) and not self.context.stop.is_set()

    def _write(self, turn: CaseTurn, judged: JudgedAttempt) -> None:
        case, told, stop = turn.case, judged.told, self.context.stop
        attempt = told.attempt
        self._warn(keep_seen(self.project.root, judged.pending, judged.settles, judged.warning))
        # before it is in the journal: who goes on with this run does not send it again, nor note it
        if case.folder is not None:
            for warning in note_use(self.project, case, attempt, self.context.clock.timestamp(), stop):
                self._warn(warning)
        # what failed when all was ended may only have failed for that
        cut_off = attempt.outcome == "error" and stop.is_set()
        if attempt.outcome != "skipped" and not cut_off:
            try:
                self.memory.add(case, told)
            except NotRecorded as error:
                self._warn(f"this run cannot be resumed: {error.problems[0].message}")

    def _warn(self, warning: str) -> None:
        if warning:
            with self._lock:
                self.warnings.add(warning)
