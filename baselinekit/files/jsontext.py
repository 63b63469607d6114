"""JSON, read strictly and written exactly: big integers stay exact, long decimals stay Decimal."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import isinf
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.text import END, MAPPING, SCALAR, SEQUENCE, Event, check_merged, place
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json

# Numbers as they are written: integers are exact, and a literal that a float cannot hold becomes a Decimal.

MAX_DIGITS = 1_000
_INT_LIMIT = 10**MAX_DIGITS
_SURELY_EXACT = 15  # every decimal with this many digits survives a round trip through a float


def whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        _check_length(text)
    return int(text)


def parse_fraction(text: str) -> float | Decimal:
    """Parse a literal with a point or an exponent. ValueError if it cannot be represented."""
    if len(text) <= _SURELY_EXACT and "e" not in text and "E" not in text:
        return float(text)
    number = float(text)
    if text == repr(number):
        return number
    _check_length(text)
    try:
        exact = Decimal(text)
    except InvalidOperation:
        exact = Decimal("Infinity")
    if not exact.is_finite() or abs(exact.adjusted()) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
    return exact if isinf(number) or exact != Decimal(repr(number)) else number


def _check_length(text: str) -> None:
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text.lower().partition("e")[0])) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")


def number(value: Json) -> str:
    """Write a number for YAML or JSON, as a literal that every reader takes for this number: a fraction has a
    point, and its exponent a sign, as YAML 1.1 requires."""
    if not isinstance(value, int | float | Decimal):
        raise TypeError(f"no JSON value: {value!r}")
    reason = f"a number of more than {MAX_DIGITS:,} digits"
    if isinstance(value, int):
        if abs(value) < _INT_LIMIT:
            return str(value)
    else:
        mantissa, separator, exponent = str(value).replace("E", "e").partition("e")
        if "n" in mantissa.lower():
            reason = f"{value}, which is not a JSON number,"
        elif len(mantissa) <= MAX_DIGITS:
            point, sign = "" if "." in mantissa else ".0", "+" if exponent[:1].isdigit() else ""
            return f"{mantissa}{point}{separator}{sign}{exponent}"
    raise InvalidInput(Problem("BK106", f"{reason} cannot be stored", "leave it out of the output"))


# The types of plain scalars in YAML 1.2 (core): `no`, `12:30:45` and a date are texts, `0o17` is 15.

_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("-+.0123456789")
NO_TEXT_STARTS = _NUMBER_STARTS | {word[:1] for word in _WORDS}
"""A plain scalar with any other first character is a text."""

_INT_OR_FLOAT = lazy_pattern(r"([-+]?[0-9]+)|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OCTAL_OR_HEX = lazy_pattern(r"0o[0-7]+|0x[0-9a-fA-F]+")
_INF_OR_NAN = lazy_pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def plain_scalar(text: str) -> Json:
    """Return the value of a plain scalar. ValueError for a number that cannot be represented."""
    if text in _WORDS:
        return _WORDS[text]
    return _number_or_text(text) if text[0] in _NUMBER_STARTS else text


@lru_cache(maxsize=4096)
def _number_or_text(text: str) -> Json:
    if match := _INT_OR_FLOAT.fullmatch(text):
        return whole(text) if match[1] else parse_fraction(text)
    if _OCTAL_OR_HEX.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
        return int(text, 0)
    if _INF_OR_NAN.fullmatch(text):
        raise ValueError(f"{text}, which is not a JSON number")
    return text


# Strict reading: a repeated key, NaN, and unlimited nesting or digits are faults.

MAX_DEPTH = 64
"""Levels of nesting in anything that is read or written here."""

_TOKEN = lazy_pattern(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|([\[{])|([\]}])|[^\s\[\]{},:"]+', re.DOTALL)
"""A string, perhaps a key with its colon; a bracket that opens or closes; anything else."""

Kind = Literal["syntax", "repeated", "deep", "long", "value"]


class NotJson(ValueError):
    """What is wrong, and where: `position` counts characters from 0, the message counts bytes."""

    def __init__(self, kind: Kind, message: str, text: str, position: int):
        self.kind, self.message, self.position = kind, message, position
        super().__init__(f"{message} at byte {len(text[:position].encode('utf-8', 'surrogatepass'))}")

    @property
    def is_beyond_limits(self) -> bool:
        """Whether the text may be valid JSON that only exceeds our limits."""
        return self.kind in ("deep", "long")


def decode(text: str, max_depth: int = MAX_DEPTH) -> Json:
    """Return the value of a JSON text. NotJson if it is not valid."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson("syntax", error.msg.removesuffix(" at"), text, error.pos) from None
    except (ValueError, RecursionError):
        raise _first_fault(text, max_depth) from None
    if text.count("[") + text.count("{") > max_depth and _is_deep(value, max_depth):
        raise _first_fault(text, max_depth)
    return value


