"""The nodes of single values, and the walk over an actual output: its differences so far, its bindings."""

from collections.abc import Callable
from typing import Any, Protocol

from baselinekit.errors import CannotReplay, Problem
from baselinekit.matching.rules import Mode, Rule, State
from baselinekit.model.baselines import Answers, Difference, Kind, SimilarityQuestion
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import escape_value, has_marker, holds_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.structs import MutableStruct, field
from baselinekit.values.equality import bytes_of, is_number, same_number
from baselinekit.values.paths import render

# The state of a walk over the actual output: the differences found so far, the bindings made.


MOST_KEPT = 10_000
"""All differences are counted; this many are kept."""

_MOST_TRIALS = 2_000_000
_MOST_KNOWN = 100_000

Link = tuple[Any, str | int] | None
"""A path during a walk: the parent's path and the last key. Only a difference unrolls it."""

NO_ANSWERS: Answers = {}


def unroll(link: Link) -> Path:
    keys: list[str | int] = []
    while link is not None:
        link, key = link
        keys.append(key)
    keys.reverse()
    return tuple(keys)


class Node(Protocol):
    """One place of the expected output, compiled. `walk` returns the actual value seen through the template:
    the expected value itself, as the same object, when nothing differs."""

    @property
    def expected(self) -> Json: ...
    @property
    def at(self) -> Link: ...
    @property
    def optional(self) -> bool: ...
    def walk(self, actual: Json, walk: "Walk", path: Link) -> Json: ...


class Mismatch(Exception):
    """Raised by a walk that fails fast: the values do not match, and it does not matter how."""


class Walk(MutableStruct):
    """One walk over an actual output."""

    open: Callable[..., Node]
    """Makes the node of a literal value, once a different value was found there."""
    accepts: Callable[[str, Json], bool]
    """Whether a stored text by itself accepts a value: used to pair rows that failed."""
    keep_placeholders: Callable[[str, str], str] = lambda stored, actual: escape_value(actual)
    """The actual text to store, with those placeholders of the stored one that still match."""
    has_bindings: bool = True
    """Whether there are bindings anywhere: then a match depends on the values walked before."""
    answers: Answers = field(default_factory=dict)
    collecting_questions: bool = True
    """Whether an open question is asked, and counts as similar until it is answered; else it counts as not
    similar."""
    questions: dict[SimilarityQuestion, None] = field(default_factory=dict)
    deferred: int = 0
    """How often a question was not asked."""
    differences: list[Difference] = field(default_factory=list)
    count: int = 0
    shuffled: bool = False
    """Whether differences may have been found in another order than in the document."""
    bindings: dict[str, Json] = field(default_factory=dict)
    hits: set[Rule] = field(default_factory=set)
    hidden: dict[Rule, str] = field(default_factory=dict)
    fail_fast: bool = False
    """The first difference ends the walk."""
    probing: bool = False
    """Values are only tried against each other and may not belong together, so nothing is reported."""
    trials: int = 0
    _memo: dict[tuple[int, int], tuple[Node, Json, bool]] = field(default_factory=dict)

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
            stored_path = unroll(at)
            actual_path = stored_path if path is at else unroll(path)
            self.differences.append(Difference(actual_path, kind, expected, actual, stored_path, rule, note))

    def replaced(self, expected: Json, actual: Json, path: Link, at: Link) -> Json:
        """Report that the actual value differs from the expected one."""
        same = actual.__class__ is expected.__class__ or json_type(actual) == json_type(expected)
        self.differ(path, "value" if same else "type", expected, actual, at)
        return escape_value(actual)

    def missing(self, expected: Json, at: Link, path: Link) -> None:
        self.differ(path, "missing", expected, ABSENT, at)

    def extra(self, actual: Json, path: Link, at: Link, note: str | None = None) -> None:
        self.differ(path, "extra", ABSENT, actual, at, note=note)

    def matches(self, node: Node, actual: Json) -> bool:
        """Whether a value would pass here, with the current bindings. While the walk fails fast the answer is
        kept, as nested trials would ask again and again."""
        if self.has_bindings or not self.fail_fast:
            return self.bindings_after(node, actual) is not None
        key = (id(node), id(actual))
        entry = self._memo.get(key)
        if entry is None:
            if len(self._memo) > _MOST_KNOWN:
                self._memo.clear()
            questions_before = self.deferred, len(self.questions)
            is_match = self.bindings_after(node, actual) is not None
            if questions_before != (self.deferred, len(self.questions)):
                return is_match
            # node and actual are kept, as otherwise new objects could get their ids
            entry = self._memo[key] = (node, actual, is_match)
        return entry[2]

    def take_back(self, question_count: int) -> None:
        """Keep only the first `question_count` questions: the answers to the others would change nothing."""
        while len(self.questions) > question_count:
            self.questions.popitem()

    def bindings_after(
        self, node: Node, actual: Json, bindings: dict[str, Json] | None = None
    ) -> dict[str, Json] | None:
        """The bindings after a value has passed here, starting from the given ones or those of the walk; None
        if it would not pass."""
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            message = "its arrays in arrays can be paired in too many ways"
            raise CannotReplay(
                Problem("BK231", message, "pair their rows by a key: arrays: {path: {by: id}}")
            )
        outer_settings, question_count = (self.probing, self.fail_fast, self.bindings), len(self.questions)
        self.probing = self.fail_fast = True
        self.bindings = dict(self.bindings if bindings is None else bindings)
        try:
            node.walk(actual, self, None)
            return self.bindings
        except Mismatch:
            self.take_back(question_count)
            return None
        finally:
            self.probing, self.fail_fast, self.bindings = outer_settings


