"""JSONPath (`$.users[?(@.age > 17)].name`): jsonpath-ng parses it, and its places are looked up here.

jsonpath-ng reads more than RFC 9535, and some paths in another sense. Those are refused when a file is
loaded: a path that was parsed selects what RFC 9535 defines, and cannot fail later on."""

import re
import warnings
from collections.abc import Iterator
from itertools import accumulate, chain
from operator import ge, gt, le, lt
from typing import Any

from jsonpath_ng.ext.parser import parse

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct
from baselinekit.values.equality import decimal, is_number, same_json
from baselinekit.values.places import Filter, FilterSegment, Key, OneOf, Segment, Slice, Wild, select


def compute(function: str, value: Json) -> Json:
    """Return what a function of jsonpath-ng, such as `len`, gives for a value; ValueError if it gives
    nothing: for values of another type the library finds nothing, or raises one of many errors."""
    try:
        (found,) = parse(f"$.{function}").find(value)
        return found.value
    except Exception as error:
        raise ValueError from error


# What a path selects: filters. (The other steps are those of a dotted path, places.py.)


class Query(Struct):
    """A path from the element that a filter judges. `single`: it leads to one value at most."""

    segments: tuple[Segment, ...]

    @property
    def single(self) -> bool:
        return all(isinstance(segment, str | int | Key) for segment in self.segments)

    def values(self, value: Json) -> list[Json]:
        return [found for _, found in select(self.segments, value)]


class Constant(Struct):
    value: Json

    def values(self, value: Json) -> list[Json]:
        return [self.value]


class Compare(Struct):
    sign: str
    left: Query
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
        yield from self.left.values(value)
        yield from self.right.values(value) if isinstance(self.right, Query) else ()


class Exists(Struct):
    query: Query
    there: bool = True

    def holds(self, value: Json) -> bool:
        return bool(self.query.values(value)) == self.there

    def reads(self, value: Json) -> Iterator[Json]:
        yield from ()  # a placeholder exists just as any value does


class Joined(Struct):
    """Several filters: all of them (`every`), or any, must hold."""

    terms: tuple[Filter, ...]
    every: bool

    def holds(self, value: Json) -> bool:
        return (all if self.every else any)(term.holds(value) for term in self.terms)

    def reads(self, value: Json) -> Iterator[Json]:
        return chain.from_iterable(term.reads(value) for term in self.terms)


# What is refused, looked for in the path without its blanks, its quoted texts (`'`), numbers and constants
# (`#`).


MOST_INDEX = 2**53 - 1
_DEEPEST = 40
"""The depth of brackets and parentheses."""

_QUOTED = r"""'(?:[^'\\\x00-\x1f]|\\['\\])*'|"(?:[^"\\\x00-\x1f]|\\["\\])*\""""
_PARTS = lazy_pattern(rf"{_QUOTED}|&&?|\|\|?|[^'\"&|]+|.")
_CONSTANT = lazy_pattern(
    r"(?<![\w.)\]'-])(?:-?[1-9][0-9]{0,15}(?:\.[0-9]{1,15})?|-?0\.[0-9]{1,15}|0)(?![\w.])"
    r"|(?<=[=<>])(?:true|false|null)(?![\w-])"
)
_COMPARE = "compare with ==, !=, < or >"
_QUOTE = "quote odd keys: $['x y']"
_REFUSED = (
    (r"\\|\"", "has a quote or an escape that cannot be read", ""),
    (r"=~", "has a regular expression", _COMPARE),
    (r"`", "cannot contain functions", "use names, *, [n], [*], .. and filters"),
    (r"\w\(", "cannot contain functions", _COMPARE),
    (r"(?<!^)\$", "refers to the whole document", "a filter sees only its own element: @.a"),
    (r"(?<![=!<>])=(?!=)", "compares with a single =", "write =="),
    (r"(?<!\.)\.(?!\.|\*|[^\W\d])|\.\.(?!\*|\[|[^\W\d])", "lacks a name after a dot", _QUOTE),
    (r"(?<![\w.-])[^\W\d][\w-]*", "has a word without quotes", "write 'admin' or @.admin"),
    (r"(?<![\w-])-?[0-9]", "has a number that cannot be read", ""),
    (r"(?<![?(!&|=<>])@|@(?![.\[)\]=!<>&|])", "has an @ that is not an element", "write @.name in a filter"),
    (r"[^\w.$@*?!()\[\],:=<>&|'#-]", "cannot calculate or sort", _COMPARE),
    (r"\.(?:[\w-]+|\*),", "has a comma outside brackets", "write ['a','b']"),
)


