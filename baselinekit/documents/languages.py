"""The languages of a file (YAML, JSON, JSON Lines), told by its name: read, marked and written alike."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from baselinekit.documents.jsontext import (
    MAX_DEPTH,
    compact,
    json_events,
    json_line_events,
    json_string,
    load_json,
    load_json_lines,
    number,
)
from baselinekit.documents.text import Event, Watched, refuse_conflict
from baselinekit.documents.yamllines import has_plain_marks, plain_events, read_plain
from baselinekit.errors import InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

# Values to YAML, for the reader of a git diff: block style, keys in order, `|` for text of several
# lines, no aliases, no line breaks of its own; a text is quoted when any reader, YAML 1.1 or 1.2, might
# take it for something else. A few scalar styles suffice, so the same rules serve whole files and single
# splices.


STEP = 2

_LONGEST_SIMPLE_KEY = 900  # a reader looks 1,024 characters ahead for the colon

# Beside what YAML cannot hold raw: what breaks a line for some reader, what is invisible, and what turns the
# direction of text, so that a diff shows what is there.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\ud800-\udfff\ufffe\uffff"
)
_NOT_RAW = lazy_pattern(f"[{_HIDDEN}]")
_NOT_PLAIN = lazy_pattern(f"[{_HIDDEN}\n\t]|: | #|[: ]$")
_ESCAPED = lazy_pattern(f'[{_HIDDEN}\n\t\\\\"]')
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_PLAIN_START = lazy_pattern(r"[\w/$(^+.\\<]")
_PLAIN_IN_FLOW = lazy_pattern(r"[^\W\d][\w./-]*(?: [\w./-]+)*")
_OTHER_TYPE = lazy_pattern(
    r"(?i:y|n|yes|no|on|off|true|false|null|nan|inf)|<<|\.\.\.(?: .*)?|<{7}.*|[-+]?\.(?i:inf|nan)"
    r"|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[bB][01_]+|[-+]?0[oO][0-7_]+"
    r"|[-+]?[0-9.][0-9_.,]*(?:[eE][-+]?[0-9_]*)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?"
)


def dump_yaml(value: Json) -> str:
    """A whole document, with a line end."""
    return "\n".join(yaml_block(value, 0, 0)) + "\n"


class YamlStyle(NamedTuple):
    """How a hand indents: `step`, a mapping below its key; `flat`, a list not at all below its key. `inside`
    a text, whose next lines a block that ends in empty ones would take in."""

    step: int = STEP
    flat: bool = False
    inside: bool = False


_OURS = YamlStyle()


def yaml_block(value: Json, column: int, offset: int = STEP, style: YamlStyle = _OURS) -> list[str]:
    """The lines of a value that stands at a column, `offset` deeper than what it belongs to. The first line
    is not indented."""
    writer = _YamlWriter(style)
    if isinstance(value, dict | list) and value:
        writer.collection("", value, column, 1)
    elif is_text_block(value):
        writer.text_block("", value, column or STEP, offset or STEP)
    else:
        writer.lines.append(yaml_scalar(value))
    return writer.lines


def yaml_flow(value: Json, depth: int = 1) -> str:
    """A value on one line."""
    if isinstance(value, dict | list):
        check_depth(depth)
    if isinstance(value, dict):
        return "{" + ", ".join(flow_entry(key, item, depth + 1) for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(yaml_flow(item, depth + 1) for item in value)}]"
    if isinstance(value, str):
        return value if _PLAIN_IN_FLOW.fullmatch(value) and is_plain(value) else yaml_quoted(value)
    return _plain(value)


def flow_entry(key: str, value: Json, depth: int = 1) -> str:
    name = yaml_flow(key)
    lead = name if len(name) <= _LONGEST_SIMPLE_KEY else f"? {name} "
    return f"{lead}: {yaml_flow(value, depth)}"


def yaml_scalar(value: Json) -> str:
    """A scalar, or an empty collection, on one line, for a place in block style."""
    if isinstance(value, str):
        return value if is_plain(value) else yaml_quoted(value)
    return _plain(value)


def is_plain(text: str) -> bool:
    """Whether every reader takes these bare characters for this very text."""
    return bool(_PLAIN_START.match(text) and not _NOT_PLAIN.search(text) and not _OTHER_TYPE.fullmatch(text))


def yaml_quoted(text: str, prefer: str = "") -> str:
    """In double quotes, or in single ones where that saves escapes, or where they are preferred."""
    if (prefer == "'" or '"' in text or "\\" in text) and not re.search(f"[{_HIDDEN}\n\t]", text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def is_text_block(value: Json) -> bool:
    """Whether a value is written as `|`: text of several lines that reads back the same."""
    return isinstance(value, str) and "\n" in value and not _NOT_RAW.search(value) and not value.isspace()


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or (f"\\x{ord(char):02X}" if char < "\x80" else f"\\u{ord(char):04X}")


def _plain(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return number(value)


def check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        what = f"a value nested more than {MAX_DEPTH} levels deep cannot be stored"
        raise InvalidInput(Problem("BK114", what, "leave its inner part out, or store it as a string"))


class _YamlWriter:
    def __init__(self, style: YamlStyle):
        self.lines: list[str] = []
        self.style = style

    def collection(self, lead: str, value: Json, column: int, depth: int) -> None:
        """`lead`: what stands on the first line already; the others are indented to the column."""
        indent = " " * column
        if isinstance(value, list):
            for item in value:
                self.put(f"{lead}-", item, column, STEP, depth)
                lead = indent
            return
        for key, item in value.items():
            name = yaml_scalar(key)
            if len(name) > _LONGEST_SIMPLE_KEY:
                self.lines.append(f"{lead}? {name}")
                lead, name = indent, ""
            self.put(f"{lead}{name}:", item, column, self.style.step, depth)
            lead = indent

    def put(self, lead: str, value: Json, column: int, offset: int, depth: int) -> None:
        """A value after its key or its dash, in a collection at the column."""
        inner = column + offset
        if isinstance(value, dict | list):
            check_depth(depth + 1)
        if isinstance(value, dict | list) and value:
            if lead.endswith("-"):
                self.collection(f"{lead} ", value, inner, depth + 1)
            else:
                self.lines.append(lead)
                if self.style.flat and isinstance(value, list) and lead.strip() != ":":
                    inner = column
                self.collection(" " * inner, value, inner, depth + 1)
        elif is_text_block(value) and not (self.style.inside and value.endswith("\n\n")):
            self.text_block(f"{lead} ", value, inner, offset)
        else:
            self.lines.append(f"{lead} {yaml_scalar(value)}")

    def text_block(self, lead: str, text: str, column: int, offset: int) -> None:
        # Without the number, a reader would take the blanks of the first line for the indentation.
        deep = str(offset) if text[0] in " \n\t" else ""
        ending = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
        self.lines.append(f"{lead}|{deep}{ending}")
        indent = " " * column
        self.lines.extend(indent + line if line else "" for line in text.removesuffix("\n").split("\n"))


SUFFIXES = (".yaml", ".yml", ".json")
"""Of the files that are found in folders."""

LINES = ".jsonl"
"""Of JSON Lines, which are read where they are named: others use them for data as well."""


class Language:
    """How a file's text becomes values, and how a value is spelled inside it. This is YAML: what is written
    plainly is read line by line (`read_plain`), all else by libyaml, which is loaded only then, since to load
    it takes as long as to read fifty files. `blocks`: structure may be written by indentation alone."""

    blocks = True
    flow: Callable[[Json], str] = staticmethod(yaml_flow)

    @staticmethod
    def load(
        body: str,
        file: str,
        watched: Watched | None = None,
        *,
        pure: bool = False,
        numbered: frozenset[str] = frozenset(),
    ) -> list[Json]:
        """The values of a file's documents, and where those of the `watched` keys stand. `pure` reads without
        libyaml, as on a machine that has none. Below the `numbered` keys numbers may be keys, as texts."""
        refuse_conflict(body, file)
        plain = None if pure else read_plain(body, {} if watched is None else watched)
        if plain is not None:
            return plain
        from baselinekit.documents import libyaml

        return libyaml.load(body, file, watched, pure=pure, numbered=numbered)

    @staticmethod
    def events(body: str) -> Iterator[Event]:
        """Every event with its marks, for those who need to know where something stands."""
        if has_plain_marks(body):
            return plain_events(body)
        from baselinekit.documents import libyaml

        return libyaml.events(body)

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return yaml_quoted(name) if quoted else yaml_flow(name)


class _JsonText(Language):
    blocks = False
    events = staticmethod(json_events)
    flow = staticmethod(compact)

    @staticmethod
    def load(body: str, file: str, watched: Watched | None = None, **_: object) -> list[Json]:
        return [load_json(body, file)]

    @staticmethod
    def key(name: str, quoted: bool) -> str:
        return json_string(name)


class _JsonLines(_JsonText):
    events = staticmethod(json_line_events)

    @staticmethod
    def load(body: str, file: str, watched: Watched | None = None, **_: object) -> list[Json]:
        return load_json_lines(body, file)


YAML, JSON, JSON_LINES = Language(), _JsonText(), _JsonLines()


def language(file: str) -> Language:
    return JSON if file.endswith(".json") else JSON_LINES if file.endswith(LINES) else YAML
