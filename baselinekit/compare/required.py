"""`require_keys`: keys that must be there, even null or empty, whether the baseline has them or not."""

import re
from collections.abc import Collection, Iterator, Sequence

from baselinekit.model.comparison import Difference
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.paths import Key, OneOf, Pattern, Segment, Wild, children, find, fits, leads_somewhere

_DIGITS = re.compile(r"0|[1-9][0-9]{0,9}")
_NOTHING = ", and nothing here is what its path selects"


def missing_keys(
    required: Sequence[tuple[Pattern, Path]], output: Json, header_places: Collection[Path] = ()
) -> Iterator[Difference]:
    """What is required and not there. Below `header_places` names ignore case."""
    for pattern, at in required:
        for path, why in _without(pattern.segments, output, (), header_places):
            rule = f"require_keys: {pattern.text}"
            yield Difference(path, "missing", ABSENT, ABSENT, at, rule, f"is required{why}")


def _without(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """Where the way ends too early, and a word about it. Each value that a step selects has to have the rest;
    a list of steps asks what each of them asks alone. A step that selects nothing has missed what it was
    written for; only `*` is content with an array, or an object, that has nothing in it."""
    if not segments:
        return
    first, rest = segments[0], segments[1:]
    if first is Wild.DEEP:
        yield from _without_anywhere(rest, value, path, header_places)
    elif isinstance(first, OneOf):
        for one in first.keys:
            yield from _without((one, *rest), value, path, header_places)
    elif isinstance(first, str | int | Key):
        found = _key(value, first, path in header_places)
        if found is None:
            yield (*path, first.name if isinstance(first, Key) else first), ""
        else:
            yield from _without(rest, value[found], (*path, found), header_places)
    else:
        chosen = [(key, child) for key, child in children(value) if fits(first, key, child, len(value))]
        if not chosen and not (first is Wild.ANY and isinstance(value, dict | list)):
            yield path, _NOTHING
        for key, child in chosen:
            yield from _without(rest, child, (*path, key), header_places)


def _without_anywhere(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """Below `**` the next step has to lead somewhere, from one place at least, and wherever it leads the rest
    has to be there. Wildcards in between only say how deep. With a further `**` one place is enough: to ask
    each would take time that doubles with every one of them."""
    if Wild.DEEP in segments:
        if not leads_somewhere(Pattern("", (Wild.DEEP, *segments), True), value):
            yield path, _NOTHING
        return
    wild = next((n for n, segment in enumerate(segments) if not isinstance(segment, Wild)), len(segments))
    between, then, rest = segments[:wild], segments[wild : wild + 1], segments[wild + 1 :]
    if then and isinstance(then[0], OneOf):
        for one in then[0].keys:
            yield from _without_anywhere((*between, one, *rest), value, path, header_places)
        return
    found = find(Pattern("", (Wild.DEEP, *between, *then), True), value)
    if not found:
        told = all(isinstance(segment, str | Wild) for segment in segments)
        yield (*path, *(["**", *map(_word, segments)] if told else ())), _NOTHING
    for below, child in found if rest else ():
        yield from _without(rest, child, (*path, *below), header_places)


def _word(segment: Segment) -> str:
    return str(segment.value) if isinstance(segment, Wild) else str(segment)


def _key(value: Json, step: str | int | Key, any_case: bool) -> str | int | None:
    """The key of a value that a step of a path means."""
    if isinstance(step, Key):
        return step.name if isinstance(value, dict) and step.name in value else None
    wanted = step
    if isinstance(value, list):
        index = int(wanted) if isinstance(wanted, int) or _DIGITS.fullmatch(wanted) else len(value)
        index += len(value) if index < 0 else 0
        return index if 0 <= index < len(value) else None
    if not isinstance(value, dict) or not isinstance(wanted, str):
        return None
    if any_case:
        return next((key for key in value if key.casefold() == wanted.casefold()), None)
    return wanted if wanted in value else None
