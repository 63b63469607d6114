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
from baselinekit.store.locating import locate_each
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
    found, broken = load_partly(project, paths)
    if broken is not None:
        raise broken
    return found


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
    here: CaptureEnvironment, chosen: Iterable[Baseline], broken: BaselinekitError | None = None
) -> list[tuple[Baseline, Matcher | None]]:
    """Compile every baseline and ask whether its recipe can work; all that is wrong, also what was `broken`
    before, is one error."""
    project = here.project
    problems: list[Problem] = []
    refused: list[Problem] = []
    if broken is not None:
        (refused if isinstance(broken, Refused) else problems).extend(broken.problems)
    prepared, wrong = _compiled(here, chosen)
    first, first_refused = FirstOfEach(), FirstOfEach()
    told = []
    for baseline, why in wrong:
        takes = (first_refused if isinstance(why, Refused) else first).takes
        told.append((baseline, [one for one in why.problems if takes(baseline.source.file, one)]))
    found = located_each([(baseline, few) for baseline, few in told if few], project.root)
    whys = (why for (_, why), (_, few) in zip(wrong, told, strict=True) if few)
    for why, placed in zip(whys, found, strict=True):
        (refused if isinstance(why, Refused) else problems).extend(placed)
    problems += first.rest()
    refused += first_refused.rest()
    if problems:
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)
    return prepared


def _compiled(
    here: CaptureEnvironment, chosen: Iterable[Baseline]
) -> tuple[list[Prepared], list[tuple[Baseline, BaselinekitError]]]:
    """Each with its matcher, and those with which something is wrong. First all are compiled, then all are
    asked about: to do both in turn takes a fifth longer, for the processor keeps the code of one of them at
    hand."""
    project = here.project
    prepared: list[Prepared] = []
    wrong: dict[int, tuple[Baseline, BaselinekitError]] = {}
    asked: list[tuple[int, Baseline]] = []
    for number, baseline in enumerate(chosen):
        try:
            meant = here.chosen(baseline)
            if meant.baseline is None or meant.baseline.output is ABSENT:  # told among the results
                prepared.append((meant, None))
                continue
            matcher = compile_baseline(meant, project.words_of(baseline))
            prepared.append((meant, matcher if len(prepared) < _MOST_KEPT else None))
            asked.append((number, baseline))
        except BaselinekitError as error:
            wrong[number] = baseline, error
        except Exception:  # met again where it is judged, and told as the error of this one
            prepared.append((baseline, None))
    for number, baseline in asked:
        try:
            check(baseline, project.setting_of(baseline, here.clients))
        except BaselinekitError as error:
            wrong[number] = baseline, error
        except Exception:  # likewise
            continue
    return prepared, [wrong[number] for number in sorted(wrong)]


def located(baseline: Baseline, problems: Iterable[Problem], root: str) -> list[Problem]:
    """The problems with their place in the file: the record's own, where nothing more exact is known."""
    return located_each([(baseline, problems)], root)[0]


def located_each(wrong: Sequence[tuple[Baseline, Iterable[Problem]]], root: str) -> list[list[Problem]]:
    """The same for many baselines: each file is looked into once, however many of them it holds."""
    listed = [(baseline.source, list(problems)) for baseline, problems in wrong]
    places = locate_each([(source, [p.at or () for p in few]) for source, few in listed], root)
    return [
        [problem.placed(place) for problem, place in zip(few, where, strict=True)]
        for (_, few), where in zip(listed, places, strict=True)
    ]


def with_lines(
    results: Sequence[Result | None], prepared: Sequence[tuple[Baseline, object]], root: str
) -> list[Result | None]:
    """The results with the lines that they are about, found once all is recorded: a record that gains its
    first `last_passed` moves what stands below it."""
    told = [n for n, result in enumerate(results) if result and result.outcome not in ("passed", "skipped")]
    wanted = []
    for n in told:
        result = results[n]
        spots = result.differences[:_MOST_LOCATED] if result else ()
        wanted.append((prepared[n][0].source, [result.at if result else (), *(spot.at for spot in spots)]))
    placed = list(results)
    for n, (own, *places) in zip(told, locate_each(wanted, root), strict=True):
        result = results[n]
        if result is not None:
            spots = tuple(
                replace(spot, file=place.file, line=place.line)
                for spot, place in zip(result.differences, places, strict=False)
            )
            placed[n] = replace(
                result, line=own.line, differences=(*spots, *result.differences[len(spots) :])
            )
    return placed
