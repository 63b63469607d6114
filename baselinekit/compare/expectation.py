"""Two stored outputs of one baseline: where the later one lets pass what the earlier one would not have.

Whatever was ignored already says nothing new. A placeholder that became a value, or one that takes less, asks
for more; every other change of what is expected lets something else pass."""

from collections.abc import Iterator
from dataclasses import dataclass

from baselinekit.clipped import already_masked, clipped
from baselinekit.compare.outputs import Form
from baselinekit.compare.rules import State
from baselinekit.documents.jsonfile import compact
from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import Token, has_marker, split
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.plural import many

_LONGEST = 60
_TAKES = {
    "any_number": {"any_integer", "any_float", "number", "any_unix_timestamp"},
    "any_string": {
        *("any_nonempty_string", "any_uuid", "any_email", "any_url", "any_hostname", "any_ip"),
        *("any_iso_datetime", "any_iso_date", "any_time", "any_hex", "any_base64", "any_jwt", "any_semver"),
        *("any_ulid", "any_duration", "regex", "contains", "starts_with", "ends_with"),
    },
    "any_nonempty_string": {
        *("any_uuid", "any_email", "any_url", "any_hostname", "any_ip", "any_iso_datetime", "any_iso_date"),
        *("any_time", "any_duration", "any_hex", "any_base64", "any_jwt", "any_semver", "any_ulid"),
    },
}
"""Placeholders that, without arguments, take whatever these others take."""


@dataclass(frozen=True, slots=True)
class Loosened:
    """One way in which a baseline lets more pass. `at` leads to it in the record."""

    at: Path
    what: str


@dataclass(frozen=True, slots=True)
class Sides:
    """What both outputs need to be read: the words then and now, and whether further keys pass now."""

    before: Words
    after: Words
    form: Form
    further_keys: bool


def loosened(old: Json, new: Json, state: State, sides: Sides, path: Path = ()) -> Iterator[Loosened]:
    """Where the new output lets pass what the old one did not. `state`: of the rules as they were."""
    if state.here is not None and state.here.ignore is not None:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _objects(old, new, state, sides, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            below = state.step(number, one, len(old))
            yield from loosened(one, other, below, sides, (*path, number))
    elif isinstance(old, list) and isinstance(new, list):
        yield Loosened(path, f"expects {_elements(new)} instead of {len(old)}")
    elif not _same(old, new):
        yield from _values(old, new, sides, path)


def _objects(
    old: dict[str, Json], new: dict[str, Json], state: State, sides: Sides, path: Path
) -> Iterator[Loosened]:
    more_asks_more = sides.further_keys or path in sides.form  # of parts and headers only those stated count
    for key, value in old.items():
        below = state.step(key, value, len(old))
        if key in new:
            yield from loosened(value, new[key], below, sides, (*path, key))
        elif below.here is None or below.here.ignore is None:
            yield Loosened((*path, key), f"is not expected any more: {_short(value)}")
    for key, value in new.items():
        if key not in old and not more_asks_more:
            below = state.step(key, value, len(new))
            if below.here is None or below.here.ignore is None:
                yield Loosened((*path, key), f"is expected now: {_short(value)}")


def _values(old: Json, new: Json, sides: Sides, path: Path) -> Iterator[Loosened]:
    before, after = _read(old, sides.before), _read(new, sides.after)
    stood, stands = isinstance(before, Placeholder | Inline), isinstance(after, Placeholder | Inline)
    if stands and not stood:
        yield Loosened(path, f"a value became a placeholder: {_short(old)} -> {_short(new)}")
    elif stood and stands:
        if not _takes(str(old), str(new)):
            yield Loosened(path, f"another placeholder: {_short(old)} -> {_short(new)}")
    elif stood and isinstance(before, Placeholder | Inline):
        if not before.accepts(after, {}):
            yield Loosened(path, f"another expectation: {_short(old)} -> {_short(new)}")
    elif not _same(before, after):
        yield Loosened(path, f"another expectation: {_short(old)} -> {_short(new)}")


def _read(value: Json, words: Words) -> Json:
    if not isinstance(value, str) or not has_marker(value):
        return value
    try:
        return compile_text(value, words)
    except BaselinekitError:
        return value


def _takes(wide: str, narrow: str) -> bool:
    """Whether one placeholder, alone, takes all that another takes."""
    one, other = split(wide), split(narrow)
    if len(one) != 1 or len(other) != 1 or not isinstance(one[0], Token) or not isinstance(other[0], Token):
        return wide == narrow
    first, second = one[0], other[0]
    if (second.optional and not first.optional) or (first.key and first.key != second.key):
        return False
    if first.name == "any":
        return True
    if second.nullable and not first.nullable:
        return False
    if first.name == second.name:
        return first.args in ((), second.args)
    return not first.args and second.name in _TAKES.get(first.name, ())


def _same(one: Json, other: Json) -> bool:
    return json_type(one) == json_type(other) and bool(one == other)


def _elements(value: list[Json]) -> str:
    return many(len(value), "element")


def _short(value: Json) -> str:
    text = compact(value)
    return clipped(text, _LONGEST, already_masked, counted=False)
