"""Applies edits to the text of a file: only what changes is rewritten, every other byte stays."""

from collections.abc import Iterator, Sequence

from baselinekit.errors import BaselinekitError, NotRecorded, Problem
from baselinekit.files.languages import Language
from baselinekit.files.layout import Layout, without_anchor
from baselinekit.files.text import (
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
    apply_splices,
    mark,
)
from baselinekit.model.values import Edit, Json, Path
from baselinekit.structs import MutableStruct, field
from baselinekit.values.changes import GONE, Rewrite, rewrite_at, with_rewrite_at
from baselinekit.values.equality import identical
from baselinekit.values.places import value_at, with_values

# The simple case, one scalar for another, is always exact. In all other cases the result is parsed and
# compared with the expected value; if the nicest way to write it fails that test, a plainer one is tried.


def apply(
    body: str,
    edits: Sequence[Edit],
    document: int,
    language: Language,
    siblings: Sequence[str] = (),
    marks: Marks | None = None,
) -> str:
    """Return the text with the edits. A new key goes before the first existing key that follows it in
    `siblings`, else to the end of its mapping. `marks`: those of these paths, if they are already known."""
    if marks is None:
        parents = {edit.path[:depth] for edit in edits for depth in range(len(edit.path))}
        sibling_paths = [(*parent, name) for parent in parents for name in siblings]
        marks = mark(language.events(body), document, [*(edit.path for edit in edits), *sibling_paths])
    chains = [marks.reach(edit.path)[0] for edit in edits]
    if all(is_simple(body, chain, edit) for chain, edit in zip(chains, edits, strict=True)):
        layout = Layout(body, language, siblings)
        pairs = zip(chains, edits, strict=True)
        return apply_splices(body, [layout.replace(chain, edit.value) for chain, edit in pairs])
    documents = language.load(body, "")
    for plainly in (False, True):
        layout = Layout(body, language, siblings, plainly)
        text = _attempt_edit(edits, documents, document, marks, layout)
        if text is not None:
            return text
    raise impossible(", ".join(".".join(map(str, edit.path)) for edit in edits))


def impossible(paths: str) -> NotRecorded:
    message = f"{paths} cannot be changed without touching something else"
    hint = "write that part of the file without anchors, tags or `?` keys"
    return NotRecorded(Problem("BK122", message, hint))


def is_simple(body: str, chain: list[MarkedNode], edit: Edit) -> bool:
    """Whether an edit replaces one scalar on one line by another, and no anchor is involved."""
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


def _attempt_edit(
    edits: Sequence[Edit], documents: Sequence[Json], document: int, marks: Marks, layout: Layout
) -> str | None:
    """Return the edited text, if parsing it gives the file with exactly these edits."""
    try:
        new_document = documents[document]
        for edit in edits:
            new_document = with_values(new_document, {edit.path: edit.value})
        text = apply_splices(layout.body, _plan_splices(marks, edits, documents[document], layout))
        reloaded = layout.language.load(text, "")
    except (BaselinekitError, LookupError, Unplannable):
        return None
    expected = [*documents[:document], new_document, *documents[document + 1 :]]
    return text if identical(reloaded, expected, ordered=False) else None


class _Additions(MutableStruct):
    """The values that several edits add below one node."""

    chain: list[MarkedNode]
    path: Path
    value: dict[str, Json] = field(default_factory=dict)


def _plan_splices(marks: Marks, edits: Sequence[Edit], value: Json, layout: Layout) -> list[Splice]:
    splices: list[Splice] = []
    additions_by_node: dict[int, _Additions] = {}
    for edit in edits:
        chain, missing = marks.reach(edit.path)
        splices.extend(_move_anchors(marks, chain, edit.path, value, layout))
        if not missing:
            splices.append(layout.replace(chain, edit.value))
            continue
        path = edit.path[: len(edit.path) - len(missing)]
        additions = additions_by_node.setdefault(id(chain[-1]), _Additions(chain, path))
        additions.value = with_values(additions.value, {missing: edit.value})
    # If two mappings end on one line, additions to the inner one come first: of several splices at the same
    # place, `apply_splices` puts the later one before the others.
    for additions in sorted(additions_by_node.values(), key=lambda additions: len(additions.chain)):
        node = additions.chain[-1]
        if node.kind == MAPPING:
            splices.extend(layout.insert(node, additions.value))
        elif node.kind == ALIAS or node.is_null:
            old = value_at(value, additions.path)
            splices.append(layout.replace(additions.chain, {**(old or {}), **additions.value}))
        else:
            raise Unplannable
    return splices


