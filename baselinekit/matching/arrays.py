"""Arrays: in order, by a key, in any order, a subset, and one element that describes all."""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from baselinekit.errors import CannotReplay, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.rules import Mode, Rule, State, mode_of, steps_below
from baselinekit.matching.walk import Mismatch, Walk, WalkPlace, holds_compared_number, unroll
from baselinekit.model.baselines import ArrayMode, By
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import (
    Bindings,
    escape_value,
    tokens_in,
)
from baselinekit.values.alignment import (
    Alignment,
    Flow,
    TooManyWays,
    align,
    align_named,
    identifying_key,
    pair_alike,
    pair_leftovers,
    reach,
    same_rows,
    search,
)
from baselinekit.values.equality import bytes_of, freeze, identical, is_number, same_json
from baselinekit.values.paths import render


def compare(walk: Walk, e: list[Json], a: Json, array_mode: ArrayMode | None, place: WalkPlace) -> Json:
    """Compare an array with the actual value in its place."""
    mode, stored, actual, at, _ = place
    alone = None if stored is None else stored.with_actual(actual)[1]
    every = None if alone is None else alone.every_element()
    if every is not None and every.ignore is not None:
        if mode.type == "numeric" and at is not None and not holds_compared_number(e):
            return e
        walk.hits.add(every.ignore)
        return e if isinstance(a, list) else walk.replaced(e, a, place)
    array_mode = mode_of(array_mode, e, mode)
    if (
        mode.type == "numeric"
        and at is not None
        and not any(walk.is_compared(item, mode, below) for _, item, below in steps_below(stored, e))
    ):
        return e
    if not isinstance(a, list):
        return walk.replaced(e, a, place)
    rows = Rows(walk, e, a, place)
    if array_mode == "each" and e:
        return rows.compare_each()
    if isinstance(array_mode, By):
        return rows.compare_by(array_mode.by)
    if array_mode in ("unordered", "subset"):
        return rows.compare_unordered(subset=array_mode == "subset")
    return rows.compare_ordered()


_NONE: Mapping[int, int] = {}


