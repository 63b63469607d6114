"""Replaces a value in a file by another: parts that are equal keep their bytes, comments and style."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import plain_scalar
from baselinekit.files.languages import Language, yaml_block, yaml_flow, yaml_quoted, yaml_scalar
from baselinekit.files.layout import LONGEST_FLOW, Layout, above_comments
from baselinekit.files.splice import Shared, apply, find_anchors, impossible, split_anchors
from baselinekit.files.text import (
    MAPPING,
    SCALAR,
    SEQUENCE,
    MarkedNode,
    Splice,
    Unplannable,
    apply_splices,
    line_end,
    line_start,
    mark,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Edit, Json, Path
from baselinekit.values.changes import (
    Hints,
    Rewrite,
    RewrittenEntry,
    next_plainer_rewrite,
    restrict_to_sites,
    rewrite,
    rewrite_at,
    rooted,
    sites,
    with_rewrite_at,
)
from baselinekit.values.equality import identical
from baselinekit.values.places import value_at

# New entries of a mapping or a list, written like their neighbours.


def block_entry(layout: Layout, node: MarkedNode, name: str | int, value: Json, column: int) -> str:
    """Write a new entry of a collection in block style."""
    key, quote = str(name), layout.body[node.first : node.first + 1]
    key_text = f"{yaml_scalar(key)}:"
    prefix = f"{yaml_quoted(key, quote)}:" if quote in ("'", '"') else key_text
    prefix = "-" if node.kind == SEQUENCE else prefix
    text = yaml_flow(value) if layout.plainly else on_one_line(node, value)
    if text is not None and len(prefix) <= LONGEST_FLOW:
        return f"{' ' * column}{prefix} {text}{layout.newline}"
    entry = [value] if node.kind == SEQUENCE else {key: value}
    lines = yaml_block(entry, column, style=layout.style)
    if node.kind == MAPPING and lines[0].startswith(key_text):
        lines[0] = prefix + lines[0].removeprefix(key_text)
    return f"{' ' * column}{layout.newline.join(lines)}{layout.newline}"


def flow_entry(layout: Layout, node: MarkedNode, name: str | int, value: Json) -> str:
    """Write a new entry of a collection in flow style."""
    siblings = [child for child in node.children.values() if child.kind in (MAPPING, SEQUENCE) and child.size]
    multi_line = [child for child in siblings if "\n" in layout.body[child.start : child.end]]
    text = layout.nested(value, layout.indent_of(node.last) if multi_line or not siblings else None)
    if node.kind == SEQUENCE:
        return text
    quoted = layout.body[node.first : node.first + 1] in ("'", '"')
    return f"{layout.language.key(str(name), quoted)}:{'' if layout.tight else ' '}{text}"


def on_one_line(node: MarkedNode, value: Json) -> str | None:
    """Write a value in flow style or in quotes, if all its neighbours are; None if they are not."""
    siblings = node.children.values()
    if isinstance(value, dict | list) and value:
        flows = {
            child.style == "flow" and child.size > 0
            for child in siblings
            if child.kind in (MAPPING, SEQUENCE)
        }
        line = yaml_flow(value)
        return line if flows == {True} and len(line) <= LONGEST_FLOW else None
    styles = {
        child.style
        for child in siblings
        if child.kind == SCALAR
        and (child.style or isinstance(plain_scalar(child.value), str))  # not numbers and the like
    }
    if isinstance(value, str) and "\n" not in value and len(styles) == 1 and styles <= {"'", '"'}:
        return yaml_quoted(value, styles.pop())
    return None


# The lines of the entries of a collection in block style, each with its comments.

_NEXT_DASH = lazy_pattern(r"(?:\s|#[^\r\n]*)*-")
_PROPERTIES = lazy_pattern(r"(?:[&!]\S*[ \t]*)*")
_BLANK_LINES = lazy_pattern(r"(?:[ \t]*(?:\r\n?|\n))*")
_COMMENT_LINE = lazy_pattern(r"( *)#[^\r\n]*(?:\r\n?|\n|\Z)")


class Lines(NamedTuple):
    """The position of an entry. `top`: the start of the comments above it; `at`: its dash or key; `bottom`:
    after its last line end, including comments below that are indented deeper."""

    top: int
    at: int
    bottom: int


def lines_of(body: str, node: MarkedNode, values: Sequence[Json]) -> list[Lines]:
    """Return the lines of the entries of a mapping or a list in block style that has these values."""
    entries: list[Lines] = []
    end = -1
    for child, value in zip(node.children.values(), values, strict=True):
        at = child.key if node.kind != SEQUENCE else _find_dash(body, node, end)
        start = line_start(body, at)
        top = at if body[start:at].strip() else above_comments(body, start, at - start, max(end, 0))
        if (top == at != start and entries) or body[start:at].rstrip().endswith("?"):
            raise Unplannable
        end = _find_bottom(body, child, value, at - line_start(body, at))
        entries.append(Lines(top, at, end))
        end = child.end
    return entries


def _find_dash(body: str, node: MarkedNode, end: int) -> int:
    match = _NEXT_DASH.match(body, _match_end(_PROPERTIES, body, node.start) if end < 0 else end)
    if match is None:
        raise Unplannable
    return match.end() - 1


def _find_bottom(body: str, node: MarkedNode, value: Json, column: int) -> int:
    """Return the index after the last line of a value. The blank lines below a text block are not part of it,
    unless it keeps them (`|+`)."""
    end = node.end
    if node.style in ("|", ">") or node.ends_in_text_block:
        if keeps_line_ends(value):
            return end
        end = node.start + len(body[node.start : end].rstrip())
    end = line_end(body, end)[1]
    while match := _COMMENT_LINE.match(body, _match_end(_BLANK_LINES, body, end)):
        if len(match[1]) <= column:
            break
        end = match.end()
    return end


def _match_end(pattern: re.Pattern[str], body: str, index: int) -> int:
    match = pattern.match(body, index)
    return match.end() if match else index


def keeps_line_ends(value: Json) -> bool:
    while isinstance(value, dict | list) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return isinstance(value, str) and (value.endswith("\n\n") or value.strip("\n") == "")


# The entries of a collection in flow style, `[1, 2]` or `{a: 1}` on one line or several: each with the blanks
# and comments around it, and without its comma.

_COMMA = lazy_pattern(
    r"(?P<before>(?:[ \t\r\n]|(?<=\s)#[^\r\n]*)*),(?P<tail>[ \t]*(?:#[^\r\n]*)?(?=[\r\n]))?"
)
_TRAILING_COMMENT = lazy_pattern(r"[ \t]*#[^\r\n]*")


class EntryText(NamedTuple):
    """An entry. `lead`: the text between the previous entry and this one; `before_comma` and `tail`: the text
    after it on its line."""

    lead: str
    start: int
    end: int
    before_comma: str = ""
    tail: str = ""


class FlowEntries(NamedTuple):
    """All entries, the text before the closing bracket, and whether the last entry has a comma."""

    items: list[EntryText]
    close: str
    last_comma: bool


def flow_entries_of(body: str, node: MarkedNode) -> FlowEntries:
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
        match = _COMMA.match(body, end)
        if match is not None:
            items.append(EntryText(lead, start, end, match["before"], match["tail"] or ""))
            at = match.end()
        else:
            tail = _TRAILING_COMMENT.match(body, end)
            items.append(EntryText(lead, start, end, "", tail[0] if tail else ""))
            at = tail.end() if tail else end
    comma = _COMMA.match(body, items[-1].end) is not None
    return FlowEntries(items, body[at : node.end - 1], comma)


def join_entries(
    texts: Sequence[tuple[EntryText | None, str]], flow_entries: FlowEntries, newline: str, tight: bool
) -> str:
    """Join entries (None: a new one) in any order into the text between the brackets."""
    first_lead, other_lead = flow_entries.items[0].lead, usual_lead(flow_entries, newline, tight)
    parts: list[str] = []
    for number, (item, text) in enumerate(texts):
        lead = other_lead if item is None or item is flow_entries.items[0] else item.lead
        if item is not None and "#" in item.lead:
            lead = item.lead
        elif not number:
            lead = first_lead if "#" not in first_lead else newline + first_lead.rpartition("\n")[2]
        if parts and "#" in parts[-1] and not lead.lstrip(" \t").startswith(("\r", "\n")):
            lead = newline + lead
        before_comma, tail = (item.before_comma, item.tail) if item else ("", "")
        comma = "," if number + 1 < len(texts) or flow_entries.last_comma else ""
        parts += [lead, text, before_comma if comma or "#" in before_comma else "", comma, tail]
    needs_newline = "#" in parts[-1] and not flow_entries.close.lstrip(" \t").startswith(("\r", "\n"))
    return "".join(parts) + (newline if needs_newline else "") + flow_entries.close


def usual_lead(row: FlowEntries, newline: str, tight: bool) -> str:
    """Return the text before an entry that is not the first."""
    if len(row.items) > 1:
        lead = row.items[1].lead
    else:
        lead = row.items[0].lead if "\n" in row.items[0].lead else "" if tight else " "
    return newline + lead.rpartition("\n")[2] if "#" in lead else lead


_FIRST_LINE_END = lazy_pattern(r"\r\n?|\n")

Chain = list[MarkedNode]
"""The nodes from the root to a node."""


def paths_of(change: Rewrite, old: Json, at: Path = ()) -> Iterator[Path]:
    """Yield the paths whose marks the splices need."""
    yield at
    if change.entries is not None and change.rebuilt:
        names = old if isinstance(old, dict) else range(len(old))
        yield from ((*at, name) for name in names)
    for entry in change.entries or ():
        if entry.rewrite is not None and entry.old is not None:
            yield from paths_of(entry.rewrite, old[entry.old], (*at, entry.old))


class Rewriter:
    """Turns a change into splices. `extra_splices`: splices that it needs elsewhere, such as for aliases."""

    def __init__(self, layout: Layout, extra_splices: Sequence[Splice] = ()):
        self.layout = layout
        self.body = layout.body
        self.extra_splices = list(extra_splices)

    def text(self, change: Rewrite, root: MarkedNode, old: Json) -> str:
        return self.between(0, len(self.body), self.splices(change, [root], old))

    def splices(self, change: Rewrite, chain: Chain, old: Json) -> list[Splice]:
        node = chain[-1]
        kind = MAPPING if isinstance(old, dict) else SEQUENCE
        if change.entries is None or node.kind != kind:
            return [self.layout_of(change).replace(chain, change.value)]
        if not change.rebuilt:
            inner = [self.inside(entry, chain, old) for entry in change.entries]
            return [splice for splices in inner for splice in splices]
        if len(node.children) != node.size:
            raise Unplannable
        if node.in_flow or node.style == "flow":
            return [self.in_flow(change.entries, chain, old)]
        return [self.in_block(change.entries, chain, old, self.layout_of(change))]

    def layout_of(self, change: Rewrite) -> Layout:
        return self.layout.on_one_line() if change.plainly else self.layout

    def inside(self, entry: RewrittenEntry, chain: Chain, old: Json) -> list[Splice]:
        if entry.rewrite is None or entry.old is None:
            return []
        child = chain[-1].children.get(entry.old)
        if child is None:
            raise Unplannable
        return self.splices(entry.rewrite, [*chain, child], old[entry.old])

    def between(self, start: int, end: int, inner: Sequence[Splice]) -> str:
        """Return a part of the text, with its own splices and with the extra splices in it."""
        contained = [splice for splice in self.extra_splices if start <= splice.start and splice.end <= end]
        self.extra_splices = [splice for splice in self.extra_splices if splice not in contained]
        relative = [
            Splice(splice.start - start, splice.end - start, splice.text) for splice in (*inner, *contained)
        ]
        return apply_splices(self.body[start:end], relative) if relative else self.body[start:end]

    def in_flow(self, entries: Sequence[RewrittenEntry], chain: Chain, old: Json) -> Splice:
        node = chain[-1]
        row = flow_entries_of(self.body, node)
        indexes = {name: index for index, name in enumerate(node.children)}
        texts: list[tuple[EntryText | None, str]] = []
        for entry in entries:
            if entry.old is None:
                texts.append((None, flow_entry(self.layout, node, entry.name, entry.value)))
            else:
                item = row.items[indexes[entry.old]]
                texts.append((item, self.between(item.start, item.end, self.inside(entry, chain, old))))
        start = row.items[0].start - len(row.items[0].lead)
        text = join_entries(texts, row, self.layout.newline, self.layout.tight)
        return Splice(start, node.end - 1, text)

    def in_block(self, entries: Sequence[RewrittenEntry], chain: Chain, old: Json, layout: Layout) -> Splice:
        node = chain[-1]
        values = [old[name] for name in node.children] if isinstance(old, dict) else old
        lines = lines_of(self.body, node, values)
        column = lines[0].at - line_start(self.body, lines[0].at)
        on_parents_line = lines[0].top == lines[0].at and column > 0
        indexes = {name: index for index, name in enumerate(node.children)}
        old_indexes = [None if entry.old is None else indexes[entry.old] for entry in entries]
        gaps = _Gaps(self.body, lines)
        parts: list[str] = []
        for entry, index in zip(entries, old_indexes, strict=True):
            gap = gaps.before(index, first=not parts)
            ends_blank = "".join(parts[-1:]).endswith(("\n\n", "\n\r\n"))  # `|+`: they are part of the text
            parts.append("" if ends_blank and not gap.strip() else gap)
            if index is None:
                parts.append(block_entry(layout, node, entry.name, entry.value, column))
            else:
                part = self.between(lines[index].top, lines[index].bottom, self.inside(entry, chain, old))
                if index == 0 and on_parents_line:
                    part = " " * column + part
                parts.append(part if part.endswith(("\n", "\r")) else part + self.layout.newline)
        text = "".join(parts) + gaps.remaining()
        if on_parents_line:
            text = text.lstrip("\r\n")[column:]
        if not self.body[: lines[-1].bottom].endswith(("\n", "\r")):
            text = text.removesuffix(self.layout.newline)
        return Splice(lines[0].top, lines[-1].bottom, text)


class _Gaps:
    """The text between entries: blank lines, which move with their entry, and comments that belong to no
    entry, which stay."""

    def __init__(self, body: str, lines: Sequence[Lines]):
        self.texts = ["", *(body[previous.bottom : following.top] for previous, following in pairwise(lines))]
        gaps = self.texts[1:]
        self.usual_gap = gaps[0] if gaps and all(text and not text.strip() for text in gaps) else ""
        self.comment_indexes = deque(index for index, text in enumerate(self.texts) if text.strip())

    def before(self, index: int | None, *, first: bool) -> str:
        """Return the text before the entry that had this index; None: a new entry."""
        if index is None or index == 0:
            return "" if first else self.usual_gap
        comments = ""
        while self.comment_indexes and self.comment_indexes[0] < index:
            comments += self.texts[self.comment_indexes.popleft()]
        if not self.texts[index].strip():
            return comments if first else comments + self.texts[index]
        if self.comment_indexes and self.comment_indexes[0] == index:
            return comments + self.texts[self.comment_indexes.popleft()]
        return comments

    def remaining(self) -> str:
        text = "".join(self.texts[index] for index in self.comment_indexes)
        return text.rstrip() + _FIRST_LINE_END.findall(text)[0] if text else ""


# The result is parsed and must be the file with exactly this change. If the nicest way to write it fails that
# test, the parts that cause the failure are found and written more plainly, and no others.

_MAX_SIMPLIFIED = 16
"""How many parts of a file are written more plainly one by one, before all of it is."""

_MAX_REREAD_CHARS = 20_000_000
"""How many characters may be parsed again in all, to find such parts."""

_NO_HINTS = Hints()


def replace_value(
    body: str, document: int, language: Language, path: Path, new: Json, hints: Hints = _NO_HINTS
) -> str:
    """Return the text with the value at a path replaced. NotRecorded if that is not possible."""
    documents = language.load(body, "")
    try:
        old = value_at(documents[document], path)
    except (KeyError, TypeError):
        return apply(body, [Edit(path, new)], document, language, hints.siblings)
    except IndexError:
        raise impossible(".".join(map(str, path)) or "the file") from None
    change = rewrite(old, new, hints)
    if change is None:
        return body
    job = _RenewalJob(body, language, document, documents, hints.ordered)
    for plan in job.plans(rooted(change, documents[document], path), path):
        text = job.attempt(plan)
        if text is not None:
            return text
    raise impossible(".".join(map(str, path)) or "the file")


class _RenewalJob:
    """The ways to write a change into one file."""

    def __init__(
        self, body: str, language: Language, document: int, documents: Sequence[Json], ordered: bool
    ):
        self.body = body
        self.language = language
        self.document = document
        self.documents = list(documents)
        self.old = self.documents[document]
        self.ordered = ordered
        self.tries = max(8, _MAX_REREAD_CHARS // (len(body) + 1))
        self.shared: list[Shared] = find_anchors(language.events(body), document) if "&" in body else []

    def plans(self, change: Rewrite, top: Path) -> Iterator[Rewrite]:
        """Yield ways to write a change, the nicest first. A site that fails is written more plainly, or its
        parent is, up to the value at `top`."""
        yield change
        for _ in range(_MAX_SIMPLIFIED):
            culprit = self.culprit(change) if self.tries > 0 else None
            simplified = None if culprit is None else _simplify_site(change, culprit, top)
            if simplified is None:
                break
            change = simplified
            yield change
        top_change = rewrite_at(change, top) or change
        for plainly in (False, True):
            yield with_rewrite_at(change, top, Rewrite(top_change.value, plainly=plainly))

    def attempt(self, change: Rewrite) -> str | None:
        """Return the text with the change, if parsing it gives the expected value."""
        self.tries -= 1
        try:
            text = self.text(change)
            reloaded = self.language.load(text, "")
        except (BaselinekitError, Unplannable):
            return None
        expected = [*self.documents[: self.document], change.value, *self.documents[self.document + 1 :]]
        return text if identical(reloaded, expected, self.ordered) else None

    def text(self, change: Rewrite) -> str:
        """Return the text with the change, without checking it."""
        split = split_anchors(change, self.shared, self.old, self.language, self.body)
        change, extra_splices, unanchored = split
        layout = Layout(self.body, self.language, ())
        layout.unanchored |= unanchored
        marks = mark(self.language.events(self.body), self.document, paths_of(change, self.old))
        if marks.root is None:
            raise Unplannable
        return Rewriter(layout, extra_splices).text(change, marks.root, self.old)

    def culprit(self, change: Rewrite) -> Path | None:
        """Return a site that makes the change fail, or the common parent of several that only fail
        together."""
        candidates = list(sites(change))
        while len(candidates) > 1 and self.tries > 0:
            halves = candidates[: len(candidates) // 2], candidates[len(candidates) // 2 :]
            failing = next((half for half in halves if not self.works(change, half)), None)
            if failing is None:
                return _common_path(candidates)
            candidates = failing
        return candidates[0] if len(candidates) == 1 else None

    def works(self, change: Rewrite, at: Sequence[Path]) -> bool:
        partial_change = restrict_to_sites(change, self.old, {*at})
        return partial_change is None or self.attempt(partial_change) is not None


def _simplify_site(change: Rewrite, at: Path, top: Path) -> Rewrite | None:
    """Return the change with one site written more plainly; None if there is no plainer way."""
    site = rewrite_at(change, at)
    while site is None or (site.entries is None and site.plainly):
        if len(at) <= len(top):
            return None
        at = at[:-1]
        site = rewrite_at(change, at)
    return with_rewrite_at(change, at, next_plainer_rewrite(site))


def _common_path(paths: Sequence[Path]) -> Path:
    first, last = min(paths, key=repr), max(paths, key=repr)
    length = 0
    while length < min(len(first), len(last)) and all(
        path[: length + 1] == first[: length + 1] for path in paths
    ):
        length += 1
    return first[:length]
