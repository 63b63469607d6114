"""Small pictures of numbers: how runs went, how long a baseline took, and how a run's times are spread.

Each has its meaning in words as well, for those who do not see it."""

from collections.abc import Sequence
from math import floor, log10

from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Moment, Summary
from baselinekit.report.html.markup import Markup, element, joined
from baselinekit.report.wording import format_brief

MOST = 60
"""Points in a picture, the latest."""

_BAR, _GAP, _TALL = 8, 2, 40
_WIDE, _LOW = 80, 18
_SCALE = 120
_EDGES = (1, 2, 5)
_SHORTEST, _LONGEST = 1e-7, 1e6


def outcomes(runs: Sequence[Summary], label: str) -> Markup:
    """A column a run, as high as its part of all that ran: what did not pass stands on top."""
    shown = runs[-MOST:]
    columns = []
    for number, summary in enumerate(shown):
        top = 0.0
        for outcome in OUTCOMES:
            share = getattr(summary, outcome) / summary.total if summary.total else 0
            height = round(share * _TALL, 2)
            if share:
                height = max(1.5, height) if outcome != "passed" else _TALL - top
                columns.append(_column(number, top, min(height, _TALL - top), outcome))
            top = min(_TALL, top + height)
    return _picture(len(shown) * (_BAR + _GAP) - _GAP, _TALL, label, joined(columns), "outcomes")


def spread(seconds: Sequence[float], label: str) -> Markup:
    """How many took how long: a column for each step of 1, 2, 5, 10 …; nothing where there is too little."""
    taken = [value for value in seconds if _SHORTEST <= value < _LONGEST]
    low, high = (_step(min(taken)), _step(max(taken))) if taken else (0, 0)
    if len(taken) < 5 or low == high:
        return Markup("")
    tally = [0] * (high - low + 1)
    for value in taken:
        tally[_step(value) - low] += 1
    most = max(tally)
    columns = [
        element(
            "rect",
            element("title", f"{number:,} took {_edge(low + place)} to {_edge(low + place + 1)}"),
            class_="taken",
            x=place * (2 * _BAR + _GAP),
            y=round(_TALL - max(1.5, number / most * _TALL), 2),
            width=2 * _BAR,
            height=round(max(1.5, number / most * _TALL), 2),
        )
        for place, number in enumerate(tally)
        if number
    ]
    width = len(tally) * (2 * _BAR + _GAP) - _GAP
    return _picture(width, _TALL, label, joined(columns), "spread")


def spark(moments: Sequence[Moment]) -> Markup:
    """A line of the times that a baseline took; where it did not pass there is a dot."""
    shown = moments[-MOST:]
    if len(shown) < 2:
        return Markup("")
    most = max(moment.seconds for moment in shown) or 1.0
    step = (_WIDE - 6) / (len(shown) - 1)
    places = [
        (round(3 + number * step, 1), round(_LOW - 3 - moment.seconds / most * (_LOW - 6), 1))
        for number, moment in enumerate(shown)
    ]
    line = element("polyline", class_="line", points=" ".join(f"{x},{y}" for x, y in places))
    dots = [
        element("circle", class_=moment.outcome, cx=x, cy=y, r=2.2)
        for (x, y), moment in zip(places, shown, strict=True)
        if moment.outcome != "passed"
    ]
    bad = len(dots)
    first, last = format_brief(shown[0].seconds), format_brief(shown[-1].seconds)
    label = f"{len(shown)} runs, {bad} not passed, {first} to {last}"
    return _picture(_WIDE, _LOW, label, joined(line, dots), "spark")


def interval(value: float, low: float, high: float, threshold: float | None, label: str) -> Markup:
    """A share between 0 and 1 with how sure it is; a stroke across stands where it has to reach."""
    middle, height = _LOW / 2, 4
    start, end = _across(low), _across(high)
    parts = [
        element(
            "rect", class_="scale", x=_across(0), y=middle - 0.5, width=_across(1) - _across(0), height=1
        ),
        element(
            "rect",
            class_="between",
            x=start,
            y=middle - height / 2,
            width=round(max(1.0, end - start), 1),
            height=height,
        ),
        element("circle", class_="value", cx=_across(value), cy=middle, r=3.5),
    ]
    if threshold is not None:
        parts.append(element("rect", class_="least", x=_across(threshold) - 1, y=1, width=2, height=_LOW - 2))
    return _picture(_SCALE + 8, _LOW, label, joined(parts), "interval")


def _across(share: float) -> float:
    """Where on the scale a share stands."""
    return round(4 + min(1.0, max(0.0, share)) * _SCALE, 1)


def _column(number: int, top: float, height: float, outcome: str) -> Markup:
    return element(
        "rect", class_=outcome, x=number * (_BAR + _GAP), y=round(top, 2), width=_BAR, height=round(height, 2)
    )


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
    """The number of the step 1, 2, 5, 10 … that a time has reached."""
    power: int = floor(log10(seconds))
    lead = seconds / 10.0**power
    return power * len(_EDGES) + sum(lead >= edge for edge in _EDGES) - 1


def _edge(step: int) -> str:
    power, place = divmod(step, len(_EDGES))
    seconds = _EDGES[place] * 10.0**power
    return f"{seconds:g} s" if seconds >= 1 else f"{round(seconds * 1000, 6):g} ms"
