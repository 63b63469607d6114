"""The nodes of objects and of response headers."""

from collections.abc import Callable

from baselinekit.frozen import frozen, slotted
from baselinekit.matching.rules import Mode, Rule, State
from baselinekit.matching.values import Ignored, Link, Node, PlaceholderNode, Scalar, Walk
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value, has_marker
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.equality import bytes_of, identical

_SCALARS = (str, int, float, bool, type(None))


@frozen
class ObjectShape:
    """What objects that are alike share, so that a thousand rows do not need a thousand equal nodes: the keys
    that hold a placeholder (and which one), the keys that a rule ignores (and the type there), the keys with
    nodes of their own. `open`: further keys do not matter."""

    mode: Mode
    state: State
    open: bool = False
    texts: tuple[tuple[str, str, Callable[[Json], bool] | None, Placeholder | Inline], ...] = ()
    ignored: tuple[tuple[str, type, Rule, bool], ...] = ()
    deeper: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()  # all these keys: those outside the literal part

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal to itself alone

    def literal_part(self, row: dict[str, Json]) -> dict[str, Json] | None:
        """The literal part of a row of this shape; None if the row has another shape."""
        rest = row.copy()
        for key, text, _, _ in self.texts:
            if rest.pop(key, None) != text:
                return None
        for key, kind, _, _ in self.ignored:
            value = rest.pop(key, ABSENT)
            if value.__class__ is not kind or (isinstance(value, str) and has_marker(value)):
                return None  # a placeholder may say that the value need not be there
        for key in self.deeper:
            if rest.pop(key, ABSENT) is ABSENT:
                return None
        return rest


