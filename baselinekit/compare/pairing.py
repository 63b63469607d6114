"""Which rows of two arrays belong together: by the value of a key, or by an optimal matching."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from baselinekit.compare.leaves import Elements
from baselinekit.compare.rules import Mode
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import Json
from baselinekit.placeholders.accepts import EXACT, Bindings, decimal
from baselinekit.placeholders.grammar import escape_value, holds_marker

# Which rows of two arrays belong together where their order is free: an optimal matching. First-fit is
# wrong: a loose row would take the only partner of a strict one.


_MOST_TRIES = 20_000
_MANY_TAKEN = 64
_END = -1
_WHOLE = 2**53
"""Below it a float is the number that it is written as, if that is a whole one, and no hashes collide."""
_MOST_DIGITS = 2_000


def freeze(value: Json) -> Hashable:
    """A value as a key: equal values have equal keys, 1 and 1.0 the same, true and 1 not."""
    key: Hashable = value
    kind = value.__class__
    if kind is str or value is None:
        return key
    if kind is bool:
        return (bool, value)
    if kind is dict:
        return (dict, frozenset((key, freeze(item)) for key, item in value.items()))
    if kind is list:
        return (list, *map(freeze, value))
    if (kind is int or kind is float) and -_WHOLE < value < _WHOLE:
        return key
    return _by_digits(value)


def _by_digits(number: int | float | Decimal) -> Hashable:
    """A number as it is written: `==` between the types asks for the binary value, and the hashes of long
    numbers can be made to collide."""
    exact = decimal(number)
    if not exact.is_finite() or exact.adjusted() > _MOST_DIGITS:
        return Decimal, str(exact)
    if exact == exact.to_integral_value():
        whole = int(exact)
        return whole if -_WHOLE < whole < _WHOLE else (int, str(whole))
    return float(exact) if decimal(float(exact)) == exact else (Decimal, str(exact.normalize(EXACT)))


class TooManyWays(Exception):
    """It could not be found out within the limit."""


class Flow:
    """A maximum matching of groups of rows to groups of columns (augmenting paths, breadth first). The rows
    of a group are all alike, and so are the columns of one: each pair of groups is tried once. A row keeps
    its partner or gets another one, so earlier rows go before later ones.

    `supply`: how many rows are in a group, `room`: how many columns. `candidates` gives the columns that a
    group may have at all, the same object for those with the same ones; `fits` tries a pair, and raises
    TooManyWays when it is asked too often. What has been sent by then stays."""

    def __init__(
        self,
        supply: Sequence[int],
        room: Sequence[int],
        candidates: Callable[[int], Sequence[int]],
        fits: Callable[[int, int], bool],
    ):
        self.left = list(supply)
        """How many rows of a group are without a partner."""
        self.free = list(room)
        self.sent: list[dict[int, int]] = [{} for _ in supply]
        self._takers: list[dict[int, None]] = [{} for _ in room]
        self._candidates, self._try = candidates, fits
        self._known: dict[tuple[int, int], bool] = {}
        self._free_of: dict[int, Sequence[int]] = {}
        self._hopeless: set[int] = set()

    def try_all(self) -> None:
        """Try each pair, needed or not."""
        for row in range(len(self.left)):
            for column in self._candidates(row):
                self._fits(row, column)

    def send(self, row: int) -> bool:
        """Find partners for a group of rows; whether all of them have one now."""
        candidates = self._candidates(row)
        free = self._free_of.setdefault(id(candidates), candidates)
        taken = 0
        for column in free:
            if not self.left[row]:
                break
            if not self.free[column]:
                taken += 1
            elif self._fits(row, column):
                self._move(row, column, min(self.left[row], self.free[column]))
        if taken > _MANY_TAKEN:
            self._free_of[id(candidates)] = [column for column in free if self.free[column]]
        while self.left[row]:
            if not self._augment(row):
                return False
        return True

    def _fits(self, row: int, column: int) -> bool:
        known = self._known.get((row, column))
        if known is None:
            known = self._known[row, column] = self._try(row, column)
        return known

    def _move(self, row: int, column: int, count: int) -> None:
        self.sent[row][column] = self.sent[row].get(column, 0) + count
        self._takers[column][row] = None
        self.left[row] -= count
        self.free[column] -= count

    def _augment(self, start: int) -> bool:
        """Find further partners, moving other rows on. Columns that led nowhere once never lead anywhere."""
        came_from: dict[int, int] = {}
        through: dict[int, int] = {}
        queue = deque([start])
        while queue:
            row = queue.popleft()
            for column in self._candidates(row):
                if column in came_from or column in self._hopeless or not self._fits(row, column):
                    continue
                came_from[column] = row
                if self.free[column]:
                    self._shift(start, column, came_from, through)
                    return True
                for taker in self._takers[column]:
                    if taker != start and taker not in through:
                        through[taker] = column
                        queue.append(taker)
        self._hopeless.update(came_from)
        return False

    def _shift(self, start: int, column: int, came_from: dict[int, int], through: dict[int, int]) -> None:
        path = [(came_from[column], column)]
        while path[-1][0] != start:
            before = through[path[-1][0]]
            path.append((came_from[before], before))
        passed_on = [self.sent[row][through[row]] for row, _ in path[:-1]]
        count = min(self.left[start], self.free[column], *passed_on)
        self.left[start] -= count
        self.free[column] -= count
        for row, taken in path:
            self.sent[row][taken] = self.sent[row].get(taken, 0) + count
            self._takers[taken][row] = None
            if row != start:
                given = through[row]
                self.sent[row][given] -= count
                if not self.sent[row][given]:
                    del self.sent[row][given], self._takers[given][row]


def match(rows: int, columns: int, candidates: Callable[[int], Sequence[int]]) -> dict[int, int]:
    """A maximum matching of single rows to single columns."""
    flow = Flow([1] * rows, [1] * columns, candidates, lambda row, column: True)
    for row in range(rows):
        flow.send(row)
    return {row: column for row in range(rows) for column in flow.sent[row]}


def search(
    optional: Sequence[bool],
    least: int,
    candidates: Callable[[int], Sequence[int]],
    attempt: Callable[[int, int, Bindings], Bindings | None],
    bindings: Bindings,
) -> dict[int, int] | None:
    """A matching of all rows, the optional ones if they can, and of at least so many columns, under which the
    bindings agree; None if there is none. The row with the fewest partners comes first. `attempt` gives the
    bindings after a pair, or None. Too many tries are TooManyWays: a guess would be no verdict."""
    rows = len(optional)
    order = sorted(range(rows), key=lambda row: (optional[row], len(candidates(row))))
    choices = [[*candidates(row), None] if optional[row] else [*candidates(row)] for row in order]
    chosen: list[int | None] = []
    states = [bindings]
    untried = [iter(choices[0])] if order else []
    tries = 0
    while len(chosen) < rows or rows - chosen.count(None) < least:
        column = next(untried[-1], _END) if len(chosen) < rows else _END
        if column is _END:
            if len(chosen) < rows:
                untried.pop()
            if not chosen:
                return None
            chosen.pop()
            states.pop()
            continue
        tries += 1
        if tries > _MOST_TRIES:
            raise TooManyWays
        after = _after(column, chosen, states[-1], attempt, order[len(chosen)])
        if after is not None:
            chosen.append(column)
            states.append(after)
            if len(chosen) < rows:
                untried.append(iter(choices[len(chosen)]))
    return {row: column for row, column in zip(order, chosen, strict=True) if column is not None}


def _after(
    column: int | None,
    chosen: list[int | None],
    bindings: Bindings,
    attempt: Callable[[int, int, Bindings], Bindings | None],
    row: int,
) -> Bindings | None:
    if column is None:
        return bindings  # an optional row goes without
    return None if column in chosen else attempt(row, column, bindings)


# Arrays whose elements are paired by the value of a key; their order is free.


@dataclass(slots=True, eq=False)
class Keyed:
    """Elements paired by the value of a key; their order is free."""

    expected: list[Json]
    items: tuple[Node, ...]
    key: str
    mode: Mode
    at: Link
    elements: Elements
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        before = walk.count
        places: dict[Hashable, int] = {}
        resolved: dict[int, Json] = {}
        free = self.elements.left_out(actual, walk)
        nameless = []
        for index, value in enumerate(actual):
            name = self._name(value)
            if index in free and (name is None or name in places):
                nameless.append(index)
            elif name is None or name in places:
                note = f"has no {self.key}" if name is None else f"the second with this {self.key}"
                walk.extra(value, (path, index), self.at, note)
                resolved[index] = escape_value(value)
            else:
                places[name] = index
        pairs: dict[int, int] = {}
        lost = []
        for e, node in enumerate(self.items):
            a = places.pop(self._name(node.expected), None)
            if a is None:
                lost.append(e)
            else:
                pairs[e] = a
                resolved[a] = node.walk(actual[a], walk, (path, a))
        spare = [*nameless, *(a for a in places.values() if a in free)]
        partners = self.elements.partners(lost, self.items, spare)
        for e, a in partners.items():
            pairs[e], resolved[a] = a, self.items[e].expected
        for e in self.elements.missing(lost, self.items, partners):
            walk.missing(self.items[e].expected, (self.at, e), (path, e))
        for a in places.values():
            if a in free:
                continue
            walk.extra(actual[a], (path, a), self.at)
            resolved[a] = escape_value(actual[a])
        if walk.count == before:
            return self.expected
        walk.shuffled = True
        return in_authors_order(resolved, pairs)

    def _name(self, row: Json) -> Hashable:
        return freeze(row[self.key]) if isinstance(row, dict) and self.key in row else None


def no_key(rows: Sequence[Json], key: str) -> str | None:
    """Why rows cannot be paired by a key."""
    names = [row.get(key) if isinstance(row, dict) else None for row in rows]
    if any(name is None or holds_marker(name) or isinstance(name, dict | list) for name in names):
        return f"the array cannot be paired by {key!r}: not every element has a literal {key}"
    if len({freeze(name) for name in names}) != len(names):
        return f"the array cannot be paired by {key!r}: two elements have the same {key}"
    return None


def in_authors_order(resolved: dict[int, Json], pairs: dict[int, int]) -> list[Json]:
    """The rows of an array whose order is free, those of the baseline where the author has them, then the
    further ones: what only stands elsewhere is no change."""
    place = {a: e for e, a in pairs.items()}
    return [resolved[a] for a in sorted(resolved, key=lambda a: (a not in place, place.get(a, a)))]
