"""Alignment: which elements of two sequences are the same ones after a change."""

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from baselinekit.model.values import Json
from baselinekit.tree.equality import canonical

# Items that two sequences share and that tell a reader where he is: what a diff is best hung on.


Gap = tuple[int, int, int, int]
"""A stretch of one sequence and one of the other: where they begin and end."""


def gaps(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Gap]:
    """The stretches that differ, in rising order, found from the landmarks. From the end of one to the
    beginning of the next, both sequences go on with the same items."""
    b1 = a1 = 0
    for b2, a2 in [*landmarks(before, after), (len(before), len(after))]:
        while b1 < b2 and a1 < a2 and before[b1] == after[a1]:
            b1, a1 = b1 + 1, a1 + 1
        tail = 0
        while b1 < b2 - tail and a1 < a2 - tail and before[b2 - tail - 1] == after[a2 - tail - 1]:
            tail += 1
        if b1 < b2 - tail or a1 < a2 - tail:
            yield b1, b2 - tail, a1, a2 - tail
        b1, a1 = b2 + 1, a2 + 1


def landmarks(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of items that occur once on both sides, as many as stand in the same order."""
    times = Counter(before), Counter(after)
    places = {item: a for a, item in enumerate(after) if times[1][item] == 1}
    common = [(b, places[item]) for b, item in enumerate(before) if times[0][item] == 1 and item in places]
    ends: list[int] = []
    last: list[int] = []
    came_from: list[int] = []
    for number, (_, a) in enumerate(common):
        length = bisect_left(ends, a)
        came_from.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [a]
        last[length : length + 1] = [number]
    chain = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(common[number])
        number = came_from[number]
    return chain[::-1]


# Which elements of an array are the same ones after a change: those with the same key, then equal ones,
# then those that are most alike. Only what differs between partners needs to be written anew.


_MOST_COMPARED = 10_000
"""Pairs of elements that are set against each other in one stretch; beyond, a telling field decides."""

_MOST_MOVED = 40
_MOVED = 0.5
_EQUAL = 3.0
_SAME_FORM = 0.05
_SAME_KIND = 0.02
_IN_PLACE = 0.01

Pairs = list[tuple[int, int]]
"""Places in the old and in the new array."""


def partners(old: Sequence[Json], new: Sequence[Json], key: str | None = None) -> list[int | None]:
    """For each new element the old one that it continues. `key` names the elements, where it can."""
    found: list[int | None] = [None] * len(new)
    rest_old, rest_new = list(range(len(old))), list(range(len(new)))
    if key is not None:
        names = _named(old, key), _named(new, key)
        for name, place in names[1].items():
            found[place] = names[0].get(name)
        taken = {*names[0].values()}, {*names[1].values()}
        rest_old = [place for place in rest_old if place not in taken[0]]
        rest_new = [place for place in rest_new if place not in taken[1]]
    for before, after in _paired([old[place] for place in rest_old], [new[place] for place in rest_new]):
        found[rest_new[after]] = rest_old[before]
    return found


def _named(rows: Sequence[Json], key: str) -> dict[Hashable, int]:
    """The rows that their key names; a name that two of them bear names none."""
    names = [
        (row[key].__class__, row[key])
        if isinstance(row, dict) and isinstance(row.get(key), str | int)
        else None
        for row in rows
    ]
    times = Counter(names)
    return {name: place for place, name in enumerate(names) if name is not None and times[name] == 1}


def _paired(old: Sequence[Json], new: Sequence[Json]) -> Pairs:
    before, after = [canonical(row) for row in old], [canonical(row) for row in new]
    pairs = _equal(before, after)
    fixed = [*pairs, (len(old), len(new))]
    pairs += _moved(before, after, pairs)
    rows = _Rows(old, new)
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    likely: Pairs = []
    first_old = first_new = 0
    for b, a in fixed:
        if b > first_old and a > first_new:
            left = [place for place in range(first_old, b) if place not in taken[0]]
            right = [place for place in range(first_new, a) if place not in taken[1]]
            likely += _alike(rows, left, right)
        first_old, first_new = b + 1, a + 1
    pairs += [(b, a) for b, a in likely if rows.likeness(b, a) >= _MOVED]
    pairs += _alike_elsewhere(rows, pairs)
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    return pairs + [(b, a) for b, a in likely if b not in taken[0] and a not in taken[1]]


def _equal(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Equal elements in the same order, in rising order."""
    pairs: Pairs = []
    b = a = 0
    for b1, b2, a1, a2 in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        pairs += zip(range(b, b1), range(a, a1), strict=True)
        if 0 < (b2 - b1) * (a2 - a1) <= _MOST_COMPARED:
            matcher = SequenceMatcher(None, before[b1:b2], after[a1:a2], autojunk=False)
            for block in matcher.get_matching_blocks():
                pairs += [(b1 + block.a + n, a1 + block.b + n) for n in range(block.size)]
        b, a = b2, a2
    return pairs


def _moved(before: Sequence[str], after: Sequence[str], pairs: Pairs) -> Pairs:
    """Equal elements that stand elsewhere now."""
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    places: dict[str, deque[int]] = defaultdict(deque)
    for b, row in enumerate(before):
        if b not in taken[0]:
            places[row].append(b)
    lone = [(a, row) for a, row in enumerate(after) if a not in taken[1]]
    return [(places[row].popleft(), a) for a, row in lone if places.get(row)]


class _Looks(NamedTuple):
    leaves: frozenset[Hashable]
    form: frozenset[Hashable]
    kind: type


class _Rows:
    """The elements as sets of their leaves, made when they are asked for."""

    def __init__(self, old: Sequence[Json], new: Sequence[Json]):
        self.old, self.new = old, new
        self.known: dict[tuple[bool, int], _Looks] = {}

    def looks(self, is_new: bool, place: int) -> _Looks:
        looks = self.known.get((is_new, place))
        if looks is None:
            value = self.new[place] if is_new else self.old[place]
            leaves = list(_leaves(value, ()))
            kind = value.__class__ if isinstance(value, dict | list) else str
            looks = _Looks(frozenset(leaves), frozenset(path for path, _, _ in leaves), kind)
            self.known[is_new, place] = looks
        return looks

    def likeness(self, before: int, after: int) -> float:
        """The share of leaves that are equal, and a little for those that are at least there."""
        one, other = self.looks(False, before), self.looks(True, after)
        if one.kind is not other.kind:
            return 0.0
        if one.leaves == other.leaves:
            return _EQUAL
        sizes = len(one.leaves) + len(other.leaves)
        shared = 2 * len(one.leaves & other.leaves) / sizes
        like = shared + _SAME_FORM * 2 * len(one.form & other.form) / sizes
        return like if like or one.kind is dict else _SAME_KIND


def _leaves(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[Hashable, type, Hashable]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, number))
    else:
        yield path, value.__class__, None if isinstance(value, dict | list) else value


