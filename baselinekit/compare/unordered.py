"""Arrays whose order is free: rows are sorted into buckets by what is literal in them, then matched
optimally within a bucket. Each row has one partner, so multiplicity counts."""

from collections.abc import Callable, Hashable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from baselinekit.compare.align import pair_leftovers
from baselinekit.compare.columns import Columns
from baselinekit.compare.keyed import in_authors_order
from baselinekit.compare.leaves import Scalar
from baselinekit.compare.literal import Literal, identical
from baselinekit.compare.mode import Mode
from baselinekit.compare.objects import Object
from baselinekit.compare.pairing import freeze, match, search
from baselinekit.compare.selected import Elements, is_left_out, reach
from baselinekit.compare.walk import Link, Mismatch, Node, Walk, unroll
from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.values import Json
from baselinekit.paths import render
from baselinekit.placeholders.bindings import Bindings
from baselinekit.placeholders.grammar import escape_value
from baselinekit.placeholders.kinds import is_number

MOST_PAIRS = 2_000_000


class Made(Sequence[Node]):
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
    those of rows that are all alike."""

    expected: list[Json]
    items: Sequence[Node]
    mode: Mode
    at: Link
    subset: bool = False
    bindings: bool = False
    columns: Columns | None = None
    elements: Elements | None = None
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        before = walk.count
        pairs = self._alike(actual, walk)
        pairs |= self._same_literals(actual, pairs)
        taken = set(pairs.values())
        rows = [e for e in range(len(self.items)) if e not in pairs]
        elements = self.elements if self.elements and self.elements.state.tells_apart else None
        free = elements.left_out(actual, walk) if elements else frozenset[int]()
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

    def _same_literals(self, actual: list[Json], pairs: dict[int, int]) -> dict[int, int]:
        """Literal rows that are not yet paired take equal rows: where those are all alike, it does not matter
        which."""
        rows = (e for e in range(len(self.items)) if e not in pairs)
        wanted = {e: key for e in rows if (key := _literal_row(self.items[e])) is not None}
        if not wanted:
            return {}
        taken = set(pairs.values())
        places: dict[Hashable, list[int]] = {}
        for a in [a for a in range(len(actual) - 1, -1, -1) if a not in taken]:
            places.setdefault(freeze(actual[a]), []).append(a)
        for key, equal in places.items():  # 1 and 1.0 are equal, and not alike for a placeholder
            if len(equal) > 1 and not all(identical(actual[equal[0]], actual[a]) for a in equal[1:]):
                places[key] = []
        return {e: free.pop() for e, key in wanted.items() if (free := places.get(key))}

    def _match(
        self,
        rows: list[int],
        columns: list[int],
        actual: list[Json],
        walk: Walk,
        path: Link,
        free: Set[int],
    ) -> dict[int, int]:
        buckets = self._buckets(rows, columns, actual)
        candidates = [bucket for bucket in buckets if bucket]
        if sum(map(len, candidates)) > MOST_PAIRS:
            raise CannotReplay(
                Problem(
                    "BK231",
                    f"the array {render(unroll(path))} has too many rows that only a trial can tell apart",
                    "pair them by a key: arrays: {path: {by: id}}",
                )
            )
        return self._paired_asking(rows, columns, buckets, actual, walk, free)

    def _paired_asking(
        self,
        rows: list[int],
        columns: list[int],
        buckets: list[list[int]],
        actual: list[Json],
        walk: Walk,
        free: Set[int],
    ) -> dict[int, int]:
        """Nobody is asked about texts that need not be alike: first the pairs are looked for without."""
        asking, unsure = walk.asking, walk.unsure
        walk.asking = False
        found: dict[int, int] | None = None
        with suppress(Mismatch):
            found = self._paired(rows, columns, buckets, actual, walk, free)
        walk.asking = asking
        if (
            asking
            and walk.unsure != unsure
            and not (found is not None and self._whole(found, rows, columns, free))
        ):
            return self._paired(rows, columns, buckets, actual, walk, free)
        if found is None:
            raise Mismatch
        return found

    def _whole(self, found: dict[int, int], rows: list[int], columns: list[int], free: Set[int]) -> bool:
        alone = any(e not in found and not self.items[e].optional for e in rows)
        return not alone and (self.subset or not {*columns} - free - {*found.values()})

    def _paired(
        self,
        rows: list[int],
        columns: list[int],
        buckets: list[list[int]],
        actual: list[Json],
        walk: Walk,
        free: Set[int],
    ) -> dict[int, int]:
        known: dict[int, list[int]] = {}

        def partners(row: int) -> Sequence[int]:
            if row not in known:
                node = self.items[rows[row]]
                known[row] = [a for a in buckets[row] if walk.matches(node, actual[a])]
            return known[row]

        if walk.halting and any(not partners(n) and not self.items[e].optional for n, e in enumerate(rows)):
            raise Mismatch
        if (
            self.bindings
            and (found := self._consistent(rows, len(columns), actual, partners, walk, bool(free)))
            is not None
        ):
            return found
        matched = match(len(rows), len(columns), partners)
        if free and not self.subset:
            matched = reach(matched, len(rows), [a for a in columns if a not in free], partners)
        return {rows[row]: a for row, a in matched.items()}

    def _buckets(self, rows: list[int], columns: list[int], actual: list[Json]) -> list[list[int]]:
        """For each row the columns that could match it, judged by what is literal."""
        by_keys: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        buckets = []
        for e in rows:
            node = self.items[e]
            literal = _literal_values(node)
            keys = tuple(literal)
            if not keys:
                buckets.append(columns)
                continue
            if keys not in by_keys:
                places: dict[Hashable, list[int]] = {}
                for a in columns:
                    row = actual[a]
                    if isinstance(row, dict):
                        places.setdefault(tuple(freeze(row.get(key)) for key in keys), []).append(a)
                by_keys[keys] = places
            wanted = tuple(map(freeze, literal.values()))
            buckets.append(by_keys[keys].get(wanted, []))
        return buckets

    def _consistent(
        self,
        rows: list[int],
        columns: int,
        actual: list[Json],
        partners: Callable[[int], Sequence[int]],
        walk: Walk,
        any_number: bool,
    ) -> dict[int, int] | None:
        """A matching under which every binding has one value, searched with a bound on the tries."""

        def attempt(row: int, column: int, bindings: Bindings) -> Bindings | None:
            outer, walk.bindings = walk.bindings, bindings
            try:
                return walk.bindings_after(self.items[rows[row]], actual[column])
            finally:
                walk.bindings = outer

        optional = [self.items[e].optional for e in rows]
        least = 0 if self.subset or any_number else columns
        found = search(optional, least, partners, attempt, walk.bindings)
        return None if found is None else {rows[row]: column for row, column in found.items()}

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
    return {
        key: value
        for key, value in node.rest.items()
        if isinstance(value, str) or (numbers and is_number(value))
    }
