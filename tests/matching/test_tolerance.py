"""Tolerances on the written digits, and texts that may be worded otherwise."""

from decimal import Decimal
from typing import Any

import pytest
import ruled
from hypothesis import given, strategies as st

from baselinekit.matching import semantic
from baselinekit.matching.walk import describe_change, within
from baselinekit.model.baselines import Tolerance
from baselinekit.model.values import Json


@pytest.mark.parametrize(
    ("expected", "actual", "bounds", "passes"),
    [
        (4.2, 3.9, {"min_delta": -0.3}, True),  # in binary it is -0.30000000000000027
        (1.1, 0.8, {"abs": 0.3}, True),  # F12
        (4.2, 3.9, {"min_delta": -0.29}, False),
        (1, 1.1000000000000003, {"max_delta": 0.1}, False),
        (100, 90, {"rel": 0.1}, True),
        (100, 89.99, {"rel": 0.1}, False),
        (0, 0.0001, {"rel": 0.5, "abs": 0.001}, True),
        (5, 6, {"abs": 1, "max_delta": 0.5}, False),
        (5, 5, {"min_delta": 1}, False),
        (10**400, 1.5, {"abs": 1}, False),  # F52
        (Decimal("1e400"), Decimal("1.1e400"), {"rel": Decimal("0.1")}, True),
        (Decimal("0.1000000000000000055"), 0.1, {"abs": 0}, False),
        (1, Decimal("1e999999999"), {"abs": 1}, False),
        (9007199254740993, 9007199254740992, {"abs": 0}, False),
    ],
)
def test_within_compares_the_digits(expected: Any, actual: Any, bounds: dict[str, Any], passes: bool) -> None:
    assert within(expected, actual, Tolerance(**bounds)) is passes


@pytest.mark.parametrize(
    ("expected", "actual", "bounds", "text"),
    [
        (4.2, 3.8, {"min_delta": -0.3}, "changed by -0.4, allowed: min_delta -0.3"),
        (1, 10**30, {"max_delta": 0}, "changed by +1.00000000000e+30, allowed: max_delta 0"),
        (1, Decimal("1e999999999"), {"abs": 1}, "changed by +Infinity, allowed: abs 1"),
    ],
)
def test_describe_change_names_change_and_bounds(
    expected: Any, actual: Any, bounds: dict[str, Any], text: str
) -> None:
    assert describe_change(expected, actual, Tolerance(**bounds)) == text


NUMBERS = st.decimals(-1000, 1000, places=3).map(float)


@given(NUMBERS, NUMBERS, st.decimals(0, 5, places=3).map(float))
def test_within_is_decimal_arithmetic(left: float, right: float, width: float) -> None:
    exact = abs(Decimal(repr(right)) - Decimal(repr(left))) <= Decimal(repr(width))
    assert within(left, right, Tolerance(abs=width)) is exact
    assert within(left, right, Tolerance(min_delta=-width, max_delta=width)) is exact
    assert ruled.compare({"n": left}, {"n": right}, {"tolerance": {"n": {"abs": width}}}).passed is exact


@pytest.mark.parametrize(
    "actual", [float("nan"), float("inf"), -float("inf"), Decimal("NaN"), None, True, "5"]
)
@pytest.mark.parametrize("bounds", [{"abs": 1}, {"min_delta": None}, {"rel": 5}])
def test_tolerance_value_that_is_not_a_number_fails(actual: Json, bounds: dict[str, Any]) -> None:
    """F11."""
    for type_ in ("numeric", "structural"):
        found = ruled.compare({"n": 5}, {"n": actual}, {"type": type_, "tolerance": {"n": bounds}})
        assert [difference.path for difference in found.differences] == [("n",)]


@pytest.mark.parametrize(
    ("expected", "actual", "disagree"),
    [
        ("It took 5 s", "It took 6 s", "the numbers differ: 5, 6"),
        ("It took 1.5 s", "It took 1.50 s", "the numbers differ: 1.5, 1.50"),
        ("a 10% rise", "a 10 rise", "the numbers differ: 10, 10%"),
        ("It took 3 s", "It took three s", None),
        ("twenty-one of them", "21 of them", None),
        ("It took 3 s", "It took four s", "the numbers differ: 3"),
        ("the second largest city", "the third largest city", "the numbers differ: 2, 3"),
        ("First, open it. It is one of two.", "Open it. It is among two.", None),
        ("an attendant", "often", None),
        ("it works", "it never works", "one of them negates what the other affirms"),
        ("it is not so", "so it is not", None),
        ("it can't work", "it can work", "one of them negates what the other affirms"),
    ],
)
def test_disagreements_names_differing_facts(expected: str, actual: str, disagree: str | None) -> None:
    assert next(semantic.disagreements(expected, actual), None) == disagree


def test_similarity_of_known_texts() -> None:
    assert semantic.similarity("a b c d", "A, B: c d!") == 1.0
    assert semantic.similarity("", "") == 1.0
    assert semantic.similarity("a b", "c d") == 0.0
    assert semantic.similarity("one two three four", "one two three five") == 0.75


@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_is_from_0_to_1_and_1_for_equal_texts(left: str, right: str) -> None:
    assert 0.0 <= semantic.similarity(left, right) <= 1.0
    assert semantic.similarity(left, left) == 1.0
    assert not [*semantic.differing_words(left, left)]


def test_semantic_difference_names_similarity() -> None:
    rules = {"type": "semantic", "method": "words"}
    found = ruled.compare("red green blue grey", "red green pink teal", rules)
    assert found.differences[0].note == "similarity 0.50, at least 0.8 is required"
    found = ruled.compare("it is on", "it is not on", {**rules, "min_similarity": 0})
    assert found.differences[0].note == "one of them negates what the other affirms"
