"""JSON, read strictly and written exactly: big integers stay whole, long decimals stay Decimal."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import isinf
from typing import Any, Literal

from baselinekit.documents.jsonrows import HIDDEN, Page
from baselinekit.documents.text import (
    DOCUMENT,
    END,
    MAPPING,
    SCALAR,
    SEQUENCE,
    Event,
    place,
    refuse_conflict,
    repeated_key,
)
from baselinekit.errors import FirstOfEach, InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json

# Numbers as they are written: whole ones exact, and a literal that a float cannot hold stays a Decimal.

MAX_DIGITS = 1_000
_TOO_LARGE = 10**MAX_DIGITS
LARGE = 4_000
"""Characters from which on a text is read in another way, which gives the same."""
SURELY_EXACT = 15  # every decimal of so many digits survives the way through a float


def whole(text: str) -> int:
    check_length(text)
    return int(text)


def fraction(text: str) -> float | Decimal:
    """A literal with a point or an exponent. ValueError: it cannot be kept."""
    if len(text) <= SURELY_EXACT and "e" not in text and "E" not in text:
        return float(text)
    number = float(text)
    if text == repr(number):
        return number
    check_length(text)
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


def check_length(text: str) -> None:
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text.lower().partition("e")[0])) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")


def number(value: Json) -> str:
    """A number, as YAML and JSON write it."""
    if not isinstance(value, int | float | Decimal):
        raise TypeError(f"no JSON value: {value!r}")
    try:
        return written(value)
    except ValueError as error:
        raise InvalidInput(
            Problem("BK114", f"{error} cannot be stored", "leave it out of the output")
        ) from None


# What YAML 1.2 (core) takes a plain scalar for: `no`, `12:30:45` and a date are texts, `0o17` is 15.

WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMBER_STARTS = frozenset("-+.0123456789")
NO_TEXT_STARTS = NUMBER_STARTS | {word[:1] for word in WORDS}
"""Any plain scalar that begins otherwise is a text."""

_INT_OR_FLOAT = lazy_pattern(r"([-+]?[0-9]+)|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED = lazy_pattern(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NO_NUMBER = lazy_pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def plain_scalar(text: str) -> Json:
    """The value of a plain scalar. ValueError: a number that cannot be kept."""
    if text in WORDS:
        return WORDS[text]
    return plain_number(text) if text[0] in NUMBER_STARTS else text


def number_or_text(text: str) -> Json:
    if match := _INT_OR_FLOAT.fullmatch(text):
        return whole(text) if match[1] else fraction(text)
    if _BASED.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
        return int(text, 0)
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text}, which is not a JSON number")
    return text


plain_number = lru_cache(maxsize=4096)(number_or_text)


# What a lenient reader lets pass (a repeated key, NaN, endless nesting or digits) is a fault.

MAX_DEPTH = 64
"""Levels of nesting, of whatever is read or written here."""

MAX_NODES = 200_000
"""Values and keys that any YAML file may have."""


def most_nodes(size: int) -> int:
    """How many a file of so many characters may have: a large one that is written for people has one in ten
    characters at most, and one that is all values costs more than it looks."""
    return max(MAX_NODES, size // 10)


_NUMBER_OR_TEXT = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


Kind = Literal["syntax", "repeated", "deep", "long", "value"]


class NotJson(ValueError):
    """What is wrong, and where: `position` counts characters from 0, the message says bytes."""

    def __init__(self, kind: Kind, what: str, text: str, position: int):
        self.kind, self.what, self.position = kind, what, position
        super().__init__(f"{what} at byte {len(text[:position].encode('utf-8', 'surrogatepass'))}")

    @property
    def is_beyond_limits(self) -> bool:
        """Whether it may well be JSON, and only more than is read of it here."""
        return self.kind in ("deep", "long")


class _Fault(ValueError):
    """Something is wrong; a second, slower look finds out what and where."""


def decode(text: str, deepest: int = MAX_DEPTH) -> Json:
    """The value of a JSON text, or NotJson."""
    if len(text) >= LARGE:
        from baselinekit.documents.jsonlarge import decode_large  # few texts are large

        with suppress(ValueError, RecursionError):
            return decode_large(text, deepest, MAX_DIGITS, fraction, _constant)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson("syntax", error.msg.removesuffix(" at"), text, error.pos) from None
    except (_Fault, RecursionError):
        raise first_fault(text, deepest) from None
    if text.count("[") + text.count("{") > deepest and is_deep(value, deepest):
        raise first_fault(text, deepest)
    return value


def encode(value: Json) -> str:
    """Compact JSON of a value, the digits of a Decimal as they were written."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:
        return encode_exactly(value)


