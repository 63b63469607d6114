"""Several processes make the attempts of a run, each in a lane of its own (`workflow/processes.py`)."""

import threading
from collections.abc import Callable, Sequence
from shlex import quote

from baselinekit.errors import CannotReplay, Problem, cannot
from baselinekit.evals.attempts import without_output
from baselinekit.evals.cases import CaseAttempt
from baselinekit.evals.workers import CaseOrder, CaseTurn, JudgedAttempt, chunks_of
from baselinekit.model.grades import each_grade
from baselinekit.workflow.chunks import Chunk, ChunkDone
from baselinekit.workflow.leases import Gathered, Leases
from baselinekit.workflow.processes import ASKED_ELSEWHERE, LOST, Build, Lanes, Terms, WorkerLane

_MOST_TOGETHER = 100
_SLOTS = 2
_PARTS = 8
"""Of what each lane does, so that all of them end at about the same time; and of what each of its threads
does of a chunk, so that few of them wait for the last."""


class CaseLanes(Lanes[CaseTurn, JudgedAttempt]):
    """The engine of a run in several processes. Each lane has two slots: while one waits for it, what it gave
    before is written."""

    def __init__(
        self,
        builds: Sequence[Build],
        leases: Leases,
        gather: Callable[[Gathered], None],
        order: CaseOrder,
    ):
        super().__init__(builds, leases, gather, OF_ATTEMPTS)
        self.slots = _SLOTS * len(builds)
        self._order = order
        self._own = threading.local()
        self._taken = 0
        self._lock = threading.Lock()

    def chunks(self, turns: Sequence[CaseTurn]) -> list[Chunk[CaseTurn]]:
        lanes = len(self.lanes)
        threads, share = -(-self._order.jobs // lanes), -(-len(turns) // lanes)
        most = max(_PARTS * threads, min(_MOST_TOGETHER, -(-share // _PARTS)))
        if self._order.first:  # what is under way elsewhere does not hear of a failure here
            most = 2 * threads
        return chunks_of(turns, self._order, max(1, min(most, share)))

    def judge(self, chunk: Chunk[CaseTurn]) -> ChunkDone[JudgedAttempt]:
        """In the lane of this thread: what a case asks a second time is asked by whom it was asked first."""
        lane: WorkerLane | None = getattr(self._own, "lane", None)
        if lane is None:
            with self._lock:
                self._own.lane = lane = self.lanes[self._taken % len(self.lanes)]
                self._taken += 1
        return self.judge_in(lane, chunk)


def _code(judged: JudgedAttempt) -> str | None:
    """That another lane is to be asked may be what only one of the graders says."""
    attempt = judged.told.attempt
    elsewhere = any(grade.code == ASKED_ELSEWHERE for grade in each_grade(attempt.grades))
    return ASKED_ELSEWHERE if elsewhere else attempt.code


def _lost(turn: CaseTurn, what: str) -> JudgedAttempt:
    hint = f"see what happens without --processes: baselinekit run --id {quote(turn.case.id)}"
    error = cannot(LOST, what, hint)
    return JudgedAttempt(CaseAttempt(without_output(turn.number, "error", error)))


def _could_not(turn: CaseTurn, problem: Problem) -> JudgedAttempt:
    return JudgedAttempt(CaseAttempt(without_output(turn.number, "error", CannotReplay(problem))))


OF_ATTEMPTS = Terms[CaseTurn, JudgedAttempt](
    code=_code,
    is_failure=lambda turn, judged: judged.is_wrong and not turn.retries,
    lost=_lost,
    could_not=_could_not,
)
