"""The walk: the expected and the actual output side by side. It gives the differences, and *resolved*: the
actual output seen through the expected one, which is the expected value itself where nothing differs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.matching.rules import Form, Mode, Rule, State, key_fault, mode_of, mode_under, steps_below
from baselinekit.model.baselines import BOUNDS, Answers, By, Difference, Kind, SimilarityQuestion, Tolerance
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import between, escape, escape_value, has_marker
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, binds, compile_text
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.equality import EXACT, bytes_of, decimal, delta, is_number, same_number
from baselinekit.values.paths import render
from baselinekit.values.places import places

MOST_KEPT = 10_000
"""All differences are counted; this many are kept."""

_MOST_TRIALS = 2_000_000

Object = dict[str, Json]

Link = tuple[Any, str | int] | None
"""A path during a walk: the parent's path and the last key. Only a difference unrolls it."""


def unroll(link: Link) -> Path:
    keys: list[str | int] = []
    while link is not None:
        link, key = link
        keys.append(key)
    keys.reverse()
    return tuple(keys)


class WalkPlace(NamedTuple):
    """A place in both outputs. `stored` and `actual`: how far the rules have come on each side. `at` leads to
    the expected value, `path` to the actual one."""

    mode: Mode
    stored: State
    actual: State
    at: Link = None
    path: Link = None


class Mismatch(Exception):
    """Raised by a walk that fails fast: the values do not match, and it does not matter how."""


class TooManyWays(CannotReplay):
    """The rows of an array could not be paired within the limit: a guess would be no verdict."""


class Templates(MutableStruct):
    """The texts of a stored output with placeholders, each compiled once."""

    words: PlaceholderContext
    known: dict[str, str | Placeholder | Inline] = field(default_factory=dict)
    invalid: dict[str, InvalidInput] = field(default_factory=dict)
    """The errors of texts whose placeholders cannot be parsed."""

    def of(self, text: str) -> str | Placeholder | Inline:
        """Compile a text; an invalid one is taken literally, and is reported before any walk."""
        if text not in self.known:
            try:
                self.known[text] = compile_text(text, self.words)
            except InvalidInput as error:
                self.known[text], self.invalid[text] = text, error
        return self.known[text]

    def is_optional(self, value: Json) -> bool:
        """Whether a stored value is a placeholder for one that may be absent."""
        template = self.of(value) if has_marker(value) else ""
        return isinstance(template, Placeholder) and template.token.optional

    def accepts(self, text: str, value: Json) -> bool:
        """Whether a stored text by itself accepts a value; False where that depends on other values."""
        template = self.of(text)
        if isinstance(template, str):
            return isinstance(value, str) and value == template
        return not binds(template) and template.accepts(value, {})


def holds_compared_number(value: Json) -> bool:
    """Whether a numeric comparison looks at anything in a value: at a number, or a placeholder."""
    leaves = (leaf for _, leaf in places(value) if not isinstance(leaf, dict | list))
    return any(is_number(leaf) or has_marker(leaf) for leaf in leaves)


# The stored output before anything is compared: the mistakes, the rules that match something, the arrays with
# a mode of their own.


