"""The amber files of syrupy: named snapshots of Python values, written out line by line."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from baselinekit.importers.dirtyequals import placeholder_of_type
from baselinekit.importers.pyvalues import (
    MOST_LEVELS,
    LostValue,
    PlaceholderText,
    closing,
    key_of,
    sorted_set,
    value_of_repr,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.structs import Struct

_STEP = "  "
_MARK = "# "
_QUOTES = "'''"

_CONTAINER = lazy_pattern(r"([A-Za-z_][\w.]*|<locals>[\w.]*)\(([\[{]?)")
_FIELD = lazy_pattern(r"([A-Za-z_]\w*)=")
_WORD = lazy_pattern(r"[A-Za-z_]\w*")
_CLOSES = {"[": "])", "{": "})", "": ")"}
_SETS = ("set", "frozenset")
_SEQUENCES = ("tuple", "generator")
_LITERAL = lazy_pattern(r"[a-zA-Z]{0,2}('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")")


class AmberEntry(Struct):
    """One snapshot: its name, the line of that, and the lines of its text without their indentation."""

    name: str
    line: int
    lines: Sequence[str]


def entries(text: str) -> Iterator[AmberEntry]:
    """The snapshots of a file, by the rules of syrupy's own reader."""
    name, start_line, lines = "", 0, list[str]()
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if line.startswith(_MARK):
            key, colon, value = line[len(_MARK) :].partition(":")
            if key.rstrip() == "name" and colon:
                name, start_line, lines = value.strip(), number, []
            elif key.rstrip() == "---" and not colon:
                if name and lines:
                    yield AmberEntry(name, start_line, lines)
                name = ""
        elif name and line.startswith(_STEP):
            lines.append(line[len(_STEP) :])
    if name:
        yield AmberEntry(name, start_line, [])


def value_of(entry: AmberEntry) -> tuple[Any, list[tuple[int, str]]]:
    """The value of a snapshot, with placeholders where a matcher put a class in the place of a value; and the
    classes that became `<<any>>`, each with its line. LostValue if the value cannot be told."""
    if not entry.lines:
        raise LostValue("a snapshot that does not end", "write it anew: pytest --snapshot-update", entry.line)
    reader = _Amber(entry)
    value = reader.whole()
    return value, reader.any_values


