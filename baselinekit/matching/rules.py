"""The path rules of a comparison: how far each has come on the stored and on the actual side, and which of
them apply right here. Then the mode: how values are compared at one place, with its defaults filled in."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Literal

from baselinekit.kinds.kind import RecipeKind
from baselinekit.model import baselines as model
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import describes_many, has_marker, holds_marker
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import freeze
from baselinekit.values.paths import Pattern, Specificity
from baselinekit.values.places import FilterSegment, Key, OneOf, Segment, Wild, fits, reached, without_deep

Form = dict[Path, RecipeKind | Literal["headers", "names"]]
"""What an output holds at which path: a whole response of a kind, its headers, or responses by name."""


RuleKind = Literal["ignore_fields", "ignore_values", "tolerance", "arrays", "fields", "require_keys"]
"""The rules that name paths, each by its key in a file."""


class Rule(Struct):
    """One path rule. `at` leads to it in the file; `text` is what the author wrote; `setting`: what it has
    beyond its kind."""

    kind: RuleKind
    text: str
    pattern: Pattern
    at: Path
    setting: model.Tolerance | model.ArrayMode | model.FieldRule | None = None

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal to itself alone

    @property
    def ignores(self) -> bool:
        """Whether it leaves something out of the comparison; any other rule decides how to compare."""
        return self.kind in ("ignore_fields", "ignore_values")

    @property
    def bounds(self) -> str:
        """What it states beyond its kind, in a form that can be compared."""
        return "" if self.ignores else repr(self.setting)


class ActiveRules(Struct):
    """The rules that apply at one place: all of them, and the most exact of each kind."""

    rules: tuple[Rule, ...] = ()
    ignore: Rule | None = None
    tolerances: tuple[Rule, ...] = ()
    arrays: Rule | None = None
    fields: Rule | None = None

    @property
    def array_mode(self) -> Any:
        return None if self.arrays is None else self.arrays.setting


Positions = tuple[tuple[Rule, tuple[int, ...]], ...]
"""The rules that may still apply, each with how many of its path's segments are taken."""


class State:
    """How far the path of each rule has come at one place of one side, the stored or the actual output. It
    has no `positions` where no rule can apply, neither here nor below. `here`: the rules whose path ends
    here. `by_index`: the rules do not treat all elements of an array alike. `by_value`: a filter decides what
    is below."""

    __slots__ = ("_below", "_joint", "_known", "by_index", "by_value", "here", "positions")

    def __init__(self, positions: Positions, known: "dict[Positions, State]"):
        self.positions, self._known = positions, known
        self._below: dict[str | int, State] = {}
        self._joint: dict[State, tuple[ActiveRules, State]] = {}
        self.here = _select_active([rule for rule, at in positions if at[-1] == len(rule.pattern.segments)])
        steps = [step for rule, at in positions for step in _next_steps(rule.pattern.segments, at)]
        self.by_value = any(isinstance(step, FilterSegment) for step in steps)
        indexed = [step for step in steps if not isinstance(step, Wild | Key)]
        self.by_index = any(not isinstance(step, str) or step.isdigit() for step in indexed)

    def step(self, key: str | int, value: Json, size: int, paired: bool = False) -> "State":
        """The state below `key`, which holds `value` and has `size - 1` siblings. `paired`: there is an
        actual value for this stored one, which decides; a filter that reads a placeholder counts as met."""
        if not self.positions:
            return self
        if self.by_value or (self.by_index and key.__class__ is int):
            return self._step(key, value, size, paired)
        key = key if key.__class__ is str else 0
        if key not in self._below:
            self._below[key] = self._step(key, ABSENT, 1)
        return self._below[key]

    def _step(self, key: str | int, value: Json, size: int, paired: bool = False) -> "State":
        after = []
        for rule, at in self.positions:
            unknown = has_marker if paired and rule.ignores else None
            leads = partial(fits, key=key, value=value, size=size, unknown=unknown)
            after.append((rule, reached(rule.pattern.segments, at, leads)))
        return _state(after, self._known)

    def below_any(self) -> "State":
        """The state below a key or index that no rule names: only wildcards lead there."""

        def leads(segment: Segment) -> bool:
            return segment is Wild.ANY

        after = ((rule, reached(rule.pattern.segments, at, leads)) for rule, at in self.positions)
        return _state(after, self._known)

    def with_actual(self, actual: "State") -> "tuple[ActiveRules, State]":
        """The rules for a pair of values with this as the stored one, and the state for the values in
        them that have no partner. A rule ignores only what it selects on both sides; a value without a
        partner only if it would ignore a partner as well. Rules that say how to compare look only at the
        stored output."""
        if actual is self:
            return self.here, self
        if actual not in self._joint:
            there = dict(actual.positions)
            joint = [
                (rule, tuple(n for n in at if not rule.ignores or n in there.get(rule, ())))
                for rule, at in self.positions
            ]
            ends = [
                rule
                for rule, at in self.positions
                if at[-1] == len(rule.pattern.segments)
                and (not rule.ignores or there.get(rule, (-1,))[-1] == at[-1])
            ]
            self._joint[actual] = _select_active(ends), _state(joint, self._known)
        return self._joint[actual]

    def every_element(self) -> "ActiveRules | None":
        """The rules that leave out all elements of an array, whatever they hold; None if an element may still
        be compared."""
        here = self.below_any().here
        if here.ignore is None:
            return None
        specificity = here.ignore.pattern.specificity
        comparing = [rule for rule, _ in self.positions if not rule.ignores] if self.by_index else []
        return None if any(rule.pattern.specificity > specificity for rule in comparing) else here


