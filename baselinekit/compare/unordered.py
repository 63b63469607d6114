"""Arrays whose order is free: rows are sorted into buckets by what is literal in them, then matched
optimally within a bucket. Each row has one partner, so multiplicity counts."""

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from baselinekit.compare.leaves import Elements, Scalar, is_left_out
from baselinekit.compare.literal import Columns, Literal
from baselinekit.compare.objects import Object
from baselinekit.compare.pairing import in_authors_order
from baselinekit.compare.rules import Mode
from baselinekit.compare.walk import Link, Mismatch, Node, Walk, unroll
from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.accepts import Bindings
from baselinekit.placeholders.grammar import escape_value, tokens_in
from baselinekit.tree.alignment import pair_leftovers
from baselinekit.tree.equality import bytes_of, freeze, identical, is_number
from baselinekit.tree.matching import Flow, TooManyWays, reach, search
from baselinekit.tree.paths import render

# The rows of an array whose order is free, grouped: rows of the baseline that ask for the same, and rows
# of the answer that are the same. A thousand like rows are one group, and each pair of groups is tried
# once.


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


# Arrays whose order is free: rows are sorted into buckets by what is literal in them, then matched
# optimally within a bucket. Each row has one partner, so multiplicity counts.


MOST_PAIRS = 2_000_000
_MOST_OF_MORE = 200_000
"""Of more pairs than that so many are tried: often they are enough, and else the error comes soon."""

_FEW = 200
"""Of more rows than these the bindings are settled value by value at once."""


class LazyNodes(Sequence[Node]):
    """The nodes of rows, each made when it is looked at: most rows find their partner without one."""

    def __init__(self, make: Callable[[int], Node], count: int):
        self._make, self._count = make, count
        self._nodes: dict[int, Node] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, n: Any) -> Any:
        if n not in self._nodes:
            self._nodes[n] = self._make(range(self._count)[n])
        return self._nodes[n]


