"""The exact figures behind a verdict on repeats."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, strategies as st

from baselinekit.metrics import (
    PRESETS,
    beta_share,
    chance_of_at_most,
    clustered_interval,
    metric_name,
    pass_at_k,
    pass_hat_k,
    pass_hat_k_unbiased,
    pass_interval,
    wilson,
)

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


@pytest.mark.slow
@given(COUNTS, st.fractions(0, 1, max_denominator=50))
def test_the_tail_is_exact(counts: tuple[int, int], rate: Fraction) -> None:
    passes, replays = counts
    exact = sum(comb(replays, k) * rate**k * (1 - rate) ** (replays - k) for k in range(passes + 1))
    assert chance_of_at_most(passes, replays, float(rate)) == pytest.approx(float(exact), abs=1e-9)


@pytest.mark.slow
@given(COUNTS)
def test_the_interval_holds_the_share_that_was_seen_and_narrows_with_more(counts: tuple[int, int]) -> None:
    passes, replays = counts
    low, high = pass_interval(passes, replays)
    assert low <= passes / replays <= high
    nearer = pass_interval(2 * passes, 2 * replays)
    assert nearer[1] - nearer[0] <= high - low + 1e-9


@pytest.mark.parametrize(
    ("k", "value"),
    [(1, 0.3), (2, 0.5333333), (3, 0.7083333), (5, 0.9166667), (7, 0.9916667), (8, 1.0), (10, 1.0)],
)
def test_h50_one_of_k_attempts_passes(k: int, value: float) -> None:
    assert pass_at_k(10, 3, k) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(("attempts", "passed", "k"), [(2, 0, 3), (0, 0, 1), (2, 2, 3), (9, 9, 10)])
def test_h51_of_fewer_attempts_nobody_can_tell(attempts: int, passed: int, k: int) -> None:
    assert pass_at_k(attempts, passed, k) is None
    assert pass_hat_k_unbiased(attempts, passed, k) is None


@pytest.mark.parametrize("wrong", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (-1, -1, 1)])
def test_h51_counts_that_cannot_be_are_refused(wrong: tuple[int, int, int]) -> None:
    for rule in (pass_at_k, pass_hat_k, pass_hat_k_unbiased):
        with pytest.raises(ValueError, match="attempts passed"):
            rule(*wrong)


def test_h52_all_of_k_attempts_pass() -> None:
    assert [pass_hat_k(10, 8, k) for k in (1, 3, 5)] == pytest.approx([0.8, 0.512, 0.32768])
    assert [pass_hat_k_unbiased(10, 8, k) for k in (1, 3, 5)] == pytest.approx([0.8, 0.4666667, 0.2222222])
    assert pass_hat_k(0, 0, 3) == 0.0


@given(COUNTS, st.integers(1, 60))
def test_pass_at_k_is_what_drawing_without_putting_back_gives(counts: tuple[int, int], k: int) -> None:
    passed, attempts = counts
    found = pass_at_k(attempts, passed, k)
    if k > attempts:
        assert found is None
        return
    none = Fraction(comb(attempts - passed, k), comb(attempts, k))
    assert found == pytest.approx(float(1 - none))
    unbiased = pass_hat_k_unbiased(attempts, passed, k)
    assert unbiased is not None
    assert unbiased <= pass_hat_k(attempts, passed, k) + 1e-12 <= (found or 0.0) + 2e-12


def test_h54_the_names_of_metrics_and_the_thresholds_on_the_way_to_users() -> None:
    names = {"pass@1": ("@", 1), "pass_at_1": ("@", 1), "pass^3": ("^", 3), "pass_hat_3": ("^", 3)}
    names |= {"PASS@10": ("@", 10), "pass@1 ": ("@", 1)}
    assert {name: metric_name(name) for name in names} == names
    assert [metric_name(name) for name in ("pass@0", "pass", "pass@", "accuracy", "pass@1.5")] == [None] * 5
    assert PRESETS["development"] == {"pass@1": 0.70, "pass@3": 0.90, "pass^3": 0.50}
    assert PRESETS["staging"] == {"pass@1": 0.80, "pass@3": 0.95, "pass^3": 0.65}
    assert PRESETS["production"] == {"pass@1": 0.90, "pass@3": 0.99, "pass^3": 0.80}
    assert PRESETS["critical"] == {"pass@1": 0.95, "pass@3": 0.999, "pass^3": 0.90}


@given(COUNTS)
def test_the_score_interval_ends_where_the_share_is_two_standard_errors_away(counts: tuple[int, int]) -> None:
    passed, count = counts
    share = passed / count
    low, high = wilson(share, count)
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(1.959963985 * (end * (1 - end) / count) ** 0.5)
    assert (low == 0) == (passed == 0)
    assert (high == 1) == (passed == count)


def test_of_nothing_every_share_is_possible() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "x", "share"),
    [
        (1, 1, 0.3, 0.3),
        (2, 3, 0.5, 0.6875),
        (5, 1, 0.5, 0.03125),
        (0.5, 0.5, 0.5, 0.5),
        (3, 4, 0, 0),
        (3, 4, 1, 1),
    ],
)
def test_the_incomplete_beta_function(a: float, b: float, x: float, share: float) -> None:
    assert beta_share(a, b, x) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("passed", range(8))
def test_cases_with_one_attempt_have_the_exact_interval(passed: int) -> None:
    cases = [(1, int(number < passed)) for number in range(7)]
    assert clustered_interval(cases) == pytest.approx(pass_interval(passed, 7), abs=1e-9)


def test_attempts_that_agree_within_each_case_tell_as_much_as_the_cases() -> None:
    alike = clustered_interval([(10, 10)] * 7 + [(10, 0)] * 3)
    assert alike == pytest.approx(pass_interval(7, 10), abs=1e-9)
    assert clustered_interval([(10, 10)] * 5) == pytest.approx(pass_interval(5, 5), abs=1e-9)


def test_attempts_that_differ_within_each_case_tell_more_than_the_cases() -> None:
    low, high = clustered_interval([(10, 7)] * 10)
    few, many = pass_interval(7, 10), pass_interval(70, 100)
    assert few[0] < low <= many[0] + 1e-9
    assert many[1] - 1e-9 <= high < few[1]
    assert high - low < 2 * (many[1] - many[0])


def test_of_nothing_everything_is_possible() -> None:
    assert clustered_interval([]) == (0, 1)
    assert clustered_interval([(0, 0)]) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("cases", [5, 50])
@pytest.mark.parametrize("attempts", [3, 10])
def test_the_interval_of_attempts_covers_the_rate_however_alike_those_of_a_case_are(
    cases: int, attempts: int
) -> None:
    """The rate of each case is drawn (beta), so that attempts of one correlate by so much."""
    chance = random.Random(cases * 100 + attempts)
    known: dict[tuple[tuple[int, int], ...], tuple[float, float]] = {}
    for alike in (0, 0.3, 0.8):
        for rate in (0.5, 0.8, 0.98):
            covered, widths, runs = 0, 0.0, 250
            for _ in range(runs):
                drawn = []
                for _ in range(cases):
                    own = rate
                    if alike:
                        own = chance.betavariate(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1))
                    drawn.append((attempts, sum(chance.random() < own for _ in range(attempts))))
                seen = tuple(sorted(drawn))
                low, high = known[seen] if seen in known else clustered_interval(seen)
                known[seen] = (low, high)
                covered += low <= rate <= high
                widths += high - low
            assert covered / runs >= 0.93, (alike, rate)
            low, high = pass_interval(round(rate * cases), cases)
            assert widths / runs <= 1.35 * max(high - low, 1 - 0.025 ** (1 / cases)), "no wider than of cases"
