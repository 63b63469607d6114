"""The three texts of a merge: what the tool itself wrote into each baseline, and where it stands.

Git asks once a file, and a merge of a hundred files asks a hundred times: what `capture` writes is read here
by a few patterns, since to load the readers of all files takes longer than the merge. Whatever is written
otherwise is read by them (store/mergereading.py)."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path, parse_time

KEYS = ("last_passed", "failure_count")
"""The record."""

PLACES: dict[str, Path] = {
    "baseline_version": ("baseline_version",),
    **{
        key: ("baseline", key)
        for key in ("captured_at", "environment", "observed", "approved_by", "reason", "learnt", "output")
    },
    **{key: ("metadata", key) for key in KEYS},
}
"""What is looked for, and where it stands in a record."""

_AGES_AGO = datetime(1, 1, 1, tzinfo=UTC)


class Unreadable(ValueError):
    """A text that is no file of baselines: git merges it alone."""


class Span(NamedTuple):
    """Where a value stands in a text, and the column of its key."""

    start: int
    end: int
    column: int = 0


class MergedRecord(NamedTuple):
    """What the tool wrote into one baseline of one text. `spans`: of what PLACES names, as far as it is there
    and its place is known."""

    document: int
    at: Path
    values: Mapping[str, Json]
    captured: Json
    spans: Mapping[str, Span]

    @property
    def failures(self) -> int:
        count = self.values.get("failure_count")
        return count if isinstance(count, int) else 0

    @property
    def when(self) -> datetime:
        return parse_time(self.values.get("last_passed")) or _AGES_AGO

    @property
    def captured_time(self) -> datetime:
        return parse_time(self.captured) or _AGES_AGO


_OF_VARIANT = "\0"


def variant_id(id: str, when: str) -> str:
    """What a variant is called among the records."""
    return f"{id}{_OF_VARIANT}{when}"


class MergeSide:
    """One of the three texts, and what is to be changed in it: `splices` of its text, and values that have no
    place there yet."""

    def __init__(self, file: str, body: str, bom: bool, records: dict[str, MergedRecord]):
        self.file = file
        self.body = body
        self.bom = bom
        self.records = records
        self.splices: list[tuple[int, int, str]] = []
        self.values: list[tuple[int, Path, Json]] = []

    @property
    def is_json(self) -> bool:
        return self.file.endswith(".json")

    def has(self, id: str, key: str) -> bool:
        return id in self.records and key in self.records[id].values

    def last_captured(self, id: str) -> datetime:
        """When a baseline was captured, or the last of its variants."""
        ours = [one for name, one in self.records.items() if name.partition(_OF_VARIANT)[0] == id]
        return max((one.captured_time for one in ours), default=_AGES_AGO)

    def literal(self, id: str, key: str) -> str | None:
        span = self.records[id].spans.get(key)
        return None if span is None else self.body[span.start : span.end]

    def put(self, id: str, key: str, value: Json, literal: str | None) -> None:
        record = self.records[id]
        span = record.spans.get(key)
        if span is not None and literal is not None:
            self.splices.append((span.start, span.end, literal))
        elif record.values.get(key, ABSENT) != value:
            self.values.append((record.document, (*record.at, "metadata", key), value))

    def text(self) -> bytes:
        body = spliced(self.body, self.splices)
        return (f"\ufeff{body}" if self.bom else body).encode("utf-8")


def spliced(body: str, splices: list[tuple[int, int, str]]) -> str:
    """The text with others in the place of some of its parts."""
    parts, end = [], len(body)
    for start, stop, text in sorted(splices, reverse=True):
        parts += [body[stop:end], text]
        end = start
    return body[:end] + "".join(reversed(parts))


# What `capture` writes: one record, in block style. A text in which a line might be something else than it
# looks like (a text of several lines in quotes, an anchor, a tab) is left to those who read all of YAML.

_QUOTED = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'"""
_ODD = lazy_pattern(
    r"[\t\r\ufeff\x85\u2028\u2029]|^(?:---|\.\.\.|[^A-Za-z_# \n])|^ *\? |[:-] +[&*!]|<<<<<<< |>>>>>>> "
    rf"""|[:-] (?=["'])(?!(?:{_QUOTED})(?: *:.*)? *(?:#.*)?$)"""
    r"|[:-] (?=[\[{])(?!.*[\]}] *(?:#.*)?$)",
    re.MULTILINE,
)
_SCALAR = lazy_pattern(rf"(?:{_QUOTED}|[^\s\"'#\[{{|>&*!%@`][^\n]*?)(?= +#|\s*$)", re.MULTILINE)
_FIRST = lazy_pattern(r"\n( +)[^ #\n]")
_TOP = ("id", "baseline", "metadata")
_BEHIND_KEY = ("", " ", "\n")


class _Odd(ValueError):
    """It has to be read by the others."""


