"""Python values as the JSON that stands in a baseline. What has no such form is an error that says how to
give it one, never a text with an address in it."""

import base64
import dataclasses
import datetime
import enum
import uuid
from collections.abc import Callable, Iterator, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import PurePath
from typing import Any, TypeVar

from baselinekit.model.values import Json
from baselinekit.tree.equality import canonical
from baselinekit.tree.paths import render

_MOST_LEVELS = 64

T = TypeVar("T")
Form = Callable[[Any], object]

_OWN: dict[type, Form] = {}
_PLAIN = frozenset({str, int, bool, type(None), Decimal})


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
        if kind is float:
            return _finite(value, path)
        if id(value) in self._above or len(path) > _MOST_LEVELS:
            why = "holds itself" if id(value) in self._above else f"has more than {_MOST_LEVELS} levels"
            raise NoJsonError(f"{_place(path)} {why}: compare the parts that count")
        self._above.add(id(value))
        try:
            if kind is dict:
                return {self._key(key, path): self.read(item, (*path, key)) for key, item in value.items()}
            if kind is list or kind is tuple:
                return [self.read(item, (*path, number)) for number, item in enumerate(value)]
            return self.read(_simpler(value, path), path)
        finally:
            self._above.discard(id(value))

    def _key(self, key: Any, path: tuple[object, ...]) -> str:
        if key.__class__ is str:
            return str(key)
        told = self.read(key, (*path, "a key"))
        if isinstance(told, dict | list):
            raise NoJsonError(f"{_place(path)} has a key that is no text: {type(key).__qualname__}")
        return told if isinstance(told, str) else canonical(told)


def _finite(value: float, path: tuple[object, ...]) -> float:
    if isfinite(value):
        return value
    raise NoJsonError(f"{_place(path)} is {value}, which JSON does not have: compare it as a text")


def _place(path: tuple[object, ...]) -> str:
    return render([key if isinstance(key, int) else str(key) for key in path]) if path else "the value"


def _simpler(value: Any, path: tuple[object, ...]) -> object:
    """A value that is one step nearer to JSON: by a form of the user's own, by one that is known here, or by
    what its library says of it."""
    for kind in type(value).__mro__:
        if (form := _OWN.get(kind) or _KNOWN.get(kind)) is not None:
            return form(value)
    for fits, form in _BY_SHAPE:
        if fits(value):
            return form(value)
    name = type(value).__qualname__
    raise NoJsonError(
        f"{_place(path)} is a {type(value).__module__}.{name}, which a baseline cannot hold: say how it is "
        f"written, with @baselinekit.serializer({name}) above a function of the value"
    )


def _of_bytes(value: bytes | bytearray | memoryview) -> object:
    """Text where it is text, else base64."""
    data = bytes(value)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _sorted(values: Set[Any]) -> list[Json]:
    """A set has no order of its own: that of its values as JSON."""
    return sorted((as_json(value) for value in values), key=canonical)


def _fields(value: Any) -> dict[str, object]:
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}


_KNOWN: dict[type, Form] = {
    str: str,
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

# What libraries say of their own values. No library is imported for that: it is asked by the names that its
# values have.


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: all(hasattr(value, name) for name in names)


def _from_and_has(name: str, *libraries: str) -> Callable[[Any], bool]:
    """Whether a value's class, or one that it is made of, comes from one of these libraries and has this."""

    def fits(value: Any) -> bool:
        kinds = type(value).__mro__
        return hasattr(value, name) and any(one.__module__.startswith(libraries) for one in kinds)

    return fits


def _response(value: Any) -> object:
    """A response of httpx, requests, Django, Flask or Starlette: its status, and its body as it is compared
    over HTTP."""
    data = next((getattr(value, name) for name in ("content", "data", "body") if hasattr(value, name)), b"")
    headers = value.headers
    kind = str(headers.get("content-type") or "")
    body: object = _of_bytes(data)
    if "json" in kind and isinstance(body, str):
        import json

        body = json.loads(body, parse_float=Decimal)
    return {"status": value.status_code, "body": body}


def _table(value: Any) -> object:
    """A data frame as its rows, a series as its values."""
    return value.to_dict(orient="records") if hasattr(value, "columns") else value.tolist()


def _attrs(value: Any) -> Iterator[tuple[str, object]]:
    for one in type(value).__attrs_attrs__:
        yield one.name, getattr(value, one.name)


_BY_SHAPE: tuple[tuple[Callable[[Any], bool], Form], ...] = (
    (lambda value: dataclasses.is_dataclass(value) and not isinstance(value, type), _fields),
    (_has("__attrs_attrs__"), lambda value: dict(_attrs(value))),
    (_has("model_dump", "model_fields_set"), lambda value: value.model_dump()),
    (_has("_asdict", "_fields"), lambda value: value._asdict()),
    (_from_and_has("to_dict", "pandas", "polars"), _table),
    (_from_and_has("tolist", "numpy", "pandas"), lambda value: value.tolist()),
    (_from_and_has("isoformat", "pandas"), lambda value: value.isoformat()),
    (_has("status_code", "headers"), _response),
    (lambda value: isinstance(value, Mapping), dict),
    (lambda value: isinstance(value, Set), _sorted),
    (lambda value: isinstance(value, list | tuple), list),
)
