"""Asking a model again when its server was too busy, and how many questions it gets at once."""

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from baselinekit.errors import CannotReplay, OutOfBudget, Problem
from baselinekit.model.recipes import Response
from baselinekit.models.setting import Again, World

# How many questions one model gets at once, and how many a minute. First come, first served.


_MINUTE = 60.0
_BURST = 10
"""A tenth of what a minute may have can go out at once; the rest is spread over the minute."""


class Lane:
    """Shared by all threads that ask the same model."""

    def __init__(
        self,
        at_once: int,
        per_minute: int | None,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ):
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._free = at_once
        self._waiting: deque[threading.Event] = deque()
        burst = max(1, (per_minute or 0) // _BURST)
        # In no minute more than were allowed: those that may come at once, and those that follow them.
        self._apart = _MINUTE / (per_minute - burst + 1) if per_minute else 0.0
        self._early = (burst - 1) * self._apart
        self._due = self._rested = float("-inf")
        self.deserted = False
        """Whether nobody was there for as long as one question was tried: others need not wait as long."""

    @contextmanager
    def place(self) -> Iterator[None]:
        """Around everything that one question takes, its waits included: a model that turns questions away
        gets fewer of them."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def keep_pace(self) -> None:
        """Wait until the next request may go out. Each thread knows its own moment: none wakes up in vain."""
        with self._lock:
            now = self._clock()
            at = max(now, self._rested, self._due - self._early)
            self._due = max(at, self._due) + self._apart
        if at > now:
            self._sleep(at - now)

    def rest(self, seconds: float) -> None:
        """The server asked to be left alone: by everybody."""
        with self._lock:
            self._rested = max(self._rested, self._clock() + seconds)

    def _enter(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            turn.wait()  # those before it end in time: every client has a limit, and can be cancelled
        except BaseException:
            with self._lock:
                if not turn.is_set():
                    self._waiting.remove(turn)
                    raise
            self._leave()
            raise

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


# Asking a model again, when its server was too busy or nobody was there. How long to wait, the server
# says; else it doubles, by chance shorter, so that many do not come back at once.


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
    return CannotReplay(Problem(problem.code, f"{problem.message}{asked}{times}", problem.hint))


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
