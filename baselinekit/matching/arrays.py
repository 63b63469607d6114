"""Arrays: in order, by a key, in any order, a subset, and one element that describes all."""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from baselinekit.matching.rules import Rule, State, mode_of, mode_under
from baselinekit.matching.walk import (
    Mismatch,
    TooManyWays,
    Walk,
    WalkPlace,
    holds_compared_number,
    may_hold_marker,
    unroll,
)
from baselinekit.model.baselines import ArrayMode, By
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import Bindings, escape_value, has_marker, tokens_in
from baselinekit.values.alignment import (
    Alignment,
    align,
    landmarks,
    pair_alike,
    pair_anywhere,
    pair_in_order,
    pair_leftovers,
    pair_most,
    unpaired,
)
from baselinekit.values.equality import bytes_of, freeze, is_number


def compare(walk: Walk, e: list[Json], a: Json, array_mode: ArrayMode | None, place: WalkPlace) -> Json:
    """Compare an array with the actual value in its place."""
    every = place.stored.with_actual(place.actual)[1].every_element()
    if every is not None and every.ignore is not None:
        walk.hits.add(every.ignore)
        return e if isinstance(a, list) else walk.replaced(e, a, place)
    array_mode = mode_of(array_mode, e, place.mode)
    if not isinstance(a, list):
        return walk.replaced(e, a, place)
    rows, count = Rows(walk, e, a, place), walk.count
    if array_mode == "each" and e:
        resolved = rows.compare_each()
    elif isinstance(array_mode, By):
        resolved = rows.compare_by(array_mode.by)
    elif array_mode in ("unordered", "subset"):
        resolved = rows.compare_unordered(subset=array_mode == "subset")
    else:
        resolved = rows.compare_ordered()
    return e if walk.count == count else resolved


