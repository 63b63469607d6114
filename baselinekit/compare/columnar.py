"""The node of an array whose elements are all alike: their columns say which of them pass, and only what may
not pass is walked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from baselinekit.compare.columns import NUMBERS, PLAIN, ChangedValue, Columns, Leaves
from baselinekit.compare.values import Link, Node, Scalar, Walk
from baselinekit.model.values import Json
from baselinekit.tree.alignment import identifying_key, same_rows
from baselinekit.tree.equality import freeze, same_json

MOST_LOOSE = 50
"""Of more elements nobody looks whether they came in another order, unless they are literal."""


@dataclass(slots=True, eq=False)
class ColumnarArray:
    """An array of elements that are all alike. What does not pass so is looked into one by one, by the node
    that `make` gives. `ordered`: they stay where they are. `loose`: some are more than literal."""

    expected: list[Json]
    columns: Columns | Leaves
    ordered: bool
    make: Callable[[], Node]
    at: Link
    loose: bool = True
    optional: bool = False
    opened: Node | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is list and len(actual) == len(self.expected):
            changed: list[ChangedValue] | None = None
            if isinstance(self.columns, Columns) and self.columns.fit(actual):
                changed = []
            elif self.ordered:
                changed = self.columns.changed(self.expected, actual)
                if changed and not stay(self.expected, actual, changed, self.loose):
                    changed = None
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._walk_changes(changed, walk, path)
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _walk_changes(self, changed: list[ChangedValue], walk: Walk, path: Link) -> Json:
        """The array with other values where it has them, and elements that are what they were everywhere
        else."""
        at, elsewhere = self.at, path != self.at
        rows: dict[int, Json] = {}
        for n, keys, value, got, mode, state in changed:
            place: Link = (at, n)
            where: Link = (path, n) if elsewhere else place
            for key in keys:
                place = (place, key)
                where = (where, key) if elsewhere else place
            if value.__class__ is got.__class__ in PLAIN and mode.plain:
                seen = walk.replaced(value, got, where, place)
            elif isinstance(value, dict | list) or mode.type == "semantic":
                seen = walk.open(value, mode, state, place).walk(got, walk, where)
            else:
                seen = Scalar(value, value, mode, place).walk(got, walk, where)
            if seen is not value:
                walk.shuffled |= n in rows and self.shuffles(n)
                rows[n] = _with(rows.get(n, self.expected[n]), keys, seen)
        return [rows.get(n, row) for n, row in enumerate(self.expected)] if rows else self.expected

    def shuffles(self, n: int) -> bool:
        """Whether the values of a row are met in another order than they stand in it."""
        columns = self.columns
        if isinstance(columns, Leaves) or columns.nested or columns.measured:
            return True
        return [*self.expected[n]] != [*self.expected[0]]


def _with(row: Json, keys: tuple[str, ...], value: Json) -> Json:
    """An element with another value in it, in copies of what holds it."""
    return {**row, keys[0]: _with(row[keys[0]], keys[1:], value)} if keys else value


def stay(expected: list[Json], actual: list[Json], changed: Sequence[ChangedValue], loose: bool) -> bool:
    """Whether a walk one by one would set each element beside the one at its place, of as many on both sides:
    rows that a key names all stand where they stood; or nothing names them, what may not pass stands alone
    or equals none of its neighbours, and they are not the same ones in another order. `loose`: other elements
    than equal ones may pass."""
    if same_rows(expected, actual):
        return True
    if identifying_key(expected, actual) is not None or (loose and len(expected) <= MOST_LOOSE):
        return False
    places = sorted({change[0] for change in changed})
    last = actual[places[-1]]
    if not loose and _same_numbers(expected, actual) and any(same_json(row, last) for row in expected):
        return False
    for run in _runs(places):
        if len(run) > 1:
            if isinstance(last, dict):
                return False
            if not {freeze(expected[n]) for n in run}.isdisjoint(freeze(actual[n]) for n in run):
                return False
    return True


def _same_numbers(expected: list[Json], actual: list[Json]) -> bool:
    """Whether the same numbers may be in both: false says that they are not, true nothing."""
    if not {*map(type, expected), *map(type, actual)} <= NUMBERS:
        return True
    try:
        return fsum(expected) == fsum(actual)
    except (OverflowError, ValueError):
        return True


def _runs(places: Sequence[int]) -> Iterator[list[int]]:
    """Places that stand beside each other."""
    run: list[int] = []
    for place in places:
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
