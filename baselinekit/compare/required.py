"""`require_keys`: keys that must be there, even null or empty, whether the baseline has them or not."""

from collections.abc import Iterator, Sequence

from baselinekit.model.comparison import Difference
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.paths import Pattern, Segment, Wild, children, leads_somewhere


def missing_keys(required: Sequence[tuple[Pattern, Path]], output: Json) -> Iterator[Difference]:
    for pattern, at in required:
        for path in _missing(pattern, output):
            yield Difference(
                path, "missing", ABSENT, ABSENT, at, f"require_keys: {pattern.text}", "is required"
            )


def _missing(pattern: Pattern, output: Json) -> Iterator[Path]:
    if all(isinstance(segment, str | int) or segment is Wild.ANY for segment in pattern.segments):
        yield from _without(pattern.segments, output, ())
    elif not leads_somewhere(pattern, output):
        yield tuple(str(s.value) if isinstance(s, Wild) else str(s) for s in pattern.segments)


def _without(segments: tuple[Segment, ...], value: Json, path: Path) -> Iterator[Path]:
    """Where the way ends too early. A wildcard asks each child; where there is none, nothing is missing."""
    if not segments:
        return
    first, rest = segments[0], segments[1:]
    if first is Wild.ANY:
        for key, child in children(value):
            yield from _without(rest, child, (*path, key))
        return
    key = first if isinstance(first, str | int) else ""
    if isinstance(value, list) and isinstance(key, str) and key.isdigit():
        key = int(key)
    child = dict(children(value)).get(key, ABSENT)
    if child is ABSENT:
        yield (*path, key)
    else:
        yield from _without(rest, child, (*path, key))
