"""The text of a file, decoded without losing a byte; the positions of values in it; and replacements in
it."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Path
from baselinekit.structs import MutableStruct, field

BOM = "\ufeff"

_LINE_FEED = lazy_pattern("\n")
_LINE_END = lazy_pattern(r"\r\n?|\n|\Z")
_CONFLICT = lazy_pattern(r"^(?:<{7}|>{7}) ", re.MULTILINE)


class Text(NamedTuple):
    """A file's text without its byte order mark, so that every position is an index into `body`."""

    body: str
    bom: bool


def decode(data: bytes, file: str) -> Text:
    """Decode a UTF-8 file. Line ends stay as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        at = place(file, before, len(before))
        raise InvalidInput(Problem("BK101", message, "save the file as UTF-8", at)) from None
    return Text(text[1:], True) if text.startswith(BOM) else Text(text, False)


def encode(body: str, bom: bool) -> bytes:
    return (BOM + body if bom else body).encode("utf-8")


def place(file: str, body: str, index: int) -> Place:
    """Return the line and column of an index, as an editor counts them."""
    ends = _line_feeds(body)
    line = bisect_left(ends, index)
    return Place(file, line + 1, index - (ends[line - 1] + 1 if line else 0) + 1)


@lru_cache(maxsize=1)
def _line_feeds(body: str) -> Sequence[int]:
    """Where the lines of the text that was last asked about end: with thousands of places in one file, each
    would count the lines from the start."""
    return array("L", (match.start() for match in _LINE_FEED.finditer(body)))


def newline(body: str) -> str:
    """Return the line end that the file uses."""
    if "\r\n" in body:
        return "\r\n"
    return "\r" if "\r" in body and "\n" not in body else "\n"


def line_start(body: str, index: int) -> int:
    start = body.rfind("\n", 0, index) + 1
    return max(start, body.rfind("\r", start, index) + 1)


def line_end(body: str, index: int) -> tuple[int, int]:
    """Return where the line of an index ends, and where the next one starts."""
    match = _LINE_END.search(body, index)
    return match.span() if match else (len(body), len(body))


def check_merged(body: str, file: str) -> None:
    """Refuse a file with git's conflict markers, even if it happens to parse."""
    match = _CONFLICT.search(body) if "<<<<<<< " in body else None
    if match:
        message = "an unresolved git conflict"
        hint = "keep one of the two sides, and remove the markers"
        raise InvalidInput(Problem("BK101", message, hint, place(file, body, match.start())))


# Positions of values in a file: its nodes, found in one pass over its events. The events of YAML (libyaml.py)
# and JSON (jsontext.py) have the same form.


SCALAR, ALIAS, MAPPING, SEQUENCE, END = range(5)

Event = tuple[int, int, int, str, str, str | None]
"""Kind, start, end, value (for an alias its anchor), style (`flow` for collections in flow style, `!` for a
plain scalar with a tag), anchor."""

Watched = dict[str, list[tuple[dict[str, Any], tuple[int, int]]]]
"""For each key of interest the mappings that have it, each with the span of the key's value, if that is a
scalar on one line that no anchor shares."""


TEXT_BLOCKS = ("|", ">")


class MarkedNode(MutableStruct):
    """One value. A block collection ends where its last scalar ends."""

    kind: int
    start: int
    end: int
    value: str
    style: str
    anchor: str | None
    in_flow: bool
    key: int = -1
    children: dict[str | int, "MarkedNode"] = field(default_factory=dict)
    size: int = 0
    ends_in_text_block: bool = False


def mark(events: Iterator[Event]) -> list[MarkedNode]:
    """Return the root of each document, with all nodes below it."""
    return [_mark_node(event, events) for event in events]


def _mark_node(event: Event, events: Iterator[Event], in_flow: bool = False, key: int = -1) -> MarkedNode:
    node = MarkedNode(*event, in_flow, key)
    node.ends_in_text_block = node.style in TEXT_BLOCKS
    if node.kind <= ALIAS:
        return node
    in_flow = in_flow or node.style == "flow"
    for event in events:
        if event[0] == END:
            break
        name: str | int = node.size
        key = -1
        if node.kind == MAPPING:
            key = event[1]
            name = event[3] if event[0] == SCALAR else -1
            _mark_node(event, events)
            event = next(events)
        node.size += 1
        child = _mark_node(event, events, in_flow, key)
        if name != -1:
            node.children.setdefault(name, child)
        node.end, node.ends_in_text_block = child.end, child.ends_in_text_block
    if node.style == "flow":
        node.end, node.ends_in_text_block = event[2], False
    return node


def reach(documents: Sequence[MarkedNode], document: int, path: Path) -> tuple[list[MarkedNode], Path]:
    """Return the existing nodes along a path, from the root of a document on, and the remaining steps, which
    do not exist."""
    nodes = [*documents[document : document + 1]]
    for depth, step in enumerate(path):
        child = nodes[-1].children.get(step) if nodes else None
        if child is None:
            return nodes, path[depth:]
        nodes.append(child)
    return nodes, ()


class Splice(NamedTuple):
    start: int
    end: int
    text: str


class Unplannable(Exception):
    """Raised where a text cannot be edited in place."""


def apply_splices(body: str, splices: Sequence[Splice]) -> str:
    """Return the text with some of its parts replaced."""
    parts = []
    end = len(body)
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end), reverse=True):
        if splice.end > end:
            raise Unplannable
        parts += [body[splice.end : end], splice.text]
        end = splice.start
    return body[:end] + "".join(reversed(parts))
