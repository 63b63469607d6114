"""Convert Python values to the JSON of a baseline. A value without a JSON form raises an error that says how
to give it one; it never becomes a `repr` with a memory address."""

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
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render

_MAX_LEVELS = 64

T = TypeVar("T")

_REGISTERED_FORMS: dict[type, Form] = {}
_PLAIN_CLASSES = frozenset({str, int, bool, type(None)})
_NUMBER_CLASSES = frozenset({float, Decimal})


class NoJsonError(TypeError):
    """A value that no baseline can hold."""


def serializer(kind: type[T]) -> Callable[[Callable[[T], object]], Callable[[T], object]]:
    """Decorate the function that says how values of a class, and of its subclasses, are written:

    @serializer(Money)
    def money(value):
        return {"amount": value.amount, "currency": value.currency}
    """

    def add(form: Callable[[T], object]) -> Callable[[T], object]:
        _REGISTERED_FORMS[kind] = form
        return form

    return add


def as_json(value: object) -> Json:
    """Return the value as JSON; a placeholder in it becomes its text."""
    if value.__class__ is dict or value.__class__ is list:
        try:
            return copy_json(value, _MAX_LEVELS)
        except NoJsonError:  # it holds more than JSON values
            pass
    return _ValueReader().read(value, ())


def copy_json(value: Any, levels: int) -> Json:
    """Copy a value that is JSON already, as most are. This takes half the time of `_ValueReader`, which keeps
    track of paths for its errors."""
    if not levels:
        raise NoJsonError
    if value.__class__ is dict:
        fields: dict[str, Json] = {}
        for key, item in value.items():
            kind = item.__class__
            if key.__class__ is not str:
                raise NoJsonError
            if kind in _PLAIN_CLASSES or (kind is float and isfinite(item)):
                fields[key] = item
            elif kind is dict or kind is list:
                fields[key] = copy_json(item, levels - 1)
            elif kind is Decimal and item.is_finite():
                fields[key] = item
            else:
                raise NoJsonError
        return fields
    items: list[Json] = []
    for item in value:
        kind = item.__class__
        if kind in _PLAIN_CLASSES or (kind is float and isfinite(item)):
            items.append(item)
        elif kind is dict or kind is list:
            items.append(copy_json(item, levels - 1))
        elif kind is Decimal and item.is_finite():
            items.append(item)
        else:
            raise NoJsonError
    return items


class _ValueReader:
    """Reads one value, and remembers the containers above the current one to detect cycles."""

    def __init__(self) -> None:
        self._above: set[int] = set()

    def read(self, value: Any, path: tuple[object, ...]) -> Json:
        kind = value.__class__
        if kind in _PLAIN_CLASSES:
            return value
        if kind in _NUMBER_CLASSES:
            return _checked_finite(value, path)
        is_deep = len(path) > _MAX_LEVELS or len(self._above) > 4 * _MAX_LEVELS
        if id(value) in self._above or is_deep:
            reason = "holds itself" if id(value) in self._above else f"has more than {_MAX_LEVELS} levels"
            raise NoJsonError(f"{_describe_path(path)} {reason}: compare the parts that count")
        self._above.add(id(value))
        try:
            if kind is dict:
                return self.members(value, path)
            if kind is list or kind is tuple:
                return [self.read(item, (*path, number)) for number, item in enumerate(value)]
            simpler = _simplify(value, path)
            if simpler.__class__ is kind:
                raise _no_form_error(value, path)
            return self.read(simpler, path)
        finally:
            self._above.discard(id(value))

    def members(self, value: dict[Any, Any], path: tuple[object, ...]) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        for key, item in value.items():
            name = self.key(key, path)
            if name in fields:
                raise NoJsonError(
                    f"{_describe_path(path)} has two keys that are {name!r} as a text: rename one"
                )
            fields[name] = self.read(item, (*path, name))
        return fields

    def key(self, key: Any, path: tuple[object, ...]) -> str:
        if key.__class__ is str:
            return str(key)
        name = self.read(key, (*path, "a key"))
        if isinstance(name, dict | list):
            raise NoJsonError(f"{_describe_path(path)} has a key that is no text: {type(key).__qualname__}")
        return name if isinstance(name, str) else canonical(name)


def _checked_finite(value: float | Decimal, path: tuple[object, ...]) -> float | Decimal:
    # a Decimal may be larger than any float
    if isfinite(value) if value.__class__ is float else Decimal(value).is_finite():
        return value
    name = str(value).lower()
    raise NoJsonError(
        f"{_describe_path(path)} is {name}, which JSON does not have: put None or a text in its place"
    )


def _describe_path(path: tuple[object, ...]) -> str:
    return render([key if isinstance(key, int) else str(key) for key in path]) if path else "the value"


def _simplify(value: Any, path: tuple[object, ...]) -> object:
    """Bring a value one step nearer to JSON: with a serializer of the user, a form of the standard library,
    or a form for its library."""
    if is_missing(value) and not any(kind in _REGISTERED_FORMS for kind in type(value).__mro__):
        return None
    for kind in type(value).__mro__:
        if (registered := _REGISTERED_FORMS.get(kind) or _BUILTIN_FORMS.get(kind)) is not None:
            return registered(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass_fields(value)
    if isinstance(value, Set):
        return _sorted_set(value)
    form = form_of(value)
    if form is None:
        raise _no_form_error(value, path)
    try:
        return form(value)
    except NoFormError as error:
        raise NoJsonError(f"{_describe_path(path)} {error}") from None


def _no_form_error(value: Any, path: tuple[object, ...]) -> NoJsonError:
    name = type(value).__qualname__
    hint = f"say how it is written, with @baselinekit.serializer({name}) above a function of the value"
    if isinstance(value, Iterator | ValuesView) and not hasattr(value, "read"):
        hint = "compare list(…) of it"
    return NoJsonError(
        f"{_describe_path(path)} is a {type(value).__module__}.{name}, which a baseline cannot hold: {hint}"
    )


def _bytes_form(value: bytes | bytearray | memoryview) -> object:
    return text_of(bytes(value))


def _sorted_set(values: Set[Any]) -> list[Json]:
    """Return the values of a set, which has no order, sorted by their JSON."""
    return sorted((as_json(value) for value in values), key=canonical)


def _dataclass_fields(value: Any) -> dict[str, object]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


_BUILTIN_FORMS: dict[type, Form] = {
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
    bytes: _bytes_form,
    bytearray: _bytes_form,
    memoryview: _bytes_form,
    set: _sorted_set,
    frozenset: _sorted_set,
}