def read_captured(data: bytes, file: str) -> MergeSide | None:
    """None where the text is not of this kind."""
    if not file.endswith((".yaml", ".yml")):
        return None
    try:
        body = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not body.startswith(("id:", "#")) or _ODD.search(body):
        return None
    try:
        tops = {name: _entry(body, name, 0, 0, len(body)) for name in _TOP}
        return MergeSide(file, body, False, dict([_record(body, tops)]))
    except _Odd:
        return None


def _record(body: str, tops: Mapping[str, tuple[int, int] | None]) -> tuple[str, MergedRecord]:
    spans: dict[str, Span] = {}
    for key, place in PLACES.items():
        found: tuple[int, int] | None
        column = 0
        if len(place) == 1:
            found = _entry(body, key, 0, 0, len(body))
        elif (whole := tops[str(place[0])]) is not None:
            first = _FIRST.match(body, line_end(body, whole[0]))
            if first is None or body[whole[0] : line_end(body, whole[0])].split("#")[0].strip():
                raise _Odd  # in flow style, or nothing at all
            column = len(first[1])
            found = _entry(body, key, column, *whole)
            if key == "output" and _entry(body, "variants", column, *whole) is not None:
                raise _Odd  # rows, each with an output and a provenance
        else:
            continue
        if found is not None:
            spans[key] = _value_span(body, *found, column)
    id = _entry(body, "id", 0, 0, len(body))
    if id is None:
        raise _Odd
    texts = {key: body[slice(*spans[key][:2])] for key in (*KEYS, "captured_at") if key in spans}
    plain = {key: _plain(key, text) for key, text in texts.items()}
    about = tops["metadata"]
    column = spans[KEYS[0]].column if KEYS[0] in spans else 0
    others = re.finditer(rf"^ {{{column}}}([^ :]+):", body[slice(*about)], re.MULTILINE) if about else ()
    values = {match[1]: plain.get(match[1], ABSENT) for match in others}
    name = _text(body[slice(*_value_span(body, *id, 0)[:2])])
    return name, MergedRecord(0, (), values, plain.get("captured_at"), spans)


def _entry(body: str, name: str, column: int, start: int, end: int) -> tuple[int, int] | None:
    """Where an entry's value begins, right behind the colon, and where its last line ends."""
    found = _key_end(body, f"{' ' * column}{name}:", start, end)
    if found < 0:
        return None
    if _key_end(body, f"{' ' * column}{name}:", found, end) >= 0:
        raise _Odd
    below = rf"\n {{0,{column}}}[^ #\n-]" + (rf"|\n {{0,{column - 1}}}-" if column else "")
    following = re.compile(below).search(body, found, end)
    return found, following.start() + 1 if following else end


def _key_end(body: str, key: str, start: int, end: int) -> int:
    """Behind the first line head that is this key; -1: there is none. A text is searched for another text
    much more quickly than for a pattern."""
    if start == 0 and body.startswith(key) and body[len(key) : len(key) + 1] in _BEHIND_KEY:
        return len(key)
    line = f"\n{key}"
    at = body.find(line, max(start - 1, 0), end)
    while at >= 0:
        behind = at + len(line)
        if body[behind : behind + 1] in _BEHIND_KEY:
            return behind
        at = body.find(line, behind, end)
    return -1


def _value_span(body: str, start: int, end: int, column: int) -> Span:
    first_end = line_end(body, start)
    first = start + len(body[start:first_end]) - len(body[start:first_end].lstrip(" "))
    if first < first_end and body[first] not in "#|>[{":
        match = _SCALAR.match(body, first)
        if match is None or body[first_end:end].strip():
            raise _Odd  # it goes on below
        return Span(first, match.end(), column)
    if first < first_end and body[first] == "#":
        raise _Odd
    stop = _without_trailing(body, start, end)
    if first < first_end and body[first] in "[{" and stop > first_end:
        raise _Odd
    while first < stop and body[first] in " \n":
        first += 1
    if first >= stop:
        raise _Odd
    return Span(first, stop, column)


def _without_trailing(body: str, start: int, end: int) -> int:
    """Where a value ends: empty lines and comments below it are no part of it."""
    while (line := body.rfind("\n", start, end)) >= 0 and body[line + 1 : end].lstrip(" ")[:1] in ("", "#"):
        end = line
    return end


def line_end(body: str, index: int) -> int:
    end = body.find("\n", index)
    return len(body) if end < 0 else end


def _plain(key: str, text: str) -> Json:
    """A value of the record, or a time."""
    if key == "failure_count" and text.isascii() and text.isdigit():
        return int(text)
    if text == "null":
        return None
    plain = _text(text)
    if parse_time(plain) is None:
        raise _Odd
    return plain


def _text(text: str) -> str:
    if text[:1] in ("'", '"'):
        if "\\" in text or "''" in text:
            raise _Odd
        return text[1:-1]
    return text
