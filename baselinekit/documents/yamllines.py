"""YAML as `capture` writes it, read line by line, at a fraction of what events cost: mappings and lists in
block style, each key on its line, texts plain, in quotes or as a block. A text with anything else in it is
left to libyaml (libyaml.py), whether it is right or wrong; of what is read here, libyaml reads the same."""

import re
from collections.abc import Iterator
from functools import cache
from json import JSONDecoder
from operator import length_hint
from typing import Any

from baselinekit.documents.jsontext import (
    MAX_DEPTH,
    NUMBER_STARTS,
    SURELY_EXACT,
    WORDS,
    most_nodes,
    number_or_text,
)
from baselinekit.documents.text import DOCUMENT, END, MAPPING, SCALAR, SEQUENCE, Event, Watched
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

# The part of a line before `: ` is looked up: its column and its key are worked out once, since the rows of
# an output repeat it. What stands behind is a text as it is, unless its first character says otherwise.

_Lead = tuple[int, str | None, int, tuple[type, ...]]
"""What a line begins with: its column, if it is a key and nothing before that (else -2); the key; its column;
what its dashes and its key are entries of."""
_VALUED: dict[str, _Lead] = {}
"""Of lines with a value, by what stands before `: `."""
_OPENING: dict[str, _Lead] = {}
"""Of lines without, by the whole line."""
_NAMES: dict[str, str] = {}
"""The same key is the same object wherever it stands."""
_ITEM = (list,)
_MOST_LEADS = 4_096
_LONGEST_KEY = 200
_NO_KEYS = {"<<", *WORDS}

