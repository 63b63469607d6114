"""Which rows of two arrays belong together: an optimal matching where order is free, an alignment where it
is not. First-fit is wrong: a loose row would take the only partner of a strict one."""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.values import Json
from baselinekit.placeholders.template import Bindings

_MOST_TRIES = 20_000
_MOST_ALIGNED = 40_000
_LIKELY_KEYS = ("id", "uuid", "key", "code", "sku", "slug", "name", "email", "number", "url", "path", "title")


class Pairs(NamedTuple):
    """Pairs of (expected, actual) positions, and the positions that have no partner."""

    pairs: list[tuple[int, int]]
    missing: list[int]
    extra: list[int]


def freeze(value: Json) -> Hashable:
    """A value as a key: equal values have equal keys, 1 and 1.0 the same, true and 1 not."""
    kind = value.__class__
    if kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return (bool, value)
    if kind is dict:
        return (dict, frozenset((key, freeze(item)) for key, item in value.items()))
    if kind is list:
        return (list, *map(freeze, value))
    return value  # type: ignore[no-any-return]


def match(rows: int, columns: int, candidates: Callable[[int], Sequence[int]]) -> dict[int, int]:
    """A maximum matching of rows to columns (augmenting paths, breadth first)."""
    row_of: dict[int, int] = {}
    column_of: dict[int, int] = {}
    for row in range(rows):
        free = next((column for column in candidates(row) if column not in row_of), None)
        if free is not None:
            row_of[free], column_of[row] = row, free
    for row in range(rows):
        if row not in column_of:
            _augment(row, candidates, row_of, column_of)
    return column_of


def _augment(
    start: int,
    candidates: Callable[[int], Sequence[int]],
    row_of: dict[int, int],
    column_of: dict[int, int],
) -> None:
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        row = queue.popleft()
        for column in candidates(row):
            if column in came_from:
                continue
            came_from[column] = row
            if column in row_of:
                queue.append(row_of[column])
                continue
            while True:
                row = came_from[column]
                before = column_of.get(row)
                row_of[column], column_of[row] = row, column
                if before is None:
                    return
                column = before


def search(
    rows: int,
    candidates: Callable[[int], Sequence[int]],
    attempt: Callable[[int, int, Bindings], Bindings | None],
    bindings: Bindings,
) -> dict[int, int] | None:
    """A matching of all rows under which the bindings agree, the row with the fewest partners first; None if
    there is none. `attempt` gives the bindings after a pair, or None. Too many tries are an error: a guess
    would be no verdict."""
    order = sorted(range(rows), key=lambda row: len(candidates(row)))
    chosen: list[int] = []
    states = [bindings]
    untried = [iter(candidates(order[0]))] if order else []
    tries = 0
    while len(chosen) < rows:
        column = next(untried[-1], None)
        if column is None:
            untried.pop()
            if not chosen:
                return None
            chosen.pop()
            states.pop()
            continue
        tries += 1
        if tries > _MOST_TRIES:
            what = "there are too many ways to bind the rows of an unordered array"
            raise CannotReplay(Problem("BK231", what, "pair them by a key: arrays: {path: {by: id}}"))
        after = None if column in chosen else attempt(order[len(chosen)], column, states[-1])
        if after is not None:
            chosen.append(column)
            states.append(after)
            if len(chosen) < rows:
                untried.append(iter(candidates(order[len(chosen)])))
    return dict(zip(order, chosen, strict=True))


