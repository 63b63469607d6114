"""Another process that works on chunks of a run: what it is told (`Order`), and the clients, the project and
the models that it builds from that. It writes nothing: what is to be kept goes back to who sent the chunk."""

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from baselinekit.cli.clients import CACHE, LazyModels, open_clients, typed
from baselinekit.cli.options import RecordingOptions
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Spent
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.replaying.settings import Clients
from baselinekit.workflow.chunks import Chunk, ChunkDone, ChunkWorker, JudgePolicy, ReadFiles
from baselinekit.workflow.context import AtOnce, Stop
from baselinekit.workflow.judging import JudgedBaseline
from baselinekit.workflow.leases import Gathered, KeptAnswer, Lease, minus
from baselinekit.workflow.loading import Unfit
from baselinekit.workflow.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.workflow.selection import IsWanted

if TYPE_CHECKING:  # most runs ask no model
    from baselinekit.models.recording import Mode, Shelf


@frozen
class Order:
    """What another process has to know to work on the same run: words, of which it builds the rest. The
    project's scope is not among them, nor is a client. `jobs`: how many at once, of one worker. `resume` and
    `about`: as for LazyModels."""

    operator: Operator
    recording: RecordingOptions
    jobs: int
    resume: bool | None = None
    about: str = ""


def order_of(
    project: Project, recording: RecordingOptions, jobs: int, resume: bool | None = None, about: str = ""
) -> Order:
    """The order of a project that was opened by somebody's words."""
    assert project.operator is not None
    operator = replace(project.operator, execute=None, work=time.thread_time)
    return Order(operator, recording, jobs, resume, about)


