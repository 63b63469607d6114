"""Results of earlier runs: the result files that are named, their merge, and the history kept here."""

import os
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from functools import reduce

from baselinekit.commands.selection import list_names
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Place, Problem, suggest
from baselinekit.files.text import decode
from baselinekit.model import results as model
from baselinekit.model.recipes import added_usage
from baselinekit.model.values import Json
from baselinekit.report import resultfile
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.results import keep_results, result_files, results_path
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask

# Reading the result files that the operator names, and merging them into one report.


Part = tuple[str, model.Report]
"""A file's name as the operator wrote it, and the report in it."""

_LONGEST_SHOWN = 60


def load_parts(paths: Sequence[str], cwd: str) -> list[Part]:
    """Read the reports of these files; the problems of all of them are one error, with the names that the
    operator wrote."""
    parts: list[Part] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            data = read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES)
            parts.append((path, resultfile.read(decode(data, path).body, path)))
        except BaselinekitError as error:
            for problem in error.problems:
                place = replace(problem.place, file=path) if problem.place else None
                problems.append(replace(problem, place=place))
    if problems:
        raise InvalidInput(*problems)
    return parts


MAY_DIFFER = ("target", "configuration", "version")
"""What may differ between shards if the operator allows it. The report mentions it then."""
_HASHED = ("configuration", "content of the baselines")
"""Fields that a result file has only the hash of, which means nothing to a reader."""


def merge(parts: Sequence[Part], different: Collection[str] = ()) -> model.Report:
    """Merge all parts into one report; of shards, it is the report of one run without shards. What cannot be
    merged is an error; what is only missing makes the report incomplete. `different`: the fields that may
    differ."""
    if 0 < sum(report.shard is not None for _, report in parts) < len(parts):
        whole = next(name for name, report in parts if report.shard is None)
        raise cannot_merge("is not a shard, but the others are", "merge shards only with shards", whole)
    # shards by number, in whatever order they were named; other files as they were named
    ordered = sorted(parts, key=lambda part: part[1].shard.number if part[1].shard else 0)
    differing = _differences(ordered, different)
    results = _results(ordered)
    shards = [report.shard for _, report in ordered if report.shard is not None]
    missing = _missing(shards, len(results))
    stopped = [f"the run of {file} was interrupted" for file, report in parts if report.interrupted]
    reports = [report for _, report in ordered]
    spent = [report.spent for report in reports if report.spent is not None]
    environment: dict[str, Json] = {}
    for report in reversed(reports):
        environment |= report.environment
    warnings = {*missing, *stopped, *differing.values(), *(text for one in reports for text in one.warnings)}
    comparisons = [report.against for report in reports if report.against is not None]
    return replace(
        min(reports, key=lambda report: report.started),
        seconds=max(report.seconds for report in reports),
        command=reports[0].command,
        results=results,
        complete=not (missing or stopped) and all(report.complete for report in reports),
        interrupted=False,  # one of the runs may have been; the merge was not
        environment=environment,
        warnings=tuple(sorted(warnings)),
        not_recorded=tuple(dict.fromkeys(text for report in reports for text in report.not_recorded)),
        spent=reduce(added_usage, spent) if spent else None,
        shard=None,
        coverage=_coverage(reports),
        against=max(comparisons, key=lambda comparison: comparison.strict, default=None),
    )


def cannot_merge(message: str, hint: str, file: str) -> InvalidInput:
    return InvalidInput(Problem("BK130", message, hint, Place(file)))


def _differences(ordered: Sequence[Part], different: Collection[str]) -> dict[str, str]:
    """Describe in what the parts differ as far as that is allowed. Raise if they are of different commits,
    configurations or selections, or shards of different targets or versions, and if a shard is named twice:
    all at once."""
    first, first_facts = ordered[0][0], _facts(ordered[0][1])
    problems: list[Problem] = []
    allowed: dict[str, str] = {}
    files: dict[int, str] = {}
    for file, report in ordered:
        for field, here in _facts(report).items():
            there = first_facts[field]
            if here != there and field not in different:
                shown = "" if field in _HASHED else f": {_short(here)}, not {_short(there)}"
                hint = "take the files of one run of your CI"
                hint += f", or pass --allow-different {field}" if field in MAY_DIFFER else ""
                problems += cannot_merge(f"is of another {field} than {first}{shown}", hint, file).problems
            elif here != there:
                allowed[f"{field} {file}"] = f"shards of another {field}: {first}, and {file}"
        number = report.shard.number if report.shard else 0
        if number and number in files:
            message = f"is shard {report.shard}, and so is {files[number]}"
            problems += cannot_merge(message, "name each shard once", file).problems
        files[number] = file
    if problems:
        raise InvalidInput(*problems)
    return allowed


