"""Results of earlier runs: the files that are named, several made one report, and the history kept here."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fnmatch import fnmatchcase

from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Place, Problem, nearest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import Spent
from baselinekit.model.results import (
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
from baselinekit.report.resultfile import compact
from baselinekit.store import results
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.reading import without_collector
from baselinekit.store.results import keep_results, load_results
from baselinekit.texts import already_masked, clipped
from baselinekit.workflow.selection import list_names

# Result files that the operator names, read; and several of them made one report.


# Which result file somebody meant who named something beside it: another report of the same run, the
# folder it lies in, or `latest`.


_NEWEST = frozenset(("last", "latest"))
_RESULT = lazy_pattern(r"[^.].*?(?<!\.eval)(?<!\.ctrf)(?<!\.gate)(?<!\.output)\.json")
_DEEP = 2
"""Folders below the one that is named: results are kept by date."""


def find_result_file(path: str, cwd: str, root: str | None) -> str | None:
    """Its name as the operator would write it; None where nothing is near."""
    there = os.path.join(cwd, path)
    if os.path.isdir(there):
        found = next(_newest(there, _DEEP), None)
    elif os.path.lexists(there):
        parent, name = os.path.split(there)  # `run-143052.junit.xml` -> `run-143052.json`
        result_file = os.path.join(parent, f"{name.partition('.')[0]}.json")
        found = result_file if result_file != there and os.path.isfile(result_file) else None
    elif root is not None and path in _NEWEST:
        found = next((results.result_path(root, name) for name in reversed(results.result_files(root))), None)
    else:
        found = None
    return None if found is None else os.path.relpath(found, cwd)


def _newest(folder: str, deep: int) -> Iterator[str]:
    """The last by name, as runs are named by their time."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return
    yield from (entry.path for entry in entries if _RESULT.fullmatch(entry.name) and entry.is_file())
    for entry in entries if deep else ():
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _newest(entry.path, deep - 1)


# Result files that the operator names, read; and several of them made one report.


Part = tuple[str, Report]
"""A file's name as the operator wrote it, and the report in it."""

_APART = lazy_pattern(r"--shard=.*|-o.+")
_APART_WITH_ITS_VALUE = ("--shard", "-o")
_MOST_NAMED = 5
_LONGEST_SHOWN = 60


def load_parts(paths: Sequence[str], cwd: str, root: str | None = None) -> list[Part]:
    """The reports of these files; everything that is wrong with any of them is one error. `root`: of the
    project whose last run is named to who asks for `latest`."""
    from baselinekit.report import resultfile

    parts: list[Part] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            data = read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES)
            parts.append((path, resultfile.read(decode(data, path).body, path)))
        except BaselinekitError as error:
            near = find_result_file(path, cwd, root)
            problems.extend(_as_named(problem, path, near) for problem in error.problems)
    if problems:
        raise InvalidInput(*problems)
    return parts


def _as_named(problem: Problem, path: str, near: str | None) -> Problem:
    """What is said of a file that cannot be opened bears its name as it was written."""
    place = problem.place
    problem = replace(problem, hint=f"the result file is {near}") if near else problem
    return replace(problem, place=Place(path, place.line, place.column)) if place else problem


MAY_DIFFER = ("target", "configuration", "version")
"""In what shards may differ where the operator says so. Then it is told in the report."""
_HASHED = ("configuration", "content of the baselines")
"""Of which a result file has a hash, that tells nobody anything."""


def merge(parts: Sequence[Part], different: Collection[str] = ()) -> Report:
    """One report of all: of shards, the report that one run without shards gives. What cannot stand in one
    report is an error; what is only missing makes it incomplete. `different`: what may differ."""
    refuse_apart(parts, different)
    results = _results(parts)
    return replace(combined(parts, different, len(results)), results=results)


def refuse_apart(parts: Sequence[Part], different: Collection[str]) -> None:
    """What cannot stand in one report, whatever the results are."""
    if 0 < sum(report.shard is not None for _, report in parts) < len(parts):
        whole = next(name for name, report in parts if report.shard is None)
        raise apart("is not a shard, but the others are", "merge shards only with shards", whole)
    refuse_others(parts, different)
    refuse_twice(parts)


