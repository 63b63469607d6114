"""Edits the text of a file: only what changes is rewritten, every other byte stays.

A collection is its entries and what separates them: in block style line ends, in flow style commas. An
entry that stays keeps its text, with the comments above it and on its lines. The result is read again and
must be the file with exactly this change."""

import re
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.files.jsontext import compact, pretty
from baselinekit.files.languages import (
    STEP,
    Language,
    YamlStyle,
    yaml_block,
    yaml_flow,
    yaml_quoted,
    yaml_scalar,
    yaml_value,
)
from baselinekit.files.text import (
    MAPPING,
    SEQUENCE,
    TEXT_BLOCKS,
    MarkedNode,
    Splice,
    Unplannable,
    apply_splices,
    line_end,
    line_start,
    mark,
    newline,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Edit, Json, Path
from baselinekit.structs import replace
from baselinekit.values.changes import Hints, Rewrite, RewrittenEntry, rewrite
from baselinekit.values.equality import identical

_NO_HINTS = Hints()


def edited(
    body: str, edits: Sequence[Edit], language: Language, document: int = 0, hints: Hints = _NO_HINTS
) -> str:
    """Return the text with the edits; ABSENT as the value of an edit removes a key. NotRecorded if the file
    cannot be written so."""
    documents = language.load(body, "")
    try:
        old = documents[document]
        new = old
        for edit in edits:
            new = _with_edit(new, edit.path, edit.value, hints.siblings)
    except (LookupError, TypeError):
        raise _impossible(edits) from None
    keys = {(*edits[-1].path, *path): key for path, key in hints.keys.items()}
    change = rewrite(old, new, replace(hints, keys=keys))
    if change is None:
        return body
    documents[document] = new
    with suppress(BaselinekitError, LookupError, Unplannable):
        root = mark(language.events(body))[document]
        text = apply_splices(body, _Writer(body, language).splices(change, root, None, old))
        if identical(language.load(text, ""), documents, hints.ordered):
            return text
    raise _impossible(edits)


def _impossible(edits: Sequence[Edit]) -> NotRecorded:
    paths = ", ".join(".".join(map(str, edit.path)) or "the file" for edit in edits)
    message = f"{paths} cannot be changed without touching something else"
    hint = "write it without anchors, tags, `?` keys and comments in brackets; end the file with a line end"
    return NotRecorded(Problem("BK122", message, hint))


def _with_edit(old: Json, path: Path, value: Json, siblings: Sequence[str]) -> Json:
    """Return a copy with another value at a path. LookupError or TypeError: an impossible path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(old, list) and isinstance(step, int):
        return [*old[:step], _with_edit(old[step], rest, value, siblings), *old[step + 1 :]]
    if old is None or old is ABSENT:
        old = {}
    if not isinstance(old, dict):
        raise TypeError
    if value is ABSENT and step not in old:
        return old
    keys = list(old)
    if step not in old:
        later = siblings[siblings.index(step) + 1 :] if step in siblings else ()
        following = next((keys.index(name) for name in later if name in old), len(keys))
        keys.insert(following, step)
    new = {**old, step: _with_edit(old.get(step, ABSENT), rest, value, siblings)}
    return {key: new[key] for key in keys if new[key] is not ABSENT}


class _EntrySpan(NamedTuple):
    """An entry of a collection. `start`: of the comments above it, else of the entry; `at`: its dash or key;
    `after`: behind the dash or the colon (-1: unknown); `end`: of its last line, without the line end, or in
    flow style of its value."""

    start: int
    at: int
    after: int
    end: int


_NESTED_MAPPING = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( +)[^\s#-]", re.MULTILINE)
_NESTED_LIST = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( *)- ", re.MULTILINE)
_JSON_INDENT = lazy_pattern(r"^[\[{][ \t]*\r?\n([ \t]+)", re.MULTILINE)
_KEY = lazy_pattern(r"""(?:[&!]\S*[ \t]+)*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\r\n]*?)[ \t]*:(?=\s|$)""")
_NEXT_DASH = lazy_pattern(r"(?:[&!]\S*[ \t]*)*(?:\s|#[^\r\n]*)*-")
_COMMENT_LINE = lazy_pattern(r"(?:[ \t]*(?:\r\n?|\n))+( *)#[^\r\n]*")
_COMMENT = lazy_pattern(r"(?:^|[ \t]+)#[^\r\n]*")


class _Writer:
    """Writes changes in the style of their file: indentation, quotes, line ends, block or flow style."""

    def __init__(self, body: str, language: Language):
        self.body = body
        self.language = language
        self.newline = newline(body)

    def splices(self, change: Rewrite, node: MarkedNode, entry: _EntrySpan | None, old: Json) -> list[Splice]:
        kind = MAPPING if isinstance(old, dict) else SEQUENCE
        if change.entries is None or node.kind != kind:
            return [self.replaced(node, entry, old, change.value)]
        entries = self.entries(node, old)
        gaps = [self.body[one.end : other.start] for one, other in pairwise(entries.values())]
        first, last = ([*entries.values()][index] for index in (0, -1))
        outside = (self.body[node.start : first.start], *gaps, self.body[last.end : node.end])
        inner: dict[str | int, list[Splice]] = {}
        for one in change.entries:
            if one.rewrite is not None and one.old is not None:
                child, span = node.children[one.old], entries[one.old]
                inner[one.old] = self.splices(one.rewrite, child, span, old[one.old])
        if not change.rebuilt:
            return [splice for splices in inner.values() for splice in splices]
        usual = self.separator(node, list(entries.values()), gaps)
        if self.is_flow(node) and "#" in "".join(outside):
            raise Unplannable
        # The text between entries: blank lines, which move with their entry, and comments that belong to no
        # entry, which stay.
        loose = deque(index for index, gap in enumerate(gaps, 1) if "#" in gap)
        numbers = {name: index for index, name in enumerate(entries)}
        text = ""
        for number, changed in enumerate(change.entries):
            gap = usual
            if changed.old is None:
                part = self.new_entry(node, entries, changed, usual)
            else:
                index, spans = numbers[changed.old], entries[changed.old]
                part = self.between(spans.start, spans.end, inner.get(changed.old, []))
                gap = gaps[index - 1] if index and "#" not in gaps[index - 1] else usual
                while loose and loose[0] <= index:
                    text, gap = text.rstrip(" ") + gaps[loose[0] - 1], ""
                    loose.popleft()
            if text.endswith(("\n", "\r")) and not gap.strip():  # a text with its empty lines
                gap = self.newline + usual.rpartition("\n")[2]
            text += (gap if number else "") + part
        text += "".join(gaps[index - 1].rstrip() for index in loose)
        return [Splice(first.start, last.end, text)]

    def between(self, start: int, end: int, splices: Sequence[Splice]) -> str:
        moved = [Splice(splice.start - start, splice.end - start, splice.text) for splice in splices]
        return apply_splices(self.body[start:end], moved)

    def is_flow(self, node: MarkedNode) -> bool:
        return node.in_flow or node.style == "flow" or not self.language.blocks

    # Entries.

    def entries(self, node: MarkedNode, old: Json) -> dict[str | int, _EntrySpan]:
        """Return the entries of a collection."""
        entries: dict[str | int, _EntrySpan] = {}
        body, end = self.body, node.start
        for name, child in node.children.items():
            if self.is_flow(node):
                start = child.key if child.key >= 0 else child.start
                end = start + len(body[start : max(child.end, start)].rstrip())
                entries[name] = _EntrySpan(start, start, child.start, end)
                continue
            if child.key >= 0:
                at = child.key
                match = _KEY.match(body, at)
            else:
                match = _NEXT_DASH.match(body, end)
                at = match.end() - 1 if match else child.start
            after = match.end() if match else -1
            line = line_start(body, at)
            start = at
            if not body[line:at].strip():  # the comments directly above, save those about the file
                above = self.above_comments(line, at - line, end if entries else 0)
                start = above + (at - line) if above or entries else at
            end = self.value_end(child, old[name])
            bottom = line_end(body, end)[0]
            while (comment := _COMMENT_LINE.match(body, bottom)) and len(comment[1]) > at - line:
                bottom = comment.end()
            entries[name] = _EntrySpan(start, at, after, bottom)
        return entries

    def above_comments(self, line: int, column: int, lowest: int) -> int:
        """Return the start of the comment lines directly above a line, in its column."""
        while line > lowest:
            above = line_start(self.body, line - (2 if self.body[:line].endswith("\r\n") else 1))
            if above < lowest or not self.body.startswith(" " * column + "#", above):
                break
            line = above
        return line

    def value_end(self, node: MarkedNode, value: Json) -> int:
        """Return the end of a value. The blank lines below a text block are part of it only if it keeps them
        (`|+`)."""
        while isinstance(value, dict | list) and value:
            value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
        text = self.body[node.start : node.end]
        has_blank_end = isinstance(value, str) and (value.endswith("\n\n") or not value.strip("\n"))
        if node.ends_in_text_block and has_blank_end:
            return node.start + len(text.removesuffix("\n").removesuffix("\r"))
        return node.start + len(text.rstrip())

    def separator(self, node: MarkedNode, entries: list[_EntrySpan], gaps: list[str]) -> str:
        """Return what separates a new entry from the one before."""
        if not self.is_flow(node):
            column = entries[0].at - line_start(self.body, entries[0].at)
            blank = min(gaps, key=len, default="x")
            return self.newline + " " * column if blank.strip() else blank
        if gaps and gaps[0].strip() == ",":
            return gaps[0]
        lead = self.body[node.start : entries[0].start]
        if "\n" in lead:
            return f",{self.newline}{lead.rpartition(chr(10))[2]}"
        return ", "

    def new_entry(
        self, node: MarkedNode, entries: dict[str | int, _EntrySpan], new: RewrittenEntry, gap: str
    ) -> str:
        """Write a new entry."""
        key, value = str(new.name), new.value
        first = next(iter(entries.values())).at
        children = node.children.values()
        collections = [child for child in children if child.kind in (MAPPING, SEQUENCE) and child.size]
        if self.is_flow(node):
            multi_line = any("\n" in self.body[child.start : child.end] for child in collections)
            indent = gap.rpartition("\n")[2] if "\n" in gap and (multi_line or not collections) else None
            text = self.nested(value, indent)
            return text if node.kind == SEQUENCE else f"{self.language.key(key)}: {text}"
        column = first - line_start(self.body, first)
        prefix, offset = f"{yaml_scalar(key)}:", self.style.step
        if node.kind == SEQUENCE:
            prefix, offset = "-", STEP
        return self.newline.join(yaml_value(prefix, value, column, offset, self.style))

    # Values.

    def replaced(self, node: MarkedNode, entry: _EntrySpan | None, old: Json, value: Json) -> Splice:
        """Replace a value by another."""
        body, start, end = self.body, node.start, self.value_end(node, old)
        was_block = node.style in TEXT_BLOCKS or (node.kind in (MAPPING, SEQUENCE) and node.style != "flow")
        one_line = None
        if self.language.blocks and isinstance(value, str) and node.style in ("'", '"'):
            one_line = yaml_quoted(value, node.style)
        elif not self.language.blocks or node.in_flow:
            at = entry.at if entry else start
            line = body[line_start(body, at) : at]
            one_line = self.nested(value, None if line.strip() or "\n" not in body[:at] else line)
        if entry is None:
            text = self.newline.join(yaml_block(value, 0, style=self.style)) if one_line is None else one_line
            return Splice(start, end, text)
        if one_line is None:
            column = entry.at - line_start(body, entry.at)
            offset = STEP if node.key < 0 else self.style.step
            prefix = "-" if node.key < 0 else "_:"
            style = self.style._replace(inside=node.style not in TEXT_BLOCKS)
            lines = yaml_value(prefix, value, column, offset, style)
            lines[0] = lines[0].removeprefix(prefix)
        else:
            lines = [f" {one_line}"]
        if len(lines) == 1 and not was_block and start < end:
            return Splice(start, end, lines[0][1:])
        if node.in_flow or not self.language.blocks:
            return Splice(start, end, lines[0] if body[:start].rstrip().endswith(":") else f":{lines[0]}")
        if entry.after < 0:
            raise Unplannable
        # A comment on the line of the key or the dash stays there.
        at = start if node.style in TEXT_BLOCKS else entry.after if was_block else max(end, entry.after)
        line = body[at : line_end(body, at)[0]]
        comment = _COMMENT.search(line) if at + len(line) <= start or not was_block or start == at else None
        lines[0] += comment[0] if comment else ""
        stop = end if node.style in TEXT_BLOCKS else line_end(body, max(end, entry.after))[0]
        return Splice(entry.after, stop, self.newline.join(lines))

    def nested(self, value: Json, indent: str | None) -> str:
        """Write a value inside of a collection in flow style. `indent`: the blanks before its entry, if there
        is nothing else before it on its line."""
        if self.language.blocks:
            return yaml_flow(value)
        if indent is None:
            return compact(value)
        step = _JSON_INDENT.search(self.body)
        return pretty(value, step[1] if step else "  ", indent, self.newline)

    @cached_property
    def style(self) -> YamlStyle:
        """The indentation of the text, as far as it can be seen."""
        mapping_match, list_match = _NESTED_MAPPING.search(self.body), _NESTED_LIST.search(self.body)
        width = len(mapping_match[2]) - len(mapping_match[1]) if mapping_match else 0
        flat = list_match is not None and len(list_match[1]) == len(list_match[2])
        return YamlStyle(width if 1 <= width <= 8 else STEP, flat, inside=True)
