"""The time of one attempt: whatever it asks, a flow of requests, a judge, a sandbox, shares the limit of its
case."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

from baselinekit.errors import CannotReplay, cannot
from baselinekit.model.asking import Answer, Ask
from baselinekit.model.observation import Finished, Request, Response, Run
from baselinekit.model.recipes import Seconds
from baselinekit.replay.dispatch import Doors, Models

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Time:
    """How much of its limit an attempt has left. `limit` is None for a case that may take as long as it
    takes."""

    limit: Seconds | None
    seconds: Callable[[], float]
    began: float

    def left(self) -> float:
        """CannotReplay where nothing is."""
        if self.limit is None:
            return inf
        left = self.limit - (self.seconds() - self.began)
        if left <= 0:
            raise cannot("BK722", f"its {self.limit:g} s are over", "raise its `timeout_seconds`")
        return left

    def told(self, door: Callable[[], T]) -> T:
        """What a door gives. Where it was cut short because the time of the case was over, that is said, and
        not that of the one request in which it happened."""
        try:
            return door()
        except CannotReplay:
            self.left()
            raise

    def within(self, doors: Doors) -> Doors:
        """The same doors, none of which stays open longer than the case has time."""
        if self.limit is None:
            return doors

        def send(request: Request) -> Response:
            out = replace(request, timeout=min(request.timeout, self.left()))
            return self.told(lambda: doors.send(out))

        def execute(run: Run) -> Finished:
            begun = replace(run, timeout=min(run.timeout, self.left()))
            return self.told(lambda: doors.execute(begun))

        def sleep(seconds: float) -> None:
            doors.sleep(min(seconds, self.left()))

        return replace(doors, send=send, execute=execute, sleep=sleep, models=_Asked(self, doors.models))


@dataclass(frozen=True, slots=True)
class _Asked:
    time: Time
    models: Models

    def ask(self, ask: Ask) -> Answer:
        left = self.time.left()
        asked = replace(ask, timeout=left if ask.timeout is None else min(ask.timeout, left))
        return self.time.told(lambda: self.models.ask(asked))

    def check(self, name: str) -> None:
        self.models.check(name)
