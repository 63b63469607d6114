"""Reads and edits the texts of a merge that `capture` did not write, with the full YAML and JSON readers."""

from collections.abc import Iterator, Sequence

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import Language, language
from baselinekit.files.text import SCALAR, MarkedNode, Marks, Watched, decode, line_start, mark_each
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
from baselinekit.values.equality import canonical

_HARNESS_KEY = "regression_eval"
_HARNESS_PLACES = {"baseline_version": ("baseline", "version"), "output": ("baseline", "response")}
"""Where the harness form of a file has these values (store/dialects/harness.py)."""


def read_any(data: bytes, file: str) -> MergeSide:
    try:
        body, bom = decode(data, file)
        file_language = language(file)
        watched_values: Watched = {key: [] for key in KEYS}
        documents = file_language.load(body, file, watched_values) if body.strip() else []
        raw = list(_iterate_records(documents))
        marks = _mark_places(file_language, body, raw)
    except BaselinekitError as error:
        raise Unreadable(str(error)) from None
    watched_spans = {(key, id(box)): span for key, values in watched_values.items() for box, span in values}
    marked_keys = [key for key in PLACES if not (file_language.blocks and key in KEYS)]
    records: dict[str, MergedRecord] = {}
    repeated = set()
    for number, at, record, name in raw:
        metadata = record.get("metadata")
        values = metadata if isinstance(metadata, dict) else {}
        repeated |= {name} & records.keys()
        places = {key: (*at, *place_of(record, key)) for key in marked_keys}
        spans = _find_spans(body, marks.get(number, Marks()), places)
        for record_key in (record_key for record_key in KEYS if (record_key, id(metadata)) in watched_spans):
            start, end = watched_spans[record_key, id(metadata)]
            indent = body[line_start(body, start) : start]
            spans[record_key] = Span(start, end, len(indent) - len(indent.lstrip(" -")))
        known_good = record if _is_variant(record) else record.get("baseline")
        captured_at = known_good.get("captured_at") if isinstance(known_good, dict) else None
        records[name] = MergedRecord(number, at, values, captured_at, spans)
    return MergeSide(
        file, body, bom, {name: record for name, record in records.items() if name not in repeated}
    )


def _iterate_records(documents: list[Json]) -> Iterator[tuple[int, Path, dict[str, Json], str]]:
    """Yield each mapping that may be a baseline, with its place and its id. Its variants follow as separate
    records, since they have their own output and provenance: their ids are made of the baseline's id and
    `when`."""
    for number, document in enumerate(documents):
        at: Path = ()
        if isinstance(document, dict) and _HARNESS_KEY in document:
            document, at = document[_HARNESS_KEY], (_HARNESS_KEY,)
        places_and_records = [(at, document)] if isinstance(document, dict) else []
        if isinstance(document, list):
            places_and_records = [
                ((*at, n), item) for n, item in enumerate(document) if isinstance(item, dict)
            ]
        for place, record in places_and_records:
            metadata = record.get("metadata")
            name = record.get("id", metadata.get("id") if isinstance(metadata, dict) else None)
            if isinstance(name, str):
                yield number, place, record, name
                yield from (
                    (number, (*place, *path), raw, id) for path, raw, id in _iterate_variants(record, name)
                )


def _iterate_variants(record: dict[str, Json], name: str) -> Iterator[tuple[Path, dict[str, Json], str]]:
    known_good = record.get("baseline")
    variants = known_good.get("variants") if isinstance(known_good, dict) else None
    for number, variant in enumerate(variants if isinstance(variants, list) else ()):
        if isinstance(variant, dict) and _is_variant(variant):
            path = ("baseline", "variants", number)
            yield path, variant, variant_id(name, canonical(variant["when"]))


def _is_variant(record: dict[str, Json]) -> bool:
    return "when" in record


def place_of(record: dict[str, Json], key: str) -> Path:
    """Return where a record of either form, or a variant, has a value of PLACES."""
    if _is_variant(record):
        return PLACES[key][-1:]
    return _HARNESS_PLACES[key] if key in _HARNESS_PLACES and "test_case" in record else PLACES[key]


def _mark_places(
    file_language: Language, body: str, raw: Sequence[tuple[int, Path, dict[str, Json], str]]
) -> dict[int, Marks]:
    paths_by_document: dict[int, list[Path]] = {}
    for number, at, record, _ in raw:
        paths_by_document.setdefault(number, []).extend((*at, *place_of(record, key)) for key in PLACES)
    return mark_each(file_language.events(body), paths_by_document)


def _find_spans(body: str, marks: Marks, places: dict[str, Path]) -> dict[str, Span]:
    """Return the spans of the values that no anchor shares. Of the record, only scalars on one line count."""
    spans: dict[str, Span] = {}
    for key, place in places.items():
        nodes, missing = marks.reach(place)
        if missing or any(node.anchor for node in nodes) or nodes[-1].start == nodes[-1].end:
            continue
        span = _trim_span(body, nodes[-1])
        if key not in KEYS or (nodes[-1].kind == SCALAR and "\n" not in body[span.start : span.end]):
            spans[key] = span
    return spans


def _trim_span(body: str, node: MarkedNode) -> Span:
    end = node.end if node.in_flow else node.start + len(body[node.start : node.end].rstrip())
    return Span(node.start, end, node.key - line_start(body, node.key) if node.key >= 0 else 0)


def add_values(body: str, file: str, values: Sequence[tuple[int, Path, Json]]) -> str:
    """Add values that are not in a text yet."""
    from baselinekit.files.splice import apply  # rarely needed, and slow to import

    try:
        for document, path, value in values:
            body = apply(body, [Edit(path, value)], document, language(file), KEYS)
    except BaselinekitError as error:
        raise Unreadable(str(error)) from None
    return body
