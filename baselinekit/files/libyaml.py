"""Reads YAML with libyaml: one pass over its events, YAML 1.2 core types, with all limits checked on the way.

Values are built while the events arrive, so a file that is nested too deeply or that expands without end is
refused before it costs anything. `events` yields the events with their positions."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

if TYPE_CHECKING or not yaml.__with_libyaml__:
    from yaml import SafeLoader
else:
    from yaml import CSafeLoader as SafeLoader

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.files.jsontext import MAX_DEPTH, MAX_DIGITS, NO_TEXT_STARTS, most_nodes, plain_scalar
from baselinekit.files.text import (
    ALIAS,
    DOCUMENT,
    END,
    MAPPING,
    SCALAR,
    SEQUENCE,
    Event,
    Marks,
    Watched,
    count_characters,
    mark_each,
    place,
    repeated_key,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path, json_type
from baselinekit.structs import Struct
from baselinekit.values.places import with_texts

_SURROGATE_ESCAPE = lazy_pattern(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""JSON allows `"\\ud83d"`, the escape of half a surrogate pair, and libyaml refuses it: PyYAML's own parser,
which is slower, reads such a text."""


def _joined(text: str) -> str:
    """Return a text in which two halves that belong together are one character, as in JSON."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


MAX_EXPANDED = 10_000
MAX_ANCHORS = 1_000

_NAME_IN_BRACES = lazy_pattern(r"\{\{[^{}\n]*\}\}")
_TAGS = "tag:yaml.org,2002:"
_JSON_TYPES = {"null": "null", "bool": "boolean", "int": "number", "float": "number"}
_NO_KEY: Any = object()
_Keys = frozenset[str]
_C_PARSER: Any = vars(yaml.cyaml)["CParser"] if yaml.__with_libyaml__ else None


def load(
    body: str, file: str, watched: Watched | None = None, *, pure: bool = False, numbered: _Keys = frozenset()
) -> list[Json]:
    """Load the values of a file's documents, and add the spans of those of the `watched` keys. `pure` reads
    without libyaml, as on a machine that has none. Below the `numbered` keys, numbers may be keys, and become
    texts."""
    reader = _Reader(body, file, watched or {}, numbered)
    try:
        documents = reader.documents(_parser(body, pure))
    except yaml.YAMLError as error:
        raise InvalidInput(*reader.all_problems(), _explain(error, body, file)) from None
    if reader.problems:
        raise InvalidInput(*reader.all_problems())
    if reader.anchor_count:  # a value may be used in several places
        reader.watched.clear()
    return with_texts(documents, _joined, keys=True) if _SURROGATE_ESCAPE.search(body) else documents


def events(body: str) -> Iterator[Event]:
    """Yield every event with its position."""
    get = _parser(body).get_event
    has_surrogates = _SURROGATE_ESCAPE.search(body)
    while True:
        event = get()
        kind = event.__class__
        start, end = event.start_mark.index, event.end_mark.index
        if kind is ScalarEvent:
            value = _joined(event.value) if has_surrogates else event.value
            style = event.style or ("!" if event.tag else "")
            yield (SCALAR, start, end, value, style, event.anchor)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            collection = MAPPING if kind is MappingStartEvent else SEQUENCE
            yield (collection, start, end, "", "flow" if event.flow_style else "", event.anchor)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            yield (END, start, end, "", "", None)
        elif kind is AliasEvent:
            yield (ALIAS, start, end, event.anchor, "", None)
        elif kind is DocumentStartEvent:
            yield (DOCUMENT, start, end, "", "", None)
        elif kind is StreamEndEvent:
            return


def _parser(text: str, pure: bool = False) -> Any:
    is_pure = pure or _C_PARSER is None or _SURROGATE_ESCAPE.search(text)
    return yaml.SafeLoader(text) if is_pure else _C_PARSER(text)


class _Reader:
    """Reads one file. Frequent cases are in the loop of `documents`, rare ones in methods."""

    def __init__(self, text: str, file: str, watched: Watched, numbered: _Keys = frozenset()):
        self.text = text
        self.file = file
        self.watched = watched
        self.numbered = numbered
        self.problems: list[Problem] = []
        self.repeated: list[tuple[int, int, Path, int]] = []
        self.documents_read: list[Json] = []
        self.anchors: dict[str, tuple[Json, int]] = {}
        self.anchor_count = 0
        self.nodes, self.most_nodes = 0, most_nodes(len(text))
        self.expanded = 0

    def documents(self, parser: Any) -> list[Json]:
        get = parser.get_event
        has_properties = "&" in self.text or "!" in self.text  # otherwise no node has an anchor or a tag
        stack: list[tuple[Any, bool, Any, str | None, int]] = []
        box: Any = []
        in_mapping, key = False, _NO_KEY
        interned: dict[str, str] = {}
        while True:
            event = get()
            kind = event.__class__
            if kind is ScalarEvent:
                value = event.value
                if has_properties and (event.tag is not None or event.anchor is not None):
                    value = self.scalar_with_properties(value, event)
                elif not event.style and value[:1] in NO_TEXT_STARTS:
                    value = self.plain(value, event)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self.nodes += len(box) * 2 if in_mapping else len(box)
                value = box
                box, in_mapping, key, anchor, size_before = stack.pop()
                key = _NO_KEY
                if anchor is not None or self.nodes > self.most_nodes:
                    self.check_closed(anchor, value, size_before, event)
                continue
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                value = {} if kind is MappingStartEvent else []
                if len(stack) >= MAX_DEPTH or (has_properties and (event.anchor or event.tag)):
                    self.check_opened(event, len(stack))
            elif kind is AliasEvent:
                value = self.alias(event)
            elif kind is StreamEndEvent:
                return self.documents_read
            else:
                if kind is DocumentEndEvent:
                    self.documents_read.append(box[0])
                box, in_mapping, key = [], False, _NO_KEY
                self.anchors.clear()
                continue
            if not in_mapping:
                box.append(value)
            elif key is not _NO_KEY:
                box[key] = value
            else:
                if value.__class__ is not str or value in box or value == "<<":
                    value = self.check_key(value, event, box, stack)
                key = interned.setdefault(value, value)  # rows repeat the same few keys
                if key in self.watched:
                    self.watch(key, box, parser.peek_event())
                continue
            key_of_box, key = key, _NO_KEY
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append((box, in_mapping, key_of_box, event.anchor, self.nodes))
                box, in_mapping = value, kind is MappingStartEvent

    def plain(self, text: str, event: Any) -> Json:
        try:
            return plain_scalar(text)
        except ValueError as error:
            hint = "write it as a string, in quotes"
            if text.lower().endswith(("nan", "inf")):
                hint = "write a finite number; a text goes in quotes"
            self.refuse("BK106", str(error), hint, event)

    def scalar_with_properties(self, text: str, event: Any) -> Json:
        """Return the value of a scalar that may have a tag or an anchor."""
        value: Json = text
        if event.tag is not None:
            value = self.tagged_scalar(text, event)
        elif not event.style:
            value = self.plain(text, event)
        if event.anchor is not None:
            self.add_anchor(event.anchor, value, 1, event)
        return value

    def watch(self, key: str, box: Any, event: Any) -> None:
        """Record the span of a value, if it is a scalar on one line without a tag."""
        kind = event.__class__
        if kind is ScalarEvent and event.tag is None:
            start, end = event.start_mark.index, event.end_mark.index
            quote = event.style or ""
            if self.text[start:end] == f"{quote}{event.value}{quote}" != "" and "\n" not in event.value:
                self.watched[key].append((box, (start, end)))

    def tagged_scalar(self, text: str, event: Any) -> Json:
        """Return the value of a scalar with a tag. Only the tags of the core types are supported."""
        name = event.tag.removeprefix(_TAGS)
        if event.tag == "!" or name == "str":
            return text
        try:
            value = plain_scalar(text)
        except ValueError:
            value = text
        if name == "float" and type(value) is int:
            return float(value)
        if json_type(value) != _JSON_TYPES.get(name) or (name == "int" and type(value) is not int):
            self.report_tag(event)
        return value

    def check_opened(self, event: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            self.refuse(
                "BK106", f"nested more than {MAX_DEPTH} levels deep", "store such data as a string", event
            )
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        if event.tag is not None and event.tag not in (_TAGS + "map", _TAGS + "seq", "!"):
            self.report_tag(event)

    def check_closed(self, anchor: str | None, value: Json, before: int, event: Any) -> None:
        if self.nodes > self.most_nodes:
            self.refuse("BK106", f"more than {self.most_nodes:,} values", "split the file", event)
        if anchor is not None:
            self.add_anchor(anchor, value, self.nodes - before + 1, event)

    def add_anchor(self, anchor: str, value: Json, size: int, event: Any) -> None:
        self.anchors[anchor] = (value, size)
        self.anchor_count += 1
        if self.anchor_count > MAX_ANCHORS:
            self.refuse("BK106", f"more than {MAX_ANCHORS:,} anchors", "write the values out", event)

    def alias(self, event: Any) -> Json:
        if event.anchor not in self.anchors:
            message = f"the alias *{event.anchor} is undefined: no &{event.anchor} ends before it"
            self.refuse("BK101", message, "write the value out", event)
        value, size = self.anchors[event.anchor]
        self.expanded += size
        self.nodes += size
        if self.expanded <= MAX_EXPANDED:
            self.expanded += count_characters(value) // 100  # a long text counts as many values
        if self.expanded > MAX_EXPANDED:
            message = f"aliases that expand to more than {MAX_EXPANDED:,} values or as much text"
            self.refuse("BK106", message, "write the values out", event)
        return value

    def check_key(self, value: Json, event: Any, box: dict[str, Json], stack: list[Any]) -> str:
        """Report a key that is no text, a merge key, or a repeated key."""
        if isinstance(value, dict | list):
            if name := _NAME_IN_BRACES.match(self.text, event.start_mark.index - 1):
                message = f"{name[0]} without quotes is no text, but a mapping within a mapping"
                self.refuse("BK107", message, f'put it in quotes: "{name[0]}"', event)
            self.refuse("BK107", f"a key of type {json_type(value)}", "keys must be strings", event)
        if type(value) is int and stack and stack[-1][2] in self.numbered:
            value = str(value)
            if value not in box:
                return str(value)
        if not isinstance(value, str):
            message = (
                f"the key {getattr(event, 'value', '')} is a {json_type(value)}, and keys must be strings"
            )
            self.problems.append(Problem("BK107", message, "put it in quotes", self.at(event)))
            return str(value)
        if value == "<<" and value not in box:
            if not getattr(event, "style", ""):
                message = "the key << is a YAML merge key, which is not supported"
                hint = 'write the keys out, or quote it if it is meant as a string: "<<"'
                self.problems.append(Problem("BK107", message, hint, self.at(event)))
            return value
        path = *(outer[2] if outer[1] else len(outer[0]) - 1 for outer in stack[1:]), value
        self.repeated.append((len(self.problems), len(self.documents_read), path, event.start_mark.index))
        self.problems.append(repeated_key(value, self.file, self.text, event.start_mark.index, None))
        return value

    def all_problems(self) -> list[Problem]:
        """The problems; those of repeated keys name the first one, and one pass finds all of these."""
        paths: dict[int, list[Path]] = {}
        for _, document, path, _ in self.repeated:
            paths.setdefault(document, []).append(path)
        marks_by_document: dict[int, Marks] = {}
        with suppress(yaml.YAMLError):
            marks_by_document = mark_each(events(self.text), paths) if paths else {}
        for number, document, path, index in self.repeated:
            nodes, missing = marks_by_document.get(document, Marks()).reach(path)
            first = None if missing or not nodes else nodes[-1].key
            self.problems[number] = repeated_key(str(path[-1]), self.file, self.text, index, first)
        return self.problems

    def report_tag(self, event: Any) -> None:
        tag = event.tag.replace(_TAGS, "!!")
        message = (
            f"the tag {tag} is not supported" if tag[2:] not in _JSON_TYPES else f"{tag} on another type"
        )
        self.problems.append(
            Problem("BK107", message, "remove it; a string can be put in quotes", self.at(event))
        )

    def at(self, event: Any) -> Place:
        return place(self.file, self.text, event.start_mark.index)

    def refuse(self, code: str, message: str, hint: str, event: Any) -> NoReturn:
        raise InvalidInput(*self.all_problems(), Problem(code, message, hint, self.at(event)))


def _open_quote(error: yaml.YAMLError, body: str, index: int) -> tuple[int, int] | None:
    """Return where the quote opens that was forgotten to be closed, and the line where another quote closes
    it, 0 for none. libyaml fails only there, lines below: at the end, or behind the other quote."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return None
    if f"{error.problem}".startswith("found unexpected") and f"{error.context}".endswith("quoted scalar"):
        return (error.context_mark.index, 0) if error.context_mark else None
    get, event = _parser(body).get_event, None
    try:
        while event.__class__ is not StreamEndEvent:
            event = get()
    except yaml.YAMLError:
        if isinstance(event, ScalarEvent) and event.style in ("'", '"'):
            start, end = event.start_mark, event.end_mark
            if start and end and start.line < end.line and not body[end.index : index].strip(" "):
                return start.index, end.line + 1
    return None


