"""Reads YAML with libyaml: one pass over its events, YAML 1.2 core types, with all limits checked on the way.

Values are built while the events arrive, so a file that is nested too deeply or that expands without end is
refused before it costs anything. `events` yields the events with their positions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
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
from baselinekit.files.jsontext import MAX_DEPTH, MAX_DIGITS, NO_TEXT_STARTS, plain_scalar
from baselinekit.files.text import ALIAS, END, MAPPING, SCALAR, SEQUENCE, Event, Watched, check_merged, place
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, json_type
from baselinekit.structs import Struct
from baselinekit.values.places import places, with_texts

_SURROGATE_ESCAPE = lazy_pattern(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""JSON allows `"\\ud83d"`, the escape of half a surrogate pair, and libyaml refuses it: PyYAML's own parser,
which is slower, reads such a text."""


def _joined(text: str) -> str:
    """Return a text in which two halves that belong together are one character, as in JSON."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


MAX_NODES = 200_000
"""Values and keys that any YAML file may have."""


def most_nodes(size: int) -> int:
    """Return how many values and keys a file of this size may have. A large file written for people has at
    most one per ten characters; a file with more takes more memory than its size suggests."""
    return max(MAX_NODES, size // 10)


_NAME_IN_BRACES = lazy_pattern(r"\{\{[^{}\n]*\}\}")
_TAGS = "tag:yaml.org,2002:"
_NO_KEY: Any = object()
_Keys = frozenset[str]
_PARSER: Any = vars(yaml.cyaml)["CParser"] if yaml.__with_libyaml__ else yaml.SafeLoader


def load(body: str, file: str, watched: Watched | None = None, numbered: _Keys = frozenset()) -> list[Json]:
    """Load the values of a file's documents, and add the spans of those of the `watched` keys. Below the
    `numbered` keys, numbers may be keys, and become texts."""
    check_merged(body, file)
    reader = _Reader(body, file, watched or {}, numbered)
    try:
        documents = reader.documents(_parser(body))
    except yaml.YAMLError as error:
        raise InvalidInput(*reader.problems, _explain(error, body, file)) from None
    if reader.problems:
        raise InvalidInput(*reader.problems)
    if reader.has_anchors:  # a value may be used in several places
        reader.watched.clear()
    return with_texts(documents, _joined, keys=True) if _SURROGATE_ESCAPE.search(body) else documents


def events(body: str) -> Iterator[Event]:
    """Yield the events of all values with their positions."""
    get = _parser(body).get_event
    has_surrogates = _SURROGATE_ESCAPE.search(body)
    while True:
        event = get()
        kind = event.__class__
        start, end = event.start_mark.index, event.end_mark.index
        if kind is ScalarEvent:
            value = _joined(event.value) if has_surrogates else event.value
            yield (SCALAR, start, end, value, event.style or "", event.anchor)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            collection = MAPPING if kind is MappingStartEvent else SEQUENCE
            yield (collection, start, end, "", "flow" if event.flow_style else "", event.anchor)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            yield (END, start, end, "", "", None)
        elif kind is AliasEvent:
            yield (ALIAS, start, end, event.anchor, "", None)
        elif kind is StreamEndEvent:
            return


def _parser(text: str) -> Any:
    return yaml.SafeLoader(text) if _SURROGATE_ESCAPE.search(text) else _PARSER(text)


class _Reader:
    """Reads one file. Frequent cases are in the loop of `documents`, rare ones in methods."""

    def __init__(self, text: str, file: str, watched: Watched, numbered: _Keys):
        self.text = text
        self.file = file
        self.watched = watched
        self.numbered = numbered
        self.problems: list[Problem] = []
        self.documents_read: list[Json] = []
        self.anchors: dict[str, tuple[Json, int]] = {}
        self.has_anchors = False
        self.nodes, self.most_nodes = 0, most_nodes(len(text))

    def documents(self, parser: Any) -> list[Json]:
        get = parser.get_event
        has_properties = "&" in self.text or "!" in self.text  # otherwise no node has an anchor or a tag
        stack: list[tuple[Any, bool, Any, str | None, int]] = []
        box: Any = []
        in_mapping, key = False, _NO_KEY
        while True:
            event = get()
            kind = event.__class__
            if kind is ScalarEvent:
                value = event.value
                if has_properties and event.tag is not None:
                    self.report_tag(event)
                elif not event.style and value[:1] in NO_TEXT_STARTS:
                    value = self.plain(value, event)
                if has_properties and event.anchor is not None:
                    self.add_anchor(event.anchor, value, 1)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                self.nodes += len(box) * 2 if in_mapping else len(box)
                value = box
                box, in_mapping, key, anchor, size_before = stack.pop()
                key = _NO_KEY
                if self.nodes > self.most_nodes:
                    self.refuse_size(event)
                if anchor is not None:
                    self.add_anchor(anchor, value, self.nodes - size_before + 1)
                continue
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                value = {} if kind is MappingStartEvent else []
                if len(stack) >= MAX_DEPTH:
                    message, hint = f"nested more than {MAX_DEPTH} levels deep", "store such data as a string"
                    self.refuse("BK106", message, hint, event)
                if has_properties:
                    self.anchors.pop(event.anchor, None)
                    if event.tag is not None:
                        self.report_tag(event)
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
                key = value
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

    def watch(self, key: str, box: Any, event: Any) -> None:
        """Record the span of a value, if it is a scalar on one line without a tag."""
        kind = event.__class__
        if kind is ScalarEvent and event.tag is None:
            start, end = event.start_mark.index, event.end_mark.index
            quote, value = event.style or "", event.value
            if start < end and self.text[start:end] == f"{quote}{value}{quote}" and "\n" not in value:
                self.watched[key].append((box, (start, end)))

    def refuse_size(self, event: Any) -> NoReturn:
        self.refuse("BK106", f"more than {self.most_nodes:,} values", "split the file", event)

    def add_anchor(self, anchor: str, value: Json, size: int) -> None:
        """Remember a value; a long text in it counts as many values."""
        self.anchors[anchor] = (value, size + len(str(value)) // 100)
        self.has_anchors = True

    def alias(self, event: Any) -> Json:
        if event.anchor not in self.anchors:
            message = f"the alias *{event.anchor} is undefined: no &{event.anchor} ends before it"
            self.refuse("BK101", message, "write the value out", event)
        value, size = self.anchors[event.anchor]
        self.nodes += size
        if self.nodes > self.most_nodes:
            self.refuse_size(event)
        return value

    def check_key(self, value: Json, event: Any, box: dict[str, Json], stack: list[Any]) -> str:
        """Report a key that is not a text, a merge key, or a repeated key."""
        if isinstance(value, dict | list):
            name = _NAME_IN_BRACES.match(self.text, event.start_mark.index - 1)
            hint = f'put it in quotes: "{name[0]}"' if name else "keys must be strings"
            self.refuse("BK107", f"a key of type {json_type(value)}", hint, event)
        written = getattr(event, "value", "")
        is_number = type(value) is int and stack and stack[-1][2] in self.numbered
        if (not isinstance(value, str) and not is_number) or (
            value == "<<" and not getattr(event, "style", "")
        ):
            message = f"the key {written} is a {'merge key' if value == '<<' else json_type(value)}"
            self.problems.append(
                Problem("BK107", f"{message}; keys must be strings", "quote it", self.at(event))
            )
        elif str(value) in box:
            message = f"the key {str(value)!r} occurs twice"
            self.problems.append(Problem("BK102", message, "remove one of the two", self.at(event)))
        return str(value)

    def report_tag(self, event: Any) -> None:
        message = f"the tag {event.tag.replace(_TAGS, '!!')} is not supported"
        hint = "remove it; a string can be put in quotes"
        self.problems.append(Problem("BK107", message, hint, self.at(event)))

    def at(self, event: Any) -> Place:
        return place(self.file, self.text, event.start_mark.index)

    def refuse(self, code: str, message: str, hint: str, event: Any) -> NoReturn:
        raise InvalidInput(*self.problems, Problem(code, message, hint, self.at(event)))


def _explain(error: yaml.YAMLError, body: str, file: str) -> Problem:
    """Return libyaml's error with its place. The line itself is never quoted: it may hold a secret."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    reason = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read")
    hint = "fix the line, or the one before it: indent with spaces, and quote a string that contains `: `"
    if reason.startswith("found unexpected") and f"{getattr(error, 'context', '')}".endswith("quoted scalar"):
        mark, reason = getattr(error, "context_mark", None), "a quote is not closed"
    index = mark.index if mark else getattr(error, "position", 0)
    return Problem("BK101", f"not valid YAML: {reason}", hint, place(file, body, index))