def likeness(expected: Json, actual: Json) -> float:
    """From 0 to 1, how much two rows look like the same one: by their scalar values, identifying keys above
    all. A hint for the wording of differences; no verdict hangs on it."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        weight = score = 0.0
        for key, value in expected.items():
            heavy = 4.0 if key in _LIKELY_KEYS and not isinstance(value, dict | list) else 1.0
            weight += heavy
            if key in actual:
                other = actual[key]
                score += heavy if value == other else heavy * 0.1 * (value.__class__ is other.__class__)
        weight += sum(key not in expected for key in actual)
        return score / weight if weight else 1.0
    if isinstance(expected, list) and isinstance(actual, list):
        longest = max(len(expected), len(actual))
        return sum(a == b for a, b in zip(expected, actual, strict=False)) / longest if longest else 1.0
    return float(expected == actual)


def align(expected: Sequence[Json], actual: Sequence[Json], ident: Callable[[Json], Hashable]) -> Pairs:
    """Pair rows whose order counts: equal ones first (by `ident`), then by an identifying key, then the rest
    of each gap by place or by likeness."""
    result = Pairs([], [], [])
    for e1, e2, a1, a2 in _gaps(
        [ident(row) for row in expected], [ident(row) for row in actual], result.pairs
    ):
        key = _identifying_key(expected[e1:e2], actual[a1:a2])
        if key is None:
            _pair_gap(expected, actual, (e1, e2, a1, a2), result)
            continue
        names = [freeze(row[key]) for row in expected[e1:e2]], [freeze(row[key]) for row in actual[a1:a2]]
        inner: list[tuple[int, int]] = []
        for f1, f2, b1, b2 in _gaps(*names, inner):
            _drop_gap(range(e1 + f1, e1 + f2), range(a1 + b1, a1 + b2), result)
        result.pairs.extend((e1 + e, a1 + a) for e, a in inner)
    result.pairs.sort()
    return result


def _gaps(
    before: list[Hashable], after: list[Hashable], pairs: list[tuple[int, int]]
) -> list[tuple[int, int, int, int]]:
    """Append the equal positions to `pairs`; return the stretches between them."""
    gaps = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, e1, e2, a1, a2 in matcher.get_opcodes():
        if tag == "equal":
            pairs.extend(zip(range(e1, e2), range(a1, a2), strict=True))
        else:
            gaps.append((e1, e2, a1, a2))
    return gaps


def _identifying_key(expected: Sequence[Json], actual: Sequence[Json]) -> str | None:
    """A key that names each row on both sides and that at least one row of each has in common."""
    rows = [*expected, *actual]
    if not expected or not actual or not all(isinstance(row, dict) for row in rows):
        return None
    for key in _LIKELY_KEYS:
        if all(isinstance(row.get(key), str | int) for row in rows):
            before = {freeze(row[key]) for row in expected}
            after = {freeze(row[key]) for row in actual}
            distinct = len(before) == len(expected) and len(after) == len(actual)
            if distinct and before & after:
                return key
    return None


def _pair_gap(
    expected: Sequence[Json], actual: Sequence[Json], gap: tuple[int, int, int, int], result: Pairs
) -> None:
    e1, e2, a1, a2 = gap
    rows, columns = e2 - e1, a2 - a1
    if rows == columns or rows * columns > _MOST_ALIGNED:
        shared = min(rows, columns)
        result.pairs.extend((e1 + n, a1 + n) for n in range(shared))
        result.missing.extend(range(e1 + shared, e2))
        result.extra.extend(range(a1 + shared, a2))
        return
    _by_likeness(expected, actual, gap, result)


def _by_likeness(
    expected: Sequence[Json], actual: Sequence[Json], gap: tuple[int, int, int, int], result: Pairs
) -> None:
    """The alignment of greatest total likeness."""
    e1, e2, a1, a2 = gap
    best = [[0.0] * (a2 - a1 + 1) for _ in range(e2 - e1 + 1)]
    like = [[likeness(expected[e], actual[a]) for a in range(a1, a2)] for e in range(e1, e2)]
    for e in range(e2 - e1 - 1, -1, -1):
        for a in range(a2 - a1 - 1, -1, -1):
            paired = best[e + 1][a + 1] + like[e][a] if like[e][a] > 0 else 0.0
            best[e][a] = max(best[e + 1][a], best[e][a + 1], paired)
    e = a = 0
    while e < e2 - e1 and a < a2 - a1:
        if like[e][a] > 0 and best[e][a] == best[e + 1][a + 1] + like[e][a]:
            result.pairs.append((e1 + e, a1 + a))
            e, a = e + 1, a + 1
        elif best[e][a] == best[e + 1][a]:
            result.missing.append(e1 + e)
            e += 1
        else:
            result.extra.append(a1 + a)
            a += 1
    _drop_gap(range(e1 + e, e2), range(a1 + a, a2), result)


def _drop_gap(missing: range, extra: range, result: Pairs) -> None:
    result.missing.extend(missing)
    result.extra.extend(extra)


def pair_leftovers(expected: Sequence[Json], actual: Sequence[Json], most: int = 50) -> list[tuple[int, int]]:
    """The likeliest pairs among rows that found no partner, best first; beyond `most` rows nobody looks."""
    scored = sorted(
        (
            (-likeness(row, other), e, a)
            for e, row in enumerate(expected[:most])
            for a, other in enumerate(actual[:most])
        ),
    )
    pairs: list[tuple[int, int]] = []
    used: Counter[tuple[str, int]] = Counter()
    for score, e, a in scored:
        if score < 0 and not used["e", e] and not used["a", a]:
            used["e", e] += 1
            used["a", a] += 1
            pairs.append((e, a))
    return pairs
