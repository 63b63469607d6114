"""What a walk over the actual output carries with it: the differences found so far, the bindings made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from baselinekit.compare.rules import Rule
from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.baselines import Answers, Difference, Kind, SimilarityQuestion
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value

MOST_KEPT = 10_000
"""Differences are counted completely; this many are kept."""

_MOST_TRIALS = 2_000_000
_MOST_KNOWN = 100_000

Link = tuple[Any, str | int] | None
"""A path while it is walked: the parent's path and the last key. Only a difference unrolls it."""

NO_ANSWERS: Answers = {}


def unroll(link: Link) -> Path:
    keys: list[str | int] = []
    while link is not None:
        link, key = link
        keys.append(key)
    keys.reverse()
    return tuple(keys)


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
    """While a walk fails fast: they do not match, and it does not matter how."""


@dataclass(slots=True, eq=False)
class Walk:
    """One walk over an actual output."""

    open: Callable[..., Node]
    """Makes the node of a literal value, once something else was met."""
    bound: bool = True
    """Whether there are bindings anywhere: then a match depends on what was met before."""
    answers: Answers = field(default_factory=dict)
    collecting_questions: bool = True
    """Whether an open question is put, and counts as answered well until it is; else as answered badly."""
    questions: dict[SimilarityQuestion, None] = field(default_factory=dict)
    deferred: int = 0
    """How often a question was not put."""
    differences: list[Difference] = field(default_factory=list)
    count: int = 0
    shuffled: bool = False
    """Whether differences may have been found in another order than that of the document."""
    bindings: dict[str, Json] = field(default_factory=dict)
    hits: set[Rule] = field(default_factory=set)
    hidden: dict[Rule, str] = field(default_factory=dict)
    fail_fast: bool = False
    """The first difference ends the walk."""
    probing: bool = False
    """Values are only tried and need not belong together, so nothing is reported."""
    trials: int = 0
    _known: dict[tuple[int, int], tuple[Node, Json, bool]] = field(default_factory=dict)

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
        if self.fail_fast:
            raise Mismatch
        self.count += 1
        if len(self.differences) < MOST_KEPT:
            stored = unroll(at)
            came = stored if path is at else unroll(path)
            self.differences.append(Difference(came, kind, expected, actual, stored, rule, note))

    def replaced(self, expected: Json, actual: Json, path: Link, at: Link) -> Json:
        """The actual value stands where another was expected."""
        same = actual.__class__ is expected.__class__ or json_type(actual) == json_type(expected)
        self.differ(path, "value" if same else "type", expected, actual, at)
        return escape_value(actual)

    def missing(self, expected: Json, at: Link, path: Link) -> None:
        self.differ(path, "missing", expected, ABSENT, at)

    def extra(self, actual: Json, path: Link, at: Link, note: str | None = None) -> None:
        self.differ(path, "extra", ABSENT, actual, at, note=note)

    def matches(self, node: Node, actual: Json) -> bool:
        """Whether a value would pass here, with the bindings as they stand. While the walk fails fast the
        answer is kept: trials within trials would ask again and again."""
        if self.bound or not self.fail_fast:
            return self.bindings_after(node, actual) is not None
        key = (id(node), id(actual))
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            open = self.deferred, len(self.questions)
            found = self.bindings_after(node, actual) is not None
            if open != (self.deferred, len(self.questions)):
                return found
            known = self._known[key] = (node, actual, found)  # both are kept, or another would get their ids
        return known[2]

    def take_back(self, asked: int) -> None:
        """Put no more than the first so many questions: the answers to the others would change nothing."""
        while len(self.questions) > asked:
            self.questions.popitem()

    def bindings_after(
        self, node: Node, actual: Json, bindings: dict[str, Json] | None = None
    ) -> dict[str, Json] | None:
        """The bindings as they would stand after a value has passed here, from those of the walk or the given
        ones; None if it would not pass."""
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            what = "its arrays in arrays can be paired in too many ways"
            raise CannotReplay(Problem("BK231", what, "pair their rows by a key: arrays: {path: {by: id}}"))
        outer, asked = (self.probing, self.fail_fast, self.bindings), len(self.questions)
        self.probing = self.fail_fast = True
        self.bindings = dict(self.bindings if bindings is None else bindings)
        try:
            node.walk(actual, self, None)
            return self.bindings
        except Mismatch:
            self.take_back(asked)
            return None
        finally:
            self.probing, self.fail_fast, self.bindings = outer
