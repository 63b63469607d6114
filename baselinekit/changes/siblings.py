"""What a new row, entry or key takes from its siblings: the placeholders that all of them hold there."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property

from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.formats import NEAR, moments_in
from baselinekit.placeholders.grammar import describes_many, tokens_in, unescaped
from baselinekit.placeholders.lines import with_placeholders
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of
from baselinekit.placeholders.table import TABLE, PlaceholderContext
from baselinekit.structs import MutableStruct, Struct, field
from baselinekit.values.alignment import Accepts
from baselinekit.values.changes import with_new_keys

_HOUR = 3600
_IDS = frozenset(("any_uuid", "any_ulid", "any_jwt"))
_ENOUGH = 3
"""How many single values with the same placeholder establish what their siblings hold."""

_MOST_TEXTS = 3
_ALIKE = 0.5
_LIKE = "like its siblings"
_NATURE = "as ids and moments vary by nature"


class Judge(Struct):
    """Decides whether a stored text accepts a value, and knows the placeholders of the project."""

    accepts: Accepts
    words: PlaceholderContext
    seen_at: float
    """When the new values came, in seconds since 1970."""

    def without_bounds(self, stored: str, value: Json) -> str | None:
        """Return a lone placeholder without its arguments, if it then accepts a value."""
        token = next(tokens_in(stored), None)
        if token is None or token.text != stored or token.key or not token.args:
            return None
        if token.name not in TABLE or not TABLE[token.name].bounded:
            return None
        wider = f"<<{token.name}{'?' * token.optional}{'|null' * token.nullable}>>"
        return wider if self.accepts(wider, value) else None

    def varies(self, value: Json, name: str) -> bool:
        """Whether a value without a stored counterpart will likely differ next time: an id, by its name; or a
        moment of now, or a future one. A moment long ago does not change."""
        when = moment_of(value)
        if when is not None:
            is_to_come = isinstance(value, str) and when > self.seen_at and when % _HOUR
            return abs(when - self.seen_at) <= NEAR or bool(is_to_come)
        if looks_like_id(value, (name,)):
            return True
        if not isinstance(value, str):
            return False
        tokens = tokens_in(narrowest([value], words=self.words)[0].text)
        return not _IDS.isdisjoint(token.name for token in tokens) or any(
            abs(when - self.seen_at) <= NEAR for _, _, when in moments_in(value)
        )

    def is_format(self, name: str) -> bool:
        """Whether a placeholder is specific, so that hardly anything fits it by chance. Any number fits
        `<<any_number>>`, so that is not."""
        row = self.words.table.get(name)
        learnt = row.learnt if row else None
        return name in self.words.own or (
            learnt is not None and (learnt.of, learnt.when) == ("string", "sure")
        )

    def fitting(self, texts: Sequence[str], value: Json) -> str | None:
        """Return the first text that accepts a value; if none does, the one that keeps most of its
        placeholders around another text."""
        text = next((text for text in texts if self.accepts(text, value)), None)
        literal = unescaped(value)
        if text is None and isinstance(literal, str):
            likely = [with_placeholders(text, literal, self.words) for text in texts[:_MOST_TEXTS]]
            text = max(likely, key=count_tokens)
        if text is None or not any(tokens_in(text)):
            return self.without_bounds(texts[0], value)
        return text

    def fit(self, stored: Json, value: Json) -> float:
        """Return from 0 to 1 how well a value fits what was stored under another name: the share of the
        placeholders that fit it."""
        if not describes_many(stored):
            return 0.0
        if isinstance(stored, str):
            template = self.fitting([stored], value)
            return 0.0 if template is None else count_tokens(template) / count_tokens(stored)
        if isinstance(stored, list) and isinstance(value, list):
            return self.fit(stored[0], value[0]) if stored and value else 1.0
        if isinstance(stored, dict) and isinstance(value, dict):
            shared = len(stored.keys() & value.keys()) / len(stored.keys() | value.keys())
            return shared if shared >= _ALIKE else 0.0
        return 0.0


class Siblings:
    """One place in all rows and entries that are alike: the stored values, and the new ones. What is below it
    is computed on demand."""

    def __init__(self, judge: Judge, stored: Iterable[Json], new: Iterable[Json], name: str = ""):
        self.judge, self.name = judge, name
        self.stored, self.new = [*stored], [*new]
        self._members: dict[str, Siblings] = {}

    @cached_property
    def rows(self) -> "Siblings":
        """The elements of the arrays."""
        return self._below(lambda value: value if isinstance(value, list) else ())

    @cached_property
    def entries(self) -> "Siblings":
        """The values of all keys of the objects."""
        return self._below(lambda value: value.values() if isinstance(value, dict) else ())

    def _below(self, parts: Callable[[Json], Iterable[Json]]) -> "Siblings":
        stored, new = ([part for value in side for part in parts(value)] for side in self.sides)
        return Siblings(self.judge, stored, new, self.name)

    @property
    def sides(self) -> tuple[list[Json], list[Json]]:
        return self.stored, self.new

    def member(self, name: str) -> "Siblings":
        """Return the values under a key. For a new key they are those of the key that it replaced, or in a
        map those of all keys."""
        if name not in self._members:
            stored, new = ([value[name] for value in _objects(side) if name in value] for side in self.sides)
            is_stored = stored or not self.stored
            if not is_stored and name in self.renames:
                stored = self.member(self.renames[name]).stored
            below = Siblings(self.judge, stored, new, name)
            is_entry = not is_stored and not stored and self.is_map and self.entries.is_like(below)
            self._members[name] = self.entries if is_entry else below
        return self._members[name]

    def renamed(self, old: str, new: str) -> "Siblings":
        """Return the values under a key that replaced another one in this object only."""
        return Siblings(self.judge, self.member(old).stored, self.member(new).new, new)

    @cached_property
    def renames(self) -> dict[str, str]:
        """The keys that no stored object has, each with the key that it replaced everywhere."""
        stored, new = map(every_key, self.sides)
        return renamed_keys(stored, new, self.judge)

    @cached_property
    def is_map(self) -> bool:
        """Whether the keys are data, such as ids: then the values under them have one form."""
        stored = self.entries.stored
        if stored and all(isinstance(entry, dict) and entry for entry in stored):
            sets = [entry.keys() for entry in (*stored, *_objects(self.entries.new))]
            shared = set(sets[0]).intersection(*sets)
            return len(sets) > 1 and 2 * len(shared) >= max(map(len, sets))
        texts = {entry if isinstance(entry, str) else None for entry in stored}
        return len(texts) == 1 and len(stored) >= _ENOUGH and describes_many(stored[0])

    def is_like(self, other: "Siblings") -> bool:
        """Whether the new values of another place could stand here: objects, or what the placeholder here
        accepts."""
        return all(
            isinstance(value, dict) or self.shared_placeholder(value) is not None for value in other.new
        )

    def shared_placeholder(self, value: Json) -> str | None:
        """Return the placeholder that all stored values hold, if it accepts this value as well."""
        stored_values = [stored for stored in self.stored if stored is not None]
        if not stored_values or not all(
            isinstance(stored, str) and describes_many(stored) for stored in stored_values
        ):
            return None
        return self.judge.fitting([text for text, _ in Counter(stored_values).most_common()], value)

    @cached_property
    def natural_placeholder(self) -> str | None:
        """The narrowest placeholder of values that vary by nature, if no stored value says otherwise. What is
        the same in every row does not vary."""
        values = [unescaped(value) for value in self.new if value is not None]
        is_stated = any(stored is not None for stored in self.stored)
        if is_stated or not values or any(isinstance(value, dict | list) for value in values):
            return None
        if len(values) > 1 and len({f"{json_type(value)} {value}" for value in values}) == 1:
            return None
        if not all(self.judge.varies(value, self.name) for value in values):
            return None
        return narrowest(values, words=self.judge.words)[0].text


def _objects(values: Iterable[Json]) -> Iterator[dict[str, Json]]:
    return (value for value in values if isinstance(value, dict))


def every_key(values: Iterable[Json]) -> dict[str, Json]:
    """Return the keys of all objects in their order, each with its first value."""
    first_values: dict[str, Json] = {}
    for value in _objects(values):
        if value.keys() - first_values.keys():
            first_values = {
                key: first_values.get(key, value.get(key)) for key in with_new_keys(first_values, value)
            }
    return first_values


class Inherited(MutableStruct):
    """Gives new values the placeholders of their siblings, and counts what it gave, by place."""

    judge: Judge
    given: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def fill(self, value: Json, beside: Siblings, place: str) -> Json:
        """Return the value with each placeholder that it takes. `place`: its path, as shown to the reader."""
        text, reason = beside.shared_placeholder(value), _LIKE
        if text is None and not isinstance(value, dict | list) and value is not None:
            text, reason = beside.natural_placeholder, _NATURE
            text = text if text is not None and self.judge.accepts(text, value) else None
        if text is not None:
            key = place, text, reason
            self.given[key] = self.given.get(key, 0) + 1
            return text
        if isinstance(value, dict):
            return {key: self.fill(item, beside.member(key), f"{place}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, beside.rows, f"{place}[*]") for item in value]
        return value

    def without_bounds(self, stored: str, value: Json, place: str) -> str | None:
        """Return the placeholder of a place without its arguments, if it accepts the value only then."""
        wider = self.judge.without_bounds(stored, value)
        if wider is not None:
            key = place, wider, f"since it varies beyond {stored}"
            self.given[key] = self.given.get(key, 0) + 1
        return wider

    def notes(self) -> Iterator[str]:
        for (place, text, reason), count in self.given.items():
            times = f" ({count:,} times)" if count > 1 else ""
            yield f"{place} takes {text} {reason}{times}"


def renamed_keys(old: Mapping[str, Json], new: Mapping[str, Json], judge: Judge) -> dict[str, str]:
    """Return each new key that replaced a removed one, with that one: between two keys that stayed, as many
    were added as removed, or one pair fits best."""
    removed_names, added_names = by_neighbour(old, new), by_neighbour(new, old)
    renamed: dict[str, str] = {}
    for previous, names in added_names.items():
        old_names = removed_names.get(previous, [])
        fits = {
            (name, old_name): _score_rename(old_name, old[old_name], name, new[name], judge)
            for name in names
            for old_name in old_names
        }
        if len(old_names) == len(names) and all(fits[pair] for pair in zip(names, old_names, strict=True)):
            renamed.update(zip(names, old_names, strict=True))
            continue
        scored = sorted(
            ((fit, name, old_name) for (name, old_name), fit in fits.items() if fit), reverse=True
        )
        best = scored[0][0] if scored else 0.0
        likeliest = [(name, old_name) for fit, name, old_name in scored if fit == best]
        if len(likeliest) == 1:
            renamed.update(likeliest)
    return renamed


def _score_rename(old_name: str, old: Json, name: str, new: Json, judge: Judge) -> float:
    """Return how likely it is that a key was renamed."""
    fit = judge.fit(old, new)
    return fit if fit and (says_much(old, judge) or are_alike(old_name, name)) else 0.0


def count_tokens(text: str) -> int:
    return sum(1 for _ in tokens_in(text))


def says_much(stored: Json, judge: Judge) -> bool:
    """Whether hardly anything else would fit the stored value by chance."""
    tokens = [*tokens_in(stored)]
    is_lone = len(tokens) == 1 and tokens[0].text == stored
    return not is_lone or judge.is_format(tokens[0].name)


def are_alike(old: str, new: str) -> bool:
    before, after = (re.sub(r"[^a-z0-9]", "", name.lower()) for name in (old, new))
    return bool(SequenceMatcher(None, before, after, autojunk=False).ratio() >= _ALIKE)


def by_neighbour(mapping: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str | None, list[str]]:
    """Return the keys that the other mapping does not have, by the last key before them that it has."""
    names: dict[str | None, list[str]] = {}
    last: str | None = None
    for name in mapping:
        if name in other:
            last = name
        else:
            names.setdefault(last, []).append(name)
    return names
