"""How baselines did in earlier runs: for the terminal, and as values for programs."""

from collections.abc import Iterator, Sequence
from statistics import median

from baselinekit.escape import one_line
from baselinekit.model.grades import OUTCOMES, Outcome
from baselinekit.model.results import History, Trend
from baselinekit.model.values import Json
from baselinekit.report.blocks import table, terminal_lines
from baselinekit.report.values import page
from baselinekit.report.wording import Style, format_lines, format_seconds
from baselinekit.values.texts import count_noun

FORMAT = "baselinekit.history/1"

_LETTERS: dict[Outcome, str] = {"passed": ".", "failed": "F", "error": "E", "unscored": "?", "skipped": "-"}
_LEGEND = ". passed  F failed  E error  ? unscored  - skipped"
_BARS = "▁▂▃▄▅▆▇█"
_RECENT = 20
_MOST_DETAILED = 3


def format_history(history: History, style: Style, bars: bool) -> str:
    """Format a few baselines with all their details; of many, one line for each that did not always pass.
    `bars`: whether the terminal can show small bar charts."""
    runs = history.runs
    strip = "".join(
        next((_LETTERS[word] for word in OUTCOMES if getattr(run.summary, word)), "-")
        for run in runs[-_RECENT:]
    )
    since = one_line(f"{runs[0].started} to {runs[-1].started}")
    lines = [f"{style.paint(count_noun(len(runs), 'run'), 'bold')}  {since}   {strip}", ""]
    if len(history.trends) <= _MOST_DETAILED:
        for trend in history.trends:
            lines += [*describe_trend(trend, style, bars), ""]
    else:
        lines += _table(history.trends, style)
    lines.append(style.paint(_LEGEND, "dim"))
    lines += [f"{style.paint('warning', 'yellow')} {file} cannot be read" for file in history.unreadable]
    return format_lines(lines)


def _table(trends: Sequence[Trend], style: Style) -> Iterator[str]:
    """Yield a line for each baseline that did not always pass; with `verbose`, for every one."""
    doubtful = [
        trend
        for trend in trends
        if style.verbose or any(run.outcome not in ("passed", "skipped") for run in trend.seen)
    ]
    if doubtful:
        rows = [
            (
                trend.id,
                _strip(trend),
                format_rate(trend, "-"),
                f"{trend.flips}",
                format_seconds(trend.median),
                format_seconds(trend.tail),
                _regression(trend),
            )
            for trend in sorted(doubtful, key=worst_first)
        ]
        heads = ("baseline", "latest", "passed", "flips", "median", "p95", "last regression")
        yield from terminal_lines([table(heads, rows, figures=True)], style)
    if steady_count := len(trends) - len(doubtful):
        hint = "" if doubtful else " (-v shows them)"
        yield f"{count_noun(steady_count, 'baseline')} always passed{hint}"
    yield ""


def worst_first(trend: Trend) -> tuple[float, int, str]:
    rate = trend.pass_rate
    return (1.0 if rate is None else rate, -trend.flips, trend.id)


def describe_trend(trend: Trend, style: Style, bars: bool) -> Iterator[str]:
    counted = ", ".join(f"{number:,} {word}" for word, number in trend.counts.items() if number)
    yield f"{style.paint(one_line(trend.id), 'bold')}  {format_rate(trend, '-')} passed: {counted}"
    yield f"  latest      {_strip(trend)}"
    yield f"  flips       {trend.flips}"
    run = f"  in run {one_line(trend.last_regression.run.id)}" if trend.last_regression else ""
    yield f"  regression  {_regression(trend) or 'none'}{run}"
    picture = f"  {spark(trend.seconds[-_RECENT:])}" if bars else ""
    yield f"  latency     median {format_seconds(trend.median)}, p95 {format_seconds(trend.tail)}{picture}"
    for name, values in trend.scores.items():
        picture = f"  {spark(values[-_RECENT:])}" if bars else ""
        yield f"  score       {one_line(name)}: {values[0]:g} at first, {values[-1]:g} now{picture}"


def format_rate(trend: Trend, unknown: str) -> str:
    """Return the pass rate, rounded down: only what never failed has 100 %."""
    return unknown if trend.pass_rate is None else f"{int(trend.pass_rate * 100)} %"


def _strip(trend: Trend) -> str:
    return "".join(_LETTERS[run.outcome] for run in trend.seen[-_RECENT:])


def _regression(trend: Trend) -> str:
    regressed = trend.last_regression
    if regressed is None:
        return ""
    commit = f" at {one_line(regressed.run.commit[:12])}" if regressed.run.commit else ""
    return f"{one_line(regressed.run.started)}{commit}"


def spark(values: Sequence[float]) -> str:
    """Return a bar for each number; all are low if they hardly differ."""
    if not values:
        return ""
    low, high = min(values), max(values)
    room = max(high - low, abs(high) * 0.05)
    return "".join(
        _BARS[int((value - low) / room * (len(_BARS) - 1))] if room else _BARS[0] for value in values
    )


def format_history_json(history: History) -> str:
    """Return the history as JSON for programs."""
    document: dict[str, Json] = {
        "format": FORMAT,
        "runs": [
            {
                **{name: getattr(run, name) for name in ("id", "started", "seconds", "commit")},
                **{word: getattr(run.summary, word) for word in OUTCOMES},
                "complete": run.summary.complete,
                "file": run.file,
            }
            for run in history.runs
        ],
        "baselines": [trend_document(trend) for trend in history.trends],
        "unreadable": list(history.unreadable),
    }
    return page(document)


def trend_document(trend: Trend) -> dict[str, Json]:
    regressed = trend.last_regression
    regression = regressed and {
        "started": regressed.run.started,
        "run": regressed.run.id,
        "commit": regressed.run.commit,
    }
    rate = trend.pass_rate
    return {
        "id": trend.id,
        "runs": len(trend.seen),
        **{str(word): number for word, number in trend.counts.items()},
        "pass_rate": None if rate is None else round(rate, 6),
        "flips": trend.flips,
        "last_regression": regression,
        "latency": {"median_seconds": trend.median, "p95_seconds": trend.tail},
        "scores": {
            name: {"first": values[0], "last": values[-1], "median": median(values), "all": list(values)}
            for name, values in trend.scores.items()
        },
        "seen": [
            {
                "run": past.run.id,
                "started": past.run.started,
                "outcome": past.outcome,
                "observed_seconds": past.seconds,
            }
            for past in trend.seen
        ],
    }
