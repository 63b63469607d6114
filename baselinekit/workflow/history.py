"""The report of a run: without secrets, kept for later, and beside what earlier runs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from baselinekit.errors import BaselinekitError, NothingSelected, Problem, nearest
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import (
    Appearance,
    History,
    KeptRun,
    Moment,
    PastRun,
    Report,
    Result,
    Summary,
    Trend,
    Trends,
)
from baselinekit.model.values import Json
from baselinekit.report.resultfile import compact
from baselinekit.store.reading import without_collector
from baselinekit.store.results import keep_results, load_results
from baselinekit.variables import Redactor
from baselinekit.workflow.selection import list_names

# A report without secrets, wherever in it a text of the world outside has come to stand.


if TYPE_CHECKING:
    from baselinekit.model.changes import Change, RefreshProposal


def mask_report(report: Report, redactor: Redactor) -> Report:
    """Ids and file names stay: by them everything is found. What came back is masked where it is judged."""
    mask = redactor.mask_value
    against, earlier = report.against, report.earlier
    if against is not None:
        revised = [
            replace(one, how=mask(one.how), approved_by=mask(one.approved_by), reason=mask(one.reason))
            for one in against.changes
        ]
        against = replace(against, changes=tuple(revised))
    if earlier is not None:  # it may come from a file of anybody's
        cases = [replace(case, why=mask(case.why)) for case in earlier.cases]
        earlier = replace(earlier, run=mask(earlier.run), cases=tuple(cases))
    return replace(
        report,
        results=tuple(mask_result(result, redactor) for result in report.results),
        command=mask(report.command),
        environment=mask(report.environment),
        warnings=mask(report.warnings),
        not_recorded=mask(report.not_recorded),
        coverage=replace(report.coverage, chosen=mask(report.coverage.chosen)),
        against=against,
        earlier=earlier,
    )


def mask_result(result: Result, redactor: Redactor) -> Result:
    """Of nearly all nothing is to be masked, and to copy them for that would take as long as to look."""
    mask = redactor.mask_value
    changed: dict[str, Any] = {}
    for key in ("name", "reason", "target", "notes", "environment_drift"):
        value = getattr(result, key)
        if value and (masked := mask(value)) is not value:
            changed[key] = masked
    if result.differences:
        changed["differences"] = tuple(
            replace(
                spot,
                path=tuple(mask(key) if isinstance(key, str) else key for key in spot.path),
                rule=mask(spot.rule),
            )
            for spot in result.differences
        )
    return replace(result, **changed) if changed else result


def mask_proposal(proposal: RefreshProposal, redactor: Redactor) -> RefreshProposal:
    """What a refresh would change, to be looked at: what stands in a file may be a secret as well."""

    def mask_change(change: Change) -> Change:
        before = redactor.mask_value(change.before, change.at)
        after = redactor.mask_value(change.after, change.path)
        if before is change.before and after is change.after:
            return change
        return replace(change, before=before, after=after)

    plans = [replace(plan, changes=tuple(map(mask_change, plan.changes))) for plan in proposal.plans]
    return replace(proposal, plans=tuple(plans))


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
        what = f"no run that is kept here has {' or '.join(map(repr, ids))} in it"
        raise NothingSelected(
            Problem("BK509", what, nearest(ids[0], seen) or f"they have {list_names(sorted(seen))}")
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
