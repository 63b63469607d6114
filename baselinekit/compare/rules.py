"""The path rules of a comparison as an automaton: at each step of the walk, which rules are still in play
and which apply right here. States are made when they are met, and remembered."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from baselinekit.model.baselines import ArrayMode, FieldRule, Tolerance
from baselinekit.model.values import Json, Path
from baselinekit.paths import OneOf, Pattern, Slice, Where, Wild

RuleKind = Literal["ignore_fields", "ignore_values", "tolerance", "arrays", "fields"]


@dataclass(frozen=True, slots=True, eq=False)
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

    @property
    def bounds(self) -> str:
        """What it says beyond its kind, in a form that can be compared."""
        return (
            ""
            if self.kind in ("ignore_fields", "ignore_values")
            else repr((self.tolerance, self.arrays, self.fields))
        )


@dataclass(frozen=True, slots=True)
class Here:
    """The rules that apply at one place: all of them, and of each kind the most exact."""

    rules: tuple[Rule, ...]
    ignore: Rule | None
    tolerance: Rule | None
    arrays: Rule | None
    fields: Rule | None


class State:
    """Which rules are in play at one place. `dead`: none can apply here or below. `names`: the only keys of
    an object under which anything changes (None: it may change under any)."""

    __slots__ = (
        "_automaton",
        "_generic_index",
        "_marks",
        "_next",
        "_otherwise",
        "_standing",
        "_valued",
        "dead",
        "here",
        "names",
    )

    def __init__(self, automaton: "Automaton", standing: tuple[tuple[int, tuple[int, ...]], ...]):
        self._automaton = automaton
        self._standing = standing
        self._next: dict[str | int | None, State] = {}
        live = [automaton.rules[number] for number, _ in standing]
        self._valued = any(rule.pattern.looks_at_values for rule in live)
        self._generic_index = not any(_names_an_index(rule.pattern) for rule in live)
        self.here = _here([r for r, (_, at) in zip(live, standing, strict=True) if r.pattern.done(at)])
        self.dead = self.here is None and not any(_goes_on(automaton, entry) for entry in standing)
        self.names = frozenset[str]() if self.dead else _names(automaton, standing)
        self._marks: list[bytes] | None = [] if self.dead else None
        self._otherwise: State | None = self if self.dead else None

    def step(self, key: str | int, value: Json, size: int) -> "State":
        """The state below `key`, which holds `value` and has `size - 1` siblings."""
        if self.dead:
            return self
        if self._valued:
            return self._advance(key, value, size)
        memo: str | int | None = None if self._generic_index and key.__class__ is int else key
        known = self._next.get(memo)
        if known is None:
            if len(self._next) >= _MOST_NEXT:
                self._next.clear()
            known = self._next[memo] = self._advance(key, value, size)
        return known

    @property
    def same_below(self) -> "State | None":
        """The one state below all elements of an array, where no rule tells them apart."""
        return self.any_element() if self._generic_index and not self._valued else None

    def any_element(self) -> "State":
        """The state below any index that no rule names."""
        return self.step(_NO_RULE_NAMES_IT, None, 0)

    def otherwise(self) -> "State":
        """The state below any key that is not among the names."""
        if self._otherwise is None:
            self._otherwise = self.step(max(self.names or (), default="") + "\0", None, 0)
        return self._otherwise

    def asleep(self, data: bytes) -> bool:
        """Whether no rule can apply below, where all names are in these bytes: `**.id` waits for an id."""
        if self._marks is None:
            waits = self.here is None and self.names is not None and self.otherwise() is self
            if not waits or self.names is None or any(name.isdigit() for name in self.names):
                return False
            self._marks = [name.encode("utf-8", "surrogatepass") for name in self.names]
        return not any(map(data.__contains__, self._marks))

    def _advance(self, key: str | int, value: Json, size: int) -> "State":
        rules = self._automaton.rules
        standing = []
        for number, positions in self._standing:
            after = rules[number].pattern.after(positions, key, value, size)
            if after:
                standing.append((number, after))
        return self._automaton.state(tuple(standing))


class Automaton:
    """All path rules of one comparison."""

    def __init__(self, rules: list[Rule]):
        self.rules = rules
        self._states: dict[tuple[tuple[int, tuple[int, ...]], ...], State] = {}
        self.start = self.state(tuple((n, rule.pattern.start()) for n, rule in enumerate(rules)))

    def state(self, standing: tuple[tuple[int, tuple[int, ...]], ...]) -> State:
        found = self._states.get(standing)
        if found is None:
            found = self._states[standing] = State(self, standing)
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


_NO_RULE_NAMES_IT = 10**18
_SHARED: dict[Hashable, Automaton] = {}
_MOST_SHARED = 256
_MOST_NEXT = 4_096


def _goes_on(automaton: Automaton, entry: tuple[int, tuple[int, ...]]) -> bool:
    number, positions = entry
    return positions[0] < len(automaton.rules[number].pattern.segments)


def _names(automaton: Automaton, standing: tuple[tuple[int, tuple[int, ...]], ...]) -> frozenset[str] | None:
    names: set[str] = set()
    for number, positions in standing:
        segments = automaton.rules[number].pattern.segments
        for segment in (segments[position] for position in positions if position < len(segments)):
            keys = segment.keys if isinstance(segment, OneOf) else (segment,)
            if not all(isinstance(key, str) or key is Wild.DEEP for key in keys):
                return None
            names.update(key for key in keys if isinstance(key, str))
    return frozenset(names)


def _names_an_index(pattern: Pattern) -> bool:
    return any(
        isinstance(segment, int | Slice | Where)
        or (isinstance(segment, str) and segment.isdigit())
        or not isinstance(segment, str | Wild)
        for segment in pattern.segments
    )


def _here(rules: list[Rule]) -> Here | None:
    """The most exact rule of each kind. An ignore rule holds unless a comparing rule is more exact."""
    if not rules:
        return None
    best: dict[str, Rule] = {}
    for rule in rules:
        kind = "ignore" if rule.kind in ("ignore_fields", "ignore_values") else rule.kind
        if kind not in best or rule.pattern.specificity > best[kind].pattern.specificity:
            best[kind] = rule
    ignore = best.get("ignore")
    comparing = [rule for kind, rule in best.items() if kind != "ignore"]
    if ignore and any(rule.pattern.specificity > ignore.pattern.specificity for rule in comparing):
        ignore = None
    return Here(tuple(rules), ignore, best.get("tolerance"), best.get("arrays"), best.get("fields"))
