"""How many questions one model gets at once, and how many a minute. First come, first served."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
            turn.wait()  # those before it end in time: every door has a limit, and can be cancelled
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
