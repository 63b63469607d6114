"""The nodes without nodes below them."""

from dataclasses import dataclass

from baselinekit.compare import numeric, semantic
from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import Rule
from baselinekit.compare.walk import Link, Walk, unroll
from baselinekit.model.comparison import Question
from baselinekit.model.values import Json, json_type
from baselinekit.paths import render
from baselinekit.placeholders.grammar import escape, escape_value, has_marker
from baselinekit.placeholders.kinds import is_number, same_number
from baselinekit.placeholders.template import Inline, Placeholder


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
                if not numeric.within(self.value, actual, bounds):
                    note = numeric.worded(self.value, actual, bounds)
                    walk.differ(path, "tolerance", self.expected, actual, self.at, rule, note)
                    return actual
            return self.expected
        if same_scalar(self.value, actual, self.mode):
            return self.expected
        return walk.replaced(self.expected, actual, path, self.at)


@dataclass(slots=True, eq=False)
class Meaning:
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
            likeness = self._likeness(actual, walk)
            if likeness is None:
                return self.expected  # nobody knows yet
            score, why = likeness
            if score >= self.mode.min_similarity:
                return self.expected
            note = f"similarity {score:.2f}, at least {self.mode.min_similarity:g} is asked for{why}"
        walk.differ(path, "similarity", self.expected, actual, self.at, note=note)
        return escape(actual)

    def _likeness(self, actual: str, walk: Walk) -> tuple[float, str] | None:
        """How alike the texts are, and a word about it; None while somebody else has to say."""
        if self.mode.method == "words":
            return semantic.similarity(self.value, actual), ""
        question = Question(self.value, actual, self.mode.method)
        if question in walk.answers:
            score, why = walk.answers[question]
            return score, f" ({self.mode.method}: {why})" if why else f" ({self.mode.method})"
        if not walk.asking:
            walk.unsure += 1
            return 0.0, ""
        walk.questions[question] = None
        return None


@dataclass(slots=True, eq=False)
class Stand:
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
        walk.differ(path, "value", self.expected, actual, self.at, note=self._binding(walk))
        return escape_value(actual)

    def _binding(self, walk: Walk) -> str | None:
        template = self.template
        tokens = template.tokens if isinstance(template, Inline) else (template.token,)
        keys = [token.key for token in tokens if token.key in walk.bindings]
        return ", ".join(f"{key} is {walk.bindings[key]!r} elsewhere" for key in keys if key) or None


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
        if actual.__class__ is not self.expected.__class__ and not walk.trial:
            self._look(actual, walk, path)
        return self.expected

    def _look(self, actual: Json, walk: Walk, path: Link) -> None:
        """Whether the rule hides more than another value."""
        before, after = json_type(self.expected), json_type(actual)
        written = isinstance(self.expected, str) and has_marker(self.expected)
        if before != after and not written and "null" not in (before, after):
            walk.hidden.setdefault(self.rule, f"{render(unroll(path))} was {before}, is {after}")


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