def _move_anchors(
    marks: Marks, chain: list[MarkedNode], path: Path, value: Json, layout: Layout
) -> list[Splice]:
    """Move anchors along the path of an edit that aliases elsewhere refer to: the first alias gets the old
    value and the anchor, so that the edit does not change the other uses."""
    splices = []
    for depth, node in enumerate(chain):
        inside = range(node.start, node.end)
        outside_aliases = [a for a in marks.aliases if a.value == node.anchor and a.start not in inside]
        if node.anchor and outside_aliases and node.start not in layout.unanchored:
            layout.unanchored.add(node.start)
            old = layout.language.flow(value_at(value, path[:depth]))
            splices.append(Splice(outside_aliases[0].start, outside_aliases[0].end, f"&{node.anchor} {old}"))
            if depth < len(path):
                splices.append(without_anchor(layout.body, node.start))
    return splices


# A change of a value with an anchor must not affect its aliases, and the other way round.


class Shared(MutableStruct):
    """A value with an anchor, and its aliases."""

    path: Path
    name: str
    start: int
    aliases: list[tuple[Path, int, int]] = field(default_factory=list)


def find_anchors(events: Iterator[Event], document: int) -> list[Shared]:
    """Return the anchors of a document that have aliases."""
    anchors: list[Shared] = []
    by_name: dict[str, Shared] = {}
    number = -1
    for path, event in _iterate_values(events):
        kind, start, end, value, _, anchor = event
        if kind == DOCUMENT:
            number += 1
            by_name.clear()
        elif number == document and kind == ALIAS and value in by_name:
            by_name[value].aliases.append((path, start, end))
        elif number == document and anchor is not None:
            by_name[anchor] = Shared(path, anchor, start)
            anchors.append(by_name[anchor])
    return [entry for entry in anchors if entry.aliases]


def _iterate_values(events: Iterator[Event]) -> Iterator[tuple[Path, Event]]:
    """Yield every event that is a value or a document, with its path."""
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


def split_anchors(
    change: Rewrite, anchors: Sequence[Shared], old: Json, language: Language, body: str
) -> tuple[Rewrite, list[Splice], set[int]]:
    """Adapt a change to anchors. If an anchored value changes but one of its aliases does not, the alias gets
    the old value and the anchor. If all of them change alike, the change is written once. Returns the change
    as it is to be written, splices elsewhere, and the starts of the values that lose their anchor."""
    extra_splices: list[Splice] = []
    unanchored: set[int] = set()
    for anchor in anchors:
        anchor_change = rewrite_at(change, anchor.path)
        if anchor_change is None:
            continue
        alias_changes = [rewrite_at(change, path) for path, _, _ in anchor.aliases]
        if anchor_change is not GONE and all(alias_change == anchor_change for alias_change in alias_changes):
            for path, _, _ in anchor.aliases:
                change = with_rewrite_at(change, path, None)
            continue
        unchanged_aliases = [
            alias
            for alias, alias_change in zip(anchor.aliases, alias_changes, strict=True)
            if alias_change is None
        ]
        if not unchanged_aliases:
            continue
        _, start, end = unchanged_aliases[0]
        value = language.flow(value_at(old, anchor.path))
        extra_splices.append(Splice(start, end, f"&{anchor.name} {value}"))
        unanchored.add(anchor.start)
        if anchor_change is not GONE and anchor_change.entries is not None:
            extra_splices.append(without_anchor(body, anchor.start))
    return change, extra_splices, unanchored
