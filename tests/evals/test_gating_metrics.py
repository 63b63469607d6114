"""Results -> metrics: both views, labelled, and nothing where nobody can tell."""

from itertools import combinations, product
from math import fsum

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.evals.gating import RATE, measure, read_thresholds
from baselinekit.metrics import pass_at_k
from baselinekit.model.grades import Attempt, Outcome
from baselinekit.model.results import CaseFacts, Metric, Result

WORDS: dict[str, Outcome] = {"p": "passed", "f": "failed", "e": "error", "u": "unscored", "s": "skipped"}


def result(attempts: str, retried: int = 0, weight: float = 1.0, number: int = 0) -> Result:
    made = tuple(Attempt(n + 1, WORDS[letter], None) for n, letter in enumerate(attempts))
    worst: Outcome = next((WORDS[letter] for letter in "feus" if letter in attempts), "passed")
    if retried and "p" in attempts:
        worst = "passed"
    return Result(
        f"c{number}",
        "f",
        None,
        "skill",
        worst,
        case=CaseFacts("capability", made, weight=weight, retried=retried),
    )


def metrics(*results: Result, **thresholds: float) -> dict[tuple[str, str], Metric]:
    return {(metric.name, metric.view): metric for metric in measure(results, thresholds)}


def value(found: dict[tuple[str, str], Metric], name: str, view: str = "per case") -> float | None:
    return found[(name, view)].value


def test_h50_of_ten_attempts_of_which_three_passed() -> None:
    found = metrics(result("pppfffffff"), **{"pass@5": 0.9})
    assert value(found, "pass@5") == pytest.approx(0.9166667)
    assert found[("pass@5", "per case")].met is True


def test_h53_both_views_and_which_is_which() -> None:
    results = [result("pp"), result("pf"), result("ff"), result("pp")]
    found = metrics(*results)
    assert value(found, "pass@1") == 0.625, "the mean over the cases of c / n"
    assert value(found, "pass@1", "pooled attempts") == 5 / 8
    assert value(found, "pass@2") == pytest.approx(sum(pass_at_k(2, c, 2) or 0 for c in (2, 1, 0, 2)) / 4)
    assert value(found, "pass^2", "pooled attempts") == pytest.approx((5 / 8) ** 2)
    assert value(found, "pass^2 unbiased") == 0.5


def test_h53_the_numbers_of_a_phase() -> None:
    """12 of 13 cases, once each: 0.92 for pass@1, and 0.78 for pass^3 by the pooled rate."""
    found = metrics(*(result("p", number=n) for n in range(12)), result("f"))
    assert round(value(found, "pass@1") or 0, 2) == 0.92
    assert round(value(found, "pass^3", "pooled attempts") or 0, 2) == 0.79


def test_h53_the_numbers_of_the_sample_report() -> None:
    """pass^3 of 22 in 25 attempts is 0.88 cubed; pass@3 is no power of it, but the mean over the cases."""
    found = metrics(*(result("p", number=n) for n in range(22)), *(result("f") for _ in range(3)))
    assert value(found, "pass@1") == 0.88
    assert round(value(found, "pass^3", "pooled attempts") or 0, 2) == 0.68
    three = [*(result("ppp") for _ in range(21)), *(result("fpf") for _ in range(3)), result("fff")]
    found = metrics(*three)
    assert (value(found, "pass@1"), value(found, "pass@3")) == (0.88, 0.96)


def test_h51_what_too_few_attempts_cannot_tell_is_not_available() -> None:
    found = metrics(result("ff"), result("ffff"), **{"pass@3": 0.5})
    metric = found[("pass@3", "per case")]
    assert (metric.value, metric.met, metric.why) == (None, False, "1 of 2 cases have fewer than 3 attempts")


ONE_CASE = [  # attempts, retried, pass@1, pass@3, estimator
    ("pfffffffff", 0, 0.1, 0.3, "all attempts"),
    ("fppppppppp", 0, 0.9, 1.0, "all attempts"),
    ("pppfffffff", 0, 0.3, 0.7083333, "all attempts"),
    ("fffffffppp", 0, 0.3, 0.7083333, "all attempts"),
    ("epf", 0, 0.5, None, "all attempts"),
    ("p", 0, 1.0, None, ""),
    ("fp", 1, 0.0, None, "first attempts"),
    ("ffp", 2, 0.0, None, "first attempts"),
    ("ep", 1, None, None, ""),
]


