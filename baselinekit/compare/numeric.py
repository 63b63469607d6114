"""Numbers and their tolerances, in decimal arithmetic on the written digits: 4.2 -> 3.9 is -0.3 exactly."""

from decimal import Context, Decimal

from baselinekit.model.baselines import BOUNDS, Tolerance
from baselinekit.model.values import Json
from baselinekit.placeholders.kinds import EXACT, between, decimal, delta

_SHOWN = Context(prec=20, traps=[])


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Every delta that is stated bounds; of `abs` and `rel` the wider one does. The limit itself passes."""
    change = delta(expected, actual)
    if not between(change, tolerance.min_delta, tolerance.max_delta):
        return False
    widths = []
    if tolerance.abs is not None:
        widths.append(decimal(tolerance.abs))
    if tolerance.rel is not None:
        widths.append(EXACT.multiply(decimal(tolerance.rel), decimal(expected).copy_abs()))
    return not widths or change.copy_abs() <= max(widths)


def worded(expected: Json, actual: Json, tolerance: Tolerance) -> str:
    """Why a number is out of tolerance, for the reader of the report."""
    bounds = ", ".join(
        f"{name} {getattr(tolerance, name)}" for name in BOUNDS if getattr(tolerance, name) is not None
    )
    return f"changed by {_signed(delta(expected, actual))}, allowed: {bounds}"


def _signed(number: Decimal) -> str:
    plain = number.is_zero() or -20 < number.adjusted() < 18
    return f"{number.normalize(_SHOWN):+f}" if plain else f"{number:+.6e}"
