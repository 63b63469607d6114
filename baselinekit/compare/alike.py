"""An array of rows that are all alike, judged by their columns. What does not pass so is looked into row by
row."""

from collections.abc import Callable
from dataclasses import dataclass

from baselinekit.compare.align import same_rows
from baselinekit.compare.columns import Change, Columns
from baselinekit.compare.leaves import Scalar
from baselinekit.compare.mode import Mode
from baselinekit.compare.walk import Link, Node, Walk
from baselinekit.model.values import Json

_PLAIN = {str, int, float, bool}


@dataclass(slots=True, eq=False)
class Alike:
    """`make` gives the node that looks into each row; `ordered`: the rows stay where they are."""

    expected: list[Json]
    columns: Columns
    mode: Mode
    ordered: bool
    make: Callable[[], Node]
    at: Link
    optional: bool = False
    opened: Node | None = None

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if actual.__class__ is list and len(actual) == len(self.expected):
            changed: list[Change] | None = None
            if self.columns.fit(actual):
                changed = []
            elif self.ordered and same_rows(self.expected, actual):
                changed = self.columns.changed(self.expected, actual)
            if changed is not None:
                walk.hits.update(self.columns.rules)
                return self._values(changed, walk, path)
        if self.opened is None:
            self.opened = self.make()
        return self.opened.walk(actual, walk, path)

    def _values(self, changed: list[Change], walk: Walk, path: Link) -> Json:
        """The array with other values where it has them, and rows that are what they were everywhere else."""
        keys, at, elsewhere, plain = self.columns.literal, self.at, path != self.at, self.mode.plain
        rows: dict[int, dict[str, Json]] = {}
        for n, number, value, got in changed:
            key = keys[number]
            place = ((at, n), key)
            where = ((path, n), key) if elsewhere else place
            if plain and value.__class__ is got.__class__ in _PLAIN:
                seen = walk.replaced(value, got, where, place)
            else:
                seen = self._node(value, place, walk).walk(got, walk, where)
            if seen is not value:
                if n not in rows:
                    rows[n] = self.expected[n].copy()
                rows[n][key] = seen
        return [rows.get(n, row) for n, row in enumerate(self.expected)] if rows else self.expected

    def _node(self, value: Json, place: Link, walk: Walk) -> Node:
        if isinstance(value, dict | list) or self.mode.type == "semantic":
            return walk.open(value, self.mode, self.columns.below, place)
        return Scalar(value, value, self.mode, place)
