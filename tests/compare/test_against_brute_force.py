"""No false pass and no false fail: random small pairs, judged by trying everything (F08, F11, F12)."""

import copy

import pytest
import ruled
from brute import Maker

from baselinekit.errors import InvalidInput

PAIRS_A_ROUND = 700
"""Enough for a few seconds in all. A change to the matcher deserves some 100,000."""


def check(seed: int) -> str:
    """What one pair shows: passed, failed, or no valid baseline. Raises where the two comparers disagree."""
    given, expected, actual = Maker(seed).pair()
    rules = given.rules()
    before = copy.deepcopy((expected, actual))
    try:
        found = ruled.compare(expected, actual, rules)
    except InvalidInput as error:
        codes = {problem.code for problem in error.problems}
        assert codes <= {"BK224"}, (seed, codes)
        return "invalid"
    shown = f"seed {seed}: {expected!r} / {actual!r} / {rules}"
    assert (expected, actual) == before, shown
    assert found.passed == given.matches(expected, actual), shown
    assert found.passed == (not found.differences), shown
    if found.passed:
        assert found.resolved is expected, shown
        return "passed"
    try:
        again = ruled.compare(found.resolved, actual, rules)
    except InvalidInput:
        return "failed"
    assert again.passed, f"{shown}: resolved {found.resolved!r}: {ruled.shown(again)}"
    return "failed"


@pytest.mark.parametrize("round_", range(10))
def test_the_verdict_is_that_of_brute_force(round_: int) -> None:
    verdicts = [check(seed) for seed in range(round_ * PAIRS_A_ROUND, (round_ + 1) * PAIRS_A_ROUND)]
    assert verdicts.count("passed") > PAIRS_A_ROUND / 8
    assert verdicts.count("failed") > PAIRS_A_ROUND / 8
