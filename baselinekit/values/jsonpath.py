"""JSONPath (`$.users[?(@.age > 17)].name`) as defined by RFC 9535: parsed into segments, with filters.

Parsed here and not by a library: what a rule selects decides a verdict, and must not change with the version
that happens to be installed. Whatever is not supported is refused when a file is loaded; a path that was
parsed cannot fail later on."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain
from operator import ge, gt, le, lt

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct
from baselinekit.values.equality import decimal, is_number, same_json
from baselinekit.values.places import Filter, FilterSegment, Key, OneOf, Segment, Slice, Wild, fits
from baselinekit.values.texts import mask_and_clip, no_mask

MOST_INDEX = 2**53 - 1
_DEEPEST = 20
"""The depth of filters in filters, and of parentheses."""

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


class Query(Struct):
    """`@.a.b` in a filter. `single`: it leads to one value at most."""

    segments: "tuple[Segment, ...]"
    single: bool

    def values(self, value: Json) -> list[Json]:
        return [selected for (selected,) in _select(self.segments, value)]


class Constant(Struct):
    value: Json

    def values(self, value: Json) -> list[Json]:
        return [self.value]


class Compare(Struct):
    sign: str
    left: Query | Constant
    right: Query | Constant

    def holds(self, value: Json) -> bool:
        """Nothing equals nothing, but no value; only numbers are ordered with numbers, and texts with
        texts."""
        left, right = self.left.values(value), self.right.values(value)
        if self.sign in ("==", "!="):
            return same_json(left, right) == (self.sign == "==")
        if left and right:
            compare = {"<": lt, "<=": le, ">": gt, ">=": ge}[self.sign]
            if isinstance(left[0], str) and isinstance(right[0], str):
                return bool(compare(left[0], right[0]))
            if is_number(left[0]) and is_number(right[0]):
                return bool(compare(decimal(left[0]), decimal(right[0])))
        return self.sign in ("<=", ">=") and same_json(left, right)

    def reads(self, value: Json) -> Iterator[Json]:
        for operand in (self.left, self.right):
            if isinstance(operand, Query):
                yield from operand.values(value)


class Exists(Struct):
    query: Query

    def holds(self, value: Json) -> bool:
        return next(_select(self.query.segments, value), None) is not None

    def reads(self, value: Json) -> Iterator[Json]:
        yield from ()  # a placeholder exists just as any value does


class Not(Struct):
    term: Filter

    def holds(self, value: Json) -> bool:
        return not self.term.holds(value)

    def reads(self, value: Json) -> Iterator[Json]:
        return self.term.reads(value)


class Joined(Struct):
    """Several filters of which all (`every`), or any, must hold."""

    terms: tuple[Filter, ...]
    every: bool

    def holds(self, value: Json) -> bool:
        return (all if self.every else any)(term.holds(value) for term in self.terms)

    def reads(self, value: Json) -> Iterator[Json]:
        return chain.from_iterable(term.reads(value) for term in self.terms)


def _select(segments: tuple[Segment, ...], value: Json) -> Iterator[tuple[Json]]:
    """The selected values, each in a tuple of one, so that null differs from nothing."""
    if not segments:
        yield (value,)
        return
    first, rest = segments[0], segments[1:]
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if first is Wild.DEEP:
        yield from _select(rest, value)
    for key, child in below:
        if first is Wild.DEEP:
            yield from _select(segments, child)
        elif fits(first, key, child, len(value)):
            yield from _select(rest, child)


class NotJsonPath(ValueError):
    """A path that cannot be parsed: the reason, the position, and what to write instead."""

    def __init__(self, message: str, position: int, hint: str = ""):
        super().__init__(message)
        self.message, self.position, self.hint = message, position, hint


def read(text: str) -> tuple[Segment, ...]:
    """The segments of a path that begins with `$`, or NotJsonPath."""
    reader = _PathReader(text)
    reader.position = 1
    segments = reader.segments()
    if reader.position < len(text):
        blank = text[reader.position :].isspace()
        message = (
            "a blank at the end is not part of a path" if blank else "what follows is not part of a path"
        )
        raise reader.error(message, "remove it" if blank else "")
    return tuple(segments)


class _PathReader:
    """Parses a path from left to right. `position`: the next character."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0
        self._depth = 0

    def error(self, message: str, hint: str = "") -> NotJsonPath:
        return NotJsonPath(message, self.position, hint)

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def skip(self, sign: str) -> bool:
        if self.text.startswith(sign, self.position):
            self.position += len(sign)
            return True
        return False

    def match_pattern(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[0]

    def expect(self, sign: str, where: str) -> None:
        self.skip_space()
        if not self.skip(sign):
            raise self.error(f"{sign!r} is missing {where}")

    def segments(self) -> list[Segment]:
        segments: list[Segment] = []
        while True:
            start = self.position
            self.skip_space()
            if self.skip(".."):
                segments.append(Wild.DEEP)
                segments.append(self.brackets() if self.skip("[") else self.name())
            elif self.skip("."):
                segments.append(self.name())
            elif self.skip("["):
                segments.append(self.brackets())
            else:
                self.position = start
                return segments

    def name(self) -> Segment:
        if self.skip("*"):
            return Wild.ANY
        if self.text[self.position : self.position + 1] == "`":
            raise self.error("a path cannot contain functions", "use names, *, [n], [*], .. and filters")
        if self.text[self.position : self.position + 1] in ('"', "'"):
            raise self.error("a quoted name must be in brackets", "write ['a.b']")
        name = self.match_pattern(_NAME)
        if name is None:
            raise self.error("a name is missing", "quote odd keys: $['x y']")
        if not name.isprintable():
            self.position -= len(name)
            raise self.error("a name has a blank or an invisible character", r"write it: ['a\u00a0b']")
        return name

    def brackets(self) -> Segment:
        chosen = [self.selector()]
        self.skip_space()
        while self.skip(","):
            chosen.append(self.selector())
            self.skip_space()
        self.expect("]", "at the end of the brackets")
        if Wild.ANY in chosen:
            return Wild.ANY
        return chosen[0] if len(chosen) == 1 else OneOf(tuple(chosen))

    def selector(self) -> Segment:
        self.skip_space()
        sign = self.text[self.position : self.position + 1]
        if sign in ("'", '"'):
            name = self.string()
            return Key(name) if name.isdigit() else name
        if self.skip("*"):
            return Wild.ANY
        if self.skip("?"):
            self.skip_space()
            return FilterSegment(self.filter_expression())
        if sign in ("/", "\\"):
            raise self.error("a path cannot sort", "select the element with a filter: [?(@.id == 1)]")
        if sign == "(":
            raise self.error("a path cannot calculate", "a filter begins with ?: [?(@.id == 1)]")
        return self.index_or_slice()

    def index_or_slice(self) -> Segment:
        start = self.index()
        self.skip_space()
        if not self.skip(":"):
            if start is None:
                message = "brackets take a number, *, a slice, a filter or a quoted name"
                raise self.error(message, "write ['name']")
            return start
        self.skip_space()
        stop = self.index()
        self.skip_space()
        step = None
        if self.skip(":"):
            self.skip_space()
            step = self.index()
        if step == 0:
            raise self.error("a slice with a step of 0 selects nothing", "leave the step out")
        return Slice(start, stop, step)

    def index(self) -> int | None:
        digits = self.match_pattern(_INDEX)
        if digits is None:
            return None
        if len(digits) > 17 or abs(int(digits)) > MOST_INDEX:
            shown = mask_and_clip(digits, 20, no_mask, counted=False)
            raise self.error(f"the index {shown} is out of range", f"at most {MOST_INDEX}")
        return int(digits)

    def string(self) -> str:
        """Parse a quoted text; the escapes are those of JSON, and \\' between single quotes."""
        start, quote = self.position, self.text[self.position]
        end = start + 1
        while end < len(self.text) and self.text[end] != quote:
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise self.error("a quote is not closed")
        inner = self.text[start + 1 : end]
        if quote == "'":
            # `\\"` is no escape between single quotes; it becomes one that JSON refuses
            changed = {"\\'": "'", '"': '\\"', '\\"': "\\!"}
            inner = re.sub(r"\\.|\"", lambda match: changed.get(match[0], match[0]), inner, flags=re.DOTALL)
        try:
            text = str(json.loads(f'"{inner}"', strict=True))
        except ValueError:
            hint = r"write \n, \u263a"
            raise self.error("a quoted text has a wrong escape or a control character", hint) from None
        if _LONE_SURROGATE.search(text):
            raise self.error("a quoted text has half a surrogate pair", r"write both: \ud83d\ude00")
        self.position = end + 1
        return text

    def filter_expression(self) -> Filter:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error("a filter is nested too deeply", "write it with fewer parentheses")
        either = self.joined_filters("|", lambda: self.joined_filters("&", self.term))
        self._depth -= 1
        return either

    def joined_filters(self, sign: str, part: Callable[[], Filter]) -> Filter:
        """Parse filters joined by a sign: twice, as in the standard, or once, as in jsonpath-ng for `and`."""
        terms = [part()]
        self.skip_space()
        while self.skip(sign * 2) or self.skip(sign):
            terms.append(part())
            self.skip_space()
        return terms[0] if len(terms) == 1 else Joined(tuple(terms), every=sign == "&")

    def term(self) -> Filter:
        self.skip_space()
        if self.skip("!"):
            self.skip_space()
            if self.skip("("):
                return Not(self.parenthesized())
            if self.text[self.position : self.position + 1] != "@":
                message = "`!` must be followed by a path or a parenthesis"
                raise self.error(message, "write !@.a or !(@.a == 1)")
            return Not(Exists(self.query()))
        if self.skip("("):
            return self.parenthesized()
        left = self.comparable()
        self.skip_space()
        sign = self.match_pattern(_COMPARISON)
        if sign is None:
            return self.existence(left)
        if self.skip("~"):
            raise self.error("a filter has a regular expression", "compare with ==, !=, < or >")
        self.skip_space()
        right = self.comparable()
        if any(isinstance(operand, Query) and not operand.single for operand in (left, right)):
            message = "a filter compares a path that may lead to several values"
            raise self.error(message, "name each key: @.a.b")
        return Compare(sign, left, right)

    def parenthesized(self) -> Filter:
        term = self.filter_expression()
        self.expect(")", "in a filter")
        return term

    def existence(self, left: Query | Constant) -> Filter:
        if self.text.startswith("=~", self.position):
            raise self.error("a filter has a regular expression", "compare with ==, !=, < or >")
        if self.text[self.position : self.position + 1] == "=":
            raise self.error("a filter compares with a single =", "write ==")
        if self.text[self.position : self.position + 1] in ("+", "-", "*", "/", "%"):
            raise self.error("a filter cannot calculate", "compare with ==, !=, < or >")
        if isinstance(left, Constant):
            raise self.error("a filter has a value that is compared with nothing", "write @.a == 1")
        return Exists(left)

    def comparable(self) -> Query | Constant:
        sign = self.text[self.position : self.position + 1]
        if sign == "@":
            return self.query()
        if sign == "$":
            raise self.error("a filter refers to the whole document", "it sees only its own element: @.a")
        if sign in ("'", '"'):
            return Constant(self.string())
        if self.text[self.position : self.position + 4] == "=~":
            raise self.error("a filter has a regular expression", "compare with ==, !=, < or >")
        number = self.match_pattern(_NUMBER)
        if number is not None:
            return Constant(self.number(number))
        if _CALL.match(self.text, self.position):
            raise self.error("a filter cannot contain functions", "compare with ==, !=, < or >")
        word = self.match_pattern(_WORD)
        if word in _CONSTANTS:
            return Constant(_CONSTANTS[word])
        if word is not None:
            raise self.error(f"a filter has {word!r} without quotes", f"write '{word}' or @.{word}")
        raise self.error("a filter needs @, a number, a quoted text, true, false or null here")

    def number(self, number: str) -> Json:
        if number.lstrip("-").isdigit():
            return int(number)
        exact = Decimal(number)
        if abs(exact.adjusted()) > _EXPONENT:
            raise self.error("a filter has a number that is out of range")
        return exact

    def query(self) -> Query:
        self.expect("@", "in a filter")
        segments = tuple(self.segments())
        return Query(segments, all(isinstance(segment, str | int | Key) for segment in segments))