class _Amber:
    """Reads the lines of one snapshot as a value."""

    def __init__(self, entry: AmberEntry):
        self._lines, self._first = entry.lines, entry.line + 1
        self._at = 0
        self.any_values: list[tuple[int, str]] = []

    def whole(self) -> Any:
        value, remaining = self.value(self._lines[0], 0)
        if remaining or self._at + 1 < len(self._lines):
            raise self.unreadable("text behind the value", "write it anew: pytest --snapshot-update")
        return value

    def unreadable(self, message: str, hint: str = "") -> LostValue:
        return LostValue(message, hint, self._first + min(self._at, len(self._lines) - 1))

    def value(self, text: str, depth: int, is_key: bool = False) -> tuple[Any, str]:
        """The value that begins with this text of the current line, and the text after it."""
        if depth > MOST_LEVELS:
            raise self.unreadable(f"more than {MOST_LEVELS} levels", "compare the parts that count")
        if text == _QUOTES:
            return self.text(depth)
        if match := _CONTAINER.fullmatch(text):
            return self.container(match[1], match[2], depth)
        start_line = self._at
        written, rest = self.written(text, depth, is_key)
        try:
            return self.leaf(written), rest
        except LostValue as error:
            raise LostValue(error.message, error.hint, self._first + start_line) from None

    def text(self, depth: int) -> tuple[str, str]:
        """A text of several lines. Each of them is deeper than the line that ends it."""
        closing = _STEP * depth + _QUOTES
        deeper = _STEP * (depth + 1) if depth else ""
        lines = list[str]()
        while self._at + 1 < len(self._lines):
            self._at += 1
            line = self._lines[self._at]
            is_end = line == _QUOTES and self._at + 1 == len(self._lines)
            if is_end if not depth else line.startswith(closing):
                return self.dedented("\n".join(lines), deeper), line[len(closing) :]
            lines.append(line)
        raise self.unreadable("a text that does not end", "write it anew: pytest --snapshot-update")

    def dedented(self, text: str, deeper: str) -> str:
        """syrupy indents what Python calls a line, which also ends at a form feed and at other characters."""
        lines = text.splitlines(keepends=True)
        if not all(line.startswith(deeper) for line in lines):
            raise self.unreadable("a text that is indented otherwise", "write it anew: --snapshot-update")
        return "".join(line[len(deeper) :] for line in lines)

    def container(self, name: str, opening: str, depth: int) -> tuple[Any, str]:
        closing, deeper = _STEP * depth + _CLOSES[opening], _STEP * (depth + 1)
        keyed: dict[str, Any] = {}
        rows: list[Any] = []
        is_keyed = False
        while self._at + 1 < len(self._lines):
            self._at += 1
            line = self._lines[self._at]
            if not line.startswith(deeper):
                if not line.startswith(closing):
                    break
                rest = line[len(closing) :]
                if name in _SETS or (opening == "{" and rows):
                    return sorted_set(rows), rest
                is_list = opening == "[" or rows or (name in _SEQUENCES and not opening)
                return (rows if is_list else keyed), rest
            text = line[len(deeper) :]
            field = _FIELD.match(text) if not opening and name not in _SEQUENCES else None
            if field:
                value, rest = self.value(text[field.end() :], depth + 1)
                keyed[field[1]] = value
            else:
                value, rest = self.value(text, depth + 1, is_key=opening == "{" and name not in _SETS)
                if opening == "{" and rest.startswith(": "):
                    is_keyed = True
                    key = key_of(value)
                    keyed[key], rest = self.value(rest[2:], depth + 1)
                else:
                    rows.append(value)
            if rest != "," or (rows and (keyed or is_keyed)):
                break
        raise self.unreadable(f"a {name} that is written otherwise than syrupy does", _WRITE_AGAIN)

    def written(self, text: str, depth: int, is_key: bool) -> tuple[str, str]:
        """The repr of a value, and the text after it. A repr of several lines goes on until its brackets are
        closed and the next line is one of syrupy's own."""
        if is_key and (end := _end_of_key(text)) is not None:
            return text[:end], text[end:]
        if not depth:
            self._at = len(self._lines) - 1
            return "\n".join([text, *self._lines[1:]]), ""
        indent = _STEP * depth
        outer_indent = _STEP * (depth - 1)
        while True:
            following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
            is_end = following.startswith(indent) or re.match(rf"{outer_indent}[\])}}]", following)
            if text.endswith(",") and is_end and not _open_brackets(text):
                return text[:-1], ","
            if self._at + 1 >= len(self._lines):
                raise self.unreadable("a repr of several lines that does not end", _SERIALIZE_HINT)
            self._at += 1
            text += f"\n{following}"

    def leaf(self, text: str) -> Any:
        if _WORD.fullmatch(text) and text not in ("True", "False", "None", "nan", "inf"):
            placeholder = placeholder_of_type(text)
            if placeholder is None:
                self.any_values.append((self._first + self._at, text))
            return PlaceholderText(placeholder or "<<any>>")
        return value_of_repr(text)


_WRITE_AGAIN = "write it anew: pytest --snapshot-update"
_SERIALIZE_HINT = "compare its parts, or say how it is written: @baselinekit.serializer"


def _end_of_key(text: str) -> int | None:
    """Where the key of a mapping ends; None where there is no colon behind it."""
    if text.startswith("<"):
        end = closing(text, 1) + 1
        return end if text.startswith(": ", end) else None
    if literal := _LITERAL.match(text):
        return literal.end() if text.startswith((": ", ","), literal.end()) else None
    colons = (match.start() for match in re.finditer(": ", text))
    return next((place for place in colons if not _open_brackets(text[:place])), None)


def _open_brackets(text: str) -> bool:
    """Whether a bracket or a text is open at the end."""
    depth, position = 0, 0
    while position < len(text):
        char = text[position]
        if char in "'\"":
            literal = _LITERAL.match(text, position)
            if literal is None:
                return False  # an apostrophe, not a Python string
            position = literal.end()
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
        position += 1
    return depth > 0
