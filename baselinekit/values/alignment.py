"""Pairs the elements of two sequences: aligned in their order, or matched where the order is free."""

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from baselinekit.model.values import Json
from baselinekit.values.equality import freeze

Pairs = list[tuple[int, int]]
"""Positions in the old and in the new sequence."""

Gap = tuple[int, int, int, int]
"""A stretch of each sequence, as begin and end of the one and begin and end of the other."""


def gaps(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Gap]:
    """The stretches that differ, in rising order, found from the landmarks. Between two stretches both
    sequences have the same items."""
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
    """The places of items that occur once on both sides: the longest chain of them in the same order."""
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


def pair_equal(before: Sequence[Hashable], after: Sequence[Hashable]) -> tuple[Pairs, list[Gap]]:
    """Pair equal items that are in the same order; also return the stretches that remain between them. A
    stretch of very many pairs is not searched for equal items."""
    if before == after:
        return [(n, n) for n in range(len(before))], []
    pairs: Pairs = []
    remaining: list[Gap] = []
    b = a = 0
    for gap in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        b1, b2, a1, a2 = gap
        pairs += zip(range(b, b1), range(a, a1), strict=True)
        b, a = b2, a2
        if (b2 - b1) * (a2 - a1) > _MOST_ALIGNED:
            remaining.append(gap)
            continue
        matcher = SequenceMatcher(None, before[b1:b2], after[a1:a2], autojunk=False)
        for tag, c1, c2, d1, d2 in matcher.get_opcodes():
            if tag == "equal":
                pairs += zip(range(b1 + c1, b1 + c2), range(a1 + d1, a1 + d2), strict=True)
            else:
                remaining.append((b1 + c1, b1 + c2, a1 + d1, a1 + d2))
    return pairs, remaining


def pair_in_order(likeness: Sequence[Sequence[float]]) -> Pairs:
    """The pairs of greatest total likeness that keep the order; never a pair without any likeness.
    `likeness`: a row for each old element, with its likeness to each new one."""
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
    """Pair equal items (each with its position) at any places, the first with the first."""
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for b, item in before:
        places[item].append(b)
    return [(places[item].popleft(), a) for a, item in after if places.get(item)]


def pair_best_first(scored: Iterable[tuple[float, int, int]]) -> Pairs:
    """Choose pairs by score (likeness and two positions), the best first; each position is used once."""
    pairs: dict[int, int] = {}
    for _, b, a in sorted((-score, b, a) for score, b, a in scored):
        if b not in pairs and a not in pairs.values():
            pairs[b] = a
    return [*pairs.items()]


def unpaired(pairs: Pairs, old: Iterable[int], new: Iterable[int]) -> tuple[list[int], list[int]]:
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    return [b for b in old if b not in taken[0]], [a for a in new if a not in taken[1]]


# Rows whose order counts, aligned as a reader would: by a key that names them, else equal rows first, and in
# the gaps between these the rows that are most alike.


Accepts = Callable[[str, Json], bool]
"""Whether a text with placeholders accepts a value."""

_MOST_ALIGNED = 40_000
_MOST_SCORED = 50
LIKELY_KEYS = ("id", "uuid", "key", "code", "sku", "slug", "name", "email", "number", "url", "path", "title")


class Alignment(NamedTuple):
    """Pairs of (expected, actual) positions, and the positions that have no partner."""

    pairs: Pairs
    missing: list[int]
    extra: list[int]

    def take(self, pairs: Pairs) -> None:
        """Pair positions that have no partner yet."""
        missing, extra = {*self.missing}, {*self.extra}
        self.pairs.extend(pair for pair in pairs if pair[0] in missing and pair[1] in extra)
        self.missing[:], self.extra[:] = unpaired(self.pairs, self.missing, self.extra)

    def add(self, gap: Gap, pairs: Pairs) -> None:
        """Add the pairs of a gap, whose positions count from its beginning."""
        e1, e2, a1, a2 = gap
        pairs = [(e1 + e, a1 + a) for e, a in pairs]
        missing, extra = unpaired(pairs, range(e1, e2), range(a1, a2))
        self.pairs.extend(pairs)
        self.missing.extend(missing)
        self.extra.extend(extra)


def likeness(expected: Json, actual: Json, accepts: Accepts | None = None, name: float = 4.0) -> float:
    """How likely two rows are the same one, from 0 to 1: by their values, above all those under a key that
    may name the row, which count as that number of others (`name`)."""

    def fits(old: Json, new: Json) -> bool:
        return bool(old == new or (accepts and isinstance(old, str) and accepts(old, new)))

    if isinstance(expected, dict) and isinstance(actual, dict):
        weight = score = 0.0
        for key, value in expected.items():
            points = name if key in LIKELY_KEYS and not isinstance(value, dict | list) else 1.0
            weight += points
            if key in actual:
                new = actual[key]
                score += points if fits(value, new) else points * 0.1 * (value.__class__ is new.__class__)
        weight += sum(key not in expected for key in actual)
        return score / weight if weight else 1.0
    if isinstance(expected, list) and isinstance(actual, list):
        longest = max(len(expected), len(actual))
        return sum(map(fits, expected, actual)) / longest if longest else 1.0
    return float(fits(expected, actual))


