"""A user's regular expression, with a time limit that holds."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.texts import already_masked, clipped

# How long the expressions of one baseline may take in all: many that are each just quick enough add up.


SECONDS = 1.0
_NOT_COUNTED = 0.0001
"""What is over as quickly as this would be counted for nothing but the size of the answer."""


@dataclass(slots=True)
class RegexBudget:
    """`clock` counts the seconds that this thread was at work; nobody else's work is held against it."""

    clock: Callable[[], float] = field(default=lambda: 0.0)
    spent: float = 0.0

    def is_over(self, began: float) -> bool:
        """Whether it is over, what began then included."""
        took = self.clock() - began
        if took > _NOT_COUNTED:
            self.spent += took
        return self.spent > SECONDS


# A user's regular expression, with a time limit that holds. The standard library's `re` keeps the
# interpreter's lock while it backtracks, so one bad pattern would stall every other baseline; the
# `regex` package lets go of it and gives up in time.


_LONGEST_PATTERN = 1_000
_LONGEST_TEXT = 1_000_000
_LONGEST_SHOWN = 80
_MOST_STEPS = 10_000

_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<times>\d+)(?:,\d*)?\}|.", re.DOTALL)
_REFERS_TO_ITSELF = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d|&|P>)")


def _shown(pattern: str) -> str:
    return clipped(pattern, _LONGEST_SHOWN, already_masked, counted=False)


@lru_cache(maxsize=1024)
def compiled(
    pattern: str, longest: int | None = _LONGEST_PATTERN, flags: tuple[str, ...] = ("dotall",)
) -> Any:
    """The compiled pattern; one that is none is an error. Whoever has no pattern never waits for the regex
    package."""
    import regex

    if longest is not None and len(pattern) > longest:
        raise InvalidInput(
            Problem("BK214", f"a regular expression is longer than {_LONGEST_PATTERN} characters")
        )
    if _REFERS_TO_ITSELF.search(pattern):
        raise InvalidInput(
            Problem("BK214", f"{_shown(pattern)!r} refers to itself", "write out what it repeats")
        )
    if _steps(pattern) > _MOST_STEPS:
        what = f"{_shown(pattern)!r} repeats its parts more than {_MOST_STEPS:,} times"
        raise InvalidInput(Problem("BK214", what, "with + or * for what may occur often"))
    try:
        return regex.compile(pattern, sum(getattr(regex, flag.upper()) for flag in set(flags)))
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput(
            Problem("BK214", f"{_shown(pattern)!r} is not a regular expression: {error}")
        ) from None


def _steps(pattern: str) -> int:
    """About how long it is once compiled: what must occur a hundred times is written out a hundred times."""
    sizes = [0]
    last = 0
    for part in _PART.finditer(pattern):
        if part["times"] is not None:
            sizes[-1] += last * (int(part["times"]) - 1)
            last *= int(part["times"])
        elif part[0] == "(":
            sizes.append(0)
        elif part[0] == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def full_match(pattern: Any, text: str, regex_budget: RegexBudget) -> Any:
    """The match of the whole text, or None; what takes too long can be neither."""
    return _in_time(pattern, pattern.fullmatch, text, regex_budget)


def search(pattern: Any, text: str, regex_budget: RegexBudget) -> Any:
    """The first match anywhere in the text, likewise."""
    return _in_time(pattern, pattern.search, text, regex_budget)


def _in_time(pattern: Any, look: Callable[..., Any], text: str, regex_budget: RegexBudget) -> Any:
    if len(text) > _LONGEST_TEXT:
        raise _limit(pattern, f"is given {len(text):,} characters, over the limit of {_LONGEST_TEXT:,}")
    began = regex_budget.clock()
    try:
        found = look(text, timeout=SECONDS, concurrent=True)
    except TimeoutError:
        raise _limit(pattern, f"takes longer than {SECONDS:g} s") from None
    if regex_budget.is_over(began):
        raise _limit(pattern, f"and those before it take longer than {SECONDS:g} s in total")
    return found


def unanchored(pattern: str) -> str:
    """The pattern without the `^` and `$` around it, which mean nothing where the whole must match."""
    if pattern.startswith("^"):
        pattern = pattern[1:]
    if pattern.endswith("$") and (len(pattern) - len(pattern[:-1].rstrip("\\"))) % 2:
        pattern = pattern[:-1]
    return pattern


def _limit(pattern: Any, why: str) -> CannotReplay:
    shown = _shown(str(pattern.pattern))
    return CannotReplay(Problem("BK215", f"the regular expression {shown!r} {why}", "make it simpler"))
