"""Alignment: which elements of two sequences are the same ones after a change.

`partners` pairs every element that can be recognised, wherever it stands now: as little as possible is to be
written anew. `align` keeps the order and pairs what a reader would set side by side: by a key that names the
rows, else equal rows, and in the gaps between them those that are most alike."""

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from baselinekit.model.values import Json
from baselinekit.tree.equality import canonical, freeze

Pairs = list[tuple[int, int]]
"""Positions in the old and in the new sequence."""

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


def pair_equal(before: Sequence[Hashable], after: Sequence[Hashable], most: int) -> tuple[Pairs, list[Gap]]:
    """Equal items in the same order, in rising order, and the stretches that are left between them. A stretch
    of more than `most` pairs is not searched for equal items."""
    if before == after:
        return [(n, n) for n in range(len(before))], []
    pairs: Pairs = []
    left: list[Gap] = []
    b = a = 0
    for gap in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        b1, b2, a1, a2 = gap
        pairs += zip(range(b, b1), range(a, a1), strict=True)
        b, a = b2, a2
        if (b2 - b1) * (a2 - a1) > most:
            left.append(gap)
            continue
        matcher = SequenceMatcher(None, before[b1:b2], after[a1:a2], autojunk=False)
        for tag, c1, c2, d1, d2 in matcher.get_opcodes():
            if tag == "equal":
                pairs += zip(range(b1 + c1, b1 + c2), range(a1 + d1, a1 + d2), strict=True)
            else:
                left.append((b1 + c1, b1 + c2, a1 + d1, a1 + d2))
    return pairs, left


def pair_in_order(likeness: Sequence[Sequence[float]]) -> Pairs:
    """The pairs of greatest total likeness that keep the order; never a pair without any likeness.
    `likeness`: of each old element (a row) with each new one."""
    width = len(likeness[0]) if likeness else 0
    best = [[0.0] * (width + 1) for _ in range(len(likeness) + 1)]
    for n in range(len(likeness) - 1, -1, -1):
        here, below, scores = best[n], best[n + 1], likeness[n]
        for m in range(width - 1, -1, -1):
            here[m] = max(below[m], here[m + 1], below[m + 1] + scores[m])
    pairs: Pairs = []
    n = m = 0
    while n < len(likeness) and m < width:
        if likeness[n][m] > 0 and best[n][m] == best[n + 1][m + 1] + likeness[n][m]:
            pairs.append((n, m))
            n, m = n + 1, m + 1
        elif best[n][m] == best[n + 1][m]:
            n += 1
        else:
            m += 1
    return pairs


def pair_anywhere(before: Iterable[tuple[int, Hashable]], after: Iterable[tuple[int, Hashable]]) -> Pairs:
    """Equal items (each with its position) wherever they stand, the first with the first."""
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for b, item in before:
        places[item].append(b)
    return [(places[item].popleft(), a) for a, item in after if places.get(item)]


def pair_best_first(scored: Iterable[tuple[float, int, int]]) -> Pairs:
    """Of pairs with a score (the likeness, and the two positions) the best first; each position once."""
    pairs: Pairs = []
    taken: tuple[set[int], set[int]] = set(), set()
    for _, b, a in sorted((-score, b, a) for score, b, a in scored):
        if b not in taken[0] and a not in taken[1]:
            taken[0].add(b)
            taken[1].add(a)
            pairs.append((b, a))
    return pairs


def _unpaired(pairs: Pairs, old: Iterable[int], new: Iterable[int]) -> tuple[list[int], list[int]]:
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    return [b for b in old if b not in taken[0]], [a for a in new if a not in taken[1]]


# `partners`: those with the same key, then equal ones, then those that are most alike.


_MOST_COMPARED = 10_000
"""Pairs of elements that are set against each other in one stretch; beyond, a telling field decides."""

_MOST_MOVED = 40
_MOVED = 0.5
_EQUAL = 3.0
_SAME_FORM = 0.05
_SAME_KIND = 0.02
_IN_PLACE = 0.01


def partners(old: Sequence[Json], new: Sequence[Json], key: str | None = None) -> list[int | None]:
    """For each new element the old one that it continues. `key` names the elements, where it can."""
    continued: list[int | None] = [None] * len(new)
    rest_old, rest_new = list(range(len(old))), list(range(len(new)))
    if key is not None:
        names = _named(old, key), _named(new, key)
        for name, place in names[1].items():
            continued[place] = names[0].get(name)
        taken = {*names[0].values()}, {*names[1].values()}
        rest_old = [place for place in rest_old if place not in taken[0]]
        rest_new = [place for place in rest_new if place not in taken[1]]
    for before, after in _pair_by_likeness([old[place] for place in rest_old], [new[n] for n in rest_new]):
        continued[rest_new[after]] = rest_old[before]
    return continued


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


