"""Reads YAML 1.1 like PyYAML's safe loader, for files of other tools. Its types become those of Python. A tag
of any other type builds nothing: it is kept beside its value."""

import base64
import binascii
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from baselinekit.documents.jsontext import MAX_DEPTH, MAX_DIGITS
from baselinekit.documents.libyaml import MAX_ANCHORS, MAX_EXPANDED, nodes
from baselinekit.documents.text import ALIAS, DOCUMENT, END, MAPPING, SCALAR
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern

_TAGS = "tag:yaml.org,2002:"
_MAX_NODES = 2_000_000


@frozen
class OddNode:
    """A value with a tag that is not of YAML's own types, such as `!!python/object/new:_io.BytesIO`."""

    tag: str
    value: Any
    line: int


YamlNode = tuple[int, int, str, str | None, bool, str | None]


class YamlSet(list[Any]):
    """The members of a `!!set`."""


_BOOLS = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS = ("", "~", "null", "Null", "NULL")
_INT = lazy_pattern(r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*(?::[0-5]?[0-9])*|0x[0-9a-fA-F_]+)")
_FLOAT = lazy_pattern(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_TIME = lazy_pattern(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?"
    r"(?:[ \t]*(Z|([-+])(\d\d?)(?::?(\d\d))?))?)?"
)


def load(body: str, file: str) -> list[Any]:
    """Load the values of a file's documents."""
    return Yaml11Reader(body, file).documents()


class Yaml11Reader:
    """Reads one file."""

    def __init__(self, body: str, file: str):
        self._file, self._nodes = file, nodes(body)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = self._expanded = self._named = 0

    def documents(self) -> list[Any]:
        documents: list[Any] = []
        try:
            for kind, *_ in self._nodes:
                if kind == DOCUMENT:
                    self._anchors.clear()
                    documents.append(self._value(next(self._nodes), 0))
        except InvalidInput as error:  # from libyaml.py, without the file
            problem = error.problems[0]
            line = problem.place.line if problem.place is not None else None
            raise InvalidInput(replace(problem, place=Place(self._file, line))) from None
        return documents

    def _refuse(self, message: str, hint: str, line: int, code: str = "BK106") -> NoReturn:
        raise InvalidInput(Problem(code, message, hint, Place(self._file, line)))

    def _value(self, node: YamlNode, depth: int) -> Any:
        kind, line, text, tag, plain, anchor = node
        self._count += 1
        if self._count > _MAX_NODES:
            self._refuse(f"more than {_MAX_NODES:,} values", "split the file", line)
        if depth > MAX_DEPTH:
            self._refuse(f"nested more than {MAX_DEPTH} levels deep", "leave the file out", line)
        if kind == ALIAS:
            return self._alias(text, line)
        count_before = self._count
        if anchor is not None:
            self._anchors.pop(anchor, None)
        if kind == SCALAR:
            value = self._scalar(text, tag, plain, line)
        else:
            items = [*self._items(depth)]
            value = self._mapping(items, line) if kind == MAPPING else items
            value = self._tagged(value, tag, line)
        if anchor is not None:
            self._named += 1
            if self._named > MAX_ANCHORS:
                self._refuse(f"more than {MAX_ANCHORS:,} anchors", "write the values out", line)
            self._anchors[anchor] = value, self._count - count_before + 1
        return value

    def _items(self, depth: int) -> Iterator[Any]:
        for node in self._nodes:
            if node[0] == END:
                return
            yield self._value(node, depth + 1)

    def _alias(self, name: str, line: int) -> Any:
        if name not in self._anchors:
            self._refuse(f"the alias *{name} stands in its own value, or for none", "write it out", line)
        value, size = self._anchors[name]
        self._expanded += size
        self._count += size
        if self._expanded > MAX_EXPANDED:
            self._refuse(f"aliases that expand to more than {MAX_EXPANDED:,} values", "write them out", line)
        return value

    def _mapping(self, items: list[Any], line: int) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        entries: dict[Any, Any] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            key = _to_hashable(key)
            if isinstance(key, dict | OddNode):
                self._refuse("a key that is no text and no number", "write it as a text", line, "BK107")
            if key == "<<" and isinstance(value, dict | list):
                for source in [value] if isinstance(value, dict) else reversed(value):
                    merged |= source if isinstance(source, dict) else {}
            else:
                entries[key] = value
        return {**merged, **entries} if merged else entries

    def _scalar(self, text: str, tag: str | None, plain: bool, line: int) -> Any:
        if tag is None:
            return self._plain(text, line) if plain else text
        name = tag.removeprefix(_TAGS)
        try:
            if name in ("str", "!", "python/str", "python/unicode"):
                return text
            if name == "binary" or name == "python/bytes":
                return base64.b64decode("".join(text.split()), validate=True)
            if name in ("int", "float", "bool", "null", "timestamp", "python/int", "python/float"):
                value = self._plain(text, line)
                return float(value) if name.endswith("float") else value
        except (ValueError, TypeError, binascii.Error):
            self._refuse(f"what is tagged !!{name} and is none", "mend it", line, "BK107")
        return OddNode(name, text, line)

    def _tagged(self, value: Any, tag: str | None, line: int) -> Any:
        name = (tag or "").removeprefix(_TAGS)
        if name in ("", "!", "map", "seq", "python/list", "python/dict", "python/tuple"):
            return value
        if name == "set" and isinstance(value, dict):
            return YamlSet(value)
        if name in ("omap", "pairs") and isinstance(value, list):
            return {key: item for entry in value if isinstance(entry, dict) for key, item in entry.items()}
        return OddNode(name, value, line)

    def _plain(self, text: str, line: int) -> Any:
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        first = text[0]
        if first not in "+-.0123456789":
            return text
        for pattern, parse in _PARSERS.items():
            if pattern.fullmatch(text):
                if len(text) > MAX_DIGITS:
                    self._refuse(f"a number of more than {MAX_DIGITS:,} digits", "write it as a text", line)
                try:
                    return parse(text)
                except ValueError:
                    return text
        return text


def _to_hashable(key: Any) -> Any:
    """Return a list as a tuple, so that it can be a key, as in a `!!set`."""
    return tuple(map(_to_hashable, key)) if isinstance(key, list) else key


def _parse_int(text: str) -> int:
    text = text.replace("_", "")
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-")
    if ":" in digits:
        value = 0
        for part in digits.split(":"):
            value = value * 60 + int(part)
        return sign * value
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits[0] == "0" and digits != "0" else 10)
    return sign * int(digits[2:] if base in (2, 16) else digits, base)


