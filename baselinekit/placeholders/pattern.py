"""A user's regular expression, with a time limit that holds.

The standard library's `re` keeps the interpreter's lock while it backtracks, so one bad pattern would stall
every other baseline; the `regex` package lets go of it and gives up in time."""

from functools import lru_cache
from typing import Any

import regex

from baselinekit.errors import CannotReplay, InvalidInput, Problem

SECONDS = 1.0
_LONGEST_PATTERN = 1_000
_LONGEST_TEXT = 1_000_000


@lru_cache(maxsize=1024)
def compiled(pattern: str, longest: int | None = _LONGEST_PATTERN) -> Any:
    """The compiled pattern; one that is none is an error."""
    if longest is not None and len(pattern) > longest:
        raise InvalidInput(
            Problem("BK214", f"a regular expression is longer than {_LONGEST_PATTERN} characters")
        )
    try:
        return regex.compile(pattern, regex.DOTALL)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput(Problem("BK214", f"{pattern[:80]!r} is no regular expression: {error}")) from None


def full_match(pattern: Any, text: str) -> Any:
    """The match of the whole text, or None; what takes too long can be neither."""
    if len(text) > _LONGEST_TEXT:
        raise _limit(pattern, f"is given {len(text):,} characters, over the limit of {_LONGEST_TEXT:,}")
    try:
        return pattern.fullmatch(text, timeout=SECONDS, concurrent=True)
    except TimeoutError:
        raise _limit(pattern, f"takes longer than {SECONDS:g} s") from None


def unanchored(pattern: str) -> str:
    """The pattern without the `^` and `$` around it, which mean nothing where the whole must match."""
    if pattern.startswith("^"):
        pattern = pattern[1:]
    if pattern.endswith("$") and (len(pattern) - len(pattern[:-1].rstrip("\\"))) % 2:
        pattern = pattern[:-1]
    return pattern


def _limit(pattern: Any, why: str) -> CannotReplay:
    shown = str(pattern.pattern)[:80]
    return CannotReplay(Problem("BK215", f"the regular expression {shown!r} {why}", "make it simpler"))