def align(expected: Sequence[Json], actual: Sequence[Json], key_of: Callable[[Json], Hashable]) -> Alignment:
    """Pair rows whose order counts: by a key that names them, else equal rows first (by `key_of`), and the
    rest of each gap by place or by likeness."""
    key = identifying_key(expected, actual)
    names = ([*map(key_of, rows)] if key is None else _names(rows, key) for rows in (expected, actual))
    pairs, remaining = pair_equal(*names)
    result = Alignment(pairs, [], [])
    for gap in remaining:
        e1, e2, a1, a2 = gap
        rows, columns = e2 - e1, a2 - a1
        if key is not None:
            result.add(gap, [])
        elif rows == columns or rows * columns > _MOST_ALIGNED:
            result.add(gap, [(n, n) for n in range(min(rows, columns))])
        else:
            scores = [[likeness(old, new) for new in actual[a1:a2]] for old in expected[e1:e2]]
            result.add(gap, pair_in_order(scores))
    result.pairs.sort()
    return result


def _names(rows: Sequence[Json], key: str) -> list[Hashable]:
    return [freeze(row[key]) for row in rows]


def identifying_key(expected: Sequence[Json], actual: Sequence[Json]) -> str | None:
    """A key that names each row on both sides, where at least half of the names are on both sides."""
    rows = [*expected, *actual]
    if not expected or not actual or {*map(type, rows)} != {dict}:
        return None
    for key in LIKELY_KEYS:
        if key in rows[0] and {type(row.get(key)) for row in rows} <= {str, int}:
            before = {*_names(expected, key)}
            after = {*_names(actual, key)} if len(before) == len(expected) else set()
            if len(after) == len(actual) and 2 * len(before & after) >= min(len(before), len(after)):
                return key
    return None


def pair_leftovers(expected: Sequence[Json], actual: Sequence[Json], accepts: Accepts | None = None) -> Pairs:
    """Pair rows that found no partner: by a key that names them, else the likeliest first."""
    key = identifying_key(expected, actual)
    if key is not None:
        places = {name: a for a, name in enumerate(_names(actual, key))}
        return [(e, places[name]) for e, name in enumerate(_names(expected, key)) if name in places]
    scored = (
        (likeness(row, candidate, accepts), e, a)
        for e, row in enumerate(expected[:_MOST_SCORED])
        for a, candidate in enumerate(actual[:_MOST_SCORED])
    )
    return pair_best_first(pair for pair in scored if pair[0] > 0)


# Rows that found no partner at their place: pairs that moved and changed.


_ENOUGH = 0.5
"""The share of a row that must be unchanged for a row under another name to be the same one."""

_NAMES = ("id", "uuid", "key", "code", "sku", "slug")


def pair_alike(old: Sequence[Json], new: Sequence[Json], rows: Alignment, accepts: Accepts) -> Pairs:
    """Pair rows without a partner, wherever they are: those with a common name, and those that are mostly
    unchanged."""
    likely = pair_leftovers([old[e] for e in rows.missing], [new[a] for a in rows.extra], accepts)
    pairs = [(rows.missing[e], rows.extra[a]) for e, a in likely]

    def is_same(e: int, a: int) -> bool:
        return share_a_name(old[e], new[a]) or likeness(old[e], new[a], accepts, 1.0) >= _ENOUGH

    return [pair for pair in pairs if is_same(*pair)]


def share_a_name(old: Json, new: Json) -> bool:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    names = [(old[key], new[key]) for key in _NAMES if key in old and key in new]
    return any(a == b and isinstance(a, str | int) and "<<" not in str(a) for a, b in names)


# As many pairs of rows and columns as possible. First-fit is wrong: a row that matches much could take the
# only partner of a strict one.


def pair_most(
    rows: Iterable[int],
    kinds: Mapping[int, int],
    candidates: Callable[[int], Iterable[int]],
    fits: Callable[[int, int], bool],
    pairs: dict[int, int],
) -> Iterator[int]:
    """Extend the pairs of rows and columns (augmenting paths, breadth first), and yield each row that finds
    no partner. A paired row or column stays paired, so earlier rows have priority over later ones. `kinds`:
    rows of one kind have the same candidates and fit the same columns."""
    takers = {column: row for row, column in pairs.items()}
    untried: dict[int, Iterator[int]] = {}
    hopeless: set[int] = set()
    for start in rows:
        if start in pairs:
            continue
        free = untried.setdefault(kinds[start], iter(candidates(start)))
        end = next((column for column in free if column not in takers and fits(start, column)), None)
        came_from = {} if end is None else {end: start}
        queue, seen = [] if came_from else [start], {*hopeless}
        for row in queue:  # it grows meanwhile
            if kinds[row] not in seen:
                seen.add(kinds[row])
                for column in candidates(row):
                    if column not in came_from and fits(row, column):
                        came_from[column] = row
                        if column not in takers:
                            end = column
                            break
                        queue.append(takers[column])
            if end is not None:
                break
        else:
            if end is None:
                hopeless = seen
                yield start
        while end is not None:
            row = came_from[end]
            takers[end], pairs[row], end = row, end, pairs.get(row)
