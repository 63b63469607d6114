"""Arrays whose order counts, templates that describe every element, and elements that are paired by a key."""

from bisect import bisect
from collections.abc import Callable, Container, Hashable, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import partial
from itertools import chain

from baselinekit.frozen import slotted
from baselinekit.matching.objects import Object
from baselinekit.matching.reordered import InOrder, rule_for
from baselinekit.matching.rules import Mode, Side, State
from baselinekit.matching.values import Ignored, Link, Literal, Mismatch, Node, Walk
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape_value
from baselinekit.tree.alignment import Alignment, align, align_named, pair_alike, same_rows
from baselinekit.tree.equality import freeze, is_number


@slotted
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


@slotted
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
            return frozenset()
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


_MOST_TRIED = 100_000


@slotted
class Ordered:
    """Element by element. Only when one of them differs are the rows aligned, so that one row removed at the
    head is one removed row and not a thousand changed ones. `open`: further elements do not matter, and the
    place alone says which elements belong together."""

    expected: list[Json]
    items: tuple[Node, ...]
    mode: Mode
    state: State
    at: Link
    open: bool = False
    optional: bool = False
    elements: Elements | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        if self.open and self.elements and self.state.tells_apart and len(actual) != len(self.items):
            return self._by_place(actual, self.elements).walk(actual, walk, path)
        start = dict(walk.bindings) if walk.bound else walk.bindings
        agreed, bindings = self._agreeing(actual, walk, path)
        if agreed == len(self.items) == len(actual):
            return self.expected
        flexible = self.open or not self.state.dead or any(node.optional for node in self.items)
        if walk.fail_fast and not flexible:  # no other number of elements may pass
            raise Mismatch
        walk.bindings = start
        if self.elements is not None and self.state.tells_apart and not self.open:
            free = self.elements.left_out(actual, walk)
            if free or any(map(is_left_out, self.items)):
                return self._walk_chosen(actual, free, self.elements, walk, path)
        pairs = self._without_optional(actual, walk)
        if pairs is not None:
            return self._walk_pairs(pairs, actual, walk, path, 0)
        if walk.fail_fast and not self.open and self.state.dead:
            raise Mismatch
        walk.bindings = bindings
        if not walk.fail_fast and not self.open and not self.state.tells_apart:
            stated = InOrder(self.expected, self.items, self.mode, self.at)
            if (order := stated.order_of(actual, walk, agreed)) is not None:
                return stated.walk_in(order, actual, walk, path)
        return self._walk_pairs(self._likely(actual, walk, agreed), actual, walk, path, agreed)

    def _by_place(self, actual: list[Json], elements: Elements) -> "Ordered":
        """The same for an array of another length, in which an index from the end or a slice selects other
        places."""
        sizes = len(self.items), len(actual)
        nodes = [
            elements.seen_with(n, (n, sizes[0]), Side(n, value, sizes[1]))
            for n, value in enumerate(actual[: sizes[0]])
        ]
        rest = self.items[len(nodes) :]
        if elements.any_number and all(map(is_left_out, rest)):
            rest = ()
        return replace(self, items=(*nodes, *rest), elements=None)

    def _agreeing(self, actual: list[Json], walk: Walk, path: Link) -> tuple[int, dict[str, Json]]:
        """How many rows agree from the head on, and the bindings after them. The first that does not is not
        looked at any closer: it may get another partner."""
        outer, walk.fail_fast = walk.fail_fast, True
        agreed, bindings, asked = 0, walk.bindings, len(walk.questions)
        try:
            for node, value in zip(self.items, actual, strict=False):
                if walk.bound:
                    bindings = dict(walk.bindings)
                asked = len(walk.questions)
                node.walk(value, walk, (path, agreed))
                agreed += 1
        except Mismatch:
            walk.take_back(asked)
            return agreed, bindings
        finally:
            walk.fail_fast = outer
        return agreed, walk.bindings

    def _walk_chosen(
        self, actual: list[Json], free: Set[int], elements: Elements, walk: Walk, path: Link
    ) -> Json:
        """Where rules leave out some elements: what they leave out on either side does not count, and the
        rest is compared one by one."""
        rest = [e for e, node in enumerate(self.items) if not is_left_out(node)]
        left = [a for a in range(len(actual)) if a not in free]
        sizes = len(self.items), len(actual)
        nodes = list(self.items)
        if len(rest) == len(left):
            for e, a in zip(rest, left, strict=True):
                nodes[e] = elements.seen_with(e, (e, sizes[0]), Side(a, actual[a], sizes[1]))
        inner = Ordered(
            [self.expected[e] for e in rest],
            tuple([nodes[e] for e in rest]),
            self.mode,
            self.state.otherwise(),
            self.at,
        )
        found = inner.pairs([actual[a] for a in left], walk)
        whole = Alignment(
            [(rest[e], left[a]) for e, a in found.pairs],
            [rest[e] for e in found.missing],
            [left[a] for a in found.extra],
        )
        self._between(whole, [e for e in range(sizes[0]) if e not in {*rest}], sorted(free), elements)
        whole.missing.sort()
        nodes = [node.own if isinstance(node, Selected) and is_left_out(node) else node for node in nodes]
        chosen = replace(self, items=tuple(nodes))
        return chosen._walk_pairs(whole, actual, walk, path, 0)

    def _between(self, whole: Alignment, aside: list[int], free: list[int], elements: Elements) -> None:
        """Add the elements that are left out, and what is missing of them: between two pairs there must be as
        many as have to be there."""
        begin = (-1, -1)
        found: list[tuple[int, int]] = []
        for end in [*whole.pairs, (len(self.items), len(free) and free[-1] + 1)]:
            lost = aside[bisect(aside, begin[0]) : bisect(aside, end[0])]
            spare = free[bisect(free, begin[1]) : bisect(free, end[1])]
            partners = elements.partners(lost, self.items, spare)
            found += partners.items()
            whole.missing.extend(elements.missing(lost, self.items, partners))
            begin = end
        whole.pairs.extend(found)
        whole.pairs.sort()

    def pairs(self, actual: list[Json], walk: Walk) -> Alignment:
        """Which elements belong together, before any of them is told to differ."""
        start = dict(walk.bindings) if walk.bound else walk.bindings
        agreed, _ = self._agreeing(actual, walk, None)
        walk.bindings = dict(start)
        if agreed == len(self.items) == len(actual):
            return Alignment([(n, n) for n in range(agreed)], [], [])
        found = self._without_optional(actual, walk) or self._likely(actual, walk, agreed)
        walk.bindings = start
        return found

    def _without_optional(self, actual: list[Json], walk: Walk) -> Alignment | None:
        """The pairs when leaving out optional elements explains everything; None if it does not."""
        items = self.items
        if self.open:
            return None  # what is not compared holds its place all the same
        if not any(node.optional for node in items) or len(items) * len(actual) > _MOST_TRIED:
            return None
        fits = [[False] * (len(actual) + 1) for _ in range(len(items) + 1)]
        fits[-1][-1] = True
        for e in range(len(items) - 1, -1, -1):
            for a in range(len(actual), -1, -1):
                skipped = items[e].optional and fits[e + 1][a]
                fits[e][a] = skipped or (
                    a < len(actual) and fits[e + 1][a + 1] and walk.matches(items[e], actual[a])
                )
        if not fits[0][0]:
            return None
        found = Alignment([], [], [])
        a = 0
        for e, node in enumerate(items):
            if a < len(actual) and fits[e + 1][a + 1] and walk.matches(node, actual[a]):
                found.pairs.append((e, a))
                a += 1
            else:
                found.missing.append(e)
        return found

    def _likely(self, actual: list[Json], walk: Walk, head: int) -> Alignment:
        """The pairs that a reader would see: what agrees where it stands, and in between the likeliest. Where
        further elements do not matter the place alone decides, since the verdict would hang on it."""
        rows, columns = len(self.items), len(actual)
        if self.open:
            shared = min(rows, columns)
            return Alignment(
                [(n, n) for n in range(shared)], [*range(shared, rows)], [*range(shared, columns)]
            )
        named = None if walk.fail_fast else align_named(self.expected, actual)
        if named is not None and named.pairs[:head] == [(n, n) for n in range(head)]:
            return named
        found = Alignment([(n, n) for n in range(head)], [], [])
        ident = Ident.of(self.items)
        for e1, e2, a1, a2 in self._stretches(actual, walk, head, found.pairs):
            if e2 - e1 == a2 - a1 == 1:
                found.pairs.append((e1, a1))
                continue
            inner = align(self.expected[e1:e2], actual[a1:a2], ident)
            found.pairs.extend((e1 + e, a1 + a) for e, a in inner.pairs)
            found.missing.extend(e1 + e for e in inner.missing)
            found.extra.extend(a1 + a for a in inner.extra)
        found.pairs.sort()
        return found

    def _stretches(
        self, actual: list[Json], walk: Walk, head: int, pairs: list[tuple[int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Where the rows disagree: one stretch between the agreeing head and tail, or, of as many rows as
        there were, several. What agrees is appended to the pairs."""
        rows, columns = len(self.items), len(actual)
        if rows != columns:
            tail = 0
            while tail < min(rows, columns) - head and walk.matches(self.items[-1 - tail], actual[-1 - tail]):
                tail += 1
                pairs.append((rows - tail, columns - tail))
            return [(head, rows - tail, head, columns - tail)]
        if same_rows(self.expected[head:], actual[head:]):
            return [(head, rows, head, columns)]
        stretches = []
        begin = head
        for n in range(head, rows):
            node = self.items[n]
            agrees = node.equals if isinstance(node, Literal) else partial(walk.matches, node)
            if n > head and agrees(actual[n]):
                pairs.append((n, n))
                if begin < n:
                    stretches.append((begin, n, begin, n))
                begin = n + 1
        if begin < rows:
            stretches.append((begin, rows, begin, rows))
        return stretches

    def _walk_pairs(self, whole: Alignment, actual: list[Json], walk: Walk, path: Link, head: int) -> Json:
        resolved: dict[int, Json] = {}
        before = walk.count
        moved = self._moved(whole, actual, walk)
        for e, a in whole.pairs:
            if e < head:
                resolved[a] = self.expected[e]
            else:
                resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
        for e, a in moved.items():
            note = f"moved from [{e}]{rule_for(path, self.mode)}"
            walk.differ((path, a), "order", self.expected[e], actual[a], (self.at, e), note=note)
            resolved[a] = self.expected[e]
        changed = self._moved_and_changed(whole, moved, actual, walk)
        for e, a in changed.items():
            count = walk.count
            resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
            if walk.count == count:
                note = f"moved from [{e}]{rule_for(path, self.mode)}"
                walk.differ((path, a), "order", self.expected[e], actual[a], (self.at, e), note=note)
        for e in whole.missing:
            if e not in moved and e not in changed and not self.items[e].optional:
                walk.missing(self.expected[e], (self.at, e), (path, e))
        taken = {*moved.values(), *changed.values()}
        for a in whole.extra:
            if a in taken:
                continue
            here = self.state.step_alone(a, actual[a], len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not self.open and (here is None or here.ignore is None):
                walk.extra(actual[a], (path, a), self.at)
                resolved[a] = escape_value(actual[a])
        if walk.count == before:
            return self.expected
        walk.shuffled |= bool(whole.missing or whole.extra)
        return [resolved[a] for a in sorted(resolved)]

    def _moved(self, whole: Alignment, actual: list[Json], walk: Walk) -> dict[int, int]:
        """Rows that stand elsewhere, as they are. The first fifty of each are looked at."""
        moved: dict[int, int] = {}
        free = whole.extra[:50]
        for e in whole.missing[:50]:
            if is_left_out(self.items[e]):  # which would be taken for any
                continue
            for a in free:
                bindings = walk.bindings_after(self.items[e], actual[a])
                if bindings is not None:
                    walk.bindings = bindings
                    moved[e] = a
                    free.remove(a)
                    break
        return moved

    def _moved_and_changed(
        self, whole: Alignment, moved: dict[int, int], actual: list[Json], walk: Walk
    ) -> dict[int, int]:
        """Rows that stand elsewhere and are not as they were, as a refresh would take them."""
        if walk.fail_fast or self.open or not self.state.dead:
            return {}
        missing = [e for e in whole.missing if e not in moved and not self.items[e].optional]
        taken = set(moved.values())
        rows = Alignment([], missing, [a for a in whole.extra if a not in taken])
        return (
            dict(pair_alike(self.expected, actual, rows, walk.accepts)) if rows.missing and rows.extra else {}
        )


class Ident:
    """The key by which rows are first aligned: the values that are literal in every one of them, scalar ones
    if there are any."""

    def __init__(self, first: Mapping[str, Json], taken: Container[str], mode: Mode):
        """`first`: what is literal in the first row, `taken`: keys that are not literal everywhere."""
        keys = [key for key in first if key not in taken]
        if mode.tolerance is not None:
            keys = [key for key in keys if not is_number(first[key])]
        self._keys = sorted(key for key in keys if not isinstance(first[key], dict | list)) or sorted(keys)

    @classmethod
    def of(cls, items: Sequence[Node]) -> "Ident":
        rows = [node for node in items if isinstance(node, Object | Literal)]
        shapes = {id(node.shape): node.shape.taken for node in rows if isinstance(node, Object)}
        taken = frozenset(chain.from_iterable(shapes.values()))
        return cls(rows[0].rest, taken, rows[0].mode) if rows else cls({}, taken, Mode())

    def __call__(self, row: Json) -> Hashable:
        if self._keys and isinstance(row, dict):
            return tuple([freeze(row.get(key)) for key in self._keys])
        return freeze(row)


@slotted
class ElementTemplate:
    """Every element of the actual array is as one of the templates says: usually there is one."""

    expected: list[Json]
    items: tuple[Node, ...]
    mode: Mode
    at: Link
    elements: Elements
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        if not actual and not self.mode.allow_empty_arrays:
            note = "one element describes all, but there is none; allow_empty_arrays allows an empty array"
            walk.differ(path, "count", self.expected, actual, self.at, "allow_empty_arrays", note)
            return []
        before = walk.count
        resolved = []
        size = len(actual)
        for index, value in enumerate(actual):
            items: Sequence[Node] = self.items
            if self.elements.state.tells_apart:  # templates stand at no index, and take that of the element
                came = Side(index, value, size)
                items = [self.elements.seen_with(n, (index, size), came) for n in range(len(self.items))]
            node = items[0]
            if len(items) > 1:
                node = next((item for item in items if walk.matches(item, value)), node)
            resolved.append(node.walk(value, walk, (path, index)))
        return self.expected if walk.count == before else resolved