@dataclass(slots=True, eq=False)
class Unordered:
    """Every row of the baseline has a partner of its own; with `subset` further rows may be there. `columns`:
    those of rows that are all alike. `uniform`: the same rules hold for all rows."""

    expected: list[Json]
    items: Sequence[Node]
    mode: Mode
    at: Link
    subset: bool = False
    bindings: bool = False
    columns: Columns | None = None
    uniform: bool = False
    elements: Elements | None = None
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        before = walk.count
        elements = self.elements if self.elements and self.elements.state.tells_apart else None
        free = elements.left_out(actual, walk) if elements else frozenset[int]()
        pairs = self._alike(actual, walk)
        pairs |= self._same_literals(actual, pairs, free)
        taken = set(pairs.values())
        rows = [e for e in range(len(self.items)) if e not in pairs]
        aside = {e for e in rows if is_left_out(self.items[e])} if elements else ()
        rows = [e for e in rows if e not in aside] if aside else rows
        rows.sort(key=lambda e: self.items[e].optional)  # who must have a partner chooses first
        columns = [a for a in range(len(actual)) if a not in taken]
        found = self._match(rows, columns, actual, walk, path, free)
        resolved: dict[int, Json] = {}
        if walk.bound or not walk.halting:  # else they have been walked, and leave nothing behind
            for e, a in sorted(found.items()):
                resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
        used = set(found.values())
        lost = [e for e in rows if e not in found]
        if elements and aside:
            spare = [a for a in columns if a in free and a not in used]
            partners = elements.partners(sorted(aside), self.items, spare)
            lost += elements.missing(sorted(aside), self.items, partners)
            pairs |= partners
        likely = self._leftovers(
            lost,
            [a for a in columns if a not in used and a not in free],
            actual,
            walk,
            path,
            resolved,
        )
        if walk.count == before:
            return self.expected
        walk.shuffled = True
        resolved |= {a: self.expected[e] for e, a in pairs.items()}
        return in_authors_order(resolved, {**pairs, **found, **likely})

    def _alike(self, actual: list[Json], walk: Walk) -> dict[int, int]:
        """Rows that are all alike take those with the same literal values: whatever else is in them passes in
        any of them."""
        if self.columns is None or not self.mode.only_equal_rows_match:
            return {}
        pairs = self.columns.pairs(self.expected, actual)
        if pairs:
            walk.hits.update(self.columns.rules)
        return pairs

    def _same_literals(self, actual: list[Json], pairs: dict[int, int], free: Set[int]) -> dict[int, int]:
        """Literal rows that are not yet paired take equal rows: where those are all alike, it does not matter
        which, but that those which need a partner come first. `free`: those which need none."""
        rows = (e for e in range(len(self.items)) if e not in pairs)
        wanted = {e: key for e in rows if (key := _literal_row(self.items[e])) is not None}
        if not wanted:
            return {}
        taken = set(pairs.values())
        places: dict[Hashable, list[int]] = {}
        order = range(len(actual) - 1, -1, -1)
        for a in sorted(order, key=lambda a: a not in free) if free else order:
            if a in taken:
                continue
            places.setdefault(freeze(actual[a]), []).append(a)
        for key, equal in places.items():  # 1 and 1.0 are equal, and not alike for a placeholder
            if len(equal) > 1 and not all(identical(actual[equal[0]], actual[a]) for a in equal[1:]):
                places[key] = []
        return {e: left.pop() for e, key in wanted.items() if (left := places.get(key))}

    def _match(
        self,
        rows: list[int],
        columns: list[int],
        actual: list[Json],
        walk: Walk,
        path: Link,
        free: Set[int],
    ) -> dict[int, int]:
        """Nobody is asked about texts that need not be alike: first the pairs are looked for without. `free`:
        the columns that a rule leaves out, which need no partner."""
        if not rows:
            return {}
        alike = self.uniform and self.mode.type != "semantic"
        groups = Groups(rows, columns, self.expected, actual, alike, free)
        groups.sort_out(lambda e: _literal_values(self.items[e]))
        pairs = sum(map(len, groups.candidates))
        trials = _Trials(self.items, actual, walk, path, MOST_PAIRS if pairs <= MOST_PAIRS else _MOST_OF_MORE)
        asking, unsure = walk.asking, walk.unsure
        walk.asking = False
        found: dict[int, int] | None = None
        try:
            with suppress(Mismatch):
                found = self._paired(groups, rows, columns, walk, trials, free)
        finally:
            walk.asking = asking
        settled = found is not None and self._whole(found, rows, columns, free)
        if asking and walk.unsure != unsure and not settled:
            return self._paired(groups, rows, columns, walk, trials, free)
        if found is None:
            raise Mismatch
        return found

    def _whole(self, found: dict[int, int], rows: list[int], columns: list[int], free: Set[int]) -> bool:
        alone = any(e not in found and not self.items[e].optional for e in rows)
        return not alone and (self.subset or not {*columns} - free - {*found.values()})

    def _paired(
        self,
        groups: Groups,
        rows: list[int],
        columns: list[int],
        walk: Walk,
        trials: "_Trials",
        free: Set[int],
    ) -> dict[int, int]:
        """As many pairs as there can be. What is known to differ is told to differ, even where not all pairs
        can be tried: then those that were found do for the report."""
        required = sum(not self.items[e].optional for e in rows)
        needed = [] if self.subset else [a for a in columns if a not in free]
        differs = required > len(columns) or len(needed) > len(rows)
        differs = differs or any(
            not candidates and not self.items[group[0]].optional
            for group, candidates in zip(groups.rows, groups.candidates, strict=True)
        )
        flow = groups.flow(trials.fits)
        try:
            if walk.asking:
                flow.try_all()  # so that all questions are put at once
            for number, group in enumerate(groups.rows):
                if walk.halting and differs:
                    raise Mismatch
                differs |= not flow.send(number) and not self.items[group[0]].optional
        except TooManyWays:
            if not differs and not self._overfull(groups):
                raise trials.limit() from None
        found = groups.pairs(flow)
        if free and needed and not differs:
            found = self._reaching(found, groups, rows, needed, trials)
        if not self.bindings or not self._whole(found, rows, columns, free):
            return found
        return self._consistent(groups, rows, columns, walk, trials, free) or found

    def _reaching(
        self,
        found: dict[int, int],
        groups: Groups,
        rows: list[int],
        needed: list[int],
        trials: "_Trials",
    ) -> dict[int, int]:
        """The same number of pairs, with as many of the columns that need a partner as possible."""
        number = {row: n for n, row in enumerate(rows)}
        pairs = {number[row]: column for row, column in found.items()}
        try:
            partners = self._partners(groups, rows, trials)
        except TooManyWays:
            raise trials.limit() from None
        pairs = reach(pairs, needed, partners)
        return {rows[n]: column for n, column in pairs.items()}

    def _overfull(self, groups: Groups) -> bool:
        """Whether more rows than there are need their partners among the same columns."""
        needed: dict[int, int] = {}
        for group, candidates in zip(groups.rows, groups.candidates, strict=True):
            if not self.items[group[0]].optional:
                needed[id(candidates)] = needed.get(id(candidates), 0) + len(group)
        held = {id(columns): sum(len(groups.columns[c]) for c in columns) for columns in groups.candidates}
        return any(count > held[columns] for columns, count in needed.items())

    def _partners(self, groups: Groups, rows: list[int], trials: "_Trials") -> list[list[int]]:
        """The columns that match each row, the bindings between them left aside."""
        where = {
            row: [column for number in candidates for column in groups.columns[number]]
            for group, candidates in zip(groups.rows, groups.candidates, strict=True)
            for row in group
        }
        return [[column for column in where[row] if trials.fits(row, column)] for row in rows]

    def _consistent(
        self,
        groups: Groups,
        rows: list[int],
        columns: list[int],
        walk: Walk,
        trials: "_Trials",
        free: Set[int],
    ) -> dict[int, int] | None:
        """A matching under which every binding has one value: row by row, and where that leads to too many
        ways, value by value."""
        try:
            if len(rows) > _FEW:
                raise TooManyWays
            partners = self._partners(groups, rows, trials)
            found = search(
                [self.items[e].optional for e in rows],
                0 if self.subset or free else len(columns),
                partners.__getitem__,
                lambda row, column, bindings: trials.after(rows[row], column, bindings),
                walk.bindings,
            )
            return None if found is None else {rows[row]: column for row, column in found.items()}
        except TooManyWays:
            keys = {e: frozenset(t.key for t in tokens_in(self.expected[e]) if t.key) for e in rows}
        if any(self.items[e].optional for e in rows):
            raise trials.limit()
        try:
            return agreeing(
                groups,
                keys,
                walk.bindings,
                trials.after,
                lambda found: self._whole(found, rows, columns, free),
            )
        except (TooManyWays, RecursionError):
            raise trials.limit() from None

    def _leftovers(
        self,
        missing: list[int],
        extra: list[int],
        actual: list[Json],
        walk: Walk,
        path: Link,
        resolved: dict[int, Json],
    ) -> dict[int, int]:
        """Tell what has no partner, and of that the likeliest pairs by what differs in them."""
        missing = [e for e in missing if not self.items[e].optional]
        if walk.halting and (missing or (extra and not self.subset)):
            raise Mismatch
        likely = pair_leftovers([self.expected[e] for e in missing], [actual[a] for a in extra])
        for e, a in likely:
            resolved[extra[a]] = self.items[missing[e]].walk(actual[extra[a]], walk, (path, extra[a]))
        lost = {e for e, _ in likely}
        for e, position in enumerate(missing):
            if e not in lost:
                walk.missing(self.expected[position], (self.at, position), (path, position))
        found = {a for _, a in likely}
        for a, position in enumerate(extra):
            if a not in found and not self.subset:
                walk.extra(actual[position], (path, position), self.at)
                resolved[position] = escape_value(actual[position])
        return {missing[e]: extra[a] for e, a in likely}


