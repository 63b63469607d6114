"""Edits, applied to the text of a file: only what changes is rewritten, every other byte stays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from baselinekit.documents.languages import Language
from baselinekit.documents.layout import Layout, without_anchor
from baselinekit.documents.text import (
    ALIAS,
    DOCUMENT,
    END,
    MAPPING,
    SCALAR,
    SEQUENCE,
    Event,
    MarkedNode,
    Marks,
    Splice,
    Unplannable,
    mark,
    spliced,
)
from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.model.values import Edit, Json, Path
from baselinekit.tree.changes import GONE, Rewrite, at_place, looked_up
from baselinekit.tree.equality import identical
from baselinekit.tree.places import value_at, with_values

# The plain case, one scalar for another, is exact by itself. Whatever is harder is read again and compared
# with what it should be; when the nicest way to write it fails that test, a plainer one is tried.


def apply(
    body: str,
    edits: Sequence[Edit],
    document: int,
    language: Language,
    siblings: Sequence[str] = (),
    marks: Marks | None = None,
) -> str:
    """The text with the edits in it. A new key goes before the first of the `siblings` after it that is
    there, else to the end of its mapping. `marks`: of these paths, if they are known already."""
    if marks is None:
        boxes = {edit.path[:depth] for edit in edits for depth in range(len(edit.path))}
        beside = [(*box, name) for box in boxes for name in siblings]
        marks = mark(language.events(body), document, [*(edit.path for edit in edits), *beside])
    chains = [marks.reach(edit.path)[0] for edit in edits]
    if all(is_simple(body, chain, edit) for chain, edit in zip(chains, edits, strict=True)):
        layout = Layout(body, language, siblings)
        pairs = zip(chains, edits, strict=True)
        return spliced(body, [layout.replace(chain, edit.value) for chain, edit in pairs])
    documents = language.load(body, "")
    for plainly in (False, True):
        layout = Layout(body, language, siblings, plainly)
        text = _attempt(edits, documents, document, marks, layout)
        if text is not None:
            return text
    raise impossible(", ".join(".".join(map(str, edit.path)) for edit in edits))


def impossible(paths: str) -> NotRecorded:
    what = f"{paths} cannot be changed without touching something else"
    hint = "write that part of the file without anchors, tags or `?` keys"
    return NotRecorded(Problem("BK122", what, hint))


def is_simple(body: str, chain: list[MarkedNode], edit: Edit) -> bool:
    """One scalar on one line for another, which nothing else in the file means."""
    node = chain[-1]
    return (
        len(chain) == len(edit.path) + 1
        and node.kind == SCALAR
        and node.style in ("", '"', "'")
        and node.start < node.end
        and "\n" not in body[node.start : node.end]
        and not any(step.anchor for step in chain)
        and not isinstance(edit.value, dict | list)
        and "\n" not in str(edit.value)
    )


def _attempt(
    edits: Sequence[Edit], documents: Sequence[Json], document: int, marks: Marks, layout: Layout
) -> str | None:
    """The edited text, if it reads back as the file with exactly these edits."""
    try:
        wanted = documents[document]
        for edit in edits:
            wanted = with_values(wanted, {edit.path: edit.value})
        text = spliced(layout.body, _plan(marks, edits, documents[document], layout))
        after = layout.language.load(text, "")
    except (BaselinekitError, LookupError, Unplannable):
        return None
    expected = [*documents[:document], wanted, *documents[document + 1 :]]
    return text if identical(after, expected, ordered=False) else None


@dataclass(slots=True)
class _Growth:
    """What several edits add below one node."""

    chain: list[MarkedNode]
    path: Path
    value: dict[str, Json] = field(default_factory=dict)


def _plan(marks: Marks, edits: Sequence[Edit], value: Json, layout: Layout) -> list[Splice]:
    splices: list[Splice] = []
    grown: dict[int, _Growth] = {}
    for edit in edits:
        chain, rest = marks.reach(edit.path)
        splices.extend(_freed(marks, chain, edit.path, value, layout))
        if not rest:
            splices.append(layout.replace(chain, edit.value))
            continue
        path = edit.path[: len(edit.path) - len(rest)]
        growth = grown.setdefault(id(chain[-1]), _Growth(chain, path))
        growth.value = with_values(growth.value, {rest: edit.value})
    # Where two mappings end on one line, what goes into the inner one stands first: `spliced` puts the later
    # one of the same place before the others.
    for growth in sorted(grown.values(), key=lambda growth: len(growth.chain)):
        node = growth.chain[-1]
        if node.kind == MAPPING:
            splices.extend(layout.insert(node, growth.value))
        elif node.kind == ALIAS or node.is_null:
            old = value_at(value, growth.path)
            splices.append(layout.replace(growth.chain, {**(old or {}), **growth.value}))
        else:
            raise Unplannable
    return splices


def _freed(marks: Marks, chain: list[MarkedNode], path: Path, value: Json, layout: Layout) -> list[Splice]:
    """An anchor on the way to the edit, when others mean the same value: the first of them gets the old
    value and the anchor, so that the edit is seen by this one alone."""
    splices = []
    for depth, node in enumerate(chain):
        inside = range(node.start, node.end)
        others = [a for a in marks.aliases if a.value == node.anchor and a.start not in inside]
        if node.anchor and others and node.start not in layout.freed:
            layout.freed.add(node.start)
            old = layout.language.flow(value_at(value, path[:depth]))
            splices.append(Splice(others[0].start, others[0].end, f"&{node.anchor} {old}"))
            if depth < len(path):
                splices.append(without_anchor(layout.body, node.start))
    return splices


# A change below one of several names of a value must not be seen under the others.


@dataclass(slots=True)
class Shared:
    """A value with a name, and the places where only the name stands."""

    path: Path
    name: str
    start: int
    aliases: list[tuple[Path, int, int]] = field(default_factory=list)


def shared(events: Iterator[Event], document: int) -> list[Shared]:
    """The anchors of a document that are meant elsewhere too."""
    anchors: list[Shared] = []
    named: dict[str, Shared] = {}
    number = -1
    for path, event in _placed(events):
        kind, start, end, value, _, anchor = event
        if kind == DOCUMENT:
            number += 1
            named.clear()
        elif number == document and kind == ALIAS and value in named:
            named[value].aliases.append((path, start, end))
        elif number == document and anchor is not None:
            named[anchor] = Shared(path, anchor, start)
            anchors.append(named[anchor])
    return [entry for entry in anchors if entry.aliases]


def _placed(events: Iterator[Event]) -> Iterator[tuple[Path, Event]]:
    """Every event that is a value, with its path."""
    path: list[str | int] = []
    stack: list[tuple[bool, int]] = []
    key: str | None = None
    for event in events:
        kind = event[0]
        if kind == END:
            stack.pop()
            path.pop()
            continue
        if kind != DOCUMENT and stack:
            in_mapping, size = stack[-1]
            if in_mapping and key is None:
                key = event[3] if kind == SCALAR else ""
                continue
            path.append(size if key is None else key)
            stack[-1] = (in_mapping, size + 1)
        elif kind != DOCUMENT:
            path.append("")
        key = None
        yield tuple(path[1:]), event
        if kind in (MAPPING, SEQUENCE):
            stack.append((kind == MAPPING, 0))
        elif kind != DOCUMENT:
            path.pop()


def parted(
    whole: Rewrite, anchors: Sequence[Shared], old: Json, language: Language, body: str
) -> tuple[Rewrite, list[Splice], set[int]]:
    """The change as it is to be written, and what it calls for elsewhere: where an anchored value changes and
    another name of it does not, that other one gets the old value, and the anchor. Where all change alike,
    the change is written once. Last come the starts of the values that lose their anchor."""
    besides: list[Splice] = []
    freed: set[int] = set()
    for anchor in anchors:
        here = looked_up(whole, anchor.path)
        if here is None:
            continue
        fates = [looked_up(whole, path) for path, _, _ in anchor.aliases]
        if here is not GONE and all(fate == here for fate in fates):
            for path, _, _ in anchor.aliases:
                whole = at_place(whole, path, None)
            continue
        left = [alias for alias, fate in zip(anchor.aliases, fates, strict=True) if fate is None]
        if not left:
            continue
        _, start, end = left[0]
        value = language.flow(value_at(old, anchor.path))
        besides.append(Splice(start, end, f"&{anchor.name} {value}"))
        freed.add(anchor.start)
        if here is not GONE and here.entries is not None:
            besides.append(without_anchor(body, anchor.start))
    return whole, besides, freed
