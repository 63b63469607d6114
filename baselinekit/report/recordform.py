"""Records that we write ourselves and read back."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from baselinekit.errors import Problem, suggest
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.structs import NODEFAULT, Struct, fields
from baselinekit.values.texts import mask_and_clip, no_mask

T = TypeVar("T")

# Records that we write ourselves and read back: one table per class says what is under each key.
# `RecordForm.read` reads what `RecordForm.write` writes. Such a file may come from outside (a CI artifact):
# anything that we would not write is a problem with its path, and all problems are collected.


_MOST_PROBLEMS = 20
_LONGEST_SHOWN = 80
_LONGEST_PATH = 120
_TYPE_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "an array",
    type(None): "null",
}

Test = Callable[[str], tuple[str, str] | None]
"""Returns what is wrong with a text, and what it should be; None if it is fine."""


def one_of(words: Collection[str]) -> Test:
    return lambda value: None if value in words else (f"is {_shorten(value)!r}", f"one of {', '.join(words)}")


def of_form(pattern: re.Pattern[str], words: str) -> Test:
    return lambda value: (
        None if pattern.fullmatch(value) else (f"is {_shorten(value)!r}", f"it should be {words}")
    )


def _shorten(value: str) -> str:
    return mask_and_clip(value, _LONGEST_SHOWN, no_mask, counted=False)


class RecordReader:
    """Collects problems, so that all of them are reported at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def complain(self, at: Path, message: str, hint: str = "") -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            name = format_path(at)
            self.problems.append(
                Problem("BK130", f"{name} {message}" if name else f"it {message}", hint, at=at)
            )

    def mismatch(self, at: Path, value: Json, words: str) -> None:
        self.complain(at, f"is a JSON {json_type(value)}, and should be {words}")

    def mapping(self, raw: Json, table: "Mapping[str, Field]", at: Path) -> bool:
        """Check that a value is an object with exactly these keys, each with a valid value."""
        count_before = len(self.problems)
        if raw.__class__ is not dict:
            self.mismatch(at, raw, "an object")
            return False
        for key, value in raw.items():
            field = table.get(key)
            if field is None:
                hint = suggest(key, table) or "a newer version may have written it: use that one"
                self.complain((*at, key), "is not a known key", hint)
            elif field.classes and value.__class__ not in field.classes:
                self.mismatch((*at, key), value, field.words)
            elif field.least is not None and value is not None and value < field.least:
                self.complain((*at, key), f"is {value}, and should be {field.least} or more")
            elif field.test is not None and (fault := field.test(value)) is not None:
                self.complain((*at, key), *fault)
        for key, field in table.items():
            if not field.optional and key not in raw:
                self.complain(at, f"has no {key!r}")
        return len(self.problems) == count_before and len(self.problems) < _MOST_PROBLEMS


def format_path(at: Path) -> str:
    text = ""
    for key in at:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return mask_and_clip(text, _LONGEST_PATH, no_mask, counted=False)


class Field:
    """What is under a key: the classes of its JSON value (none: any value), the `least` number, a `test` of a
    text. `optional`: it may be missing, and is not written if it is empty or the default of its class.
    `name`: the attribute, if it differs from the key; `of`: returns the value instead of an attribute;
    `missing`: the value for a missing key, if not the default of the class; `derived`: it follows from the
    others, and is only written for people and tools that read the file."""

    def __init__(
        self,
        *classes: type[Any],
        least: int | None = None,
        optional: bool = False,
        test: Test | None = None,
        name: str = "",
        of: Callable[[Any], Any] | None = None,
        missing: Any = MISSING,
        derived: bool = False,
        read: Callable[[Json, Path, RecordReader], Any] | None = None,
        write: Callable[[Any], Json] | None = None,
        view: "RecordForm[Any] | None" = None,
    ):
        self.classes = frozenset(classes)
        self.least, self.optional, self.test = least, optional, test
        self.name, self.of, self.missing, self.derived = name, of, missing, derived
        self.read, self.write, self.view = read, write, view
        kinds = [kind for kind in _TYPE_NAMES if kind in classes and not (kind is int and float in classes)]
        self.words = " or ".join(_TYPE_NAMES[kind] for kind in kinds)


