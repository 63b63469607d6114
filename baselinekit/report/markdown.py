"""Markdown for a comment on a pull request: what failed, and where it differs.

A comment has a limit, so whole parts are left out once it is reached, and what was left out is counted."""

from collections.abc import Iterator

from baselinekit.escape import markdown_block, markdown_code, markdown_text
from baselinekit.model.results import OUTCOMES, Report, Result
from baselinekit.report.differences import Block, blocks, count
from baselinekit.report.values import cut_line, short
from baselinekit.report.words import headline, place, unshown, warnings, why

LONGEST = 60_000
_RESERVED = 500
_MOST_ROWS = 100
_LONGEST_CELL = 200


def render(report: Report) -> str:
    page = _Page(f"## baselinekit: {headline(report)}\n")
    for warning in warnings(report)[:10]:
        page.add(f"\n> {markdown_text(cut_line(warning))}\n")
    notable = sorted(
        (result for result in report.results if result.outcome != "passed"),
        key=lambda result: OUTCOMES.index(result.outcome),
    )
    if notable:
        page.add(_table(notable))
    told = 0
    for result in notable:
        if result.outcome != "skipped" and not page.add(_section(result, page.room)):
            break
        told += 1
    if told < len(notable):
        page.close(f"\n*{len(notable) - told:,} more are not shown here: a comment has a limit.*\n")
    return page.text


class _Page:
    """Text that grows until it is full."""

    def __init__(self, start: str):
        self.text = start

    @property
    def room(self) -> int:
        return LONGEST - _RESERVED - len(self.text)

    def add(self, part: str) -> bool:
        fits = bool(part) and len(part) <= self.room
        if fits:
            self.text += part
        return fits

    def close(self, part: str) -> None:
        self.text += part[:_RESERVED]


def _table(results: list[Result]) -> str:
    lines = ["", "| outcome | baseline | what | where |", "|---|---|---|---|"]
    lines += [_row(result) for result in results[:_MOST_ROWS]]
    if len(results) > _MOST_ROWS:
        lines.append(f"| | | and {len(results) - _MOST_ROWS:,} more | |")
    return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    number = count(result)
    what = (
        f"{number:,} difference{'s' * (number > 1)}"
        if number
        else markdown_text(cut_line(_first_line(why(result)), 160))
    )
    baseline = markdown_code(cut_line(result.id, _LONGEST_CELL))
    if result.criticality:
        baseline += f" ({markdown_text(result.criticality)})"
    where = markdown_code(cut_line(place(result), _LONGEST_CELL))
    return f"| {result.outcome} | {baseline} | {what} | {where} |"


def _section(result: Result, room: int) -> str:
    """One result, as much of it as there is room for; nothing when not even its beginning fits."""
    title = f"\n### {markdown_code(cut_line(result.id, _LONGEST_CELL))}"
    if result.name:
        title += f" {markdown_text(cut_line(result.name, _LONGEST_CELL))}"
    text = title + "\n\n"
    if result.target:
        text += f"{markdown_code(cut_line(result.target))}\n\n"
    if why(result):
        text += "  \n".join(markdown_text(cut_line(line)) for line in why(result).splitlines()[:20]) + "\n\n"
    text += _drift(result)
    if len(text) > room:
        return ""
    shown, left_out = blocks(result)
    fitting = _fitting(shown, room - len(text) - 200)
    left_out += sum(block.count for block in shown[len(fitting) :])
    if fitting:
        text += markdown_block("\n".join(fitting), "diff") + "\n"
    if left_out:
        text += f"\n{unshown(left_out)}\n"
    notes = "".join(f"\n> {markdown_text(cut_line(note))}\n" for note in result.notes[:5])
    return text + notes if len(text + notes) <= room else text


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _fitting(shown: list[Block], room: int) -> list[str]:
    """The texts of as many blocks as there is room for."""
    fitting: list[str] = []
    for block in shown:
        text = "\n".join(_block_lines(block))
        # What is escaped takes up to ten characters for one, and a fence is as long as it must be.
        room -= len(markdown_block(text)) + 1
        if room < 0:
            break
        fitting.append(text)
    return fitting


def _block_lines(block: Block) -> Iterator[str]:
    head = "  ".join(part for part in (block.path, block.remark, block.place) if part)
    yield f"@@ {head} @@"
    for line in block.lines:
        yield line.text if line.tone != "dim" else f"  {line.text}"


def _drift(result: Result) -> str:
    if not result.environment_drift:
        return ""
    changes = (
        f"{markdown_text(short(name))} {markdown_code(short(captured))} → {markdown_code(short(now))}"
        for name, (captured, now) in sorted(result.environment_drift.items())[:10]
    )
    return f"Changed since capture: {', '.join(changes)}\n\n"
