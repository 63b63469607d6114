"""The entries of a mapping or a list as text, in block and in flow style, and where a new one goes."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from baselinekit.documents import yamlwrite
from baselinekit.documents.layout import LONGEST_FLOW, Layout, Unplannable, above_comments
from baselinekit.documents.marks import MAPPING, SCALAR, SEQUENCE, MarkedNode
from baselinekit.documents.text import line_end, line_start
from baselinekit.documents.yamllines import scalar
from baselinekit.model.values import Json

# A new entry of a mapping or a list, written as its neighbours are.


def block_entry(layout: Layout, node: MarkedNode, name: str | int, value: Json, column: int) -> str:
    """Its lines in a collection in block style."""
    key, quote = str(name), layout.body[node.first : node.first + 1]
    written = f"{yamlwrite.scalar(key)}:"
    lead = f"{yamlwrite.quoted(key, quote)}:" if quote in ("'", '"') else written
    lead = "-" if node.kind == SEQUENCE else lead
    text = yamlwrite.flow(value) if layout.plainly else _on_one_line(node, value)
    if text is not None and len(lead) <= LONGEST_FLOW:
        return f"{' ' * column}{lead} {text}{layout.newline}"
    entry = [value] if node.kind == SEQUENCE else {key: value}
    lines = yamlwrite.block(entry, column, style=layout.style)
    if node.kind == MAPPING and lines[0].startswith(written):
        lines[0] = lead + lines[0].removeprefix(written)
    return f"{' ' * column}{layout.newline.join(lines)}{layout.newline}"


def flow_entry(layout: Layout, node: MarkedNode, name: str | int, value: Json) -> str:
    """Itself in a collection in flow style."""
    siblings = [child for child in node.children.values() if child.kind in (MAPPING, SEQUENCE) and child.size]
    on_lines = [child for child in siblings if "\n" in layout.body[child.start : child.end]]
    text = layout.nested(value, layout.indent_of(node.last) if on_lines or not siblings else None)
    if node.kind == SEQUENCE:
        return text
    quoted = layout.body[node.first : node.first + 1] in ("'", '"')
    return f"{layout.language.key(str(name), quoted)}:{'' if layout.tight else ' '}{text}"


def _on_one_line(node: MarkedNode, value: Json) -> str | None:
    """In flow style or in quotes, where all the neighbours are; None: as it comes."""
    siblings = node.children.values()
    if isinstance(value, dict | list) and value:
        flows = {
            child.style == "flow" and child.size > 0
            for child in siblings
            if child.kind in (MAPPING, SEQUENCE)
        }
        line = yamlwrite.flow(value)
        return line if flows == {True} and len(line) <= LONGEST_FLOW else None
    styles = {
        child.style
        for child in siblings
        if child.kind == SCALAR
        and (child.style or isinstance(scalar(child.value), str))  # no number or the like
    }
    if isinstance(value, str) and "\n" not in value and len(styles) == 1 and styles <= {"'", '"'}:
        return yamlwrite.quoted(value, styles.pop())
    return None


# The entries of a collection in block style as lines: each with the comments that belong to it.

_DASH = re.compile(r"(?:\s|#[^\r\n]*)*-")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n?|\n))*")
_DEEPER = re.compile(r"( *)#[^\r\n]*(?:\r\n?|\n|\Z)")


class Lines(NamedTuple):
    """Where an entry stands. `top`: with its comments above; `at`: its dash or key; `bottom`: behind its last
    line end, with comments below that are indented deeper."""

    top: int
    at: int
    bottom: int


def lines_of(body: str, node: MarkedNode, values: Sequence[Json]) -> list[Lines]:
    """The entries of a mapping or a list in block style, whose values are these."""
    entries: list[Lines] = []
    end = -1
    for child, value in zip(node.children.values(), values, strict=True):
        at = child.key if node.kind != SEQUENCE else _dash(body, node, end)
        start = line_start(body, at)
        top = at if body[start:at].strip() else above_comments(body, start, at - start, max(end, 0))
        if (top == at != start and entries) or body[start:at].rstrip().endswith("?"):
            raise Unplannable
        end = _bottom(body, child, value, at - line_start(body, at))
        entries.append(Lines(top, at, end))
        end = child.end
    return entries


def _dash(body: str, node: MarkedNode, end: int) -> int:
    match = _DASH.match(body, _behind(_PROPERTIES, body, node.start) if end < 0 else end)
    if match is None:
        raise Unplannable
    return match.end() - 1


def _bottom(body: str, node: MarkedNode, value: Json, column: int) -> int:
    """Behind the last line of a value. The blank lines below a text block are no part of it, unless it keeps
    them (`|+`)."""
    end = node.end
    if node.style in ("|", ">") or node.ends_in_text_block:
        if _keeps_line_ends(value):
            return end
        end = node.start + len(body[node.start : end].rstrip())
    end = line_end(body, end)[1]
    while match := _DEEPER.match(body, _behind(_BLANK_LINES, body, end)):
        if len(match[1]) <= column:
            break
        end = match.end()
    return end


def _behind(pattern: re.Pattern[str], body: str, index: int) -> int:
    match = pattern.match(body, index)
    return match.end() if match else index


def _keeps_line_ends(value: Json) -> bool:
    while isinstance(value, dict | list) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return isinstance(value, str) and (value.endswith("\n\n") or value.strip("\n") == "")


# The entries of a collection in flow style, `[1, 2]` or `{a: 1}` on one line or on several: each with
# the blanks and comments around it, and without its comma.

_BETWEEN = re.compile(
    r"(?P<before>(?:[ \t\r\n]|(?<=\s)#[^\r\n]*)*),(?P<tail>[ \t]*(?:#[^\r\n]*)?(?=[\r\n]))?"
)
_TAIL = re.compile(r"[ \t]*#[^\r\n]*")


class EntryText(NamedTuple):
    """`lead`: what stands before it since the entry before; `before_comma` and `tail`: what follows it on
    its line."""

    lead: str
    start: int
    end: int
    before_comma: str = ""
    tail: str = ""


class FlowEntries(NamedTuple):
    """The whole: its entries, what ends it before the bracket, and whether its last entry has a comma."""

    items: list[EntryText]
    close: str
    last_comma: bool


def row_of(body: str, node: MarkedNode) -> FlowEntries:
    items: list[EntryText] = []
    at = node.first
    opening = body.find("{" if node.kind == MAPPING else "[", node.start, node.first)
    if opening < 0:
        raise Unplannable
    lead = body[opening + 1 : at]
    children = list(node.children.values())
    for number, child in enumerate(children):
        start = child.key if child.key >= 0 else child.start
        if number:
            lead = body[at:start]
        end = start + len(body[start : max(child.end, start)].rstrip())
        match = _BETWEEN.match(body, end)
        if match is not None:
            items.append(EntryText(lead, start, end, match["before"], match["tail"] or ""))
            at = match.end()
        else:
            tail = _TAIL.match(body, end)
            items.append(EntryText(lead, start, end, "", tail[0] if tail else ""))
            at = tail.end() if tail else end
    comma = _BETWEEN.match(body, items[-1].end) is not None
    return FlowEntries(items, body[at : node.end - 1], comma)


def joined(texts: Sequence[tuple[EntryText | None, str]], row: FlowEntries, newline: str, tight: bool) -> str:
    """The entries in another order, or others (None: a new one), as they stand between the brackets."""
    first, others = row.items[0].lead, _usual_lead(row, newline, tight)
    parts: list[str] = []
    for number, (item, text) in enumerate(texts):
        lead = others if item is None or item is row.items[0] else item.lead
        if item is not None and "#" in item.lead:
            lead = item.lead
        elif not number:
            lead = first if "#" not in first else newline + first.rpartition("\n")[2]
        if parts and "#" in parts[-1] and not lead.lstrip(" \t").startswith(("\r", "\n")):
            lead = newline + lead
        before_comma, tail = (item.before_comma, item.tail) if item else ("", "")
        comma = "," if number + 1 < len(texts) or row.last_comma else ""
        parts += [lead, text, before_comma if comma or "#" in before_comma else "", comma, tail]
    cut = "#" in parts[-1] and not row.close.lstrip(" \t").startswith(("\r", "\n"))
    return "".join(parts) + (newline if cut else "") + row.close


def _usual_lead(row: FlowEntries, newline: str, tight: bool) -> str:
    """What stands before an entry that is not the first."""
    if len(row.items) > 1:
        lead = row.items[1].lead
    else:
        lead = row.items[0].lead if "\n" in row.items[0].lead else "" if tight else " "
    return newline + lead.rpartition("\n")[2] if "#" in lead else lead
