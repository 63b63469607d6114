"""The same as one self-contained page."""

from baselinekit.model.results import History, Moment, Trend
from baselinekit.report.history import worst_first
from baselinekit.report.html import svg
from baselinekit.report.html.markup import Markup, element, joined, page, read_asset
from baselinekit.report.html.page import figure
from baselinekit.report.values import cut_line
from baselinekit.report.wording import format_seconds

MOST_ROWS = 2_000

_STYLE = """
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: 13px; color: var(--dim); font-weight: 600; }
th, td { padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--edge); vertical-align: middle; }
td.number, th.number { text-align: right; }
main { overflow-x: auto; }
"""
_COLUMNS = ("Baseline", "Passed", "Flips", "Runs", "Median", "95 % within", "Latency", "Last regression")
_NUMBERS = {"Passed", "Flips", "Runs", "Median", "95 % within"}


def render_history(history: History) -> str:
    trends = sorted(history.trends, key=worst_first)
    shown, cut = trends[:MOST_ROWS], len(trends) - MOST_ROWS
    head = [
        element("th", name, scope="col", class_="number" if name in _NUMBERS else None) for name in _COLUMNS
    ]
    body = joined(
        _header(history),
        element("aside", element("p", f"{cut:,} more are not in this page")) if cut > 0 else None,
        element(
            "main",
            element(
                "table",
                element("thead", element("tr", head)),
                element("tbody", [_row(trend) for trend in shown]),
            ),
        ),
    )
    return page(
        f"History of {len(trends):,} baselines – baselinekit", read_asset("page.css") + _STYLE, "", body
    )


def _header(history: History) -> Markup:
    runs = history.runs
    label = f"The last {len(runs[-svg.MOST :]):,} runs"
    about = element(
        "div",
        element(
            "h1",
            element("small", "baselinekit"),
            f"{len(history.trends):,} baselines over {len(runs):,} runs",
        ),
        element("p", f"{runs[0].started} to {runs[-1].started}", class_="dim"),
    )
    picture = svg.outcomes([run.summary for run in runs[-svg.MOST :]], label)
    return element("header", about, figure(picture, label))


def _row(trend: Trend) -> Markup:
    where = trend.last_regression
    since = " at ".join(part for part in (where.run.started, where.run.commit or "") if part) if where else ""
    moments = [Moment(one.run.started, one.outcome, one.seconds) for one in trend.seen]
    numbers = (
        "–" if trend.pass_rate is None else f"{int(trend.pass_rate * 100)} %",
        f"{trend.flips}",
        f"{len(trend.seen):,}",
        format_seconds(trend.median),
        format_seconds(trend.tail),
    )
    scores = [
        element("div", element("small", f"{cut_line(name, 80)}: {values[0]:g} at first, {values[-1]:g} now"))
        for name, values in trend.scores.items()
    ]
    return element(
        "tr",
        element("th", element("code", cut_line(trend.id, 200)), scores, scope="row"),
        [element("td", number, class_="number") for number in numbers],
        element("td", svg.spark(moments)),
        element("td", cut_line(since, 120), class_="dim"),
    )