class Stored(MutableStruct):
    """One look at all values of a stored output. `is_checked`: some value can fail; `uncompared` counts those
    that are not compared."""

    templates: Templates
    form: Form
    path: Path
    """Where it is in the record."""
    problems: list[Problem] = field(default_factory=list)
    hits: set[Rule] = field(default_factory=set)
    arrays: dict[Path, str] = field(default_factory=dict)
    is_checked: bool = False
    uncompared: int = 0
    has_bindings: bool = False
    """Whether there are bindings anywhere: then a match depends on the values walked before."""

    def look(self, value: Json, mode: Mode, state: State, at: Link = None) -> None:
        """Look at a value and all below it."""
        here = state.here
        self.hits.update(here.rules)
        if here.ignore is not None:
            numeric = mode.type == "numeric" and not holds_compared_number(value)
            keeps = here.ignore.kind == "ignore_values" and not self.templates.is_optional(value)
            self.is_checked |= keeps and at is not None and not numeric
            self.compile_texts(value)
            return
        mode = mode_under(mode, here)
        if isinstance(value, dict | list):
            in_form = bool(self.form) and unroll(at) in self.form
            if not state.positions and mode.type != "numeric" and not in_form and not may_hold_marker(value):
                self.is_checked = True
            elif isinstance(value, list) and not self.look_at_array(value, mode, state, at):
                self.compile_texts(value)
            else:
                for key, item, below in steps_below(state, value):
                    self.look(item, mode, below, (at, key))
                if not value and not in_form:
                    self.is_checked |= mode.type != "numeric" or isinstance(value, list)
            return
        meant = self.templates.of(value) if has_marker(value) else value
        if value in self.templates.invalid:
            self.report(at, *self.templates.invalid[value].problems)
        is_compared = mode.type != "numeric" or is_number(meant) or isinstance(meant, Placeholder | Inline)
        self.is_checked |= is_compared
        self.uncompared += not is_compared

    def compile_texts(self, value: Json) -> None:
        """Compile the texts of a value that is left out here: where the actual output decides otherwise it is
        compared."""
        for _, item in places(value):
            if has_marker(item):
                self.templates.of(item)

    def look_at_array(self, value: list[Json], mode: Mode, state: State, at: Link) -> bool:
        """Look at how an array is compared; return whether its elements are compared at all."""
        every = state.every_element()
        if every is not None:
            self.hits.update(every.rules)
            self.is_checked |= mode.type != "numeric" or at is None or holds_compared_number(value)
            return False
        array_mode = state.here.array_mode
        if array_mode not in (None, "ordered") and mode.type == "exact":
            message = f"an exact comparison keeps the order of arrays, {str(array_mode)!r} has no effect"
            self.report(at, Problem("BK221", message, "use type: structural"))
        array_mode = mode_of(array_mode, value, mode)
        if array_mode is not None:
            self.arrays[unroll(at)] = str(array_mode)
        if isinstance(array_mode, By):
            compared = [row for _, row, below in steps_below(state, value) if below.here.ignore is None]
            if reason := key_fault(compared, array_mode.by):
                self.report(at, Problem("BK221", reason, "use unordered, or another key"))
        return True

    def report(self, at: Link, *problems: Problem) -> None:
        self.problems += [replace(problem, at=(*self.path, *unroll(at))) for problem in problems]


def may_hold_marker(value: Json) -> bool:
    """Whether the texts of a value may hold a placeholder; a key that looks like one is enough."""
    data = bytes_of(value)
    return b"<<" in data or b"{{any_" in data


def is_same_literal(expected: Json, actual: Json) -> bool:
    """Whether a value without placeholders is the same in every type and in the order of keys. It is the one
    fast path."""
    data = bytes_of(expected)
    return data == bytes_of(actual) and not (b"<<" in data or b"{{any_" in data)


