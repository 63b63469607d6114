"""YAML as `capture` writes it, read line by line, at a fraction of what events cost: mappings and lists in
block style, each key on its line, texts plain, in quotes or as a block. A text with anything else in it is
left to libyaml (libyaml.py), whether it is right or wrong; of what is read here, libyaml reads the same."""

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
    ODD_STARTS,
    SINGLE,
    Lead,
    Other,
    Scalars,
    block_text,
    ends_within,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json

if TYPE_CHECKING:  # few texts are large
    from baselinekit.documents.yamlrows import RowShape

# The part of a line before `: ` is looked up: its column and its key are worked out once, since the rows of
# an output repeat it. What stands behind is a text as it is, unless its first character says otherwise.

_VALUED: dict[str, Lead] = {}
"""Of lines with a value, by what stands before `: `."""
_OPENING: dict[str, Lead] = {}
"""Of lines without, by the whole line."""
_NAMES: dict[str, str] = {}
"""The same key is the same object wherever it stands."""
_ITEM = (list,)
_MOST_LEADS = 4_096
_LONGEST_KEY = 200
_LARGE = 200
"""Lines of a text in which those that are alike are looked for."""
_NEW_KEYS = 16
"""Before many of them are read together."""
_TRIED_AT: tuple[int, ...] = (1, 32)
"""How many rows a list has when more are read together; the larger number, after some that had few."""
_MOST_MISSED = 4
_AHEAD = 16
"""Lines that a list has yet to have at least."""

