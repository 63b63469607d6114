"""Arrays whose elements are paired by the value of a key; their order is free."""

from collections.abc import Hashable, Sequence

from baselinekit.matching.arrays import Elements
from baselinekit.matching.rules import Mode
from baselinekit.matching.values import Link, Node, Walk
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape_value, holds_marker
from baselinekit.structs import MutableStruct
from baselinekit.values.equality import freeze


class Keyed(MutableStruct):
    """Elements paired by the value of a key; their order is free."""

    expected: list[Json]
    items: tuple[Node, ...]
    key: str
    mode: Mode
    at: Link
    elements: Elements
    optional: bool = False

    def walk(self, actual: Json, walk: Walk, path: Link) -> Json:
        if not isinstance(actual, list):
            return walk.replaced(self.expected, actual, path, self.at)
        before = walk.count
        places: dict[Hashable, int] = {}
        resolved: dict[int, Json] = {}
        ignored = self.elements.left_out(actual, walk)
        nameless = []
        for index, value in enumerate(actual):
            name = self._key_value(value)
            if index in ignored and (name is None or name in places):
                nameless.append(index)
            elif name is None or name in places:
                note = f"has no {self.key}" if name is None else f"the second with this {self.key}"
                walk.extra(value, (path, index), self.at, note)
                resolved[index] = escape_value(value)
            else:
                places[name] = index
        pairs: dict[int, int] = {}
        unpaired = []
        for e, node in enumerate(self.items):
            a = places.pop(self._key_value(node.expected), None)
            if a is None:
                unpaired.append(e)
            else:
                pairs[e] = a
                resolved[a] = node.walk(actual[a], walk, (path, a))
        spare = [*nameless, *(a for a in places.values() if a in ignored)]
        partners = self.elements.partners(unpaired, self.items, spare)
        for e, a in partners.items():
            pairs[e], resolved[a] = a, self.items[e].expected
        for e in self.elements.missing(unpaired, self.items, partners):
            walk.missing(self.items[e].expected, (self.at, e), (path, e))
        for a in places.values():
            if a in ignored:
                continue
            walk.extra(actual[a], (path, a), self.at)
            resolved[a] = escape_value(actual[a])
        if walk.count == before:
            return self.expected
        walk.shuffled = True
        return in_authors_order(resolved, pairs)

    def _key_value(self, row: Json) -> Hashable:
        return freeze(row[self.key]) if isinstance(row, dict) and self.key in row else None


def reason_against_key(rows: Sequence[Json], key: str) -> str | None:
    """The reason why rows cannot be paired by a key; None if they can."""
    names = [row.get(key) if isinstance(row, dict) else None for row in rows]
    if any(name is None or holds_marker(name) or isinstance(name, dict | list) for name in names):
        return f"the array cannot be paired by {key!r}: not every element has a literal {key}"
    if len({freeze(name) for name in names}) != len(names):
        return f"the array cannot be paired by {key!r}: two elements have the same {key}"
    return None


def in_authors_order(resolved: dict[int, Json], pairs: dict[int, int]) -> list[Json]:
    """The rows of an array whose order is free: first the rows of the baseline in the author's order, then
    the further ones. A row that only moved is no change."""
    place = {a: e for e, a in pairs.items()}
    return [resolved[a] for a in sorted(resolved, key=lambda a: (a not in place, place.get(a, a)))]