def json_or_absent(text: str) -> Json:
    """Return the value of a text that is JSON; ABSENT if it is not."""
    try:
        return decode(text)
    except NotJson:
        return ABSENT


def encode(value: Json, in_order: bool = False) -> str:
    """Write a value as compact JSON, with the digits of a Decimal as they were written. `in_order`: the keys
    are sorted."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=in_order)
    except TypeError:
        pass
    if isinstance(value, dict):
        items = sorted(value.items()) if in_order else value.items()
        return "{" + ",".join(f"{encode(key)}:{encode(item, in_order)}" for key, item in items) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join(encode(item, in_order) for item in value)}]"
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def to_bytes(value: Json, in_order: bool = False) -> bytes:
    """Like `encode`, in UTF-8. Half of a surrogate pair, which UTF-8 cannot hold, becomes a JSON escape."""
    return encode(value, in_order).encode("utf-8", "backslashreplace")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError
    return result


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_float=parse_fraction,
    parse_int=whole,
    parse_constant=whole,  # NaN and Infinity are none: a ValueError
)


def _is_deep(value: Json, max_depth: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(max_depth):
        parents = (one.values() if isinstance(one, dict) else one for one in level)
        level = [child for parent in parents for child in parent if isinstance(child, dict | list)]
    return bool(level)


def _first_fault(text: str, max_depth: int) -> NotJson:
    """Return what `decode` refuses first in a text."""
    keys: list[set[str] | None] = []  # of each open object; None for an array
    for match in _TOKEN.finditer(text):
        string, colon, opening, closing = match.groups()
        token, message = match[0], ""
        kind: Kind = "value"
        if opening:
            keys.append(set() if token == "{" else None)
            if len(keys) > max_depth:
                kind, message = "deep", f"nested deeper than {max_depth} levels"
        elif closing:
            del keys[-1:]
        elif colon and keys and (seen := keys[-1]) is not None:
            key = json.loads(string, strict=False)
            if key in seen:
                kind, message = "repeated", f"the key {key!r} occurs twice"
            seen.add(key)
        elif token.lstrip("-") in ("NaN", "Infinity"):
            message = f"{token}, which is not a JSON value"
        elif token[0] in "-0123456789":
            try:
                plain_scalar(token)
            except ValueError as error:
                kind, message = "long", str(error)
        if message:
            return NotJson(kind, message, text, match.start())
    return NotJson("syntax", "something that cannot be read", text, 0)


# JSON in the answer of a model: the whole text, or one fenced block in it.

_FENCED = lazy_pattern(r"^[ \t]*```[a-zA-Z]*[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


def json_in(text: str) -> Json:
    """Return the value of a text that is JSON, or of its only fenced block that is JSON; ABSENT if there is
    none or more than one, which would be ambiguous."""
    values = []
    for candidate in (text, *_FENCED.findall(text)):
        try:
            values.append(decode(candidate.strip()))
        except NotJson:
            continue
    return values[0] if len(values) == 1 else ABSENT


# JSON files: a repeated key, NaN or a file nested too deeply is an error with its place; integers and
# decimals keep every digit. `json_events` gives the positions.


def load_json(body: str, file: str, deeper: int = 0) -> Json:
    """Load the value of a JSON file. `deeper`: how many levels it may have beyond MAX_DEPTH."""
    try:
        return decode(body, MAX_DEPTH + deeper)
    except NotJson as fault:
        check_merged(body, file)  # which is never JSON
        raise InvalidInput(_explain_fault(fault, body, file, 0)) from None


def load_json_lines(body: str, file: str) -> list[Json]:
    """Load the values of JSON Lines, one per line; empty lines are skipped. All problems are raised at
    once."""
    check_merged(body, file)
    values: list[Json] = []
    problems: list[Problem] = []
    for start, end in _line_spans(body):
        try:
            values.append(decode(body[start:end]))
        except NotJson as fault:
            problems.append(_explain_fault(fault, body, file, start))
    if problems:
        raise InvalidInput(*problems)
    return values


def json_line_events(body: str) -> Iterator[Event]:
    """Yield the events of JSON Lines: each line is a document."""
    for line_start, line_end in _line_spans(body):
        for kind, start, end, value, style, anchor in json_events(body[line_start:line_end]):
            yield kind, start + line_start, end + line_start, value, style, anchor


def _line_spans(body: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line that is not empty. Only a line feed ends a line: JSON strings may
    contain other line ends."""
    start = 0
    for line in body.split("\n"):
        if line.strip(" \t\r"):
            yield start, start + len(line)
        start += len(line) + 1


