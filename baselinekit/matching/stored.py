"""What a stored output and its rules say before anything is compared: the mistakes, the rules that match
something, the arrays with a mode of their own."""

from baselinekit.errors import Problem
from baselinekit.matching.rules import (
    Form,
    Mode,
    Modes,
    Rule,
    State,
    mode_of,
    reason_against_key,
    steps_below,
)
from baselinekit.matching.walk import Link, Templates, holds_compared_number, unroll
from baselinekit.model.baselines import ArrayMode, By
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.template import binds
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.equality import bytes_of, is_number
from baselinekit.values.places import children


class Stored(MutableStruct):
    """One look at all values of a stored output. `is_checked`: some value can fail; `uncompared` counts those
    that are not compared."""

    templates: Templates
    form: Form
    modes: Modes = field(default_factory=Modes)
    problems: list[Problem] = field(default_factory=list)
    hits: set[Rule] = field(default_factory=set)
    arrays: dict[Path, str] = field(default_factory=dict)
    is_checked: bool = False
    uncompared: int = 0
    touched: set[int] = field(default_factory=set)
    """The ids of the objects and arrays that hold a placeholder or a value that a rule selects."""

    @property
    def has_bindings(self) -> bool:
        return any(map(binds, self.templates.known.values()))

    def look(self, value: Json, mode: Mode, state: State | None, at: Link = None) -> bool:
        """Look at a value and all below it; return whether it holds a placeholder or a rule selects any of
        it."""
        array_rule, here = None, None if state is None else state.here
        if here is not None:
            self.hits.update(here.rules)
            if here.ignore is not None:
                numeric = mode.type == "numeric" and not holds_compared_number(value)
                keeps = here.ignore.kind == "ignore_values" and not self.templates.is_optional(value)
                self.is_checked |= keeps and at is not None and not numeric
                return self.touch(value)
            mode, array_rule = self.modes.under(mode, here), here.arrays
        if isinstance(value, dict | list):
            in_form = bool(self.form) and unroll(at) in self.form
            if state is None and mode.type != "numeric" and not in_form and not may_hold_marker(value):
                self.is_checked = True
                return False
            array_mode = None if array_rule is None else array_rule.arrays
            if isinstance(value, list) and not self.look_at_array(value, array_mode, mode, state, at):
                return self.touch(value)
            touched = here is not None or (state is not None and state.by_index and isinstance(value, list))
            for key, item, below in steps_below(state, value):
                if mode.type != "numeric" and (below is None or below.here is None) and is_literal(item):
                    self.is_checked = True
                else:
                    touched |= self.look(item, mode, below, (at, key))
            if touched:
                self.touched.add(id(value))
            if not value and not in_form:
                self.is_checked |= mode.type != "numeric" or isinstance(value, list)
            return touched
        if isinstance(value, str) and has_marker(value):
            template = self.templates.of(value)
            if value in self.templates.invalid:
                self.report(at, *self.templates.invalid[value].problems)
            if mode.type == "numeric" and isinstance(template, str):
                self.uncompared += 1
            else:
                self.is_checked = True
            return True
        if mode.type == "numeric" and not is_number(value):
            self.uncompared += 1
        else:
            self.is_checked = True
        return here is not None

    def touch(self, value: Json) -> bool:
        """Look at a value that is left out here: where the actual output decides otherwise it is compared."""
        if isinstance(value, dict | list):
            self.touched.add(id(value))
            for _, item in children(value) if may_hold_marker(value) else ():
                self.touch(item)
        elif isinstance(value, str) and has_marker(value):
            self.templates.of(value)
        return True

    def look_at_array(
        self, value: list[Json], array_mode: ArrayMode | None, mode: Mode, state: State | None, at: Link
    ) -> bool:
        """Look at how an array is compared; return whether its elements are compared at all."""
        every = None if state is None else state.every_element()
        if every is not None:
            self.hits.update(every.rules)
            self.is_checked |= mode.type != "numeric" or at is None or holds_compared_number(value)
            return False
        if array_mode not in (None, "ordered") and mode.type == "exact":
            message = f"an exact comparison keeps the order of arrays, {str(array_mode)!r} has no effect"
            self.report(at, Problem("BK222", message, "use type: structural"))
        array_mode = mode_of(array_mode, value, mode)
        if array_mode is not None:
            self.arrays[unroll(at)] = str(array_mode)
        if isinstance(array_mode, By):
            compared = [
                row
                for _, row, below in steps_below(state, value)
                if below is None or below.here is None or below.here.ignore is None
            ]
            if reason := reason_against_key(compared, array_mode.by):
                self.report(at, Problem("BK221", reason, "use unordered, or another key"))
        return True

    def report(self, at: Link, *problems: Problem) -> None:
        path = ("baseline", "output", *unroll(at))
        self.problems += [replace(problem, at=path) for problem in problems]


def is_literal(value: Json) -> bool:
    """Whether a value is a scalar without a placeholder."""
    return value.__class__ not in (dict, list) and not (isinstance(value, str) and has_marker(value))


def may_hold_marker(value: Json) -> bool:
    """Whether the texts of a value may hold a placeholder; a key that looks like one is enough."""
    data = bytes_of(value)
    return b"<<" in data or b"{{any_" in data
