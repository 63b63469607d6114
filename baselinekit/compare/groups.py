"""The rows of an array whose order is free, grouped: rows of the baseline that ask for the same, and rows of
the answer that are the same. A thousand like rows are one group, and each pair of groups is tried once."""

from collections.abc import Callable, Hashable, Mapping, Sequence, Set

from baselinekit.compare.pairing import Flow, TooManyWays, freeze
from baselinekit.compare.written import bytes_of
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.bindings import Bindings

Attempt = Callable[[int, int, Bindings], Bindings | None]
"""Which row of the baseline with which row of the answer, and the bindings before: those after, or None."""

_MOST_KEYS = 200


class Groups:
    """`rows` and `columns` are the positions that are to be paired. With `alike` equal rows of the baseline
    ask for the same. `free`: columns that need no partner; they are tried last."""

    def __init__(
        self,
        rows: Sequence[int],
        columns: Sequence[int],
        expected: Sequence[Json],
        actual: Sequence[Json],
        alike: bool,
        free: Set[int] = frozenset(),
    ):
        self.rows = _grouped(rows, expected if alike else None)
        needed = _grouped([column for column in columns if column not in free], actual)
        self.columns = needed + _grouped([column for column in columns if column in free], actual)
        self._actual = [actual[group[0]] for group in self.columns]
        self.candidates: list[Sequence[int]] = []

    def sort_out(self, literals: Callable[[int], Mapping[str, Json]]) -> None:
        """For each group of rows the groups of columns that could match it. `literals`: the values of a row
        that any partner has as they are."""
        every = range(len(self.columns))
        by_keys: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        for group in self.rows:
            stated = literals(group[0])
            keys = tuple(stated)
            if not keys:
                self.candidates.append(every)
                continue
            if keys not in by_keys:
                places = by_keys[keys] = {}
                for number, row in enumerate(self._actual):
                    if isinstance(row, dict):
                        places.setdefault(_values(row, keys), []).append(number)
            self.candidates.append(by_keys[keys].get(_values(stated, keys), ()))

    def flow(self, fits: Callable[[int, int], bool]) -> Flow:
        """Nothing is paired yet; `fits` takes the positions of a row and of a column."""
        return Flow(
            [len(group) for group in self.rows],
            [len(group) for group in self.columns],
            self.candidates.__getitem__,
            lambda row, column: fits(self.rows[row][0], self.columns[column][0]),
        )

    def pairs(self, flow: Flow) -> dict[int, int]:
        """Which row has which column now, in the order of both."""
        columns = [iter(group) for group in self.columns]
        found: dict[int, int] = {}
        for group, sent in zip(self.rows, flow.sent, strict=True):
            given = [column for column in sorted(sent) for _ in range(sent[column])]
            found.update((row, next(columns[column])) for row, column in zip(group, given, strict=False))
        return found


def _grouped(positions: Sequence[int], values: Sequence[Json] | None) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for position in positions:
        data = None if values is None else bytes_of(values[position])
        groups.setdefault(position if data is None else data, []).append(position)
    return list(groups.values())


def _values(row: Mapping[str, Json], keys: tuple[str, ...]) -> Hashable:
    return tuple([freeze(row[key]) if key in row else ABSENT for key in keys])


def agreeing(
    groups: Groups,
    keys: Mapping[int, frozenset[str]],
    bindings: Bindings,
    attempt: Attempt,
    is_whole: Callable[[dict[int, int]], bool],
) -> dict[int, int] | None:
    """The pairs under which every binding has one value, found by trying the values and not the pairs: with
    each value it is looked whether all rows still find partners. `keys`: those in each row. None if there are
    no such pairs."""
    tried: dict[tuple[int, int], bool] = {}

    def fits(row: int, column: int) -> bool:
        if (row, column) not in tried:
            tried[row, column] = attempt(row, column, bindings) is not None
        return tried[row, column]

    flow = groups.flow(fits)
    for number in range(len(groups.rows)):
        flow.send(number)
    found = groups.pairs(flow)
    if not is_whole(found):
        return None
    open_keys = [key for group in groups.rows for row in group for key in keys[row] if key not in bindings]
    if not open_keys:
        return found
    if len(set(open_keys)) > _MOST_KEYS:
        raise TooManyWays
    key = max(dict.fromkeys(open_keys), key=open_keys.count)
    number = next(number for number, group in enumerate(groups.rows) if key in keys[group[0]])
    row = groups.rows[number][0]
    met = set()
    for candidate in groups.candidates[number]:
        after = attempt(row, groups.columns[candidate][0], bindings)
        if after is None:
            continue
        value = frozenset((name, freeze(after[name])) for name in after if name not in bindings)
        if value not in met:
            met.add(value)
            found_below = agreeing(groups, keys, after, attempt, is_whole)
            if found_below is not None:
                return found_below
    return None
