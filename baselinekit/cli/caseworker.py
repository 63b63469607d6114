"""A run of evals in several processes, or on a cluster: where it is asked for, and what each of them builds.

Whoever makes attempts elsewhere needs a project, clients and what evals need besides; all that they leave to
be written comes back on slips."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from baselinekit.cli.clients import LazyModels
from baselinekit.cli.cluster import check_asked, judged, order_below, order_sent, sending, shared
from baselinekit.cli.evals import RunOptions
from baselinekit.cli.outside import outside_of
from baselinekit.cli.worker import KnownEnvironment, Order, Workplace, orders_of
from baselinekit.evals.attempts import Outside, Slip
from baselinekit.evals.elsewhere import CasePacking, CasePolicy, CasesOnCluster
from baselinekit.evals.lanes import CaseLanes
from baselinekit.evals.rating import Queue
from baselinekit.evals.workers import CaseEngine, CaseOrder, CasesElsewhere, CaseTurn, JudgedAttempt
from baselinekit.model.values import Json
from baselinekit.suites.ratings import Ratings
from baselinekit.workflow.chunks import Chunk, ChunkDone
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.leases import Lease, Leases
from baselinekit.workflow.parcel import Parcel, Sealed, away
from baselinekit.workflow.project import Project


class RunWorker:
    """Makes attempts for a run that another process has begun. `saves`: whether answers are wanted; `known`:
    what that one knows of the place of the run, where this is another one."""

    def __init__(self, order: Order, cases: CaseOrder, saves: bool, known: Mapping[str, Json] | None = None):
        self._place = Workplace(order)
        place = self._place
        self._jobs = order.jobs
        clients = place.clients

        def outside(slip: Slip) -> Outside:
            queue = Queue(place.project, clients.now, slip.queued.append)
            return outside_of(place.project, clients, queue, slip.answered.append if saves else None)

        context = replace(place.context, clients=clients)
        afar = None if known is None else partial(KnownEnvironment, known=known)
        self._cases = CasesElsewhere(place.project, context, cases, outside, afar)
        self.cancel, self.close = place.cancel, place.close
        if known is None:
            gc.freeze()  # all that was loaded stays: there is no use in looking through it

    def judge(self, chunk: Chunk[CaseTurn], lease: Lease) -> ChunkDone[JudgedAttempt]:
        self._place.begin(lease)
        done = self._cases.run(chunk, self._jobs, lease.failures)
        return replace(done, gathered=self._place.gathered())


def in_processes(
    project: Project, options: RunOptions, context: RunContext, models: LazyModels, about: str
) -> Callable[[CaseOrder], CaseEngine | None]:
    """The engine of a run, once it is known what is run; None where no more than one at a time may be."""

    def begin(cases: CaseOrder) -> CaseEngine | None:
        lanes = min(options.processes, cases.jobs)
        if lanes == 1:
            return None
        models.hold_journal()
        orders = orders_of(project, options.recording, lanes, cases.jobs, options.resume, about)
        leases = Leases(lanes, models.limits, 1 if cases.first else None, context.clients.now)
        builds = [partial(RunWorker, order, cases, options.save_answers is not None) for order in orders]
        return CaseLanes(builds, leases, models.take, cases)

    return begin


def on_cluster(
    place: str, project: Project, options: RunOptions, context: RunContext, models: LazyModels, about: str
) -> Callable[[CaseOrder], CaseEngine]:
    """The engine of a run on a cluster, once it is known what is run."""
    check_asked(place)

    def begin(cases: CaseOrder) -> CaseEngine:
        models.hold_journal()
        order = order_sent(project, options.recording, cases.jobs, options.resume, about)
        maxfail = 1 if cases.first else None
        sent = sending(place, project, context, models, order, judge_cases, maxfail)
        packing = CasePacking(shared(project, context, order), Ratings(project.root).contents())
        return CasesOnCluster(sent, packing, CasePolicy(cases, options.save_answers is not None))

    return begin


def judge_cases(run: str, sealed: Sealed) -> Sealed:
    """What becomes of a chunk of attempts, on a worker of a cluster."""
    return judged(run, sealed, _begun)


def _begun(parcel: Parcel, top: str) -> tuple[RunWorker, Chunk[CaseTurn]]:
    """Whole paths in a case say where the files are here."""
    policy: CasePolicy = parcel.policy
    chunk, cases = away((parcel.chunk, policy.order), [file.path for file in parcel.files], top)
    return RunWorker(order_below(parcel.order, top), cases, policy.saves, parcel.known), chunk
