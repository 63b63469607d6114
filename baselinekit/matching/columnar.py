"""The node of an array whose elements are all alike: their columns say which of them pass, and only what may
not pass is walked."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import fsum

from baselinekit.frozen import slotted
from baselinekit.matching.arrays import Ident
from baselinekit.matching.columns import NUMBERS, PLAIN, ChangedValue, Columns, Leaves
from baselinekit.matching.reordered import MOST_LOOSE
from baselinekit.matching.rules import Mode, State
from baselinekit.matching.values import Link, Node, Scalar, Walk, unroll
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape
from baselinekit.tree.alignment import LIKELY_KEYS, identifying_key, same_rows
from baselinekit.tree.equality import freeze, same_json


@slotted
class ColumnarArray:
    """An array of elements that are all alike. What does not pass so is looked into one by one, by the node
    that `make` gives. `ordered`: they stay where they are. `key`: it pairs them, whatever their order.
    `loose`: some are more than literal."""

    expected: list[Json]
    columns: Columns | Leaves
    ordered: bool
    key: str | None
    make: Callable[[], Node]
    at: Link
    loose: bool = True
    optional: bool = False
    opened: Node | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is list and len(actual) == len(self.expected):
            order = None if self.key is None else self._order(actual, self.key)
            changed = None
            if self.key is None:
                changed = self._changed(actual)
            elif order is not None:
                changed = self._changed([actual[a] for a in order])
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._walk_changes(changed, walk, path, order)
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _order(self, actual: list[Json], key: str) -> list[int] | None:
        """Where each element is now; None unless all of them are there, and no other ones."""
        try:
            places = {freeze(row[key]): a for a, row in enumerate(actual)}
            order = [places[freeze(row[key])] for row in self.expected]
        except (KeyError, TypeError):
            return None
        return order if len(places) == len(actual) else None

    def _changed(self, actual: list[Json]) -> list[ChangedValue] | None:
        """What may not pass of these elements, each of which stands where its partner does; None if that
        cannot be said."""
        if isinstance(self.columns, Columns) and self.columns.fit(actual):
            return []
        if not self.ordered and self.key is None:
            return None
        changed = self.columns.changed(self.expected, actual)
        if changed and self.key is None and not self.stay(actual, sorted({change[0] for change in changed})):
            return None
        return changed

    def _walk_changes(
        self, changed: list[ChangedValue], walk: Walk, path: Link, order: list[int] | None
    ) -> Json:
        """The array with other values where it has them, and elements that are what they were everywhere
        else. `order`: where each element is now, if not in its place."""
        at, elsewhere = self.at, path != self.at or order is not None
        stored = unroll(at)
        came = unroll(path) if elsewhere else stored
        rows: dict[int, Json] = {}
        known, plain = None, False
        for n, (keys, mode, state), value, got in changed:
            if mode is not known:
                known, plain = mode, mode.plain
            if plain and value.__class__ is got.__class__ in PLAIN:  # most changes: nothing else may pass
                where = (*stored, n, *keys)
                walk.tell(
                    (*came, n if order is None else order[n], *keys) if elsewhere else where,
                    value,
                    got,
                    where,
                )
                seen = got if got.__class__ is not str else escape(got)
            else:
                place = there = _link(at, n, keys)
                if elsewhere:
                    there = _link(path, n if order is None else order[n], keys)
                seen = self._node(value, mode, state, place, walk).walk(got, walk, there)
            if seen is value:
                continue
            if n in rows:
                walk.shuffled = walk.shuffled or self.shuffles(n)
            else:
                rows[n] = self.expected[n].copy() if keys else seen
            if keys:
                rows[n][keys[0]] = seen if len(keys) == 1 else _with(rows[n][keys[0]], keys[1:], seen)
        walk.shuffled |= order is not None and bool(rows)
        return [rows.get(n, row) for n, row in enumerate(self.expected)] if rows else self.expected

    def _node(self, value: Json, mode: Mode, state: State, place: Link, walk: Walk) -> Node:
        if isinstance(value, dict | list) or mode.type == "semantic":
            return walk.open(value, mode, state, place)
        return Scalar(value, value, mode, place)

    def stay(self, actual: list[Json], places: list[int]) -> bool:
        """Whether a walk one by one would set each element beside the one at its place, if all that may not
        pass stands in these places: rows that a key names all stand where they stood; or nothing names them,
        they are not the same ones in another order, and those beside each other would not be aligned
        otherwise."""
        expected = self.expected
        if same_rows(expected, actual):
            return True
        if identifying_key(expected, actual) is not None or (self.loose and len(expected) <= MOST_LOOSE):
            return False
        last = actual[places[-1]]
        literal = not self.loose and _may_be_same_numbers(expected, actual)
        if literal and any(same_json(row, last) for row in expected):
            return False
        key_of: Callable[[Json], Hashable] = freeze
        if isinstance(self.columns, Columns):
            key_of = Ident(expected[0], self.columns.taken, self.columns.mode)
        for run in _runs(places):
            if len(run) > 1 and not _aligned([expected[n] for n in run], [actual[n] for n in run], key_of):
                return False
        return True

    def shuffles(self, n: int) -> bool:
        """Whether the values of a row are met in another order than they stand in it."""
        columns = self.columns
        if isinstance(columns, Leaves) or columns.nested or columns.measured:
            return True
        return [*self.expected[n]] != [*self.expected[0]]


def _link(at: Link, n: int, keys: tuple[str, ...]) -> Link:
    """To a value within an element."""
    place: Link = (at, n)
    for key in keys:
        place = (place, key)
    return place


def _with(row: Json, keys: tuple[str, ...], value: Json) -> Json:
    """An element with another value in it, in copies of what holds it."""
    return {**row, keys[0]: _with(row[keys[0]], keys[1:], value)} if keys else value


def _aligned(before: list[Json], after: list[Json], key_of: Callable[[Json], Hashable]) -> bool:
    """Whether elements would be aligned as they stand, whichever of them are looked at: by their names, if
    they have any, and by this key."""
    for key in LIKELY_KEYS if isinstance(before[0], dict) else ():
        if [row.get(key) for row in before] != [row.get(key) for row in after]:
            return False
    keys = [*map(key_of, before)], [*map(key_of, after)]
    return keys[0] == keys[1] or {*keys[0]}.isdisjoint(keys[1])


def _may_be_same_numbers(expected: list[Json], actual: list[Json]) -> bool:
    """False: not the same numbers are in both. True says nothing."""
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
