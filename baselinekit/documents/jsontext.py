"""JSON texts, read strictly and exactly: big integers stay whole, long decimals stay Decimal."""

import json
import re
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, Literal

from baselinekit.model.values import ABSENT, Json

# Numbers as they are written: whole ones exact, and a literal that a float cannot hold stays a Decimal.

MAX_DIGITS = 1_000
_TOO_LARGE = 10**MAX_DIGITS
_SURELY_EXACT = 15  # every decimal of so many digits survives the way through a float


def whole(text: str) -> int:
    _check_length(text)
    return int(text)


def fraction(text: str) -> float | Decimal:
    """A literal with a point or an exponent. ValueError: it cannot be kept."""
    if len(text) <= _SURELY_EXACT and "e" not in text and "E" not in text:
        return float(text)
    _check_length(text)
    number = float(text)
    if text == repr(number):
        return number
    try:
        exact = Decimal(text)
    except InvalidOperation:
        exact = Decimal("Infinity")
    if not exact.is_finite() or abs(exact.adjusted()) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
    return exact if isinf(number) or exact != Decimal(repr(number)) else number


def written(number: float | Decimal | int) -> str:
    """A literal that every reader takes for this number: a fraction has a point, and its exponent a sign, as
    YAML 1.1 wants it. ValueError: there is none."""
    if isinstance(number, int):
        if abs(number) >= _TOO_LARGE:
            raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
        return str(number)
    text = repr(number) if isinstance(number, float) else str(number)
    if "n" in text.lower():
        raise ValueError(f"{text}, which is not a JSON number,")
    mantissa, e, exponent = text.replace("E", "e").partition("e")
    if len(mantissa) > MAX_DIGITS:
        raise ValueError(f"a number of {len(mantissa):,} digits")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}{e}{exponent if not e or exponent[0] in '+-' else f'+{exponent}'}"


def _check_length(text: str) -> None:
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text.lower().partition("e")[0])) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")


# What a lenient reader lets pass (a repeated key, NaN, endless nesting or digits) is a fault.

MAX_DEPTH = 64
"""Levels of nesting, of whatever is read or written here."""

_NUMBER_OR_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


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
    for match in _NUMBER_OR_TEXT.finditer(text):
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
            what = f"{token}, which is not a JSON value"
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


# JSON in what a model wrote: bare, or in one fenced block between its words.

_FENCED = re.compile(r"^[ \t]*```[a-zA-Z]*[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


def json_in(text: str) -> Json:
    """The JSON that a text is, or the one fenced block of it that is JSON; ABSENT if there is none, or more
    than one: nobody could say which is meant."""
    values = []
    for candidate in (text, *_FENCED.findall(text)):
        try:
            values.append(decode(candidate.strip()))
        except NotJson:
            continue
    return values[0] if len(values) == 1 else ABSENT