class NotJsonPath(ValueError):
    """A path that cannot be read: the reason, and what to write instead."""

    def __init__(self, reason: str, hint: str = ""):
        super().__init__(reason)
        self.reason, self.hint = reason, hint


def read(text: str) -> tuple[Segment, ...]:
    """The segments of a path that begins with `$`, or NotJsonPath."""
    if text != text.rstrip():
        raise NotJsonPath("ends with a blank", "remove it")
    parts = [part * 2 if part in "&|" else part for part in _PARTS.findall(text)]  # `&` once means `&&`, too
    bare = "".join(part if part[0] not in "'\"" else "'" if part[1:] else '"' for part in parts)
    if re.search(r"\.\s", bare):
        raise NotJsonPath("has a blank after a dot", "remove it")
    bare = _CONSTANT.sub("#", "".join(bare.split()))
    for pattern, reason, hint in _REFUSED:
        if re.search(pattern, bare):
            raise NotJsonPath(reason, hint)
    if max(accumulate((sign in "([") - (sign in ")]") for sign in bare)) > _DEEPEST:
        raise NotJsonPath("is nested too deeply", "write it with fewer parentheses")
    try:
        tree = parsed("".join(parts))
    except Exception:  # its lexer and its parser raise types of their own
        raise NotJsonPath("cannot be read as JSONPath") from None
    return _segments(tree)


def parsed(text: str) -> Any:
    """The syntax tree that jsonpath-ng makes of a text; it raises errors of many types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text)


def _segments(node: Any) -> tuple[Segment, ...]:
    """The segments of a path that jsonpath-ng has parsed."""
    kind = type(node).__name__
    if kind in ("Root", "This"):
        return ()
    if kind == "Child":
        return _segments(node.left) + _segments(node.right)
    if kind == "Descendants":
        return (*_segments(node.left), Wild.DEEP, *_segments(node.right))
    if kind == "Wildcard":
        return (Wild.ANY,)
    if kind == "Fields":
        return _one_of([Key(name) if name.isdigit() else name for name in node.fields])
    if kind == "Index":
        return _one_of([_in_range(index) for index in node.indices])
    if kind == "Slice":
        if node.step == 0:
            raise NotJsonPath("has a slice with a step of 0, which selects nothing", "leave the step out")
        return (Slice(*map(_in_range, (node.start, node.end, node.step))),)
    if kind == "Filter":
        terms = tuple(map(_filter, node.expressions))
        return (FilterSegment(terms[0] if len(terms) == 1 else Joined(terms, every=True)),)
    raise NotJsonPath("cannot calculate, sort or join paths", "use names, *, [n], [*], .. and filters")


def _one_of(steps: list[Segment]) -> tuple[Segment, ...]:
    return (steps[0] if len(steps) == 1 else OneOf(tuple(steps)),)


def _in_range(index: int | None) -> Any:
    if index is not None and abs(index) > MOST_INDEX:
        raise NotJsonPath(f"has an index that is out of range: {index}", f"at most {MOST_INDEX}")
    return index


def _filter(node: Any) -> Filter:
    if type(node).__name__ in ("And", "Or"):
        return Joined(tuple(map(_filter, node.operands)), every=type(node).__name__ == "And")
    query = _query(node.target)
    if node.op in (None, "!"):
        return Exists(query, node.op is None)
    right = node.value if isinstance(node.value, str | int | float | None) else _query(node.value)
    if not query.single or (isinstance(right, Query) and not right.single):
        raise NotJsonPath("compares a path that may lead to several values", "name each key: @.a.b")
    return Compare(node.op, query, right if isinstance(right, Query) else Constant(right))


def _query(node: Any) -> Query:
    first = node
    while hasattr(first, "left"):
        first = first.left
    if type(first).__name__ != "This":
        raise NotJsonPath("has a filter that does not begin with @", "write the path first: @.a == 1")
    return Query(_segments(node))
