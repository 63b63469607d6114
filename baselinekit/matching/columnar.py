"""The node of an array whose elements are all alike: their columns tell which elements pass, and only values
that may not pass are walked."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import fsum

from baselinekit.frozen import slotted
from baselinekit.matching.arrays import RowKey
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
    """An array of elements that are all alike. What does not pass by columns is walked element by element, by
    the node that `make` gives. `ordered`: the order of the elements counts. `key`: the key that pairs them,
    whatever their order. `loose`: some elements are not literal."""

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
            order = None if self.key is None else self._find_order(actual, self.key)
            changed = None
            if self.key is None:
                changed = self._find_changed(actual)
            elif order is not None:
                changed = self._find_changed([actual[a] for a in order])
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._walk_changes(changed, walk, path, order)
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _find_order(self, actual: list[Json], key: str) -> list[int] | None:
        """The actual index of each expected element; None unless exactly these elements are there."""
        try:
            places = {freeze(row[key]): a for a, row in enumerate(actual)}
            order = [places[freeze(row[key])] for row in self.expected]
        except (KeyError, TypeError):
            return None
        return order if len(places) == len(actual) else None

    def _find_changed(self, actual: list[Json]) -> list[ChangedValue] | None:
        """The values that may not pass, where each element is at the index of its partner; None if that
        cannot be decided by columns."""
        if isinstance(self.columns, Columns) and self.columns.all_pass(actual):
            return []
        if not self.ordered and self.key is None:
            return None
        changed = self.columns.changed(self.expected, actual)
        if (
            changed
            and self.key is None
            and not self.is_paired_by_place(actual, sorted({change[0] for change in changed}))
        ):
            return None
        return changed

    def _walk_changes(
        self, changed: list[ChangedValue], walk: Walk, path: Link, order: list[int] | None
    ) -> Json:
        """Walk the changed values, and return the expected array with those values in it. `order`: the actual
        index of each element, if elements have moved."""
        at, elsewhere = self.at, path != self.at or order is not None
        stored_prefix = unroll(at)
        actual_prefix = unroll(path) if elsewhere else stored_prefix
        rows: dict[int, Json] = {}
        previous_mode, plain = None, False
        for n, (keys, mode, state), value, actual in changed:
            if mode is not previous_mode:
                previous_mode, plain = mode, mode.plain
            if plain and value.__class__ is actual.__class__ in PLAIN:  # most changes: nothing else may pass
                stored_path = (*stored_prefix, n, *keys)
                walk.differ_at(
                    (*actual_prefix, n if order is None else order[n], *keys) if elsewhere else stored_path,
                    value,
                    actual,
                    stored_path,
                )
                resolved = actual if actual.__class__ is not str else escape(actual)
            else:
                stored_link = actual_link = _link_to(at, n, keys)
                if elsewhere:
                    actual_link = _link_to(path, n if order is None else order[n], keys)
                resolved = self._make_node(value, mode, state, stored_link, walk).walk(
                    actual, walk, actual_link
                )
            if resolved is value:
                continue
            if n in rows:
                walk.shuffled = walk.shuffled or self.shuffles(n)
            else:
                rows[n] = self.expected[n].copy() if keys else resolved
            if keys:
                rows[n][keys[0]] = (
                    resolved if len(keys) == 1 else _replace_value(rows[n][keys[0]], keys[1:], resolved)
                )
        walk.shuffled |= order is not None and bool(rows)
        return [rows.get(n, row) for n, row in enumerate(self.expected)] if rows else self.expected

    def _make_node(self, value: Json, mode: Mode, state: State, place: Link, walk: Walk) -> Node:
        if isinstance(value, dict | list) or mode.type == "semantic":
            return walk.open(value, mode, state, place)
        return Scalar(value, value, mode, place)

    def is_paired_by_place(self, actual: list[Json], places: list[int]) -> bool:
        """Whether a walk element by element would pair each element with the one at the same index, if only
        the elements at `places` may not pass: either a key identifies the rows and all are where they were;
        or no key does, they are not the same rows in another order, and neighbouring rows would not be
        aligned differently."""
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
            key_of = RowKey(expected[0], self.columns.taken, self.columns.mode)
        for run in _split_into_runs(places):
            if len(run) > 1 and not _are_aligned(
                [expected[n] for n in run], [actual[n] for n in run], key_of
            ):
                return False
        return True

    def shuffles(self, n: int) -> bool:
        """Whether the values of a row are reported in another order than they have in the row."""
        columns = self.columns
        if isinstance(columns, Leaves) or columns.nested or columns.measured:
            return True
        return [*self.expected[n]] != [*self.expected[0]]


def _link_to(at: Link, n: int, keys: tuple[str, ...]) -> Link:
    """The link to a value within an element."""
    place: Link = (at, n)
    for key in keys:
        place = (place, key)
    return place


def _replace_value(row: Json, keys: tuple[str, ...], value: Json) -> Json:
    """Return the element with another value in it; every container around the value is copied."""
    return {**row, keys[0]: _replace_value(row[keys[0]], keys[1:], value)} if keys else value


def _are_aligned(before: list[Json], after: list[Json], key_of: Callable[[Json], Hashable]) -> bool:
    """Whether elements would be aligned by index, whichever of them are examined: by their names, if they
    have any, and by this key."""
    for key in LIKELY_KEYS if isinstance(before[0], dict) else ():
        if [row.get(key) for row in before] != [row.get(key) for row in after]:
            return False
    keys = [*map(key_of, before)], [*map(key_of, after)]
    return keys[0] == keys[1] or {*keys[0]}.isdisjoint(keys[1])


def _may_be_same_numbers(expected: list[Json], actual: list[Json]) -> bool:
    """False if the arrays surely do not hold the same numbers; True decides nothing."""
    if not {*map(type, expected), *map(type, actual)} <= NUMBERS:
        return True
    try:
        return fsum(expected) == fsum(actual)
    except (OverflowError, ValueError):
        return True


def _split_into_runs(places: Sequence[int]) -> Iterator[list[int]]:
    """Split the indexes into runs of consecutive ones."""
    run: list[int] = []
    for place in places:
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
