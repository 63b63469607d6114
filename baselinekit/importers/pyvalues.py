"""Python values as somebody wrote them down, in a source or as a `repr`: read as the JSON that the plugin
makes of the same values. Nothing is executed: what only its program could tell is `LostValue`."""

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
from baselinekit.tree.equality import canonical

MOST_LEVELS = 64


class LostValue(Exception):
    """A value that is not carried over: why not, and what to do. `at`: the line that it stands on."""

    def __init__(self, what: str, hint: str = "", at: int = 0):
        super().__init__(what)
        self.what, self.hint, self.at = what, hint, at


class PlaceholderText(str):
    """A placeholder, among texts that stand for themselves."""

    __slots__ = ()


def parted(value: Any) -> tuple[Json, dict[Path, str]]:
    """A value that was read, and its placeholders by their paths."""
    found: dict[Path, str] = {}

    def part(item: Any, path: Path) -> Json:
        if isinstance(item, PlaceholderText):
            found[path] = str(item)
            return None
        if isinstance(item, dict):
            return {key: part(child, (*path, key)) for key, child in item.items()}
        if isinstance(item, list):
            return [part(child, (*path, number)) for number, child in enumerate(item)]
        return item

    return part(value, ()), found


def value_of_repr(text: str, depth: int = 0) -> Any:
    """The value whose `repr` a text is."""
    try:
        tree = ast.parse(_with_calls(text.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _foreign(text) from None
    return PythonReader().read(tree.body, depth)


def _foreign(text: str) -> LostValue:
    """The repr of a class of the user's own, of which only the name is told."""
    name = re.match(r"<?\s*(?:class ')?([A-Za-z_][\w.]*)", text)
    what = f"the repr of a {name[1]}" if name else "a repr of no known form"
    return LostValue(f"{what}, which does not say its value", _SAY_HOW)


_SAY_HOW = "compare its parts, or say how it is written: @baselinekit.serializer"

# What a repr writes in angle brackets: members of enums, time zones, classes, objects with their address.

_LITERAL = lazy_pattern(
    r"(?s)[a-zA-Z]{0,2}('''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_MEMBER = lazy_pattern(r"<[A-Za-z_][\w.]*(?:\|[\w.]+)*: ")
_OFFSET = lazy_pattern(r"<DstTzInfo '[^']*' [A-Z]+([+-]\d+):(\d\d):(\d\d)[^>]*>")
_ANY = "<ANY>"


def _with_calls(text: str) -> str:
    """The text with a call in the place of each `<…>`, so that Python's own grammar reads it."""
    if "<" not in text:
        return text
    written, position = "", 0
    while position < len(text):
        char = text[position]
        if char in "'\"" and (literal := _LITERAL.match(text, position)):
            written += literal[0]
            position = literal.end()
        elif char != "<":
            written += char
            position += 1
        elif text.startswith(_ANY, position):
            written += "_any_()"
            position += len(_ANY)
        elif text.startswith("<UTC>", position):
            written += "utc"
            position += len("<UTC>")
        elif found := _OFFSET.match(text, position):
            seconds = abs(int(found[1])) * 3600 + int(found[2]) * 60 + int(found[3])
            written += f"timezone(timedelta(seconds={'-' * found[1].startswith('-')}{seconds}))"
            position = found.end()
        elif found := _MEMBER.match(text, position):
            end = closing(text, found.end())
            written += f"_member_({_with_calls(text[found.end() : end])})"
            position = end + 1
        else:
            raise _foreign(text[position:])
    return written


def closing(text: str, position: int) -> int:
    """Where the bracket ends in which this position is."""
    depth = 0
    while position < len(text):
        if text[position] in "'\"" and (literal := _LITERAL.match(text, position)):
            position = literal.end()
            continue
        if text[position] == ">" and depth == 0:
            return position
        depth += {"<": 1, ">": -1}.get(text[position], 0)
        position += 1
    raise _foreign(text)


# Texts, bytes and sets, as the plugin writes them.


def of_bytes(data: bytes) -> Json:
    """Text where it is text, else base64."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def sorted_set(values: list[Any]) -> list[Any]:
    """A set has no order of its own: that of its values as JSON."""
    return sorted(values, key=lambda value: canonical(parted(value)[0]))


def key_of(value: Any) -> str:
    """A key as JSON has it."""
    if isinstance(value, PlaceholderText | dict | list):
        raise LostValue("a key that is no text and no number", "write it as a text")
    return value if isinstance(value, str) else canonical(value)


def finite(value: float) -> float:
    if isfinite(value):
        return value
    raise LostValue(f"{value}, which JSON does not have", "compare it as a text")


class PythonReader:
    """Reads expressions. `member`: what a member of an enum stands for; `record`: the fields of a call that
    makes a record, None where a `repr` says all of them itself; `checks`: whether names such as IsUUID are
    those of dirty-equals; `outside`: gives the value of an `external(…)`."""

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
            raise LostValue("a value that cannot be made", _SAY_HOW, getattr(node, "lineno", 0)) from None

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
            raise LostValue("a complex number", _SAY_HOW)
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
            given = node.args[0]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                return self._outside(given.value)
        if any(isinstance(one, ast.Starred) for one in node.args) or None in [
            one.arg for one in node.keywords
        ]:
            raise LostValue("`*` of another value", "write it out")
        if name in _MOMENTS:
            return _MOMENTS[name](node)
        if name in _MADE and (node.args or not node.keywords):
            return _MADE[name](self, node, depth)
        if self._record is not None:
            return {key: self.read(value, depth + 1) for key, value in self._record(node).items()}
        if node.args:
            raise LostValue(f"{path}(…), which does not say what its values are called", _SAY_HOW)
        return {str(one.arg): self.read(one.value, depth + 1) for one in node.keywords}

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
            return [self.read(one, depth + 1) for one in node.args]
        try:
            given = [parted(self.read(one, depth + 1)) for one in node.args]
            named = {str(one.arg): parted(self.read(one.value, depth + 1)) for one in node.keywords}
        except LostValue:
            given, named = [(None, {(): ""})], {}
        if not any(places for _, places in (*given, *named.values())):
            plain = {key: value for key, (value, _) in named.items()}
            text = placeholder_of(name, [value for value, _ in given], plain)
            if text is not None:
                return PlaceholderText(text)
        raise LostValue(f"{name}(…), for which no placeholder stands", "write a placeholder, or <<any>>")


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name; nothing of what is computed."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


# Moments: made as Python makes them, and written as the plugin does.


def _plain(node: ast.expr) -> Any:
    """A number, a text, a zone or a length of time, as a value of Python."""
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp(op=ast.USub()):
            return -_plain(node.operand)
        case ast.Call():
            name = dotted(node.func).rpartition(".")[2]
            if name == "timedelta":
                return datetime.timedelta(*map(_plain, node.args), **_named_plain(node))
            if name == "timezone":
                return datetime.timezone(*map(_plain, node.args))
            given = [*map(_plain, node.args), *_named_plain(node).values()]
            if name in ("ZoneInfo", "TzInfo", "tzutc") and given in ([], ["UTC"], [0], ["Etc/UTC"]):
                return datetime.UTC
            if name == "TzInfo" and len(given) == 1 and isinstance(given[0], int):
                return datetime.timezone(datetime.timedelta(seconds=given[0]))
        case ast.Name() | ast.Attribute():
            if dotted(node).rpartition(".")[2] in ("utc", "UTC"):
                return datetime.UTC
    raise LostValue("a time in a zone whose offset is not stated", "write it as an ISO 8601 text")


def _named_plain(node: ast.Call) -> dict[str, Any]:
    return {str(one.arg): _plain(one.value) for one in node.keywords}


def _moment(kind: Callable[..., Any]) -> Callable[[ast.Call], Json]:
    def made(node: ast.Call) -> Json:
        text: str = kind(*map(_plain, node.args), **_named_plain(node)).isoformat()
        return text

    return made


def _length(node: ast.Call) -> Json:
    return datetime.timedelta(*map(_plain, node.args), **_named_plain(node)).total_seconds()


def _stamp(node: ast.Call) -> Json:
    """A time of pandas: `Timestamp('2020-01-01 00:00:00')`, its offset in the text."""
    return datetime.datetime.fromisoformat(str(_plain(node.args[0]))).isoformat()


_MOMENTS: Mapping[str, Callable[[ast.Call], Json]] = {
    "datetime": _moment(datetime.datetime),
    "FakeDatetime": _moment(datetime.datetime),
    "date": _moment(datetime.date),
    "FakeDate": _moment(datetime.date),
    "time": _moment(datetime.time),
    "timedelta": _length,
    "Timestamp": _stamp,
}

# What other classes write as `Name(…)`.


def _one(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """The value in the brackets."""
    return reader.read(node.args[0], depth + 1) if node.args else []


def _items(reader: PythonReader, node: ast.Call, depth: int) -> list[Any]:
    value = _one(reader, node, depth)
    if isinstance(value, list):
        return value
    raise LostValue(f"{dotted(node.func)}(…) of what is no list", _SAY_HOW)


def _set(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return sorted_set(_items(reader, node, depth))


def _mapping(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`OrderedDict([('a', 1)])`, `defaultdict(list, {…})`, `dict(a=1)`."""
    value = reader.read(node.args[-1], depth + 1) if node.args else {}
    if isinstance(value, list):
        value = {key_of(key): item for key, item in value}
    if not isinstance(value, dict):
        raise LostValue(f"{dotted(node.func)}(…) of what is no mapping", _SAY_HOW)
    return value | {str(one.arg): reader.read(one.value, depth + 1) for one in node.keywords}


def _number(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`Decimal('1.50')`, which keeps its digits."""
    number = Decimal(str(_plain(node.args[0])))
    if not number.is_finite():
        raise LostValue(f"{number}, which JSON does not have", "compare it as a text")
    return number


def _float(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`float('nan')`, `float64(1.5)`; one of fewer bits is what its digits stand for."""
    value = finite(float(reader.read(node.args[0], depth + 1) if node.args else 0.0))
    form = {"float32": "f", "float16": "e"}.get(dotted(node.func).rpartition(".")[2])
    return value if form is None else _of_bits(value, form)


def _array(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`array([1.5, 2.5], dtype=float32)`."""
    items = _items(reader, node, depth)
    form = next((dotted(one.value) for one in node.keywords if one.arg == "dtype"), "")
    form = {"float32": "f", "float16": "e"}.get(form, "")
    return [_of_bits(item, form) for item in items] if form else items


def _of_bits(value: Any, form: str) -> Any:
    if isinstance(value, list):
        return [_of_bits(item, form) for item in value]
    return struct.unpack(form, struct.pack(form, value))[0]


def _fraction(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return str(Fraction(*map(_plain, node.args)))


def _text(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    """`UUID('…')`, `PosixPath('…')`."""
    value = _one(reader, node, depth)
    if isinstance(value, str) and len(node.args) == 1 and not node.keywords:
        return value
    raise LostValue(f"{dotted(node.func)}(…) of what is no text", _SAY_HOW)


def _windows(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return str(_text(reader, node, depth)).replace("\\", "/")


def _id(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    try:
        return str(uuid.UUID(str(_text(reader, node, depth))))
    except ValueError:
        raise LostValue("a UUID that is none", "write it as a text") from None


def _empty(reader: PythonReader, node: ast.Call, depth: int) -> Any:
    return _one(reader, node, depth) if node.args else ""


_MADE: Mapping[str, Callable[[PythonReader, ast.Call, int], Any]] = {
    **dict.fromkeys(("list", "tuple", "deque"), _items),
    "array": _array,
    **dict.fromkeys(("set", "frozenset"), _set),
    **dict.fromkeys(
        ("dict", "OrderedDict", "defaultdict", "Counter", "mappingproxy", "MappingProxyType"), _mapping
    ),
    **dict.fromkeys(("float", "float64", "float32", "float16"), _float),
    **dict.fromkeys(("_member_", "int", "bool"), _one),
    **dict.fromkeys((f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)), _one),
    **dict.fromkeys(("Path", "PosixPath", "PurePosixPath", "PurePath", "str_"), _text),
    **dict.fromkeys(("WindowsPath", "PureWindowsPath"), _windows),
    **dict.fromkeys(("bytes", "bytearray", "memoryview", "str"), _empty),
    "Decimal": _number,
    "Fraction": _fraction,
    "UUID": _id,
}
