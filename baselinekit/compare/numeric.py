"""Numbers and their tolerances, in decimal arithmetic on the written digits: 4.2 -> 3.9 is -0.3 exactly."""

from decimal import Context, Decimal, Overflow

from baselinekit.model.baselines import Tolerance
from baselinekit.model.values import Json

_WIDE = Context(prec=1_100, traps=[Overflow])
"""Wide enough for the longest number that a file or an answer may hold."""


def is_number(value: Json) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def exact(value: Json) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def delta(expected: Json, actual: Json) -> Decimal:
    return _WIDE.subtract(exact(actual), exact(expected))


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Every delta that is stated bounds; of `abs` and `rel` the wider one does. The limit itself passes."""
    try:
        change = delta(expected, actual)
    except Overflow:
        return False
    if tolerance.min_delta is not None and change < exact(tolerance.min_delta):
        return False
    if tolerance.max_delta is not None and change > exact(tolerance.max_delta):
        return False
    widths = []
    if tolerance.abs is not None:
        widths.append(exact(tolerance.abs))
    if tolerance.rel is not None:
        widths.append(_WIDE.multiply(exact(tolerance.rel), abs(exact(expected))))
    return not widths or abs(change) <= max(widths)


def worded(expected: Json, actual: Json, tolerance: Tolerance) -> str:
    """Why a number is out of tolerance, for the reader of the report."""
    bounds = ", ".join(
        f"{name} {getattr(tolerance, name)}"
        for name in ("min_delta", "max_delta", "abs", "rel")
        if getattr(tolerance, name) is not None
    )
    return f"changed by {_signed(delta(expected, actual))}, allowed: {bounds}"


def _signed(number: Decimal) -> str:
    return f"{number.normalize(Context(prec=20)):+f}" if abs(number) < 10**18 else f"{number:+.6e}"
