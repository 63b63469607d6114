"""Python values as the JSON that stands in a baseline. What has no such form is an error that says how to
give it one, never a text with an address in it."""

import dataclasses
import datetime
import enum
import uuid
from collections.abc import Callable, Iterator, Set, ValuesView
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import PurePath
from typing import Any, TypeVar

from baselinekit.library.forms import Form, NoFormError, form_of, is_missing, text_of
from baselinekit.model.values import Json
from baselinekit.tree.equality import canonical
from baselinekit.tree.paths import render

_MOST_LEVELS = 64

T = TypeVar("T")

_OWN: dict[type, Form] = {}
_PLAIN = frozenset({str, int, bool, type(None)})
_NUMBERS = frozenset({float, Decimal})


class NoJsonError(TypeError):
    """A value that no baseline can hold."""


def serializer(kind: type[T]) -> Callable[[Callable[[T], object]], Callable[[T], object]]:
    """How values of a class, and of those made of it, are written. It decorates the function that says so:

    @serializer(Money)
    def money(value):
        return {"amount": value.amount, "currency": value.currency}
    """

    def add(form: Callable[[T], object]) -> Callable[[T], object]:
        _OWN[kind] = form
        return form

    return add


def as_json(value: object) -> Json:
    """The value as JSON; a placeholder in it becomes its text."""
    if value.__class__ is dict or value.__class__ is list:
        try:
            return copied(value, _MOST_LEVELS)
        except NoJsonError:  # there is more in it than JSON
            pass
    return _Reading().read(value, ())


def copied(value: Any, levels: int) -> Json:
    """A copy of what is JSON already, which most values are: in half the time of a reading that knows where
    it is."""
    if not levels:
        raise NoJsonError
    if value.__class__ is dict:
        fields: dict[str, Json] = {}
        for key, item in value.items():
            kind = item.__class__
            if key.__class__ is not str:
                raise NoJsonError
            if kind in _PLAIN or (kind is float and isfinite(item)):
                fields[key] = item
            elif kind is dict or kind is list:
                fields[key] = copied(item, levels - 1)
            elif kind is Decimal and item.is_finite():
                fields[key] = item
            else:
                raise NoJsonError
        return fields
    items: list[Json] = []
    for item in value:
        kind = item.__class__
        if kind in _PLAIN or (kind is float and isfinite(item)):
            items.append(item)
        elif kind is dict or kind is list:
            items.append(copied(item, levels - 1))
        elif kind is Decimal and item.is_finite():
            items.append(item)
        else:
            raise NoJsonError
    return items


class _Reading:
    """One value, with those that are around the one that is being read."""

    def __init__(self) -> None:
        self._above: set[int] = set()

    def read(self, value: Any, path: tuple[object, ...]) -> Json:
        kind = value.__class__
        if kind in _PLAIN:
            return value
        if kind in _NUMBERS:
            return _finite(value, path)
        is_deep = len(path) > _MOST_LEVELS or len(self._above) > 4 * _MOST_LEVELS
        if id(value) in self._above or is_deep:
            why = "holds itself" if id(value) in self._above else f"has more than {_MOST_LEVELS} levels"
            raise NoJsonError(f"{_place(path)} {why}: compare the parts that count")
        self._above.add(id(value))
        try:
            if kind is dict:
                return self.members(value, path)
            if kind is list or kind is tuple:
                return [self.read(item, (*path, number)) for number, item in enumerate(value)]
            simpler = _simpler(value, path)
            if simpler.__class__ is kind:
                raise _without_form(value, path)
            return self.read(simpler, path)
        finally:
            self._above.discard(id(value))

    def members(self, value: dict[Any, Any], path: tuple[object, ...]) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        for key, item in value.items():
            name = self.key(key, path)
            if name in fields:
                raise NoJsonError(f"{_place(path)} has two keys that are {name!r} as a text: rename one")
            fields[name] = self.read(item, (*path, name))
        return fields

    def key(self, key: Any, path: tuple[object, ...]) -> str:
        if key.__class__ is str:
            return str(key)
        told = self.read(key, (*path, "a key"))
        if isinstance(told, dict | list):
            raise NoJsonError(f"{_place(path)} has a key that is no text: {type(key).__qualname__}")
        return told if isinstance(told, str) else canonical(told)


def _finite(value: float | Decimal, path: tuple[object, ...]) -> float | Decimal:
    # a Decimal may be larger than any float
    if isfinite(value) if value.__class__ is float else Decimal(value).is_finite():
        return value
    what = str(value).lower()
    raise NoJsonError(f"{_place(path)} is {what}, which JSON does not have: put None or a text in its place")


def _place(path: tuple[object, ...]) -> str:
    return render([key if isinstance(key, int) else str(key) for key in path]) if path else "the value"


def _simpler(value: Any, path: tuple[object, ...]) -> object:
    """A value that is one step nearer to JSON: by a form of the user's own, by one that is known here, or by
    what its library says of it."""
    if is_missing(value) and not any(kind in _OWN for kind in type(value).__mro__):
        return None
    for kind in type(value).__mro__:
        if (known := _OWN.get(kind) or _KNOWN.get(kind)) is not None:
            return known(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Set):
        return _sorted(value)
    form = form_of(value)
    if form is None:
        raise _without_form(value, path)
    try:
        return form(value)
    except NoFormError as error:
        raise NoJsonError(f"{_place(path)} {error}") from None


def _without_form(value: Any, path: tuple[object, ...]) -> NoJsonError:
    name = type(value).__qualname__
    hint = f"say how it is written, with @baselinekit.serializer({name}) above a function of the value"
    if isinstance(value, Iterator | ValuesView) and not hasattr(value, "read"):
        hint = "compare list(…) of it"
    return NoJsonError(
        f"{_place(path)} is a {type(value).__module__}.{name}, which a baseline cannot hold: {hint}"
    )


def _of_bytes(value: bytes | bytearray | memoryview) -> object:
    return text_of(bytes(value))


def _sorted(values: Set[Any]) -> list[Json]:
    """A set has no order of its own: that of its values as JSON."""
    return sorted((as_json(value) for value in values), key=canonical)


def _fields(value: Any) -> dict[str, object]:
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}


_KNOWN: dict[type, Form] = {
    str: str.__str__,
    int: int,
    float: float,
    enum.Enum: lambda value: value.value,
    Fraction: str,
    datetime.datetime: lambda value: value.isoformat(),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
    datetime.timedelta: lambda value: value.total_seconds(),
    uuid.UUID: str,
    PurePath: lambda value: value.as_posix(),
    bytes: _of_bytes,
    bytearray: _of_bytes,
    memoryview: _of_bytes,
    set: _sorted,
    frozenset: _sorted,
}