class Rows:
    """The elements of two arrays: `n` counts the expected ones, `m` the actual ones."""

    def __init__(self, walk: Walk, e: list[Json], a: list[Json], place: WalkPlace):
        self.walk, self.e, self.a = walk, e, a
        self.mode, self.stored, self.actual, self.at, self.path = place
        self.alone = self.stored.with_actual(self.actual)[1]
        self.describing = False
        """An element that describes every element takes the index of the one with which it is compared."""
        self.selects = self.alone.by_index or self.alone.by_value
        self.any_number = self.selects and self.alone.below_any().here.ignore is not None
        """A rule leaves out all elements, so none has to be there."""

    def place(self, n: int, m: int) -> WalkPlace:
        """The place of a pair."""
        index, size = (m, len(self.a)) if self.describing else (n, len(self.e))
        stored = self.stored.step(index, self.e[n], size, paired=True)
        actual = self.actual.step(m, self.a[m], len(self.a))
        return WalkPlace(self.mode, stored, actual, (self.at, n), (self.path, m))

    def walk_pair(self, n: int, m: int) -> Json:
        return self.walk.value(self.e[n], self.a[m], self.place(n, m))

    def matches(self, n: int, m: int) -> bool:
        return self.walk.matches(self.e[n], self.a[m], self.place(n, m))

    def bindings_after(self, n: int, m: int, bindings: Bindings | None = None) -> Bindings | None:
        """The bindings after a pair, from those before it; None if they do not match."""
        return self.walk.bindings_after(self.e[n], self.a[m], self.place(n, m), bindings)

    def is_optional(self, n: int) -> bool:
        """Whether an expected element need not be there."""
        alone = self.alone.step(n, self.e[n], len(self.e))
        return self.walk.is_optional(self.e[n], self.mode, alone)

    def rule_against(self, n: int) -> Rule | None:
        """The rule that leaves out an expected element."""
        rule = self.alone.step(n, self.e[n], len(self.e)).here.ignore
        return rule if self.mode.type != "numeric" or holds_compared_number(self.e[n]) else None

    def is_left_out(self, n: int) -> bool:
        return self.rule_against(n) is not None

    def left_out(self) -> tuple[list[int], set[int]]:
        """The expected and the actual elements that rules leave out."""
        if not self.selects:
            return [], set()
        left_out = [n for n in range(len(self.e)) if self.is_left_out(n)]
        return left_out, {m for m in range(len(self.a)) if self.is_ignored(m)}

    def is_ignored(self, m: int) -> bool:
        here = self.alone.step(m, self.a[m], len(self.a)).here
        self.walk.hits.update(here.rules)
        return here.ignore is not None

    def partners(self, unpaired: Sequence[int], spare: Sequence[int]) -> dict[int, int]:
        """Pair left-out elements of the baseline with left-out actual elements. Those that have to be there,
        although their value does not count, come first."""
        candidates = sorted(filter(self.is_left_out, unpaired), key=self.is_optional)
        return dict(zip(sorted(candidates[: len(spare)]), spare, strict=False))

    def missing(self, unpaired: Sequence[int], partners: Mapping[int, int]) -> list[int]:
        """The unpaired elements that have to be there."""
        required = [n for n in unpaired if n not in partners and not self.is_optional(n)]
        return [n for n in required if not (self.any_number and self.is_left_out(n))]

    def walk_pairs(self, pairs: Mapping[int, int], missing: Iterable[int]) -> dict[int, Json]:
        """Walk some pairs, and report elements without a partner. Return the resolved elements by their place
        in the actual array."""
        resolved = {}
        for n in sorted([*pairs, *missing]):
            if n in pairs:
                resolved[pairs[n]] = self.walk_pair(n, pairs[n])
            else:
                self.walk.differ((self.path, n), "missing", self.e[n], ABSENT, (self.at, n))
        return resolved

    def report_extra(self, extra: Iterable[int]) -> dict[int, Json]:
        for m in extra:
            self.walk.differ((self.path, m), "extra", ABSENT, self.a[m], self.at)
        return {m: escape_value(self.a[m]) for m in extra}

    # One element that describes all, and elements that are paired by a key.

    def compare_each(self) -> Json:
        """Every actual element must match one of the expected ones; usually there is one."""
        if not self.a and not self.mode.allow_empty_arrays:
            note = "one element describes all, but there is none; allow_empty_arrays allows an empty array"
            self.walk.differ(self.path, "count", self.e, self.a, self.at, "allow_empty_arrays", note)
            return []
        self.describing = self.selects
        resolved = []
        for m in range(len(self.a)):
            n = 0
            if len(self.e) > 1:
                n = next((n for n in range(len(self.e)) if self.matches(n, m)), 0)
            resolved.append(self.walk_pair(n, m))
        return resolved

    def compare_by(self, key: str) -> Json:
        """Elements paired by the value of a key; their order is free."""

        def name_of(row: Json) -> Hashable:
            return freeze(row[key]) if isinstance(row, dict) and key in row else None

        places: dict[Hashable, int] = {}
        surplus: list[int] = []
        for m, row in enumerate(self.a):
            name = name_of(row)
            if name is None or name in places:
                surplus.append(m)
            else:
                places[name] = m
        pairs: dict[int, int] = {}
        for n, row in enumerate(self.e):
            if (partner := places.pop(name_of(row), None)) is not None:
                pairs[n] = partner
        surplus += places.values()
        _, ignored = self.left_out()
        unpaired = [n for n in range(len(self.e)) if n not in pairs]
        partners = self.partners(unpaired, [m for m in surplus if m in ignored])
        resolved = self.walk_pairs(pairs, self.missing(unpaired, partners))
        resolved |= self.report_extra([m for m in surplus if m not in ignored])
        resolved |= {m: self.e[n] for n, m in partners.items()}
        return _in_authors_order(resolved, pairs | partners)

    # Arrays whose order counts. Only when an element differs are the rows aligned, so that one row removed
    # at the head is one removed row and not a thousand changed ones. In a numeric comparison further elements
    # do not matter, and elements are paired by their index alone.

    def compare_ordered(self) -> Json:
        walk, rows, columns = self.walk, [*range(len(self.e))], [*range(len(self.a))]
        start = dict(walk.bindings)
        agreed = self.count_agreeing(rows, columns)
        if agreed == len(rows) == len(columns):
            return self.e
        walk.bindings = dict(start)
        if self.mode.type == "numeric":
            shared = min(len(rows), len(columns))
            further = [] if self.any_number and all(map(self.is_left_out, rows[shared:])) else rows[shared:]
            return self.walk_alignment(Alignment([*zip(rows, columns, strict=False)], further, []), {})
        left_out, ignored = self.left_out()
        if ignored or left_out:  # these do not count on either side, and the others are compared in order
            rows = [n for n in rows if n not in {*left_out}]
            columns = [m for m in columns if m not in ignored]
            agreed = self.count_agreeing(rows, columns)
            walk.bindings = dict(start)
        if agreed == len(rows) == len(columns):
            alignment: Alignment | None = Alignment([*zip(rows, columns, strict=True)], [], [])
        else:
            alignment = self.align_without_optional(rows, columns)
        if alignment is None:
            if walk.fail_fast:
                raise Mismatch
            if not self.selects and (order := self.order_of()) is not None:
                return self.report_order(order)
            alignment = self.align_likely(rows, columns, agreed)
        walk.bindings = start
        partners = self.partners(left_out, sorted(ignored))
        missing = sorted([*alignment.missing, *self.missing(left_out, partners)])
        return self.walk_alignment(Alignment(alignment.pairs, missing, alignment.extra), partners)

    def count_agreeing(self, rows: list[int], columns: list[int]) -> int:
        """Count the rows that agree from the head on. The first row that differs is not examined further: it
        may get another partner."""
        walk = self.walk
        outer_fail_fast, walk.fail_fast = walk.fail_fast, True
        agreed, question_count = 0, len(walk.questions)
        try:
            for n, m in zip(rows, columns, strict=False):
                question_count = len(walk.questions)
                self.walk_pair(n, m)
                agreed += 1
        except Mismatch:
            walk.take_back(question_count)
        finally:
            walk.fail_fast = outer_fail_fast
        return agreed

    def align_without_optional(self, rows: list[int], columns: list[int]) -> Alignment | None:
        """The alignment if leaving out optional elements explains all differences; None if it does not."""
        optional = {n for n in rows if self.is_optional(n)}
        if not optional or len(rows) * len(columns) > _MOST_TRIED_PAIRS:
            return None
        weight = {n: 1 if n in optional else len(columns) + 1 for n in rows}
        scores = [[self.matches(n, m) * weight[n] for m in columns] for n in rows]
        pairs = [(rows[i], columns[j]) for i, j in pair_in_order(scores)]
        missing, extra = unpaired(pairs, rows, columns)
        return None if extra or {*missing} - optional else Alignment(pairs, missing, [])

    def align_likely(self, rows: list[int], columns: list[int], head: int) -> Alignment:
        """The pairs that a reader would see: elements that agree from both ends on, and the likeliest pairs
        in between."""
        tail, most = 0, min(len(rows), len(columns)) - head
        while tail < most and self.matches(rows[-1 - tail], columns[-1 - tail]):
            tail += 1
        ends = [*zip(rows[:head], columns[:head], strict=True)]
        ends += zip(rows[len(rows) - tail :], columns[len(columns) - tail :], strict=True)
        rows, columns = rows[head : len(rows) - tail], columns[head : len(columns) - tail]
        found = align([self.e[n] for n in rows], [self.a[m] for m in columns], freeze)
        pairs = sorted([*ends, *((rows[i], columns[j]) for i, j in found.pairs)])
        return Alignment(pairs, [rows[i] for i in found.missing], [columns[j] for j in found.extra])

    def walk_alignment(self, alignment: Alignment, left_out: Mapping[int, int]) -> Json:
        """Walk the pairs of an alignment, and report the rest. `left_out`: pairs that rules leave out."""
        walk = self.walk
        resolved: dict[int, Json] = {}
        for n, m in left_out.items():
            if rule := self.rule_against(n):
                resolved[m] = walk.left_out(self.e[n], self.a[m], rule, self.place(n, m))
        missing = [n for n in alignment.missing if not self.is_left_out(n)]  # others would match any row
        loose = Alignment([], missing, alignment.extra)
        moved = dict(pair_alike(self.e, self.a, loose, walk.expected.templates.accepts))
        partners = dict(alignment.pairs) | moved
        for n in sorted({*partners, *alignment.missing}):
            if n in partners:
                m, count = partners[n], walk.count
                resolved[m] = self.walk_pair(n, m)
                if n in moved and walk.count == count:
                    note = f"moved from [{n}]{self.advice()}"
                    walk.differ((self.path, m), "order", self.e[n], self.a[m], (self.at, n), note=note)
            elif not self.is_optional(n):
                self.walk_pairs({}, [n])
        resolved |= self.report_extra([m for m in alignment.extra if m not in resolved])
        return [resolved[m] for m in sorted(resolved)]

    # The same elements in another order: one difference.

    def order_of(self) -> list[int] | None:
        """The expected index of each actual element, if they are the same values and more than one has moved;
        else None. A single moved element is reported at its place."""
        key_of = bytes_of if self.mode.typed else freeze
        pairs = pair_anywhere(enumerate(map(key_of, self.e)), enumerate(map(key_of, self.a)))
        if not len(pairs) == len(self.e) == len(self.a):
            return None
        order = [n for n, _ in pairs]
        stayed = landmarks(range(len(order)), order)
        return order if len(order) - len(stayed) > 1 else None

    def report_order(self, order: list[int]) -> Json:
        """Report one difference for all elements: both orders, of objects and arrays by their places."""
        before: list[Json] = self.e
        after, label = self.a, ""
        if any(isinstance(value, dict | list) for value in self.a):
            before, after, label = [*range(len(order))], [*order], " by their old places"
        note = f"the same {len(order):,} elements{label}{self.advice()}"
        self.walk.differ(self.path, "order", [*before], [*after], self.at, note=note)
        return [self.e[n] for n in order]

    def advice(self) -> str:
        """The part of a note that names the rule which would allow another order."""
        if self.mode.type == "exact":
            return "; an exact comparison counts their order"
        from baselinekit.values.changes import row_pattern  # few answers differ in their order

        return f"; `arrays: {{'{row_pattern(unroll(self.path))}': unordered}}` allows any order"

    # Arrays whose order is free. Literal rows find equal rows by a key; other rows are grouped by their
    # literal values and matched optimally. Each row has one partner, so multiplicity counts.

    def compare_unordered(self, subset: bool) -> Json:
        walk = self.walk
        left_out, ignored = self.left_out()
        rows = [n for n in range(len(self.e)) if n not in {*left_out}]
        pairing = _Pairing(self, rows, [*range(len(self.a))], ignored, subset)
        matched = pairing.match()
        resolved: dict[int, Json] = {}
        if walk.expected.has_bindings or not walk.fail_fast:  # without effect, where they were walked before
            resolved = self.walk_pairs(matched, ())
        used = {*matched.values()}
        partners = self.partners(left_out, sorted(ignored - used))
        missing = [n for n in rows if n in pairing.required and n not in matched]
        missing += self.missing(left_out, partners)
        extra = [m for m in range(len(self.a)) if m not in used and m not in ignored]
        if walk.fail_fast and (missing or (extra and not subset)):
            raise Mismatch
        # the likeliest pairs of the rows without a partner are reported by their differences
        likely = pair_leftovers([self.e[n] for n in missing], [self.a[m] for m in extra])
        pairs = {missing[i]: extra[j] for i, j in likely}
        resolved |= self.walk_pairs(pairs, [n for n in missing if n not in pairs])
        if not subset:
            resolved |= self.report_extra([m for m in extra if m not in resolved])
        resolved |= {m: self.e[n] for n, m in partners.items()}
        return _in_authors_order(resolved, matched | pairs | partners)

    def literal_values(self, n: int) -> dict[str | None, Json]:
        """The literal values that everything matching an expected element must have: those of a row by their
        keys, any other value under None."""
        value: Json = self.e[n]
        state = self.stored.step(n, value, len(self.e), paired=True)
        mode = self.mode if state.here.ignore is not None else mode_under(self.mode, state.here)
        if not mode.literal_values_decide or state.by_value:
            return {}
        below: dict[str | None, tuple[Json, State]] = {None: (value, state)}
        if isinstance(value, dict):
            below = {key: (item, state.step(key, item, len(value))) for key, item in value.items()}
        equal = not (mode.tolerances or mode.allow_additional_fields)
        literals: dict[str | None, Json] = {}
        for key, (item, rules) in below.items():
            if isinstance(item, dict | list):
                is_literal = equal and not rules.positions and not may_hold_marker(item)
            else:
                is_fixed = isinstance(item, str | bool) or equal or (is_number(item) and not mode.tolerances)
                is_literal = is_fixed and not has_marker(item) and (key is None or not rules.here.rules)
            if is_literal:
                literals[key] = item
        return literals


