"""What every form of model is given and gives back, how many questions one gets at once, and how it is asked
again when its server was too busy."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from baselinekit.errors import CannotReplay, OutOfBudget, Problem
from baselinekit.model.recipes import Answer, Ask, Model, ProcessResult, ProcessSpec, Request, Response
from baselinekit.trust import Trust


@dataclass(frozen=True, slots=True)
class World:
    """The clients and what surrounds them. One that is cancelled by another thread raises, and `sleep` then
    returns at once. `secret` gives the value of a declared variable, or raises InvalidInput; `mask` takes the
    secrets out of a text."""

    send: Callable[[Request], Response]
    execute: Callable[[ProcessSpec], ProcessResult]
    sleep: Callable[[float], None]
    root: str
    secret: Callable[[str], str]
    mask: Callable[[str], str] = lambda text: text
    trust: Trust = field(default_factory=Trust)
    verify: bool | str = True
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Question:
    """One try to ask one thing: nothing in `ask` is left to decide, and the answer is due in `seconds`."""

    ask: Ask
    model: Model
    world: World
    seconds: float

    @property
    def name(self) -> str:
        return f"the model {self.ask.model!r}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `fault`: why it is no answer to go on with, although it was paid for."""

    answer: Answer
    fault: Problem | None = None


class Again(Exception):
    """It did not work, and another try may. `wait`: the seconds that were asked for. `unheard`: nobody began
    to work on it, so that nothing was taken. `hopeless`: another try would not help either."""

    def __init__(
        self, problem: Problem, wait: float | None = None, unheard: bool = False, hopeless: bool = False
    ):
        super().__init__(problem)
        self.problem, self.wait, self.unheard, self.hopeless = problem, wait, unheard, hopeless


@dataclass(frozen=True, slots=True)
class Form:
    """A way to ask a model. `uses`: the keys of an entry that mean something here, beside those that always
    do; `at_once`: how many questions at the same time, unless the entry says it; `check` finds what is wrong
    with an entry without asking anybody; `tells_cost`: whether an answer can say what it cost.

    An installed package can bring one along: an entry point of the group `baselinekit.models` that names a
    Form, and whose own name stands in the entry under `form`."""

    ask: Callable[[Question], Reply]
    uses: frozenset[str] = frozenset()
    at_once: int = 4
    check: Callable[[Model, World], Iterator[Problem]] = lambda model, world: iter(())
    tells_cost: Callable[[Model], bool] = lambda model: False


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
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            else:
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
            raise _given_up(failed, tries - 1)
        try:
            given = attempt(left)
            lane.deserted = False
            return given, tries
        except OutOfBudget:
            if failed is None:
                raise
            raise _given_up(failed, tries - 1) from None
        except Again as again:
            failed = again
        if failed.wait is not None:
            wait = failed.wait + world.jitter() * _SPREAD
        else:
            wait = world.jitter() * min(LONGEST_WAIT, 2.0 ** (tries - 1))
        absent = failed.problem.code == _NOBODY_THERE
        enough = failed.hopeless or tries > retries or (absent and lane.deserted)
        if enough or wait > LONGEST_WAIT or wait >= left():
            lane.deserted = absent
            raise _given_up(failed, tries) from None
        if failed.wait:
            lane.rest(failed.wait)
        world.sleep(wait)  # which ends at once when the run is interrupted: the next attempt then says so


def _given_up(again: Again, tries: int) -> CannotReplay:
    problem = again.problem
    times = f" ({tries} tries)" if tries > 1 else ""
    asked = f"; it asks to wait {again.wait:.0f} s" if (again.wait or 0) > LONGEST_WAIT else ""
    return CannotReplay(Problem(problem.code, f"{problem.message}{asked}{times}", problem.hint))
