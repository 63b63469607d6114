"""What a stored output and its rules say before anything is compared: the mistakes, the rules that match
something, the arrays with a mode of their own."""

from baselinekit.errors import Problem
from baselinekit.matching.rules import Form, Mode, Modes, Rule, State, mode_of, reason_against_key
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
    with_placeholders: set[int] = field(default_factory=set)
    """The ids of the objects and arrays that hold a placeholder."""

    @property
    def has_bindings(self) -> bool:
        return any(map(binds, self.templates.known.values()))

    def look(self, value: Json, mode: Mode, state: State | None, at: Link = None) -> bool:
        """Look at a value and all below it; return whether it holds a placeholder."""
        array_rule = None
        if state is not None and (here := state.here) is not None:
            self.hits.update(here.rules)
            if here.ignore is not None:
                numeric = mode.type == "numeric" and not holds_compared_number(value)
                keeps = here.ignore.kind == "ignore_values" and not self.templates.is_optional(value)
                self.is_checked |= keeps and at is not None and not numeric
                return self.find_placeholders(value)
            mode, array_rule = self.modes.under(mode, here), here.arrays
        if isinstance(value, dict | list):
            in_form = bool(self.form) and unroll(at) in self.form
            if state is None and mode.type != "numeric" and not in_form and not may_hold_marker(value):
                self.is_checked = True
                return False
            array_mode = None if array_rule is None else array_rule.arrays
            if isinstance(value, list) and not self.look_at_array(value, array_mode, mode, state, at):
                return self.find_placeholders(value)
            size, found = len(value), False
            for key, item in children(value):
                below = None if state is None else state.step(key, item, size)
                found |= self.look(item, mode, below, (at, key))
            if found:
                self.with_placeholders.add(id(value))
            if not value and not in_form:
                self.is_checked |= mode.type != "numeric" or isinstance(value, list)
            return found
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
        return False

    def find_placeholders(self, value: Json) -> bool:
        """Look at a value that is left out here: where the actual output decides otherwise it is compared."""
        if isinstance(value, dict | list):
            items = (item for _, item in children(value))
            found = may_hold_marker(value) and {*map(self.find_placeholders, items)} >= {True}
            if found:
                self.with_placeholders.add(id(value))
            return found
        return isinstance(value, str) and has_marker(value) and self.templates.of(value) is not None

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
            below = [state and state.step(n, row, len(value)) for n, row in enumerate(value)]
            left_out = [found and found.here and found.here.ignore for found in below]
            compared = [row for row, ignored in zip(value, left_out, strict=True) if not ignored]
            if reason := reason_against_key(compared, array_mode.by):
                self.report(at, Problem("BK221", reason, "use unordered, or another key"))
        return True

    def report(self, at: Link, *problems: Problem) -> None:
        path = ("baseline", "output", *unroll(at))
        self.problems += [replace(problem, at=path) for problem in problems]


def may_hold_marker(value: Json) -> bool:
    """Whether the texts of a value may hold a placeholder; a key that looks like one is enough."""
    data = bytes_of(value)
    return b"<<" in data or b"{{any_" in data
