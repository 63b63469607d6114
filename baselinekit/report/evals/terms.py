"""Eval cases as people read them: expected and actual, metrics, grades, and why cases were skipped."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from baselinekit.escape import log, one_line
from baselinekit.model.grades import Grade
from baselinekit.model.results import Metric, Report, Result, Spot
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import terminal
from baselinekit.report.evals.evalreport import RATE, grades_of, telling
from baselinekit.report.style import Style, wrapped
from baselinekit.report.values import LONGEST, cut_line, encode, first_lines, short
from baselinekit.tree.paths import render as render_path

# What each grader made of an output, for the terminal: its score, the criteria with theirs, and why.


_NOTES = {"disagrees": "note:", "replies_that_could_not_be_read": "asked again:", "taken": "taken:"}
"""Details that are told as well, with the words before them."""
_MOST_GRADES_SHOWN = 10
_MOST_GRADE_LINES = 20
_MOST_WORDS = 2_000
_TONES = {"passed": "green", "failed": "red", "error": "red", "unscored": "yellow", "skipped": "yellow"}


def format_passed(report: Report, style: Style) -> str:
    """As `terminal.passed`, each with what its graders say."""
    told = terminal.format_passed(report, style).splitlines(keepends=True)
    done = [result for result in report.results if result.outcome == "passed"]
    grades = ["".join(f"{line}\n" for line in format_grades(grades_of(result), style)) for result in done]
    shown = [line + log(below) for line, below in zip(told, grades, strict=False)]
    return "".join(shown) + "".join(told[len(shown) :])


def format_grades(
    grades: Sequence[Grade], style: Style, brief: bool = False, known: str = ""
) -> Iterator[str]:
    """Each grader by its name; `brief` is a line for each of several. `known`: what is said of it already."""
    for grade in grades[:_MOST_GRADES_SHOWN] if len(grades) > 1 or not brief else ():
        yield _headline(grade, style, brief)
        if not brief:
            yield from _below(grade, style, known)


def other_reasons(result: Result) -> list[str]:
    """Why attempts did not pass, where it is not the reason that the result gives: each reason once."""
    told = telling(result)
    found: dict[str, str] = {}
    for attempt in result.case.attempts if result.case else ():
        same = told is not None and (attempt.outcome, attempt.reason) == (told.outcome, told.reason)
        if attempt.outcome != "passed" and attempt.reason and not same:
            code = f"{attempt.code} " if attempt.code and attempt.outcome == "error" else ""
            found.setdefault(f"{attempt.outcome}: {code}{attempt.reason}", f"attempt {attempt.number}")
    return [f"{which} {why}" for why, which in found.items()]


def _headline(grade: Grade, style: Style, brief: bool) -> str:
    word = style.paint(f"{grade.outcome:<8}", _TONES[grade.outcome])
    score = "" if grade.score is None else f" {grade.score:.2f}"
    told = f"    {word} {one_line(grade.grader)} ({grade.kind}){score}"
    told += "" if grade.required else ", optional"
    return f"{told}  {cut_line(grade.reason)}" if brief and grade.reason else told


def _below(grade: Grade, style: Style, known: str) -> Iterator[str]:
    criteria = grade.details.get("scores")
    if isinstance(criteria, dict) and criteria:
        yield from _wrap_words([f"{name} {value}" for name, value in criteria.items()], style, "   ")
    for name, before in _NOTES.items():
        note = grade.details.get(name)
        for each in note if isinstance(note, list) else [note] if note else ():
            if str(each) not in grade.reason:
                yield from _wrap_words([*before.split(), *str(each).split()], style)
    if grade.code and grade.outcome == "error":
        yield from _wrap_words([grade.code, *grade.reason.split()], style)
    elif grade.reason not in known:
        yield from _wrap_words(grade.reason.split(), style)
    feedback = grade.details.get("specific_feedback")
    for each in feedback if isinstance(feedback, list) else ():
        yield from _wrap_words(["-", *str(each).split()], style)


def _wrap_words(words: Sequence[str], style: Style, gap: str = " ") -> Iterator[str]:
    """Lines that fit, as many as anybody reads."""
    shown = [cut_line(word) for word in words[:_MOST_WORDS]]
    found = list(wrapped(shown, max(20, style.width - 13), gap))
    yield from (style.paint(f"             {line}", "dim") for line in found[:_MOST_GRADE_LINES])
    if len(found) > _MOST_GRADE_LINES:
        yield style.paint(f"             … and {len(found) - _MOST_GRADE_LINES:,} more lines", "dim")


# What is said of eval cases wherever people read: what was expected and what came, and the metrics.


_MOST_LINES = 12
_MOST_LINES_VERBOSE = 200
_LONGEST_VERBOSE = 2_000
_MOST_GRADES = 10


def format_share(value: float) -> str:
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


def format_failures(report: Report, style: Style) -> str:
    """All cases that did not pass, for the terminal."""
    return terminal.format_failures(report, style, format_failure)


def format_failure(result: Result, style: Style) -> str:
    """One case that did not pass, for the terminal."""
    told = terminal.format_failure(replace(result, explanation=()), style)
    grades = grades_of(result)
    if result.differences and len(grades) < 2:
        return told
    lines = list(format_grades(grades, style, not style.verbose, result.reason))
    for label, text in () if result.differences else evidence(result):
        lines += _side(label, text, style)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1:
        words = ", ".join(attempt.outcome for attempt in attempts)
        lines.append(style.paint(f"    attempts  {words}", "dim"))
        lines += [f"      {cut_line(why)}" for why in other_reasons(result)]
    return told + log("".join(f"{line}\n" for line in lines))


def _side(label: str, text: str, style: Style) -> Iterator[str]:
    most, longest = (_MOST_LINES_VERBOSE, _LONGEST_VERBOSE) if style.verbose else (_MOST_LINES, LONGEST)
    shown = first_lines(text, most, longest) or ['""']
    word = style.paint(f"{label.lower():<8}", "green" if label == "Expected" else "red")
    yield f"    {word} {shown[0]}"
    yield from (f"             {line}" for line in shown[1:most])
    yield from (style.paint(f"             {line}", "dim") for line in shown[most:])


def format_metrics(report: Report, style: Style) -> str:
    """The metrics that somebody asked for or that say something, with their intervals."""
    metrics = report.suite.metrics if report.suite else ()
    lines = [_metric_line(metric, style) for metric in _worth(metrics, style.verbose)]
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
        line = f"{label} {format_share(metric.value)}"
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


# Cases that nobody ran, with why, for the terminal: what is left out in silence is forgotten.


_MOST_REASONS = 5
_MOST_IDS = 3


def format_skipped(report: Report, style: Style) -> str:
    """A line for each reason; for who wants it all, one for each case."""
    left_out = [one for one in report.results if one.outcome == "skipped" and not one.code and one.reason]
    word = style.paint("skipped", "yellow")
    if style.verbose:
        return log("".join(f"{word}   {one_line(one.id)}: {cut_line(one.reason)}\n" for one in left_out))
    by_reason: dict[str, list[Result]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one)
    lines = [
        f"{word} {len(few):,}: {cut_line(reason)} ({_name_first(few)})\n"
        for reason, few in list(by_reason.items())[:_MOST_REASONS]
    ]
    if len(by_reason) > _MOST_REASONS:
        lines.append(f"{word} … for {len(by_reason) - _MOST_REASONS:,} more reasons: -v\n")
    return log("".join(lines))


def _name_first(results: list[Result]) -> str:
    names = ", ".join(one_line(one.id) for one in results[:_MOST_IDS])
    return names + (f", and {len(results) - _MOST_IDS:,} more" if len(results) > _MOST_IDS else "")
