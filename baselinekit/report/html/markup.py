"""Builds HTML that is safe from injection, and small pictures of numbers in it: whatever is not `Markup` is
escaped, and only this file makes Markup.

A report needs few elements and attributes, so both are listed, and none of them runs, loads or links to
anything outside. A template language escapes by default but allows all of that, so it would be a dependency
with fewer guarantees. Each picture also has its meaning in words, for those who do not see it."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from math import floor, log10
from pathlib import Path

from baselinekit.escape import html
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Appearance, Result, Summary
from baselinekit.report.wording import format_brief

_EMPTY = {"input", "meta"}
_ELEMENTS = {
    *_EMPTY,
    *("a", "aside", "b", "body", "button", "caption", "code", "dd", "details", "div", "dl", "dt", "fieldset"),
    *("footer", "h1", "h2", "h3", "head", "header", "kbd", "label", "legend", "li", "main", "mark", "ol"),
    *("p", "section", "small", "span", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul"),
    *("svg", "rect", "circle", "polyline"),
}
_ATTRIBUTES = {
    *("id", "class", "type", "name", "value", "role", "scope", "hidden", "open", "checked", "content"),
    *("charset", "http-equiv", "placeholder", "autocomplete", "spellcheck", "data-outcome", "data-do"),
    *("aria-label", "aria-live", "aria-hidden", "href"),
    *("viewBox", "width", "height", "x", "y", "cx", "cy", "r", "points"),
}
MOST_POINTS = 60
"""The most points in a picture: the latest ones."""

_BAR_WIDTH, _BAR_GAP, _CHART_HEIGHT = 8, 2, 40
_LINE_WIDTH, _LINE_HEIGHT = 80, 18
_SCALE_WIDTH = 120
_EDGES = (1, 2, 5)
_SHORTEST, _LONGEST = 1e-7, 1e6

Value = str | int | float | bool | None


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Child = str | None | Iterable["str | None"]


def element(tag: str, *children: Child, **attributes: Value) -> Markup:
    """Return an element. `class_="x"` and `aria_label="y"` are attributes; None and False are left out."""
    if tag not in _ELEMENTS:
        raise ValueError(f"no element of a report: {tag}")
    if not str(attributes.get("href", "#")).startswith("#"):
        raise ValueError("the href of a report leads to its own places alone")
    start = "<" + tag
    for name, value in attributes.items():
        if value is not None and value is not False:
            start += f" {_attribute(name)}" if value is True else f' {_attribute(name)}="{html(str(value))}"'
    start += ">"
    if tag in _EMPTY:
        return Markup(start)
    return Markup(f"{start}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """Join the children, each escaped unless it is Markup."""
    parts = []
    for child in children:
        if isinstance(child, str):
            parts.append(child if isinstance(child, Markup) else html(child))
        elif child is not None:
            parts.append(joined(*child))
    return Markup("".join(parts))


def read_asset(name: str) -> str:
    """Return `page.css` or `page.js` from the folder of this file. The script only adds filters: a report is
    readable without it."""
    return Path(__file__).with_name(name).read_text("utf-8")


def page(title: str, style: str, script: str, body: Markup) -> Markup:
    """Return a whole document that loads nothing and runs only this script."""
    digests = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'"
    ).format(*digests)
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        _verbatim("style", style),
    )
    return Markup(
        f'<!doctype html>\n<html lang="en">\n{element("head", head)}\n'
        f"{element('body', body, _verbatim('script', script))}\n</html>\n"
    )


@cache
def _attribute(name: str) -> str:
    plain = name.rstrip("_").replace("_", "-")
    if plain not in _ATTRIBUTES:
        raise ValueError(f"no attribute of a report: {plain}")
    return plain


def _verbatim(tag: str, text: str) -> Markup:
    """Return our own style or script, which contains nothing from outside."""
    if "</" in text or "<!--" in text:
        raise ValueError(f"this would end the {tag}")
    return Markup(f"<{tag}>{text}</{tag}>")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Child]], kind: str = "") -> Markup:
    """Return a table; the first cell of each row names it. A column without any content is left out."""
    columns = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    rows, heads = [[row[column] for column in columns] for row in rows], [heads[column] for column in columns]
    body = [
        element("tr", element("th", row[0], scope="row"), [element("td", cell) for cell in row[1:]])
        for row in rows
    ]
    table_element = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", [element("th", head, scope="col") for head in heads])),
        element("tbody", body),
        class_=kind or None,
    )
    return element("div", table_element, class_="wide")


def figure(picture: Markup, caption: str) -> Markup:
    return element("div", picture, element("small", caption), class_="figure")


def outcome_picture(runs: Sequence[Summary], label: str) -> Markup:
    """Return a column for each run, divided by the share of each outcome: what did not pass is on top."""
    shown_runs = runs[-MOST_POINTS:]
    columns = []
    for number, summary in enumerate(shown_runs):
        top = 0.0
        for outcome in OUTCOMES:
            share = getattr(summary, outcome) / summary.total if summary.total else 0
            height = round(share * _CHART_HEIGHT, 2)
            if share:
                height = max(1.5, height) if outcome != "passed" else _CHART_HEIGHT - top
                columns.append(
                    element(
                        "rect",
                        class_=outcome,
                        x=number * (_BAR_WIDTH + _BAR_GAP),
                        y=round(top, 2),
                        width=_BAR_WIDTH,
                        height=round(min(height, _CHART_HEIGHT - top), 2),
                    )
                )
            top = min(_CHART_HEIGHT, top + height)
    return _picture(
        len(shown_runs) * (_BAR_WIDTH + _BAR_GAP) - _BAR_GAP,
        _CHART_HEIGHT,
        label,
        joined(columns),
        "outcomes",
    )


def spread_picture(seconds: Sequence[float], label: str) -> Markup:
    """Return a histogram of times with the steps 1, 2, 5, 10 …; nothing if there are too few values."""
    times = [value for value in seconds if _SHORTEST <= value < _LONGEST]
    low, high = (_step(min(times)), _step(max(times))) if times else (0, 0)
    if len(times) < 5 or low == high:
        return Markup("")
    tally = [0] * (high - low + 1)
    for value in times:
        tally[_step(value) - low] += 1
    most = max(tally)
    columns = [
        element(
            "rect",
            element("title", f"{number:,} took {_edge(low + place)} to {_edge(low + place + 1)}"),
            class_="taken",
            x=place * (2 * _BAR_WIDTH + _BAR_GAP),
            y=round(_CHART_HEIGHT - max(1.5, number / most * _CHART_HEIGHT), 2),
            width=2 * _BAR_WIDTH,
            height=round(max(1.5, number / most * _CHART_HEIGHT), 2),
        )
        for place, number in enumerate(tally)
        if number
    ]
    width = len(tally) * (2 * _BAR_WIDTH + _BAR_GAP) - _BAR_GAP
    return _picture(width, _CHART_HEIGHT, label, joined(columns), "spread")


def spark_picture(moments: Sequence[Appearance | Result]) -> Markup:
    """Return a line of the times that a baseline took, with a dot where it did not pass."""
    shown_moments = moments[-MOST_POINTS:]
    if len(shown_moments) < 2:
        return Markup("")
    most = max(moment.seconds for moment in shown_moments) or 1.0
    step = (_LINE_WIDTH - 6) / (len(shown_moments) - 1)
    points = [
        (round(3 + number * step, 1), round(_LINE_HEIGHT - 3 - moment.seconds / most * (_LINE_HEIGHT - 6), 1))
        for number, moment in enumerate(shown_moments)
    ]
    line = element("polyline", class_="line", points=" ".join(f"{x},{y}" for x, y in points))
    dots = [
        element("circle", class_=moment.outcome, cx=x, cy=y, r=2.2)
        for (x, y), moment in zip(points, shown_moments, strict=True)
        if moment.outcome != "passed"
    ]
    failing = len(dots)
    first, last = format_brief(shown_moments[0].seconds), format_brief(shown_moments[-1].seconds)
    label = f"{len(shown_moments)} runs, {failing} not passed, {first} to {last}"
    return _picture(_LINE_WIDTH, _LINE_HEIGHT, label, joined(line, dots), "spark")


def interval_picture(value: float, low: float, high: float, threshold: float | None, label: str) -> Markup:
    """Return a share between 0 and 1 with its interval; a stroke marks the threshold."""
    middle, height = _LINE_HEIGHT / 2, 4
    start, end = _scale_position(low), _scale_position(high)
    parts = [
        element(
            "rect",
            class_="scale",
            x=_scale_position(0),
            y=middle - 0.5,
            width=_scale_position(1) - _scale_position(0),
            height=1,
        ),
        element(
            "rect",
            class_="between",
            x=start,
            y=middle - height / 2,
            width=round(max(1.0, end - start), 1),
            height=height,
        ),
        element("circle", class_="value", cx=_scale_position(value), cy=middle, r=3.5),
    ]
    if threshold is not None:
        parts.append(
            element(
                "rect",
                class_="least",
                x=_scale_position(threshold) - 1,
                y=1,
                width=2,
                height=_LINE_HEIGHT - 2,
            )
        )
    return _picture(_SCALE_WIDTH + 8, _LINE_HEIGHT, label, joined(parts), "interval")


def _scale_position(share: float) -> float:
    """Return the position of a share on the scale."""
    return round(4 + min(1.0, max(0.0, share)) * _SCALE_WIDTH, 1)


def _picture(width: int, height: int, label: str, inside: Markup, kind: str) -> Markup:
    return element(
        "svg",
        inside,
        class_=f"picture {kind}",
        viewBox=f"0 0 {max(width, 1)} {height}",
        width=max(width, 1),
        height=height,
        role="img",
        aria_label=label,
    )


def _step(seconds: float) -> int:
    """Return the number of the step 1, 2, 5, 10 … that a time has reached."""
    power: int = floor(log10(seconds))
    lead = seconds / 10.0**power
    return power * len(_EDGES) + sum(lead >= edge for edge in _EDGES) - 1


def _edge(step: int) -> str:
    power, place = divmod(step, len(_EDGES))
    seconds = _EDGES[place] * 10.0**power
    return f"{seconds:g} s" if seconds >= 1 else f"{round(seconds * 1000, 6):g} ms"
