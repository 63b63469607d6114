"""Merges the record of each baseline (`last_passed`, `failure_count`) of two branches, so that git finds no
conflict there, and shows a file to `git diff` without its record and provenance.

The merged values are written into all three texts, the ancestor's too: git sees no change in them and merges
the rest. A text that cannot be read is left as it is."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import language
from baselinekit.files.text import Splice, apply_splices, decode, encode, line_end, line_start, mark, reach
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.store import records
from baselinekit.values.places import value_at

_RECORD_PATHS: list[Path] = [("metadata", key) for key in records.RECORD_KEYS]
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_LINE_REST = lazy_pattern(r"[ \t]*,?[ \t]*")


class _Part(NamedTuple):
    """A value in the text of a baseline, by the id of its baseline and its path there."""

    id: str
    path: Path
    key: int
    start: int
    end: int
    value: Json


def merge_records(sides: list[bytes], file: str) -> list[bytes]:
    """Return the texts of the ancestor and of both sides, with one record for each baseline: the later
    `last_passed`, and the ancestor's `failure_count` plus what each side added."""
    try:
        texts = [decode(data, file) for data in sides]
        found = [
            {(part.id, part.path): part for part in _find(data, text.body, file, lambda _: _RECORD_PATHS)}
            for data, text in zip(sides, texts, strict=True)
        ]
    except BaselinekitError:
        return sides
    splices: list[list[Splice]] = [[], [], []]
    for key in dict.fromkeys(key for parts in found for key in parts):
        parts = [parts.get(key) for parts in found]
        base, ours, theirs = (part and part.value for part in parts)
        value = _merged(key[1], base, ours, theirs)
        if None in parts[1:]:  # one side removed it: git sees no change on the other
            value = base
        literals = (
            text.body[part.start : part.end]
            for text, part in zip(texts, parts, strict=True)
            if part and part.value == value
        )
        merged = next(literals, str(value))
        for some, part in zip(splices, parts, strict=True):
            if part and (parts[0] or None not in parts[1:]):
                some.append(Splice(part.start, part.end, merged))
    return [encode(apply_splices(text.body, own), text.bom) for text, own in zip(texts, splices, strict=True)]


def _find(
    data: bytes, body: str, file: str, paths_of: Callable[[dict[str, Json]], Iterable[Path]]
) -> Iterator[_Part]:
    """Yield these parts of each baseline, but none that an anchor shares. A baseline whose id occurs twice is
    left out."""
    found = records.records_in(data, file) if body.strip() else []
    entries = [(str(records.id_of(raw)), source, raw) for source, raw in found]
    ids = Counter(id for id, *_ in entries)
    marks = mark(language(file).events(body))
    for id, source, raw in entries:
        for path in paths_of(raw) if ids[id] == 1 else ():
            nodes, missing = reach(marks, source.document, (*source.at, *path))
            node = nodes[-1]
            if not missing and node.end > node.start and not any(parent.anchor for parent in nodes):
                end = node.start + len(body[node.start : node.end].rstrip())
                yield _Part(id, path, node.key, node.start, end, value_at(raw, path))


def _merged(path: Path, base: Json, ours: Json, theirs: Json) -> Json:
    """Return the value that both sides get. A count below the ancestor's was reset: all of it was added."""
    if path == _RECORD_PATHS[0]:
        return max(ours, theirs, key=lambda value: parse_time(value) or _LONG_AGO)
    start, one, other = (value if isinstance(value, int) else 0 for value in (base, ours, theirs))
    if min(one, other) >= start:
        return one + other - start
    return sum(count - start if count >= start else count for count in (one, other))


def without_record(data: bytes, file: str) -> bytes:
    """Return the text for a diff, without the record and the provenance. Lines that hold nothing else are
    removed; on a line with other content, the value is hidden."""
    try:
        body, bom = decode(data, file)
        parts = list(_find(data, body, file, _hidden))
    except BaselinekitError:  # such as one with conflict markers
        return data
    splices = []
    for part in parts:
        start, (stop, next_line) = line_start(body, part.key), line_end(body, part.end)
        if not body[start : part.key].strip() and _LINE_REST.fullmatch(body, part.end, stop):
            splices.append(Splice(start, next_line, ""))
        else:
            splices.append(Splice(part.start, part.end, "…"))
    return encode(apply_splices(body, splices), bom)


def _hidden(raw: dict[str, Json]) -> list[Path]:
    """Return where a record has what a diff leaves out: what changes with every compare or refresh."""
    metadata, known = raw.get("metadata"), raw.get("baseline")
    variants = known.get("variants") if isinstance(known, dict) else None
    known_at: list[Path] = [("baseline",), *(("baseline", "variants", n) for n in range(len(variants or ())))]
    is_only_record = isinstance(metadata, dict) and metadata.keys() <= {*records.RECORD_KEYS}
    return [
        ("baseline", "version") if "test_case" in raw else ("baseline_version",),
        *((*at, key) for at in known_at for key in ("captured_at", "environment")),
        *([("metadata",)] if is_only_record else _RECORD_PATHS),
    ]
