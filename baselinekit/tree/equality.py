"""Equality of JSON values, of two kinds.

- `identical` tells every type and every digit: 1, 1.0 and true differ. Its key is `bytes_of` where the order
  of keys counts, `canonical` where it does not.
- `same_json` compares as JSON does: numbers by their written value, so 1 is 1.0; true is never 1. Its key is
  `freeze`."""

import json
from collections.abc import Hashable
from decimal import Context, Decimal
from math import isfinite
from pickle import HIGHEST_PROTOCOL, Pickler

from baselinekit.model.values import Json

EXACT = Context(prec=3_000, traps=[])
"""Wide enough for any two numbers that a file or an answer may hold; beyond it lies infinity."""

_WHOLE = 2**53
"""Below it a float is the number that it is written as, if that is a whole one, and no hashes collide."""
_MOST_DIGITS = 2_000


def is_number(value: Json) -> bool:
    """A JSON number: no boolean, and neither NaN nor infinite."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def decimal(value: Json) -> Decimal:
    """A number on its written digits: 4.2 is 4.2, not 4.2000000000000001776."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def delta(before: Json, after: Json) -> Decimal:
    """What must be added to `before` to get `after`, to the last digit."""
    return EXACT.subtract(decimal(after), decimal(before))


def same_number(left: Json, right: Json) -> bool:
    """Equal by their written digits. Between two types `==` would ask for the binary value instead: for the
    float 1e23 that is another whole number than the one it is written as."""
    if left.__class__ is right.__class__:
        return bool(left == right)
    return decimal(left) == decimal(right)


_EQUAL_BY_VALUE = {str, int, bool, type(None)}


def same_json(left: Json, right: Json) -> bool:
    """Equal as JSON, numbers by their value: true is never 1."""
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
    """A value as a key: values that are equal as JSON have equal keys; 1 and 1.0 the same, true and 1 not."""
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
    """By the digits, as `==` between types asks for the binary value, and the hashes of long numbers can be
    made to collide."""
    exact = decimal(number)
    if not exact.is_finite() or exact.adjusted() > _MOST_DIGITS:
        return Decimal, str(exact)
    if exact == exact.to_integral_value():
        whole = int(exact)
        return whole if -_WHOLE < whole < _WHOLE else (int, str(whole))
    return float(exact) if decimal(float(exact)) == exact else (Decimal, str(exact.normalize(EXACT)))


def canonical(value: Json) -> str:
    """A text that two values share only when they are the same, types included; key order does not count."""
    try:
        return json.dumps(value, sort_keys=True)
    except TypeError:  # a number that only a Decimal holds
        if isinstance(value, dict):
            members = (f"{json.dumps(key)}: {canonical(value[key])}" for key in sorted(value))
            return f"{{{', '.join(members)}}}"
        return f"[{', '.join(map(canonical, value))}]" if isinstance(value, list | tuple) else repr(value)


# By their bytes: equal bytes mean equal values, types and the order of keys included. pickle writes them
# without its memo, so that it does not matter which objects a value shares with itself. That is twice as fast
# as marshal, which would encode every text first.


class _Pieces(list[bytes]):
    """What a pickler writes to."""

    write = list.append


class _OtherBytesError(Exception):
    """Something else was written than what was to be read."""


class _ByteMatcher:
    """Takes what a pickler writes for as long as it is what was written before."""

    def __init__(self, data: bytes):
        self._data, self._position = data, 0

    def write(self, piece: bytes) -> None:
        if not self._data.startswith(piece, self._position):
            raise _OtherBytesError
        self._position += len(piece)


def _pickler(to: _Pieces | _ByteMatcher) -> Pickler:
    pickler = Pickler(to, HIGHEST_PROTOCOL)
    pickler.fast = True
    return pickler


class _ByteWriter:
    """Making one takes longer than writing a row."""

    __slots__ = ("pickler", "pieces")

    def __init__(self) -> None:
        self.pieces = _Pieces()
        self.pickler = _pickler(self.pieces)


_LARGE = 100_000
_IDLE: list[_ByteWriter] = []
"""The writers that no thread has taken."""


def bytes_of(value: Json) -> bytes | None:
    """The same bytes for equal values alone; None for what is nested too deeply to be written."""
    try:
        writer = _IDLE.pop()
    except IndexError:
        writer = _ByteWriter()
    try:
        writer.pickler.dump(value)
    except (RecursionError, ValueError):
        return None  # half a value is in that writer: nobody gets it again
    data = b"".join(writer.pieces)
    writer.pieces.clear()
    _IDLE.append(writer)
    return data


def as_written(text: str) -> bytes:
    """What stands for a text, or a key, in the bytes of any value that holds it: its length comes first."""
    data = text.encode("utf-8", "surrogatepass")
    return (b"\x8c%c" % len(data) if len(data) < 256 else b"X" + len(data).to_bytes(4, "little")) + data


def json_text(value: Json) -> str:
    """A value as JSON, in which `as_key` finds a key; a number that only a Decimal holds is a text in it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def as_key(name: str) -> str:
    """What stands in `json_text` wherever a key of this name is, and in no text, where quotes are escaped."""
    return json.dumps(name, ensure_ascii=False) + ": "


def is_written_as(value: Json, data: bytes) -> bool:
    """Whether these are the bytes of a value. Of a large one no more is written than it takes to tell."""
    if len(data) < _LARGE:
        return bytes_of(value) == data
    try:
        _pickler(_ByteMatcher(data)).dump(value)
    except (_OtherBytesError, RecursionError, ValueError):
        return False
    return True


def identical(left: Json, right: Json, ordered: bool = True) -> bool:
    """Equal with every type, and with the keys in the same order unless that does not count (not `ordered`).
    Of what is nested too deeply to be written, nothing is."""
    if left.__class__ is not right.__class__ or left != right:
        return False
    if left.__class__ is dict or left.__class__ is list:
        data = bytes_of(left)
        if data is None or is_written_as(right, data):
            return data is not None
        return not ordered and same_types(left, right)
    return same_types(left, right)


def same_types(left: Json, right: Json) -> bool:
    """Whether two values that `==` takes for equal have the same types and digits, at every depth."""
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, dict):
        return all(same_types(item, right[key]) for key, item in left.items())
    if isinstance(left, list):
        return all(map(same_types, left, right))
    return not isinstance(left, float | Decimal) or repr(left) == repr(right)
