"""The HTML pages: of a run with its evals, and of the history of runs. Each is one file that loads nothing,
works without its script, and stays small enough for a browser to open: what was cut is stated.

The templates escape everything but what they made themselves, and a policy lets only our own style and script
run."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from baselinekit.escape import escape_controls, xml
from baselinekit.model.grades import OUTCOMES, Outcome
from baselinekit.model.results import Appearance, History, Report, Result, Summary
from baselinekit.report import evalreport
from baselinekit.report.blocks import Block, Cell, DiffLine, Folded, Heading, Interval, Note, table
from baselinekit.report.differences import share
from baselinekit.report.history import trends_table
from baselinekit.report.next_commands import refresh_command, select_renewable, typed_of
from baselinekit.report.sections import page_blocks, suite_title
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    collect_warnings,
    count_differences,
    count_outcomes,
    describe_incomplete,
    describe_reason,
    first_of,
    format_duration,
    format_seconds,
    headline,
)
from baselinekit.structs import Struct, replace
from baselinekit.values.changes import row_pattern
from baselinekit.values.texts import count_noun

# Small pictures of numbers, as shapes that a template draws. Each has its meaning in words too, for people
# who do not see it.

MOST_POINTS = 60
"""The most points in a picture: the latest ones."""

_BAR_WIDTH, _BAR_GAP, _CHART_HEIGHT = 8, 2, 40
_LINE_WIDTH, _LINE_HEIGHT = 80, 18
_SCALE_WIDTH = 120
_LEAST = 1.5
"""The height at which a bar can still be seen."""


class Drawing(Struct):
    tag: str
    attributes: dict[str, str | float]


class Picture(Struct):
    kind: str
    width: int
    height: int
    label: str
    shapes: tuple[Drawing, ...]


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Drawing:
    place = {"x": x, "y": round(y, 2), "width": width, "height": round(height, 2)}
    return Drawing("rect", {"class": kind, **place})


def outcomes(runs: Sequence[Summary], label: str) -> Picture:
    """Return a column for each run, divided by the share of each outcome: what did not pass is on top."""
    shown_runs = runs[-MOST_POINTS:]
    columns = []
    for number, run in enumerate(shown_runs):
        top = 0.0
        for outcome in OUTCOMES:
            share = getattr(run, outcome) / run.total if run.total else 0
            if share:
                height = share * _CHART_HEIGHT
                height = _CHART_HEIGHT - top if outcome == "passed" else max(_LEAST, height)
                height = min(height, _CHART_HEIGHT - top)
                columns.append(_rect(outcome, number * (_BAR_WIDTH + _BAR_GAP), top, _BAR_WIDTH, height))
                top += height
    width = max(1, len(shown_runs) * (_BAR_WIDTH + _BAR_GAP) - _BAR_GAP)
    return Picture("outcomes", width, _CHART_HEIGHT, label, tuple(columns))


def spark(moments: Sequence[Appearance | Result]) -> Picture | None:
    """Return a line of the times that a baseline took, with a dot where it did not pass."""
    shown_moments = moments[-MOST_POINTS:]
    if len(shown_moments) < 2:
        return None
    most = max(moment.seconds for moment in shown_moments) or 1.0
    step = (_LINE_WIDTH - 6) / (len(shown_moments) - 1)
    points = [
        (round(3 + number * step, 1), round(_LINE_HEIGHT - 3 - moment.seconds / most * (_LINE_HEIGHT - 6), 1))
        for number, moment in enumerate(shown_moments)
    ]
    line = Drawing("polyline", {"class": "line", "points": " ".join(f"{x},{y}" for x, y in points)})
    dots = [
        Drawing("circle", {"class": moment.outcome, "cx": x, "cy": y, "r": 2.2})
        for (x, y), moment in zip(points, shown_moments, strict=True)
        if moment.outcome != "passed"
    ]
    first, last = format_seconds(shown_moments[0].seconds), format_seconds(shown_moments[-1].seconds)
    label = f"{len(shown_moments)} runs, {len(dots)} not passed, {first} to {last}"
    return Picture("spark", _LINE_WIDTH, _LINE_HEIGHT, label, (line, *dots))


def drawn(what: Interval | Sequence[Appearance], label: str) -> Picture | None:
    """Return the picture of what a cell draws beside its text."""
    return _interval(what, label) if isinstance(what, Interval) else spark(what)


def _interval(share: Interval, label: str) -> Picture:
    """Return a share between 0 and 1 with its interval; a stroke marks the threshold."""
    middle = _LINE_HEIGHT / 2
    value, low, high = map(_position, (share.value, share.low, share.high))
    shapes = [
        _rect("scale", _position(0), middle - 0.5, _SCALE_WIDTH, 1),
        _rect("between", low, middle - 2, round(max(1.0, high - low), 1), 4),
        Drawing("circle", {"class": "value", "cx": value, "cy": middle, "r": 3.5}),
    ]
    if share.threshold is not None:
        shapes.append(_rect("least", _position(share.threshold) - 1, 1, 2, _LINE_HEIGHT - 2))
    return Picture("interval", _SCALE_WIDTH + 8, _LINE_HEIGHT, f"{share.value:.3f}, {label}", tuple(shapes))


def _position(share: float) -> float:
    """Return the position of a share on the scale."""
    return round(4 + min(1.0, max(0.0, share)) * _SCALE_WIDTH, 1)


MOST_ROWS = 20_000
LONGEST = 6_000_000
"""The most characters of all details together."""

_MOST_SHOWN = 400
_MOST_OPEN = 10
_MOST_NAMED = 50
_MOST_LINKED = 200
_MOST_EXPLAINED = 40
_OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "error", "unscored", "skipped")
_SIGN = 2
"""The length of `- ` or `+ ` at the start of each line."""

_FEWEST_COMMON = 6
"""Lines with fewer common characters are shown as entirely different."""

Marked = tuple[str, str, str]
"""A line: what is before the part that differs, that part, and what is after it."""


def render(report: Report) -> str:
    ordered = sorted(report.results, key=lambda result: OUTCOMES.index(result.outcome))
    shown_results = ordered[:MOST_ROWS]
    room, cut_count, rows = LONGEST, 0, []
    shared, unshared_results = share(shown_results)
    seen = {trend.id: trend.seen for trend in report.past.trends}
    for number, (result, unshared) in enumerate(zip(shown_results, unshared_results, strict=True), 1):
        is_cut = room <= 0
        details = Markup() if is_cut else show_blocks(_details(report, result, unshared))
        room -= len(details)
        cut_count += is_cut and result.outcome != "passed"
        rows.append(_row(number, result, details, seen.get(result.id, ())))
    notes = collect_warnings(report)[:_MOST_NAMED]
    too_large = "the page would be too large (-o x.json)"
    if left_out := len(ordered) - len(shown_results):
        notes.append(f"{left_out:,} more results are not in this page: {too_large}")
    if cut_count:
        notes.append(f"the details of {cut_count:,} results are left out: {too_large}")
    numbers = {result.id: number for number, result in enumerate(shown_results, 1)}
    total, failing = len(report.results), sum(result.outcome != "passed" for result in report.results)
    past = [run.summary for run in report.past.runs][1 - MOST_POINTS :]
    label = f"The last {len(past) + 1:,} runs"
    return _render(
        "run.html",
        headline(report),
        script=(_FOLDER / "page.js").read_text("utf-8"),
        suite=suite_title(report),
        verdict=f"{failing:,} of {total:,} did not pass" if failing or not total else f"All {total:,} passed",
        incomplete=describe_incomplete(report),
        counts=count_outcomes(report),
        facts=" · ".join(filter(None, (report.started, report.command, report.commit))),
        runs=(outcomes([*past, report.summary], label) if past else None, label),
        notes=notes,
        sections=[*page_blocks(report), *_group_blocks(report), *evalreport.recommendation_blocks(report)],
        shared=[
            (
                replace(change.diff, place=change.headline),
                change.names(),
                [(result.id, numbers.get(result.id)) for result in change.results[:_MOST_LINKED]],
            )
            for change in shared[:_MOST_LINKED]
        ],
        rows=rows,
        run=_run_blocks(report),
        tool=report.tool,
    )


def _row(number: int, result: Result, details: Markup, earlier: Sequence[Appearance]) -> dict[str, object]:
    """Return a result in the list of all. `details`: what is behind it, if there is anything."""
    difference_count, case = count_differences(result), result.case
    labels = [result.name, result.criticality, result.verdict]
    if case is not None:
        labels += [case.eval_type, case.category if case.category != case.eval_type else ""]
        labels.append(" ".join(f"#{tag}" for tag in case.tags[:5]))
        labels.append(f"score {case.score:.3f}" if case.score not in (None, 0, 1) else "")
    labels.append(count_noun(difference_count, "difference") if difference_count else "")
    is_notable = number <= _MOST_OPEN and result.outcome not in ("passed", "skipped")
    return {
        "number": number,
        "id": result.id,
        "outcome": result.outcome,
        "labels": " · ".join(cut_line(label, 200) for label in labels if label),
        "picture": spark([*earlier, result]),
        "took": format_seconds(result.seconds),
        "details": details,
        "tag": "details" if details else "div",
        "is_open": bool(details) and is_notable,
    }


def _details(report: Report, result: Result, unshared: Result | None) -> Iterator[Block]:
    """Yield the details of a result; of a passed one only if there is something noteworthy."""
    has_notes = (
        result.notes or result.environment_drift or describe_reason(result) or evalreport.grades_of(result)
    )
    if result.outcome == "passed" and not has_notes:
        return
    yield from evalreport.result_blocks(result, unshared, _MOST_SHOWN)
    if unshared is not result:  # a filter finds the paths here too
        own_ids = set(map(id, unshared.differences if unshared is not None else ()))
        elsewhere = (row_pattern(spot.path) for spot in result.differences if id(spot) not in own_ids)
        yield Folded("With other baselines, above", tuple(dict.fromkeys(elsewhere))[:_MOST_LINKED])
    if result.explanation and result.case is None:  # a case shows the same above, in tables
        yield Folded("In words", tuple(first_of(result.explanation, _MOST_EXPLAINED, "line")))
    if select_renewable([result]):
        yield Note("Is the new answer right?", code=refresh_command([result], typed_of(report)))


def _group_blocks(report: Report) -> Iterator[Block]:
    """Yield the tables by kind of case, by the categories of the cases, and by grader."""
    by_category: dict[str, list[Result]] = {}
    for result in report.results:
        if result.case and result.case.category and result.case.category != result.case.eval_type:
            by_category.setdefault(result.case.category, []).append(result)
    if not any(result.case for result in report.results):
        return
    counted = evalreport.summary(report)
    groups = [
        *counted["by_category"].items(),
        *((name, evalreport.count_results(by_category[name])) for name in sorted(by_category)[:_MOST_NAMED]),
        ("all", {**counted, "total": counted["total_evals"]}),
    ]
    rows = []
    for name, counts in groups:
        rate = counts["pass_rate_of_decided"]
        cells = [Cell(f"{counts[word]:,}", word if counts[word] else "") for word in _OUTCOMES]
        rows.append((name, f"{counts['total']:,}", *cells, "none" if rate is None else f"{rate:.3f}"))
    yield Heading("Results by group")
    heads = ("group", "cases", *(word.replace("error", "errors") for word in _OUTCOMES), "pass rate")
    yield table(heads, rows, "By category", figures=True)
    graders = []
    for kind, counts in counted["by_grader"].items():
        total, passed = counts["total"], counts["passed"]
        graders.append((kind, f"{total:,}", f"{passed:,}", f"{passed / total:.3f}"))
    if graders:
        yield table(("grader", "cases", "passed", "share that passed"), graders, "By grader", figures=True)


def _run_blocks(report: Report) -> Iterator[Block]:
    facts = {"started": report.started, "took": format_duration(report.seconds), "command": report.command}
    facts |= {"suite": suite_title(report)} if report.suite else {}
    facts |= {"tool": report.tool, "configuration": report.config or "none", "run": report.id}
    facts |= {short(name): short(value, 200) for name, value in sorted(report.environment.items())}
    yield Heading("The run")
    yield table(("", ""), [*facts.items()])


# Differences: the expected lines beside the actual ones, with what differs between two of them marked.


def pairs(lines: Sequence[DiffLine]) -> Iterator[tuple[str, str | list[Marked], list[Marked]]]:
    """Yield the expected lines with the actual ones after them (`pair`); lines that are the same on both
    sides (`both`), and what explains, once."""
    old_lines: list[str] = []
    for tone, group in groupby([*lines, DiffLine("dim", "")], key=lambda line: line.tone):
        texts = [line.text for line in group]
        if tone == "came":
            yield "pair", *_mark_differences(old_lines, texts)
        elif old_lines:
            yield "pair", *_mark_differences(old_lines, [])
        old_lines = texts if tone == "gone" else []
        for text in filter(None, texts) if tone == "dim" else ():
            yield "both" if text.startswith("| ") else "at" if text.startswith("@@") else "said", text, []


def _mark_differences(old_lines: list[str], new_lines: list[str]) -> tuple[list[Marked], list[Marked]]:
    if len(old_lines) != len(new_lines):
        return [(line, "", "") for line in old_lines], [(line, "", "") for line in new_lines]
    both = [_mark_difference(old, new) for old, new in zip(old_lines, new_lines, strict=True)]
    return [old for old, _ in both], [new for _, new in both]


def _mark_difference(old: str, new: str) -> tuple[Marked, Marked]:
    """Return two lines with the words that differ marked, unless that is all of them."""
    words = [re.findall(r"\w+|\W", text[_SIGN:]) for text in (old, new)]
    start = _count_common(*words)
    end = min(min(map(len, words)) - start, _count_common(words[0][::-1], words[1][::-1]))
    before, after = "".join(words[0][:start]), "".join(words[0][len(words[0]) - end :])
    if _SIGN + len(before) + len(after) < _FEWEST_COMMON:
        return (old, "", ""), (new, "", "")
    first, second = ("".join(side[start : len(side) - end]) for side in words)
    return (old[:_SIGN] + before, first, after), (new[:_SIGN] + before, second, after)


def _count_common(old: list[str], new: list[str]) -> int:
    """Return how many words are the same at the start of two lines."""
    both = enumerate(zip(old, new, strict=False))
    return next((number for number, (left, right) in both if left != right), min(len(old), len(new)))


def render_history(history: History) -> str:
    runs, label = history.runs, f"The last {len(history.runs[-MOST_POINTS:]):,} runs"
    return _render(
        "history.html",
        f"History of {len(history.trends):,} baselines",
        verdict=f"{len(history.trends):,} baselines over {len(runs):,} runs",
        facts=f"{runs[0].started} to {runs[-1].started}",
        runs=(outcomes([run.summary for run in runs], label), label),
        sections=[trends_table(history.trends)],
        most=_MOST_LINKED,
    )


# The templates.


def _visible(value: object) -> object:
    """Show the characters that are invisible or that HTML cannot hold as escapes."""
    return value if isinstance(value, Markup) else xml(escape_controls(str(value)))


_FOLDER = Path(__file__).parent
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    finalize=_visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"cut": cut_line, "drawn": drawn, "pairs": pairs}
_TEMPLATES.filters["kind"] = lambda block: type(block).__name__
_MACROS: Any = _TEMPLATES.get_template("blocks.html").module


def show_blocks(blocks: Iterator[Block]) -> Markup:
    shown = [*blocks]
    return Markup(_MACROS.show(shown) if shown else "")


def _render(template: str, title: str, script: str = "", **values: object) -> str:
    style = (_FOLDER / "page.css").read_text("utf-8")
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
    return _TEMPLATES.get_template(template).render(
        title=title,
        style=Markup(style),
        script=Markup(script),
        policy=policy + "base-uri 'none'; form-action 'none'",
        **values,
    )
