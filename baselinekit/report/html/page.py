"""One self-contained page: every result, what differs, and how to go on. It loads nothing, works without its
script, and stays of a size that a browser opens: what is cut is said."""

from collections.abc import Iterator

from baselinekit.model.results import OUTCOMES, Against, Report
from baselinekit.report import weakened
from baselinekit.report.html import evals, results, svg
from baselinekit.report.html.markup import Markup, element, joined, page
from baselinekit.report.html.style import SCRIPT, STYLE
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
    body = joined(
        _header(report),
        _said([*collect_warnings(report)[:_MOST_WARNINGS], *_cut(bare, len(ordered) - len(shown))]),
        element(
            "main",
            _revised(report.against),
            evals.sections(report),
            _tools(report),
            element("h2", "Results"),
            rows,
            _run(report),
        ),
        _footer(report),
    )
    return page(f"{headline(report)} – baselinekit", STYLE, SCRIPT, body)


def _cut(bare: int, rows: int) -> Iterator[str]:
    if rows:
        yield f"{rows:,} more results are not in this page: it would be too large (-o x.json)"
    if bare:
        yield f"the details of {bare:,} results are left out: the page would be too large (-o x.json)"


def _header(report: Report) -> Markup:
    tally = [
        element("li", element("b", text), class_=outcome) for outcome, text in count_outcomes(report)
    ] or [element("li", "nothing ran")]
    facts = cut_line(
        " · ".join(part for part in (report.started, report.command, report.commit or "") if part), 300
    )
    about = element(
        "div",
        element("h1", element("small", _whose(report)), _verdict(report), _but(report)),
        element("ul", tally, class_="tally"),
        element("p", facts, class_="dim"),
    )
    return element("header", about, _pictures(report))


def _whose(report: Report) -> str:
    name = evals.title(report)
    return f"baselinekit · {name}" if name else "baselinekit"


def _verdict(report: Report) -> str:
    whole = len(report.results)
    bad = sum(result.outcome != "passed" for result in report.results)
    return f"{bad:,} of {whole:,} did not pass" if bad or not whole else f"All {whole:,} passed"


def _but(report: Report) -> Markup | None:
    """Why it is not all, or not enough."""
    return (
        element("span", f" ({describe_incomplete(report)})", class_="but")
        if describe_incomplete(report)
        else None
    )


def _pictures(report: Report) -> Iterator[Markup]:
    past = [run.summary for run in report.trends.runs]
    if past:
        label = f"The last {len(past[-svg.MOST :]) + 1:,} runs"
        yield _figure(svg.outcomes([*past[1 - svg.MOST :], report.summary], label), label)
    times = [result.seconds for result in report.results if result.seconds]
    span = f"{format_brief(min(times))} to {format_brief(max(times))}" if times else ""
    if picture := svg.spread(times, f"How long each took: {span}"):
        yield _figure(picture, f"{span} each")


def _figure(picture: Markup, caption: str) -> Markup:
    return element("div", picture, element("small", caption), class_="figure")


def _said(texts: list[str]) -> Markup | None:
    if not texts:
        return None
    return element("aside", [element("p", cut_line(text)) for text in texts], aria_label="Notes on the run")


def _revised(against: Against | None) -> Iterator[Markup]:
    """What the change does to the baselines themselves."""
    if against is None:
        return
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
        element("legend", "How differences are laid out"),
        element(
            "label", element("input", type="radio", name="layout", id="unified", checked=True), " unified"
        ),
        element("label", element("input", type="radio", name="layout", id="beside"), " side by side"),
        class_="layout",
    )
    return element("div", script, layout, class_="tools", role="search")


def _run(report: Report) -> Iterator[Markup]:
    facts = {"started": report.started, "took": format_duration(report.seconds), "command": report.command}
    facts |= _of_suite(report)
    facts |= {"tool": report.tool, "configuration": report.config or "none", "run": report.id}
    facts |= {short(name): short(value, 200) for name, value in sorted(report.environment.items())}
    yield element("h2", "The run")
    yield element(
        "dl", [joined(element("dt", name), element("dd", cut_line(text))) for name, text in facts.items()]
    )


def _of_suite(report: Report) -> dict[str, str]:
    if report.suite is None:
        return {}
    facts = {"suite": report.suite.name, "version of the suite": report.suite.version or ""}
    return {name: text for name, text in facts.items() if text}


def _footer(report: Report) -> Markup:
    keys = element(
        "p",
        *("Keys: ", element("kbd", "/"), " filter, ", element("kbd", "j"), " and ", element("kbd", "k")),
        *(
            " next and previous, ",
            element("kbd", "Enter"),
            " open or close, ",
            element("kbd", "Esc"),
            " clear.",
        ),
        class_="keys",
    )
    return element(
        "footer", element("div", keys, class_="only-script", hidden=True), element("p", report.tool)
    )
