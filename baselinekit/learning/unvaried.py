"""Values that were the same in every answer and may still differ in the next one: moments of now, and what a
write that was sent once has made. What only looks like an id is reported, and stays. Only certain cases
count; the error rate is measured in tests/learning/test_made.py."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from baselinekit.lazy import lazy_pattern
from baselinekit.learning.varying import Shape, Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.moments import NEAR, holds_now, is_of_now
from baselinekit.placeholders.narrowest import (
    PlaceholderProposal,
    narrowest,
    template_around_varying_parts,
)
from baselinekit.placeholders.nature import counts_writes, looks_like_id, moment_of, name_of
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import replace
from baselinekit.values.paths import of_any_row
from baselinekit.values.places import places


def moments_of_now(
    steady: Iterable[tuple[Path, Json]], now: float, write: Write, words: PlaceholderContext
) -> Iterator[Volatile]:
    """Yield the values that are a moment within minutes of now or the day of today, or texts that hold
    one."""
    words = replace(words, now=now)
    for path, value in steady:
        proposal: PlaceholderProposal | None = None
        if isinstance(value, str):
            is_whole = is_of_now(value, now)
            if not is_whole and holds_now(value, now):
                proposal = template_around_varying_parts([value, value], write, words)
        else:
            when = moment_of(value)
            is_whole = when is not None and abs(when - now) <= NEAR
        if is_whole:
            proposal = narrowest([value], write, words)[0]
        if proposal is not None and not proposal.says_little:
            reason = f"{proposal.reason}, of now" if is_whole else "a moment of now in it"
            yield Volatile(path, (path,), (value,), PlaceholderProposal(proposal.text, reason))


def lookalikes(
    values_by_path: Mapping[Path, Json],
    is_compared: Callable[[Sequence[Path]], Collection[Path]],
    write: Write,
    words: PlaceholderContext,
) -> Iterator[Volatile]:
    """Yield what looks like an id, with the placeholder that could stand there: one for all rows if each of
    them has one. `is_compared` selects the paths that the rules compare."""
    compared = is_compared(list(values_by_path)) if values_by_path else ()
    by_shape: dict[Shape, list[Path]] = {}
    for path in values_by_path:
        if path in compared:
            by_shape.setdefault(of_any_row(path), []).append(path)
    for shape, paths in by_shape.items():
        values = tuple(values_by_path[path] for path in paths)
        proposal = narrowest(values, write, words)[0]
        if len(paths) == 1 or not proposal.says_little:
            yield Volatile(shape if len(paths) > 1 else paths[0], tuple(paths), values, proposal)
            continue
        for path, value in zip(paths, values, strict=True):
            yield Volatile(path, (path,), (value,), narrowest([value], write, words)[0])


# What a write has made. Ids that contain the time of their creation: a recent one was made by this request,
# or just before it.

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = lazy_pattern(rf"0[{_CROCKFORD}]{{25}}")
_OBJECT_ID = lazy_pattern(r"[0-9a-f]{24}")
_UUID = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-([167])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_SNOWFLAKE = lazy_pattern(r"[1-9][0-9]{16,18}")
_EPOCHS = (1_288_834_974.657, 1_420_070_400.0)
"""The starts from which two public kinds of snowflake ids count milliseconds."""

_GREGORIAN = 12_219_292_800
"""Seconds from 1582, where older UUIDs begin to count, to 1970."""


def _moments_of_id(text: str) -> Iterator[float]:
    """Yield when an id may have been made, in seconds since 1970, for each kind of id that it could be."""
    if _ULID.fullmatch(text):
        number = 0
        for digit in text[:10]:
            number = number * 32 + _CROCKFORD.index(digit)
        yield number / 1000
    elif _OBJECT_ID.fullmatch(text):
        yield float(int(text[:8], 16))
    elif match := _UUID.fullmatch(text.lower()):
        low, middle, high = text.split("-")[:3]
        if match[1] == "7":
            yield int(low + middle, 16) / 1000
        else:
            ticks = f"{high[1:]}{middle}{low}" if match[1] == "1" else f"{low}{middle}{high[1:]}"
            yield int(ticks, 16) / 10**7 - _GREGORIAN
    elif _SNOWFLAKE.fullmatch(text):
        yield from ((int(text) >> 22) / 1000 + epoch for epoch in _EPOCHS)


def _is_made_now(value: Json, now: float) -> bool:
    is_id = isinstance(value, str | int) and not isinstance(value, bool)
    return is_id and any(abs(when - now) <= NEAR for when in _moments_of_id(str(value)))


_REQUEST_NAME = lazy_pattern(
    r"(?:x[-_])?(?:amzn?[-_]?)?(?:request|trace|span|correlation|invocation)[-_]?id", re.IGNORECASE
)
_ID_NAME = lazy_pattern(r"_?(?:id|uid|uuid|guid)", re.IGNORECASE)
_WORDS_OR_NUMBER = lazy_pattern(r"[a-z]+(?:[ _-][a-z]+)*|[A-Z][a-z]+|[A-Z]+|-?[0-9]+|")
_CREATED = 201


def created_id_path(output: Json) -> Path | None:
    """Return the path of the id of the object that a request has created, if the status says so: the id of
    the topmost object that has one."""
    if not isinstance(output, dict) or output.get("status") != _CREATED:
        return None
    paths = [
        path
        for path, value in places(output.get("body"), ("body",))
        if isinstance(path[-1], str) and _ID_NAME.fullmatch(path[-1]) and isinstance(value, str | int)
        if not any(isinstance(key, int) for key in path)
    ]
    least_depth = min(map(len, paths), default=0)
    topmost = [path for path in paths if len(path) == least_depth]
    return topmost[0] if len(topmost) == 1 else None


def made_by_write(
    output: Json, request: Json, now: float, write: Write, words: PlaceholderContext
) -> Iterator[Volatile]:
    """Yield the places whose value the write has made; none of them is part of the request."""
    request_text = json.dumps(request, default=str, ensure_ascii=False)
    created = created_id_path(output)
    for path, value in places(output):
        if isinstance(value, dict | list) or str(value) in request_text:
            continue
        name = name_of(path)
        if _is_made_now(value, now):
            reason = "made now"
        elif _REQUEST_NAME.fullmatch(name) and looks_like_id(value, (name,)):
            reason = "of this request, by its name"
        elif path == created and not _WORDS_OR_NUMBER.fullmatch(str(value)):
            reason = "of what was created"
        elif counts_writes((name,), value) and not any(isinstance(key, int) for key in path):
            reason = "one more after each write, by its name"
        else:
            continue
        proposal = narrowest([value], write, words)[0]
        made = PlaceholderProposal(proposal.text, f"{proposal.reason}, {reason}")
        yield Volatile(path, (path,), (value,), made)