def _pair_by_likeness(old: Sequence[Json], new: Sequence[Json]) -> Pairs:
    before, after = [canonical(row) for row in old], [canonical(row) for row in new]
    every = range(len(old)), range(len(new))
    pairs, stretches = pair_equal(before, after, _MOST_COMPARED)
    lone_old, lone_new = _unpaired(pairs, *every)
    pairs += pair_anywhere(((b, before[b]) for b in lone_old), ((a, after[a]) for a in lone_new))
    rows = _Rows(old, new)
    likely: Pairs = []
    for b1, b2, a1, a2 in stretches:
        likely += _most_alike(rows, *_unpaired(pairs, range(b1, b2), range(a1, a2)))
    pairs += [(b, a) for b, a in likely if rows.likeness(b, a) >= _MOVED]
    lone_old, lone_new = _unpaired(pairs, *every)  # those that were moved and changed
    scored = ((rows.likeness(b, a), b, a) for b in lone_old[:_MOST_MOVED] for a in lone_new[:_MOST_MOVED])
    pairs += pair_best_first(pair for pair in scored if pair[0] >= _MOVED)
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    return pairs + [(b, a) for b, a in likely if b not in taken[0] and a not in taken[1]]


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
        left, right = self.looks(False, before), self.looks(True, after)
        if left.kind is not right.kind:
            return 0.0
        if left.leaves == right.leaves:
            return _EQUAL
        sizes = len(left.leaves) + len(right.leaves)
        shared = 2 * len(left.leaves & right.leaves) / sizes
        like = shared + _SAME_FORM * 2 * len(left.form & right.form) / sizes
        return like if like or left.kind is dict else _SAME_KIND


def _leaves(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[Hashable, type, Hashable]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, number))
    else:
        yield path, value.__class__, None if isinstance(value, dict | list) else value


