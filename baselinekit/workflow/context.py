"""What a run needs besides its project: clients, time, threads that take turns, and a way to stop."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from baselinekit.frozen import frozen
from baselinekit.kinds.kind import ALONE
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, Ask
from baselinekit.replaying.settings import Clients

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Whose turn it is when many recipes are replayed at once, and what became of those before. Recipes that
# only read go side by side. One that writes would show in what others read meanwhile, so it comes after
# all of them, and alone; those that share a named resource never meet.


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


# What a run needs besides its project: clients, time, threads to work in, and a way to stop.


# Work in threads, results in order: output never depends on which finished first. And how a run is
# stopped.


class Stop:
    """Whether somebody wants the run to end. While it `is_heard`, that is a message and no exception, which
    could strike between any two steps and leave a lock locked. The handler of a signal may `ask`."""

    def __init__(self) -> None:
        self.is_heard = False
        self.wake: Callable[[], None] = lambda: None
        self._asked = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        self.is_heard = True
        try:
            yield
        finally:
            self.is_heard = False

    def ask(self) -> None:
        self._asked = True
        self.wake()

    def is_set(self) -> bool:
        return self._asked


class ThreadPool(Generic[Item, Done]):
    """`work` is done for each item by at most `jobs` threads; `finished` is told of each result, one at a
    time, and answers whether to go on. Whoever asks to `stop` has what is under way cancelled (`cancel`) and
    what is done kept. What items `claim` keeps them apart (`Turns`).

    The threads take the items themselves: to be handed each one by another thread, and to hand it back, took
    a fifth of the processor time of a run of quick requests."""

    def __init__(
        self,
        jobs: int,
        work: Callable[[Item], Done],
        cancel: Callable[[], None],
        stop: Stop,
        claim: Claim[Item] = lambda item: None,
    ):
        self._claim = claim
        self._jobs = jobs
        self._work = work
        self._cancel = cancel
        self._stop = stop

    def run(self, items: Sequence[Item], finished: Callable[[Done], bool]) -> list[Done | None]:
        """The results in the order of the items; None where the work was never done."""
        turns = Turns(items, finished, self._claim)
        ended: SimpleQueue[bool] = SimpleQueue()  # its `put` may interrupt its `get`
        self._stop.wake = lambda: ended.put(False)
        failed: list[BaseException] = []

        def worker() -> None:
            try:
                turns.take(self._work, self._stop.is_set)
            except BaseException as error:
                failed.append(error)
            finally:
                ended.put(True)

        threads: list[threading.Thread] = []
        try:
            try:
                left = _begin(worker, min(self._jobs, len(items)), threads)
                while left and not self._stop.is_set():
                    left -= ended.get()
            finally:
                turns.close()
            if self._stop.is_set():
                self._cancel()
        finally:
            for thread in threads:
                thread.join()
        if failed:
            raise failed[0]
        return turns.results


def _begin(worker: Callable[[], None], wanted: int, threads: list[threading.Thread]) -> int:
    """How often somebody will tell of an end. A busy machine may give fewer threads: those that it gives do
    all there is, and where it gives none it is done here."""
    for _ in range(wanted):
        thread = threading.Thread(target=worker, name="replay")
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    if wanted and not threads:
        worker()
        return 1
    return len(threads)


# The questions of one answer, asked at the same time. Whoever asks, a replay or a comparison: of a run
# no more than `-j` questions are on their way, and of those a model gets as many as its entry allows.


class AtOnce:
    """Around a run. The threads that ask wait for nobody but a client, so those that wait for them go on."""

    def __init__(self, clients: Clients, jobs: int):
        self._models = clients.models
        self._free = threading.Semaphore(jobs)
        self._jobs = jobs
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self.clients = replace(clients, models=self, together=self.together)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def ask(self, ask: Ask) -> Answer:
        with self._free:
            return self._models.ask(ask)

    def check(self, name: str) -> None:
        self._models.check(name)

    def together(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """What each gives. Where one fails, those that have not begun are left out."""
        if len(calls) == 1:
            return [calls[0]()]
        begun = [self._begun(call) for call in calls]
        try:
            return [future.result() for future in begun]
        finally:
            for future in begun:
                future.cancel()

    def _begun(self, call: Callable[[], Answer]) -> "Future[Answer]":
        """In a thread. A busy machine may have none to give: then another one finds it in the queue, or it is
        made here, whichever comes first."""
        from concurrent.futures import Future, ThreadPoolExecutor  # most runs ask no model

        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._jobs, thread_name_prefix="asking")
        future: Future[Answer] = Future()
        first = threading.Lock()

        def make() -> None:
            if first.acquire(blocking=False) and future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)

        try:
            self._threads.submit(make)
        except RuntimeError:
            make()
        return future


# The run context: what a run needs of the world besides its clients.


@frozen
class Clock:
    """The present, in the forms that a run writes it."""

    timestamp: Callable[[], str]
    seconds: Callable[[], float]


@frozen
class RunContext:
    """What a run needs of the world besides the clients: how it is cancelled, the time, and whom to tell."""

    clients: Clients
    cancel: Callable[[], None]
    clock: Clock
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)
