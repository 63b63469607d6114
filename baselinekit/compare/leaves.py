"""The nodes without nodes below them: scalars, texts, ignored places, and what a filter selects."""

import math
from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, field
from decimal import Context

from baselinekit.compare import semantic
from baselinekit.compare.rules import Mode, Rule, Side, State
from baselinekit.compare.walk import Link, Node, Walk, unroll
from baselinekit.model.baselines import BOUNDS, SimilarityQuestion, Tolerance
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.accepts import between
from baselinekit.placeholders.grammar import escape, escape_value, has_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.equality import EXACT, decimal, delta, is_number, same_number
from baselinekit.tree.paths import render

_SHOWN = Context(prec=20, traps=[])


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Whether a number is in its tolerance, in decimal arithmetic on the written digits: 4.2 -> 3.9 is -0.3
    exactly. Every delta that is stated bounds; of `abs` and `rel` the wider one does. The limit itself
    passes."""
    change = delta(expected, actual)
    if not between(change, tolerance.min_delta, tolerance.max_delta):
        return False
    widths = []
    if tolerance.abs is not None:
        widths.append(decimal(tolerance.abs))
    if tolerance.rel is not None:
        widths.append(EXACT.multiply(decimal(tolerance.rel), decimal(expected).copy_abs()))
    return not widths or change.copy_abs() <= max(widths)


def describe_change(expected: Json, actual: Json, tolerance: Tolerance) -> str:
    """Why a number is out of tolerance, for the reader of the report."""
    bounds = ", ".join(
        f"{name} {getattr(tolerance, name)}" for name in BOUNDS if getattr(tolerance, name) is not None
    )
    number = delta(expected, actual)
    plain = number.is_zero() or -20 < number.adjusted() < 18
    signed = f"{number.normalize(_SHOWN):+f}" if plain else f"{number:+.6e}"
    return f"changed by {signed}, allowed: {bounds}"


def same_scalar(expected: Json, actual: Json, mode: Mode) -> bool:
    """Equal as the mode sees it: true is never 1; 1 is 1.0 unless types count."""
    if isinstance(expected, str):
        return isinstance(actual, str) and (expected == actual or mode.text(expected) == mode.text(actual))
    if is_number(expected):
        if not is_number(actual) or (mode.typed and isinstance(expected, int) != isinstance(actual, int)):
            return False
        return same_number(expected, actual)
    return expected is actual


@dataclass(slots=True, eq=False)
class Scalar:
    """A literal text, number, boolean or null. `expected` is what the file says, escapes and all."""

    expected: Json
    value: Json
    mode: Mode
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        tolerance = self.mode.tolerance
        if tolerance is not None and is_number(self.value):
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


@dataclass(slots=True, eq=False)
class SemanticText:
    """A text that may be worded otherwise."""

    expected: str
    value: str
    mode: Mode
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, str):
            return walk.replaced(self.expected, actual, path, self.at)
        if same_scalar(self.value, actual, self.mode):
            return self.expected
        note = semantic.disagreement(self.value, actual)
        if note is None and self.mode.method != "judge":
            note = semantic.replacement(self.value, actual)
        if note is None:
            score, why = self._likeness(actual, walk)
            if score >= self.mode.min_similarity:
                return self.expected
            note = f"similarity {score:.2f}, at least {self.mode.min_similarity:g} is required{why}"
        walk.differ(path, "similarity", self.expected, actual, self.at, note=note)
        return escape(actual)

    def _likeness(self, actual: str, walk: Walk) -> tuple[float, str]:
        """How alike the texts are, and who says so; for the time being they are, where a question is put."""
        if self.mode.method == "words":
            return semantic.similarity(self.value, actual), ""
        question = SimilarityQuestion(self.value, actual, self.mode.method)
        if question in walk.answers:
            score, why = walk.answers[question]
            return score, f" ({self.mode.method}: {why})" if why else f" ({self.mode.method})"
        if walk.collecting_questions:
            walk.questions[question] = None
            return math.inf, ""
        walk.deferred += 1
        return 0.0, ""


@dataclass(slots=True, eq=False)
class PlaceholderNode:
    """A placeholder, or a text with placeholders in it."""

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
        return escape_value(actual)


@dataclass(slots=True, eq=False)
class Ignored:
    """What a rule takes out of the comparison. With `keep` (ignore_values) the key must still be there."""

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
            # whether the rule hides more than another value
            before, after = json_type(self.expected), json_type(actual)
            written = isinstance(self.expected, str) and has_marker(self.expected)
            if before != after and not written and "null" not in (before, after):
                walk.hidden.setdefault(self.rule, f"{render(unroll(path))} was {before}, is {after}")
        return self.expected


@dataclass(slots=True, eq=False)
class Uncompared:
    """A leaf that a numeric comparison does not look at."""

    expected: Json
    at: Link
    optional: bool = True

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        return self.expected


@dataclass(slots=True, eq=False)
class AnyElements:
    """An array whose elements are all ignored: any of them, and any number, will do."""

    expected: list[Json]
    rule: Rule
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        walk.hits.add(self.rule)
        return (
            self.expected if isinstance(actual, list) else walk.replaced(self.expected, actual, path, self.at)
        )


@dataclass(slots=True, eq=False)
class MediaType:
    """A `content-type`: one without parameters matches any parameters."""

    expected: str
    value: str
    at: Link
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if isinstance(actual, str):
            before, after = _media_type(self.value), _media_type(actual)
            if before == after or (len(before) == 1 and before[0] == after[0]):
                return self.expected
        return walk.replaced(self.expected, actual, path, self.at)


def _media_type(text: str) -> list[str]:
    first, *parameters = [part.strip().casefold().replace('"', "") for part in text.split(";")]
    return [first, *sorted(parameter for parameter in parameters if parameter)]


# What a filter, an index or a slice selects may be one thing in the baseline and another in what came back. A
# pair is left out of the comparison only where both values are selected; what has no partner is judged by
# where it stands.


@dataclass(slots=True, eq=False)
class Selected:
    """A value for which a filter holds, or may hold since it reads a placeholder. `own`: its node as if the
    filter held for what came back as well; `make` gives the node for any other case."""

    own: Node
    usual: State
    outer: State
    stored: Side
    make: Callable[[State], Node]
    made: dict[State, Node] = field(default_factory=dict)

    @property
    def expected(self) -> Json:
        return self.own.expected

    @property
    def at(self) -> Link:
        return self.own.at

    @property
    def optional(self) -> bool:
        return self.own.optional

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        return self.seen_with(Side(self.stored.key, actual, self.stored.size)).walk(actual, walk, path)

    def seen_with(self, came: Side) -> Node:
        """The node for what came back."""
        state = self.outer.step_both(self.stored, came)
        if state is self.usual:
            return self.own
        if state not in self.made:
            self.made[state] = self.make(state)
        return self.made[state]


@dataclass(slots=True, eq=False)
class Elements:
    """The elements of an array, in the state of that array. `make` gives the node of one of them in a state
    of its own, `any_number`: a rule leaves out all of them, so that none has to be there."""

    expected: Sequence[Json]
    state: State
    make: Callable[[int, State], Node]
    any_number: bool = False
    made: dict[tuple[int, State], Node] = field(default_factory=dict)

    def seen_with(self, e: int, stored: tuple[int, int], came: Side) -> Node:
        """The node of an element for what came back. `stored`: as which of how many elements it counts."""
        state = self.state.step_both(Side(stored[0], self.expected[e], stored[1]), came)
        key = (e, state)
        if key not in self.made:
            self.made[key] = self.make(e, state)
        return self.made[key]

    def left_out(self, actual: Sequence[Json], walk: Walk) -> Set[int]:
        """The actual elements that a rule leaves out, by where each of them stands."""
        if not self.state.tells_apart:
            return frozenset()
        found = set()
        for a, value in enumerate(actual):
            here = self.state.step_alone(a, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
                if here.ignore is not None:
                    found.add(a)
        return found

    def partners(self, lost: Sequence[int], items: Sequence[Node], spare: Sequence[int]) -> dict[int, int]:
        """Which actual elements that are left out stand for those of the baseline that are: first for one
        whose value does not count, but that has to be there."""
        aside = [e for e in lost if is_left_out(items[e])]
        aside.sort(key=lambda e: items[e].optional)
        return dict(zip(sorted(aside[: len(spare)]), spare, strict=False))

    def missing(self, lost: Sequence[int], items: Sequence[Node], partners: Container[int]) -> list[int]:
        """The elements without a partner that have to be there."""
        free = self.any_number
        must = [e for e in lost if e not in partners and not items[e].optional]
        return [e for e in must if not (free and is_left_out(items[e]))]


def is_left_out(node: Node) -> bool:
    """Whether a rule leaves out an element of the baseline, as it stands there."""
    return isinstance(node.own if isinstance(node, Selected) else node, Ignored)
