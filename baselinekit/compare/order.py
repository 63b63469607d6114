"""Differences in the order of the document: the walk meets placeholders before what is literal."""

from baselinekit.model.comparison import Difference
from baselinekit.model.values import Json

_LAST = 10**9


def in_document_order(differences: list[Difference], expected: Json) -> list[Difference]:
    """Sorted by where the expected values stand; what is extra in an object or array comes last in it."""
    if len(differences) < 2:
        return differences
    places: dict[int, dict[str, int]] = {}

    def rank(difference: Difference) -> tuple[int, ...]:
        ranks = []
        value = expected
        for key in difference.at:
            if isinstance(value, dict) and isinstance(key, str):
                known = places.get(id(value))
                if known is None:
                    known = places[id(value)] = {name: place for place, name in enumerate(value)}
                ranks.append(known.get(key, _LAST))
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                ranks.append(key)
                value = value[key]
        return (*ranks, _LAST) if difference.kind == "extra" else tuple(ranks)

    return sorted(differences, key=rank)
