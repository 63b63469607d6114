"""Evals in Markdown: the report of a run for people (`-o x.eval.md`), a short version for a comment, and the
report of a phase about its gates."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_block, markdown_code, markdown_text
from baselinekit.model.evals import GateResult
from baselinekit.model.grades import BORDERLINE
from baselinekit.model.results import Report, Result
from baselinekit.report import beside
from baselinekit.report.confusion import markdown_classes
from baselinekit.report.evals.evalreport import (
    FAULTS,
    describe_grades,
    evidence,
    format_share,
    format_status,
    format_threshold,
    format_value,
    gate_reasons,
    other_reasons,
    recommendations,
)
from baselinekit.report.values import cut_line
from baselinekit.report.wording import collect_warnings, headline
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask

_TITLES = {"capability": "Capability Evals", "regression": "Regression Evals"}
_MOST_CASES = 100
_MOST_FAILURES = 100
_MOST_SIDES = 3
_LONGEST_SIDE = 2_000
_MOST_LISTED = 500
_MOST_ADVICE = 100
_LONGEST_REASON = 200


def render(report: Report) -> str:
    return "\n".join(_report_lines(report)) + "\n"


def _report_lines(report: Report) -> Iterator[str]:
    name = report.suite.name if report.suite else "Evals"
    yield f"# Eval report: {markdown_text(cut_line(name))}"
    yield ""
    yield f"{report.id}, {report.started}: {headline(report)}"
    if model := report.environment.get("model"):
        yield f"Model: {markdown_text(str(model))}"
    for warning in collect_warnings(report)[:10]:
        yield ""
        yield f"> {markdown_text(cut_line(warning))}"
    yield from _overview_lines(report, _MOST_CASES, "##")
    for kind, title in _TITLES.items():
        results = [result for result in report.results if result.case and result.case.eval_type == kind]
        if results:
            yield from run_checks(results, title)
    failing = [result for result in report.results if result.outcome in FAULTS]
    if failing:
        yield from ("", "## What did not pass")
    for result in failing[:_MOST_FAILURES]:
        yield from ("", f"### {markdown_code(result.id)}", "")
        yield markdown_text(cut_line(f"{result.outcome}: {result.reason}".rstrip(": "), 500))
        for reason in (*describe_grades(result), *other_reasons(result)):
            yield from ("", f"- {markdown_text(cut_line(reason, 500))}")
        for label, text in evidence(result):
            yield from ("", f"{markdown_text(cut_line(label))}:", "")
            yield markdown_block(mask_and_clip(text, _LONGEST_SIDE, no_mask)).rstrip("\n")
    if len(failing) > _MOST_FAILURES:
        yield from ("", f"… and {len(failing) - _MOST_FAILURES:,} more")
    yield from _recommendation_lines(report, "##")


def overview(report: Report, most: int, mark: str) -> str:
    """Return the run as a whole, for a comment: the metrics with a value or threshold, the judges, and the
    comparison with an earlier run; "" if there is none of that."""
    if report.suite is not None:
        metrics = [
            metric for metric in report.suite.metrics if (metric.value, metric.threshold) != (None, None)
        ]
        report = replace(report, suite=replace(report.suite, metrics=tuple(metrics)))
    return "".join(f"{line}\n" for line in _overview_lines(report, most, mark))


def _overview_lines(report: Report, most: int, mark: str) -> Iterator[str]:
    metrics = report.suite.metrics if report.suite else ()
    if metrics:
        yield from ("", f"{mark} Metrics", "", "| Metric | Value | 95 % interval | Threshold | Status |")
        yield "|---|---|---|---|---|"
    for metric in metrics:
        label = f"{metric.name} ({metric.basis})"
        if metric.value is None:
            value = f"not available: {markdown_text(cut_line(metric.why))}"
        else:
            value = format_share(metric.value)
        threshold = "" if metric.threshold is None else format_share(metric.threshold)
        interval = beside.format_interval(metric)
        cells = (markdown_code(cut_line(label)), value, interval, threshold, format_status(metric))
        yield f"| {' | '.join(cells)} |"
    judges = beside.describe_judges(report.suite.judges if report.suite else ())
    for line in (*beside.describe_uncovered(report), *judges):
        yield from ("", f"> {markdown_text(cut_line(line))}")
    yield from markdown_classes(report, most, mark)
    if report.earlier is not None:
        yield beside.earlier_markdown(report.earlier, most, mark).rstrip("\n")


def run_checks(results: Sequence[Result], title: str) -> Iterator[str]:
    yield from checks_heading(results, f"## {title}")
    for result in results:
        suffix = " (flaky)" if result.verdict == "flaky" else ""
        if result.outcome == "skipped" and result.reason:
            suffix += f": {markdown_text(cut_line(result.reason))}"
        yield _check_line(result, markdown_code(result.id)) + suffix
        for label, text in evidence(result)[:_MOST_SIDES] if result.outcome == "failed" else ():
            yield f"  - {markdown_text(cut_line(label))}: {markdown_code(cut_line(text, 200))}"


def checks_heading(results: Sequence[Result], title: str) -> tuple[str, str, str]:
    passed = sum(result.outcome == "passed" for result in results)
    return "", f"{title} ({passed}/{len(results)} passed)", ""


def _check_line(result: Result, id: str) -> str:
    """Return `- [ ] id: name (FAILED)`."""
    name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
    passed = result.outcome == "passed"
    words = "" if passed else result.outcome.upper()
    words = ", ".join(filter(None, (words, result.verdict if result.verdict == BORDERLINE else "")))
    return f"- [{'x' if passed else ' '}] {id}{name}" + (f" ({words})" if words else "")


def _recommendation_lines(report: Report, mark: str, most: int | None = None) -> Iterator[str]:
    """Yield the recommendations, each with its command formatted as code."""
    advice = recommendations(report)
    if advice:
        yield from ("", f"{mark} Recommendations", "")
    for number, text in enumerate(advice[:most], 1):
        recommendation, command, words = text.partition(": baselinekit ")
        line = markdown_text(cut_line(recommendation))
        if command:
            line += f": {markdown_code(cut_line(f'baselinekit {words}'))}"
        yield f"{number}. {line}"
    if most is not None and len(advice) > most:
        yield f"\n… and {len(advice) - most:,} more"


def format_gates_markdown(judged: Sequence[GateResult]) -> str:
    """Return the part of a phase report that is about evals."""
    lines = ["## Phase Completion Report"] if len(judged) == 1 else []
    for gate in judged:
        lines += [] if len(judged) == 1 else [f"## {markdown_text(cut_line(gate.gate.name))}"]
        lines += gate_lines(gate)
    return "\n".join(lines) + "\n"


def gate_lines(judged: GateResult) -> Iterator[str]:
    yield from ("", "### Eval Results", "")
    yield f"{markdown_text(cut_line(judged.gate.name))}: **{judged.state}**"
    yield from (f"> {markdown_text(cut_line(reason))}" for reason in gate_reasons(judged))
    yield from ("", "| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|")
    for metric in judged.metrics:
        name = f"{metric.name} ({metric.estimator})" if metric.estimator else metric.name
        cells = (name, format_value(metric), format_threshold(metric), format_status(metric))
        yield f"| {' | '.join(cells)} |"
    for kind, title in _TITLES.items():
        results = [
            result
            for result in judged.report.results
            if (result.case.eval_type if result.case else "regression") == kind
        ]
        if results:
            yield from gate_checks(results, title)
    yield from _recommendation_lines(judged.report, "###", _MOST_ADVICE)


def gate_checks(results: Sequence[Result], title: str) -> Iterator[str]:
    yield from checks_heading(results, f"#### {title}")
    listed = results
    if len(results) > _MOST_LISTED:  # passed results are only counted then
        listed = [result for result in results if result.outcome != "passed"][:_MOST_LISTED]
    for result in listed:
        yield _check_line(result, markdown_text(result.id))
        sides = [] if result.outcome == "passed" else evidence(result)[:2]
        yield from (f"  - {label}: {markdown_code(cut_line(text, _LONGEST_REASON))}" for label, text in sides)
        if result.outcome != "passed" and not sides and result.reason:
            yield f"  - Reason: {markdown_text(cut_line(result.reason, _LONGEST_REASON))}"
    if len(results) > len(listed):
        passed = sum(result.outcome == "passed" for result in results)
        yield f"- … and {len(results) - len(listed):,} more, of which {passed:,} passed"
