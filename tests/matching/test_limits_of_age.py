"""A known-good output that nobody has looked at for long is warned about, and then counts no more."""

from datetime import UTC, datetime
from typing import Any

import pytest
from ruled import RECIPES

from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Age, Baseline, Comparison, Known, Rules
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.table import PlaceholderContext

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC).timestamp()


def compared(limit: str | Age, captured_at: str | None, actual: Any = 1) -> Comparison:
    known = Known(output=1, captured_at=captured_at)
    baseline = Baseline("x", RECIPES["skill"], baseline=known, comparison=Rules(max_age=limit))
    return compile_baseline(baseline, PlaceholderContext(now=NOW)).compare(Observation(actual, 0.1))


@pytest.mark.parametrize(
    ("limit", "captured_at", "rule", "said"),
    [
        ("90d", "2026-06-29T12:00:00Z", None, None),
        ("90d", "2026-04-01T12:00:00Z", None, None),  # exactly 90 days
        ("90d", "2026-04-01T11:59:59Z", "max_age", None),
        ("90d", "2026-04-01T13:59:59+02:00", "max_age", None),
        ("12h", "2026-06-30", None, None),
        ("11h", "2026-06-30", "max_age", None),
        ("90d", "2099-01-01T00:00:00Z", None, None),
        ("90d", None, None, "unchecked"),
        (Age(warn="30d", fail="90d"), "2026-06-20T00:00:00Z", None, None),
        (Age(warn="30d", fail="90d"), "2026-05-20T00:00:00Z", None, "aged"),
        (Age(warn="30d", fail="90d"), "2025-05-20T00:00:00Z", "max_age.fail", None),  # it is too late to warn
        (Age(warn="30d"), "2025-05-20T00:00:00Z", None, "aged"),
        (Age(fail="30d"), "2025-05-20T00:00:00Z", "max_age.fail", None),
    ],
)
def test_age(limit: str | Age, captured_at: str | None, rule: str | None, said: str | None) -> None:
    found = compared(limit, captured_at)
    assert [difference.rule for difference in found.differences] == ([rule] if rule else [])
    assert [report.kind for report in found.reports] == ([said] if said else [])


def test_the_words_name_the_age_and_the_limit() -> None:
    (difference,) = compared("90d", "2026-01-01T00:00:00Z").differences
    assert difference.note == "captured 180d ago, but at most 90d is allowed"


def test_an_old_baseline_still_tells_what_differs() -> None:
    found = compared("90d", "2026-01-01T00:00:00Z", actual=2)
    assert [(difference.kind, difference.path) for difference in found.differences] == [
        ("value", ()),
        ("tolerance", ("max_age",)),
    ]