@pytest.mark.parametrize(("attempts", "retried", "at_1", "at_3", "estimator"), ONE_CASE)
def test_h50_pass_at_1_of_independent_attempts_is_their_share_and_of_retries_the_first(
    attempts: str, retried: int, at_1: float | None, at_3: float | None, estimator: str
) -> None:
    found = metrics(result(attempts, retried))
    assert value(found, "pass@1") == (at_1 if at_1 is None else pytest.approx(at_1))
    assert value(found, "pass@3") == (at_3 if at_3 is None else pytest.approx(at_3))
    assert found[("pass@1", "per case")].estimator == estimator


def test_h50_with_retried_cases_beside_repeated_ones_the_estimator_is_without_retries() -> None:
    found = metrics(result("fp", retried=1), result("ppf"))
    assert value(found, "pass@1") == pytest.approx(1 / 3)
    assert found[("pass@1", "per case")].estimator == "all attempts but retries"
    assert found[("pass^3", "pooled attempts")].estimator == "all attempts but retries"


CASES = st.lists(st.tuples(st.text("pf", min_size=1, max_size=6), st.integers(0, 3)), min_size=1, max_size=4)


@settings(deadline=None)
@given(CASES, st.integers(1, 6))
def test_h50_h52_metrics_with_any_attempts_equal_the_enumeration_of_all_draws(
    cases: list[tuple[str, int]], k: int
) -> None:
    """Every way to draw k of the attempts of a case, and every way to draw k times of all attempts. The
    retries at the end of a case take part in neither."""
    found = metrics(
        *(result(letters + "p" * retried, retried) for letters, retried in cases),
        **{f"pass@{k}": 0.5, f"pass^{k}": 0.5},
    )
    draws = [list(combinations(letters, k)) for letters, _ in cases]
    at, hat = value(found, f"pass@{k}"), value(found, f"pass^{k} unbiased") if k > 1 else None
    if not all(draws):
        assert (at, hat) == (None, None)
    else:
        shares = [fsum("p" in draw for draw in of_case) / len(of_case) for of_case in draws]
        assert at == pytest.approx(fsum(shares) / len(cases))
    if all(draws) and k > 1:
        shares = [fsum("f" not in draw for draw in of_case) / len(of_case) for of_case in draws]
        assert hat == pytest.approx(fsum(shares) / len(cases))
    pooled = "".join(letters for letters, _ in cases)
    if k > 1 and len(pooled) ** k <= 20_000:
        repeated = list(product(pooled, repeat=k))
        share = fsum("f" not in draw for draw in repeated) / len(repeated)
        assert value(found, f"pass^{k}", "pooled attempts") == pytest.approx(share)


def test_h62_what_was_only_tried_again_counts_in_no_metric() -> None:
    found = metrics(result("fp", retried=1), result("p"))
    assert value(found, "pass@1") == 0.5
    assert ("pass@1", "pooled attempts") not in found
    assert value(found, RATE) == 1.0


@pytest.mark.parametrize("undecided", ["e", "u", "s"])
def test_what_nobody_decided_is_no_zero(undecided: str) -> None:
    found = metrics(result("p"), result(undecided))
    assert value(found, "pass@1") == 1.0
    assert found[("pass@1", "per case")].count == 1


def test_h66_of_nothing_there_is_no_rate() -> None:
    for results in ([], [result("e")], [result("s")]):
        found = metrics(*results)
        assert {metric.value for metric in found.values()} == {None}


def test_weights_count_case_by_case() -> None:
    found = metrics(result("p", weight=3), result("f"))
    assert value(found, "pass@1") == 0.75
    assert value(found, RATE) == 0.5
    low, high = found[("pass@1", "per case")].low, found[("pass@1", "per case")].high
    assert low is not None
    assert high is not None
    assert low < 0.75 < high


@pytest.mark.parametrize(("least", "met"), [(0.9, True), (0.9000001, False), (0.89, True)])
def test_h72_a_value_as_high_as_its_threshold_is_enough(least: float, met: bool) -> None:
    found = metrics(*[result("p")] * 9, result("f"), pass_at_1=least)
    assert found[("pass@1", "per case")].met is met


def test_a_threshold_is_of_the_view_that_its_name_means() -> None:
    found = measure([result("pp"), result("pf")], {"pass_hat_2": 0.5, "pass@1": 0.5})
    stated = [(metric.name, metric.view) for metric in found if metric.threshold is not None]
    assert stated == [("pass@1", "per case"), ("pass^2", "pooled attempts")]


def test_names_are_read_in_all_their_forms() -> None:
    assert read_thresholds({"pass@1": 0.5, "pass_hat_3": 1}) == {("@", 1): 0.5, ("^", 3): 1.0}
    assert read_thresholds({"pass^1": 0.5}) == {("@", 1): 0.5}
    assert read_thresholds({RATE: 0.5}) == {}
