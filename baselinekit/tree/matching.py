"""Which rows get which columns: optimal matchings. First-fit is wrong: a loose row would take the only
partner of a strict one."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

_MOST_TRIES = 20_000
_MANY_TAKEN = 64
_END = -1

State = TypeVar("State")


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
                count = min(self.left[row], self.free[column])
                self.sent[row][column] = self.sent[row].get(column, 0) + count
                self._takers[column][row] = None
                self.left[row] -= count
                self.free[column] -= count
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


def search(
    optional: Sequence[bool],
    least: int,
    candidates: Callable[[int], Sequence[int]],
    attempt: Callable[[int, int, State], State | None],
    state: State,
) -> dict[int, int] | None:
    """A matching of all rows, the optional ones if they can, and of at least so many columns, whose pairs do
    not contradict each other; None if there is none. `attempt` gives the state after a pair, or None if the
    pair contradicts the state before it. The row with the fewest candidates comes first. Too many tries are
    TooManyWays: a guess would be no verdict."""
    rows = len(optional)
    order = sorted(range(rows), key=lambda row: (optional[row], len(candidates(row))))
    choices = [[*candidates(row), *([None] if optional[row] else [])] for row in order]
    chosen: list[int | None] = []
    states = [state]
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
        if column is None:  # an optional row goes without
            after: State | None = states[-1]
        else:
            after = None if column in chosen else attempt(order[len(chosen)], column, states[-1])
        if after is not None:
            chosen.append(column)
            states.append(after)
            if len(chosen) < rows:
                untried.append(iter(choices[len(chosen)]))
    return {row: column for row, column in zip(order, chosen, strict=True) if column is not None}


def reach(
    found: dict[int, int], needed: Sequence[int], partners: Mapping[int, Sequence[int]]
) -> dict[int, int]:
    """The matching of rows to columns, changed so that as many of the needed columns as can be have a row. No
    row loses its partner for none. `partners`: the columns that each row may have."""
    takers: dict[int, list[int]] = defaultdict(list)
    for row, columns in partners.items():
        for column in columns:
            takers[column].append(row)
    must, taken, column_of = {*needed}, {*found.values()}, dict(found)
    for start in needed:
        came_from: dict[int, tuple[int, int] | None] = {start: None}
        queue = [] if start in taken else [start]
        for column in queue:  # it grows meanwhile
            rows = takers.get(column, ())
            end = next((row for row in rows if column_of.get(row) not in must), None)
            if end is not None:  # this row has no partner, or one that need not be taken
                link: tuple[int, int] | None = (end, column)
                while link is not None:
                    column_of[link[0]] = link[1]
                    link = came_from[link[1]]
                break
            for row in rows:
                if column_of[row] not in came_from:
                    came_from[column_of[row]] = (row, column)
                    queue.append(column_of[row])
    return column_of
