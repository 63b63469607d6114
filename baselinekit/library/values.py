"""Convert Python values to the JSON of a baseline. A value without a JSON form raises an error that shows how
to give it one; it never becomes a `repr` with a memory address. No library is imported to recognise its
values: they are recognised by the name and the attributes of their class."""

import base64
import dataclasses
import datetime
import enum
import json
import uuid
from collections import Counter, UserString
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import suppress
from decimal import Decimal
from math import isfinite
from pathlib import PurePath
from typing import Any, TypeVar

from baselinekit.errors import CannotReplay
from baselinekit.kinds.bodies import form_of as body_form, read_body
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render


class NoJsonError(TypeError):
    """A value that no baseline can hold; the text names its place, and what to do. `path`: where it is,
    found on the way out."""

    def __init__(self, text: str):
        super().__init__(text)
        self.path: list[str | int] = []


_LEVELS = 64
_MOST_STEPS = 16
"""How often a value is brought one step nearer to JSON: a form may lead to a value of another class."""

T = TypeVar("T")
Form = Callable[[Any], object]
_REGISTERED_FORMS: dict[type, Form] = {}
_PLAIN_CLASSES = frozenset({str, int, bool, type(None)})


def serializer(kind: type[T]) -> Callable[[Callable[[T], object]], Callable[[T], object]]:
    """Decorate the function that determines how values of a class, and of its subclasses, are written:

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
        return _read(value, _LEVELS)
    except NoJsonError as error:
        raise NoJsonError(f"{render(error.path) if error.path else 'the value'} {error}") from None


def _read(value: Any, levels: int) -> Json:
    if not levels:
        raise NoJsonError(f"has more than {_LEVELS} levels, or holds itself: compare the parts that count")
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
            raise NoJsonError(f"has a key that is not a text: {type(key).__qualname__}")
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
    if isinstance(value, Set):  # it has no order: sorted by their JSON
        return sorted((_read(item, _LEVELS) for item in value), key=canonical)
    form = next((form for fits, form in _FORMS if fits(value)), None)
    if form is None:
        raise _no_form_error(value)
    return form(value)


def _no_form_error(value: Any) -> NoJsonError:
    name = type(value).__qualname__
    hint = f"say how it is written, with @baselinekit.serializer({name}) above a function of the value"
    if isinstance(value, Iterator | ValuesView) and not hasattr(value, "read"):
        hint = "compare list(…) of it"
    return NoJsonError(f"is a {type(value).__module__}.{name}, which a baseline cannot hold: {hint}")


# Values of other libraries.

_TEXT_CLASS = lazy_pattern("(_Base)?(MultiHost)?Url|URL")
_TEXT_LIBRARIES = ("pydantic", "httpx", "yarl", "starlette")


def text_of(data: bytes | bytearray | memoryview) -> object:
    """Return the bytes as text if they are UTF-8, else as base64."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


# How a value is recognised. The class is inspected, not the object: some objects, such as mocks, have every
# attribute.


def _has(*attributes: str, of: str = "", name: str = "") -> Callable[[Any], bool]:
    """Match values whose class has these attributes, and is, or has a base that is, of this library and of
    this name, where these are given."""

    def fits(value: Any) -> bool:
        kind = type(value)
        return all(hasattr(kind, attribute) for attribute in attributes) and any(
            f"{base.__module__}.".startswith(f"{of}." if of else "") and name in ("", base.__name__)
            for base in kind.__mro__
        )

    return fits


def _is_text(value: Any) -> bool:
    return any(
        base.__module__ == "ipaddress"
        or (_TEXT_CLASS.fullmatch(base.__name__) and base.__module__.startswith(_TEXT_LIBRARIES))
        for base in type(value).__mro__
    )


def is_missing(value: Any) -> bool:
    """Whether a value is pandas' NaT or NA. NaT would otherwise be taken for a datetime."""
    kind = type(value)
    return kind.__name__ in ("NaTType", "NAType") and kind.__module__.startswith("pandas")


def _is_response(value: Any) -> bool:
    return isinstance(getattr(value, "status_code", None), int) and hasattr(value, "headers")


# Responses: status and body, read as `baselinekit compare` reads a response.


def _response_form(value: Any) -> object:
    kind = str(value.headers.get("content-type") or "")
    return {"status": int(value.status_code), "body": body_of(_read_content(value), kind)}


def _read_content(value: Any) -> bytes:
    for name in ("content", "data", "body"):
        body: Any = getattr(value, name, None)
        if isinstance(body, bytes | bytearray | memoryview):
            return bytes(body)
        if isinstance(body, str):
            return body.encode()
    raise NoJsonError("is a response without a body in it, maybe a stream: compare what its client receives")


