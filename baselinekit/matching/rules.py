"""The path rules of a comparison as an automaton: at each step of the walk it tells which rules may still
apply and which apply right here. Then the mode: how values are compared at one place, with its defaults
filled in."""

from collections.abc import Callable, Hashable
from typing import Any, Literal

from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.baselines import (
    BOUNDS,
    DEFAULT_SIMILARITY,
    FLAGS,
    OLD_NAMES,
    ArrayMode,
    FieldRule,
    Method,
    Options,
    Tolerance,
    Type,
    least_similarity,
)
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import Pattern, Specificity
from baselinekit.values.places import FilterSegment, Key, Slice, Wild, fits

Form = dict[Path, RecipeKind | Literal["headers", "names"]]
"""What an output holds at which path: a whole response of a kind, its headers, or responses by name."""


_MOST_SHARED = 256
_MOST_NEXT_STATES = 4_096

RuleKind = Literal["ignore_fields", "ignore_values", "tolerance", "arrays", "fields"]

Positions = tuple[tuple[int, ...], tuple[int, ...]]
"""How far a rule's path has matched in the baseline, and in the actual output."""


class Rule(Struct):
    """One path rule. `at` leads to it in the file; `text` is what the author wrote. The field named like its
    kind holds what the rule says beyond the kind."""

    kind: RuleKind
    text: str
    pattern: Pattern
    at: Path
    tolerance: Tolerance | None = None
    arrays: ArrayMode | None = None
    fields: FieldRule | None = None

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal to itself alone

    @property
    def ignores(self) -> bool:
        """Whether it leaves something out of the comparison; any other rule says how to compare."""
        return self.kind in ("ignore_fields", "ignore_values")

    @property
    def bounds(self) -> str:
        """What it says beyond its kind, in a form that can be compared."""
        return "" if self.ignores else repr((self.tolerance, self.arrays, self.fields))


class ActiveRules(Struct):
    """The rules that apply at one place: all of them, and the most exact of each kind."""

    rules: tuple[Rule, ...]
    ignore: Rule | None
    tolerances: tuple[Rule, ...]
    arrays: Rule | None
    fields: Rule | None


class RuleProgress(Struct):
    """How far a rule's path has matched: `stored` in the baseline, `actual` in the actual output. They differ
    once a filter holds for one value and not for the other."""

    number: int
    stored: tuple[int, ...]
    actual: tuple[int, ...]


class Side(Struct):
    """An element or member of one side, the baseline or the actual output."""

    key: str | int
    value: Json
    size: int


