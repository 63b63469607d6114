"""What a placeholder accepts. A kind is a small test, and how it is read inside a longer text."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json

Args = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """`accepts` judges a JSON value. `inline` is the regular expression that finds a candidate inside a
    longer text (None: it cannot stand there) and `read` turns the candidate into the value to judge.
    `timed`: the expression is the user's own, so it needs the time limit."""

    accepts: Callable[[Json], bool]
    inline: str | None = None
    read: Callable[[str], Json] = str
    timed: bool = False


def is_number(value: Json) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def decimal(value: Json) -> Decimal:
    """A number on its written digits: 4.2 is 4.2, not 4.2000000000000001776."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def read_number(text: str) -> Json:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def between(number: Json, low: Json, high: Json) -> bool:
    exact = decimal(number)
    return (low is None or exact >= decimal(low)) and (high is None or exact <= decimal(high))


def bad_args(name: str, why: str, example: str) -> InvalidInput:
    return InvalidInput(Problem("BK213", f"the placeholder {name} {why}", f"for example <<{example}>>"))


def take(name: str, args: Args, example: str, *wanted: Callable[[Json], bool]) -> list[Json]:
    """The arguments, each checked, those left out as None."""
    if len(args) > len(wanted):
        raise bad_args(
            name, f"takes at most {len(wanted)} arguments" if wanted else "takes no arguments", example
        )
    for arg, fits in zip(args, wanted, strict=False):
        if arg is not None and not fits(arg):
            raise bad_args(name, f"cannot take {str(arg)!r}", example)
    return [*args, *[None] * (len(wanted) - len(args))]


def whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def seconds(value: Json) -> Decimal | None:
    """A length of time: a number of seconds, or a text such as 500ms, 30s, 5m, 2h, 7d."""
    if is_number(value):
        return decimal(value)
    units = {"ms": "0.001", "s": "1", "m": "60", "h": "3600", "d": "86400"}
    if isinstance(value, str):
        unit = next((unit for unit in units if value.endswith(unit)), None)
        try:
            return Decimal(value[: -len(unit)]) * Decimal(units[unit]) if unit else None
        except InvalidOperation:
            return None
    return None
