"""What it takes to make one value another: a tree of changes that leaves out whatever is equal."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from baselinekit.model.values import Json, Path
from baselinekit.tree.alignment import partners
from baselinekit.tree.equality import identical
from baselinekit.tree.paths import with_values


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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class RewrittenEntry:
    """One entry of a changed collection. `old`: its key or place before, None for a new one."""

    old: str | int | None
    name: str | int
    value: Json
    change: "Rewrite | None" = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is to become of a value. Without `entries` it is written anew as a whole; `rebuilt`: entries come,
    go or move (`entries` are all of them then, in their order), else they only change. `plainly`: on one
    line, since the nicer way did not do."""

    value: Json
    entries: tuple[RewrittenEntry, ...] | None = None
    rebuilt: bool = False
    plainly: bool = False

    def below(self, name: str | int) -> "Rewrite | None":
        return next((entry.change for entry in self.entries or () if entry.old == name), None)


GONE = Rewrite(None)
"""What has become of a place that is not there any more, or was written anew with all around it."""


def change(old: Json, new: Json, hints: Hints, path: Path = ()) -> Rewrite | None:
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
        RewrittenEntry(key, key, new[key], change(old[key], new[key], hints, (*path, key)))
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
        else RewrittenEntry(before, place, value, change(old[before], value, hints, (*path, before)))
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
    if last.old is not None and last.change is None and isinstance(leaf, str) and leaf.endswith("\n\n"):
        # a block that keeps its empty lines would take in those below
        last = replace(last, change=rooted(Rewrite(leaf, plainly=True), last.value, path))
    return replace(whole, entries=(*others, last), plainly=True)


def sites(whole: Rewrite, at: Path = ()) -> Iterator[Path]:
    """Where a change writes something, by the paths before it."""
    if whole.entries is None or whole.rebuilt:
        yield at
    for entry in whole.entries or ():
        if entry.change is not None and entry.old is not None:
            yield from sites(entry.change, (*at, entry.old))


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
        whole = entry.change
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
            inner = only(entry.change, before, allowed, (*at, entry.old)) if entry.change else None
            entry = replace(entry, change=inner, value=inner.value if inner else before)
        entries.append(entry)
    if not rebuilt:
        entries = [entry for entry in entries if entry.change is not None]
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
            below = at_place(entry.change, path[1:], new) if path[1:] and entry.change is not None else new
            entry = replace(entry, change=below)
        entries.append(entry)
    return replace(whole, entries=tuple(entries))
