"""Two branches that approved different places of one output: its text is settled in all three files, so that
git, which takes neighbouring lines for one place, has nothing to ask.

This is looked at only where git found a conflict. A side that changed more than values there, its comments
say, is left to people."""

from collections import Counter

from baselinekit.documents.languages import language
from baselinekit.documents.renewal import renewed
from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.store.mergereading import place_of
from baselinekit.store.mergesides import MergedRecord, MergeSide, Unreadable
from baselinekit.store.recordmerge import read_side
from baselinekit.tree.equality import identical
from baselinekit.tree.places import value_at
from baselinekit.tree.threeway import BothChanged, three_way

_COMMENT = lazy_pattern(r"(?:^|\s)#[^\n]*")
_OUTPUT = ".output.json"
_MERGED = ("output", "learnt")


def merge_outputs(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes] | None:
    """The three texts with one output each, where the changes of both sides go together; None: nowhere."""
    try:
        if file.endswith(_OUTPUT):
            return _whole(base, ours, theirs, file)
        sides = [read_side(data, file) for data in (base, ours, theirs)]
        documents = [language(file).load(side.body, "") for side in sides]
        merged = [
            _merge_one(id, place, sides, documents)
            for id in sides[0].records
            if all(id in side.records for side in sides)
            for place in _MERGED
        ]
    except (BaselinekitError, Unreadable):
        return None
    return (sides[0].text(), sides[1].text(), sides[2].text()) if any(merged) else None


def _whole(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes] | None:
    """An output in a file of its own."""
    spoken = language(file)
    bodies = [decode(data, file) for data in (base, ours, theirs)]
    values = [spoken.load(one.body, file)[0] for one in bodies]
    try:
        value = three_way(values[0], values[1], values[2])
    except BothChanged:
        return None
    data = encode(renewed(bodies[1].body, 0, spoken, (), value), bodies[1].bom)
    return data, data, data


def _merge_one(id: str, key: str, sides: list[MergeSide], documents: list[list[Json]]) -> bool:
    """Whether there is one value for all of them now."""
    records = [side.records[id] for side in sides]
    if any(key not in record.spans for record in records):
        return False
    texts = [side.literal(id, key) or "" for side in sides]
    if texts[1] == texts[2] or len({record.spans[key].column for record in records}) > 1:
        return False
    places = [_place(record, key, read) for record, read in zip(records, documents, strict=True)]
    values = [value_at(read[n], at) for read, (n, at) in zip(documents, places, strict=True)]
    try:
        value = three_way(values[0], values[1], values[2])
    except BothChanged:
        return False
    used, other = (2, 1) if identical(value, values[2], ordered=False) else (1, 2)
    if _comments(texts[other]) != _comments(texts[0]):
        return False
    text = _text(sides[used], id, key, places[used], value)
    for side, record in zip(sides, records, strict=True):
        span = record.spans[key]
        side.splices.append((span.start, span.end, text))
    return True


def _place(record: MergedRecord, key: str, documents: list[Json]) -> tuple[int, Path]:
    """The document, and where a value of a baseline stands in it."""
    raw = value_at(documents[record.document], record.at)
    return record.document, (*record.at, *place_of(raw, key))


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in _COMMENT.findall(text))


def _text(side: MergeSide, id: str, key: str, place: tuple[int, Path], value: Json) -> str:
    """The value as this side's file would state it."""
    body = renewed(side.body, place[0], language(side.file), place[1], value)
    return read_side(body.encode(), side.file).literal(id, key) or ""
