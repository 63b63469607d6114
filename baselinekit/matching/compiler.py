"""Compiles the expected output to nodes in one pass. Literal parts that no rule touches stay as they are:
most of a document costs little to compile and next to nothing to walk."""

from collections.abc import Hashable

from baselinekit.errors import InvalidInput, Problem
from baselinekit.matching.objects import Headers, Object
from baselinekit.matching.rules import ActiveRules, Form, Mode, Rule, Side, State, field_mode
from baselinekit.matching.values import (
    AnyElements,
    Ignored,
    Link,
    Literal,
    MediaType,
    Node,
    PlaceholderNode,
    Scalar,
    Uncompared,
    is_untouched,
    unroll,
)
from baselinekit.model.baselines import ArrayMode, By
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import describes_many, escape, has_marker, texts_in, tokens_in
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, binds, compile_text
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.places import places

NO_FORM: Form = {}


class Compiler(MutableStruct):
    """`hits`: the rules that matched something in the expected output. `arrays`: the arrays that have a mode
    of their own. `checked` counts the values that can fail, `uncompared` those that are not compared."""

    words: PlaceholderContext
    problems: list[Problem] = field(default_factory=list)
    hits: set[Rule] = field(default_factory=set)
    arrays: dict[Path, str] = field(default_factory=dict)
    checked: int = 0
    uncompared: int = 0
    templates: dict[str, str | Placeholder | Inline] = field(default_factory=dict)
    invalid: dict[str, InvalidInput] = field(default_factory=dict)
    """The errors of texts whose placeholders cannot be parsed."""
    modes: dict[tuple[int, int], tuple[Mode, ActiveRules, Mode]] = field(default_factory=dict)
    """The mode of a value, by the ids of the mode around it and of the rules here. Both objects are kept, as
    otherwise new objects could get their ids."""

    @property
    def has_bindings(self) -> bool:
        """Whether any compiled text binds a value."""
        return any(map(binds, self.templates.values()))

    def node(self, value: Json, mode: Mode, state: State, at: Link) -> Node:
        """The node of a value, according to the rules that apply right here."""
        applied = self.apply_rules(value, mode, state, at)
        if not isinstance(applied, Mode):
            return applied
        if state.here is not None and state.repeats and self.mode_at(applied, state.here) == applied:
            state = state.without_rules  # the mode already says all that the rules say below
        node = self.node_by_type(value, applied, state, at)
        if isinstance(node, Uncompared) and mode.type != "numeric":
            node.optional = False  # the comparison around it requires what the baseline states
        return node

    def apply_rules(self, value: Json, mode: Mode, state: State, at: Link) -> Mode | Ignored | Uncompared:
        """The mode in which a value is compared, or the node of a value that is not compared."""
        here = state.here
        if here is None:
            return mode
        self.hits.update(here.rules)
        if here.ignore is not None:
            if mode.type == "numeric" and at is not None and not _holds_compared_number(value):
                return Uncompared(value, at)  # it need not be there without the rule, so not with it either
            optional = value.__class__ is str and has_marker(value) and self._is_optional(value)
            keep = here.ignore.kind == "ignore_values" and not optional
            self.checked += keep and at is not None
            return Ignored(value, here.ignore, at, keep)
        return self.mode_at(mode, here)

    def mode_at(self, mode: Mode, here: ActiveRules) -> Mode:
        """The mode below rules that do not leave a value out."""
        key = id(mode), id(here)
        if key not in self.modes:
            self.modes[key] = mode, here, mode_here(mode, here)
        return self.modes[key][2]

    def below(
        self, value: Json, mode: Mode, outer: State, key: str | int, size: int, at: Link, form: Form = NO_FORM
    ) -> Node:
        """The node of the value under a key of an object, or an index of an array; `outer` is the state of
        that object or array."""
        default_state = outer.step(key, value, size)
        node = self.output(value, form, mode, default_state, at)
        if isinstance(node, Uncompared) or not outer.filters or not outer.may_leave_out(key, value, size):
            return node
        from baselinekit.matching.arrays import Selected

        side = Side(key, value, size)
        return Selected(
            node,
            default_state,
            outer,
            side,
            lambda inner: self.fresh_copy().output(value, form, mode, inner, at),
        )

    def output(self, value: Json, form: Form, mode: Mode, state: State, at: Link = None) -> Node:
        """The node of an output, or of a value in it at a path that may have a form."""
        kind = form.get(unroll(at)) if form else None
        if kind is None or not isinstance(value, dict):
            return self.node(value, mode, state, at)
        applied = self.apply_rules(value, mode, state, at)
        if not isinstance(applied, Mode):
            return applied
        nodes = []
        for key, item in value.items():
            node = self.below(item, applied, state, key, len(value), (at, key), form)
            is_type = kind == "headers" and key.casefold() == "content-type"
            if is_type and isinstance(node, Scalar) and isinstance(node.value, str):
                node = MediaType(node.expected, node.value, node.at)
            nodes.append((key, node))
        fields = Object(value, applied, state, tuple(nodes), {}, at, open=kind != "names")
        return Headers(fields) if kind == "headers" else fields

    def fresh_copy(self) -> "Compiler":
        """A copy for compiling a value in another state than that of the baseline; the results of this
        compiler do not change."""
        return replace(self, problems=[], hits=set(), arrays={})

    def open(self, value: Json, mode: Mode, state: State, at: Link) -> Node:
        """The node that compares the parts of a value, however literal it is."""
        return self.node_by_type(value, mode, state, at, whole=True)

    def node_by_type(self, value: Json, mode: Mode, state: State, at: Link, whole: bool = False) -> Node:
        kind = value.__class__
        if kind is dict:
            return self._object(value, mode, state, at, whole)
        if kind is list:
            return self._array(value, mode, state, at, whole)
        literal = value
        if kind is str and has_marker(value):
            literal = self._template_or_report(value, at)
            if not isinstance(literal, str):
                self.checked += 1
                return PlaceholderNode(value, literal, at)
        return self._scalar(value, literal, mode, at)

    def _scalar(self, value: Json, literal: Json, mode: Mode, at: Link) -> Node:
        """`literal`: the value once the escapes of a text are resolved."""
        if mode.type == "numeric" and not is_number(value):
            self.uncompared += 1
            return Uncompared(value, at)
        self.checked += 1
        if mode.type == "semantic" and isinstance(value, str):
            from baselinekit.matching.semantic import SemanticText  # few baselines need it

            return SemanticText(value, literal, mode, at)
        return Scalar(value, literal, mode, at)

    def template(self, text: str) -> str | Placeholder | Inline:
        """Compile a text; return the text itself if it is invalid, which is reported where its node is
        made."""
        if text not in self.templates:
            try:
                self.templates[text] = compile_text(text, self.words)
            except InvalidInput as error:
                self.templates[text], self.invalid[text] = text, error
        return self.templates[text]

    def accepts(self, text: str, value: Json) -> bool:
        """Whether a stored text by itself accepts a value; False where that depends on other values."""
        template = self.template(text)
        if isinstance(template, str):
            return isinstance(value, str) and value == template
        return not binds(template) and template.accepts(value, {})

    def keep_placeholders(self, stored: str, actual: str) -> str:
        """The actual text to store, with those placeholders of the stored one that still match: what they
        stand for is neither kept nor masked."""
        from baselinekit.placeholders.lines import with_placeholders  # few texts differ

        text = with_placeholders(stored, actual, self.words)
        return escape(actual) if text == stored else text

    def _is_optional(self, text: str) -> bool:
        """Whether a text is a placeholder for a value that may be absent."""
        template = self.template(text)
        return not isinstance(template, str) and template.optional

    def _template_or_report(self, text: str, at: Link) -> str | Placeholder | Inline:
        template = self.template(text)
        if text in self.invalid:
            self.report(at, *self.invalid[text].problems)
        return template

    def report(self, at: Link, *problems: Problem) -> None:
        path = ("baseline", "output", *unroll(at))
        self.problems += [replace(problem, at=path) for problem in problems]

    def _object(self, value: dict[str, Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        """The node of an object, with nodes only where they are needed."""
        if mode.type == "numeric":
            return self._numbers(value, mode, state, at)
        if whole:
            return Object(value, mode, state, (), value, at)
        if not mode.asks_for_change and is_untouched(value, state):
            self.checked += 1
            return Literal(value, mode, state, at)
        names = value.keys() if state.names is None or mode.asks_for_change else state.names
        size, below = len(value), state.below_any_key()
        texts, ignored = [], []
        nodes: dict[str, Node] = {}
        rest: dict[str, Json] = {}
        for key, item in value.items():
            if key in names:
                node = self.below(item, mode, state, key, size, (at, key))
                if isinstance(node, Ignored) and not (isinstance(item, str) and has_marker(item)):
                    ignored.append((key, item.__class__, node.rule, node.keep))
                else:
                    nodes[key] = node
            elif isinstance(item, dict | list):
                node = self.node(item, mode, below, (at, key))
                if isinstance(node, Literal):
                    rest[key] = item
                else:
                    nodes[key] = node
            elif isinstance(item, str) and has_marker(item):
                template = self._template_or_report(item, (at, key))
                if isinstance(template, str):
                    nodes[key] = self._scalar(item, template, mode, (at, key))
                else:
                    self.checked += 1
                    texts.append((key, template))
            else:
                rest[key] = item
        self.checked += bool(rest) or not value
        return Object(value, mode, state, tuple(nodes.items()), rest, at, tuple(texts), tuple(ignored))

    def _numbers(self, value: dict[str, Json], mode: Mode, state: State, at: Link) -> Node:
        """The node of an object of which only the numbers are compared."""
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
        return Object(value, mode, state, tuple(nodes.items()), rest, at, open=True)

    def _array(self, value: list[Json], mode: Mode, state: State, at: Link, whole: bool) -> Node:
        ignoring = state.any_elements()
        if ignoring is not None and ignoring.ignore is not None:
            self.hits.update(ignoring.rules)
            if mode.type == "numeric" and at is not None and not _holds_compared_number(value):
                return Uncompared(value, at)
            self.checked += 1
            return AnyElements(value, ignoring.ignore, at)
        array_mode = (
            state.here.arrays.arrays if state.here is not None and state.here.arrays is not None else None
        )
        if whole:
            return _ArrayCompiler(self, value, array_mode, mode, state, at).opened()
        literal = array_mode is None and mode.type != "numeric" and not mode.asks_for_change
        if literal and is_untouched(value, state):
            self.checked += 1
            return Literal(value, mode, state, at)
        return _ArrayCompiler(self, value, array_mode, mode, state, at).node()


def _holds_compared_number(value: Json) -> bool:
    """Whether a numeric comparison looks at anything in a value: at a number, or a placeholder."""
    leaves = (leaf for _, leaf in places(value) if not isinstance(leaf, dict | list))
    return any(is_number(leaf) or (isinstance(leaf, str) and has_marker(leaf)) for leaf in leaves)


def mode_here(mode: Mode, here: ActiveRules) -> Mode:
    """The mode below rules that do not leave a value out."""
    if here.fields is not None and here.fields.fields is not None:
        mode = field_mode(here.fields.fields, here.fields, mode)
    if here.tolerances:
        rule = here.tolerances[0]
        bounds = [(r.tolerance, r.text) for r in here.tolerances if r.tolerance is not None]
        mode = mode.tolerating(*bounds[0], rule.pattern.specificity, tuple(bounds[1:]))
    return mode


class _ArrayCompiler(MutableStruct):
    """Compiles an array. `array_mode`: how its rules say that it is compared. The modules that compare arrays
    are imported here because that takes time, and many outputs hold no array."""

    compiler: Compiler
    value: list[Json]
    array_mode: ArrayMode | None
    mode: Mode
    state: State
    at: Link

    def node(self) -> Node:
        """The node of the array, with a node for each row."""
        value, mode, compiler = self.value, self.mode, self.compiler
        if self.array_mode is not None and self.array_mode != "ordered" and mode.type == "exact":
            message = f"an exact comparison keeps the order of arrays, {str(self.array_mode)!r} has no effect"
            compiler.report(self.at, Problem("BK222", message, "use type: structural"))
        if self.array_mode is None and mode.type in ("structural", "semantic") and len(value) == 1:
            self.array_mode = "each" if describes_many(value[0]) else None
        if self.array_mode is not None:
            compiler.arrays[unroll(self.at)] = str(self.array_mode)
        if isinstance(self.array_mode, By):
            from baselinekit.matching.keyed import reason_against_key

            if reason := reason_against_key(self.compared_rows(), self.array_mode.by):
                compiler.report(self.at, Problem("BK221", reason, "use unordered, or another key"))
        compiler.checked += not value
        return self.rows()

    def opened(self) -> Node:
        """The node of a literal array once a different value was found; all that the array holds is
        literal."""
        from baselinekit.matching.arrays import Ordered

        items: list[Node] = []
        for n, item in enumerate(self.value):
            below, place = self.state.step(n, item, len(self.value)), (self.at, n)
            if isinstance(item, dict | list):
                items.append(Literal(item, self.mode, below, place))
            else:
                items.append(self.compiler.open(item, self.mode, below, place))
        return Ordered(self.value, tuple(items), self.mode, self.state, self.at)

    def compared_rows(self) -> list[Json]:
        """The rows that no rule leaves out."""
        if not self.state.distinguishes_elements:
            return self.value
        rows = [(row, self.state.step(n, row, len(self.value)).here) for n, row in enumerate(self.value)]
        return [row for row, here in rows if here is None or here.ignore is None]

    def classes(self) -> list[Hashable] | None:
        """The class of each row. Equal rows of one class match the same values: the same rules hold for both,
        and none of their texts asks a similarity question, which would name its place. None: all rows are of
        one class."""
        value, size = self.value, len(self.value)
        classes: list[Hashable] = [None] * size
        if self.state.same_below is None:
            for n, row in enumerate(value):
                by_place = self.state.filters and self.state.may_leave_out(n, row, size)
                classes[n] = n if by_place else id(self.state.step(n, row, size))
        if self.mode.type == "semantic":
            for n, row in enumerate(value):
                if any(isinstance(self.compiler.template(text), str) for text in texts_in(row)):
                    classes[n] = (n,)
        return classes if any(classes) else None

    def rows(self) -> Node:
        from baselinekit.matching.arrays import Elements, ElementTemplate, Ordered

        value, mode, state, at, compiler = self.value, self.mode, self.state, self.at, self.compiler
        below, size = state.same_below, len(value)

        def item(n: int) -> Node:
            if below is not None and below.here is None:
                return compiler.node_by_type(value[n], mode, below, (at, n))
            return compiler.below(value[n], mode, state, n, size, (at, n))

        items = tuple(map(item, range(size)))
        if mode.type == "numeric" and at is not None and all(isinstance(node, Uncompared) for node in items):
            return Uncompared(value, at)
        ignoring = state.below_any_key().here if state.distinguishes_elements else None
        elements = Elements(
            value,
            state,
            lambda n, row_state: compiler.fresh_copy().node(value[n], mode, row_state, (at, n)),
            ignoring is not None and ignoring.ignore is not None,
        )
        if self.array_mode == "each" and items:
            return ElementTemplate(value, items, mode, at, elements)
        if isinstance(self.array_mode, By):
            from baselinekit.matching.keyed import Keyed

            return Keyed(value, items, self.array_mode.by, mode, at, elements)
        if self.array_mode in ("unordered", "subset"):
            from baselinekit.matching.unordered import Unordered

            subset = self.array_mode == "subset"
            bindings = compiler.has_bindings and any(token.key for token in tokens_in(value))
            return Unordered(value, items, mode, at, subset, bindings, self.classes(), elements)
        return Ordered(value, items, mode, state, at, open=mode.type == "numeric", elements=elements)
