"""Small pictures of numbers, as shapes that a template draws. Each has its meaning in words too, for
people who do not see it."""

from collections.abc import Sequence

from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Appearance, Result, Summary
from baselinekit.report.blocks import Interval
from baselinekit.report.wording import format_seconds
from baselinekit.structs import Struct

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
    for number, summary in enumerate(shown_runs):
        top = 0.0
        for outcome in OUTCOMES:
            share = getattr(summary, outcome) / summary.total if summary.total else 0
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
    middle, value, low, high = _LINE_HEIGHT / 2, *map(_position, (share.value, share.low, share.high))
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
