"""A run of evals in several processes or on a cluster: the engine of the run, and the worker of each process.

A worker builds its own project, clients and the other resources of evals; whatever has to be written is sent
back on slips."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from baselinekit.cli.clients import LazyModels
from baselinekit.cli.cluster import (
    check_cluster_option,
    common_files,
    judge_sealed,
    open_sending,
    order_in_folder,
    order_to_send,
)
from baselinekit.cli.evals import RunOptions
from baselinekit.cli.outside import build_outside
from baselinekit.cli.worker import KnownEnvironment, Order, Workplace, orders_of
from baselinekit.commands.chunks import Chunk, ChunkDone
from baselinekit.commands.context import RunContext
from baselinekit.commands.leases import Lease, Leases
from baselinekit.commands.parcel import Parcel, SealedValue, with_worker_paths
from baselinekit.commands.project import Project
from baselinekit.evals.attempts import EvalClients, PendingWrites
from baselinekit.evals.elsewhere import CasePacking, CasePolicy, CasesOnCluster
from baselinekit.evals.lanes import CaseLanes
from baselinekit.evals.rating import Queue
from baselinekit.evals.workers import CaseEngine, CaseOrder, CasesElsewhere, CaseTurn, JudgedAttempt
from baselinekit.model.values import Json
from baselinekit.suites.ratings import Ratings


class RunWorker:
    """Makes attempts for a run that another process has started. `saves`: whether answers are saved;
    `known_environment`: the environment of the run, if this worker is on another machine."""

    def __init__(
        self, order: Order, cases: CaseOrder, saves: bool, known_environment: Mapping[str, Json] | None = None
    ):
        self._place = Workplace(order)
        place = self._place
        self._jobs = order.jobs
        clients = place.clients

        def outside(slip: PendingWrites) -> EvalClients:
            queue = Queue(place.project, clients.now, slip.queued.append)
            return build_outside(place.project, clients, queue, slip.answered.append if saves else None)

        context = replace(place.context, clients=clients)
        environment_class = (
            None
            if known_environment is None
            else partial(KnownEnvironment, known_environment=known_environment)
        )
        self._cases = CasesElsewhere(place.project, context, cases, outside, environment_class)
        self.cancel, self.close = place.cancel, place.close

    def judge(self, chunk: Chunk[CaseTurn], lease: Lease) -> ChunkDone[JudgedAttempt]:
        self._place.begin(lease)
        outcome = self._cases.run(chunk, self._jobs, lease.failures)
        return replace(outcome, gathered=self._place.gathered())


def in_processes(
    project: Project, options: RunOptions, context: RunContext, models: LazyModels, about: str
) -> Callable[[CaseOrder], CaseEngine | None]:
    """Build the engine of a run when its cases are known; None if only one attempt at a time may be made."""

    def begin(cases: CaseOrder) -> CaseEngine | None:
        lanes = min(options.processes, cases.jobs)
        if lanes == 1:
            return None
        models.lock_journal()
        orders = orders_of(project, options.recording, lanes, cases.jobs, options.resume, about)
        leases = Leases(lanes, models.limits, 1 if cases.first else None, context.clients.now)
        builds = [partial(RunWorker, order, cases, options.save_answers is not None) for order in orders]
        return CaseLanes(builds, leases, models.take, cases)

    return begin


def on_cluster(
    place: str, project: Project, options: RunOptions, context: RunContext, models: LazyModels, about: str
) -> Callable[[CaseOrder], CaseEngine]:
    """Build the engine of a run on a cluster when its cases are known."""
    check_cluster_option(place)

    def begin(cases: CaseOrder) -> CaseEngine:
        models.lock_journal()
        order = order_to_send(project, options.recording, cases.jobs, options.resume, about)
        maxfail = 1 if cases.first else None
        sent = open_sending(place, project, context, models, order, judge_cases, maxfail)
        packing = CasePacking(common_files(project, context, order), Ratings(project.root).contents())
        return CasesOnCluster(sent, packing, CasePolicy(cases, options.save_answers is not None))

    return begin


def judge_cases(run: str, sealed: SealedValue) -> SealedValue:
    """Judge a chunk of attempts on a worker of a cluster."""
    return judge_sealed(run, sealed, _start_worker)


def _start_worker(parcel: Parcel, top: str) -> tuple[RunWorker, Chunk[CaseTurn]]:
    """Build the worker and its chunk; absolute paths in a case are replaced by those on this machine."""
    policy: CasePolicy = parcel.policy
    chunk, cases = with_worker_paths((parcel.chunk, policy.order), [file.path for file in parcel.files], top)
    return RunWorker(order_in_folder(parcel.order, top), cases, policy.saves, parcel.known), chunk
