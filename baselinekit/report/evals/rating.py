"""What a person sees who rates: one output with all that belongs to it, and what waits, as a list."""

from collections.abc import Sequence

from baselinekit.documents.languages import dump_yaml
from baselinekit.escape import log, one_line, visible
from baselinekit.model.grades import Sheet, Standing
from baselinekit.model.values import Json
from baselinekit.report.style import Style, fitted, format_lines, wrapped
from baselinekit.report.values import cut_line, page, short
from baselinekit.texts import already_masked, clipped

_LONGEST = 100_000
_KEYS = (
    *(("n", "note"), ("N", "note for the last"), ("s", "skip")),
    *(("u", "undo"), ("v", "view again"), ("q", "quit")),
)
_COLOURS = {"pending": "yellow", "disputed": "bold yellow", "passed": "green", "failed": "bold red"}


def format_sheet(sheet: Sheet, place: str, style: Style) -> str:
    """All that a rating is made from; it stays on the screen, to be scrolled back to."""
    item, shown = sheet.item, sheet.item.shown
    limit = f"   {sheet.minutes:g} min at most" if sheet.minutes is not None else ""
    lines = ["", f"{place}  {style.paint(one_line(item.case), 'bold')}  {one_line(item.grader)}{limit}"]
    if shown.title != item.case:
        lines.append(visible(clipped(shown.title, _LONGEST, already_masked)))
    outputs = [("output", _text(shown.output))]
    if shown.items:
        outputs = [(f"output {number}", _text(output)) for number, output in enumerate(shown.items, 1)]
    parts = [
        ("how to rate", shown.rubric),
        ("input", shown.input),
        *outputs,
        ("expected", shown.expected),
        ("origin", "\n".join(f"{name}: {short(value)}" for name, value in sheet.about.items())),
        ("said so far", "\n".join(sheet.said)),
    ]
    for heading, text in parts:
        if text:
            lines += ["", style.paint(heading, "cyan")]
            cut = visible(clipped(text, _LONGEST, already_masked))
            lines += [f"  {line}" for line in cut.split("\n")]
    return format_lines(lines)


def _text(value: Json) -> str:
    """As people read it: a text as it stands, also one within a mapping."""
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        value = value["text"]
    if isinstance(value, str):
        return value or "(empty)"
    return dump_yaml(value).rstrip("\n") if value not in ([], {}) else str(value)


def format_question(sheet: Sheet, number: int, typed: str, said: str, style: Style) -> list[str]:
    """What is asked now, and the keys. `typed`: what was entered of it so far; `said`: about the last key."""
    columns = max(20, style.width - 1)
    asked = sheet.questions[number]
    lines = [""]
    if len(sheet.questions) > 1:
        lines.append(f"{number + 1} of {len(sheet.questions)}  {style.paint(cut_line(asked), 'bold')}")
    elif asked:
        lines.append(style.paint(cut_line(asked), "bold"))
    kind = sheet.item.method.rating_scale.type
    if kind == "ranking":
        ties = "  = ties it with the next" if sheet.item.method.rating_scale.tie_allowed else ""
        lines.append(f"type the numbers, best first{ties}")
    else:
        choices = [f"{style.paint(key, 'bold')} {one_line(word)}".rstrip() for key, word in sheet.choices]
        lines += wrapped(choices, columns, "   ")
    if said:
        lines.append(style.paint(cut_line(said), "yellow"))
    lines += wrapped([f"{style.paint(key, 'bold')} {word}" for key, word in _KEYS], columns)
    lines.append(f"> {one_line(typed)}")
    return [log(fitted(line, columns)) for line in lines]


def format_note(about: str, typed: str, style: Style) -> list[str]:
    """A note that is being typed, and to what."""
    keys = f"{style.paint('Enter', 'bold')} keep it  {style.paint('Esc', 'bold')} leave it"
    head = f"note for {cut_line(about, 40)}: "
    return ["", keys, log(head + one_line(typed)[-max(20, style.width - len(head) - 1) :])]


def describe_count(count: int, least: int) -> str:
    """How many have rated, of those who have to; there may be more of them."""
    return f"{count} of {least} have rated" if count <= least else f"{count} have rated"


def format_queue(standings: Sequence[Standing], style: Style) -> str:
    """One line an item: how many have rated it, and what that comes to."""
    widest = min(40, max((len(one_line(one.queued.item.case)) for one in standings), default=0))
    lines = []
    for one in standings:
        item, people = one.queued.item, one.queued.item.method.evaluators
        state = one.grade.verdict or one.grade.outcome
        word = style.paint(f"{state:<8}", _COLOURS.get(state, ""))
        rated = describe_count(len(one.queued.ratings), people.min_required).replace("have ", "")
        names = (
            "" if item.method.blind_evaluation else ", ".join(one_line(r.rater) for r in one.queued.ratings)
        )
        line = f"{word}  {one_line(item.case):<{widest}}  {one_line(item.grader)}  {rated}  {item.key[:8]}"
        lines.append(fitted(line + (f"  {names}" if names else ""), max(40, style.width)))
    return format_lines(lines)


def format_queue_json(
    standings: Sequence[Standing], wanted: Sequence[str], agreements: Sequence[Json]
) -> str:
    """The same for programs."""
    items = [_entry(one, words) for one, words in zip(standings, wanted, strict=True)]
    return page({"items": items, "agreement": list(agreements)})


def _entry(one: Standing, wanted: str) -> dict[str, Json]:
    item, grade, people = one.queued.item, one.grade, one.queued.item.method.evaluators
    shown = item.shown
    told: dict[str, Json] = {
        "item": item.key,
        "case": item.case,
        "grader": item.grader,
        "outcome": grade.outcome,
        "verdict": grade.verdict,
        "score": grade.score,
        "reason": grade.reason,
        "open": one.is_open,
        "rated": len(one.queued.ratings),
        "required": people.min_required,
        "allowed": people.max_allowed,
        "wanted": wanted,
        "opened_at": item.opened_at,
        "shown": {"title": shown.title, "rubric": shown.rubric, "input": shown.input},
    }
    told["shown"] |= {"items": list(shown.items)} if shown.items else {"output": shown.output}
    if shown.expected:
        told["shown"]["expected"] = shown.expected
    if not item.method.blind_evaluation:
        told["shown"]["about"] = dict(shown.about)
        told["raters"] = [rating.rater for rating in one.queued.ratings]
    if "agreement" in grade.details:
        told["agreement"] = grade.details["agreement"]
    return told
