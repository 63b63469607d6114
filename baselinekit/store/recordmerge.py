"""Merges what the tool itself wrote into a baseline on two branches into one value for both, so that git
finds no conflict.

*The record*, if the output of a baseline is the same on both sides: the later `last_passed`, and the failures
that each side added since their common ancestor. If one side refreshed the baseline (its `captured_at`
differs), only that side's record counts: what the other side recorded meanwhile was about an output that is
no longer expected. The later `last_passed` is still kept, unless the refresh removed it. If both sides
refreshed it, the record is that of the later refresh.

*The provenance* (when, where and from which version it was captured) of two different refreshes is that of
the later one, as a whole: a mixture would describe a capture that never happened. Each variant has its own.
Who approved it, and why, is kept of both.

The merged values are written into all three texts, including the ancestor's, so that a text merge sees no
change there. Everything else is unchanged. Git starts this once per file, so little is imported here."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.store.mergesides import (
    KEYS,
    MergedRecord,
    MergeSide,
    Span,
    Unreadable,
    line_end,
    read_captured,
    spliced,
)

_WHEN, _COUNT = KEYS
_SEPARATORS = {"approved_by": ", ", "reason": "; "}
_VERSION = "baseline_version"
_PROVENANCE_KEYS = ("baseline_version", "captured_at", "environment", "observed")
PROVENANCE = ("baseline_version", "captured_at", "environment")
"""What a diff leaves out, like the record: it changes with every refresh, and reviewers look for changes in
what the service answers."""


def merge_tool_values(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """Return the three texts with one record and one provenance for each baseline. Texts that cannot be read
    are returned unchanged."""
    try:
        sides = read_side(base, file), read_side(ours, file), read_side(theirs, file)
        for id in dict.fromkeys(id for side in sides for id in side.records):
            settle_record(id, *sides)
            settle_provenance(id, *sides)
            settle_approval(id, *sides)
        return _render_side(sides[0]), _render_side(sides[1]), _render_side(sides[2])
    except Unreadable:
        return base, ours, theirs


def read_side(data: bytes, file: str) -> MergeSide:
    """Read one of the texts. Unreadable if it is no file of baselines."""
    side = read_captured(data, file)
    if side is not None:
        return side
    from baselinekit.store.mergereading import read_any

    return read_any(data, file)


def _render_side(side: MergeSide) -> bytes:
    """Return the bytes of a text with all its changes."""
    if side.values:
        from baselinekit.store.mergereading import add_values

        body = spliced(side.body, side.splices)
        side = MergeSide(side.file, add_values(body, side.file, side.values), side.bom, {})
    return side.text()


def settle_record(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """Merge the record of a baseline. If one side removed a value, it is removed even if the other changed
    it."""
    ancestor, our_record, their_record = (side.records.get(id) for side in (base, ours, theirs))
    values = merged_values(ancestor, our_record, their_record) if our_record and their_record else {}
    for key in KEYS:
        sides_with_key = [side for side in (base, ours, theirs) if side.has(id, key)]
        if (
            base not in sides_with_key and our_record and their_record
        ):  # both started a record, one without this key
            sides_with_key += [
                side
                for side in (ours, theirs)
                if side not in sides_with_key and any(side.has(id, k) and not base.has(id, k) for k in KEYS)
            ]
        if ours in sides_with_key and theirs in sides_with_key:
            value = values[key]
        elif base in sides_with_key:
            value = base.records[id].values[key]
        else:
            continue
        old_values = ((side, side.records[id].values.get(key, ABSENT)) for side in sides_with_key)
        sides_with_value = (
            side for side, old in old_values if old.__class__ is value.__class__ and old == value
        )
        source = next((side.literal(id, key) for side in sides_with_value), None)
        literal = source or (str(value) if isinstance(value, int) else None)
        for side in sides_with_key:
            side.put(id, key, value, literal)


def merged_values(ancestor: MergedRecord | None, ours: MergedRecord, theirs: MergedRecord) -> dict[str, Json]:
    later = max(ours, theirs, key=lambda side: side.when)
    when = later.values.get(_WHEN)
    refreshed_sides = [
        side for side in (ours, theirs) if ancestor is None or side.captured != ancestor.captured
    ]
    if ours.captured != theirs.captured:
        if len(refreshed_sides) == 1:
            alone = refreshed_sides[0]
            was_removed = ancestor and ancestor.values.get(_WHEN) and not alone.values.get(_WHEN)
            return {_WHEN: None if was_removed else when, _COUNT: alone.failures}
        latest = max(ours, theirs, key=lambda side: side.captured_time)
        return {_WHEN: latest.values.get(_WHEN), _COUNT: latest.failures}
    earlier_failures = (
        ancestor.failures if ancestor and not refreshed_sides else 0
    )  # the same refresh on both sides started at 0
    # A side that counts less than the ancestor started again at 0, so its whole count is new.
    new_failures = [
        side.failures if side.failures < earlier_failures else side.failures - earlier_failures
        for side in (ours, theirs)
    ]
    was_reset = min(ours.failures, theirs.failures) < earlier_failures
    return {_WHEN: when, _COUNT: sum(new_failures) + (0 if was_reset else earlier_failures)}


def settle_provenance(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """Merge the provenance: of two different refreshes, that of the later one goes into all three texts. A
    value that only the later one has is left to git; a value that it no longer has is removed from the other
    side too."""
    if not all(id in side.records for side in (base, ours, theirs)):
        return
    literals = [[side.literal(id, key) for key in _PROVENANCE_KEYS] for side in (base, ours, theirs)]
    if literals[0] in literals[1:]:
        return  # at most one side refreshed it
    earlier, later = _sort_by_time(id, ours, theirs, lambda side: side.records[id].captured_time)
    for key in _PROVENANCE_KEYS:
        text = later.literal(id, key)
        for side in (base, earlier):
            span = side.records[id].spans.get(key)
            if span is None:
                continue
            if text is not None:
                if "\n" in text and span.column != later.records[id].spans[key].column:
                    return  # different indentation: the texts would differ
                side.splices.append((span.start, span.end, text))
            elif side is earlier and not side.is_json:
                start, end, replacement = entry_lines(side.body, span)
                if side.body[start : start + span.column].strip():
                    return  # on the same line as the dash of a variant
                side.splices.append((start, end, replacement))


def settle_approval(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """Merge who approved a baseline, and why: the texts of both sides are joined, the earlier one first."""
    if not all(id in side.records for side in (base, ours, theirs)):
        return
    for key, separator in _SEPARATORS.items():
        base_text = base.literal(id, key)
        sides = _sort_by_time(id, ours, theirs, lambda side: side.last_captured(id))
        texts = [text for side in sides if (text := side.literal(id, key)) is not None]
        new_texts = [text for text in dict.fromkeys(texts) if text not in ("null", base_text)]
        if base_text is None and len(texts) < 2:
            if texts:
                _add_to_other_side(id, key, texts[0], *sides)
            continue  # one side adds it
        joined = joined_texts(new_texts, separator)
        for side in (base, ours, theirs):
            span = side.records[id].spans.get(key)
            if span is not None and joined is not None:
                side.splices.append((span.start, span.end, joined))


def _add_to_other_side(id: str, key: str, text: str, *sides: MergeSide) -> None:
    """Add a text of one side to the other side too, if that side has the other key. To git, which compares
    lines, they would be a conflict."""
    other_key = next(name for name in _SEPARATORS if name != key)
    for side in sides:
        spans = side.records[id].spans
        other_span = spans.get(other_key)
        if key in spans or other_span is None or "\n" in text:
            continue
        name, end = (f'"{key}"', ",") if side.is_json else (key, "")
        if key < other_key:  # in the order in which they are written
            key_start = side.body.rfind(
                f'"{other_key}"' if side.is_json else f"{other_key}:", 0, other_span.start
            )
            side.splices.append((key_start, key_start, f"{name}: {text}{end}\n{' ' * other_span.column}"))
        else:
            line_stop = other_span.end if side.is_json else line_end(side.body, other_span.end)
            side.splices.append((line_stop, line_stop, f"{end}\n{' ' * other_span.column}{name}: {text}"))


def _sort_by_time(
    id: str, ours: MergeSide, theirs: MergeSide, time: Callable[[MergeSide], datetime]
) -> list[MergeSide]:
    """Sort the sides, the earlier refresh first. Two refreshes can have the same time (parts of one answer,
    approved on two branches): their order must not depend on which side is ours."""
    sides = sorted((ours, theirs), key=lambda side: side.literal(id, "environment") or "")
    return sorted(sides, key=time)


def joined_texts(literals: list[str], separator: str) -> str | None:
    """Join scalars on one line into one scalar; None if they would have to be parsed first."""
    if len(literals) == 1:
        return literals[0]
    texts = [text[1:-1] if text.startswith(("'", '"')) else text for text in literals]
    joined = separator.join(texts)
    is_complex = any(text.startswith(("|", ">")) for text in literals) or any(
        char in joined for char in '\n\\"'
    )
    return None if is_complex or "''" in joined else f'"{joined}"' if texts else "null"


def entry_lines(body: str, span: Span) -> tuple[int, int, str]:
    """Return the splice that removes the whole lines of an entry."""
    start = body.rfind("\n", 0, body.rfind(":", 0, span.start)) + 1
    end = body.find("\n", span.end)
    return start, len(body) if end < 0 else end + 1, ""


def why_unreadable(data: bytes, file: str) -> str:
    """Return why a text cannot be read, or "": two valid changes can give an invalid file together."""
    from baselinekit.errors import BaselinekitError
    from baselinekit.files.languages import language
    from baselinekit.files.text import decode

    try:
        language(file).load(decode(data, file).body, file)
    except BaselinekitError as error:
        return str(error.problems[0])
    return ""


# The text of a file for a diff.


_HIDDEN = "…"
_LINE_REST = lazy_pattern(r"[ \t]*,?[ \t]*\r?")
_METADATA_LINE = lazy_pattern(r"[ \t]*(?:- )?metadata[ \t]*:[ \t]*\r?")
_RECORD_LINE = rb"""[ \t]*["']?(?:last_passed|failure_count)["']?[ \t]*:[ \t]*[^\s#]*[ \t]*\r?\n"""
_RECORD_LINES = lazy_pattern(
    rb"^(?:[ \t]*metadata[ \t]*:[ \t]*\r?\n(?=(?:%b)+(?:[^ \t]|\Z)))?(?:%b)+" % (_RECORD_LINE, _RECORD_LINE),
    re.M,
)


def without_record(data: bytes, file: str) -> bytes:
    """Return the text for a diff: without the record and the provenance, as far as they can be recognised."""
    try:
        side = read_side(data, file)
    except Unreadable:  # perhaps because of conflict markers; the record is still recognisable by its lines
        return _RECORD_LINES.sub(b"", data)
    side.splices = list(_iterate_cuts(side))
    return side.text()


def _iterate_cuts(side: MergeSide) -> Iterator[tuple[int, int, str]]:
    """Yield splices that hide the record and the provenance. Lines that hold nothing else are removed, and so
    is a `metadata:` that holds nothing else; on a line with other content, only the value is hidden."""
    for record in side.records.values():
        removed_starts: dict[str, int] = {}
        for key in (*PROVENANCE, *KEYS):
            span = record.spans.get(key)
            if span is None:
                continue
            start, end, _ = entry_lines(side.body, span)
            name = rf"""[ \t]*["']?{"(?:baseline_)?version" if key == _VERSION else key}["']?[ \t]*:\s*"""
            match = re.compile(name).fullmatch(side.body, start, span.start)
            if match and _LINE_REST.fullmatch(
                side.body, span.end, end - side.body.endswith("\n", span.end, end)
            ):
                removed_starts[key] = start
                yield start, end, ""
            else:
                yield span.start, span.end, _HIDDEN
        if removed_starts.keys() & set(KEYS) and record.values.keys() == removed_starts.keys() & set(KEYS):
            metadata_end = min(removed_starts[key] for key in KEYS if key in removed_starts) - 1
            start = side.body.rfind("\n", 0, max(metadata_end, 0)) + 1
            if _METADATA_LINE.fullmatch(side.body, start, max(metadata_end, 0)):
                yield start, max(metadata_end, 0) + 1, ""
