"""orphans: baselines whose recipe leads to what is gone, files without a baseline, and what no run has run.

Nothing is claimed of what could not be looked at: a file that cannot be read is an error, and what no run has
run is an orphan only where a run covered everything and still passed it over."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from shutil import which
from typing import Literal

from baselinekit.errors import BaselinekitError, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Known, Variant
from baselinekit.model.results import Report
from baselinekit.programs.git import Git
from baselinekit.replaying.settings import Clients
from baselinekit.store import at_revision, atomic, records
from baselinekit.store.results import pending_ids
from baselinekit.texts import many
from baselinekit.workflow.history import Part, merge
from baselinekit.workflow.judging import check
from baselinekit.workflow.loading import load
from baselinekit.workflow.project import Project
from baselinekit.workflow.since import used_files

Kind = Literal["baseline", "output", "pending", "unrun"]

_GONE: Mapping[str, str] = {
    "BK320": "does not exist",
    "BK324": "no skill is called",
    "BK325": "does not exist",
    "BK403": "is not named in the configuration",
    "BK601": "no model is called",
}
"""By code, what a problem says when that which a recipe leads to is not there: any other can be mended."""


@frozen
class Orphan:
    """`file` from the root. `alone`: nothing else is in the file, so that it can be removed."""

    kind: Kind
    id: str
    file: str
    why: str
    alone: bool = True


@frozen
class Orphans:
    """`notes`: why nothing is claimed of the rest."""

    found: tuple[Orphan, ...]
    looked_at: int
    notes: tuple[str, ...] = ()


def find_orphans(project: Project, clients: Clients, parts: Sequence[Part] = ()) -> Orphans:
    """Everything of the project that nothing needs any more; with result files, also what is never run."""
    baselines = load(project, ())
    left_out = _left_out(project, clients)
    elsewhere = {baseline.id for baseline in left_out[1]}  # it is in the project, and not on the disk
    found = [
        *missing_sources(project, baselines, clients, left_out[0]),
        *unnamed_outputs(project, baselines),
        *(
            Orphan("pending", id, f"{atomic.STATE_FOLDER}/pending/{id}.json", "there is no such baseline")
            for id in sorted(pending_ids(project.root) - {baseline.id for baseline in baselines} - elsewhere)
        ),
    ]
    notes: list[str] = []
    if parts:
        shards = [part for part in parts if part[1].shard is not None]  # all of them together are one run
        runs = [report for _, report in parts if report.shard is None] + ([merge(shards)] if shards else [])
        unrun, notes = find_unrun(baselines, runs)
        known = {orphan.id for orphan in found if orphan.kind == "baseline"}
        found += [orphan for orphan in unrun if orphan.id not in known]
    return Orphans(tuple(found), len(baselines), tuple(notes))


def _left_out(project: Project, clients: Clients) -> tuple[set[str], list[Baseline]]:
    """The files that a sparse checkout leaves out, and the baselines among them."""
    git = Git(clients.execute, project.root)
    try:
        names = set(git.left_out())
        return names, at_revision.left_out(git, project.folders) if names else []
    except BaselinekitError:  # no git, or no repository
        return set(), []


def missing_sources(
    project: Project, baselines: Sequence[Baseline], clients: Clients, left_out: Collection[str] = ()
) -> Iterator[Orphan]:
    """Baselines whose recipe leads to what is not there. What a sparse checkout leaves out is there."""
    together = Counter(baseline.source.file for baseline in baselines)
    for baseline in baselines:
        try:
            check(baseline, project.setting_of(baseline, clients))
        except BaselinekitError as error:
            gone = next((problem for problem in error.problems if is_gone(problem, baseline)), None)
            if gone is not None and not (left_out and _uses(baseline, project, left_out)):
                file = baseline.source.file
                yield Orphan("baseline", baseline.id, file, gone.message, together[file] == 1)


def _uses(baseline: Baseline, project: Project, names: Collection[str]) -> bool:
    files, folders = used_files(baseline, project)
    inside = tuple(f"{folder}/" for folder in folders)
    return any(name in names for name in files) or any(name.startswith(inside) for name in names)


def is_gone(problem: Problem, baseline: Baseline) -> bool:
    """A program that is not named may be allowed in another way: it is gone when there is none."""
    if problem.code not in _GONE or _GONE[problem.code] not in problem.message:
        return False
    family, name = kind_of(baseline.current).asks(baseline.current)
    return family != "commands" or ("/" not in name and which(name) is None)


def unnamed_outputs(project: Project, baselines: Sequence[Baseline]) -> Iterator[Orphan]:
    """Files beside baselines that are called as outputs are, and that no baseline names."""
    named = set()
    for baseline in baselines:
        known: list[Known | Variant] = [baseline.baseline] if baseline.baseline else []
        known += baseline.baseline.variants if baseline.baseline else []
        for one in known:
            if one.output_file:
                root, name = records.beside(project.root, baseline.source.file, one.output_file)
                named.add(os.path.realpath(os.path.join(root, name)))
    for folder in project.folders:
        for path, inside, files in os.walk(os.path.join(project.root, folder)):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            for name in sorted(files):
                if records.MARK in name and os.path.realpath(os.path.join(path, name)) not in named:
                    file = os.path.relpath(os.path.join(path, name), project.root)
                    yield Orphan("output", name.split(records.MARK)[0], file, "no baseline refers to it")


def find_unrun(baselines: Sequence[Baseline], runs: Sequence[Report]) -> tuple[list[Orphan], list[str]]:
    """What every run that covered everything has passed over, and what is to be said of the rest."""
    whole = [run for run in runs if not run.coverage.chosen and run.complete and not run.interrupted]
    ran = {result.id for run in runs for result in run.results if result.outcome != "skipped"}
    passed_over = {result.id: result.reason for run in whole for result in run.results}
    left = [baseline for baseline in baselines if baseline.id not in ran]
    found = [
        Orphan("unrun", one.id, one.source.file, f"every run skips it: {passed_over[one.id]}", False)
        for one in left
        if one.id in passed_over
    ]
    rest = len(left) - len(found)
    reason = "are in none of these runs" if whole else "were not run, and no run covered everything"
    return found, [f"{many(rest, 'baseline')} {reason}: nothing is reported about them"] if rest else []