def combined(parts: Sequence[Part], different: Collection[str], present: int) -> Report:
    """The report of all without its results, of which there are so many."""
    shards = [report.shard for _, report in parts if report.shard is not None]
    missing = _missing(parts, shards, present)
    stopped = [f"the run of {file} was interrupted" for file, report in parts if report.interrupted]
    earliest = min((report for _, report in parts), key=lambda report: report.started)
    ordered = [report for _, report in in_order(parts)]
    environment, differing = _environment(parts)
    differing += [f"shards of another {what}: {said}" for what, said in _differing(parts, different)]
    compared = [report.against for report in ordered if report.against is not None]
    return replace(
        earliest,
        seconds=max(report.seconds for report in ordered),
        command=_of_the_whole(ordered[0].command) if shards else ordered[0].command,
        results=(),
        complete=not (missing or stopped) and all(report.complete for report in ordered),
        interrupted=False,  # that was one of them, and nobody has interrupted this
        environment=environment,
        warnings=tuple(sorted({*missing, *stopped, *differing, *(w for r in ordered for w in r.warnings)})),
        not_recorded=tuple(dict.fromkeys(text for report in ordered for text in report.not_recorded)),
        spent=_spent(ordered),
        shard=None,
        coverage=_coverage(ordered),
        against=max(compared, key=lambda one: one.strict, default=None),
    )


def _of_the_whole(command: str) -> str:
    """The command of a shard without what it has for itself: its number, and where its results went."""
    try:
        words = shlex.split(command)
    except ValueError:  # a line of an older version, which quoted nothing
        words = command.split()
    own = {n + after for n, word in enumerate(words) if word in _APART_WITH_ITS_VALUE for after in (0, 1)}
    return shlex.join(word for n, word in enumerate(words) if n not in own and not _APART.fullmatch(word))


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Shards by their number, whatever the order in which they were named; other files as they were named."""
    return sorted(parts, key=lambda part: part[1].shard.number if part[1].shard else 0)


def apart(what: str, hint: str, file: str) -> InvalidInput:
    return InvalidInput(Problem("BK131", what, hint, Place(file)))


def refuse_others(parts: Sequence[Part], different: Collection[str]) -> None:
    """Runs of another commit, configuration or selection are no parts of the same, and shards of another
    target or version neither. All that differs is told at once."""
    first, known = parts[0]
    problems = []
    for file, report in parts[1:]:
        for what, here, there in (
            ("commit", report.commit, known.commit),
            ("configuration file", report.config, known.config),
            *(_of_shards(report, known) if report.shard and known.shard else ()),
        ):
            if here != there and what not in different:
                said = f"is of another {what} than {first}"
                said += "" if what in _HASHED else f": {_short(here)}, not {_short(there)}"
                hint = "take the files of one run of your CI"
                hint += f", or pass --allow-different {what}" if what in MAY_DIFFER else ""
                problems.append(Problem("BK131", said, hint, Place(file)))
    if problems:
        raise InvalidInput(*problems)


def _of_shards(report: Report, known: Report) -> Iterable[tuple[str, Json, Json]]:
    ours, theirs = report.shard or Shard(1, 1), known.shard or Shard(1, 1)
    yield "number of shards", ours.of, theirs.of
    yield "selection", report.coverage.chosen, known.coverage.chosen
    yield "number of baselines", ours.total, theirs.total
    yield "version", report.tool, known.tool
    yield "target", ours.target, theirs.target
    yield "configuration", ours.configuration, theirs.configuration
    if ours.total == theirs.total:
        yield "content of the baselines", ours.content, theirs.content


def _differing(parts: Sequence[Part], different: Collection[str]) -> list[tuple[str, str]]:
    """In what shards differ that the operator lets differ."""
    ordered = in_order(parts)
    first, known = ordered[0]

    def shown(what: str, value: Json, where: str) -> str:
        return where if what in _HASHED else f"{_short(value)} in {where}"

    return [
        (what, f"{shown(what, there, first)}, and {shown(what, here, file)}")
        for file, report in ordered[1:]
        if report.shard and known.shard
        for what, here, there in _of_shards(report, known)
        if here != there and what in different and what != "version"  # which is told anyway
    ]


def refuse_twice(parts: Sequence[Part]) -> None:
    have: dict[int, str] = {}
    for file, report in parts:
        if report.shard is None:
            continue
        number = report.shard.number
        if number in have:
            other = "it is named twice" if have[number] == file else f"so is {have[number]}"
            raise apart(f"is shard {report.shard}, and {other}", "name one of the two", file)
        have[number] = file


def _short(value: Json) -> str:
    text = "none" if value in (None, "") else str(value)
    return clipped(text, _LONGEST_SHOWN, already_masked, counted=False)


def _results(parts: Sequence[Part]) -> tuple[Result, ...]:
    """All of them in the order of an unsharded run; each baseline once."""
    owner: dict[str, str] = {}
    places: dict[int, str] = {}
    found: list[tuple[int, Result]] = []
    for file, report in in_order(parts):
        for result in report.results:
            position = len(found) if result.position is None else result.position
            before = owner.setdefault(result.id, file), places.setdefault(position, file)
            if len(owner) == len(found) or len(places) == len(found):
                told = f"{result.id!r} is in {before[0] if len(owner) == len(found) else before[1]} already"
                raise apart(told, "name each file once, and only the files of one run", file)
            found.append((position, replace(result, position=None)))
    return tuple(result for _, result in sorted(found, key=lambda pair: pair[0]))


def _missing(parts: Sequence[Part], shards: Sequence[Shard], present: int) -> list[str]:
    """What keeps the report from being whole."""
    if not shards:
        return []
    of, total = shards[0].of, shards[0].total
    have = {shard.number for shard in shards}
    lost = [str(number) for number in range(1, of + 1) if number not in have]
    if lost:
        named = ", ".join(lost[:_MOST_NAMED]) + (f" and {len(lost) - _MOST_NAMED} more" if lost[5:] else "")
        return [f"{len(lost)} of {of} shards missing: {named}; {total - present:,} baselines are not in here"]
    return [f"{total - present:,} of {total:,} baselines are in no shard"] if present < total else []


def _environment(parts: Sequence[Part]) -> tuple[dict[str, Json], list[str]]:
    """Where the runs took place, and what was not the same for all of them."""
    found: dict[str, Json] = {}
    differing = {}
    for file, report in in_order(parts):
        for name, value in report.environment.items():
            if found.setdefault(name, value) != value:
                differing[name] = f"{name} was {_short(found[name])}, and {_short(value)} in {file}"
        if report.tool != parts[0][1].tool:
            differing["tool"] = f"written by {parts[0][1].tool}, and by {report.tool} in {file}"
    return found, list(differing.values())


def _spent(reports: Sequence[Report]) -> Spent | None:
    told = [report.spent for report in reports if report.spent is not None]
    if not told:
        return None
    return Spent(
        sum(one.calls for one in told),
        sum(one.tokens for one in told),
        sum((one.usd for one in told), Decimal(0)),
        sum(one.unanswered for one in told),
        sum(one.may_tokens for one in told),
        sum((one.may_usd for one in told), Decimal(0)),
    )


def _coverage(reports: Sequence[Report]) -> Coverage:
    """Of shards the same for all; of runs that chose differently, each one's choice."""
    first = reports[0].coverage
    if all(report.coverage == first for report in reports):
        return first
    if any(not report.coverage.chosen for report in reports):
        return Coverage()
    return Coverage({"merged": [report.coverage.chosen for report in reports]})


