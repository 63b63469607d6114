"""Two kinds of equality of JSON values.

- `identical` distinguishes every type and every digit: 1, 1.0 and true differ. Its key is `bytes_of` where
the order of keys counts, `canonical` where it does not. - `same_json` compares as JSON does: numbers by their
written value, so 1 is 1.0; true is never 1. Its key is `freeze`."""

import json
import marshal
from collections.abc import Hashable
from decimal import Context, Decimal
from math import isfinite

from baselinekit.model.values import Json

EXACT = Context(prec=3_000, traps=[])
"""Precise enough for any two numbers that a file or an answer may hold."""

_WHOLE = 2**53
"""Below this a float that is written as an integer is exact, and no hashes collide."""
_MOST_DIGITS = 2_000


def is_number(value: Json) -> bool:
    """Whether a value is a JSON number: not a boolean, and neither NaN nor infinite."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def decimal(value: Json) -> Decimal:
    """A number by its written digits: 4.2 is 4.2, not 4.2000000000000001776."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def delta(before: Json, after: Json) -> Decimal:
    """The exact difference between `after` and `before`."""
    return EXACT.subtract(decimal(after), decimal(before))


def same_number(left: Json, right: Json) -> bool:
    """Whether two numbers are equal by their written digits. Between two types `==` would compare the binary
    value instead: the float 1e23 has another integer value than the one it is written as."""
    if left.__class__ is right.__class__:
        return bool(left == right)
    return decimal(left) == decimal(right)


_EQUAL_BY_VALUE = {str, int, bool, type(None)}


def same_json(left: Json, right: Json) -> bool:
    """Whether two values are equal as JSON, numbers by their value: true is never 1."""
    kind = left.__class__
    if kind is right.__class__ and kind in _EQUAL_BY_VALUE:
        return bool(left == right)
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same_json, left, right))
    if is_number(left) and is_number(right):
        return same_number(left, right)
    return left.__class__ is right.__class__ and bool(left == right)


def freeze(value: Json) -> Hashable:
    """A hashable key for a value: values that are equal as JSON have equal keys; 1 and 1.0 the same, true and
    1 not."""
    key: Hashable = value
    kind = value.__class__
    if kind is str or value is None:
        return key
    if kind is bool:
        return (bool, value)
    if kind is dict:
        return (dict, frozenset((key, freeze(item)) for key, item in value.items()))
    if kind is list:
        return (list, *map(freeze, value))
    if (kind is int or kind is float) and -_WHOLE < value < _WHOLE:
        return key
    return freeze_number(value)


def freeze_number(number: int | float | Decimal) -> Hashable:
    """A hashable key for a number, by its digits: `==` between types compares the binary value, and the
    hashes of long numbers can be made to collide."""
    exact = decimal(number)
    if not exact.is_finite() or exact.adjusted() > _MOST_DIGITS:
        return Decimal, str(exact)
    if exact == exact.to_integral_value():
        integer = int(exact)
        return integer if -_WHOLE < integer < _WHOLE else (int, str(integer))
    return float(exact) if decimal(float(exact)) == exact else (Decimal, str(exact.normalize(EXACT)))


def canonical(value: Json) -> str:
    """A text that two values share only when they are the same, types included; key order does not count."""
    try:
        return json.dumps(value, sort_keys=True)
    except TypeError:  # a number that only a Decimal can hold
        if isinstance(value, dict):
            members = (f"{json.dumps(key)}: {canonical(value[key])}" for key in sorted(value))
            return f"{{{', '.join(members)}}}"
        return f"[{', '.join(map(canonical, value))}]" if isinstance(value, list | tuple) else repr(value)


def bytes_of(value: Json) -> bytes:
    """The bytes of a value, equal only for identical values. Version 2 of marshal's format has no references:
    it does not matter which objects occur several times in a value."""
    try:
        return marshal.dumps(value, 2)
    except ValueError:  # a Decimal
        return repr(value).encode()


def identical(left: Json, right: Json, ordered: bool = True) -> bool:
    """Whether values are equal including every type, and the order of keys unless not `ordered`."""
    if left.__class__ is not right.__class__ or left != right:
        return False
    form = bytes_of if ordered else canonical
    return form(left) == form(right)
