"""Python values as written in a source or as a `repr`: read as the JSON that the plugin makes of the same
values. Nothing is executed: a value that only running the program could tell is a `LostValue`."""

import ast
import base64
import datetime
import re
import struct
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import isfinite
from typing import Any

from baselinekit.importers.dirtyequals import or_null, placeholder_of, placeholder_of_type
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.values.equality import canonical

MOST_LEVELS = 64


class LostValue(Exception):
    """A value that is not carried over: why not, and what to do. `at`: its line."""

    def __init__(self, message: str, hint: str = "", at: int = 0):
        super().__init__(message)
        self.message, self.hint, self.at = message, hint, at


class PlaceholderText(str):
    """A placeholder, among texts that stand for themselves."""

    __slots__ = ()


def split_placeholders(value: Any) -> tuple[Json, dict[Path, str]]:
    """A value that was read, and its placeholders by their paths."""
    placeholders: dict[Path, str] = {}

    def part(item: Any, path: Path) -> Json:
        if isinstance(item, PlaceholderText):
            placeholders[path] = str(item)
            return None
        if isinstance(item, dict):
            return {key: part(child, (*path, key)) for key, child in item.items()}
        if isinstance(item, list):
            return [part(child, (*path, number)) for number, child in enumerate(item)]
        return item

    return part(value, ()), placeholders


