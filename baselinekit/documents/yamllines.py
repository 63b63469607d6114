"""Reads YAML as `capture` writes it, line by line, in a fraction of the time of events: mappings and lists in
block style, each key on its own line, texts plain, in quotes or as a block. A text with anything else in it
is left to libyaml (libyaml.py), valid or not. For the texts that are read here, libyaml gives the same
values."""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any

from baselinekit.documents.jsontext import MAX_DEPTH, most_nodes
from baselinekit.documents.text import DOCUMENT, END, MAPPING, SCALAR, SEQUENCE, Event, Watched
from baselinekit.documents.yamlscalars import (
    DOUBLE,
    NO_KEYS,
    SINGLE,
    SPECIAL_STARTS,
    LineStart,
    NotPlainYaml,
    Scalars,
    block_text,
    ends_within,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

if TYPE_CHECKING:  # imported on demand: few texts are large
    from baselinekit.documents.yamlrows import RowShape

# The part of a line before `: ` is looked up in a cache: its column and its key are worked out once, since
# the rows of an output repeat it. The rest of the line is a text as it is, unless its first character is
# special.

_STARTS_WITH_VALUE: dict[str, LineStart] = {}
"""For lines with a value, by the part before `: `."""
_STARTS_WITHOUT_VALUE: dict[str, LineStart] = {}
"""For lines without a value, by the whole line."""
_INTERNED_KEYS: dict[str, str] = {}
"""Equal keys become the same object."""
_ROW = (list,)
"""The collections that a line with one dash and no key starts."""
_MAX_STARTS = 4_096
_MAX_KEY_LENGTH = 200
_MIN_LARGE_LINES = 200
"""Only in texts with this many lines are similar lines read together."""
_MIN_NEW_KEYS = 16
"""How many new keys are read one by one before the next entries are read together."""
_TRY_SIZES: tuple[int, ...] = (1, 32)
"""The numbers of rows in a list after which the next rows are read together; after some failed attempts only
the larger number."""
_MAX_FAILED_ATTEMPTS = 4
_LOOKAHEAD = 16
"""How many more lines a list must at least have for its rows to be read together."""

_CHARACTERS = bytes(range(32, 127)) + b"\n\t" + bytes(range(128, 256))
_SPECIAL_CHARACTERS = lazy_pattern("[\x80-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that must not be in a YAML text unescaped, in addition to the control characters of ASCII."""
_SPECIAL_PREFIXES = (b"\xc2", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xef\xbb\xbf", b"\xef\xbf")

_SIMPLE_ENTRY = lazy_pattern(r"( *)([A-Za-z_](?:[A-Za-z0-9_ -]{0,98}[A-Za-z0-9_])?): (.+)")
_DASHES = lazy_pattern("( *)((?:- )*)")
_BLOCK = lazy_pattern(r"\|([1-9])?([+-])?")


def read_plain(body: str, watched: Watched) -> list[Json] | None:
    """Read the only document of a text, and add the spans of the values of the `watched` keys. None if the
    text is not written plainly."""
    reader = _read_lines(body)
    if reader is None:
        return None
    spans_by_key = {name: reader.spans(name) for name in watched}
    if reader.has_flush_lists and any(not spans_by_key[name] and reader.has_key(name) for name in watched):
        return None  # libyaml knows the places of these values
    for key, spans in spans_by_key.items():
        watched[key] += spans
    return reader.root or None


def _read_lines(body: str) -> "_LineReader | None":
    """Return a reader that has read all of a text; None if the text is not written plainly."""
    try:
        if has_special_characters(body):
            return None
        reader = _LineReader(body)
        reader.read()
        reader.check()
    except ValueError:
        return None
    return reader


def has_special_characters(body: str) -> bool:
    """Whether there are characters that YAML does not allow unescaped, or treats as line ends."""
    data = body.encode()
    if data.translate(None, _CHARACTERS):
        return True
    return (
        len(data) > len(body)
        and any(map(data.__contains__, _SPECIAL_PREFIXES))
        and bool(_SPECIAL_CHARACTERS.search(body))
    )


class _LineReader(Scalars):
    """Reads one text. Frequent cases are in the loop of `read`, rare ones in methods."""

    def __init__(self, body: str, max_depth: int = MAX_DEPTH):
        super().__init__(body)
        self.max_depth = max_depth
        self.body = body if body.endswith("\n") else f"{body}\n"
        self.is_complete = self.body is body
        self.lines = self.body.split("\n")[:-1]
        self.rest = iter(self.lines)
        self.root: list[Json] = []
        self.mappings: list[dict[str, Json]] = []
        self.lists: list[list[Json]] = []
        self.keyless = 0
        """How many lines have no key."""
        self.has_flush_lists = False
        """Whether any list has its dashes in the same column as its key, as most programs write them."""
        self.is_large = len(self.lines) >= _MIN_LARGE_LINES
        self.row_nodes, self.row_keys = 0, set[str]()
        """Those of the rows that were read together."""
        self.new_keys = self.failed_attempts = self.failed_row_attempts = 0
        self.tries = _TRY_SIZES if len(self.lines) >= _MIN_LARGE_LINES else ()
        """How many rows a list has when the next ones are tried together."""
        self.last_position = 0, 0
        """The line whose position was asked for last, and that position."""

    def read(self) -> None:
        outer: list[tuple[int, int, Any]] = []
        box: Any = self.root
        column = map_column = -1  # of the entries of `box`; `map_column`: the same if it is a mapping
        name, is_open = "", True  # is_open: the value of the last entry may start on the next line
        boxes: dict[type, list[Any]] = {dict: self.mappings, list: self.lists}
        known, has_tabs = self.special_values.get, self.has_tabs_or_comments
        for line in self.rest:
            start, colon, text = line.partition(": ")
            head = _STARTS_WITH_VALUE.get(start) if colon else _STARTS_WITHOUT_VALUE.get(line)
            if head is None:
                entry = line.lstrip(" ")
                if not colon and entry[:2] == "- " != entry[2:4] and line[-1] != ":":
                    indent, text = len(line) - len(entry), entry[2:]
                    head = (-1 if indent == column and len(box) not in self.tries else -2, None, indent, _ROW)
                    self.keyless += 1
                else:
                    head, text = self.parse(line)
                    if head is None or (head[0] == map_column and self.has_read_entries(box, column)):
                        is_open = is_open and head is None
                        continue
            key_column, key, indent, kinds = head
            if key_column != map_column:
                while indent < column or (map_column < 0 and indent == column and kinds[0] is dict):
                    column, map_column, box = outer.pop()
                    is_open = False
                is_attempt = map_column < 0 and indent == column and len(box) in self.tries
                if is_attempt and self.has_read_rows(box, column, len(outer), key is None):
                    is_open = False
                    continue
                for kind in kinds:
                    is_flush = indent == map_column and kind is list
                    if (indent > column or is_flush) and is_open and len(outer) < self.max_depth:
                        self.has_flush_lists |= is_flush
                        outer.append((column, map_column, box))
                        collection: Any = kind()
                        if map_column < 0:
                            box.append(collection)
                        else:
                            box[name] = collection
                        box, column, map_column = collection, indent, indent if kind is dict else -1
                        boxes[kind].append(collection)
                    elif indent != column or box.__class__ is not kind:
                        raise NotPlainYaml
                    indent, is_open = indent + 2, True
            value: Any = text or None
            if text:
                if text[0] in SPECIAL_STARTS:
                    value = known(text, self)
                    if value is self:
                        value = self.block(text, column) if text[0] == "|" else self.value(text)
                if value is text and (": " in text or text[-1] in " :" or (has_tabs and ends_within(text))):
                    raise NotPlainYaml
            is_open = not text
            if key is not None and (text or not colon):
                box[key], name = value, key
            elif text:
                box.append(value)
            else:  # a trailing blank
                raise NotPlainYaml

    def parse(self, line: str) -> tuple[LineStart | None, str]:
        """Return the start of a line and its text; None as the start of a blank line or a comment."""
        simple = _SIMPLE_ENTRY.fullmatch(line)
        if simple and simple[2] not in NO_KEYS:
            column = len(simple[1])
            head: LineStart = (column, simple[2], column, (dict,))
            if len(_STARTS_WITH_VALUE) < _MAX_STARTS:
                _STARTS_WITH_VALUE[line[: simple.end(2)]] = head
            return head, simple[3]
        match = _DASHES.match(line)
        column, dashes = (len(match[1]), len(match[2]) // 2) if match else (0, 0)
        entry = line[column + 2 * dashes :]
        if not entry or entry[0] == "#":
            if dashes:
                raise NotPlainYaml
            self.keyless += 1
            return None, ""
        key, text = self.split(entry)
        kinds: tuple[type, ...] = (list,) * dashes
        if key is None:
            if not dashes:
                raise NotPlainYaml
            self.keyless += 1
            return (-2, None, column, kinds), text
        head = (-2 if dashes else column, _INTERNED_KEYS.setdefault(key, key), column, (*kinds, dict))
        if not text and line[-1] != ":":
            raise NotPlainYaml
        start = line.partition(": ")[0]
        cache = _STARTS_WITH_VALUE if text else _STARTS_WITHOUT_VALUE
        if len(cache) >= _MAX_STARTS:
            cache.clear()
            _INTERNED_KEYS.clear()
        if len(start) == len(line) - (len(text) + 2 if text else 0):  # no other `: ` in the key
            cache[start] = head
        return head, text

    def split(self, entry: str) -> tuple[str | None, str]:
        """Return the key of an entry, if it has one, and its value."""
        if entry[0] in "\"'":
            match = (DOUBLE if entry[0] == '"' else SINGLE).match(entry)
            if match and match.end() == len(entry):
                return None, entry
            if not match or len(match[0]) > _MAX_KEY_LENGTH or "\\" in match[0]:
                raise NotPlainYaml
            text = entry[match.end() :]
            if text != ":" and not text.startswith(": "):
                raise NotPlainYaml
            return self.quoted(match[0], entry[0]), text[2:]
        key, colon, text = entry.partition(": ")
        if not colon:
            if entry[-1] != ":":
                return None, entry
            key = entry[:-1]
        if not key or len(key) > _MAX_KEY_LENGTH or key in NO_KEYS or key.startswith("..."):
            raise NotPlainYaml
        if ends_within(key) or (key[0] in SPECIAL_STARTS and not isinstance(self.value(key), str)):
            raise NotPlainYaml
        return key, text

    def block(self, header: str, column: int) -> str:
        """Return the text of the block on the following lines."""
        start = self.line + 1
        end, indent = self.extent(header, start, column)
        if end == len(self.lines) and not self.is_complete:
            raise NotPlainYaml
        self.keyless += end - start
        return block_text(header, "\n".join([next(self.rest)[indent:] for _ in range(end - start)]))

    def extent(self, header: str, start: int, column: int) -> tuple[int, int]:
        """Return where the block that starts on a line ends, and its indentation. `column` is that of its
        entry."""
        match, lines, end = _BLOCK.fullmatch(header), self.lines, start
        if match is None or column < 0:
            raise NotPlainYaml
        if match[1]:
            indent = column + int(match[1])
        else:
            number = start
            while number < len(lines) and not lines[number]:
                number += 1
            first = lines[number] if number < len(lines) else ""
            indent = len(first) - len(first.lstrip(" "))
            if indent <= column or first[indent : indent + 1] in ("", "\t"):
                raise NotPlainYaml
        margin = " " * indent
        while end < len(lines) and (lines[end].startswith(margin) or not lines[end].strip(" ")):
            end += 1
        return end, indent

    # Similar lines are read together.

    @property
    def line(self) -> int:
        """The number of the current line."""
        return len(self.lines) - length_hint(self.rest) - 1

    def skip(self, count: int) -> None:
        """Skip the current line and the following ones, `count` in all."""
        next(islice(self.rest, count - 1, count - 1), None)

    def has_read_entries(self, box: dict[str, Json], column: int) -> bool:
        """Read entries of a mapping together from this line on, if many keys were new. Returns whether it
        did."""
        self.new_keys += self.is_large
        if self.new_keys < _MIN_NEW_KEYS << self.failed_attempts:
            return False
        from baselinekit.documents.yamlrows import entries_of

        entries, lines = entries_of(self, self.lines, self.line, column)
        self.new_keys, self.failed_attempts = 0, 0 if entries else self.failed_attempts + 1
        if not entries:
            return False
        box.update(entries)
        self.skip(lines)
        return True

    def has_read_rows(self, box: list[Json], column: int, depth: int, is_counted: bool) -> bool:
        """Read rows of a list together from this line on, if there are many. Returns whether it did.
        `is_counted`: whether this line is already counted as one without a key."""
        lines = self.lines
        start = len(lines) - length_hint(self.rest) - 1
        line_ahead = lines[min(start + _LOOKAHEAD, len(lines) - 1)]
        if line_ahead[column : column + 2] != "- " and line_ahead[column : column + 1] != " ":
            return False
        last, inner, dash = start - 1, " " * (column + 1), f"{' ' * column}- "
        while last >= 0 and (lines[last].startswith(inner) or not lines[last]):
            last -= 1
        from baselinekit.documents.yamlrows import Rows, items_of

        size = start - last
        if last < 0 or not lines[last].startswith(dash):
            return False
        if size == 1:
            items = items_of(self, lines, start, column) if line_ahead.startswith(dash) else []
            box += items
            count = len(items)
        else:
            rows = Rows(self, self.body, column, self.position, partial(self.row, self.max_depth - depth + 1))
            rows.read(lines, start, size, partial(self.shape, last, start, box[-1]))
            box += rows.values
            self.row_nodes += rows.nodes
            self.row_keys |= rows.keys
            count = rows.lines
            self.failed_row_attempts = 0 if count else self.failed_row_attempts + 1
            self.tries = _TRY_SIZES if self.failed_row_attempts < _MAX_FAILED_ATTEMPTS else _TRY_SIZES[1:]
        if not count:
            return False
        self.keyless += count - is_counted
        self.skip(count)
        return True

    def position(self, line: int) -> int:
        """Return the index at which a line starts. Lines must be asked for in order."""
        last_line, position = self.last_position
        self.last_position = line, position + sum(map(len, self.lines[last_line:line])) + line - last_line
        return self.last_position[1]

    def shape(self, start: int, end: int, value: Json) -> "RowShape | None":
        """Return the shape of the row in these lines."""
        from baselinekit.documents.yamlrows import shape_of

        keyless = self.keyless
        shape = shape_of(self, start, end, value)
        self.keyless = keyless
        return shape

    def row(self, max_depth: int, start: int, end: int) -> "tuple[Json, RowShape]":
        """Read the row in these lines by itself."""
        from baselinekit.documents.yamlrows import shape_of

        reader = _LineReader("\n".join([*self.lines[start:end], ""]), max_depth)
        reader.read()
        reader.check()
        match reader.root:
            case [[value]]:
                shape = shape_of(reader, 0, end - start, value)
            case _:
                raise NotPlainYaml
        if shape is None:
            raise NotPlainYaml
        self.has_flush_lists |= reader.has_flush_lists
        return value, shape

    def check(self) -> None:
        """Check that no mapping has a key twice, and that there are not too many values."""
        keys = len(self.lines) - self.keyless
        nodes = 2 * keys + sum(map(len, self.lists)) + self.row_nodes
        if sum(map(len, self.mappings)) != keys or nodes > most_nodes(len(self.body)):
            raise NotPlainYaml

    def has_key(self, name: str) -> bool:
        return name in self.row_keys or (name in self.body and any(name in box for box in self.mappings))

    def spans(self, name: str) -> list[tuple[dict[str, Json], tuple[int, int]]]:
        """Return the spans of the values of a key, with their mappings; none if that is not certain."""
        boxes = [box for box in self.mappings if name in box] if name in self.body else []
        if not boxes or name in self.row_keys:
            return []
        value = re.compile(rf"{re.escape(name)}[\"']?:(?: (.*))?$", re.MULTILINE)
        matches = [match for at in _find_all(name, self.body) if (match := value.match(self.body, at))]
        columns = {match.start() - self.body.rfind("\n", 0, match.start()) for match in matches}
        if len(matches) != len(boxes) or len(columns) > 1:
            return []  # the name also occurs in a text, or the mapping is inside another one
        if any((match[1] or "")[:1] == "|" or "\\" in match[0] or "''" in match[0][:-1] for match in matches):
            return []
        pairs = zip(boxes, (match.span(1) for match in matches), strict=True)
        return [
            (box, span)
            for box, span in pairs
            if box[name].__class__ not in (list, dict) and span[0] < span[1]
        ]


def _find_all(name: str, body: str) -> Iterator[int]:
    """Yield each index of a name. Takes a tenth of the time of a pattern."""
    at = body.find(name)
    while at >= 0:
        yield at
        at = body.find(name, at + len(name))


# The events of a text that has only simple lines: no escapes, no blocks.

_INNER = r"[^ #:\x00-\x1f\x7f]"  # of a plain scalar
_PLAIN = rf"(?:[A-Za-z0-9_/.(<$+]|-(?=[0-9])){_INNER}*(?:[ :]{_INNER}+)*"
_QUOTED = r'"[^"\\\x00-\x1f\x7f]*"' + r"|'[^'\x00-\x1f\x7f]*'"
_SIMPLE_KEY = r'[A-Za-z_][A-Za-z0-9_.-]{0,99}|"[^"\\\x00-\x1f\x7f]{0,99}"'


@cache
def simple_line() -> re.Pattern[str]:
    """Return the pattern of a simple line. Compiled on demand: an ordinary compare does not need it."""
    return re.compile(
        rf"^( *)((?:- )*)(?:({_SIMPLE_KEY}):(?: (?! |$)|$))?({_QUOTED}|{_PLAIN}|\[\]|\{{\}}|)$|^ *#[ -~]*$",
        re.MULTILINE,
    )


def has_plain_marks(body: str) -> bool:
    """Whether `plain_events` can read a text."""
    reader = _read_lines(body)
    if reader is None or not reader.root or reader.has_flush_lists:
        return False
    lines = body.removesuffix("\n").count("\n") + 1
    return len(simple_line().findall(body.removesuffix("\n"))) == lines


def plain_events(body: str) -> Iterator[Event]:
    """Yield the events of a text that `has_plain_marks`, the same as those of libyaml."""
    columns: list[int] = []  # the columns of the open collections
    empty_value = -1  # the index after a colon or a dash without a value so far
    for line in simple_line().finditer(body.removesuffix("\n")):
        indent, dashes, key, text = line.groups()
        if not (dashes or key or text):
            continue
        start, column = line.start(), len(indent)
        if not columns:  # the first line; a scalar root has no other
            yield (DOCUMENT, start + column, start + column, "", "", None)
        if columns and column <= columns[-1] and empty_value >= 0:
            yield (SCALAR, empty_value, empty_value, "", "", None)
        empty_value = -1
        while columns and column < columns[-1]:
            columns.pop()
            yield (END, start, start, "", "", None)
        for kind in (*[SEQUENCE] * (len(dashes) // 2), *[MAPPING] * bool(key)):
            if not columns or column > columns[-1]:
                columns.append(column)
                yield (kind, start + column, start + column, "", "", None)
            column += 2
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
            empty_value = line.end(3) + 1 if key else start + len(indent) + len(dashes.rstrip())
    if empty_value >= 0:
        yield (SCALAR, empty_value, empty_value, "", "", None)
    for _ in columns:
        yield (END, len(body), len(body), "", "", None)
