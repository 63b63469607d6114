"""The text of a file, decoded without losing a byte, and where something stands in it or is put instead."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path

BOM = "\ufeff"

_LINE_END = lazy_pattern(r"\r\n?|\n|\Z")
_CONFLICT = lazy_pattern(r"^(?:<{7}|>{7}) ", re.MULTILINE)


class Text(NamedTuple):
    """A file's text without its byte order mark, so that every mark in it is an index into `body`."""

    body: str
    bom: bool


def decode(data: bytes, file: str) -> Text:
    """The text of a UTF-8 file, its line ends as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        what = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise InvalidInput(
            Problem("BK101", what, "save the file as UTF-8", place(file, before, len(before)))
        ) from None
    return Text(text[1:], True) if text.startswith(BOM) else Text(text, False)


def encode(body: str, bom: bool) -> bytes:
    return (BOM + body if bom else body).encode("utf-8")


def place(file: str, body: str, index: int) -> Place:
    """Line and column of an index, as an editor counts them."""
    start = body.rfind("\n", 0, index) + 1
    return Place(file, body.count("\n", 0, index) + 1, index - start + 1)


def newline(body: str) -> str:
    """The line end that the file uses."""
    if "\r\n" in body:
        return "\r\n"
    return "\r" if "\r" in body and "\n" not in body else "\n"


def line_start(body: str, index: int) -> int:
    start = body.rfind("\n", 0, index) + 1
    return max(start, body.rfind("\r", start, index) + 1)


def line_end(body: str, index: int) -> tuple[int, int]:
    """Where the line ends that a place is on, and where the next one begins."""
    match = _LINE_END.search(body, index)
    return match.span() if match else (len(body), len(body))


def characters(value: Json) -> int:
    """How much text there is in a value, keys included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + characters(item) for key, item in value.items())
    return sum(map(characters, value)) if isinstance(value, list) else 0


def holds_more(value: Json, most: int) -> bool:
    """Whether there is more text in a value than so much. No more is counted than it takes to tell."""
    waiting = [value]
    while waiting and most >= 0:
        value = waiting.pop()
        if isinstance(value, str):
            most -= len(value)
        elif isinstance(value, dict):
            most -= sum(map(len, value))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return most < 0


def refuse_conflict(body: str, file: str) -> None:
    """A file in which git left both sides is no file yet, even where it happens to parse."""
    match = _CONFLICT.search(body) if "<<<<<<< " in body else None
    if match:
        what = "an unresolved git conflict"
        hint = "keep one of the two sides, and remove the markers"
        raise InvalidInput(Problem("BK101", what, hint, place(file, body, match.start())))


def repeated_key(key: str, file: str, body: str, index: int, first: int | None) -> Problem:
    """A key that a mapping has twice, with both places: what a merge leaves, or hides."""
    what = f"the key {key!r} occurs twice"
    before = f"it is on line {place(file, body, first).line} already; " if first is not None else ""
    return Problem("BK102", what, before + "remove one of the two", place(file, body, index))


# Where something stands in a file: the nodes along the wanted paths, found in one pass over its events.
# The events come from YAML (libyaml.py) or JSON (jsontext.py); both are read alike.


SCALAR, ALIAS, MAPPING, SEQUENCE, END, DOCUMENT = range(6)

Event = tuple[int, int, int, str, str, str | None]
"""Kind, start, end, value (of an alias: its anchor), style (`flow` for collections in flow style, `!` for a
plain scalar with a tag), anchor."""

Watched = dict[str, list[tuple[dict[str, Any], tuple[int, int]]]]
"""Keys of interest: for each the mappings that have it, with the span of its value, where that is a scalar
of one line that nothing else means."""

_WANTED: Any = object()


@dataclass(slots=True)
class MarkedNode:
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
    first: int = -1
    last: int = -1
    content_end: int = -1
    ends_in_text_block: bool = False

    @property
    def is_null(self) -> bool:
        return self.kind == SCALAR and not self.style and self.value in ("", "~", "null", "Null", "NULL")


@dataclass(slots=True)
class Marks:
    """The nodes that were found, and the aliases: an edit must know who else means a value."""

    root: MarkedNode | None = None
    aliases: list[MarkedNode] = field(default_factory=list)

    def reach(self, path: Path) -> tuple[list[MarkedNode], Path]:
        """The nodes along a path as far as they exist, from the root on, and the steps that do not."""
        nodes = [self.root] if self.root else []
        for depth, step in enumerate(path):
            child = nodes[-1].children.get(step) if nodes else None
            if child is None:
                return nodes, path[depth:]
            nodes.append(child)
        return nodes, ()


