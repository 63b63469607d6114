"""How baselines did in earlier runs: for the terminal, and as values for programs."""

from collections.abc import Iterator, Sequence
from statistics import median

from baselinekit.escape import one_line
from baselinekit.model.grades import OUTCOMES, Outcome
from baselinekit.model.results import History, Trend
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, Table, table, terminal_lines
from baselinekit.report.values import page
from baselinekit.report.wording import Style, format_lines, format_seconds
from baselinekit.values.texts import count_noun

FORMAT = "baselinekit.history/1"

_LETTERS: dict[Outcome, str] = {"passed": ".", "failed": "F", "error": "E", "unscored": "?", "skipped": "-"}
_LEGEND = ". passed  F failed  E error  ? unscored  - skipped"
_RECENT = 20
_MOST_DETAILED = 3


def format_history(history: History, style: Style) -> str:
    """Format a few baselines with all their details; of many, one line for each that did not always pass."""
    runs = history.runs
    letters = (next((_LETTERS[one] for one in OUTCOMES if getattr(run.summary, one)), "-") for run in runs)
    since = one_line(f"{runs[0].started} to {runs[-1].started}")
    strip = "".join(letters)[-_RECENT:]
    lines = [f"{style.paint(count_noun(len(runs), 'run'), 'bold')}  {since}   {strip}", ""]
    if len(history.trends) <= _MOST_DETAILED:
        for trend in history.trends:
            lines += [*_describe_trend(trend, style), ""]
    else:
        usual = {"passed", "skipped"}
        doubtful = [
            one for one in history.trends if style.verbose or {run.outcome for run in one.seen} - usual
        ]
        lines += terminal_lines([trends_table(doubtful)] if doubtful else [], style)
        if steady := len(history.trends) - len(doubtful):
            hint = "" if doubtful else " (-v shows them)"
            lines.append(f"{count_noun(steady, 'baseline')} always passed{hint}")
        lines.append("")
    lines.append(style.paint(_LEGEND, "dim"))
    lines += [
        f"{style.paint('warning', 'yellow')} {one_line(file)} cannot be read" for file in history.unreadable
    ]
    return format_lines(lines)


def trends_table(trends: Sequence[Trend]) -> Table:
    """Return a row for each baseline, the worst first."""
    rated = [(1.0 if one.pass_rate is None else one.pass_rate, -one.flips, one.id) for one in trends]
    rows = [
        (
            Cell(trend.id, is_code=True),
            _strip(trend),
            _format_rate(trend),
            f"{trend.flips}",
            format_seconds(trend.median),
            format_seconds(trend.tail),
            _regression(trend),
        )
        for _, trend in sorted(zip(rated, trends, strict=True), key=lambda pair: pair[0])
    ]
    heads = ("baseline", "latest", "passed", "flips", "median", "p95", "last regression")
    return table(heads, rows, figures=True)


def _describe_trend(trend: Trend, style: Style) -> Iterator[str]:
    counted = ", ".join(f"{number:,} {word}" for word, number in trend.counts.items() if number)
    yield f"{style.paint(one_line(trend.id), 'bold')}  {_format_rate(trend)} passed: {counted}"
    yield f"  latest      {_strip(trend)}"
    yield f"  flips       {trend.flips}"
    run = f"  in run {one_line(trend.last_regression.run.id)}" if trend.last_regression else ""
    yield f"  regression  {_regression(trend) or 'none'}{run}"
    middle, tail = format_seconds(trend.median), format_seconds(trend.tail)
    yield f"  latency     median {middle}, p95 {tail}"
    for name, values in trend.scores.items():
        yield f"  score       {one_line(name)}: {values[0]:g} at first, {values[-1]:g} now"


def _format_rate(trend: Trend) -> str:
    """Return the pass rate, rounded down: only what never failed has 100 %."""
    return "-" if trend.pass_rate is None else f"{int(trend.pass_rate * 100)} %"


def _strip(trend: Trend) -> str:
    return "".join(_LETTERS[run.outcome] for run in trend.seen[-_RECENT:])


def _regression(trend: Trend) -> str:
    regressed = trend.last_regression
    if regressed is None:
        return ""
    commit = f" at {one_line(regressed.run.commit[:12])}" if regressed.run.commit else ""
    return f"{one_line(regressed.run.started)}{commit}"


def format_history_json(history: History) -> str:
    """Return the history as JSON for programs."""
    runs = [
        {
            **{name: getattr(run, name) for name in ("id", "started", "seconds", "commit", "file")},
            **{name: getattr(run.summary, name) for name in (*OUTCOMES, "complete")},
        }
        for run in history.runs
    ]
    baselines = [_trend_document(trend) for trend in history.trends]
    unreadable = list(history.unreadable)
    return page({"format": FORMAT, "runs": runs, "baselines": baselines, "unreadable": unreadable})


def _trend_document(trend: Trend) -> dict[str, Json]:
    regressed, rate = trend.last_regression, trend.pass_rate
    return {
        "id": trend.id,
        "runs": len(trend.seen),
        **{str(word): number for word, number in trend.counts.items()},
        "pass_rate": None if rate is None else round(rate, 6),
        "flips": trend.flips,
        "last_regression": regressed
        and {"started": regressed.run.started, "run": regressed.run.id, "commit": regressed.run.commit},
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
