"""Text of several lines as its author writes it, below a `|` or a `>`: other words in the same indentation,
and lines as long as those that were there."""

import re
from collections.abc import Iterator

from baselinekit.documents import yamlwrite

_HEADER = re.compile(r"([|>])([1-9]?)([+-]?)([1-9]?)([^\r\n]*)(?:\r\n?|\n|\Z)")
_LONG = 80
_NOT_FOLDED = re.compile(r"^[ \t]|[ \t]$|\A\n", re.MULTILINE)


def rewritten(written: str, text: str, outer: int, newline: str) -> str | None:
    """Other words for a block of text, without the last line end. `outer`: the column of its key or dash.
    None where it cannot hold them, or where they need no block."""
    header = _HEADER.match(written)
    if header is None:
        return None
    mark, one, ending, other, comment = header.groups()
    filled = [line for line in written[header.end() :].splitlines() if line.strip()]
    if text.endswith("\n\n") and ending != "+":
        return None  # it would take in the empty lines that follow
    if "\n" not in text and len(text) <= (max(map(len, filled)) if len(filled) > 1 else _LONG):
        return None
    column = outer + int(one or other or 0)
    if column == outer:
        column = len(filled[0]) - len(filled[0].lstrip(" ")) if filled else outer + yamlwrite.STEP
    if mark == ">" and not _NOT_FOLDED.search(text) and not text.endswith("\n\n"):
        width = max(map(len, filled)) - column if len(filled) > 1 else 0
        return _block(mark, text, list(_folded(text.rstrip("\n"), width)), (outer, column), comment, newline)
    return begun(text, outer, column, newline, comment)


def begun(text: str, outer: int, column: int, newline: str, comment: str = "") -> str | None:
    """A text as a `|` block of its own."""
    return _block("|", text, text.removesuffix("\n").split("\n"), (outer, column), comment, newline)


def _block(
    mark: str, text: str, lines: list[str], columns: tuple[int, int], comment: str, newline: str
) -> str | None:
    if not yamlwrite.is_text_block(text + "\n"):
        return None
    outer, column = columns
    deep = str(column - outer) if text[0] in " \n\t" else ""
    ending = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    header = f"{mark}{deep}{ending}{comment}"
    return newline.join([header, *(" " * column + line if line else "" for line in lines)])


def _folded(text: str, width: int) -> Iterator[str]:
    """Lines that a reader joins again: a line end is written as an empty line."""
    for number, line in enumerate(text.split("\n")):
        if number:
            yield ""
        if line:
            yield from _wrapped(line, width)


def _wrapped(line: str, width: int) -> Iterator[str]:
    so_far = ""
    for word in re.split(r"(?<=\S) (?=\S)", line):
        if so_far and width and len(so_far) + 1 + len(word) > width:
            yield so_far
            so_far = word
        else:
            so_far = f"{so_far} {word}" if so_far else word
    yield so_far