@slotted
class Object:
    """An object: its shape, `nodes` for the keys that need one, and the bytes of its literal part. `opened`:
    the nodes of literal values, made when a different value was found."""

    expected: dict[str, Json]
    shape: ObjectShape
    nodes: tuple[tuple[str, Node], ...]
    data: bytes | None
    at: Link
    cached_literals: dict[str, Json] | None = None
    optional: bool = False
    opened: dict[str, Node] | None = None

    @property
    def mode(self) -> Mode:
        return self.shape.mode

    @property
    def literal_fields(self) -> dict[str, Json]:
        """The literal part, computed on first use."""
        if self.cached_literals is None:
            taken = self.shape.taken
            self.cached_literals = {key: value for key, value in self.expected.items() if key not in taken}
        return self.cached_literals

    def refuses(self, actual: Json) -> bool:
        """Whether a placeholder does not accept the actual value: a quick check before anything else."""
        texts = self.shape.texts if actual.__class__ is dict else ()
        return any(
            accepts is not None and key in actual and not accepts(actual[key]) for key, _, accepts, _ in texts
        )

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self.expected, actual, path, self.at)
        shape = self.shape
        changed: dict[str, Json] = {}
        remaining = actual.copy()
        start = walk.count
        for key, _, accepts, template in shape.texts:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value is ABSENT:
                if not template.optional:
                    self._report_missing(key, self.expected[key], walk, path, changed)
            elif not (
                template.accepts(actual_value, walk.bindings) if accepts is None else accepts(actual_value)
            ):
                refusing = PlaceholderNode(self.expected[key], template, (self.at, key))
                changed[key] = refusing.refuse(actual_value, walk, (path, key))
        for key, kind, rule, keep in shape.ignored:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value.__class__ is kind:
                walk.hits.add(rule)
            elif actual_value is not ABSENT:
                Ignored(self.expected[key], rule, (self.at, key), keep).walk(actual_value, walk, (path, key))
            elif keep:
                self._report_missing(key, self.expected[key], walk, path, changed)
        for key, node in self.nodes:
            actual_value = remaining.pop(key, ABSENT)
            if actual_value is not ABSENT:
                resolved = node.walk(actual_value, walk, (path, key))
                if resolved is not node.expected:
                    changed[key] = resolved
            elif not node.optional:
                self._report_missing(key, node.expected, walk, path, changed)
        differences_so_far = walk.count - start and max(len(changed), 1)
        count = walk.count
        if self.data is None or bytes_of(remaining) != self.data:
            self._walk_literals(remaining, walk, path, changed)
            if not remaining.keys() <= self.literal_fields.keys():
                self._report_extra(remaining, actual, walk, path, changed)
        if differences_so_far > 1 or (differences_so_far and walk.count != count):
            walk.shuffled = True
        moved = False
        if not shape.mode.allow_field_reordering:
            before = [key for key in self.expected if key in actual]
            after = [key for key in actual if key in self.expected]
            moved = before != after
            if moved:
                walk.differ(path, "order", before, after, self.at, "allow_field_reordering")
        return self._build_resolved(actual, changed, moved) if changed or moved else self.expected

    def _walk_literals(
        self, remaining: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        equal = []
        for key, value in self.literal_fields.items():
            actual_value = remaining.get(key, ABSENT)
            kind = value.__class__
            if actual_value.__class__ is kind and actual_value == value:
                if kind is dict or kind is list:
                    equal.append((key, value, actual_value))
            elif actual_value is ABSENT:
                self._report_missing(key, value, walk, path, changed)
            else:
                self._walk_differing(key, value, actual_value, walk, path, changed)
        if equal and not identical(
            [value for _, value, _ in equal], [actual_value for _, _, actual_value in equal]
        ):
            walk.shuffled = True
            for key, value, actual_value in equal:  # `==` takes true for 1, even deep inside
                self._walk_differing(key, value, actual_value, walk, path, changed)

    def _walk_differing(
        self, key: str, value: Json, actual_value: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        mode = self.shape.mode
        if value.__class__ in _SCALARS and mode.type in ("structural", "exact"):
            node: Node = Scalar(value, value, mode, (self.at, key))
        else:
            self.opened = {} if self.opened is None else self.opened
            if key not in self.opened:
                below = self.shape.state.step(key, value, len(self.expected))
                self.opened[key] = walk.open(value, mode, below, (self.at, key))
            node = self.opened[key]
        resolved = node.walk(actual_value, walk, (path, key))
        if resolved is not value:
            changed[key] = resolved

    def _report_missing(
        self, key: str, value: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        if not self.shape.mode.allow_missing_fields:
            walk.missing(value, (self.at, key), (path, key))
            changed[key] = ABSENT

    def _report_extra(
        self,
        remaining: dict[str, Json],
        actual: dict[str, Json],
        walk: Walk,
        path: Link,
        changed: dict[str, Json],
    ) -> None:
        """Report the keys that the actual object has beyond the baseline."""
        shape = self.shape
        allowed = shape.open or shape.mode.allow_additional_fields
        if allowed and shape.state.dead:
            return
        for key, value in remaining.items():
            if key in self.literal_fields:
                continue
            here = shape.state.step_alone(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _build_resolved(
        self, actual: dict[str, Json], changed: dict[str, Json], moved: bool
    ) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        if moved or not self.shape.mode.allow_field_reordering:
            resolved = {key: resolved[key] for key in actual if key in resolved} | resolved
        elif len(resolved) > len(self.expected):
            from baselinekit.tree.changes import with_new_keys

            actual_keys = [key for key in actual if key in resolved]
            resolved = {key: resolved[key] for key in with_new_keys(self.expected, actual_keys)}
        if any(value is ABSENT for value in changed.values()):
            return {key: value for key, value in resolved.items() if value is not ABSENT}
        return resolved


@slotted
class Headers:
    """Response headers: names ignore case, and further headers are ignored."""

    fields: Object
    optional: bool = False

    @property
    def expected(self) -> Json:
        return self.fields.expected

    @property
    def at(self) -> Link:
        return self.fields.at

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, dict):
            return walk.replaced(self.expected, actual, path, self.at)
        spelled = {key.casefold(): key for key in self.fields.expected}
        return self.fields.walk(
            {spelled.get(key.casefold(), key): value for key, value in actual.items()}, walk, path
        )