def _parse_float(text: str) -> float:
    text = text.replace("_", "").lower()
    if text.lstrip("+-") in (".inf", ".nan"):
        return float(text.replace(".", ""))
    if ":" not in text:
        return float(text)
    value = 0.0
    for part in text.lstrip("+-").split(":"):
        value = value * 60 + float(part)
    return -value if text[0] == "-" else value


def _parse_time(text: str) -> datetime.date:
    match = _TIME.fullmatch(text)
    assert match is not None
    year, month, day = (int(match[number]) for number in (1, 2, 3))
    if match[4] is None:
        return datetime.date(year, month, day)
    fraction = int((match[7] or "0").ljust(6, "0")[:6])
    zone = None
    if match[8] == "Z":
        zone = datetime.UTC
    elif match[8]:
        offset = datetime.timedelta(hours=int(match[10]), minutes=int(match[11] or 0))
        zone = datetime.timezone(-offset if match[9] == "-" else offset)
    hour, minute, second = (int(match[number]) for number in (4, 5, 6))
    return datetime.datetime(year, month, day, hour, minute, second, fraction, zone)


_PARSERS: Mapping["re.Pattern[str]", Callable[[str], Any]] = {
    _INT: _parse_int,
    _FLOAT: _parse_float,
    _TIME: _parse_time,
}
