"""What was taken of models, as plain values, and back."""

from decimal import Decimal

from baselinekit.model.asking import Usage
from baselinekit.model.values import Json


def document(usage: Usage) -> dict[str, Json]:
    """What is known of it; what nobody said has no key."""
    cost = None if usage.cost_usd is None else exact(usage.cost_usd)
    said = {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "cost_usd": cost}
    return {name: value for name, value in said.items() if value is not None}


def read(raw: dict[str, Json]) -> Usage:
    cost = raw.get("cost_usd")
    dollars = None if cost is None else Decimal(str(cost))
    return Usage(raw.get("tokens_in"), raw.get("tokens_out"), dollars)


def exact(usd: Decimal) -> Decimal:
    """With no zero at its end, so that the same sum is always the same text."""
    return Decimal(f"{usd.normalize():f}")
