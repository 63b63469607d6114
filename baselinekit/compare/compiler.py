"""The expected output, compiled to nodes in one pass. What no rule touches and `==` can decide stays as it
is: most of a document costs nothing to compile and next to nothing to walk."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from baselinekit.compare.arrays import Each, Keyed, Ordered
from baselinekit.compare.leaves import AnyElements, Ignored, Literal, Meaning, Scalar, Stand, Uncompared
from baselinekit.compare.mode import Mode
from baselinekit.compare.objects import Object
from baselinekit.compare.rules import Here, Rule, State
from baselinekit.compare.unordered import Unordered
from baselinekit.compare.walk import Link, Node, unroll
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import ArrayMode, By, FieldRule
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import has_marker, holds_marker
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text

_NUMBERS = (int, float, Decimal)


@dataclass(slots=True)
class Compiler:
    """`field_mode` makes the mode below a `fields:` rule. `hits` are the rules that met something in the
    expected output, `arrays` says how each array is compared, `checked` counts what can fail."""

    words: Words
    field_mode: Callable[[FieldRule, Rule, Mode], Mode]
    problems: list[Problem] = field(default_factory=list)
    hits: set[Rule] = field(default_factory=set)
    arrays: dict[Path, str] = field(default_factory=dict)
    checked: int = 0
    uncompared: int = 0

    def node(self, value: Json, mode: Mode, state: State, at: Link, whole: bool = False) -> Node:
        """The node of a value. `whole`: the value itself is looked into, even where `==` could decide."""
        return self._compile(value, mode, state, at, whole) or Literal(value, mode, at)

    def _compile(self, value: Json, mode: Mode, state: State, at: Link, whole: bool = False) -> Node | None:
        """None for a value that `==` can decide."""
        if not state.dead and state.here is not None:
            self.hits.update(state.here.rules)
            if (rule := state.here.ignore) is not None:
                keep = rule.kind == "ignore_values"
                self.checked += keep and at is not None
                return Ignored(value, rule, at, keep)
            own = self._mode_here(state.here, mode)
            if own is not mode:  # what `==` cannot decide is then looked into with the value's own mode
                return self._by_kind(value, own, state, at, whole) or Literal(value, own, at)
        return self._by_kind(value, mode, state, at, whole)

    def _by_kind(self, value: Json, mode: Mode, state: State, at: Link, whole: bool) -> Node | None:
        kind = value.__class__
        if kind is str:
            return self._text(value, mode, at, whole)
        if kind is dict:
            return self._object(value, mode, state, at, whole)
        if kind is list:
            return self._array(value, mode, state, at, whole)
        self.checked += 1
        if mode.type == "numeric" and (kind is bool or value is None):
            return self._uncompared(value, at)
        if value is None and not whole:
            return None
        if self._needs_type(value, mode) or whole:
            return Scalar(value, value, mode, at)
        return None

    @staticmethod
    def _needs_type(value: Json, mode: Mode) -> bool:
        """Whether `==` could mistake something else for this number or boolean."""
        return value in (0, 1) or mode.typed or mode.tolerance is not None

    def _mode_here(self, here: Here, mode: Mode) -> Mode:
        if here.fields is not None and here.fields.fields is not None:
            mode = self.field_mode(here.fields.fields, here.fields, mode)
        rule = here.tolerance
        if rule is not None and rule.tolerance is not None:
            mode = mode.tolerating(rule.tolerance, rule.text, rule.pattern.specificity)
        return mode

    def _text(self, value: str, mode: Mode, at: Link, whole: bool) -> Node | None:
        self.checked += 1
        literal: str = value
        if has_marker(value):
            try:
                compiled = compile_text(value, self.words)
            except InvalidInput as error:
                self._problem(error, at)
                return Uncompared(value, at)
            if not isinstance(compiled, str):
                return Stand(value, compiled, at)
            literal = compiled
        if mode.type == "numeric":
            return self._uncompared(value, at)
        if mode.type == "semantic":
            return Meaning(value, literal, mode, at)
        return Scalar(value, literal, mode, at) if whole or literal is not value else None

    def _uncompared(self, value: Json, at: Link) -> Node:
        self.checked -= 1
        self.uncompared += 1
        return Uncompared(value, at)

    def _object(self, value: dict[str, Json], mode: Mode, state: State, at: Link, whole: bool) -> Node | None:
        plain, scalars, nodes = [], [], []
        size = len(value)
        for key, item in value.items():
            below = state if state.dead else state.step(key, item, size)
            node = self._compile(item, mode, below, (at, key))
            if node is None:
                plain.append((key, item))
            elif (
                isinstance(node, Scalar)
                and mode.tolerance is None
                and node.mode is mode
                and node.value is item
            ):
                scalars.append((key, item))
            else:
                nodes.append((key, node))
        if mode.type == "numeric" and at is not None and not plain and not scalars and _no_numbers(nodes):
            return Uncompared(value, at)
        ordered = not mode.allow_field_reordering and size > 1
        if not (scalars or nodes or whole or ordered) and state.dead:
            return None
        return Object(
            value, tuple(plain), tuple(scalars), tuple(nodes), mode, state, at, open=mode.type == "numeric"
        )

    def _array(self, value: list[Json], mode: Mode, state: State, at: Link, whole: bool) -> Node | None:
        if not state.dead and (here := state.any_element().here) is not None and here.ignore is not None:
            self.hits.update(here.rules)
            self.checked += 1
            return AnyElements(value, here.ignore, at)
        found = self._items(value, mode, state, at)
        here = state.here
        how = here.arrays.arrays if here is not None and here.arrays is not None else None
        if how is not None and mode.type == "exact":
            what = f"an exact comparison keeps the order of arrays, {self._shown(how)!r} has no meaning in it"
            self._problem(InvalidInput(Problem("BK222", what, "use type: structural")), at)
        template = mode.type in ("structural", "semantic") and len(value) == 1 and holds_marker(value[0])
        if how is None and not template:
            plain = all(node is None for node in found) and state.dead and not whole
            if plain:
                return None
        items = tuple(
            node or Literal(item, mode, (at, n))
            for n, (node, item) in enumerate(zip(found, value, strict=True))
        )
        if mode.type == "numeric" and at is not None and _no_numbers(enumerate(items)):
            return Uncompared(value, at)
        self.arrays[unroll(at)] = self._shown(how) if how else ("each" if template else "ordered")
        return self._array_node(value, items, how or ("each" if template else "ordered"), mode, state, at)

    def _items(self, value: list[Json], mode: Mode, state: State, at: Link) -> list[Node | None]:
        if state.dead:
            return [self._compile(item, mode, state, (at, n)) for n, item in enumerate(value)]
        size = len(value)
        return [self._compile(item, mode, state.step(n, item, size), (at, n)) for n, item in enumerate(value)]

    def _array_node(
        self, value: list[Json], items: tuple[Node, ...], how: ArrayMode, mode: Mode, state: State, at: Link
    ) -> Node:
        if how == "each" and items:
            return Each(value, items, mode, at)
        if isinstance(how, By):
            self._check_key(value, how.by, at)
            return Keyed(value, items, how.by, mode, at)
        if how in ("unordered", "subset"):
            literal = tuple(
                state.dead_below(n, item) and not holds_marker(item) for n, item in enumerate(value)
            )
            bindings = any(" as " in text for text in _texts(value))
            return Unordered(value, items, literal, mode, at, subset=how == "subset", bindings=bindings)
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


def _no_numbers(nodes: Iterable[tuple[str | int, Node]]) -> bool:
    """Whether nothing below is compared, so that it need not even be there."""
    return all(isinstance(node, Uncompared) for _, node in nodes)


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in below for text in _texts(item)]
