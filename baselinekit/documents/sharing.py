"""Anchors, and who else means them: a change below one of several names of a value must not be seen by the
others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from baselinekit.documents.changes import GONE, Change, at_place, looked_up
from baselinekit.documents.languages import Language
from baselinekit.documents.layout import Splice, without_anchor
from baselinekit.documents.marks import ALIAS, DOCUMENT, END, MAPPING, SCALAR, SEQUENCE, Event
from baselinekit.documents.splice import value_at
from baselinekit.model.values import Json, Path


@dataclass(slots=True)
class Shared:
    """A value with a name, and the places where only the name stands."""

    path: Path
    name: str
    start: int
    aliases: list[tuple[Path, int, int]] = field(default_factory=list)


def shared(events: Iterator[Event], document: int) -> list[Shared]:
    """The anchors of a document that are meant elsewhere too."""
    found: list[Shared] = []
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
            found.append(named[anchor])
    return [one for one in found if one.aliases]


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
    whole: Change, anchors: Sequence[Shared], old: Json, language: Language, body: str
) -> tuple[Change, list[Splice], set[int]]:
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
