"""Finds the values in the answer to a write that the write itself has made: the write runs only once, and
another request would get other values. Only certain cases count; the error rate is measured in
tests/learning/test_made.py."""

import json
import re
from collections.abc import Iterator

from baselinekit.lazy import lazy_pattern
from baselinekit.learning.learning import Volatile
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.counters import counts_writes, name_of, path_with_row_name
from baselinekit.placeholders.moments import NEAR
from baselinekit.placeholders.narrowest import PlaceholderProposal, narrowest
from baselinekit.placeholders.nature import looks_like_id
from baselinekit.placeholders.pieces import Write
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.places import places

# Ids that contain the time of their creation: a recent one was made by this request, or just before it.

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
        first, second, third = text.split("-")[:3]
        ticks = {
            "1": f"{third[1:]}{second}{first}",
            "6": f"{first}{second}{third[1:]}",
            "7": f"{first}{second}",
        }[match[1]]
        yield int(ticks, 16) / 1000 if match[1] == "7" else int(ticks, 16) / 10**7 - _GREGORIAN
    elif _SNOWFLAKE.fullmatch(text):
        yield from ((int(text) >> 22) / 1000 + epoch for epoch in _EPOCHS)


def _is_made_now(value: Json, now: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    return any(abs(when - now) <= NEAR for when in _moments_of_id(str(value)))


# Request ids, recognized by their name; and the id of what a request has created, if the status says so.

_OF_REQUEST = r"(?:x[-_])?(?:amzn?[-_]?)?(?:request|trace|span|correlation|invocation)[-_]?id"
_REQUEST_NAME = lazy_pattern(_OF_REQUEST, re.IGNORECASE)
_REQUEST_ELEMENT = lazy_pattern(
    rf"(?i:<(?P<name>{_OF_REQUEST})>)(?P<value>[A-Za-z0-9._/+=-]{{8,100}})</(?P=name)>"
)
_ID_NAME = lazy_pattern(r"_?(?:id|uid|uuid|guid)", re.IGNORECASE)
_WORDS_OR_NUMBER = lazy_pattern(r"[a-z]+(?:[ _-][a-z]+)*|[A-Z][a-z]+|[A-Z]+|-?[0-9]+|")
_CREATED = 201


def _created_id_path(output: Json) -> Path | None:
    """Return the path of the id of the created object: the id of the topmost object that has one."""
    if not isinstance(output, dict) or output.get("status") != _CREATED:
        return None
    paths = [
        path
        for path, value in places(output.get("body"), ("body",))
        if isinstance(path[-1], str) and _ID_NAME.fullmatch(path[-1]) and isinstance(value, str)
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
    created = _created_id_path(output)
    for path, value in places(output):
        if isinstance(value, dict | list) or str(value) in request_text:
            continue
        if isinstance(value, str) and (text := _without_request_ids(value, write)) is not None:
            reason = "the id of a request in it, made anew each time"
            yield Volatile(path, (path,), (value,), PlaceholderProposal(text, reason))
            continue
        name = name_of(path_with_row_name(path, output))
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
        yield Volatile(
            path, (path,), (value,), PlaceholderProposal(proposal.text, f"{proposal.reason}, {reason}")
        )


def _without_request_ids(text: str, write: Write) -> str | None:
    """Return an XML text with a placeholder for its request id; None if it has none."""
    written, position = "", 0
    for match in _REQUEST_ELEMENT.finditer(text):
        if looks_like_id(match["value"], (match["name"],)):
            written += f"{write(text[position : match.start('value')], True)}<<any_token>>"
            position = match.end("value")
    return f"{written}{write(text[position:], False)}" if position else None
