"""Chunks on a Dask cluster: what goes there of the operator's words and of the project, for whoever begins a
run; and what a worker there does with a parcel."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import click
from click.core import ParameterSource

from baselinekit.cli.clients import CACHE, LazyModels, typed
from baselinekit.cli.options import RecordingOptions
from baselinekit.cli.worker import CompareWorker, Order, order_of
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, fault_of_ours
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Variable
from baselinekit.model.values import Json
from baselinekit.store.project import CONFIG_NAME
from baselinekit.trust import in_ci
from baselinekit.workflow.chunks import BaselineEngine, ChunkDone, ChunkWorker
from baselinekit.workflow.cluster import Work, check_place, reached, scratch
from baselinekit.workflow.compare import ComparePolicy
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.elsewhere import Elsewhere, Sending
from baselinekit.workflow.leases import Lease, Leases
from baselinekit.workflow.parcel import CommonFiles, Packing, Parcel, Sealed, at_home, laid_out, moved
from baselinekit.workflow.project import CaptureEnvironment, Operator, Project

_NO_CONFIG = b"version: 1\n"
_WORD = lazy_pattern(r"\w+")


def check_asked(place: str) -> None:
    """That there can be such a place, and that nothing else is asked for beside it."""
    check_place(place)
    context = click.get_current_context(silent=True)
    if context and context.get_parameter_source("processes") is ParameterSource.COMMANDLINE:
        what = "--dask and --processes both say where the work is done"
        raise InvalidInput(
            Problem("BK508", what, "leave one of them out; --dask local:4 starts four workers")
        )


def compares_on(
    place: str,
    project: Project,
    context: RunContext,
    models: LazyModels,
    policy: ComparePolicy,
    recording: RecordingOptions,
    resume: bool | None,
) -> BaselineEngine:
    """The engine of a compare on a cluster."""
    check_asked(place)
    order = order_sent(project, recording, policy.jobs, resume, "compare")
    begin = sending(place, project, context, models, order, judge_parcel, policy.maxfail)
    worker = ChunkWorker(CaptureEnvironment(project, context.clients), policy.judging, context)
    return Elsewhere(begin, Packing(shared(project, context, order)), worker, policy.judging)


def order_sent(
    project: Project, recording: RecordingOptions, jobs: int, resume: bool | None, about: str
) -> Order:
    """The order as it goes to other machines: with what they need of the environment, and nothing else of
    it."""
    order = order_of(project, absolute(project, recording), jobs, resume, about)
    config = os.path.join(project.root, project.config_file or CONFIG_NAME)
    operator = replace(order.operator, environ=environ_sent(project, order.operator), config=config)
    return replace(order, operator=operator)


@contextmanager
def sending(
    place: str,
    project: Project,
    context: RunContext,
    models: LazyModels,
    order: Order,
    work: Work,
    maxfail: int | None,
) -> Iterator[Sending]:
    """The cluster at a place, for one run. `order`: with how many at once, over all workers."""
    with reached(place, is_private(project, order.operator), stop_run) as cluster:
        places = max(1, min(len(cluster.workers()), order.jobs))
        yield Sending(
            cluster,
            replace(order, jobs=max(1, order.jobs // places)),
            work,
            Leases(places, models.limits, maxfail, context.clients.now),
            places,
            partial(_around, project, context),
            models.take,
        )


def _around(project: Project, context: RunContext) -> dict[str, Json]:
    """What is known of the place of the run. What cannot be found out is met again by whom it concerns."""
    here = CaptureEnvironment(project, context.clients)
    with suppress(BaselinekitError):
        here.environment()
    return here.seen


# What is sent of the operator's words, and which files all parcels need.


def environ_sent(project: Project, operator: Operator) -> dict[str, str]:
    """Of the environment what the project declares to need, and whether this is CI."""
    stated = [project.config.variables, *(one.variables for one in project.config.environments.values())]
    names = {one.from_env for some in stated for one in some.values() if isinstance(one, Variable)}
    names |= {name for name, value in operator.secrets.items() if value is None}
    for path in _targets_files(project, operator):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            names |= {*_WORD.findall(file.read())}
    sent = {name: value for name, value in operator.environ.items() if name in names}
    if in_ci(sent) != in_ci(operator.environ):
        sent["CI"] = "true" if in_ci(operator.environ) else "false"
    return sent


def is_private(project: Project, sent: Operator) -> bool:
    """Whether anything of what is sent is for nobody else: secrets, what stands in env files, and what comes
    from the operator's own environment."""
    values = project.scope.secrets or sent.file_values or sent.environ.keys() - {"CI"}
    return bool(values or project.config.http.cert)


