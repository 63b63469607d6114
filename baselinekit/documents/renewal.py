"""A value in a file replaced by another: what is equal keeps its bytes, its comments and its style."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from baselinekit.documents.jsontext import plain_scalar
from baselinekit.documents.languages import Language, yaml_block, yaml_flow, yaml_quoted, yaml_scalar
from baselinekit.documents.layout import LONGEST_FLOW, Layout, above_comments
from baselinekit.documents.splice import Shared, apply, impossible, parted, shared
from baselinekit.documents.text import (
    MAPPING,
    SCALAR,
    SEQUENCE,
    MarkedNode,
    Splice,
    Unplannable,
    line_end,
    line_start,
    mark,
    spliced,
)
from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Edit, Json, Path
from baselinekit.tree.changes import (
    Hints,
    Rewrite,
    RewrittenEntry,
    at_place,
    looked_up,
    only,
    plainer,
    rewrite,
    rooted,
    sites,
)
from baselinekit.tree.equality import identical
from baselinekit.tree.places import value_at

# The entries of a mapping or a list as text, in block and in flow style, and where a new one goes.


# A new entry of a mapping or a list, written as its neighbours are.


def block_entry(layout: Layout, node: MarkedNode, name: str | int, value: Json, column: int) -> str:
    """Its lines in a collection in block style."""
    key, quote = str(name), layout.body[node.first : node.first + 1]
    written = f"{yaml_scalar(key)}:"
    lead = f"{yaml_quoted(key, quote)}:" if quote in ("'", '"') else written
    lead = "-" if node.kind == SEQUENCE else lead
    text = yaml_flow(value) if layout.plainly else on_one_line(node, value)
    if text is not None and len(lead) <= LONGEST_FLOW:
        return f"{' ' * column}{lead} {text}{layout.newline}"
    entry = [value] if node.kind == SEQUENCE else {key: value}
    lines = yaml_block(entry, column, style=layout.style)
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


def on_one_line(node: MarkedNode, value: Json) -> str | None:
    """In flow style or in quotes, where all the neighbours are; None: as it comes."""
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
        and (child.style or isinstance(plain_scalar(child.value), str))  # no number or the like
    }
    if isinstance(value, str) and "\n" not in value and len(styles) == 1 and styles <= {"'", '"'}:
        return yaml_quoted(value, styles.pop())
    return None


# The entries of a collection in block style as lines: each with the comments that belong to it.

_DASH = lazy_pattern(r"(?:\s|#[^\r\n]*)*-")
_PROPERTIES = lazy_pattern(r"(?:[&!]\S*[ \t]*)*")
_BLANK_LINES = lazy_pattern(r"(?:[ \t]*(?:\r\n?|\n))*")
_DEEPER = lazy_pattern(r"( *)#[^\r\n]*(?:\r\n?|\n|\Z)")


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
        if keeps_line_ends(value):
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


def keeps_line_ends(value: Json) -> bool:
    while isinstance(value, dict | list) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return isinstance(value, str) and (value.endswith("\n\n") or value.strip("\n") == "")


# The entries of a collection in flow style, `[1, 2]` or `{a: 1}` on one line or on several: each with
# the blanks and comments around it, and without its comma.

_BETWEEN = lazy_pattern(
    r"(?P<before>(?:[ \t\r\n]|(?<=\s)#[^\r\n]*)*),(?P<tail>[ \t]*(?:#[^\r\n]*)?(?=[\r\n]))?"
)
_TAIL = lazy_pattern(r"[ \t]*#[^\r\n]*")


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
    first, others = row.items[0].lead, usual_lead(row, newline, tight)
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


def usual_lead(row: FlowEntries, newline: str, tight: bool) -> str:
    """What stands before an entry that is not the first."""
    if len(row.items) > 1:
        lead = row.items[1].lead
    else:
        lead = row.items[0].lead if "\n" in row.items[0].lead else "" if tight else " "
    return newline + lead.rpartition("\n")[2] if "#" in lead else lead


_FIRST_LINE_END = lazy_pattern(r"\r\n?|\n")

Chain = list[MarkedNode]
"""The nodes from the root to one of them."""


def paths_of(whole: Rewrite, old: Json, at: Path = ()) -> Iterator[Path]:
    """The places whose marks the splices need."""
    yield at
    if whole.entries is not None and whole.rebuilt:
        names = old if isinstance(old, dict) else range(len(old))
        yield from ((*at, name) for name in names)
    for entry in whole.entries or ():
        if entry.rewrite is not None and entry.old is not None:
            yield from paths_of(entry.rewrite, old[entry.old], (*at, entry.old))


class Rewriter:
    """`besides`: splices that the changes call for elsewhere, as where an alias stands."""

    def __init__(self, layout: Layout, besides: Sequence[Splice] = ()):
        self.layout = layout
        self.body = layout.body
        self.besides = list(besides)

    def text(self, whole: Rewrite, root: MarkedNode, old: Json) -> str:
        return self.between(0, len(self.body), self.splices(whole, [root], old))

    def splices(self, whole: Rewrite, chain: Chain, old: Json) -> list[Splice]:
        node = chain[-1]
        kind = MAPPING if isinstance(old, dict) else SEQUENCE
        if whole.entries is None or node.kind != kind:
            return [self.layout_of(whole).replace(chain, whole.value)]
        if not whole.rebuilt:
            inner = [self.inside(entry, chain, old) for entry in whole.entries]
            return [splice for splices in inner for splice in splices]
        if len(node.children) != node.size:
            raise Unplannable
        if node.in_flow or node.style == "flow":
            return [self.in_flow(whole.entries, chain, old)]
        return [self.in_block(whole.entries, chain, old, self.layout_of(whole))]

    def layout_of(self, whole: Rewrite) -> Layout:
        return self.layout.on_one_line() if whole.plainly else self.layout

    def inside(self, entry: RewrittenEntry, chain: Chain, old: Json) -> list[Splice]:
        if entry.rewrite is None or entry.old is None:
            return []
        child = chain[-1].children.get(entry.old)
        if child is None:
            raise Unplannable
        return self.splices(entry.rewrite, [*chain, child], old[entry.old])

    def between(self, start: int, end: int, inner: Sequence[Splice]) -> str:
        """A part of the text, with its splices and those that fall into it from elsewhere."""
        mine = [splice for splice in self.besides if start <= splice.start and splice.end <= end]
        self.besides = [splice for splice in self.besides if splice not in mine]
        moved = [Splice(splice.start - start, splice.end - start, splice.text) for splice in (*inner, *mine)]
        return spliced(self.body[start:end], moved) if moved else self.body[start:end]

    def in_flow(self, entries: Sequence[RewrittenEntry], chain: Chain, old: Json) -> Splice:
        node = chain[-1]
        row = row_of(self.body, node)
        places = {name: place for place, name in enumerate(node.children)}
        texts: list[tuple[EntryText | None, str]] = []
        for entry in entries:
            if entry.old is None:
                texts.append((None, flow_entry(self.layout, node, entry.name, entry.value)))
            else:
                item = row.items[places[entry.old]]
                texts.append((item, self.between(item.start, item.end, self.inside(entry, chain, old))))
        start = row.items[0].start - len(row.items[0].lead)
        text = joined(texts, row, self.layout.newline, self.layout.tight)
        return Splice(start, node.end - 1, text)

    def in_block(self, entries: Sequence[RewrittenEntry], chain: Chain, old: Json, layout: Layout) -> Splice:
        node = chain[-1]
        values = [old[name] for name in node.children] if isinstance(old, dict) else old
        lines = lines_of(self.body, node, values)
        column = lines[0].at - line_start(self.body, lines[0].at)
        on_parents_line = lines[0].top == lines[0].at and column > 0
        places = {name: place for place, name in enumerate(node.children)}
        order = [None if entry.old is None else places[entry.old] for entry in entries]
        gaps = _Gaps(self.body, lines)
        parts: list[str] = []
        for entry, place in zip(entries, order, strict=True):
            gap = gaps.before(place, first=not parts)
            kept_below = "".join(parts[-1:]).endswith(("\n\n", "\n\r\n"))  # `|+`: they are part of the text
            parts.append("" if kept_below and not gap.strip() else gap)
            if place is None:
                parts.append(block_entry(layout, node, entry.name, entry.value, column))
            else:
                part = self.between(lines[place].top, lines[place].bottom, self.inside(entry, chain, old))
                if place == 0 and on_parents_line:
                    part = " " * column + part
                parts.append(part if part.endswith(("\n", "\r")) else part + self.layout.newline)
        text = "".join(parts) + gaps.rest()
        if on_parents_line:
            text = text.lstrip("\r\n")[column:]
        if not self.body[: lines[-1].bottom].endswith(("\n", "\r")):
            text = text.removesuffix(self.layout.newline)
        return Splice(lines[0].top, lines[-1].bottom, text)


class _Gaps:
    """What stands between the entries: blank lines, which go with an entry, and comments that belong to
    none, which stay."""

    def __init__(self, body: str, lines: Sequence[Lines]):
        self.texts = ["", *(body[one.bottom : other.top] for one, other in pairwise(lines))]
        usual = self.texts[1:]
        self.usual = usual[0] if usual and all(text and not text.strip() for text in usual) else ""
        self.left = deque(place for place, text in enumerate(self.texts) if text.strip())

    def before(self, place: int | None, *, first: bool) -> str:
        """What goes before an entry that stood at a place; None: a new one."""
        if place is None or place == 0:
            return "" if first else self.usual
        earlier = ""
        while self.left and self.left[0] < place:
            earlier += self.texts[self.left.popleft()]
        if not self.texts[place].strip():
            return earlier if first else earlier + self.texts[place]
        if self.left and self.left[0] == place:
            return earlier + self.texts[self.left.popleft()]
        return earlier

    def rest(self) -> str:
        text = "".join(self.texts[place] for place in self.left)
        return text.rstrip() + _FIRST_LINE_END.findall(text)[0] if text else ""


# The result is read again and must be the file with exactly this change. Where the nicest way to write it
# fails that test, the parts on which it fails are found and written more plainly, and no others.

_MOST_MENDED = 16
"""Parts of one file that are written more plainly one by one, before all of it is."""

_MOST_READ = 20_000_000
"""Characters that are read again in all, while such parts are looked for."""

_NOTHING = Hints()


def renewed(
    body: str, document: int, language: Language, path: Path, new: Json, hints: Hints = _NOTHING
) -> str:
    """The text in which the value at a path is another. NotRecorded: that cannot be had."""
    documents = language.load(body, "")
    try:
        old = value_at(documents[document], path)
    except (KeyError, TypeError):
        return apply(body, [Edit(path, new)], document, language, hints.siblings)
    except IndexError:
        raise impossible(".".join(map(str, path)) or "the file") from None
    inner = rewrite(old, new, hints)
    if inner is None:
        return body
    work = _RenewalJob(body, language, document, documents, hints.ordered)
    for plan in work.plans(rooted(inner, documents[document], path), path):
        text = work.attempt(plan)
        if text is not None:
            return text
    raise impossible(".".join(map(str, path)) or "the file")


class _RenewalJob:
    """One file, and the ways to write a change into it."""

    def __init__(
        self, body: str, language: Language, document: int, documents: Sequence[Json], ordered: bool
    ):
        self.body = body
        self.language = language
        self.document = document
        self.documents = list(documents)
        self.old = self.documents[document]
        self.ordered = ordered
        self.tries = max(8, _MOST_READ // (len(body) + 1))
        self.shared: list[Shared] = shared(language.events(body), document) if "&" in body else []

    def plans(self, whole: Rewrite, top: Path) -> Iterator[Rewrite]:
        """The nicest first. What fails is made plainer, or the value around it is, up to the one at `top`."""
        yield whole
        for _ in range(_MOST_MENDED):
            culprit = self.culprit(whole) if self.tries > 0 else None
            plainer = None if culprit is None else _mended(whole, culprit, top)
            if plainer is None:
                break
            whole = plainer
            yield whole
        last = looked_up(whole, top) or whole
        for plainly in (False, True):
            yield at_place(whole, top, Rewrite(last.value, plainly=plainly))

    def attempt(self, whole: Rewrite) -> str | None:
        """The text with the change in it, if it reads back so."""
        self.tries -= 1
        try:
            text = self.text(whole)
            after = self.language.load(text, "")
        except (BaselinekitError, Unplannable):
            return None
        wanted = [*self.documents[: self.document], whole.value, *self.documents[self.document + 1 :]]
        return text if identical(after, wanted, self.ordered) else None

    def text(self, whole: Rewrite) -> str:
        """The same change as a text, read back by nobody yet."""
        whole, besides, freed = parted(whole, self.shared, self.old, self.language, self.body)
        layout = Layout(self.body, self.language, ())
        layout.freed |= freed
        marks = mark(self.language.events(self.body), self.document, paths_of(whole, self.old))
        if marks.root is None:
            raise Unplannable
        return Rewriter(layout, besides).text(whole, marks.root, self.old)

    def culprit(self, whole: Rewrite) -> Path | None:
        """One of the sites on which it fails, or the place around several that fail together."""
        left = list(sites(whole))
        while len(left) > 1 and self.tries > 0:
            halves = left[: len(left) // 2], left[len(left) // 2 :]
            failing = next((half for half in halves if not self.works(whole, half)), None)
            if failing is None:
                return _around(left)
            left = failing
        return left[0] if len(left) == 1 else None

    def works(self, whole: Rewrite, at: Sequence[Path]) -> bool:
        part = only(whole, self.old, {*at})
        return part is None or self.attempt(part) is not None


def _mended(whole: Rewrite, at: Path, top: Path) -> Rewrite | None:
    """The same with one site written more plainly; None: there is no plainer way."""
    site = looked_up(whole, at)
    while site is None or (site.entries is None and site.plainly):
        if len(at) <= len(top):
            return None
        at = at[:-1]
        site = looked_up(whole, at)
    return at_place(whole, at, plainer(site))


def _around(paths: Sequence[Path]) -> Path:
    first, last = min(paths, key=repr), max(paths, key=repr)
    length = 0
    while length < min(len(first), len(last)) and all(
        path[: length + 1] == first[: length + 1] for path in paths
    ):
        length += 1
    return first[:length]
