"""Numbers that were seen -> the range that they are likely to stay in, as a placeholder."""

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise

from baselinekit.model.values import Json
from baselinekit.placeholders.kinds import EXACT, decimal, whole
from baselinekit.placeholders.proposals import Proposal

_FIRST_SECOND, _LAST_SECOND = 1_200_000_000, 2_200_000_000
"""2008 to 2039: a number of ten digits outside of that is more likely to be something else."""

_UNITS = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}
_ENOUGH_STEPS = 4
"""Chance alone makes five numbers grow in one case of 120."""

_MOST_DIGITS = 30
_TEN = Decimal(10)
_MEASURED_DIGITS = 12
_READ = Context(prec=6, traps=[])


def for_numbers(values: Sequence[Json]) -> Iterator[Proposal]:
    """Candidates, the narrowest first. The order in which the values were seen counts: what only grows has
    no upper bound."""
    unit = _unit(values)
    if unit is not None:
        yield Proposal("<<any_unix_timestamp>>", f"{_UNITS[unit]} since 1970")
        yield Proposal("<<any_number>>", "numbers", True)
        return
    integers = all(map(whole, values))
    name, words = ("any_integer", "whole numbers") if integers else ("any_number", "numbers")
    numbers = [decimal(value) for value in values]
    least, most = min(numbers), max(numbers)
    if least != most:
        low, high = _widened(least, most, integers)
        seen = f"{words} from {_shown(least)} to {_shown(most)}"
        if _grows(numbers, integers):
            low = min(low, _rounded(least, _step(least, integers), ROUND_FLOOR))
            yield Proposal(f"<<{name}({_written(low)})>>", f"{seen}, each greater than the one before")
        elif not integers and _are_measured(numbers):
            tenfold = EXACT.multiply(most, _TEN)
            high = _rounded(tenfold, _step(tenfold, integers), ROUND_CEILING)
            yield Proposal(f"<<{name}(0, {_written(high)})>>", f"{seen}, measured: up to ten times that")
        else:
            yield Proposal(
                f"<<{name}({_written(low)}, {_written(high)})>>", f"{seen}, with room on both sides"
            )
    if integers:
        yield Proposal("<<any_integer>>", words, True)
    yield Proposal("<<any_number>>", "numbers", True)


def is_of_our_time(number: Json) -> bool:
    """Whether a number is likely to be a moment, since 1970."""
    return _unit([number]) is not None


def _unit(values: Sequence[Json]) -> int | None:
    """The unit in which all of them are moments of our time."""
    for unit in _UNITS:
        if all(_FIRST_SECOND * unit <= value < _LAST_SECOND * unit for value in values):
            return unit
    return None


def _grows(numbers: Sequence[Decimal], integers: bool) -> bool:
    """A counter or a clock: every number is greater than the one before. Of a few that can be chance, unless
    they are counted off."""
    steps = [EXACT.subtract(after, before) for before, after in pairwise(numbers)]
    counted = integers and len(set(steps)) == 1 and (steps[0] == 1 or len(steps) > 1)
    return min(steps) > 0 and (counted or len(steps) >= _ENOUGH_STEPS)


def _are_measured(numbers: Sequence[Decimal]) -> bool:
    """With more digits than anybody writes, and none below nothing: how long it took, say, which can be many
    times more next time."""
    return min(numbers) >= 0 and max(len(number.as_tuple().digits) for number in numbers) >= _MEASURED_DIGITS


def _widened(least: Decimal, most: Decimal, integers: bool) -> tuple[Decimal, Decimal]:
    """As much room on either side as there is between them, rounded outwards; a sign that no number had is
    not let in."""
    span = EXACT.subtract(most, least)
    step = _step(EXACT.multiply(span, Decimal(3)), integers)
    low = _rounded(EXACT.subtract(least, span), step, ROUND_FLOOR)
    high = _rounded(EXACT.add(most, span), step, ROUND_CEILING)
    zero = Decimal(0)
    return (max(low, zero) if least >= 0 else low), (min(high, zero) if most <= 0 else high)


def _step(size: Decimal, integers: bool) -> Decimal:
    """The power of ten that a number of this size is rounded by."""
    power = size.adjusted() if size else 0
    return Decimal(1).scaleb(max(power, 0) if integers else power, EXACT)


def _rounded(number: Decimal, step: Decimal, way: str) -> Decimal:
    steps = EXACT.divide(number, step).to_integral_value(way, EXACT)
    return EXACT.multiply(steps, step)


def _shown(number: Decimal) -> str:
    """With as many digits as one reads."""
    return _written(number if number == number.to_integral_value() else _READ.plus(number))


def _written(number: Decimal) -> str:
    if not number:
        return "0"
    plain = number.normalize(EXACT)
    return f"{plain:f}" if -_MOST_DIGITS < plain.adjusted() < _MOST_DIGITS else f"{plain}".replace("E", "e")
