"""What a report consists of: facts become blocks, and blocks become lines of a terminal, Markdown
(`forms/markdown.py`) or HTML (`html/page.html`). Only these escape a text and cut it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from baselinekit.escape import one_line
from baselinekit.report.values import cut_line
from baselinekit.report.wording import Style, width
from baselinekit.structs import Struct

Tone = Literal["", "dim", "passed", "failed", "error", "unscored", "skipped"]
LineTone = Literal["gone", "came", "dim"]

MOST_ROWS = 50
LONGEST_NOTE = 2_000
_WIDEST = 50


class Heading(Struct):
    text: str


class Note(Struct):
    """Words, and the command or the target that they lead to."""

    text: str
    tone: Tone = ""
    code: str = ""


class Cell(Struct):
    """A cell of a table. The last one of a row may have several lines."""

    text: str
    tone: Tone = ""
    is_code: bool = False


class Table(Struct):
    """A table without empty columns; `table` makes one. One without heads is a list. `figures`: it has
    numbers, which need their heads."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    figures: bool


class Folded(Struct):
    """Lines that only some readers want to see."""

    title: str
    lines: tuple[str, ...]


class DiffLine(Struct):
    """One line of a difference: `gone` shows what was expected, `came` what came instead, `dim` explains."""

    tone: LineTone
    text: str


class Diff(Struct):
    """One place of the output, or one that repeats. `count`: the number of differences in it."""

    path: str
    remark: str
    place: str
    lines: tuple[DiffLine, ...]
    count: int = 1
    file: str = ""
    line: int | None = None


class Diffs(Struct):
    """Differences that are shown one below the other."""

    diffs: tuple[Diff, ...]


Block = Heading | Note | Table | Diffs | Folded


def table(heads: Sequence[str], rows: Sequence[Sequence[str | Cell]], figures: bool = False) -> Table:
    """Return a table without the columns that are empty, but for the first one, which names the rows."""
    cells = [tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows]
    filled = [number for number in range(len(heads)) if not number or any(row[number].text for row in cells)]
    kept_heads = tuple(heads[number] for number in filled)
    kept = tuple(tuple(row[number] for number in filled) for row in cells)
    return Table(kept_heads, kept, figures)


def terminal_lines(blocks: Iterable[Block], style: Style) -> Iterator[str]:
    for block in blocks:
        match block:
            case Heading():
                yield style.paint(one_line(block.text), "bold")
            case Note():
                text = cut_line(f"{block.text} {block.code}".strip(), LONGEST_NOTE)
                yield f"  {style.paint(text, block.tone)}"
            case Table():
                yield from _table_lines(block, style)
            case Diffs():
                yield from _diff_lines(block.diffs, style)
            case Folded() if style.verbose:
                yield style.paint(f"  {block.title}", "dim")
                yield from (f"    {cut_line(line)}" for line in block.lines)


def _table_lines(table: Table, style: Style) -> Iterator[str]:
    most = len(table.rows) if style.verbose else MOST_ROWS
    rows = [*table.rows[:most]]
    if table.figures:
        rows.insert(0, tuple(Cell(head, "dim") for head in table.heads))
    widths = [
        min(_WIDEST, max(len(cut_line(cell.text)) for cell in column)) for column in zip(*rows, strict=True)
    ]
    for *cells, last in rows:
        line = " "
        for number, (cell, columns) in enumerate(zip(cells, widths, strict=False)):
            text = cut_line(cell.text)
            aligned = f"{text:>{columns}}" if table.figures and number else f"{text:<{columns}}"
            line += f" {style.paint(aligned, cell.tone)} "
        below = [cut_line(part) for part in last.text.split("\n")]
        if table.figures:
            below = [f"{below[0]:>{widths[-1]}}"]
        if len(below) == 1:
            yield f"{line} {style.paint(below[0], last.tone)}".rstrip()
        else:
            yield line.rstrip()
            yield from (f"      {style.paint(part, last.tone)}" for part in below)
    if len(table.rows) > most:
        yield style.paint(f"  … and {len(table.rows) - most:,} more (-v shows them)", "dim")


def _diff_lines(diffs: Sequence[Diff], style: Style) -> Iterator[str]:
    """Yield an empty line, and each place with its remark; the places in the file are aligned in a column."""
    heads = [f"{diff.path}  {diff.remark}".rstrip() for diff in diffs]
    widths = [width(head) for head, diff in zip(heads, diffs, strict=True) if diff.place]
    column = min(max(widths, default=0), max(30, style.width // 2))
    yield ""
    for head, diff in zip(heads, diffs, strict=True):
        padding = " " * (column - width(head))
        place = f"{padding}   {style.paint(diff.place, 'cyan')}" if diff.place else ""
        yield f"  {style.paint(diff.path, 'bold')}{head.removeprefix(diff.path)}{place}"
        yield from (f"    {style.paint(line.text, line.tone)}" for line in diff.lines)
