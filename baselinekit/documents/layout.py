"""How a change is written in the style of its file: indentation, quotes, line ends, block or flow style."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from baselinekit.documents.jsontext import compact, pretty, tight_json
from baselinekit.documents.languages import (
    STEP,
    Language,
    YamlStyle,
    is_text_block,
    yaml_block,
    yaml_quoted,
    yaml_scalar,
)
from baselinekit.documents.text import (
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

# Text of several lines below a `|` or a `>`: the new text has the indentation and the line length of the old.

_HEADER = lazy_pattern(r"([|>])([1-9]?)([+-]?)([1-9]?)([^\r\n]*)(?:\r\n?|\n|\Z)")
_LONG = 80
_NOT_FOLDED = lazy_pattern(r"^[ \t]|[ \t]$|\A\n", re.MULTILINE)


def rewritten(written: str, text: str, outer: int, newline: str) -> str | None:
    """Other words for a block of text, without the last line end. `outer`: the column of its key or dash.
    None where it cannot hold them, or where they need no block."""
    header = _HEADER.match(written)
    if header is None:
        return None
    mark, indent, ending, indent_behind, comment = header.groups()
    filled = [line for line in written[header.end() :].splitlines() if line.strip()]
    if text.endswith("\n\n") and ending != "+":
        return None  # it would take in the empty lines that follow
    if "\n" not in text and len(text) <= (max(map(len, filled)) if len(filled) > 1 else _LONG):
        return None
    column = outer + int(indent or indent_behind or 0)
    if column == outer:
        column = len(filled[0]) - len(filled[0].lstrip(" ")) if filled else outer + STEP
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
    if not is_text_block(text + "\n"):
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


_STEP = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( +)[^\s#-]", re.MULTILINE)
_LIST = lazy_pattern(r"^( *(?:- )*)[^\s#-][^\n]*:[ \t]*\r?\n( *)- ", re.MULTILINE)
_JSON_STEP = lazy_pattern(r"^[\[{][ \t]*\r?\n([ \t]+)", re.MULTILINE)
_ANCHOR = lazy_pattern(r"&\S+[ \t]*")
_KEY = lazy_pattern(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\r\n]*?)[ \t]*:(?=\s|$)""")
_DASH = lazy_pattern(r"[ -]*-(?= |$)")
_AFTER_COLON = lazy_pattern(r'":([ \t]*)')
LONGEST_FLOW = 100


