"""Dataclasses <-> data files: what is read and checked into them, and what is written from them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from decimal import Decimal
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Generic, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from baselinekit.documents.languages import Language, language
from baselinekit.documents.text import MAPPING, SEQUENCE, MarkedNode, Marks, mark_each, place
from baselinekit.errors import FirstOfEach, Problem, nearest
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.texts import already_masked, clipped

# Raw values to dataclasses, with every error at once, in our own words, and at its place.


# The plain case: a raw value of just the types that a class states becomes an instance of it. Whatever else
# it may be is left to pydantic, which takes as long to load as hundreds of files take to be read.

Reader = Callable[[Json], Any]
T = TypeVar("T")
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
        return list, lambda value: read_tuple(value, items, any_length=inner[-1] is ...)
    if origin in (dict, Mapping):
        item = reader(inner[1])
        if inner[0] is int:  # in a file every key is a text
            return dict, lambda value: {_number(key): item(each) for key, each in value.items()}
        return dict, lambda value: {key: item(each) for key, each in value.items()}
    if origin is Literal:
        return type(inner[0]), lambda value: value if value in inner else _refuse(value)
    assert origin is Annotated, kind
    return dict, lambda value: reader(inner[1].member(value) or _refuse(value))(value)


def read_tuple(value: list[Json], items: list[Reader], any_length: bool) -> tuple[Any, ...]:
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


def check(cls: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """The value as the class states it, or everything that is wrong with it, with paths instead of places."""
    kind: Any = cls
    try:
        return reader(kind)(raw), []
    except NotPlain:
        from baselinekit.schema.complaints import validated  # of what capture wrote nothing gets here

        return validated(kind, raw)


# Where a problem stands: from a path into a document to file, line and column.


def below(problems: Sequence[Problem], at: Path) -> list[Problem]:
    """The same problems, of what stands at a path."""
    return [replace(problem, at=(*at, *(problem.at or ()))) for problem in problems]


def named_at(problem: Problem, at: Path) -> Problem:
    """What is wrong with a file, told where that file is named."""
    what = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, message=what, place=None, at=at)


def place_problems(
    body: str, file: str, problems: Mapping[int, Sequence[Problem]], written_in: Language | None = None
) -> list[Problem]:
    """Problems with paths into the documents of a text, by document, as problems with places: the first of
    them, and how many more there are. An unknown key is at the key itself."""
    first = FirstOfEach()
    told = {n: [problem for problem in few if first.takes(file, problem)] for n, few in problems.items()}
    ways = {n: [problem.at or () for problem in few] for n, few in told.items() if few}
    found = mark_each((written_in or language(file)).events(body), ways)
    placed: list[tuple[int, Problem]] = []
    for document, few in told.items():
        marks = found.get(document, Marks())
        for problem in few:
            nodes, rest = marks.reach(problem.at or ())
            index = position(nodes[-1], at_key=problem.code == "BK103" and not rest) if nodes else 0
            placed.append((index, replace(problem, place=place(file, body, index), at=None)))
    return [*(problem for _, problem in sorted(placed, key=lambda pair: pair[0])), *first.rest()]


def position(node: MarkedNode, at_key: bool = False) -> int:
    """Where to point: at a value on its line, at the key of what stands on the lines below it."""
    below = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
    return node.key if node.key >= 0 and (at_key or below) else node.start


# Records that we write ourselves and read back: one table for a class says what stands under each key.
# `Form.write` gives what `Form.read` takes. Such a file may come from outside (a CI artifact): whatever
# is not exactly what we write is a problem with its path, and all of them are collected.


_MOST_PROBLEMS = 20
_LONGEST_SHOWN = 80
_LONGEST_PATH = 120
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "an array",
    type(None): "null",
}

Test = Callable[[str], tuple[str, str] | None]
"""What is wrong with a text, and what it should be; None when nothing is."""


def one_of(words: Collection[str]) -> Test:
    return lambda value: None if value in words else (f"is {_short(value)!r}", f"one of {', '.join(words)}")


def of_form(pattern: re.Pattern[str], words: str) -> Test:
    return lambda value: (
        None if pattern.fullmatch(value) else (f"is {_short(value)!r}", f"it should be {words}")
    )


def _short(value: str) -> str:
    return clipped(value, _LONGEST_SHOWN, already_masked, counted=False)


class RecordReader:
    """Collects what is wrong, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def complain(self, at: Path, what: str, hint: str = "") -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            name = format_path(at)
            self.problems.append(Problem("BK130", f"{name} {what}" if name else f"it {what}", hint, at=at))

    def mismatch(self, at: Path, value: Json, words: str) -> None:
        self.complain(at, f"is a JSON {json_type(value)}, and should be {words}")

    def mapping(self, raw: Json, table: "Mapping[str, Field]", at: Path) -> bool:
        """Whether it is an object with just these keys, each with such a value."""
        before = len(self.problems)
        if raw.__class__ is not dict:
            self.mismatch(at, raw, "an object")
            return False
        for key, value in raw.items():
            field = table.get(key)
            if field is None:
                hint = nearest(key, table) or "a newer version may have written it: use that one"
                self.complain((*at, key), "is not a known key", hint)
            elif field.classes and value.__class__ not in field.classes:
                self.mismatch((*at, key), value, field.words)
            elif field.least is not None and value is not None and value < field.least:
                self.complain((*at, key), f"is {value}, and should be {field.least} or more")
            elif field.test is not None and (wrong := field.test(value)) is not None:
                self.complain((*at, key), *wrong)
        for key, field in table.items():
            if not field.optional and key not in raw:
                self.complain(at, f"has no {key!r}")
        return len(self.problems) == before and len(self.problems) < _MOST_PROBLEMS


