"""Objects, the response headers among them."""

from collections.abc import Callable

from baselinekit.frozen import frozen, slotted
from baselinekit.matching.rules import Mode, Rule, State
from baselinekit.matching.values import Ignored, Link, Node, PlaceholderNode, Scalar, Walk
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value
from baselinekit.placeholders.template import Inline, Placeholder
from baselinekit.tree.equality import bytes_of, identical

_PLAIN = (str, int, float, bool, type(None))


@frozen
class ObjectShape:
    """What objects that are alike share, so that a thousand rows do not make a thousand times the same nodes:
    the keys that hold a placeholder (and which), the keys that a rule ignores (and the type found there), the
    keys with nodes of their own. `open`: further keys do not matter."""

    mode: Mode
    state: State
    open: bool = False
    texts: tuple[tuple[str, str, Callable[[Json], bool] | None, Placeholder | Inline], ...] = ()
    ignored: tuple[tuple[str, type, Rule, bool], ...] = ()
    deeper: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()  # all these keys: those that are not of the literal part

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal to itself alone

    def literal_part(self, row: dict[str, Json]) -> dict[str, Json] | None:
        """What is left of a row of this shape; None if it has another one."""
        rest = row.copy()
        for key, text, _, _ in self.texts:
            if rest.pop(key, None) != text:
                return None
        for key, kind, _, _ in self.ignored:
            if rest.pop(key, ABSENT).__class__ is not kind:
                return None
        for key in self.deeper:
            if rest.pop(key, ABSENT) is ABSENT:
                return None
        return rest


@slotted
class Object:
    """An object: its shape, `nodes` under the keys where that is not enough, and the bytes of the rest, which
    is literal. `opened`: the nodes of literal values, made when something else than they was met."""

    expected: dict[str, Json]
    shape: ObjectShape
    nodes: tuple[tuple[str, Node], ...]
    data: bytes | None
    at: Link
    stated: dict[str, Json] | None = None
    optional: bool = False
    opened: dict[str, Node] | None = None

    @property
    def mode(self) -> Mode:
        return self.shape.mode

    @property
    def rest(self) -> dict[str, Json]:
        """The literal part, made when it is looked into."""
        if self.stated is None:
            taken = self.shape.taken
            self.stated = {key: value for key, value in self.expected.items() if key not in taken}
        return self.stated

    def refuses(self, actual: Json) -> bool:
        """Whether a placeholder, which is looked at before all else, does not accept what stands there."""
        texts = self.shape.texts if actual.__class__ is dict else ()
        return any(
            accepts is not None and key in actual and not accepts(actual[key]) for key, _, accepts, _ in texts
        )

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self.expected, actual, path, self.at)
        shape = self.shape
        changed: dict[str, Json] = {}
        left = actual.copy()
        start = walk.count
        for key, _, accepts, template in shape.texts:
            got = left.pop(key, ABSENT)
            if got is ABSENT:
                if not template.optional:
                    self._missing(key, self.expected[key], walk, path, changed)
            elif not (template.accepts(got, walk.bindings) if accepts is None else accepts(got)):
                stand = PlaceholderNode(self.expected[key], template, (self.at, key))
                changed[key] = stand.refuse(got, walk, (path, key))
        for key, kind, rule, keep in shape.ignored:
            got = left.pop(key, ABSENT)
            if got.__class__ is kind:
                walk.hits.add(rule)
            elif got is not ABSENT:
                Ignored(self.expected[key], rule, (self.at, key), keep).walk(got, walk, (path, key))
            elif keep:
                self._missing(key, self.expected[key], walk, path, changed)
        for key, node in self.nodes:
            got = left.pop(key, ABSENT)
            if got is not ABSENT:
                resolved = node.walk(got, walk, (path, key))
                if resolved is not node.expected:
                    changed[key] = resolved
            elif not node.optional:
                self._missing(key, node.expected, walk, path, changed)
        early = walk.count - start and max(len(changed), 1)
        met = walk.count
        if self.data is None or bytes_of(left) != self.data:
            self._literal(left, walk, path, changed)
            if not left.keys() <= self.rest.keys():
                self._further(left, actual, walk, path, changed)
        if early > 1 or (early and walk.count != met):
            walk.shuffled = True
        moved = False
        if not shape.mode.allow_field_reordering:
            before = [key for key in self.expected if key in actual]
            after = [key for key in actual if key in self.expected]
            moved = before != after
            if moved:
                walk.differ(path, "order", before, after, self.at, "allow_field_reordering")
        return self._resolved(actual, changed, moved) if changed or moved else self.expected

    def _literal(self, left: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        equal = []
        for key, value in self.rest.items():
            got = left.get(key, ABSENT)
            kind = value.__class__
            if got.__class__ is kind and got == value:
                if kind is dict or kind is list:
                    equal.append((key, value, got))
            elif got is ABSENT:
                self._missing(key, value, walk, path, changed)
            else:
                self._differing(key, value, got, walk, path, changed)
        if equal and not identical([value for _, value, _ in equal], [got for _, _, got in equal]):
            walk.shuffled = True
            for key, value, got in equal:  # `==` takes true for 1, deep inside as well
                self._differing(key, value, got, walk, path, changed)

    def _differing(
        self, key: str, value: Json, got: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> None:
        mode = self.shape.mode
        if value.__class__ in _PLAIN and mode.type in ("structural", "exact"):
            node: Node = Scalar(value, value, mode, (self.at, key))
        else:
            self.opened = {} if self.opened is None else self.opened
            if key not in self.opened:
                below = self.shape.state.step(key, value, len(self.expected))
                self.opened[key] = walk.open(value, mode, below, (self.at, key))
            node = self.opened[key]
        resolved = node.walk(got, walk, (path, key))
        if resolved is not value:
            changed[key] = resolved

    def _missing(self, key: str, value: Json, walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        if not self.shape.mode.allow_missing_fields:
            walk.missing(value, (self.at, key), (path, key))
            changed[key] = ABSENT

    def _further(
        self,
        left: dict[str, Json],
        actual: dict[str, Json],
        walk: Walk,
        path: Link,
        changed: dict[str, Json],
    ) -> None:
        """What the actual object has beyond the baseline."""
        shape = self.shape
        allowed = shape.open or shape.mode.allow_additional_fields
        if allowed and shape.state.dead:
            return
        for key, value in left.items():
            if key in self.rest:
                continue
            here = shape.state.step_alone(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _resolved(self, actual: dict[str, Json], changed: dict[str, Json], moved: bool) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        if moved or not self.shape.mode.allow_field_reordering:
            resolved = {key: resolved[key] for key in actual if key in resolved} | resolved
        elif len(resolved) > len(self.expected):
            from baselinekit.tree.changes import with_new_keys

            came = [key for key in actual if key in resolved]
            resolved = {key: resolved[key] for key in with_new_keys(self.expected, came)}
        if any(value is ABSENT for value in changed.values()):
            return {key: value for key, value in resolved.items() if value is not ABSENT}
        return resolved


@slotted
class Headers:
    """Response headers: names ignore case, further ones are ignored."""

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