class State:
    """The rules that may apply at one place or below it. `dead`: none can. `names`: the only keys of an
    object below which the state changes (None: it may change below any key). `distinguishes_elements`: the
    rules do not treat all elements of an array alike. `filters`: a rule that leaves something out has a
    filter, which reads the values below."""

    __slots__ = (
        *("_automaton", "_below_any_key", "_entries", "_needs_value", "_next_states"),
        *("dead", "distinguishes_elements", "filters", "here", "names"),
    )

    def __init__(self, automaton: "Automaton", entries: tuple[RuleProgress, ...]):
        self._automaton = automaton
        self._entries = entries
        self._next_states: dict[str | int | None, State] = {}
        rules = [(automaton.rules[entry.number], entry) for entry in entries]
        next_steps = [(rule, step) for rule, entry in rules for step in rule.pattern.next_steps(entry.stored)]
        steps = [step for _, step in next_steps]
        # the key alone does not decide the next state
        self._needs_value = any(
            isinstance(step, FilterSegment | Slice) or (isinstance(step, int) and step < 0) for step in steps
        )
        self.distinguishes_elements = any(
            step.isdigit() if isinstance(step, str) else not isinstance(step, Wild | Key) for step in steps
        )
        self.filters = any(isinstance(step, FilterSegment) and rule.ignores for rule, step in next_steps)
        done = [
            rule
            for rule, progress in rules
            if rule.pattern.done(progress.stored) and rule.pattern.done(progress.actual)
        ]
        self.here = _select_active(done)
        self.dead = self.here is None and not steps
        self.names: frozenset[str] | None = None
        if all(isinstance(step, str) or step is Wild.DEEP for step in steps):
            self.names = frozenset(step for step in steps if isinstance(step, str))
        self._below_any_key: State | None = self if self.dead else None

    def step(self, key: str | int, value: Json, size: int) -> "State":
        """The state below `key`, which holds `value` and has `size - 1` siblings, in the baseline."""
        if self.dead:
            return self
        memo: str | int | None = None if not self.distinguishes_elements and key.__class__ is int else key
        state = None if self._needs_value else self._next_states.get(memo)
        if state is not None:
            return state

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            stored = rule.pattern.after(entry.stored, key, value, size)
            same = entry.actual == entry.stored
            return stored, stored if same else rule.pattern.after(entry.actual, key, value, size)

        if len(self._next_states) >= _MOST_NEXT_STATES:
            self._next_states.clear()
        state = self._advance(after)
        if not self._needs_value:
            self._next_states[memo] = state
        return state

    def step_alone(self, key: str | int, value: Json, size: int) -> "State":
        """The state below an actual value that has no partner in the baseline."""
        if self.dead or not self._needs_value:
            return self.step(key, value, size)

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            # the positions reached on both sides: values that the rule selects on both are left out together
            both = tuple(position for position in entry.actual if position in entry.stored)
            return (rule.pattern.after(both, key, value, size),) * 2

        return self._advance(after)

    def step_both(self, stored: Side, actual: Side) -> "State":
        """The state below a pair. A value is left out only if it is selected on both sides; a filter that
        reads a placeholder in the baseline is applied to the actual value alone. How a value is compared
        depends on the baseline as it is written."""

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            unknown = _holds_placeholder if rule.ignores else None
            return (
                rule.pattern.after(entry.stored, stored.key, stored.value, stored.size, unknown),
                rule.pattern.after(entry.actual, actual.key, actual.value, actual.size),
            )

        return self._advance(after)

    def may_leave_out(self, key: str | int, value: Json, size: int) -> bool:
        """Whether a filter of an ignore rule holds, or may hold, for a value of the baseline."""
        entries = self._entries if self.filters else ()
        rules = ((self._automaton.rules[entry.number], entry) for entry in entries)
        return any(
            isinstance(step, FilterSegment) and fits(step, key, value, size, _holds_placeholder)
            for rule, entry in rules
            if rule.ignores
            for step in rule.pattern.next_steps(entry.stored)
        )

    @property
    def same_below(self) -> "State | None":
        """The one state below all elements of an array, where no rule tells them apart."""
        return None if self.distinguishes_elements else self.below_any_key()

    @property
    def repeats(self) -> bool:
        """Whether the same rules apply at each place below, and all of them say how values are compared."""
        here = self.here
        if here is None or here.ignore is not None or here.arrays is not None or self.names is None:
            return False
        return (
            not (self.names or self.distinguishes_elements or self.filters) and self.below_any_key() is self
        )

    @property
    def without_rules(self) -> "State":
        """The state in which no rule can apply."""
        return self._automaton.state(())

    def any_elements(self) -> ActiveRules | None:
        """The rules that leave out all elements of an array, whatever they hold; None if an element may still
        be compared."""
        here = None if self.dead else self.below_any_key().here
        if here is None or here.ignore is None:
            return None
        specificity = here.ignore.pattern.specificity
        for entry in self._entries if self.distinguishes_elements else ():
            rule = self._automaton.rules[entry.number]
            if not rule.ignores and rule.pattern.specificity > specificity:
                return None
        return here

    def below_any_key(self) -> "State":
        """The state below a key or index that no rule names: only wildcards lead there. It needs no value."""
        if self._below_any_key is None:
            self._below_any_key = self._advance(
                lambda rule, entry: (
                    rule.pattern.after_any(entry.stored),
                    rule.pattern.after_any(entry.actual),
                )
            )
        return self._below_any_key

    def reaches(self, value: Json) -> bool:
        """Whether any rule may apply to a value or within it."""
        if self.dead:
            return False
        if self.here is not None or self.names is None:
            return True
        below = self.below_any_key()
        if isinstance(value, dict):
            return any(key in self.names or below.reaches(item) for key, item in value.items())
        return isinstance(value, list) and (self.distinguishes_elements or any(map(below.reaches, value)))

    def _advance(self, after: Callable[[Rule, RuleProgress], Positions]) -> "State":
        entries = []
        for entry in self._entries:
            rule = self._automaton.rules[entry.number]
            stored, actual = after(rule, entry)
            if stored and (actual or not rule.ignores):
                # the baseline alone decides how a value is compared
                entries.append(RuleProgress(entry.number, stored, actual if rule.ignores else stored))
        return self._automaton.state(tuple(entries))


