"""One row that describes every element, kept as one row: where all the rows that came back changed alike, the
row itself changes, and a key that each of them has got another value for gets a placeholder."""

from collections.abc import Callable, Sequence

from baselinekit.documents.keyorder import with_new_keys
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.placeholders.grammar import has_marker, split

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
    if all(_same(value, first) for value in values):
        return first
    if all(isinstance(value, dict) for value in values):
        return _members(template if isinstance(template, dict) else {}, values, accepts)
    if any(_same(value, template) for value in values):  # some are as before, and others are not
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


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and bool(one == other)
