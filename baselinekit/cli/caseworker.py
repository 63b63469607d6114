"""The workers of a run of evals in several processes or on a cluster. Each builds its own project, clients
and the other resources of evals; whatever has to be written is sent back on slips."""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from baselinekit.cli.options import WhereOptions
from baselinekit.cli.outside import build_outside
from baselinekit.cli.shipping import elsewhere
from baselinekit.cli.worker import Job, Order, OrderWorker
from baselinekit.commands.executor import Elsewhere
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.evals.attempts import (
    OF_ATTEMPTS,
    CaseOrder,
    CaseTurn,
    CaseWorker,
    EvalClients,
    JudgedAttempt,
    PendingWrites,
)
from baselinekit.evals.checks import Prepared, prepare_cases
from baselinekit.evals.rating import Queue
from baselinekit.model.evals import Case
from baselinekit.structs import replace
from baselinekit.suites.ratings import Ratings


class RunWorker(OrderWorker[CaseTurn, JudgedAttempt]):
    """Makes attempts at cases that it gets as they were read. `together`: the questions for targets that
    answer many cases at a time; `saves`: whether answers are saved."""

    terms = OF_ATTEMPTS

    def __init__(self, order: Order, together: dict[str, list[tuple[str, Any]]], saves: bool):
        super().__init__(order)
        self._saves = saves
        clients = replace(self.context.clients, batches=together)
        self.environment = CaptureEnvironment(self.project, clients, order.known)
        self._checking = self._outside(PendingWrites())
        self.begin = self._begin

    def _outside(self, slip: PendingWrites) -> EvalClients:
        queue = Queue(self.project, self.context.clients.now, slip.queued.append)
        save = slip.answered.append if self._saves else None
        return build_outside(self.project, self.context.clients, queue, save)

    def _begin(self) -> Callable[[CaseTurn], JudgedAttempt]:
        """Each case of a chunk is prepared once."""
        lock, ready = threading.Lock(), dict[str, Prepared]()

        def prepared(case: Case) -> Prepared:
            with lock:
                if case.id not in ready:
                    (ready[case.id],) = prepare_cases(self.environment, [case], self._checking.check)
                return ready[case.id]

        return CaseWorker(self.environment, self._checking, self.context, prepared, self._outside).judge


def run_elsewhere(
    job: Job, where: WhereOptions, saves: bool, cases: CaseOrder
) -> Elsewhere[CaseTurn, JudgedAttempt] | None:
    """Where the attempts of a run are made; None for threads of this process."""
    job = replace(job, jobs=cases.jobs, ends_at_failure=cases.first)
    root = job.project.root
    stated = {os.path.join(root, file): data for file, data in Ratings(root).contents().items()}
    named = [os.path.join(root, file) for file in cases.files]
    return elsewhere(
        job, where, lambda order: partial(RunWorker, order, cases.together, saves), OF_ATTEMPTS, named, stated
    )
