"""The entries of a collection in flow style, `[1, 2]` or `{a: 1}` on one line or on several: each with the
blanks and comments around it, and without its comma."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from baselinekit.documents.layout import Unplannable
from baselinekit.documents.marks import MAPPING, Node

_BETWEEN = re.compile(
    r"(?P<before>(?:[ \t\r\n]|(?<=\s)#[^\r\n]*)*),(?P<tail>[ \t]*(?:#[^\r\n]*)?(?=[\r\n]))?"
)
_TAIL = re.compile(r"[ \t]*#[^\r\n]*")


class Item(NamedTuple):
    """`lead`: what stands before it since the entry before; `before_comma` and `tail`: what follows it on
    its line."""

    lead: str
    start: int
    end: int
    before_comma: str = ""
    tail: str = ""


class Row(NamedTuple):
    """The whole: its entries, what ends it before the bracket, and whether its last entry has a comma."""

    items: list[Item]
    close: str
    last_comma: bool


def row_of(body: str, node: Node) -> Row:
    items: list[Item] = []
    at = node.first
    lead = body[_opening(body, node) : at]
    children = list(node.children.values())
    for number, child in enumerate(children):
        start = child.key if child.key >= 0 else child.start
        if number:
            lead = body[at:start]
        end = start + len(body[start : max(child.end, start)].rstrip())
        match = _BETWEEN.match(body, end)
        if match is not None:
            items.append(Item(lead, start, end, match["before"], match["tail"] or ""))
            at = match.end()
        else:
            tail = _TAIL.match(body, end)
            items.append(Item(lead, start, end, "", tail[0] if tail else ""))
            at = tail.end() if tail else end
    comma = _BETWEEN.match(body, items[-1].end) is not None
    return Row(items, body[at : node.end - 1], comma)


def _opening(body: str, node: Node) -> int:
    """Behind the bracket that opens it."""
    opening = body.find("{" if node.kind == MAPPING else "[", node.start, node.first)
    if opening < 0:
        raise Unplannable
    return opening + 1


def joined(texts: Sequence[tuple[Item | None, str]], row: Row, newline: str, tight: bool) -> str:
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


def _usual_lead(row: Row, newline: str, tight: bool) -> str:
    """What stands before an entry that is not the first."""
    if len(row.items) > 1:
        lead = row.items[1].lead
    else:
        lead = row.items[0].lead if "\n" in row.items[0].lead else "" if tight else " "
    return newline + lead.rpartition("\n")[2] if "#" in lead else lead