def format_path(at: Path) -> str:
    text = ""
    for key in at:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return clipped(text, _LONGEST_PATH, already_masked, counted=False)


class Field:
    """What stands under a key: the classes of its JSON value (none: any value), the `least` number, a
    `test` of a text. `optional`: it may be missing, and is not written where it is the default of its class,
    or empty. `name`: the attribute, if it is not called as the key; `of`: gives the value instead of an
    attribute; `missing`: what stands for a missing key, if not the default of the class; `derived`: it
    follows from the others, and is written for whoever reads the file."""

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
        kinds = [kind for kind in _NAMES if kind in classes and not (kind is int and float in classes)]
        self.words = " or ".join(_NAMES[kind] for kind in kinds)


class RecordForm(Generic[T]):
    """The keys of a class in their order. `inline`: parts of it whose keys stand among its own."""

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
        for stated in fields(cls) if is_dataclass(cls) else ():
            factory = stated.default_factory
            defaults[stated.name] = stated.default if factory is MISSING else factory()
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
        written: dict[str, Json] = {}
        for key, name, default, field in self._rows:
            value = getattr(record, name) if field.of is None else field.of(record)
            if field.optional and (value is default or says_nothing(value, default, field)):
                continue
            written[key] = value if field.write is None else field.write(value)
        for name, part in self.inline.items():
            written |= part.write(getattr(record, name))
        return written

    def read(self, raw: Json, at: Path, reader: RecordReader) -> T | None:
        values = self.values(raw, at, reader)
        return None if values is None else self.cls(**values)

    def values(self, raw: Json, at: Path, reader: RecordReader) -> dict[str, Any] | None:
        """The attributes that a record states; None where it is no such record."""
        return self._values(raw, at, reader) if reader.mapping(raw, self.table, at) else None

    def _values(self, raw: dict[str, Json], at: Path, reader: RecordReader) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for key, name, default, field in self._rows:
            if key not in raw:
                if field.missing is not MISSING:
                    values[name] = default
            elif field.view is not None:
                seen = field.view.values(raw[key], (*at, key), reader)
                if seen is None:
                    return None
                values |= seen
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


def says_nothing(value: Any, default: Any, field: Field) -> bool:
    if not field.classes:  # any value: only the default itself says nothing, and null is a value
        return False
    return value == default or value is None or (value.__class__ in (str, tuple, list, dict) and not value)


def view(form: RecordForm[Any], of: Callable[[Any], Any] | None = None) -> Field:
    """Attributes of the same record, in an object of their own; there only where `of` gives the record."""
    same = of or (lambda record: record)
    return Field(dict, of=same, optional=of is not None, missing=MISSING, write=form.write, view=form)


def record(form: RecordForm[Any], *, optional: bool = False, nullable: bool = False, **more: Any) -> Field:
    return Field(
        *((dict, type(None)) if nullable else (dict,)),
        optional=optional,
        read=lambda value, at, reader: None if value is None else form.read(value, at, reader),
        write=lambda value: None if value is None else form.write(value),
        **more,
    )


def records(form: RecordForm[Any] | Callable[[], RecordForm[Any]], optional: bool = False) -> Field:
    """A list of records; of a class that holds itself the form is a function."""

    def of() -> RecordForm[Any]:
        return form if isinstance(form, RecordForm) else form()

    def read(value: Json, at: Path, reader: RecordReader) -> tuple[Any, ...]:
        items = [of().read(item, (*at, number), reader) for number, item in enumerate(value)]
        return tuple(item for item in items if item is not None)

    return Field(list, optional=optional, read=read, write=lambda value: [of().write(item) for item in value])


def texts(optional: bool = False) -> Field:
    def read(value: Json, at: Path, reader: RecordReader) -> tuple[str, ...]:
        for number, text in enumerate(value):
            if text.__class__ is not str:
                reader.mismatch((*at, number), text, _NAMES[str])
        return tuple(value)

    return Field(list, optional=optional, read=read, write=list)


def paths() -> Field:
    """Paths into a document, each a list of keys and indexes."""

    def read(value: Json, at: Path, reader: RecordReader) -> tuple[Path, ...]:
        for number, path in enumerate(value):
            if path.__class__ is not list:
                reader.mismatch((*at, number), path, _NAMES[list])
                return ()
        return tuple(map(tuple, value))

    return Field(list, read=read, write=lambda value: list(map(list, value)))


def placed() -> Field:
    """Values, each behind its path into a document: `[[path, value], …]`."""

    def read(value: Json, at: Path, reader: RecordReader) -> tuple[tuple[Path, Json], ...]:
        for number, pair in enumerate(value):
            if pair.__class__ is not list or len(pair) != 2 or pair[0].__class__ is not list:
                reader.mismatch((*at, number), pair, _NAMES[list])
                return ()
        return tuple((tuple(path), one) for path, one in value)

    return Field(
        list, optional=True, read=read, write=lambda value: [[list(path), one] for path, one in value]
    )


def named(*classes: type[Any], form: "RecordForm[Any] | None" = None, **more: Any) -> Field:
    """An object with any keys, each with a value of these classes, or of a form."""
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


def exact(usd: Decimal) -> Decimal:
    """With no zero at its end, so that the same sum is always the same text."""
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
        write=exact,
    )
