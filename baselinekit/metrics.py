"""Statistics of counts, computed exactly: with few replays an approximation would be too far off."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations
from math import comb, exp, fsum, lgamma, log, log1p, sqrt
from typing import TypeVar

from baselinekit.lazy import lazy_pattern

_STEPS = 60
"""Halvings of an interval: more than a float has bits."""


def chance_of_at_most(passes: int, replays: int, rate: float) -> float:
    """The probability of at most these passes if a replay passes at this rate: the exact binomial tail."""
    return 1.0 if passes >= replays else beta_share(replays - passes, passes + 1, 1 - rate)


def pass_interval(passes: float, replays: float) -> tuple[float, float]:
    """The 95 % confidence interval of the pass rate (Clopper and Pearson): on either side, it leaves out the
    rates at which counts this far off have a probability below 2.5 %."""
    low = 0.0 if not passes else _bisect(lambda p: beta_share(passes, replays - passes + 1, p) < 0.025)
    if passes == replays:
        return low, 1.0
    return low, _bisect(lambda p: beta_share(passes + 1, replays - passes, p) < 0.975)


def _bisect(before: Callable[[float], bool]) -> float:
    """The rate up to which a condition holds, found by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if before(middle) else (low, middle)
    return (low + high) / 2


_NAME = lazy_pattern(r"pass(?:(@|_at_)|(\^|_hat_))([1-9][0-9]{0,3})")
RATE = "pass rate"
"""The share of the cases that passed, of those that passed or failed."""

PRESETS = {
    "development": {"pass@1": 0.70, "pass@3": 0.90, "pass^3": 0.50},
    "staging": {"pass@1": 0.80, "pass@3": 0.95, "pass^3": 0.65},
    "production": {"pass@1": 0.90, "pass@3": 0.99, "pass^3": 0.80},
    "critical": {"pass@1": 0.95, "pass@3": 0.999, "pass^3": 0.90},
}
"""The thresholds for each stage on the way to production, with three attempts a case."""


def pass_at_k(attempts: int, passed: int, k: int) -> float | None:
    """The probability that at least one of k attempts passes, without bias: 1 - C(n-c, k) / C(n, k). None if
    there were fewer than k attempts."""
    _check_counts(attempts, passed, k)
    if k > attempts:
        return None
    return float(1 - comb(attempts - passed, k) / comb(attempts, k))


def pass_hat_k(attempts: int, passed: int, k: int) -> float:
    """The probability that all of k attempts pass, if each passes as often as these did: (c / n) ** k."""
    _check_counts(attempts, passed, k)
    return float((passed / attempts) ** k) if attempts else 0.0


def pass_hat_k_unbiased(attempts: int, passed: int, k: int) -> float | None:
    """The same without bias: C(c, k) / C(n, k). None if there were fewer than k attempts."""
    _check_counts(attempts, passed, k)
    return float(comb(passed, k) / comb(attempts, k)) if k <= attempts else None


def _check_counts(attempts: int, passed: int, k: int) -> None:
    if not 0 <= passed <= attempts or k < 1:
        raise ValueError(f"{passed} of {attempts} attempts passed, and k is {k}")


_Z = 1.959963984540054
"""How many standard deviations hold 95 %."""


def wilson(share: float, count: float) -> tuple[float, float]:
    """The 95 % confidence interval of a share of a number of cases (Wilson's score interval)."""
    if not count:
        return 0.0, 1.0
    middle = share + _Z * _Z / (2 * count)
    wide = _Z * sqrt(share * (1 - share) / count + _Z * _Z / (4 * count * count))
    scale = 1 + _Z * _Z / count
    low = 0.0 if share == 0 else max(0.0, (middle - wide) / scale)
    return low, 1.0 if share == 1 else min(1.0, (middle + wide) / scale)


