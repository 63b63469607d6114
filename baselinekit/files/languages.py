"""The languages of files (YAML, JSON, JSON Lines), chosen by name, with one interface to read and write
them."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files import libyaml
from baselinekit.files.jsontext import (
    MAX_DEPTH,
    compact,
    json_events,
    json_line_events,
    json_string,
    load_json,
    load_json_lines,
)
from baselinekit.files.text import Event
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

# Values to YAML, for readers of a git diff: block style, keys in order, `|` for text of several lines, no
# aliases, no added line breaks. A text is quoted if any reader, YAML 1.1 or 1.2, might take it for another
# type. Only a few scalar styles are used, so the same rules serve whole files and single splices.


STEP = 2

_LONGEST_SIMPLE_KEY = 900  # a reader looks 1,024 characters ahead for the colon

# Characters that YAML does not allow unescaped, that some readers treat as line breaks, that are invisible,
# or that change the direction of text, so that a diff shows what is really there.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\ud800-\udfff\ufffe\uffff"
)
_UNSAFE_IN_BLOCK = lazy_pattern(f"[{_UNSAFE}]")
_UNSAFE_IN_PLAIN = lazy_pattern(f"[{_UNSAFE}\n\t]|: | #|[: ]$")
_TO_ESCAPE = lazy_pattern(f'[{_UNSAFE}\n\t\\\\"]')
_SHORT_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_PLAIN_START = lazy_pattern(r"[\w/$(^+.\\<]")
_PLAIN_IN_FLOW = lazy_pattern(r"[^\W\d][\w./-]*(?: [\w./-]+)*")
_NOT_A_STRING = lazy_pattern(
    r"(?i:y|n|yes|no|on|off|true|false|null|nan|inf)|<<|\.\.\.(?: .*)?|<{7}.*|[-+]?\.(?i:inf|nan)"
    r"|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[bB][01_]+|[-+]?0[oO][0-7_]+"
    r"|[-+]?[0-9.][0-9_.,]*(?:[eE][-+]?[0-9_]*)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?"
)


def dump_yaml(value: Json) -> str:
    """Write a value as a whole document, with a line end."""
    return "\n".join(yaml_block(value, 0, 0)) + "\n"


class YamlStyle(NamedTuple):
    """How a file is indented: `step`: of a mapping below its key; `flat`: lists are not indented below their
    keys. `inside`: the value is put into a text, so that a block ending in empty lines would include the next
    lines."""

    step: int = STEP
    flat: bool = False
    inside: bool = False


_DEFAULT_STYLE = YamlStyle()


def yaml_block(value: Json, column: int, offset: int = STEP, style: YamlStyle = _DEFAULT_STYLE) -> list[str]:
    """Return the lines of a value at a column, which is `offset` deeper than its parent's. The first line
    is not indented."""
    if isinstance(value, dict | list) and value:
        return [*_entry_lines("", value, column, 1, style)]
    if is_text_block(value):
        return [*_text_lines("", value, column or STEP, offset or STEP)]
    return [yaml_scalar(value)]


def yaml_value(prefix: str, value: Json, column: int, offset: int, style: YamlStyle) -> list[str]:
    """Return the lines of a value behind its key or dash, the `prefix`, which is at a column."""
    return [*_value_lines(prefix, value, column, offset, 1, style)]


def yaml_flow(value: Json, depth: int = 1) -> str:
    """Write a value on one line."""
    if isinstance(value, dict | list):
        check_depth(depth)
    if isinstance(value, dict):
        pairs = ((check_key(yaml_flow(key)), yaml_flow(item, depth + 1)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return f"[{', '.join(yaml_flow(item, depth + 1) for item in value)}]"
    if isinstance(value, str):
        return value if _PLAIN_IN_FLOW.fullmatch(value) and is_plain(value) else yaml_quoted(value)
    return compact(value)


def yaml_scalar(value: Json) -> str:
    """Write a scalar, or an empty collection, on one line, for use in block style."""
    if isinstance(value, str):
        return value if is_plain(value) else yaml_quoted(value)
    return compact(value)


def is_plain(text: str) -> bool:
    """Whether every reader reads these characters without quotes as the same text."""
    is_safe = _PLAIN_START.match(text) and not _UNSAFE_IN_PLAIN.search(text)
    return bool(is_safe and not _NOT_A_STRING.fullmatch(text))


def yaml_quoted(text: str, prefer: str = "") -> str:
    """Write a text in double quotes, or in single ones if that saves escapes or if they are preferred."""
    if (prefer == "'" or '"' in text or "\\" in text) and not re.search(f"[{_UNSAFE}\n\t]", text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + _TO_ESCAPE.sub(_escape, text) + '"'


def is_text_block(value: Json) -> bool:
    """Whether a value is written as `|`: text of several lines that reads back the same."""
    has_lines = isinstance(value, str) and "\n" in value
    return has_lines and not _UNSAFE_IN_BLOCK.search(value) and not value.isspace()


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT_ESCAPES.get(char) or (f"\\x{ord(char):02X}" if char < "\x80" else f"\\u{ord(char):04X}")


def check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        message = f"a value nested more than {MAX_DEPTH} levels deep cannot be stored"
        raise InvalidInput(Problem("BK106", message, "leave its inner part out, or store it as a string"))


def check_key(written: str) -> str:
    if len(written) > _LONGEST_SIMPLE_KEY:
        message = f"a key of more than {_LONGEST_SIMPLE_KEY} characters cannot be stored in YAML"
        raise InvalidInput(Problem("BK106", message, "leave it out of the output"))
    return written


def _entry_lines(prefix: str, value: Json, column: int, depth: int, style: YamlStyle) -> Iterator[str]:
    """Yield the lines of a collection. `prefix` starts the first line; the other lines are indented to the
    column."""
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in pairs:
        name, offset = ("-", STEP) if key is None else (f"{check_key(yaml_scalar(key))}:", style.step)
        yield from _value_lines(prefix + name, item, column, offset, depth, style)
        prefix = " " * column


def _value_lines(
    prefix: str, value: Json, column: int, offset: int, depth: int, style: YamlStyle
) -> Iterator[str]:
    """Yield the lines of a value after its key or its dash, in a collection at the column."""
    inner = column + offset
    if isinstance(value, dict | list):
        check_depth(depth + 1)
    if isinstance(value, dict | list) and value:
        start = f"{prefix} "
        if not prefix.endswith("-"):
            yield prefix
            inner = column if style.flat and isinstance(value, list) else inner
            start = " " * inner
        yield from _entry_lines(start, value, inner, depth + 1, style)
    elif is_text_block(value) and not (style.inside and value.endswith("\n\n")):
        yield from _text_lines(f"{prefix} ", value, inner, offset)
    else:
        yield f"{prefix} {yaml_scalar(value)}"


def _text_lines(prefix: str, text: str, column: int, offset: int) -> Iterator[str]:
    # Without the digit, a reader would take the blanks of the first line for the indentation.
    indent_digit = str(offset) if text[0] in " \n\t" else ""
    chomping = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    yield f"{prefix}|{indent_digit}{chomping}"
    for line in text.removesuffix("\n").split("\n"):
        yield " " * column + line if line else ""


SUFFIXES = (".yaml", ".yml", ".json")
"""The suffixes of the files that are found in folders."""

LINES = ".jsonl"
"""The suffix of JSON Lines, which are read only if they are named: other tools use them for data too."""


class Language(NamedTuple):
    """How the text of a file is read, and how values are written in it. `blocks`: structure may be expressed
    by indentation alone. `load` gives the values of a file's documents; for YAML it takes `watched` keys, the
    spans of whose values it adds, and `numbered` keys, below which numbers may be keys, and become texts."""

    blocks: bool
    events: Callable[[str], Iterator[Event]]
    load: Callable[..., list[Json]]
    key: Callable[[str], str]


YAML = Language(True, libyaml.events, libyaml.load, yaml_flow)
JSON = Language(False, json_events, lambda body, file, *_, **__: [load_json(body, file)], json_string)
JSON_LINES = Language(
    False, json_line_events, lambda body, file, *_, **__: load_json_lines(body, file), json_string
)


def language(file: str) -> Language:
    return JSON if file.endswith(".json") else JSON_LINES if file.endswith(LINES) else YAML
