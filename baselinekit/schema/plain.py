"""The plain case of validation: a raw value of just the types that a class states becomes an instance of it.

Whatever else it may be is left to validate.py, whose library takes as long to load as hundreds of files take
to be read."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin

from baselinekit.model.values import Json

Reader = Callable[[Json], Any]
_SCALARS = (str, int, float, bool, NoneType)


class NotPlain(Exception):
    """Not wrong yet: it takes more to tell."""


@cache
def reader(kind: Any) -> Reader:
    """How a value of a type is read."""
    as_it_is, other = _ways(kind)
    return lambda value: value if value.__class__ in as_it_is else other(value)


@cache
def _ways(kind: Any) -> tuple[Collection[type], Reader]:
    """The classes whose values are right as they are, and how any other value is read. It is found by its
    class alone: where two members of a union could be meant, nothing is plain."""
    as_it_is: set[type] = set()
    others: dict[type, Reader] = {}
    for member in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if member is Any:
            return (), lambda value: value
        if member in _SCALARS:
            as_it_is.add(member)
        else:
            of, read = _structured(member)
            others[of] = _refuse if of in others else read
    return as_it_is, lambda value: others.get(value.__class__, _refuse)(value)


def _structured(kind: Any) -> tuple[type, Reader]:
    """The class of the raw value, and how it is read."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return dict, _of_class(kind)
    if origin is list:
        item = reader(inner[0])
        return list, lambda value: [item(each) for each in value]
    if origin is tuple:
        items = [reader(kind) for kind in inner if kind is not ...]
        return list, lambda value: _tuple(value, items, any_length=inner[-1] is ...)
    if origin in (dict, Mapping):
        item = reader(inner[1])
        if inner[0] is int:  # in a file every key is a text
            return dict, lambda value: {_number(key): item(each) for key, each in value.items()}
        return dict, lambda value: {key: item(each) for key, each in value.items()}
    if origin is Literal:
        return type(inner[0]), lambda value: value if value in inner else _refuse(value)
    assert origin is Annotated, kind
    return dict, lambda value: reader(inner[1].member(value) or _refuse(value))(value)


def _tuple(value: list[Json], items: list[Reader], any_length: bool) -> tuple[Any, ...]:
    if any_length:
        return tuple(map(items[0], value))
    if len(items) != len(value):
        raise NotPlain
    return tuple(read(each) for read, each in zip(items, value, strict=True))


def _number(key: str | int) -> int:
    return key if isinstance(key, int) else int(key) if key.lstrip("-").isdecimal() else _refuse(key)


def _of_class(kind: Any) -> Reader:
    known: dict[str, tuple[Collection[type], Reader]] = {}
    for field in fields(kind):
        of: Any = field.type
        known[field.name] = _ways(of)
    stated = [field for field in fields(kind) if field.default is field.default_factory is MISSING]
    required = {field.name for field in stated}

    def read(value: Json) -> Any:
        if not required <= value.keys() <= known.keys():
            raise NotPlain
        given = {}
        for name, item in value.items():
            as_it_is, other = known[name]
            given[name] = item if item.__class__ in as_it_is else other(item)
        return kind(**given)

    return read


def _refuse(value: Json) -> NoReturn:
    raise NotPlain
