"""Chunks on a Dask cluster: which options and files of the project are sent when a run starts, and what a
worker does with a parcel."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import click
from click.core import ParameterSource

from baselinekit.cli.clients import CACHE, LazyModels, operator_path
from baselinekit.cli.options import RecordingOptions
from baselinekit.cli.worker import CompareWorker, Order, order_of
from baselinekit.clients.trust import in_ci
from baselinekit.commands.chunks import BaselineEngine, ChunkDone, ChunkWorker
from baselinekit.commands.cluster import Work, check_place, connect_to_cluster, worker_folder
from baselinekit.commands.compare import ComparePolicy
from baselinekit.commands.context import RunContext
from baselinekit.commands.elsewhere import ClusterEngine, ClusterRun
from baselinekit.commands.leases import Lease, Leases
from baselinekit.commands.parcel import (
    CommonFiles,
    Packing,
    Parcel,
    SealedValue,
    lay_out,
    path_below,
    with_caller_paths,
)
from baselinekit.commands.project import CaptureEnvironment, Operator, Project
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, internal_error
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Variable
from baselinekit.model.values import Json
from baselinekit.store.project import CONFIG_NAME

_NO_CONFIG = b"version: 1\n"
_WORD = lazy_pattern(r"\w+")


def check_cluster_option(place: str) -> None:
    """Refuse an invalid address, and `--processes` together with `--dask`."""
    check_place(place)
    context = click.get_current_context(silent=True)
    if context and context.get_parameter_source("processes") is ParameterSource.COMMANDLINE:
        message = "--dask and --processes both say where the work is done"
        raise InvalidInput(
            Problem("BK508", message, "leave one of them out; --dask local:4 starts four workers")
        )


def cluster_engine(
    place: str,
    project: Project,
    context: RunContext,
    models: LazyModels,
    policy: ComparePolicy,
    recording: RecordingOptions,
    resume: bool | None,
) -> BaselineEngine:
    """The engine of a compare on a cluster."""
    check_cluster_option(place)
    order = order_to_send(project, recording, policy.jobs, resume, "compare")
    begin = open_sending(place, project, context, models, order, judge_parcel, policy.maxfail)
    worker = ChunkWorker(CaptureEnvironment(project, context.clients), policy.judging, context)
    return ClusterEngine(begin, Packing(common_files(project, context, order)), worker, policy.judging)


def order_to_send(
    project: Project, recording: RecordingOptions, jobs: int, resume: bool | None, about: str
) -> Order:
    """The order as it is sent to other machines, with only those environment variables that they need."""
    order = order_of(project, with_absolute_folders(project, recording), jobs, resume, about)
    config = os.path.join(project.root, project.config_file or CONFIG_NAME)
    operator = replace(order.operator, environ=environment_to_send(project, order.operator), config=config)
    return replace(order, operator=operator)


@contextmanager
def open_sending(
    place: str,
    project: Project,
    context: RunContext,
    models: LazyModels,
    order: Order,
    work: Work,
    maxfail: int | None,
) -> Iterator[ClusterRun]:
    """Connect to the cluster at a place for one run. `order.jobs`: how many at once, over all workers."""
    with connect_to_cluster(place, is_private(project, order.operator), stop_run) as cluster:
        places = max(1, min(len(cluster.workers()), order.jobs))
        yield ClusterRun(
            cluster,
            replace(order, jobs=max(1, order.jobs // places)),
            work,
            Leases(places, models.limits, maxfail, context.clients.now),
            places,
            partial(_known_environment, project, context),
            models.take,
        )


def _known_environment(project: Project, context: RunContext) -> dict[str, Json]:
    """The environment of the run. Errors are ignored here: the baseline that needs it reports them."""
    environment = CaptureEnvironment(project, context.clients)
    with suppress(BaselinekitError):
        environment.environment()
    return environment.seen


# Which options and environment variables are sent, and which files all parcels need.


def environment_to_send(project: Project, operator: Operator) -> dict[str, str]:
    """The environment variables that the project declares to need, and whether this is CI."""
    mappings = [
        project.config.variables,
        *(environment.variables for environment in project.config.environments.values()),
    ]
    names = {
        variable.from_env
        for mapping in mappings
        for variable in mapping.values()
        if isinstance(variable, Variable)
    }
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


def with_absolute_folders(project: Project, recording: RecordingOptions) -> RecordingOptions:
    """The options with absolute paths of their folders."""

    def absolute(folder: str | None) -> str | None:
        return None if folder is None else operator_path(project, folder)

    return replace(
        recording, offline=absolute(recording.offline), record_calls=absolute(recording.record_calls)
    )


def common_files(project: Project, context: RunContext, order: Order) -> CommonFiles:
    """The files sent with each chunk: the configuration, the files it names for all requests, and recorded
    answers."""
    contents: dict[str, bytes] = {}
    config = os.path.join(project.root, project.config_file or CONFIG_NAME)
    if project.config_file is None:
        contents[config] = _NO_CONFIG
    elif project.config_from is not None:
        from baselinekit.clients.programs.git import Git

        git = Git(context.clients.execute, project.root)
        tree = git.tree(git.commit(project.config_from, "--config-from"))
        name = project.config_file
        contents[config] = git.contents({name: tree[name]})[name]
    http = project.config.http
    files = [config, *_targets_files(project, order.operator)]
    files += [os.path.join(project.root, name) for name in (http.verify, http.cert) if isinstance(name, str)]
    recording = order.recording
    answers = [folder for folder in (recording.offline, recording.record_calls) if folder is not None]
    answers += [os.path.join(project.root, CACHE)] if recording.cache else []
    if order.resume:
        from baselinekit.store.journal import files_of, name_of

        answers += files_of(project.root, name_of("answers", order.about))
    return CommonFiles(project, contents, files, answers)


def _targets_files(project: Project, operator: Operator) -> list[str]:
    file = operator.targets if operator.targets is not None else project.config.targets
    folder = operator.cwd if operator.targets is not None else project.root
    return [os.path.normpath(os.path.join(folder, file))] if isinstance(file, str) else []


class ParcelWorker(Protocol):
    """The worker for the chunk of a parcel."""

    cancel: Callable[[], None]
    close: Callable[[], None]

    def judge(self, chunk: Any, lease: Lease, /) -> ChunkDone[Any]: ...


# On a worker: how to cancel the runs that it works on, for when the process that started one ends it.

_cancels_by_run: dict[str, list[Callable[[], None]]] = {}
_stopped_runs: deque[str] = deque(maxlen=256)


def stop_run(run: str) -> None:
    """Cancel what is under way of a run, and start nothing more of it."""
    _stopped_runs.append(run)
    for cancel in list(_cancels_by_run.get(run, ())):
        cancel()


def judge_parcel(run: str, sealed: SealedValue) -> SealedValue:
    """Judge a chunk of baselines."""
    return judge_sealed(run, sealed, _start_worker)


def _start_worker(parcel: Parcel, top: str) -> tuple[ParcelWorker, Any]:
    order = order_in_folder(parcel.order, top)
    return CompareWorker(order, parcel.policy, parcel.known), parcel.chunk


def judge_sealed(
    run: str, sealed: SealedValue, begin: Callable[[Parcel, str], tuple[ParcelWorker, Any]]
) -> SealedValue:
    """Judge a chunk. `begin`: builds its worker, and the chunk as the worker takes it, once its files are
    written below a folder. Errors are returned, not raised: those raised on a worker only appear in its
    log."""
    try:
        return SealedValue.of(_run_parcel(run, sealed.unsealed(), begin))
    except BaselinekitError as error:
        return SealedValue.of(error.problems[0])
    except Exception as error:
        return SealedValue.of(internal_error(error).problems[0])


def _run_parcel(
    run: str, parcel: Parcel, begin: Callable[[Parcel, str], tuple[ParcelWorker, Any]]
) -> ChunkDone[Any]:
    with lay_out(parcel.files, parcel.folders, worker_folder()) as top:
        worker, chunk = begin(parcel, top)
        cancels = _cancels_by_run.setdefault(run, [])
        cancels.append(worker.cancel)
        try:
            if run in _stopped_runs:
                worker.cancel()
            return with_caller_paths(worker.judge(chunk, parcel.lease), top)
        finally:
            cancels.remove(worker.cancel)
            worker.close()
            if not cancels:
                _cancels_by_run.pop(run, None)


def order_in_folder(order: Order, top: str) -> Order:
    """The order with its paths moved below the folder that the files are written to."""
    operator, recording = order.operator, order.recording

    def moved_path(path: str | None) -> str | None:
        return None if path is None else path_below(os.path.join(operator.cwd, path), top)

    return replace(
        order,
        operator=replace(
            operator,
            cwd=path_below(operator.cwd, top),
            config=moved_path(operator.config),
            config_from=None,
            targets=moved_path(operator.targets),
        ),
        recording=replace(
            recording, offline=moved_path(recording.offline), record_calls=moved_path(recording.record_calls)
        ),
    )
