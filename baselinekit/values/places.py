"""Values at their places in one document: the keys and indexes from the root. And the steps of a path, which
may lead to many places."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Protocol

from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.structs import Struct


def value_at(value: Json, path: Path) -> Json:
    """The value at a path; KeyError, IndexError or TypeError if there is none."""
    for step in path:
        value = value[step]
    return value


def value_or_absent(output: Json, path: Path) -> Json:
    """The value at a path; ABSENT if there is none."""
    try:
        return value_at(output, path)
    except (LookupError, TypeError):
        return ABSENT


def with_values(value: Json, values: Mapping[Path, Json]) -> Json:
    """A copy with other values at these paths; missing objects on the way are created. LookupError if a path
    cannot exist."""
    if not values or () in values:
        return values.get((), value)
    below: dict[str | int, dict[Path, Json]] = {}
    for (step, *rest), new in values.items():
        below.setdefault(step, {})[tuple(rest)] = new
    copied: Json
    if isinstance(value, list) and all(isinstance(step, int) for step in below):
        copied = list(value)
        for step, inner in below.items():
            copied[step] = with_values(value[int(step)], inner)
    elif isinstance(value, dict | None):
        copied = dict(value or {})
        for step, inner in below.items():
            copied[step] = with_values(copied.get(step), inner)
    else:
        raise LookupError
    return copied


def name_of(path: Path) -> str:
    """The nearest key above a value."""
    return next((key for key in reversed(path) if isinstance(key, str)), "")


def children(value: Json) -> Iterator[tuple[str | int, Json]]:
    """The children of a value with their keys or indexes."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def with_texts(value: Json, change: Callable[[str], Json], keys: bool = False) -> Json:
    """Return the value with each of its texts changed, and with `keys` each key."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key) if keys else key: with_texts(item, change, keys) for key, item in value.items()}
    return [with_texts(item, change, keys) for item in value] if isinstance(value, list) else value


def places(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every value of a document with its path, the document itself first."""
    yield path, value
    for key, child in children(value):
        yield from places(child, (*path, key))


# The steps of a path, and the keys to which each of them leads.


class Wild(Enum):
    ANY = "*"
    """Any key, any index."""
    DEEP = "**"
    """Any number of steps, including none."""


class Slice(Struct):
    start: int | None
    stop: int | None
    step: int | None


class Key(Struct):
    """A name that looks like a number: the key of an object, never an index."""

    name: str


class OneOf(Struct):
    keys: "tuple[Segment, ...]"


class Filter(Protocol):
    """A condition on an element; hashable."""

    def holds(self, value: Json) -> bool: ...

    def reads(self, value: Json) -> Iterator[Json]:
        """The values on which the result depends."""


class FilterSegment(Struct):
    """Elements, or the members of an object, for which a filter holds."""

    filter: Filter


Segment = str | int | Wild | Slice | Key | OneOf | FilterSegment
Unknown = Callable[[Json], bool]
"""Whether a value that a filter reads is undetermined, as a placeholder is."""


def fits(segment: Segment, key: str | int, value: Json, size: int, unknown: Unknown | None = None) -> bool:
    """Whether a step leads to `key`, which holds `value` and has `size - 1` siblings."""
    if isinstance(segment, str):
        return segment == str(key)
    if isinstance(segment, int):
        return key == (segment if segment >= 0 else segment + size) and isinstance(key, int)
    if segment is Wild.ANY:
        return True
    if isinstance(segment, OneOf):
        return any(fits(choice, key, value, size, unknown) for choice in segment.keys)
    if isinstance(segment, Slice):
        indexes = range(*slice(segment.start, segment.stop, segment.step).indices(size))
        return isinstance(key, int) and key in indexes
    if isinstance(segment, Key):
        return key == segment.name
    if isinstance(segment, FilterSegment):
        condition = segment.filter
        return condition.holds(value) or (unknown is not None and any(map(unknown, condition.reads(value))))
    return False


def reached(
    segments: tuple[Segment, ...], positions: tuple[int, ...], leads: Callable[[Segment], bool]
) -> tuple[int, ...]:
    """How far a path has come after one more step: how many of its segments are taken. Several ways of
    reading `**` give several positions. `leads`: whether a segment leads to the next key."""
    after = set()
    for position in positions:
        if position < len(segments):
            if segments[position] is Wild.DEEP:
                after.add(position)
            elif leads(segments[position]):
                after.add(position + 1)
    return without_deep(segments, after)


def without_deep(segments: tuple[Segment, ...], positions: set[int]) -> tuple[int, ...]:
    """The positions, and those after each `**` there, which may stand for no step."""
    for position in sorted(positions):
        while position < len(segments) and segments[position] is Wild.DEEP:
            position += 1
            positions.add(position)
    return tuple(sorted(positions))


def select(
    segments: tuple[Segment, ...], value: Json, path: Path = (), positions: tuple[int, ...] = ()
) -> Iterator[tuple[Path, Json]]:
    """Every place to which segments lead, in document order. `positions`: how many of them are taken."""
    positions = positions or without_deep(segments, {0})
    if positions[-1] == len(segments):
        yield path, value
        if len(positions) == 1:
            return
    for key, child in children(value):
        after = reached(segments, positions, partial(fits, key=key, value=child, size=len(value)))
        if after:
            yield from select(segments, child, (*path, key), after)
