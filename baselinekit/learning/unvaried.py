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
    Write,
    narrowest,
    template_around_varying_parts,
)
from baselinekit.placeholders.nature import looks_like_id, moment_of, name_of
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


# What a write has made: an id that begins with the present time, the object that it created, by the status,
# and the id of the request, by its name.

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TO_BASE_32 = str.maketrans(_CROCKFORD, "0123456789ABCDEFGHIJKLMNOPQRSTUV")
_TIMED_ID = lazy_pattern(
    rf"(?P<ulid>0[{_CROCKFORD}]{{9}})[{_CROCKFORD}]{{16}}|(?P<object_id>[0-9a-f]{{8}})[0-9a-f]{{16}}"
    r"|(?P<uuid_7>[0-9a-f]{8}-[0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


def _is_made_now(value: Json, now: float) -> bool:
    match = _TIMED_ID.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return False
    if match["ulid"]:
        made = int(match["ulid"].translate(_TO_BASE_32), 32) / 1000
    else:
        made = int(match["object_id"] or "0", 16) or int(match["uuid_7"].replace("-", ""), 16) / 1000
    return abs(made - now) <= NEAR


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
        else:
            continue
        proposal = narrowest([value], write, words)[0]
        made = PlaceholderProposal(proposal.text, f"{proposal.reason}, {reason}")
        yield Volatile(path, (path,), (value,), made)