def steps_below(state: State, value: dict[str, Json] | list[Json]) -> Iterator[tuple[str | int, Json, State]]:
    """Each key or index of a stored value, with the value there and its state."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield key, item, state.step(key, item, len(value))


def start(rules: Iterable[Rule]) -> State:
    """The state at the root of an output."""
    return _state([(rule, without_deep(rule.pattern.segments, {0})) for rule in rules], {})


def _state(positions: Iterable[tuple[Rule, tuple[int, ...]]], known: dict[Positions, State]) -> State:
    key = tuple((rule, at) for rule, at in positions if at)
    if key not in known:
        known[key] = State(key, known)
    return known[key]


def _next_steps(segments: tuple[Segment, ...], positions: tuple[int, ...]) -> Iterator[Segment]:
    """The segments that the next step may match; the choices of a list one by one."""
    for position in positions:
        if position < len(segments):
            segment = segments[position]
            yield from segment.keys if isinstance(segment, OneOf) else (segment,)


_STRICTNESS = {"ordered": 4, "each": 2, "unordered": 1, "subset": 0}
_TYPE_STRICTNESS = {"exact": 3, "structural": 2, "numeric": 1, "semantic": 0}


def _rank(rule: Rule) -> tuple[Specificity, bool, int, int, str, str]:
    """The rank that decides between rules of one kind: the more exact path wins, then the stricter rule; the
    order in which they were written never counts."""
    setting = rule.setting
    order = _STRICTNESS.get(setting, 3) if isinstance(setting, str) else 3
    type = _TYPE_STRICTNESS.get(setting.type or "", -1) if isinstance(setting, model.FieldRule) else -1
    return (rule.pattern.specificity, rule.kind == "ignore_fields", order, type, rule.bounds, rule.text)


def _select_active(rules: list[Rule]) -> ActiveRules:
    """Select the most exact rule of each kind. An ignore rule holds unless a comparing rule is more exact.
    Tolerances that are equally exact all hold."""
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
    type: model.Type = "structural"
    allow_additional_fields: bool = False
    allow_missing_fields: bool = False
    allow_field_reordering: bool = True
    allow_empty_arrays: bool = False
    case_sensitive: bool = True
    trim_whitespace: bool = False
    normalize_newlines: bool = False
    min_similarity: float = model.DEFAULT_SIMILARITY
    method: model.Method = "words"
    tolerances: tuple[tuple[model.Tolerance, str], ...] = ()
    """The tolerances with their rules, equally exact: a number has to satisfy all of them."""
    tolerance_specificity: Specificity = ANYWHERE

    @property
    def typed(self) -> bool:
        """Whether 1 and 1.0 differ."""
        return self.type == "exact"

    @property
    def asks_for_change(self) -> bool:
        """Whether an unchanged number is out of tolerance: then equality is not enough."""
        return any((limit.min_delta or 0) > 0 or (limit.max_delta or 0) < 0 for limit, _ in self.tolerances)

    @property
    def literal_values_decide(self) -> bool:
        """Whether two rows whose literal texts and numbers differ can never match: then these values may
        group the rows before any rows are compared."""
        is_loose = self.allow_missing_fields or self.trim_whitespace or self.normalize_newlines
        return self.type in ("structural", "exact") and self.case_sensitive and not is_loose

    def text(self, text: str) -> str:
        """Normalize a text as this mode compares it."""
        if self.normalize_newlines and "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.trim_whitespace:
            text = text.strip()
        return text if self.case_sensitive else text.casefold()

    def changed(self, type: model.Type, stated: model.Rules | model.FieldRule) -> "Mode":
        """A copy with another type and the stated settings; a switch in `tolerance` wins over one in
        `options`."""
        changes: dict[str, Any] = {}
        if type != self.type:
            changes = {"type": type, "normalize_newlines": type == "exact"}
        if stated.min_similarity is not None:
            changes["min_similarity"] = float(stated.min_similarity)
        if stated.method is not None:
            changes["method"] = model.OLD_NAMES.get(stated.method, stated.method)
            if stated.min_similarity is None and stated.method != self.method:
                changes["min_similarity"] = model.least_similarity(stated.method)
        for name in model.FLAGS:
            for value in (getattr(stated.options, name, None), stated.tolerance.get(name)):
                if isinstance(value, bool):
                    changes[name] = value
        return replace(self, **changes) if changes else self

    def tolerating(self, bounds: Sequence[tuple[model.Tolerance, str]], specificity: Specificity) -> "Mode":
        """The mode below a tolerance's path, unless a more exact path has already set another tolerance.
        Where paths are equally exact a number has to satisfy all tolerances, and a rule that allows none is
        stricter than any tolerance."""
        if specificity < self.tolerance_specificity:
            return self
        tolerances = tuple(bounds)
        if specificity == self.tolerance_specificity:
            if not self.tolerances:
                return self
            if bounds:
                tolerances = (*self.tolerances, *(one for one in bounds if one not in self.tolerances))
        return replace(self, tolerances=tolerances, tolerance_specificity=specificity)


def mode_under(mode: Mode, here: ActiveRules) -> Mode:
    """The mode below rules that do not leave a value out."""
    return _mode_under(mode, here) if here.rules else mode


@lru_cache(maxsize=4096)
def _mode_under(mode: Mode, here: ActiveRules) -> Mode:
    if here.fields is not None and isinstance(rule := here.fields.setting, model.FieldRule):
        type = rule.type or mode.type
        mode, own = mode.changed(type, rule), field_tolerance(rule)
        if own is not None or type == "exact":  # exact means exact, whatever tolerance is set around it
            tolerances = [] if own is None else [(own, here.fields.text)]
            mode = mode.tolerating(tolerances, here.fields.pattern.specificity)
    if here.tolerances:
        stated = ((one.setting, one.text) for one in here.tolerances)
        bounds = [(setting, text) for setting, text in stated if isinstance(setting, model.Tolerance)]
        mode = mode.tolerating(bounds, here.tolerances[0].pattern.specificity)
    return mode


def field_tolerance(rule: model.FieldRule) -> model.Tolerance | None:
    """A field's tolerance, which is written without a path: `{abs: 0.05}`."""
    stated = ((name, value) for name, value in rule.tolerance.items() if name in model.BOUNDS)
    bounds = {name: value for name, value in stated if not isinstance(value, model.Tolerance | bool)}
    return model.Tolerance(**bounds) if bounds else None


# Arrays: what is known of one before it is compared.


def mode_of(array_mode: model.ArrayMode | None, expected: list[Json], mode: Mode) -> model.ArrayMode | None:
    """How an array is compared: one element with a placeholder describes all, unless a rule decides."""
    single = array_mode is None and len(expected) == 1 and mode.type in ("structural", "semantic")
    return "each" if single and describes_many(expected[0]) else array_mode


def key_fault(rows: Sequence[Json], key: str) -> str | None:
    """The reason why rows cannot be paired by a key; None if they can."""
    names = [row.get(key) if isinstance(row, dict) else None for row in rows]
    if any(name is None or holds_marker(name) or isinstance(name, dict | list) for name in names):
        return f"the array cannot be paired by {key!r}: not every element has a literal {key}"
    if len({freeze(name) for name in names}) != len(names):
        return f"the array cannot be paired by {key!r}: two elements have the same {key}"
    return None
