"""Two kinds of equality of JSON values.

- `identical` distinguishes every type and every digit: 1, 1.0 and true differ. Its key is `bytes_of` where
the order of keys counts, `canonical` where it does not. - `same_json` compares as JSON does: numbers by their
written value, so 1 is 1.0; true is never 1. Its key is `freeze`."""

import json
from collections.abc import Hashable
from decimal import Context, Decimal
from math import isfinite
from typing import TYPE_CHECKING

from baselinekit.model.values import Json

if TYPE_CHECKING:
    from pickle import Pickler
else:
    try:
        from _pickle import Pickler  # without the rest of pickle, which takes longer to import
    except ImportError:
        from pickle import Pickler

EXACT = Context(prec=3_000, traps=[])
"""Precise enough for any two numbers that a file or an answer may hold."""

_PROTOCOL = 5
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
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same_json(value, right[key]) for key, value in left.items())
        )
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


# Comparison by bytes: equal bytes mean equal values, including types and the order of keys. pickle writes
# them without its memo, so that it does not matter which objects occur several times in a value. That is
# twice as fast as marshal, which would encode every text first.


class _Pieces(list[bytes]):
    """The pieces that a pickler writes."""

    write = list.append


class _OtherBytesError(Exception):
    """The bytes that are written differ from the expected ones."""


class _ByteMatcher:
    """Compares what a pickler writes with the expected bytes, and stops at the first difference."""

    def __init__(self, data: bytes):
        self._data, self._position = data, 0

    def write(self, piece: bytes) -> None:
        if not self._data.startswith(piece, self._position):
            raise _OtherBytesError
        self._position += len(piece)


def _pickler(to: _Pieces | _ByteMatcher) -> Pickler:
    pickler = Pickler(to, _PROTOCOL)
    pickler.fast = True
    return pickler


class _ByteWriter:
    """A reusable pickler: making one takes longer than writing a row."""

    __slots__ = ("pickler", "pieces")

    def __init__(self) -> None:
        self.pieces = _Pieces()
        self.pickler = _pickler(self.pieces)


_LARGE = 100_000
_IDLE: list[_ByteWriter] = []
"""The writers that no thread uses."""


def bytes_of(value: Json) -> bytes | None:
    """The bytes of a value, the same only for identical values; None if it is nested too deeply."""
    try:
        writer = _IDLE.pop()
    except IndexError:
        writer = _ByteWriter()
    try:
        writer.pickler.dump(value)
    except (RecursionError, ValueError):
        return None  # this writer holds half a value, and is not used again
    data = b"".join(writer.pieces)
    writer.pieces.clear()
    _IDLE.append(writer)
    return data


def as_written(text: str) -> bytes:
    """The bytes of a text, or a key, within the bytes of any value that holds it: its length comes first."""
    data = text.encode("utf-8", "surrogatepass")
    return (b"\x8c%c" % len(data) if len(data) < 256 else b"X" + len(data).to_bytes(4, "little")) + data


def json_text(value: Json) -> str:
    """A value as JSON, in which `as_key` finds a key; numbers that only a Decimal can hold become texts."""
    return json.dumps(value, ensure_ascii=False, default=str)


def as_key(name: str) -> str:
    """The text of a key in `json_text`. It cannot occur within a text, where quotes are escaped."""
    return json.dumps(name, ensure_ascii=False) + ": "


def is_written_as(value: Json, data: bytes) -> bool:
    """Whether these are the bytes of a value. A large value is written only up to the first difference."""
    if len(data) < _LARGE:
        return bytes_of(value) == data
    try:
        _pickler(_ByteMatcher(data)).dump(value)
    except (_OtherBytesError, RecursionError, ValueError):
        return False
    return True


def identical(left: Json, right: Json, ordered: bool = True) -> bool:
    """Whether values are equal including every type, and the order of keys unless not `ordered`. False for
    values that are nested too deeply to be written."""
    if left.__class__ is not right.__class__ or left != right:
        return False
    if left.__class__ is dict or left.__class__ is list:
        data = bytes_of(left)
        if data is None or is_written_as(right, data):
            return data is not None
        return not ordered and same_types(left, right)
    return same_types(left, right)


def same_types(left: Json, right: Json) -> bool:
    """Whether two values that are equal by `==` have the same types and digits, at every depth."""
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, dict):
        return all(same_types(item, right[key]) for key, item in left.items())
    if isinstance(left, list):
        return all(map(same_types, left, right))
    return not isinstance(left, float | Decimal) or repr(left) == repr(right)
