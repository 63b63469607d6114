"""How a change is written into a text so that it looks as if its author had written it: in the indentation,
the quotes, the line ends and the flow or block style of its surroundings."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from baselinekit.documents import jsonfile, yamlwrite
from baselinekit.documents.languages import Language
from baselinekit.documents.marks import MAPPING, SEQUENCE, Node
from baselinekit.documents.text import newline
from baselinekit.model.values import Json

_STEP = re.compile(r"^( *)(?:- )?[^\s#-][^\n]*:[ \t]*\r?\n( +)[^\s#-]", re.MULTILINE)
_JSON_STEP = re.compile(r"^[\[{][ \t]*\r?\n([ \t]+)", re.MULTILINE)
_ANCHOR = re.compile(r"&\S+[ \t]*")
_LINE_END = re.compile(r"[\r\n]|\Z")


class Splice(NamedTuple):
    start: int
    end: int
    text: str


class Layout:
    """The style of one text. `plainly`: on one line, wherever that could matter."""

    def __init__(self, body: str, language: Language, siblings: Sequence[str], plainly: bool = False):
        self.body = body
        self.language = language
        self.siblings = siblings
        self.plainly = plainly
        self.newline = newline(body)
        self.freed: set[int] = set()

    def replace(self, chain: list[Node], value: Json) -> Splice:
        """Another value in the place of a node; `chain` leads to it from the root."""
        node, parent = chain[-1], chain[-2] if len(chain) > 1 else None
        anchor = f"&{node.anchor} " if node.anchor and node.start not in self.freed else ""
        flow = not self.language.blocks or node.in_flow
        if isinstance(value, dict | list) and value and not (flow or anchor or self.plainly):
            return self._replace_by_block(node, parent, value)
        if isinstance(value, str) and self.language.blocks and node.style in ("'", '"'):
            text = yamlwrite.quoted(value, node.style)
        elif flow or isinstance(value, dict | list):
            text = self.language.flow(value)
        else:
            text = yamlwrite.scalar(value)
        start = node.start
        if node.kind in (MAPPING, SEQUENCE) and node.style != "flow" and node.key >= 0:
            start = len(self.body[:start].rstrip())
        before = self.body[start - 1 : start]
        if start == self._end(node) or start != node.start:  # nothing stood there, or not on this line
            text = f" {text}" if before in (":", "-") else text if before in ("", " ") else f": {text}"
        return Splice(start, self._end(node), anchor + text)

    def insert(self, node: Node, entries: dict[str, Json]) -> list[Splice]:
        """New keys in a mapping."""
        splices: dict[int, list[str]] = {}
        flow = not self.language.blocks or node.in_flow or node.style == "flow"
        write = self._insert_in_flow if flow else self._insert_in_block
        later: list[str] = []
        for key in entries:
            before = next((node.children[name] for name in self._after(key) if name in node.children), None)
            if before is None and self.plainly and node.size and not self._keeps_line_ends(node):
                splices.setdefault(node.first, []).append(key)
            elif before is None:
                later.append(key)
            else:
                splices.setdefault(before.key, []).append(key)
        done = [write(node, {key: entries[key] for key in keys}, at) for at, keys in splices.items()]
        return [*done, write(node, {key: entries[key] for key in later}, None)] if later else done

    def without_anchor(self, node: Node) -> Splice:
        match = _ANCHOR.match(self.body, node.start)
        end = match.end() if match else node.start
        start = node.start
        if self.body[end : end + 1] in ("\r", "\n"):
            start = len(self.body[:start].rstrip(" \t"))
        return Splice(start, end, "")

    def _after(self, key: str) -> Sequence[str]:
        return self.siblings[self.siblings.index(key) + 1 :] if key in self.siblings else ()

    def _end(self, node: Node) -> int:
        """A block of text ends after its last line end, which stays."""
        if node.style in ("|", ">") or node.ends_in_text_block:
            return node.start + len(self.body[node.start : node.end].rstrip())
        return node.end

    def _replace_by_block(self, node: Node, parent: Node | None, value: Json) -> Splice:
        start, end = node.start, self._end(node)
        column = self._column(start)
        was_block = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
        if was_block or parent is None or parent.kind == SEQUENCE:
            return Splice(start, end, self.newline.join(yamlwrite.block(value, column)))
        column = self._column(node.key) + self._step()
        comment = ""
        if node.is_null:  # a comment on its line stays there: the block comes below
            comment = self.body[end : self._line_end(end)].rstrip()
            end = self._line_end(end)
        text = (self.newline + " " * column) + self.newline.join(yamlwrite.block(value, column))
        return Splice(len(self.body[:start].rstrip(" \t")), end, comment + text)

    def _insert_in_block(self, node: Node, entries: dict[str, Json], at: int | None) -> Splice:
        column = self._column(node.first)
        indent = " " * column
        text = self.newline.join(yamlwrite.block(entries, column, step=self._step()))
        if at is not None:
            at = self._above_comments(at, column)
            return Splice(at, at, f"{text}{self.newline}{indent}")
        end = node.content_end
        if self.plainly and self._keeps_line_ends(node):
            return Splice(end, end, f"{indent}{text}{self.newline}")
        if node.ends_in_text_block:
            end = len(self.body[:end].rstrip())
        end = self._line_end(end)
        return Splice(end, end, f"{self.newline}{indent}{text}")

    def _keeps_line_ends(self, node: Node) -> bool:
        """Whether a mapping may end in `|+`, whose empty lines belong to the text."""
        return node.ends_in_text_block and self.body[node.content_end - 1 : node.content_end] in ("\n", "\r")

    def _insert_in_flow(self, node: Node, entries: dict[str, Json], at: int | None) -> Splice:
        first = node.first if node.size else node.end
        quoted = self.body[first : first + 1] in ("'", '"')
        between = self._between(node)
        indent = between.removeprefix(self.newline) if between != " " else None
        texts = [
            f"{self.language.key(key, quoted)}: {self._nested(value, indent)}"
            for key, value in entries.items()
        ]
        text = f",{between}".join(texts)
        if at is not None:
            return Splice(at, at, f"{text},{between}")
        if node.size:
            return Splice(node.content_end, node.content_end, f",{between}{text}")
        return Splice(node.end - 1, node.end - 1, text)

    def _between(self, node: Node) -> str:
        """What stands between two entries of a mapping in flow style: a blank, or a line of its own."""
        line = self.body[self.body.rfind("\n", 0, node.last) + 1 : node.last]
        return f"{self.newline}{line}" if node.size and not line.strip() and node.last > node.start else " "

    def _nested(self, value: Json, indent: str | None) -> str:
        if self.language.blocks or indent is None:
            return self.language.flow(value)
        step = _JSON_STEP.search(self.body)
        return jsonfile.pretty(value, step[1] if step else "  ", indent, self.newline)

    def _above_comments(self, at: int, column: int) -> int:
        """The key's comment stays with it: what is inserted before the key goes above the comment."""
        start = at - column
        if self.body[start:at].strip():
            return at
        while start:
            above = self.body.rfind("\n", 0, start - 1) + 1
            line = self.body[above:start]
            if not line.startswith(" " * column + "#"):
                return start + column
            start = above
        return at

    def _column(self, index: int) -> int:
        return index - max(self.body.rfind("\n", 0, index), self.body.rfind("\r", 0, index)) - 1

    def _line_end(self, index: int) -> int:
        match = _LINE_END.search(self.body, index)
        return match.start() if match else len(self.body)

    def _step(self) -> int:
        found = _STEP.search(self.body)
        width = len(found[2]) - len(found[1]) if found else 0
        return width if 1 <= width <= 8 else yamlwrite.STEP
