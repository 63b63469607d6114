"""Baselines loaded, compiled and located: everything that can be wrong in any file is said before anything is
replayed."""

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from baselinekit.errors import BaselinekitError, FirstOfEach, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.results import Result
from baselinekit.model.values import ABSENT
from baselinekit.store import reading
from baselinekit.store.atomic import sweep
from baselinekit.store.discovery import Discovery, discover_files
from baselinekit.store.project import nearest_config
from baselinekit.store.reading import locate_each
from baselinekit.workflow.judging import check
from baselinekit.workflow.project import CaptureEnvironment, Project

Prepared = tuple[Baseline, Matcher | None]


@frozen
class Unfit:
    """A baseline that cannot be compared as it is written, and why."""

    source: Source
    error: BaselinekitError


_MOST_LOCATED = 1_000
"""Differences of one baseline whose lines are looked for."""


def load(project: Project, paths: Sequence[str]) -> list[Baseline]:
    """The baselines below the paths (as the user sees them), else in the project's own folders."""
    baselines, broken = load_partly(project, paths)
    if broken is not None:
        raise broken
    return baselines


def load_partly(project: Project, paths: Sequence[str]) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest."""
    return reading.load_partly([*find_files(project, paths).files], project.root)


def find_files(project: Project, paths: Sequence[str]) -> Discovery:
    """The files below the paths, else below the project's own folders. What a killed run left there is
    cleared away."""
    named = [folder for folder in project.folders if os.path.isdir(os.path.join(project.root, folder))]
    if paths:
        check_configuration(project, [os.path.join(project.cwd, path) for path in paths])
        named = [from_root(os.path.join(project.cwd, path), project.root) for path in paths]
    found = discover_files(named, project.root)
    check_configuration(project, [os.path.dirname(os.path.join(project.root, one)) for one in found.configs])
    if paths or os.curdir in map(os.path.normpath, project.folders):
        found.pass_over_foreign([one for one in project.folders if os.path.normpath(one) != os.curdir])
    sweep(project.root, found.folders, found.temporaries)
    return found


def check_configuration(project: Project, paths: Sequence[str]) -> None:
    """What stands in another project is not asked with the addresses, variables and permissions of this one:
    the operator goes there, or names the configuration that counts."""
    operator = project.operator
    if not paths or operator is None or operator.config is not None:
        return
    nearest, own = cache(nearest_config), nearest_config(operator.cwd)
    others: dict[str, str] = {}
    for path in map(os.path.normpath, paths):
        there = nearest(path if os.path.isdir(path) else os.path.dirname(path))
        if there is not None and there != own and not (own and os.path.samefile(there, own)):
            others.setdefault(there, os.path.relpath(path, operator.cwd))
    problems = []
    for there, path in others.items():
        config = os.path.relpath(there, operator.cwd)
        message = f"{path} belongs to the project of {config}, which is not the configuration that counts here"
        hint = f"cd {shlex.quote(os.path.dirname(config))}, or add --config {shlex.quote(config)}"
        problems.append(Problem("BK511", message, hint))
    if problems:
        raise InvalidInput(*problems)


def from_root(path: str, root: str) -> str:
    """A path that the operator named, from the root. What stands in the project is called as it stands there:
    where a link in it leads is for the reader of the file to judge."""
    path = os.path.normpath(path)
    if os.path.commonpath([path, root]) != root:
        path = os.path.realpath(path)
    return os.path.relpath(path, root)


def prepare(
    environment: CaptureEnvironment, selected: Iterable[Baseline], broken: BaselinekitError | None = None
) -> list[Prepared]:
    """Compile every baseline and ask whether its recipe can work; all that is wrong, also what was `broken`
    before, is one error."""
    prepared, unfit = compile_and_check(environment, selected)
    complain(broken, unfit, environment.project.root)
    return prepared


def compile_and_check(
    environment: CaptureEnvironment, selected: Iterable[Baseline]
) -> tuple[list[Prepared], list[Unfit]]:
    """Each with its matcher, and those with which something is wrong. First all are compiled, then all are
    checked: to do both in turn takes a fifth longer, for the processor keeps the code of one of them at
    hand. An exception that nobody expected is met again where the baseline is judged, and told there."""
    project = environment.project
    prepared: list[Prepared] = []
    failed: dict[int, Unfit] = {}
    fit: list[tuple[int, Baseline]] = []
    for number, baseline in enumerate(selected):
        try:
            chosen, matcher = compiled(environment, baseline)
        except BaselinekitError as error:
            failed[number] = Unfit(baseline.source, error)
            continue
        prepared.append((chosen, matcher))
        if matcher is not None:
            fit.append((number, baseline))
    for number, baseline in fit:
        try:
            check(baseline, project.setting_of(baseline, environment.clients))
        except BaselinekitError as error:
            failed[number] = Unfit(baseline.source, error)
        except Exception:
            continue
    return prepared, [failed[number] for number in sorted(failed)]


def compiled(environment: CaptureEnvironment, baseline: Baseline) -> Prepared:
    """A baseline with its matcher; without one where it has no output yet, or where an exception came that
    nobody expected: both are told where it is judged."""
    try:
        chosen = environment.chosen(baseline)
        if chosen.baseline is None or chosen.baseline.output is ABSENT:
            return chosen, None
        return chosen, compile_baseline(chosen, environment.project.words_of(baseline))
    except BaselinekitError:
        raise
    except Exception:
        return baseline, None


def complain(broken: BaselinekitError | None, unfit: Sequence[Unfit], root: str) -> None:
    """Raise all that is wrong as one error, each problem with its place; of many that are alike in one file
    the first."""
    problems: list[Problem] = []
    refused: list[Problem] = []
    if broken is not None:
        (refused if isinstance(broken, Refused) else problems).extend(broken.problems)
    if unfit:
        first, first_refused = FirstOfEach(), FirstOfEach()
        new = []
        for one in unfit:
            takes = (first_refused if isinstance(one.error, Refused) else first).takes
            new.append([problem for problem in one.error.problems if takes(one.source.file, problem)])
        wanted = [(one.source, few) for one, few in zip(unfit, new, strict=True)]
        for one, placed in zip(unfit, locate_each_problem(wanted, root), strict=True):
            (refused if isinstance(one.error, Refused) else problems).extend(placed)
        problems += first.rest()
        refused += first_refused.rest()
    if problems:
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)


def locate_problems(baseline: Baseline, problems: Iterable[Problem], root: str) -> list[Problem]:
    """The problems with their place in the file: the record's own, where nothing more exact is known."""
    return locate_each_problem([(baseline.source, problems)], root)[0]