def mark(events: Iterator[Event], document: int, paths: Iterable[Path]) -> Marks:
    """The nodes along these paths. The pass stops when it has seen the last of them, unless an anchor came
    up on the way: then the aliases that follow matter too."""
    return mark_each(events, {document: paths}).get(document, Marks())


def mark_each(events: Iterator[Event], wanted: Mapping[int, Iterable[Path]]) -> dict[int, Marks]:
    """The same in many documents of one text, in one pass."""
    marks_of: dict[int, Marks] = {}
    number = -1
    for event in events:
        if event[0] == DOCUMENT:
            number += 1
        elif number in wanted and number not in marks_of:
            steps: dict[Any, Any] = {}
            paths = {*wanted[number]}
            for path in paths:
                step = steps
                for name in path:
                    step = step.setdefault(name, {})
                step[_WANTED] = True
            walk = _Walk(events, len(paths))
            marks_of[number] = walk.marks
            with suppress(_Enough):
                walk.visit(event, steps, None, 0, -1)
            if len(marks_of) == len(wanted):
                break
    return marks_of


def key_index(events: Iterator[Event], document: int, path: Path) -> int | None:
    """Where the key at the end of a path stands, the first one if it is there twice."""
    nodes, rest = mark(events, document, [path]).reach(path)
    return None if rest else nodes[-1].key


class _Enough(Exception):
    """Not an error: it leaves the walk early."""


class _Walk:
    """`left`: how many of the wanted nodes have not been met yet."""

    def __init__(self, events: Iterator[Event], left: int):
        self.events = events
        self.left = left
        self.marks = Marks()
        self.anchored = False
        self.end = 0
        self.in_text_block = False

    def visit(
        self, event: Event, wanted: dict[Any, Any], parent: MarkedNode | None, name: str | int, key: int
    ) -> None:
        kind, start, end, value, style, anchor = event
        in_flow = parent is not None and (parent.in_flow or parent.style == "flow")
        node = MarkedNode(kind, start, end, value, style, anchor, in_flow, key)
        if parent is None:
            self.marks.root = node
        else:
            parent.children.setdefault(name, node)
        self.anchored = self.anchored or anchor is not None
        if kind <= ALIAS:
            self.leaf(event)
        else:
            self.collection(node, wanted)
        if _WANTED in wanted:
            self.left -= 1
            if not self.left and not self.anchored:
                raise _Enough

    def collection(self, node: MarkedNode, wanted: dict[Any, Any]) -> None:
        for event in self.events:
            if event[0] == END:
                break
            name: str | int = node.size
            key = -1
            if node.kind == MAPPING:
                key = event[1]
                name = event[3] if event[0] == SCALAR else -1
                self.skip(event)
                event = next(self.events)
            node.last = key if key >= 0 else event[1]
            node.first = node.first if node.size else node.last
            node.size += 1
            if name in wanted:
                self.visit(event, wanted[name], node, name, key)
            else:
                self.skip(event)
        node.content_end = self.end if node.size else node.start
        node.ends_in_text_block = self.in_text_block
        if node.style == "flow":
            self.end, self.in_text_block = event[2], False
        node.end = self.end

    def skip(self, event: Event) -> None:
        depth = 0
        while True:
            kind = event[0]
            if kind <= ALIAS:
                self.leaf(event)
            elif kind == END:
                depth -= 1
                if event[2] > event[1]:  # a closing bracket; a block just stops
                    self.end, self.in_text_block = event[2], False
            else:
                depth += 1
            if not depth:
                return
            event = next(self.events)

    def leaf(self, event: Event) -> None:
        self.end = event[2]
        self.in_text_block = event[4] in ("|", ">")
        if event[0] == ALIAS:
            self.marks.aliases.append(MarkedNode(ALIAS, event[1], event[2], event[3], "", None, False))


class Splice(NamedTuple):
    start: int
    end: int
    text: str


class Unplannable(Exception):
    """Not an error yet: a plainer way may do."""


def spliced(body: str, splices: Sequence[Splice]) -> str:
    """The text with other texts in the place of some of its parts."""
    parts = []
    end = len(body)
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end), reverse=True):
        if splice.end > end:
            raise Unplannable
        parts += [body[splice.end : end], splice.text]
        end = splice.start
    return body[:end] + "".join(reversed(parts))
