"""Objects, and the outputs whose parts are compared only where the baseline states them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baselinekit.compare.leaves import same_scalar
from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import State
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.grammar import escape_value


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """An object, its values sorted by how they are compared: `plain` ones by `==` (no placeholder, no rule,
    no boolean and neither 0 nor 1 in them, so `==` cannot mistake one for another), `scalars` with their
    type, and `nodes`."""

    expected: dict[str, Json]
    plain: tuple[tuple[str, Json], ...]
    scalars: tuple[tuple[str, Json], ...]
    nodes: tuple[tuple[str, Node], ...]
    mode: Mode
    state: State
    at: Link
    open: bool = False
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is not dict:
            return walk.replaced(self, actual, path)
        changed: dict[str, Json] = {}
        present = len(self.plain) + len(self.scalars) + len(self.nodes)
        get = actual.get
        for key, value in self.plain:
            got = get(key, ABSENT)
            if got != value:
                present -= self._unequal(key, value, got, walk, path, changed)
        for key, value in self.scalars:
            got = get(key, ABSENT)
            if got is not value and (got is ABSENT or not same_scalar(value, got, self.mode)):
                present -= self._unequal(key, value, got, walk, path, changed)
        for key, node in self.nodes:
            got = get(key, ABSENT)
            if got is ABSENT:
                present -= self._absent(key, node.expected, node.optional, walk, path, changed)
                continue
            resolved = node.walk(got, walk, (path, key))
            if resolved is not node.expected:
                changed[key] = resolved
        if present != len(actual) or self.open:
            self._further(actual, walk, path, changed)
        if not self.mode.allow_field_reordering:
            self._order(actual, walk, path)
        return self._resolved(changed) if changed else self.expected

    def _unequal(
        self, key: str, value: Json, got: Json, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> bool:
        """A literal value that `==` found unequal: walked now, node by node. True if it is absent."""
        if got is ABSENT:
            return self._absent(key, value, False, walk, path, changed)
        resolved = walk.plain(value, self.mode, (self.at, key)).walk(got, walk, (path, key))
        if resolved is not value:
            changed[key] = resolved
        return False

    def _absent(
        self, key: str, value: Json, optional: bool, walk: Walk, path: Link, changed: dict[str, Json]
    ) -> bool:
        if not optional and not self.mode.allow_missing_fields:
            walk.missing(value, (self.at, key), (path, key))
            changed[key] = ABSENT
        return True

    def _further(self, actual: dict[str, Json], walk: Walk, path: Link, changed: dict[str, Json]) -> None:
        """What the actual object has beyond the baseline."""
        allowed = self.open or self.mode.allow_additional_fields
        if allowed and self.state.dead:
            return
        for key, value in actual.items():
            if key in self.expected:
                continue
            here = self.state.step(key, value, len(actual)).here
            if here is not None:
                walk.hits.update(here.rules)
            if not allowed and (here is None or here.ignore is None):
                walk.extra(value, (path, key), self.at)
                changed[key] = escape_value(value)

    def _order(self, actual: dict[str, Json], walk: Walk, path: Link) -> None:
        before = [key for key in self.expected if key in actual]
        after = [key for key in actual if key in self.expected]
        if before != after:
            walk.differ(path, "order", before, after, self.at, "allow_field_reordering")

    def _resolved(self, changed: dict[str, Json]) -> dict[str, Json]:
        resolved = {**self.expected, **changed}
        return {key: value for key, value in resolved.items() if value is not ABSENT}


@dataclass(frozen=True, slots=True, eq=False)
class Headers:
    """Response headers: names ignore case, further ones are ignored."""

    fields: Object

    @property
    def expected(self) -> Json:
        return self.fields.expected

    @property
    def at(self) -> Link:
        return self.fields.at

    optional = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, dict):
            return walk.replaced(self, actual, path)
        spelled = {key.casefold(): key for key in self.fields.expected}
        return self.fields.walk(
            {spelled.get(key.casefold(), key): value for key, value in actual.items()}, walk, path
        )


def unstated(expected: dict[str, Any], known: Sequence[str]) -> list[str]:
    """The keys of a stored output that are no part of such an output."""
    return [key for key in expected if key not in known]