def _explain(error: yaml.YAMLError, body: str, file: str) -> Problem:
    """Return libyaml's error with its place. The line itself is never quoted: it may hold a secret."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = mark.index if mark else getattr(error, "position", 0)
    reason = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read")
    if "maximum nesting depth" in reason:  # libyaml refuses a thousand levels before it passes on any of them
        try:
            _Reader(body[:index], file, {}).documents(_parser(body[:index]))
        except InvalidInput as refusal:  # by our own limit, with its place
            return refusal.problems[-1]
        except yaml.YAMLError:
            pass
    if (opened := _open_quote(error, body, index)) is not None:
        index, closed = opened
        reason = (
            f"the quote that opens here is closed in line {closed}" if closed else "a quote is not closed"
        )
        hint = "close it where the text ends"
        return Problem("BK101", f"not valid YAML: {reason}", hint, place(file, body, index))
    start = body.rfind("\n", 0, index) + 1
    line = body[start : body.find("\n", start) if "\n" in body[start:] else None]
    if "\t" in line[: len(line) - len(line.lstrip())]:
        hint = "indent with spaces: YAML allows no tabs there"
    elif "mapping values are not allowed" in reason:
        hint = "put a string that contains `: ` in quotes, or fix the indentation"
    elif "character" in reason and "control" in reason:
        hint = "write it as an escape in double quotes"
    else:
        hint = "fix the line, or the one before it"
    return Problem("BK101", f"not valid YAML: {reason}", hint, place(file, body, index))


# Files of other tools: YAML 1.1, as PyYAML's safe loader reads it, within our limits.

_PLAIN_TAGS = (*(f"python/{name}" for name in ("str", "unicode", "list", "dict", "tuple")), "value", "merge")
"""Tags that change nothing; PyYAML gives the last two to a `=` and a `<<` that is no key."""


class OddNode(Struct):
    """A value with a tag that is not of YAML's own types, such as `!!python/object/new:_io.BytesIO`. It
    builds nothing."""

    tag: str
    value: Any
    line: int


def load_foreign(body: str, file: str) -> list[Any]:
    """Load the values of the documents of another tool's file, with the types of Python."""
    try:
        _refuse_bombs(body, file)
        loader: Any = _ForeignLoader(body)
        loader.file = file
        documents = []
        while loader.check_data():
            documents.append(loader.get_data())
    except yaml.YAMLError as error:
        raise InvalidInput(_explain(error, body, file)) from None
    return documents


