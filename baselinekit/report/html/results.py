"""One result in the HTML report: the line that says how it went, and all that there is to say behind it."""

from baselinekit.codes import explain
from baselinekit.model.results import Moment, Result
from baselinekit.report.differences import Block, Bounds, blocks, count
from baselinekit.report.html import cases, differences, svg
from baselinekit.report.html.markup import Markup, element, joined
from baselinekit.report.next_commands import refresh_command, select_renewable
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    describe_drift,
    describe_reason,
    describe_unshown,
    describe_usage,
    format_brief,
    format_place,
)
from baselinekit.texts import many

MOST_OPEN = 10
_BOUNDS = Bounds(blocks=200, lines=400)
_MOST_EXPLAINED = 40
_MOST_DRIFTS = 50
_MOST_NOTES = 20
_MOST_REASONS = 20


def row(number: int, result: Result, details: Markup | None, moments: tuple[Moment, ...]) -> Markup:
    differing = count(result)
    told = (result.name, result.criticality, result.verdict, *cases.marks(result))
    about = [cut_line(text or "", 200) for text in told]
    about.append(many(differing, "difference") if differing else "")
    now = Moment("", result.outcome, result.seconds)
    cells = joined(
        element("span", result.outcome, class_="outcome"),
        element("code", cut_line(result.id, 200), class_="id"),
        element("span", " · ".join(part for part in about if part), class_="name"),
        svg.spark([*moments, now]) or element("span"),
        element("span", format_brief(result.seconds), class_="took"),
    )
    named = {"id": f"r{number}", "class_": f"result {result.outcome}", "data_outcome": result.outcome}
    if not details:
        return element("div", element("div", cells, class_="row"), **named)
    opened = number <= MOST_OPEN and result.outcome not in ("passed", "skipped")
    summary = element("summary", cells, class_="row")
    return element("details", summary, element("div", details, class_="inside"), open=opened, **named)


def inside(result: Result) -> Markup | None:
    """What there is to say of a result; of one that passed only what is noteworthy."""
    reason, usage = describe_reason(result), describe_usage(result.usage)
    noted = result.notes or result.environment_drift or reason or cases.is_noteworthy(result)
    if result.outcome == "passed" and not noted:
        return None
    code = explain(result.code) if result.code else None
    more = element("code", f"baselinekit explain {result.code}")
    shown, left_out = blocks(result, bounds=_BOUNDS)
    refresh = refresh_command([result]) if select_renewable([result]) else ""
    return joined(
        element(
            "p",
            element("span", cut_line(format_place(result)), class_="place"),
            element("code", cut_line(result.target)) if result.target else None,
            element("span", usage, class_="dim") if usage else None,
            element("span", f"{result.attempts} attempts", class_="dim") if result.attempts > 1 else None,
            class_="where",
        ),
        [element("p", cut_line(line)) for line in reason.splitlines()[:_MOST_REASONS]],
        element("p", f"{result.code}: {code.title}. More: ", more, class_="dim") if code else None,
        [_block(block) for block in shown],
        element("p", describe_unshown(left_out), class_="dim") if left_out else None,
        cases.behind(result),
        _drift(result),
        [element("p", f"note: {cut_line(note)}", class_="dim") for note in result.notes[:_MOST_NOTES]],
        _explained(result),
        element("p", "Is the new answer right? ", element("code", refresh), class_="renew")
        if refresh
        else None,
    )


def _block(block: Block) -> Markup:
    head = element(
        "h3",
        element("code", block.path),
        element("span", block.remark, class_="dim") if block.remark else None,
        element("span", block.place, class_="place") if block.place else None,
    )
    return element("section", head, differences.lines(block.lines), class_="diff")


def _drift(result: Result) -> Markup | None:
    changed, commits = describe_drift(result)
    if not changed:
        return element("p", f"changed since capture: {commits}", class_="dim") if commits else None
    rows = [
        element(
            "tr",
            element("th", short(name), scope="row"),
            element("td", short(was)),
            element("td", short(now)),
        )
        for name, was, now in changed[:_MOST_DRIFTS]
    ]
    heads = [element("th", text, scope="col") for text in ("what", "then", "now")]
    made = element(
        "table",
        element("caption", "Changed since capture"),
        element("thead", element("tr", heads)),
        element("tbody", rows),
    )
    return joined(made, element("p", commits, class_="dim") if commits else None)


def _explained(result: Result) -> Markup | None:
    if not result.explanation or result.case is not None:  # of a case the same stands above, in tables
        return None
    said = [element("div", cut_line(line)) for line in result.explanation[:_MOST_EXPLAINED]]
    more = len(result.explanation) - _MOST_EXPLAINED
    rest = element("div", f"… and {more:,} more lines") if more > 0 else None
    return element("details", element("summary", "In words"), element("div", said, rest, class_="said"))
