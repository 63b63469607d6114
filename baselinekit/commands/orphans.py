"""orphans: baselines whose recipe refers to something that is gone, files without a baseline, and baselines
that no run covers.

Nothing is reported about what could not be checked: a file that cannot be read is an error, and a baseline is
reported as not run only if some run covered everything and still skipped it."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from shutil import which
from typing import Literal

from baselinekit.clients.programs.git import Git
from baselinekit.commands.history import Part, merge
from baselinekit.commands.judging import check
from baselinekit.commands.loading import load
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.store import atomic, records
from baselinekit.store.results import pending_ids
from baselinekit.structs import Struct
from baselinekit.values.texts import count_noun

Kind = Literal["baseline", "output", "pending", "unrun"]

_MISSING: Mapping[str, str] = {
    "BK320": "does not exist",
    "BK324": "no skill is called",
    "BK325": "does not exist",
    "BK403": "is not named in the configuration",
    "BK601": "no model is called",
}
"""For each code, what its message says when the thing that a recipe refers to does not exist. Other problems
of the same code can be fixed."""


class Orphan(Struct):
    """`file` is relative to the root. `alone`: nothing else is in the file, so that it can be removed."""

    kind: Kind
    id: str
    file: str
    why: str
    alone: bool = True


class Orphans(Struct):
    """`notes`: why nothing is reported about others."""

    found: tuple[Orphan, ...]
    notes: tuple[str, ...] = ()


def find_orphans(project: Project, clients: Clients, parts: Sequence[Part] = ()) -> Orphans:
    """Find everything in the project that nothing needs any more; with result files, also what is never
    run."""
    baselines = load(project, ())
    with suppress(BaselinekitError):  # no git, or no repository
        if Git(clients.execute, project.root).left_out():
            message = "what this sparse checkout leaves out is no orphan, and cannot be told from one"
            return Orphans((), (f"{message}: git sparse-checkout disable",))
    orphans = [
        *missing_sources(project, baselines, clients),
        *unnamed_outputs(project, baselines),
        *(
            Orphan("pending", id, f"{atomic.STATE_FOLDER}/pending/{id}.json", "there is no such baseline")
            for id in sorted(pending_ids(project.root) - {baseline.id for baseline in baselines})
        ),
    ]
    notes: list[str] = []
    if parts:
        shards = [part for part in parts if part[1].shard is not None]  # all shards together are one run
        runs = [report for _, report in parts if report.shard is None] + ([merge(shards)] if shards else [])
        full_runs = [run for run in runs if not run.coverage.chosen and run.complete and not run.interrupted]
        ran = {result.id for run in runs for result in run.results if result.outcome != "skipped"}
        skipped = {result.id: result.reason for run in full_runs for result in run.results}
        remaining = [baseline for baseline in baselines if baseline.id not in ran]
        known_ids = {orphan.id for orphan in orphans if orphan.kind == "baseline"}
        orphans += [
            Orphan("unrun", one.id, one.source.file, f"every run skips it: {skipped[one.id]}", False)
            for one in remaining
            if one.id in skipped and one.id not in known_ids
        ]
        if count := sum(one.id not in skipped for one in remaining):
            why = "are in none of these runs" if full_runs else "were not run, and no run covered everything"
            notes = [f"{count_noun(count, 'baseline')} {why}: nothing is reported about them"]
    return Orphans(tuple(orphans), tuple(notes))


def missing_sources(project: Project, baselines: Sequence[Baseline], clients: Clients) -> Iterator[Orphan]:
    """Yield the baselines whose recipe refers to something missing."""
    counts = Counter(baseline.source.file for baseline in baselines)
    for baseline in baselines:
        try:
            check(baseline, project.setting_of(baseline, clients))
        except BaselinekitError as error:
            gone = next((problem for problem in error.problems if is_gone(problem, baseline)), None)
            if gone is not None:
                file = baseline.source.file
                yield Orphan("baseline", baseline.id, file, gone.message, counts[file] == 1)


def is_gone(problem: Problem, baseline: Baseline) -> bool:
    """Whether the problem means that something is gone. A program that is not named may be allowed in another
    way: it is gone when it is not installed."""
    if problem.code not in _MISSING or _MISSING[problem.code] not in problem.message:
        return False
    family, name = kind_of(baseline.current).asks(baseline.current)
    return family != "commands" or ("/" not in name and which(name) is None)


def unnamed_outputs(project: Project, baselines: Sequence[Baseline]) -> Iterator[Orphan]:
    """Yield the files beside baselines that are named like outputs, and that no baseline refers to."""
    named_paths = set()
    for baseline in baselines:
        for file in baseline.output_files:
            root, name = records.output_location(project.root, baseline.source.file, file)
            named_paths.add(os.path.realpath(os.path.join(root, name)))
    for folder in project.folders:
        for path, inside, files in os.walk(os.path.join(project.root, folder)):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            for name in sorted(files):
                if records.MARK in name and os.path.realpath(os.path.join(path, name)) not in named_paths:
                    file = os.path.relpath(os.path.join(path, name), project.root)
                    yield Orphan("output", name.split(records.MARK)[0], file, "no baseline refers to it")
