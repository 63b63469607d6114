"""The path rules of a comparison as an automaton: at each step of the walk, which are still in play and which
apply right here. Then the mode: how values are compared at one place, its defaults filled in."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Literal

from baselinekit.frozen import frozen
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
from baselinekit.tree.equality import as_key, as_written, json_text
from baselinekit.tree.paths import Pattern, Specificity
from baselinekit.tree.places import FilterSegment, Key, Slice, Wild, fits

Form = dict[Path, RecipeKind | Literal["headers", "names"]]
"""What stands where in an output: a whole response of a kind, the headers in one, or responses by name."""


_MOST_SHARED = 256
_MOST_NEXT = 4_096

RuleKind = Literal["ignore_fields", "ignore_values", "tolerance", "arrays", "fields"]

Positions = tuple[tuple[int, ...], tuple[int, ...]]
"""How far a rule has come on the way through the baseline, and on the way through what came back."""


@frozen
class Rule:
    """One path rule. `at` leads to it in the file; `text` is what the author wrote. What it says beyond its
    kind stands in the field of that name."""

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
        """Whether it takes something out of the comparison; any other rule says how to compare."""
        return self.kind in ("ignore_fields", "ignore_values")

    @property
    def bounds(self) -> str:
        """What it says beyond its kind, in a form that can be compared."""
        return "" if self.ignores else repr((self.tolerance, self.arrays, self.fields))


@frozen
class ActiveRules:
    """The rules that apply at one place: all of them, and of each kind the most exact."""

    rules: tuple[Rule, ...]
    ignore: Rule | None
    tolerances: tuple[Rule, ...]
    arrays: Rule | None
    fields: Rule | None


@frozen
class RuleProgress:
    """How far a rule has come: `stored` on the way through the baseline, `came` on the way through what came
    back. They differ once a filter holds for one value and not for the other."""

    number: int
    stored: tuple[int, ...]
    came: tuple[int, ...]


@frozen
class Side:
    """An element or a member as it stands in the baseline, or in what came back."""

    key: str | int
    value: Json
    size: int


class State:
    """Which rules are in play at one place. `dead`: none can apply here or below. `names`: the only keys of
    an object under which anything changes (None: it may change under any). `tells_apart`: the elements of an
    array are not all alike to the rules. `filters`: to leave something out, a rule looks at what stands
    below."""

    __slots__ = (
        *("_automaton", "_entries", "_looks", "_marks", "_next", "_otherwise"),
        *("dead", "filters", "here", "names", "tells_apart"),
    )

    def __init__(self, automaton: "Automaton", entries: tuple[RuleProgress, ...]):
        self._automaton = automaton
        self._entries = entries
        self._next: dict[str | int | None, State] = {}
        rules = [(automaton.rules[entry.number], entry) for entry in entries]
        next_steps = [(rule, step) for rule, entry in rules for step in rule.pattern.next_steps(entry.stored)]
        steps = [step for _, step in next_steps]
        # more than the key decides where it leads
        self._looks = any(
            isinstance(step, FilterSegment | Slice) or (isinstance(step, int) and step < 0) for step in steps
        )
        self.tells_apart = any(
            step.isdigit() if isinstance(step, str) else not isinstance(step, Wild | Key) for step in steps
        )
        self.filters = any(isinstance(step, FilterSegment) and rule.ignores for rule, step in next_steps)
        done = [rule for rule, at in rules if rule.pattern.done(at.stored) and rule.pattern.done(at.came)]
        self.here = _active(done)
        self.dead = self.here is None and not steps
        self.names: frozenset[str] | None = None
        if all(isinstance(step, str) or step is Wild.DEEP for step in steps):
            self.names = frozenset(step for step in steps if isinstance(step, str))
        self._marks: dict[bytes, str] | None = {} if self.dead else None
        self._otherwise: State | None = self if self.dead else None

    def step(self, key: str | int, value: Json, size: int) -> "State":
        """The state below `key`, which holds `value` and has `size - 1` siblings, in the baseline."""
        if self.dead:
            return self
        memo: str | int | None = None if not self.tells_apart and key.__class__ is int else key
        known = None if self._looks else self._next.get(memo)
        if known is not None:
            return known

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            stored = rule.pattern.after(entry.stored, key, value, size)
            same = entry.came == entry.stored
            return stored, stored if same else rule.pattern.after(entry.came, key, value, size)

        if len(self._next) >= _MOST_NEXT:
            self._next.clear()
        found = self._advanced(after)
        if not self._looks:
            self._next[memo] = found
        return found

    def step_alone(self, key: str | int, value: Json, size: int) -> "State":
        """The state below what came back and has no partner in the baseline."""
        if self.dead or not self._looks:
            return self.step(key, value, size)

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            # how far the rule has come on both sides: those that it selects together are left out together
            both = tuple(position for position in entry.came if position in entry.stored)
            return (rule.pattern.after(both, key, value, size),) * 2

        return self._advanced(after)

    def step_both(self, stored: Side, came: Side) -> "State":
        """The state below a pair. What is left out must be selected on both sides; a filter that reads a
        placeholder in the baseline is asked of what came back alone. How a thing is compared hangs on
        the baseline as it is written."""

        def after(rule: Rule, entry: RuleProgress) -> Positions:
            unknown = _is_open if rule.ignores else None
            return (
                rule.pattern.after(entry.stored, stored.key, stored.value, stored.size, unknown),
                rule.pattern.after(entry.came, came.key, came.value, came.size),
            )

        return self._advanced(after)

    def may_leave_out(self, key: str | int, value: Json, size: int) -> bool:
        """Whether a filter of a rule that leaves something out holds for a value of the baseline, or may."""
        entries = self._entries if self.filters else ()
        rules = ((self._automaton.rules[entry.number], entry) for entry in entries)
        return any(
            isinstance(step, FilterSegment) and fits(step, key, value, size, _is_open)
            for rule, entry in rules
            if rule.ignores
            for step in rule.pattern.next_steps(entry.stored)
        )

    @property
    def same_below(self) -> "State | None":
        """The one state below all elements of an array, where no rule tells them apart."""
        return None if self.tells_apart else self.otherwise()

    @property
    def repeats(self) -> bool:
        """Whether the same rules apply at each place below, and all of them say how values are compared."""
        here = self.here
        if here is None or here.ignore is not None or here.arrays is not None or self.names is None:
            return False
        return not (self.names or self.tells_apart or self.filters) and self.otherwise() is self

    @property
    def nothing(self) -> "State":
        """The state in which no rule is in play."""
        return self._automaton.state(())

    def any_elements(self) -> ActiveRules | None:
        """The rules that leave out all elements of an array, whatever they hold; None if one of them may be
        compared all the same."""
        here = None if self.dead else self.otherwise().here
        if here is None or here.ignore is None:
            return None
        exact = here.ignore.pattern.specificity
        for entry in self._entries if self.tells_apart else ():
            rule = self._automaton.rules[entry.number]
            if not rule.ignores and rule.pattern.specificity > exact:
                return None
        return here

    def otherwise(self) -> "State":
        """The state below a key, or an index, that is known to no rule: wildcards alone lead there. No value
        is made up for it."""
        if self._otherwise is None:
            self._otherwise = self._advanced(
                lambda rule, entry: (rule.pattern.after_any(entry.stored), rule.pattern.after_any(entry.came))
            )
        return self._otherwise

    def asleep(self, value: Json, data: bytes) -> bool:
        """Whether no rule can apply in a value that has these bytes: `**.id` waits for an id. Where the name
        is in them it may be a text: JSON tells what is a key."""
        if self._marks is None:
            waits = self.here is None and self.names is not None and self.otherwise() is self
            if not waits or self.names is None or any(name.isdigit() for name in self.names):
                return False
            self._marks = {as_written(name): as_key(name) for name in self.names}
        keys = [key for mark, key in self._marks.items() if mark in data]
        if not keys:
            return True
        try:
            text = json_text(value)
        except (RecursionError, ValueError):
            return False
        return not any(map(text.__contains__, keys))

    def _advanced(self, after: Callable[[Rule, RuleProgress], Positions]) -> "State":
        entries = []
        for entry in self._entries:
            rule = self._automaton.rules[entry.number]
            stored, came = after(rule, entry)
            if stored and (came or not rule.ignores):
                # how a thing is compared is for the baseline to say
                entries.append(RuleProgress(entry.number, stored, came if rule.ignores else stored))
        return self._automaton.state(tuple(entries))


class Automaton:
    """All path rules of one comparison."""

    def __init__(self, rules: list[Rule]):
        self.rules = rules
        self._states: dict[tuple[RuleProgress, ...], State] = {}
        starts = [rule.pattern.start() for rule in rules]
        self.start = self.state(tuple(RuleProgress(n, start, start) for n, start in enumerate(starts)))

    def state(self, entries: tuple[RuleProgress, ...]) -> State:
        found = self._states.get(entries)
        if found is None:
            found = self._states[entries] = State(self, entries)
        return found


def automaton_of(rules: list[Rule]) -> Automaton:
    """The automaton of these rules: baselines of one API often have the same ones, and then share it."""
    try:
        key = tuple((r.kind, r.text, r.pattern.segments, r.at, r.bounds) for r in rules)
        found = _SHARED.get(key)
    except TypeError:  # a filter's value, say
        return Automaton(rules)
    if found is None:
        if len(_SHARED) >= _MOST_SHARED:
            _SHARED.clear()
        found = _SHARED[key] = Automaton(rules)
    return found


_SHARED: dict[Hashable, Automaton] = {}


def _is_open(value: Json) -> bool:
    """Whether a value of the baseline stands for others."""
    return isinstance(value, str) and has_marker(value)


_STRICTNESS = {"ordered": 4, "each": 2, "unordered": 1, "subset": 0}
_TYPES = {"exact": 3, "structural": 2, "numeric": 1, "semantic": 0}


def _rank(rule: Rule) -> tuple[Specificity, bool, int, int, str, str]:
    """What decides between rules of one kind: the more exact path, then what asks for more, and in no case
    the order in which they were written."""
    how = rule.arrays
    order = _STRICTNESS.get(how, 3) if isinstance(how, str) else 3
    type = _TYPES.get(rule.fields.type or "", -1) if rule.fields else -1
    return (rule.pattern.specificity, rule.kind == "ignore_fields", order, type, rule.bounds, rule.text)


def _active(rules: list[Rule]) -> ActiveRules | None:
    """The most exact rule of each kind. An ignore rule holds unless a comparing rule is more exact. Of
    tolerances that are equally exact each one holds."""
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
        exact = best["tolerance"].pattern.specificity
        tolerances = [r for r in rules if r.kind == "tolerance" and r.pattern.specificity == exact]
        tolerances.sort(key=lambda rule: (rule.text, rule.bounds))
    return ActiveRules(tuple(rules), ignore, tuple(tolerances), best.get("arrays"), best.get("fields"))


ANYWHERE: Specificity = (-(10**9), 0, 0, 0)


@frozen
class Mode:
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
    """Further ones, with their rules, that are as exact: a number has to keep them all."""

    @property
    def typed(self) -> bool:
        """1 and 1.0 differ."""
        return self.type == "exact"

    @property
    def plain(self) -> bool:
        """Whether texts or numbers of one type that are not equal always differ."""
        return (
            self.type in ("structural", "exact")
            and self.case_sensitive
            and self.tolerance is None
            and not (self.trim_whitespace or self.normalize_newlines)
        )

    @property
    def asks_for_change(self) -> bool:
        """Whether a number that is still the same is out of its tolerance: then equal is not enough."""
        if self.tolerance is None:
            return False
        return any(
            (stated.min_delta is not None and stated.min_delta > 0)
            or (stated.max_delta is not None and stated.max_delta < 0)
            for stated in (self.tolerance, *(bounds for bounds, _ in self.tolerances))
        )

    @property
    def literal_keys_decide(self) -> bool:
        """Whether two rows whose literal texts and numbers differ can never match: then those may sort the
        rows before any of them is compared."""
        return (
            self.type in ("structural", "exact")
            and self.case_sensitive
            and not (self.allow_missing_fields or self.trim_whitespace or self.normalize_newlines)
        )

    @property
    def only_equal_rows_match(self) -> bool:
        """Whether a row of literal values can match equal rows alone."""
        return (
            self.literal_keys_decide
            and self.allow_field_reordering
            and not (self.allow_additional_fields or self.typed or self.tolerance is not None)
        )

    def text(self, text: str) -> str:
        """A text as it counts."""
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
        """With another type, and what the sources state, the later ones last."""
        stated: dict[str, Any] = {}
        if type != self.type:
            stated = {"type": type, "normalize_newlines": type == "exact"}
        if min_similarity is not None:
            stated["min_similarity"] = float(min_similarity)
        if method is not None:
            stated["method"] = OLD_NAMES.get(method, method)
            if min_similarity is None and method != self.method:
                stated["min_similarity"] = least_similarity(method)
        for source in sources:
            if isinstance(source, Options):
                source = {name: value for name in FLAGS if (value := getattr(source, name)) is not None}
            stated |= source or {}
        return replace(self, **stated) if stated else self

    def tolerating(
        self,
        tolerance: Tolerance | None,
        rule: str,
        specificity: Specificity,
        further: tuple[tuple[Tolerance, str], ...] = (),
    ) -> "Mode":
        """The mode below a tolerance's path, unless a more exact path has already set another. Of paths that
        are equally exact a number has to keep all tolerances; none at all is the narrowest."""
        if specificity < self.tolerance_specificity:
            return self
        if specificity == self.tolerance_specificity:
            if self.tolerance is None:
                return self
            if tolerance is not None:
                known = ((self.tolerance, self.tolerance_rule or ""), *self.tolerances)
                added = [bounds for bounds in ((tolerance, rule), *further) if bounds not in known]
                return replace(self, tolerances=(*self.tolerances, *added)) if added else self
        return replace(
            self,
            tolerance=tolerance,
            tolerance_rule=rule,
            tolerance_specificity=specificity,
            tolerances=further,
        )


def field_mode(rule: FieldRule, where: Rule, outer: Mode) -> Mode:
    """The mode below a `fields:` rule: the outer one, with its own type, switches and tolerance."""
    type = rule.type or outer.type
    flags = {
        name: value for name, value in rule.tolerance.items() if name in FLAGS and isinstance(value, bool)
    }
    mode = outer.changed(type, rule.options, flags, min_similarity=rule.min_similarity, method=rule.method)
    bounds = field_tolerance(rule)
    if bounds is not None or type == "exact":  # exact means exact, whatever is tolerated around it
        mode = mode.tolerating(bounds, where.text, where.pattern.specificity)
    return mode


def field_tolerance(rule: FieldRule) -> Tolerance | None:
    """A field's tolerance is written without a path: `{abs: 0.05}`."""
    stated = {
        name: value
        for name, value in rule.tolerance.items()
        if name in BOUNDS and not isinstance(value, Tolerance | bool)
    }
    return Tolerance(**stated) if stated else None
