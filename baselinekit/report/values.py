"""Values as text: as JSON with all their digits, and short for people."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from math import isfinite
from textwrap import shorten

from baselinekit.escape import json_string, one_line
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.values.texts import count_noun, cut_position, note, split_note

# A value as JSON text, every number with its original digits.


def encode(value: Json, indent: int | None = None, level: int = 0) -> str:
    """Return the whole text: on one line, or indented for its nesting level in a larger one. The same value
    always gives the same text."""
    written: list[str] = []
    _write(value, indent, level, written.append)
    return "".join(written)


def page(value: Json) -> str:
    """Return the text of a file or of output for programs: indented, with a final line break."""
    return encode(value, indent=2) + "\n"


def without_absent(sides: dict[str, Json]) -> dict[str, Json]:
    """Return the sides without absent ones. Null is a value."""
    return {key: value for key, value in sides.items() if value is not ABSENT}


def iter_json(value: Json, indent: int | None = None, level: int = 0) -> Iterator[str]:
    """Yield the text in pieces, so that a caller who needs only its beginning does not write it all."""
    if isinstance(value, dict) and value:
        members = (
            chain((json_string(key) + ": ",), iter_json(item, indent, level + 1))
            for key, item in value.items()
        )
        yield from _enclosed("{", members, "}", indent, level)
    elif isinstance(value, list | tuple) and value:
        items = (iter_json(item, indent, level + 1) for item in value)
        yield from _enclosed("[", items, "]", indent, level)
    else:
        yield _leaf(value)


def _write(value: Json, indent: int | None, level: int, put: Callable[[str], None]) -> None:
    """Write all pieces directly: a report has hundreds of thousands, and a generator would pass each through
    every level of nesting."""
    if not isinstance(value, dict | list | tuple) or not value:
        put(_leaf(value))
        return
    inner = "" if indent is None else "\n" + " " * (indent * (level + 1))
    between = ", " if indent is None else "," + inner
    is_object = isinstance(value, dict)
    before = ("{" if is_object else "[") + inner
    for item in value:
        put(before)
        before = between
        if isinstance(value, dict):
            put(json_string(item) + ": ")
            item = value[item]
        _write(item, indent, level + 1, put)
    closing = "}" if is_object else "]"
    put(closing if indent is None else "\n" + " " * (indent * level) + closing)


def _enclosed(
    opening: str, items: Iterable[Iterable[str]], closing: str, indent: int | None, level: int
) -> Iterator[str]:
    inner = "" if indent is None else "\n" + " " * (indent * (level + 1))
    between = ", " if indent is None else "," + inner
    yield opening + inner
    for number, item in enumerate(items):
        if number:
            yield between
        yield from item
    yield closing if indent is None else "\n" + " " * (indent * level) + closing


def _leaf(value: Json) -> str:
    if isinstance(value, str):
        return json_string(value)
    if type(value) is int:
        return str(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list | tuple):
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, int | float | Decimal):
        is_finite = (
            value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or isfinite(value)
        )
        return str(value) if is_finite else json_string(str(value))  # JSON has no literal for it
    raise TypeError(f"{value!r} is no JSON value")


# Values for people: short, on one line, without control characters, and cut with a count of what was cut.


LONGEST = 500
_MOST_WRITTEN = 100_000

_PLACEHOLDER = lazy_pattern(r"<<[a-z][^\n]*>>|\{\{any_[^\n]*\}\}")


def short(value: Json, limit: int = 60) -> str:
    """Return a value within a sentence: a text without quotes, anything else as JSON."""
    if value is ABSENT:
        return "not set"
    if isinstance(value, str):
        return cut_line(value, limit)
    text, is_open = as_text(value, template=False)
    return cut(text, is_open, limit)


def short_words(text: str, limit: int) -> str:
    """Return a part of a text within a sentence: of a long one the words at its beginning."""
    words = shorten(text, limit, placeholder=" …") if len(text) > limit else ""
    return words if " " in words else short(text, limit)


def cut_line(text: str, limit: int = LONGEST) -> str:
    """Return one line of a longer text. The count of what was cut is in characters of the original text."""
    return _line(*split_note(text), limit)


def first_lines(text: str, most: int, limit: int = LONGEST) -> list[str]:
    """Return the first lines of a text, each of them cut, and a note on the lines left out."""
    head, cut_count = split_note(text)
    lines = head.removesuffix("\n").split("\n") if head else []
    shown_lines = [_line(line, 0, limit) for line in lines[:most]]
    if len(lines) > most:
        remaining = len(lines) - most
        shown_lines.append(f"… and {'over ' if cut_count else ''}{count_noun(remaining, 'more line')}")
    elif cut_count:
        shown_lines[-1:] = [_line(lines[-1] if lines else "", cut_count, limit)]
    return shown_lines


def _line(text: str, cut_count: int, limit: int) -> str:
    """Return the text on one line; `cut_count` characters were cut already."""
    fitting = len(text) if len(text) <= limit and len(one_line(text)) <= limit else -1
    if fitting < 0:
        sizes = range(1, min(len(text), limit) + 1)
        fitting = cut_position(text, bisect_right(sizes, limit, key=lambda size: len(one_line(text[:size]))))
    return one_line(text[:fitting]) + note(cut_count + len(text) - fitting)


def as_text(value: Json, template: bool) -> tuple[str, bool]:
    """Return the text, and whether it was cut short."""
    if value is ABSENT:
        return "", False
    if isinstance(value, str):
        if template and _PLACEHOLDER.fullmatch(value):
            return one_line(value), False
        return encode(value[:_MOST_WRITTEN]), len(value) > _MOST_WRITTEN
    parts: list[str] = []
    size = 0
    for part in iter_json(value):
        parts.append(part[:_MOST_WRITTEN])
        size += len(part)
        if size > _MOST_WRITTEN:
            return "".join(parts), True
    return "".join(parts), False


def cut(text: str, is_open: bool, limit: int = LONGEST) -> str:
    if len(text) <= limit:
        return text + " …" if is_open else text
    end = cut_position(text, limit)
    suffix = note(len(text) - end)
    return text[:end] + (suffix.replace("and ", "and over ") if is_open else suffix)