# The nodes without child nodes: scalars, texts, ignored places, and what a filter selects.


def same_scalar(expected: Json, actual: Json, mode: Mode) -> bool:
    """Whether two scalars are equal in this mode: true is never 1; 1 is 1.0 unless types count."""
    if isinstance(expected, str):
        return isinstance(actual, str) and (expected == actual or mode.text(expected) == mode.text(actual))
    if is_number(expected):
        if not is_number(actual) or (mode.typed and isinstance(expected, int) != isinstance(actual, int)):
            return False
        return same_number(expected, actual)
    return expected is actual


def passes(expected: Json, actual: Json, mode: Mode) -> bool:
    """Whether a literal value passes: a number within its tolerance, anything else if equal."""
    if mode.tolerance is None or not is_number(expected):
        return same_scalar(expected, actual, mode)
    from baselinekit.matching.tolerance import within  # few baselines need it

    bounds = (mode.tolerance, *(bounds for bounds, _ in mode.tolerances))
    return is_number(actual) and all(within(expected, actual, tolerance) for tolerance in bounds)


class Scalar(MutableStruct):
    """A literal text, number, boolean or null. `expected` is what the file says, with its escapes."""

    expected: Json
    value: Json
    mode: Mode
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        tolerance = self.mode.tolerance
        if tolerance is not None and is_number(self.value):
            from baselinekit.matching.tolerance import describe_change, within

            if not is_number(actual):
                return walk.replaced(self.expected, actual, path, self.at)
            for bounds, rule in ((tolerance, self.mode.tolerance_rule), *self.mode.tolerances):
                if not within(self.value, actual, bounds):
                    note = describe_change(self.value, actual, bounds)
                    walk.differ(path, "tolerance", self.expected, actual, self.at, rule, note)
                    return actual
            return self.expected
        if same_scalar(self.value, actual, self.mode):
            return self.expected
        return walk.replaced(self.expected, actual, path, self.at)


class PlaceholderNode(MutableStruct):
    """A placeholder, or a text that contains placeholders."""

    expected: str
    template: Placeholder | Inline
    at: Link

    @property
    def optional(self) -> bool:
        return self.template.optional

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if self.template.accepts(actual, walk.bindings):
            return self.expected
        return self.refuse(actual, walk, path)

    def refuse(self, actual: Json, walk: Walk, path: Link) -> Json:
        tokens = self.template.tokens if isinstance(self.template, Inline) else (self.template.token,)
        keys = [token.key for token in tokens if token.key and token.key in walk.bindings]
        note = ", ".join(f"{key} is {walk.bindings[key]!r} elsewhere" for key in keys) or None
        walk.differ(path, "value", self.expected, actual, self.at, note=note)
        if isinstance(actual, str) and isinstance(self.template, Inline):
            return walk.keep_placeholders(self.expected, actual)
        return escape_value(actual)


class Ignored(MutableStruct):
    """A value that a rule leaves out of the comparison. With `keep` (ignore_values) the key must still be
    there."""

    expected: Json
    rule: Rule
    at: Link
    keep: bool = False

    @property
    def optional(self) -> bool:
        return not self.keep

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        walk.hits.add(self.rule)
        if actual.__class__ is not self.expected.__class__ and not walk.probing:
            # the rule may hide a change of type, not only of the value
            before, after = json_type(self.expected), json_type(actual)
            has_placeholder = isinstance(self.expected, str) and has_marker(self.expected)
            if before != after and not has_placeholder and "null" not in (before, after):
                walk.hidden.setdefault(self.rule, f"{render(unroll(path))} was {before}, is {after}")
        return self.expected


class Uncompared(MutableStruct):
    """A leaf that a numeric comparison does not look at."""

    expected: Json
    at: Link
    optional: bool = True

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        return self.expected


class AnyElements(MutableStruct):
    """An array whose elements are all ignored: any elements, in any number, pass."""

    expected: list[Json]
    rule: Rule
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        walk.hits.add(self.rule)
        return (
            self.expected if isinstance(actual, list) else walk.replaced(self.expected, actual, path, self.at)
        )


class MediaType(MutableStruct):
    """A `content-type` header: an expected one without parameters matches any parameters."""

    expected: str
    value: str
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if isinstance(actual, str):
            before, after = _parse_media_type(self.value), _parse_media_type(actual)
            if before == after or (len(before) == 1 and before[0] == after[0]):
                return self.expected
        return walk.replaced(self.expected, actual, path, self.at)


def _parse_media_type(text: str) -> list[str]:
    first, *parameters = [part.strip().casefold().replace('"', "") for part in text.split(";")]
    return [first, *sorted(parameter for parameter in parameters if parameter)]


# A filter, an index or a slice may select other values in the baseline than in the actual output. A pair is
# left out of the comparison only where both values are selected; a value without a partner is judged by its
# own place.


def is_untouched(value: Json, state: State) -> bool:
    """Whether a value holds no placeholder and no rule reaches it."""
    return not state.reaches(value) and not holds_marker(value)


class Literal(MutableStruct):
    """A literal object or array. `opened`: its node, made when a different value was found."""

    expected: Json
    mode: Mode
    state: State
    at: Link
    optional: bool = False
    opened: Node | None = None

    @property
    def literal_fields(self) -> dict[str, Json]:
        return self.expected if isinstance(self.expected, dict) else {}

    def equals(self, actual: Json) -> bool:
        return bytes_of(actual) == bytes_of(self.expected)

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if self.equals(actual):
            return self.expected
        if self.opened is None:
            self.opened = walk.open(self.expected, self.mode, self.state, self.at)
        return self.opened.walk(actual, walk, path)
