"""`require_keys`: keys that must be there, even null or empty, whether the baseline has them or not."""

import re
from collections.abc import Collection, Iterator, Sequence

from baselinekit.model.comparison import Difference
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.paths import Pattern, Segment, Wild, children, leads_somewhere

_DIGITS = re.compile(r"0|[1-9][0-9]{0,9}")


def missing_keys(
    required: Sequence[tuple[Pattern, Path]], output: Json, header_places: Collection[Path] = ()
) -> Iterator[Difference]:
    """What is required and not there. Below `header_places` names ignore case."""
    for pattern, at in required:
        for path in _missing(pattern, output, header_places):
            yield Difference(
                path, "missing", ABSENT, ABSENT, at, f"require_keys: {pattern.text}", "is required"
            )


def _missing(pattern: Pattern, output: Json, header_places: Collection[Path]) -> Iterator[Path]:
    if all(isinstance(segment, str | int) or segment is Wild.ANY for segment in pattern.segments):
        yield from _without(pattern.segments, output, (), header_places)
    elif not leads_somewhere(pattern, output):
        yield tuple(str(s.value) if isinstance(s, Wild) else str(s) for s in pattern.segments)


def _without(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[Path]:
    """Where the way ends too early. A wildcard asks each child; where there is none, nothing is missing."""
    if not segments:
        return
    first, rest = segments[0], segments[1:]
    if first is Wild.ANY:
        for key, child in children(value):
            yield from _without(rest, child, (*path, key), header_places)
        return
    wanted = first if isinstance(first, str | int) else ""
    found = _key(value, wanted, path in header_places)
    if found is None:
        yield (*path, wanted)
    else:
        yield from _without(rest, value[found], (*path, found), header_places)


def _key(value: Json, wanted: str | int, any_case: bool) -> str | int | None:
    """The key of a value that a step of a path means."""
    if isinstance(value, list):
        index = int(wanted) if isinstance(wanted, int) or _DIGITS.fullmatch(wanted) else len(value)
        index += len(value) if index < 0 else 0
        return index if 0 <= index < len(value) else None
    if not isinstance(value, dict) or not isinstance(wanted, str):
        return None
    if any_case:
        return next((key for key in value if key.casefold() == wanted.casefold()), None)
    return wanted if wanted in value else None
