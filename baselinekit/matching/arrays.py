"""Arrays whose order counts, templates that describe every element, and elements that are paired by a key."""

from bisect import bisect
from collections.abc import Callable, Container, Hashable, Mapping, Sequence, Set
from functools import partial

from baselinekit.matching.objects import Object
from baselinekit.matching.reordered import InOrder, rule_for
from baselinekit.matching.rules import Mode, Side, State
from baselinekit.matching.values import Ignored, Link, Literal, Mismatch, Node, Walk
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape_value
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.alignment import Alignment, align, align_named, pair_alike, same_rows
from baselinekit.values.equality import freeze, is_number


class Selected(MutableStruct):
    """A value for which a filter holds, or may hold because it reads a placeholder. `default_node`: the node
    if the filter holds for the actual value too; `make` gives the node for any other state."""

    default_node: Node
    default_state: State
    outer_state: State
    stored: Side
    make: Callable[[State], Node]
    nodes_by_state: dict[State, Node] = field(default_factory=dict)

    @property
    def expected(self) -> Json:
        return self.default_node.expected

    @property
    def at(self) -> Link:
        return self.default_node.at

    @property
    def optional(self) -> bool:
        return self.default_node.optional

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        return self.node_for(Side(self.stored.key, actual, self.stored.size)).walk(actual, walk, path)

    def node_for(self, actual_side: Side) -> Node:
        """The node for the actual value."""
        state = self.outer_state.step_both(self.stored, actual_side)
        if state is self.default_state:
            return self.default_node
        if state not in self.nodes_by_state:
            self.nodes_by_state[state] = self.make(state)
        return self.nodes_by_state[state]