class Automaton:
    """All path rules of one comparison."""

    def __init__(self, rules: list[Rule]):
        self.rules = rules
        self._states: dict[tuple[RuleProgress, ...], State] = {}
        starts = [rule.pattern.start() for rule in rules]
        self.start = self.state(tuple(RuleProgress(n, start, start) for n, start in enumerate(starts)))

    def state(self, entries: tuple[RuleProgress, ...]) -> State:
        state = self._states.get(entries)
        if state is None:
            state = self._states[entries] = State(self, entries)
        return state


def automaton_of(rules: list[Rule]) -> Automaton:
    """The automaton of these rules, shared between baselines with the same rules, as those of one API often
    are."""
    try:
        key = tuple((r.kind, r.text, r.pattern.segments, r.at, r.bounds) for r in rules)
        automaton = _SHARED.get(key)
    except TypeError:  # a filter's value, say
        return Automaton(rules)
    if automaton is None:
        if len(_SHARED) >= _MOST_SHARED:
            _SHARED.clear()
        automaton = _SHARED[key] = Automaton(rules)
    return automaton


_SHARED: dict[Hashable, Automaton] = {}


def _holds_placeholder(value: Json) -> bool:
    """Whether a value of the baseline holds a placeholder."""
    return isinstance(value, str) and has_marker(value)


_STRICTNESS = {"ordered": 4, "each": 2, "unordered": 1, "subset": 0}
_TYPE_STRICTNESS = {"exact": 3, "structural": 2, "numeric": 1, "semantic": 0}


def _rank(rule: Rule) -> tuple[Specificity, bool, int, int, str, str]:
    """The rank that decides between rules of one kind: the more exact path wins, then the stricter rule; the
    order in which they were written never counts."""
    array_mode = rule.arrays
    order = _STRICTNESS.get(array_mode, 3) if isinstance(array_mode, str) else 3
    type = _TYPE_STRICTNESS.get(rule.fields.type or "", -1) if rule.fields else -1
    return (rule.pattern.specificity, rule.kind == "ignore_fields", order, type, rule.bounds, rule.text)


def _select_active(rules: list[Rule]) -> ActiveRules | None:
    """Select the most exact rule of each kind. An ignore rule holds unless a comparing rule is more exact.
    Tolerances that are equally exact all hold."""
    if not rules:
        return None
    best: dict[str, Rule] = {}
    for rule in rules:
        kind = "ignore" if rule.ignores else rule.kind
        if kind not in best or _rank(rule) > _rank(best[kind]):
            best[kind] = rule
    ignore = best.get("ignore")
    comparing = [rule for kind, rule in best.items() if kind != "ignore"]
    if ignore and any(rule.pattern.specificity > ignore.pattern.specificity for rule in comparing):
        ignore = None
    tolerances: list[Rule] = []
    if "tolerance" in best:
        specificity = best["tolerance"].pattern.specificity
        tolerances = [r for r in rules if r.kind == "tolerance" and r.pattern.specificity == specificity]
        tolerances.sort(key=lambda rule: (rule.text, rule.bounds))
    return ActiveRules(tuple(rules), ignore, tuple(tolerances), best.get("arrays"), best.get("fields"))


ANYWHERE: Specificity = (-(10**9), 0, 0, 0)


