"""Arrays whose order is free. Literal rows find equal rows by a key; other rows are grouped by their literal
values and matched optimally. Each row has one partner, so multiplicity counts."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from contextlib import suppress
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.matching.arrays import Elements, is_left_out
from baselinekit.matching.keyed import in_authors_order
from baselinekit.matching.objects import Object
from baselinekit.matching.rules import Mode
from baselinekit.matching.values import Link, Literal, Mismatch, Node, Scalar, Walk, unroll
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import Bindings, escape_value, tokens_in
from baselinekit.placeholders.template import Placeholder
from baselinekit.structs import MutableStruct
from baselinekit.values.alignment import Flow, TooManyWays, pair_leftovers, reach, search
from baselinekit.values.equality import bytes_of, decimal, freeze, identical, is_number
from baselinekit.values.paths import render

MOST_PAIRS = 2_000_000
_MOST_TRIED_OF_MORE = 200_000
"""If there are more pairs, this many are tried: often they are enough, and otherwise the error comes soon."""

_MOST_ROWS_TO_SEARCH = 200
"""With more rows, bindings are settled value by value without trying row by row first."""

_MOST_KEYS = 200
_LEAST_COLUMNS = 16


class Unordered(MutableStruct):
    """An array in which every row of the baseline needs a partner of its own; with `subset` there may be
    further rows. `bindings`: some rows bind values. `classes`: equal rows of one class match the same
    values."""

    expected: list[Json]
    items: Sequence[Node]
    mode: Mode
    at: Link
    subset: bool = False
    bindings: bool = False
    classes: Sequence[Hashable] | None = None
    elements: Elements | None = None
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        before = walk.count
        elements = self.elements if self.elements and self.elements.state.distinguishes_elements else None
        ignored = elements.left_out(actual, walk) if elements else frozenset[int]()
        pairs = self._same_literals(actual, ignored)
        taken = set(pairs.values())
        rows = [e for e in range(len(self.items)) if e not in pairs]
        left_out = [e for e in rows if is_left_out(self.items[e])] if elements else []
        if left_out:
            rows = sorted({*rows} - {*left_out})
        rows.sort(key=lambda e: self.items[e].optional)  # rows that must have a partner choose first
        columns = [a for a in range(len(actual)) if a not in taken]
        matched = _RowPairing(self, rows, columns, actual, walk, path, ignored).match() if rows else {}
        resolved: dict[int, Json] = {}
        if walk.has_bindings or not walk.fail_fast:  # else they were walked already, without further effect
            for e, a in sorted(matched.items()):
                resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
        used = set(matched.values())
        unpaired = [e for e in rows if e not in matched]
        if elements and left_out:
            spare = [a for a in columns if a in ignored and a not in used]
            partners = elements.partners(left_out, self.items, spare)
            unpaired += elements.missing(left_out, self.items, partners)
            pairs |= partners
        extra = [a for a in columns if a not in used and a not in ignored]
        likely = self._leftovers(unpaired, extra, actual, walk, path, resolved)
        if walk.count == before:
            return self.expected
        walk.shuffled = True
        resolved |= {a: self.expected[e] for e, a in pairs.items()}
        return in_authors_order(resolved, {**pairs, **matched, **likely})

    def _same_literals(self, actual: list[Json], ignored: Set[int]) -> dict[int, int]:
        """Pair literal rows with equal rows. It does not matter which of them, except that actual rows that
        need a partner come first; those in `ignored` need none."""
        literal_keys = {e: key for e, node in enumerate(self.items) if (key := literal_row(node)) is not None}
        if not literal_keys:
            return {}
        places: dict[Hashable, list[int]] = {}
        order = range(len(actual) - 1, -1, -1)
        for a in sorted(order, key=lambda a: a not in ignored) if ignored else order:
            places.setdefault(freeze(actual[a]), []).append(a)
        for key, equal in places.items():  # 1 and 1.0 are equal, but not the same for a placeholder
            if len(equal) > 1 and not all(identical(actual[equal[0]], actual[a]) for a in equal[1:]):
                places[key] = []
        return {e: remaining.pop() for e, key in literal_keys.items() if (remaining := places.get(key))}

    def _leftovers(
        self,
        missing: list[int],
        extra: list[int],
        actual: list[Json],
        walk: Walk,
        path: Link,
        resolved: dict[int, Json],
    ) -> dict[int, int]:
        """Report the rows without a partner; the likeliest pairs of these are reported by their
        differences."""
        missing = [e for e in missing if not self.items[e].optional]
        if walk.fail_fast and (missing or (extra and not self.subset)):
            raise Mismatch
        likely = pair_leftovers([self.expected[e] for e in missing], [actual[a] for a in extra])
        pairs = {missing[e]: extra[a] for e, a in likely}
        for e, a in pairs.items():
            resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
        for e in missing:
            if e not in pairs:
                walk.missing(self.expected[e], (self.at, e), (path, e))
        paired = set(pairs.values())
        for a in extra:
            if a not in paired and not self.subset:
                walk.extra(actual[a], (path, a), self.at)
                resolved[a] = escape_value(actual[a])
        return pairs


def literal_row(node: Node) -> Hashable | None:
    """The key of the rows that can match here, if only equal rows can; else None."""
    if isinstance(node, Literal) and node.state.dead and node.mode.only_equal_rows_match:
        return freeze(node.expected)
    if isinstance(node, Scalar) and node.mode.only_equal_rows_match and node.value is not None:
        return freeze(node.value)
    return None


def literal_values(node: Node) -> dict[str, Json]:
    """The literal values that every row matching here must have."""
    if not isinstance(node, Object | Literal) or not node.mode.literal_keys_decide:
        return {}
    numbers = node.mode.tolerance is None
    untouched = isinstance(node, Object) and node.mode.only_equal_rows_match
    return {
        key: value
        for key, value in node.literal_fields.items()
        if isinstance(value, str | bool) or (numbers and is_number(value)) or untouched
    }


class _RowPairing:
    """Pairs the rows of a baseline (`rows`, by position) with those of an answer (`columns`), with a limited
    number of trials. `ignored`: columns that a rule leaves out; they need no partner and are tried last.

    Rows that match the same values form a group, and so do equal columns: a thousand equal rows are one
    group, and each pair of groups is tried once."""

    def __init__(
        self,
        node: Unordered,
        rows: list[int],
        columns: list[int],
        actual: list[Json],
        walk: Walk,
        path: Link,
        ignored: Set[int],
    ):
        self.node, self.items, self.rows, self.columns = node, node.items, rows, columns
        self.actual, self.walk, self.path, self.ignored = actual, walk, path, ignored
        self.needed = [] if node.subset else [a for a in columns if a not in ignored]
        self.row_groups = _group_equal(rows, node.expected, node.classes)
        self.column_groups = _group_equal([column for column in columns if column not in ignored], actual)
        self.column_groups += _group_equal([column for column in columns if column in ignored], actual)
        self.candidates = self.find_candidates()
        """For each group of rows, the groups of columns that could match it."""
        pairs = sum(map(len, self.candidates))
        self.trials_left = MOST_PAIRS if pairs <= MOST_PAIRS else _MOST_TRIED_OF_MORE

    def match(self) -> dict[int, int]:
        """Find as many pairs as possible: first without asking how similar texts are, so that no question is
        asked about texts whose similarity does not matter."""
        walk = self.walk
        collecting, deferred = walk.collecting_questions, walk.deferred
        walk.collecting_questions = False
        pairs: dict[int, int] | None = None
        try:
            with suppress(Mismatch):
                pairs = self.find_pairs()
        finally:
            walk.collecting_questions = collecting
        settled = pairs is not None and self.is_complete(pairs)
        if collecting and walk.deferred != deferred and not settled:
            return self.find_pairs()
        if pairs is None:
            raise Mismatch
        return pairs

    def is_complete(self, pairs: dict[int, int]) -> bool:
        """Whether every row and every column that must have a partner has one."""
        lacks_partner = any(e not in pairs and not self.items[e].optional for e in self.rows)
        return not lacks_partner and not {*self.needed} - {*pairs.values()}

    def fits(self, row: int, column: int) -> bool:
        self.count_trial()
        node, actual = self.items[row], self.actual[column]
        refused = isinstance(node, Object) and node.refuses(actual)
        return not refused and self.walk.matches(node, actual)

    def bindings_after(self, row: int, column: int, bindings: Bindings) -> Bindings | None:
        """The bindings after a pair, from those before it; None if they do not match."""
        self.count_trial()
        return self.walk.bindings_after(self.items[row], self.actual[column], bindings)

    def count_trial(self) -> None:
        self.trials_left -= 1
        if self.trials_left < 0:
            raise TooManyWays

    def limit_error(self) -> CannotReplay:
        message = (
            f"the array {render(unroll(self.path))} has too many rows that can only be told apart by trial"
        )
        return CannotReplay(Problem("BK231", message, "pair them by a key: arrays: {path: {by: id}}"))

    def find_candidates(self) -> list[Sequence[int]]:
        all_groups = range(len(self.column_groups))
        candidates: list[Sequence[int]] = []
        by_keys: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        ranges = _Ranges([self.actual[columns[0]] for columns in self.column_groups])
        for group in self.row_groups:
            literals = literal_values(self.items[group[0]])
            keys = tuple(literals)
            if not keys:
                candidates.append(ranges.candidates(self.items[group[0]], all_groups))
                continue
            if keys not in by_keys:
                places = by_keys[keys] = {}
                for number, columns in enumerate(self.column_groups):
                    row = self.actual[columns[0]]
                    if isinstance(row, dict):
                        places.setdefault(_key_values(row, keys), []).append(number)
            same = by_keys[keys].get(_key_values(literals, keys), ())
            candidates.append(ranges.candidates(self.items[group[0]], same))
        return candidates

    def flow(self, fits: Callable[[int, int], bool]) -> Flow:
        """A flow in which nothing is paired yet; `fits` takes the positions of a row and of a column."""
        return Flow(
            [len(group) for group in self.row_groups],
            [len(group) for group in self.column_groups],
            self.candidates.__getitem__,
            lambda row, column: fits(self.row_groups[row][0], self.column_groups[column][0]),
        )

    def pairs_of(self, flow: Flow) -> dict[int, int]:
        """The pairs of rows and columns in a flow, in the order of both."""
        columns = [iter(group) for group in self.column_groups]
        pairs: dict[int, int] = {}
        for group, sent in zip(self.row_groups, flow.sent, strict=True):
            assigned = [column for column in sorted(sent) for _ in range(sent[column])]
            pairs.update((row, next(columns[column])) for row, column in zip(group, assigned, strict=False))
        return pairs

    def find_pairs(self) -> dict[int, int]:
        """Find the pairs. If the arrays surely differ, the pairs found so far are enough for the report even
        when not all pairs can be tried."""
        walk, items = self.walk, self.items
        required = sum(not items[e].optional for e in self.rows)
        differs = required > len(self.columns) or len(self.needed) > len(self.rows)
        differs = differs or any(
            not candidates and not items[group[0]].optional
            for group, candidates in zip(self.row_groups, self.candidates, strict=True)
        )
        flow = self.flow(self.fits)
        try:
            if walk.collecting_questions:
                flow.try_all()  # so that all questions are asked at once
            for number, group in enumerate(self.row_groups):
                if walk.fail_fast and differs:
                    raise Mismatch
                differs |= not flow.send(number) and not items[group[0]].optional
        except TooManyWays:
            if not differs and not self.has_too_few_columns():
                raise self.limit_error() from None
        pairs = self.pairs_of(flow)
        if self.ignored and self.needed and not differs:
            try:
                partners = dict(zip(self.rows, self.partners(), strict=True))
            except TooManyWays:
                raise self.limit_error() from None
            pairs = reach(pairs, self.needed, partners)
        if not self.node.bindings or not self.is_complete(pairs):
            return pairs
        return self.find_consistent() or pairs

    def has_too_few_columns(self) -> bool:
        """Whether some set of columns is too small for the rows that need their partners in it."""
        needed: dict[int, int] = {}
        for group, candidates in zip(self.row_groups, self.candidates, strict=True):
            if not self.items[group[0]].optional:
                needed[id(candidates)] = needed.get(id(candidates), 0) + len(group)
        available = {
            id(columns): sum(len(self.column_groups[c]) for c in columns) for columns in self.candidates
        }
        return any(count > available[columns] for columns, count in needed.items())

    def partners(self) -> list[list[int]]:
        """The columns that match each row, without regard to bindings between rows."""
        columns_by_row = {
            row: [column for number in candidates for column in self.column_groups[number]]
            for group, candidates in zip(self.row_groups, self.candidates, strict=True)
            for row in group
        }
        return [[column for column in columns_by_row[row] if self.fits(row, column)] for row in self.rows]

    def find_consistent(self) -> dict[int, int] | None:
        """A matching in which every binding has one value: found row by row, or value by value where there
        are too many ways."""
        rows = self.rows
        try:
            if len(rows) > _MOST_ROWS_TO_SEARCH:
                raise TooManyWays
            pairs = search(
                [self.items[e].optional for e in rows],
                0 if self.node.subset or self.ignored else len(self.columns),
                self.partners().__getitem__,
                lambda row, column, bindings: self.bindings_after(rows[row], column, bindings),
                self.walk.bindings,
            )
            return None if pairs is None else {rows[row]: column for row, column in pairs.items()}
        except TooManyWays:
            keys = {e: frozenset(t.key for t in tokens_in(self.node.expected[e]) if t.key) for e in rows}
        if any(self.items[e].optional for e in rows):
            raise self.limit_error()
        try:
            return self.find_agreeing(keys, self.walk.bindings)
        except (TooManyWays, RecursionError):
            raise self.limit_error() from None

    def find_agreeing(self, keys: Mapping[int, frozenset[str]], bindings: Bindings) -> dict[int, int] | None:
        """Pairs in which every binding has one value, found by trying values and not pairs: for each value it
        is checked whether all rows still find partners. `keys`: the binding keys in each row. None if there
        are no such pairs."""
        tried: dict[tuple[int, int], bool] = {}

        def fits(row: int, column: int) -> bool:
            if (row, column) not in tried:
                tried[row, column] = self.bindings_after(row, column, bindings) is not None
            return tried[row, column]

        flow = self.flow(fits)
        for number in range(len(self.row_groups)):
            flow.send(number)
        initial_pairs = self.pairs_of(flow)
        if not self.is_complete(initial_pairs):
            return None
        positions = [row for group in self.row_groups for row in group]
        open_keys = [key for row in positions for key in keys[row] if key not in bindings]
        if not open_keys:
            return initial_pairs
        if len(set(open_keys)) > _MOST_KEYS:
            raise TooManyWays
        key = max(dict.fromkeys(open_keys), key=open_keys.count)
        number = next(number for number, group in enumerate(self.row_groups) if key in keys[group[0]])
        seen_values = set()
        for candidate in self.candidates[number]:
            after = self.bindings_after(
                self.row_groups[number][0], self.column_groups[candidate][0], bindings
            )
            if after is None:
                continue
            value = frozenset((name, freeze(after[name])) for name in after if name not in bindings)
            if value not in seen_values:
                seen_values.add(value)
                pairs = self.find_agreeing(keys, after)
                if pairs is not None:
                    return pairs
        return None


class _Ranges:
    """Finds the values whose numbers are in the ranges that the placeholders of a row state: where rows
    differ in little else, every row would otherwise be tried with every value."""

    def __init__(self, values: Sequence[Json]):
        self._values = values
        self._sorted: dict[str, tuple[list[Decimal], list[int]]] = {}

    def candidates(self, node: Node, among: Sequence[int]) -> Sequence[int]:
        """The positions of the values that a row may match."""
        if len(among) < _LEAST_COLUMNS or not isinstance(node, Object) or not node.mode.literal_keys_decide:
            return among
        for key, template in node.texts:
            if template.alone is None or template.optional or not isinstance(template, Placeholder):
                continue
            extent = template.kind.extent
            low, high = extent.numbers
            if extent.types == {"number"} and (low is not None or high is not None):
                numbers, places = self.sorted_by(key)
                begin = 0 if low is None else bisect_left(numbers, low)
                end = len(numbers) if high is None else bisect_right(numbers, high)
                if end - begin < len(among):
                    among = sorted({*places[begin:end]}.intersection(among))
        return among

    def sorted_by(self, key: str) -> tuple[list[Decimal], list[int]]:
        """The numbers under a key in order, as decimals on their written digits, and their positions."""
        if key not in self._sorted:
            rows = ((row, n) for n, row in enumerate(self._values) if isinstance(row, dict))
            numbers = sorted((decimal(row[key]), n) for row, n in rows if key in row and is_number(row[key]))
            self._sorted[key] = [number for number, _ in numbers], [n for _, n in numbers]
        return self._sorted[key]


def _group_equal(
    positions: Sequence[int], values: Sequence[Json], classes: Sequence[Hashable] | None = None
) -> list[list[int]]:
    """Group the positions of equal values of the same class."""
    groups: dict[Hashable, list[int]] = {}
    for position in positions:
        row_class = None if classes is None else classes[position]
        groups.setdefault((row_class, bytes_of(values[position])), []).append(position)
    return list(groups.values())


def _key_values(row: Mapping[str, Json], keys: tuple[str, ...]) -> Hashable:
    return tuple([freeze(row[key]) if key in row else ABSENT for key in keys])
