"""Matches the rows of a stored array to those of the new one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Literal, TypeVar

from baselinekit.model.baselines import By
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import has_marker, is_template, unescaped
from baselinekit.placeholders.narrowest import for_rows
from baselinekit.values.alignment import Accepts, Alignment
from baselinekit.values.changes import pair_rows, with_new_keys
from baselinekit.values.equality import canonical, identical
from baselinekit.values.paths import of_any_row
from baselinekit.values.places import Wild, value_or_absent

# Reordered rows are distinguished from rows whose values changed: a placeholder would hide which row is
# which.

T = TypeVar("T")
Shape = tuple[str | int | Wild, ...]
"""The path of a value, with a `*` for each index of a row."""

Rows = Sequence[Json]
_BY = "by "


def order_rule(values: Sequence[Rows]) -> Literal["unordered"] | By | None:
    """Return how the arrays are compared if their order means nothing: `unordered`, or by a key where the
    rows themselves vary; None if they seem to be in one order."""
    written = [[canonical(row) for row in rows] for rows in values]
    if all(rows == written[0] for rows in written[1:]):
        return None
    if all(Counter(rows) == Counter(written[0]) for rows in written[1:]):
        return "unordered"
    for key in keys_naming(values):
        first, *others = ([canonical(row[key]) for row in rows] for rows in values)
        if any(names != first for names in others) and all(set(names) == set(first) for names in others):
            return By(key)
    return None


def sort_rows_alike(values: Sequence[Rows], mode: str) -> Sequence[Rows]:
    """Return the rows of all arrays in the order of the first, if the rules say that order means nothing and
    a key identifies the rows; else unchanged."""
    if not mode.startswith(_BY) and mode != "unordered":
        return values
    keys = [mode.removeprefix(_BY)] if mode.startswith(_BY) else list(keys_naming(values))
    for key in keys:
        if key not in keys_naming(values):
            continue
        rows_by_name = [{canonical(row[key]): row for row in rows} for rows in values]
        if all(rows.keys() == rows_by_name[0].keys() for rows in rows_by_name):
            return [[rows[name] for name in rows_by_name[0]] for rows in rows_by_name]
    return values


def keys_naming(values: Sequence[Rows]) -> Iterator[str]:
    """Yield the keys that every row has with a value unique within its array."""
    rows = [row for rows in values for row in rows]
    if len(values[0]) < 2 or not all(isinstance(row, dict) for row in rows):
        return
    for key in values[0][0]:
        if all(key in row and isinstance(row[key], str | int) for row in rows) and all(
            len({canonical(row[key]) for row in rows}) == len(rows) for rows in values
        ):
            yield key


def by_shape(found: Iterable[tuple[Path, T]]) -> dict[Shape, list[T]]:
    """What was found at each path, grouped by the path in any row."""
    groups: dict[Shape, list[T]] = {}
    for path, one in found:
        groups.setdefault(of_any_row(path), []).append(one)
    return groups


# One row that describes every element stays one row: if all new rows changed alike, it changes with them, and
# a key whose values differ gets a placeholder.

_NARROWEST_FIRST = for_rows()


class Unlike(Exception):
    """Raised where rows have no form in common."""


def unify(
    values: Sequence[Json], choose: Callable[[Sequence[Json], Path], Json], accepts: Accepts, place: Path = ()
) -> Json:
    """Return one value that describes all values: of objects each key for itself, and what `choose` returns
    of other values at their place. Raises Unlike if they have no form in common."""
    if not all(isinstance(value, dict) for value in values):
        return choose(values, place)
    unified: dict[str, Json] = {}
    for name in reduce(with_new_keys, values, list[str]()):
        members = [row[name] for row in values if name in row]
        value = unify(members, choose, accepts, (*place, name))
        unified[name] = value if len(members) == len(values) else optional(value, accepts)
    return unified


def updated_row(row: Json, values: Sequence[Json], accepts: Accepts) -> Json:
    """Return the row that describes all values in place of `row`. Raises Unlike if that takes more than to
    name the type of a new value."""

    def choose(values: Sequence[Json], place: Path) -> Json:
        if all(identical(value, values[0], ordered=False) for value in values):
            return values[0]
        if any(identical(value, value_or_absent(row, place), ordered=False) for value in values):
            raise Unlike  # some are unchanged, and others are not
        return placeholder_for(values, accepts)

    return unify(values, choose, accepts)


def optional(value: Json, accepts: Accepts) -> Json:
    """Return a placeholder for a key that only some of the rows have."""
    if isinstance(value, str) and value.endswith("?>>"):
        return value
    if isinstance(value, str) and value in _NARROWEST_FIRST:
        return f"{value[:-2]}?>>"
    if isinstance(value, dict | list) or has_marker(str(value)):
        raise Unlike
    return f"{placeholder_for([value], accepts)[:-2]}?>>"


def placeholder_for(values: Sequence[Json], accepts: Accepts) -> str:
    """Return the narrowest placeholder that accepts every value, and null if there is one."""
    if any(map(is_template, values)):
        raise Unlike
    literals = [unescaped(value) for value in values if value is not None]
    null = "" if len(literals) == len(values) else "|null"
    if not literals or len({json_type(value) for value in literals}) > 1:
        raise Unlike
    for text in _NARROWEST_FIRST:
        if all(accepts(text, value) for value in literals):
            return f"{text[:-2]}{null}>>"
    raise Unlike


# Rows are aligned by the key that the rules declare, by equality, by a key that names rows, and last by
# likeness.


def align_rows(
    old: Sequence[Json], new: Sequence[Json], by: str | None, accepts: Accepts
) -> tuple[Alignment, dict[int, Json]]:
    """Return which old row is which new one, and the new rows with the placeholders of their partners
    restored: a comparison does not always see which row is which."""
    rows = pair_rows(old, new, by, lambda text, value: text == value or accepts(text, value))
    changed = [(e, a) for e, a in rows.pairs if not identical(old[e], new[a])]
    return rows, {a: restore_placeholders(old[e], new[a], accepts) for e, a in changed}


def restore_placeholders(old: Json, new: Json, accepts: Accepts) -> Json:
    """Return the new value with the placeholders of the old one that still accept it."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            key: restore_placeholders(old[key], value, accepts) if key in old else value
            for key, value in new.items()
        }
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [restore_placeholders(*pair, accepts) for pair in zip(old, new, strict=True)]
    return old if isinstance(old, str) and has_marker(old) and accepts(old, new) else new
