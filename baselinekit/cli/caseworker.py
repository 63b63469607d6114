"""The workers of a run of evals in several processes or on a cluster. Each builds its own project, clients
and the other resources of evals; whatever has to be written is sent back on slips."""

import os
from functools import partial
from typing import Any

from baselinekit.cli.evals import RunOptions
from baselinekit.cli.outside import build_outside
from baselinekit.cli.worker import Job, Order, Workplace
from baselinekit.commands.executor import Chunk, ChunkDone, Elsewhere, Grant, judge_chunk
from baselinekit.commands.processes import Build
from baselinekit.evals.attempts import EvalClients, PendingWrites
from baselinekit.evals.rating import Queue
from baselinekit.evals.workers import OF_ATTEMPTS, CaseOrder, CasesElsewhere, CaseTurn, JudgedAttempt
from baselinekit.structs import replace


class RunWorker:
    """Makes attempts for a run that another process has started. `together`: the questions for targets that
    answer many cases at a time; `saves`: whether answers are saved."""

    def __init__(self, order: Order, together: dict[str, list[tuple[str, Any]]], saves: bool):
        place = self._place = Workplace(order)
        self._jobs = order.jobs

        def outside(slip: PendingWrites) -> EvalClients:
            queue = Queue(place.project, place.context.clients.now, slip.queued.append)
            save = slip.answered.append if saves else None
            return build_outside(place.project, place.context.clients, queue, save)

        self._cases = CasesElsewhere(place.project, place.context, together, outside, order.known)
        self.cancel, self.close = place.cancel, place.close

    def judge(self, chunk: Chunk[CaseTurn], grant: Grant) -> ChunkDone[JudgedAttempt]:
        self._place.begin(grant)
        judged = judge_chunk(chunk, self._cases.judge(), OF_ATTEMPTS, self._jobs, grant, self._place.context)
        return self._place.done(judged, self._cases.here)


def run_elsewhere(
    job: Job, options: RunOptions, cases: CaseOrder
) -> Elsewhere[CaseTurn, JudgedAttempt] | None:
    """Where the attempts of a run are made; None for threads of this process."""
    saves = options.save_answers is not None
    job = replace(job, jobs=cases.jobs, maxfail=1 if cases.first else None)
    if options.dask is None:
        return job.in_processes(
            options.processes, lambda order: partial(RunWorker, order, cases.together, saves), OF_ATTEMPTS
        )
    from baselinekit.cli.shipping import on_cluster
    from baselinekit.suites import ratings

    root = job.project.root
    rated = ratings.Ratings(root).contents()
    stated = {os.path.join(root, ratings.FILE): rated} if rated else {}

    def build(order: Order, chunk: Chunk[CaseTurn]) -> Build:
        ids = {turn.case.id for turn in chunk.items}
        together = {
            key: questions
            for key, questions in cases.together.items()
            if not ids.isdisjoint(id for id, _ in questions)
        }
        return partial(RunWorker, order, together, saves)

    return on_cluster(options.dask, job, build, lambda turn: turn.case.source.file, OF_ATTEMPTS, stated)
