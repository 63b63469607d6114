"""A value in a file replaced by another: what is equal keeps its bytes, its comments and its style."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

from baselinekit.documents import entries as flows
from baselinekit.documents.entries import Lines, block_entry, flow_entry, lines_of
from baselinekit.documents.languages import Language
from baselinekit.documents.layout import Layout, Splice, Unplannable
from baselinekit.documents.marks import MAPPING, SEQUENCE, MarkedNode, mark
from baselinekit.documents.splice import Shared, apply, parted, shared, spliced
from baselinekit.documents.text import line_start
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.model.baselines import Edit
from baselinekit.model.values import Json, Path
from baselinekit.tree.changes import (
    Hints,
    Rewrite,
    RewrittenEntry,
    at_place,
    change,
    looked_up,
    only,
    plainer,
    rooted,
    sites,
)
from baselinekit.tree.equality import identical
from baselinekit.tree.paths import value_at

_FIRST_LINE_END = re.compile(r"\r\n?|\n")

Chain = list[MarkedNode]
"""The nodes from the root to one of them."""


def paths_of(whole: Rewrite, old: Json, at: Path = ()) -> Iterator[Path]:
    """The places whose marks the splices need."""
    yield at
    if whole.entries is not None and whole.rebuilt:
        names = old if isinstance(old, dict) else range(len(old))
        yield from ((*at, name) for name in names)
    for entry in whole.entries or ():
        if entry.change is not None and entry.old is not None:
            yield from paths_of(entry.change, old[entry.old], (*at, entry.old))


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
        if entry.change is None or entry.old is None:
            return []
        child = chain[-1].children.get(entry.old)
        if child is None:
            raise Unplannable
        return self.splices(entry.change, [*chain, child], old[entry.old])

    def between(self, start: int, end: int, inner: Sequence[Splice]) -> str:
        """A part of the text, with its splices and those that fall into it from elsewhere."""
        mine = [splice for splice in self.besides if start <= splice.start and splice.end <= end]
        self.besides = [splice for splice in self.besides if splice not in mine]
        moved = [Splice(splice.start - start, splice.end - start, splice.text) for splice in (*inner, *mine)]
        return spliced(self.body[start:end], moved) if moved else self.body[start:end]

    def in_flow(self, entries: Sequence[RewrittenEntry], chain: Chain, old: Json) -> Splice:
        node = chain[-1]
        row = flows.row_of(self.body, node)
        places = {name: place for place, name in enumerate(node.children)}
        texts: list[tuple[flows.EntryText | None, str]] = []
        for entry in entries:
            if entry.old is None:
                texts.append((None, flow_entry(self.layout, node, entry.name, entry.value)))
            else:
                item = row.items[places[entry.old]]
                texts.append((item, self.between(item.start, item.end, self.inside(entry, chain, old))))
        start = row.items[0].start - len(row.items[0].lead)
        text = flows.joined(texts, row, self.layout.newline, self.layout.tight)
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
        raise _impossible(path) from None
    inner = change(old, new, hints)
    if inner is None:
        return body
    work = _RenewalJob(body, language, document, documents, hints.ordered)
    for plan in work.plans(rooted(inner, documents[document], path), path):
        text = work.attempt(plan)
        if text is not None:
            return text
    raise _impossible(path)


def _impossible(path: Path) -> NotRecorded:
    what = f"{'.'.join(map(str, path)) or 'the file'} cannot be changed without touching something else"
    return NotRecorded(
        Problem("BK122", what, "write that part of the file without anchors, tags or `?` keys")
    )


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
