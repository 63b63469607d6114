"""refresh: what a failing compare saw becomes the known-good output, as far as somebody approves it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from baselinekit.approval.pending_sources import Pairs, again, in_results, kept, refused, replayed
from baselinekit.approval.planning import covers, plan_of
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem, nearest
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import Lost, RefreshPlan, RefreshProposal, RefreshRefusal
from baselinekit.refresh.risk import grouped
from baselinekit.store.reading import locate_each, without_collector
from baselinekit.store.results import pending_ids
from baselinekit.tree.paths import parse, render
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.environment import CaptureEnvironment
from baselinekit.workflow.loading import load, located
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import Selection, few, select

_ANY = "*?["


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a refresh is about: `words` are ids (with wildcards) or paths. `results`: the name and the text of
    a result file. `replay`: ask the targets again."""

    words: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    all_failed: bool = False
    results: tuple[str, str] | None = None
    replay: bool = False
    jobs: int = 8

    @property
    def names_something(self) -> bool:
        chosen = self.selection
        named = (*self.words, *chosen.ids, *chosen.tags, *chosen.exclude_tags, chosen.expression)
        return self.all_failed or self.results is not None or any(named)


def propose(project: Project, wanted: Wanted, context: RunContext) -> RefreshProposal:
    """What would change, of everything that is selected. No target is asked, unless that is wanted."""
    if not wanted.names_something:
        here = pending_ids(project.root)
        number = f"{len(here):,} answer{'s are' if len(here) != 1 else ' is'}"
        which = f" ({few(sorted(here))})" if here else ""
        what = f"refresh which baselines? {number} kept from failed compares{which}"
        raise InvalidInput(Problem("BK508", what, "name ids or paths, or pass --all-failed"))
    with without_collector():
        chosen = select(_found(project, wanted.words), wanted.selection)
        refusals: list[RefreshRefusal] = []
        passing: list[str] = []
        if wanted.replay:
            pairs, passing = replayed(
                CaptureEnvironment(project, context.clients), chosen, wanted.jobs, context, refusals
            )
        elif wanted.results is not None:
            narrowed = bool(wanted.words) or wanted.selection != Selection()
            pairs = in_results(chosen, wanted.results, narrowed, context.clock.timestamp(), refusals)
        else:
            named = {word for word in wanted.words if not set(_ANY) & set(word)}
            pairs = kept(project, chosen, named, refusals)
        plans = _plans(project, pairs, refusals)
    if not (plans or refusals or passing):
        raise NothingSelected(Problem("BK530", *_nothing(project, chosen, wanted)))
    return RefreshProposal(plans, grouped(plans), tuple(refusals), tuple(passing))


def accepted_by(plans: Sequence[RefreshPlan], paths: Sequence[str]) -> list[frozenset[int]]:
    """Of each plan the changes that are below one of the paths; without paths, all."""
    if not paths:
        return [frozenset(range(len(plan.changes))) for plan in plans]
    patterns = [parse(text) for text in paths]
    taken = [
        frozenset(
            change.number for change in plan.changes if any(covers(one, change, plan) for one in patterns)
        )
        for plan in plans
    ]
    for pattern in patterns:
        if not any(covers(pattern, change, plan) for plan in plans for change in plan.changes):
            known = [render(change.path) for plan in plans for change in plan.changes]
            hint = nearest(pattern.text, known) or f"what changes is {', '.join(dict.fromkeys(known[:5]))}"
            raise InvalidInput(Problem("BK536", f"--path {pattern.text}: nothing changes there", hint))
    return taken


def _found(project: Project, words: Sequence[str]) -> list[Baseline]:
    """The baselines below the paths among the words, and those whose ids the other words name."""
    paths = [word for word in words if os.path.lexists(os.path.join(project.cwd, word))]
    globs = [word for word in words if word not in paths]
    below = load(project, paths) if paths or not globs else []
    if not globs:
        return below
    everything = load(project, ())
    ids = [baseline.id for baseline in everything]
    for glob in globs:
        if not any(fnmatchcase(id, glob) for id in ids):
            hint = nearest(glob, ids) or (f"the ids are {few(ids)}" if ids else "")
            raise NothingSelected(Problem("BK509", f"there is no baseline and no path {glob!r}", hint))
    known = {baseline.id for baseline in below}
    named = [one for one in everything if any(fnmatchcase(one.id, glob) for glob in globs)]
    return [*below, *(one for one in named if one.id not in known)]


def _plans(project: Project, pairs: Pairs, refusals: list[RefreshRefusal]) -> tuple[RefreshPlan, ...]:
    plans = []
    for baseline, seen in pairs:
        try:
            plans.append(plan_of(project, baseline, seen))
        except BaselinekitError as error:
            placed = located(baseline, error.problems, project.root)
            refusals += refused(baseline, type(error)(*placed))
    return tuple(_with_lines(plans, project.root))


def _with_lines(plans: Sequence[RefreshPlan], root: str) -> list[RefreshPlan]:
    """The plans with the lines of the placeholders that would be lost."""
    losing = [plan for plan in plans if any(change.lost for change in plan.changes)]
    wanted = [
        (
            plan.baseline.source,
            [(*plan.baseline.output_path, *lost.path) for change in plan.changes for lost in change.lost],
        )
        for plan in losing
    ]
    placed = {id(plan): iter(few) for plan, few in zip(losing, locate_each(wanted, root), strict=True)}

    def lined(plan: RefreshPlan) -> RefreshPlan:
        if id(plan) not in placed:
            return plan
        places = placed[id(plan)]

        def with_place(lost: Lost) -> Lost:
            place = next(places)
            return replace(lost, file=place.file, line=place.line)

        changes = [replace(change, lost=tuple(map(with_place, change.lost))) for change in plan.changes]
        return replace(plan, changes=tuple(changes))

    return [lined(plan) for plan in plans]


def _nothing(project: Project, chosen: Sequence[Baseline], wanted: Wanted) -> tuple[str, str]:
    if wanted.results is not None:
        return f"nothing failed in {wanted.results[0]}", "it has no answer to accept"
    what = (
        "no answer of it is kept"
        if len(chosen) == 1
        else f"no answers are kept of these {len(chosen):,} baselines"
    )
    asked = again(project, chosen[0]) if len(chosen) == 1 else "baselinekit compare"
    kept = sorted(pending_ids(project.root))
    others = f"; what is kept is of {few(kept)}" if kept else ""
    return f"{what}: no compare has failed since{others}", f"{asked}, or refresh --replay"
