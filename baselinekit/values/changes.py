"""The changes that turn one value into another, as a tree that leaves out whatever is equal."""

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.structs import Struct, field
from baselinekit.values.alignment import (
    Pairs,
    pair_anywhere,
    pair_best_first,
    pair_equal,
    pair_in_order,
    unpaired,
)
from baselinekit.values.equality import canonical, identical

Member = TypeVar("Member")


def with_new_keys(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """All old keys in their order, with each new key at its place. New keys that come before any old one go
    before the first key that both have."""
    old_keys = dict.fromkeys(old)
    keys_after: dict[str | None, list[str]] = defaultdict(list)
    first: str | None = None
    last: str | None = None
    for key in new:
        if key in old_keys:
            first, last = key if last is None else first, key
        else:
            keys_after[last].append(key)
    order = [] if first is not None else [*old_keys, *keys_after[None]]
    for key in old_keys if first is not None else ():
        order += [*(keys_after[None] if key == first else ()), key, *keys_after[key]]
    return order


class Hints(Struct):
    """Further knowledge about a value. `keys`: the key that names the elements of an array, by the array's
    path within the value; `*` stands for any index. `ordered`: the order of keys counts. `siblings`: the
    order of keys in which a key that is not there yet is inserted, before the first of those that follow it
    here."""

    keys: Mapping[Path, str] = field(default_factory=dict)
    ordered: bool = False
    siblings: Sequence[str] = ()

    def key(self, path: Path) -> str | None:
        with_wildcards = tuple("*" if isinstance(step, int) else step for step in path)
        return self.keys.get(path) or self.keys.get(with_wildcards)


class RewrittenEntry(Struct):
    """One entry of a changed collection. `old`: its key or place before, None for a new one."""

    old: str | int | None
    name: str | int
    value: Json
    rewrite: "Rewrite | None" = None


class Rewrite(Struct):
    """How a value is rewritten in a file; what a person approves of it is a `model.changes.Change`. Without
    `entries` it is replaced as a whole; `rebuilt`: entries are added, removed or moved (`entries` are all of
    them then, in their order), else they only change."""

    value: Json
    entries: tuple[RewrittenEntry, ...] | None = None
    rebuilt: bool = False


def rewrite(old: Json, new: Json, hints: Hints, path: Path = ()) -> Rewrite | None:
    """The rewrite that turns the old value into the new one; None if they are equal."""
    if identical(old, new, hints.ordered):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        return _rewrite_mapping(old, new, hints, path)
    if isinstance(old, list) and isinstance(new, list):
        return _rewrite_array(old, new, hints, path)
    return Rewrite(new)


def _rewrite_mapping(old: dict[str, Json], new: dict[str, Json], hints: Hints, path: Path) -> Rewrite:
    order = list(new) if hints.ordered else [key for key in with_new_keys(old, new) if key in new]
    if not old.keys() & new.keys():
        return Rewrite(new)
    entries = tuple(
        RewrittenEntry(key, key, new[key], rewrite(old[key], new[key], hints, (*path, key)))
        if key in old
        else RewrittenEntry(None, key, new[key])
        for key in order
    )
    return Rewrite(new, entries, order != list(old))


def _rewrite_array(old: list[Json], new: list[Json], hints: Hints, path: Path) -> Rewrite:
    continued = match_elements(old, new, hints.key(path))
    if continued.count(None) == len(continued):
        return Rewrite(new)
    entries = tuple(
        RewrittenEntry(None, place, value)
        if before is None
        else RewrittenEntry(before, place, value, rewrite(old[before], value, hints, (*path, before)))
        for place, (before, value) in enumerate(zip(continued, new, strict=True))
    )
    return Rewrite(new, entries, continued != list(range(len(old))))


# Which old element each new one continues, wherever it is now, so that as little as possible is rewritten:
# first those with the same key, then equal ones, then those that are most alike.


_MOST_COMPARED = 10_000
"""Pairs of elements that are compared in one stretch; beyond, the most distinctive field decides."""


_MOST_MOVED = 40


_MOVED = 0.5


_EQUAL = 3.0


_SAME_FORM = 0.05


_SAME_KIND = 0.02


_IN_PLACE = 0.01


def match_elements(old: Sequence[Json], new: Sequence[Json], key: str | None = None) -> list[int | None]:
    """The old element that each new one continues, or None. `key` names the elements where it can."""
    continued: list[int | None] = [None] * len(new)
    unpaired_old, unpaired_new = list(range(len(old))), list(range(len(new)))
    if key is not None:
        names = _positions_by_name(old, key), _positions_by_name(new, key)
        for name, place in names[1].items():
            continued[place] = names[0].get(name)
        taken = {*names[0].values()}, {*names[1].values()}
        unpaired_old = [place for place in unpaired_old if place not in taken[0]]
        unpaired_new = [place for place in unpaired_new if place not in taken[1]]
    for before, after in pair_by_likeness(
        [old[place] for place in unpaired_old], [new[n] for n in unpaired_new]
    ):
        continued[unpaired_new[after]] = unpaired_old[before]
    return continued


def _positions_by_name(rows: Sequence[Json], key: str) -> dict[Hashable, int]:
    """The positions of rows by their name under a key; names that two rows share are left out."""
    names = [
        (row[key].__class__, row[key])
        if isinstance(row, dict) and isinstance(row.get(key), str | int)
        else None
        for row in rows
    ]
    times = Counter(names)
    return {name: place for place, name in enumerate(names) if name is not None and times[name] == 1}


def pair_by_likeness(old: Sequence[Json], new: Sequence[Json]) -> Pairs:
    before, after = [canonical(row) for row in old], [canonical(row) for row in new]
    positions = range(len(old)), range(len(new))
    pairs, stretches = pair_equal(before, after, _MOST_COMPARED)
    rest_old, rest_new = unpaired(pairs, *positions)
    pairs += pair_anywhere(((b, before[b]) for b in rest_old), ((a, after[a]) for a in rest_new))
    rows = _Rows(old, new)
    likely: Pairs = []
    for b1, b2, a1, a2 in stretches:
        likely += pair_most_alike(rows, *unpaired(pairs, range(b1, b2), range(a1, a2)))
    pairs += [(b, a) for b, a in likely if rows.likeness(b, a) >= _MOVED]
    rest_old, rest_new = unpaired(pairs, *positions)  # those that were moved and changed
    scored = ((rows.likeness(b, a), b, a) for b in rest_old[:_MOST_MOVED] for a in rest_new[:_MOST_MOVED])
    pairs += pair_best_first(pair for pair in scored if pair[0] >= _MOVED)
    taken = {b for b, _ in pairs}, {a for _, a in pairs}
    return pairs + [(b, a) for b, a in likely if b not in taken[0] and a not in taken[1]]


class _Features(NamedTuple):
    leaves: frozenset[Hashable]
    form: frozenset[Hashable]
    kind: type


class _Rows:
    """The elements as sets of their leaves, computed on first use."""

    def __init__(self, old: Sequence[Json], new: Sequence[Json]):
        self.old, self.new = old, new
        self._features: dict[tuple[bool, int], _Features] = {}

    def features(self, is_new: bool, place: int) -> _Features:
        features = self._features.get((is_new, place))
        if features is None:
            value = self.new[place] if is_new else self.old[place]
            leaves = list(_leaves(value, ()))
            kind = value.__class__ if isinstance(value, dict | list) else str
            features = _Features(frozenset(leaves), frozenset(path for path, _, _ in leaves), kind)
            self._features[is_new, place] = features
        return features

    def likeness(self, before: int, after: int) -> float:
        """The share of equal leaves, plus a little for leaves whose paths are on both sides."""
        left, right = self.features(False, before), self.features(True, after)
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


def pair_most_alike(rows: _Rows, left: Sequence[int], right: Sequence[int]) -> Pairs:
    """Pairs in a stretch without equal elements, in the same order. Many elements are paired by the most
    distinctive field, and the others by their place."""
    if len(left) * len(right) <= _MOST_COMPARED:
        least = _IN_PLACE if len(left) == len(right) else 0.0  # of another kind altogether: replaced
        likeness = [[rows.likeness(b, a) or least for a in right] for b in left]
        return [(left[n], right[m]) for n, m in pair_in_order(likeness)]
    old, new = [rows.old[b] for b in left], [rows.new[a] for a in right]
    sample = next((row for row in old if isinstance(row, dict)), {})
    fields = [(_positions_by_name(old, key), _positions_by_name(new, key)) for key in sample]
    names = max(fields, key=lambda names: len(names[0].keys() & names[1].keys()), default=({}, {}))
    pairs = [(left[b], right[names[1][name]]) for name, b in names[0].items() if name in names[1]]
    leftover = zip(*unpaired(pairs, left, right), strict=False)
    return pairs + [(b, a) for b, a in leftover if rows.likeness(b, a) > 0]


# The same change in many places: one definition for every report and for the plans of a refresh.


_LONG_TEXT = 200


def row_pattern(path: Path, open: Container[int] | None = None) -> str:
    """The path with `[*]` for its indexes, or only for the indexes at the `open` positions."""
    from baselinekit.values.paths import render  # for reports alone

    text = ""
    for position, key in enumerate(path):
        if isinstance(key, int):
            text += "[*]" if open is None or position in open else f"[{key}]"
        else:
            text += ("." if text else "") + render((key,))
    return text or "$"


def same_change(path: Path, kind: str, before: Json, after: Json) -> tuple[str, ...]:
    """The key by which changes count as the same: the place, the kind, the types of both sides. Objects have
    one type if they have the same keys: an added user is not an added order. Changes of long texts, or of
    texts with several lines, are the same only if both texts are."""
    return row_pattern(path), kind, _describe_type(before), _describe_type(after)


def _describe_type(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    if isinstance(value, str) and ("\n" in value.rstrip("\n") or len(value) > _LONG_TEXT):
        return f"text {value}"
    return f"object {sorted(value)}" if isinstance(value, dict) else json_type(value)


def group_alike(
    members: Iterable[tuple[Hashable, int, Member]],
) -> list[tuple[Hashable, list[tuple[int, Member]]]]:
    """Group members by key; the groups in most baselines come first. A member: its key, the number of its
    baseline, and itself."""
    groups: dict[Hashable, list[tuple[int, Member]]] = {}
    for key, owner, member in members:
        groups.setdefault(key, []).append((owner, member))
    return sorted(groups.items(), key=lambda group: -len({owner for owner, _ in group[1]}))