def locate_each_problem(wrong: Sequence[tuple[Source, Iterable[Problem]]], root: str) -> list[list[Problem]]:
    """The same for many baselines: each file is looked into once, however many of them it holds."""
    listed = [(source, list(problems)) for source, problems in wrong]
    wanted = [(source, [problem.at or () for problem in problems]) for source, problems in listed if problems]
    places = iter(locate_each(wanted, root))
    return [
        [problem.placed(place) for problem, place in zip(problems, next(places), strict=True)]
        if problems
        else []
        for _, problems in listed
    ]


def with_lines(results: Sequence[Result | None], sources: Sequence[Source], root: str) -> list[Result | None]:
    """The results with the lines that they are about, found once all is recorded: a record that gains its
    first `last_passed` moves what stands below it."""
    placed = list(results)
    unmet = [
        (number, result, result.differences[:_MOST_LOCATED])
        for number, result in enumerate(results)
        if result and result.outcome not in ("passed", "skipped")
    ]
    if not unmet:
        return placed
    wanted = [(sources[n], [result.at, *(spot.at for spot in spots)]) for n, result, spots in unmet]
    for (n, result, spots), (own, *places) in zip(unmet, locate_each(wanted, root), strict=True):
        pairs = zip(spots, places, strict=True)
        differences = [replace(spot, file=place.file, line=place.line) for spot, place in pairs]
        rest = result.differences[len(spots) :]
        placed[n] = replace(result, line=own.line, differences=(*differences, *rest))
    return placed
