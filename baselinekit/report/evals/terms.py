"""What is said of eval cases wherever people read: what was expected and what came, and the metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from baselinekit.escape import log
from baselinekit.model.grades import Grade
from baselinekit.model.results import Metric, Report, Result, Spot
from baselinekit.model.values import ABSENT, Json
from baselinekit.paths import render as render_path
from baselinekit.report.evals import gradelines
from baselinekit.report.evals.evalreport import RATE, grades_of, telling
from baselinekit.report.terminal import results as terminal
from baselinekit.report.terminal.style import Style
from baselinekit.report.values.encode import encode
from baselinekit.report.values.shown import LONGEST, cut_line, first_lines, short

_MOST_LINES = 12
_MOST_LINES_VERBOSE = 200
_LONGEST_VERBOSE = 2_000
_MOST_GRADES = 10


def share(value: float) -> str:
    """Three digits, as rates are usually given."""
    return f"{value:.3f}"


def evidence(result: Result) -> list[tuple[str, str]]:
    """What was expected and what came, as far as a grader says so; of a baseline, where it differs."""
    if result.differences:
        return [(render_path(spot.path), _differs(spot)) for spot in result.differences[:_MOST_GRADES]]
    details = next(
        (one.details for one in _failing(result) if {"expected", "actual"} & one.details.keys()), {}
    )
    found = [(name.capitalize(), _text(details[name])) for name in ("expected", "actual") if name in details]
    attempt = telling(result)
    if "actual" not in details and attempt is not None and attempt.output is not None:
        found.append(("Actual", _text(attempt.output)))
    return found


def _differs(spot: Spot) -> str:
    if spot.expected is ABSENT:
        return f"not in the baseline: {short(spot.actual)}"
    if spot.actual is ABSENT:
        return f"missing; it was {short(spot.expected)}"
    return f"{short(spot.expected)} -> {short(spot.actual)}"


def _failing(result: Result) -> Iterator[Grade]:
    yield from (grade for grade in grades_of(result) if grade.outcome == result.outcome)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else encode(value, 2)


def all_failing(report: Report, style: Style, verbose: bool) -> str:
    """All cases that did not pass, for the terminal."""
    return terminal.not_passed(report, style, verbose, failing)


def failing(result: Result, style: Style, verbose: bool) -> str:
    """One case that did not pass, for the terminal."""
    told = terminal.failure(replace(result, explanation=()), style, verbose)
    grades = grades_of(result)
    if result.differences and len(grades) < 2:
        return told
    lines = list(gradelines.lines(grades, style, not verbose, result.reason))
    for label, text in () if result.differences else evidence(result):
        lines += _side(label, text, style, verbose)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1:
        words = ", ".join(attempt.outcome for attempt in attempts)
        lines.append(style.paint(f"    attempts  {words}", "dim"))
        lines += [f"      {cut_line(why)}" for why in gradelines.others(result)]
    return told + log("".join(f"{line}\n" for line in lines))


def _side(label: str, text: str, style: Style, verbose: bool) -> Iterator[str]:
    most, longest = (_MOST_LINES_VERBOSE, _LONGEST_VERBOSE) if verbose else (_MOST_LINES, LONGEST)
    shown = first_lines(text, most, longest) or ['""']
    word = style.paint(f"{label.lower():<8}", "green" if label == "Expected" else "red")
    yield f"    {word} {shown[0]}"
    yield from (f"             {line}" for line in shown[1:most])
    yield from (style.paint(f"             {line}", "dim") for line in shown[most:])


def metric_lines(report: Report, style: Style, verbose: bool) -> str:
    """The metrics that somebody asked for or that say something, with their intervals."""
    metrics = report.suite.metrics if report.suite else ()
    lines = [_metric_line(metric, style) for metric in _worth(metrics, verbose)]
    return log("".join(f"{line}\n" for line in lines))


def _worth(metrics: Sequence[Metric], verbose: bool) -> Iterator[Metric]:
    """Of one attempt a case pass@1 says all there is; the pass rate differs where cases were tried again."""
    first = next((metric.value for metric in metrics if metric.name == "pass@1"), None)
    repeated = any(metric.name == "pass@1" and metric.view != "per case" for metric in metrics)
    for metric in metrics:
        is_rate = metric.name == RATE
        differs = is_rate and metric.value != first and not repeated
        tells = not is_rate and metric.value is not None and (repeated or metric.name == "pass@1")
        if verbose or metric.threshold is not None or differs or tells:
            yield metric


def _metric_line(metric: Metric, style: Style) -> str:
    label = f"{metric.name:<16}"
    if metric.value is None:
        line = f"{label} not available: {metric.why}"
    else:
        line = f"{label} {share(metric.value)}"
        if metric.low is not None and metric.high is not None:
            line += f"  ({metric.low:.3f} to {metric.high:.3f}, {metric.view}, n={metric.count:,})"
    if metric.threshold is not None:
        met = bool(metric.met)
        line += style.paint(f"  {'PASS' if met else 'FAIL'}", "green" if met else "bold red")
        line += f"  at least {metric.threshold:g}"
    return line


def without_details(report: Report) -> Report:
    """The report without what graders noted and what came: for a suite that keeps both to itself."""
    return replace(report, results=tuple(map(_bare, report.results)))


def _bare(result: Result) -> Result:
    if result.case is None:
        return result
    attempts = tuple(
        replace(attempt, output=None, grades=tuple(replace(grade, details={}) for grade in attempt.grades))
        for attempt in result.case.attempts
    )
    case = replace(result.case, attempts=attempts)
    return replace(result, case=case, differences=(), resolved=None, explanation=())