def to_bytes(value: Json) -> bytes:
    """As `encode`, in UTF-8; half a surrogate pair, which that cannot hold, as the escape that JSON has."""
    return encode(value).encode("utf-8", "backslashreplace")


_MARK = "\ufdd0"  # which Unicode has for no character


def encode_exactly(value: Json, mark: str = _MARK) -> str:
    """Each Decimal is encoded as a text between marks, and loses its quotes afterwards."""
    count = 0

    def marked(number: object) -> str:
        nonlocal count
        if isinstance(number, Decimal):
            count += 1
            return f"{mark}{number}{mark}"
        raise TypeError(f"{type(number).__name__} is no JSON value")

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=marked)
    if mark == _MARK and text.count(mark) != 2 * count:  # some text of the value has it as well
        longest = max(map(len, re.findall(f"{mark}+", text)))
        return encode_exactly(value, mark * (longest + 1))
    return text.replace(f'"{mark}', "").replace(f'{mark}"', "")


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


def is_deep(value: Json, deepest: int) -> bool:
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


def first_fault(text: str, deepest: int) -> NotJson:
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
            try:
                (fraction if set(token) & set(".eE") else whole)(token)
            except ValueError as error:
                kind, what = "long", str(error)
        elif token.lstrip("-") in ("NaN", "Infinity"):
            what = f"{token}, which is not a JSON value"
        if what:
            return NotJson(kind, what, text, match.start())
        before = token
    return NotJson("syntax", "something that cannot be read", text, 0)


# JSON in what a model wrote: bare, or in one fenced block between its words.

_FENCED = lazy_pattern(r"^[ \t]*```[a-zA-Z]*[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


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


# JSON, read strictly and written exactly: a repeated key, NaN or a file nested too deeply is an error
# with its place; whole numbers of any size and decimals keep every digit. `events` gives the marks.


_JSON_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = lazy_pattern(rf'({_JSON_STRING})|([\[{{])|([\]}}])|[^\s\[\]{{}},:"]+')


def load_json(body: str, file: str, deeper: int = 0) -> Json:
    """The value of a JSON file. `deeper`: levels that it may have around values as deep as any."""
    refuse_conflict(body, file)
    try:
        return decode(body, MAX_DEPTH + deeper)
    except NotJson as fault:
        raise InvalidInput(*_problems(fault, body, file, (0, len(body)))) from None


def load_json_lines(body: str, file: str) -> list[Json]:
    """The values of JSON Lines, one a line; empty lines are none. All that is wrong is told at once."""
    refuse_conflict(body, file)
    values: list[Json] = []
    first = FirstOfEach()
    problems: list[Problem] = []
    for start, end in _spans(body):
        try:
            values.append(decode(body[start:end]))
        except NotJson as fault:
            wrong = _problems(fault, body, file, (start, end))
            problems += [problem for problem in wrong if first.takes(file, problem)]
    if problems:
        raise InvalidInput(*problems, *first.rest())
    return values


def json_line_events(body: str) -> Iterator[Event]:
    """The marks of JSON Lines: each line is a document."""
    for begin, stop in _spans(body):
        for kind, start, end, value, style, anchor in json_events(body[begin:stop]):
            yield kind, start + begin, end + begin, value, style, anchor


def _spans(body: str) -> Iterator[tuple[int, int]]:
    """Where lines that are not empty begin and end. Only a line feed ends one: JSON may hold others."""
    start = 0
    for line in body.split("\n"):
        if line.strip(" \t\r"):
            yield start, start + len(line)
        start += len(line) + 1


def _problems(fault: NotJson, body: str, file: str, span: tuple[int, int]) -> list[Problem]:
    """What is wrong with the value in a part of a text."""
    start, end = span
    where = place(file, body, start + fault.position)
    if fault.kind == "repeated":
        problems: list[Problem] = []
        with suppress(ValueError, IndexError):  # behind the first of them the text need not be JSON
            for key, at, first in _twice(body[start:end]):
                problems.append(repeated_key(key, file, body, start + at, start + first))
        return problems
    if fault.kind == "syntax":
        hint = "fix the text there, or the end of the value before it"
        return [Problem("BK101", f"not valid JSON: {fault.what[0].lower()}{fault.what[1:]}", hint, where)]
    hint = "store such data as a string" if fault.kind == "deep" else "write it as a string, in quotes"
    return [Problem("BK106", fault.what, hint, where)]


def dump_json(value: Json, indent: str = "  ") -> str:
    """Pretty-printed, with a line end."""
    return pretty(value, indent) + "\n"


def pretty(value: Json, step: str, indent: str = "", newline: str = "\n") -> str:
    """A value over several lines; the first is not indented, the others by `indent` and more."""
    if not isinstance(value, _HOLDERS) or not value:
        return compact(value)
    below = indent + step
    inner = f"{newline}{below}"
    if isinstance(value, list) and len(value) >= _MANY:
        page = Page(compact, lambda row, indent: pretty(row, step, indent, newline), step, newline)
        items = page.texts(value, below)
    else:
        items = [
            pretty(item, step, below, newline) if isinstance(item, _HOLDERS) else compact(item)
            for item in (value if isinstance(value, list) else value.values())
        ]
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(items)}{newline}{indent}]"
    items = [f"{json_string(key)}: {item}" for key, item in zip(value, items, strict=True)]
    return f"{{{inner}{f',{inner}'.join(items)}{newline}{indent}}}"


