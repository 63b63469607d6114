"""A worker process for chunks of a run: the `Order` that it gets, and the clients, project and models that it
builds from that. It writes nothing: results are sent back to the process that sent the chunk."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from baselinekit.cli.clients import CACHE, LazyModels, open_clients, operator_path
from baselinekit.cli.options import RecordingOptions
from baselinekit.commands.chunks import Chunk, ChunkDone, ChunkWorker, JudgePolicy, ReadFiles
from baselinekit.commands.context import ModelThreads, Stop
from baselinekit.commands.judging import JudgedBaseline
from baselinekit.commands.leases import ChunkCosts, KeptAnswer, Lease, subtract_spent
from baselinekit.commands.loading import UnfitBaseline
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.commands.selection import IsWanted
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import ModelUsage
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.replaying.settings import Clients

if TYPE_CHECKING:  # most runs ask no model
    from baselinekit.clients.models.recording import Mode, Shelf


@frozen
class Order:
    """What another process needs to work on the same run: plain settings, from which it builds the project
    and the clients itself. `jobs`: how many at once in one worker. `resume` and `about`: as for
    LazyModels."""

    operator: Operator
    recording: RecordingOptions
    jobs: int
    resume: bool | None = None
    about: str = ""


def order_of(
    project: Project, recording: RecordingOptions, jobs: int, resume: bool | None = None, about: str = ""
) -> Order:
    """The order for a project that was opened by an operator."""
    assert project.operator is not None
    operator = replace(project.operator, execute=None, work=time.thread_time)
    return Order(operator, recording, jobs, resume, about)


def orders_of(
    project: Project, recording: RecordingOptions, places: int, jobs: int, resume: bool | None, about: str
) -> list[Order]:
    """An order for each of several workers, which together do no more than `jobs` at once."""
    order = order_of(project, recording, jobs, resume, about)
    return [replace(order, jobs=jobs // places + (number < jobs % places)) for number in range(places)]


class Workplace:
    """The project and the clients of an order in this process. Call `begin` with the lease before each chunk,
    and `gathered` after it."""

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
        self.clients = self._open.enter_context(ModelThreads(context.clients, order.jobs)).clients
        self.context = context
        self._plain: frozenset[str] = frozenset()

    def begin(self, lease: Lease) -> None:
        self._now.set(lease.now)
        self.models.begin(lease)

    def gathered(self) -> ChunkCosts:
        plain_before, self._plain = self._plain, self.project.redactor.plain
        return ChunkCosts(*self.models.gathered(), self._plain - plain_before)

    def cancel(self) -> None:
        """End what is under way soon, and start nothing more."""
        self.context.stop.ask()

    def close(self) -> None:
        self._open.close()


class CompareWorker:
    """Reads, compiles, replays and judges baselines for a compare that another process has started.
    `known_environment`: the environment of the run, if this worker is on another machine."""

    def __init__(
        self, order: Order, policy: JudgePolicy, known_environment: Mapping[str, Json] | None = None
    ):
        self._place = Workplace(order)
        self._jobs = order.jobs
        environment = CaptureEnvironment(self._place.project, self._place.clients)
        if known_environment is not None:
            environment = KnownEnvironment(self._place.project, self._place.clients, known_environment)
        self._worker = ChunkWorker(environment, policy, self._place.context)
        self.cancel, self.close = self._place.cancel, self._place.close

    def read(self, files: list[str], is_wanted: IsWanted | None) -> tuple[ReadFiles, list[UnfitBaseline]]:
        """The entries of files, and what is wrong with the selected ones."""
        read = self._worker.read(files, is_wanted)
        entries = [] if is_wanted is None else [entry for entry in read.entries if is_wanted(entry)]
        return read, self._worker.prepare(entries)

    def prepare(self, entries: list[Entry]) -> list[UnfitBaseline]:
        return self._worker.prepare(entries)

    def judge(self, chunk: Chunk[Entry], lease: Lease) -> ChunkDone[JudgedBaseline]:
        self._place.begin(lease)
        failures = 0

        def goes_on(result: Result) -> bool:
            nonlocal failures
            failures += result.outcome in ("failed", "error")
            return lease.failures is None or failures < lease.failures

        outcome = self._worker.run(chunk, self._jobs, goes_on)
        return replace(outcome, gathered=self._place.gathered())


class KnownEnvironment(CaptureEnvironment):
    """The environment of a run whose files were sent to this machine: git and the programs were asked about
    the project on the original machine."""

    def __init__(self, project: Project, clients: Clients, known_environment: Mapping[str, Json]):
        super().__init__(project, clients)
        self._known = dict(known_environment)

    def environment(self) -> dict[str, Json]:
        self.seen = self._known
        return super().environment()


class LeasedClock:
    """The clock of the process that sends the chunks, continued here between them."""

    def __init__(self, now: float):
        self.set(now)

    def set(self, now: float) -> None:
        self._ahead = now - time.monotonic()

    def __call__(self) -> float:
        return time.monotonic() + self._ahead


class LeasedModels(LazyModels):
    """The models of a worker: limited by its lease, and answers to be stored are only collected."""

    def __init__(self, project: Project, clients: Clients, order: Order):
        super().__init__(project, clients, order.recording, order.resume, order.about)
        self._order = order
        self._root = project.root
        self._lease = Lease(order.operator.now)
        self._answers: list[KeptAnswer] = []

    def begin(self, lease: Lease) -> None:
        self._lease = lease
        # another share of the questions that a model may get at once
        if (lease.number, lease.of) != self.part:
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

    def gathered(self) -> tuple[ModelUsage | None, tuple[KeptAnswer, ...]]:
        """What was spent under the lease so far, and the answers to store since the last call."""
        with self._lock:
            answers, self._answers = self._answers, []
        spent = self.spent
        return None if spent is None else subtract_spent(spent, self._lease.spent), tuple(answers)

    def shelves(self) -> "dict[Mode, Shelf]":
        from baselinekit.store.journal import EarlierAnswers, name_of
        from baselinekit.store.results import Cassettes

        order = self._order
        shelves: dict[Mode, Shelf] = {}
        if order.resume is not None:
            earlier = EarlierAnswers(self._root, name_of("answers", order.about), order.resume)
            shelves["journal"] = CollectingShelf("journal", earlier, self._collect)
        if order.recording.cache:
            shelves["cache"] = CollectingShelf("cache", Cassettes(self._root, CACHE), self._collect)
        if order.recording.record_calls is not None:
            cassettes = Cassettes(self._root, operator_path(self._project, order.recording.record_calls))
            shelves["record"] = CollectingShelf("record", cassettes, self._collect)
        return shelves

    def _collect(self, answer: KeptAnswer) -> None:
        with self._lock:
            self._answers.append(answer)


class CollectingShelf:
    """A shelf that finds stored answers, and passes on new ones instead of storing them."""

    def __init__(self, mode: "Mode", shelf: "Shelf", collect: Callable[[KeptAnswer], None]):
        self._where, self._shelf, self._collect = mode, shelf, collect
        self._new_records: dict[tuple[str, str], Json] = {}
        self.every, self.names = shelf.every, shelf.names

    @property
    def name(self) -> str:
        return self._shelf.name

    def find(self, model: str, key: str) -> Json:
        """The record; new ones of this worker may not have been written yet."""
        return self._new_records.get((model, key)) or self._shelf.find(model, key)

    def keep(self, model: str, key: str, record: Json) -> None:
        self._new_records[model, key] = record
        self._collect(KeptAnswer(self._where, model, key, record))

    def drop(self, model: str, name: str) -> None:
        self._new_records.pop((model, name), None)
        self._collect(KeptAnswer(self._where, model, name))
