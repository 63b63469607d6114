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

from baselinekit.library.forms import Form, NoJsonError, form_of, is_missing, text_of
from baselinekit.model.values import Json
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render

_MAX_LEVELS = 64
_MOST_STEPS = 16
"""How often a value is brought one step nearer to JSON: a form may lead to a value of another class."""

T = TypeVar("T")

_REGISTERED_FORMS: dict[type, Form] = {}
_PLAIN_CLASSES = frozenset({str, int, bool, type(None)})


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
    try:
        return _read(value, _MAX_LEVELS)
    except NoJsonError as error:
        raise NoJsonError(f"{render(error.path) if error.path else 'the value'} {error}") from None


def _read(value: Any, levels: int) -> Json:
    if not levels:
        raise NoJsonError(f"has more than {_MAX_LEVELS} levels, or holds itself: compare parts of it")
    for _ in range(_MOST_STEPS):
        kind = value.__class__
        if kind in _PLAIN_CLASSES or (kind is float and isfinite(value)):
            return value
        if kind is dict:
            return _read_members(value, levels)
        if kind is list or kind is tuple:
            return [_read_at(number, item, levels) for number, item in enumerate(value)]
        if kind is float or kind is Decimal:  # which may be larger than any float
            if kind is Decimal and value.is_finite():
                return value
            name = str(value).lower()
            raise NoJsonError(f"is {name}, which JSON does not have: put None or a text in its place")
        simpler = _simplify(value)
        if simpler.__class__ is kind:
            break
        value = simpler
    raise _no_form_error(value)


def _read_at(key: str | int, value: Any, levels: int) -> Json:
    try:
        return _read(value, levels - 1)
    except NoJsonError as error:
        error.path.insert(0, key)
        raise


def _read_members(value: dict[Any, Any], levels: int) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    for key, item in value.items():
        name = key if key.__class__ is str else _read_at("a key", key, levels)
        if isinstance(name, dict | list):
            raise NoJsonError(f"has a key that is no text: {type(key).__qualname__}")
        name = name if isinstance(name, str) else canonical(name)
        if name in fields:
            raise NoJsonError(f"has two keys that are {name!r} as a text: rename one")
        fields[name] = _read_at(name, item, levels)
    return fields


def _simplify(value: Any) -> object:
    """Bring a value one step nearer to JSON: with a serializer of the user, a form of the standard library,
    or a form for its library."""
    kinds = type(value).__mro__
    if is_missing(value) and not any(kind in _REGISTERED_FORMS for kind in kinds):
        return None
    for kind in kinds:
        if (registered := _REGISTERED_FORMS.get(kind) or _BUILTIN_FORMS.get(kind)) is not None:
            return registered(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Set):
        return sorted((_read(item, _MAX_LEVELS) for item in value), key=canonical)  # it has no order
    if (form := form_of(value)) is None:
        raise _no_form_error(value)
    return form(value)


def _no_form_error(value: Any) -> NoJsonError:
    name = type(value).__qualname__
    hint = f"say how it is written, with @baselinekit.serializer({name}) above a function of the value"
    if isinstance(value, Iterator | ValuesView) and not hasattr(value, "read"):
        hint = "compare list(…) of it"
    return NoJsonError(f"is a {type(value).__module__}.{name}, which a baseline cannot hold: {hint}")


_BUILTIN_FORMS: dict[type, Form] = {
    str: str.__str__,
    int: int,
    float: float,
    enum.Enum: lambda value: value.value,
    Fraction: str,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: datetime.timedelta.total_seconds,
    uuid.UUID: str,
    PurePath: PurePath.as_posix,
    bytes: text_of,
    bytearray: text_of,
    memoryview: text_of,
}
