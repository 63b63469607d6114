"""Two branches, and what the tool wrote into a baseline in each: one value for both, so that git has nothing
to ask.

*The record*, for a baseline whose output is the same on both sides: the later `last_passed`, and the failures
that each side added since their common ancestor. Where one side refreshed it (another `captured_at`), that
side's record goes on alone: what the other recorded meanwhile was about an output that nobody expects any
more. Only the later `last_passed` is kept then, unless the refresh took it away. Where both refreshed it, the
record is that of the later one.

*The provenance* (when, where and of which version it was captured) of two different refreshes is that of the
later one, whole: half of each would describe a place where nobody was. Each variant has its own. Who approved
it, and why, is told of both.

The values are settled in all three texts, the ancestor's too, so that whoever merges texts sees no change
there. Everything else is left as it is. Git asks once a file, so that little is imported here."""

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
_TOLD_OF_BOTH = {"approved_by": ", ", "reason": "; "}
_VERSION = "baseline_version"
_OF_ONE = ("baseline_version", "captured_at", "environment", "observed")
PROVENANCE = ("baseline_version", "captured_at", "environment")
"""What a diff leaves out, with the record: it changes with every refresh, and whoever reviews one looks for
what the service answers otherwise."""


def settle(base: bytes, ours: bytes, theirs: bytes, file: str) -> tuple[bytes, bytes, bytes]:
    """The three texts with one record and one provenance for each baseline. Texts that cannot be read come
    back as they are."""
    try:
        sides = read_side(base, file), read_side(ours, file), read_side(theirs, file)
        for id in dict.fromkeys(id for side in sides for id in side.records):
            settle_record(id, *sides)
            settle_provenance(id, *sides)
            settle_approval(id, *sides)
        return _text(sides[0]), _text(sides[1]), _text(sides[2])
    except Unreadable:
        return base, ours, theirs


def read_side(data: bytes, file: str) -> MergeSide:
    """Unreadable: it is no file of baselines."""
    side = read_captured(data, file)
    if side is not None:
        return side
    from baselinekit.store.mergereading import read_any

    return read_any(data, file)


def _text(side: MergeSide) -> bytes:
    """With all that is to be changed in it."""
    if side.values:
        from baselinekit.store.mergereading import with_values_put

        body = spliced(side.body, side.splices)
        side = MergeSide(side.file, with_values_put(body, side.file, side.values), side.bom, {})
    return side.text()


