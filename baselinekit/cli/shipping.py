"""Where the work of a compare or a run is done: `--processes`, or `--dask` with the options and files of the
project that are sent to the workers of a cluster."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from baselinekit.cli.clients import CACHE, operator_path
from baselinekit.cli.options import WhereOptions
from baselinekit.cli.worker import CompareWorker, Job, Order
from baselinekit.clients.programs.git import Git
from baselinekit.clients.trust import in_ci
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
from baselinekit.commands.executor import Chunk, Elsewhere, Grant, Workers
from baselinekit.commands.judging import ComparePolicy, JudgedBaseline
from baselinekit.commands.project import CaptureEnvironment, Operator, Project
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Entry
from baselinekit.model.recipes import Variable
from baselinekit.store.journal import answers_file, name_of
from baselinekit.store.project import CONFIG_NAME, repository_of
from baselinekit.structs import replace

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
    place: AbstractContextManager[Workers]
    if where.dask is not None:
        place = on_cluster(where.dask, job, build, named, stated)
    elif (count := min(where.processes, job.jobs)) == 1:
        return None
    else:
        shares = [job.jobs // count + (number < job.jobs % count) for number in range(count)]
        builds = [build(replace(job.order, jobs=share)) for share in shares]
        place = WorkerProcesses(builds, shares[0], job.about.partition(" ")[0])
    now, reads = job.context.clients.now, where.dask is None
    return Elsewhere(place, terms, job.models, job.ends_at_failure, now, reads)


def compare_elsewhere(
    job: Job, where: WhereOptions, paths: Sequence[str], policy: ComparePolicy
) -> Elsewhere[Entry, JudgedBaseline] | None:
    """Where the baselines of a compare are judged; None for threads of this process."""
    named = [os.path.normpath(os.path.join(job.project.cwd, path)) for path in paths]
    return elsewhere(job, where, lambda order: partial(CompareWorker, order, policy), OF_BASELINES, named)


def check_dask_option(place: str) -> None:
    """Refuse an invalid address, and `--processes` together with `--dask`."""
    check_place(place)
    context = click.get_current_context(silent=True)
    if context and context.get_parameter_source("processes") is ParameterSource.COMMANDLINE:
        message = "--dask and --processes both say where the work is done"
        hint = "leave one of them out; --dask local:4 starts four workers"
        raise InvalidInput(Problem("BK508", message, hint))


def on_cluster(
    place: str,
    job: Job,
    build: Callable[[Order], Build],
    named: Sequence[str],
    stated: Mapping[str, bytes],
) -> AbstractContextManager[Cluster]:
    """The workers of a cluster, which is connected once there is something to send. `build`: how a worker is
    made; `named`: files and folders that are sent wherever they are; `stated`: files with the content that
    they must have there, whatever they contain here."""
    check_dask_option(place)
    project, execute = job.project, job.context.clients.execute
    root = project.root
    order = order_to_send(job)
    environment = CaptureEnvironment(project, job.context.clients)
    operator, recording = order.operator, order.recording
    folders = [folder for folder in (recording.offline, recording.record_calls) if folder is not None]
    folders += [os.path.join(root, CACHE)] if recording.cache else []
    folders += [answers_file(root, name_of("answers", order.about))] if order.resume else []
    outside = [path for path in named if os.path.commonpath([path, root]) != root]
    folders += filter(os.path.isdir, outside)
    tops = {repository_of(root, path) for path in filter(os.path.isfile, outside)}

    @cache
    def files() -> tuple[bytes, frozenset[str]]:
        return pack(
            {
                **{folder: [folder] for folder in folders},
                **{top: listed_files(Git(execute, top)) for top in tops},
                root: listed_files(Git(execute, root)) or [root],
                "/": [*_files_of_settings(project, order), *filter(os.path.isfile, named)],
            },
            {
                project.cwd: None,
                **{os.path.join(top, ".git"): None for top in tops},  # marks the root of its repository there
                **stated,
                **_stated_configuration(job, order),
            },
        )

    def seal(chunk: Chunk[Any], grant: Grant) -> Sealed:
        if not environment.seen:
            with suppress(BaselinekitError):
                environment.environment()
        sent = replace(order, jobs=max(1, job.jobs // grant.of), known=environment.seen)
        paths = files()[1] | {operator.cwd, operator.config, operator.targets, *folders}
        return Sealed((build(sent), chunk, grant), lambda text: text if text in paths else None)

    private = is_private(project, operator)
    return connect_to_cluster(
        place, lambda client: Cluster(client, private, job.jobs, seal, Sealed(files()[0]))
    )


def order_to_send(job: Job) -> Order:
    """The order as it is sent to other machines: with absolute paths, and only those environment variables
    that are needed."""
    project, operator, recording = job.project, job.order.operator, job.recording

    def path(name: str | None, folder: str = operator.cwd) -> str | None:
        return None if name is None else os.path.normpath(os.path.join(folder, name))

    operator = replace(
        operator,
        environ=environment_to_send(project, operator),
        config=path(project.config_file or CONFIG_NAME, project.root),
        config_from=None,
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


def _stated_configuration(job: Job, order: Order) -> dict[str, bytes]:
    """The configuration of the run, where that is not what its file contains now."""
    project = job.project
    if project.config_file is None:
        return {str(order.operator.config): b"version: 1\n"}
    if project.operator.config_from is None:
        return {}
    git = Git(job.context.clients.execute, project.root)
    tree = git.tree(git.commit(str(project.operator.config_from), "--config-from"))
    content = git.contents({project.config_file: tree[project.config_file]})
    return {str(order.operator.config): content[project.config_file]}