class Layout:
    """The style of one text. `plainly`: on one line, wherever that could matter."""

    def __init__(self, body: str, language: Language, siblings: Sequence[str], plainly: bool = False):
        self.body = body
        self.language = language
        self.siblings = siblings
        self.plainly = plainly
        self.newline = newline(body)
        self.freed: set[int] = set()

    def on_one_line(self) -> "Layout":
        """The same, where the nicer way did not do."""
        plain = Layout(self.body, self.language, self.siblings, plainly=True)
        plain.freed = self.freed
        return plain

    def replace(self, chain: list[MarkedNode], value: Json) -> Splice:
        """Another value in the place of a node; `chain` leads to it from the root."""
        node, parent = chain[-1], chain[-2] if len(chain) > 1 else None
        anchor = f"&{node.anchor} " if node.anchor and node.start not in self.freed else ""
        flow = not self.language.blocks or node.in_flow
        nicely = not (flow or anchor or self.plainly)
        was_flow = node.kind in (MAPPING, SEQUENCE) and node.style == "flow" and node.size > 0
        is_structure = isinstance(value, dict | list) and value
        if nicely and is_structure and (not was_flow or len(self.language.flow(value)) > LONGEST_FLOW):
            return self._replace_by_block(node, parent, value)
        block = self._replace_by_text_block(node, parent, value) if nicely else None
        if block is not None:
            return block
        if isinstance(value, str) and self.language.blocks and node.style in ("'", '"'):
            text = yaml_quoted(value, node.style)
        elif flow or isinstance(value, dict | list):
            text = self.nested(value, self.indent_of(node.key if node.key >= 0 else node.start))
        else:
            text = yaml_scalar(value)
        if node.kind in (MAPPING, SEQUENCE) and node.style != "flow" and parent is not None:
            return self._replace_block_by_line(node, anchor + text)
        start = node.start
        before = self.body[start - 1 : start]
        if start == self._end(node):  # nothing stood there
            text = f" {text}" if before in (":", "-") else text if before in ("", " ") else f": {text}"
            text += self.newline if before in ("\n", "\r") else ""  # below a `? key`
        return Splice(start, self._end(node), anchor + text)

    @cached_property
    def tight(self) -> bool:
        """Whether a JSON text has no blanks between its signs."""
        match = _AFTER_COLON.search(self.body)
        return not self.language.blocks and match is not None and not match[1]

    def insert(self, node: MarkedNode, entries: dict[str, Json]) -> list[Splice]:
        """New keys in a mapping."""
        splices: dict[int, list[str]] = {}
        flow = not self.language.blocks or node.in_flow or node.style == "flow"
        write = self._insert_in_flow if flow else self._insert_in_block
        later: list[str] = []
        for key in entries:
            after = self.siblings[self.siblings.index(key) + 1 :] if key in self.siblings else ()
            before = next((node.children[name] for name in after if name in node.children), None)
            if before is None and self.plainly and node.size and not self._keeps_line_ends(node):
                splices.setdefault(node.first, []).append(key)
            elif before is None:
                later.append(key)
            else:
                splices.setdefault(before.key, []).append(key)
        done = [write(node, {key: entries[key] for key in keys}, at) for at, keys in splices.items()]
        return [*done, write(node, {key: entries[key] for key in later}, None)] if later else done

    def _end(self, node: MarkedNode) -> int:
        """A block of text ends after its last line end, which stays."""
        if node.style in ("|", ">") or node.ends_in_text_block:
            return node.start + len(self.body[node.start : node.end].rstrip())
        return node.end

    def _replace_by_block(self, node: MarkedNode, parent: MarkedNode | None, value: Json) -> Splice:
        start, end = node.start, self._end(node)
        column = self._column(start)
        if start == end and self.body[start - 1 : start] == "-":  # `-` and nothing behind it
            text = self.newline.join(yaml_block(value, column + 1, style=self.style))
            return Splice(start, end, f" {text}")
        if node.kind in (MAPPING, SEQUENCE) and node.style != "flow":
            comment = ""  # it was about the last line
            in_place = isinstance(value, list) or node.key < 0 or column > self._column(node.key)
        else:
            comment = self.body[end : self._line_end(end)].rstrip()  # stays there: the block comes below
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
        """A text of several lines as a block, where one stood, or where nothing tells against it."""
        if not isinstance(value, str) or node.kind != SCALAR or parent is None:
            return None
        start, end = node.start, node.end
        written = self.body[start:end]
        outer = self._column(node.key if node.key >= 0 else start) - (0 if node.key >= 0 else STEP)
        if node.style in ("|", ">"):
            text = rewritten(written, value, outer, self.newline)
            if text is not None and written.endswith(("\n", "\r")) and "+" in written.split("\n")[0]:
                return Splice(start, end, text + self.newline)
            return None if text is None else Splice(start, self._end(node), text)
        if node.style or "\n" not in value or value.endswith("\n\n") or "\n" in written or start == end:
            return None
        line_end = self._line_end(end)
        comment = self.body[end:line_end].rstrip()
        column = self._column(start) if node.key < 0 else outer + self.style.step
        text = begun(value, outer, column, self.newline, comment)
        return None if text is None else Splice(start, line_end, text)

    def _replace_block_by_line(self, node: MarkedNode, text: str) -> Splice:
        """One line in the place of many: the comment behind the key or the dash stays there."""
        lead = _KEY.match(self.body, node.key) if node.key >= 0 else None
        end = lead.end() if lead else self._behind_dash(node.start)
        between = self.body[end : node.start]
        line = between[: line_end(between, 0)[0]] if "#" in between else ""
        comment = line.rstrip() if "#" in line else ""
        return Splice(end, self._line_end(self._end(node)), f" {text}{comment}")

    def _behind_dash(self, start: int) -> int:
        """Where the element begins that starts here, or on a line below its dash."""
        at = len(self.body[:start].rstrip(" "))
        while at and self.body[at - 1] != "-":
            above = self._column(at)
            line = self.body[at - above : at]
            match = _DASH.match(line)
            if match:
                return at - above + match.end()
            if line.strip() and not line.lstrip().startswith("#"):
                raise Unplannable
            at = len(self.body[: at - above].rstrip("\r\n"))
        return at

    def _insert_in_block(self, node: MarkedNode, entries: dict[str, Json], at: int | None) -> Splice:
        column = self._column(node.first)
        indent = " " * column
        text = self.newline.join(yaml_block(entries, column, style=self.style))
        if at is not None:
            if not self.body[at - column : at].strip():  # the comment of the key stays with it
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
        """Whether a mapping may end in `|+`, whose empty lines belong to the text."""
        return node.ends_in_text_block and self.body[node.content_end - 1 : node.content_end] in ("\n", "\r")

    def _insert_in_flow(self, node: MarkedNode, entries: dict[str, Json], at: int | None) -> Splice:
        first = node.first if node.size else node.end
        quoted = self.body[first : first + 1] in ("'", '"')
        indent = self.indent_of(node.last) if node.size and node.last > node.start else None
        between = " " if indent is None else f"{self.newline}{indent}"
        texts = [
            f"{self.language.key(key, quoted)}: {self.nested(value, indent)}"
            for key, value in entries.items()
        ]
        text = f",{between}".join(texts)
        if at is not None:
            return Splice(at, at, f"{text},{between}")
        if node.size:
            return Splice(node.content_end, node.content_end, f",{between}{text}")
        return Splice(node.end - 1, node.end - 1, text)

    def indent_of(self, index: int) -> str | None:
        """The blanks before something that begins its line."""
        line = self.body[self.body.rfind("\n", 0, index) + 1 : index] if index >= 0 else "-"
        return None if line.strip() or "\n" not in self.body[:index] else line

    def nested(self, value: Json, indent: str | None) -> str:
        if self.language.blocks:
            return self.language.flow(value)
        if indent is None or self.plainly:
            return tight_json(value) if self.tight else compact(value)
        step = _JSON_STEP.search(self.body)
        return pretty(value, step[1] if step else "  ", indent, self.newline)

    def _column(self, index: int) -> int:
        return index - line_start(self.body, index)

    def _line_end(self, index: int) -> int:
        return line_end(self.body, index)[0]

    @cached_property
    def style(self) -> YamlStyle:
        """How the text is indented, as far as it tells."""
        mapping, listing = _STEP.search(self.body), _LIST.search(self.body)
        width = len(mapping[2]) - len(mapping[1]) if mapping else 0
        flat = listing is not None and len(listing[1]) == len(listing[2])
        return YamlStyle(width if 1 <= width <= 8 else STEP, flat, inside=True)


def without_anchor(body: str, start: int) -> Splice:
    """A value that begins with its anchor, without it."""
    match = _ANCHOR.match(body, start)
    end = match.end() if match else start
    if body[end : end + 1] in ("\r", "\n"):
        start = len(body[:start].rstrip(" \t"))
    return Splice(start, end, "")


def above_comments(body: str, start: int, column: int, lowest: int) -> int:
    """Where the comments begin that stand right above a line, in its column. What reaches the head of the
    file is about the file."""
    top = start
    while top > lowest:
        above = line_start(body, top - (2 if body[:top].endswith("\r\n") else 1))
        if above < lowest or not body.startswith(" " * column + "#", above):
            return top
        top = above
    return start if top == 0 else top