class Elements(MutableStruct):
    """The elements of an array and the state of that array. `make` gives the node of one element in a given
    state. `any_number`: a rule leaves out all of them, so none has to be there."""

    expected: Sequence[Json]
    state: State
    make: Callable[[int, State], Node]
    any_number: bool = False
    nodes_by_state: dict[tuple[int, State], Node] = field(default_factory=dict)

    def node_for(self, e: int, stored: tuple[int, int], actual_side: Side) -> Node:
        """The node of an element for the actual value. `stored`: the index and array length that count for
        the expected element."""
        state = self.state.step_both(Side(stored[0], self.expected[e], stored[1]), actual_side)
        key = (e, state)
        if key not in self.nodes_by_state:
            self.nodes_by_state[key] = self.make(e, state)
        return self.nodes_by_state[key]

    def left_out(self, actual: Sequence[Json], walk: Walk) -> Set[int]:
        """The indexes of the actual elements that a rule leaves out."""
        if not self.state.distinguishes_elements:
            return frozenset()
        indexes = set()
        for a, value in enumerate(actual):
            here = self.state.step_alone(a, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
                if here.ignore is not None:
                    indexes.add(a)
        return indexes

    def partners(
        self, unpaired: Sequence[int], items: Sequence[Node], spare: Sequence[int]
    ) -> dict[int, int]:
        """Pair left-out elements of the baseline with left-out actual elements. Those that have to be there,
        although their value does not count, come first."""
        candidates = [e for e in unpaired if is_left_out(items[e])]
        candidates.sort(key=lambda e: items[e].optional)
        return dict(zip(sorted(candidates[: len(spare)]), spare, strict=False))

    def missing(self, unpaired: Sequence[int], items: Sequence[Node], partners: Container[int]) -> list[int]:
        """The unpaired elements that have to be there."""
        any_number = self.any_number
        required = [e for e in unpaired if e not in partners and not items[e].optional]
        return [e for e in required if not (any_number and is_left_out(items[e]))]


def is_left_out(node: Node) -> bool:
    """Whether a rule leaves out this element of the baseline."""
    return isinstance(node.default_node if isinstance(node, Selected) else node, Ignored)


_MAX_TRIED_PAIRS = 100_000


class Ordered(MutableStruct):
    """An array compared element by element. Only when an element differs are the rows aligned, so that one
    row removed at the head is one removed row and not a thousand changed ones. `open`: further elements do
    not matter, and elements are paired by their index alone."""

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
        if (
            self.open
            and self.elements
            and self.state.distinguishes_elements
            and len(actual) != len(self.items)
        ):
            return self._with_nodes_by_place(actual, self.elements).walk(actual, walk, path)
        start = dict(walk.bindings) if walk.has_bindings else walk.bindings
        agreed, bindings = self._count_agreeing(actual, walk, path)
        if agreed == len(self.items) == len(actual):
            return self.expected
        flexible = self.open or not self.state.dead or any(node.optional for node in self.items)
        if walk.fail_fast and not flexible:  # no other number of elements may pass
            raise Mismatch
        walk.bindings = start
        if self.elements is not None and self.state.distinguishes_elements and not self.open:
            ignored = self.elements.left_out(actual, walk)
            if ignored or any(map(is_left_out, self.items)):
                return self._walk_without_ignored(actual, ignored, self.elements, walk, path)
        pairs = self._align_without_optional(actual, walk)
        if pairs is not None:
            return self._walk_pairs(pairs, actual, walk, path, 0)
        if walk.fail_fast and not self.open and self.state.dead:
            raise Mismatch
        walk.bindings = bindings
        if not walk.fail_fast and not self.open and not self.state.distinguishes_elements:
            in_order = InOrder(self.expected, self.items, self.mode, self.at)
            if (order := in_order.order_of(actual, walk, agreed)) is not None:
                return in_order.walk_in(order, actual, walk, path)
        return self._walk_pairs(self._align_likely(actual, walk, agreed), actual, walk, path, agreed)

    def _with_nodes_by_place(self, actual: list[Json], elements: Elements) -> "Ordered":
        """A copy for an actual array of another length, in which an index from the end or a slice selects
        other elements."""
        sizes = len(self.items), len(actual)
        nodes = [
            elements.node_for(n, (n, sizes[0]), Side(n, value, sizes[1]))
            for n, value in enumerate(actual[: sizes[0]])
        ]
        remaining = self.items[len(nodes) :]
        if elements.any_number and all(map(is_left_out, remaining)):
            remaining = ()
        return replace(self, items=(*nodes, *remaining), elements=None)

    def _count_agreeing(self, actual: list[Json], walk: Walk, path: Link) -> tuple[int, dict[str, Json]]:
        """Count the rows that agree from the head on; also return the bindings after them. The first row that
        differs is not examined further: it may get another partner."""
        outer_fail_fast, walk.fail_fast = walk.fail_fast, True
        agreed, bindings, question_count = 0, walk.bindings, len(walk.questions)
        try:
            for node, value in zip(self.items, actual, strict=False):
                if walk.has_bindings:
                    bindings = dict(walk.bindings)
                question_count = len(walk.questions)
                node.walk(value, walk, (path, agreed))
                agreed += 1
        except Mismatch:
            walk.take_back(question_count)
            return agreed, bindings
        finally:
            walk.fail_fast = outer_fail_fast
        return agreed, walk.bindings

    def _walk_without_ignored(
        self, actual: list[Json], ignored: Set[int], elements: Elements, walk: Walk, path: Link
    ) -> Json:
        """Walk an array of which rules leave out some elements: those do not count on either side, and the
        remaining elements are compared in order."""
        expected_rows = [e for e, node in enumerate(self.items) if not is_left_out(node)]
        actual_rows = [a for a in range(len(actual)) if a not in ignored]
        sizes = len(self.items), len(actual)
        nodes = list(self.items)
        if len(expected_rows) == len(actual_rows):
            for e, a in zip(expected_rows, actual_rows, strict=True):
                nodes[e] = elements.node_for(e, (e, sizes[0]), Side(a, actual[a], sizes[1]))
        inner = Ordered(
            [self.expected[e] for e in expected_rows],
            tuple([nodes[e] for e in expected_rows]),
            self.mode,
            self.state.below_any_key(),
            self.at,
        )
        compared = inner.pairs([actual[a] for a in actual_rows], walk)
        alignment = Alignment(
            [(expected_rows[e], actual_rows[a]) for e, a in compared.pairs],
            [expected_rows[e] for e in compared.missing],
            [actual_rows[a] for a in compared.extra],
        )
        self._add_left_out(
            alignment, [e for e in range(sizes[0]) if e not in {*expected_rows}], sorted(ignored), elements
        )
        alignment.missing.sort()
        nodes = [
            node.default_node if isinstance(node, Selected) and is_left_out(node) else node for node in nodes
        ]
        chosen = replace(self, items=tuple(nodes))
        return chosen._walk_pairs(alignment, actual, walk, path, 0)

    def _add_left_out(
        self, alignment: Alignment, left_out: list[int], ignored: list[int], elements: Elements
    ) -> None:
        """Add the left-out elements to an alignment, and report those that are missing: there must be as many
        as the baseline requires, wherever they are. Those between the same two pairs belong together."""
        begin = (-1, -1)
        partners: dict[int, int] = {}
        for end in [*alignment.pairs, (len(self.items), len(ignored) and ignored[-1] + 1)]:
            unpaired = left_out[bisect(left_out, begin[0]) : bisect(left_out, end[0])]
            spare = ignored[bisect(ignored, begin[1]) : bisect(ignored, end[1])]
            partners |= elements.partners(unpaired, self.items, spare)
            begin = end
        free = sorted({*ignored} - {*partners.values()})
        partners |= elements.partners([e for e in left_out if e not in partners], self.items, free)
        alignment.missing.extend(elements.missing(left_out, self.items, partners))
        alignment.pairs.extend(partners.items())
        alignment.pairs.sort()

    def pairs(self, actual: list[Json], walk: Walk) -> Alignment:
        """Decide which elements belong together, without reporting differences."""
        start = dict(walk.bindings) if walk.has_bindings else walk.bindings
        agreed, _ = self._count_agreeing(actual, walk, None)
        walk.bindings = dict(start)
        if agreed == len(self.items) == len(actual):
            return Alignment([(n, n) for n in range(agreed)], [], [])
        alignment = self._align_without_optional(actual, walk) or self._align_likely(actual, walk, agreed)
        walk.bindings = start
        return alignment

    def _align_without_optional(self, actual: list[Json], walk: Walk) -> Alignment | None:
        """The alignment if leaving out optional elements explains all differences; None if it does not."""
        items = self.items
        if self.open:
            return None  # elements that are not compared keep their index
        if not any(node.optional for node in items) or len(items) * len(actual) > _MAX_TRIED_PAIRS:
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
        alignment = Alignment([], [], [])
        a = 0
        for e, node in enumerate(items):
            if a < len(actual) and fits[e + 1][a + 1] and walk.matches(node, actual[a]):
                alignment.pairs.append((e, a))
                a += 1
            else:
                alignment.missing.append(e)
        return alignment

    def _align_likely(self, actual: list[Json], walk: Walk, head: int) -> Alignment:
        """The pairs that a reader would see: elements that agree at their index, and the likeliest pairs in
        between. Where further elements do not matter the index alone decides, since the verdict would depend
        on it."""
        rows, columns = len(self.items), len(actual)
        if self.open:
            shared = min(rows, columns)
            return Alignment(
                [(n, n) for n in range(shared)], [*range(shared, rows)], [*range(shared, columns)]
            )
        named = None if walk.fail_fast else align_named(self.expected, actual)
        if named is not None and named.pairs[:head] == [(n, n) for n in range(head)]:
            return named
        alignment = Alignment([(n, n) for n in range(head)], [], [])
        row_key = RowKey.of(self.items)
        for e1, e2, a1, a2 in self._find_stretches(actual, walk, head, alignment.pairs):
            if e2 - e1 == a2 - a1 == 1:
                alignment.pairs.append((e1, a1))
                continue
            inner = align(self.expected[e1:e2], actual[a1:a2], row_key)
            alignment.pairs.extend((e1 + e, a1 + a) for e, a in inner.pairs)
            alignment.missing.extend(e1 + e for e in inner.missing)
            alignment.extra.extend(a1 + a for a in inner.extra)
        alignment.pairs.sort()
        return alignment

    def _find_stretches(
        self, actual: list[Json], walk: Walk, head: int, pairs: list[tuple[int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Find where the rows disagree: one stretch between the agreeing head and tail, or, if the number of
        rows is the same, several stretches. Rows that agree are appended to `pairs`."""
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

    def _walk_pairs(
        self, alignment: Alignment, actual: list[Json], walk: Walk, path: Link, head: int
    ) -> Json:
        resolved: dict[int, Json] = {}
        before = walk.count
        moved = self._find_moved(alignment, actual, walk)
        for e, a in alignment.pairs:
            if e < head:
                resolved[a] = self.expected[e]
            else:
                resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
        for e, a in moved.items():
            note = f"moved from [{e}]{rule_for(path, self.mode)}"
            walk.differ((path, a), "order", self.expected[e], actual[a], (self.at, e), note=note)
            resolved[a] = self.expected[e]
        changed = self._find_moved_and_changed(alignment, moved, actual, walk)
        for e, a in changed.items():
            count = walk.count
            resolved[a] = self.items[e].walk(actual[a], walk, (path, a))
            if walk.count == count:
                note = f"moved from [{e}]{rule_for(path, self.mode)}"
                walk.differ((path, a), "order", self.expected[e], actual[a], (self.at, e), note=note)
        for e in alignment.missing:
            if e not in moved and e not in changed and not self.items[e].optional:
                walk.missing(self.expected[e], (self.at, e), (path, e))
        taken = {*moved.values(), *changed.values()}
        for a in alignment.extra:
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
        walk.shuffled |= bool(alignment.missing or alignment.extra)
        return [resolved[a] for a in sorted(resolved)]

    def _find_moved(self, alignment: Alignment, actual: list[Json], walk: Walk) -> dict[int, int]:
        """Pair rows that moved unchanged. Only the first fifty on each side are examined."""
        moved: dict[int, int] = {}
        extra = alignment.extra[:50]
        for e in alignment.missing[:50]:
            if is_left_out(self.items[e]):  # it would match any row
                continue
            for a in extra:
                bindings = walk.bindings_after(self.items[e], actual[a])
                if bindings is not None:
                    walk.bindings = bindings
                    moved[e] = a
                    extra.remove(a)
                    break
        return moved

    def _find_moved_and_changed(
        self, alignment: Alignment, moved: dict[int, int], actual: list[Json], walk: Walk
    ) -> dict[int, int]:
        """Pair rows that moved and changed, as a refresh would pair them."""
        if walk.fail_fast or self.open or not self.state.dead:
            return {}
        missing = [e for e in alignment.missing if e not in moved and not self.items[e].optional]
        taken = set(moved.values())
        rows = Alignment([], missing, [a for a in alignment.extra if a not in taken])
        return (
            dict(pair_alike(self.expected, actual, rows, walk.accepts)) if rows.missing and rows.extra else {}
        )


class RowKey:
    """The key by which rows are first aligned: the values that are literal in every row, only the scalar ones
    if there are any."""

    def __init__(self, first: Mapping[str, Json], taken: Container[str], mode: Mode):
        """`first`: the literal part of the first row; `taken`: keys that are not literal in every row."""
        keys = [key for key in first if key not in taken]
        if mode.tolerance is not None:
            keys = [key for key in keys if not is_number(first[key])]
        self._keys = sorted(key for key in keys if not isinstance(first[key], dict | list)) or sorted(keys)

    @classmethod
    def of(cls, items: Sequence[Node]) -> "RowKey":
        rows = [node for node in items if isinstance(node, Object | Literal)]
        if not rows:
            return cls({}, frozenset(), Mode())
        objects = [node for node in rows if isinstance(node, Object)]
        taken = {key for node in objects for key in node.expected if key not in node.literal_fields}
        return cls(rows[0].literal_fields, taken, rows[0].mode)

    def __call__(self, row: Json) -> Hashable:
        if self._keys and isinstance(row, dict):
            return tuple([freeze(row.get(key)) for key in self._keys])
        return freeze(row)


class ElementTemplate(MutableStruct):
    """Every element of the actual array must match one of the templates; usually there is one."""

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
            if (
                self.elements.state.distinguishes_elements
            ):  # templates have no index of their own: use the element's
                actual_side = Side(index, value, size)
                items = [
                    self.elements.node_for(n, (index, size), actual_side) for n in range(len(self.items))
                ]
            node = items[0]
            if len(items) > 1:
                node = next((item for item in items if walk.matches(item, value)), node)
            resolved.append(node.walk(value, walk, (path, index)))
        return self.expected if walk.count == before else resolved
