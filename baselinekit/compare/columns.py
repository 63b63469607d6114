"""Rows that are all alike, judged by their columns: one pass in C over a thousand of them, where a node for
each would cost more than reading them did. What does not pass so is looked into row by row."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from baselinekit.compare.align import same_rows
from baselinekit.compare.leaves import Scalar
from baselinekit.compare.literal import bytes_of, identical, literal_bytes, shows_more
from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import Rule, State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.template import Inline, Placeholder

Template = Callable[[str], str | Placeholder | Inline]
Column = Callable[[Any], Any]
"""Takes the value of one column out of a row, or those of several."""

_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Columns:
    """What all rows have in common: as many keys, under the same ones the same placeholder or ignored type,
    objects with columns of their own, and the bytes of everything else."""

    keys: int
    texts: tuple[tuple[Column, Callable[[Json], bool]], ...]
    ignored: tuple[tuple[Column, type], ...]
    nested: tuple[tuple[Column, "Columns"], ...]
    literal: tuple[str, ...]
    data: bytes | None
    rules: frozenset[Rule]
    below: State

    def fit(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass, one by one. False says nothing yet."""
        try:
            return self._literal_bytes(rows) == self.data and self._fit_elsewhere(rows)
        except (KeyError, TypeError):
            return False

    def _literal_bytes(self, rows: Sequence[Json]) -> bytes | None:
        return bytes_of([*map(itemgetter(*self.literal), rows)]) if self.literal else None

    def _fit_elsewhere(self, rows: Sequence[Json]) -> bool:
        """Whether these rows pass, what is literal in them aside."""
        return (
            {*map(type, rows)} == {dict}
            and {*map(len, rows)} == {self.keys}
            and all({*map(type, map(column, rows))} == {kind} for column, kind in self.ignored)
            and all(all(map(accepts, map(column, rows))) for column, accepts in self.texts)
            and all(below.fit([*map(column, rows)]) for column, below in self.nested)
        )

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[tuple[int, str]] | None:
        """Where the other rows have other literal values, row by row; None if they differ elsewhere."""
        found = []
        try:
            if not self._fit_elsewhere(others):
                return None
            for place, key in enumerate(self.literal):
                before, after = [*map(itemgetter(key), rows)], [*map(itemgetter(key), others)]
                if not identical(before, after):
                    pairs = enumerate(zip(before, after, strict=True))
                    found += [(n, place) for n, (one, other) in pairs if not identical(one, other)]
        except (KeyError, TypeError):
            return None
        return [(n, self.literal[place]) for n, place in sorted(found)]


def columns_of(rows: Sequence[Json], state: State, template: Template) -> Columns | None:
    """The columns of rows, in the state in which each of them is met; None if they are not that much alike,
    or more than placeholders and ignored values is in them."""
    first = rows[0] if len(rows) >= _FEWEST else None
    if not isinstance(first, dict) or state.names is None or state.here is not None:
        return None
    if {*map(type, rows)} != {dict} or {*map(len, rows)} != {len(first)}:
        return None
    try:
        return _Sorted(rows, first, state, template).columns()
    except (KeyError, _OfTheirOwn):
        return None


class _OfTheirOwn(Exception):
    """A row has something of its own."""


class _Sorted:
    """The columns of rows by what is to be done with them."""

    def __init__(self, rows: Sequence[Json], first: dict[str, Json], state: State, template: Template):
        self._rows, self._state, self._template = rows, state, template
        self._texts: list[tuple[Column, Callable[[Json], bool]]] = []
        self._ignored: list[tuple[Column, type]] = []
        self._nested: list[tuple[Column, Columns]] = []
        self._rules: set[Rule] = set()
        self._keys = len(first)
        self._literal = tuple([key for key, item in first.items() if not self._taken(key, item)])

    def columns(self) -> Columns:
        data, below = None, self._state.otherwise()
        if self._literal:
            data = literal_bytes([*map(itemgetter(*self._literal), self._rows)])
            if data is None or not below.asleep(data):
                raise _OfTheirOwn
        return Columns(
            self._keys,
            tuple(self._texts),
            tuple(self._ignored),
            tuple(self._nested),
            self._literal,
            data,
            frozenset(self._rules),
            below,
        )

    def _taken(self, key: str, item: Json) -> bool:
        names = self._state.names or ()
        if key in names:
            self._ruled(key, item)
        elif isinstance(item, str) and has_marker(item):
            self._placeholder(key, item)
        elif isinstance(item, dict) and shows_more(item, self._state.otherwise().names or ()):
            self._look_below(key, self._state.otherwise())
        else:
            return False
        return True

    def _ruled(self, key: str, item: Json) -> None:
        below = self._state.step(key, item, self._keys)
        if below.here is None and isinstance(item, dict):
            self._look_below(key, below)
            return
        column = itemgetter(key)
        if below.here is None or below.here.ignore is None or {*self._types(column)} != {type(item)}:
            raise _OfTheirOwn
        self._rules.update(below.here.rules)
        self._ignored.append((column, type(item)))

    def _types(self, column: Column) -> Iterator[type]:
        return map(type, map(column, self._rows))

    def _placeholder(self, key: str, text: str) -> None:
        column = itemgetter(key)
        found = self._template(text)
        accepts = None if isinstance(found, str) else found.alone
        if accepts is None or [*map(column, self._rows)].count(text) != len(self._rows):
            raise _OfTheirOwn
        self._texts.append((column, accepts))

    def _look_below(self, key: str, state: State) -> None:
        column = itemgetter(key)
        below = columns_of([*map(column, self._rows)], state, self._template)
        if below is None:
            raise _OfTheirOwn
        self._rules |= below.rules
        self._nested.append((column, below))


@dataclass(slots=True, eq=False)
class Alike:
    """An array of rows that are all alike. `make` gives the node that looks into each of them; `ordered`: the
    rows stay where they are."""

    expected: list[Json]
    columns: Columns
    mode: Mode
    ordered: bool
    make: Callable[[], Node]
    at: Link
    optional: bool = False
    opened: Node | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is list and len(actual) == len(self.expected):
            changed: list[tuple[int, str]] | None = None
            if self.columns.fit(actual):
                changed = []
            elif self.ordered and same_rows(self.expected, actual):
                changed = self.columns.changed(self.expected, actual)
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._values(changed, actual, walk, path) if changed else self.expected
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _values(self, changed: list[tuple[int, str]], actual: list[Json], walk: Walk, path: Link) -> Json:
        """The array with other values where it has them, and rows that are what they were everywhere else."""
        resolved = self.expected
        for n, key in changed:
            value, place = self.expected[n][key], ((self.at, n), key)
            if isinstance(value, dict | list) or self.mode.type == "semantic":
                node = walk.open(value, self.mode, self.columns.below, place)
            else:
                node = Scalar(value, value, self.mode, place)
            got = node.walk(actual[n][key], walk, ((path, n), key))
            if got is not value:
                if resolved is self.expected:
                    resolved = self.expected.copy()
                if resolved[n] is self.expected[n]:
                    resolved[n] = {**self.expected[n]}
                resolved[n][key] = got
        return resolved
