"""Load, compile and locate baselines: all errors in any file are reported before anything is replayed."""

import os
import shlex
from collections.abc import Iterable, Sequence
from functools import cache

from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, lacks_variables
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.results import Result
from baselinekit.model.values import Path
from baselinekit.store import reading
from baselinekit.store.atomic import STATE_FOLDER, sweep
from baselinekit.store.project import nearest_config
from baselinekit.store.reading import Discovery, FileProblems, discover_files, locate_each
from baselinekit.structs import replace

Unready = tuple[Source, BaselinekitError]
"""A baseline that cannot be compared as it is written, and why."""


def load(project: Project, paths: Sequence[str]) -> list[Baseline]:
    """Load the baselines below the paths (as the user sees them), or in the project's own folders."""
    return reading.load([*find_files(project, paths).files], project.root)


def load_partly(project: Project, paths: Sequence[str]) -> tuple[list[Baseline], BaselinekitError | None]:
    """Load what can be read; also return the error of the rest."""
    return reading.load_partly([*find_files(project, paths).files], project.root)


def find_files(project: Project, paths: Sequence[str]) -> Discovery:
    """Find the files below the paths, or below the project's own folders. Temporary files of killed runs are
    removed."""
    folders = [folder for folder in project.folders if os.path.isdir(os.path.join(project.root, folder))]
    if paths:
        check_configuration(project, [os.path.join(project.cwd, path) for path in paths])
        folders = [relative_to_root(os.path.join(project.cwd, path), project.root) for path in paths]
    discovery = discover_files(folders, project.root)
    configs = (os.path.join(project.root, path) for path in discovery.configs)
    check_configuration(project, [*map(os.path.dirname, configs)])
    if paths or os.curdir in map(os.path.normpath, project.folders):
        discovery.pass_over_foreign([path for path in project.folders if os.path.normpath(path) != os.curdir])
    own_folders = (folder for folder, _, _ in os.walk(os.path.join(project.root, STATE_FOLDER)))
    sweep({*own_folders, *(os.path.dirname(os.path.join(project.root, file)) for file in discovery.files)})
    return discovery


def check_configuration(project: Project, paths: Sequence[str]) -> None:
    """Refuse files of another project: they must not be asked with the addresses, variables and permissions
    of this one. The operator has to go there, or name the configuration to use."""
    operator = project.operator
    if not paths or operator.config is not None:
        return
    nearest, own = cache(nearest_config), nearest_config(operator.cwd)
    for path in map(os.path.normpath, paths):
        found = nearest(path if os.path.isdir(path) else os.path.dirname(path))
        if found is None or found == own or (own and os.path.samefile(found, own)):
            continue
        config, shown = os.path.relpath(found, operator.cwd), os.path.relpath(path, operator.cwd)
        belongs = f"{shown} belongs to the project of {config}"
        message = f"{belongs}, which is not the configuration that counts here"
        hint = f"cd {shlex.quote(os.path.dirname(config))}, or add --config {shlex.quote(config)}"
        raise InvalidInput(Problem("BK511", message, hint))


def relative_to_root(path: str, root: str) -> str:
    """Return a path of the operator relative to the root. A path in the project stays as it is: links in it
    are checked when the file is read."""
    path = os.path.normpath(path)
    if os.path.commonpath([path, root]) != root:
        path = os.path.realpath(path)
    return os.path.relpath(path, root)


def raise_unless_variables(found: FileProblems, unready: Sequence[Unready], root: str) -> None:
    """Raise all problems as one error, each with its place; unless nothing is wrong but variables without a
    value: then only the baselines that need them are errors, where they are judged, and the others run."""
    if found.error is None and all(lacks_variables(error) for _, error in unready):
        return
    placed = locate_each_problem([(source, error.problems) for source, error in unready], root)
    for (_, error), problems in zip(unready, placed, strict=True):
        found.fail(type(error)(*problems))
    if found.error is not None:
        raise found.error


def locate_problems(baseline: Baseline, problems: Iterable[Problem], root: str) -> list[Problem]:
    """Return the problems with their places in the file: of the whole record, where there is no exact one."""
    return locate_each_problem([(baseline.source, list(problems))], root)[0]


def locate_each_problem(found: Sequence[tuple[Source, Sequence[Problem]]], root: str) -> list[list[Problem]]:
    """Do the same for many baselines: each file is read once, however many of them it holds."""
    places = locate_each([(source, [one.at or () for one in problems]) for source, problems in found], root)
    return [
        [problem.placed(place) for problem, place in zip(problems, spots, strict=True)]
        for (_, problems), spots in zip(found, places, strict=True)
    ]


def with_lines(results: Sequence[Result], sources: Sequence[Source], root: str) -> list[Result]:
    """Return the results with the lines they refer to. These are found once all is recorded: a record that
    gains its first `last_passed` moves the lines below it."""
    placed: list[Result] = []
    paths: list[list[Path]] = [
        [] if one.outcome in ("passed", "skipped") else [one.at, *(spot.at for spot in one.differences)]
        for one in results
    ]
    for result, places in zip(results, locate_each([*zip(sources, paths, strict=True)], root), strict=True):
        if places:
            pairs = zip(result.differences, places[1:], strict=True)
            spots = tuple(replace(spot, file=place.file, line=place.line) for spot, place in pairs)
            result = replace(result, line=places[0].line, differences=spots)
        placed.append(result)
    return placed
