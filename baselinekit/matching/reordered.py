"""Arrays whose order counts, when the actual array has the same elements in another order."""

from bisect import bisect
from collections import deque
from collections.abc import Hashable, Sequence

from baselinekit.lazy import lazy_pattern
from baselinekit.matching.rules import Mode
from baselinekit.matching.values import Link, Literal, Node, Walk, unroll
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker
from baselinekit.structs import Struct
from baselinekit.values.alignment import identifying_key
from baselinekit.values.changes import row_pattern
from baselinekit.values.equality import freeze, identical, same_json

MOST_LOOSE = 50
"""With more elements that are not literal, another order is not looked for."""

_PLAIN_PATH = lazy_pattern(r"[\w$][\w.$-]*")


class InOrder(Struct):
    """The expected elements, each with its node."""

    expected: Sequence[Json]
    items: Sequence[Node]
    mode: Mode
    at: Link

    def order_of(self, actual: list[Json], walk: Walk, head: int) -> list[int] | None:
        """The expected index of each actual element, if they are the same elements and more than one has
        moved; else None. A single moved element is reported at its place."""
        size = len(self.items)
        if size != len(actual):
            return None
        places: list[int] = []
        loose: list[int] = []
        for e in range(head, size):
            (places if is_literal_element(self.items[e], self.expected[e]) else loose).append(e)
        if len(loose) > MOST_LOOSE:
            return None
        start, trials, order = walk.bindings, walk.trials, [*range(head)]
        if not self._may_be_among(actual[head], places, loose, walk):
            walk.trials = trials
            return None
        places_by_key: dict[Hashable, deque[int]] = {}
        for e in places:
            places_by_key.setdefault(freeze(self.expected[e]), deque()).append(e)
        for a in range(head, size):
            same = places_by_key.get(freeze(actual[a]))
            place = same[0] if same else take_first_match(actual[a], loose, self.items, walk)
            if place is None:
                break
            if same and not _is_same(self.items[same.popleft()], self.expected[place], actual[a], self.mode):
                break
            order.append(place)
        walk.trials = trials  # trials for a description do not count against the limit
        if len(order) == size and count_moved(order) > 1:
            return order
        walk.bindings = start
        return None

    def _may_be_among(self, value: Json, places: list[int], loose: list[int], walk: Walk) -> bool:
        """Whether a value may be one of these elements: if the first one that differs is new, the others need
        not be examined."""
        if any(same_json(self.expected[e], value) for e in places):
            return True
        return any(walk.bindings_after(self.items[e], value) is not None for e in loose)

    def walk_in(self, order: list[int], actual: list[Json], walk: Walk, path: Link) -> Json:
        """Report one difference for all elements: both orders, by the names of the elements if they have
        any."""
        before, after, label = _describe_order(self.expected, actual, order)
        note = f"the same {len(order):,} elements{label}{rule_for(path, self.mode)}"
        walk.differ(path, "order", before, after, self.at, note=note)
        return [self.expected[e] for e in order]


def is_literal_element(node: Node, value: Json) -> bool:
    """Whether an element matches only itself."""
    plain = not isinstance(value, dict | list) and not (isinstance(value, str) and has_marker(value))
    return plain or isinstance(node, Literal)


def _is_same(node: Node, stored: Json, value: Json, mode: Mode) -> bool:
    """Whether values that are equal as keys are also equal where the type counts."""
    if isinstance(node, Literal):
        return node.equals(value)
    return mode.type != "exact" or identical(stored, value)


def take_first_match(value: Json, loose: list[int], items: Sequence[Node], walk: Walk) -> int | None:
    for e in loose:
        bindings = walk.bindings_after(items[e], value)
        if bindings is not None:
            walk.bindings = bindings
            loose.remove(e)
            return e
    return None


def rule_for(path: Link, mode: Mode) -> str:
    """The part of a note that names the rule which would allow another order."""
    if mode.type == "exact":
        return "; an exact comparison counts their order"
    where = row_pattern(unroll(path))
    where = where if _PLAIN_PATH.fullmatch(where) else f"'{where}'"
    return f"; `arrays: {{{where}: unordered}}` allows any order"


def _describe_order(
    expected: Sequence[Json], actual: list[Json], order: list[int]
) -> tuple[list[Json], list[Json], str]:
    """The names of the elements on both sides, and what they are: the elements themselves, a key, or their
    places."""
    if not any(isinstance(value, dict | list) for value in actual):
        return [*expected], [*actual], ""
    key = identifying_key(expected, actual)
    if key is not None and not any(isinstance(row[key], str) and has_marker(row[key]) for row in expected):
        return [row[key] for row in expected], [row[key] for row in actual], f" by {key}"
    return [*range(len(order))], [*order], " by their old places"


def count_moved(order: list[int]) -> int:
    """How many elements would have to be moved back: all but the longest increasing subsequence."""
    ends: list[int] = []
    for place in order:
        at = bisect(ends, place)
        ends[at : at + 1] = [place]
    return len(order) - len(ends)
