"""Which rows of an array on file are which of those that came back."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.placeholders.grammar import has_marker, split
from baselinekit.tree.alignment import align, pair_leftovers
from baselinekit.tree.changes import with_new_keys
from baselinekit.tree.equality import canonical, freeze, identical

# Rows that came in another order: told apart from rows whose values changed, because a placeholder would
# hide which row is which.


Rows = Sequence[Json]
BY = "by "


def shuffle(values: Sequence[Rows]) -> str | None:
    """How the arrays would be compared if their order means nothing: `unordered`, or `by key` where the rows
    themselves vary; None where they are in one order, as far as anybody can tell."""
    written = [[canonical(row) for row in rows] for rows in values]
    if all(rows == written[0] for rows in written[1:]):
        return None
    if all(Counter(rows) == Counter(written[0]) for rows in written[1:]):
        return "unordered"
    for key in _keys(values):
        column = [[canonical(row[key]) for row in rows] for rows in values]
        if any(rows != column[0] for rows in column[1:]) and all(
            set(rows) == set(column[0]) for rows in column[1:]
        ):
            return f"{BY}{key}"
    return None


def in_one_order(values: Sequence[Rows], how: str) -> Sequence[Rows]:
    """The rows of all arrays in the order of the first, where their owner has said that order means nothing
    and a key tells which row is which; else as they are."""
    if not how.startswith(BY) and how != "unordered":
        return values
    keys = [how.removeprefix(BY)] if how.startswith(BY) else list(_keys(values))
    for key in keys:
        if key not in _keys(values):
            continue
        placed = [{canonical(row[key]): row for row in rows} for rows in values]
        if all(rows.keys() == placed[0].keys() for rows in placed):
            return [[rows[name] for name in placed[0]] for rows in placed]
    return values


def _keys(values: Sequence[Rows]) -> Iterator[str]:
    """The keys that every row has, each with a value of its own."""
    rows = [row for rows in values for row in rows]
    if len(values[0]) < 2 or not all(isinstance(row, dict) for row in rows):
        return
    for key in values[0][0]:
        if all(key in row and isinstance(row[key], str | int) for row in rows) and all(
            len({canonical(row[key]) for row in rows}) == len(rows) for rows in values
        ):
            yield key


# One row that describes every element, kept as one row: where all the rows that came back changed alike,
# the row itself changes, and a key that each of them has got another value for gets a placeholder.


Accepts = Callable[[str, Json], bool]
"""Whether what a text with placeholders stands for accepts a value."""

_NARROWEST_FIRST = (
    *("<<any_uuid>>", "<<any_ulid>>", "<<any_iso_datetime>>", "<<any_iso_date>>", "<<any_email>>"),
    *("<<any_url>>", "<<any_semver>>", "<<any_nonempty_string>>", "<<any_string>>"),
    *("<<any_integer>>", "<<any_number>>", "<<any_boolean>>", "<<any_object>>", "<<any_array>>"),
)


class _Unlike(Exception):
    """The rows do not have one form."""


def folded(template: Json, rows: Sequence[Json], accepts: Accepts) -> Json | None:
    """One row that accepts all of them; None where that takes more than to name the type of a new value."""
    try:
        return _one(template, rows, accepts)
    except _Unlike:
        return None


def _one(template: Json, values: Sequence[Json], accepts: Accepts) -> Json:
    first = values[0]
    if all(identical(value, first, ordered=False) for value in values):
        return first
    if all(isinstance(value, dict) for value in values):
        return _members(template if isinstance(template, dict) else {}, values, accepts)
    if any(
        identical(value, template, ordered=False) for value in values
    ):  # some are as before, and others are not
        raise _Unlike
    return _placeholder(values, accepts)


def _members(template: dict[str, Json], rows: Sequence[dict[str, Json]], accepts: Accepts) -> Json:
    row: dict[str, Json] = {}
    names = [*template]
    for one in rows:
        names = with_new_keys(names, one)
    for name in names:
        there = [one[name] for one in rows if name in one]
        if not there:
            continue
        found = _one(template.get(name, ABSENT), there, accepts)
        row[name] = found if len(there) == len(rows) else _optional(found, accepts)
    return row


def _optional(value: Json, accepts: Accepts) -> Json:
    """What only some of the rows have."""
    if isinstance(value, str) and value.endswith("?>>"):
        return value
    if isinstance(value, str) and value in _NARROWEST_FIRST:
        return f"{value[:-2]}?>>"
    if isinstance(value, dict | list) or has_marker(str(value)):
        raise _Unlike
    return f"{_placeholder([value], accepts)[:-2]}?>>"


def _placeholder(values: Sequence[Json], accepts: Accepts) -> str:
    """The narrowest that accepts every value, and null beside them."""
    plain = [_unescaped(value) for value in values if value is not None]
    null = "" if len(plain) == len(values) else "|null"
    if not plain or len({json_type(value) for value in plain}) > 1:
        raise _Unlike
    for text in _NARROWEST_FIRST:
        if all(accepts(text, value) for value in plain):
            return f"{text[:-2]}{null}>>"
    raise _Unlike


def _unescaped(value: Json) -> Json:
    """The value that a stored literal stands for."""
    if not isinstance(value, str) or not has_marker(value):
        return value
    parts = split(value)
    if len(parts) != 1 or not isinstance(parts[0], str):
        raise _Unlike
    return parts[0]


# Which rows of an array on file are which of those that came back, before any of them is looked into: by
# the key that the rules declare, by what is equal, by a key that names rows, and at last by likeness.


_MOST_TRIED = 50
_ENOUGH = 0.5
"""How much of a row must be as it was for a row under another name to be the same one."""


@dataclass(slots=True)
class Beside:
    """Pairs of (old, new) positions, those without a partner, and the new rows with the placeholders of their
    partners given back: who compares does not always see which row is which."""

    pairs: list[tuple[int, int]]
    missing: list[int]
    extra: list[int]
    rescued: dict[int, Json] = field(default_factory=dict)


def aligned(old: Sequence[Json], new: Sequence[Json], by: str | None, accepts: Accepts) -> Beside:
    """Every row has at most one partner."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    e2, a2 = len(old) - tail, len(new) - tail
    if head in (e2, a2):  # rows have come, or gone, and nothing else
        ends = [(n, n) for n in range(head)] + [(e2 + n, a2 + n) for n in range(tail)]
        return Beside(ends, [*range(head, e2)], [*range(head, a2)])
    if by is not None:
        found = Beside([], [*range(len(old))], [*range(len(new))])
        _take(found, _same_name(found, old, new, by))
    else:
        pairs = align(old, new, freeze)
        found = Beside([*pairs.pairs], [*pairs.missing], [*pairs.extra])
    _take(found, _equal(found, old, new))
    if by is None and found.missing and found.extra:
        left = [old[e] for e in found.missing], [new[a] for a in found.extra]
        pairs_left = pair_leftovers(*left)
        named = [
            (found.missing[e], found.extra[a]) for e, a in pairs_left if _share_a_name(left[0][e], left[1][a])
        ]
        _take(found, named)
    _rescue(found, old, new, accepts)
    for e, a in found.pairs:
        if not identical(old[e], new[a]):
            found.rescued[a] = _given_back(old[e], new[a], accepts)[0]
    return found