def _facts(report: model.Report) -> dict[str, Json]:
    """What must be the same in all parts."""
    facts: dict[str, Json] = {"commit": report.commit, "configuration file": report.config}
    if shard := report.shard:
        facts |= {
            "number of shards": shard.of,
            "selection": report.coverage.chosen,
            "version": report.tool,
            "target": shard.target,
            "configuration": shard.configuration,
            "content of the baselines": shard.content,
        }
    return facts


def _short(value: Json) -> str:
    text = "none" if value in (None, "") else str(value)
    return mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)


def _results(ordered: Sequence[Part]) -> tuple[model.Result, ...]:
    """Return all results in the order of an unsharded run; each baseline once."""
    owners: dict[str | int, str] = {}
    pairs: list[tuple[int, model.Result]] = []
    for file, report in ordered:
        for result in report.results:
            position = len(pairs) if result.position is None else result.position
            for key in (result.id, position):
                if key in owners:
                    message = f"{result.id!r} is in {owners[key]} already"
                    raise cannot_merge(message, "name each file once, and only the files of one run", file)
                owners[key] = file
            pairs.append((position, replace(result, position=None)))
    return tuple(result for _, result in sorted(pairs, key=lambda pair: pair[0]))


def _missing(shards: Sequence[model.Shard], present: int) -> list[str]:
    """Describe what is missing for a complete report."""
    if not shards:
        return []
    of, total = shards[0].of, shards[0].total
    numbers = {*range(1, of + 1)} - {shard.number for shard in shards}
    if numbers:
        names = list_names([str(number) for number in sorted(numbers)])
        return [
            f"{len(numbers)} of {of} shards missing: {names}; {total - present:,} baselines are not in here"
        ]
    return [f"{total - present:,} of {total:,} baselines are in no shard"] if present < total else []


def _coverage(reports: Sequence[model.Report]) -> model.Coverage:
    """Return the coverage: the common one if all are equal, otherwise the choice of each run."""
    covered = [report.coverage for report in reports]
    if all(one == covered[0] for one in covered):
        return covered[0]
    chosen = [one.chosen for one in covered]
    return model.Coverage({"merged": chosen}, 0) if all(chosen) else model.NOT_NARROWED


# The history: the kept results of all runs.


def add(root: str, parts: Sequence[tuple[str, model.Report]]) -> int:
    """Add the results of runs elsewhere; return how many are kept: there may be no room for the oldest."""
    return sum([keep_results(root, report.started, resultfile.compact(report)) for _, report in parts])


def load(root: str, ids: Sequence[str] = (), last: int | None = None) -> model.History:
    """Load the history of the baselines with these ids (globs; none: all), over the `last` runs."""
    runs: list[model.KeptRun] = []
    unreadable: list[str] = []
    seen: dict[str, list[model.Appearance]] = {}
    for name in result_files(root)[-last if last else None :]:
        file = results_path(name)
        try:
            ((_, report),) = load_parts([file], root)
        except InvalidInput:
            unreadable.append(file)
            continue
        run = model.KeptRun(report.id, report.started, report.seconds, report.summary, report.commit, file)
        runs.append(run)
        for result in report.results:
            appearance = model.Appearance(run, result.outcome, result.seconds, result.scores)
            seen.setdefault(result.id, []).append(appearance)
    if not runs:
        raise NothingSelected(Problem("BK509", "no run is kept here yet", "baselinekit compare"))
    chosen_ids = [id for id in sorted(seen) if not ids or any(fnmatchcase(id, glob) for glob in ids)]
    if not chosen_ids:
        message = f"no run that is kept here has {' or '.join(map(repr, ids))} in it"
        hint = suggest(ids[0], seen) or f"they have {list_names(sorted(seen))}"
        raise NothingSelected(Problem("BK509", message, hint))
    trends = tuple(model.Trend(id, tuple(seen[id])) for id in chosen_ids)
    return model.History(tuple(runs), trends, tuple(unreadable))