_MOST_TRIED_PAIRS = 100_000


def _in_authors_order(resolved: dict[int, Json], pairs: dict[int, int]) -> list[Json]:
    """The rows of an array whose order is free: first the rows of the baseline in the author's order, then
    the further ones. A row that only moved is not a change."""
    place = {m: n for n, m in pairs.items()}
    return [resolved[m] for m in sorted(resolved, key=lambda m: (m not in place, place.get(m, m)))]


# Pairs of rows whose order is free, as many as possible.


class _Pairing:
    """Pairs rows of a baseline (`rows`) with those of an answer (`columns`). `ignored`: columns that a rule
    leaves out; they need no partner and are tried last. Equal rows are tried against equal columns once."""

    def __init__(self, array: Rows, rows: list[int], columns: list[int], ignored: Set[int], subset: bool):
        self.array, self.walk, self.ignored = array, array.walk, ignored
        self.required = {n for n in rows if not array.is_optional(n)}
        self.columns = sorted(columns, key=ignored.__contains__)
        self.needed = {m for m in columns if m not in ignored and not subset}
        self.row_kinds = _kinds(rows, array.e, array.stored, paired=True)
        self.column_kinds = _kinds(columns, array.a, array.actual)
        self.keys = {n: sorted({token.key for token in tokens_in(array.e[n]) if token.key}) for n in rows}
        self.known: dict[Hashable, bool] = {}
        self.candidates = self.find_candidates(rows)
        """For each row the columns that could match it, found by its literal values."""
        self.rows = sorted(rows, key=lambda n: (n not in self.required, len(self.candidates[n])))
        """Those that must have a partner choose first."""

    def match(self) -> dict[int, int]:
        """Find as many pairs as possible: first without asking how similar texts are, so that no question is
        asked about texts whose similarity does not matter."""
        walk, deferred, pairs = self.walk, self.walk.deferred, None
        collecting, walk.collecting_questions = walk.collecting_questions, False
        with suppress(Mismatch):
            pairs = self.find_agreeing()
        walk.collecting_questions = collecting
        settled = pairs is not None and self.is_complete(pairs)
        if collecting and walk.deferred != deferred and not settled:
            self.known.clear()
            for n in self.rows:  # so that all questions are asked at once
                for m in self.candidates[n]:
                    self.fits(n, m, walk.bindings)
            return self.find_agreeing()
        if pairs is None:
            raise Mismatch
        return pairs

    def is_complete(self, pairs: dict[int, int]) -> bool:
        """Whether every row and every column that must have a partner has one."""
        return self.required <= pairs.keys() and self.needed <= {*pairs.values()}

    def find_candidates(self, rows: list[int]) -> dict[int, list[int]]:
        candidates: dict[int, list[int]] = {}
        columns_by_keys: dict[tuple[str | None, ...], dict[Hashable, list[int]]] = {(): {(): self.columns}}
        for n in rows:
            literals = self.array.literal_values(n)
            keys = tuple(literals)
            if keys not in columns_by_keys:
                columns = columns_by_keys[keys] = defaultdict(list)
                for m in self.columns:
                    columns[_key_values(self.array.a[m], keys)].append(m)
            candidates[n] = columns_by_keys[keys].get(tuple(map(freeze, literals.values())), [])
        return candidates

    def fits(self, row: int, column: int, bindings: Bindings) -> bool:
        self.walk.count_trial((self.array.path, column))
        bound = tuple([repr(bindings[key]) if key in bindings else None for key in self.keys[row]])
        key = self.row_kinds[row], self.column_kinds[column], bound
        if key not in self.known:
            self.known[key] = self.array.bindings_after(row, column, bindings) is not None
        return self.known[key]

    def find_agreeing(self) -> dict[int, int]:
        """Pairs in which every binding has one value; if there are none, pairs that match by themselves."""
        pairs = self.find_pairs(self.walk.bindings, frozenset())
        if not any(self.keys.values()) or not self.is_complete(pairs):
            return pairs
        return self.settle(self.walk.bindings, frozenset()) or pairs

    def settle(
        self, bindings: Bindings, left_out: Set[int], unbound: Set[tuple[int, str]] = frozenset()
    ) -> dict[int, int] | None:
        """Find such pairs by trying values and not pairs: for each value of a binding it is checked whether
        all rows still find partners. `left_out`: optional rows that get none. `unbound`: keys to which a row
        gives no value, as where a rule leaves out what would be bound."""
        pairs = self.find_pairs(bindings, left_out)
        if not self.is_complete(pairs):
            return None
        agreed: Bindings | None = bindings
        for n, m in pairs.items():
            agreed = None if agreed is None else self.array.bindings_after(n, m, agreed)
        if agreed is not None:
            return pairs
        rows = [n for n in self.rows if n not in left_out]
        free = ((n, key) for n in rows for key in self.keys[n] if key not in bindings)
        times = Counter((n in self.required, key) for n, key in free if (n, key) not in unbound)
        if not times:
            return None
        key = max(times, key=lambda key: (key[0], times[key]))[1]
        row = next(n for n in rows if key in self.keys[n] and (n, key) not in unbound)
        seen = set()
        for m in self.candidates[row]:
            after = self.array.bindings_after(row, m, bindings)
            if after is not None and repr(after) not in seen:
                seen.add(repr(after))
                if found := self.settle(after, left_out, unbound | {(row, key)}):
                    return found
        return None if row in self.required else self.settle(bindings, left_out | {row}, unbound)

    def find_pairs(self, bindings: Bindings, left_out: Set[int]) -> dict[int, int]:
        """Find pairs that match by themselves after some bindings, as many as possible. If the arrays surely
        differ, the pairs found so far are enough for the report even when not all pairs can be tried."""
        differs = len(self.required) > len(self.columns) or len(self.needed) > len(self.rows)
        differs |= any(not self.candidates[n] for n in self.required)
        pairs: dict[int, int] = {}
        rows = [n for n in self.rows if n not in left_out]

        def fits(row: int, column: int) -> bool:
            return self.fits(row, column, bindings)

        try:
            if self.ignored:  # the others need a partner more
                needed = {n: [m for m in self.candidates[n] if m in self.needed] for n in rows}
                deque(pair_most(rows, self.row_kinds, needed.__getitem__, fits, pairs), 0)
            for n in pair_most(rows, self.row_kinds, self.candidates.__getitem__, fits, pairs):
                differs |= n in self.required
                if self.walk.fail_fast and differs:
                    raise Mismatch
        except TooManyWays:
            if not differs:
                raise
        return pairs


def _kinds(places: list[int], values: list[Json], state: State, paired: bool = False) -> dict[int, int]:
    """A number for each position: the same for equal values for which the same rules hold."""
    numbers: dict[Any, int] = {}
    kinds: dict[int, int] = {}
    for place in places:
        value = values[place]
        below = state.step(place, value, len(values), paired)
        kinds[place] = numbers.setdefault((below, bytes_of(value)), len(numbers))
    return kinds


def _key_values(value: Json, keys: Sequence[str | None]) -> Hashable:
    """The values of a row under some keys, or a whole value under None."""
    if None in keys:
        return (freeze(value),)
    row = value if isinstance(value, dict) else {}
    return tuple([freeze(row[key]) if key in row else ABSENT for key in keys])
