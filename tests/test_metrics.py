"""The exact figures behind a verdict: on repeats, on the agreement of raters, and between two runs."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, strategies as st

from baselinekit.metrics import (
    PRESETS,
    RATE,
    canonical_metric,
    chance_of_at_most,
    clustered_interval,
    cohen_kappa,
    fisher_exact,
    holm_adjust,
    mcnemar_exact,
    metric_name,
    pass_at_k,
    pass_hat_k,
    pass_hat_k_unbiased,
    pass_interval,
    ranking_agreement,
    scale_agreement,
    share_of_most,
    wilson,
)

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passes", "replays", "low", "high"),
    [  # as R's binom.test gives them
        (0, 5, 0.0, 0.5218238),
        (3, 5, 0.1466328, 0.9472550),
        (5, 5, 0.4781762, 1.0),
        (50, 100, 0.3983211, 0.6016789),
    ],
)
def test_pass_interval_is_clopper_pearson(passes: int, replays: int, low: float, high: float) -> None:
    assert pass_interval(passes, replays) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.slow
@given(COUNTS, st.fractions(0, 1, max_denominator=50))
def test_chance_of_at_most_is_exact(counts: tuple[int, int], rate: Fraction) -> None:
    passes, replays = counts
    exact = sum(comb(replays, k) * rate**k * (1 - rate) ** (replays - k) for k in range(passes + 1))
    assert chance_of_at_most(passes, replays, float(rate)) == pytest.approx(float(exact), abs=1e-9)


@pytest.mark.parametrize(
    ("k", "value"),
    [(1, 0.3), (2, 0.5333333), (3, 0.7083333), (5, 0.9166667), (7, 0.9916667), (8, 1.0), (10, 1.0)],
)
def test_h50_pass_at_k_known_values(k: int, value: float) -> None:
    assert pass_at_k(10, 3, k) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(("attempts", "passed", "k"), [(2, 0, 3), (0, 0, 1), (2, 2, 3), (9, 9, 10)])
def test_h51_pass_at_k_of_too_few_attempts_is_none(attempts: int, passed: int, k: int) -> None:
    assert pass_at_k(attempts, passed, k) is None
    assert pass_hat_k_unbiased(attempts, passed, k) is None


@pytest.mark.parametrize("wrong", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (-1, -1, 1)])
def test_h51_pass_at_k_impossible_counts_are_refused(wrong: tuple[int, int, int]) -> None:
    for rule in (pass_at_k, pass_hat_k, pass_hat_k_unbiased):
        with pytest.raises(ValueError, match="attempts passed"):
            rule(*wrong)


def test_h52_pass_hat_k_known_values() -> None:
    assert [pass_hat_k(10, 8, k) for k in (1, 3, 5)] == pytest.approx([0.8, 0.512, 0.32768])
    assert [pass_hat_k_unbiased(10, 8, k) for k in (1, 3, 5)] == pytest.approx([0.8, 0.4666667, 0.2222222])
    assert pass_hat_k(0, 0, 3) == 0.0


@given(COUNTS, st.integers(1, 60))
def test_pass_at_k_is_drawing_without_replacement(counts: tuple[int, int], k: int) -> None:
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


def test_h54_metric_name_and_presets() -> None:
    names = {"pass@1": ("@", 1), "pass_at_1": ("@", 1), "pass^3": ("^", 3), "pass_hat_3": ("^", 3)}
    names |= {"PASS@10": ("@", 10), "pass@1 ": ("@", 1)}
    assert {name: metric_name(name) for name in names} == names
    assert [metric_name(name) for name in ("pass@0", "pass", "pass@", "accuracy", "pass@1.5")] == [None] * 5
    written = ("pass_at_3", "PASS^3", "pass^1", "pass_rate", "pass-rate", "passrate")
    canonical = ["pass@3", "pass^3", "pass@1", RATE, RATE, None]
    assert [canonical_metric(name) for name in written] == canonical
    assert PRESETS["development"] == {"pass@1": 0.70, "pass@3": 0.90, "pass^3": 0.50}
    assert PRESETS["staging"] == {"pass@1": 0.80, "pass@3": 0.95, "pass^3": 0.65}
    assert PRESETS["production"] == {"pass@1": 0.90, "pass@3": 0.99, "pass^3": 0.80}
    assert PRESETS["critical"] == {"pass@1": 0.95, "pass@3": 0.999, "pass^3": 0.90}


@pytest.mark.parametrize(
    ("passed", "count", "low", "high"),
    [
        (17, 20, 0.639581, 0.947631),
        (5, 5, 0.565518, 1),
        (0, 5, 0, 0.434482),
        (850, 1_000, 0.826531, 0.870790),
    ],
)
def test_wilson_equals_known_values(passed: int, count: int, low: float, high: float) -> None:
    assert wilson(passed / count, count) == pytest.approx((low, high), abs=1e-6)


def test_clustered_interval_counts_cases_and_not_attempts() -> None:
    assert clustered_interval([(10, 10)] * 7 + [(10, 0)] * 3) == pytest.approx(wilson(0.7, 10))
    assert clustered_interval([(10, 7)] * 10) == pytest.approx(wilson(0.7, 10))
    assert clustered_interval([]) == clustered_interval([(0, 0)]) == wilson(0.0, 0) == (0, 1)


# Agreement of raters.


def test_agreement_undefined_is_none() -> None:
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([None], [1]) is None
    assert cohen_kappa([], []) is None
    assert share_of_most([True, True, True, True, False]) == 0.8


@pytest.mark.parametrize(
    ("values", "low", "high", "agreement"),
    [([4, 4], 1, 5, 1.0), ([4, 5], 1, 5, 0.9375), ([1, 5], 1, 5, 0.0), ([4, 4, 4, 4, 2], 1, 5, 0.9)],
)
def test_scale_agreement_by_distance(values: list[float], low: float, high: float, agreement: float) -> None:
    assert scale_agreement(values, low, high) == pytest.approx(agreement)


def test_ranking_agreement_by_pairs() -> None:
    first, same, other = {1: 1.0, 2: 2.0, 3: 3.0}, {1: 1.0, 2: 2.0, 3: 3.0}, {1: 3.0, 2: 2.0, 3: 1.0}
    assert ranking_agreement([first, same]) == 1.0
    assert ranking_agreement([first, other]) == 0.0
    assert ranking_agreement([first, {1: 2.0, 2: 2.0, 3: 2.0}]) == 0.5


# Two runs.


@pytest.mark.parametrize(
    ("lost", "won", "chance"), [(0, 5, 0.0625), (1, 9, 0.021484), (3, 10, 0.092285), (5, 5, 1), (0, 0, 1)]
)
def test_mcnemar_exact_known_values(lost: int, won: int, chance: float) -> None:
    assert mcnemar_exact(lost, won) == pytest.approx(chance, abs=1e-6)
    assert mcnemar_exact(won, lost) == mcnemar_exact(lost, won)


@pytest.mark.parametrize(
    ("before", "now", "chance"),
    [  # as R's fisher.test gives them
        ((3, 4), (1, 4), 0.4857143),
        ((5, 5), (0, 5), 0.0079365),
        ((8, 10), (2, 10), 0.0230141),
        ((1, 1), (0, 1), 1.0),
    ],
)
def test_fisher_exact_known_values(before: tuple[int, int], now: tuple[int, int], chance: float) -> None:
    assert fisher_exact(*before, *now) == pytest.approx(chance, abs=1e-6)


def test_holm_adjust_known_values() -> None:
    assert holm_adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjust([]) == []


def raters(table: tuple[int, int, int, int]) -> tuple[list[bool], list[bool]]:
    """What two raters say, by how often both, only the first, only the second and neither say yes."""
    both, first, second, neither = table
    return (
        [True] * (both + first) + [False] * (second + neither),
        [True] * both + [False] * first + [True] * second + [False] * neither,
    )


@pytest.mark.parametrize(
    ("table", "kappa"),
    [((20, 5, 10, 15), 0.4), ((45, 15, 25, 15), 0.130435), ((25, 35, 5, 35), 0.259259), ((7, 0, 0, 3), 1.0)],
)
def test_cohen_kappa_known_values(table: tuple[int, int, int, int], kappa: float) -> None:
    assert cohen_kappa(*raters(table)) == pytest.approx(kappa, abs=1e-6)