class Walk(MutableStruct):
    """One walk over an actual output."""

    array: Callable[..., Json]
    """Compares two arrays: `arrays.compare`, which uses the walk."""
    wording: Callable[..., Json]
    """Compares texts that may be worded otherwise: `semantic.compare_wording`."""
    expected: Stored
    answers: Answers = field(default_factory=dict)
    collecting_questions: bool = True
    """Whether an open question is asked, and counts as similar until it is answered; else it counts as not
    similar."""
    questions: dict[SimilarityQuestion, None] = field(default_factory=dict)
    deferred: int = 0
    """How often a question was not asked."""
    differences: list[Difference] = field(default_factory=list)
    count: int = 0
    bindings: dict[str, Json] = field(default_factory=dict)
    hits: set[Rule] = field(default_factory=set)
    hidden: dict[Rule, str] = field(default_factory=dict)
    fail_fast: bool = False
    """The first difference ends the walk."""
    probing: bool = False
    """Values are only tried against each other and may not belong together, so nothing is reported."""
    trials: int = 0
    _memo: dict[tuple[int, int, Mode, State, State], bool] = field(default_factory=dict)

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
            self.differences.append(Difference(unroll(path), kind, expected, actual, unroll(at), rule, note))

    def replaced(self, expected: Json, actual: Json, place: WalkPlace) -> Json:
        """Report that the actual value differs from the expected one."""
        same = actual.__class__ is expected.__class__ or json_type(actual) == json_type(expected)
        self.differ(place.path, "value" if same else "type", expected, actual, place.at)
        return escape_value(actual)

    # Trials: whether values would match.

    def matches(self, e: Json, a: Json, place: WalkPlace) -> bool:
        """Whether a value would pass here, with the current bindings. The answer is kept, as nested trials
        would ask again and again; the values themselves are kept by the outputs."""
        if self.expected.has_bindings:
            return self.bindings_after(e, a, place) is not None
        key = (id(e), id(a), place.mode, place.stored, place.actual)
        known = self._memo.get(key)
        if known is None:
            questions_before = self.deferred, len(self.questions)
            known = self.bindings_after(e, a, place) is not None
            if questions_before == (self.deferred, len(self.questions)):
                self._memo[key] = known
        return known

    def bindings_after(
        self, e: Json, a: Json, place: WalkPlace, bindings: dict[str, Json] | None = None
    ) -> dict[str, Json] | None:
        """The bindings after a value has passed here, starting from the given ones or those of the walk; None
        if it would not pass."""
        self.count_trial(place.path)
        outer_settings, question_count = (self.probing, self.fail_fast, self.bindings), len(self.questions)
        self.probing = self.fail_fast = True
        self.bindings = dict(self.bindings if bindings is None else bindings)
        try:
            self.value(e, a, place)
            return self.bindings
        except Mismatch:
            self.take_back(question_count)
            return None
        finally:
            self.probing, self.fail_fast, self.bindings = outer_settings

    def count_trial(self, path: Link) -> None:
        """Count that an element is tried, or looked at again."""
        self.trials += 1
        if self.trials > _MOST_TRIALS:
            where = render(unroll(path)[:-1])
            message = f"the array {where} has too many rows that can only be distinguished by trial"
            raise TooManyWays(Problem("BK231", message, "pair them by a key: arrays: {path: {by: id}}"))

    def take_back(self, question_count: int) -> None:
        """Keep only the first `question_count` questions: the answers to the others would change nothing."""
        while len(self.questions) > question_count:
            self.questions.popitem()

    # One pair of values.

    def value(self, e: Json, a: Json, place: WalkPlace) -> Json:
        mode, stored, actual, at, path = place
        here = stored.here if actual is stored else stored.with_actual(actual)[0]
        if here.rules:
            if actual is not stored:
                self.hits.update(here.rules)
            if here.ignore is not None:
                return self.left_out(e, a, here.ignore, place)
            mode = mode_under(mode, here)
            place = WalkPlace(mode, stored, actual, at, path)
        kind = e.__class__
        if kind is dict or kind is list:
            if not (stored.positions or mode.asks_for_change) and is_same_literal(e, a):
                return e
            is_skipped = mode.type == "numeric" and not self.is_compared(e, mode, stored)
            if is_skipped and at is not None and unroll(at) not in self.expected.form:
                return e
            if kind is dict:
                return self.object(e, a, place)
            return self.array(self, e, a, here.array_mode, place)
        literal = e
        if kind is str and has_marker(e):
            literal = self.expected.templates.of(e)
            if not isinstance(literal, str):
                accepted = literal.accepts(a, self.bindings)
                return e if accepted else self.refused(e, literal, a, place)
        return self.scalar(e, literal, a, place)

    def left_out(self, e: Json, a: Json, rule: Rule, place: WalkPlace) -> Json:
        """A value that a rule leaves out of the comparison."""
        if place.mode.type == "numeric" and place.at is not None and not holds_compared_number(e):
            return e
        self.hits.add(rule)
        if a.__class__ is not e.__class__ and not self.probing:
            # the rule may hide a change of type, not only of the value
            before, after = json_type(e), json_type(a)
            if before != after and not has_marker(e) and "null" not in (before, after):
                self.hidden.setdefault(rule, f"{render(unroll(place.path))} was {before}, is {after}")
        return e

    def refused(self, e: str, template: Placeholder | Inline, a: Json, place: WalkPlace) -> Json:
        """Report a value that a placeholder does not accept."""
        tokens = template.tokens if isinstance(template, Inline) else (template.token,)
        keys = [token.key for token in tokens if token.key and token.key in self.bindings]
        note = ", ".join(f"{key} is {self.bindings[key]!r} elsewhere" for key in keys) or None
        self.differ(place.path, "value", e, a, place.at, note=note)
        if isinstance(a, str) and isinstance(template, Inline):
            from baselinekit.placeholders.lines import with_placeholders  # few texts differ

            # with those placeholders that still match: what they stand for is neither kept nor masked
            text = with_placeholders(e, a, self.expected.templates.words)
            return escape(a) if text == e else text
        return escape_value(a)

    def scalar(self, e: Json, literal: Json, a: Json, place: WalkPlace) -> Json:
        """Compare a literal text, number, boolean or null. `e` is as in the file, with its escapes."""
        mode, number = place.mode, is_number(e)
        if mode.type == "numeric" and not number:
            return e
        if mode.type == "semantic" and isinstance(literal, str):
            return self.wording(self, e, literal, a, place)
        if mode.tolerances and number:
            if not is_number(a):
                return self.replaced(e, a, place)
            for bounds, rule in mode.tolerances:
                if not within(e, a, bounds):
                    note = describe_change(e, a, bounds)
                    self.differ(place.path, "tolerance", e, a, place.at, rule, note)
                    return a
            return e
        return e if same_scalar(literal, a, mode) else self.replaced(e, a, place)

    def is_compared(self, e: Json, mode: Mode, stored: State) -> bool:
        """Whether a numeric comparison looks at a value, or at anything in it."""
        if stored.here.ignore is not None:
            return holds_compared_number(e)
        mode = mode_under(mode, stored.here)
        if mode.type != "numeric":
            return True
        if isinstance(e, dict | list):
            if isinstance(e, list) and stored.every_element() is not None:
                return holds_compared_number(e)
            return any(self.is_compared(item, mode, below) for _, item, below in steps_below(stored, e))
        if has_marker(e):
            return not isinstance(self.expected.templates.of(e), str)
        return is_number(e)

    def is_optional(self, e: Json, mode: Mode, alone: State) -> bool:
        """Whether a stored value need not be there. `alone`: the state of a value without a partner."""
        if alone.here.ignore is not None:
            if mode.type == "numeric" and not holds_compared_number(e):
                return True  # it need not be there without the rule, so not with it either
            return alone.here.ignore.kind == "ignore_fields" or self.expected.templates.is_optional(e)
        numeric = mode.type == "numeric" and not self.is_compared(e, mode, alone)
        return numeric or self.expected.templates.is_optional(e)

    # Objects.

    def object(self, e: Object, a: Json, place: WalkPlace) -> Json:
        mode, stored, actual, at, path = place
        form = self.expected.form.get(unroll(at)) if self.expected.form else None
        if a.__class__ is not dict:
            return self.replaced(e, a, place)
        if form == "headers":
            a = self.with_spelling(e, a)
        changed: Object = {}
        e_size, a_size = len(e), len(a)
        members = list(e.items())
        if self.expected.has_bindings:  # a text binds before the arrays are searched for the same key
            members.sort(key=lambda member: not isinstance(member[1], str))
        for key, item in members:
            value = a.get(key, ABSENT)
            if value is ABSENT:
                alone = stored.with_actual(actual)[1].step(key, item, e_size)
                if not mode.allow_missing_fields and not self.is_optional(item, mode, alone):
                    self.differ((path, key), "missing", item, ABSENT, (at, key))
                    changed[key] = ABSENT
                continue
            below = stored.step(key, item, e_size, paired=True)
            below_actual = actual.step(key, value, a_size)
            resolved = self.value(item, value, WalkPlace(mode, below, below_actual, (at, key), (path, key)))
            if resolved is not item:
                changed[key] = resolved
        if a_size > e_size or not a.keys() <= e.keys():
            open = form != "names" if form else mode.type == "numeric"
            self.report_extra(e, a, open or mode.allow_additional_fields, place, changed)
        moved = False
        if not mode.allow_field_reordering:
            before, after = [key for key in e if key in a], [key for key in a if key in e]
            moved = before != after
            if moved:
                self.differ(path, "order", before, after, at, "allow_field_reordering")
        return _resolved_object(e, a, changed, moved, mode) if changed or moved else e

    def report_extra(self, e: Object, a: Object, allowed: bool, place: WalkPlace, changed: Object) -> None:
        """Report the keys that the actual object has beyond the baseline."""
        alone = place.stored.with_actual(place.actual)[1]
        if allowed and not alone.positions:
            return
        for key, value in a.items():
            if key in e:
                continue
            here = alone.step(key, value, len(a)).here
            self.hits.update(here.rules)
            if not allowed and here.ignore is None:
                self.differ((place.path, key), "extra", ABSENT, value, place.at)
                changed[key] = escape_value(value)

    def with_spelling(self, e: Object, a: Object) -> Object:
        """Response headers with the names of the baseline, as case does not count, and with its media type if
        that is the same."""
        spelled = {key.casefold(): key for key in e}
        a = {spelled.get(key.casefold(), key): value for key, value in a.items()}
        name = spelled.get("content-type")
        if name in a and isinstance(e[name], str) and isinstance(a[name], str):
            literal = self.expected.templates.of(e[name])
            if isinstance(literal, str) and _is_same_media_type(literal, a[name]):
                a[name] = literal
        return a


