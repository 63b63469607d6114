"""One self-contained page: every result, what differs, and how to go on. It loads nothing, works without its
script, and stays of a size that a browser opens: what is cut is said."""

from collections.abc import Iterator

from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Against, Report
from baselinekit.report import weakened
from baselinekit.report.html import evals, results, svg
from baselinekit.report.html.markup import Markup, element, joined, page, read_asset
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    collect_warnings,
    count_outcomes,
    describe_incomplete,
    format_brief,
    format_duration,
    headline,
)

MOST_ROWS = 20_000
LONGEST = 6_000_000
"""Characters of all details together."""

_MOST_REVISED = 500
_MOST_WARNINGS = 50


def render(report: Report) -> str:
    ordered = sorted(report.results, key=lambda result: OUTCOMES.index(result.outcome))
    shown = ordered[:MOST_ROWS]
    room, bare, rows = LONGEST, 0, []
    for number, result in enumerate(shown, 1):
        inside = results.inside(result) if room > 0 else None
        room -= len(inside or "")
        bare += inside is None and result.outcome != "passed"
        rows.append(results.row(number, result, inside, report.trends.moments.get(result.id, ())))
    notes = collect_warnings(report)[:_MOST_WARNINGS]
    if left_out := len(ordered) - len(shown):
        notes.append(f"{left_out:,} more results are not in this page: it would be too large (-o x.json)")
    if bare:
        cut = f"the details of {bare:,} results are left out"
        notes.append(f"{cut}: the page would be too large (-o x.json)")
    aside = [element("p", cut_line(note)) for note in notes]
    body = joined(
        _header(report),
        element("aside", aside, aria_label="Notes on the run") if aside else None,
        element(
            "main",
            _weakened(report.against) if report.against else None,
            evals.sections(report),
            _tools(report),
            element("h2", "Results"),
            rows,
            _run(report),
        ),
        _footer(report),
    )
    return page(f"{headline(report)} – baselinekit", read_asset("page.css"), read_asset("page.js"), body)


def _header(report: Report) -> Markup:
    outcomes = [element("li", element("b", text), class_=outcome) for outcome, text in count_outcomes(report)]
    stated = " · ".join(filter(None, (report.started, report.command, report.commit)))
    name, but = evals.title(report), describe_incomplete(report)
    whole, bad = len(report.results), sum(result.outcome != "passed" for result in report.results)
    verdict = f"{bad:,} of {whole:,} did not pass" if bad or not whole else f"All {whole:,} passed"
    about = element(
        "div",
        element(
            "h1",
            element("small", f"baselinekit · {name}" if name else "baselinekit"),
            verdict,
            element("span", f" ({but})", class_="but") if but else None,
        ),
        element("ul", outcomes or element("li", "nothing ran"), class_="tally"),
        element("p", cut_line(stated, 300), class_="dim"),
    )
    return element("header", about, _pictures(report))


def _pictures(report: Report) -> Iterator[Markup]:
    past = [run.summary for run in report.trends.runs]
    if past:
        label = f"The last {len(past[-svg.MOST :]) + 1:,} runs"
        yield figure(svg.outcomes([*past[1 - svg.MOST :], report.summary], label), label)
    times = [result.seconds for result in report.results if result.seconds]
    span = f"{format_brief(min(times))} to {format_brief(max(times))}" if times else ""
    if picture := svg.spread(times, f"How long each took: {span}"):
        yield figure(picture, f"{span} each")


def figure(picture: Markup, caption: str) -> Markup:
    return element("div", picture, element("small", caption), class_="figure")


def _weakened(against: Against) -> Iterator[Markup]:
    """What the change does to the baselines themselves."""
    yield element("h2", weakened.headline(against))
    if not against.changes:
        return
    rows = [
        element(
            "tr",
            element("th", one.change, scope="row", class_="failed" if one in against.weakened else "passed"),
            element(
                "td",
                element("code", cut_line(one.id)),
                " ",
                element("span", f"{one.file}:{one.line or 1}", class_="place"),
            ),
            element("td", "; ".join(cut_line(way) for way in one.how)),
        )
        for one in weakened.worst_first(against)[:_MOST_REVISED]
    ]
    yield element("table", element("tbody", rows))
    if more := len(against.changes) - len(rows):
        yield element("p", f"… and {more:,} more", class_="dim")


def _tools(report: Report) -> Markup:
    boxes = [
        element(
            "label",
            element("input", type="checkbox", value=outcome, checked=True, data_do="outcome"),
            f" {text}",
        )
        for outcome, text in count_outcomes(report)
    ]
    script = element(
        "div",
        element(
            "input",
            type="search",
            id="filter",
            placeholder="Filter: words of id, path or value  ( / )",
            aria_label="Filter the results",
            autocomplete="off",
            spellcheck="false",
        ),
        element("fieldset", element("legend", "Outcomes"), boxes),
        element("button", "Expand all", type="button", id="open"),
        element("button", "Collapse all", type="button", id="close"),
        element("span", id="said", class_="dim", role="status", aria_live="polite"),
        class_="only-script",
        hidden=True,
    )
    layout = element(
        "fieldset",
        element("legend", "Layout of differences"),
        element(
            "label", element("input", type="radio", name="layout", id="unified", checked=True), " unified"
        ),
        element("label", element("input", type="radio", name="layout", id="beside"), " side by side"),
        class_="layout",
    )
    return element("div", script, layout, class_="tools", role="search")


def _run(report: Report) -> Iterator[Markup]:
    facts = {"started": report.started, "took": format_duration(report.seconds), "command": report.command}
    if report.suite is not None:
        suite = {"suite": report.suite.name, "suite version": report.suite.version}
        facts |= {name: text for name, text in suite.items() if text}
    facts |= {"tool": report.tool, "configuration": report.config or "none", "run": report.id}
    facts |= {short(name): short(value, 200) for name, value in sorted(report.environment.items())}
    yield element("h2", "The run")
    yield element(
        "dl", [joined(element("dt", name), element("dd", cut_line(text))) for name, text in facts.items()]
    )


def _footer(report: Report) -> Markup:
    slash, j, k, enter, escape = (element("kbd", key) for key in ("/", "j", "k", "Enter", "Esc"))
    parts = "Keys: ", slash, " filter, ", j, " and ", k, " next and previous, ", enter
    keys = element("p", parts, " open or close, ", escape, " clear.", class_="keys")
    return element(
        "footer", element("div", keys, class_="only-script", hidden=True), element("p", report.tool)
    )
