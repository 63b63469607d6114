"""The paths of SPEC §4 for the oracle: read from their text, and selected in the plainest way.

Written from the text alone; it shares nothing with the package. A path is a tuple of steps, a place a tuple
of keys and indexes, and `select` walks a document and collects the places. A filter follows RFC 9535."""

import re
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


class Look:
    """How a filter reads a comparison with what is not there (`rfc`), and whether it selects the members of
    an object; and which of these were met."""

    def __init__(self, absent: str = "rfc", members: bool = True):
        self.absent, self.members = absent, members
        self.met: set[str] = set()


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
            return ("$", self.steps())
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.takes(word):
                return ("literal", value)
        if self.sees("'") or self.sees('"'):
            return ("literal", self.quoted())
        digits = self.pattern(NUMBER)
        return ("literal", int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits))


def jsonpath(text: str) -> tuple[Any, ...]:
    reader = Reader(text)
    reader.needs("$")
    steps = reader.steps()
    if reader.at != len(text):
        raise Unreadable(f"{text} at {reader.at}")
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


def value_of(operand: Any, node: Any, root: Any, look: Look) -> Any:
    """The value of one side of a comparison, NOTHING when its path selects nothing."""
    if operand[0] == "literal":
        return operand[1]
    start = node if operand[0] == "@" else root
    if any(not isinstance(step, Name | Index) for step in operand[1]):
        raise Undecided("a comparison in a filter takes one value")
    places = select(operand[1], start, root, look)
    return value_at(start, min(places)) if places else NOTHING


def holds(test: Any, node: Any, root: Any, look: Look) -> bool:
    sign = test[0]
    if sign == "or":
        return holds(test[1], node, root, look) or holds(test[2], node, root, look)
    if sign == "and":
        return holds(test[1], node, root, look) and holds(test[2], node, root, look)
    if sign == "not":
        return not holds(test[1], node, root, look)
    if sign == "exists":
        return bool(select(test[1][1], node if test[1][0] == "@" else root, root, look))
    one, other = value_of(test[1], node, root, look), value_of(test[2], node, root, look)
    if NOTHING in (one, other):
        look.met.add("absent")
        if look.absent == "never":
            return False
    same = one is other if NOTHING in (one, other) else equal(one, other)
    if sign in ("==", "!="):
        return same is (sign == "==")
    if one is NOTHING or other is NOTHING:
        return same and sign in ("<=", ">=")
    before = less(one, other) if sign[0] == "<" else less(other, one)
    return before or (same and sign in ("<=", ">="))


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


def stepped(step: Any, place: Place, value: Any, root: Any, look: Look) -> list[tuple[Place, Any]]:
    """Where one step leads from one node."""
    if isinstance(step, Deep):
        return below(value, place)
    if isinstance(step, Each):
        return [((*place, key), child) for key, child in children(value)]
    if isinstance(step, Union):
        return [found for one in step.of for found in stepped(one, place, value, root, look)]
    if isinstance(step, Name):
        return (
            [((*place, step.key), value[step.key])] if isinstance(value, dict) and step.key in value else []
        )
    if isinstance(step, Filter):
        if isinstance(value, dict) and value:
            look.met.add("members")
            if not look.members:
                return []
        kept = [(key, child) for key, child in children(value) if holds(step.holds, child, root, look)]
        return [((*place, key), child) for key, child in kept]
    if not isinstance(value, list):
        return []
    if isinstance(step, Index):
        at = step.at + len(value) if step.at < 0 else step.at
        return [((*place, at), value[at])] if 0 <= at < len(value) else []
    if step.step == 0:
        return []
    return [((*place, at), value[at]) for at in range(*slice(*step).indices(len(value)))]


def select(steps: tuple[Any, ...], value: Any, root: Any = NOTHING, look: Look | None = None) -> set[Place]:
    """All places that a path selects in a document."""
    look = look or Look()
    root = value if root is NOTHING else root
    nodes: list[tuple[Place, Any]] = [((), value)]
    for step in steps:
        following = [found for place, node in nodes for found in stepped(step, place, node, root, look)]
        nodes = list(dict(following).items()) if len(nodes) > 1 else following
    return {place for place, _ in nodes}


def rank(steps: tuple[Any, ...]) -> tuple[int, int, int]:
    """How exact a path is: fewer `**`, then more names and indices, then longer. The greater one wins."""
    deep = sum(isinstance(step, Deep) for step in steps)
    named = sum(isinstance(step, Name | Index) for step in steps)
    return -deep, named, len(steps)
