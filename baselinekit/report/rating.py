"""What people see who rate outputs: one output with everything that belongs to it, the question and its keys,
and the list of what waits."""

from collections.abc import Sequence

from baselinekit.escape import escape_ci_commands, escape_controls, one_line
from baselinekit.files.languages import dump_yaml
from baselinekit.model.ratings import ItemStatus, Sheet
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, table, terminal_lines
from baselinekit.report.values import cut_line, page, short
from baselinekit.report.wording import Style, cut_to_width, format_lines, wrap_lines
from baselinekit.structs import replace
from baselinekit.values.texts import mask_and_clip, no_mask

_LONGEST = 100_000
_KEYS = {"s": "skip", "u": "undo", "q": "quit"}


def format_sheet(sheet: Sheet, place: str, style: Style) -> str:
    """Format all that a rating is based on; it stays on the screen, to be scrolled back to."""
    item, shown = sheet.item, sheet.item.shown
    limit = f"   {sheet.minutes:g} min at most" if sheet.minutes is not None else ""
    lines = ["", f"{place}  {style.paint(one_line(item.case), 'bold')}  {one_line(item.grader)}{limit}"]
    if shown.title != item.case:
        lines.append(escape_controls(mask_and_clip(shown.title, _LONGEST, no_mask)))
    outputs = [("output", shown.output)]
    if shown.items:
        outputs = [(f"output {number}", output) for number, output in enumerate(shown.items, 1)]
    parts = [
        ("how to rate", shown.rubric),
        ("input", shown.input),
        *((name, _output_text(output)) for name, output in outputs),
        ("expected", shown.expected),
        ("origin", "\n".join(f"{name}: {short(value)}" for name, value in sheet.about.items())),
        ("rated so far", "\n".join(sheet.said)),
    ]
    for heading, text in parts:
        if text:
            cut = escape_controls(mask_and_clip(text, _LONGEST, no_mask))
            lines += ["", style.paint(heading, "cyan"), *(f"  {line}" for line in cut.split("\n"))]
    return format_lines(lines)


def _output_text(value: Json) -> str:
    """Return an output for people: a text unchanged, also one within a mapping."""
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        value = value["text"]
    if isinstance(value, str):
        return value or "(empty)"
    return dump_yaml(value).rstrip("\n") if value not in ([], {}) else str(value)


def format_question(sheet: Sheet, number: int, typed: str, message: str, style: Style) -> list[str]:
    """Return the current question and the keys. `typed`: what was entered so far; `message`: on the last
    key."""
    columns = max(20, style.width - 1)
    question = sheet.questions[number]
    lines = [""]
    if len(sheet.questions) > 1:
        lines.append(f"{number + 1} of {len(sheet.questions)}  {style.paint(cut_line(question), 'bold')}")
    elif question:
        lines.append(style.paint(cut_line(question), "bold"))
    if sheet.item.method.rating_scale.type == "ranking":
        ties = "  = ties it with the next" if sheet.item.method.rating_scale.tie_allowed else ""
        lines.append(f"type the numbers, best first{ties}")
    else:
        choices = [f"{style.paint(key, 'bold')} {one_line(word)}".rstrip() for key, word in sheet.choices]
        lines += wrap_lines(choices, columns, "   ")
    if message:
        lines.append(style.paint(cut_line(message), "yellow"))
    lines += wrap_lines([f"{style.paint(key, 'bold')} {word}" for key, word in _KEYS.items()], columns)
    lines.append(f"> {one_line(typed)}")
    return [escape_ci_commands(cut_to_width(line, columns)) for line in lines]


def describe_count(count: int, least: int) -> str:
    """Describe how many people have rated, of those required; there may be more."""
    return f"{count} of {least} have rated" if count <= least else f"{count} have rated"


def format_queue(standings: Sequence[ItemStatus], style: Style) -> str:
    """Format one line for each item: how many have rated it, and the result so far."""
    rows = []
    for standing in standings:
        item, ratings = standing.item, standing.item.ratings
        state = standing.grade.verdict or standing.grade.outcome
        rated = describe_count(len(ratings), item.method.evaluators.min_required).replace("have ", "")
        names = "" if item.method.blind_evaluation else ", ".join(rating.rater for rating in ratings)
        rows.append((Cell(state, standing.grade.outcome), item.case, item.grader, rated, item.key[:8], names))
    heads = ("state", "case", "grader", "rated", "item", "by")
    return format_lines(terminal_lines([table(heads, rows)] if rows else [], replace(style, verbose=True)))


def format_queue_json(standings: Sequence[ItemStatus], expectations: Sequence[str]) -> str:
    """Return the queue as JSON for programs."""
    items = [_queue_entry(standing, words) for standing, words in zip(standings, expectations, strict=True)]
    return page({"items": items})


def _queue_entry(standing: ItemStatus, expectation: str) -> dict[str, Json]:
    item, grade, people = standing.item, standing.grade, standing.item.method.evaluators
    shown, is_blind = item.shown, item.method.blind_evaluation
    outputs: dict[str, Json] = {"items": list(shown.items)} if shown.items else {"output": shown.output}
    if shown.expected:
        outputs["expected"] = shown.expected
    raters = [rating.rater for rating in item.ratings]
    return {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        **{name: getattr(grade, name) for name in ("outcome", "verdict", "score", "reason")},
        "open": standing.is_open,
        "rated": len(raters),
        "required": people.min_required,
        "allowed": people.max_allowed,
        "wanted": expectation,
        "opened_at": item.opened_at,
        "shown": {
            **{name: getattr(shown, name) for name in ("title", "rubric", "input")},
            **outputs,
            **({} if is_blind else {"about": dict(shown.about)}),
        },
        **({} if is_blind else {"raters": raters}),
        **({"agreement": grade.details["agreement"]} if "agreement" in grade.details else {}),
    }
