"""The expected output, compiled to nodes in one pass. What is literal and no rule touches stays as it is:
most of a document costs little to compile and next to nothing to walk."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from baselinekit.compare.arrays import ElementTemplate, Ordered
from baselinekit.compare.leaves import (
    AnyElements,
    Elements,
    Ignored,
    PlaceholderNode,
    Scalar,
    Selected,
    SemanticText,
    Uncompared,
)
from baselinekit.compare.literal import (
    Alike,
    Columns,
    Literal,
    columns_of,
    literal_bytes,
    literal_columns,
    shows_more,
    untouched_bytes,
)
from baselinekit.compare.objects import Object, ObjectShape
from baselinekit.compare.pairing import Keyed, no_key
from baselinekit.compare.rules import Mode, Rule, Side, State
from baselinekit.compare.unordered import LazyNodes, Unordered
from baselinekit.compare.walk import Link, Node, unroll
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import ArrayMode, By, FieldRule
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import describes_many, has_marker, tokens_in
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import Inline, Placeholder, binds, compile_text
from baselinekit.tree.equality import bytes_of, is_number

# A literal array that is opened since something else than it was met: all that it holds is literal too.


NodeOf = Callable[[Json, Mode, State, Link], Node]


def opened_array(value: list[Json], mode: Mode, state: State, at: Link, node_of: NodeOf) -> Node:
    """Its node: by its columns if its rows are all alike, else row by row."""
    make = partial(_row_by_row, value, mode, state, at, node_of)
    below = state.same_below
    if below is None or mode.type == "numeric" or not mode.allow_field_reordering:
        return make()
    columns = literal_columns(value, below)
    return make() if columns is None else Alike(value, columns, mode, True, make, at)


def _row_by_row(value: list[Json], mode: Mode, state: State, at: Link, node_of: NodeOf) -> Node:
    size = len(value)
    items: list[Node] = []
    for n, item in enumerate(value):
        below, place = state.step(n, item, size), (at, n)
        if item.__class__ is dict or item.__class__ is list:
            items.append(Literal(item, None, mode, below, place))
        else:
            items.append(node_of(item, mode, below, place))
    return Ordered(value, tuple(items), mode, state, at)


# The expected output, compiled to nodes in one pass. What is literal and no rule touches stays as it is:
# most of a document costs little to compile and next to nothing to walk.


_MOST_SHAPES = 8


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
    shapes: dict[tuple[int, int], list[ObjectShape]] = field(default_factory=dict)

    @property
    def bound(self) -> bool:
        """Whether a binding has been met."""
        return any(map(binds, self.templates.values()))

    def node(self, value: Json, mode: Mode, state: State, at: Link) -> Node:
        """The node of a value, by the rules that apply right here."""
        applied = self.applied(value, mode, state, at)
        if not isinstance(applied, Mode):
            return applied
        found = self._by_kind(value, applied, state, at, False)
        if isinstance(found, Uncompared) and mode.type != "numeric":
            found.optional = False  # around it, what the baseline states has to be there
        return found

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
        if here.tolerances:
            rule = here.tolerances[0]
            bounds = [(one.tolerance, one.text) for one in here.tolerances if one.tolerance is not None]
            mode = mode.tolerating(*bounds[0], rule.pattern.specificity, tuple(bounds[1:]))
        return mode

    def below(self, value: Json, mode: Mode, outer: State, key: str | int, size: int, at: Link) -> Node:
        """The node of what stands under a key of an object or an array, which is in the outer state."""
        usual = outer.step(key, value, size)
        node = self.node(value, mode, usual, at)
        if not outer.filters or not outer.may_leave_out(key, value, size):
            return node
        side = Side(key, value, size)
        return Selected(node, usual, outer, side, lambda own: self.again().node(value, mode, own, at))

    def again(self) -> "Compiler":
        """For a value in another state than that of the baseline: nothing that was found changes by it."""
        return replace(self, problems=[], hits=set(), arrays={})

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
        if isinstance(literal, str):
            return self._literal_text(value, literal, mode, at)
        self.checked += 1
        return PlaceholderNode(value, literal, at)

    def _literal_text(self, value: str, literal: str, mode: Mode, at: Link) -> Node:
        if mode.type == "numeric":
            return self._uncompared(value, at)
        self.checked += 1
        return (SemanticText if mode.type == "semantic" else Scalar)(value, literal, mode, at)

    def _template(self, text: str, at: Link) -> str | Placeholder | Inline:
        if text not in self.templates:
            try:
                self.templates[text] = compile_text(text, self.words)
            except InvalidInput as error:
                self._problem(error, at)
                return text
        return self.templates[text]

    def _uncompared(self, value: Json, at: Link) -> Node:
        self.uncompared += 1
        return Uncompared(value, at)

    def _object(self, value: dict[str, Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        """The shape of an earlier row, if it fits; else nodes where they are needed."""
        if mode.type == "numeric":
            return self._numbers(value, mode, state, at)
        if state.names is None or mode.asks_for_change:  # any key may matter
            shape, nodes, rest, data = self._shape(value, mode, state, at)
            return Object(value, shape, nodes, data, at, stated=rest)
        if whole:
            return Object(value, ObjectShape(mode, state), (), None, at, stated=value)
        shapes = self.shapes.setdefault((id(mode), id(state)), [])
        for shape in shapes:
            row = self._alike(value, shape, at)
            if row is not None:
                return row
        if not shows_more(value, state.names):
            data = untouched_bytes(value, state)
            if data is not None:
                self.checked += 1
                return Literal(value, data, mode, state, at)
        shape, nodes, rest, data = self._shape(value, mode, state, at)
        self.checked += bool(rest) or not value
        if data is not None and len(rest) < len(value):
            shapes[_MOST_SHAPES - 1 :] = []
            shapes.insert(0, shape)
        return Object(value, shape, nodes, data, at, stated=rest)

    def _alike(self, value: dict[str, Json], shape: ObjectShape, at: Link) -> Object | None:
        rest = shape.literal_part(value)
        if rest is None or (data := untouched_bytes(rest, shape.state)) is None:
            return None
        self.checked += 1
        if not shape.deeper:
            return Object(value, shape, (), data, at)
        mode, state, size = shape.mode, shape.state, len(value)
        nodes = tuple(
            (key, self.below(value[key], mode, state, key, size, (at, key))) for key in shape.deeper
        )
        return Object(value, shape, nodes, data, at)

    def _shape(
        self, value: dict[str, Json], mode: Mode, state: State, at: Link
    ) -> tuple[ObjectShape, tuple[tuple[str, Node], ...], dict[str, Json], bytes | None]:
        """The shape of an object, the nodes below it, and what is literal with its bytes."""
        size, below = len(value), state.otherwise()
        names = value.keys() if state.names is None or mode.asks_for_change else state.names
        texts, ignored, nodes = [], [], {}
        rest = value.copy()
        for key, item in value.items():
            if key not in names and item.__class__ is str and has_marker(item):
                del rest[key]
                template = self._template(item, (at, key))
                if isinstance(template, str):
                    nodes[key] = self._literal_text(item, template, mode, (at, key))
                else:
                    self.checked += 1
                    texts.append((key, item, template.alone, template))
        for key in [key for key in value if key in names]:
            node = self.below(value[key], mode, state, key, size, (at, key))
            del rest[key]
            if isinstance(node, Ignored):
                ignored.append((key, value[key].__class__, node.rule, node.keep))
            else:
                nodes[key] = node
        data = None if shows_more(rest, names) else untouched_bytes(rest, state)
        containers = tuple(rest.items()) if data is None else ()
        for key, item in containers:
            if item.__class__ is dict or item.__class__ is list:
                node = self.node(item, mode, below, (at, key))
                if not isinstance(node, Literal):
                    nodes[key] = node
                    del rest[key]
        taken = frozenset(value.keys() - rest.keys())
        shape = ObjectShape(mode, state, False, tuple(texts), tuple(ignored), tuple(nodes), taken)
        return shape, tuple(nodes.items()), rest, bytes_of(rest) if data is None else data

    def _numbers(self, value: dict[str, Json], mode: Mode, state: State, at: Link) -> Node:
        """An object of which only the numbers are compared."""
        size = len(value)
        nodes: dict[str, Node] = {}
        rest: dict[str, Json] = {}
        for key, item in value.items():
            if is_number(item) and not mode.asks_for_change and state.step(key, item, size).here is None:
                rest[key] = item
                continue
            node = self.below(item, mode, state, key, size, (at, key))
            if not isinstance(node, Uncompared):
                nodes[key] = node
        if at is not None and not nodes and not rest:
            return Uncompared(value, at)
        self.checked += bool(rest)
        return Object(value, ObjectShape(mode, state, open=True), tuple(nodes.items()), None, at, stated=rest)

    def _array(self, value: list[Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        every = state.any_elements()
        if every is not None and every.ignore is not None:
            self.hits.update(every.rules)
            self.checked += 1
            return AnyElements(value, every.ignore, at)
        here = state.here
        how = here.arrays.arrays if here is not None and here.arrays is not None else None
        if whole:
            return opened_array(value, mode, state, at, self.open)
        below = state.otherwise().names or ()
        by_bytes = how is None and mode.type != "numeric" and not mode.asks_for_change
        if by_bytes and not shows_more(value, below):
            data = literal_bytes(value)
            if data is not None and state.asleep(data):
                self.checked += 1
                return Literal(value, data, mode, state, at)
        if how is not None and how != "ordered" and mode.type == "exact":
            what = f"an exact comparison keeps the order of arrays, {str(how)!r} has no meaning in it"
            self._problem(InvalidInput(Problem("BK222", what, "use type: structural")), at)
        if how is None and mode.type in ("structural", "semantic") and len(value) == 1:
            how = "each" if describes_many(value[0]) else None
        if how is not None:
            self.arrays[unroll(at)] = str(how)
        if isinstance(how, By) and (why := no_key(self._compared_rows(value, state), how.by)):
            self._problem(InvalidInput(Problem("BK221", why, "use unordered, or another key")), at)
        self.checked += not value
        return self._alike_rows(value, how, mode, state, at) or self._rows(value, how, mode, state, at)

    def _compared_rows(self, value: list[Json], state: State) -> list[Json]:
        """The rows that no rule leaves out."""
        if not state.tells_apart:
            return value
        heres = [state.step(n, row, len(value)).here for n, row in enumerate(value)]
        return [row for row, here in zip(value, heres, strict=True) if here is None or here.ignore is None]

    def _alike_rows(
        self, value: list[Json], how: ArrayMode | None, mode: Mode, state: State, at: Link
    ) -> Node | None:
        below = state.same_below
        if below is None or how == "each" or not mode.allow_field_reordering:
            return None
        if mode.type == "numeric" or mode.asks_for_change:
            return None
        columns = columns_of(value, below, self._known)
        if columns is None:
            return None
        self.hits |= columns.rules
        self.checked += 1
        make = partial(self._rows, value, how, mode, state, at, columns)
        return Alike(value, columns, mode, how in (None, "ordered"), make, at)

    def _known(self, text: str) -> str | Placeholder | Inline:
        """What a text stands for; itself when that cannot be said, which is told where its node is made."""
        if text not in self.templates:
            with suppress(InvalidInput):
                self.templates[text] = compile_text(text, self.words)
        return self.templates.get(text, text)

    def _item(self, value: list[Json], mode: Mode, state: State, at: Link) -> Callable[[int], Node]:
        """Makes the node of an element."""
        below, size = state.same_below, len(value)
        if below is not None and below.here is None:
            return lambda n: self._by_kind(value[n], mode, below, (at, n), False)
        return lambda n: self.below(value[n], mode, state, n, size, (at, n))

    def _rows(
        self,
        value: list[Json],
        how: ArrayMode | None,
        mode: Mode,
        state: State,
        at: Link,
        columns: Columns | None = None,
    ) -> Node:
        """An array with a node for each of its rows; for those that are all alike, when it is asked for."""
        item = self._item(value, mode, state, at)
        if columns is not None and how in ("unordered", "subset"):
            rows = LazyNodes(item, len(value))
            return Unordered(value, rows, mode, at, subset=how == "subset", columns=columns, uniform=True)
        items = tuple(map(item, range(len(value))))
        whole = (
            state.tells_apart and (every := state.otherwise().here) is not None and every.ignore is not None
        )
        elements = Elements(
            value, state, lambda n, own: self.again().node(value[n], mode, own, (at, n)), whole
        )
        if mode.type == "numeric" and at is not None and all(isinstance(node, Uncompared) for node in items):
            return Uncompared(value, at)
        if how == "each" and items:
            return ElementTemplate(value, items, mode, at, elements)
        if isinstance(how, By):
            return Keyed(value, items, how.by, mode, at, elements)
        if how in ("unordered", "subset"):
            bindings = self.bound and any(token.key for token in tokens_in(value))
            return Unordered(
                value,
                items,
                mode,
                at,
                subset=how == "subset",
                bindings=bindings,
                uniform=state.same_below is not None,
                elements=elements,
            )
        return Ordered(value, items, mode, state, at, open=mode.type == "numeric", elements=elements)

    def _problem(self, error: InvalidInput, at: Link) -> None:
        path = ("baseline", "output", *unroll(at))
        self.problems += [Problem(p.code, p.message, p.hint, p.place, path) for p in error.problems]