class Rows:
    """The elements of two arrays: `n` counts the expected ones, `m` the actual ones."""

    def __init__(self, walk: Walk, e: list[Json], a: list[Json], place: WalkPlace):
        self.walk, self.e, self.a = walk, e, a
        self.mode, self.stored, self.actual, self.at, self.path = place
        self.alone = None if self.stored is None else self.stored.with_actual(self.actual)[1]
        self.describing = False
        """An element that describes every element takes the index of the one with which it is compared."""
        self.selects = self.alone is not None and (self.alone.by_index or self.alone.by_value)
        wild = self.alone.below_any() if self.selects and self.alone is not None else None
        self.any_number = wild is not None and wild.here is not None and wild.here.ignore is not None
        """A rule leaves out all elements, so none has to be there."""

    def place(self, n: int, m: int) -> WalkPlace:
        """The place of a pair."""
        at = (self.at, n)
        path = at if n == m and self.path is self.at else (self.path, m)
        if self.stored is None:
            return WalkPlace(self.mode, None, None, at, path)
        index, size = (m, len(self.a)) if self.describing else (n, len(self.e))
        stored = self.stored.step(index, self.e[n], size, paired=True)
        if self.actual is self.stored and not self.selects:
            return WalkPlace(self.mode, stored, stored, at, path)
        actual = None if self.actual is None else self.actual.step(m, self.a[m], len(self.a))
        return WalkPlace(self.mode, stored, actual, at, path)

    def walk_pair(self, n: int, m: int) -> Json:
        return self.walk.value(self.e[n], self.a[m], self.place(n, m))

    def matches(self, n: int, m: int) -> bool:
        return self.walk.matches(self.e[n], self.a[m], self.place(n, m))

    def bindings_after(self, n: int, m: int, bindings: Bindings | None = None) -> Bindings | None:
        """The bindings after a pair, from those before it; None if they do not match."""
        return self.walk.bindings_after(self.e[n], self.a[m], self.place(n, m), bindings)

    def is_optional(self, n: int) -> bool:
        """Whether an expected element need not be there."""
        alone = None if self.alone is None else self.alone.step(n, self.e[n], len(self.e))
        return self.walk.is_optional(self.e[n], self.mode, alone)

    def rule_against(self, n: int) -> Rule | None:
        """The rule that leaves out an expected element."""
        alone = None if self.alone is None else self.alone.step(n, self.e[n], len(self.e))
        if alone is None or alone.here is None:
            return None
        compared = self.mode.type != "numeric" or holds_compared_number(self.e[n])
        return alone.here.ignore if compared else None

    def is_left_out(self, n: int) -> bool:
        return self.rule_against(n) is not None

    def left_out(self) -> set[int]:
        """The actual elements that a rule leaves out."""
        return {m for m in range(len(self.a)) if self.is_ignored(m)} if self.selects else set()

    def is_ignored(self, m: int) -> bool:
        alone = None if self.alone is None else self.alone.step(m, self.a[m], len(self.a))
        if alone is None or alone.here is None:
            return False
        self.walk.hits.update(alone.here.rules)
        return alone.here.ignore is not None

    def partners(self, unpaired: Sequence[int], spare: Sequence[int]) -> dict[int, int]:
        """Pair left-out elements of the baseline with left-out actual elements. Those that have to be there,
        although their value does not count, come first."""
        candidates = sorted(filter(self.is_left_out, unpaired), key=self.is_optional)
        return dict(zip(sorted(candidates[: len(spare)]), spare, strict=False))

    def missing(self, unpaired: Sequence[int], partners: Mapping[int, int]) -> list[int]:
        """The unpaired elements that have to be there."""
        required = [n for n in unpaired if n not in partners and not self.is_optional(n)]
        return [n for n in required if not (self.any_number and self.is_left_out(n))]

    def report_missing(self, n: int) -> None:
        self.walk.differ((self.path, n), "missing", self.e[n], ABSENT, (self.at, n))

    def report_extra(self, m: int, note: str | None = None) -> Json:
        self.walk.differ((self.path, m), "extra", ABSENT, self.a[m], self.at, note=note)
        return escape_value(self.a[m])

    def mode_of_row(self, n: int) -> tuple[Mode, State | None]:
        """How an expected element is compared, and the state of the rules in it."""
        state = None if self.stored is None else self.stored.step(n, self.e[n], len(self.e), paired=True)
        if state is None or state.here is None or state.here.ignore is not None:
            return self.mode, state
        return self.walk.modes.under(self.mode, state.here), state

    def literal_fields(self, n: int) -> dict[str, Json]:
        """The values of an expected element that no rule reaches and that hold no placeholder."""
        row, state = self.e[n], self.mode_of_row(n)[1]
        if not isinstance(row, dict) or (state is not None and state.by_value):
            return {}
        return {
            key: value
            for key, value in row.items()
            if not self.walk.is_touched(value)
            and (state is None or (below := state.step(key, value, len(row))) is None or below.here is None)
        }

    # One element that describes all, and elements that are paired by a key.

    def compare_each(self) -> Json:
        """Every actual element must match one of the expected ones; usually there is one."""
        walk, before = self.walk, self.walk.count
        if not self.a and not self.mode.allow_empty_arrays:
            note = "one element describes all, but there is none; allow_empty_arrays allows an empty array"
            walk.differ(self.path, "count", self.e, self.a, self.at, "allow_empty_arrays", note)
            return []
        self.describing = self.selects
        resolved = []
        for m in range(len(self.a)):
            n = 0
            if len(self.e) > 1:
                n = next((n for n in range(len(self.e)) if self.matches(n, m)), 0)
            resolved.append(self.walk_pair(n, m))
        return self.e if walk.count == before else resolved

    def compare_by(self, key: str) -> Json:
        """Elements paired by the value of a key; their order is free."""

        def name_of(row: Json) -> Hashable:
            return freeze(row[key]) if isinstance(row, dict) and key in row else None

        walk, before = self.walk, self.walk.count
        places: dict[Hashable, int] = {}
        resolved: dict[int, Json] = {}
        ignored, nameless = self.left_out(), []
        for m, row in enumerate(self.a):
            name = name_of(row)
            if name is not None and name not in places:
                places[name] = m
            elif m in ignored:
                nameless.append(m)
            else:
                note = f"has no {key}" if name is None else f"the second with this {key}"
                resolved[m] = self.report_extra(m, note)
        pairs: dict[int, int] = {}
        unpaired = []
        for n, row in enumerate(self.e):
            partner = places.pop(name_of(row), None)
            if partner is None:
                unpaired.append(n)
            else:
                pairs[n], resolved[partner] = partner, self.walk_pair(n, partner)
        partners = self.partners(unpaired, [*nameless, *(m for m in places.values() if m in ignored)])
        pairs |= partners
        resolved |= {m: self.e[n] for n, m in partners.items()}
        for n in self.missing(unpaired, partners):
            self.report_missing(n)
        for m in places.values():
            if m not in ignored:
                resolved[m] = self.report_extra(m)
        if walk.count == before:
            return self.e
        return _in_authors_order(resolved, pairs)

    # Arrays whose order counts. Only when an element differs are the rows aligned, so that one row removed
    # at the head is one removed row and not a thousand changed ones. In a numeric comparison further elements
    # do not matter, and elements are paired by their index alone.

    def compare_ordered(self) -> Json:
        walk, e, a = self.walk, self.e, self.a
        numeric = self.mode.type == "numeric"
        start = dict(walk.bindings) if walk.has_bindings else walk.bindings
        agreed, bindings = self.count_agreeing([*range(len(e))], [*range(len(a))])
        if agreed == len(e) == len(a):
            return e
        optional = any(map(self.is_optional, range(len(e))))
        if walk.fail_fast and not (numeric or self.stored is not None or optional):
            raise Mismatch  # no other number of elements may pass
        walk.bindings = start
        if numeric:
            shared = min(len(e), len(a))
            further = [*range(shared, len(e))]
            if self.any_number and all(map(self.is_left_out, further)):
                further = []
            pairs = [(n, n) for n in range(shared)]
            return self.walk_alignment(Alignment(pairs, further, [*range(shared, len(a))]), 0)
        if self.selects:
            ignored = self.left_out()
            if ignored or any(map(self.is_left_out, range(len(e)))):
                return self.walk_selected(ignored)
        rows, columns = [*range(len(e))], [*range(len(a))]
        if optional and (alignment := self.align_without_optional(rows, columns)):
            return self.walk_alignment(alignment, 0)
        if walk.fail_fast and self.stored is None:
            raise Mismatch
        walk.bindings = bindings
        if not walk.fail_fast and not self.selects and (order := self.order_of(agreed)) is not None:
            return self.report_order(order)
        return self.walk_alignment(self.align_likely(rows, columns, agreed), agreed)

    def count_agreeing(self, rows: list[int], columns: list[int]) -> tuple[int, dict[str, Json]]:
        """Count the rows that agree from the head on; also return the bindings after them. The first row that
        differs is not examined further: it may get another partner."""
        walk = self.walk
        outer_fail_fast, walk.fail_fast = walk.fail_fast, True
        agreed, bindings, question_count = 0, walk.bindings, len(walk.questions)
        try:
            for n, m in zip(rows, columns, strict=False):
                if walk.has_bindings:
                    bindings = dict(walk.bindings)
                question_count = len(walk.questions)
                self.walk_pair(n, m)
                agreed += 1
        except Mismatch:
            walk.take_back(question_count)
            return agreed, bindings
        finally:
            walk.fail_fast = outer_fail_fast
        return agreed, walk.bindings

    def walk_selected(self, ignored: Set[int]) -> Json:
        """Compare an array where rules leave out some elements: these do not count on either side, and the
        others are compared in order."""
        walk = self.walk
        left_out = [n for n in range(len(self.e)) if self.is_left_out(n)]
        rows = [n for n in range(len(self.e)) if n not in set(left_out)]
        columns = [m for m in range(len(self.a)) if m not in ignored]
        start = dict(walk.bindings)
        agreed, _ = self.count_agreeing(rows, columns)
        walk.bindings = dict(start)
        if agreed == len(rows) == len(columns):
            alignment = Alignment([*zip(rows, columns, strict=True)], [], [])
        else:
            alignment = self.align_without_optional(rows, columns) or self.align_likely(rows, columns, agreed)
        walk.bindings = start
        # those between the same two pairs belong together; as many must be there as the baseline requires,
        # wherever they are
        spare_columns = sorted(ignored)
        begin = (-1, -1)
        partners: dict[int, int] = {}
        for end in [*alignment.pairs, (len(self.e), len(self.a))]:
            unpaired = left_out[bisect(left_out, begin[0]) : bisect(left_out, end[0])]
            spare = spare_columns[bisect(spare_columns, begin[1]) : bisect(spare_columns, end[1])]
            partners |= self.partners(unpaired, spare)
            begin = end
        free = sorted(ignored - {*partners.values()})
        partners |= self.partners([n for n in left_out if n not in partners], free)
        missing = sorted([*alignment.missing, *self.missing(left_out, partners)])
        return self.walk_alignment(Alignment(alignment.pairs, missing, alignment.extra), 0, partners)

    def align_without_optional(self, rows: list[int], columns: list[int]) -> Alignment | None:
        """The alignment if leaving out optional elements explains all differences; None if it does not."""
        optional = [*map(self.is_optional, rows)]
        if not any(optional) or len(rows) * len(columns) > _MOST_TRIED_PAIRS:
            return None
        fits = [[False] * (len(columns) + 1) for _ in range(len(rows) + 1)]
        fits[-1][-1] = True
        for i in range(len(rows) - 1, -1, -1):
            for j in range(len(columns), -1, -1):
                fits[i][j] = (optional[i] and fits[i + 1][j]) or (
                    j < len(columns) and fits[i + 1][j + 1] and self.matches(rows[i], columns[j])
                )
        if not fits[0][0]:
            return None
        alignment = Alignment([], [], [])
        j = 0
        for i, n in enumerate(rows):
            if j < len(columns) and fits[i + 1][j + 1] and self.matches(n, columns[j]):
                alignment.pairs.append((n, columns[j]))
                j += 1
            else:
                alignment.missing.append(n)
        return alignment

    def align_likely(self, rows: list[int], columns: list[int], head: int) -> Alignment:
        """The pairs that a reader would see: elements that agree at their index, and the likeliest pairs in
        between."""
        expected, actual = [self.e[n] for n in rows], [self.a[m] for m in columns]
        found = None if self.walk.fail_fast else align_named(expected, actual)
        if found is None or found.pairs[:head] != [(i, i) for i in range(head)]:
            found = Alignment([(i, i) for i in range(head)], [], [])
            key_of = self.row_key(rows)
            for e1, e2, a1, a2 in self.find_stretches(rows, columns, head, found.pairs):
                if e2 - e1 == a2 - a1 == 1:
                    found.pairs.append((e1, a1))
                    continue
                inner = align(expected[e1:e2], actual[a1:a2], key_of)
                found.pairs.extend((e1 + i, a1 + j) for i, j in inner.pairs)
                found.missing.extend(e1 + i for i in inner.missing)
                found.extra.extend(a1 + j for j in inner.extra)
            found.pairs.sort()
        return Alignment(
            [(rows[i], columns[j]) for i, j in found.pairs],
            [rows[i] for i in found.missing],
            [columns[j] for j in found.extra],
        )

    def find_stretches(
        self, rows: list[int], columns: list[int], head: int, pairs: list[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Find where the rows disagree: one stretch between the agreeing head and tail, or, if the number of
        rows is the same, several stretches. Rows that agree are appended to `pairs`."""
        size, width = len(rows), len(columns)
        if size != width:
            tail = 0
            while tail < min(size, width) - head and self.matches(rows[-1 - tail], columns[-1 - tail]):
                tail += 1
                pairs.append((size - tail, width - tail))
            yield head, size - tail, head, width - tail
        elif same_rows([self.e[n] for n in rows[head:]], [self.a[m] for m in columns[head:]]):
            yield head, size, head, size
        else:
            begin = head
            for i in range(head, size):
                if i > head and self.matches(rows[i], columns[i]):
                    pairs.append((i, i))
                    if begin < i:
                        yield begin, i, begin, i
                    begin = i + 1
            if begin < size:
                yield begin, size, begin, size

    def row_key(self, rows: list[int]) -> Callable[[Json], Hashable]:
        """The key by which rows are first aligned: the values that are literal in every row, only the scalar
        ones if there are any."""
        objects = [n for n in rows if isinstance(self.e[n], dict)]
        literal = {n: self.literal_fields(n) for n in objects}
        first = literal[objects[0]] if objects else {}
        taken = {key for n in objects for key in self.e[n] if key not in literal[n]}
        numbers = not objects or not self.mode_of_row(objects[0])[0].tolerances
        keys = [key for key in first if key not in taken and (numbers or not is_number(first[key]))]
        keys = sorted(key for key in keys if not isinstance(first[key], dict | list)) or sorted(keys)

        def key_of(row: Json) -> Hashable:
            if keys and isinstance(row, dict):
                return tuple([freeze(row.get(key)) for key in keys])
            return freeze(row)

        return key_of

    def walk_alignment(self, alignment: Alignment, head: int, left_out: Mapping[int, int] = _NONE) -> Json:
        """Walk the pairs of an alignment, and report the rest. `left_out`: pairs that rules leave out."""
        walk, before = self.walk, self.walk.count
        resolved: dict[int, Json] = {}
        for n, m in left_out.items():
            if rule := self.rule_against(n):
                resolved[m] = walk.left_out(self.e[n], self.a[m], rule, self.place(n, m))
        moved = self.find_moved(alignment)
        for n, m in alignment.pairs:
            resolved[m] = self.e[n] if n < head else self.walk_pair(n, m)
        for n, m in moved.items():
            self.report_moved(n, m)
            resolved[m] = self.e[n]
        changed = self.find_moved_and_changed(alignment, moved)
        for n, m in changed.items():
            count = walk.count
            resolved[m] = self.walk_pair(n, m)
            if walk.count == count:
                self.report_moved(n, m)
        for n in alignment.missing:
            if n not in moved and n not in changed and not self.is_optional(n):
                self.report_missing(n)
        taken = {*moved.values(), *changed.values()}
        for m in alignment.extra:
            if m not in taken and not self.is_ignored(m) and self.mode.type != "numeric":
                resolved[m] = self.report_extra(m)
        if walk.count == before:
            return self.e
        return [resolved[m] for m in sorted(resolved)]

    def report_moved(self, n: int, m: int) -> None:
        note = f"moved from [{n}]{self.advice()}"
        self.walk.differ((self.path, m), "order", self.e[n], self.a[m], (self.at, n), note=note)

    def find_moved(self, alignment: Alignment) -> dict[int, int]:
        """Pair rows that moved unchanged. Only the first fifty on each side are examined."""
        moved: dict[int, int] = {}
        extra = alignment.extra[:50]
        for n in alignment.missing[:50]:
            if self.is_left_out(n):  # it would match any row
                continue
            for m in extra:
                bindings = self.bindings_after(n, m)
                if bindings is not None:
                    self.walk.bindings = bindings
                    moved[n] = m
                    extra.remove(m)
                    break
        return moved

    def find_moved_and_changed(self, alignment: Alignment, moved: dict[int, int]) -> dict[int, int]:
        """Pair rows that moved and changed, as a refresh would pair them."""
        if self.walk.fail_fast or self.mode.type == "numeric" or self.stored is not None:
            return {}
        missing = [n for n in alignment.missing if n not in moved and not self.is_optional(n)]
        taken = set(moved.values())
        rows = Alignment([], missing, [m for m in alignment.extra if m not in taken])
        if not rows.missing or not rows.extra:
            return {}
        return dict(pair_alike(self.e, self.a, rows, self.walk.templates.accepts))

    # The same elements in another order: one difference.

    def order_of(self, head: int) -> list[int] | None:
        """The expected index of each actual element, if they are the same elements and more than one has
        moved; else None. A single moved element is reported at its place."""
        walk, size = self.walk, len(self.e)
        if size != len(self.a):
            return None
        places: list[int] = []
        loose: list[int] = []
        for n in range(head, size):
            (places if self.matches_only_itself(n) else loose).append(n)
        if len(loose) > _MOST_LOOSE:
            return None
        start, trials, order = walk.bindings, walk.trials, [*range(head)]
        first = self.a[head]
        if not any(same_json(self.e[n], first) for n in places) and all(
            self.bindings_after(n, head) is None for n in loose
        ):  # the first one that differs is new: the others need not be examined
            walk.trials = trials
            return None
        places_by_key: dict[Hashable, deque[int]] = {}
        for n in places:
            places_by_key.setdefault(freeze(self.e[n]), deque()).append(n)
        for m in range(head, size):
            same = places_by_key.get(freeze(self.a[m]))
            place = same.popleft() if same else self.take_first_match(m, loose)
            if place is None or (same is not None and not self.is_same(place, m)):
                break
            order.append(place)
        walk.trials = trials  # trials for a description do not count against the limit
        if len(order) == size and _count_moved(order) > 1:
            return order
        walk.bindings = start
        return None

    def matches_only_itself(self, n: int) -> bool:
        value = self.e[n]
        if not isinstance(value, dict | list):
            return not self.walk.is_touched(value)
        mode, state = self.mode_of_row(n)
        is_selected = state is not None and state.here is not None
        return not (
            is_selected or mode.asks_for_change or mode.type == "numeric" or self.walk.is_touched(value)
        )

    def is_same(self, n: int, m: int) -> bool:
        """Whether values that are equal as keys are also equal where the type counts."""
        if not isinstance(self.e[n], dict | list):
            return self.mode.type != "exact" or identical(self.e[n], self.a[m])
        return bytes_of(self.e[n]) == bytes_of(self.a[m])

    def take_first_match(self, m: int, loose: list[int]) -> int | None:
        for n in loose:
            bindings = self.bindings_after(n, m)
            if bindings is not None:
                self.walk.bindings = bindings
                loose.remove(n)
                return n
        return None

    def report_order(self, order: list[int]) -> Json:
        """Report one difference for all elements: both orders, by the names of the elements if they have any,
        or else by their places."""
        before: list[Json] = self.e
        after, label = self.a, ""
        if any(isinstance(value, dict | list) for value in self.a):
            key = identifying_key(self.e, self.a)
            if key is not None and not any(self.walk.is_touched(row[key]) for row in self.e):
                before, after, label = [row[key] for row in before], [row[key] for row in after], f" by {key}"
            else:
                before, after, label = [*range(len(order))], [*order], " by their old places"
        note = f"the same {len(order):,} elements{label}{self.advice()}"
        self.walk.differ(self.path, "order", [*before], [*after], self.at, note=note)
        return [self.e[n] for n in order]

    def advice(self) -> str:
        """The part of a note that names the rule which would allow another order."""
        if self.mode.type == "exact":
            return "; an exact comparison counts their order"
        from baselinekit.values.changes import row_pattern  # few answers differ in their order

        where = row_pattern(unroll(self.path))
        where = where if _PLAIN_PATH.fullmatch(where) else f"'{where}'"
        return f"; `arrays: {{{where}: unordered}}` allows any order"

    # Arrays whose order is free. Literal rows find equal rows by a key; other rows are grouped by their
    # literal values and matched optimally. Each row has one partner, so multiplicity counts.

    def compare_unordered(self, subset: bool) -> Json:
        walk, before = self.walk, self.walk.count
        ignored = self.left_out()
        pairs = self.pair_literals(ignored)
        taken = set(pairs.values())
        rows = [n for n in range(len(self.e)) if n not in pairs]
        left_out = [n for n in rows if self.is_left_out(n)] if self.selects else []
        rows = sorted({*rows} - {*left_out}) if left_out else rows
        rows.sort(key=self.is_optional)  # rows that must have a partner choose first
        columns = [m for m in range(len(self.a)) if m not in taken]
        matched = _Pairing(self, rows, columns, ignored, subset).match() if rows else {}
        resolved: dict[int, Json] = {}
        if walk.has_bindings or not walk.fail_fast:  # else they were walked already, without further effect
            for n, m in sorted(matched.items()):
                resolved[m] = self.walk_pair(n, m)
        used = set(matched.values())
        unpaired = [n for n in rows if n not in matched]
        if left_out:
            partners = self.partners(left_out, [m for m in columns if m in ignored and m not in used])
            unpaired += self.missing(left_out, partners)
            pairs |= partners
        missing = [n for n in unpaired if not self.is_optional(n)]
        extra = [m for m in columns if m not in used and m not in ignored]
        if walk.fail_fast and (missing or (extra and not subset)):
            raise Mismatch
        # the likeliest pairs of the rows without a partner are reported by their differences
        likely = pair_leftovers([self.e[n] for n in missing], [self.a[m] for m in extra])
        matched |= {missing[i]: extra[j] for i, j in likely}
        resolved |= {extra[j]: self.walk_pair(missing[i], extra[j]) for i, j in likely}
        for n in missing:
            if n not in matched:
                self.report_missing(n)
        used = set(matched.values())
        for m in extra if not subset else ():
            if m not in used:
                resolved[m] = self.report_extra(m)
        if walk.count == before:
            return self.e
        resolved |= {m: self.e[n] for n, m in pairs.items()}
        return _in_authors_order(resolved, {**pairs, **matched})

    def pair_literals(self, ignored: Set[int]) -> dict[int, int]:
        """Pair literal rows with equal rows. It does not matter which of them, except that actual rows that
        need a partner come first; those in `ignored` need none."""
        keys = {n: key for n in range(len(self.e)) if (key := self.literal_row(n)) is not None}
        if not keys:
            return {}
        places: dict[Hashable, list[int]] = {}
        order = range(len(self.a) - 1, -1, -1)
        for m in sorted(order, key=lambda m: m not in ignored) if ignored else order:
            places.setdefault(freeze(self.a[m]), []).append(m)
        for key, equal in places.items():  # 1 and 1.0 are equal, but not the same for a placeholder
            if len(equal) > 1 and not all(identical(self.a[equal[0]], self.a[m]) for m in equal[1:]):
                places[key] = []
        return {n: remaining.pop() for n, key in keys.items() if (remaining := places.get(key))}

    def literal_row(self, n: int) -> Hashable | None:
        """The key of the rows that can match an expected one, if only equal rows can; else None."""
        value = self.e[n]
        mode, state = self.mode_of_row(n)
        is_selected = state is not None and (self.selects or state.here is not None)
        if is_selected or not mode.only_equal_rows_match:
            return None
        if isinstance(value, str):
            literal = self.walk.templates.of(value)
            return freeze(literal) if isinstance(literal, str) else None
        return None if self.walk.is_touched(value) or value is None else freeze(value)

    def literal_values(self, n: int) -> dict[str, Json]:
        """The literal values that every row matching an expected one must have."""
        mode, _ = self.mode_of_row(n)
        if not mode.literal_keys_decide:
            return {}
        numbers, only_equal = not mode.tolerances, mode.only_equal_rows_match
        return {
            key: value
            for key, value in self.literal_fields(n).items()
            if isinstance(value, str | bool) or (numbers and is_number(value)) or only_equal
        }


_MOST_TRIED_PAIRS = 100_000
_MOST_LOOSE = 50
"""With more elements that are not literal, another order is not looked for."""
_PLAIN_PATH = lazy_pattern(r"[\w$][\w.$-]*")


def _in_authors_order(resolved: dict[int, Json], pairs: dict[int, int]) -> list[Json]:
    """The rows of an array whose order is free: first the rows of the baseline in the author's order, then
    the further ones. A row that only moved is no change."""
    place = {m: n for n, m in pairs.items()}
    return [resolved[m] for m in sorted(resolved, key=lambda m: (m not in place, place.get(m, m)))]


def _count_moved(order: list[int]) -> int:
    """How many elements would have to be moved back: all but the longest increasing subsequence."""
    ends: list[int] = []
    for place in order:
        at = bisect(ends, place)
        ends[at : at + 1] = [place]
    return len(order) - len(ends)


# Pairs of rows whose order is free, as many as possible.

MOST_PAIRS = 2_000_000
_MOST_TRIED_OF_MORE = 200_000
"""If there are more pairs, this many are tried: often they are enough, and otherwise the error comes soon."""

_MOST_ROWS_TO_SEARCH = 200
"""With more rows, bindings are settled value by value without trying row by row first."""

_MOST_KEYS = 200


class _Pairing:
    """Pairs rows of a baseline (`rows`) with those of an answer (`columns`), with a limited number of trials.
    `ignored`: columns that a rule leaves out; they need no partner and are tried last.

    Rows that match the same values form a group, and so do equal columns: a thousand equal rows are one
    group, and each pair of groups is tried once."""

    def __init__(self, array: Rows, rows: list[int], columns: list[int], ignored: Set[int], subset: bool):
        self.array, self.walk, self.rows, self.columns = array, array.walk, rows, columns
        self.ignored, self.subset = ignored, subset
        self.bindings = self.walk.has_bindings and any(token.key for token in tokens_in(array.e))
        self.needed = [] if subset else [m for m in columns if m not in ignored]
        self.row_groups = _group_equal(rows, array.e, array.stored, len(array.e), paired=True)
        self.column_groups = [
            group
            for columns_of in (
                [column for column in columns if column not in ignored],
                [column for column in columns if column in ignored],
            )
            for group in _group_equal(columns_of, array.a, array.actual, len(array.a))
        ]
        self.candidates = self.find_candidates()
        """For each group of rows, the groups of columns that could match it."""
        pairs = sum(map(len, self.candidates))
        self.trials_left = MOST_PAIRS if pairs <= MOST_PAIRS else _MOST_TRIED_OF_MORE

    def is_optional(self, group: list[int]) -> bool:
        return self.array.is_optional(group[0])

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
        lacks_partner = any(n not in pairs and not self.array.is_optional(n) for n in self.rows)
        return not lacks_partner and not {*self.needed} - {*pairs.values()}

    def fits(self, row: int, column: int) -> bool:
        self.count_trial()
        return self.array.matches(row, column)

    def bindings_after(self, row: int, column: int, bindings: Bindings) -> Bindings | None:
        self.count_trial()
        return self.array.bindings_after(row, column, bindings)

    def count_trial(self) -> None:
        self.trials_left -= 1
        if self.trials_left < 0:
            raise TooManyWays

    def limit_error(self) -> CannotReplay:
        where = render(unroll(self.array.path))
        message = f"the array {where} has too many rows that can only be told apart by trial"
        return CannotReplay(Problem("BK231", message, "pair them by a key: arrays: {path: {by: id}}"))

    def find_candidates(self) -> list[Sequence[int]]:
        all_groups = range(len(self.column_groups))
        candidates: list[Sequence[int]] = []
        by_keys: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        for group in self.row_groups:
            literals = self.array.literal_values(group[0])
            keys = tuple(literals)
            if not keys:
                candidates.append(all_groups)
                continue
            if keys not in by_keys:
                places = by_keys[keys] = {}
                for number, columns in enumerate(self.column_groups):
                    row = self.array.a[columns[0]]
                    if isinstance(row, dict):
                        places.setdefault(_key_values(row, keys), []).append(number)
            candidates.append(by_keys[keys].get(_key_values(literals, keys), ()))
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
        walk = self.walk
        required = sum(not self.array.is_optional(n) for n in self.rows)
        differs = required > len(self.columns) or len(self.needed) > len(self.rows)
        differs = differs or any(
            not candidates and not self.is_optional(group)
            for group, candidates in zip(self.row_groups, self.candidates, strict=True)
        )
        flow = self.flow(self.fits)
        try:
            if walk.collecting_questions:
                flow.try_all()  # so that all questions are asked at once
            for number, group in enumerate(self.row_groups):
                if walk.fail_fast and differs:
                    raise Mismatch
                differs |= not flow.send(number) and not self.is_optional(group)
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
        if not self.bindings or not self.is_complete(pairs):
            return pairs
        return self.find_consistent() or pairs

    def has_too_few_columns(self) -> bool:
        """Whether some set of columns is too small for the rows that need their partners in it."""
        needed: dict[int, int] = {}
        for group, candidates in zip(self.row_groups, self.candidates, strict=True):
            if not self.is_optional(group):
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
        optional = [*map(self.array.is_optional, rows)]
        try:
            if len(rows) > _MOST_ROWS_TO_SEARCH:
                raise TooManyWays
            pairs = search(
                optional,
                0 if self.subset or self.ignored else len(self.columns),
                self.partners().__getitem__,
                lambda row, column, bindings: self.bindings_after(rows[row], column, bindings),
                self.walk.bindings,
            )
            return None if pairs is None else {rows[row]: column for row, column in pairs.items()}
        except TooManyWays:
            keys = {n: frozenset(t.key for t in tokens_in(self.array.e[n]) if t.key) for n in rows}
        if any(optional):
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


def _group_equal(
    positions: Sequence[int], values: Sequence[Json], state: State | None, size: int, paired: bool = False
) -> list[list[int]]:
    """Group the positions of equal values for which the same rules hold."""
    groups: dict[Any, list[int]] = {}
    for position in positions:
        value = values[position]
        below = None if state is None else state.step(position, value, size, paired)
        groups.setdefault((below, bytes_of(value)), []).append(position)
    return list(groups.values())


def _key_values(row: Mapping[str, Json], keys: tuple[str, ...]) -> Hashable:
    return tuple([freeze(row[key]) if key in row else ABSENT for key in keys])
