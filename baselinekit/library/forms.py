"""What the values of other libraries are as JSON. No library is imported for that: its values are known by
their names, and by those that they have."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from baselinekit.errors import CannotReplay
from baselinekit.model.values import Json


class NoFormError(Exception):
    """Why a value of a known kind cannot be written, and what to do."""


Form = Callable[[Any], object]
_NOTHING = frozenset(("NaTType", "NAType"))
_TEXTS = frozenset(
    (
        "_BaseUrl",
        "_BaseMultiHostUrl",
        "Url",
        "MultiHostUrl",
        "URL",
        "Period",
        "Interval",
        "ZoneInfo",
        "Promise",
    )
)
_TEXTS_OF = ("pydantic", "httpx", "yarl", "starlette", "pandas", "zoneinfo", "django")


def form_of(value: Any) -> Form | None:
    """How such a value becomes one that is nearer to JSON."""
    return next((form for fits, form in _FORMS if fits(value)), None)


def text_of(data: bytes) -> object:
    """Text where it is text, else base64."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        import base64

        return {"base64": base64.b64encode(data).decode()}


# By what a value is recognised. A class is asked, for there are objects that have whatever one asks for.


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda value: all(hasattr(type(value), name) for name in names)


def _of(*libraries: str, has: str = "", name: str = "") -> Callable[[Any], bool]:
    """Whether a value's class, or one that it is made of, comes from one of these libraries; and has this, or
    is called so."""

    folders = tuple(f"{one}." for one in libraries)

    def fits(value: Any) -> bool:
        kind = type(value)
        if has and not hasattr(kind, has):
            return False
        return any(
            f"{one.__module__}.".startswith(folders) and name in ("", one.__name__) for one in kind.__mro__
        )

    return fits


def _is_text(value: Any) -> bool:
    return any(
        one.__module__ == "ipaddress" or (one.__name__ in _TEXTS and one.__module__.startswith(_TEXTS_OF))
        for one in type(value).__mro__
    )


def is_missing(value: Any) -> bool:
    """pandas has values of its own for that, of which one is called a datetime."""
    kind = type(value)
    return kind.__name__ in _NOTHING and kind.__module__.startswith("pandas")


def _is_response(value: Any) -> bool:
    return isinstance(getattr(value, "status_code", None), int) and hasattr(value, "headers")


# Responses: status and body, read as `baselinekit compare` reads an answer.


def _response(value: Any) -> object:
    kind = str(value.headers.get("content-type") or "")
    return {"status": int(value.status_code), "body": body_of(_content(value), kind)}


def _content(value: Any) -> bytes:
    if hasattr(type(value), "streaming_content"):
        if value.is_async:
            raise NoFormError("is a stream that nobody has read: compare what its client receives")
        data: bytes = b"".join(value.streaming_content)
        value.streaming_content = [data]  # whoever reads on finds it still there
        return data
    for name in ("content", "data", "body"):
        body: Any = getattr(value, name, None)
        if isinstance(body, bytes | bytearray | memoryview):
            return bytes(body)
        if isinstance(body, str):
            return body.encode()
    raise NoFormError(
        "is a response without a body in it, perhaps a stream: compare what its client receives"
    )


def body_of(data: bytes, content_type: str) -> object:
    from baselinekit.kinds.bodies import form_of as body_form, read_body

    form = body_form(content_type)
    if form.name == "json":
        import json

        try:
            return json.loads(data, parse_float=Decimal)
        except ValueError:
            pass
    if form.name == "bytes":
        return text_of(data)
    try:
        value = read_body(data, content_type).value
    except CannotReplay:  # it is not what it is called
        return text_of(data)
    return text_of(data) if form.name == "text" and not isinstance(value, str) else value


# Mappings with several values for a key.


def _grouped(pairs: Iterable[tuple[object, object]]) -> dict[object, object]:
    found: dict[object, list[object]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: values if values[1:] else values[0] for key, values in found.items()}


# numpy.