def value_of_repr(text: str, depth: int = 0) -> Any:
    """The value with this `repr`."""
    try:
        tree = ast.parse(_with_calls(text.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unknown_repr(text) from None
    return PythonReader().read(tree.body, depth)


def _unknown_repr(text: str) -> LostValue:
    """The error for the repr of a user's class, of which only the name is known."""
    name = re.match(r"<?\s*(?:class ')?([A-Za-z_][\w.]*)", text)
    message = f"the repr of a {name[1]}" if name else "a repr of no known form"
    return LostValue(f"{message}, which does not say its value", _SERIALIZE_HINT)


_SERIALIZE_HINT = "compare its parts, or say how it is written: @baselinekit.serializer"

# Parts of a repr in angle brackets: members of enums, time zones, classes, objects with their address.

_LITERAL = lazy_pattern(
    r"(?s)[a-zA-Z]{0,2}('''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_MEMBER = lazy_pattern(r"<[A-Za-z_][\w.]*(?:\|[\w.]+)*: ")
_OFFSET = lazy_pattern(r"<DstTzInfo '[^']*' [A-Z]+([+-]\d+):(\d\d):(\d\d)[^>]*>")
_ANY = "<ANY>"


def _with_calls(text: str) -> str:
    """The text with each `<…>` replaced by a call, so that it is valid Python."""
    if "<" not in text:
        return text
    result, position = "", 0
    while position < len(text):
        char = text[position]
        if char in "'\"" and (literal := _LITERAL.match(text, position)):
            result += literal[0]
            position = literal.end()
        elif char != "<":
            result += char
            position += 1
        elif text.startswith(_ANY, position):
            result += "_any_()"
            position += len(_ANY)
        elif text.startswith("<UTC>", position):
            result += "utc"
            position += len("<UTC>")
        elif match := _OFFSET.match(text, position):
            seconds = abs(int(match[1])) * 3600 + int(match[2]) * 60 + int(match[3])
            result += f"timezone(timedelta(seconds={'-' * match[1].startswith('-')}{seconds}))"
            position = match.end()
        elif match := _MEMBER.match(text, position):
            end = closing(text, match.end())
            result += f"_member_({_with_calls(text[match.end() : end])})"
            position = end + 1
        else:
            raise _unknown_repr(text[position:])
    return result


def closing(text: str, position: int) -> int:
    """The end of the bracket that this position is in."""
    depth = 0
    while position < len(text):
        if text[position] in "'\"" and (literal := _LITERAL.match(text, position)):
            position = literal.end()
            continue
        if text[position] == ">" and depth == 0:
            return position
        depth += {"<": 1, ">": -1}.get(text[position], 0)
        position += 1
    raise _unknown_repr(text)


# Texts, bytes and sets, as the plugin writes them.


def of_bytes(data: bytes) -> Json:
    """The text of bytes that are text, else their base64."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def sorted_set(values: list[Any]) -> list[Any]:
    """The values of a set, which has no order of its own, sorted by their JSON."""
    return sorted(values, key=lambda value: canonical(split_placeholders(value)[0]))


def key_of(value: Any) -> str:
    """A key as a text, as in JSON."""
    if isinstance(value, PlaceholderText | dict | list):
        raise LostValue("a key that is no text and no number", "write it as a text")
    return value if isinstance(value, str) else canonical(value)


def finite(value: float) -> float:
    if isfinite(value):
        return value
    raise LostValue(f"{value}, which JSON does not have", "compare it as a text")


class PythonReader:
    """Reads expressions. `member`: finds the value of an enum member; `record`: finds the fields of a call
    that makes a record, None if a `repr` states all of them itself; `checks`: whether names such as IsUUID
    are those of dirty-equals; `outside`: reads the value of an `external(…)`."""

    def __init__(
        self,
        member: Callable[[str], ast.expr | None] = lambda path: None,
        record: Callable[[ast.Call], Mapping[str, ast.expr]] | None = None,
        checks: bool = False,
        outside: Callable[[str], Any] | None = None,
    ):
        self._member, self._record, self._checks, self._outside = member, record, checks, outside

    def read(self, node: ast.expr, depth: int = 0) -> Any:
        if depth > MOST_LEVELS:
            raise LostValue(f"more than {MOST_LEVELS} levels", "compare the parts that count")
        try:
            return self._value(node, depth)
        except LostValue as error:
            if not error.at:
                error.at = getattr(node, "lineno", 0)
            raise
        except (ValueError, TypeError, ArithmeticError, InvalidOperation):
            raise LostValue(
                "a value that cannot be made", _SERIALIZE_HINT, getattr(node, "lineno", 0)
            ) from None

    def _value(self, node: ast.expr, depth: int) -> Any:
        match node:
            case ast.Constant():
                return self._constant(node.value)
            case ast.UnaryOp(
                op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float() as number)
            ):
                return finite(number * (-1 if isinstance(node.op, ast.USub) else 1))
            case ast.BinOp(op=ast.Add()):
                left, right = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
                if type(left) is str and type(right) is str:
                    return left + right
                raise LostValue("a value that is computed", "write the value itself")
            case ast.BinOp(op=ast.BitOr(), right=ast.Constant(value=None)):
                text = self.read(node.left, depth + 1)
                if isinstance(text, PlaceholderText):
                    return PlaceholderText(or_null(text))
                raise LostValue("a value that is computed", "write the value itself")
            case ast.BinOp(op=ast.BitOr(), left=ast.Attribute() | ast.BinOp(), right=ast.Attribute()):
                left, right = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
                if type(left) is int and type(right) is int:  # flags of an enum
                    return left | right
                raise LostValue("a value that is computed", "write the value itself")
            case ast.List() | ast.Tuple():
                return [self.read(item, depth + 1) for item in node.elts]
            case ast.Set():
                return sorted_set([self.read(item, depth + 1) for item in node.elts])
            case ast.Dict():
                return dict(self._pairs(node, depth))
            case ast.JoinedStr() if all(isinstance(part, ast.Constant) for part in node.values):
                return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            case ast.JoinedStr():
                raise LostValue("an f-string, which only the test's run can fill", "write the text itself")
            case ast.Name() | ast.Attribute():
                return self._named(node, depth)
            case ast.Call():
                return self._call(node, depth)
        raise LostValue("a value that is computed", "write the value itself")

    def _constant(self, value: Any) -> Any:
        if value is Ellipsis:
            raise LostValue("`...` in the place of a value", "the first run of pytest writes it")
        if isinstance(value, bytes):
            return of_bytes(value)
        if isinstance(value, complex):
            raise LostValue("a complex number", _SERIALIZE_HINT)
        return finite(value) if isinstance(value, float) else value

    def _pairs(self, node: ast.Dict, depth: int) -> Iterator[tuple[str, Any]]:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise LostValue("`**` of another value", "write its keys out")
            yield key_of(self.read(key, depth + 1)), self.read(value, depth + 1)

    def _named(self, node: ast.Name | ast.Attribute, depth: int) -> Any:
        path = dotted(node)
        if (member := self._member(path)) is not None:
            return self.read(member, depth + 1)
        last = path.rpartition(".")[2]
        if last in ("nan", "inf", "infty"):
            raise LostValue(f"{last}, which JSON does not have", "compare it as a text")
        if last in ("True_", "False_"):
            return last == "True_"
        if last == "ANY":
            return PlaceholderText("<<any>>")
        if self._checks and (text := placeholder_of(last, [], {})) is not None:
            return PlaceholderText(text)
        raise LostValue(f"`{path}`, which only the test's run can tell", "write the value itself")

    def _call(self, node: ast.Call, depth: int) -> Any:
        path = dotted(node.func)
        name = path.rpartition(".")[2]
        if not name:
            raise LostValue("a value that is computed", "write the value itself")
        if name == "_any_":
            return PlaceholderText("<<any>>")
        if self._checks and name.startswith(("Is", "Has", "Any", "Contains")):
            return self._check(name, node, depth)
        if name == "external" and self._outside is not None and len(node.args) == 1:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                return self._outside(argument.value)
        if any(isinstance(argument, ast.Starred) for argument in node.args) or None in [
            argument.arg for argument in node.keywords
        ]:
            raise LostValue("`*` of another value", "write it out")
        if name in _MOMENTS:
            return _MOMENTS[name](node)
        if name in _CONSTRUCTORS and (node.args or not node.keywords):
            return _CONSTRUCTORS[name](self, node, depth)
        if self._record is not None:
            return {key: self.read(value, depth + 1) for key, value in self._record(node).items()}
        if node.args:
            raise LostValue(f"{path}(…), which does not say what its values are called", _SERIALIZE_HINT)
        return {str(argument.arg): self.read(argument.value, depth + 1) for argument in node.keywords}

    def _check(self, name: str, node: ast.Call, depth: int) -> Any:
        """One of the matchers that stand in the place of a value: `Is(…)`, `HasRepr(…)`, dirty-equals."""
        if name == "Is" and len(node.args) == 1:
            return self.read(node.args[0], depth + 1)
        if name == "HasRepr" and node.args and isinstance(node.args[-1], ast.Constant):
            return value_of_repr(str(node.args[-1].value), depth + 1)
        if name == "IsInstance" and len(node.args) == 1:
            kind = dotted(node.args[0]).rpartition(".")[2]
            return PlaceholderText(placeholder_of_type(kind) or "<<any>>")
        if name in ("IsDict", "IsStrictDict") and (node.args or node.keywords):
            return _mapping(self, node, depth)
        if name in ("IsList", "IsTuple", "IsListOrTuple") and node.args and not node.keywords:
            return [self.read(argument, depth + 1) for argument in node.args]
        try:
            args = [split_placeholders(self.read(argument, depth + 1)) for argument in node.args]
            named = {
                str(argument.arg): split_placeholders(self.read(argument.value, depth + 1))
                for argument in node.keywords
            }
        except LostValue:
            args, named = [(None, {(): ""})], {}
        if not any(places for _, places in (*args, *named.values())):
            plain = {key: value for key, (value, _) in named.items()}
            text = placeholder_of(name, [value for value, _ in args], plain)
            if text is not None:
                return PlaceholderText(text)
        raise LostValue(f"{name}(…), for which no placeholder stands", "write a placeholder, or <<any>>")


def dotted(node: ast.expr) -> str:
    """The dotted name `a.b.c` of an expression; empty if it is computed."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


# Dates and times: made by Python, and written as the plugin does.


def _python_value(node: ast.expr) -> Any:
    """A number, a text, a time zone or a timedelta, as a Python value."""
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp(op=ast.USub()):
            return -_python_value(node.operand)
        case ast.Call():
            name = dotted(node.func).rpartition(".")[2]
            if name == "timedelta":
                return datetime.timedelta(*map(_python_value, node.args), **_keyword_values(node))
            if name == "timezone":
                return datetime.timezone(*map(_python_value, node.args))
            values = [*map(_python_value, node.args), *_keyword_values(node).values()]
            if name in ("ZoneInfo", "TzInfo", "tzutc") and values in ([], ["UTC"], [0], ["Etc/UTC"]):
                return datetime.UTC
            if name == "TzInfo" and len(values) == 1 and isinstance(values[0], int):
                return datetime.timezone(datetime.timedelta(seconds=values[0]))
        case ast.Name() | ast.Attribute():
            if dotted(node).rpartition(".")[2] in ("utc", "UTC"):
                return datetime.UTC
    raise LostValue("a time in a zone whose offset is not stated", "write it as an ISO 8601 text")


def _keyword_values(node: ast.Call) -> dict[str, Any]:
    return {str(keyword.arg): _python_value(keyword.value) for keyword in node.keywords}


def _moment(kind: Callable[..., Any]) -> Callable[[ast.Call], Json]:
    def convert(node: ast.Call) -> Json:
        text: str = kind(*map(_python_value, node.args), **_keyword_values(node)).isoformat()
        return text

    return convert


def _seconds(node: ast.Call) -> Json:
    return datetime.timedelta(*map(_python_value, node.args), **_keyword_values(node)).total_seconds()


def _timestamp(node: ast.Call) -> Json:
    """A time of pandas: `Timestamp('2020-01-01 00:00:00')`, with its offset in the text."""
    return datetime.datetime.fromisoformat(str(_python_value(node.args[0]))).isoformat()


_MOMENTS: Mapping[str, Callable[[ast.Call], Json]] = {
    "datetime": _moment(datetime.datetime),
    "FakeDatetime": _moment(datetime.datetime),
    "date": _moment(datetime.date),
    "FakeDate": _moment(datetime.date),
    "time": _moment(datetime.time),
    "timedelta": _seconds,
    "Timestamp": _timestamp,
}

# Other classes whose repr is `Name(…)`.


def _first_argument(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """The value of the first argument."""
    return reader.read(node.args[0], depth + 1) if node.args else []


def _items(reader: PythonReader, node: ast.Call, depth: int) -> list[Any]:
    value = _first_argument(reader, node, depth)
    if isinstance(value, list):
        return value
    raise LostValue(f"{dotted(node.func)}(…) of what is no list", _SERIALIZE_HINT)


def _set(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return sorted_set(_items(reader, node, depth))


def _mapping(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`OrderedDict([('a', 1)])`, `defaultdict(list, {…})`, `dict(a=1)`."""
    value = reader.read(node.args[-1], depth + 1) if node.args else {}
    if isinstance(value, list):
        value = {key_of(key): item for key, item in value}
    if not isinstance(value, dict):
        raise LostValue(f"{dotted(node.func)}(…) of what is no mapping", _SERIALIZE_HINT)
    return value | {str(keyword.arg): reader.read(keyword.value, depth + 1) for keyword in node.keywords}


def _number(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`Decimal('1.50')`, which keeps its digits."""
    number = Decimal(str(_python_value(node.args[0])))
    if not number.is_finite():
        raise LostValue(f"{number}, which JSON does not have", "compare it as a text")
    return number


def _float(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`float('nan')`, `float64(1.5)`; one of fewer bits is rounded to these."""
    value = finite(float(reader.read(node.args[0], depth + 1) if node.args else 0.0))
    form = {"float32": "f", "float16": "e"}.get(dotted(node.func).rpartition(".")[2])
    return value if form is None else _round_to_form(value, form)


def _array(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`array([1.5, 2.5], dtype=float32)`."""
    items = _items(reader, node, depth)
    form = next((dotted(keyword.value) for keyword in node.keywords if keyword.arg == "dtype"), "")
    form = {"float32": "f", "float16": "e"}.get(form, "")
    return [_round_to_form(item, form) for item in items] if form else items


def _round_to_form(value: Any, form: str) -> Any:
    if isinstance(value, list):
        return [_round_to_form(item, form) for item in value]
    return struct.unpack(form, struct.pack(form, value))[0]


def _fraction(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return str(Fraction(*map(_python_value, node.args)))


def _text(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`UUID('…')`, `PosixPath('…')`."""
    value = _first_argument(reader, node, depth)
    if isinstance(value, str) and len(node.args) == 1 and not node.keywords:
        return value
    raise LostValue(f"{dotted(node.func)}(…) of what is no text", _SERIALIZE_HINT)


def _windows(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return str(_text(reader, node, depth)).replace("\\", "/")


def _id(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    try:
        return str(uuid.UUID(str(_text(reader, node, depth))))
    except ValueError:
        raise LostValue("a UUID that is none", "write it as a text") from None


def _value_or_empty(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return _first_argument(reader, node, depth) if node.args else ""


_CONSTRUCTORS: Mapping[str, Callable[[PythonReader, ast.Call, int], Any]] = {
    **dict.fromkeys(("list", "tuple", "deque"), _items),
    "array": _array,
    **dict.fromkeys(("set", "frozenset"), _set),
    **dict.fromkeys(
        ("dict", "OrderedDict", "defaultdict", "Counter", "mappingproxy", "MappingProxyType"), _mapping
    ),
    **dict.fromkeys(("float", "float64", "float32", "float16"), _float),
    **dict.fromkeys(("_member_", "int", "bool"), _first_argument),
    **dict.fromkeys((f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)), _first_argument),
    **dict.fromkeys(("Path", "PosixPath", "PurePosixPath", "PurePath", "str_"), _text),
    **dict.fromkeys(("WindowsPath", "PureWindowsPath"), _windows),
    **dict.fromkeys(("bytes", "bytearray", "memoryview", "str"), _value_or_empty),
    "Decimal": _number,
    "Fraction": _fraction,
    "UUID": _id,
}