class Mode(Struct):
    type: Type = "structural"
    allow_additional_fields: bool = False
    allow_missing_fields: bool = False
    allow_field_reordering: bool = True
    allow_empty_arrays: bool = False
    case_sensitive: bool = True
    trim_whitespace: bool = False
    normalize_newlines: bool = False
    min_similarity: float = DEFAULT_SIMILARITY
    method: Method = "words"
    tolerance: Tolerance | None = None
    tolerance_rule: str | None = None
    tolerance_specificity: Specificity = ANYWHERE
    tolerances: tuple[tuple[Tolerance, str], ...] = ()
    """Further tolerances with their rules, equally exact: a number has to satisfy all of them."""

    @property
    def typed(self) -> bool:
        """Whether 1 and 1.0 differ."""
        return self.type == "exact"

    @property
    def asks_for_change(self) -> bool:
        """Whether an unchanged number is out of tolerance: then equality is not enough."""
        if self.tolerance is None:
            return False
        return any(
            (tolerance.min_delta is not None and tolerance.min_delta > 0)
            or (tolerance.max_delta is not None and tolerance.max_delta < 0)
            for tolerance in (self.tolerance, *(bounds for bounds, _ in self.tolerances))
        )

    @property
    def literal_keys_decide(self) -> bool:
        """Whether two rows whose literal texts and numbers differ can never match: then these values may
        group the rows before any rows are compared."""
        return (
            self.type in ("structural", "exact")
            and self.case_sensitive
            and not (self.allow_missing_fields or self.trim_whitespace or self.normalize_newlines)
        )

    @property
    def only_equal_rows_match(self) -> bool:
        """Whether a row of literal values can match only equal rows."""
        return (
            self.literal_keys_decide
            and self.allow_field_reordering
            and not (self.allow_additional_fields or self.typed or self.tolerance is not None)
        )

    def text(self, text: str) -> str:
        """Normalize a text as this mode compares it."""
        if self.normalize_newlines and "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.trim_whitespace:
            text = text.strip()
        return text if self.case_sensitive else text.casefold()

    def changed(
        self,
        type: Type,
        *sources: Options | dict[str, bool] | None,
        min_similarity: float | None = None,
        method: Method | None = None,
    ) -> "Mode":
        """A copy with another type and the settings of the sources; later sources win."""
        changes: dict[str, Any] = {}
        if type != self.type:
            changes = {"type": type, "normalize_newlines": type == "exact"}
        if min_similarity is not None:
            changes["min_similarity"] = float(min_similarity)
        if method is not None:
            changes["method"] = OLD_NAMES.get(method, method)
            if min_similarity is None and method != self.method:
                changes["min_similarity"] = least_similarity(method)
        for source in sources:
            if isinstance(source, Options):
                source = {name: value for name in FLAGS if (value := getattr(source, name)) is not None}
            changes |= source or {}
        return replace(self, **changes) if changes else self

    def tolerating(
        self,
        tolerance: Tolerance | None,
        rule: str,
        specificity: Specificity,
        further: tuple[tuple[Tolerance, str], ...] = (),
    ) -> "Mode":
        """The mode below a tolerance's path, unless a more exact path has already set another tolerance.
        Where paths are equally exact a number has to satisfy all tolerances; no tolerance is the
        narrowest."""
        if specificity < self.tolerance_specificity:
            return self
        if specificity == self.tolerance_specificity:
            if self.tolerance is None:
                return self
            if tolerance is not None:
                existing = ((self.tolerance, self.tolerance_rule or ""), *self.tolerances)
                added = [bounds for bounds in ((tolerance, rule), *further) if bounds not in existing]
                return replace(self, tolerances=(*self.tolerances, *added)) if added else self
        return replace(
            self,
            tolerance=tolerance,
            tolerance_rule=rule,
            tolerance_specificity=specificity,
            tolerances=further,
        )


def field_mode(rule: FieldRule, path_rule: Rule, outer: Mode) -> Mode:
    """The mode below a `fields:` rule: the outer one, with its own type, switches and tolerance."""
    type = rule.type or outer.type
    flags = {
        name: value for name, value in rule.tolerance.items() if name in FLAGS and isinstance(value, bool)
    }
    mode = outer.changed(type, rule.options, flags, min_similarity=rule.min_similarity, method=rule.method)
    bounds = field_tolerance(rule)
    if bounds is not None or type == "exact":  # exact means exact, whatever tolerance is set around it
        mode = mode.tolerating(bounds, path_rule.text, path_rule.pattern.specificity)
    return mode


def field_tolerance(rule: FieldRule) -> Tolerance | None:
    """A field's tolerance, which is written without a path: `{abs: 0.05}`."""
    bounds = {
        name: value
        for name, value in rule.tolerance.items()
        if name in BOUNDS and not isinstance(value, Tolerance | bool)
    }
    return Tolerance(**bounds) if bounds else None
