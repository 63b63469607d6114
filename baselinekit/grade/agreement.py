"""How far raters agree: on one item, and over many of them beyond what chance would give."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import Literal, TypeVar

Value = bool | int | float | str | None
"""What one rater says of one unit; None where nothing was said."""

V = TypeVar("V")

Level = Literal["nominal", "ordinal", "interval"]


def share_of_most(values: Sequence[V]) -> float:
    """Per-cent agreement on one item: the share of the raters who say what most of them say."""
    return max(map(values.count, values)) / len(values)


def nearness(values: Sequence[float], low: float, high: float) -> float:
    """Agreement on a scale: 1 less the mean squared distance between two raters, as a share of the widest one
    there is. Neighbours nearly agree, opposite ends do not at all."""
    distances = [((left - right) / (high - low)) ** 2 for left, right in combinations(values, 2)]
    return 1 - fsum(distances) / len(distances) if distances else 1.0


def concordance(rankings: Sequence[Mapping[int, float]]) -> float:
    """Agreement of rankings: the share of the pairs of items that two raters order alike, over all pairs of
    raters. A tie of one of them is half."""
    found = []
    for left, right in combinations(rankings, 2):
        for first, second in combinations(sorted(left), 2):
            a, b = _sign(left[first] - left[second]), _sign(right[first] - right[second])
            found.append(1 - abs(a - b) / 2)
    return fsum(found) / len(found) if found else 1.0


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def cohen_kappa(first_rater: Sequence[Value], second_rater: Sequence[Value]) -> float | None:
    """Agreement of two raters beyond chance. None where it is not defined: without a unit, or where both
    always say the same one thing."""
    pairs = [
        (a, b) for a, b in zip(first_rater, second_rater, strict=True) if a is not None and b is not None
    ]
    if not pairs:
        return None
    count = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / count
    chance = sum(first[value] * second[value] for value in first) / count**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def krippendorff(units: Sequence[Sequence[Value]], level: Level) -> float | None:
    """Krippendorff's alpha: any number of raters, and None for a rating that is missing. None where it is not
    defined: nothing was rated twice, or everybody always says the same one thing."""
    paired = [values for values in map(_stated, units) if len(values) > 1]
    totals = Counter(value for unit in paired for value in unit)
    count = sum(totals.values())
    if len(totals) < 2:
        return None
    distance = _distances(totals, level)
    observed = fsum(2 * distance(a, b) / (len(unit) - 1) for unit in paired for a, b in combinations(unit, 2))
    chance = fsum(2 * totals[a] * totals[b] * distance(a, b) for a, b in combinations(totals, 2))
    return 1 - (count - 1) * observed / chance


def _stated(unit: Sequence[Value]) -> list[Value]:
    return [value for value in unit if value is not None]


def _distances(totals: Mapping[Value, int], level: Level) -> Callable[[Value, Value], float]:
    if level == "nominal":
        return lambda a, b: float(a != b)
    if level == "interval":
        return lambda a, b: (float(a or 0) - float(b or 0)) ** 2
    below, middle = 0.0, {}
    for value in sorted(totals, key=lambda value: float(value or 0)):
        middle[value] = below + totals[value] / 2  # ranks of those before it, and half of those alike
        below += totals[value]
    return lambda a, b: (middle[a] - middle[b]) ** 2
