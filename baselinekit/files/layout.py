"""Writes changes in the style of their file: indentation, quotes, line ends, block or flow style."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from baselinekit.files.jsontext import compact, pretty, tight_json
from baselinekit.files.languages import (
    STEP,
    Language,
    YamlStyle,
    is_text_block,
    yaml_block,
    yaml_quoted,
    yaml_scalar,
)
from baselinekit.files.text import (
    MAPPING,
    SCALAR,
    SEQUENCE,
    MarkedNode,
    Splice,
    Unplannable,
    line_end,
    line_start,
    newline,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

# Text blocks with `|` or `>`: a new text gets the indentation and the line length of the old one.

_HEADER = lazy_pattern(r"([|>])([1-9]?)([+-]?)([1-9]?)([^\r\n]*)(?:\r\n?|\n|\Z)")
_LONG = 80
_NOT_FOLDED = lazy_pattern(r"^[ \t]|[ \t]$|\A\n", re.MULTILINE)


def replace_text_block(old_block: str, text: str, outer: int, newline: str) -> str | None:
    """Return a text block with a new text, without the last line end. `outer`: the column of its key or dash.
    None if the block cannot hold the text, or if the text needs no block."""
    header = _HEADER.match(old_block)
    if header is None:
        return None
    indicator, indent, chomping, late_indent, comment = header.groups()
    old_lines = [line for line in old_block[header.end() :].splitlines() if line.strip()]
    if text.endswith("\n\n") and chomping != "+":
        return None  # the block would include the empty lines that follow
    if "\n" not in text and len(text) <= (max(map(len, old_lines)) if len(old_lines) > 1 else _LONG):
        return None
    column = outer + int(indent or late_indent or 0)
    if column == outer:
        column = len(old_lines[0]) - len(old_lines[0].lstrip(" ")) if old_lines else outer + STEP
    if indicator == ">" and not _NOT_FOLDED.search(text) and not text.endswith("\n\n"):
        width = max(map(len, old_lines)) - column if len(old_lines) > 1 else 0
        return _block(
            indicator, text, list(_fold(text.rstrip("\n"), width)), (outer, column), comment, newline
        )
    return new_text_block(text, outer, column, newline, comment)


def new_text_block(text: str, outer: int, column: int, newline: str, comment: str = "") -> str | None:
    """Return a text as a new `|` block."""
    return _block("|", text, text.removesuffix("\n").split("\n"), (outer, column), comment, newline)


def _block(
    indicator: str, text: str, lines: list[str], columns: tuple[int, int], comment: str, newline: str
) -> str | None:
    if not is_text_block(text + "\n"):
        return None
    outer, column = columns
    indent_digit = str(column - outer) if text[0] in " \n\t" else ""
    chomping = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    header = f"{indicator}{indent_digit}{chomping}{comment}"
    return newline.join([header, *(" " * column + line if line else "" for line in lines)])


def _fold(text: str, width: int) -> Iterator[str]:
    """Yield lines that a reader joins again: a line end is written as an empty line."""
    for number, line in enumerate(text.split("\n")):
        if number:
            yield ""
        if line:
            yield from _wrap_line(line, width)


def _wrap_line(line: str, width: int) -> Iterator[str]:
    current = ""
    for word in re.split(r"(?<=\S) (?=\S)", line):
        if current and width and len(current) + 1 + len(word) > width:
            yield current
            current = word
        else:
            current = f"{current} {word}" if current else word
    yield current


_NESTED_MAPPING = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( +)[^\s#-]", re.MULTILINE)
_NESTED_LIST = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( *)- ", re.MULTILINE)
_JSON_INDENT = lazy_pattern(r"^[\[{][ \t]*\r?\n([ \t]+)", re.MULTILINE)
_ANCHOR = lazy_pattern(r"&\S+[ \t]*")
_KEY = lazy_pattern(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\r\n]*?)[ \t]*:(?=\s|$)""")
_DASH = lazy_pattern(r"[ -]*-(?= |$)")
_AFTER_COLON = lazy_pattern(r'":([ \t]*)')
LONGEST_FLOW = 100


