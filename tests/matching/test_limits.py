"""What an output may take and how old it may be, as limits and as ratios to the capture."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
import ruled

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.matching.dispatch import Matcher, compile_baseline, is_limit
from baselinekit.model.baselines import Age, Baseline, Comparison, Cost, Known, Observed, Rules
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC).timestamp()


def compiled(known: Known, rules: Rules, recipe: str = "skill") -> Matcher:
    baseline = Baseline("x", ruled.RECIPES[recipe], baseline=known, comparison=rules)
    return compile_baseline(baseline, PlaceholderContext(now=NOW))


def costing(cost: Cost, captured: float | None = None, recipe: str = "skill") -> Matcher:
    observed = Observed(cost_usd=captured) if captured is not None else None
    return compiled(Known(output="x", observed=observed), Rules(cost=cost), recipe)


def answer_for(usd: str | None) -> Observation:
    return Observation("x", 0.0, usage=Usage(cost_usd=None if usd is None else Decimal(usd)))


@pytest.mark.parametrize(
    ("cost", "captured", "usd", "passes"),
    [
        (Cost(max_usd=0.3), None, "0.3", True),
        (Cost(max_usd=0.3), None, "0.30000000000000001", False),
        (Cost(max_ratio=3), 0.1, "0.3", True),  # in binary it would be less than 3 times as much
        (Cost(max_ratio=2), None, "99", True),
        (Cost(max_usd=1, max_ratio=2), 0.1, "0.5", False),
    ],
)
def test_cost_limit_passes_up_to_bounds(cost: Cost, captured: float | None, usd: str, passes: bool) -> None:
    comparison = costing(cost, captured).compare(answer_for(usd))
    assert comparison.passed is passes
    assert all(is_limit(difference) and difference.path == ("cost",) for difference in comparison.differences)
    lost = "baseline.observed.cost_usd is missing: write what the capture took, or state max_usd"
    unchecked = [f"cost.max_ratio: not checked, {lost}"] if captured is None and cost.max_ratio else []
    assert [report.message for report in comparison.reports] == unchecked


def test_cost_limit_unknown_cost_is_an_error() -> None:
    with pytest.raises(CannotReplay, match="BK605 the cost of the answer is unknown"):
        costing(Cost(max_usd=1)).compare(answer_for(None))


@pytest.mark.parametrize("recipe", ["http", "command"])
def test_cost_limit_of_recipe_without_cost_is_refused(recipe: str) -> None:
    with pytest.raises(InvalidInput, match="BK203") as raised:
        costing(Cost(max_usd=1), recipe=recipe)
    assert ("comparison", "cost") in [problem.at for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("latency", "captured", "seconds", "expected"),
    [
        ({"max_seconds": 2}, None, 2.001, ("latency.max_seconds", 2, 2.001)),
        ({"max_ratio": 3}, 0.5, 1.51, ("latency.max_ratio", 1.5, 1.51)),
        ({"max_ratio": 3}, 0, 0.2, ("latency.max_ratio", 0.003, 0.2)),
        ({"max_ratio": 3}, None, 100.0, None),
    ],
)
def test_latency_limit_passes_up_to_bounds(
    latency: dict[str, float],
    captured: float | None,
    seconds: float,
    expected: tuple[str, float, float] | None,
) -> None:
    ready = ruled.matcher({"status": 200}, {"latency": latency}, "http", seconds=captured)
    found = ready.compare(Observation({"status": 200}, seconds))
    shown = [(each.rule, float(each.expected), float(each.actual)) for each in found.differences]
    assert shown == ([expected] if expected else [])
    assert all(each.path == ("latency",) for each in found.differences)
    unchecked = [report for report in found.reports if report.kind == "unchecked"]
    assert bool(unchecked) == ("max_ratio" in latency and captured is None)


def test_latency_limit_alone_can_fail() -> None:
    rules = {"ignore_fields": ["status"], "latency": {"max_seconds": 1}}
    assert not ruled.matcher({"status": 200}, rules, "http").compare(Observation({"status": 500}, 2.0)).passed


def aged(limit: str | Age, captured_at: str | None, actual: Json = 1) -> Comparison:
    return compiled(Known(output=1, captured_at=captured_at), Rules(max_age=limit)).compare(
        Observation(actual, 0.1)
    )


@pytest.mark.parametrize(
    ("limit", "captured_at", "rule", "report"),
    [
        ("90d", "2026-04-01T12:00:00Z", None, None),  # exactly 90 days
        ("90d", "2026-04-01T11:59:59Z", "max_age", None),
        ("12h", "2026-06-30", None, None),
        ("90d", "2099-01-01T00:00:00Z", None, None),
        ("90d", None, None, "unchecked"),
        (Age(warn="30d", fail="90d"), "2025-05-20T00:00:00Z", "max_age.fail", None),  # it is too late to warn
    ],
)
def test_max_age_fails_or_warns_by_age(
    limit: str | Age, captured_at: str | None, rule: str | None, report: str | None
) -> None:
    found = aged(limit, captured_at)
    assert [difference.rule for difference in found.differences] == ([rule] if rule else [])
    assert [item.kind for item in found.reports] == ([report] if report else [])
