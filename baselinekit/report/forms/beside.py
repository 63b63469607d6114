"""What a report says beside its results, for forms without room of their own for it: weakened baselines, the
earlier run, how far the judges agree with people."""

from collections.abc import Iterator

from baselinekit.model.results import Metric, Report, Revised
from baselinekit.model.values import Json
from baselinekit.report import earlier, judges, weakened
from baselinekit.report.attempts import JUDGE
from baselinekit.report.evals import evalreport
from baselinekit.report.resultfile import AGAINST, EARLIER


def format_lines(report: Report) -> Iterator[str]:
    """As a terminal shows it, without colours."""
    if report.against is not None:
        yield from (line for line, _ in weakened.format_weakened(report.against))
    if report.suite is not None:
        yield from judges.describe_judges(report.suite.judges)
    if report.earlier is not None:
        yield from (line for line, _ in earlier.format_earlier(report.earlier))


def to_document(report: Report) -> dict[str, Json]:
    """As the report of an eval run states it."""
    found: dict[str, Json] = {}
    if report.suite is not None:
        found["suite"] = report.suite.name
        found["metrics"] = [evalreport.metric_document(metric) for metric in report.suite.metrics]
        if report.suite.judges:
            found["judges"] = [JUDGE.write(judge) for judge in report.suite.judges]
    if report.earlier is not None:
        found["compared_to"] = EARLIER.write(report.earlier)
    if report.against is not None:
        found["against"] = AGAINST.write(report.against)
    return found


def figures(report: Report) -> Iterator[tuple[str, str]]:
    """Names and values, for forms that know properties."""
    for metric in report.suite.metrics if report.suite else ():
        if metric.value is not None:
            yield f"{metric.name} ({metric.view})", _figure(metric)
    if report.earlier is not None:
        yield "compared_to", report.earlier.run
        for verdict, number in earlier.counts(report.earlier):
            yield verdict.replace(" ", "_"), str(number)


def _figure(metric: Metric) -> str:
    if metric.low is None or metric.high is None:
        return f"{metric.value:.3f}"
    return f"{metric.value:.3f} ({metric.low:.3f} to {metric.high:.3f})"


def failing_weakened(report: Report) -> tuple[Revised, ...]:
    """Baselines that were weakened, where that fails the run: no form may look as if all were well."""
    against = report.against
    return against.weakened if against is not None and against.strict else ()


def verdicts(report: Report) -> dict[str, str]:
    """What became of each case since the earlier run, by its id."""
    return {case.id: case.verdict for case in report.earlier.cases} if report.earlier else {}
