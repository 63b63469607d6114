"""Results -> metrics: both views, labelled, and nothing where nobody can tell."""

import pytest

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
    assert value(found, "pass@1") == 0.75, "first attempts"
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
    three = [*(result("ppp") for _ in range(22)), *(result("fpf") for _ in range(2)), result("fff")]
    found = metrics(*three)
    assert (value(found, "pass@1"), value(found, "pass@3")) == (0.88, 0.96)


def test_h51_what_too_few_attempts_cannot_tell_is_not_available() -> None:
    found = metrics(result("ff"), result("ffff"), **{"pass@3": 0.5})
    metric = found[("pass@3", "per case")]
    assert (metric.value, metric.met, metric.why) == (None, False, "1 of 2 cases have fewer than 3 attempts")


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
