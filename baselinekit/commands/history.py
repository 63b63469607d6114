"""Results of earlier runs: the result files that are named, their merge, and the history kept here."""

import os
import shlex
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from glob import iglob

from baselinekit.commands.selection import list_names
from baselinekit.errors import (
    BaselinekitError,
    InvalidInput,
    NothingSelected,
    Place,
    Problem,
    suggest,
)
from baselinekit.files.text import decode
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import ModelUsage
from baselinekit.model.results import (
    NOT_NARROWED,
    Appearance,
    Coverage,
    History,
    KeptRun,
    Moment,
    PastRun,
    Report,
    Result,
    Shard,
    Summary,
    Trend,
    Trends,
)
from baselinekit.model.values import Json
from baselinekit.report import resultfile
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.results import keep_results, load_results, result_files, result_path
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask

# Reading the result files that the operator names, and merging them into one report.


Part = tuple[str, Report]
"""A file's name as the operator wrote it, and the report in it."""

_SHARD_OPTIONS = lazy_pattern(r"--shard=.*|-o.+")
_SHARD_OPTIONS_WITH_VALUE = ("--shard", "-o")
_MOST_NAMED = 5
_LONGEST_SHOWN = 60
_RESULT = lazy_pattern(r"[^.].*?(?<!\.eval)(?<!\.ctrf)(?<!\.gate)(?<!\.output)\.json")
_BELOW = ("*.json", "*/*.json", "*/*/*.json")
"""Where results are below a named folder: they are stored by date."""


def find_result_file(path: str, cwd: str, root: str | None) -> str | None:
    """Return the result file that belongs to another report of a run, to a folder of runs or to `latest`, as
    the operator would write it; None if there is none."""
    full_path, found = os.path.join(cwd, path), None
    if os.path.isdir(full_path):
        for pattern in _BELOW:
            files = iglob(os.path.join(full_path, pattern))
            results = [file for file in files if _RESULT.fullmatch(os.path.basename(file))]
            results.sort(key=lambda file: (not os.path.islink(os.path.dirname(file)), file))
            found = found or next(reversed(results), None)
    elif os.path.lexists(full_path):
        folder, name = os.path.split(full_path)  # `run-143052.junit.xml` -> `run-143052.json`
        file = os.path.join(folder, f"{name.partition('.')[0]}.json")
        found = file if file != full_path and os.path.isfile(file) else None
    elif root is not None and path in ("last", "latest"):
        found = next((result_path(root, name) for name in reversed(result_files(root))), None)
    return None if found is None else os.path.relpath(found, cwd)


def load_parts(paths: Sequence[str], cwd: str, root: str | None = None) -> list[Part]:
    """Read the reports of these files; the problems of all of them are one error, with the names that the
    operator wrote. `root`: the project whose last run is suggested for `latest`."""
    parts: list[Part] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            data = read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES)
            parts.append((path, resultfile.read(decode(data, path).body, path)))
        except BaselinekitError as error:
            meant = find_result_file(path, cwd, root)
            for problem in error.problems:
                hint = f"the result file is {meant}" if meant else problem.hint
                place = replace(problem.place, file=path) if problem.place else None
                problems.append(replace(problem, place=place, hint=hint))
    if problems:
        raise InvalidInput(*problems)
    return parts


MAY_DIFFER = ("target", "configuration", "version")
"""What may differ between shards if the operator allows it. The report says so then."""
_HASHED = ("configuration", "content of the baselines")
"""Fields of which a result file has only a hash, which means nothing to a reader."""


def merge(parts: Sequence[Part], different: Collection[str] = ()) -> Report:
    """Merge all parts into one report; of shards, it is the report of one run without shards. What cannot be
    merged is an error; what is only missing makes the report incomplete. `different`: the fields that may
    differ."""
    if 0 < sum(report.shard is not None for _, report in parts) < len(parts):
        whole = next(name for name, report in parts if report.shard is None)
        raise cannot_merge("is not a shard, but the others are", "merge shards only with shards", whole)
    refuse_others(parts, different)
    refuse_twice(parts)
    results = _results(parts)
    shards = [report.shard for _, report in parts if report.shard is not None]
    missing = _missing(parts, shards, len(results))
    stopped = [f"the run of {file} was interrupted" for file, report in parts if report.interrupted]
    earliest = min((report for _, report in parts), key=lambda report: report.started)
    ordered = [report for _, report in in_order(parts)]
    environment, differing = _environment(parts)
    differing += [
        f"shards of another {field}: {details}" for field, details in _allowed_differences(parts, different)
    ]
    comparisons = [report.against for report in ordered if report.against is not None]
    return replace(
        earliest,
        seconds=max(report.seconds for report in ordered),
        command=_without_shard_options(ordered[0].command) if shards else ordered[0].command,
        results=results,
        complete=not (missing or stopped) and all(report.complete for report in ordered),
        interrupted=False,  # one of the runs may have been; the merge was not
        environment=environment,
        warnings=tuple(sorted({*missing, *stopped, *differing, *(w for r in ordered for w in r.warnings)})),
        not_recorded=tuple(dict.fromkeys(text for report in ordered for text in report.not_recorded)),
        spent=_spent(ordered),
        shard=None,
        coverage=_coverage(ordered),
        against=max(comparisons, key=lambda comparison: comparison.strict, default=None),
    )


