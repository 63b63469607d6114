"""`@frozen` and `@slotted`: the dataclasses of this project, quick to make.

`@dataclass(frozen=True, slots=True)` writes six methods for a class, and compiles them whenever its module is
imported: that was half the time in which a command starts. Here what makes values equal, what their hash is
and how they are shown are the same functions for all classes; and as a command makes values of a third of the
classes that it imports, the `__init__` of a class is written for the first of its values.

That nobody changes a value is what mypy checks, for which the decorator says that it is frozen. It is not
checked again at run time, in each `__init__`: a value is made in a quarter of the time."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen(cls: type[T]) -> type[T]:
    """A dataclass with slots, whose values are equal where their fields are. What the class defines itself
    stays. A docstring it must have: without one dataclasses writes its signature there, and to find that out
    takes longer than all else."""
    return _made(cls, _OF_VALUES)


@dataclass_transform(eq_default=False, field_specifiers=(field, Field))
def slotted(cls: type[T]) -> type[T]:
    """The same for what changes, and is equal to itself alone."""
    return _made(cls, _OF_ALL)


def _made(cls: type[T], methods: Mapping[str, Callable[..., object]]) -> type[T]:
    cls.__doc__ = cls.__doc__ or cls.__name__
    stated = dict(vars(cls))  # dataclass takes the defaults away
    for name, method in methods.items():
        if stated.get(name) is None:  # a class with an __eq__ has None for its hash
            setattr(cls, name, method)
    made: Any = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    if "__init__" not in stated:
        made.__init__ = _written_when_called(made, stated)
    return cast(type[T], made)


def _written_when_called(made: Any, stated: Mapping[str, Any]) -> Callable[..., None]:
    """An `__init__` that has dataclass write the real one, which takes its place."""

    def init(self: object, *given: Any, **named: Any) -> None:
        body = {name: value for name, value in stated.items() if name not in ("__dict__", "__weakref__")}
        plain: Any = dataclass(eq=False, repr=False)(type(made.__name__, made.__bases__, body))
        made.__init__ = plain.__init__
        made.__init__(self, *given, **named)

    return init


def _equal(self: Any, other: Any) -> Any:
    kind = self.__class__
    if other.__class__ is not kind:
        return NotImplemented
    compared = _compared(kind)
    return compared(self) == compared(other)


def _hashed(self: Any) -> int:
    return hash(_compared(self.__class__)(self))


@recursive_repr()
def _shown(self: Any) -> str:
    stated = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(stated)})"


_OF_ALL: dict[str, Callable[..., object]] = {"__repr__": _shown}
_OF_VALUES: dict[str, Callable[..., object]] = {"__eq__": _equal, "__hash__": _hashed, **_OF_ALL}


@cache
def _compared(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """What is compared of a value: always a tuple, which attrgetter gives for two names or more."""
    return attrgetter("__class__", "__class__", *(one.name for one in fields(kind) if one.compare))
