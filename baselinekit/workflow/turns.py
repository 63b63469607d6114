"""Whose turn it is when many recipes are replayed at once, and what became of those before.

Recipes that only read go side by side. One that writes would show in what others read meanwhile, so it comes
after all of them, and alone; those that share a named resource never meet."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from baselinekit.kinds.kind import ALONE

Item = TypeVar("Item")
Done = TypeVar("Done")

Claim = Callable[[Item], str | None]
"""What nobody else may use while an item is worked on: None: nothing, ALONE: everything, else a resource."""


class Turns(Generic[Item, Done]):
    """`take` gives the items to whichever threads ask, in their order as far as their claims allow."""

    def __init__(self, items: Sequence[Item], finished: Callable[[Done], bool], claim: Claim[Item]):
        self.results: list[Done | None] = [None] * len(items)
        self._items = items
        self._finished = finished
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_open = True
        self._waiting = _Waiting([claim(item) for item in items])

    def take(self, work: Callable[[Item], Done], is_stopped: Callable[[], bool]) -> None:
        """One item after the other, until none is left or the end is called. One that raises ends it all."""
        try:
            while (turn := self._turn()) is not None:
                try:
                    if is_stopped():
                        return
                    self._keep(turn, work(self._items[turn]))
                finally:
                    if self._waiting.are_claims:
                        self._release(turn)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Nothing is begun any more, and nothing kept."""
        with self._lock:
            self._waiting.clear()
            self._is_open = False
            self._changed.notify_all()

    def _turn(self) -> int | None:
        with self._lock:
            if not self._waiting.are_claims:
                return self._waiting.free.popleft() if self._waiting.free else None
            while self._waiting.are_left():
                turn = self._waiting.next()
                if turn is not None:
                    return turn
                self._changed.wait()
            return None

    def _release(self, turn: int) -> None:
        with self._lock:
            self._waiting.release(turn)
            self._changed.notify_all()

    def _keep(self, turn: int, done: Done) -> None:
        with self._lock:
            if self._is_open:
                self.results[turn] = done
                if not self._finished(done):
                    self._waiting.clear()
                    self._changed.notify_all()


class _Waiting:
    """The numbers of the items that nobody has taken yet, and what those claim that are taken. `free`: those
    that claim nothing."""

    def __init__(self, claims: Sequence[str | None]):
        self._claims = claims
        self.free: deque[int] = deque()
        self._alone: deque[int] = deque()
        self._of: dict[str, deque[int]] = {}
        self._busy: set[str] = set()
        self._under_way = 0
        for number, claim in enumerate(claims):
            if claim is None:
                self.free.append(number)
            elif claim == ALONE:
                self._alone.append(number)
            else:
                self._of.setdefault(claim, deque()).append(number)
        self.are_claims = len(self.free) < len(claims)

    def are_left(self) -> bool:
        return bool(self.free or self._alone or self._of)

    def clear(self) -> None:
        self.free.clear()
        self._alone.clear()
        self._of.clear()

    def next(self) -> int | None:
        """The first that may begin; None: all that are left have to wait."""
        idle = [(waiting[0], name) for name, waiting in self._of.items() if name not in self._busy]
        first, name = min(idle, default=(None, ""))
        if self.free and (first is None or self.free[0] < first):
            number = self.free.popleft()
        elif first is not None:
            number = self._of[name].popleft()
            if not self._of[name]:
                del self._of[name]
            self._busy.add(name)
        elif self._alone and not self._of and not self._under_way:
            number = self._alone.popleft()
        else:
            return None
        self._under_way += 1
        return number

    def release(self, number: int) -> None:
        self._under_way -= 1
        self._busy.discard(self._claims[number] or "")