def clustered_interval(cases: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """The confidence interval of the share of attempts that pass; each case is (attempts, passed). Attempts
    of one case are alike and tell less than as many attempts of different cases: the cases are counted."""
    attempts, passed = sum(tries for tries, _ in cases), sum(ok for _, ok in cases)
    return wilson(passed / attempts, len(cases)) if attempts else (0.0, 1.0)


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by a series of positive terms."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    total = term = 1.0
    n = 0
    while term > _SMALL * total:  # each term is smaller than the one before, in the end by x
        term *= (a + b + n) * x / (a + 1 + n)
        total += term
        n += 1
    return total * exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a


_SMALL = 1e-16


def metric_name(text: str) -> tuple[str, int] | None:
    """`pass@3`, `pass_at_3`, `pass^3` and `pass_hat_3` -> ("@" or "^", 3); None for any other name."""
    match = _NAME.fullmatch(text.strip().lower())
    return None if match is None else ("@" if match[1] else "^", int(match[3]))


def canonical_metric(text: str) -> str | None:
    """`pass_at_3` -> `pass@3`, `pass^1` -> `pass@1`, `pass_rate` -> `pass rate`; None for any other name."""
    if text.strip().lower().replace("_", " ").replace("-", " ") == RATE:
        return RATE
    metric = metric_name(text)
    if metric is None:
        return None
    return "pass@1" if metric == ("^", 1) else f"pass{metric[0]}{metric[1]}"


def mcnemar_exact(lost: int, won: int) -> float:
    """The two-sided p-value of so uneven a split of the pairs that differ (McNemar): twice the sum of
    C(b+c, i) / 2**(b+c) for i up to the smaller of b and c, and at most 1."""
    pairs = lost + won
    return min(1.0, float(2 * sum(comb(pairs, i) for i in range(min(lost, won) + 1)) / (1 << pairs)))


def fisher_exact(passed: int, attempts: int, passed_now: int, attempts_now: int) -> float:
    """The two-sided p-value of two such pass rates if there is really only one (Fisher): the sum of all
    C(n, i) C(m, s-i) / C(n+m, s) that are not greater than the share of the observed counts."""
    successes = passed + passed_now

    def ways(count: int) -> int:
        return comb(attempts, count) * comb(attempts_now, successes - count)

    least, most = max(0, successes - attempts_now), min(attempts, successes)
    rare = sum(ways(count) for count in range(least, most + 1) if ways(count) <= ways(passed))
    return rare / comb(attempts + attempts_now, successes)


def holm_adjust(chances: Sequence[float]) -> list[float]:
    """The adjusted p-values of several tests (Holm): the smallest times their number, the next times one
    less, and none smaller than the one before it."""
    adjusted, so_far = [0.0] * len(chances), 0.0
    for rank, index in enumerate(sorted(range(len(chances)), key=lambda index: chances[index])):
        so_far = max(so_far, min(1.0, chances[index] * (len(chances) - rank)))
        adjusted[index] = so_far
    return adjusted


# Agreement of raters: on one item, and over many items beyond chance.


Value = bool | int | float | str | None
"""One rater's value for one unit; None if there is none."""

V = TypeVar("V")


def share_of_most(values: Sequence[V]) -> float:
    """Per-cent agreement on one item: the share of the raters who give the most common value."""
    return max(map(values.count, values)) / len(values)


def scale_agreement(values: Sequence[float], low: float, high: float) -> float:
    """Agreement on a scale: 1 minus the mean squared distance between two raters, relative to the width of
    the scale. Neighbouring values nearly agree, opposite ends do not at all."""
    distances = [((left - right) / (high - low)) ** 2 for left, right in combinations(values, 2)]
    return 1 - fsum(distances) / len(distances) if distances else 1.0


def ranking_agreement(rankings: Sequence[Mapping[int, float]]) -> float:
    """Agreement of rankings: the share of the pairs of items that two raters order alike, over all pairs of
    raters. A tie given by one of them counts as half."""
    agreements = []
    for left, right in combinations(rankings, 2):
        for first, second in combinations(sorted(left), 2):
            signs = [
                (ranks[first] > ranks[second]) - (ranks[first] < ranks[second]) for ranks in (left, right)
            ]
            agreements.append(1 - abs(signs[0] - signs[1]) / 2)
    return fsum(agreements) / len(agreements) if agreements else 1.0


def krippendorff_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """How far the raters of many items agree beyond chance (Krippendorff, for numbers): 1 minus the squared
    distances within items over those between any two ratings. None if all ratings are the same."""
    rated = [unit for unit in units if len(unit) > 1]
    values = Counter(value for unit in rated for value in unit)
    within = fsum(
        fsum((left - right) ** 2 for left, right in permutations(unit, 2)) / (len(unit) - 1) for unit in rated
    )
    pairs = combinations(values.items(), 2)
    between = 2 * fsum(n * m * (left - right) ** 2 for (left, n), (right, m) in pairs)
    return 1 - within * (values.total() - 1) / between if between else None


def cohen_kappa(first_rater: Sequence[Value], second_rater: Sequence[Value]) -> float | None:
    """How far two raters agree beyond chance: (a - e) / (1 - e), with a the share of agreement and e the
    share expected from their rates. None if chance alone explains all of it, as there is only one verdict."""
    pairs = [
        (a, b) for a, b in zip(first_rater, second_rater, strict=True) if a is not None and b is not None
    ]
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[value] * second[value] for value in first)
    if chance == len(pairs) ** 2:
        return None
    return (sum(a == b for a, b in pairs) * len(pairs) - chance) / (len(pairs) ** 2 - chance)