_CHARACTERS = bytes(range(32, 127)) + b"\n\t" + bytes(range(128, 256))
_ODD = lazy_pattern("[\x80-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What no text holds as it is, beside the control characters of ASCII."""
_ODD_BEGIN = (b"\xc2", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xef\xbb\xbf", b"\xef\xbf")

_TEXT_STARTS = frozenset("ABCDEGHIJKLMOPQRSUVWXYZabcdeghijklmopqrsuvwxyz_/(<$^\\")
_ODD_STARTS = frozenset(map(chr, range(128))) - _TEXT_STARTS
"""What begins with any other character is a text as it stands there."""
_WORD_STARTS = frozenset("tfnTFN~")
_SIMPLE_ENTRY = lazy_pattern(r"( *)([A-Za-z_](?:[A-Za-z0-9_ -]{0,98}[A-Za-z0-9_])?): (.+)")
_DASHES = lazy_pattern("( *)((?:- )*)")
_DOUBLE = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_SINGLE = lazy_pattern("'[^']*(?:''[^']*)*'")
_SURE_ESCAPES = lazy_pattern(
    r'[^\\]*(?:\\(?:["\\nrtbf]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^\\]*)*'
)
_ESCAPED_TEXT = JSONDecoder(strict=False)
_BLOCK = lazy_pattern(r"\|([1-9])?([+-])?")


class _Other(ValueError):
    """Something else stands there, be it right or wrong."""


def read_plain(body: str, watched: Watched) -> list[Json] | None:
    """The one document of a text, and where the values of the `watched` keys stand."""
    reader = _reader_of(body)
    if reader is None:
        return None
    found = {name: reader.spans(name) for name in watched}
    if reader.has_flush_lists and any(not found[name] and reader.has_key(name) for name in watched):
        return None  # what is recorded would be looked for again: libyaml knows the place
    for name, spans in found.items():
        watched[name] += spans
    return reader.root or None


def _reader_of(body: str) -> "_LineReader | None":
    """What has read all of a text."""
    try:
        if has_odd_characters(body):
            return None
        reader = _LineReader(body)
        reader.read()
        reader.check()
    except ValueError:
        return None
    return reader


def has_odd_characters(body: str) -> bool:
    """Whether there are any that YAML does not take as they are, or takes for the end of a line."""
    data = body.encode()
    if data.translate(None, _CHARACTERS):
        return True
    return len(data) > len(body) and any(map(data.__contains__, _ODD_BEGIN)) and bool(_ODD.search(body))


class _LineReader:
    """One text on its way to values. What is common stands in the loop; what is rare is a method."""

    def __init__(self, body: str):
        self.body = body if body.endswith("\n") else f"{body}\n"
        self.is_complete = self.body is body
        self.lines = self.body.split("\n")[:-1]
        self.rest = iter(self.lines)
        self.root: list[Json] = []
        self.mappings: list[dict[str, Json]] = []
        self.lists: list[list[Json]] = []
        self.keyless = 0
        """Lines without a key."""
        self.has_flush_lists = False
        """Whether the dashes of any list stand below the key that holds it, as most programs write them."""
        self.has_odd_blanks = "\t" in body or ("#" in body and " #" in body)
        self.known: dict[str, Json] = dict(WORDS)
        """What plain texts mean that may be something else."""

    def read(self) -> None:
        outer: list[tuple[int, int, Any]] = []
        box: Any = self.root
        column = keyed = -1  # where the entries of the box stand; keyed: the same, if it is a mapping
        name, is_open = "", True  # open: what the last entry holds may begin below it
        boxes: dict[type, list[Any]] = {dict: self.mappings, list: self.lists}
        known, odd, items = self.known.get, self.has_odd_blanks, 0
        for line in self.rest:
            start, colon, text = line.partition(": ")
            lead = _VALUED.get(start) if colon else _OPENING.get(line)
            if lead is None:
                entry = line.lstrip(" ")
                if not colon and entry[:2] == "- " != entry[2:4] and line[-1] != ":":
                    here, text = len(line) - len(entry), entry[2:]
                    lead = (-1 if here == column else -2, None, here, _ITEM)
                    items += 1
                else:
                    lead, text = self.parse(line)
                    if lead is None:
                        continue
            at, key, here, begins = lead
            if at != keyed:
                while here < column or (keyed < 0 and here == column and begins[0] is dict):
                    column, keyed, box = outer.pop()
                    is_open = False
                for kind in begins:
                    is_flush = here == keyed and kind is list
                    if (here > column or is_flush) and is_open and len(outer) < MAX_DEPTH:
                        self.has_flush_lists |= is_flush
                        outer.append((column, keyed, box))
                        new: Any = kind()
                        if keyed < 0:
                            box.append(new)
                        else:
                            box[name] = new
                        box, column = new, here
                        keyed = here if kind is dict else -1
                        boxes[kind].append(new)
                    elif here != column or box.__class__ is not kind:
                        raise _Other
                    here, is_open = here + 2, True
            value: Any = text
            if text:
                if text[0] in _ODD_STARTS:
                    value = known(text, self)
                    if value is self:
                        value = self.value(text, column)
                if value is text and (": " in text or text[-1] in " :" or (odd and ends_within(text))):
                    raise _Other
            else:
                value = None
            is_open = not text
            if key is not None and (text or not colon):
                box[key] = value
                name = key
            elif text:
                box.append(value)
            else:  # a blank at the end
                raise _Other
        self.keyless += items

    def parse(self, line: str) -> tuple[_Lead | None, str]:
        """What a line begins with, and what stands behind it; None for one without a meaning."""
        simple = _SIMPLE_ENTRY.fullmatch(line)
        if simple and simple[2] not in _NO_KEYS:
            column = len(simple[1])
            lead: _Lead = (column, simple[2], column, (dict,))
            if len(_VALUED) < _MOST_LEADS:
                _VALUED[line[: simple.end(2)]] = lead
            return lead, simple[3]
        match = _DASHES.match(line)
        column, dashes = (len(match[1]), len(match[2]) // 2) if match else (0, 0)
        entry = line[column + 2 * dashes :]
        if not entry or entry[0] == "#":
            if dashes:
                raise _Other
            self.keyless += 1
            return None, ""
        key, text = self.split(entry)
        begins: tuple[type, ...] = (list,) * dashes
        if key is None:
            if not dashes:
                raise _Other
            self.keyless += 1
            return (-2, None, column, begins), text
        lead = (-2 if dashes else column, _NAMES.setdefault(key, key), column, (*begins, dict))
        if not text and line[-1] != ":":
            raise _Other
        start = line.partition(": ")[0]
        leads = _VALUED if text else _OPENING
        if len(leads) >= _MOST_LEADS:
            leads.clear()
            _NAMES.clear()
        if len(start) == len(line) - (len(text) + 2 if text else 0):  # no other `: ` in the key
            leads[start] = lead
        return lead, text

    def split(self, entry: str) -> tuple[str | None, str]:
        """The key of an entry, if it has one, and its value."""
        if entry[0] in "\"'":
            match = (_DOUBLE if entry[0] == '"' else _SINGLE).match(entry)
            if match and match.end() == len(entry):
                return None, entry
            if not match or len(match[0]) > _LONGEST_KEY or "\\" in match[0]:
                raise _Other
            text = entry[match.end() :]
            if text != ":" and not text.startswith(": "):
                raise _Other
            return self.quoted(match[0], entry[0]), text[2:]
        key, colon, text = entry.partition(": ")
        if not colon:
            if entry[-1] != ":":
                return None, entry
            key = entry[:-1]
        if not key or len(key) > _LONGEST_KEY or key in _NO_KEYS or key.startswith("..."):
            raise _Other
        if ends_within(key) or (key[0] in _ODD_STARTS and not isinstance(self.value(key, -1), str)):
            raise _Other
        return key, text

    def value(self, text: str, column: int) -> Json:
        """The value of a text that may be something else; if it is not, the text itself. `column`: of the
        entries among which it stands."""
        first = text[0]
        if first in NUMBER_STARTS:
            return self.number(text)
        if first in _WORD_STARTS:
            return text
        if first == '"' or first == "'":
            return self.quoted(text, first)
        if text == "[]" or text == "{}":
            new: Any = [] if text == "[]" else {}
            return new
        if first == "|":
            return self.block(text, column)
        raise _Other

    def number(self, text: str) -> Json:
        """The value of a text that begins as a number does. Most are short numbers, or dates and the like."""
        before, point, behind = text.partition(".")
        if before.isdigit() and text.isascii() and len(text) <= SURELY_EXACT:
            if behind.isdigit():
                return float(text)
            if not point:
                value = self.known[text] = int(text)
                return value
        elif "-" in text and "e-" not in text and "E-" not in text and text[0] not in "-+.":
            return text
        elif text[0] == "-" and not text[1:2].isalnum() and text[1:2] != ".":
            raise _Other
        return number_or_text(text)

    def quoted(self, text: str, quote: str) -> str:
        inner = text[1:-1]
        if len(text) < 2 or text[-1] != quote:
            raise _Other
        if quote == "'":
            if quote in inner:
                if not _SINGLE.fullmatch(text):
                    raise _Other
                inner = inner.replace("''", "'")
            return inner
        if "\\" not in inner:
            if quote in inner:
                raise _Other
            return inner
        if not _DOUBLE.fullmatch(text) or not _SURE_ESCAPES.fullmatch(text):
            raise _Other
        if "\\x" in text:
            text = re.sub(r"\\(x|.)", lambda match: "\\u00" if match[1] == "x" else match[0], text)
        return str(_ESCAPED_TEXT.raw_decode(text)[0])

    def block(self, header: str, column: int) -> str:
        """The text of the lines that follow."""
        match = _BLOCK.fullmatch(header)
        lines = self.lines
        start = end = len(lines) - length_hint(self.rest)
        if match is None or column < 0:
            raise _Other
        if match[1]:
            indent = column + int(match[1])
        else:
            first = next(filter(None, lines[start:]), "")
            indent = len(first) - len(first.lstrip(" "))
            if indent <= column or first[indent : indent + 1] in ("", "\t"):
                raise _Other
        margin = " " * indent
        while end < len(lines) and (lines[end].startswith(margin) or not lines[end].strip(" ")):
            end += 1
        if end == len(lines) and not self.is_complete:
            raise _Other
        self.keyless += end - start
        text = "\n".join([next(self.rest)[indent:] for _ in range(end - start)])
        content = text.rstrip("\n")
        if not content:
            raise _Other
        if match[2] == "+":
            return f"{text}\n"
        return content if match[2] else f"{content}\n"

    def check(self) -> None:
        """Whether no key stands twice in a mapping, and there are no more values than a file may have."""
        keys = len(self.lines) - self.keyless
        if sum(map(len, self.mappings)) != keys or 2 * keys + sum(map(len, self.lists)) > most_nodes(
            len(self.body)
        ):
            raise _Other

    def has_key(self, name: str) -> bool:
        return name in self.body and any(name in box for box in self.mappings)

    def spans(self, name: str) -> list[tuple[dict[str, Json], tuple[int, int]]]:
        """Where the values of a key stand, by their mappings; none where that is not sure."""
        boxes = [box for box in self.mappings if name in box] if name in self.body else []
        if not boxes:
            return []
        values = re.compile(rf"{re.escape(name)}[\"']?:(?: (.*))?$", re.MULTILINE)
        found = list(values.finditer(self.body))
        columns = {match.start() - self.body.rfind("\n", 0, match.start()) for match in found}
        if len(found) != len(boxes) or len(columns) > 1:
            return []  # the name is also part of a text, or of one mapping within another
        if any((match[1] or "")[:1] == "|" or "\\" in match[0] or "''" in match[0][:-1] for match in found):
            return []
        pairs = zip(boxes, (match.span(1) for match in found), strict=True)
        return [
            (box, span)
            for box, span in pairs
            if box[name].__class__ not in (list, dict) and span[0] < span[1]
        ]


def ends_within(text: str) -> bool:
    """Whether a plain text ends before its line does, or is none."""
    return text[-1] in " :" or ": " in text or " #" in text or "\t" in text


# The marks of a text of which every line is a simple one: no escapes, no blocks.

_INNER = r"[^ #:\x00-\x1f\x7f]"  # of a plain scalar
_PLAIN = rf"(?:[A-Za-z0-9_/.(<$+]|-(?=[0-9])){_INNER}*(?:[ :]{_INNER}+)*"
_QUOTED = r'"[^"\\\x00-\x1f\x7f]*"' + r"|'[^'\x00-\x1f\x7f]*'"
_SIMPLE_KEY = r'[A-Za-z_][A-Za-z0-9_.-]{0,99}|"[^"\\\x00-\x1f\x7f]{0,99}"'


@cache
def simple_line() -> re.Pattern[str]:
    """Compiled when marks are asked for: an ordinary compare needs none."""
    return re.compile(
        rf"^( *)((?:- )*)(?:({_SIMPLE_KEY}):(?: (?! |$)|$))?({_QUOTED}|{_PLAIN}|\[\]|\{{\}}|)$|^ *#[ -~]*$",
        re.MULTILINE,
    )


def has_plain_marks(body: str) -> bool:
    """Whether `plain_events` can tell the marks of a text."""
    reader = _reader_of(body)
    if reader is None or not reader.root or reader.has_flush_lists:
        return False
    lines = body.removesuffix("\n").count("\n") + 1
    return len(simple_line().findall(body.removesuffix("\n"))) == lines


def plain_events(body: str) -> Iterator[Event]:
    """The marks of a text that `has_plain_marks`, as libyaml gives them."""
    open_at: list[int] = []  # the columns of the collections around
    empty = -1  # behind a colon or a dash, where nothing stands yet
    for line in simple_line().finditer(body.removesuffix("\n")):
        indent, dashes, key, text = line.groups()
        if not (dashes or key or text):
            continue
        start, at = line.start(), len(indent)
        if not open_at:  # a root that is no collection has one line
            yield (DOCUMENT, start + at, start + at, "", "", None)
        if open_at and at <= open_at[-1] and empty >= 0:
            yield (SCALAR, empty, empty, "", "", None)
        empty = -1
        while open_at and at < open_at[-1]:
            open_at.pop()
            yield (END, start, start, "", "", None)
        for kind in (*[SEQUENCE] * (len(dashes) // 2), *[MAPPING] * bool(key)):
            if not open_at or at > open_at[-1]:
                open_at.append(at)
                yield (kind, start + at, start + at, "", "", None)
            at += 2
        if key:
            name, quote = (key[1:-1], '"') if key[0] == '"' else (key, "")
            yield (SCALAR, line.start(3), line.end(3), name, quote, None)
        begin, end = line.span(4)
        if text in ("[]", "{}"):
            yield (SEQUENCE if text == "[]" else MAPPING, begin, begin + 1, "", "flow", None)
            yield (END, begin + 1, end, "", "", None)
        elif text:
            quote = text[0] if text[0] in ("'", '"') else ""
            yield (SCALAR, begin, end, text[1:-1] if quote else text, quote, None)
        else:
            empty = line.end(3) + 1 if key else start + len(indent) + len(dashes.rstrip())
    if empty >= 0:
        yield (SCALAR, empty, empty, "", "", None)
    for _ in open_at:
        yield (END, len(body), len(body), "", "", None)