def body_of(data: bytes, content_type: str) -> object:
    kind = body_form(content_type).name
    if kind == "json":  # with every digit, and without our own limits
        with suppress(ValueError):
            return json.loads(data, parse_float=Decimal)
    if kind == "bytes":
        return text_of(data)
    try:
        value = read_body(data, content_type).value
    except CannotReplay:  # the body does not match its content type
        return text_of(data)
    return text_of(data) if kind == "text" and not isinstance(value, str) else value


# Mappings with several values per key.


def _group_by_key(pairs: Iterable[tuple[object, object]]) -> dict[object, object]:
    grouped: dict[object, list[object]] = {}
    for key, value in pairs:
        grouped.setdefault(key, []).append(value)
    return {key: values if values[1:] else values[0] for key, values in grouped.items()}


# numpy.


def _array_form(value: Any) -> Json:
    kind = value.dtype.kind
    if kind == "M":
        return _map_nested(value.astype(str).tolist(), _format_moment)
    if kind == "m":
        numbers = value.astype("timedelta64[ns]").astype("int64").tolist()
        return _map_nested(numbers, lambda number: None if number == -(2**63) else number / 1_000_000_000)
    if value.dtype.names:
        return _map_nested(value.tolist(), lambda row: dict(zip(value.dtype.names, row, strict=True)))
    return value.tolist()


def _map_nested(value: Any, form: Callable[[Any], Json]) -> Json:
    """Apply `form` to each item of an array of any shape."""
    return [_map_nested(item, form) for item in value] if isinstance(value, list) else form(value)


def _format_moment(text: str) -> Json:
    """Write a date without the trailing zeros of its fraction; None for NaT."""
    if text == "NaT":
        return None
    return text.rstrip("0").rstrip(".") if "." in text else text


# pandas: missing values become null, and an index that is more than a row count is kept.


def _frame_form(value: Any) -> list[dict[str, Json]]:
    if value.columns.nlevels > 1:
        raise NoJsonError("has columns of several levels: make one of them, columns.map('.'.join)")
    table = value if _is_counted(value.index) else value.reset_index(allow_duplicates=True)
    names = [str(name) for name in table.columns]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise NoJsonError(f"has two columns that are called {repeated[0]!r}: rename one")
    cells = [_cell_values(table.iloc[:, number]) for number in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _series_form(value: Any) -> object:
    index, cells = value.index, _cell_values(value)
    if _is_counted(index):
        return cells
    if index.nlevels == 1 and index.is_unique and not index.hasnans:
        return dict(zip(index.tolist(), cells, strict=True))
    return _frame_form(value.to_frame("value" if value.name in (None, *index.names) else value.name))


def _is_counted(index: Any) -> bool:
    """Whether the row labels only count the rows."""
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _cell_values(values: Any) -> list[Json]:
    if hasattr(values, "levels"):  # a MultiIndex
        return [list(label) for label in values.tolist()]
    missing = values.isna().tolist()
    return [None if absent else value for absent, value in zip(missing, values.tolist(), strict=True)]


_FORMS: tuple[tuple[Callable[[Any], bool], Form], ...] = (
    (
        _has("__attrs_attrs__"),
        lambda value: {one.name: getattr(value, one.name) for one in value.__attrs_attrs__},
    ),
    (_has("model_dump", "model_fields_set"), lambda value: value.model_dump()),
    (_has("dict", "__fields__", "__validators__"), lambda value: value.dict()),  # pydantic 1
    (_has("get_secret_value"), str),  # pydantic's secrets: str() masks them
    (_has("_asdict", "_fields"), lambda value: value._asdict()),
    (_has("iterrows", of="pandas"), _frame_form),
    (_has("to_frame", of="pandas", name="Series"), _series_form),
    (_has("isna", of="pandas"), _cell_values),
    (_has("to_dicts", of="polars"), lambda value: value.to_dicts()),
    (_has("to_list", of="polars"), lambda value: value.to_list()),
    (_has("dtype", of="numpy"), _array_form),
    (_is_text, str),
    (_is_response, _response_form),
    (_has("values_list", of="django", name="QuerySet"), list),
    (_has("getlist", "lists"), lambda value: dict(value.lists())),  # a QueryDict, form data
    (_has("multi_items"), lambda value: _group_by_key(value.multi_items())),
    (_has("to_wsgi_list", of="werkzeug"), lambda value: _group_by_key(value.to_wsgi_list())),
    (lambda value: isinstance(value, Mapping), dict),
    (_has("keys", of="sqlite3", name="Row"), dict),
    (lambda value: isinstance(value, Sequence), list),
)

_BUILTIN_FORMS: dict[type, Form] = {
    str: str.__str__,
    int: int,
    float: float,
    enum.Enum: lambda value: value.value,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: datetime.timedelta.total_seconds,
    uuid.UUID: str,
    PurePath: PurePath.as_posix,
    UserString: str,
    bytes: text_of,
    bytearray: text_of,
    memoryview: text_of,
}
