"""Which rows of two arrays belong together where their order is free: an optimal matching. First-fit is
wrong: a loose row would take the only partner of a strict one."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.values import Json
from baselinekit.placeholders.bindings import Bindings
from baselinekit.placeholders.kinds import EXACT, decimal

_MOST_TRIES = 20_000
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


def match(rows: int, columns: int, candidates: Callable[[int], Sequence[int]]) -> dict[int, int]:
    """A maximum matching of rows to columns (augmenting paths, breadth first). A row keeps its partner or
    gets another one, so earlier rows go before later ones."""
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    hopeless: set[int] = set()
    for row in range(rows):
        free = next((column for column in candidates(row) if column not in row_of), None)
        if free is not None:
            row_of[free], column_of[row] = row, free
        else:
            _augment(row, candidates, row_of, column_of, hopeless)
    return column_of


def _augment(
    start: int,
    candidates: Callable[[int], Sequence[int]],
    row_of: dict[int, int],
    column_of: dict[int, int],
    hopeless: set[int],
) -> None:
    """Find the row a partner, moving others on. Columns that led nowhere once will lead nowhere again."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        row = queue.popleft()
        for column in candidates(row):
            if column in came_from or column in hopeless:
                continue
            came_from[column] = row
            if column in row_of:
                queue.append(row_of[column])
                continue
            while True:
                row = came_from[column]
                before = column_of.get(row)
                row_of[column], column_of[row] = row, column
                if before is None:
                    return
                column = before
    hopeless.update(came_from)


def search(
    optional: Sequence[bool],
    least: int,
    candidates: Callable[[int], Sequence[int]],
    attempt: Callable[[int, int, Bindings], Bindings | None],
    bindings: Bindings,
) -> dict[int, int] | None:
    """A matching of all rows, the optional ones if they can, and of at least so many columns, under which the
    bindings agree; None if there is none. The row with the fewest partners comes first. `attempt` gives the
    bindings after a pair, or None. Too many tries are an error: a guess would be no verdict."""
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
            what = "there are too many ways to bind the rows of an unordered array"
            raise CannotReplay(Problem("BK231", what, "pair them by a key: arrays: {path: {by: id}}"))
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
