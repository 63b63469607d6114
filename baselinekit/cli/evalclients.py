"""What a run of evals needs besides the clients: a sandbox, the queue of items for human grading, and a file
for saved answers; and its workers in other processes, which build their own and send back on slips what has
to be written."""

import os
import threading
from collections.abc import Callable
from functools import partial

from baselinekit.cli.elsewhere import Job, Order, OrderWorker, elsewhere
from baselinekit.cli.options import WhereOptions
from baselinekit.commands.cluster import Build
from baselinekit.commands.executor import Elsewhere
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.evals import attempts
from baselinekit.evals.attempts import CaseOrder, CaseTurn, EvalClients, JudgedAttempt, PendingWrites
from baselinekit.evals.checks import Prepared, prepare_cases
from baselinekit.evals.rating import Queue
from baselinekit.files.jsontext import encode
from baselinekit.kinds.messages import row_of
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import Case
from baselinekit.model.grades import FunctionOutput, Grade, Grader
from baselinekit.model.recipes import Observation, SandboxResult
from baselinekit.sandbox.sandbox import Execute, Sandbox
from baselinekit.store.results import append_text, write_text
from baselinekit.structs import replace
from baselinekit.suites.ratings import Ratings

Save = Callable[[str], None]


def build_outside(
    project: Project, clients: Clients, queue: Queue, saves: bool, slip: PendingWrites
) -> EvalClients:
    """The sandbox, the queue and the saving of answers for an attempt. `saves`: whether answers are saved."""
    allowed = project.trust.allow_exec

    def in_sandbox(method: FunctionOutput, code: str, execute: Execute) -> SandboxResult:
        return Sandbox(execute, allowed).run(method, code)

    def rated(case: Case, grader: Grader, observation: Observation) -> Grade:
        grade, item = queue.rated(case, grader, observation)
        slip.queued.append(item)
        return grade

    def answered(case: Case, number: int, observation: Observation) -> None:
        if saves:
            redactor = project.redactor.knowing(observation.output)
            slip.answered.append(encode(redactor.mask_value(row_of(case.id, number, observation))))

    return EvalClients(in_sandbox, rated, Sandbox(clients.execute, allowed).check, answered)


def record_slip(queue: Queue, save: Save | None, slip: PendingWrites) -> None:
    for item in slip.queued:
        queue.ratings.enqueue(item)
    if save is not None:
        for line in slip.answered:
            save(line)


def saving(path: str | None, go_on: bool) -> Save | None:
    """Write each answer as a line when it arrives; without a path, save nothing."""
    if path is None:
        return None
    if not go_on:
        write_text(path, "")
    return lambda line: append_text(path, f"{line}\n")


class RunWorker(OrderWorker[CaseTurn, JudgedAttempt]):
    """Makes attempts at cases that it gets as they were read. `cases`: what it needs to know of the run;
    `saves`: whether answers are saved."""

    terms = attempts.OF_ATTEMPTS

    def __init__(self, order: Order, cases: CaseOrder, saves: bool):
        super().__init__(order)
        self._transcripts = cases.transcripts
        clients = replace(self.context.clients, batches=cases.together)
        self.environment = CaptureEnvironment(self.project, clients, order.known)
        queue = Queue(self.project, self.context.clients.now)
        self._outside = partial(build_outside, self.project, self.context.clients, queue, saves)
        self._runnable = self._outside(PendingWrites()).check
        self.begin = self._begin

    def _begin(self) -> Callable[[CaseTurn], JudgedAttempt]:
        """Each case of a chunk is prepared once."""
        lock = threading.Lock()
        ready: dict[str, Prepared] = {}

        def prepared(case: Case) -> Prepared:
            with lock:
                if case.id not in ready:
                    (ready[case.id],) = prepare_cases(self.environment, [case], self._runnable)
                return ready[case.id]

        given = self.environment, self._outside, self.context, prepared, self._transcripts
        worker = attempts.CaseWorker(*given)
        return worker.judge


def run_elsewhere(
    job: Job, where: WhereOptions, saves: bool, cases: CaseOrder
) -> Elsewhere[CaseTurn, JudgedAttempt] | None:
    """Where the attempts of a run are made; None for threads of this process."""
    if where.dask is None and where.processes == 1:
        return None
    job = replace(job, jobs=cases.jobs, ends_at_failure=cases.first)
    root = job.models.project.root
    stated = {os.path.join(root, file): data for file, data in Ratings(root).contents().items()}
    named = [os.path.join(root, file) for file in cases.files]

    def build(order: Order) -> Build:
        return partial(RunWorker, order, cases, saves)

    return elsewhere(job, where, build, attempts.OF_ATTEMPTS, named, stated)
