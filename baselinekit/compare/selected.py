"""What a filter, an index or a slice selects: that may be one thing in the baseline and another in what came
back. A pair is left out of the comparison only where both of it are selected; what has no partner is judged
by where it stands."""

from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, field

from baselinekit.compare.leaves import Ignored
from baselinekit.compare.rules import Side, State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import Json

_NOBODY: Set[int] = frozenset()


@dataclass(slots=True, eq=False)
class Selected:
    """A value for which a filter holds, or may hold since it reads a placeholder. `own`: its node as if the
    filter held for what came back as well; `make` gives the node for any other case."""

    own: Node
    usual: State
    outer: State
    stored: Side
    make: Callable[[State], Node]
    made: dict[State, Node] = field(default_factory=dict)

    @property
    def expected(self) -> Json:
        return self.own.expected

    @property
    def at(self) -> Link:
        return self.own.at

    @property
    def optional(self) -> bool:
        return self.own.optional

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        return self.seen_with(Side(self.stored.key, actual, self.stored.size)).walk(actual, walk, path)

    def seen_with(self, came: Side) -> Node:
        """The node for what came back."""
        state = self.outer.step_both(self.stored, came)
        if state is self.usual:
            return self.own
        if state not in self.made:
            self.made[state] = self.make(state)
        return self.made[state]


@dataclass(slots=True, eq=False)
class Elements:
    """The elements of an array, in the state of that array. `make` gives the node of one of them in a state
    of its own, `any_number`: a rule leaves out all of them, so that none has to be there."""

    expected: Sequence[Json]
    state: State
    make: Callable[[int, State], Node]
    any_number: bool = False
    made: dict[tuple[int, State], Node] = field(default_factory=dict)

    def seen_with(self, e: int, stored: tuple[int, int], came: Side) -> Node:
        """The node of an element for what came back. `stored`: as which of how many elements it counts."""
        state = self.state.step_both(Side(stored[0], self.expected[e], stored[1]), came)
        key = (e, state)
        if key not in self.made:
            self.made[key] = self.make(e, state)
        return self.made[key]

    def left_out(self, actual: Sequence[Json], walk: Walk) -> Set[int]:
        """The actual elements that a rule leaves out, by where each of them stands."""
        if not self.state.tells_apart:
            return _NOBODY
        found = set()
        for a, value in enumerate(actual):
            here = self.state.step_alone(a, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
                if here.ignore is not None:
                    found.add(a)
        return found

    def partners(self, lost: Sequence[int], items: Sequence[Node], spare: Sequence[int]) -> dict[int, int]:
        """Which actual elements that are left out stand for those of the baseline that are: first for one
        whose value does not count, but that has to be there."""
        aside = [e for e in lost if is_left_out(items[e])]
        aside.sort(key=lambda e: items[e].optional)
        return dict(zip(sorted(aside[: len(spare)]), spare, strict=False))

    def missing(self, lost: Sequence[int], items: Sequence[Node], partners: Container[int]) -> list[int]:
        """The elements without a partner that have to be there."""
        free = self.any_number
        must = [e for e in lost if e not in partners and not items[e].optional]
        return [e for e in must if not (free and is_left_out(items[e]))]


def is_left_out(node: Node) -> bool:
    """Whether a rule leaves out an element of the baseline, as it stands there."""
    return isinstance(node.own if isinstance(node, Selected) else node, Ignored)


def reach(
    found: dict[int, int], rows: int, needed: Sequence[int], partners: Callable[[int], Sequence[int]]
) -> dict[int, int]:
    """The matching of rows to columns, changed so that as many of the needed columns as can be have a row. No
    row loses its partner for none."""
    takers: dict[int, list[int]] = {}
    for row in range(rows):
        for column in partners(row):
            takers.setdefault(column, []).append(row)
    must, column_of = set(needed), dict(found)
    taken = set(found.values())
    for start in needed:
        if start in taken:
            continue
        came_from: dict[int, tuple[int, int] | None] = {start: None}
        queue = [start]
        for column in queue:
            end = _next_columns(column, takers.get(column, ()), column_of, must, came_from, queue)
            if end is not None:
                row, step = end, column
                while True:
                    column_of[row] = step
                    origin = came_from[step]
                    if origin is None:
                        break
                    row, step = origin
                break
    return column_of


def _next_columns(
    column: int,
    takers: Sequence[int],
    column_of: dict[int, int],
    must: set[int],
    came_from: dict[int, tuple[int, int] | None],
    queue: list[int],
) -> int | None:
    """A row that can take the column at once: it is free, or what it has need not be taken. Else the columns
    of those rows are put into the queue."""
    for row in takers:
        had = column_of.get(row)
        if had is None or had not in must:
            return row
        if had not in came_from:
            came_from[had] = (row, column)
            queue.append(had)
    return None