def _refuse_bombs(body: str, file: str) -> None:
    """Refuse a file that is nested too deeply or expands without end, before anything is built of it."""
    sizes: dict[str, int] = {}  # of the values with an anchor
    opened: list[tuple[str | None, int]] = []
    count = expanded = 0
    for kind, start, _, name, _, anchor in events(body):
        message = ""
        if kind == ALIAS:
            if name not in sizes:
                message = f"the alias *{name} stands in its own value, or for none"
            expanded += sizes.get(name, 0)
            count += sizes.get(name, 0)
        elif kind == END:
            closed, before = opened.pop()
            if closed is not None:
                sizes[closed] = count - before + 1
        elif kind == DOCUMENT:
            sizes.clear()
        else:
            count += 1
            if anchor is not None:
                sizes.pop(anchor, None)
                sizes |= {anchor: 1} if kind == SCALAR else {}
            opened += [(anchor, count)] if kind != SCALAR else []
        if len(opened) > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
        if expanded > MAX_EXPANDED:
            message = f"aliases that expand to more than {MAX_EXPANDED:,} values"
        if message:
            raise InvalidInput(Problem("BK106", message, "leave the file out", place(file, body, start)))


class _ForeignLoader(SafeLoader):
    file = ""

    def refuse(self, message: str, node: Any) -> NoReturn:
        at = Place(self.file, node.start_mark.line + 1)
        raise InvalidInput(Problem("BK107", message, "write it as a text, or leave the file out", at))

    def construct_object(self, node: Any, deep: bool = True) -> Any:
        try:
            value = super().construct_object(node, deep=True)
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
            self.refuse(f"a value of the type {node.tag.replace(_TAGS, '!!')} that cannot be read", node)
        if isinstance(value, int | float) and len(node.value) > MAX_DIGITS:
            self.refuse(f"a number of more than {MAX_DIGITS:,} digits", node)
        return value

    def construct_mapping(self, node: Any, deep: bool = True) -> dict[Any, Any]:
        """Unlike PyYAML's, a list may be a key, as in a `!!set`: it becomes a tuple."""
        self.flatten_mapping(node)
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = _hashable(self.construct_object(key_node))
            if isinstance(key, dict | set | OddNode):
                self.refuse("a key that is no text and no number", key_node)
            mapping[key] = self.construct_object(value_node)
        return mapping

    def construct_odd(self, node: Any) -> Any:
        value: Any = node.value
        if isinstance(node, yaml.MappingNode):
            value = self.construct_mapping(node)
        elif isinstance(node, yaml.SequenceNode):
            value = [self.construct_object(item) for item in node.value]
        name = node.tag.removeprefix(_TAGS)
        return value if name in _PLAIN_TAGS else OddNode(name, value, node.start_mark.line + 1)


_ForeignLoader.add_constructor(None, _ForeignLoader.construct_odd)


def _hashable(key: Any) -> Any:
    return tuple(map(_hashable, key)) if isinstance(key, list) else key
