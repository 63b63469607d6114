"""Merges the record of each baseline (`last_passed`, `failure_count`) of two branches, so that git finds no
conflict there, and shows a file to `git diff` without its record and provenance.

The merged values are written into all three texts, the ancestor's too: git sees no change in them and merges
the rest. A text that cannot be read is left as it is."""

from collections.abc import Iterator
from datetime import UTC, datetime

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import language
from baselinekit.files.text import (
    MarkedNode,
    Marks,
    Splice,
    apply_splices,
    decode,
    encode,
    line_end,
    line_start,
    mark_each,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path, parse_time
from baselinekit.structs import Struct, field

KEYS = _WHEN, _COUNT = "last_passed", "failure_count"
PROVENANCE = ("baseline_version", "captured_at", "environment")
"""What a diff leaves out, like the record: it changes with every refresh, and reviewers look for changes in
what the service answers."""

_RECORD_PATHS: dict[str, Path] = {key: ("metadata", key) for key in KEYS}
_HARNESS_KEY = "regression_eval"
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_HIDDEN = "…"
_LINE_REST = lazy_pattern(r"[ \t]*,?[ \t]*")
_RECORD_LINES = lazy_pattern(
    rb"(?m)^[ \t]*[\"']?(?:last_passed|failure_count|metadata)[\"']?[ \t]*:[^\s#]*.*\r?\n"
)


class _Record(Struct):
    """What the tool wrote into one baseline. `spans`: the value of each of KEYS that is a scalar of its own.
    `hidden`: the nodes that a diff leaves out. `heading`: `metadata`, if it holds nothing else."""

    values: dict[str, Json]
    captured: Json
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: tuple[MarkedNode, ...] = ()
    heading: MarkedNode | None = None

    @property
    def failures(self) -> int:
        count = self.values.get(_COUNT)
        return count if isinstance(count, int) else 0

    @property
    def when(self) -> datetime:
        return parse_time(self.values.get(_WHEN)) or _LONG_AGO

    @property
    def captured_time(self) -> datetime:
        return parse_time(self.captured) or _LONG_AGO


class _Side(Struct):
    """One of the three texts."""

    body: str
    bom: bool
    records: dict[str, _Record]

    def with_splices(self, splices: list[Splice]) -> bytes:
        return encode(apply_splices(self.body, splices), self.bom)


def merge_records(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """Return the three texts with one record for each baseline."""
    try:
        sides = [_read(data, file) for data in (base, ours, theirs)]
    except BaselinekitError:
        return base, ours, theirs
    splices: list[list[Splice]] = [[], [], []]
    for id in dict.fromkeys(id for side in sides for id in side.records):
        records = [side.records.get(id) for side in sides]
        for key in KEYS:
            literals = [
                side.body[slice(*record.spans[key])] if record and key in record.spans else None
                for side, record in zip(sides, records, strict=True)
            ]
            if (text := _merged_literal(key, records, literals)) is not None:
                for number, record in enumerate(records):
                    if record and key in record.spans:
                        splices[number].append(Splice(*record.spans[key], text))
        for number, other in ((1, 2), (2, 1)):
            splices[number] += _added(sides[number], sides[other], id, sides[0])
    first, second, third = (side.with_splices(some) for side, some in zip(sides, splices, strict=True))
    return first, second, third


def _added(side: _Side, other: _Side, id: str, base: _Side) -> Iterator[Splice]:
    """Yield the line of a key that only the other side began, where the neighbouring key may differ."""
    ours, theirs, ancestor = side.records.get(id), other.records.get(id), base.records.get(id)
    for key, neighbour in (KEYS, KEYS[::-1]):
        if (
            ours
            and theirs
            and key not in ours.spans
            and not (ancestor and key in ancestor.spans)
            and {key, neighbour} <= theirs.spans.keys()
            and neighbour in ours.spans
        ):
            start, end = theirs.spans[key]
            line = other.body[line_start(other.body, start) : line_end(other.body, end)[1]]
            at = ours.spans[neighbour][0]
            before = theirs.spans[key] < theirs.spans[neighbour]
            at = line_start(side.body, at) if before else line_end(side.body, at)[1]
            yield Splice(at, at, line)


def _merged_literal(key: str, records: list[_Record | None], literals: list[str | None]) -> str | None:
    """Return the text of a merged value. What one side removed stays removed: the other side gets the
    ancestor's text, so that git sees no change there."""
    base, ours, theirs = records
    if ours is None or theirs is None or None in literals[1:]:
        return literals[0]
    value = _merged_values(base, ours, theirs)[key]
    same = (
        literal
        for record, literal in zip(records, literals, strict=True)
        if record and literal is not None and record.values.get(key) == value
    )
    return next(same, str(value) if isinstance(value, int) else "null")


def _merged_values(base: _Record | None, ours: _Record, theirs: _Record) -> dict[str, Json]:
    """Of a baseline that was refreshed (another `captured_at`) only that side's failures count: those of the
    other were about the old output."""
    when = max(ours, theirs, key=lambda side: side.when).values.get(_WHEN)
    refreshed = [side for side in (ours, theirs) if base is None or side.captured != base.captured]
    if ours.captured != theirs.captured:
        if len(refreshed) == 1:
            alone = refreshed[0]
            was_removed = base and base.values.get(_WHEN) and not alone.values.get(_WHEN)
            return {_WHEN: None if was_removed else when, _COUNT: alone.failures}
        latest = max(ours, theirs, key=lambda side: side.captured_time)
        return {_WHEN: latest.values.get(_WHEN), _COUNT: latest.failures}
    earlier = base.failures if base and not refreshed else 0  # the same refresh on both sides started at 0
    # a side that counts less than the ancestor was reset by hand: its whole count is new
    was_reset = min(ours.failures, theirs.failures) < earlier
    added = (side.failures - (0 if side.failures < earlier else earlier) for side in (ours, theirs))
    return {_WHEN: when, _COUNT: sum(added) + (0 if was_reset else earlier)}


def _read(data: bytes, file: str) -> _Side:
    """Read a text. A baseline whose id occurs twice is left out."""
    body, bom = decode(data, file)
    form = language(file)
    found = list(_find_records(form.load(body, file) if body.strip() else []))
    paths: dict[int, list[Path]] = {}
    for number, at, record, _ in found:
        paths.setdefault(number, []).extend((*at, *path) for path in _paths(record))
    marks = mark_each(form.events(body), paths)
    records: dict[str, _Record] = {}
    for number, at, record, id in found:
        nodes = _nodes(marks.get(number, Marks()), at, record)
        metadata, known = record.get("metadata"), record.get("baseline")
        values = metadata if isinstance(metadata, dict) else {}
        spans = {key: _span(body, nodes[path]) for key, path in _RECORD_PATHS.items() if path in nodes}
        records[id] = _Record(
            {key: value for key, value in values.items() if key in spans},
            known.get("captured_at") if isinstance(known, dict) else None,
            {key: span for key, span in spans.items() if "\n" not in body[slice(*span)]},
            tuple(node for path, node in nodes.items() if path in _hidden_paths(record)),
            nodes.get(("metadata",)) if values and values.keys() <= spans.keys() else None,
        )
    ids = [id for *_, id in found]
    return _Side(body, bom, {id: record for id, record in records.items() if ids.count(id) == 1})


def _find_records(documents: list[Json]) -> Iterator[tuple[int, Path, dict[str, Json], str]]:
    """Yield each mapping that may be a baseline, with its document, its place and its id."""
    for number, document in enumerate(documents):
        at: Path = ()
        if isinstance(document, dict) and _HARNESS_KEY in document:
            document, at = document[_HARNESS_KEY], (_HARNESS_KEY,)
        rows = enumerate(document) if isinstance(document, list) else [(None, document)]
        for index, record in rows:
            if isinstance(record, dict):
                metadata = record.get("metadata")
                id = record.get("id", metadata.get("id") if isinstance(metadata, dict) else None)
                if isinstance(id, str):
                    yield number, at if index is None else (*at, index), record, id


def _span(body: str, node: MarkedNode) -> tuple[int, int]:
    return node.start, node.start + len(body[node.start : node.end].rstrip())


def _hidden_paths(record: dict[str, Json]) -> list[Path]:
    """Where a record has what a diff leaves out."""
    known = record.get("baseline")
    variants = known.get("variants") if isinstance(known, dict) else None
    known_at: list[Path] = [("baseline",), *(("baseline", "variants", n) for n in range(len(variants or ())))]
    return [
        ("baseline", "version") if "test_case" in record else ("baseline_version",),
        *((*at, key) for at in known_at for key in PROVENANCE[1:]),
        *_RECORD_PATHS.values(),
    ]


def _paths(record: dict[str, Json]) -> dict[Path, None]:
    return dict.fromkeys((("metadata",), *_hidden_paths(record)))


def _nodes(marks: Marks, at: Path, record: dict[str, Json]) -> dict[Path, MarkedNode]:
    """The nodes that exist and that no anchor shares."""
    found: dict[Path, MarkedNode] = {}
    for path in _paths(record):
        nodes, missing = marks.reach((*at, *path))
        if not missing and not any(node.anchor for node in nodes) and nodes[-1].end > nodes[-1].start:
            found[path] = nodes[-1]
    return found


def why_unreadable(data: bytes, file: str) -> str:
    """Return why a text cannot be read, or "": two valid changes can give an invalid file together."""
    try:
        language(file).load(decode(data, file).body, file)
    except BaselinekitError as error:
        return str(error.problems[0])
    return ""


def without_record(data: bytes, file: str) -> bytes:
    """Return the text for a diff, without the record and the provenance. Lines that hold nothing else are
    removed; on a line with other content, the value is hidden."""
    try:
        side = _read(data, file)
    except (
        BaselinekitError
    ):  # perhaps because of conflict markers; the record is still recognisable by its lines
        return _RECORD_LINES.sub(b"", data)
    splices: list[Splice] = []
    for record in side.records.values():
        splices += (cuts := [_cut(side.body, node) for node in record.hidden])
        heading = record.heading
        if heading and not heading.style and not any(cut.text for cut in cuts):
            start = line_start(side.body, heading.key)
            splices.append(Splice(start, line_end(side.body, start)[1], ""))
    return side.with_splices(splices)


def _cut(body: str, node: MarkedNode) -> Splice:
    _, end = _span(body, node)
    start, (stop, next_line) = line_start(body, node.key), line_end(body, end)
    if not body[start : node.key].strip() and _LINE_REST.fullmatch(body, end, stop):
        return Splice(start, next_line, "")
    return Splice(node.start, end, _HIDDEN)
