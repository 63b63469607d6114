"""The three texts of a merge: the values that the tool itself wrote into each baseline, and their places.

Git starts the merge driver once per file, a hundred times for a merge of a hundred files. Files as `capture`
writes them are read here with a few patterns, because importing the full readers takes longer than the merge.
All other files are read by store/mergereading.py."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path, parse_time

KEYS = ("last_passed", "failure_count")
"""The keys of the record."""

PLACES: dict[str, Path] = {
    "baseline_version": ("baseline_version",),
    **{
        key: ("baseline", key)
        for key in ("captured_at", "environment", "observed", "approved_by", "reason", "learnt", "output")
    },
    **{key: ("metadata", key) for key in KEYS},
}
"""The values that are looked for, and their paths in a record."""

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


class Unreadable(ValueError):
    """A text that is no file of baselines: git merges it without us."""


class Span(NamedTuple):
    """The start and the end of a value in a text, and the column of its key."""

    start: int
    end: int
    column: int = 0


class MergedRecord(NamedTuple):
    """What the tool wrote into one baseline of one text. `spans`: those of the values in PLACES that exist
    and whose places are known."""

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
        return parse_time(self.values.get("last_passed")) or _LONG_AGO

    @property
    def captured_time(self) -> datetime:
        return parse_time(self.captured) or _LONG_AGO


_VARIANT_SEPARATOR = "\0"


def variant_id(id: str, when: str) -> str:
    """Return the id of a variant among the records."""
    return f"{id}{_VARIANT_SEPARATOR}{when}"


class MergeSide:
    """One of the three texts, and the changes to it: `splices` of its text, and `values` that are not in it
    yet."""

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
        """Return when a baseline or its latest variant was captured."""
        records = [
            record for name, record in self.records.items() if name.partition(_VARIANT_SEPARATOR)[0] == id
        ]
        return max((record.captured_time for record in records), default=_LONG_AGO)

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
    """Return the text with some of its parts replaced."""
    parts, end = [], len(body)
    for start, stop, text in sorted(splices, reverse=True):
        parts += [body[stop:end], text]
        end = start
    return body[:end] + "".join(reversed(parts))


# What `capture` writes: one record, in block style. A text in which a line may not be what it looks like (in
# a quoted text of several lines, with an anchor or a tab) is left to the full YAML reader.

_QUOTED_SCALAR = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'"""
_NOT_SIMPLE = lazy_pattern(
    r"[\t\r\ufeff\x85\u2028\u2029]|^(?:---|\.\.\.|[^A-Za-z_# \n])|^ *\? |[:-] +[&*!]|<<<<<<< |>>>>>>> "
    rf"""|[:-] (?=["'])(?!(?:{_QUOTED_SCALAR})(?: *:.*)? *(?:#.*)?$)"""
    r"|[:-] (?=[\[{])(?!.*[\]}] *(?:#.*)?$)",
    re.MULTILINE,
)
_SCALAR = lazy_pattern(rf"(?:{_QUOTED_SCALAR}|[^\s\"'#\[{{|>&*!%@`][^\n]*?)(?= +#|\s*$)", re.MULTILINE)
_FIRST_KEY = lazy_pattern(r"\n( +)[^ #\n]")
_TOP_KEYS = ("id", "baseline", "metadata")
_AFTER_KEY = ("", " ", "\n")


class _NotSimple(ValueError):
    """The text needs the full YAML reader."""


def read_captured(data: bytes, file: str) -> MergeSide | None:
    """Read a text as `capture` writes it; None if it is written otherwise."""
    if not file.endswith((".yaml", ".yml")):
        return None
    try:
        body = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not body.startswith(("id:", "#")) or _NOT_SIMPLE.search(body):
        return None
    try:
        top_spans = {name: _find_entry(body, name, 0, 0, len(body)) for name in _TOP_KEYS}
        return MergeSide(file, body, False, dict([_parse_record(body, top_spans)]))
    except _NotSimple:
        return None