_HOLDERS = (dict, list)
_MANY = 20
"""Elements that are written together: of fewer each by itself is as quick."""


def compact(value: Json) -> str:
    """A value on one line."""
    kind = value.__class__
    if kind is str:
        return json_string(value)
    if kind is int or kind is float:
        return number(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json_string(key)}: {compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(compact, value))}]"
    if isinstance(value, str):
        return json_string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return number(value)


def tight_json(value: Json) -> str:
    """A value on one line without a blank between its signs."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_string(key)}:{tight_json(item)}" for key, item in value.items()) + "}"
    return f"[{','.join(map(tight_json, value))}]" if isinstance(value, list) else compact(value)


def json_string(value: str) -> str:
    """A string, with what is invisible, or no character of its own, as an escape."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def json_events(body: str) -> Iterator[Event]:
    """The marks of a text that has been read without complaint."""
    yield (DOCUMENT, 0, 0, "", "", None)
    for token in _TOKEN.finditer(body):
        string, opens, closes = token.groups()
        start, end = token.span()
        if string:
            value = json.loads(string) if "\\" in string else string[1:-1]
            yield (SCALAR, start, end, value, '"', None)
        elif opens:
            yield (MAPPING if opens == "{" else SEQUENCE, start, end, "", "flow", None)
        elif closes:
            yield (END, start, end, "", "", None)
        else:
            yield (SCALAR, start, end, token[0], "", None)


def _twice(body: str) -> Iterator[tuple[str, int, int]]:
    """Each key that its object has already: where it stands, and where it stood first."""
    stack: list[tuple[dict[str, int] | None, bool]] = []
    keys: dict[str, int] | None = None
    at_key = False
    for kind, start, _, value, _, _ in json_events(body):
        if kind == SCALAR and keys is not None and at_key:
            if value in keys:
                yield value, start, keys[value]
            keys.setdefault(value, start)
            at_key = False
            continue
        if kind in (MAPPING, SEQUENCE):
            stack.append((keys, True))
            keys, at_key = ({}, True) if kind == MAPPING else (None, False)
        elif kind == END:
            keys, at_key = stack.pop()
        elif kind == SCALAR:
            at_key = True
