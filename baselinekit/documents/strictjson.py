"""JSON as the standard means it, and exactly: big integers whole, a number that a float would change as a
Decimal. What a lenient reader lets pass (a repeated key, NaN, endless nesting or digits) is a fault."""

import json
import re
from decimal import Decimal
from typing import Any, Literal

from baselinekit.documents.literals import MAX_DIGITS, fraction, whole
from baselinekit.model.values import Json

MAX_DEPTH = 64
"""Levels of nesting, of whatever is read or written here."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


Kind = Literal["syntax", "repeated", "deep", "value"]


class NotJson(ValueError):
    """What is wrong, and where: `position` counts characters from 0, the message says bytes."""

    def __init__(self, kind: Kind, what: str, text: str, position: int):
        self.kind, self.what, self.position = kind, what, position
        super().__init__(f"{what} at byte {len(text[:position].encode('utf-8', 'surrogatepass'))}")


class _Fault(ValueError):
    """Something is wrong; a second, slower look finds out what and where."""


def decode(text: str, deepest: int = MAX_DEPTH) -> Json:
    """The value of a JSON text, or NotJson."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson("syntax", error.msg.removesuffix(" at"), text, error.pos) from None
    except (_Fault, RecursionError):
        raise _first_fault(text, deepest) from None
    if text.count("[") + text.count("{") > deepest and _is_deep(value, deepest):
        raise _first_fault(text, deepest)
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
    if len(text) <= MAX_DIGITS:  # all but never longer, and a call for each number is felt
        return int(text)
    try:
        return whole(text)
    except ValueError:
        raise _Fault from None


def _number(text: str) -> float | Decimal:
    try:
        return fraction(text)
    except ValueError:
        raise _Fault from None


def _constant(_: str) -> None:
    raise _Fault


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_integer, parse_constant=_constant
)


def _is_deep(value: Json, deepest: int) -> bool:
    level = [value]
    for _ in range(deepest):
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


def _first_fault(text: str, deepest: int) -> NotJson:
    keys: list[set[str] | None] = []  # of each open object; None for an array
    before = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        kind: Kind = "value"
        what = ""
        if token in "{[":
            keys.append(set() if token == "{" else None)
            kind, what = "deep", f"nested deeper than {deepest} levels" if len(keys) > deepest else ""
        elif token in "}]":
            del keys[-1:]
        elif token[0] == '"':
            seen = keys[-1] if keys and before in "{," else None
            if seen is not None:
                key = json.loads(token, strict=False)
                kind, what = "repeated", f"the key {key!r} for the second time" if key in seen else ""
                seen.add(key)
        elif token[0] in "-0123456789" and token[1:2] != "I":
            what = _too_long(token)
        elif token.lstrip("-") in ("NaN", "Infinity"):
            what = f"{token}, which is no JSON value"
        if what:
            return NotJson(kind, what, text, match.start())
        before = token
    return NotJson("syntax", "something that cannot be read", text, 0)


def _too_long(token: str) -> str:
    try:
        (fraction if set(token) & set(".eE") else whole)(token)
    except ValueError as error:
        return str(error)
    return ""