def _explain_fault(fault: NotJson, body: str, file: str, start: int) -> Problem:
    """Return the problem of the value that starts there in a text."""
    fault_place = place(file, body, start + fault.position)
    if fault.kind == "syntax":
        hint = "fix the text there, or the end of the value before it"
        message = f"not valid JSON: {fault.message[0].lower()}{fault.message[1:]}"
        return Problem("BK101", message, hint, fault_place)
    if fault.kind == "repeated":
        return Problem("BK102", fault.message, "remove one of the two", fault_place)
    return Problem("BK106", fault.message, "write it as a string, in quotes", fault_place)


def dump_json(value: Json) -> str:
    """Write a value as pretty-printed JSON, with a line end."""
    return pretty(value, "  ") + "\n"


def pretty(
    value: Json, step: str, indent: str = "", newline: str = "\n", comma: str = ",", colon: str = ": "
) -> str:
    """Write a value over several lines, or on one if `newline` is empty. The first line is not indented, the
    others by at least `indent`."""
    if isinstance(value, str):
        return json_string(value)
    if not isinstance(value, dict | list):
        return json.dumps(value) if value is None or isinstance(value, bool) else number(value)
    inner = indent + step
    members = value if isinstance(value, list) else value.values()
    items = [pretty(item, step, inner, newline, comma, colon) for item in members]
    begin, end = (newline + inner, newline + indent) if newline and items else ("", "")
    if isinstance(value, list):
        return f"[{begin}{(comma + begin).join(items)}{end}]"
    items = [f"{json_string(key)}{colon}{item}" for key, item in zip(value, items, strict=True)]
    return f"{{{begin}{(comma + begin).join(items)}{end}}}"


def compact(value: Json) -> str:
    """Write a value on one line."""
    return pretty(value, "", newline="", comma=", ")


def tight_json(value: Json) -> str:
    """Write a value on one line without blanks after colons and commas."""
    return pretty(value, "", newline="", colon=":")


_HIDDEN = lazy_pattern(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Characters that are invisible, or no characters: they are written as escapes."""


def json_string(value: str) -> str:
    """Write a string, with invisible characters and noncharacters as escapes."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def json_events(body: str) -> Iterator[Event]:
    """Yield the events of a valid JSON text."""
    for token in _TOKEN.finditer(body):
        string, _, opening, closing = token.groups()
        start, end = token.span(1) if string else token.span()
        if string:
            value = json.loads(string) if "\\" in string else string[1:-1]
            yield (SCALAR, start, end, value, '"', None)
        elif opening:
            yield (MAPPING if opening == "{" else SEQUENCE, start, end, "", "flow", None)
        elif closing:
            yield (END, start, end, "", "", None)
        else:
            yield (SCALAR, start, end, token[0], "", None)
