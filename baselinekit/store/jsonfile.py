"""JSON, read strictly and written exactly: a repeated key, NaN or a file nested too deeply is an error with
its place; whole numbers of any size and decimals keep every digit. `events` gives the marks."""

import json
import re
from collections.abc import Iterator
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.store.literals import MAX_DIGITS, fraction, whole
from baselinekit.store.marks import DOCUMENT, END, MAPPING, SCALAR, SEQUENCE, Event
from baselinekit.store.text import place, refuse_conflict, repeated_key
from baselinekit.store.yamlwrite import MAX_DEPTH, number

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rf'({_STRING})|([\[{{])|([\]}}])|[^\s\[\]{{}},:"]+')
_LONG = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def load(body: str, file: str) -> Json:
    """The value of a JSON file."""
    refuse_conflict(body, file)
    try:
        value = json.loads(
            body,
            object_pairs_hook=_unique,
            parse_float=fraction,
            parse_int=whole if _LONG.search(body) else None,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"
        mend = "mend the text there, or the end of the value before it"
        raise InvalidInput(Problem("BK101", what, mend, place(file, body, error.pos))) from None
    except _RepeatedError:
        raise InvalidInput(*_repeated(body, file)) from None
    except RecursionError:
        raise InvalidInput(_too_deep(body, file)) from None
    except ValueError as error:
        raise InvalidInput(_bad_number(str(error), body, file)) from None
    if _deeper_than(value, MAX_DEPTH):
        raise InvalidInput(_too_deep(body, file))
    return value


def dump(value: Json, indent: str = "  ") -> str:
    """Pretty-printed, with a line end."""
    return pretty(value, indent) + "\n"


def pretty(value: Json, step: str, indent: str = "", newline: str = "\n") -> str:
    """A value over several lines; the first is not indented, the others by `indent` and more."""
    if not isinstance(value, dict | list) or not value:
        return compact(value)
    inner = f"{newline}{indent}{step}"
    if isinstance(value, list):
        items = [pretty(item, step, indent + step, newline) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{newline}{indent}]"
    items = [f"{text(key)}: {pretty(item, step, indent + step, newline)}" for key, item in value.items()]
    return f"{{{inner}{f',{inner}'.join(items)}{newline}{indent}}}"


def compact(value: Json) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key)}: {compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(compact, value))}]"
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return number(value)


def text(value: str) -> str:
    """A string, with what is invisible, or no character of its own, as an escape."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def events(body: str) -> Iterator[Event]:
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


class _RepeatedError(ValueError):
    """An object has a key twice; where, the hook cannot know."""


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    box = dict(pairs)
    if len(box) != len(pairs):
        raise _RepeatedError
    return box


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _deeper_than(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for box in level
            if isinstance(box, dict | list)
            for item in (box.values() if isinstance(box, dict) else box)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _too_deep(body: str, file: str) -> Problem:
    depth = index = 0
    for event in events(body):
        kind, index = event[:2]
        depth += (kind in (MAPPING, SEQUENCE)) - (kind == END)
        if depth > MAX_DEPTH:
            break
    what = f"nested more than {MAX_DEPTH} levels deep"
    return Problem("BK106", what, "keep such data as text", place(file, body, index))


def _repeated(body: str, file: str) -> list[Problem]:
    problems = []
    stack: list[tuple[dict[str, int] | None, bool]] = []
    keys: dict[str, int] | None = None
    at_key = False
    for kind, start, _, value, _, _ in events(body):
        if kind == SCALAR and keys is not None and at_key:
            if value in keys:
                problems.append(repeated_key(value, file, body, start, keys[value]))
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
    return problems


def _bad_number(complaint: str, body: str, file: str) -> Problem:
    for kind, start, _, value, style, _ in events(body):
        if kind != SCALAR or style or value in ("true", "false", "null"):
            continue
        try:
            (fraction if set(value) & set(".eE") else whole)(value)
        except ValueError:
            return Problem("BK106", complaint, "write it as text, in quotes", place(file, body, start))
    return Problem("BK106", complaint, "write it as text, in quotes", place(file, body, 0))
