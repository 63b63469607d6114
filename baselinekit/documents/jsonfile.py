"""JSON, read strictly and written exactly: a repeated key, NaN or a file nested too deeply is an error with
its place; whole numbers of any size and decimals keep every digit. `events` gives the marks."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from baselinekit.documents import jsontext
from baselinekit.documents.marks import DOCUMENT, END, MAPPING, SCALAR, SEQUENCE, Event
from baselinekit.documents.text import place, refuse_conflict, repeated_key
from baselinekit.documents.yamlwrite import number
from baselinekit.errors import FirstOfEach, InvalidInput, Problem
from baselinekit.model.values import Json

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(rf'({_STRING})|([\[{{])|([\]}}])|[^\s\[\]{{}},:"]+')
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def load(body: str, file: str, deeper: int = 0) -> Json:
    """The value of a JSON file. `deeper`: levels that it may have around values as deep as any."""
    refuse_conflict(body, file)
    try:
        return jsontext.decode(body, jsontext.MAX_DEPTH + deeper)
    except jsontext.NotJson as fault:
        raise InvalidInput(*_problems(fault, body, file, (0, len(body)))) from None


def load_lines(body: str, file: str) -> list[Json]:
    """The values of JSON Lines, one a line; empty lines are none. All that is wrong is told at once."""
    refuse_conflict(body, file)
    values: list[Json] = []
    first = FirstOfEach()
    problems: list[Problem] = []
    for start, end in _spans(body):
        try:
            values.append(jsontext.decode(body[start:end]))
        except jsontext.NotJson as fault:
            wrong = _problems(fault, body, file, (start, end))
            problems += [problem for problem in wrong if first.takes(file, problem)]
    if problems:
        raise InvalidInput(*problems, *first.rest())
    return values


def line_events(body: str) -> Iterator[Event]:
    """The marks of JSON Lines: each line is a document."""
    for begin, stop in _spans(body):
        for kind, start, end, value, style, anchor in events(body[begin:stop]):
            yield kind, start + begin, end + begin, value, style, anchor


def _spans(body: str) -> Iterator[tuple[int, int]]:
    """Where lines that are not empty begin and end. Only a line feed ends one: JSON may hold others."""
    start = 0
    for line in body.split("\n"):
        if line.strip(" \t\r"):
            yield start, start + len(line)
        start += len(line) + 1


def _problems(fault: jsontext.NotJson, body: str, file: str, span: tuple[int, int]) -> list[Problem]:
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


def tight(value: Json) -> str:
    """A value on one line without a blank between its signs."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(key)}:{tight(item)}" for key, item in value.items()) + "}"
    return f"[{','.join(map(tight, value))}]" if isinstance(value, list) else compact(value)


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


def _twice(body: str) -> Iterator[tuple[str, int, int]]:
    """Each key that its object has already: where it stands, and where it stood first."""
    stack: list[tuple[dict[str, int] | None, bool]] = []
    keys: dict[str, int] | None = None
    at_key = False
    for kind, start, _, value, _, _ in events(body):
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
