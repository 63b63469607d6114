"""What is literal in a stored output: no placeholder is in it, so bytes can say whether something equals it.

They tell the type of every number and the order of every key, where `==` would take true for 1. Other bytes
are no difference yet: only then a value is looked into."""

import re
from collections.abc import Container
from dataclasses import dataclass

from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.compare.written import bytes_of, is_written_as
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker

_PLACEHOLDER = re.compile(rb"<<(?:(?<=\\<<)|[a-z][a-z0-9_]*(?:[(?|}]|>>|[^!-~]))")
_BRACED = re.compile(rb"\{\{any_")
_FAR = 2_000


def literal_bytes(value: Json) -> bytes | None:
    """The bytes of a value; None if any text in it holds a placeholder, or an escape of one. Two bytes of a
    number may look like the beginning of one, so what follows is looked at as well."""
    data = bytes_of(value)
    if data is None or _finds(_PLACEHOLDER, b"<", data) or _finds(_BRACED, b"{", data):
        return None
    return data


def _finds(pattern: re.Pattern[bytes], sign: bytes, data: bytes) -> bool:
    """Whether a pattern that begins with this sign finds something. Where the sign is rare, to go from one to
    the next is ten times as fast as any search."""
    at = data.find(sign)
    for _ in range(len(data) // _FAR):
        if at < 0 or pattern.match(data, at):
            break
        at = data.find(sign, at + 1)
    return at >= 0 and pattern.search(data, at) is not None


def untouched_bytes(value: dict[str, Json], state: State) -> bytes | None:
    """The bytes of an object in which no placeholder stands and that no rule touches."""
    if state.names and not state.names.isdisjoint(value):
        return None
    data = literal_bytes(value)
    return data if data is None or state.dead or state.otherwise().asleep(data) else None


def shows_more(value: Json, names: Container[str]) -> bool:
    """Whether the first things in a value already show that it is not literal, or has such a name in it: then
    nobody need read all of it to find out. A guess that only saves time."""
    while value:
        if value.__class__ is list:
            value = value[0]
        elif value.__class__ is dict:
            inner = None
            for key, item in value.items():
                kind = item.__class__
                if key in names or (kind is str and has_marker(item)):
                    return True
                if inner is None and (kind is dict or kind is list):
                    inner = item
            value = inner
        else:
            return value.__class__ is str and has_marker(value)
    return False


def identical(left: Json, right: Json) -> bool:
    """Equal with every type, and the keys in the same order. False says nothing yet."""
    if left.__class__ is not right.__class__:
        return False
    if left != right:
        return False
    if left.__class__ is dict or left.__class__ is list:
        data = bytes_of(left)
        return data is not None and data == bytes_of(right)
    return True


@dataclass(slots=True, eq=False)
class Literal:
    """A literal object or array, with its bytes where they are known. `opened`: its node, made when something
    else than this was met."""

    expected: Json
    data: bytes | None
    mode: Mode
    state: State
    at: Link
    optional: bool = False
    opened: Node | None = None

    @property
    def rest(self) -> dict[str, Json]:
        return self.expected if isinstance(self.expected, dict) else {}

    def equals(self, actual: Json) -> bool:
        if self.data is None:
            return identical(self.expected, actual)
        return actual.__class__ is self.expected.__class__ and is_written_as(actual, self.data)

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if self.equals(actual):
            return self.expected
        if self.opened is None:
            self.opened = walk.open(self.expected, self.mode, self.state, self.at)
        return self.opened.walk(actual, walk, path)