class RecordForm(Generic[T]):
    """The keys of a class in their order. `inline`: attributes whose keys are among the keys of the class."""

    def __init__(
        self,
        cls: Callable[..., T],
        inline: "Mapping[str, RecordForm[Any]] | None" = None,
        /,
        **keys: Field,
    ):
        self.cls = cls
        self.inline = inline or {}
        self.keys = keys
        defaults: dict[str, Any] = {}
        for class_field in fields(cls) if isinstance(cls, type) and issubclass(cls, Struct) else ():
            factory = class_field.default_factory
            if not class_field.required:
                defaults[class_field.name] = class_field.default if factory is NODEFAULT else factory()
        self._rows = [
            (
                key,
                name := field.name or key,
                defaults.get(name, ABSENT) if field.missing is MISSING else field.missing,
                field,
            )
            for key, field in keys.items()
        ]
        self.table = dict(keys)
        for part in self.inline.values():
            self.table |= part.table

    def write(self, record: Any) -> dict[str, Json]:
        document: dict[str, Json] = {}
        for key, name, default, field in self._rows:
            value = getattr(record, name) if field.of is None else field.of(record)
            if field.optional and (value is default or is_default(value, default, field)):
                continue
            document[key] = value if field.write is None else field.write(value)
        for name, part in self.inline.items():
            document |= part.write(getattr(record, name))
        return document

    def read(self, raw: Json, at: Path, reader: RecordReader) -> T | None:
        values = self.values(raw, at, reader)
        return None if values is None else self.cls(**values)

    def values(self, raw: Json, at: Path, reader: RecordReader) -> dict[str, Any] | None:
        """Return the attributes in a record; None if it is not valid."""
        return self._values(raw, at, reader) if reader.mapping(raw, self.table, at) else None

    def _values(self, raw: dict[str, Json], at: Path, reader: RecordReader) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for key, name, default, field in self._rows:
            if key not in raw:
                if field.missing is not MISSING:
                    values[name] = default
            elif field.view is not None:
                attributes = field.view.values(raw[key], (*at, key), reader)
                if attributes is None:
                    return None
                values |= attributes
            elif not field.derived:
                value = raw[key]
                values[name] = value if field.read is None else field.read(value, (*at, key), reader)
        for name, part in self.inline.items():
            values[name] = part.cls(**part._values(raw, at, reader) or {})
        return values


class TupleForm(RecordForm[tuple[Any, ...]]):
    """A tuple that is written as an object."""

    def __init__(self, **keys: Field):
        super().__init__(lambda **values: tuple(values.values()), None, **keys)

    def write(self, record: Any) -> dict[str, Json]:
        return super().write(SimpleNamespace(**dict(zip(self.table, record, strict=True))))


def is_default(value: Any, default: Any, field: Field) -> bool:
    if not field.classes:  # any value: only the default itself is left out, and null is a value
        return False
    return value == default or value is None or (value.__class__ in (str, tuple, list, dict) and not value)


def view(form: RecordForm[Any], of: Callable[[Any], Any] | None = None) -> Field:
    """Return the field of an object with attributes of the same record. With `of`, it exists only if that
    returns the record."""
    select = of or (lambda record: record)
    return Field(dict, of=select, optional=of is not None, missing=MISSING, write=form.write, view=form)


def record(form: RecordForm[Any], *, optional: bool = False, nullable: bool = False, **more: Any) -> Field:
    return Field(
        *((dict, type(None)) if nullable else (dict,)),
        optional=optional,
        read=lambda value, at, reader: None if value is None else form.read(value, at, reader),
        write=lambda value: None if value is None else form.write(value),
        **more,
    )


def records(form: RecordForm[Any] | Callable[[], RecordForm[Any]], optional: bool = False) -> Field:
    """Return the field of a list of records. For a recursive class, the form is given as a function."""

    def resolve_form() -> RecordForm[Any]:
        return form if isinstance(form, RecordForm) else form()

    def read(value: Json, at: Path, reader: RecordReader) -> tuple[Any, ...]:
        items = [resolve_form().read(item, (*at, number), reader) for number, item in enumerate(value)]
        return tuple(item for item in items if item is not None)

    return Field(
        list, optional=optional, read=read, write=lambda value: [resolve_form().write(item) for item in value]
    )


def texts(optional: bool = False) -> Field:
    def read(value: Json, at: Path, reader: RecordReader) -> tuple[str, ...]:
        for number, text in enumerate(value):
            if text.__class__ is not str:
                reader.mismatch((*at, number), text, _TYPE_NAMES[str])
        return tuple(value)

    return Field(list, optional=optional, read=read, write=list)


def object_field(*classes: type[Any], form: "RecordForm[Any] | None" = None, **more: Any) -> Field:
    """Return the field of an object with any keys, and values of these classes or of a form."""
    item = Field(*classes)

    def read(value: Json, at: Path, reader: RecordReader) -> dict[str, Any]:
        if form is not None:
            return {name: form.read(part, (*at, name), reader) for name, part in value.items()}
        for name, part in value.items():
            if part.__class__ not in classes:
                reader.mismatch((*at, name), part, item.words)
        return dict(value)

    def write(value: Mapping[str, Any]) -> Json:
        return {name: value[name] if form is None else form.write(value[name]) for name in value}

    return Field(dict, read=read, write=write, **more)


def without_trailing_zeros(usd: Decimal) -> Decimal:
    """Return an amount without trailing zeros, so that equal amounts are equal texts."""
    return Decimal(f"{usd.normalize():f}")


TEXT = Field(str)
OPTIONAL_TEXT = Field(str, optional=True)
NULLABLE_TEXT = Field(str, type(None))
COUNT = Field(int, least=0)
LINE = Field(int, type(None), least=1)
NUMBER = Field(int, float, type(None))
SECONDS = Field(int, float, least=0, write=lambda value: round(value, 6))


def dollars(name: str = "", optional: bool = False) -> Field:
    return Field(
        *(int, float, Decimal),
        least=0,
        optional=optional,
        name=name,
        read=lambda value, at, reader: Decimal(str(value)),
        write=without_trailing_zeros,
    )
