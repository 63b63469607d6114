"""What an output may take: time and money, as limits and as ratios to the capture."""

from decimal import Decimal

import pytest
import ruled

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import Baseline, Cost, Known, Observed, Rules
from baselinekit.model.recipes import Observation, Usage
from baselinekit.placeholders.table import PlaceholderContext


def costing(cost: Cost, captured: float | None = None, recipe: str = "skill") -> Matcher:
    known = Known(output="x", observed=Observed(cost_usd=captured) if captured is not None else None)
    baseline = Baseline("x", ruled.RECIPES[recipe], baseline=known, comparison=Rules(cost=cost))
    return compile_baseline(baseline, PlaceholderContext())


def seen(usd: str | None) -> Observation:
    return Observation("x", 0.0, usage=Usage(cost_usd=None if usd is None else Decimal(usd)))


@pytest.mark.parametrize(
    ("cost", "captured", "usd", "passes"),
    [
        (Cost(max_usd=0.3), None, "0.3", True),
        (Cost(max_usd=0.3), None, "0.30000000000000001", False),
        (Cost(max_usd=0), None, "0", True),
        (Cost(max_ratio=3), 0.1, "0.3", True),  # in binary it would be less than 3 times as much
        (Cost(max_ratio=3), 0.1, "0.31", False),
        (Cost(max_ratio=2), 0, "0", True),
        (Cost(max_ratio=2), 0, "0.000001", False),
        (Cost(max_ratio=2), None, "99", True),
        (Cost(max_usd=1, max_ratio=2), 0.1, "0.5", False),
        (Cost(), None, "99", True),
    ],
)
def test_what_it_may_cost(cost: Cost, captured: float | None, usd: str, passes: bool) -> None:
    comparison = costing(cost, captured).compare(seen(usd))
    assert comparison.passed is passes
    assert all(is_limit(difference) and difference.path == ("cost",) for difference in comparison.differences)
    assert comparison.resolved == "x"


def test_a_ratio_that_cannot_be_looked_at_is_told() -> None:
    comparison = costing(Cost(max_ratio=2)).compare(seen("1"))
    (report,) = comparison.reports
    lost = "baseline.observed.cost_usd is missing: write what the capture took, or state max_usd"
    assert (report.kind, report.message) == ("unchecked", f"cost.max_ratio: not checked, {lost}")


def test_a_cost_that_nobody_knows_is_no_pass() -> None:
    with pytest.raises(CannotReplay, match="the cost of the answer is unknown") as raised:
        costing(Cost(max_usd=1)).compare(seen(None))
    assert raised.value.problems[0].code == "BK605"


@pytest.mark.parametrize("recipe", ["http", "command"])
def test_what_costs_nothing_cannot_cost_too_much(recipe: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        costing(Cost(max_usd=1), recipe=recipe)
    assert ("BK203", ("comparison", "cost")) in [(p.code, p.at) for p in raised.value.problems]
