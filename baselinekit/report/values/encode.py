"""A value as JSON text, every number with the digits it came with."""

from collections.abc import Iterator
from decimal import Decimal
from math import isfinite

from baselinekit.escape import json_string
from baselinekit.model.values import ABSENT, Json


def encode(value: Json, indent: int | None = None) -> str:
    """The whole text: on one line, or indented. The same value always gives the same text."""
    return "".join(pieces(value, indent))


def page(value: Json) -> str:
    """As a file and as what a command prints for programs: indented, and with a line break at its end."""
    return encode(value, indent=2) + "\n"


def present(sides: dict[str, Json]) -> dict[str, Json]:
    """Without those that are not there: null is a value."""
    return {key: value for key, value in sides.items() if value is not ABSENT}


def pieces(value: Json, indent: int | None = None, level: int = 0) -> Iterator[str]:
    """The text bit by bit, so that whoever wants only its beginning need not write it all."""
    if isinstance(value, dict) and value:
        yield from _enclosed("{", _members(value, indent, level + 1), "}", indent, level)
    elif isinstance(value, list | tuple) and value:
        items = (pieces(item, indent, level + 1) for item in value)
        yield from _enclosed("[", items, "]", indent, level)
    else:
        yield _leaf(value)


def _members(value: dict[str, Json], indent: int | None, level: int) -> Iterator[Iterator[str]]:
    for key, item in value.items():
        yield _member(key, item, indent, level)


def _member(key: str, item: Json, indent: int | None, level: int) -> Iterator[str]:
    yield json_string(key) + ": "
    yield from pieces(item, indent, level)


def _enclosed(
    opening: str, items: Iterator[Iterator[str]], closing: str, indent: int | None, level: int
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
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    if isinstance(value, float) and not isfinite(value):
        return json_string(str(value))  # JSON has no word for it
    if isinstance(value, Decimal) and not value.is_finite():
        return json_string(str(value))
    if isinstance(value, int | float | Decimal):
        return str(value)
    raise TypeError(f"{value!r} is no JSON value")
