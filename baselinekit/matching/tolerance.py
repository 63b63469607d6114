"""Whether numbers are within their tolerance: in decimals, on the written digits; far from a limit in floats,
which give the same result ten times as fast."""

from decimal import Context

from baselinekit.model.baselines import BOUNDS, Tolerance
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import between
from baselinekit.values.equality import EXACT, decimal, delta

_DISPLAY = Context(prec=20, traps=[])


_ERROR, _TINY = 1e-15, 1e-300
"""The error of floats: relative to the numbers, and absolute for numbers close to zero."""


def within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """Whether a number is in its tolerance, on the written digits: 4.2 -> 3.9 is exactly -0.3. Every stated
    delta is a limit; of `abs` and `rel` the wider one is. The limit itself passes. Far from a limit floats
    give the same result, ten times as fast."""
    try:
        sure = surely_within(float(expected), float(actual), tolerance)
    except (OverflowError, TypeError):  # a number beyond floats, or a limit that only a Decimal can hold
        sure = None
    return exactly_within(expected, actual, tolerance) if sure is None else sure


def surely_within(before: float, after: float, tolerance: Tolerance) -> bool | None:
    """Whether a number is in its tolerance; None near a limit, and beyond the range of floats."""
    change, width = after - before, tolerance.abs
    error = (abs(before) + abs(after)) * _ERROR + _TINY
    if tolerance.rel is not None:
        relative = tolerance.rel * abs(before)
        width = relative if width is None or relative > width else width
    sure = True
    if width is not None:
        margin, uncertainty = width - abs(change), error + abs(width) * _ERROR
        if margin < -uncertainty:
            return False
        sure = margin > uncertainty
    for limit, sign in ((tolerance.min_delta, 1), (tolerance.max_delta, -1)):
        if limit is not None:
            margin, uncertainty = (change - limit) * sign, error + abs(limit) * _ERROR
            if margin < -uncertainty:
                return False
            sure = sure and margin > uncertainty
    return True if sure else None


def exactly_within(expected: Json, actual: Json, tolerance: Tolerance) -> bool:
    """The same in decimal arithmetic."""
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
