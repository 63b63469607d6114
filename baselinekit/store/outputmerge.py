"""Merges an output of which two branches approved different places. The merged text goes into all three
files, so that git, for which changes on neighbouring lines conflict, finds no conflict.

This is only done after git found a conflict. If a side also changed comments in the output, people have to
merge it."""

from collections import Counter

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import language
from baselinekit.files.renewal import replace_value
from baselinekit.files.text import decode, encode
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.store.mergereading import place_of
from baselinekit.store.mergesides import MergedRecord, MergeSide, Unreadable
from baselinekit.store.recordmerge import read_side
from baselinekit.values.equality import identical
from baselinekit.values.places import value_at
from baselinekit.values.threeway import BothChanged, three_way

_COMMENT = lazy_pattern(r"(?:^|\s)#[^\n]*")
_OUTPUT = ".output.json"
_MERGED_KEYS = ("output", "learnt")


def merge_outputs(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes] | None:
    """Return the three texts, with the same output in each wherever the changes of both sides are compatible;
    None if they nowhere are."""
    try:
        if file.endswith(_OUTPUT):
            return _merge_output_files(base, ours, theirs, file)
        sides = [read_side(data, file) for data in (base, ours, theirs)]
        documents = [language(file).load(side.body, "") for side in sides]
        merged = [
            _merge_value(id, place, sides, documents)
            for id in sides[0].records
            if all(id in side.records for side in sides)
            for place in _MERGED_KEYS
        ]
    except (BaselinekitError, Unreadable):
        return None
    return (sides[0].text(), sides[1].text(), sides[2].text()) if any(merged) else None


def _merge_output_files(
    base: bytes, ours: bytes, theirs: bytes, file: str
) -> tuple[bytes, bytes, bytes] | None:
    """Merge an output that has a file of its own."""
    file_language = language(file)
    bodies = [decode(data, file) for data in (base, ours, theirs)]
    values = [file_language.load(body.body, file)[0] for body in bodies]
    try:
        value = three_way(values[0], values[1], values[2])
    except BothChanged:
        return None
    data = encode(replace_value(bodies[1].body, 0, file_language, (), value), bodies[1].bom)
    return data, data, data


def _merge_value(id: str, key: str, sides: list[MergeSide], documents: list[list[Json]]) -> bool:
    """Merge one value of all three sides. Returns whether that was possible."""
    records = [side.records[id] for side in sides]
    if any(key not in record.spans for record in records):
        return False
    texts = [side.literal(id, key) or "" for side in sides]
    if texts[1] == texts[2] or len({record.spans[key].column for record in records}) > 1:
        return False
    places = [_document_place(record, key, loaded) for record, loaded in zip(records, documents, strict=True)]
    values = [value_at(loaded[n], at) for loaded, (n, at) in zip(documents, places, strict=True)]
    try:
        value = three_way(values[0], values[1], values[2])
    except BothChanged:
        return False
    used, other = (2, 1) if identical(value, values[2], ordered=False) else (1, 2)
    if _count_comments(texts[other]) != _count_comments(texts[0]):
        return False
    text = _render_literal(sides[used], id, key, places[used], value)
    for side, record in zip(sides, records, strict=True):
        span = record.spans[key]
        side.splices.append((span.start, span.end, text))
    return True


def _document_place(record: MergedRecord, key: str, documents: list[Json]) -> tuple[int, Path]:
    """Return the document of a value of a baseline, and the value's path in it."""
    raw = value_at(documents[record.document], record.at)
    return record.document, (*record.at, *place_of(raw, key))


def _count_comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in _COMMENT.findall(text))


def _render_literal(side: MergeSide, id: str, key: str, place: tuple[int, Path], value: Json) -> str:
    """Return the text of a value as it would be in this side's file."""
    body = replace_value(side.body, place[0], language(side.file), place[1], value)
    return read_side(body.encode(), side.file).literal(id, key) or ""
