"""Equality of JSON values, types included: by their bytes, or by a text in which key order does not count."""

import json
from pickle import HIGHEST_PROTOCOL, Pickler

from baselinekit.model.values import Json

# A value written out as bytes: equal bytes mean equal values, types included. pickle writes them,
# without its memo: then it does not matter which objects a value shares with itself. That is twice as
# fast as marshal, which would encode every text first.


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


def is_written_as(value: Json, data: bytes) -> bool:
    """Whether these are the bytes of a value. Of a large one no more is written than it takes to tell."""
    if len(data) < _LARGE:
        return bytes_of(value) == data
    try:
        _pickler(_ByteMatcher(data)).dump(value)
    except (_OtherBytesError, RecursionError, ValueError):
        return False
    return True


# Equality of values by a text.


def canonical(value: Json) -> str:
    """A text that two values share only when they are the same, types included; key order does not count."""
    return json.dumps(value, sort_keys=True, default=repr)
