"""Two branches, and the record of a baseline in each: one value for both, so that git has nothing to ask.

The rule, for a baseline whose output is the same on both sides: the later `last_passed`, and the failures
that each side added since their common ancestor. Where one side refreshed it (another `captured_at`), that
side's record goes on alone: what the other recorded meanwhile was about an output that nobody expects any
more. Only the later `last_passed` is kept then, unless the refresh took it away. Where both refreshed it
differently, which is a conflict for people, the record is that of the later one.

The values are settled in all three texts, the ancestor's too, so that whoever merges texts sees no change
there. Everything else is left as it is. Git asks once a file, so that little is imported here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from baselinekit.documents.languages import Language, language
from baselinekit.documents.layout import Splice
from baselinekit.documents.marks import Watched
from baselinekit.documents.splice import apply, spliced
from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError
from baselinekit.model.comparison import Edit
from baselinekit.model.values import ABSENT, Json, Path

_WHEN, _COUNT = _KEYS = ("last_passed", "failure_count")
_WRAPPER = "regression_eval"
_AGES_AGO = datetime(1, 1, 1, tzinfo=UTC)
_ALONE = re.compile(r"""[ \t]*["']?(?:last_passed|failure_count)["']?[ \t]*:[ \t]*""")
_NOTHING_MORE = re.compile(r"[ \t]*,?[ \t]*\r?")
_HEAD = re.compile(r"[ \t]*(?:- )?metadata[ \t]*:[ \t]*\r?")
_ONE = rb"""[ \t]*["']?(?:last_passed|failure_count)["']?[ \t]*:[ \t]*[^\s#]*[ \t]*\r?\n"""
_LINES = re.compile(
    rb"^(?:[ \t]*metadata[ \t]*:[ \t]*\r?\n(?=(?:%b)+(?:[^ \t]|\Z)))?(?:%b)+" % (_ONE, _ONE), re.M
)
_HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class _MergedRecord:
    """The record of one baseline in one text."""

    document: int
    at: Path
    values: Mapping[str, Json]
    captured: Json
    spans: Mapping[str, tuple[int, int]]

    @property
    def count(self) -> int:
        count = self.values.get(_COUNT)
        return count if isinstance(count, int) else 0

    @property
    def when(self) -> datetime:
        return _time(self.values.get(_WHEN))


@dataclass(slots=True, eq=False)
class _Side:
    """One of the three texts, and what is to be changed in it."""

    language: Language
    body: str
    bom: bool
    records: dict[str, _MergedRecord]
    splices: list[Splice]
    edits: list[tuple[int, Edit]]

    def has(self, id: str, key: str) -> bool:
        return id in self.records and key in self.records[id].values

    def began(self, id: str, base: "_Side") -> bool:
        """Whether it records what the ancestor did not."""
        return any(self.has(id, key) and not base.has(id, key) for key in _KEYS)

    def literal(self, id: str, key: str) -> str | None:
        span = self.records[id].spans.get(key)
        return None if span is None else self.body[slice(*span)]

    def put(self, id: str, key: str, value: Json, literal: str | None) -> None:
        record = self.records[id]
        span = record.spans.get(key)
        if span is not None and literal is not None:
            self.splices.append(Splice(*span, literal))
        elif record.values.get(key, ABSENT) != value:
            self.edits.append((record.document, Edit((*record.at, "metadata", key), value)))

    def text(self) -> bytes:
        body = spliced(self.body, self.splices)
        for document, edit in self.edits:
            body = apply(body, [edit], document, self.language, _KEYS)
        return encode(body, self.bom)


def settled(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """The three texts with one record for each baseline. Texts that cannot be read come back as they are."""
    try:
        sides = _side(base, file), _side(ours, file), _side(theirs, file)
        for id in dict.fromkeys(id for side in sides for id in side.records):
            _settle(id, *sides)
        return sides[0].text(), sides[1].text(), sides[2].text()
    except BaselinekitError:
        return base, ours, theirs


def reads(data: bytes, file: str) -> str:
    """Why a text cannot be read, or nothing: two changes that are fine alone need not be so together."""
    try:
        language(file).load(decode(data, file).body, file)
    except BaselinekitError as error:
        return str(error.problems[0])
    return ""


def without_record(data: bytes, file: str) -> bytes:
    """The text as people want to see it in a diff: the record left out, as far as it can be told."""
    try:
        side = _side(data, file)
        return encode(spliced(side.body, list(_cuts(side))), side.bom)
    except BaselinekitError:  # a conflict, perhaps, in which the lines are what they always are
        return _LINES.sub(b"", data)


def _settle(id: str, base: _Side, ours: _Side, theirs: _Side) -> None:
    """One record. Where a side took it out, the other's new values are no reason to keep it."""
    before, one, two = (side.records.get(id) for side in (base, ours, theirs))
    values = _merged(before, one, two) if one and two else {}
    for key in _KEYS:
        having = [side for side in (base, ours, theirs) if side.has(id, key)]
        if base not in having and one and two:  # both began a record: one with this key, the other without
            having += [side for side in (ours, theirs) if side not in having and side.began(id, base)]
        if ours in having and theirs in having:
            value = values[key]
        elif base in having:
            value = base.records[id].values[key]
        else:
            continue
        same = (side for side in having if _is(side.records[id].values.get(key, ABSENT), value))
        source = next((side.literal(id, key) for side in same), None)
        literal = source or (str(value) if isinstance(value, int) else None)
        for side in having:
            side.put(id, key, value, literal)


def _merged(before: _MergedRecord | None, ours: _MergedRecord, theirs: _MergedRecord) -> dict[str, Json]:
    later = max(ours, theirs, key=lambda side: side.when)
    when = later.values.get(_WHEN)
    refreshed = [side for side in (ours, theirs) if before is None or side.captured != before.captured]
    if ours.captured != theirs.captured:
        if len(refreshed) == 1:
            alone = refreshed[0]
            taken_away = before and before.values.get(_WHEN) and not alone.values.get(_WHEN)
            return {_WHEN: None if taken_away else when, _COUNT: alone.count}
        last = max(ours, theirs, key=lambda side: _time(side.captured))
        return {_WHEN: last.values.get(_WHEN), _COUNT: last.count}
    known = before.count if before and not refreshed else 0  # the same refresh on both sides began at 0
    # Who counts less than the ancestor has begun anew, so that all it counts is its own.
    own = [side.count if side.count < known else side.count - known for side in (ours, theirs)]
    begun_anew = min(ours.count, theirs.count) < known
    return {_WHEN: when, _COUNT: sum(own) + (0 if begun_anew else known)}


def _side(data: bytes, file: str) -> _Side:
    body, bom = decode(data, file)
    spoken = language(file)
    watched: Watched = {key: [] for key in _KEYS}
    documents = spoken.load(body, file, watched) if body.strip() else []
    if not spoken.blocks:
        watched = _json_spans(spoken, body, documents)
    spans = {(key, id(box)): span for key, found in watched.items() for box, span in found}
    records: dict[str, _MergedRecord] = {}
    twice = set()
    for number, at, raw in _records(documents):
        about = raw.get("metadata")
        values = about if isinstance(about, dict) else {}
        known = raw.get("baseline")
        name = raw.get("id", values.get("id"))
        if not isinstance(name, str):
            continue
        twice |= {name} & records.keys()
        here = {key: spans[key, id(about)] for key in _KEYS if (key, id(about)) in spans}
        captured = known.get("captured_at") if isinstance(known, dict) else None
        records[name] = _MergedRecord(number, at, values, captured, here)
    records = {name: record for name, record in records.items() if name not in twice}
    return _Side(spoken, body, bom, records, [], [])


def _records(documents: list[Json]) -> Iterator[tuple[int, Path, dict[str, Json]]]:
    """Whatever stands where a baseline may stand, with its place."""
    for number, document in enumerate(documents):
        at: Path = ()
        if isinstance(document, dict) and _WRAPPER in document:
            document, at = document[_WRAPPER], (_WRAPPER,)
        if isinstance(document, dict):
            yield number, at, document
        elif isinstance(document, list):
            yield from (
                (number, (*at, index), item) for index, item in enumerate(document) if isinstance(item, dict)
            )


def _json_spans(spoken: Language, body: str, documents: list[Json]) -> Watched:
    """JSON is read by a parser that tells no places: they are looked for."""
    from baselinekit.documents.marks import SCALAR, mark

    found = list(_records(documents))
    paths = [(*at, "metadata", key) for _, at, _ in found for key in _KEYS]
    marks = mark(spoken.events(body), 0, paths)
    watched: Watched = {key: [] for key in _KEYS}
    for _, at, raw in found:
        for key in _KEYS:
            nodes, rest = marks.reach((*at, "metadata", key))
            if not rest and nodes[-1].kind == SCALAR:
                watched[key].append((raw["metadata"], (nodes[-1].start, nodes[-1].end)))
    return watched


def _cuts(side: _Side) -> Iterator[Splice]:
    """Lines that hold nothing but the record go, with a `metadata:` that holds nothing else; where more
    stands on the line, the value alone is hidden."""
    for record in side.records.values():
        alone = True
        heads = set()
        for key, (start, end) in record.spans.items():
            first, last = _line(side.body, start)
            if _ALONE.fullmatch(side.body, first, start) and _NOTHING_MORE.fullmatch(side.body, end, last):
                yield Splice(first, min(last + 1, len(side.body)), "")
                heads.add(key)
            else:
                alone = False
                yield Splice(start, end, _HIDDEN)
        if alone and heads and heads == record.values.keys():
            above = min(_line(side.body, start)[0] for start, _ in record.spans.values()) - 1
            first, last = _line(side.body, max(above, 0))
            if _HEAD.fullmatch(side.body, first, last):
                yield Splice(first, min(last + 1, len(side.body)), "")


def _line(body: str, index: int) -> tuple[int, int]:
    """Where the line of an index begins, and where its line end stands."""
    end = body.find("\n", index)
    return body.rfind("\n", 0, index) + 1, len(body) if end < 0 else end


def _is(one: Json, other: Json) -> bool:
    return one.__class__ is other.__class__ and bool(one == other)


def _time(text: Json) -> datetime:
    """When something was; what is no time was ages ago."""
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return _AGES_AGO
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
