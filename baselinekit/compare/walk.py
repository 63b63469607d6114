"""What a walk over the actual output carries with it: the differences found so far, the bindings made."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from baselinekit.compare.rules import Rule
from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.comparison import Difference, Kind
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value

MOST_KEPT = 10_000
"""Differences are counted completely; this many are kept."""

_MOST_TRIALS = 5_000_000

Link = tuple[Any, str | int] | None
"""A path while it is walked: the parent's path and the last key. Only a difference unrolls it."""


def unroll(link: Link) -> Path:
    keys: list[str | int] = []
    while link is not None:
        link, key = link
        keys.append(key)
    return tuple(reversed(keys))


class Node(Protocol):
    """One place of the expected output, compiled. `walk` gives the actual value seen through the template:
    the expected value itself, the same object, when nothing differs."""

    @property
    def expected(self) -> Json: ...
    @property
    def at(self) -> Link: ...
    @property
    def optional(self) -> bool: ...
    def walk(self, actual: Json, walk: "Walk", path: Link) -> Json: ...


class Mismatch(Exception):
    """In a trial: they do not match, and it does not matter how."""


class Kept(NamedTuple):
    """The state to go back to when what was tried turns out to need another look."""

    kept: int
    found: int
    bindings: dict[str, Json]


class Walk:
    """One walk. In a trial the first difference ends it."""

    __slots__ = ("bindings", "count", "differences", "hidden", "hits", "open", "trial", "trials")

    def __init__(self, open: Callable[..., Node]):
        self.open = open
        """Makes the node of a literal value, once something else was met."""
        self.differences: list[Difference] = []
        self.count = 0
        self.bindings: dict[str, Json] = {}
        self.hits: set[Rule] = set()
        self.hidden: dict[Rule, str] = {}
        self.trial = False
        self.trials = 0

    def differ(
        self,
        path: Link,
        kind: Kind,
        expected: Json,
        actual: Json,
        at: Link,
        rule: str | None = None,
        note: str | None = None,
    ) -> None:
        if self.trial:
            raise Mismatch
        self.count += 1
        if len(self.differences) < MOST_KEPT:
            self.differences.append(Difference(unroll(path), kind, expected, actual, unroll(at), rule, note))

    def replaced(self, node: Node, actual: Json, path: Link, note: str | None = None) -> Json:
        """The actual value stands where another was expected."""
        retyped = json_type(actual) != json_type(node.expected)
        self.differ(path, "type" if retyped else "value", node.expected, actual, node.at, note=note)
        return escape_value(actual)

    def missing(self, expected: Json, at: Link, path: Link, note: str | None = None) -> None:
        self.differ(path, "missing", expected, ABSENT, at, note=note)

    def extra(self, actual: Json, path: Link, at: Link, note: str | None = None) -> None:
        self.differ(path, "extra", ABSENT, actual, at, note=note)

    def matches(self, node: Node, actual: Json) -> bool:
        """Whether a value would pass here, with the bindings as they stand."""
        return self.bindings_after(node, actual) is not None

    def bindings_after(self, node: Node, actual: Json) -> dict[str, Json] | None:
        """The bindings as they would stand after a value has passed here; None if it would not."""
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            what = "its arrays in arrays can be paired in too many ways"
            raise CannotReplay(Problem("BK231", what, "pair their rows by a key: arrays: {path: {by: id}}"))
        outer, self.trial = self.trial, True
        bindings = self.bindings
        self.bindings = dict(bindings)
        try:
            node.walk(actual, self, None)
            return self.bindings
        except Mismatch:
            return None
        finally:
            self.trial = outer
            self.bindings = bindings

    def kept(self) -> Kept:
        return Kept(len(self.differences), self.count, dict(self.bindings))

    def back_to(self, kept: Kept) -> None:
        del self.differences[kept.kept :]
        self.count = kept.found
        self.bindings = dict(kept.bindings)
