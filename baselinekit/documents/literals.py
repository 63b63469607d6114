"""Numbers as they are written: whole ones exact, and a literal that a float cannot hold stays a Decimal."""

from decimal import Decimal, InvalidOperation
from math import isinf

MAX_DIGITS = 1_000
_TOO_LARGE = 10**MAX_DIGITS
_SURELY_EXACT = 15  # every decimal of so many digits survives the way through a float


def whole(text: str) -> int:
    _check_length(text)
    return int(text)


def fraction(text: str) -> float | Decimal:
    """A literal with a point or an exponent. ValueError: it cannot be kept."""
    if len(text) <= _SURELY_EXACT and "e" not in text and "E" not in text:
        return float(text)
    _check_length(text)
    number = float(text)
    if text == repr(number):
        return number
    try:
        exact = Decimal(text)
    except InvalidOperation:
        exact = Decimal("Infinity")
    if not exact.is_finite() or abs(exact.adjusted()) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
    return exact if isinf(number) or exact != Decimal(repr(number)) else number


def written(number: float | Decimal | int) -> str:
    """A literal that every reader takes for this number: a fraction has a point, and its exponent a sign, as
    YAML 1.1 wants it. ValueError: there is none."""
    if isinstance(number, int):
        if abs(number) >= _TOO_LARGE:
            raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
        return str(number)
    text = repr(number) if isinstance(number, float) else str(number)
    if "n" in text.lower():
        raise ValueError(f"{text}, which is no JSON number,")
    mantissa, e, exponent = text.replace("E", "e").partition("e")
    if len(mantissa) > MAX_DIGITS:
        raise ValueError(f"a number of {len(mantissa):,} digits")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}{e}{exponent if not e or exponent[0] in '+-' else f'+{exponent}'}"


def _check_length(text: str) -> None:
    if len(text) > MAX_DIGITS and sum(map(str.isdigit, text.lower().partition("e")[0])) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS:,} digits")
