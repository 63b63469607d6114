"""Which rows of an array on file are which of those that came back."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import reduce

from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.placeholders.grammar import has_marker, split
from baselinekit.placeholders.narrowest import for_rows
from baselinekit.tree.alignment import Accepts, Alignment, align, pair_alike, pair_anywhere
from baselinekit.tree.changes import with_new_keys
from baselinekit.tree.equality import canonical, freeze, identical

# Rows in another order are told apart from rows whose values changed: a placeholder would hide which is
# which.

Rows = Sequence[Json]
BY = "by "


def order_rule(values: Sequence[Rows]) -> str | None:
    """How the arrays would be compared if their order means nothing: `unordered`, or `by key` where the rows
    themselves vary; None where they are in one order, as far as anybody can tell."""
    written = [[canonical(row) for row in rows] for rows in values]
    if all(rows == written[0] for rows in written[1:]):
        return None
    if all(Counter(rows) == Counter(written[0]) for rows in written[1:]):
        return "unordered"
    for key in keys_naming(values):
        column = [[canonical(row[key]) for row in rows] for rows in values]
        if any(rows != column[0] for rows in column[1:]) and all(
            set(rows) == set(column[0]) for rows in column[1:]
        ):
            return f"{BY}{key}"
    return None


def sort_rows_alike(values: Sequence[Rows], how: str) -> Sequence[Rows]:
    """The rows of all arrays in the order of the first, where their owner has said that order means nothing
    and a key tells which row is which; else as they are."""
    if not how.startswith(BY) and how != "unordered":
        return values
    keys = [how.removeprefix(BY)] if how.startswith(BY) else list(keys_naming(values))
    for key in keys:
        if key not in keys_naming(values):
            continue
        placed = [{canonical(row[key]): row for row in rows} for rows in values]
        if all(rows.keys() == placed[0].keys() for rows in placed):
            return [[rows[name] for name in placed[0]] for rows in placed]
    return values


def keys_naming(values: Sequence[Rows]) -> Iterator[str]:
    """The keys that every row has, each with a value of its own."""
    rows = [row for rows in values for row in rows]
    if len(values[0]) < 2 or not all(isinstance(row, dict) for row in rows):
        return
    for key in values[0][0]:
        if all(key in row and isinstance(row[key], str | int) for row in rows) and all(
            len({canonical(row[key]) for row in rows}) == len(rows) for rows in values
        ):
            yield key


# One row that describes every element stays one row: where all the rows that came back changed alike, it
# changes with them, and a key with another value in each of them gets a placeholder.

_NARROWEST_FIRST = for_rows()


class Unlike(Exception):
    """The rows do not have one form."""


def fold(template: Json, values: Sequence[Json], accepts: Accepts) -> Json:
    """One row that accepts all of them. Unlike: that takes more than to name the type of a new value."""
    if all(identical(value, values[0], ordered=False) for value in values):
        return values[0]
    if all(isinstance(value, dict) for value in values):
        return fold_objects(template if isinstance(template, dict) else {}, values, accepts)
    if any(identical(value, template, ordered=False) for value in values):
        raise Unlike  # some are as before, and others are not
    return placeholder_for(values, accepts)


def fold_objects(template: dict[str, Json], rows: Sequence[dict[str, Json]], accepts: Accepts) -> Json:
    folded: dict[str, Json] = {}
    for name in reduce(with_new_keys, rows, [*template]):
        values = [row[name] for row in rows if name in row]
        if values:
            value = fold(template.get(name, ABSENT), values, accepts)
            folded[name] = value if len(values) == len(rows) else optional(value, accepts)
    return folded


def optional(value: Json, accepts: Accepts) -> Json:
    """What only some of the rows have."""
    if isinstance(value, str) and value.endswith("?>>"):
        return value
    if isinstance(value, str) and value in _NARROWEST_FIRST:
        return f"{value[:-2]}?>>"
    if isinstance(value, dict | list) or has_marker(str(value)):
        raise Unlike
    return f"{placeholder_for([value], accepts)[:-2]}?>>"


def placeholder_for(values: Sequence[Json], accepts: Accepts) -> str:
    """The narrowest that accepts every value, and null beside them."""
    plain = [_unescaped(value) for value in values if value is not None]
    null = "" if len(plain) == len(values) else "|null"
    if not plain or len({json_type(value) for value in plain}) > 1:
        raise Unlike
    for text in _NARROWEST_FIRST:
        if all(accepts(text, value) for value in plain):
            return f"{text[:-2]}{null}>>"
    raise Unlike


def _unescaped(value: Json) -> Json:
    """The value that a stored literal stands for."""
    if not isinstance(value, str) or not has_marker(value):
        return value
    parts = split(value)
    if len(parts) != 1 or not isinstance(parts[0], str):
        raise Unlike
    return parts[0]


# Rows are aligned by the key that the rules declare, by what is equal, by a key that names rows, and at
# last by likeness.


def align_rows(
    old: Sequence[Json], new: Sequence[Json], by: str | None, accepts: Accepts
) -> tuple[Alignment, dict[int, Json]]:
    """Which old row is which new one, and the new rows with the placeholders of their partners given back: a
    comparison does not always see which row is which."""
    head = count_identical(old, new)
    tail = count_identical(old[head:][::-1], new[head:][::-1])
    e2, a2 = len(old) - tail, len(new) - tail
    if head in (e2, a2):  # rows have come, or gone, and nothing else
        ends = [(n, n) for n in range(head)] + [(e2 + n, a2 + n) for n in range(tail)]
        return Alignment(ends, [*range(head, e2)], [*range(head, a2)]), {}
    if by is not None:
        rows = Alignment([], [*range(len(old))], [*range(len(new))])
        names = _named(old, by), _named(new, by)
        rows.take([(e, names[1][name]) for name, e in names[0].items() if name in names[1]])
    else:
        rows = align(old, new, freeze)
    missing, extra = ((e, freeze(old[e])) for e in rows.missing), ((a, freeze(new[a])) for a in rows.extra)
    rows.take(pair_anywhere([*missing], [*extra]))
    if rows.missing and rows.extra:
        rows.take(pair_alike(old, new, rows, lambda text, value: text == value or accepts(text, value)))
    changed = [(e, a) for e, a in rows.pairs if not identical(old[e], new[a])]
    return rows, {a: given_back(old[e], new[a], accepts) for e, a in changed}


def count_identical(old: Sequence[Json], new: Sequence[Json]) -> int:
    """How many rows are identical from the head on."""
    return next(
        (n for n, pair in enumerate(zip(old, new, strict=False)) if not identical(*pair)),
        min(len(old), len(new)),
    )


def _named(rows: Sequence[Json], key: str) -> dict[Hashable, int]:
    """The first row of each name."""
    named = ((n, row[key]) for n, row in enumerate(rows) if isinstance(row, dict) and key in row)
    return {freeze(name): n for n, name in reversed([*named])}


def given_back(old: Json, new: Json, accepts: Accepts) -> Json:
    """The new value with the placeholders of the old one that still accept it."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            key: given_back(old[key], value, accepts) if key in old else value for key, value in new.items()
        }
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [given_back(*pair, accepts) for pair in zip(old, new, strict=True)]
    return old if isinstance(old, str) and has_marker(old) and accepts(old, new) else new
