"""The expected output, compiled to nodes in one pass. What is literal and no rule touches stays as it is:
most of a document costs little to compile and next to nothing to walk."""

from collections.abc import Callable
from dataclasses import dataclass, field

from baselinekit.compare.arrays import Each, Keyed, Ordered
from baselinekit.compare.leaves import AnyElements, Ignored, Meaning, Scalar, Stand, Uncompared
from baselinekit.compare.literal import Literal, bytes_of, may_hold_marker
from baselinekit.compare.mode import Mode
from baselinekit.compare.objects import Object
from baselinekit.compare.rules import Rule, State
from baselinekit.compare.unordered import Unordered
from baselinekit.compare.walk import Link, Node, unroll
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import ArrayMode, By, FieldRule
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import describes_many, has_marker, holds_marker, tokens_in
from baselinekit.placeholders.kinds import is_number
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Placeholder, compile_text


@dataclass(slots=True)
class Compiler:
    """`field_mode` makes the mode below a `fields:` rule. `hits` are the rules that met something in the
    expected output, `arrays` says which arrays are compared in a way of their own, `checked` counts what can
    fail, `uncompared` what is not looked at."""

    words: Words
    field_mode: Callable[[FieldRule, Rule, Mode], Mode]
    problems: list[Problem] = field(default_factory=list)
    hits: set[Rule] = field(default_factory=set)
    arrays: dict[Path, str] = field(default_factory=dict)
    checked: int = 0
    uncompared: int = 0
    templates: dict[str, str | Placeholder | Inline] = field(default_factory=dict)

    def node(self, value: Json, mode: Mode, state: State, at: Link) -> Node:
        """The node of a value, by the rules that apply right here."""
        applied = self.applied(value, mode, state, at)
        return self._by_kind(value, applied, state, at, False) if isinstance(applied, Mode) else applied

    def applied(self, value: Json, mode: Mode, state: State, at: Link) -> Mode | Ignored:
        """The mode in which a value is compared, or the end of the matter."""
        here = state.here
        if here is None:
            return mode
        self.hits.update(here.rules)
        if here.ignore is not None:
            keep = here.ignore.kind == "ignore_values"
            self.checked += keep and at is not None
            return Ignored(value, here.ignore, at, keep)
        if here.fields is not None and here.fields.fields is not None:
            mode = self.field_mode(here.fields.fields, here.fields, mode)
        rule = here.tolerance
        if rule is not None and rule.tolerance is not None:
            mode = mode.tolerating(rule.tolerance, rule.text, rule.pattern.specificity)
        return mode

    def open(self, value: Json, mode: Mode, state: State, at: Link) -> Node:
        """The node that looks into a value, however literal it is."""
        return self._by_kind(value, mode, state, at, True)

    def _by_kind(self, value: Json, mode: Mode, state: State, at: Link, whole: bool) -> Node:
        kind = value.__class__
        if kind is dict:
            return self._object(value, mode, state, at, whole)
        if kind is list:
            return self._array(value, mode, state, at, whole)
        if kind is str:
            return self._text(value, mode, at)
        if mode.type == "numeric" and not is_number(value):
            return self._uncompared(value, at)
        self.checked += 1
        return Scalar(value, value, mode, at)

    def _text(self, value: str, mode: Mode, at: Link) -> Node:
        literal = self._template(value, at) if has_marker(value) else value
        if not isinstance(literal, str):
            self.checked += 1
            return Stand(value, literal, at)
        if mode.type == "numeric":
            return self._uncompared(value, at)
        self.checked += 1
        return (Meaning if mode.type == "semantic" else Scalar)(value, literal, mode, at)

    def _template(self, text: str, at: Link) -> str | Placeholder | Inline:
        found = self.templates.get(text)
        if found is None:
            try:
                found = compile_text(text, self.words)
            except InvalidInput as error:
                self._problem(error, at)
                return text
            self.templates[text] = found
        return found

    def _uncompared(self, value: Json, at: Link) -> Node:
        self.uncompared += 1
        return Uncompared(value, at)

    def _object(self, value: dict[str, Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        """Nodes where they are needed; the rest stays literal."""
        if mode.type == "numeric":
            return self._numbers(value, mode, state, at)
        if state.names is None:
            return self._looked_into(value, mode, state, at)
        size = len(value)
        names = state.names
        nodes: dict[str, Node] = {  # before anything else, so that arrays find the bindings made
            key: self._text(item, mode, (at, key))
            for key, item in value.items()
            if item.__class__ is str and ("<<" in item or "{{any_" in item) and key not in names
        }
        if names:
            for key, item in value.items():
                if key in names:
                    nodes[key] = self.node(item, mode, state.step(key, item, size), (at, key))
        rest, data = _without(value, nodes)
        below = state.otherwise()
        if data is None or may_hold_marker(data) or not below.asleep(data):
            for key, item in rest.items():
                if item.__class__ is dict or item.__class__ is list:
                    node = self.node(item, mode, below, (at, key))
                    if not isinstance(node, Literal):
                        nodes[key] = node
            rest, data = _without(value, nodes)
        self.checked += bool(rest) or not value
        if not nodes and not whole and data is not None:
            return Literal(value, data, mode, state, at)
        return Object(value, tuple(nodes.items()), rest, data, mode, state, at)

    def _looked_into(self, value: dict[str, Json], mode: Mode, state: State, at: Link) -> Node:
        """An object with a node for every key: to a rule any of them may matter."""
        size = len(value)
        nodes = {
            key: self.node(item, mode, state.step(key, item, size), (at, key)) for key, item in value.items()
        }
        rest, data = _without(value, nodes)
        return Object(value, tuple(nodes.items()), rest, data, mode, state, at)

    def _numbers(self, value: dict[str, Json], mode: Mode, state: State, at: Link) -> Node:
        """An object of which only the numbers are compared."""
        size = len(value)
        nodes: dict[str, Node] = {}
        rest: dict[str, Json] = {}
        for key, item in value.items():
            below = state.step(key, item, size)
            if below.here is None and is_number(item):
                rest[key] = item
                continue
            node = self.node(item, mode, below, (at, key))
            if not isinstance(node, Uncompared):
                nodes[key] = node
        if at is not None and not nodes and not rest:
            return Uncompared(value, at)
        self.checked += bool(rest)
        return Object(value, tuple(nodes.items()), rest, None, mode, state, at, open=True)

    def _array(self, value: list[Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        if not state.dead and (here := state.any_element().here) is not None and here.ignore is not None:
            self.hits.update(here.rules)
            self.checked += 1
            return AnyElements(value, here.ignore, at)
        here = state.here
        how = here.arrays.arrays if here is not None and here.arrays is not None else None
        if how is None and not whole and mode.type != "numeric" and not _holds_containers(value):
            data = bytes_of(value)
            if data is not None and not may_hold_marker(data) and state.asleep(data):
                self.checked += 1
                return Literal(value, data, mode, state, at)
        if how is not None and mode.type == "exact":
            what = f"an exact comparison keeps the order of arrays, {self._shown(how)!r} has no meaning in it"
            self._problem(InvalidInput(Problem("BK222", what, "use type: structural")), at)
        if how is None and mode.type in ("structural", "semantic") and len(value) == 1:
            how = "each" if describes_many(value[0]) else None
        if how is not None:
            self.arrays[unroll(at)] = self._shown(how)
        size = len(value)
        items = tuple(
            self.node(item, mode, state.step(n, item, size), (at, n)) for n, item in enumerate(value)
        )
        if mode.type == "numeric" and at is not None and all(isinstance(node, Uncompared) for node in items):
            return Uncompared(value, at)
        self.checked += not value
        return self._array_node(value, items, how or "ordered", mode, state, at)

    def _array_node(
        self, value: list[Json], items: tuple[Node, ...], how: ArrayMode, mode: Mode, state: State, at: Link
    ) -> Node:
        if how == "each" and items:
            return Each(value, items, mode, at)
        if isinstance(how, By):
            self._check_key(value, how.by, at)
            return Keyed(value, items, how.by, mode, at)
        if how in ("unordered", "subset"):
            bindings = any(token.key for token in tokens_in(value))
            return Unordered(value, items, mode, at, subset=how == "subset", bindings=bindings)
        return Ordered(value, items, mode, state, at, open=mode.type == "numeric")

    def _check_key(self, value: list[Json], key: str, at: Link) -> None:
        names = [item.get(key) if isinstance(item, dict) else None for item in value]
        if any(name is None or holds_marker(name) or isinstance(name, dict | list) for name in names):
            what = f"the array cannot be paired by {key!r}: not every element has a literal {key}"
        elif len({str(name) for name in names}) != len(names):
            what = f"the array cannot be paired by {key!r}: two elements have the same {key}"
        else:
            return
        self._problem(InvalidInput(Problem("BK221", what, "use unordered, or another key")), at)

    @staticmethod
    def _shown(how: ArrayMode) -> str:
        return f"by {how.by}" if isinstance(how, By) else how

    def _problem(self, error: InvalidInput, at: Link) -> None:
        path = ("baseline", "output", *unroll(at))
        self.problems += [Problem(p.code, p.what, p.mend, p.place, path) for p in error.problems]


def _holds_containers(value: list[Json]) -> bool:
    """Rows are asked one by one: most have something to look into, if one has."""
    return bool(value) and value[0].__class__ in (dict, list)


def _without(value: dict[str, Json], nodes: dict[str, Node]) -> tuple[dict[str, Json], bytes | None]:
    rest = {key: item for key, item in value.items() if key not in nodes} if nodes else value
    return rest, bytes_of(rest)
