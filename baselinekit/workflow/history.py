"""The report of a run: without secrets, kept for later, and beside what earlier runs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from baselinekit.errors import BaselinekitError, NothingSelected, Problem, nearest
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import (
    Against,
    Appearance,
    Earlier,
    History,
    KeptRun,
    Moment,
    PastRun,
    Report,
    Result,
    Spot,
    Summary,
    Trend,
    Trends,
)
from baselinekit.model.values import Json
from baselinekit.report.resultfile import compact
from baselinekit.store.reading import without_collector
from baselinekit.store.results import keep_results, load_results
from baselinekit.variables import Redactor
from baselinekit.workflow import history
from baselinekit.workflow.selection import list_names

# A report without secrets, wherever in it a text of the world outside has come to stand.


if TYPE_CHECKING:
    from baselinekit.model.changes import Change, RefreshProposal


def mask_report(report: Report, redactor: Redactor) -> Report:
    """Ids and file names stay: by them everything is found. What came back is masked where it is judged."""
    mask = redactor.mask_value
    return replace(
        report,
        results=tuple(_result(result, redactor) for result in report.results),
        command=mask(report.command),
        environment=mask(report.environment),
        warnings=mask(report.warnings),
        not_recorded=mask(report.not_recorded),
        coverage=replace(report.coverage, chosen=mask(report.coverage.chosen)),
        against=_against(report.against, redactor),
        earlier=_earlier(report.earlier, redactor),
    )


def _earlier(earlier: Earlier | None, redactor: Redactor) -> Earlier | None:
    """An earlier run may come from a file of anybody's."""
    if earlier is None:
        return None
    mask = redactor.mask_value
    cases = tuple(replace(case, why=mask(case.why)) for case in earlier.cases)
    return replace(earlier, run=mask(earlier.run), cases=cases)


def _against(against: Against | None, redactor: Redactor) -> Against | None:
    if against is None:
        return None
    changes = (replace(one, how=redactor.mask_value(one.how)) for one in against.changes)
    return replace(against, changes=tuple(changes))


_MASKED_FIELDS = ("name", "reason", "target", "notes", "environment_drift")


def _result(result: Result, redactor: Redactor) -> Result:
    """Of nearly all nothing is to be masked, and to copy them for that would take as long as to look."""
    said: dict[str, Any] = {key: value for key in _MASKED_FIELDS if (value := getattr(result, key))}
    changed = {key: one for key, value in said.items() if (one := redactor.mask_value(value)) is not value}
    if result.differences:
        changed["differences"] = tuple(_spot(spot, redactor) for spot in result.differences)
    return replace(result, **changed) if changed else result


def _spot(spot: Spot, redactor: Redactor) -> Spot:
    mask = redactor.mask_value
    return replace(
        spot,
        path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
        rule=mask(spot.rule),
    )


def mask_proposal(proposal: RefreshProposal, redactor: Redactor) -> RefreshProposal:
    """What a refresh would change, to be looked at: what stands in a file may be a secret as well."""
    plans = tuple(
        replace(plan, changes=tuple(_change(change, redactor) for change in plan.changes))
        for plan in proposal.plans
    )
    return replace(proposal, plans=plans)


def _change(change: Change, redactor: Redactor) -> Change:
    before = redactor.mask_value(change.before, change.at)
    after = redactor.mask_value(change.after, change.path)
    if before is change.before and after is change.after:
        return change
    return replace(change, before=before, after=after)


# history: every run leaves its results for later; what they say together.


# history: every run leaves its results for later; what they say together.


def keep(root: str, report: Report) -> bool:
    """Keep the results of a run, without the outputs: those that failed are pending anyway. A run of nothing
    is no history, and a checkout that cannot be written fails nothing."""
    if not report.results:
        return False
    try:
        return keep_results(root, report.started, compact(report))
    except BaselinekitError:
        return False


def add(root: str, parts: Sequence[tuple[str, Report]]) -> int:
    """Take in the results of runs elsewhere. How many of them are kept: the oldest may find no room."""
    return sum([keep_results(root, report.started, compact(report)) for _, report in parts])


def load(root: str, ids: Sequence[str] = (), last: int | None = None) -> History:
    """What is known of the baselines with these ids (globs; none: of all), over the last so many runs."""
    found: list[KeptRun] = []
    unreadable: list[str] = []
    seen: dict[str, list[Appearance]] = {}
    with without_collector():
        for file, raw in load_results(root, last):
            try:
                run = _run(raw, file)
                told = [(one["id"], _seen(one, run)) for one in raw["results"]]
            except (AttributeError, KeyError, TypeError, ValueError):
                unreadable.append(file)
                continue
            found.append(run)
            for id, one in told:
                seen.setdefault(id, []).append(one)
    if not found:
        raise NothingSelected(Problem("BK509", "no run is kept here yet", "baselinekit compare"))
    chosen = [id for id in sorted(seen) if not ids or any(fnmatchcase(id, glob) for glob in ids)]
    if not chosen:
        what = f"no run that is kept here has {' or '.join(map(repr, ids))} in it"
        raise NothingSelected(
            Problem("BK509", what, nearest(ids[0], seen) or f"they have {list_names(sorted(seen))}")
        )
    trends = tuple(Trend(id, tuple(seen[id])) for id in chosen)
    return History(tuple(found), trends, tuple(unreadable))


def _run(raw: Json, file: str) -> KeptRun:
    about, counts = raw["run"], raw["summary"]
    summary = Summary(**{word: int(counts[word]) for word in OUTCOMES}, complete=bool(counts["complete"]))
    commit = about.get("commit")
    return KeptRun(
        str(about["id"]),
        str(about["started"]),
        float(about["seconds"]),
        summary,
        None if commit is None else str(commit),
        file,
    )


def _seen(raw: Json, run: KeptRun) -> Appearance:
    observed, outcome = raw["observed"], raw["outcome"]
    if outcome not in OUTCOMES or not isinstance(raw["id"], str):
        raise ValueError(outcome)
    if "scores" not in observed:
        return Appearance(run, outcome, float(observed["seconds"]))
    scores = {str(name): float(value) for name, value in observed["scores"].items()}
    return Appearance(run, outcome, float(observed["seconds"]), scores)


# What a report shows of earlier runs: the little that its pictures need of the history.


_MOST = 60
"""Runs, the latest."""


def with_trends(report: Report, root: str) -> Report:
    """The report with what came before it. No history, or one that cannot be read, fails no report."""
    try:
        known = history.load(root, last=_MOST + 1)
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
