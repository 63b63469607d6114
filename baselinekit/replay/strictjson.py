"""JSON as the standard means it, and exactly: big integers whole, a number that a float would change as a
Decimal. What a lenient reader lets pass (a repeated key, NaN, endless nesting or digits) is a fault."""

import json
import re
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any

from baselinekit.model.values import Json

_DEEPEST = 64
_MOST_DIGITS = 1_000
_SURELY_EXACT = 16  # a point and 15 digits: every decimal of that length survives a float

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class NotJson(ValueError):
    """`position` counts bytes from 0."""

    def __init__(self, what: str, position: int):
        super().__init__(f"{what} at byte {position}")


class _Fault(ValueError):
    """Something is wrong; a second, slower look finds out what and where."""


def decode(text: str) -> Json:
    """The value of a JSON text, or NotJson."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, _byte(text, error.pos)) from None
    except (_Fault, RecursionError):
        raise _first_fault(text) from None
    if text.count("[") + text.count("{") > _DEEPEST and _is_deep(value):
        raise _first_fault(text)
    return value


def encode(value: Json) -> str:
    """Compact JSON of a value, the digits of a Decimal as they were written."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:
        return _encode_exactly(value)


def to_bytes(value: Json) -> bytes:
    """As `encode`, in UTF-8; half a surrogate pair, which that cannot hold, as the escape that JSON has."""
    return encode(value).encode("utf-8", "backslashreplace")


def _encode_exactly(value: Json) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_encode_exactly, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{encode(str(key))}:{_encode_exactly(value[key])}' for key in value)}}}"
    return json.dumps(value, ensure_ascii=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Fault
    return result


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS and len(text.lstrip("-")) > _MOST_DIGITS:
        raise _Fault
    return int(text)


def _number(text: str) -> float | Decimal:
    if len(text) <= _SURELY_EXACT and "e" not in text and "E" not in text:
        return float(text)
    if _is_long(text):
        raise _Fault
    nearest, exact = float(text), Decimal(text)
    return nearest if isfinite(nearest) and Decimal(repr(nearest)) == exact else exact


def _is_long(text: str) -> bool:
    """Whether a number, written out, has more digits than anyone means."""
    if len(text) > 2 * _MOST_DIGITS:
        return True
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond what Decimal can hold
        return True
    return len(number.as_tuple().digits) > _MOST_DIGITS or abs(number.adjusted()) > _MOST_DIGITS


def _constant(_: str) -> None:
    raise _Fault


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_integer, parse_constant=_constant
)


def _is_deep(value: Json) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for parent in level
            if type(parent) is dict or type(parent) is list
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _first_fault(text: str) -> NotJson:
    keys: list[set[str] | None] = []  # of each open object; None for an array
    before = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        what = ""
        if token in "{[":
            keys.append(set() if token == "{" else None)
            what = f"nested deeper than {_DEEPEST} levels" if len(keys) > _DEEPEST else ""
        elif token in "}]":
            del keys[-1:]
        elif token[0] == '"':
            seen = keys[-1] if keys and before in "{," else None
            if seen is not None:
                key = json.loads(token, strict=False)
                what = f"the key {key!r} for the second time" if key in seen else ""
                seen.add(key)
        elif token[0] in "-0123456789" and token[1:2] != "I":
            what = f"a number of more than {_MOST_DIGITS} digits" if _is_long(token) else ""
        elif token.lstrip("-") in ("NaN", "Infinity"):
            what = f"{token}, which is no JSON value,"
        if what:
            return NotJson(what, _byte(text, match.start()))
        before = token
    return NotJson("something that cannot be read", 0)


def _byte(text: str, position: int) -> int:
    return len(text[:position].encode("utf-8", "surrogatepass"))
