"""Objects, the response headers among them, and arrays of rows that are all alike, by their columns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, count
from operator import itemgetter, ne
from typing import Any

from baselinekit.compare.rules import Mode, Rule, State
from baselinekit.compare.values import (
    Ignored,
    Link,
    Node,
    PlaceholderNode,
    Scalar,
    Walk,
    literal_bytes,
    shows_more,
)
from baselinekit.frozen import frozen
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value, has_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.alignment import same_rows
from baselinekit.tree.changes import with_new_keys
from baselinekit.tree.equality import bytes_of, identical, is_written_as

# Objects, the response headers among them, and `require_keys`.

_PLAIN = (str, int, float, bool, type(None))


@frozen
class ObjectShape:
    """What objects that are alike share, so that a thousand rows do not make a thousand times the same nodes:
    the keys that hold a placeholder (and which), the keys that a rule ignores (and the type found there), the
    keys with nodes of their own. `open`: further keys do not matter."""

    mode: Mode
    state: State
    open: bool = False
    texts: tuple[tuple[str, str, Callable[[Json], bool] | None, Placeholder | Inline], ...] = ()
    ignored: tuple[tuple[str, type, Rule, bool], ...] = ()
    deeper: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()  # all these keys: those that are not of the literal part

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal to itself alone

    def literal_part(self, row: dict[str, Json]) -> dict[str, Json] | None:
        """What is left of a row of this shape; None if it has another one."""
        rest = row.copy()
        for key, text, _, _ in self.texts:
            if rest.pop(key, None) != text:
                return None
        for key, kind, _, _ in self.ignored:
            if rest.pop(key, ABSENT).__class__ is not kind:
                return None
        for key in self.deeper:
            if rest.pop(key, ABSENT) is ABSENT:
                return None
        return rest


@dataclass(slots=True, eq=False)
class Object:
    """An object: its shape, `nodes` under the keys where that is not enough, and the bytes of the rest, which
    is literal. `opened`: the nodes of literal values, made when something else than they was met."""

    expected: dict[str, Json]
    shape: ObjectShape
    nodes: tuple[tuple[str, Node], ...]
    data: bytes | None
    at: Link
    stated: dict[str, Json] | None = None
    optional: bool = False
    opened: dict[str, Node] | None = None

    @property
    def mode(self) -> Mode:
        return self.shape.mode

    @property
    def rest(self) -> dict[str, Json]:
        """The literal part, made when it is looked into."""
        if self.stated is None:
            taken = self.shape.taken
            self.stated = {key: value for key, value in self.expected.items() if key not in taken}
        return self.stated

    def refuses(self, actual: Json) -> bool:
        """Whether a placeholder, which is looked at before all else, does not accept what stands there."""
        texts = self.shape.texts if actual.__class__ is dict else ()
        return any(
            accepts is not None and key in actual and not accepts(actual[key]) for key, _, accepts, _ in texts
        )

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self.expected, actual, path, self.at)
        shape = self.shape
        changed: dict[str, Json] = {}
        left = actual.copy()
        start = walk.count
        for key, _, accepts, template in shape.texts:
            got = left.pop(key, ABSENT)
            if got is ABSENT:
                if not template.optional:
                    self._missing(key, self.expected[key], walk, path, changed)
            elif not (template.accepts(got, walk.bindings) if accepts is None else accepts(got)):
                stand = PlaceholderNode(self.expected[key], template, (self.at, key))
                changed[key] = stand.refuse(got, walk, (path, key))
        for key, kind, rule, keep in shape.ignored:
            got = left.pop(key, ABSENT)
            if got.__class__ is kind:
                walk.hits.add(rule)
            elif got is not ABSENT:
                Ignored(self.expected[key], rule, (self.at, key), keep).walk(got, walk, (path, key))
            elif keep:
                self._missing(key, self.expected[key], walk, path, changed)
        for key, node in self.nodes:
            got = left.pop(key, ABSENT)
            if got is not ABSENT:
                resolved = node.walk(got, walk, (path, key))
                if resolved is not node.expected:
                    changed[key] = resolved
            elif not node.optional:
                self._missing(key, node.expected, walk, path, changed)
        early = walk.count - start and max(len(changed), 1)
        met = walk.count
        if self.data is None or bytes_of(left) != self.data:
            self._literal(left, walk, path, changed)
            if not left.keys() <= self.rest.keys():
                self._further(left, actual, walk, path, changed)
        if early > 1 or (early and walk.count != met):
            walk.shuffled = True
        moved = False
        if not shape.mode.allow_field_reordering:
            before = [key for key in self.expected if key in actual]
            after = [key for key in actual if key in self.expected]
            moved = before != after
            if moved:
                walk.differ(path, "order", before, after, self.at, "allow_field_reordering")
        return self._resolved(actual, changed, moved) if changed or moved else self.expected

    def _literal(self, left: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        equal = []
        for key, value in self.rest.items():
            got = left.get(key, ABSENT)
            kind = value.__class__
            if got.__class__ is kind and got == value:
                if kind is dict or kind is list:
                    equal.append((key, value, got))
            elif got is ABSENT:
                self._missing(key, value, walk, path, changed)
            else:
                self._differing(key, value, got, walk, path, changed)
        if equal and not identical([value for _, value, _ in equal], [got for _, _, got in equal]):
            walk.shuffled = True
            for key, value, got in equal:  # `==` takes true for 1, deep inside as well
                self._differing(key, value, got, walk, path, changed)

    def _differing(
        self, key: str, value: Json, got: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        mode = self.shape.mode
        if value.__class__ in _PLAIN and mode.type in ("structural", "exact"):
            node: Node = Scalar(value, value, mode, (self.at, key))
        else:
            self.opened = {} if self.opened is None else self.opened
            if key not in self.opened:
                below = self.shape.state.step(key, value, len(self.expected))
                self.opened[key] = walk.open(value, mode, below, (self.at, key))
            node = self.opened[key]
        resolved = node.walk(got, walk, (path, key))
        if resolved is not value:
            changed[key] = resolved

    def _missing(self, key: str, value: Json, walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        if not self.shape.mode.allow_missing_fields:
            walk.missing(value, (self.at, key), (path, key))
            changed[key] = ABSENT

    def _further(
        self,
        left: dict[str, Json],
        actual: dict[str, Json],
        walk: Walk,
        path: Link,
        changed: dict[str, Json],
    ) -> None:
        """What the actual object has beyond the baseline."""
        shape = self.shape
        allowed = shape.open or shape.mode.allow_additional_fields
        if allowed and shape.state.dead:
            return
        for key, value in left.items():
            if key in self.rest:
                continue
            here = shape.state.step_alone(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _resolved(self, actual: dict[str, Json], changed: dict[str, Json], moved: bool) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        if moved or not self.shape.mode.allow_field_reordering:
            resolved = {key: resolved[key] for key in actual if key in resolved} | resolved
        elif len(resolved) > len(self.expected):
            came = [key for key in actual if key in resolved]
            resolved = {key: resolved[key] for key in with_new_keys(self.expected, came)}
        if any(value is ABSENT for value in changed.values()):
            return {key: value for key, value in resolved.items() if value is not ABSENT}
        return resolved


@dataclass(slots=True, eq=False)
class Headers:
    """Response headers: names ignore case, further ones are ignored."""

    fields: Object
    optional: bool = False

    @property
    def expected(self) -> Json:
        return self.fields.expected

    @property
    def at(self) -> Link:
        return self.fields.at

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, dict):
            return walk.replaced(self.expected, actual, path, self.at)
        spelled = {key.casefold(): key for key in self.fields.expected}
        return self.fields.walk(
            {spelled.get(key.casefold(), key): value for key, value in actual.items()}, walk, path
        )


# What is literal in a stored output, judged by its bytes; and rows that are all alike, by their columns.
# No placeholder is in what is literal, so bytes can say whether something equals it. They tell the type
# of every number and the order of every key, where `==` would take true for 1. Other bytes are no
# difference yet: only then a value is looked into.

Template = Callable[[str], str | Placeholder | Inline]
Column = Callable[[Any], Any]
"""Takes the value of one column out of a row, or those of several."""

Change = tuple[int, int, Json, Json]
"""Which row, which of its literal values, what it was and what it is."""

_FEWEST = 4
_STRETCH = 16
_LITERAL_PLAIN = {str, int, float, bool}


@frozen
class Columns:
    """What rows that are all alike have in common: as many keys, under the same ones the same placeholder or
    ignored type, objects with columns of their own, and what is literal: its bytes, where they are known. A
    thousand rows take one pass in C, where a node for each would cost more than reading them did."""

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
            same = self.data is not None and is_written_as(in_one_line(rows, self.literal), self.data)
            return same and self._accept(rows, Columns.fit)
        except (KeyError, TypeError):
            return False

    def _accept(self, rows: Sequence[Json], below: Callable[["Columns", list[Json]], bool]) -> bool:
        """Whether these rows pass in what is not literal. `below`: whether the objects below pass."""
        return (
            {*map(type, rows)} == {dict}
            and {*map(len, rows)} == {self.keys}
            and all({*map(type, map(column, rows))} == {kind} for column, kind in self.ignored)
            and all(all(map(accepts, map(column, rows))) for column, accepts in self.texts)
            and all(below(columns, [*map(column, rows)]) for column, columns in self.nested)
        )

    def changed(self, rows: Sequence[Json], others: Sequence[Json]) -> list[Change] | None:
        """The literal values that are other ones in the other rows, row by row; None if those rows differ in
        more than that."""
        try:
            if not self._accept(others, Columns.fit):
                return None
            found = []
            for place, column in enumerate(map(itemgetter, self.literal)):
                before, after = [*map(column, rows)], [*map(column, others)]
                found += [(n, place, before[n], after[n]) for n in _changed(before, after)]
        except (KeyError, TypeError):
            return None
        return sorted(found, key=itemgetter(0))

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
        return self._accept(rows, Columns._accept_any_literal)

    def _all_literal(self, rows: Sequence[Json]) -> Iterator[tuple[Json, ...]]:
        """What is literal in each row, also in the objects below."""
        below = (columns._all_literal([*map(column, rows)]) for column, columns in self.nested)
        if len(self.literal) > 1:
            return zip(map(itemgetter(*self.literal), rows), *below, strict=True)
        return zip(([row[key] for key in self.literal] for row in rows), *below, strict=True)


def in_one_line(rows: Sequence[Json], keys: tuple[str, ...]) -> list[Json]:
    """The values of all rows under these keys, in one list: thousands of tuples would keep the garbage
    collector busy."""
    if len(keys) > 1:
        return [*chain.from_iterable(map(itemgetter(*keys), rows))]
    return [row[key] for row in rows for key in keys]


def _changed(before: list[Json], after: list[Json]) -> list[int]:
    """Where a column has another value."""
    found = [*compress(count(), map(ne, before, after))]
    same = after.copy()
    for n in found:
        same[n] = before[n]
    if same_types(before, same):
        return found
    return [n for n, (one, other) in enumerate(zip(before, after, strict=True)) if not identical(one, other)]


def same_types(before: list[Json], after: list[Json]) -> bool:
    """Whether equal values are of the same types as well: `==` takes true for 1, deep inside too."""
    kinds = {*map(type, before)}
    if kinds == {str}:
        return True
    if len(kinds) == 1 and kinds <= _LITERAL_PLAIN:
        return {*map(type, after)} == kinds
    data = bytes_of(before)
    return data is not None and is_written_as(after, data)


def columns_of(rows: Sequence[Json], state: State, template: Template) -> Columns | None:
    """The columns of rows, in the state in which each of them is met; None if they are not that much alike,
    or more than placeholders and ignored values is in them."""
    first = first_if_alike(rows, state)
    if first is None:
        return None
    below = state.otherwise()
    texts: list[tuple[Column, Callable[[Json], bool]]] = []
    ignored: list[tuple[Column, type]] = []
    nested: list[tuple[Column, Columns]] = []
    literal: list[str] = []
    rules: set[Rule] = set()
    try:
        for key, item in first.items():
            column, inner = itemgetter(key), None
            if key in (state.names or ()):
                inner = state.step(key, item, len(first))
                here = inner.here
                if here is not None or not isinstance(item, dict):
                    if here is None or here.ignore is None or {*map(type, map(column, rows))} != {type(item)}:
                        return None
                    rules.update(here.rules)
                    ignored.append((column, type(item)))
                    continue
            elif isinstance(item, str) and has_marker(item):
                found = template(item)
                accepts = None if isinstance(found, str) else found.alone
                if accepts is None or [*map(column, rows)].count(item) != len(rows):
                    return None
                texts.append((column, accepts))
                continue
            elif isinstance(item, dict) and shows_more(item, below.names or ()):
                inner = below
            if inner is None:
                literal.append(key)
                continue
            columns = columns_of([*map(column, rows)], inner, template)
            if columns is None:
                return None
            rules |= columns.rules
            nested.append((column, columns))
        data = literal_bytes(in_one_line(rows, tuple(literal)))
    except KeyError:  # a row has other keys
        return None
    if data is None or not below.asleep(data):
        return None
    parts = tuple(texts), tuple(ignored), tuple(nested), tuple(literal)
    return Columns(len(first), *parts, data, frozenset(rules), below)


def literal_columns(rows: Sequence[Json], state: State) -> Columns | None:
    """The columns of rows that are known to be literal, and that will hardly be met as they are: nobody needs
    their bytes."""
    first = first_if_alike(rows, state)
    if first is None:
        return None
    return Columns(len(first), (), (), (), tuple(first), None, frozenset(), state.otherwise())


def first_if_alike(rows: Sequence[Json], state: State) -> dict[str, Json] | None:
    """The first of rows that may well be all alike."""
    first = rows[0] if len(rows) >= _FEWEST else None
    if not isinstance(first, dict) or state.names is None or state.here is not None:
        return None
    alike = {*map(type, rows)} == {dict} and {*map(len, rows)} == {len(first)}
    return first if alike else None


@dataclass(slots=True, eq=False)
class ColumnarArray:
    """An array of rows that are all alike, judged by their columns. What does not pass so is looked into row
    by row, by the node that `make` gives. `ordered`: the rows stay where they are."""

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
            changed: list[Change] | None = None
            if self.columns.fit(actual):
                changed = []
            elif self.ordered and same_rows(self.expected, actual):
                changed = self.columns.changed(self.expected, actual)
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._values(changed, walk, path)
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _values(self, changed: list[Change], walk: Walk, path: Link) -> Json:
        """The array with other values where it has them, and rows that are what they were everywhere else."""
        keys, at, elsewhere, plain = self.columns.literal, self.at, path != self.at, self.mode.plain
        rows: dict[int, dict[str, Json]] = {}
        for n, number, value, got in changed:
            key = keys[number]
            place = ((at, n), key)
            where = ((path, n), key) if elsewhere else place
            if plain and value.__class__ is got.__class__ in _LITERAL_PLAIN:
                seen = walk.replaced(value, got, where, place)
            elif isinstance(value, dict | list) or self.mode.type == "semantic":
                seen = walk.open(value, self.mode, self.columns.below, place).walk(got, walk, where)
            else:
                seen = Scalar(value, value, self.mode, place).walk(got, walk, where)
            if seen is not value:
                if n not in rows:
                    rows[n] = self.expected[n].copy()
                rows[n][key] = seen
        return [rows.get(n, row) for n, row in enumerate(self.expected)] if rows else self.expected
