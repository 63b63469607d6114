"""Values at their places: keys and indexes from the root, as they stand in one document."""

from collections.abc import Iterator, Mapping

from baselinekit.model.values import Json, Path


def value_at(value: Json, path: Path) -> Json:
    """The value at a path. KeyError, IndexError or TypeError: nothing is there."""
    for step in path:
        value = value[step]
    return value


def with_values(value: Json, values: Mapping[Path, Json]) -> Json:
    """A copy with other values at these paths; objects on the way are made. LookupError: no place can be."""
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


def children(value: Json) -> Iterator[tuple[str | int, Json]]:
    """The steps that lead on from a value."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def places(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every place of a document with its path, the document itself first."""
    yield path, value
    for key, child in children(value):
        yield from places(child, (*path, key))
