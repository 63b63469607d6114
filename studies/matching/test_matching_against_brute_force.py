"""No false pass and no false fail: random small pairs, judged by trying everything (F08, F11, F12).

A seed is a pair: what a failure shows can be looked into with `check(seed)`. BASELINEKIT_PAIRS=1000000 tries
more of them, BASELINEKIT_THOROUGH=1 a hundred thousand."""

import os
from collections import Counter

import pytest
import ruled
from brute import Brute
from randompairs import Maker

from baselinekit.errors import InvalidInput
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape_value

PAIRS = int(
    os.environ.get("BASELINEKIT_PAIRS", "100000" if os.environ.get("BASELINEKIT_THOROUGH") else "12000")
)
ROUNDS = 10


def check(seed: int) -> str:
    """What one pair shows: passed, failed or invalid; or what is wrong, in a sentence."""
    given, expected, actual = Maker(seed).pair()
    rules = given.rules()
    before = repr((expected, actual)) if seed % 8 == 0 else ""
    matcher = _matcher(expected, rules)
    if matcher is None:
        return "invalid"
    wanted = Brute(given).matches(expected, actual)
    found = matcher.compare(Observation(actual, 0.0))
    wrong = ""
    if found.passed != wanted:
        wrong = f"a false {'pass' if found.passed else 'fail'}"
    elif found.passed != (not found.differences):
        wrong = "the verdict is not that of the differences"
    elif before and before != repr((expected, actual)):
        wrong = "the values were changed"
    elif found.passed and found.resolved is not expected:
        wrong = "it passed, and resolved is not the expected value"
    elif not found.passed and seed % 3 == 0 and not _passes(found.resolved, actual, rules):
        wrong = f"what was resolved does not pass: {found.resolved!r}"
    elif seed % 8 == 0 and not _passes(escape_value(actual), actual, rules):
        wrong = "the actual value differs from itself"
    if wrong:
        return f"seed {seed}: {wrong}: {expected!r} / {actual!r} / {rules}"
    return "passed" if found.passed else "failed"


def _passes(expected: Json, actual: Json, rules: dict[str, Json]) -> bool:
    matcher = _matcher(expected, rules)
    return matcher is None or matcher.compare(Observation(actual, 0.0)).passed


def _matcher(expected: Json, rules: dict[str, Json]) -> Matcher | None:
    """None: as a baseline it is refused, because it could never fail or its rules do not go with it."""
    try:
        return ruled.matcher(expected, rules)
    except InvalidInput as error:
        if {problem.code for problem in error.problems} <= {"BK221", "BK224"}:
            return None
        raise


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_f08_f11_f12_compare_agrees_with_brute_force(round_: int) -> None:
    size = PAIRS // ROUNDS
    verdicts = Counter(check(seed) for seed in range(round_ * size, (round_ + 1) * size))
    wrong = [verdict for verdict in verdicts if " " in verdict]
    if wrong:
        pytest.fail("\n".join([f"{len(wrong)} of {size} are wrong:", *wrong[:5]]), pytrace=False)
    assert verdicts["passed"] > size / 4
    assert verdicts["failed"] > size / 3
    assert verdicts["invalid"] < size / 10


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_ignore_rule_never_makes_random_comparison_stricter(round_: int) -> None:
    for seed in range(round_, PAIRS // 4, ROUNDS):
        given, expected, actual = Maker(seed).pair()
        rules = given.rules()
        fewer = {name: rule for name, rule in rules.items() if not name.startswith("ignore")}
        with_them, without = _matcher(expected, rules), _matcher(expected, fewer)
        if with_them and without and without.compare(Observation(actual, 0.0)).passed:
            assert with_them.compare(Observation(actual, 0.0)).passed, (seed, expected, actual, rules)
