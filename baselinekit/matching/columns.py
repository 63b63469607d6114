"""Arrays whose elements are all alike, judged by their columns: literal values by their bytes, numbers with a
tolerance by floats. A thousand rows are checked in one pass in C, where a node for each row would cost more
than reading the rows did. Nothing is decided here that a walk row by row would decide otherwise: rows that do
not surely pass are walked.

Apart from placeholders, comparing bytes tells whether a value equals the stored one. Bytes distinguish the
type of every number and the order of every key, where `==` would take true for 1."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, count, repeat
from math import nan
from operator import itemgetter, ne, sub
from typing import Any

from baselinekit.frozen import frozen, slotted
from baselinekit.matching.rules import ActiveRules, Mode, Rule, State
from baselinekit.matching.values import literal_bytes, looks_nonliteral, passes
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.equality import bytes_of, identical, is_written_as

Column = Callable[[Any], Any]
"""Gets the value of one column from a row, or those of several."""

_MIN_ROWS = 4
_STRETCH_SIZE = 16
NUMBERS = {int, float}
PLAIN = {str, int, float, bool}
_LEAVES = {*PLAIN, type(None)}


Spot = tuple[tuple[str, ...], Mode, State]
"""The keys that lead to a value in a row, and how the value is compared there."""

ChangedValue = tuple[int, Spot, Json, Json]
"""A literal value that may have changed: the row, the place in the row, the value before and after."""


# Leaves and lists of leaves.


@slotted
class Leaves:
    """The values at one place of each row, or the rows themselves: leaves, or lists of leaves that are all
    equally deep. `flat`: the leaves; `sizes`: the lengths of the lists, level by level."""

    mode: Mode
    state: State
    flat: list[Json]
    sizes: list[list[int]]
    rules: frozenset[Rule] = frozenset()
    checks: list[Callable[[Sequence[float]], list[int]]] | None = None
    """Each returns the indexes of the changes that are not surely within a tolerance."""

    @property
    def measured(self) -> bool:
        """Whether there are numbers among the leaves."""
        return not NUMBERS.isdisjoint(map(type, self.flat))

    def all_pass(self, rows: Sequence[Json]) -> bool:
        """Whether all these rows pass. False decides nothing."""
        return self.failing(rows) == []

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[ChangedValue] | None:
        failing = self.failing(others)
        if failing is None:
            return None
        spot: Spot = ((), self.mode, self.state)
        return [(n, spot, rows[n], others[n]) for n in failing]

    def failing(self, others: Sequence[Json]) -> list[int] | None:
        """The indexes of the rows that do not pass; None if the rows do not have the same form."""
        after = [*others]
        for sizes in self.sizes:
            if {*map(type, after)} != {list} or [*map(len, after)] != sizes:
                return None
            after = [*chain.from_iterable(after)]
        if len(after) != len(self.flat):
            return None
        before, mode = self.flat, self.mode
        failing = [
            n
            for n in self.doubtful(after)
            if not (before[n].__class__ is after[n].__class__ and before[n] == after[n])
            and not passes(before[n], after[n], mode)
        ]
        for sizes in reversed(self.sizes):
            places = [*chain.from_iterable(map(repeat, count(), sizes))]
            failing = [*dict.fromkeys(places[n] for n in failing)]
        return failing

    def doubtful(self, after: list[Json]) -> Iterable[int]:
        """The indexes of the leaves that do not surely pass."""
        if self.mode.tolerance is None:
            return _changed_places(self.flat, after)
        try:
            before = _as_numbers(self.flat)
            if self.checks is None:
                from baselinekit.matching.tolerance import windows  # few baselines need it

                tolerances = (self.mode.tolerance, *(further for further, _ in self.mode.tolerances))
                self.checks = [
                    window.doubtful for tolerance in tolerances for window in windows(before, tolerance)
                ]
            changes = [*map(sub, _as_numbers(after), before)]
        except (OverflowError, TypeError):
            return range(len(after))
        results = [check(changes) for check in self.checks]
        if len(results) == 1:
            return results[0]
        nan_places = [n for n, change in enumerate(changes) if change != change]
        return sorted({*nan_places, *chain.from_iterable(results)})


def _as_numbers(values: list[Any]) -> list[Any]:
    """The values, with NaN in place of everything that is not a number."""
    if {*map(type, values)} <= NUMBERS:
        return values
    return [value if value.__class__ in NUMBERS else nan for value in values]


def leaves_of(rows: Sequence[Json], mode: Mode, state: State) -> Leaves | None:
    """The leaves of rows that are leaves, or lists of leaves; None if some row is neither. The rows hold no
    placeholders."""
    flat, sizes = [*rows], []
    while {*map(type, flat)} == {list}:
        sizes.append([*map(len, flat)])
        flat = [*chain.from_iterable(flat)]
    kinds = {*map(type, flat)}
    if not kinds <= _LEAVES or (mode.type == "semantic" and str in kinds):
        return None
    return Leaves(mode, state, flat, sizes)


# Rows that are objects.


@frozen
class Columns:
    """What objects that are all alike have in common: the number of keys; the keys with the same placeholder,
    with an ignored value of one type, with nested objects that have columns, with numbers that have a
    tolerance (`measured`); and the literal keys, with the bytes of their values where these are known
    (`data`)."""

    keys: int
    texts: tuple[tuple[Column, Callable[[Json], bool]], ...]
    ignored: tuple[tuple[Column, type], ...]
    nested: tuple[tuple[str, "Columns"], ...]
    measured: tuple[tuple[str, Leaves], ...]
    literal: tuple[str, ...]
    data: bytes | None
    rules: frozenset[Rule]
    taken: frozenset[str]
    """Keys whose values are not simply literal."""
    mode: Mode
    below: State

    def all_pass(self, rows: Sequence[Json]) -> bool:
        try:
            same = self.data is not None and is_written_as(flatten_values(rows, self.literal), self.data)
            return (
                same
                and self._accepts(rows)
                and all(columns.all_pass([*map(itemgetter(key), rows)]) for key, columns in self.nested)
                and all(values.all_pass([*map(itemgetter(key), rows)]) for key, values in self.measured)
            )
        except (KeyError, TypeError):
            return False

    def _accepts(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass in everything that is neither literal nor nested."""
        return (
            {*map(type, rows)} == {dict}
            and {*map(len, rows)} == {self.keys}
            and all({*map(type, map(column, rows))} == {kind} for column, kind in self.ignored)
            and all(all(map(accepts, map(column, rows))) for column, accepts in self.texts)
        )

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[ChangedValue] | None:
        """The literal values that differ in the other rows, row by row; None if those rows differ in more
        than literal values."""
        try:
            return sorted(self._find_changes(rows, others), key=itemgetter(0))
        except (KeyError, TypeError):
            return None

    def _find_changes(self, rows: Sequence[Json], others: Sequence[Json]) -> Iterator[ChangedValue]:
        """The changed values in the order of the columns. TypeError if the rows differ in more than that."""
        if not self._accepts(others):
            raise TypeError
        for key in self.literal:
            before, after = [*map(itemgetter(key), rows)], [*map(itemgetter(key), others)]
            place: Spot = ((key,), self.mode, self.below)
            yield from ((n, place, before[n], after[n]) for n in _changed_places(before, after))
        parts: Iterable[tuple[str, Columns | Leaves]] = (*self.measured, *self.nested)
        for key, part in parts:
            changes = part.changed([row[key] for row in rows], [row[key] for row in others])
            if changes is None:
                raise TypeError
            spots: dict[int, Spot] = {}
            for n, spot, value, other in changes:
                if id(spot) not in spots:
                    spots[id(spot)] = ((key, *spot[0]), *spot[1:])
                yield n, spots[id(spot)], value, other

    def pairs(self, rows: Sequence[Json], others: Sequence[Json]) -> dict[int, int]:
        """Pair each row with one of the other rows that has the same literal values; each is used once. Rows
        that do not pass in their non-literal values are left out: they need a closer look."""
        places: Sequence[int] = range(len(others))
        after = self._literal_bytes(others)
        if after is None:
            passing = [*self._find_passing(others)]
            places, after = [n for n, _ in passing], [data for _, data in passing]
        before = [*map(bytes_of, self._literal_values(rows))]
        first: dict[bytes | None, int] = {}
        following = [-1] * len(after)  # the next row with the same bytes
        for a in range(len(after) - 1, -1, -1):
            following[a] = first.get(after[a], -1)
            first[after[a]] = a
        pairs = {}
        for e, data in enumerate(before):
            a = first.get(data, -1)
            if a >= 0 and data is not None:
                pairs[e] = places[a]
                first[data] = following[a]
        return pairs

    def _find_passing(self, rows: Sequence[Json]) -> Iterator[tuple[int, bytes | None]]:
        """The rows that pass in their non-literal values, each as its index and the bytes of its literal
        values. A stretch of rows that all pass is checked at once."""
        for start in range(0, len(rows), _STRETCH_SIZE):
            stretch = rows[start : start + _STRETCH_SIZE]
            data = self._literal_bytes(stretch)
            row_results = (
                [[row_data] for row_data in data] if data else [self._literal_bytes([row]) for row in stretch]
            )
            yield from ((n, result[0]) for n, result in enumerate(row_results, start) if result is not None)

    def _literal_bytes(self, rows: Sequence[Json]) -> list[bytes | None] | None:
        """The bytes of the literal values of each row; None if a row does not pass in its other values."""
        try:
            return (
                [*map(bytes_of, self._literal_values(rows))]
                if self._accepts_apart_from_literals(rows)
                else None
            )
        except (KeyError, TypeError):
            return None

    def _accepts_apart_from_literals(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass apart from their literal values, also in the nested objects."""
        return self._accepts(rows) and all(
            columns._accepts_apart_from_literals([*map(itemgetter(key), rows)])
            for key, columns in self.nested
        )

    def _literal_values(self, rows: Sequence[Json]) -> Iterator[tuple[Json, ...]]:
        """The literal values of each row, also of its nested objects."""
        below = (columns._literal_values([*map(itemgetter(key), rows)]) for key, columns in self.nested)
        if len(self.literal) > 1:
            return zip(map(itemgetter(*self.literal), rows), *below, strict=True)
        return zip(([row[key] for key in self.literal] for row in rows), *below, strict=True)


def flatten_values(rows: Sequence[Json], keys: tuple[str, ...]) -> list[Json]:
    """The values of all rows under these keys, in one flat list: thousands of tuples would keep the garbage
    collector busy."""
    if len(keys) > 1:
        return [*chain.from_iterable(map(itemgetter(*keys), rows))]
    return [row[key] for row in rows for key in keys]


def _changed_places(before: Sequence[Json], after: Sequence[Json]) -> list[int]:
    """The indexes at which a column has another value."""
    places = [*compress(count(), map(ne, before, after))]
    same = [*after]
    for n in places:
        same[n] = before[n]
    if same_types(before, same):
        return places
    return [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if not identical(old, new)]


def same_types(before: Sequence[Json], after: Sequence[Json]) -> bool:
    """Whether equal values also have the same types: `==` takes true for 1, even deep inside."""
    kinds = {*map(type, before)}
    if kinds == {str}:
        return True
    if len(kinds) == 1 and kinds <= PLAIN:
        return {*map(type, after)} == kinds
    data = bytes_of([*before])
    return data is not None and is_written_as([*after], data)


@dataclass(slots=True)
class _ColumnParts:
    """The columns of some rows, collected one by one."""

    texts: list[tuple[Column, Callable[[Json], bool]]] = field(default_factory=list)
    ignored: list[tuple[Column, type]] = field(default_factory=list)
    nested: list[tuple[str, Columns]] = field(default_factory=list)
    measured: list[tuple[str, Leaves]] = field(default_factory=list)
    literal: list[str] = field(default_factory=list)
    rules: set[Rule] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    def add(self, key: str, part: "Columns | Leaves") -> None:
        self.rules |= part.rules
        if isinstance(part, Columns):
            self.nested.append((key, part))
        else:
            self.measured.append((key, part))

    def columns(self, data: bytes | None, keys: int, mode: Mode, below: State) -> Columns:
        parts = tuple(self.texts), tuple(self.ignored), tuple(self.nested), tuple(self.measured)
        sets = frozenset(self.rules), frozenset(self.taken)
        return Columns(keys, *parts, tuple(self.literal), data, *sets, mode, below)


@frozen
class ColumnMaker:
    """Finds the columns of rows. `template` compiles a text; `mode_at` gives the mode of values from the mode
    around them and the rules there. `measuring`: numbers with a tolerance may be columns."""

    template: Callable[[str], str | Placeholder | Inline]
    mode_at: Callable[[Mode, ActiveRules], Mode]
    measuring: bool = True

    def columns_of(self, rows: Sequence[Json], mode: Mode, state: State) -> Columns | None:
        """The columns of rows that all have this mode and this state (the rules for the row itself are
        already applied); None if the rows are not alike enough, or hold anything else."""
        first = first_if_alike(rows, state)
        if first is None or not allows_columns(mode):
            return None
        below, parts = state.below_any_key(), _ColumnParts()
        try:
            if not all(self._add_column(key, item, rows, mode, state, parts) for key, item in first.items()):
                return None
            literal = flatten_values(rows, tuple(parts.literal))
            data = literal_bytes(literal)
            if data is None or not below.has_no_key_for_rules(literal, data):
                return None
            if mode.tolerance is not None and self.measuring:
                for key in [*parts.literal]:
                    part = literal_part([row[key] for row in rows], mode, below, by_bytes=True)
                    if part is not None:
                        parts.add(key, part)
                        parts.literal.remove(key)
                data = bytes_of(flatten_values(rows, tuple(parts.literal)))
        except KeyError:  # a row has other keys
            return None
        return parts.columns(data, len(first), mode, below)

    def _add_column(
        self, key: str, item: Json, rows: Sequence[Json], mode: Mode, state: State, parts: _ColumnParts
    ) -> bool:
        """Add the column of a key, whose first value is `item`; False if it cannot be a column."""
        column, below = itemgetter(key), state.below_any_key()
        parts.taken.add(key)
        if key in (state.names or ()):
            inner = state.step(key, item, len(rows[0]))
            here = inner.here
            if here is not None:
                parts.rules.update(here.rules)
            if here is None or here.ignore is None:
                return self._add_ruled(key, [*map(column, rows)], mode, inner, parts)
            parts.ignored.append((column, type(item)))
            return {*map(type, map(column, rows))} == {type(item)}
        if isinstance(item, str) and has_marker(item):
            template = self.template(item)
            accepts = None if isinstance(template, str) else template.alone
            if accepts is not None:
                parts.texts.append((column, accepts))
            return accepts is not None and [*map(column, rows)].count(item) == len(rows)
        if isinstance(item, dict) and looks_nonliteral(item, below.names or ()):
            return self._add_ruled(key, [*map(column, rows)], mode, below, parts)
        parts.taken.remove(key)
        parts.literal.append(key)
        return True

    def _add_ruled(self, key: str, values: list[Json], mode: Mode, state: State, parts: _ColumnParts) -> bool:
        """Add values that a rule may look at: objects with columns, or numbers with a tolerance."""
        part = self.part_of(values, mode, state)
        if part is not None:
            parts.add(key, part)
        return part is not None

    def part_of(self, values: list[Json], mode: Mode, state: State) -> Columns | Leaves | None:
        """What the values have in common, given the state at the values and the mode around them."""
        inner = self.inside(mode, state)
        if inner is None:
            return None
        rules = set(state.here.rules if state.here is not None else ())
        if {*map(type, values)} == {dict}:
            columns = self.columns_of(values, inner, state)
            return replace(columns, rules=columns.rules | rules) if columns is not None and rules else columns
        flat: list[Json] | None = values
        while flat is not None and {*map(type, flat)} == {list}:
            below = state.same_below
            inner = None if below is None else self.inside(inner, below)
            if inner is None or below is None:
                return None
            rules.update(below.here.rules if below.here is not None else ())
            state, flat = below, [*chain.from_iterable(flat)]
        part = leaves_of(values, inner, state)
        if not self.measuring or inner.tolerance is None or part is None or not part.measured:
            return None
        return replace(part, rules=frozenset(rules)) if literal_bytes(part.flat) is not None else None

    def inside(self, mode: Mode, state: State) -> Mode | None:
        """The mode in which values in this state are compared; None if columns cannot express its rules."""
        here = state.here
        if here is not None:
            if not self.measuring or here.ignore is not None or here.arrays is not None:
                return None
            mode = self.mode_at(mode, here)
        return mode if allows_columns(mode) else None


def literal_part(values: list[Json], mode: Mode, state: State, by_bytes: bool) -> "Columns | Leaves | None":
    """The columns, or the leaves with numbers, of literal values to which a tolerance applies."""
    if {*map(type, values)} == {dict}:
        return literal_columns(values, mode, state, by_bytes)
    part = leaves_of(values, mode, state)
    return part if part is not None and part.measured else None


def literal_columns(rows: Sequence[Json], mode: Mode, state: State, by_bytes: bool) -> Columns | None:
    """The columns of rows that are known to be literal. Without `by_bytes` the bytes are not computed, as the
    actual rows are hardly ever equal to these."""
    first = first_if_alike(rows, state)
    if first is None or not allows_columns(mode):
        return None
    below, parts = state.below_any_key(), _ColumnParts()
    try:
        for key in first:
            part = None
            if mode.tolerance is not None:
                part = literal_part([row[key] for row in rows], mode, below, by_bytes)
            if part is None:
                parts.literal.append(key)
            else:
                parts.add(key, part)
        data = bytes_of(flatten_values(rows, tuple(parts.literal))) if by_bytes else None
    except KeyError:
        return None
    return parts.columns(data, len(first), mode, below)


def allows_columns(mode: Mode) -> bool:
    return mode.type != "numeric" and not mode.asks_for_change and mode.allow_field_reordering


def first_if_alike(rows: Sequence[Json], state: State) -> dict[str, Json] | None:
    """The first row, if all rows may be alike; else None."""
    first = rows[0] if len(rows) >= _MIN_ROWS else None
    if not isinstance(first, dict) or state.names is None:
        return None
    alike = {*map(type, rows)} == {dict} and {*map(len, rows)} == {len(first)}
    return first if alike else None
