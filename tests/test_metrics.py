"""The exact figures behind a verdict on repeats."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, strategies as st

from baselinekit.metrics import chance_of_at_most, pass_interval

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passes", "replays", "low", "high"),
    [  # as R's binom.test gives them
        (0, 1, 0.0, 0.975),
        (0, 5, 0.0, 0.5218238),
        (3, 5, 0.1466328, 0.9472550),
        (5, 5, 0.4781762, 1.0),
        (9, 10, 0.5549839, 0.9974714),
        (50, 100, 0.3983211, 0.6016789),
        (999, 1000, 0.9944411, 0.9999747),
    ],
)
def test_the_interval_is_that_of_clopper_and_pearson(
    passes: int, replays: int, low: float, high: float
) -> None:
    assert pass_interval(passes, replays) == pytest.approx((low, high), abs=1e-6)


@given(COUNTS, st.fractions(0, 1, max_denominator=50))
def test_the_tail_is_exact(counts: tuple[int, int], rate: Fraction) -> None:
    passes, replays = counts
    exact = sum(comb(replays, k) * rate**k * (1 - rate) ** (replays - k) for k in range(passes + 1))
    assert chance_of_at_most(passes, replays, float(rate)) == pytest.approx(float(exact), abs=1e-9)


@given(COUNTS)
def test_the_interval_holds_the_share_that_was_seen_and_narrows_with_more(counts: tuple[int, int]) -> None:
    passes, replays = counts
    low, high = pass_interval(passes, replays)
    assert low <= passes / replays <= high
    nearer = pass_interval(2 * passes, 2 * replays)
    assert nearer[1] - nearer[0] <= high - low + 1e-9