# Every run leaves its results for later; what they say together.


def add(root: str, parts: Sequence[tuple[str, Report]]) -> int:
    """Take in the results of runs elsewhere. How many of them are kept: the oldest may find no room."""
    return sum([keep_results(root, report.started, compact(report)) for _, report in parts])


def load(root: str, ids: Sequence[str] = (), last: int | None = None) -> History:
    """What is known of the baselines with these ids (globs; none: of all), over the last so many runs."""
    runs: list[KeptRun] = []
    unreadable: list[str] = []
    seen: dict[str, list[Appearance]] = {}
    with without_collector():
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
    chosen = [id for id in sorted(seen) if not ids or any(fnmatchcase(id, glob) for glob in ids)]
    if not chosen:
        message = f"no run that is kept here has {' or '.join(map(repr, ids))} in it"
        raise NothingSelected(
            Problem("BK509", message, nearest(ids[0], seen) or f"they have {list_names(sorted(seen))}")
        )
    trends = tuple(Trend(id, tuple(seen[id])) for id in chosen)
    return History(tuple(runs), trends, tuple(unreadable))


def read_run(raw: Json, file: str) -> tuple[KeptRun, list[tuple[str, Appearance]]]:
    """One run of a result file, and what became of each baseline in it."""
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


# What a report shows of earlier runs: the little that its pictures need of the history.


_MOST = 60
"""Runs, the latest."""


def with_trends(report: Report, root: str) -> Report:
    """The report with what came before it. No history, or one that cannot be read, fails no report."""
    try:
        known = load(root, last=_MOST + 1)
    except BaselinekitError:
        return report
    ids = {result.id for result in report.results}
    runs = tuple(
        PastRun(run.started, run.seconds, run.summary) for run in known.runs if run.started < report.started
    )
    moments = {
        trend.id: tuple(
            Moment(one.run.started, one.outcome, one.seconds)
            for one in trend.seen
            if one.run.started < report.started
        )
        for trend in known.trends
        if trend.id in ids
    }
    return replace(report, trends=Trends(runs[-_MOST:], moments))