_CHARACTERS = bytes(range(32, 127)) + b"\n\t" + bytes(range(128, 256))
_ODD = lazy_pattern("[\x80-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What no text holds as it is, beside the control characters of ASCII."""
_ODD_BEGIN = (b"\xc2", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xef\xbb\xbf", b"\xef\xbf")

_SIMPLE_ENTRY = lazy_pattern(r"( *)([A-Za-z_](?:[A-Za-z0-9_ -]{0,98}[A-Za-z0-9_])?): (.+)")
_DASHES = lazy_pattern("( *)((?:- )*)")
_BLOCK = lazy_pattern(r"\|([1-9])?([+-])?")


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


class _LineReader(Scalars):
    """One text on its way to values. What is common stands in the loop; what is rare is a method. It may nest
    `deepest` levels deep."""

    def __init__(self, body: str, deepest: int = MAX_DEPTH):
        super().__init__(body)
        self.deepest = deepest
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
        self.is_large = len(self.lines) >= _LARGE
        self.further_nodes, self.further_keys = 0, set[str]()
        """Those of rows that were read together."""
        self.new_keys = self.missed = self.missed_rows = 0
        self.tried_at = _TRIED_AT if len(self.lines) >= _LARGE else ()
        self.passed = 0, 0
        """A line, and where it begins."""

    def read(self) -> None:
        outer: list[tuple[int, int, Any]] = []
        box: Any = self.root
        column = keyed = -1  # where the entries of the box stand; keyed: the same, if it is a mapping
        name, is_open = "", True  # open: what the last entry holds may begin below it
        boxes: dict[type, list[Any]] = {dict: self.mappings, list: self.lists}
        known, odd = self.known.get, self.has_odd_blanks
        for line in self.rest:
            start, colon, text = line.partition(": ")
            lead = _VALUED.get(start) if colon else _OPENING.get(line)
            if lead is None:
                entry = line.lstrip(" ")
                if not colon and entry[:2] == "- " != entry[2:4] and line[-1] != ":":
                    here, text = len(line) - len(entry), entry[2:]
                    lead = (-1 if here == column and len(box) not in self.tried_at else -2, None, here, _ITEM)
                    self.keyless += 1
                else:
                    lead, text = self.parse(line)
                    if lead is None or (lead[0] == keyed and self.has_read_entries(box, column)):
                        is_open = is_open and lead is None
                        continue
            at, key, here, begins = lead
            if at != keyed:
                while here < column or (keyed < 0 and here == column and begins[0] is dict):
                    column, keyed, box = outer.pop()
                    is_open = False
                tries = keyed < 0 and here == column and len(box) in self.tried_at
                if tries and self.has_read_rows(box, column, len(outer), key is None):
                    is_open = False
                    continue
                for kind in begins:
                    is_flush = here == keyed and kind is list
                    if (here > column or is_flush) and is_open and len(outer) < self.deepest:
                        self.has_flush_lists |= is_flush
                        outer.append((column, keyed, box))
                        new: Any = kind()
                        if keyed < 0:
                            box.append(new)
                        else:
                            box[name] = new
                        box, column, keyed = new, here, here if kind is dict else -1
                        boxes[kind].append(new)
                    elif here != column or box.__class__ is not kind:
                        raise Other
                    here, is_open = here + 2, True
            value: Any = text or None
            if text:
                if text[0] in ODD_STARTS:
                    value = known(text, self)
                    if value is self:
                        value = self.block(text, column) if text[0] == "|" else self.value(text)
                if value is text and (": " in text or text[-1] in " :" or (odd and ends_within(text))):
                    raise Other
            is_open = not text
            if key is not None and (text or not colon):
                box[key], name = value, key
            elif text:
                box.append(value)
            else:  # a blank at the end
                raise Other

    def parse(self, line: str) -> tuple[Lead | None, str]:
        """What a line begins with, and what stands behind it; None for one without a meaning."""
        simple = _SIMPLE_ENTRY.fullmatch(line)
        if simple and simple[2] not in NO_KEYS:
            column = len(simple[1])
            lead: Lead = (column, simple[2], column, (dict,))
            if len(_VALUED) < _MOST_LEADS:
                _VALUED[line[: simple.end(2)]] = lead
            return lead, simple[3]
        match = _DASHES.match(line)
        column, dashes = (len(match[1]), len(match[2]) // 2) if match else (0, 0)
        entry = line[column + 2 * dashes :]
        if not entry or entry[0] == "#":
            if dashes:
                raise Other
            self.keyless += 1
            return None, ""
        key, text = self.split(entry)
        begins: tuple[type, ...] = (list,) * dashes
        if key is None:
            if not dashes:
                raise Other
            self.keyless += 1
            return (-2, None, column, begins), text
        lead = (-2 if dashes else column, _NAMES.setdefault(key, key), column, (*begins, dict))
        if not text and line[-1] != ":":
            raise Other
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
            match = (DOUBLE if entry[0] == '"' else SINGLE).match(entry)
            if match and match.end() == len(entry):
                return None, entry
            if not match or len(match[0]) > _LONGEST_KEY or "\\" in match[0]:
                raise Other
            text = entry[match.end() :]
            if text != ":" and not text.startswith(": "):
                raise Other
            return self.quoted(match[0], entry[0]), text[2:]
        key, colon, text = entry.partition(": ")
        if not colon:
            if entry[-1] != ":":
                return None, entry
            key = entry[:-1]
        if not key or len(key) > _LONGEST_KEY or key in NO_KEYS or key.startswith("..."):
            raise Other
        if ends_within(key) or (key[0] in ODD_STARTS and not isinstance(self.value(key), str)):
            raise Other
        return key, text

    def block(self, header: str, column: int) -> str:
        """The text of the lines that follow."""
        start = self.line + 1
        end, indent = self.extent(header, start, column)
        if end == len(self.lines) and not self.is_complete:
            raise Other
        self.keyless += end - start
        return block_text(header, "\n".join([next(self.rest)[indent:] for _ in range(end - start)]))

    def extent(self, header: str, start: int, column: int) -> tuple[int, int]:
        """Where the block ends whose lines begin here, and its indentation. `column`: of its entry."""
        match, lines, end = _BLOCK.fullmatch(header), self.lines, start
        if match is None or column < 0:
            raise Other
        if match[1]:
            indent = column + int(match[1])
        else:
            number = start
            while number < len(lines) and not lines[number]:
                number += 1
            first = lines[number] if number < len(lines) else ""
            indent = len(first) - len(first.lstrip(" "))
            if indent <= column or first[indent : indent + 1] in ("", "\t"):
                raise Other
        margin = " " * indent
        while end < len(lines) and (lines[end].startswith(margin) or not lines[end].strip(" ")):
            end += 1
        return end, indent

    # Lines that are alike are read together.

    @property
    def line(self) -> int:
        """The line that is under way."""
        return len(self.lines) - length_hint(self.rest) - 1

    def skip(self, count: int) -> None:
        """Go on behind so many lines, of which the first is under way."""
        next(islice(self.rest, count - 1, count - 1), None)

    def has_read_entries(self, box: dict[str, Json], column: int) -> bool:
        """Read the entries of a mapping that begin on this line, if many keys have been new here."""
        self.new_keys += self.is_large
        if self.new_keys < _NEW_KEYS << self.missed:
            return False
        from baselinekit.documents.yamlrows import entries_of

        found, lines = entries_of(self, self.lines, self.line, column)
        self.new_keys, self.missed = 0, 0 if found else self.missed + 1
        if not found:
            return False
        box.update(found)
        self.skip(lines)
        return True

    def has_read_rows(self, box: list[Json], column: int, depth: int, is_counted: bool) -> bool:
        """Read the rows of a list from this line on, if they are many. `is_counted`: among those that have no
        key."""
        lines = self.lines
        start = len(lines) - length_hint(self.rest) - 1
        ahead = lines[min(start + _AHEAD, len(lines) - 1)]
        if ahead[column : column + 2] != "- " and ahead[column : column + 1] != " ":
            return False
        last, inner, dash = start - 1, " " * (column + 1), f"{' ' * column}- "
        while last >= 0 and (lines[last].startswith(inner) or not lines[last]):
            last -= 1
        from baselinekit.documents.yamlrows import Rows, items_of

        size = start - last
        if last < 0 or not lines[last].startswith(dash):
            return False
        if size == 1:
            found = items_of(self, lines, start, column) if ahead.startswith(dash) else []
            box += found
            count = len(found)
        else:
            rows = Rows(self, self.body, column, self.position, partial(self.row, self.deepest - depth + 1))
            rows.read(lines, start, size, partial(self.shape, last, start, box[-1]))
            box += rows.values
            self.further_nodes += rows.nodes
            self.further_keys |= rows.keys
            count = rows.lines
            self.missed_rows = 0 if count else self.missed_rows + 1
            self.tried_at = _TRIED_AT if self.missed_rows < _MOST_MISSED else _TRIED_AT[1:]
        if not count:
            return False
        self.keyless += count - is_counted
        self.skip(count)
        return True

    def position(self, line: int) -> int:
        """Where a line begins, which is not before the one that was asked for last."""
        known, position = self.passed
        self.passed = line, position + sum(map(len, self.lines[known:line])) + line - known
        return self.passed[1]

    def shape(self, start: int, end: int, value: Json) -> "RowShape | None":
        """The shape of the row in these lines."""
        from baselinekit.documents.yamlrows import shape_of

        keyless = self.keyless
        found = shape_of(self, start, end, value)
        self.keyless = keyless
        return found

    def row(self, deepest: int, start: int, end: int) -> "tuple[Json, RowShape]":
        """A row by itself, which stands in these lines."""
        from baselinekit.documents.yamlrows import shape_of

        reader = _LineReader("\n".join([*self.lines[start:end], ""]), deepest)
        reader.read()
        reader.check()
        match reader.root:
            case [[value]]:
                shape = shape_of(reader, 0, end - start, value)
            case _:
                raise Other
        if shape is None:
            raise Other
        self.has_flush_lists |= reader.has_flush_lists
        return value, shape

    def check(self) -> None:
        """Whether no key stands twice in a mapping, and there are no more values than a file may have."""
        keys = len(self.lines) - self.keyless
        nodes = 2 * keys + sum(map(len, self.lists)) + self.further_nodes
        if sum(map(len, self.mappings)) != keys or nodes > most_nodes(len(self.body)):
            raise Other

    def has_key(self, name: str) -> bool:
        return name in self.further_keys or (name in self.body and any(name in box for box in self.mappings))

    def spans(self, name: str) -> list[tuple[dict[str, Json], tuple[int, int]]]:
        """Where the values of a key stand, by their mappings; none where that is not sure."""
        boxes = [box for box in self.mappings if name in box] if name in self.body else []
        if not boxes or name in self.further_keys:
            return []
        value = re.compile(rf"{re.escape(name)}[\"']?:(?: (.*))?$", re.MULTILINE)
        found = [match for at in _places(name, self.body) if (match := value.match(self.body, at))]
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


def _places(name: str, body: str) -> Iterator[int]:
    """Wherever a name stands. To look for it so takes a tenth of what a pattern takes."""
    at = body.find(name)
    while at >= 0:
        yield at
        at = body.find(name, at + len(name))


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
