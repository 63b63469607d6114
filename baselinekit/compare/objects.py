"""Objects, and the response headers among them."""

from dataclasses import dataclass

from baselinekit.compare.literal import bytes_of, identical
from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value


@dataclass(slots=True, eq=False)
class Object:
    """An object: `nodes` under the keys where a placeholder or a rule asks for more, `rest` where the values
    are literal, with its bytes. `open`: further keys do not matter."""

    expected: dict[str, Json]
    nodes: tuple[tuple[str, Node], ...]
    rest: dict[str, Json]
    data: bytes | None
    mode: Mode
    state: State
    at: Link
    open: bool = False
    optional: bool = False
    opened: dict[str, Node] | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self, actual, path)
        changed: dict[str, Json] = {}
        left = actual
        if self.nodes:
            left = actual.copy()
            for key, node in self.nodes:
                got = left.pop(key, ABSENT)
                if got is not ABSENT:
                    resolved = node.walk(got, walk, (path, key))
                    if resolved is not node.expected:
                        changed[key] = resolved
                elif not node.optional:
                    self._missing(key, node.expected, walk, path, changed)
        if self.data is None or bytes_of(left) != self.data:
            self._literal(left, walk, path, changed)
            if not left.keys() <= self.rest.keys():
                self._further(left, actual, walk, path, changed)
        moved = not self.mode.allow_field_reordering and self._order(actual, walk, path)
        return self._resolved(actual, changed, moved) if changed or moved else self.expected

    def _literal(self, left: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        for key, value in self.rest.items():
            got = left.get(key, ABSENT)
            if got is ABSENT:
                self._missing(key, value, walk, path, changed)
            elif not identical(value, got):
                resolved = self._node(key, value, walk).walk(got, walk, (path, key))
                if resolved is not value:
                    changed[key] = resolved

    def _node(self, key: str, value: Json, walk: Walk) -> Node:
        """The node of a literal value, made when something else than it was met."""
        if self.opened is None:
            self.opened = {}
        if key not in self.opened:
            below = self.state.step(key, value, len(self.expected))
            self.opened[key] = walk.open(value, self.mode, below, (self.at, key))
        return self.opened[key]

    def _missing(self, key: str, value: Json, walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        if not self.mode.allow_missing_fields:
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
        allowed = self.open or self.mode.allow_additional_fields
        if allowed and self.state.dead:
            return
        for key, value in left.items():
            if key in self.rest:
                continue
            here = self.state.step(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _order(self, actual: dict[str, Json], walk: Walk, path: Link) -> bool:
        before = [key for key in self.expected if key in actual]
        after = [key for key in actual if key in self.expected]
        if before == after:
            return False
        walk.differ(path, "order", before, after, self.at, "allow_field_reordering")
        return True

    def _resolved(self, actual: dict[str, Json], changed: dict[str, Json], moved: bool) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        if moved or not self.mode.allow_field_reordering:
            resolved = {key: resolved[key] for key in actual if key in resolved} | resolved
        return {key: value for key, value in resolved.items() if value is not ABSENT}


@dataclass(slots=True, eq=False)
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
            return walk.replaced(self, actual, path)
        spelled = {key.casefold(): key for key in self.fields.expected}
        return self.fields.walk(
            {spelled.get(key.casefold(), key): value for key, value in actual.items()}, walk, path
        )
