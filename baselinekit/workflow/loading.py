"""Baselines loaded, compiled and located: everything that can be wrong in any file is said before anything is
replayed."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from baselinekit.compare.dispatch import Matcher, compile_baseline
from baselinekit.errors import BaselinekitError, FirstOfEach, InvalidInput, Problem, Refused
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Result
from baselinekit.model.values import ABSENT
from baselinekit.store import reading
from baselinekit.store.atomic import sweep
from baselinekit.store.reading import locate_each
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.judging import check
from baselinekit.workflow.project import Project

Prepared = tuple[Baseline, Matcher | None]

_MOST_KEPT = 1_000
"""Matchers that are kept until they are needed. Of more, each is made again then: memory is dearer."""

_MOST_LOCATED = 1_000
"""Differences of one baseline whose lines are looked for."""


def load(project: Project, paths: Sequence[str]) -> list[Baseline]:
    """The baselines below the paths (as the user sees them), else in the project's own folders."""
    baselines, broken = load_partly(project, paths)
    if broken is not None:
        raise broken
    return baselines


def load_partly(project: Project, paths: Sequence[str]) -> tuple[list[Baseline], BaselinekitError | None]:
    """What can be read, and what is wrong with the rest. What a killed run left behind is cleared away."""
    named = [folder for folder in project.folders if os.path.isdir(os.path.join(project.root, folder))]
    if paths:
        named = [from_root(os.path.join(project.cwd, path), project.root) for path in paths]
    files = reading.discover(named, project.root)
    sweep(project.root, {os.path.dirname(file) for file in files})
    return reading.load_partly(files, project.root)


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
    prepared, failed = compile_and_check(environment, selected)
    problems: list[Problem] = []
    refused: list[Problem] = []
    if broken is not None:
        (refused if isinstance(broken, Refused) else problems).extend(broken.problems)
    if failed:
        first, first_refused = FirstOfEach(), FirstOfEach()
        new = []
        for baseline, error in failed:
            takes = (first_refused if isinstance(error, Refused) else first).takes
            new.append([problem for problem in error.problems if takes(baseline.source.file, problem)])
        wanted = [(baseline, few) for (baseline, _), few in zip(failed, new, strict=True)]
        places = located_each(wanted, environment.project.root)
        for (_, error), placed in zip(failed, places, strict=True):
            (refused if isinstance(error, Refused) else problems).extend(placed)
        problems += first.rest()
        refused += first_refused.rest()
    if problems:
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)
    return prepared


def compile_and_check(
    environment: CaptureEnvironment, selected: Iterable[Baseline]
) -> tuple[list[Prepared], list[tuple[Baseline, BaselinekitError]]]:
    """Each with its matcher, and those with which something is wrong. First all are compiled, then all are
    checked: to do both in turn takes a fifth longer, for the processor keeps the code of one of them at
    hand. An exception that nobody expected is met again where the baseline is judged, and told there."""
    project = environment.project
    prepared: list[Prepared] = []
    failed: dict[int, tuple[Baseline, BaselinekitError]] = {}
    compiled: list[tuple[int, Baseline]] = []
    for number, baseline in enumerate(selected):
        try:
            chosen = environment.chosen(baseline)
            if chosen.baseline is None or chosen.baseline.output is ABSENT:  # told among the results
                prepared.append((chosen, None))
                continue
            matcher = compile_baseline(chosen, project.words_of(baseline))
            prepared.append((chosen, matcher if len(prepared) < _MOST_KEPT else None))
            compiled.append((number, baseline))
        except BaselinekitError as error:
            failed[number] = baseline, error
        except Exception:
            prepared.append((baseline, None))
    for number, baseline in compiled:
        try:
            check(baseline, project.setting_of(baseline, environment.clients))
        except BaselinekitError as error:
            failed[number] = baseline, error
        except Exception:
            continue
    return prepared, [failed[number] for number in sorted(failed)]


def located(baseline: Baseline, problems: Iterable[Problem], root: str) -> list[Problem]:
    """The problems with their place in the file: the record's own, where nothing more exact is known."""
    return located_each([(baseline, problems)], root)[0]


def located_each(wrong: Sequence[tuple[Baseline, Iterable[Problem]]], root: str) -> list[list[Problem]]:
    """The same for many baselines: each file is looked into once, however many of them it holds."""
    listed = [(baseline.source, list(problems)) for baseline, problems in wrong]
    wanted = [(source, [problem.at or () for problem in problems]) for source, problems in listed if problems]
    places = iter(locate_each(wanted, root))
    return [
        [problem.placed(place) for problem, place in zip(problems, next(places), strict=True)]
        if problems
        else []
        for _, problems in listed
    ]


def with_lines(
    results: Sequence[Result | None], prepared: Sequence[tuple[Baseline, object]], root: str
) -> list[Result | None]:
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
    wanted = [
        (prepared[n][0].source, [result.at, *(spot.at for spot in spots)]) for n, result, spots in unmet
    ]
    for (n, result, spots), (own, *places) in zip(unmet, locate_each(wanted, root), strict=True):
        pairs = zip(spots, places, strict=True)
        differences = [replace(spot, file=place.file, line=place.line) for spot, place in pairs]
        rest = result.differences[len(spots) :]
        placed[n] = replace(result, line=own.line, differences=(*differences, *rest))
    return placed
