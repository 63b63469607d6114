"""Arrays whose elements are all alike, judged by their columns: what is literal by its bytes, numbers with a
tolerance by floats, a thousand rows in one pass in C where a node for each would cost more than reading them
did. Nothing is decided here that a walk row by row would decide otherwise: what does not pass for sure is
walked.

Placeholders aside, bytes can say whether something equals what is stored. They tell the type of every number
and the order of every key, where `==` would take true for 1."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, count, repeat
from math import nan
from operator import itemgetter, ne, sub
from typing import Any

from baselinekit.frozen import frozen, slotted
from baselinekit.matching.rules import ActiveRules, Mode, Rule, State
from baselinekit.matching.values import literal_bytes, passes, shows_more
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.equality import bytes_of, identical, is_written_as

Column = Callable[[Any], Any]
"""Takes the value of one column out of a row, or those of several."""

_FEWEST = 4
_STRETCH = 16
NUMBERS = {int, float}
PLAIN = {str, int, float, bool}
_LEAVES = {*PLAIN, type(None)}


Spot = tuple[tuple[str, ...], Mode, State]
"""Under which keys of a row a value stands, and how it is compared there."""

ChangedValue = tuple[int, Spot, Json, Json]
"""A literal value that may be another one than it was: in which row and where in it, what it was and is."""


# Leaves, and lists of them.


@slotted
class Leaves:
    """Values that stand at one place of each row, or are the rows: leaves, or lists of them that are all as
    deep. `flat`: these leaves, `sizes` those of the lists, level by level."""

    mode: Mode
    state: State
    flat: list[Json]
    sizes: list[list[int]]
    rules: frozenset[Rule] = frozenset()
    checks: list[Callable[[Sequence[float]], list[int]]] | None = None
    """Which changes of the leaves are not within a tolerance for sure."""

    @property
    def measured(self) -> bool:
        """Whether there are numbers among them."""
        return not NUMBERS.isdisjoint(map(type, self.flat))

    def fit(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass, one by one. False says nothing yet."""
        return self.failing(rows) == []

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[ChangedValue] | None:
        failing = self.failing(others)
        if failing is None:
            return None
        spot: Spot = ((), self.mode, self.state)
        return [(n, spot, rows[n], others[n]) for n in failing]

    def failing(self, others: Sequence[Json]) -> list[int] | None:
        """Which rows do not pass; None if they are not of the same form."""
        after = [*others]
        for sizes in self.sizes:
            if {*map(type, after)} != {list} or [*map(len, after)] != sizes:
                return None
            after = [*chain.from_iterable(after)]
        if len(after) != len(self.flat):
            return None
        before, mode = self.flat, self.mode
        found = [
            n
            for n in self.doubtful(after)
            if not (before[n].__class__ is after[n].__class__ and before[n] == after[n])
            and not passes(before[n], after[n], mode)
        ]
        for sizes in reversed(self.sizes):
            places = [*chain.from_iterable(map(repeat, count(), sizes))]
            found = [*dict.fromkeys(places[n] for n in found)]
        return found

    def doubtful(self, after: list[Json]) -> Iterable[int]:
        """Which leaves do not pass for sure."""
        if self.mode.tolerance is None:
            return _changed(self.flat, after)
        try:
            before = _as_numbers(self.flat)
            if self.checks is None:
                from baselinekit.matching.tolerance import windows  # few baselines need it

                bounds = (self.mode.tolerance, *(bounds for bounds, _ in self.mode.tolerances))
                self.checks = [one.doubtful for stated in bounds for one in windows(before, stated)]
            changes = [*map(sub, _as_numbers(after), before)]
        except (OverflowError, TypeError):
            return range(len(after))
        found = [check(changes) for check in self.checks]
        if len(found) == 1:
            return found[0]
        odd = [n for n, change in enumerate(changes) if change != change]
        return sorted({*odd, *chain.from_iterable(found)})


def _as_numbers(values: list[Any]) -> list[Any]:
    """NaN for what is no number."""
    if {*map(type, values)} <= NUMBERS:
        return values
    return [value if value.__class__ in NUMBERS else nan for value in values]


