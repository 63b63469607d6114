"""How often an interval of 95 % covers the true rate, where attempts of one case are more or less alike."""

from random import Random

from baselinekit.metrics import clustered_interval, pass_interval

RUNS = 250


def coverage(cases: int, attempts: int, alike: float, rate: float) -> tuple[float, float]:
    """The share of runs whose pooled interval, and that over all attempts, covers the rate."""
    chance = Random(cases * 100 + attempts)
    pooled = plain = 0
    for _ in range(RUNS):
        own = [rate] * cases
        if alike:
            shape = 1 / alike - 1
            own = [chance.betavariate(rate * shape, (1 - rate) * shape) for _ in own]
        passed = [sum(chance.random() < each for _ in range(attempts)) for each in own]
        low, high = clustered_interval([(attempts, count) for count in passed])
        pooled += low <= rate <= high
        low, high = pass_interval(sum(passed), cases * attempts)
        plain += low <= rate <= high
    return pooled / RUNS, plain / RUNS


def test_clustered_interval_covers_the_rate_as_often_as_documented() -> None:
    """As benchmarks/README.md reports."""
    found = [
        coverage(cases, attempts, alike, rate)
        for cases in (5, 50)
        for attempts in (1, 3, 10)
        for alike in (0, 0.3, 0.8)
        for rate in (0.5, 0.8, 0.98)
    ]
    assert (min(pooled for pooled, _ in found), min(plain for _, plain in found)) == (0.94, 0.448)
