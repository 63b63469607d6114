"""The verdict of a case: by all graders that are required, or by their mean and its gates."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from baselinekit.graders.base import combine_grades, exact_fraction, format_distinct, verdict_of
from baselinekit.model.grades import Grade, Outcome, PassRule

MEAN = PassRule("mean")


def graded(
    score: float | None, weight: float = 1.0, required: bool = False, failed_gates: tuple[str, ...] = ()
) -> Grade:
    outcome: Outcome = "error" if score is None else "passed" if score >= 0.8 else "failed"
    return Grade("g", "code", outcome, score, weight=weight, required=required, failed_gates=failed_gates)


@pytest.mark.parametrize(("number", "fraction"), [(0.8, (4, 5)), (1 / 3, (1, 3)), (0.1 + 0.2, None)])
def test_exact_fraction_is_the_simplest_of_a_float(number: float, fraction: tuple[int, int] | None) -> None:
    found = exact_fraction(number)
    assert float(found) == number
    assert fraction is None or found == Fraction(*fraction)


@pytest.mark.parametrize(
    ("grades", "outcome", "verdict", "score"),
    [
        ([graded(0.5), graded(1.0)], "failed", "borderline", 0.75),
        ([graded(0.5, failed_gates=("structure",)), graded(1.0)], "failed", None, 0.75),
        ([graded(0.5, required=True), graded(1.0)], "failed", None, 0.75),
        ([graded(1.0), graded(None)], "error", None, None),
        ([graded(0.0, required=True), graded(None)], "failed", None, None),
        ([graded(1.0, weight=3), graded(0.2)], "passed", None, 0.8),
        ([graded(1.0, weight=0)], "unscored", None, None),
    ],
)
def test_a45_combine_grades_by_the_mean_with_gates(
    grades: list[Grade], outcome: str, verdict: str | None, score: float | None
) -> None:
    found = combine_grades(grades, MEAN)
    assert (found[0], found[1], found[3]) == (outcome, score, verdict)
    assert bool(found[2]) == (outcome == "failed" or not any(grade.weight for grade in grades))


def test_a44_a45_borderline_passes_if_the_rule_allows_it() -> None:
    rule = PassRule("mean", borderline_passes=True)
    outcome, _, _, verdict = combine_grades([graded(0.7)], rule)
    assert (outcome, verdict) == ("passed", "borderline")
    assert combine_grades([graded(0.59)], rule)[0] == "failed"
    assert sum((0.6, 0.9, 0.9)) / 3 < 0.8  # the mean is exact
    assert combine_grades([graded(0.6), graded(0.9), graded(0.9)], MEAN)[:2] == ("passed", 0.8)
    assert combine_grades([graded(0.7, failed_gates=("a",))], rule)[0] == "failed"


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(1, 5)), min_size=1, max_size=8))
def test_combine_grades_equals_the_verdict_of_fractions(raws: list[tuple[int, int]]) -> None:
    mean = Fraction(sum(raw * weight for raw, weight in raws), 10 * sum(weight for _, weight in raws))
    found = combine_grades([graded(raw / 10, weight=float(weight)) for raw, weight in raws], MEAN)
    assert (found[0], found[3]) == verdict_of(mean, MEAN)


def test_format_distinct_never_shows_a_lower_score_as_the_limit() -> None:
    assert format_distinct(Fraction(23, 30), 0.8) == "0.767"
    assert format_distinct(Fraction(4, 5) - Fraction(1, 10**30), 0.8) == "less than 0.8"
