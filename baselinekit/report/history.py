"""How baselines did in earlier runs: for the terminal, and as values for programs."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from baselinekit.escape import log, one_line
from baselinekit.model.grades import OUTCOMES, Outcome
from baselinekit.model.results import History, KeptRun, Trend
from baselinekit.model.values import Json
from baselinekit.report.style import Style
from baselinekit.report.values import page
from baselinekit.report.wording import format_seconds
from baselinekit.texts import many

FORMAT = "baselinekit.history/1"

_LETTERS: dict[Outcome, str] = {"passed": ".", "failed": "F", "error": "E", "unscored": "?", "skipped": "-"}
_LEGEND = ". passed  F failed  E error  ? unscored  - skipped"
_BARS = "▁▂▃▄▅▆▇█"
_RECENT = 20
_MOST_ROWS = 50
_FEW = 3


def format_history(history: History, style: Style, bars: bool, everything: bool = False) -> str:
    """A few baselines each with all that is known of it; of many a line for each that did not always pass.
    `bars`: whether whoever reads it can be shown small bar charts."""
    few = len(history.trends) <= _FEW
    told = [*_head(history, style), ""]
    if few:
        for trend in history.trends:
            told += [*_portrait(trend, style, bars), ""]
    else:
        told += _table(history.trends, style, bars, everything)
    told.append(style.paint(_LEGEND, "dim"))
    told += [f"{style.paint('warning', 'yellow')} {file} cannot be read" for file in history.unreadable]
    return log("".join(f"{line}\n" for line in told))


def _head(history: History, style: Style) -> Iterator[str]:
    runs = history.runs
    strip = "".join(_letter(run) for run in runs[-_RECENT:])
    number = many(len(runs), "run")
    yield f"{style.paint(number, 'bold')}  {_since(runs)}   {strip}"


def _since(runs: Sequence[KeptRun]) -> str:
    return one_line(f"{runs[0].started} to {runs[-1].started}")


def _letter(run: KeptRun) -> str:
    return next((_LETTERS[word] for word in OUTCOMES if getattr(run.summary, word)), "-")


def _table(trends: Sequence[Trend], style: Style, bars: bool, everything: bool) -> Iterator[str]:
    doubtful = sorted((one for one in trends if everything or not _is_calm(one)), key=worst_first)
    shown = doubtful if everything else doubtful[:_MOST_ROWS]
    if shown:
        wide = max(8, *(len(one_line(trend.id)) for trend in shown))
        head = (
            f"{'baseline':<{wide}}  {'latest':<{_RECENT}}  passed  flips   median      p95  last regression"
        )
        yield style.paint(head, "dim")
    for trend in shown:
        name = f"{style.paint(one_line(trend.id), 'bold')}{' ' * (wide - len(one_line(trend.id)))}"
        times = f"{format_seconds(trend.median):>7}  {format_seconds(trend.tail):>7}"
        numbers = f"{_rate(trend):>6}  {trend.flips:>5}  {times}"
        yield f"{name}  {_strip(trend):<{_RECENT}}  {numbers}  {_regression(trend)}".rstrip()
    calm = len(trends) - len(doubtful)
    if len(shown) < len(doubtful):
        yield f"… and {len(doubtful) - len(shown):,} more (-v shows all)"
    if calm:
        yield f"{many(calm, 'baseline')} always passed" + ("" if shown else " (-v shows them)")
    yield ""


def _is_calm(trend: Trend) -> bool:
    return all(one.outcome in ("passed", "skipped") for one in trend.seen)


def worst_first(trend: Trend) -> tuple[float, int, str]:
    rate = trend.pass_rate
    return (1.0 if rate is None else rate, -trend.flips, trend.id)


def _portrait(trend: Trend, style: Style, bars: bool) -> Iterator[str]:
    counted = ", ".join(f"{number:,} {word}" for word, number in trend.counts.items() if number)
    yield f"{style.paint(one_line(trend.id), 'bold')}  {_rate(trend)} passed: {counted}"
    yield f"  latest      {_strip(trend)}"
    yield f"  flips       {trend.flips}"
    regression = _regression(trend)
    run = f"  in run {one_line(trend.last_regression.run.id)}" if trend.last_regression else ""
    yield f"  regression  {regression or 'none'}{run}"
    recent = trend.seconds[-_RECENT:]
    picture = f"  {spark(recent)}" if bars else ""
    yield f"  latency     median {format_seconds(trend.median)}, p95 {format_seconds(trend.tail)}{picture}"
    for name, values in trend.scores.items():
        picture = f"  {spark(values[-_RECENT:])}" if bars else ""
        yield f"  score       {one_line(name)}: {values[0]:g} at first, {values[-1]:g} now{picture}"


def _rate(trend: Trend) -> str:
    """Rounded down: 100 % is said only of what never failed."""
    return "-" if trend.pass_rate is None else f"{int(trend.pass_rate * 100)} %"


def _strip(trend: Trend) -> str:
    return "".join(_LETTERS[one.outcome] for one in trend.seen[-_RECENT:])


def _regression(trend: Trend) -> str:
    where = trend.last_regression
    if where is None:
        return ""
    commit = f" at {one_line(where.run.commit[:12])}" if where.run.commit else ""
    return f"{one_line(where.run.started)}{commit}"


def spark(values: Sequence[float]) -> str:
    """A bar for each number; all are low where they hardly differ."""
    if not values:
        return ""
    low, high = min(values), max(values)
    room = max(high - low, abs(high) * 0.05)
    return "".join(
        _BARS[int((value - low) / room * (len(_BARS) - 1))] if room else _BARS[0] for value in values
    )


def format_history_json(history: History) -> str:
    """The same for programs."""
    document: dict[str, Json] = {
        "format": FORMAT,
        "runs": [_run(run) for run in history.runs],
        "baselines": [_trend(trend) for trend in history.trends],
        "unreadable": list(history.unreadable),
    }
    return page(document)


def _run(run: KeptRun) -> dict[str, Json]:
    counts: dict[str, Json] = {word: getattr(run.summary, word) for word in OUTCOMES}
    about = {"id": run.id, "started": run.started, "seconds": run.seconds, "commit": run.commit}
    return {**about, **counts, "complete": run.summary.complete, "file": run.file}


def _trend(trend: Trend) -> dict[str, Json]:
    where = trend.last_regression
    regression = where and {"started": where.run.started, "run": where.run.id, "commit": where.run.commit}
    rate = trend.pass_rate
    return {
        "id": trend.id,
        "runs": len(trend.seen),
        **{str(word): number for word, number in trend.counts.items()},
        "pass_rate": None if rate is None else round(rate, 6),
        "flips": trend.flips,
        "last_regression": regression,
        "latency": {"median_seconds": trend.median, "p95_seconds": trend.tail},
        "scores": {name: _range(values) for name, values in trend.scores.items()},
        "seen": [
            {
                "run": one.run.id,
                "started": one.run.started,
                "outcome": one.outcome,
                "observed_seconds": one.seconds,
            }
            for one in trend.seen
        ],
    }


def _range(values: Iterable[float]) -> dict[str, Json]:
    given = list(values)
    return {"first": given[0], "last": given[-1], "median": median(given), "all": given}
