"""The workers of `--processes` and `--dask`: the `Order` that each gets, and the project, clients and models
that it builds from that. A worker writes nothing: results go back to the process of the command."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Generic

from baselinekit.cli.clients import LazyModels, open_clients
from baselinekit.cli.options import RecordingOptions
from baselinekit.commands.compare import OF_BASELINES
from baselinekit.commands.context import ModelThreads, RunContext, Stop
from baselinekit.commands.executor import (
    Chunk,
    ChunkDone,
    Grant,
    Item,
    Judged,
    NewAnswer,
    Terms,
    in_threads,
)
from baselinekit.commands.judging import Checker, ComparePolicy, JudgedBaseline
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.kinds.settings import Clients
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import added_usage
from baselinekit.model.values import Json
from baselinekit.structs import Struct, replace

if TYPE_CHECKING:  # most runs ask no model
    from baselinekit.clients.models.recording import Mode, Shelf


class Order(Struct):
    """What another process needs to work on the same run: plain settings, from which it builds the project
    and the clients itself. `jobs`: how many at once in one worker. `resume` and `about`: as for LazyModels.
    `known`: the environment of the run, for a worker on another machine."""

    operator: Operator
    recording: RecordingOptions
    jobs: int
    resume: bool | None
    about: str
    known: Mapping[str, Json] | None = None


class OrderWorker(Generic[Item, Judged]):
    """Judges chunks for a run that another process has started, with the project and the clients of its
    order. `begin`, which each kind of run adds, returns what judges the items of a chunk."""

    terms: Terms[Item, Judged]
    begin: Callable[[], Callable[[Item], Judged]]

    def __init__(self, order: Order):
        self._open, self._jobs = ExitStack(), order.jobs
        self._ahead = order.operator.now - time.monotonic()
        context = self._open.enter_context(open_clients(self._now, None, Stop()))
        self.project = open_project(replace(order.operator, execute=context.clients.execute))
        self._models = GrantedModels(self.project, context.clients, order)
        context = self._models.added_to(context)
        clients = self._open.enter_context(ModelThreads(context.clients, order.jobs)).clients
        self.context = replace(context, clients=clients)
        self.environment = CaptureEnvironment(self.project, clients, order.known)
        self._plain: frozenset[str] = frozenset()
        self.close = self._open.close

    def _now(self) -> float:
        """The clock of the process that sends the chunks, continued here."""
        return time.monotonic() + self._ahead

    def judge(self, chunk: Chunk[Item], grant: Grant) -> ChunkDone[Judged]:
        """Judge in threads."""
        self._ahead = grant.now - time.monotonic()
        self._models.begin(grant)
        failures: list[Item] = []

        def finished(item: Item, judged: Judged) -> tuple[Item, ...]:
            failures.extend([item] if self.terms.is_failure(item, judged) else [])
            return ()

        judged = in_threads(
            *(chunk.items, self.begin(), self._jobs, self.context.stop, self.context.cancel, finished),
            claim=lambda item: chunk.claim,
            goes_on=lambda: not (grant.ends_at_failure and failures),
        )
        plain_before, self._plain = self._plain, self.project.redactor.plain
        done = ChunkDone(tuple(judged), self.environment.seen, plain=self._plain - plain_before)
        return self._models.added_to_done(done)

    def cancel(self) -> None:
        """End what is under way, and start nothing more."""
        self.context.stop.ask()
        self.context.cancel()


class CompareWorker(OrderWorker[Entry, JudgedBaseline]):
    """Reads, replays and judges baselines."""

    terms = OF_BASELINES

    def __init__(self, order: Order, policy: ComparePolicy):
        super().__init__(order)
        checker = Checker(self.environment, policy, self.context)
        self.begin, self.read = lambda: checker.judge, checker.read


class GrantedModels(LazyModels):
    """The models of a worker: limited by its grant, and answers to be stored are only collected."""

    def __init__(self, project: Project, clients: Clients, order: Order):
        super().__init__(project, clients, order.recording, order.resume, order.about)
        self._root = project.root
        self._grant = Grant(order.operator.now)
        self._answers: list[NewAnswer] = []

    def begin(self, grant: Grant) -> None:
        self._grant = grant
        if self.part != (grant.number, grant.of):  # those that files were checked with have all of the shares
            self.part, self._models, self._source = (grant.number, grant.of), None, None
        if self._models is not None:
            self._models.grant(grant.spent, grant.limits)

    def make_models(self) -> Any:
        if self._models is None:
            super().make_models().grant(self._grant.spent, self._grant.limits)
        return self._models

    def added_to_done(self, done: ChunkDone[Any]) -> ChunkDone[Any]:
        """Add what was spent under the grant, and the answers to store since the last call."""
        with self._lock:
            answers, self._answers = self._answers, []
        spent = None if self.spent is None else added_usage(self.spent, self._grant.spent, -1)
        return replace(done, spent=spent, answers=tuple(answers))

    def shelves(self) -> "dict[Mode, Shelf]":
        shelves = super().shelves().items()
        return {mode: CollectingShelf(mode, shelf, self._collect) for mode, shelf in shelves}

    def _create_journal(self) -> Any:
        from baselinekit.store.journal import AnswerJournal, name_of

        return AnswerJournal(self._root, name_of("answers", self._about), bool(self._resume), read_only=True)

    def _collect(self, answer: NewAnswer) -> None:
        with self._lock:
            self._answers.append(answer)


class CollectingShelf:
    """A shelf that finds stored answers, and passes on new ones instead of storing them."""

    def __init__(self, mode: "Mode", shelf: "Shelf", collect: Callable[[NewAnswer], None]):
        self._where, self._shelf, self._collect = mode, shelf, collect
        self._new_records: dict[tuple[str, str], Json] = {}
        self.every, self.names, self.name = shelf.every, shelf.names, shelf.name

    def find(self, model: str, key: str) -> Json:
        """The record; new ones of this worker may not have been written yet."""
        return self._new_records.get((model, key)) or self._shelf.find(model, key)

    def keep(self, model: str, key: str, record: Json) -> None:
        self._new_records[model, key] = record
        self._collect(NewAnswer(self._where, model, key, record))

    def drop(self, model: str, name: str) -> None:
        self._new_records.pop((model, name), None)
        self._collect(NewAnswer(self._where, model, name))


# In the process of the command.


class Job(Struct):
    """What the work elsewhere is for. `jobs`: how many at once over all workers; `ends_at_failure`: whether
    a part of the work ends at its first failure."""

    project: Project
    context: RunContext
    models: LazyModels
    recording: RecordingOptions
    resume: bool | None
    about: str
    jobs: int = 1
    ends_at_failure: bool = False

    @property
    def order(self) -> Order:
        operator = replace(self.project.operator, execute=None, work=time.thread_time)
        return Order(operator, self.recording, self.jobs, self.resume, self.about)
