"""The report of an eval run for people (`-o x.eval.md`)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from baselinekit.escape import markdown_block, markdown_code, markdown_text
from baselinekit.model.results import Metric, Report, Result
from baselinekit.report import earlier, judges
from baselinekit.report.evals import evalreport, terms
from baselinekit.report.evals.terms import evidence, format_share
from baselinekit.report.values import cut_line
from baselinekit.report.wording import collect_warnings, headline
from baselinekit.texts import already_masked, clipped

_MOST_FAILURES = 100
_MOST_SIDES = 3
_LONGEST_SIDE = 2_000
_MOST_CASES = 100
_TITLES = {"capability": "Capability Evals", "regression": "Regression Evals"}


def render(report: Report) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    name = report.suite.name if report.suite else "Evals"
    yield f"# Eval report: {markdown_text(cut_line(name))}"
    yield ""
    yield f"{report.id}, {report.started}: {headline(report)}"
    if model := report.environment.get("model"):
        yield f"Model: {markdown_text(str(model))}"
    for warning in collect_warnings(report)[:10]:
        yield ""
        yield f"> {markdown_text(cut_line(warning))}"
    yield from _overview(report, _MOST_CASES, "##")
    for kind, title in _TITLES.items():
        yield from _checks([one for one in report.results if one.case and one.case.eval_type == kind], title)
    yield from _failures([one for one in report.results if one.outcome in ("failed", "error", "unscored")])
    advice = evalreport.recommendations(report)
    if advice:
        yield from ("", "## Recommendations", "")
        yield from (f"{number}. {advised(one)}" for number, one in enumerate(advice, 1))


def advised(advice: str) -> str:
    """A recommendation, with its command as one."""
    said, command, words = advice.partition(": baselinekit ")
    told = markdown_text(cut_line(said))
    return f"{told}: {markdown_code(cut_line(f'baselinekit {words}'))}" if command else told


def overview(report: Report, most: int, mark: str) -> str:
    """The run as a whole, for a comment: the metrics that say something, the judges, and how it did beside an
    earlier run; "" where nothing is known."""
    if report.suite is not None:
        told = [one for one in report.suite.metrics if one.value is not None or one.threshold is not None]
        report = replace(report, suite=replace(report.suite, metrics=tuple(told)))
    return "".join(f"{line}\n" for line in _overview(report, most, mark))


def _overview(report: Report, most: int, mark: str) -> Iterator[str]:
    yield from _metrics(report.suite.metrics if report.suite else (), mark)
    for line in judges.describe_judges(report.suite.judges if report.suite else ()):
        yield from ("", f"> {markdown_text(cut_line(line))}")
    if report.earlier is not None:
        yield earlier.markdown(report.earlier, most, mark).rstrip("\n")


def _metrics(metrics: Sequence[Metric], mark: str) -> Iterator[str]:
    if not metrics:
        return
    yield from ("", f"{mark} Metrics", "", "| Metric | Value | 95 % interval | Threshold | Status |")
    yield "|---|---|---|---|---|"
    for metric in metrics:
        label = f"{metric.name} ({metric.view})"
        if metric.value is None:
            value = f"not available: {markdown_text(cut_line(metric.why))}"
        else:
            value = format_share(metric.value)
        between = (
            "" if metric.low is None or metric.high is None else f"{metric.low:.3f} to {metric.high:.3f}"
        )
        least = "" if metric.threshold is None else format_share(metric.threshold)
        status = {True: "PASS", False: "FAIL", None: ""}[metric.met]
        cells = (markdown_code(cut_line(label)), value, between, least, status)
        yield f"| {' | '.join(cells)} |"


def _checks(results: Sequence[Result], title: str) -> Iterator[str]:
    if not results:
        return
    passed = sum(result.outcome == "passed" for result in results)
    yield from ("", f"## {title} ({passed}/{len(results)} passed)", "")
    for result in results:
        mark = "x" if result.outcome == "passed" else " "
        word = "" if result.outcome == "passed" else f" ({result.outcome.upper()})"
        flaky = " (flaky)" if result.verdict == "flaky" else ""
        name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
        why = (
            f": {markdown_text(cut_line(result.reason))}"
            if result.outcome == "skipped" and result.reason
            else ""
        )
        yield f"- [{mark}] {markdown_code(result.id)}{name}{word}{flaky}{why}"
        if result.outcome == "failed":
            for label, text in evidence(result)[:_MOST_SIDES]:
                yield f"  - {markdown_text(cut_line(label))}: {markdown_code(cut_line(text, 200))}"


def _failures(results: Sequence[Result]) -> Iterator[str]:
    if not results:
        return
    yield from ("", "## What did not pass")
    for result in results[:_MOST_FAILURES]:
        yield from ("", f"### {markdown_code(result.id)}", "")
        yield markdown_text(cut_line(f"{result.outcome}: {result.reason}".rstrip(": "), 500))
        for why in terms.other_reasons(result):
            yield from ("", f"- {markdown_text(cut_line(why, 500))}")
        for label, text in evidence(result):
            yield from (
                "",
                f"{markdown_text(cut_line(label))}:",
                "",
                markdown_block(clipped(text, _LONGEST_SIDE, already_masked)).rstrip("\n"),
            )
    if len(results) > _MOST_FAILURES:
        yield from ("", f"… and {len(results) - _MOST_FAILURES:,} more")
