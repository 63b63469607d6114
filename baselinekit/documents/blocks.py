"""The entries of a collection in block style as lines: each with the comments that belong to it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from baselinekit.documents.layout import Unplannable
from baselinekit.documents.marks import SEQUENCE, Node
from baselinekit.model.values import Json

_DASH = re.compile(r"(?:\s|#[^\r\n]*)*-")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]*)*")
_LINE_END = re.compile(r"\r\n?|\n|\Z")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n?|\n))*")
_DEEPER = re.compile(r"( *)#[^\r\n]*(?:\r\n?|\n|\Z)")


class Lines(NamedTuple):
    """Where an entry stands. `top`: with its comments above; `at`: its dash or key; `bottom`: behind its last
    line end, with comments below that are indented deeper."""

    top: int
    at: int
    bottom: int


def lines_of(body: str, node: Node, values: Sequence[Json]) -> list[Lines]:
    """The entries of a mapping or a list in block style, whose values are these."""
    entries: list[Lines] = []
    end = -1
    for child, value in zip(node.children.values(), values, strict=True):
        at = child.key if node.kind != SEQUENCE else _dash(body, node, end)
        start = line_start(body, at)
        top = at if body[start:at].strip() else _above_comments(body, start, at - start, max(end, 0))
        if (top == at != start and entries) or body[start:at].rstrip().endswith("?"):
            raise Unplannable
        end = _bottom(body, child, value, at - line_start(body, at))
        entries.append(Lines(top, at, end))
        end = child.end
    return entries


def line_start(body: str, index: int) -> int:
    start = body.rfind("\n", 0, index) + 1
    return max(start, body.rfind("\r", start, index) + 1)


def after_line(body: str, index: int) -> int:
    """Behind the end of the line."""
    match = _LINE_END.search(body, index)
    return match.end() if match else len(body)


def _dash(body: str, node: Node, end: int) -> int:
    if end < 0:
        properties = _PROPERTIES.match(body, node.start)
        end = properties.end() if properties else node.start
    match = _DASH.match(body, end)
    if match is None:
        raise Unplannable
    return match.end() - 1


def _above_comments(body: str, start: int, column: int, lowest: int) -> int:
    """Where the comments begin that stand right above a line, in its column. What reaches the head of the
    file is about the file."""
    top = start
    while top > lowest:
        above = line_start(body, top - (2 if body[:top].endswith("\r\n") else 1))
        if above < lowest or not body.startswith(" " * column + "#", above):
            return top
        top = above
    return start if top == 0 else top


def _bottom(body: str, node: Node, value: Json, column: int) -> int:
    """Behind the last line of a value. The blank lines below a text block are no part of it, unless it keeps
    them (`|+`)."""
    end = node.end
    if node.style in ("|", ">") or node.ends_in_text_block:
        if _keeps_line_ends(value):
            return end
        end = node.start + len(body[node.start : end].rstrip())
    end = after_line(body, end)
    while match := _DEEPER.match(body, _below(body, end)):
        if len(match[1]) <= column:
            break
        end = match.end()
    return end


def _below(body: str, end: int) -> int:
    match = _BLANK_LINES.match(body, end)
    return match.end() if match else end


def _keeps_line_ends(value: Json) -> bool:
    while isinstance(value, dict | list) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return isinstance(value, str) and (value.endswith("\n\n") or value.strip("\n") == "")