def leaves_of(rows: Sequence[Json], mode: Mode, state: State) -> Leaves | None:
    """Rows that are leaves, or lists of leaves, as one; None if they are not. No text is a placeholder."""
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
    """What objects that are all alike have in common: as many keys, under the same ones the same placeholder
    or ignored type, objects with columns of their own, numbers with a tolerance (`measured`), and what is
    literal: its bytes, where they are known."""

    keys: int
    texts: tuple[tuple[Column, Callable[[Json], bool]], ...]
    ignored: tuple[tuple[Column, type], ...]
    nested: tuple[tuple[str, "Columns"], ...]
    measured: tuple[tuple[str, Leaves], ...]
    literal: tuple[str, ...]
    data: bytes | None
    rules: frozenset[Rule]
    taken: frozenset[str]
    """Keys under which more than literal values are."""
    mode: Mode
    below: State

    def fit(self, rows: Sequence[Json]) -> bool:
        try:
            same = self.data is not None and is_written_as(in_one_line(rows, self.literal), self.data)
            return (
                same
                and self._accept(rows)
                and all(columns.fit([*map(itemgetter(key), rows)]) for key, columns in self.nested)
                and all(values.fit([*map(itemgetter(key), rows)]) for key, values in self.measured)
            )
        except (KeyError, TypeError):
            return False

    def _accept(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass in what is neither literal nor nested."""
        return (
            {*map(type, rows)} == {dict}
            and {*map(len, rows)} == {self.keys}
            and all({*map(type, map(column, rows))} == {kind} for column, kind in self.ignored)
            and all(all(map(accepts, map(column, rows))) for column, accepts in self.texts)
        )

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[ChangedValue] | None:
        """The literal values that are other ones in the other rows, row by row; None if those rows differ in
        more than that."""
        try:
            return sorted(self._changes(rows, others), key=itemgetter(0))
        except (KeyError, TypeError):
            return None

    def _changes(self, rows: Sequence[Json], others: Sequence[Json]) -> Iterator[ChangedValue]:
        """In the order of the columns. TypeError: there is more than that."""
        if not self._accept(others):
            raise TypeError
        for key in self.literal:
            before, after = [*map(itemgetter(key), rows)], [*map(itemgetter(key), others)]
            place: Spot = ((key,), self.mode, self.below)
            yield from ((n, place, before[n], after[n]) for n in _changed(before, after))
        parts: Iterable[tuple[str, Columns | Leaves]] = (*self.measured, *self.nested)
        for key, part in parts:
            found = part.changed([row[key] for row in rows], [row[key] for row in others])
            if found is None:
                raise TypeError
            spots: dict[int, Spot] = {}
            for n, spot, value, other in found:
                if id(spot) not in spots:
                    spots[id(spot)] = ((key, *spot[0]), *spot[1:])
                yield n, spots[id(spot)], value, other

    def pairs(self, rows: Sequence[Json], others: Sequence[Json]) -> dict[int, int]:
        """Which of the other rows has the same literal values, each taken once. Rows that would not pass in
        all that is not literal are left out: there is more to be said about them."""
        places: Sequence[int] = range(len(others))
        after = self._literal_bytes(others)
        if after is None:
            passing = [*self._passing(others)]
            places, after = [n for n, _ in passing], [data for _, data in passing]
        before = [*map(bytes_of, self._all_literal(rows))]
        first: dict[bytes | None, int] = {}
        following = [-1] * len(after)  # the next row with the same bytes
        for a in range(len(after) - 1, -1, -1):
            following[a] = first.get(after[a], -1)
            first[after[a]] = a
        found = {}
        for e, data in enumerate(before):
            a = first.get(data, -1)
            if a >= 0 and data is not None:
                found[e] = places[a]
                first[data] = following[a]
        return found

    def _passing(self, rows: Sequence[Json]) -> Iterator[tuple[int, bytes | None]]:
        """Which rows pass in what is not literal, and what is literal in them. A stretch in which all pass
        takes one look."""
        for start in range(0, len(rows), _STRETCH):
            stretch = rows[start : start + _STRETCH]
            data = self._literal_bytes(stretch)
            alone = [[one] for one in data] if data else [self._literal_bytes([row]) for row in stretch]
            yield from ((n, found[0]) for n, found in enumerate(alone, start) if found is not None)

    def _literal_bytes(self, rows: Sequence[Json]) -> list[bytes | None] | None:
        """What is literal in each of these rows; None if one of them does not pass in all the rest."""
        try:
            return [*map(bytes_of, self._all_literal(rows))] if self._accept_any_literal(rows) else None
        except (KeyError, TypeError):
            return None

    def _accept_any_literal(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass, all that is literal in them aside, also in the objects below."""
        return self._accept(rows) and all(
            columns._accept_any_literal([*map(itemgetter(key), rows)]) for key, columns in self.nested
        )

    def _all_literal(self, rows: Sequence[Json]) -> Iterator[tuple[Json, ...]]:
        """What is literal in each row, also in the objects below."""
        below = (columns._all_literal([*map(itemgetter(key), rows)]) for key, columns in self.nested)
        if len(self.literal) > 1:
            return zip(map(itemgetter(*self.literal), rows), *below, strict=True)
        return zip(([row[key] for key in self.literal] for row in rows), *below, strict=True)


def in_one_line(rows: Sequence[Json], keys: tuple[str, ...]) -> list[Json]:
    """The values of all rows under these keys, in one list: thousands of tuples would keep the garbage
    collector busy."""
    if len(keys) > 1:
        return [*chain.from_iterable(map(itemgetter(*keys), rows))]
    return [row[key] for row in rows for key in keys]


def _changed(before: Sequence[Json], after: Sequence[Json]) -> list[int]:
    """Where a column has another value."""
    found = [*compress(count(), map(ne, before, after))]
    same = [*after]
    for n in found:
        same[n] = before[n]
    if same_types(before, same):
        return found
    return [n for n, (one, other) in enumerate(zip(before, after, strict=True)) if not identical(one, other)]


def same_types(before: Sequence[Json], after: Sequence[Json]) -> bool:
    """Whether equal values are of the same types as well: `==` takes true for 1, deep inside too."""
    kinds = {*map(type, before)}
    if kinds == {str}:
        return True
    if len(kinds) == 1 and kinds <= PLAIN:
        return {*map(type, after)} == kinds
    data = bytes_of([*before])
    return data is not None and is_written_as([*after], data)


@dataclass(slots=True)
class _Parts:
    """The columns of some rows, as they are found."""

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
    """Finds the columns of rows. `template` says what a text stands for, `mode_at` how values are compared by
    the mode around them and the rules there. `measuring`: numbers with a tolerance may be columns."""

    template: Callable[[str], str | Placeholder | Inline]
    mode_at: Callable[[Mode, ActiveRules], Mode]
    measuring: bool = True

    def columns_of(self, rows: Sequence[Json], mode: Mode, state: State) -> Columns | None:
        """The columns of rows in the mode and the state in which each of them is met, what applies right
        there being read; None if they are not that much alike, or more than all this is in them."""
        first = first_if_alike(rows, state)
        if first is None or not goes_by_columns(mode):
            return None
        below, parts = state.otherwise(), _Parts()
        try:
            if not all(self._add(key, item, rows, mode, state, parts) for key, item in first.items()):
                return None
            literal = in_one_line(rows, tuple(parts.literal))
            data = literal_bytes(literal)
            if data is None or not below.asleep(literal, data):
                return None
            if mode.tolerance is not None and self.measuring:
                for key in [*parts.literal]:
                    part = literal_part([row[key] for row in rows], mode, below, by_bytes=True)
                    if part is not None:
                        parts.add(key, part)
                        parts.literal.remove(key)
                data = bytes_of(in_one_line(rows, tuple(parts.literal)))
        except KeyError:  # a row has other keys
            return None
        return parts.columns(data, len(first), mode, below)

    def _add(
        self, key: str, item: Json, rows: Sequence[Json], mode: Mode, state: State, parts: _Parts
    ) -> bool:
        """Add the column under a key, where `item` is the first value; False if it cannot be one."""
        column, below = itemgetter(key), state.otherwise()
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
        if isinstance(item, dict) and shows_more(item, below.names or ()):
            return self._add_ruled(key, [*map(column, rows)], mode, below, parts)
        parts.taken.remove(key)
        parts.literal.append(key)
        return True

    def _add_ruled(self, key: str, values: list[Json], mode: Mode, state: State, parts: _Parts) -> bool:
        """Add values that a rule may look at: objects with columns, or numbers with a tolerance."""
        part = self.part_of(values, mode, state)
        if part is not None:
            parts.add(key, part)
        return part is not None

    def part_of(self, values: list[Json], mode: Mode, state: State) -> Columns | Leaves | None:
        """What values have in common that are met in this state, and in the mode around them."""
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
        """The mode in which values are compared that are met in this state; None if there is more to it."""
        here = state.here
        if here is not None:
            if not self.measuring or here.ignore is not None or here.arrays is not None:
                return None
            mode = self.mode_at(mode, here)
        return mode if goes_by_columns(mode) else None


def literal_part(values: list[Json], mode: Mode, state: State, by_bytes: bool) -> "Columns | Leaves | None":
    """What literal values have in common that a tolerance has to do with."""
    if {*map(type, values)} == {dict}:
        return literal_columns(values, mode, state, by_bytes)
    part = leaves_of(values, mode, state)
    return part if part is not None and part.measured else None


def literal_columns(rows: Sequence[Json], mode: Mode, state: State, by_bytes: bool) -> Columns | None:
    """The columns of rows that are known to be literal. Not `by_bytes`: they will hardly be met as they are,
    and nobody needs their bytes."""
    first = first_if_alike(rows, state)
    if first is None or not goes_by_columns(mode):
        return None
    below, parts = state.otherwise(), _Parts()
    try:
        for key in first:
            part = None
            if mode.tolerance is not None:
                part = literal_part([row[key] for row in rows], mode, below, by_bytes)
            if part is None:
                parts.literal.append(key)
            else:
                parts.add(key, part)
        data = bytes_of(in_one_line(rows, tuple(parts.literal))) if by_bytes else None
    except KeyError:
        return None
    return parts.columns(data, len(first), mode, below)


def goes_by_columns(mode: Mode) -> bool:
    return mode.type != "numeric" and not mode.asks_for_change and mode.allow_field_reordering


def first_if_alike(rows: Sequence[Json], state: State) -> dict[str, Json] | None:
    """The first of rows that may well be all alike."""
    first = rows[0] if len(rows) >= _FEWEST else None
    if not isinstance(first, dict) or state.names is None:
        return None
    alike = {*map(type, rows)} == {dict} and {*map(len, rows)} == {len(first)}
    return first if alike else None
