"""What a report shows of earlier runs: the little that its pictures need of the history."""

from dataclasses import replace

from baselinekit.errors import BaselinekitError
from baselinekit.model.results import Moment, PastRun, Report, Trends
from baselinekit.workflow import history

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