class Layout:
    """The style of one text. `plainly`: values are written on one line."""

    def __init__(self, body: str, language: Language, siblings: Sequence[str], plainly: bool = False):
        self.body = body
        self.language = language
        self.siblings = siblings
        self.plainly = plainly
        self.newline = newline(body)
        self.unanchored: set[int] = set()

    def on_one_line(self) -> "Layout":
        """Return the same layout with `plainly`, for when the nicer way failed."""
        plain = Layout(self.body, self.language, self.siblings, plainly=True)
        plain.unanchored = self.unanchored
        return plain

    def replace(self, chain: list[MarkedNode], value: Json) -> Splice:
        """Replace a node by another value. `chain` has the nodes from the root to it."""
        node, parent = chain[-1], chain[-2] if len(chain) > 1 else None
        anchor = f"&{node.anchor} " if node.anchor and node.start not in self.unanchored else ""
        in_flow = not self.language.blocks or node.in_flow
        may_use_blocks = not (in_flow or anchor or self.plainly)
        was_flow = node.kind in (MAPPING, SEQUENCE) and node.style == "flow" and node.size > 0
        is_structure = isinstance(value, dict | list) and value
        if (
            may_use_blocks
            and is_structure
            and (not was_flow or len(self.language.flow(value)) > LONGEST_FLOW)
        ):
            return self._replace_by_block(node, parent, value)
        block = self._replace_by_text_block(node, parent, value) if may_use_blocks else None
        if block is not None:
            return block
        if isinstance(value, str) and self.language.blocks and node.style in ("'", '"'):
            text = yaml_quoted(value, node.style)
        elif in_flow or isinstance(value, dict | list):
            text = self.nested(value, self.indent_of(node.key if node.key >= 0 else node.start))
        else:
            text = yaml_scalar(value)
        if node.kind in (MAPPING, SEQUENCE) and node.style != "flow" and parent is not None:
            return self._replace_block_by_line(node, anchor + text)
        start = node.start
        previous = self.body[start - 1 : start]
        if start == self._end(node):  # there was no value
            text = f" {text}" if previous in (":", "-") else text if previous in ("", " ") else f": {text}"
            text += self.newline if previous in ("\n", "\r") else ""  # below a `? key`
        return Splice(start, self._end(node), anchor + text)

    @cached_property
    def tight(self) -> bool:
        """Whether a JSON text has no blanks after its colons."""
        match = _AFTER_COLON.search(self.body)
        return not self.language.blocks and match is not None and not match[1]

    def insert(self, node: MarkedNode, entries: dict[str, Json]) -> list[Splice]:
        """Insert new keys into a mapping."""
        splices: dict[int, list[str]] = {}
        in_flow = not self.language.blocks or node.in_flow or node.style == "flow"
        write = self._insert_in_flow if in_flow else self._insert_in_block
        appended: list[str] = []
        for key in entries:
            later_siblings = self.siblings[self.siblings.index(key) + 1 :] if key in self.siblings else ()
            next_sibling = next(
                (node.children[name] for name in later_siblings if name in node.children), None
            )
            if next_sibling is None and self.plainly and node.size and not self._keeps_line_ends(node):
                splices.setdefault(node.first, []).append(key)
            elif next_sibling is None:
                appended.append(key)
            else:
                splices.setdefault(next_sibling.key, []).append(key)
        inserts = [write(node, {key: entries[key] for key in keys}, at) for at, keys in splices.items()]
        return [*inserts, write(node, {key: entries[key] for key in appended}, None)] if appended else inserts

    def _end(self, node: MarkedNode) -> int:
        """Return the end of a node. That of a text block is before its last line end, which stays."""
        if node.style in ("|", ">") or node.ends_in_text_block:
            return node.start + len(self.body[node.start : node.end].rstrip())
        return node.end

    def _replace_by_block(self, node: MarkedNode, parent: MarkedNode | None, value: Json) -> Splice:
        start, end = node.start, self._end(node)
        column = self._column(start)
        if start == end and self.body[start - 1 : start] == "-":  # a `-` without a value
            text = self.newline.join(yaml_block(value, column + 1, style=self.style))
            return Splice(start, end, f" {text}")
        if node.kind in (MAPPING, SEQUENCE) and node.style != "flow":
            comment = ""  # the old comment was about the last line
            in_place = isinstance(value, list) or node.key < 0 or column > self._column(node.key)
        else:
            comment = self.body[
                end : self._line_end(end)
            ].rstrip()  # stays on its line: the block starts below
            in_place = parent is None or (parent.kind == SEQUENCE and not comment)
        if in_place:
            end = self._line_end(end) if parent is not None else end
            return Splice(start, end, self.newline.join(yaml_block(value, column, style=self.style)))
        if node.key >= 0:
            flat = self.style.flat and isinstance(value, list)
            column = self._column(node.key) + (0 if flat else self.style.step)
        text = (self.newline + " " * column) + self.newline.join(yaml_block(value, column, style=self.style))
        return Splice(len(self.body[:start].rstrip()), self._line_end(end), comment + text)

    def _replace_by_text_block(
        self, node: MarkedNode, parent: MarkedNode | None, value: Json
    ) -> Splice | None:
        """Write a text of several lines as a block, if there was one before or if nothing prevents it."""
        if not isinstance(value, str) or node.kind != SCALAR or parent is None:
            return None
        start, end = node.start, node.end
        old_text = self.body[start:end]
        outer = self._column(node.key if node.key >= 0 else start) - (0 if node.key >= 0 else STEP)
        if node.style in ("|", ">"):
            text = replace_text_block(old_text, value, outer, self.newline)
            if text is not None and old_text.endswith(("\n", "\r")) and "+" in old_text.split("\n")[0]:
                return Splice(start, end, text + self.newline)
            return None if text is None else Splice(start, self._end(node), text)
        if node.style or "\n" not in value or value.endswith("\n\n") or "\n" in old_text or start == end:
            return None
        line_end = self._line_end(end)
        comment = self.body[end:line_end].rstrip()
        column = self._column(start) if node.key < 0 else outer + self.style.step
        text = new_text_block(value, outer, column, self.newline, comment)
        return None if text is None else Splice(start, line_end, text)

    def _replace_block_by_line(self, node: MarkedNode, text: str) -> Splice:
        """Replace several lines by one. A comment after the key or the dash stays."""
        key_match = _KEY.match(self.body, node.key) if node.key >= 0 else None
        end = key_match.end() if key_match else self._after_dash(node.start)
        gap = self.body[end : node.start]
        line = gap[: line_end(gap, 0)[0]] if "#" in gap else ""
        comment = line.rstrip() if "#" in line else ""
        return Splice(end, self._line_end(self._end(node)), f" {text}{comment}")

    def _after_dash(self, start: int) -> int:
        """Return the index after the dash of an element, which may be on a line above it."""
        at = len(self.body[:start].rstrip(" "))
        while at and self.body[at - 1] != "-":
            column = self._column(at)
            line = self.body[at - column : at]
            match = _DASH.match(line)
            if match:
                return at - column + match.end()
            if line.strip() and not line.lstrip().startswith("#"):
                raise Unplannable
            at = len(self.body[: at - column].rstrip("\r\n"))
        return at

    def _insert_in_block(self, node: MarkedNode, entries: dict[str, Json], at: int | None) -> Splice:
        column = self._column(node.first)
        indent = " " * column
        text = self.newline.join(yaml_block(entries, column, style=self.style))
        if at is not None:
            if not self.body[at - column : at].strip():  # comments above the key stay with it
                at = above_comments(self.body, at - column, column, 0) + column
            return Splice(at, at, f"{text}{self.newline}{indent}")
        end = node.content_end
        if self.plainly and self._keeps_line_ends(node):
            return Splice(end, end, f"{indent}{text}{self.newline}")
        if node.ends_in_text_block:
            end = len(self.body[:end].rstrip())
        end = self._line_end(end)
        return Splice(end, end, f"{self.newline}{indent}{text}")

    def _keeps_line_ends(self, node: MarkedNode) -> bool:
        """Whether a mapping ends in a text block that may be `|+`, whose empty lines belong to the text."""
        return node.ends_in_text_block and self.body[node.content_end - 1 : node.content_end] in ("\n", "\r")

    def _insert_in_flow(self, node: MarkedNode, entries: dict[str, Json], at: int | None) -> Splice:
        first = node.first if node.size else node.end
        quoted = self.body[first : first + 1] in ("'", '"')
        indent = self.indent_of(node.last) if node.size and node.last > node.start else None
        separator = " " if indent is None else f"{self.newline}{indent}"
        texts = [
            f"{self.language.key(key, quoted)}: {self.nested(value, indent)}"
            for key, value in entries.items()
        ]
        text = f",{separator}".join(texts)
        if at is not None:
            return Splice(at, at, f"{text},{separator}")
        if node.size:
            return Splice(node.content_end, node.content_end, f",{separator}{text}")
        return Splice(node.end - 1, node.end - 1, text)

    def indent_of(self, index: int) -> str | None:
        """Return the blanks before an index if there is nothing else before it on its line."""
        line = self.body[self.body.rfind("\n", 0, index) + 1 : index] if index >= 0 else "-"
        return None if line.strip() or "\n" not in self.body[:index] else line

    def nested(self, value: Json, indent: str | None) -> str:
        if self.language.blocks:
            return self.language.flow(value)
        if indent is None or self.plainly:
            return tight_json(value) if self.tight else compact(value)
        step = _JSON_INDENT.search(self.body)
        return pretty(value, step[1] if step else "  ", indent, self.newline)

    def _column(self, index: int) -> int:
        return index - line_start(self.body, index)

    def _line_end(self, index: int) -> int:
        return line_end(self.body, index)[0]

    @cached_property
    def style(self) -> YamlStyle:
        """The indentation of the text, as far as it can be seen."""
        mapping_match, list_match = _NESTED_MAPPING.search(self.body), _NESTED_LIST.search(self.body)
        width = len(mapping_match[2]) - len(mapping_match[1]) if mapping_match else 0
        flat = list_match is not None and len(list_match[1]) == len(list_match[2])
        return YamlStyle(width if 1 <= width <= 8 else STEP, flat, inside=True)


def without_anchor(body: str, start: int) -> Splice:
    """Return the splice that removes an anchor from the start of a value."""
    match = _ANCHOR.match(body, start)
    end = match.end() if match else start
    if body[end : end + 1] in ("\r", "\n"):
        start = len(body[:start].rstrip(" \t"))
    return Splice(start, end, "")


def above_comments(body: str, start: int, column: int, lower_bound: int) -> int:
    """Return the start of the comments directly above a line, in its column. Comments that reach the start of
    the file do not count: they are about the file."""
    block_start = start
    while block_start > lower_bound:
        previous_line = line_start(body, block_start - (2 if body[:block_start].endswith("\r\n") else 1))
        if previous_line < lower_bound or not body.startswith(" " * column + "#", previous_line):
            return block_start
        block_start = previous_line
    return start if block_start == 0 else block_start