def _literal_row(node: Node) -> Hashable | None:
    """The key of the only rows that can match here, if equal ones alone can."""
    if isinstance(node, Literal) and node.state.dead and node.mode.only_equal_rows_match:
        return freeze(node.expected)
    if isinstance(node, Scalar) and node.mode.only_equal_rows_match and node.value is not None:
        return freeze(node.value)
    return None


def _literal_values(node: Node) -> dict[str, Json]:
    """The values that any row matching here has as they are."""
    if not isinstance(node, Object | Literal) or not node.mode.literal_keys_decide:
        return {}
    numbers = node.mode.tolerance is None
    untouched = isinstance(node, Object) and node.data is not None and node.mode.only_equal_rows_match
    return {
        key: value
        for key, value in node.rest.items()
        if isinstance(value, str | bool) or (numbers and is_number(value)) or untouched
    }


class _Trials:
    """Tries whether rows match, up to a limit."""

    def __init__(self, items: Sequence[Node], actual: list[Json], walk: Walk, path: Link, most: int):
        self._most = most
        self._items, self._actual, self._walk, self._path = items, actual, walk, path
        self._count = 0

    def fits(self, row: int, column: int) -> bool:
        self._counted()
        return self._walk.matches(self._items[row], self._actual[column])

    def after(self, row: int, column: int, bindings: Bindings) -> Bindings | None:
        """The bindings after a pair, from those before it."""
        self._counted()
        walk = self._walk
        outer, walk.bindings = walk.bindings, bindings
        try:
            return walk.bindings_after(self._items[row], self._actual[column])
        finally:
            walk.bindings = outer

    def _counted(self) -> None:
        self._count += 1
        if self._count > self._most:
            raise TooManyWays

    def limit(self) -> CannotReplay:
        what = f"the array {render(unroll(self._path))} has too many rows that only a trial can tell apart"
        return CannotReplay(Problem("BK231", what, "pair them by a key: arrays: {path: {by: id}}"))