def _array(value: Any) -> Json:
    kind = value.dtype.kind
    if kind == "M":
        return _each(value.astype(str).tolist(), _moment)
    if kind == "m":
        numbers = value.astype("timedelta64[ns]").astype("int64").tolist()
        return _each(numbers, lambda number: None if number == -(2**63) else number / 1_000_000_000)
    if value.dtype.names:
        return _each(value.tolist(), lambda row: dict(zip(value.dtype.names, row, strict=True)))
    return value.tolist()


def _each(value: Any, form: Callable[[Any], Json]) -> Json:
    """Of what an array of any shape holds."""
    return [_each(one, form) for one in value] if isinstance(value, list) else form(value)


def _moment(text: str) -> Json:
    """As dates are written, without the zeros that fill up a unit."""
    if text == "NaT":
        return None
    return text.rstrip("0").rstrip(".") if "." in text else text


# pandas: what is missing is null, and an index that says something is kept.


def _frame(value: Any) -> list[dict[str, Json]]:
    names = list(value.columns)
    if any(isinstance(name, tuple) for name in names):
        raise NoFormError("has columns of several levels: make one of them, columns.map('.'.join)")
    columns = _index(value.index)
    for number, name in enumerate(names):
        if str(name) in columns:
            raise NoFormError(f"has two columns that are called {str(name)!r}: rename one")
        columns[str(name)] = _cells(value.iloc[:, number])
    if not columns:
        return [{} for _ in range(len(value))]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _series(value: Any) -> object:
    index = _index(value.index)
    cells = _cells(value)
    if not index:
        return cells
    if len(index) == 1 and value.index.is_unique and not value.index.hasnans:
        return dict(zip(value.index.tolist(), cells, strict=True))
    name = "value" if value.name is None or str(value.name) in index else str(value.name)
    columns = {**index, name: cells}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _index(index: Any) -> dict[str, list[Json]]:
    """The labels of rows; none where they are counted only."""
    if type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return {}
    levels = range(index.nlevels)
    names = [
        str(name) if name is not None else f"level_{level}" if len(levels) > 1 else "index"
        for level, name in zip(levels, index.names, strict=True)
    ]
    return {name: _cells(index.get_level_values(level)) for level, name in enumerate(names)}


def _cells(values: Any) -> list[Json]:
    if hasattr(values, "levels"):  # an index of tuples
        return [list(one) for one in values.tolist()]
    missing = values.isna().tolist()
    return [None if gone else value for gone, value in zip(missing, values.tolist(), strict=True)]


# Classes that say which fields they have.


def _attrs(value: Any) -> Iterator[tuple[str, object]]:
    for one in type(value).__attrs_attrs__:
        yield one.name, getattr(value, one.name)


_FORMS: tuple[tuple[Callable[[Any], bool], Form], ...] = (
    (_has("__attrs_attrs__"), lambda value: dict(_attrs(value))),
    (_has("model_dump", "model_fields_set"), lambda value: value.model_dump()),
    (_has("dict", "__fields__", "__validators__"), lambda value: value.dict()),  # pydantic 1
    (_has("get_secret_value"), str),  # pydantic hides it there
    (_has("_asdict", "_fields"), lambda value: value._asdict()),
    (_of("pandas", has="iterrows"), _frame),
    (_of("pandas", has="to_frame", name="Series"), _series),
    (_of("pandas", has="isna"), _cells),
    (_of("polars", has="to_dicts"), lambda value: value.to_dicts()),
    (_of("polars", has="to_list"), lambda value: value.to_list()),
    (_of("numpy", has="dtype"), _array),
    (_is_text, str),
    (_is_response, _response),
    (_of("django", has="values_list", name="QuerySet"), list),
    (_has("getlist", "lists"), lambda value: dict(value.lists())),  # a QueryDict, a form's data
    (_has("multi_items"), lambda value: _grouped(value.multi_items())),
    (_of("werkzeug", has="to_wsgi_list"), lambda value: _grouped(value.to_wsgi_list())),
    (_of("sqlite3", has="keys"), dict),
    (_of("types", name="SimpleNamespace"), vars),
    (lambda value: isinstance(value, Mapping), dict),
    (_of("collections", name="UserString"), str),
    (lambda value: isinstance(value, Sequence), list),
)