def _without_shard_options(command: str) -> str:
    """Return the command of a shard without its own options: its number, and the file of its results."""
    try:
        words = shlex.split(command)
    except ValueError:  # a line of an older version, which did not quote
        words = command.split()
    own_positions = {
        n + after for n, word in enumerate(words) if word in _SHARD_OPTIONS_WITH_VALUE for after in (0, 1)
    }
    return shlex.join(
        word for n, word in enumerate(words) if n not in own_positions and not _SHARD_OPTIONS.fullmatch(word)
    )


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Return shards by number, in whatever order they were named; other files as they were named."""
    return sorted(parts, key=lambda part: part[1].shard.number if part[1].shard else 0)


def cannot_merge(message: str, hint: str, file: str) -> InvalidInput:
    return InvalidInput(Problem("BK131", message, hint, Place(file)))


def refuse_others(parts: Sequence[Part], different: Collection[str]) -> None:
    """Raise if the parts are of different commits, configurations or selections, or shards of different
    targets or versions. All differences are reported at once."""
    first, first_report = parts[0]
    problems = []
    for file, report in parts[1:]:
        for field, here, there in (
            ("commit", report.commit, first_report.commit),
            ("configuration file", report.config, first_report.config),
            *(_shard_fields(report, first_report) if report.shard and first_report.shard else ()),
        ):
            if here != there and field not in different:
                message = f"is of another {field} than {first}"
                message += "" if field in _HASHED else f": {_short(here)}, not {_short(there)}"
                hint = "take the files of one run of your CI"
                hint += f", or pass --allow-different {field}" if field in MAY_DIFFER else ""
                problems.append(Problem("BK131", message, hint, Place(file)))
    if problems:
        raise InvalidInput(*problems)


def _shard_fields(report: Report, first_report: Report) -> Iterable[tuple[str, Json, Json]]:
    shard, first_shard = report.shard or Shard(1, 1, 0), first_report.shard or Shard(1, 1, 0)
    yield "number of shards", shard.of, first_shard.of
    yield "selection", report.coverage.chosen, first_report.coverage.chosen
    yield "number of baselines", shard.total, first_shard.total
    yield "version", report.tool, first_report.tool
    yield "target", shard.target, first_shard.target
    yield "configuration", shard.configuration, first_shard.configuration
    if shard.total == first_shard.total:
        yield "content of the baselines", shard.content, first_shard.content


def _allowed_differences(parts: Sequence[Part], different: Collection[str]) -> list[tuple[str, str]]:
    """Return the differences between shards that the operator allows."""
    ordered = in_order(parts)
    first, first_report = ordered[0]

    def shown(field: str, value: Json, file: str) -> str:
        return file if field in _HASHED else f"{_short(value)} in {file}"

    return [
        (field, f"{shown(field, there, first)}, and {shown(field, here, file)}")
        for file, report in ordered[1:]
        if report.shard and first_report.shard
        for field, here, there in _shard_fields(report, first_report)
        if here != there and field in different and field != "version"  # reported anyway
    ]


def refuse_twice(parts: Sequence[Part]) -> None:
    files: dict[int, str] = {}
    for file, report in parts:
        if report.shard is None:
            continue
        number = report.shard.number
        if number in files:
            repeated = "it is named twice" if files[number] == file else f"so is {files[number]}"
            raise cannot_merge(f"is shard {report.shard}, and {repeated}", "name one of the two", file)
        files[number] = file


def _short(value: Json) -> str:
    text = "none" if value in (None, "") else str(value)
    return mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)


def _results(parts: Sequence[Part]) -> tuple[Result, ...]:
    """Return all results in the order of an unsharded run; each baseline once."""
    owners: dict[str, str] = {}
    places: dict[int, str] = {}
    pairs: list[tuple[int, Result]] = []
    for file, report in in_order(parts):
        for result in report.results:
            position = len(pairs) if result.position is None else result.position
            prior = owners.setdefault(result.id, file), places.setdefault(position, file)
            if len(owners) == len(pairs) or len(places) == len(pairs):
                message = f"{result.id!r} is in {prior[0] if len(owners) == len(pairs) else prior[1]} already"
                raise cannot_merge(message, "name each file once, and only the files of one run", file)
            pairs.append((position, replace(result, position=None)))
    return tuple(result for _, result in sorted(pairs, key=lambda pair: pair[0]))


def _missing(parts: Sequence[Part], shards: Sequence[Shard], present: int) -> list[str]:
    """Describe what is missing for a complete report."""
    if not shards:
        return []
    of, total = shards[0].of, shards[0].total
    present_numbers = {shard.number for shard in shards}
    missing = [str(number) for number in range(1, of + 1) if number not in present_numbers]
    if missing:
        names = ", ".join(missing[:_MOST_NAMED]) + (
            f" and {len(missing) - _MOST_NAMED} more" if missing[5:] else ""
        )
        return [
            f"{len(missing)} of {of} shards missing: {names}; {total - present:,} baselines are not in here"
        ]
    return [f"{total - present:,} of {total:,} baselines are in no shard"] if present < total else []


def _environment(parts: Sequence[Part]) -> tuple[dict[str, Json], list[str]]:
    """Return the environment of the runs, and descriptions of what was not the same for all of them."""
    environment: dict[str, Json] = {}
    differing = {}
    for file, report in in_order(parts):
        for name, value in report.environment.items():
            if environment.setdefault(name, value) != value:
                differing[name] = f"{name} was {_short(environment[name])}, and {_short(value)} in {file}"
        if report.tool != parts[0][1].tool:
            differing["tool"] = f"written by {parts[0][1].tool}, and by {report.tool} in {file}"
    return environment, list(differing.values())


def _spent(reports: Sequence[Report]) -> ModelUsage | None:
    spent_by_run = [report.spent for report in reports if report.spent is not None]
    if not spent_by_run:
        return None
    return ModelUsage(
        sum(spent.calls for spent in spent_by_run),
        sum(spent.tokens for spent in spent_by_run),
        sum((spent.usd for spent in spent_by_run), Decimal(0)),
        sum(spent.unanswered for spent in spent_by_run),
        sum(spent.may_tokens for spent in spent_by_run),
        sum((spent.may_usd for spent in spent_by_run), Decimal(0)),
        sum(spent.full_price or 0 for spent in spent_by_run) or None,
    )


def _coverage(reports: Sequence[Report]) -> Coverage:
    """Return the coverage: the common one if all are equal, otherwise the choice of each run."""
    first = reports[0].coverage
    if all(report.coverage == first for report in reports):
        return first
    if any(not report.coverage.chosen for report in reports):
        return NOT_NARROWED
    return Coverage({"merged": [report.coverage.chosen for report in reports]}, 0)


# The history: the kept results of all runs.


def add(root: str, parts: Sequence[tuple[str, Report]]) -> int:
    """Add the results of runs elsewhere; return how many are kept: there may be no room for the oldest."""
    return sum([keep_results(root, report.started, resultfile.compact(report)) for _, report in parts])


def load(root: str, ids: Sequence[str] = (), last: int | None = None) -> History:
    """Load the history of the baselines with these ids (globs; none: all), over the last so many runs."""
    runs: list[KeptRun] = []
    unreadable: list[str] = []
    seen: dict[str, list[Appearance]] = {}
    for file, raw in load_results(root, last):
        try:
            run, appearances = read_run(raw, file)
        except (AttributeError, KeyError, TypeError, ValueError):
            unreadable.append(file)
            continue
        runs.append(run)
        for id, appearance in appearances:
            seen.setdefault(id, []).append(appearance)
    if not runs:
        raise NothingSelected(Problem("BK509", "no run is kept here yet", "baselinekit compare"))
    chosen_ids = [id for id in sorted(seen) if not ids or any(fnmatchcase(id, glob) for glob in ids)]
    if not chosen_ids:
        message = f"no run that is kept here has {' or '.join(map(repr, ids))} in it"
        raise NothingSelected(
            Problem("BK509", message, suggest(ids[0], seen) or f"they have {list_names(sorted(seen))}")
        )
    trends = tuple(Trend(id, tuple(seen[id])) for id in chosen_ids)
    return History(tuple(runs), trends, tuple(unreadable))


def read_run(raw: Json, file: str) -> tuple[KeptRun, list[tuple[str, Appearance]]]:
    """Return one run of a result file, and the outcome of each baseline in it."""
    about, counts, commit = raw["run"], raw["summary"], raw["run"].get("commit")
    summary = Summary(**{word: int(counts[word]) for word in OUTCOMES}, complete=bool(counts["complete"]))
    run = KeptRun(
        str(about["id"]),
        str(about["started"]),
        float(about["seconds"]),
        summary,
        None if commit is None else str(commit),
        file,
    )
    appearances = []
    for result in raw["results"]:
        id, outcome, observed = result["id"], result["outcome"], result["observed"]
        if outcome not in OUTCOMES or not isinstance(id, str):
            raise ValueError(outcome)
        scores = {str(name): float(value) for name, value in observed.get("scores", {}).items()}
        appearances.append((id, Appearance(run, outcome, float(observed["seconds"]), scores)))
    return run, appearances


# What a report shows of earlier runs: only what its charts need of the history.


_MOST = 60
"""How many runs are shown, the latest ones."""


def with_trends(report: Report, root: str) -> Report:
    """Return the report with earlier runs. A history that is missing or unreadable does not make it fail."""
    try:
        history = load(root, last=_MOST + 1)
    except BaselinekitError:
        return report
    ids = {result.id for result in report.results}
    runs = tuple(
        PastRun(run.started, run.seconds, run.summary) for run in history.runs if run.started < report.started
    )
    moments = {
        trend.id: tuple(
            Moment(appearance.run.started, appearance.outcome, appearance.seconds)
            for appearance in trend.seen
            if appearance.run.started < report.started
        )
        for trend in history.trends
        if trend.id in ids
    }
    return replace(report, trends=Trends(runs[-_MOST:], moments))
