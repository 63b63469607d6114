"""Two changes of one value, put together where they touch different places of it."""

from collections.abc import Sequence

from baselinekit.model.values import ABSENT, Json
from baselinekit.tree.changes import Hints, partners, with_new_keys
from baselinekit.tree.equality import identical


class BothChanged(Exception):
    """The two sides say different things of one place: somebody has to decide."""


def three_way(base: Json, ours: Json, theirs: Json) -> Json:
    """The value with both changes. ABSENT is a value that is not there. BothChanged: they do not go
    together."""
    if _same(ours, theirs) or _same(base, theirs):
        return ours
    if _same(base, ours):
        return theirs
    if isinstance(base, dict) and isinstance(ours, dict) and isinstance(theirs, dict):
        return _of_mappings(base, ours, theirs)
    if isinstance(base, list) and isinstance(ours, list) and isinstance(theirs, list):
        return _of_arrays(base, ours, theirs)
    if isinstance(base, str) and isinstance(ours, str) and isinstance(theirs, str):
        lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
        if len(lines[0]) > 1:
            return "".join(_of_arrays(*lines))
    raise BothChanged


def _of_mappings(base: dict[str, Json], ours: dict[str, Json], theirs: dict[str, Json]) -> dict[str, Json]:
    """Key by key, in the order of ours; a key that only theirs has goes where it stands there."""
    if [key for key in ours if key in base] != [key for key in base if key in ours]:
        order = with_new_keys(ours, theirs)
    else:
        order = with_new_keys(with_new_keys(base, theirs), ours)
    merged: dict[str, Json] = {}
    for key in order:
        value = three_way(*(side.get(key, ABSENT) for side in (base, ours, theirs)))
        if value is not ABSENT:
            merged[key] = value
    return merged


def _of_arrays(base: Sequence[Json], ours: Sequence[Json], theirs: Sequence[Json]) -> list[Json]:
    """Row by row, each with the one that it continues. Rows that both sides put in the same place, or moved,
    have an order that nobody has stated."""
    at_ours, new_ours = _placed(base, ours)
    at_theirs, new_theirs = _placed(base, theirs)
    merged: list[Json] = []
    for gap in range(len(base) + 1):
        one, other = new_ours.get(gap, []), new_theirs.get(gap, [])
        if one and other and not _same(one, other):
            raise BothChanged
        merged += one or other
        if gap < len(base):
            row = three_way(base[gap], at_ours.get(gap, ABSENT), at_theirs.get(gap, ABSENT))
            merged += [] if row is ABSENT else [row]
    return merged


def _placed(base: Sequence[Json], rows: Sequence[Json]) -> tuple[dict[int, Json], dict[int, list[Json]]]:
    """The rows that continue one of the base, and the new ones by the row of the base before which they
    stand."""
    continued = partners(base, rows)
    known = [before for before in continued if before is not None]
    if known != sorted(known):
        raise BothChanged
    placed: dict[int, Json] = {}
    new: dict[int, list[Json]] = {}
    gap = 0
    for before, row in zip(continued, rows, strict=True):
        if before is None:
            new.setdefault(gap, []).append(row)
        else:
            placed[before], gap = row, before + 1
    return placed, new


def _same(one: Json, other: Json) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return identical(one, other, Hints().ordered)
