"""Whether numbers are within their tolerance: in decimals, on the written digits."""

from decimal import Context

from baselinekit.model.baselines import BOUNDS, Tolerance
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import between
from baselinekit.values.equality import EXACT, decimal, delta

_DISPLAY = Context(prec=20, traps=[])


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Whether a number is in its tolerance, on the written digits: 4.2 -> 3.9 is exactly -0.3. Every stated
    delta is a limit; of `abs` and `rel` the wider one is. The limit itself passes."""
    change = delta(expected, actual)
    if not between(change, tolerance.min_delta, tolerance.max_delta):
        return False
    widths = [] if tolerance.abs is None else [decimal(tolerance.abs)]
    if tolerance.rel is not None:
        widths.append(EXACT.multiply(decimal(tolerance.rel), decimal(expected).copy_abs()))
    return not widths or change.copy_abs() <= max(widths)


def describe_change(expected: Json, actual: Json, tolerance: Tolerance) -> str:
    """Describe why a number is out of tolerance, for the report."""
    bounds = ", ".join(
        f"{name} {getattr(tolerance, name)}" for name in BOUNDS if getattr(tolerance, name) is not None
    )
    number = delta(expected, actual)
    plain = number.is_zero() or -20 < number.adjusted() < 18
    signed = f"{number.normalize(_DISPLAY):+f}" if plain else f"{number:+.6e}"
    return f"changed by {signed}, allowed: {bounds}"
