"""The time of day that a test hands to what it starts, and which of the times that come back are of that run.

A console begins at a moment of ours (`--at`, or `# clock:` of a golden case), and from there the clock goes
on. Sleeping by it does not wait: it moves on by that time, for everything that goes by it. Other programs
show the machine's time. Both are known to the second: no date is taken for granted, and an old time
in a file is still compared as it is."""

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

BEGINS = "2031-08-09T10:11:12Z"
"""No real day of a run: code that reads the machine's clock instead of the one it was given is found."""

TIMES = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"|(?<=\bcompare-)\d{8}T\d{6}Z|(?<=\beval-)\d{8}-\d{6}\b"
)
_MOST_HOURS = 48
_ROUNDED = 1.0
"""A time in whole seconds may be that much older than the moment at which it was read."""


class Slept:
    """The seconds that sleeps have moved a clock on: a file, since the process that sleeps is another one
    than the service."""

    def __init__(self, file: Path):
        self.file = file
        self._lock = threading.Lock()

    def seconds(self) -> float:
        try:
            return float(self.file.read_text("ascii"))
        except FileNotFoundError:
            return 0.0

    def sleep(self, seconds: float) -> None:
        """Threads that sleep at the same time wake up one after the other, after the sum of their times."""
        with self._lock:
            new = self.file.with_suffix(".new")
            new.write_text(repr(self.seconds() + seconds), "ascii")
            new.replace(self.file)


class Clock:
    """`begins` is its time when it is made. `slept`: what has moved it on since."""

    def __init__(self, begins: str, slept: Callable[[], float]):
        self._slept = slept
        self._began = time.time()
        self.ahead = _moment(begins).timestamp() - self._began
        self._earlier: list[tuple[float, float]] = []
        self._since = self.now()

    def now(self) -> float:
        return time.time() + self.ahead + self._slept()

    def later(self, days: float) -> None:
        """That many days go by at once. What was written before is of another time then."""
        self._earlier.append((self._since, self.now()))
        self.ahead += timedelta(days=days).total_seconds()
        self._since = self.now()

    def word_for(self, text: str) -> str:
        """`{now}` for a time of this run, `{now+1h}` for one that is a whole number of hours away from it,
        `{before}` for one of before it last grew later; any other as it is."""
        try:
            at = _moment(text).timestamp()
        except ValueError:
            return text
        machine, ours = (self._began, time.time()), (self._since, self.now())
        if _is_within(at, *ours) or _is_within(at, *machine):
            return "{now}"
        if any(_is_within(at, *span) for span in self._earlier):
            return "{before}"
        hours = round((at - ours[0]) / 3600)
        near = abs(hours) <= _MOST_HOURS and _is_within(at - hours * 3600, *ours)
        return f"{{now{hours:+}h}}" if near else text


def _is_within(at: float, first: float, last: float) -> bool:
    return first - _ROUNDED <= at <= last


def _moment(text: str) -> datetime:
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%d-%H%M%S"):
        if re.fullmatch(r"\d{8}[T-]\d{6}Z?", text):
            try:
                return datetime.strptime(text, form).replace(tzinfo=UTC)
            except ValueError:
                continue
    return datetime.fromisoformat(text)


def with_words_for_times(text: str, word_for: Callable[[str], str]) -> str:
    """A text with a word for each time in it."""
    return TIMES.sub(lambda match: word_for(match[0]), text)


_started_at: list[str] = [BEGINS]


def begin_at(moment: str) -> None:
    """Where the clocks of all consoles begin in this run of the tests."""
    _moment(moment)
    _started_at[:] = [moment]


def clock(begins: str, slept: Callable[[], float]) -> Clock:
    return Clock(begins or _started_at[0], slept)