def settle_record(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """One record. Where a side took it out, the other's new values are no reason to keep it."""
    before, one, two = (side.records.get(id) for side in (base, ours, theirs))
    values = merged_values(before, one, two) if one and two else {}
    for key in KEYS:
        having = [side for side in (base, ours, theirs) if side.has(id, key)]
        if base not in having and one and two:  # both began a record: one with this key, the other without
            having += [
                side
                for side in (ours, theirs)
                if side not in having and any(side.has(id, k) and not base.has(id, k) for k in KEYS)
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
            return {_WHEN: None if taken_away else when, _COUNT: alone.failures}
        last = max(ours, theirs, key=lambda side: side.captured_time)
        return {_WHEN: last.values.get(_WHEN), _COUNT: last.failures}
    known = before.failures if before and not refreshed else 0  # the same refresh on both sides began at 0
    # Who counts less than the ancestor has begun anew, so that all it counts is its own.
    own = [side.failures if side.failures < known else side.failures - known for side in (ours, theirs)]
    begun_anew = min(ours.failures, theirs.failures) < known
    return {_WHEN: when, _COUNT: sum(own) + (0 if begun_anew else known)}


def settle_provenance(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """Of two different refreshes the later one's, in all three texts. What only the later one states is its
    own to add; what it does not state any more goes on the other side too."""
    if not all(id in side.records for side in (base, ours, theirs)):
        return
    stated = [[side.literal(id, key) for key in _OF_ONE] for side in (base, ours, theirs)]
    if stated[0] in stated[1:]:
        return  # at most one side refreshed it
    earlier, later = _by_time(id, ours, theirs, lambda side: side.records[id].captured_time)
    for key in _OF_ONE:
        text = later.literal(id, key)
        for side in (base, earlier):
            span = side.records[id].spans.get(key)
            if span is None:
                continue
            if text is not None:
                if "\n" in text and span.column != later.records[id].spans[key].column:
                    return  # indented otherwise: it would not be the same text
                side.splices.append((span.start, span.end, text))
            elif side is earlier and not side.is_json:
                start, end, nothing = entry_lines(side.body, span)
                if side.body[start : start + span.column].strip():
                    return  # behind the dash of a variant
                side.splices.append((start, end, nothing))


def settle_approval(id: str, base: MergeSide, ours: MergeSide, theirs: MergeSide) -> None:
    """Who approved it and why, of both sides: the earlier one first."""
    if not all(id in side.records for side in (base, ours, theirs)):
        return
    for key, between in _TOLD_OF_BOTH.items():
        stood = base.literal(id, key)
        sides = _by_time(id, ours, theirs, lambda side: side.last_captured(id))
        told = [text for side in sides if (text := side.literal(id, key)) is not None]
        new = [text for text in dict.fromkeys(told) if text not in ("null", stood)]
        if stood is None and len(told) < 2:
            if told:
                _tell_too(id, key, told[0], *sides)
            continue  # one side adds it
        joined = joined_texts(new, between)
        for side in (base, ours, theirs):
            span = side.records[id].spans.get(key)
            if span is not None and joined is not None:
                side.splices.append((span.start, span.end, joined))


def _tell_too(id: str, key: str, text: str, *sides: MergeSide) -> None:
    """What one side adds, on the other one too if that approved as well: to git, which compares lines, these
    are two versions of one place."""
    beside = next(other for other in _TOLD_OF_BOTH if other != key)
    for side in sides:
        spans = side.records[id].spans
        near = spans.get(beside)
        if key in spans or near is None or "\n" in text:
            continue
        name, end = (f'"{key}"', ",") if side.is_json else (key, "")
        if key < beside:  # in the order in which they are written
            head = side.body.rfind(f'"{beside}"' if side.is_json else f"{beside}:", 0, near.start)
            side.splices.append((head, head, f"{name}: {text}{end}\n{' ' * near.column}"))
        else:
            behind = near.end if side.is_json else line_end(side.body, near.end)
            side.splices.append((behind, behind, f"{end}\n{' ' * near.column}{name}: {text}"))


def _by_time(
    id: str, ours: MergeSide, theirs: MergeSide, time: Callable[[MergeSide], datetime]
) -> list[MergeSide]:
    """The earlier refresh first. At the same time: parts of one answer, approved on two branches; which of
    them counts must not hang on who merges whom."""
    sides = sorted((ours, theirs), key=lambda side: side.literal(id, "environment") or "")
    return sorted(sides, key=time)


def joined_texts(literals: list[str], between: str) -> str | None:
    """Scalars of one line as one; None where that would have to be read first."""
    if len(literals) == 1:
        return literals[0]
    texts = [text[1:-1] if text.startswith(("'", '"')) else text for text in literals]
    whole = between.join(texts)
    odd = any(text.startswith(("|", ">")) for text in literals) or any(sign in whole for sign in '\n\\"')
    return None if odd or "''" in whole else f'"{whole}"' if texts else "null"


def entry_lines(body: str, span: Span) -> tuple[int, int, str]:
    """The whole lines of an entry, to be taken out."""
    start = body.rfind("\n", 0, body.rfind(":", 0, span.start)) + 1
    end = body.find("\n", span.end)
    return start, len(body) if end < 0 else end + 1, ""


def why_unreadable(data: bytes, file: str) -> str:
    """Why a text cannot be read, or nothing: two changes that are fine alone need not be so together."""
    from baselinekit.documents.languages import language
    from baselinekit.documents.text import decode
    from baselinekit.errors import BaselinekitError

    try:
        language(file).load(decode(data, file).body, file)
    except BaselinekitError as error:
        return str(error.problems[0])
    return ""


# What people see of a file in a diff.


_HIDDEN = "…"
_BEHIND = lazy_pattern(r"[ \t]*,?[ \t]*\r?")
_HEAD = lazy_pattern(r"[ \t]*(?:- )?metadata[ \t]*:[ \t]*\r?")
_ONE = rb"""[ \t]*["']?(?:last_passed|failure_count)["']?[ \t]*:[ \t]*[^\s#]*[ \t]*\r?\n"""
_LINES = lazy_pattern(
    rb"^(?:[ \t]*metadata[ \t]*:[ \t]*\r?\n(?=(?:%b)+(?:[^ \t]|\Z)))?(?:%b)+" % (_ONE, _ONE), re.M
)


def folded(data: bytes, file: str) -> bytes:
    """The text as people want to see it in a diff: without the record and the provenance, as far as they can
    be told."""
    try:
        side = read_side(data, file)
    except Unreadable:  # a conflict, perhaps, in which the lines are what they always are
        return _LINES.sub(b"", data)
    side.splices = list(_cuts(side))
    return side.text()


def _cuts(side: MergeSide) -> Iterator[tuple[int, int, str]]:
    """Lines that hold nothing but these go, with a `metadata:` that holds nothing else; where more stands on
    the line, the value alone is hidden."""
    for record in side.records.values():
        gone: dict[str, int] = {}
        for key in (*PROVENANCE, *KEYS):
            span = record.spans.get(key)
            if span is None:
                continue
            start, end, _ = entry_lines(side.body, span)
            name = rf"""[ \t]*["']?{"(?:baseline_)?version" if key == _VERSION else key}["']?[ \t]*:\s*"""
            alone = re.compile(name).fullmatch(side.body, start, span.start)
            if alone and _BEHIND.fullmatch(
                side.body, span.end, end - side.body.endswith("\n", span.end, end)
            ):
                gone[key] = start
                yield start, end, ""
            else:
                yield span.start, span.end, _HIDDEN
        if gone.keys() & set(KEYS) and record.values.keys() == gone.keys() & set(KEYS):
            above = min(gone[key] for key in KEYS if key in gone) - 1
            start = side.body.rfind("\n", 0, max(above, 0)) + 1
            if _HEAD.fullmatch(side.body, start, max(above, 0)):
                yield start, max(above, 0) + 1, ""
