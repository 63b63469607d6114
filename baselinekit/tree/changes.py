"""What it takes to make one value another: a tree of changes that leaves out whatever is equal."""

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import NamedTuple, TypeVar

from baselinekit.frozen import frozen
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.tree.alignment import (
    Pairs,
    pair_anywhere,
    pair_best_first,
    pair_equal,
    pair_in_order,
    unpaired,
)
from baselinekit.tree.equality import canonical, identical
from baselinekit.tree.places import with_values

Member = TypeVar("Member")


def with_new_keys(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """All the old keys in their order, and each new one in its place. New ones that come before any known one
    go before the first that is known to both."""
    known = dict.fromkeys(old)
    behind: dict[str | None, list[str]] = defaultdict(list)
    first: str | None = None
    last: str | None = None
    for key in new:
        if key in known:
            first, last = key if last is None else first, key
        else:
            behind[last].append(key)
    order = [] if first is not None else [*known, *behind[None]]
    for key in known if first is not None else ():
        order += [*(behind[None] if key == first else ()), key, *behind[key]]
    return order


@frozen
class Hints:
    """What is known about a value beside itself. `keys`: of an array, the key that names its elements; the
    array's path is one within the value, `*` stands for any index. `ordered`: the order of keys counts.
    `siblings`: a key that is not there yet goes before the first of those that follow it here."""

    keys: Mapping[Path, str] = field(default_factory=dict)
    ordered: bool = False
    siblings: Sequence[str] = ()

    def key(self, path: Path) -> str | None:
        loose = tuple("*" if isinstance(step, int) else step for step in path)
        return self.keys.get(path) or self.keys.get(loose)


@frozen
class RewrittenEntry:
    """One entry of a changed collection. `old`: its key or place before, None for a new one."""

    old: str | int | None
    name: str | int
    value: Json
    rewrite: "Rewrite | None" = None


@frozen
class Rewrite:
    """What is to be written where a value stood; what a person approves of it is a `model.changes.Change`.
    Without `entries` it is written anew as a whole; `rebuilt`: entries come, go or move (`entries` are all of
    them then, in their order), else they only change. `plainly`: on one line, since the nicer way did not
    do."""

    value: Json
    entries: tuple[RewrittenEntry, ...] | None = None
    rebuilt: bool = False
    plainly: bool = False

    def below(self, name: str | int) -> "Rewrite | None":
        return next((entry.rewrite for entry in self.entries or () if entry.old == name), None)


GONE = Rewrite(None)
"""What has become of a place that is not there any more, or was written anew with all around it."""


def rewrite(old: Json, new: Json, hints: Hints, path: Path = ()) -> Rewrite | None:
    """None: they are equal."""
    if identical(old, new, hints.ordered):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        return _of_mapping(old, new, hints, path)
    if isinstance(old, list) and isinstance(new, list):
        return _of_array(old, new, hints, path)
    return Rewrite(new)


def _of_mapping(old: dict[str, Json], new: dict[str, Json], hints: Hints, path: Path) -> Rewrite:
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


def _of_array(old: list[Json], new: list[Json], hints: Hints, path: Path) -> Rewrite:
    continued = partners(old, new, hints.key(path))
    if continued.count(None) == len(continued):
        return Rewrite(new)
    entries = tuple(
        RewrittenEntry(None, place, value)
        if before is None
        else RewrittenEntry(before, place, value, rewrite(old[before], value, hints, (*path, before)))
        for place, (before, value) in enumerate(zip(continued, new, strict=True))
    )
    return Rewrite(new, entries, continued != list(range(len(old))))


def rooted(inner: Rewrite, root: Json, path: Path) -> Rewrite:
    """The change of a whole document that changes what is at a path."""
    if not path:
        return inner
    step, rest = path[0], path[1:]
    below = rooted(inner, root[step], rest)
    return Rewrite(with_values(root, {path: inner.value}), (RewrittenEntry(step, step, below.value, below),))


def plainer(whole: Rewrite) -> Rewrite:
    """The next way to write a change where this one did not do: in fewer, plainer pieces."""
    if whole.entries is None:
        return replace(whole, plainly=True)
    if not whole.rebuilt or whole.plainly:
        return Rewrite(whole.value)
    *others, last = whole.entries
    path: Path = ()
    leaf = last.value
    while isinstance(leaf, dict | list) and leaf:
        step, leaf = list(leaf.items())[-1] if isinstance(leaf, dict) else (len(leaf) - 1, leaf[-1])
        path = (*path, step)
    if last.old is not None and last.rewrite is None and isinstance(leaf, str) and leaf.endswith("\n\n"):
        # a block that keeps its empty lines would take in those below
        last = replace(last, rewrite=rooted(Rewrite(leaf, plainly=True), last.value, path))
    return replace(whole, entries=(*others, last), plainly=True)


def sites(whole: Rewrite, at: Path = ()) -> Iterator[Path]:
    """Where a change writes something, by the paths before it."""
    if whole.entries is None or whole.rebuilt:
        yield at
    for entry in whole.entries or ():
        if entry.rewrite is not None and entry.old is not None:
            yield from sites(entry.rewrite, (*at, entry.old))


def looked_up(whole: Rewrite | None, path: Path) -> Rewrite | None:
    """What becomes of the value at a path: None, nothing."""
    for step in path:
        if whole is None:
            return None
        if whole.entries is None:
            return GONE
        entry = next((entry for entry in whole.entries if entry.old == step), None)
        if entry is None:
            return GONE if whole.rebuilt else None
        whole = entry.rewrite
    return whole


def only(whole: Rewrite, old: Json, allowed: Set[Path], at: Path = ()) -> Rewrite | None:
    """The same change at some of its sites alone; None: at none of them."""
    if whole.entries is None:
        return whole if at in allowed else None
    rebuilt = whole.rebuilt and at in allowed
    entries = []
    for entry in whole.entries:
        if entry.old is not None:
            before = old[entry.old]
            inner = only(entry.rewrite, before, allowed, (*at, entry.old)) if entry.rewrite else None
            entry = replace(entry, rewrite=inner, value=inner.value if inner else before)
        entries.append(entry)
    if not rebuilt:
        entries = [entry for entry in entries if entry.rewrite is not None]
        if not entries:
            return None
    if isinstance(old, dict):
        start = {} if rebuilt else old
        value: Json = {**start, **{str(entry.name): entry.value for entry in entries}}
    elif rebuilt:
        value = [entry.value for entry in entries]
    else:
        value = list(old)
        for entry in entries:
            value[int(entry.old or 0)] = entry.value
    return Rewrite(value, tuple(entries), rebuilt, whole.plainly)


def at_place(whole: Rewrite, path: Path, new: Rewrite | None) -> Rewrite:
    """The same tree with another change at a path, by the keys and places before it."""
    if not path or whole.entries is None:
        return new or whole
    entries = []
    for entry in whole.entries:
        if entry.old == path[0]:
            below = at_place(entry.rewrite, path[1:], new) if path[1:] and entry.rewrite is not None else new
            entry = replace(entry, rewrite=below)
        entries.append(entry)
    return replace(whole, entries=tuple(entries))


# Which old element each new one continues, wherever it stands now, so that as little as possible is written
# anew: those with the same key, then equal ones, then those that are most alike.


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
    for before, after in pair_by_likeness([old[place] for place in rest_old], [new[n] for n in rest_new]):
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


def pair_by_likeness(old: Sequence[Json], new: Sequence[Json]) -> Pairs:
    before, after = [canonical(row) for row in old], [canonical(row) for row in new]
    every = range(len(old)), range(len(new))
    pairs, stretches = pair_equal(before, after, _MOST_COMPARED)
    lone_old, lone_new = unpaired(pairs, *every)
    pairs += pair_anywhere(((b, before[b]) for b in lone_old), ((a, after[a]) for a in lone_new))
    rows = _Rows(old, new)
    likely: Pairs = []
    for b1, b2, a1, a2 in stretches:
        likely += most_alike(rows, *unpaired(pairs, range(b1, b2), range(a1, a2)))
    pairs += [(b, a) for b, a in likely if rows.likeness(b, a) >= _MOVED]
    lone_old, lone_new = unpaired(pairs, *every)  # those that were moved and changed
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


def most_alike(rows: _Rows, left: Sequence[int], right: Sequence[int]) -> Pairs:
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
    rest = zip(*unpaired(pairs, left, right), strict=False)
    return pairs + [(b, a) for b, a in rest if rows.likeness(b, a) > 0]


# The same change in many places: one law for every report and for the plans of a refresh.


_LONG_TEXT = 200


def row_pattern(path: Path, open: Container[int] | None = None) -> str:
    """The path with `[*]` for its indexes, or for those of them that stand at the `open` positions."""
    from baselinekit.tree.paths import render  # for reports alone

    text = ""
    for position, key in enumerate(path):
        if isinstance(key, int):
            text += "[*]" if open is None or position in open else f"[{key}]"
        else:
            text += ("." if text else "") + render((key,))
    return text or "$"


def same_change(path: Path, kind: str, before: Json, after: Json) -> tuple[str, ...]:
    """What changes have in common that are one and the same: the place, the kind, the types of both sides.
    Objects are of one type if they have the same keys: a user more is not an order more. Of long texts and
    those of several lines, only the same two are the same change: a page is news each time."""
    return row_pattern(path), kind, _type(before), _type(after)


def _type(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    if isinstance(value, str) and ("\n" in value.rstrip("\n") or len(value) > _LONG_TEXT):
        return f"text {value}"
    return f"object {sorted(value)}" if isinstance(value, dict) else json_type(value)


def group_alike(
    members: Iterable[tuple[Hashable, int, Member]],
) -> list[tuple[Hashable, list[tuple[int, Member]]]]:
    """All members by what they have in common: first what most baselines have. A member: its key, the number
    of its baseline, and itself."""
    groups: dict[Hashable, list[tuple[int, Member]]] = {}
    for key, owner, member in members:
        groups.setdefault(key, []).append((owner, member))
    return sorted(groups.items(), key=lambda group: -len({owner for owner, _ in group[1]}))