def _most_alike(rows: _Rows, left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Partners in a stretch without equal elements, in the same order. Of many elements those that the most
    telling field names on both sides, and the others by their place."""
    if len(left) * len(right) <= _MOST_COMPARED:
        least = _IN_PLACE if len(left) == len(right) else 0.0  # of another kind altogether: replaced
        likeness = [[rows.likeness(b, a) or least for a in right] for b in left]
        return [(left[n], right[m]) for n, m in pair_in_order(likeness)]
    old, new = [rows.old[b] for b in left], [rows.new[a] for a in right]
    sample = next((row for row in old if isinstance(row, dict)), {})
    fields = [(_named(old, key), _named(new, key)) for key in sample]
    names = max(fields, key=lambda both: len(both[0].keys() & both[1].keys()), default=({}, {}))
    pairs = [(left[b], right[names[1][name]]) for name, b in names[0].items() if name in names[1]]
    rest = zip(*_unpaired(pairs, left, right), strict=False)
    return pairs + [(b, a) for b, a in rest if rows.likeness(b, a) > 0]


# `align`: rows whose order counts, as a reader would set them side by side.


_MOST_ALIGNED = 40_000
_MOST_SCORED = 50
_LIKELY_KEYS = ("id", "uuid", "key", "code", "sku", "slug", "name", "email", "number", "url", "path", "title")


class Alignment(NamedTuple):
    """Pairs of (expected, actual) positions, and the positions that have no partner."""

    pairs: Pairs
    missing: list[int]
    extra: list[int]

    def take(self, pairs: Pairs) -> None:
        """Make pairs of positions that had no partner."""
        self.pairs.extend(pairs)
        self.missing[:], self.extra[:] = _unpaired(pairs, self.missing, self.extra)

    def add(self, gap: Gap, pairs: Pairs) -> None:
        """Take over the pairs of a gap, which are counted from its beginning."""
        e1, e2, a1, a2 = gap
        pairs = [(e1 + e, a1 + a) for e, a in pairs]
        missing, extra = _unpaired(pairs, range(e1, e2), range(a1, a2))
        self.pairs.extend(pairs)
        self.missing.extend(missing)
        self.extra.extend(extra)


def likeness(expected: Json, actual: Json) -> float:
    """From 0 to 1, how much two rows look like the same one: by their scalar values, above all those under a
    key that may name the row."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        weight = score = 0.0
        for key, value in expected.items():
            heavy = 4.0 if key in _LIKELY_KEYS and not isinstance(value, dict | list) else 1.0
            weight += heavy
            if key in actual:
                right = actual[key]
                score += heavy if value == right else heavy * 0.1 * (value.__class__ is right.__class__)
        weight += sum(key not in expected for key in actual)
        return score / weight if weight else 1.0
    if isinstance(expected, list) and isinstance(actual, list):
        longest = max(len(expected), len(actual))
        return sum(a == b for a, b in zip(expected, actual, strict=False)) / longest if longest else 1.0
    return float(expected == actual)


def align(expected: Sequence[Json], actual: Sequence[Json], ident: Callable[[Json], Hashable]) -> Alignment:
    """Pair rows whose order counts: by a key that names them, else equal ones first (by `ident`), and the
    rest of each gap by its key, by place or by likeness."""
    result = Alignment([], [], [])
    if not _align_by_key(expected, actual, (0, len(expected), 0, len(actual)), result):
        pairs, left = pair_equal([*map(ident, expected)], [*map(ident, actual)], _MOST_ALIGNED)
        result.pairs.extend(pairs)
        for gap in left:
            if _align_by_key(expected, actual, gap, result):
                continue
            e1, e2, a1, a2 = gap
            rows, columns = e2 - e1, a2 - a1
            if rows == columns or rows * columns > _MOST_ALIGNED:
                result.add(gap, [(n, n) for n in range(min(rows, columns))])
            else:
                scores = [[likeness(row, other) for other in actual[a1:a2]] for row in expected[e1:e2]]
                result.add(gap, pair_in_order(scores))
    result.pairs.sort()
    return result


def same_rows(expected: Sequence[Json], actual: Sequence[Json]) -> bool:
    """Whether each row stands where it stood, as some key that names the rows tells."""
    first = expected[0] if expected else None
    if not isinstance(first, dict) or {*map(type, expected), *map(type, actual)} != {dict}:
        return False
    for key in _LIKELY_KEYS:
        if isinstance(first.get(key), str | int):
            names = [row.get(key) for row in expected]
            kinds = {*map(type, names)}
            if kinds <= {str, int} and names == [row.get(key) for row in actual]:
                return len({*names} if kinds == {str} else {*map(freeze, names)}) == len(names)
    return False


def _names(rows: Sequence[Json], key: str) -> list[Hashable]:
    return [freeze(row[key]) for row in rows]


def _identifying_key(expected: Sequence[Json], actual: Sequence[Json]) -> str | None:
    """A key that names each row on both sides and that most of them have in common."""
    rows = [*expected, *actual]
    if not expected or not actual or {*map(type, rows)} != {dict}:
        return None
    for key in _LIKELY_KEYS:
        if key in rows[0] and {type(row.get(key)) for row in rows} <= {str, int}:
            before, after = {*_names(expected, key)}, {*_names(actual, key)}
            distinct = len(before) == len(expected) and len(after) == len(actual)
            if distinct and 2 * len(before & after) >= min(len(before), len(after)):
                return key
    return None


def _align_by_key(expected: Sequence[Json], actual: Sequence[Json], gap: Gap, result: Alignment) -> bool:
    """Rows that go by another name now may still have an address in common: by the next key, then."""
    e1, e2, a1, a2 = gap
    key = _identifying_key(expected[e1:e2], actual[a1:a2])
    if key is None:
        return False
    pairs, left = pair_equal(_names(expected[e1:e2], key), _names(actual[a1:a2], key), _MOST_ALIGNED)
    for f1, f2, b1, b2 in left:
        inside = (e1 + f1, e1 + f2, a1 + b1, a1 + b2)
        if not _align_by_key(expected, actual, inside, result):
            result.add(inside, [])
    result.pairs.extend((e1 + e, a1 + a) for e, a in pairs)
    return True


def pair_leftovers(expected: Sequence[Json], actual: Sequence[Json]) -> Pairs:
    """Pairs among rows that found no partner: by a key that names them, else the likeliest first."""
    key = _identifying_key(expected, actual)
    if key is not None:
        places = {name: a for a, name in enumerate(_names(actual, key))}
        return [(e, places[name]) for e, name in enumerate(_names(expected, key)) if name in places]
    scored = (
        (likeness(row, other), e, a)
        for e, row in enumerate(expected[:_MOST_SCORED])
        for a, other in enumerate(actual[:_MOST_SCORED])
    )
    return pair_best_first(pair for pair in scored if pair[0] > 0)