def _alike(rows: _Rows, left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Partners in a stretch without equal elements, in the same order, as alike as can be."""
    if len(left) * len(right) > _MOST_COMPARED:
        return _by_telling_field(rows, left, right)
    least = _IN_PLACE if len(left) == len(right) else 0.0  # of another kind altogether: replaced
    like = [[rows.likeness(b, a) or least for a in right] for b in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for n in range(len(left) - 1, -1, -1):
        here, below, scores = best[n], best[n + 1], like[n]
        for m in range(len(right) - 1, -1, -1):
            here[m] = max(below[m], here[m + 1], below[m + 1] + scores[m])
    pairs: Pairs = []
    n = m = 0
    while n < len(left) and m < len(right):
        if like[n][m] > 0 and best[n][m] == best[n + 1][m + 1] + like[n][m]:
            pairs.append((left[n], right[m]))
            n, m = n + 1, m + 1
        elif best[n][m] == best[n + 1][m]:
            n += 1
        else:
            m += 1
    return pairs


def _by_telling_field(rows: _Rows, left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Of many elements: partners by the field that names most of them on both sides, the others by place."""
    one, other = [rows.old[b] for b in left], [rows.new[a] for a in right]
    sample = next((row for row in one if isinstance(row, dict)), {})
    fields = [(_named(one, key), _named(other, key)) for key in sample]
    names = max(fields, key=lambda both: len(both[0].keys() & both[1].keys()), default=({}, {}))
    pairs = [(left[b], right[names[1][name]]) for name, b in names[0].items() if name in names[1]]
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    lone_old = [b for b in left if b not in taken[0]]
    lone_new = [a for a in right if a not in taken[1]]
    return pairs + [(b, a) for b, a in zip(lone_old, lone_new, strict=False) if rows.likeness(b, a) > 0]


def _alike_elsewhere(rows: _Rows, pairs: Pairs) -> Pairs:
    """Elements that were moved and changed."""
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    lone_old = [b for b in range(len(rows.old)) if b not in taken[0]][:_MOST_MOVED]
    lone_new = [a for a in range(len(rows.new)) if a not in taken[1]][:_MOST_MOVED]
    scored = sorted((-rows.likeness(b, a), b, a) for b in lone_old for a in lone_new)
    found: Pairs = []
    for score, b, a in scored:
        if -score >= _MOVED and b not in taken[0] and a not in taken[1]:
            taken[0].add(b)
            taken[1].add(a)
            found.append((b, a))
    return found
