"""`@frozen` and `@slotted`: the dataclasses of this project, which are quick to create.

`@dataclass(frozen=True, slots=True)` generates six methods for a class and compiles them whenever its module
is imported: that took half of a command's start-up time. Here `__eq__`, `__hash__` and `__repr__` are the
same functions for all classes; and as a command creates values of only a third of the classes that it
imports, the `__init__` of a class is generated when its first value is created.

That nobody changes a value is checked by mypy alone, which the decorator tells that the class is frozen.
Without the check at run time, in each `__init__`, a value is created in a quarter of the time."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen(cls: type[T]) -> type[T]:
    """A dataclass with slots, whose values are equal if their fields are. Methods that the class defines
    itself stay. A class without a docstring gets its name as one: otherwise dataclasses puts its signature
    there, and finding that out takes longer than everything else."""
    return _make_dataclass(cls, _VALUE_METHODS)


@dataclass_transform(eq_default=False, field_specifiers=(field, Field))
def slotted(cls: type[T]) -> type[T]:
    """The same for mutable values, each equal only to itself."""
    return _make_dataclass(cls, _COMMON_METHODS)


def _make_dataclass(cls: type[T], methods: Mapping[str, Callable[..., object]]) -> type[T]:
    cls.__doc__ = cls.__doc__ or cls.__name__
    namespace = dict(vars(cls))  # dataclass removes the defaults from the class
    for name, method in methods.items():
        if namespace.get(name) is None:  # a class with an __eq__ has None for its hash
            setattr(cls, name, method)
    dataclass_type: Any = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    if "__init__" not in namespace:
        dataclass_type.__init__ = _lazy_init(dataclass_type, namespace)
    return cast(type[T], dataclass_type)


def _lazy_init(dataclass_type: Any, namespace: Mapping[str, Any]) -> Callable[..., None]:
    """An `__init__` that has dataclass generate the real one, which takes its place."""

    def init(self: object, *args: Any, **kwargs: Any) -> None:
        body = {name: value for name, value in namespace.items() if name not in ("__dict__", "__weakref__")}
        generated: Any = dataclass(eq=False, repr=False)(
            type(dataclass_type.__name__, dataclass_type.__bases__, body)
        )
        dataclass_type.__init__ = generated.__init__
        dataclass_type.__init__(self, *args, **kwargs)

    return init


def _equal_fields(self: Any, other: Any) -> Any:
    kind = self.__class__
    if other.__class__ is not kind:
        return NotImplemented
    get_fields = _field_getter(kind)
    return get_fields(self) == get_fields(other)


def _hash_fields(self: Any) -> int:
    return hash(_field_getter(self.__class__)(self))


@recursive_repr()
def _represent(self: Any) -> str:
    parts = (
        f"{attribute.name}={getattr(self, attribute.name)!r}" for attribute in fields(self) if attribute.repr
    )
    return f"{self.__class__.__qualname__}({', '.join(parts)})"


_COMMON_METHODS: dict[str, Callable[..., object]] = {"__repr__": _represent, "__replace__": replace}
_VALUE_METHODS: dict[str, Callable[..., object]] = {
    "__eq__": _equal_fields,
    "__hash__": _hash_fields,
    **_COMMON_METHODS,
}


@cache
def _field_getter(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """The function that gets the compared fields: always a tuple, as attrgetter gives for two or more
    names."""
    return attrgetter(
        "__class__", "__class__", *(attribute.name for attribute in fields(kind) if attribute.compare)
    )
