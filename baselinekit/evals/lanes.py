"""Several processes make the attempts of a run, each in its own lane (`commands/processes.py`)."""

import threading
from collections.abc import Callable, Sequence
from shlex import quote

from baselinekit.commands.chunks import Chunk, ChunkDone
from baselinekit.commands.leases import ChunkCosts, Leases
from baselinekit.commands.processes import ASKED_ELSEWHERE, LOST, Build, ProcessLanes, ResultTerms, WorkerLane
from baselinekit.errors import CannotReplay, Problem, cannot_replay
from baselinekit.evals.attempts import without_output
from baselinekit.evals.cases import CaseAttempt
from baselinekit.evals.workers import CaseOrder, CaseTurn, JudgedAttempt, chunks_of
from baselinekit.model.grades import iterate_grades

_MOST_TOGETHER = 100
_SLOTS = 2
_PARTS = 8
"""Into so many chunks the share of a lane is divided, so that all lanes end at about the same time; and a
chunk has so many attempts for each thread, so that few threads wait for the last one."""


class CaseLanes(ProcessLanes[CaseTurn, JudgedAttempt]):
    """The engine of a run in several processes. Each lane has two slots: while one waits for the lane, the
    results that it gave before are written."""

    def __init__(
        self,
        builds: Sequence[Build],
        leases: Leases,
        gather: Callable[[ChunkCosts], None],
        order: CaseOrder,
    ):
        super().__init__(builds, leases, gather, OF_ATTEMPTS)
        self.slots = _SLOTS * len(builds)
        self._order = order
        self._thread_local = threading.local()
        self._taken = 0
        self._lock = threading.Lock()

    def chunks(self, turns: Sequence[CaseTurn]) -> list[Chunk[CaseTurn]]:
        lanes = len(self.lanes)
        threads, share = -(-self._order.jobs // lanes), -(-len(turns) // lanes)
        limit = max(_PARTS * threads, min(_MOST_TOGETHER, -(-share // _PARTS)))
        if self._order.first:  # a failure does not stop attempts under way in other processes
            limit = 2 * threads
        return chunks_of(turns, self._order, max(1, min(limit, share)))

    def judge(self, chunk: Chunk[CaseTurn]) -> ChunkDone[JudgedAttempt]:
        """Judge in the lane of this thread, so that a question asked again comes from the same process."""
        lane: WorkerLane | None = getattr(self._thread_local, "lane", None)
        if lane is None:
            with self._lock:
                self._thread_local.lane = lane = self.lanes[self._taken % len(self.lanes)]
                self._taken += 1
        return self.judge_in(lane, chunk)


def _code_of(judged: JudgedAttempt) -> str | None:
    """The code of the attempt. That another lane must be asked may be the code of a single grade."""
    attempt = judged.case_attempt.attempt
    elsewhere = any(grade.code == ASKED_ELSEWHERE for grade in iterate_grades(attempt.grades))
    return ASKED_ELSEWHERE if elsewhere else attempt.code


def _lost_attempt(turn: CaseTurn, message: str) -> JudgedAttempt:
    hint = f"see what happens without --processes: baselinekit run --id {quote(turn.case.id)}"
    error = cannot_replay(LOST, message, hint)
    return JudgedAttempt(CaseAttempt(without_output(turn.number, "error", error)))


def _failed_attempt(turn: CaseTurn, problem: Problem) -> JudgedAttempt:
    return JudgedAttempt(CaseAttempt(without_output(turn.number, "error", CannotReplay(problem))))


OF_ATTEMPTS = ResultTerms[CaseTurn, JudgedAttempt](
    code=_code_of,
    is_failure=lambda turn, judged: judged.is_wrong and not turn.retries,
    lost=_lost_attempt,
    could_not=_failed_attempt,
)
