"""What a placeholder is: its row in the table, what it accepts, its arguments and its bindings."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Token
from baselinekit.tree.equality import decimal, is_number, same_json
from baselinekit.variables import as_text

Args = tuple[Json, ...]

_MOST_DIGITS = 1_000
_MOST = 1_000_000_000
_LENGTH_OF_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}
TYPES = frozenset(("string", "number", "boolean", "null", "object", "array"))


@dataclass(frozen=True, slots=True)
class Extent:
    """What every value has that a placeholder accepts, and no other value has: its type, its length (of a
    text, an array, an object), its size and form (of a number: `whole` those written without a fraction,
    `within` of the present moment), how a text begins and ends and what it holds, the tests by `names` that
    it passes (formats and expressions; None: nobody knows), its elements, or that it is one of some values.
    Of a format the length follows from the name: it stands here for those who ask for a length alone."""

    types: frozenset[str] = TYPES
    lengths: tuple[int, int | None] = (0, None)
    numbers: tuple[Decimal | None, Decimal | None] = (None, None)
    whole: bool | None = None
    within: Decimal | None = None
    begins: str = ""
    ends: str = ""
    holds: tuple[str, ...] = ()
    names: frozenset[str] | None = frozenset()
    element: "Kind | None" = None
    values: tuple[Json, ...] | None = None


UNKNOWN = Extent(names=None)


def of_types(*types: str) -> Extent:
    return Extent(frozenset(types))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a placeholder with its arguments accepts. `accepts` judges a JSON value. `inline` is the regular
    expression that finds a candidate inside a longer text (None: it cannot stand there) and `read` turns the
    candidate into the value to judge.
    `timed`: the expression is the user's own, so it needs the time limit. Of a candidate that begins at some
    place, `furthest` matches at least as much as could belong to it (None: the rest of the text); `any_text`:
    every text of these lengths is accepted. `extent` says what is accepted, to whoever sets two kinds beside
    each other."""

    accepts: Callable[[Json], bool]
    inline: str | None = None
    read: Callable[[str], Json] = str
    timed: bool = False
    furthest: str | None = None
    any_text: tuple[int, int | None] | None = None
    extent: Extent = UNKNOWN


def read_number(text: str) -> Json:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else Decimal(text)


def between(number: Json, low: Json, high: Json) -> bool:
    exact = decimal(number)
    return (low is None or exact >= decimal(low)) and (high is None or exact <= decimal(high))


@dataclass(frozen=True, slots=True)
class LearningRule:
    """How a placeholder is learnt: it is proposed for values of the type `of` if it accepts them all and they
    fit. `when`: "sure" (no value has its form by chance), "likely" (plain words may have it, or only a part
    of a text varies), "type" (it says hardly more than the type). `argument`: what all values have in common
    that narrows it, described by `narrowed`. `piece`: the verbose expression that finds it in a longer text,
    where it may stand for a part that varies; `part`: what such a part looks like if nothing surer is known
    of it. `in_rows`: it may stand for a key of one row that describes many."""

    words: str
    of: str = "string"
    when: Literal["sure", "likely", "type"] = "sure"
    fits: Callable[[Sequence[Any]], bool] = lambda values: True
    argument: Callable[[Sequence[Any]], str | None] = lambda values: None
    narrowed: str = ""
    piece: str = ""
    part: str = ""
    in_rows: bool = False


@dataclass(frozen=True, slots=True)
class PlaceholderType:
    """A placeholder as one row: its name, the kind that its arguments make of it (in the words of a project),
    the types of the values that are stored as it (None: any), and how it is learnt, if it is. The extent of
    its kind says what else it is narrower than."""

    name: str
    build: Callable[[Args, Any], Kind]
    types: frozenset[str] | None = frozenset({"string"})
    learnt: LearningRule | None = None


def bad_args(name: str, why: str, example: str) -> InvalidInput:
    return InvalidInput(Problem("BK213", f"the placeholder {name} {why}", f"for example <<{example}>>"))


def take(name: str, args: Args, example: str, *wanted: Callable[[Json], bool]) -> list[Json]:
    """The arguments, each checked, those left out as None."""
    if len(args) > len(wanted):
        most = len(wanted)
        plural = "s" if most > 1 else ""
        why = f"takes at most {most} argument{plural}" if most else "takes no arguments"
        raise bad_args(name, why, example)
    for arg, fits in zip(args, wanted, strict=False):
        if arg is not None and not fits(arg):
            raise bad_args(name, f"cannot take {str(arg)!r}", example)
    return [*args, *[None] * (len(wanted) - len(args))]


def whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def count(value: Json) -> bool:
    """A number of characters or elements that one can mean."""
    return whole(value) and 0 <= value <= _MOST


def bounds(
    name: str, args: Args, example: str, fits: Callable[[Json], bool], *before: Callable[[Json], bool]
) -> list[Json]:
    """The arguments of which the last two are a least and a greatest."""
    taken = take(name, args, example, *before, fits, fits)
    low, high = taken[-2:]
    if low is not None and high is not None and low > high:
        raise bad_args(name, f"accepts nothing: {low} is more than {high}", example)
    return taken


def seconds(value: Json) -> Decimal | None:
    """A length of time: a number of seconds, or a text such as 500ms, 30s, 5m, 2h, 7d."""
    if is_number(value):
        return decimal(value) if value >= 0 else None
    match = _LENGTH_OF_TIME.fullmatch(value) if isinstance(value, str) else None
    return Decimal(match[1]) * _UNITS[match[2]] if match else None


# Bindings: `<<name as key>>` is one value wherever the same key stands.

Bindings = dict[str, Json]


class Piece(str):
    """A bound part of a text, of which nobody has said yet whether it is a text, a number or null."""

    __slots__ = ()


def bound(token: Token, value: Json, bindings: Bindings) -> bool:
    """Whether a value is the one that its binding already has; the first value met is the one."""
    if token.key is None:
        return True
    known = bindings.setdefault(token.key, value)
    if isinstance(known, Piece) and not isinstance(value, Piece):
        bindings[token.key] = value  # now it is known what the part of a text was
    if isinstance(known, Piece) or isinstance(value, Piece):
        return as_text(known) == as_text(value)
    return same_json(known, value)
