"""What a walk over the actual output carries with it: the differences found so far, the bindings made."""

from collections.abc import Callable
from typing import Any, Protocol

from baselinekit.compare.rules import Rule
from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.comparison import Answers, Difference, Kind, SimilarityQuestion
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value

MOST_KEPT = 10_000
"""Differences are counted completely; this many are kept."""

_MOST_TRIALS = 2_000_000
_MOST_KNOWN = 100_000

Link = tuple[Any, str | int] | None
"""A path while it is walked: the parent's path and the last key. Only a difference unrolls it."""


def unroll(link: Link) -> Path:
    keys: list[str | int] = []
    while link is not None:
        link, key = link
        keys.append(key)
    keys.reverse()
    return tuple(keys)


_NO_ANSWERS: Answers = {}


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
    """While a walk is halting: they do not match, and it does not matter how."""


class Walk:
    """One walk. While it is `halting` the first difference ends it; in a `trial` nothing is reported either,
    since what is tried need not belong together."""

    __slots__ = (
        "_known",
        "answers",
        "asking",
        "bindings",
        "bound",
        "count",
        "differences",
        "halting",
        "hidden",
        "hits",
        "open",
        "questions",
        "shuffled",
        "trial",
        "trials",
        "unsure",
    )

    def __init__(self, open: Callable[..., Node], bound: bool = True, answers: Answers = _NO_ANSWERS):
        self.open = open
        """Makes the node of a literal value, once something else was met."""
        self.bound = bound
        """Whether there are bindings anywhere: then a match hangs on what was met before."""
        self.answers = answers
        self.asking = True
        """Whether an open question is put, and taken for answered well until it is; else for answered ill."""
        self.questions: dict[SimilarityQuestion, None] = {}
        self.unsure = 0
        """How often a question was not put."""
        self.differences: list[Difference] = []
        self.count = 0
        self.shuffled = False
        """Whether differences may have been found in another order than that of the document."""
        self.bindings: dict[str, Json] = {}
        self.hits: set[Rule] = set()
        self.hidden: dict[Rule, str] = {}
        self.halting = False
        self.trial = False
        self.trials = 0
        self._known: dict[tuple[int, int], tuple[Node, Json, bool]] = {}

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
        if self.halting:
            raise Mismatch
        self.count += 1
        if len(self.differences) < MOST_KEPT:
            stands = unroll(at)
            found = stands if path is at else unroll(path)
            self.differences.append(Difference(found, kind, expected, actual, stands, rule, note))

    def replaced(self, expected: Json, actual: Json, path: Link, at: Link, note: str | None = None) -> Json:
        """The actual value stands where another was expected."""
        same = actual.__class__ is expected.__class__ or json_type(actual) == json_type(expected)
        self.differ(path, "value" if same else "type", expected, actual, at, None, note)
        return escape_value(actual)

    def missing(self, expected: Json, at: Link, path: Link, note: str | None = None) -> None:
        self.differ(path, "missing", expected, ABSENT, at, note=note)

    def extra(self, actual: Json, path: Link, at: Link, note: str | None = None) -> None:
        self.differ(path, "extra", ABSENT, actual, at, note=note)

    def matches(self, node: Node, actual: Json) -> bool:
        """Whether a value would pass here, with the bindings as they stand. Inside a trial the answer is
        kept: trials in trials would ask again and again."""
        if self.bound or not self.halting:
            return self.bindings_after(node, actual) is not None
        key = (id(node), id(actual))
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            open = self.unsure, len(self.questions)
            found = self.bindings_after(node, actual) is not None
            if open != (self.unsure, len(self.questions)):
                return found
            known = self._known[key] = (node, actual, found)  # both are kept, or another would get their ids
        return known[2]

    def take_back(self, asked: int) -> None:
        """Put no more than the first so many questions: the answers to the others would change nothing."""
        while len(self.questions) > asked:
            self.questions.popitem()

    def bindings_after(self, node: Node, actual: Json) -> dict[str, Json] | None:
        """The bindings as they would stand after a value has passed here; None if it would not."""
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            what = "its arrays in arrays can be paired in too many ways"
            raise CannotReplay(Problem("BK231", what, "pair their rows by a key: arrays: {path: {by: id}}"))
        outer = self.trial, self.halting
        self.trial = self.halting = True
        bindings, asked = self.bindings, len(self.questions)
        self.bindings = dict(bindings)
        try:
            node.walk(actual, self, None)
            return self.bindings
        except Mismatch:
            self.take_back(asked)
            return None
        finally:
            self.trial, self.halting = outer
            self.bindings = bindings
