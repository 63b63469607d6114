"""The paths of SPEC §4 for the oracle: read from their text, and selected in the plainest way.

Written from the text alone; it shares nothing with the package. A path is a tuple of steps, a place a tuple
of keys and indexes, and `select` walks a document and collects the places. A filter follows RFC 9535."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

Place = tuple[str | int, ...]


class Name(NamedTuple):
    key: str


class Index(NamedTuple):
    at: int


class Each(NamedTuple):
    """`*`: every child."""


class Deep(NamedTuple):
    """`**` or `..`: the node itself and everything below it."""


class Slice(NamedTuple):
    start: int | None
    stop: int | None
    step: int | None


class Union(NamedTuple):
    of: tuple[Any, ...]


class Filter(NamedTuple):
    holds: Any


class Unreadable(Exception):
    """The text is no path of the grammar that the oracle reads."""


class Undecided(Exception):
    """The specification does not say."""


class Refused(Exception):
    """The rules cannot be: the file is told so when it is loaded."""


Unknown = Callable[[Any], bool] | None
"""Which values a filter cannot judge by: where it compares one, it may hold."""


NOTHING = object()
BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
DOTTED = re.compile(r'\*\*|\*|"((?:[^"\\]|\\.)*)"|[^.\[\]"*]+')


def dotted(text: str) -> tuple[Any, ...]:
    """`users.*.id`, `users[*].id`, `users[0].id`, `**.id`, `headers."x-request-id"`."""
    steps: list[Any] = []
    at = 0
    while True:
        found = DOTTED.match(text, at)
        if not found:
            raise Unreadable(text)
        word, at = found[0], found.end()
        if word == "**":
            steps.append(Deep())
        elif word == "*":
            steps.append(Each())
        else:
            steps.append(Name(re.sub(r"\\(.)", r"\1", found[1]) if word[0] == '"' else word))
        while at < len(text) and text[at] == "[":
            end = text.index("]", at)
            inside, at = text[at + 1 : end], end + 1
            steps.append(Each() if inside == "*" else Index(int(inside)))
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise Unreadable(text)
        at += 1


class Reader:
    """JSONPath, read from left to right."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.whole = False
        """Whether a filter looks at the whole document."""

    def sees(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def takes(self, word: str) -> bool:
        if self.sees(word):
            self.at += len(word)
            return True
        return False

    def needs(self, word: str) -> None:
        if not self.takes(word):
            raise Unreadable(f"{word} expected in {self.text} at {self.at}")

    def blanks(self) -> None:
        while self.takes(" "):
            pass

    def pattern(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise Unreadable(f"{self.text} at {self.at}")
        self.at = found.end()
        return found[0]

    def steps(self) -> tuple[Any, ...]:
        """The steps after `$` or `@`."""
        found: list[Any] = []
        while True:
            if self.takes(".."):
                found.append(Deep())
                if not self.sees("["):
                    found.append(Each() if self.takes("*") else Name(self.pattern(BARE)))
            elif self.takes("."):
                found.append(Each() if self.takes("*") else Name(self.pattern(BARE)))
            elif self.takes("["):
                found.append(self.bracket())
            else:
                return tuple(found)

    def bracket(self) -> Any:
        self.blanks()
        if self.takes("?"):
            holds = self.either()
            self.blanks()
            self.needs("]")
            return Filter(holds)
        items = [self.item()]
        while self.takes(","):
            self.blanks()
            items.append(self.item())
        self.needs("]")
        return items[0] if len(items) == 1 else Union(tuple(items))

    def item(self) -> Any:
        if self.takes("*"):
            return Each()
        if self.sees("'") or self.sees('"'):
            return Name(self.quoted())
        parts = self.pattern(re.compile(r"-?\d*(?::-?\d*){0,2}")).split(":")
        self.blanks()
        if len(parts) == 1:
            return Index(int(parts[0]))
        return Slice(*[int(part) if part else None for part in [*parts, ""][:3]])

    def quoted(self) -> str:
        quote = self.text[self.at]
        text = self.pattern(re.compile(rf"{quote}(?:[^{quote}\\]|\\.)*{quote}"))
        return re.sub(r"\\(.)", r"\1", text[1:-1])

    def either(self) -> Any:
        left = self.both()
        self.blanks()
        while self.takes("||"):
            left = ("or", left, self.both())
            self.blanks()
        return left

    def both(self) -> Any:
        left = self.one()
        self.blanks()
        while self.takes("&&") or self.takes("&"):
            left = ("and", left, self.one())
            self.blanks()
        return left

    def one(self) -> Any:
        self.blanks()
        if self.sees("!") and not self.sees("!="):
            self.at += 1
            return ("not", self.one())
        if self.takes("("):
            inner = self.either()
            self.blanks()
            self.needs(")")
            return inner
        left = self.operand()
        self.blanks()
        for sign in ("==", "!=", "<=", ">=", "<", ">"):
            if self.takes(sign):
                self.blanks()
                return (sign, left, self.operand())
        if left[0] == "literal":
            raise Unreadable(self.text)
        return ("exists", left)

    def operand(self) -> Any:
        if self.takes("@"):
            return ("@", self.steps())
        if self.takes("$"):
            self.whole = True
            return ("$", self.steps())
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.takes(word):
                return ("literal", value)
        if self.sees("'") or self.sees('"'):
            return ("literal", self.quoted())
        digits = self.pattern(NUMBER)
        return ("literal", int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits))


def jsonpath(text: str, aimed: bool = False) -> tuple[Any, ...]:
    """The steps of a path. `aimed`: even of one that is refused, since it looks at what is elsewhere."""
    reader = Reader(text)
    reader.needs("$")
    steps = reader.steps()
    if reader.at != len(text):
        raise Unreadable(f"{text} at {reader.at}")
    if reader.whole and not aimed:
        raise Refused("a filter sees its own element alone")
    return steps


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """Equality of RFC 9535: of JSON values, numbers by their value, true is no number."""
    if number(one) and number(other):
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return bool(one == other)


def less(one: Any, other: Any) -> bool:
    alike = (number(one) and number(other)) or (isinstance(one, str) and isinstance(other, str))
    return alike and bool(one < other)


def value_of(operand: Any, node: Any) -> Any:
    """The value of one side of a comparison, NOTHING when its path selects nothing."""
    if operand[0] == "literal":
        return operand[1]
    if operand[0] == "$":
        return NOTHING
    if any(not isinstance(step, Name | Index) for step in operand[1]):
        raise Undecided("a comparison in a filter takes one value")
    places = select(operand[1], node)
    return value_at(node, min(places)) if places else NOTHING


def holds(test: Any, node: Any) -> bool:
    sign = test[0]
    if sign == "or":
        return holds(test[1], node) or holds(test[2], node)
    if sign == "and":
        return holds(test[1], node) and holds(test[2], node)
    if sign == "not":
        return not holds(test[1], node)
    if sign == "exists":
        return bool(select(test[1][1], node))
    one, other = value_of(test[1], node), value_of(test[2], node)
    same = one is other if NOTHING in (one, other) else equal(one, other)
    if sign in ("==", "!="):
        return same is (sign == "==")
    if one is NOTHING or other is NOTHING:
        return same and sign in ("<=", ">=")
    before = less(one, other) if sign[0] == "<" else less(other, one)
    return before or (same and sign in ("<=", ">="))


def compared(test: Any, node: Any) -> list[Any]:
    """The values that a filter compares."""
    if test[0] == "exists":
        return []
    if test[0] in ("or", "and", "not"):
        return [value for one in test[1:] for value in compared(one, node)]
    return [value_of(operand, node) for operand in test[1:] if operand[0] == "@"]


def children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def value_at(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value


def below(value: Any, place: Place = ()) -> list[tuple[Place, Any]]:
    """A node and everything below it."""
    found = [(place, value)]
    for key, child in children(value):
        found += below(child, (*place, key))
    return found


def stepped(step: Any, place: Place, value: Any, unknown: Unknown = None) -> list[tuple[Place, Any]]:
    """Where one step leads from one node."""
    if isinstance(step, Deep):
        return below(value, place)
    if isinstance(step, Each):
        return [((*place, key), child) for key, child in children(value)]
    if isinstance(step, Union):
        return [found for one in step.of for found in stepped(one, place, value, unknown)]
    if isinstance(step, Name):
        return (
            [((*place, step.key), value[step.key])] if isinstance(value, dict) and step.key in value else []
        )
    if isinstance(step, Filter):
        return [
            ((*place, key), child)
            for key, child in children(value)
            if holds(step.holds, child) or (unknown and any(map(unknown, compared(step.holds, child))))
        ]
    if not isinstance(value, list):
        return []
    if isinstance(step, Index):
        at = step.at + len(value) if step.at < 0 else step.at
        return [((*place, at), value[at])] if 0 <= at < len(value) else []
    if step.step == 0:
        return []
    return [((*place, at), value[at]) for at in range(*slice(*step).indices(len(value)))]


def select(steps: tuple[Any, ...], value: Any, unknown: Unknown = None) -> set[Place]:
    """All places that a path selects in a document."""
    nodes: list[tuple[Place, Any]] = [((), value)]
    for step in steps:
        following = [found for place, node in nodes for found in stepped(step, place, node, unknown)]
        nodes = list(dict(following).items()) if len(nodes) > 1 else following
    return {place for place, _ in nodes}


def required(steps: tuple[Any, ...], value: Any) -> bool:
    """Whether each value that a step selects has the rest. A list asks what each of its members asks."""
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(step, Deep):
        return required_anywhere(rest, value)
    if isinstance(step, Union):
        return all(required((one, *rest), value) for one in step.of)
    found = stepped(step, (), value)
    if not found:
        return isinstance(step, Each) and isinstance(value, dict | list)
    return all(required(rest, node) for _, node in found)


def required_anywhere(steps: tuple[Any, ...], value: Any) -> bool:
    """Whether the next step that is no `*` leads somewhere, and has the rest wherever it leads."""
    size = next((n for n, step in enumerate(steps) if not isinstance(step, Each)), len(steps))
    between, rest = steps[:size], steps[size + 1 :]
    if isinstance(next(iter(steps[size:]), None), Union):
        return all(required_anywhere((*between, one, *rest), value) for one in steps[size].of)
    places = select((Deep(), *steps[: size + 1]), value)
    return bool(places) and all(required(rest, value_at(value, place)) for place in places)


def rank(steps: tuple[Any, ...]) -> tuple[int, int, int, int]:
    """How exact a path is: fewer `**`, then more names and indices, then longer, then
    more filters, slices and lists. The greater one wins."""
    deep = sum(isinstance(step, Deep) for step in steps)
    named = sum(isinstance(step, Name | Index) for step in steps)
    narrow = sum(isinstance(step, Slice | Union | Filter) for step in steps)
    return -deep, named, len(steps), narrow
