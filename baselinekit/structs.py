"""`Struct`, the base of the classes that are read from files: each class is the model, the form of a file,
and its JSON Schema. `read_as` of schema.py makes values of them, `plain` writes them."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, dataclass_transform

import msgspec
from msgspec import NODEFAULT as NODEFAULT, Meta as Meta, defstruct as defstruct, field as field
from msgspec.structs import asdict as asdict, fields as fields

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, description="an integer of 0 or more")]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1, description="an integer of 1 or more")]
UpToMillion = Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="an integer from 1 to 1,000,000")]
UpTo100Million = Annotated[
    int, msgspec.Meta(ge=1, le=100_000_000, description="an integer from 1 to 100,000,000")
]
_POSITIVE = msgspec.Meta(ge=0, description="a number of 0 or more")
NotNegative = Annotated[int, _POSITIVE] | Annotated[float, _POSITIVE]
_SHARE = msgspec.Meta(ge=0, le=1, description="a number from 0 to 1")
ZeroToOne = Annotated[int, _SHARE] | Annotated[float, _SHARE]
_ABOVE_ZERO = msgspec.Meta(gt=0, description="a number of seconds above 0")
TimeLimit = Annotated[int, _ABOVE_ZERO] | Annotated[float, _ABOVE_ZERO]
_POSITIVE_NUMBER = msgspec.Meta(gt=0, description="a number above 0")
AboveZero = Annotated[int, _POSITIVE_NUMBER] | Annotated[float, _POSITIVE_NUMBER]
_THRESHOLD = msgspec.Meta(gt=0, le=1, description="a number above 0, up to 1")
Threshold = Annotated[int, _THRESHOLD] | Annotated[float, _THRESHOLD]
"""The lowest share that passes: every score would reach 0."""

Retries = Annotated[int, msgspec.Meta(ge=0, le=5, description="an integer from 0 to 5")]
Name = Annotated[str, msgspec.Meta(pattern=r"\S", description="a name")]
NotBlank = Annotated[str, msgspec.Meta(pattern=r"\S", description="a text that is not empty")]
NotEmpty = Annotated[list[T], msgspec.Meta(min_length=1)]

if TYPE_CHECKING:
    Dollars = Decimal
else:

    class Dollars(ABC):
        """A Decimal of 0 or more. (msgspec has no bounds for a Decimal.)"""

        words = "a number of 0 or more"

        @classmethod
        def __subclasshook__(cls, other):
            return issubclass(other, Decimal) or NotImplemented

        @classmethod
        @abstractmethod
        def form(cls, raw):
            is_number = type(raw) in (int, float, Decimal) or (isinstance(raw, str) and raw[:1].isdigit())
            return Decimal if is_number and 0 <= float(str(raw)) < float("inf") else None


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values do not change, and are equal if their fields are."""


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class MutableStruct(msgspec.Struct, eq=False):
    """Values change, and each is equal to itself only."""


def replace(value: T, /, **changes: Any) -> T:
    """Return a copy of a struct, named tuple or dataclass with other values in some fields, as
    `copy.replace` of Python 3.13 does."""
    of_type = getattr(value, "__replace__", None) or getattr(value, "_replace", None)
    return cast(T, of_type(**changes) if of_type else dataclasses.replace(cast(Any, value), **changes))


def plain(value: Any) -> Any:
    """Return a value as a file states it: structs as mappings, without fields that have their default."""
    if isinstance(value, Struct):
        written = {}
        for name, key, default in keys_of(type(value)):
            item = getattr(value, name)
            if item != default or isinstance(item, bool) is not isinstance(default, bool):
                written[key] = plain(item)
        return written
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def choose(kind: Any, raw: Any) -> Any:
    """Convert a value to a type that chooses by the value which class it has: its `form`."""
    form = kind.form(raw)
    if form is None:
        raise msgspec.ValidationError
    return msgspec.convert(raw, form, dec_hook=choose, str_keys=True)


def convert(raw: Any, kind: type[T]) -> T:
    """Return plain values as a struct; ValueError if they are not of its form. (`read_as` of schema.py tells
    people what is wrong with a file of theirs.)"""
    try:
        return msgspec.convert(raw, kind, dec_hook=choose)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


@cache
def keys_of(kind: type[Struct]) -> list[tuple[str, str, Any]]:
    """Return the name of each field, its key in files, and its default."""
    keys = []
    for one in fields(kind):
        default = one.default if one.default_factory is NODEFAULT else one.default_factory()
        keys.append((one.name, one.encode_name, default))
    return keys
