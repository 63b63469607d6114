"""What a new row, entry or key takes from those beside it: the placeholders that all of them hold there."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.grammar import describes_many, has_marker, split, tokens_in
from baselinekit.placeholders.lines import with_placeholders
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.table import Words
from baselinekit.refresh.rows import Accepts
from baselinekit.tree.changes import with_new_keys

VARY_BY_NATURE = frozenset(("any_uuid", "any_ulid", "any_jwt", "any_iso_datetime", "any_unix_timestamp"))
"""Formats of ids and moments: of a value that was seen only once, and that nothing on file speaks of, it is
likelier that it varies than that it is ever the same."""

_ENOUGH = 3
"""So many single values that all hold one placeholder say what stands beside them."""

_MOST_TEXTS = 3
_ALIKE = 0.5
_LIKE = "like its siblings"
_NATURE = "as ids and moments vary by nature"


@dataclass(frozen=True, slots=True)
class Judge:
    """Whether a stored text accepts a value, and what the project means by its placeholders."""

    accepts: Accepts
    words: Words

    def fitting(self, texts: Sequence[str], value: Json) -> str | None:
        """The first of some texts that accepts a value; of none the one that keeps most of its placeholders
        around another text."""
        text = next((text for text in texts if self.accepts(text, value)), None)
        plain = _plain(value)
        if text is None and isinstance(plain, str):
            likely = [with_placeholders(text, plain, self.words) for text in texts[:_MOST_TEXTS]]
            text = max(likely, key=lambda text: len([*tokens_in(text)]))
        return text if text is not None and any(tokens_in(text)) else None

    def is_fit(self, stored: Json, value: Json) -> bool:
        """Whether a value could stand for what was there under another name: its placeholders must fit it."""
        if isinstance(stored, str):
            return describes_many(stored) and self.fitting([stored], value) is not None
        if isinstance(stored, list) and isinstance(value, list):
            return describes_many(stored) and (
                not value or any(self.is_fit(old, new) for old in stored[:1] for new in value[:1])
            )
        if isinstance(stored, dict) and isinstance(value, dict):
            shared = stored.keys() & value.keys()
            return describes_many(stored) and 2 * len(shared) >= len(stored.keys() | value.keys())
        return False


class Beside:
    """One place of all rows and entries that are alike: the values that stand there on file, and those that
    came. What is below it is found out when it is asked for."""

    def __init__(self, judge: Judge, stored: Iterable[Json], came: Iterable[Json]):
        self.judge = judge
        self.stored, self.came = [*stored], [*came]
        self._members: dict[str, Beside] = {}
        self._rows: Beside | None = None
        self._entries: Beside | None = None
        self._is_map: bool | None = None
        self._renames: dict[str, str] | None = None
        self._nature: str | None = None

    @property
    def rows(self) -> "Beside":
        """The elements of the arrays."""
        if self._rows is None:
            both = (
                (row for value in side if isinstance(value, list) for row in value) for side in self.sides
            )
            self._rows = Beside(self.judge, *both)
        return self._rows

    @property
    def entries(self) -> "Beside":
        """What stands under all the keys of the objects."""
        if self._entries is None:
            both = ((entry for value in _objects(side) for entry in value.values()) for side in self.sides)
            self._entries = Beside(self.judge, *both)
        return self._entries

    @property
    def sides(self) -> tuple[list[Json], list[Json]]:
        return self.stored, self.came

    def member(self, name: str) -> "Beside":
        """What stands under a key; under a new one what stands under the key whose place it took, or in a map
        under all its keys."""
        if name not in self._members:
            stored, came = ([value[name] for value in _objects(side) if name in value] for side in self.sides)
            known = stored or not self.stored
            if not known and name in self.renames:
                stored = self.member(self.renames[name]).stored
            below = Beside(self.judge, stored, came)
            is_entry = not known and not stored and self.is_map and self.entries.is_like(below)
            self._members[name] = self.entries if is_entry else below
        return self._members[name]

    def renamed(self, old: str, new: str) -> "Beside":
        """What stands under a key that, here alone, came in the place of another one."""
        return Beside(self.judge, self.member(old).stored, self.member(new).came)

    @property
    def renames(self) -> dict[str, str]:
        """The keys that no object on file has, each with the one that it took the place of everywhere."""
        if self._renames is None:
            stored, came = map(_every_key, self.sides)
            self._renames = renamed_keys(stored, came, self.judge)
        return self._renames

    @property
    def is_map(self) -> bool:
        """Whether the keys are data, as ids are: what stands under them is of one form."""
        if self._is_map is None:
            stored = self.entries.stored
            if stored and all(isinstance(entry, dict) and entry for entry in stored):
                sets = [entry.keys() for entry in (*stored, *_objects(self.entries.came))]
                shared = set(sets[0]).intersection(*sets)
                self._is_map = len(sets) > 1 and 2 * len(shared) >= max(map(len, sets))
            else:
                texts = {entry if isinstance(entry, str) else None for entry in stored}
                self._is_map = len(texts) == 1 and len(stored) >= _ENOUGH and describes_many(stored[0])
        return self._is_map

    def is_like(self, other: "Beside") -> bool:
        """Whether what came elsewhere could stand here: objects, or what the placeholder here accepts."""
        return all(isinstance(value, dict) or self.held(value) is not None for value in other.came)

    def held(self, value: Json) -> str | None:
        """The placeholder that all of them hold, where it accepts this value as well."""
        held = [stored for stored in self.stored if stored is not None]
        if not held or not all(isinstance(stored, str) and describes_many(stored) for stored in held):
            return None
        return self.judge.fitting([text for text, _ in Counter(held).most_common()], value)

    def by_nature(self) -> str | None:
        """The narrowest placeholder of values that vary by nature, where nothing on file speaks of them. What
        is the same in every row does not vary."""
        if self._nature is None:
            silent = all(stored is None for stored in self.stored)
            self._nature = self._narrowest() if silent else ""
        return self._nature or None

    def _narrowest(self) -> str:
        values = [_plain(value) for value in self.came if value is not None]
        if not values or any(isinstance(value, dict | list) for value in values):
            return ""
        if len(values) > 1 and len({f"{json_type(value)} {value}" for value in values}) == 1:
            return ""
        text = narrowest(values, words=self.judge.words)[0].text
        names = {token.name for token in tokens_in(text)}
        return text if names and names <= VARY_BY_NATURE else ""


def _objects(values: Iterable[Json]) -> Iterator[dict[str, Json]]:
    return (value for value in values if isinstance(value, dict))


def _every_key(values: Iterable[Json]) -> dict[str, Json]:
    """The keys of all objects in their order, each with the first value that it has."""
    found: dict[str, Json] = {}
    for value in _objects(values):
        if value.keys() - found.keys():
            found = {key: found.get(key, value.get(key)) for key in with_new_keys(found, value)}
    return found


def _plain(value: Json) -> Json:
    """The value that a stored text stands for."""
    if isinstance(value, str) and has_marker(value):
        parts = split(value)
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else value
    return value


@dataclass(slots=True)
class Inherited:
    """Gives new values the placeholders of those beside them, and remembers what it gave, by place."""

    judge: Judge
    given: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def fill(self, value: Json, beside: Beside, place: str) -> Json:
        """The value with each placeholder that it takes. `place`: where it is, for the reader."""
        text, why = beside.held(value), _LIKE
        if text is None and not isinstance(value, dict | list) and value is not None:
            text, why = beside.by_nature(), _NATURE
            text = text if text is not None and self.judge.accepts(text, value) else None
        if text is not None:
            key = place, text, why
            self.given[key] = self.given.get(key, 0) + 1
            return text
        if isinstance(value, dict):
            return {key: self.fill(item, beside.member(key), f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, beside.rows, f"{place}[*]") for item in value]
        return value

    def notes(self) -> Iterator[str]:
        for (place, text, why), count in self.given.items():
            times = f" ({count:,} times)" if count > 1 else ""
            yield f"{place} takes {text} {why}{times}"


def renamed_keys(old: Mapping[str, Json], new: Mapping[str, Json], judge: Judge) -> dict[str, str]:
    """Each new key that came in the place of one that has gone, with that one: as many came as have gone
    between two keys that stayed, or one alone fits."""
    gone, come = _by_neighbour(old, new), _by_neighbour(new, old)
    renamed: dict[str, str] = {}
    for before, names in come.items():
        lost = gone.get(before, [])
        fits = {
            name: [
                one
                for one in lost
                if judge.is_fit(old[one], new[name]) and (_says_much(old[one]) or _are_alike(one, name))
            ]
            for name in names
        }
        if len(lost) == len(names) and all(one in fits[name] for one, name in zip(lost, names, strict=True)):
            renamed.update(zip(names, lost, strict=True))
            continue
        taken = Counter(one for few in fits.values() for one in few)
        renamed |= {name: few[0] for name, few in fits.items() if len(few) == 1 and taken[few[0]] == 1}
    return renamed


def _says_much(stored: Json) -> bool:
    """Whether hardly anything else would fit by chance: any number fits `<<any_number>>`."""
    names = {token.name for token in tokens_in(stored)}
    return isinstance(stored, dict | list) or bool(names & VARY_BY_NATURE) or not _is_lone(stored)


def _is_lone(stored: str) -> bool:
    return next((token.text for token in tokens_in(stored)), "") == stored


def _are_alike(old: str, new: str) -> bool:
    before, after = (re.sub(r"[^a-z0-9]", "", name.lower()) for name in (old, new))
    return bool(SequenceMatcher(None, before, after, autojunk=False).ratio() >= _ALIKE)


def _by_neighbour(these: Mapping[str, Json], others: Mapping[str, Json]) -> dict[str | None, list[str]]:
    """The keys that the others do not have, by the last one before them that they have."""
    found: dict[str | None, list[str]] = {}
    last: str | None = None
    for name in these:
        if name in others:
            last = name
        else:
            found.setdefault(last, []).append(name)
    return found