# Files of other tools: YAML 1.1, as PyYAML's safe loader reads it, within our limits.

_PLAIN_TAGS = (*(f"python/{name}" for name in ("str", "unicode", "list", "dict", "tuple")), "value", "merge")
"""Tags that change nothing; PyYAML gives the last two to a `=` and a `<<` that is not a key."""


class OddNode(Struct):
    """A value with a tag that is not of YAML's own types, such as `!!python/object/new:_io.BytesIO`. It
    builds nothing."""

    tag: str
    value: Any


def load_foreign(body: str, file: str) -> list[Any]:
    """Load the values of the documents of another tool's file, with the types of Python."""
    loader: Any = _ForeignLoader(body)
    documents = []
    problem = ""
    try:
        while loader.check_data():
            documents.append(loader.get_data())
        for number, (path, value) in enumerate(places(documents)):
            if len(path) > MAX_DEPTH or number > most_nodes(len(body)):
                problem = "it is nested too deeply, or its aliases expand to too many values"
            elif isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
                problem = f"a number of more than {MAX_DIGITS:,} digits"
            if problem:
                break
    except yaml.YAMLError as error:
        raise InvalidInput(_explain(error, body, file)) from None
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        problem = "a value in it is not of the type that its tag or its form names"
    if problem:
        raise InvalidInput(Problem("BK107", f"cannot be read: {problem}", "leave it out", Place(file, 1, 1)))
    return documents


class _ForeignLoader(SafeLoader):
    def construct_odd(self, node: Any) -> Any:
        value: Any = node.value
        if isinstance(node, yaml.MappingNode):
            value = self.construct_mapping(node, deep=True)
        elif isinstance(node, yaml.SequenceNode):
            value = self.construct_sequence(node, deep=True)
        name = node.tag.removeprefix(_TAGS)
        return value if name in _PLAIN_TAGS else OddNode(name, value)


_ForeignLoader.add_constructor(None, _ForeignLoader.construct_odd)
