"""What is literal in a stored output: no placeholder is in it, so bytes can say whether something equals it.

marshal writes the type of every number and the order of every key. It is as fast as `==`, which would take
true for 1. Other bytes are no difference yet: only then a value is looked into."""

import marshal
from dataclasses import dataclass

from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import Json

_WITHOUT_REFERENCES = 2


def bytes_of(value: Json) -> bytes | None:
    """The same bytes for equal values alone; None for what has none (a Decimal)."""
    try:
        return marshal.dumps(value, _WITHOUT_REFERENCES)
    except ValueError:
        return None


def may_hold_marker(data: bytes) -> bool:
    """Whether any text in it could hold a placeholder, or an escape of one."""
    return b"<<" in data or b"{{any_" in data


def identical(left: Json, right: Json) -> bool:
    """Equal with every type, and the keys in the same order. False says nothing yet."""
    if left.__class__ is not right.__class__:
        return False
    if left.__class__ is dict or left.__class__ is list:
        data = bytes_of(left)
        return data is not None and data == bytes_of(right)
    return bool(left == right)


@dataclass(slots=True, eq=False)
class Literal:
    """A literal object or array. `opened`: its node, made when something else than this was met."""

    expected: Json
    data: bytes
    mode: Mode
    state: State
    at: Link
    optional: bool = False
    opened: Node | None = None

    @property
    def rest(self) -> dict[str, Json]:
        return self.expected if isinstance(self.expected, dict) else {}

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is self.expected.__class__ and bytes_of(actual) == self.data:
            return self.expected
        if self.opened is None:
            self.opened = walk.open(self.expected, self.mode, self.state, self.at)
        return self.opened.walk(actual, walk, path)
