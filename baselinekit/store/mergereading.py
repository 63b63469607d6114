"""Texts of a merge that are not written as `capture` writes them, read and edited by those who read all."""

from collections.abc import Iterator, Sequence

from baselinekit.documents.languages import Language, language
from baselinekit.documents.text import SCALAR, MarkedNode, Marks, Watched, decode, line_start, mark_each
from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Edit, Json, Path
from baselinekit.store.mergesides import (
    KEYS,
    PLACES,
    MergedRecord,
    MergeSide,
    Span,
    Unreadable,
    variant_id,
)
from baselinekit.tree.equality import canonical

_WRAPPER = "regression_eval"
_ELSEWHERE = {"baseline_version": ("baseline", "version"), "output": ("baseline", "response")}
"""Where the other form of a file has it (store/dialects/harness.py)."""


def read_any(data: bytes, file: str) -> MergeSide:
    try:
        body, bom = decode(data, file)
        spoken = language(file)
        watched: Watched = {key: [] for key in KEYS}
        documents = spoken.load(body, file, watched) if body.strip() else []
        raw = list(_raw_records(documents))
        marks = _marks(spoken, body, raw)
    except BaselinekitError as error:
        raise Unreadable(str(error)) from None
    known = {(key, id(box)): span for key, found in watched.items() for box, span in found}
    of_marks = [key for key in PLACES if not (spoken.blocks and key in KEYS)]
    records: dict[str, MergedRecord] = {}
    twice = set()
    for number, at, record, name in raw:
        about = record.get("metadata")
        values = about if isinstance(about, dict) else {}
        twice |= {name} & records.keys()
        places = {key: (*at, *place_of(record, key)) for key in of_marks}
        spans = _spans(body, marks.get(number, Marks()), places)
        for key in (key for key in KEYS if (key, id(about)) in known):
            start, end = known[key, id(about)]
            head = body[line_start(body, start) : start]
            spans[key] = Span(start, end, len(head) - len(head.lstrip(" -")))
        kept = record if _is_variant(record) else record.get("baseline")
        captured = kept.get("captured_at") if isinstance(kept, dict) else None
        records[name] = MergedRecord(number, at, values, captured, spans)
    return MergeSide(file, body, bom, {name: one for name, one in records.items() if name not in twice})


def _raw_records(documents: list[Json]) -> Iterator[tuple[int, Path, dict[str, Json], str]]:
    """Whatever stands where a baseline may stand, with its place and its id. A variant follows as a record of
    its own, since it has its own output and provenance: its id is that of its baseline and where it fits."""
    for number, document in enumerate(documents):
        at: Path = ()
        if isinstance(document, dict) and _WRAPPER in document:
            document, at = document[_WRAPPER], (_WRAPPER,)
        found = [(at, document)] if isinstance(document, dict) else []
        if isinstance(document, list):
            found = [((*at, n), item) for n, item in enumerate(document) if isinstance(item, dict)]
        for place, record in found:
            about = record.get("metadata")
            name = record.get("id", about.get("id") if isinstance(about, dict) else None)
            if isinstance(name, str):
                yield number, place, record, name
                yield from ((number, (*place, *path), raw, id) for path, raw, id in _variants(record, name))


def _variants(record: dict[str, Json], name: str) -> Iterator[tuple[Path, dict[str, Json], str]]:
    known = record.get("baseline")
    stated = known.get("variants") if isinstance(known, dict) else None
    for number, variant in enumerate(stated if isinstance(stated, list) else ()):
        if isinstance(variant, dict) and _is_variant(variant):
            path = ("baseline", "variants", number)
            yield path, variant, variant_id(name, canonical(variant["when"]))


def _is_variant(record: dict[str, Json]) -> bool:
    return "when" in record


def place_of(record: dict[str, Json], key: str) -> Path:
    """Where a record of either form, or a variant, has what PLACES names."""
    if _is_variant(record):
        return PLACES[key][-1:]
    return _ELSEWHERE[key] if key in _ELSEWHERE and "test_case" in record else PLACES[key]


def _marks(
    spoken: Language, body: str, raw: Sequence[tuple[int, Path, dict[str, Json], str]]
) -> dict[int, Marks]:
    wanted: dict[int, list[Path]] = {}
    for number, at, record, _ in raw:
        wanted.setdefault(number, []).extend((*at, *place_of(record, key)) for key in PLACES)
    return mark_each(spoken.events(body), wanted)


def _spans(body: str, marks: Marks, places: dict[str, Path]) -> dict[str, Span]:
    """Of the values that nothing else in the file means. Of the record only scalars of one line count."""
    found: dict[str, Span] = {}
    for key, place in places.items():
        nodes, rest = marks.reach(place)
        if rest or any(node.anchor for node in nodes) or nodes[-1].start == nodes[-1].end:
            continue
        span = _span(body, nodes[-1])
        if key not in KEYS or (nodes[-1].kind == SCALAR and "\n" not in body[span.start : span.end]):
            found[key] = span
    return found


def _span(body: str, node: MarkedNode) -> Span:
    end = node.end if node.in_flow else node.start + len(body[node.start : node.end].rstrip())
    return Span(node.start, end, node.key - line_start(body, node.key) if node.key >= 0 else 0)


def with_values_put(body: str, file: str, values: Sequence[tuple[int, Path, Json]]) -> str:
    """Values that have no place in a text yet."""
    from baselinekit.documents.splice import apply  # seldom asked for, and long to load

    try:
        for document, path, value in values:
            body = apply(body, [Edit(path, value)], document, language(file), KEYS)
    except BaselinekitError as error:
        raise Unreadable(str(error)) from None
    return body
