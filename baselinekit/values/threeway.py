"""Merges two changes of one value if they touch different places of it."""

from collections.abc import Sequence

from baselinekit.model.values import ABSENT, Json
from baselinekit.values.changes import Hints, match_elements, with_new_keys
from baselinekit.values.equality import identical


class BothChanged(Exception):
    """Both sides changed one place differently: a person has to decide."""


def three_way(base: Json, ours: Json, theirs: Json) -> Json:
    """Merge both changes of a value. ABSENT stands for a missing value. BothChanged if they conflict."""
    if _same(ours, theirs) or _same(base, theirs):
        return ours
    if _same(base, ours):
        return theirs
    if isinstance(base, dict) and isinstance(ours, dict) and isinstance(theirs, dict):
        return _merge_mappings(base, ours, theirs)
    if isinstance(base, list) and isinstance(ours, list) and isinstance(theirs, list):
        return _merge_arrays(base, ours, theirs)
    if isinstance(base, str) and isinstance(ours, str) and isinstance(theirs, str):
        lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
        if len(lines[0]) > 1:
            return "".join(_merge_arrays(*lines))
    raise BothChanged


def _merge_mappings(base: dict[str, Json], ours: dict[str, Json], theirs: dict[str, Json]) -> dict[str, Json]:
    """Merge key by key, in the order of ours; a key that only theirs has is inserted at its place there."""
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


def _merge_arrays(base: Sequence[Json], ours: Sequence[Json], theirs: Sequence[Json]) -> list[Json]:
    """Merge row by row, each with the base row that it continues. Rows that both sides insert at one place,
    or that were moved, raise BothChanged: their order is undecided."""
    at_ours, new_ours = _place_rows(base, ours)
    at_theirs, new_theirs = _place_rows(base, theirs)
    merged: list[Json] = []
    for gap in range(len(base) + 1):
        our_rows, their_rows = new_ours.get(gap, []), new_theirs.get(gap, [])
        if our_rows and their_rows and not _same(our_rows, their_rows):
            raise BothChanged
        merged += our_rows or their_rows
        if gap < len(base):
            row = three_way(base[gap], at_ours.get(gap, ABSENT), at_theirs.get(gap, ABSENT))
            merged += [] if row is ABSENT else [row]
    return merged


def _place_rows(base: Sequence[Json], rows: Sequence[Json]) -> tuple[dict[int, Json], dict[int, list[Json]]]:
    """The rows that continue a base row, by its index, and the new rows by the index of the base row that
    follows them."""
    continued = match_elements(base, rows)
    positions = [before for before in continued if before is not None]
    if positions != sorted(positions):
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


def _same(left: Json, right: Json) -> bool:
    if left is ABSENT or right is ABSENT:
        return left is right
    return identical(left, right, Hints().ordered)
