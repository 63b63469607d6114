"""The elements of an array whose order counts, when the same ones have come in another order."""

from bisect import bisect
from collections import deque
from collections.abc import Hashable, Sequence

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.rules import Mode
from baselinekit.matching.values import Link, Literal, Node, Walk, unroll
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker
from baselinekit.tree.alignment import identifying_key
from baselinekit.tree.changes import row_pattern
from baselinekit.tree.equality import freeze, identical, same_json

MOST_LOOSE = 50
"""Of more elements that are not literal nobody looks whether they came in another order."""

_PLAIN_PATH = lazy_pattern(r"[\w$][\w.$-]*")


@frozen
class InOrder:
    """The elements that are expected, each with its node."""

    expected: Sequence[Json]
    items: Sequence[Node]
    mode: Mode
    at: Link

    def order_of(self, actual: list[Json], walk: Walk, head: int) -> list[int] | None:
        """Of each actual element the place that it had, if all of them are the same ones and more than one
        has moved. One that has moved alone is told by its place."""
        size = len(self.items)
        if size != len(actual):
            return None
        places: list[int] = []
        loose: list[int] = []
        for e in range(head, size):
            (places if is_stated(self.items[e], self.expected[e]) else loose).append(e)
        if len(loose) > MOST_LOOSE:
            return None
        start, trials, order = walk.bindings, walk.trials, [*range(head)]
        if not self._is_there(actual[head], places, loose, walk):
            walk.trials = trials
            return None
        stated: dict[Hashable, deque[int]] = {}
        for e in places:
            stated.setdefault(freeze(self.expected[e]), deque()).append(e)
        for a in range(head, size):
            same = stated.get(freeze(actual[a]))
            found = same[0] if same else first_that_takes(actual[a], loose, self.items, walk)
            if found is None:
                break
            if same and not _is_same(self.items[same.popleft()], self.expected[found], actual[a], self.mode):
                break
            order.append(found)
        walk.trials = trials  # a description is no reason to give up
        if len(order) == size and count_moved(order) > 1:
            return order
        walk.bindings = start
        return None

    def _is_there(self, value: Json, places: list[int], loose: list[int], walk: Walk) -> bool:
        """Whether it may be one of these elements: where the first that differs is a new one, nobody need
        know what all the others are."""
        if any(same_json(self.expected[e], value) for e in places):
            return True
        return any(walk.bindings_after(self.items[e], value) is not None for e in loose)

    def walk_in(self, order: list[int], actual: list[Json], walk: Walk, path: Link) -> Json:
        """One difference for all: both orders by what names the elements, if anything does."""
        before, after, by = _names(self.expected, actual, order)
        note = f"the same {len(order):,} elements{by}{rule_for(path, self.mode)}"
        walk.differ(path, "order", before, after, self.at, note=note)
        return [self.expected[e] for e in order]


def is_stated(node: Node, value: Json) -> bool:
    """Whether an element stands for itself alone."""
    plain = not isinstance(value, dict | list) and not (isinstance(value, str) and has_marker(value))
    return plain or isinstance(node, Literal)


def _is_same(node: Node, stored: Json, value: Json, mode: Mode) -> bool:
    """Of values that are equal as keys: whether they are where the type counts as well."""
    if isinstance(node, Literal):
        return node.equals(value)
    return mode.type != "exact" or identical(stored, value)


def first_that_takes(value: Json, loose: list[int], items: Sequence[Node], walk: Walk) -> int | None:
    for e in loose:
        bindings = walk.bindings_after(items[e], value)
        if bindings is not None:
            walk.bindings = bindings
            loose.remove(e)
            return e
    return None


def rule_for(path: Link, mode: Mode) -> str:
    """The rule that would allow another order."""
    if mode.type == "exact":
        return "; an exact comparison counts their order"
    where = row_pattern(unroll(path))
    where = where if _PLAIN_PATH.fullmatch(where) else f"'{where}'"
    return f"; `arrays: {{{where}: unordered}}` allows any order"


def _names(
    expected: Sequence[Json], actual: list[Json], order: list[int]
) -> tuple[list[Json], list[Json], str]:
    """What the elements are called on both sides, and by what that is: themselves, a key, or their places."""
    if not any(isinstance(value, dict | list) for value in actual):
        return [*expected], [*actual], ""
    key = identifying_key(expected, actual)
    if key is not None and not any(isinstance(row[key], str) and has_marker(row[key]) for row in expected):
        return [row[key] for row in expected], [row[key] for row in actual], f" by {key}"
    return [*range(len(order))], [*order], " by their old places"


def count_moved(order: list[int]) -> int:
    """How many would have to be moved back: all but the longest run that is in its order."""
    ends: list[int] = []
    for place in order:
        at = bisect(ends, place)
        ends[at : at + 1] = [place]
    return len(order) - len(ends)