def orders_of(
    project: Project, recording: RecordingOptions, places: int, jobs: int, resume: bool | None, about: str
) -> list[Order]:
    """One for each of several workers: together they do no more at once than `jobs`."""
    order = order_of(project, recording, jobs, resume, about)
    return [replace(order, jobs=jobs // places + (number < jobs % places)) for number in range(places)]


class Workplace:
    """The project of an order and its clients in this process: before each chunk a lease `begin`s, and what
    was `gathered` meanwhile is told afterwards."""

    def __init__(self, order: Order):
        self._open = ExitStack()
        self._now = LeasedClock(order.operator.now)
        context = self._open.enter_context(open_clients(self._now, None, Stop()))
        operator = order.operator
        if operator.config_from is not None:
            operator = replace(operator, execute=context.clients.execute)
        self.project = open_project(operator)
        self.models = LeasedModels(self.project, context.clients, order)
        context = self.models.added_to(context)
        self.clients = self._open.enter_context(AtOnce(context.clients, order.jobs)).clients
        self.context = context
        self._plain: frozenset[str] = frozenset()

    def begin(self, lease: Lease) -> None:
        self._now.set(lease.now)
        self.models.begin(lease)

    def gathered(self) -> Gathered:
        before, self._plain = self._plain, self.project.redactor.plain
        return Gathered(*self.models.gathered(), self._plain - before)

    def cancel(self) -> None:
        """What is under way ends soon, and nothing is begun any more."""
        self.context.stop.ask()

    def close(self) -> None:
        self._open.close()


class CompareWorker:
    """Reads, compiles, replays and judges baselines for a compare that another process has begun. `known`:
    what that one knows of the place of the run, where this is another one."""

    def __init__(self, order: Order, policy: JudgePolicy, known: Mapping[str, Json] | None = None):
        self._place = Workplace(order)
        self._jobs = order.jobs
        self._has_begun = False
        environment = CaptureEnvironment(self._place.project, self._place.clients)
        if known is not None:
            environment = KnownEnvironment(self._place.project, self._place.clients, known)
        self._worker = ChunkWorker(environment, policy, self._place.context)
        self.cancel, self.close = self._place.cancel, self._place.close

    def read(self, files: list[str], wanted: IsWanted | None) -> tuple[ReadFiles, list[Unfit]]:
        """What stands in files, and what is wrong with those that are wanted."""
        read = self._worker.read(files, wanted)
        chosen = [] if wanted is None else [entry for entry in read.entries if wanted(entry)]
        return read, self._worker.prepare(chosen)

    def prepare(self, entries: list[Entry]) -> list[Unfit]:
        return self._worker.prepare(entries)

    def judge(self, chunk: Chunk[Entry], lease: Lease) -> ChunkDone[JudgedBaseline]:
        self._place.begin(lease)
        if not self._has_begun:
            self._has_begun = True
            gc.freeze()  # what was read stays until its turn: there is no use in looking through it
        failures = 0

        def goes_on(result: Result) -> bool:
            nonlocal failures
            failures += result.outcome in ("failed", "error")
            return lease.failures is None or failures < lease.failures

        done = self._worker.run(chunk, self._jobs, goes_on)
        return replace(done, gathered=self._place.gathered())


class KnownEnvironment(CaptureEnvironment):
    """That of a run whose files are laid out here: what git and its programs say of the project was found out
    where they are."""

    def __init__(self, project: Project, clients: Clients, known: Mapping[str, Json]):
        super().__init__(project, clients)
        self._known = dict(known)

    def environment(self) -> dict[str, Json]:
        self.seen = self._known
        return super().environment()


class LeasedClock:
    """The time of day of whoever sends the chunks, which goes on here between them."""

    def __init__(self, now: float):
        self.set(now)

    def set(self, now: float) -> None:
        self._ahead = now - time.monotonic()

    def __call__(self) -> float:
        return time.monotonic() + self._ahead


class LeasedModels(LazyModels):
    """The models of a worker: within the limits of its lease, and what is to be kept of their answers is only
    collected."""

    def __init__(self, project: Project, clients: Clients, order: Order):
        super().__init__(project, clients, order.recording, order.resume, order.about)
        self._order = order
        self._root = project.root
        self._lease = Lease(order.operator.now)
        self._answers: list[KeptAnswer] = []

    def begin(self, lease: Lease) -> None:
        self._lease = lease
        if (lease.number, lease.of) != self.part:  # another part of what the models answer at once
            self.part, self._models, self._source = (lease.number, lease.of), None, None
        elif self._models is not None:
            self._limit()

    def make_models(self) -> Any:
        if self._models is None:
            super().make_models()
            self._limit()
        return self._models

    def _limit(self) -> None:
        lease = self._lease
        self._models.lease(lease.spent, lease.calls, lease.tokens, lease.usd)

    def gathered(self) -> tuple[Spent | None, tuple[KeptAnswer, ...]]:
        """What the lease has cost so far, and what is to be kept since this was asked last."""
        with self._lock:
            answers, self._answers = self._answers, []
        spent = self.spent
        return None if spent is None else minus(spent, self._lease.spent), tuple(answers)

    def shelves(self) -> "dict[Mode, Shelf]":
        from baselinekit.store.journal import EarlierAnswers, name_of
        from baselinekit.store.results import Cassettes

        order = self._order
        found: dict[Mode, Shelf] = {}
        if order.resume is not None:
            known = EarlierAnswers(self._root, name_of("answers", order.about), order.resume)
            found["journal"] = Collected("journal", known, self._collect)
        if order.recording.cache:
            found["cache"] = Collected("cache", Cassettes(self._root, CACHE), self._collect)
        if order.recording.record_calls is not None:
            kept = Cassettes(self._root, typed(self._project, order.recording.record_calls))
            found["record"] = Collected("record", kept, self._collect)
        return found

    def _collect(self, answer: KeptAnswer) -> None:
        with self._lock:
            self._answers.append(answer)


class Collected:
    """A shelf on which answers are found, and those that are to be kept are handed on."""

    def __init__(self, where: "Mode", shelf: "Shelf", collect: Callable[[KeptAnswer], None]):
        self._where, self._shelf, self._collect = where, shelf, collect
        self._own: dict[tuple[str, str], Json] = {}
        self.every, self.names = shelf.every, shelf.names

    @property
    def name(self) -> str:
        return self._shelf.name

    def find(self, model: str, key: str) -> Json:
        """The record. Those of this worker may not have been written yet."""
        return self._own.get((model, key)) or self._shelf.find(model, key)

    def keep(self, model: str, key: str, record: Json) -> None:
        self._own[model, key] = record
        self._collect(KeptAnswer(self._where, model, key, record))

    def drop(self, model: str, name: str) -> None:
        self._own.pop((model, name), None)
        self._collect(KeptAnswer(self._where, model, name))
