"""Values as text: as JSON with all their digits, and short for people."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain
from math import isfinite

from baselinekit.escape import json_string, one_line
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.texts import end_at, many, note, whole

# A value as JSON text, every number with the digits it came with.


def encode(value: Json, indent: int | None = None, level: int = 0) -> str:
    """The whole text: on one line, or indented, so many levels deep in a larger one. The same value always
    gives the same text."""
    written: list[str] = []
    _write(value, indent, level, written.append)
    return "".join(written)


def page(value: Json) -> str:
    """As a file and as what a command prints for programs: indented, and with a line break at its end."""
    return encode(value, indent=2) + "\n"


def present(sides: dict[str, Json]) -> dict[str, Json]:
    """Without those that are not there: null is a value."""
    return {key: value for key, value in sides.items() if value is not ABSENT}


def pieces(value: Json, indent: int | None = None, level: int = 0) -> Iterator[str]:
    """The text bit by bit, so that whoever wants only its beginning need not write it all."""
    if isinstance(value, dict) and value:
        members = (
            chain((json_string(key) + ": ",), pieces(item, indent, level + 1)) for key, item in value.items()
        )
        yield from _enclosed("{", members, "}", indent, level)
    elif isinstance(value, list | tuple) and value:
        items = (pieces(item, indent, level + 1) for item in value)
        yield from _enclosed("[", items, "]", indent, level)
    else:
        yield _leaf(value)


def _write(value: Json, indent: int | None, level: int, put: Callable[[str], None]) -> None:
    """All the pieces at once: a report holds hundreds of thousands, and each would go up through every level
    that it stands in."""
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
        return str(value) if is_finite else json_string(str(value))  # JSON has no word for it
    raise TypeError(f"{value!r} is no JSON value")


# Values as a person reads them: short, on one line, harmless, and cut with a count of what was cut.


LONGEST = 500
_LOOKED_AT = 100_000

_PLACEHOLDER = lazy_pattern(r"<<[a-z][^\n]*>>|\{\{any_[^\n]*\}\}")


def short(value: Json, limit: int = 60) -> str:
    """A value in passing: a text without its quotes, anything else as JSON."""
    if value is ABSENT:
        return "not set"
    if isinstance(value, str):
        return cut_line(value, limit)
    text, more = as_text(value, template=False)
    return cut(text, more, limit)


def cut_line(text: str, limit: int = LONGEST) -> str:
    """One line of a longer text. Counted are characters of the text, however they are written here."""
    return _line(*whole(text), limit)


def first_lines(text: str, most: int, limit: int = LONGEST) -> list[str]:
    """The first lines of a text, each of them cut, and what that leaves out at the end."""
    kept, gone = whole(text)
    lines = kept.removesuffix("\n").split("\n") if kept else []
    shown = [_line(line, 0, limit) for line in lines[:most]]
    if len(lines) > most:
        rest = len(lines) - most
        shown.append(f"… and {'over ' if gone else ''}{many(rest, 'more line')}")
    elif gone:
        shown[-1:] = [_line(lines[-1] if lines else "", gone, limit)]
    return shown


def _line(text: str, gone: int, limit: int) -> str:
    """On one line, where `gone` characters are missing already."""
    fitting = len(text) if len(text) <= limit and len(one_line(text)) <= limit else -1
    if fitting < 0:
        sizes = range(1, min(len(text), limit) + 1)
        fitting = end_at(text, bisect_right(sizes, limit, key=lambda size: len(one_line(text[:size]))))
    return one_line(text[:fitting]) + note(gone + len(text) - fitting)


def as_text(value: Json, template: bool) -> tuple[str, bool]:
    """The text, and whether there would have been more of it."""
    if value is ABSENT:
        return "", False
    if isinstance(value, str):
        if template and _PLACEHOLDER.fullmatch(value):
            return one_line(value), False
        return encode(value[:_LOOKED_AT]), len(value) > _LOOKED_AT
    parts: list[str] = []
    size = 0
    for part in pieces(value):
        parts.append(part[:_LOOKED_AT])
        size += len(part)
        if size > _LOOKED_AT:
            return "".join(parts), True
    return "".join(parts), False


def cut(text: str, more: bool, limit: int = LONGEST) -> str:
    if len(text) <= limit:
        return text + " …" if more else text
    end = end_at(text, limit)
    told = note(len(text) - end)
    return text[:end] + (told.replace("and ", "and over ") if more else told)
