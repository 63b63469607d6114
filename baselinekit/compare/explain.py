"""The wording of a difference: deepdiff for a failing subtree, and which rows stand side by side."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from baselinekit.compare.pairing import freeze
from baselinekit.model.comparison import Comparison
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import describes_many
from baselinekit.texts import many
from baselinekit.tree.alignment import Gap, gaps
from baselinekit.tree.paths import render

# The wording of a failing subtree, by deepdiff. It explains a verdict and is never on the way to one. It
# is handed the expected text and the *resolved* one (the actual output seen through the template), so
# that what a placeholder or a rule let pass is the same on both sides and only real differences are
# worded.


_MOST_VALUES = 5_000
_MOST_VALUES_IN_ALL = 20_000
_MOST_LINES = 40


def explain(expected: Json, comparison: Comparison) -> list[str]:
    """Lines that say in words what changed, bounded in number and therefore in time; what was cut is said.
    The lines themselves are as long as what they quote: whoever shows them masks them first."""
    lines: list[str] = []
    unsaid = 0
    budget = _MOST_VALUES_IN_ALL
    for path, before, after in _failing(expected, comparison.resolved, ()):
        size = _size(before, _MOST_VALUES) + _size(after, _MOST_VALUES)
        if len(lines) >= _MOST_LINES or size > budget:
            unsaid += 1
        elif size > _MOST_VALUES:
            lines.append(f"{render(path)}: too large to explain (more than {_MOST_VALUES:,} values)")
        else:
            budget -= size
            lines += _worded(path, before, after)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… and {len(lines) - _MOST_LINES} more lines"]
    if unsaid:
        lines.append(f"… and {many(unsaid, 'more place')} not explained")
    return lines


def _failing(expected: Json, resolved: Json, path: Path) -> Iterator[tuple[Path, Json, Json]]:
    """The smallest subtrees that hold the differences: one key at a time as long as only keys changed."""
    if expected is resolved:
        return
    if isinstance(expected, dict) and isinstance(resolved, dict) and expected.keys() == resolved.keys():
        for key, value in expected.items():
            yield from _failing(value, resolved[key], (*path, key))
    elif _is_template(expected) and isinstance(resolved, list):
        for index, element in enumerate(resolved):
            yield from _failing(expected[0], element, (*path, index))
    elif expected != resolved or type(expected) is not type(resolved):
        yield path, expected, resolved


def _is_template(expected: Json) -> bool:
    """Whether one element of a stored array described every element of the actual one."""
    return isinstance(expected, list) and len(expected) == 1 and describes_many(expected)


def _worded(path: Path, before: Json, after: Json) -> list[str]:
    from deepdiff import DeepDiff

    found = DeepDiff(
        before, after, verbose_level=2, view="tree", threshold_to_diff_deeper=0, max_diffs=_MOST_VALUES
    )
    lines = []
    for group in found.values():
        for level in group:
            lines.append(f"{render(path + tuple(level.path(output_format='list')))}: {_change(level)}")
    return sorted(lines)


def _change(level: Any) -> str:
    kind = level.report_type
    if kind.endswith("_added"):
        return f"added {_shown(level.t2)}"
    if kind.endswith("_removed"):
        return f"removed {_shown(level.t1)}"
    if kind == "type_changes":
        types = json_type(level.t1), json_type(level.t2)
        return f"changed from {_shown(level.t1)} ({types[0]}) to {_shown(level.t2)} ({types[1]})"
    return f"changed from {_shown(level.t1)} to {_shown(level.t2)}"


def _shown(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _size(value: Json, most: int) -> int:
    """How many values there are, counted no further than `most`."""
    if isinstance(value, str):
        return 1 + len(value) // 1_000
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    count = 1
    for item in below:
        if count > most:
            break
        count += _size(item, most - count)
    return count


# Which rows of two arrays a reader would set beside each other: wording alone, no verdict hangs on it.


_MOST_ALIGNED = 40_000
_MOST_SCORED = 50
_LIKELY_KEYS = ("id", "uuid", "key", "code", "sku", "slug", "name", "email", "number", "url", "path", "title")


class Pairs(NamedTuple):
    """Pairs of (expected, actual) positions, and the positions that have no partner."""

    pairs: list[tuple[int, int]]
    missing: list[int]
    extra: list[int]


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
    """Pair rows whose order counts: by an identifying key, else equal ones first (by `ident`), and the rest
    of each gap by its key, by place or by likeness."""
    result = Pairs([], [], [])
    whole = (0, len(expected), 0, len(actual))
    if not _by_key(expected, actual, whole, result):
        before, after = [ident(row) for row in expected], [ident(row) for row in actual]
        for gap in _gaps(before, after, result.pairs):
            if not _by_key(expected, actual, gap, result):
                _pair_gap(expected, actual, gap, result)
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


def _by_key(expected: Sequence[Json], actual: Sequence[Json], gap: Gap, result: Pairs) -> bool:
    """Rows that go by another name now may still have an address in common: by the next key, then."""
    e1, e2, a1, a2 = gap
    key = _identifying_key(expected[e1:e2], actual[a1:a2])
    if key is None:
        return False
    names = _names(expected[e1:e2], key), _names(actual[a1:a2], key)
    inner: list[tuple[int, int]] = []
    for f1, f2, b1, b2 in _gaps(*names, inner):
        inside = (e1 + f1, e1 + f2, a1 + b1, a1 + b2)
        if not _by_key(expected, actual, inside, result):
            _drop_gap(range(*inside[:2]), range(*inside[2:]), result)
    result.pairs.extend((e1 + e, a1 + a) for e, a in inner)
    return True


def _gaps(before: Sequence[Hashable], after: Sequence[Hashable], pairs: list[tuple[int, int]]) -> list[Gap]:
    """Append the equal positions to `pairs`; return the stretches between them."""
    if before == after:
        pairs.extend((n, n) for n in range(len(before)))
        return []
    left: list[Gap] = []
    e = a = 0
    for gap in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        pairs.extend(zip(range(e, gap[0]), range(a, gap[2]), strict=True))
        left += _core(before, after, gap, pairs)
        e, a = gap[1], gap[3]
    return left


def _core(
    before: Sequence[Hashable], after: Sequence[Hashable], gap: Gap, pairs: list[tuple[int, int]]
) -> list[Gap]:
    """What is left between equal rows; looked into closely where that is not too much work."""
    e1, e2, a1, a2 = gap
    if (e2 - e1) * (a2 - a1) > _MOST_ALIGNED:
        return [gap]
    gaps = []
    matcher = SequenceMatcher(None, before[e1:e2], after[a1:a2], autojunk=False)
    for tag, f1, f2, b1, b2 in matcher.get_opcodes():
        if tag == "equal":
            pairs.extend(zip(range(e1 + f1, e1 + f2), range(a1 + b1, a1 + b2), strict=True))
        else:
            gaps.append((e1 + f1, e1 + f2, a1 + b1, a1 + b2))
    return gaps


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


def _pair_gap(expected: Sequence[Json], actual: Sequence[Json], gap: Gap, result: Pairs) -> None:
    e1, e2, a1, a2 = gap
    rows, columns = e2 - e1, a2 - a1
    if rows == columns or rows * columns > _MOST_ALIGNED:
        shared = min(rows, columns)
        result.pairs.extend((e1 + n, a1 + n) for n in range(shared))
        result.missing.extend(range(e1 + shared, e2))
        result.extra.extend(range(a1 + shared, a2))
        return
    _by_likeness(expected, actual, gap, result)


def _by_likeness(expected: Sequence[Json], actual: Sequence[Json], gap: Gap, result: Pairs) -> None:
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


def pair_leftovers(expected: Sequence[Json], actual: Sequence[Json]) -> list[tuple[int, int]]:
    """Pairs among rows that found no partner: by an identifying key, else the likeliest first."""
    key = _identifying_key(expected, actual)
    if key is not None:
        places = {name: a for a, name in enumerate(_names(actual, key))}
        return [(e, places[name]) for e, name in enumerate(_names(expected, key)) if name in places]
    scored = sorted(
        (
            (-likeness(row, other), e, a)
            for e, row in enumerate(expected[:_MOST_SCORED])
            for a, other in enumerate(actual[:_MOST_SCORED])
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
