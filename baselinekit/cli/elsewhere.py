"""Work in other processes (`--processes`) or on a cluster (`--dask`): the `Order` that a worker gets, the
project, clients and models that it builds from it, and what is sent. A worker writes nothing: results go back
to the process of the command."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic

from baselinekit.cli.clients import CACHE, LazyModels, open_clients, operator_path
from baselinekit.cli.options import RecordingOptions, WhereOptions
from baselinekit.clients.programs.git import Git
from baselinekit.clients.trust import in_ci
from baselinekit.commands import executor
from baselinekit.commands.cluster import (
    Build,
    Cluster,
    Sealed,
    WorkerProcesses,
    check_place,
    connect_to_cluster,
    listed_files,
    pack,
)
from baselinekit.commands.compare import OF_BASELINES
from baselinekit.commands.context import ModelThreads, RunContext, Stop
from baselinekit.commands.executor import Chunk, ChunkDone, Elsewhere, Grant, Item, Judged, NewAnswer, Terms
from baselinekit.commands.judging import Checker, ComparePolicy, JudgedBaseline
from baselinekit.commands.project import CaptureEnvironment, Operator, Project, open_project
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.settings import Clients
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Variable, added_usage
from baselinekit.model.values import Json
from baselinekit.store.journal import answers_file, name_of
from baselinekit.store.project import CONFIG_NAME, repository_of
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
        self._open = ExitStack()
        self._jobs = order.jobs
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

        judged = executor.in_threads(
            chunk.items,
            self.begin(),
            self._jobs,
            self.context.stop,
            self.context.cancel,
            finished,
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
    """Replays and judges baselines."""

    terms = OF_BASELINES

    def __init__(self, order: Order, policy: ComparePolicy):
        super().__init__(order)
        checker = Checker(self.environment, policy, self.context)
        self.begin = lambda: checker.judge


class GrantedModels(LazyModels):
    """The models of a worker: limited by its grant, and answers to be stored are only collected."""

    def __init__(self, project: Project, clients: Clients, order: Order):
        super().__init__(project, clients, order.recording, order.resume, order.about)
        self._grant = Grant(order.operator.now)
        self._answers: list[NewAnswer] = []

    def begin(self, grant: Grant) -> None:
        self._grant = grant
        if self.processes != grant.of:  # those that files were checked with have all of the shares
            self.processes, self._models, self._source = grant.of, None, None
        if self._models is not None:
            self._models.grant(grant.spent, grant.limits)

    def make_models(self) -> Any:
        if self._models is None:
            super().make_models().grant(self._grant.spent, self._grant.limits)
        return self._models

    def added_to_done(self, done: ChunkDone[Any]) -> ChunkDone[Any]:
        """Add what was spent under the grant, and the answers to store since the last call."""
        answers, self._answers[:] = tuple(self._answers), ()
        spent = None if self.spent is None else added_usage(self.spent, self._grant.spent, -1)
        return replace(done, spent=spent, answers=answers)

    @cached_property
    def shelves(self) -> "dict[Mode, Shelf]":
        shelves = super().shelves
        return {mode: CollectingShelf(mode, shelf, self._answers) for mode, shelf in shelves.items()}

    def _create_journal(self) -> Any:
        from baselinekit.store.journal import AnswerJournal, name_of

        name = name_of("answers", self.about)
        return AnswerJournal(self.project.root, name, bool(self.resume), read_only=True)


class CollectingShelf:
    """A shelf that finds stored answers, and collects new ones instead of storing them."""

    def __init__(self, mode: "Mode", shelf: "Shelf", answers: list[NewAnswer]):
        self._where, self._answers = mode, answers
        self.find, self.names, self.name = shelf.find, shelf.names, shelf.name

    def keep(self, model: str, key: str, record: Json) -> None:
        self._answers.append(NewAnswer(self._where, model, key, record))

    def drop(self, model: str, name: str) -> None:
        self._answers.append(NewAnswer(self._where, model, name))


# In the process of the command.


class Job(Struct):
    """What the work elsewhere is for. `jobs`: how many at once over all workers; `ends_at_failure`: whether
    a part of the work ends at its first failure."""

    context: RunContext
    models: LazyModels
    jobs: int = 1
    ends_at_failure: bool = False

    @property
    def order(self) -> Order:
        models = self.models
        operator = replace(models.project.operator, execute=None, work=time.thread_time)
        return Order(operator, models.recording, self.jobs, models.resume, models.about)


_WORD = lazy_pattern(r"\w+")


def elsewhere(
    job: Job,
    where: WhereOptions,
    build: Callable[[Order], Build],
    terms: Any,
    named: Sequence[str],
    stated: Mapping[str, bytes] = MappingProxyType({}),
) -> Elsewhere[Any, Any] | None:
    """A cluster, or several processes, but no more than do something at once; None for threads of this one.
    `build`: how a worker is made; `named` and `stated`: for `on_cluster`."""
    place: AbstractContextManager[executor.Workers]
    if where.dask is not None:
        place = on_cluster(where.dask, job, build, named, stated)
    elif (count := min(where.processes, job.jobs)) == 1:
        return None
    else:
        shares = [job.jobs // count + (number < job.jobs % count) for number in range(count)]
        builds = [build(replace(job.order, jobs=share)) for share in shares]
        place = WorkerProcesses(builds, shares[0], job.models.about.partition(" ")[0])
    return Elsewhere(place, terms, job.models, job.ends_at_failure, job.context.clients.now)


def compare_elsewhere(
    job: Job, where: WhereOptions, paths: Sequence[str], policy: ComparePolicy
) -> Elsewhere[Entry, JudgedBaseline] | None:
    """Where the baselines of a compare are judged; None for threads of this process."""
    named = [os.path.normpath(os.path.join(job.models.project.cwd, path)) for path in paths]
    return elsewhere(job, where, lambda order: partial(CompareWorker, order, policy), OF_BASELINES, named)


def on_cluster(
    place: str, job: Job, build: Callable[[Order], Build], named: Sequence[str], stated: Mapping[str, bytes]
) -> AbstractContextManager[Cluster]:
    """The workers of a cluster. `build`: how a worker is made; `named`: files and folders that are sent
    wherever they are; `stated`: files with the content that they must have there, whatever they contain
    here."""
    check_place(place)
    project, execute = job.models.project, job.context.clients.execute
    root = project.root
    order = order_to_send(job)
    environment = CaptureEnvironment(project, job.context.clients)
    with suppress(BaselinekitError):
        environment.environment()
    operator, recording = order.operator, order.recording
    folders = [folder for folder in (recording.offline, recording.record_calls) if folder is not None]
    folders += [os.path.join(root, CACHE)] if recording.cache else []
    folders += [answers_file(root, name_of("answers", order.about))] if order.resume else []
    outside = [path for path in named if os.path.commonpath([path, root]) != root]
    folders += filter(os.path.isdir, outside)
    tops = {repository_of(root, path) for path in filter(os.path.isfile, outside)}

    configuration = {} if project.config_file else {str(operator.config): b"version: 1\n"}
    sent = {folder: [folder] for folder in folders}
    sent |= {top: listed_files(Git(execute, top)) for top in tops}
    sent |= {root: listed_files(Git(execute, root)) or [root]}
    sent |= {"/": [*_files_of_settings(project, order), *filter(os.path.isfile, named)]}
    roots = {os.path.join(top, ".git"): None for top in tops}  # marks the root of its repository there
    files, paths = pack(sent, {project.cwd: None, **roots, **stated, **configuration})
    moved = {operator.cwd, operator.config, operator.targets, *folders, *paths}

    def seal(chunk: Chunk[Any], grant: Grant) -> Sealed:
        part = replace(order, jobs=max(1, job.jobs // grant.of), known=environment.seen)
        return Sealed((build(part), chunk, grant), lambda text: text if text in moved else None)

    private = is_private(project, operator)
    return connect_to_cluster(place, lambda dask: Cluster(dask, private, job.jobs, seal, Sealed(files)))


def order_to_send(job: Job) -> Order:
    """The order as it is sent to other machines: with absolute paths, and only those environment variables
    that are needed."""
    project, operator, recording = job.models.project, job.order.operator, job.models.recording

    def path(name: str | None, folder: str = operator.cwd) -> str | None:
        return None if name is None else os.path.normpath(os.path.join(folder, name))

    operator = replace(
        operator,
        environ=environment_to_send(project, operator),
        config=path(project.config_file or CONFIG_NAME, project.root),
        targets=path(operator.targets),
    )
    offline = recording.offline and path(operator_path(project, recording.offline))
    record_calls = recording.record_calls and path(operator_path(project, recording.record_calls))
    recording = replace(recording, offline=offline, record_calls=record_calls)
    return replace(job.order, operator=operator, recording=recording)


def environment_to_send(project: Project, operator: Operator) -> dict[str, str]:
    """The environment variables that the project declares to need, and whether this is CI."""
    config = project.config
    mappings = [config.variables, *(environment.variables for environment in config.environments.values())]
    variables = chain.from_iterable(mapping.values() for mapping in mappings)
    names = {variable.from_env for variable in variables if isinstance(variable, Variable)}
    names |= {name for name, value in operator.secrets.items() if value is None}
    for path in _targets_files(project, operator):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            names |= {*_WORD.findall(file.read())}
    sent = {name: value for name, value in operator.environ.items() if name in names}
    if in_ci(sent) != in_ci(operator.environ):
        sent["CI"] = "true" if in_ci(operator.environ) else "false"
    return sent


def is_private(project: Project, sent: Operator) -> bool:
    """Whether anything that is sent is confidential: secrets, values from env files, and values from the
    operator's environment."""
    values = project.scope.secrets or sent.file_values or sent.environ.keys() - {"CI"}
    return bool(values or project.config.http.cert)


def _targets_files(project: Project, operator: Operator) -> list[str]:
    file = operator.targets if operator.targets is not None else project.config.targets
    folder = operator.cwd if operator.targets is not None else project.root
    return [os.path.normpath(os.path.join(folder, file))] if isinstance(file, str) else []


def _files_of_settings(project: Project, order: Order) -> list[str]:
    """The configuration, and the files that it names for all requests."""
    http = project.config.http
    named = [name for name in (http.verify, http.cert) if isinstance(name, str)]
    named = [os.path.normpath(os.path.join(project.root, name)) for name in named]
    return [str(order.operator.config), *_targets_files(project, order.operator), *named]
