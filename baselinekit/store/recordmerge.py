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
from baselinekit.documents.splice import apply, spliced
from baselinekit.documents.text import Watched, decode, encode
from baselinekit.errors import BaselinekitError
from baselinekit.model.baselines import Edit
from baselinekit.model.values import ABSENT, Json, Path, parse_time

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
class MergedRecord:
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
        return parse_time(self.values.get(_WHEN)) or _AGES_AGO


@dataclass(slots=True, eq=False)
class MergeSide:
    """One of the three texts, and what is to be changed in it."""

    language: Language
    body: str
    bom: bool
    records: dict[str, MergedRecord]
    splices: list[Splice]
    edits: list[tuple[int, Edit]]

    def has(self, id: str, key: str) -> bool:
        return id in self.records and key in self.records[id].values

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


def settle(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """The three texts with one record for each baseline. Texts that cannot be read come back as they are."""
    try:
        sides = read_side(base, file), read_side(ours, file), read_side(theirs, file)
        for id in dict.fromkeys(id for side in sides for id in side.records):
            settle_record(id, *sides)
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
        side = read_side(data, file)
        return encode(spliced(side.body, list(_cuts(side))), side.bom)
    except BaselinekitError:  # a conflict, perhaps, in which the lines are what they always are
        return _LINES.sub(b"", data)


def settle_record(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """One record. Where a side took it out, the other's new values are no reason to keep it."""
    before, one, two = (side.records.get(id) for side in (base, ours, theirs))
    values = merged_values(before, one, two) if one and two else {}
    for key in _KEYS:
        having = [side for side in (base, ours, theirs) if side.has(id, key)]
        if base not in having and one and two:  # both began a record: one with this key, the other without
            having += [
                side
                for side in (ours, theirs)
                if side not in having and any(side.has(id, k) and not base.has(id, k) for k in _KEYS)
            ]
        if ours in having and theirs in having:
            value = values[key]
        elif base in having:
            value = base.records[id].values[key]
        else:
            continue
        old = ((side, side.records[id].values.get(key, ABSENT)) for side in having)
        same = (side for side, there in old if there.__class__ is value.__class__ and there == value)
        source = next((side.literal(id, key) for side in same), None)
        literal = source or (str(value) if isinstance(value, int) else None)
        for side in having:
            side.put(id, key, value, literal)


def merged_values(before: MergedRecord | None, ours: MergedRecord, theirs: MergedRecord) -> dict[str, Json]:
    later = max(ours, theirs, key=lambda side: side.when)
    when = later.values.get(_WHEN)
    refreshed = [side for side in (ours, theirs) if before is None or side.captured != before.captured]
    if ours.captured != theirs.captured:
        if len(refreshed) == 1:
            alone = refreshed[0]
            taken_away = before and before.values.get(_WHEN) and not alone.values.get(_WHEN)
            return {_WHEN: None if taken_away else when, _COUNT: alone.count}
        last = max(ours, theirs, key=lambda side: parse_time(side.captured) or _AGES_AGO)
        return {_WHEN: last.values.get(_WHEN), _COUNT: last.count}
    known = before.count if before and not refreshed else 0  # the same refresh on both sides began at 0
    # Who counts less than the ancestor has begun anew, so that all it counts is its own.
    own = [side.count if side.count < known else side.count - known for side in (ours, theirs)]
    begun_anew = min(ours.count, theirs.count) < known
    return {_WHEN: when, _COUNT: sum(own) + (0 if begun_anew else known)}


def read_side(data: bytes, file: str) -> MergeSide:
    body, bom = decode(data, file)
    spoken = language(file)
    watched: Watched = {key: [] for key in _KEYS}
    documents = spoken.load(body, file, watched) if body.strip() else []
    if not spoken.blocks:
        watched = _json_spans(spoken, body, documents)
    spans = {(key, id(box)): span for key, found in watched.items() for box, span in found}
    records: dict[str, MergedRecord] = {}
    twice = set()
    for number, at, raw in raw_records(documents):
        about = raw.get("metadata")
        values = about if isinstance(about, dict) else {}
        known = raw.get("baseline")
        name = raw.get("id", values.get("id"))
        if not isinstance(name, str):
            continue
        twice |= {name} & records.keys()
        here = {key: spans[key, id(about)] for key in _KEYS if (key, id(about)) in spans}
        captured = known.get("captured_at") if isinstance(known, dict) else None
        records[name] = MergedRecord(number, at, values, captured, here)
    records = {name: record for name, record in records.items() if name not in twice}
    return MergeSide(spoken, body, bom, records, [], [])


def raw_records(documents: list[Json]) -> Iterator[tuple[int, Path, dict[str, Json]]]:
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
    from baselinekit.documents.text import SCALAR, mark

    found = list(raw_records(documents))
    paths = [(*at, "metadata", key) for _, at, _ in found for key in _KEYS]
    marks = mark(spoken.events(body), 0, paths)
    watched: Watched = {key: [] for key in _KEYS}
    for _, at, raw in found:
        for key in _KEYS:
            nodes, rest = marks.reach((*at, "metadata", key))
            if not rest and nodes[-1].kind == SCALAR:
                watched[key].append((raw["metadata"], (nodes[-1].start, nodes[-1].end)))
    return watched


def _cuts(side: MergeSide) -> Iterator[Splice]:
    """Lines that hold nothing but the record go, with a `metadata:` that holds nothing else; where more
    stands on the line, the value alone is hidden."""
    for record in side.records.values():
        alone = True
        heads = set()
        for key, (start, end) in record.spans.items():
            first, last = line_around(side.body, start)
            if _ALONE.fullmatch(side.body, first, start) and _NOTHING_MORE.fullmatch(side.body, end, last):
                yield Splice(first, min(last + 1, len(side.body)), "")
                heads.add(key)
            else:
                alone = False
                yield Splice(start, end, _HIDDEN)
        if alone and heads and heads == record.values.keys():
            above = min(line_around(side.body, start)[0] for start, _ in record.spans.values()) - 1
            first, last = line_around(side.body, max(above, 0))
            if _HEAD.fullmatch(side.body, first, last):
                yield Splice(first, min(last + 1, len(side.body)), "")


def line_around(body: str, index: int) -> tuple[int, int]:
    """Where the line of an index begins, and where its line end stands."""
    end = body.find("\n", index)
    return body.rfind("\n", 0, index) + 1, len(body) if end < 0 else end
