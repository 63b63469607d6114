"""The changes that turn one value into another, as a tree that leaves out whatever is equal."""

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.structs import Struct, field
from baselinekit.values.alignment import Accepts, Alignment, align, pair_alike, pair_anywhere
from baselinekit.values.equality import canonical, freeze, identical

Member = TypeVar("Member")
Key = TypeVar("Key", bound=Hashable)


def with_new_keys(old: Iterable[Key], new: Iterable[Key]) -> list[Key]:
    """All old keys in their order, with each new key after the one that it follows."""
    old_keys = dict.fromkeys(old)
    keys_after: dict[Key | None, list[Key]] = defaultdict(list)
    last: Key | None = None
    for key in new:
        if key in old_keys:
            last = key
        else:
            keys_after[last].append(key)
    return [*keys_after[None], *(one for key in old_keys for one in (key, *keys_after[key]))]


class Hints(Struct):
    """Further knowledge about a value. `keys`: the key that names the elements of an array, by the array's
    path within the value; `*` is any index. `ordered`: the order of keys counts. `siblings`: the
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
    if old is new or identical(old, new, hints.ordered):
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


# Which old element each new one continues, wherever it is now, so that as little as possible is rewritten.


def match_elements(old: Sequence[Json], new: Sequence[Json], key: str | None = None) -> list[int | None]:
    """The old element that each new one continues, or None. One with another name under `key` is another."""
    pairs = pair_rows(old, new, key, lambda text, value: False).pairs
    partners = {a: b for b, a in pairs if key is None or _name(old[b], key) == _name(new[a], key)}
    return [partners.get(place) for place in range(len(new))]


def pair_rows(old: Sequence[Json], new: Sequence[Json], key: str | None, accepts: Accepts) -> Alignment:
    """Pair the old rows with those that continue them: those with the same name under `key`, or without a key
    those in the same order; then those that were moved, and last those that were moved and changed."""
    if key is None:
        rows = align(old, new, canonical)
    else:
        names = _positions_by_name(old, key), _positions_by_name(new, key)
        rows = Alignment([], [*range(len(old))], [*range(len(new))])
        rows.take([(b, names[1][name]) for name, b in names[0].items() if name in names[1]])
    before = [(place, canonical(old[place])) for place in rows.missing]
    after = [(place, canonical(new[place])) for place in rows.extra]
    rows.take(pair_anywhere(before, after))
    rows.take(pair_alike(old, new, rows, accepts))
    return rows


def _name(row: Json, key: str) -> Hashable:
    return freeze(row[key]) if isinstance(row, dict) and key in row else None


def _positions_by_name(rows: Sequence[Json], key: str) -> dict[Hashable, int]:
    """The positions of rows by their name under a key; names that two rows share are left out."""
    names = [_name(row, key) for row in rows]
    times = Counter(names)
    return {name: place for place, name in enumerate(names) if name is not None and times[name] == 1}


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