def _alike(old: Sequence[Json], new: Sequence[Json]) -> int:
    """How many rows are the same from the head on."""
    for n, (one, other) in enumerate(zip(old, new, strict=False)):
        if not identical(one, other):
            return n
    return min(len(old), len(new))


def _take(found: Beside, pairs: Sequence[tuple[int, int]]) -> None:
    found.pairs += pairs
    rows, columns = {e for e, _ in pairs}, {a for _, a in pairs}
    found.missing = [e for e in found.missing if e not in rows]
    found.extra = [a for a in found.extra if a not in columns]


def _same_name(found: Beside, old: Sequence[Json], new: Sequence[Json], key: str) -> list[tuple[int, int]]:
    places: dict[Hashable, int] = {}
    for a in found.extra:
        if isinstance(new[a], dict) and key in new[a]:
            places.setdefault(freeze(new[a][key]), a)
    pairs = []
    for e in found.missing:
        name = freeze(old[e][key]) if isinstance(old[e], dict) and key in old[e] else None
        if name in places:
            pairs.append((e, places.pop(name)))
    return pairs


def _equal(found: Beside, old: Sequence[Json], new: Sequence[Json]) -> list[tuple[int, int]]:
    """Rows that stand elsewhere, as they are."""
    places: dict[Hashable, list[int]] = {}
    for a in reversed(found.extra):
        places.setdefault(freeze(new[a]), []).append(a)
    return [(e, there.pop()) for e in found.missing if (there := places.get(freeze(old[e])))]


def _share_a_name(one: Json, other: Json) -> bool:
    """Whether two objects say the same under some key that could name them."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    names = ("id", "uuid", "key", "code", "sku", "slug")
    return any(
        one[key] == other[key] and _is_literal(one[key]) for key in names if key in one and key in other
    )


def _is_literal(value: Json) -> bool:
    return isinstance(value, str | int) and not (isinstance(value, str) and has_marker(value))


def _rescue(found: Beside, old: Sequence[Json], new: Sequence[Json], accepts: Accepts) -> None:
    """A row that only got another name was taken for another row: where most of it is still right, it is the
    same one."""
    scored = []
    for e in found.missing[:_MOST_TRIED]:
        for a in found.extra[:_MOST_TRIED]:
            _, kept, of = _given_back(old[e], new[a], accepts)
            if of > 1 and kept / of >= _ENOUGH:
                scored.append((-kept / of, e, a))
    pairs: dict[int, int] = {}
    for _, e, a in sorted(scored):
        if e not in pairs and a not in pairs.values():
            pairs[e] = a
    _take(found, [*pairs.items()])


def _given_back(old: Json, new: Json, accepts: Accepts) -> tuple[Json, int, int]:
    """The new value with the placeholders that still accept it, how many of its leaves are as the old one
    says, and how many leaves there are on both sides."""
    if isinstance(old, dict) and isinstance(new, dict):
        row: dict[str, Json] = {}
        kept = of = 0
        for key, value in new.items():
            if key in old:
                row[key], more, size = _given_back(old[key], value, accepts)
                kept, of = kept + more, of + size
            else:
                row[key], of = value, of + 1
        return row, kept, of + sum(key not in new for key in old)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        items = [_given_back(one, other, accepts) for one, other in zip(old, new, strict=True)]
        return [item for item, _, _ in items], sum(item[1] for item in items), sum(item[2] for item in items)
    if isinstance(old, str) and has_marker(old) and (old == new or accepts(old, new)):
        return old, 1, 1
    return new, int(freeze(old) == freeze(new)), 1
