"""JSONPath (`$.users[?(@.age > 17)].name`) as RFC 9535 defines it: read into segments, its filters evaluated.

Read here and not by a library: what a rule selects decides a verdict, and must not change with the version
that happens to be installed. Whatever is not supported is refused when a file is loaded; nothing that was
read can fail later on."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain
from operator import ge, gt, le, lt

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.equality import decimal, is_number, same_json
from baselinekit.tree.places import Filter, FilterSegment, Key, OneOf, Segment, Slice, Wild, fits

MOST_INDEX = 2**53 - 1
_DEEPEST = 20
"""Filters in filters, and parentheses in them."""

_SPACE = lazy_pattern(r"[ \t\n\r]*")
_NAME = lazy_pattern(r"[A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff][\w\u0080-\ud7ff\ue000-\U0010ffff-]*")
_INDEX = lazy_pattern(r"0|-?[1-9][0-9]*")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_WORD = lazy_pattern(r"[^\W\d]\w*")
_CALL = lazy_pattern(r"[a-z][a-z0-9_]*[ \t]*\(")
_COMPARISON = lazy_pattern(r"==|!=|<=|>=|<|>")
_LONE_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_EXPONENT = 400


@frozen
class Query:
    """`@.a.b` in a filter. `single`: it leads to one value at most."""

    segments: "tuple[Segment, ...]"
    single: bool

    def values(self, value: Json) -> list[Json]:
        return [selected for (selected,) in _selected(self.segments, value)]


@frozen
class Constant:
    value: Json

    def values(self, value: Json) -> list[Json]:
        return [self.value]


@frozen
class Compare:
    sign: str
    left: Query | Constant
    right: Query | Constant

    def holds(self, value: Json) -> bool:
        """Nothing equals nothing and no value; only numbers and texts have an order, among themselves."""
        left, right = self.left.values(value), self.right.values(value)
        if self.sign in ("==", "!="):
            return same_json(left, right) == (self.sign == "==")
        if left and right:
            ordered = {"<": lt, "<=": le, ">": gt, ">=": ge}[self.sign]
            if isinstance(left[0], str) and isinstance(right[0], str):
                return bool(ordered(left[0], right[0]))
            if is_number(left[0]) and is_number(right[0]):
                return bool(ordered(decimal(left[0]), decimal(right[0])))
        return self.sign in ("<=", ">=") and same_json(left, right)

    def reads(self, value: Json) -> Iterator[Json]:
        for operand in (self.left, self.right):
            if isinstance(operand, Query):
                yield from operand.values(value)


@frozen
class Exists:
    query: Query

    def holds(self, value: Json) -> bool:
        return next(_selected(self.query.segments, value), None) is not None

    def reads(self, value: Json) -> Iterator[Json]:
        yield from ()  # a placeholder is there as well as any value


@frozen
class Not:
    term: Filter

    def holds(self, value: Json) -> bool:
        return not self.term.holds(value)

    def reads(self, value: Json) -> Iterator[Json]:
        return self.term.reads(value)


@frozen
class Joined:
    """Several filters of which all must hold, or any."""

    terms: tuple[Filter, ...]
    every: bool

    def holds(self, value: Json) -> bool:
        return (all if self.every else any)(term.holds(value) for term in self.terms)

    def reads(self, value: Json) -> Iterator[Json]:
        return chain.from_iterable(term.reads(value) for term in self.terms)


def _selected(segments: tuple[Segment, ...], value: Json) -> Iterator[tuple[Json]]:
    """Each value in a tuple of one, so that null is not nothing."""
    if not segments:
        yield (value,)
        return
    first, rest = segments[0], segments[1:]
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if first is Wild.DEEP:
        yield from _selected(rest, value)
    for key, child in below:
        if first is Wild.DEEP:
            yield from _selected(segments, child)
        elif fits(first, key, child, len(value)):
            yield from _selected(rest, child)


class NotJsonPath(ValueError):
    """What cannot be read, from which character on, and what to write instead."""

    def __init__(self, what: str, position: int, hint: str = ""):
        super().__init__(what)
        self.what, self.position, self.hint = what, position, hint


def read(text: str) -> tuple[Segment, ...]:
    """The segments of a path that begins with `$`, or NotJsonPath."""
    reader = _PathReader(text)
    reader.at = 1
    segments = reader.segments()
    reader.space()
    if reader.at < len(text):
        raise reader.wrong("what follows is not part of a path")
    return tuple(segments)


class _PathReader:
    """Reads from left to right. `at`: the next character."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self._depth = 0

    def wrong(self, what: str, hint: str = "") -> NotJsonPath:
        return NotJsonPath(what, self.at, hint)

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def took(self, sign: str) -> bool:
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def taken(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def need(self, sign: str, where: str) -> None:
        self.space()
        if not self.took(sign):
            raise self.wrong(f"{sign!r} is missing {where}")

    def segments(self) -> list[Segment]:
        segments: list[Segment] = []
        while True:
            start = self.at
            self.space()
            if self.took(".."):
                segments.append(Wild.DEEP)
                segments.append(self.brackets() if self.took("[") else self.name())
            elif self.took("."):
                segments.append(self.name())
            elif self.took("["):
                segments.append(self.brackets())
            else:
                self.at = start
                return segments

    def name(self) -> Segment:
        if self.took("*"):
            return Wild.ANY
        if self.text[self.at : self.at + 1] == "`":
            raise self.wrong("a path cannot contain functions", "use names, *, [n], [*], .. and filters")
        if self.text[self.at : self.at + 1] in ('"', "'"):
            raise self.wrong("a quoted name must be in brackets", "write ['a.b']")
        name = self.taken(_NAME)
        if name is None:
            raise self.wrong("a name is missing", "quote odd keys: $['x y']")
        if not name.isprintable():
            self.at -= len(name)
            raise self.wrong("a name has a blank or an invisible character", r"write it: ['a\u00a0b']")
        return name

    def brackets(self) -> Segment:
        chosen = [self.selector()]
        self.space()
        while self.took(","):
            chosen.append(self.selector())
            self.space()
        self.need("]", "at the end of the brackets")
        if Wild.ANY in chosen:
            return Wild.ANY
        return chosen[0] if len(chosen) == 1 else OneOf(tuple(chosen))

    def selector(self) -> Segment:
        self.space()
        sign = self.text[self.at : self.at + 1]
        if sign in ("'", '"'):
            name = self.string()
            return Key(name) if name.isdigit() else name
        if self.took("*"):
            return Wild.ANY
        if self.took("?"):
            self.space()
            return FilterSegment(self.either())
        if sign in ("/", "\\"):
            raise self.wrong("a path cannot sort", "select the element with a filter: [?(@.id == 1)]")
        if sign == "(":
            raise self.wrong("a path cannot calculate", "a filter begins with ?: [?(@.id == 1)]")
        return self.index_or_slice()

    def index_or_slice(self) -> Segment:
        start = self.index()
        self.space()
        if not self.took(":"):
            if start is None:
                what = "brackets take a number, *, a slice, a filter or a quoted name"
                raise self.wrong(what, "write ['name']")
            return start
        self.space()
        stop = self.index()
        self.space()
        step = None
        if self.took(":"):
            self.space()
            step = self.index()
        if step == 0:
            raise self.wrong("a slice with a step of 0 selects nothing", "leave the step out")
        return Slice(start, stop, step)

    def index(self) -> int | None:
        digits = self.taken(_INDEX)
        if digits is None:
            return None
        if len(digits) > 17 or abs(int(digits)) > MOST_INDEX:
            shown = clipped(digits, 20, already_masked, counted=False)
            raise self.wrong(f"the index {shown} is out of range", f"at most {MOST_INDEX}")
        return int(digits)

    def string(self) -> str:
        """A quoted text; the escapes are those of JSON, and \\' between single quotes."""
        start, quote = self.at, self.text[self.at]
        end = start + 1
        while end < len(self.text) and self.text[end] != quote:
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.wrong("a quote is not closed")
        inner = self.text[start + 1 : end]
        if quote == "'":
            # `\\"` is no escape between single quotes; it becomes one that JSON refuses
            changed = {"\\'": "'", '"': '\\"', '\\"': "\\!"}
            inner = re.sub(r"\\.|\"", lambda found: changed.get(found[0], found[0]), inner, flags=re.DOTALL)
        try:
            text = str(json.loads(f'"{inner}"', strict=True))
        except ValueError:
            hint = r"write \n, \u263a"
            raise self.wrong("a quoted text has a wrong escape or a control character", hint) from None
        if _LONE_SURROGATE.search(text):
            raise self.wrong("a quoted text has half a surrogate pair", r"write both: \ud83d\ude00")
        self.at = end + 1
        return text

    def either(self) -> Filter:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.wrong("a filter is nested too deeply", "write it with fewer parentheses")
        either = self.joined("|", lambda: self.joined("&", self.term))
        self._depth -= 1
        return either

    def joined(self, sign: str, part: Callable[[], Filter]) -> Filter:
        """The sign twice, as the standard has it, or once, as jsonpath-ng had it for `and`."""
        terms = [part()]
        self.space()
        while self.took(sign * 2) or self.took(sign):
            terms.append(part())
            self.space()
        return terms[0] if len(terms) == 1 else Joined(tuple(terms), every=sign == "&")

    def term(self) -> Filter:
        self.space()
        if self.took("!"):
            self.space()
            if self.took("("):
                return Not(self.closed())
            if self.text[self.at : self.at + 1] != "@":
                what = "`!` must be followed by a path or a parenthesis"
                raise self.wrong(what, "write !@.a or !(@.a == 1)")
            return Not(Exists(self.query()))
        if self.took("("):
            return self.closed()
        left = self.comparable()
        self.space()
        sign = self.taken(_COMPARISON)
        if sign is None:
            return self.existence(left)
        if self.took("~"):
            raise self.wrong("a filter has a regular expression", "compare with ==, !=, < or >")
        self.space()
        right = self.comparable()
        if any(isinstance(operand, Query) and not operand.single for operand in (left, right)):
            what = "a filter compares a path that may lead to several values"
            raise self.wrong(what, "name each key: @.a.b")
        return Compare(sign, left, right)

    def closed(self) -> Filter:
        term = self.either()
        self.need(")", "in a filter")
        return term

    def existence(self, left: Query | Constant) -> Filter:
        if self.text.startswith("=~", self.at):
            raise self.wrong("a filter has a regular expression", "compare with ==, !=, < or >")
        if self.text[self.at : self.at + 1] == "=":
            raise self.wrong("a filter compares with a single =", "write ==")
        if self.text[self.at : self.at + 1] in ("+", "-", "*", "/", "%"):
            raise self.wrong("a filter cannot calculate", "compare with ==, !=, < or >")
        if isinstance(left, Constant):
            raise self.wrong("a filter has a value that is compared with nothing", "write @.a == 1")
        return Exists(left)

    def comparable(self) -> Query | Constant:
        sign = self.text[self.at : self.at + 1]
        if sign == "@":
            return self.query()
        if sign == "$":
            raise self.wrong("a filter refers to the whole document", "it sees only its own element: @.a")
        if sign in ("'", '"'):
            return Constant(self.string())
        if self.text[self.at : self.at + 4] == "=~":
            raise self.wrong("a filter has a regular expression", "compare with ==, !=, < or >")
        number = self.taken(_NUMBER)
        if number is not None:
            return Constant(self.number(number))
        if _CALL.match(self.text, self.at):
            raise self.wrong("a filter cannot contain functions", "compare with ==, !=, < or >")
        word = self.taken(_WORD)
        if word in _CONSTANTS:
            return Constant(_CONSTANTS[word])
        if word is not None:
            raise self.wrong(f"a filter has {word!r} without quotes", f"write '{word}' or @.{word}")
        raise self.wrong("a filter needs @, a number, a quoted text, true, false or null here")

    def number(self, number: str) -> Json:
        if number.lstrip("-").isdigit():
            return int(number)
        exact = Decimal(number)
        if abs(exact.adjusted()) > _EXPONENT:
            raise self.wrong("a filter has a number that is out of range")
        return exact

    def query(self) -> Query:
        self.need("@", "in a filter")
        segments = tuple(self.segments())
        return Query(segments, all(isinstance(segment, str | int | Key) for segment in segments))
