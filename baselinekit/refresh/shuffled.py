"""Rows that came in another order: told apart from rows whose values changed, because a placeholder would
hide which row is which."""

from collections import Counter
from collections.abc import Iterator, Sequence

from baselinekit.documents.languages import canonical
from baselinekit.model.values import Json

Rows = Sequence[Json]
BY = "by "


def shuffle(values: Sequence[Rows]) -> str | None:
    """How the arrays would be compared if their order means nothing: `unordered`, or `by key` where the rows
    themselves vary; None where they are in one order, as far as anybody can tell."""
    written = [[canonical(row) for row in rows] for rows in values]
    if all(rows == written[0] for rows in written[1:]):
        return None
    if all(Counter(rows) == Counter(written[0]) for rows in written[1:]):
        return "unordered"
    for key in _keys(values):
        column = [[canonical(row[key]) for row in rows] for rows in values]
        if any(rows != column[0] for rows in column[1:]) and all(
            set(rows) == set(column[0]) for rows in column[1:]
        ):
            return f"{BY}{key}"
    return None


def in_one_order(values: Sequence[Rows], how: str) -> Sequence[Rows]:
    """The rows of all arrays in the order of the first, where their owner has said that order means nothing
    and a key tells which row is which; else as they are."""
    if not how.startswith(BY) and how != "unordered":
        return values
    keys = [how.removeprefix(BY)] if how.startswith(BY) else list(_keys(values))
    for key in keys:
        if key not in _keys(values):
            continue
        placed = [{canonical(row[key]): row for row in rows} for rows in values]
        if all(rows.keys() == placed[0].keys() for rows in placed):
            return [[rows[name] for name in placed[0]] for rows in placed]
    return values


def _keys(values: Sequence[Rows]) -> Iterator[str]:
    """The keys that every row has, each with a value of its own."""
    rows = [row for rows in values for row in rows]
    if len(values[0]) < 2 or not all(isinstance(row, dict) for row in rows):
        return
    for key in values[0][0]:
        if all(key in row and isinstance(row[key], str | int) for row in rows) and all(
            len({canonical(row[key]) for row in rows}) == len(rows) for rows in values
        ):
            yield key