def absolute(project: Project, recording: RecordingOptions) -> RecordingOptions:
    """With the folders as they are called from anywhere on this machine."""

    def whole(folder: str | None) -> str | None:
        return None if folder is None else typed(project, folder)

    return replace(recording, offline=whole(recording.offline), record_calls=whole(recording.record_calls))


def shared(project: Project, context: RunContext, order: Order) -> CommonFiles:
    """What goes with each chunk: the configuration, what it names for all requests, and kept answers."""
    stated: dict[str, bytes] = {}
    config = os.path.join(project.root, project.config_file or CONFIG_NAME)
    if project.config_file is None:
        stated[config] = _NO_CONFIG
    elif project.config_from is not None:
        from baselinekit.programs.git import Git

        git = Git(context.clients.execute, project.root)
        tree = git.tree(git.commit(project.config_from, "--config-from"))
        name = project.config_file
        stated[config] = git.contents({name: tree[name]})[name]
    http = project.config.http
    files = [config, *_targets_files(project, order.operator)]
    files += [os.path.join(project.root, name) for name in (http.verify, http.cert) if isinstance(name, str)]
    recording = order.recording
    answers = [folder for folder in (recording.offline, recording.record_calls) if folder is not None]
    answers += [os.path.join(project.root, CACHE)] if recording.cache else []
    if order.resume:
        from baselinekit.store.journal import files_of, name_of

        answers += files_of(project.root, name_of("answers", order.about))
    return CommonFiles(project, stated, files, answers)


def _targets_files(project: Project, operator: Operator) -> list[str]:
    named = operator.targets if operator.targets is not None else project.config.targets
    folder = operator.cwd if operator.targets is not None else project.root
    return [os.path.normpath(os.path.join(folder, named))] if isinstance(named, str) else []


class ParcelWorker(Protocol):
    """Whoever works on the chunk of a parcel."""

    cancel: Callable[[], None]
    close: Callable[[], None]

    def judge(self, chunk: Any, lease: Lease, /) -> ChunkDone[Any]: ...


# On a worker. Which runs it works on, so that whoever has begun one can end it.

_under_way: dict[str, list[Callable[[], None]]] = {}
_stopped: deque[str] = deque(maxlen=256)


def stop_run(run: str) -> None:
    """What is under way of a run ends soon, and nothing of it is begun any more."""
    _stopped.append(run)
    for cancel in list(_under_way.get(run, ())):
        cancel()


def judge_parcel(run: str, sealed: Sealed) -> Sealed:
    """What becomes of a chunk of baselines."""
    return judged(run, sealed, _begun)


def _begun(parcel: Parcel, top: str) -> tuple[ParcelWorker, Any]:
    order = order_below(parcel.order, top)
    return CompareWorker(order, parcel.policy, parcel.known), parcel.chunk


def judged(run: str, sealed: Sealed, begin: Callable[[Parcel, str], tuple[ParcelWorker, Any]]) -> Sealed:
    """What becomes of a chunk. `begin`: gives who works on it, and the chunk as it is to be worked on, once
    its files are laid out below a folder. It raises nothing: what is raised on a worker stands in its log."""
    try:
        return Sealed.of(_judged(run, sealed.unsealed(), begin))
    except BaselinekitError as error:
        return Sealed.of(error.problems[0])
    except Exception as error:
        return Sealed.of(fault_of_ours(error).problems[0])


def _judged(
    run: str, parcel: Parcel, begin: Callable[[Parcel, str], tuple[ParcelWorker, Any]]
) -> ChunkDone[Any]:
    with laid_out(parcel.files, parcel.folders, scratch()) as top:
        worker, chunk = begin(parcel, top)
        cancels = _under_way.setdefault(run, [])
        cancels.append(worker.cancel)
        try:
            if run in _stopped:
                worker.cancel()
            return at_home(worker.judge(chunk, parcel.lease), top)
        finally:
            cancels.remove(worker.cancel)
            worker.close()
            if not cancels:
                _under_way.pop(run, None)


def order_below(order: Order, top: str) -> Order:
    """The same words, said of what is laid out below a folder."""
    operator, recording = order.operator, order.recording

    def below(path: str | None) -> str | None:
        return None if path is None else moved(os.path.join(operator.cwd, path), top)

    return replace(
        order,
        operator=replace(
            operator,
            cwd=moved(operator.cwd, top),
            config=below(operator.config),
            config_from=None,
            targets=below(operator.targets),
        ),
        recording=replace(
            recording, offline=below(recording.offline), record_calls=below(recording.record_calls)
        ),
    )
