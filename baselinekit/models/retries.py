"""Asking a model again, when its server was too busy or nobody was there. How long to wait, the server says;
else it doubles, by chance shorter, so that many do not come back at once."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from baselinekit.errors import CannotReplay, OutOfBudget, Problem
from baselinekit.model.observation import Response
from baselinekit.models.pace import Lane
from baselinekit.models.setting import Again, World

T = TypeVar("T")
DEFAULT_RETRIES = 4
LONGEST_WAIT = 30.0
_SPREAD = 0.5
_NOBODY_THERE = "BK301"

_DURATION = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9})ms)?")
_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")


def persist(
    attempt: Callable[[Callable[[], float]], T], retries: int, seconds: float, lane: Lane, world: World
) -> tuple[T, int]:
    """What an attempt gives, and how many it took. Each is handed a function that tells the seconds that are
    left: the time runs from when it first calls it, so that waiting for one's turn takes none of it."""
    began: list[float] = []

    def left() -> float:
        began[:] = began or [world.clock()]
        return began[0] + seconds - world.clock()

    tries = 0
    failed: Again | None = None
    while True:
        tries += 1
        lane.keep_pace()
        if failed is not None and left() <= 0:
            raise _told(failed, tries - 1)
        try:
            given = attempt(left)
            lane.deserted = False
            return given, tries
        except OutOfBudget:
            if failed is None:
                raise
            raise _told(failed, tries - 1) from None
        except Again as again:
            failed = again
        wait = _wait(failed, tries, world)
        absent = failed.problem.code == _NOBODY_THERE
        enough = failed.hopeless or tries > retries or (absent and lane.deserted)
        if enough or wait > LONGEST_WAIT or wait >= left():
            lane.deserted = absent
            raise _told(failed, tries) from None
        if failed.wait:
            lane.rest(failed.wait)
        world.sleep(wait)  # which ends at once when the run is interrupted: the next attempt then says so


def asked_wait(response: Response) -> float | None:
    """The seconds after which a server wants to be asked again. A date is set against the server's own, as
    clocks differ."""
    for text, unit in (
        (response.header("retry-after-ms"), 1000.0),
        (response.header("retry-after"), 1.0),
    ):
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()):
            return float(text) / unit
    until = _date(response.header("retry-after"))
    waits = [_seconds_until(until, response)] if until else [_reset(name, response) for name in _LIMITS]
    return max((wait for wait in waits if wait is not None), default=None)


def _wait(again: Again, tries: int, world: World) -> float:
    if again.wait is not None:
        return again.wait + world.jitter() * _SPREAD
    return world.jitter() * min(LONGEST_WAIT, 2.0 ** (tries - 1))


def _told(again: Again, tries: int) -> CannotReplay:
    problem = again.problem
    times = f" ({tries} tries)" if tries > 1 else ""
    asked = f"; it asks to wait {again.wait:.0f} s" if (again.wait or 0) > LONGEST_WAIT else ""
    return CannotReplay(Problem(problem.code, f"{problem.what}{asked}{times}", problem.mend))


def _reset(name: str, response: Response) -> float | None:
    """When a used-up limit is renewed, in the headers of either wire form."""
    if response.header(f"anthropic-ratelimit-{name}-remaining") == "0":
        return _seconds_until(_date(response.header(f"anthropic-ratelimit-{name}-reset")), response)
    if response.header(f"x-ratelimit-remaining-{name}") == "0":
        match = _DURATION.fullmatch(response.header(f"x-ratelimit-reset-{name}").strip())
        if match and match[0]:
            hours, minutes, whole, milli = (float(part or 0) for part in match.groups())
            return hours * 3600 + minutes * 60 + whole + milli / 1000
    return None


def _seconds_until(until: datetime | None, response: Response) -> float | None:
    now = _date(response.header("date"))
    return max(0.0, (until - now).total_seconds()) if until and now else None


def _date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # which is seldom needed

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = read(text.strip())
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
        if found.tzinfo is not None:
            return found
    return None