def same_scalar(expected: Json, actual: Json, mode: Mode) -> bool:
    """Whether two scalars are equal in this mode: true is never 1; 1 is 1.0 unless types count."""
    if isinstance(expected, str):
        return isinstance(actual, str) and (expected == actual or mode.text(expected) == mode.text(actual))
    if is_number(expected):
        if not is_number(actual) or (mode.typed and isinstance(expected, int) != isinstance(actual, int)):
            return False
        return same_number(expected, actual)
    return expected is actual


def _is_same_media_type(expected: str, actual: str) -> bool:
    """An expected media type without parameters matches any parameters."""
    before, after = _parse_media_type(expected), _parse_media_type(actual)
    return before == after or (len(before) == 1 and before[0] == after[0])


def _parse_media_type(text: str) -> list[str]:
    first, *parameters = [part.strip().casefold().replace('"', "") for part in text.split(";")]
    return [first, *sorted(parameter for parameter in parameters if parameter)]


def _resolved_object(e: Object, a: Object, changed: Object, moved: bool, mode: Mode) -> Object:
    resolved = {**e, **changed}
    if moved or not mode.allow_field_reordering:
        resolved = {key: resolved[key] for key in a if key in resolved} | resolved
    elif len(resolved) > len(e):
        from baselinekit.values.changes import with_new_keys  # few answers have new keys

        actual_keys = [key for key in a if key in resolved]
        resolved = {key: resolved[key] for key in with_new_keys(e, actual_keys)}
    return {key: value for key, value in resolved.items() if value is not ABSENT}


# Tolerances, in decimals, on the written digits.


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Whether a number is in its tolerance, on the written digits: 4.2 -> 3.9 is exactly -0.3. Every stated
    delta is a limit; of `abs` and `rel` the wider one is. The limit itself passes."""
    change = delta(expected, actual)
    if not between(change, tolerance.min_delta, tolerance.max_delta):
        return False
    widths = [] if tolerance.abs is None else [decimal(tolerance.abs)]
    if tolerance.rel is not None:
        widths.append(EXACT.multiply(decimal(tolerance.rel), decimal(expected).copy_abs()))
    return not widths or change.copy_abs() <= max(widths)


def describe_change(expected: Json, actual: Json, tolerance: Tolerance) -> str:
    """Describe why a number is out of tolerance, for the report."""
    stated = ((name, getattr(tolerance, name)) for name in BOUNDS)
    bounds = ", ".join(f"{name} {value}" for name, value in stated if value is not None)
    return f"changed by {delta(expected, actual):+.12g}, allowed: {bounds}"