def _parse_record(body: str, top_spans: Mapping[str, tuple[int, int] | None]) -> tuple[str, MergedRecord]:
    spans: dict[str, Span] = {}
    for key, path in PLACES.items():
        entry: tuple[int, int] | None
        column = 0
        if len(path) == 1:
            entry = _find_entry(body, key, 0, 0, len(body))
        elif (parent := top_spans[str(path[0])]) is not None:
            first_key = _FIRST_KEY.match(body, line_end(body, parent[0]))
            if first_key is None or body[parent[0] : line_end(body, parent[0])].split("#")[0].strip():
                raise _NotSimple  # in flow style, or empty
            column = len(first_key[1])
            entry = _find_entry(body, key, column, *parent)
            if key == "output" and _find_entry(body, "variants", column, *parent) is not None:
                raise _NotSimple  # variants have outputs and provenances of their own
        else:
            continue
        if entry is not None:
            spans[key] = _find_value_span(body, *entry, column)
    id = _find_entry(body, "id", 0, 0, len(body))
    if id is None:
        raise _NotSimple
    texts = {key: body[slice(*spans[key][:2])] for key in (*KEYS, "captured_at") if key in spans}
    record_values = {key: _parse_value(key, text) for key, text in texts.items()}
    metadata = top_spans["metadata"]
    column = spans[KEYS[0]].column if KEYS[0] in spans else 0
    keys = re.finditer(rf"^ {{{column}}}([^ :]+):", body[slice(*metadata)], re.MULTILINE) if metadata else ()
    values = {match[1]: record_values.get(match[1], ABSENT) for match in keys}
    name = _unquote(body[slice(*_find_value_span(body, *id, 0)[:2])])
    return name, MergedRecord(0, (), values, record_values.get("captured_at"), spans)


def _find_entry(body: str, name: str, column: int, start: int, end: int) -> tuple[int, int] | None:
    """Return where an entry's value starts, right after the colon, and where its last line ends."""
    value_start = _find_key_end(body, f"{' ' * column}{name}:", start, end)
    if value_start < 0:
        return None
    if _find_key_end(body, f"{' ' * column}{name}:", value_start, end) >= 0:
        raise _NotSimple
    next_entry = rf"\n {{0,{column}}}[^ #\n-]" + (rf"|\n {{0,{column - 1}}}-" if column else "")
    match = re.compile(next_entry).search(body, value_start, end)
    return value_start, match.start() + 1 if match else end


def _find_key_end(body: str, key: str, start: int, end: int) -> int:
    """Return the index after the first occurrence of a key at the start of a line, or -1. `str.find` is much
    faster here than a pattern."""
    if start == 0 and body.startswith(key) and body[len(key) : len(key) + 1] in _AFTER_KEY:
        return len(key)
    line = f"\n{key}"
    at = body.find(line, max(start - 1, 0), end)
    while at >= 0:
        key_end = at + len(line)
        if body[key_end : key_end + 1] in _AFTER_KEY:
            return key_end
        at = body.find(line, key_end, end)
    return -1


def _find_value_span(body: str, start: int, end: int, column: int) -> Span:
    first_end = line_end(body, start)
    first = start + len(body[start:first_end]) - len(body[start:first_end].lstrip(" "))
    if first < first_end and body[first] not in "#|>[{":
        match = _SCALAR.match(body, first)
        if match is None or body[first_end:end].strip():
            raise _NotSimple  # the value continues on the next line
        return Span(first, match.end(), column)
    if first < first_end and body[first] == "#":
        raise _NotSimple
    stop = _trim_end(body, start, end)
    if first < first_end and body[first] in "[{" and stop > first_end:
        raise _NotSimple
    while first < stop and body[first] in " \n":
        first += 1
    if first >= stop:
        raise _NotSimple
    return Span(first, stop, column)


def _trim_end(body: str, start: int, end: int) -> int:
    """Return where a value ends, without the empty lines and comments below it."""
    while (line := body.rfind("\n", start, end)) >= 0 and body[line + 1 : end].lstrip(" ")[:1] in ("", "#"):
        end = line
    return end


def line_end(body: str, index: int) -> int:
    end = body.find("\n", index)
    return len(body) if end < 0 else end


def _parse_value(key: str, text: str) -> Json:
    """Parse a value of the record: a count, null or a time."""
    if key == "failure_count" and text.isascii() and text.isdigit():
        return int(text)
    if text == "null":
        return None
    value = _unquote(text)
    if parse_time(value) is None:
        raise _NotSimple
    return value


def _unquote(text: str) -> str:
    if text[:1] in ("'", '"'):
        if "\\" in text or "''" in text:
            raise _NotSimple
        return text[1:-1]
    return text
