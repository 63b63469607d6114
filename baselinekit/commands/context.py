"""What a run needs besides its project: clients, time, threads that take turns, and a way to stop."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from baselinekit.frozen import frozen
from baselinekit.kinds.kind import ALONE
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.replaying.settings import Clients

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# The order in which recipes are replayed, and their results. Recipes that only read run at the same time.
# One that writes could change what others read meanwhile, so it runs after all of them, and alone; those
# that share a named resource never run at the same time.


Item = TypeVar("Item")
Done = TypeVar("Done")

Claim = Callable[[Item], str | None]
"""Returns what nothing else may use while an item is worked on: None for nothing, ALONE for everything, or a
resource."""

SIGNAL_CHECK = 1.0
"""Seconds after which the main thread looks up from a wait. A signal that arrives just before a wait begins
does not end it: Python handles a signal only when the main thread runs again."""


class ItemQueue(Generic[Item, Done]):
    """`take` gives the items to the threads that ask, in their order as far as their claims allow."""

    def __init__(self, items: Sequence[Item], finished: Callable[[Done], bool], claim: Claim[Item]):
        self.results: list[Done | None] = [None] * len(items)
        self._items = items
        self._finished = finished
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_open = True
        self._waiting = _Waiting([claim(item) for item in items])

    def take(self, work: Callable[[Item], Done], is_stopped: Callable[[], bool]) -> None:
        """Work on one item after the other, until none is left or the work is stopped. An exception ends
        all."""
        try:
            while (turn := self._turn()) is not None:
                try:
                    if is_stopped():
                        return
                    self._keep(turn, work(self._items[turn]))
                finally:
                    if self._waiting.has_claims:
                        self._release(turn)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Start no more items, and keep no more results."""
        with self._lock:
            self._waiting.clear()
            self._is_open = False
            self._changed.notify_all()

    def _turn(self) -> int | None:
        with self._lock:
            if not self._waiting.has_claims:
                return self._waiting.free.popleft() if self._waiting.free else None
            while self._waiting.has_items():
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
    """The numbers of the items that nobody has taken yet, and the resources in use. `free`: the items that
    claim nothing."""

    def __init__(self, claims: Sequence[str | None]):
        self._claims = claims
        self.free: deque[int] = deque()
        self._alone: deque[int] = deque()
        self._by_resource: dict[str, deque[int]] = {}
        self._busy: set[str] = set()
        self._under_way = 0
        for number, claim in enumerate(claims):
            if claim is None:
                self.free.append(number)
            elif claim == ALONE:
                self._alone.append(number)
            else:
                self._by_resource.setdefault(claim, deque()).append(number)
        self.has_claims = len(self.free) < len(claims)

    def has_items(self) -> bool:
        return bool(self.free or self._alone or self._by_resource)

    def clear(self) -> None:
        self.free.clear()
        self._alone.clear()
        self._by_resource.clear()

    def next(self) -> int | None:
        """Return the first item that may begin, None if all that are left have to wait."""
        idle = [(waiting[0], name) for name, waiting in self._by_resource.items() if name not in self._busy]
        first, name = min(idle, default=(None, ""))
        if self.free and (first is None or self.free[0] < first):
            number = self.free.popleft()
        elif first is not None:
            number = self._by_resource[name].popleft()
            if not self._by_resource[name]:
                del self._by_resource[name]
            self._busy.add(name)
        elif self._alone and not self._by_resource and not self._under_way:
            number = self._alone.popleft()
        else:
            return None
        self._under_way += 1
        return number

    def release(self, number: int) -> None:
        self._under_way -= 1
        self._busy.discard(self._claims[number] or "")


# Work in threads, with results in the order of the items, whichever finishes first; and how a run is stopped.


class Stop:
    """Whether the run is to end. While it `is_heard`, a signal only sets a flag and raises no exception,
    which could strike between any two steps and leave a lock locked. A signal handler may call `ask`."""

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
    """Does `work` for each item in at most `jobs` threads; `finished` gets each result, one at a time, and
    returns whether to go on. On a `stop`, the work under way is cancelled (`cancel`) and the results so far
    are kept. Items with the same `claim` do not run at the same time (`ItemQueue`).

    The threads take the items themselves: to pass each item to a thread and back took a fifth of the
    processor time of a run of quick requests."""

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
        """Return the results in the order of the items; None where the work was not done."""
        turns = ItemQueue(items, finished, self._claim)
        ended: SimpleQueue[bool] = SimpleQueue()  # a signal handler may call its `put` during a `get`
        self._stop.wake = lambda: ended.put(False)
        errors: list[BaseException] = []

        def worker() -> None:
            try:
                turns.take(self._work, self._stop.is_set)
            except BaseException as error:
                errors.append(error)
            finally:
                ended.put(True)

        threads: list[threading.Thread] = []
        try:
            try:
                running = _start_threads(worker, min(self._jobs, len(items)), threads)
                while running and not self._stop.is_set():
                    with suppress(Empty):
                        running -= ended.get(timeout=SIGNAL_CHECK)
            finally:
                turns.close()
            if self._stop.is_set():
                self._cancel()
        finally:
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return turns.results


def _start_threads(worker: Callable[[], None], count: int, threads: list[threading.Thread]) -> int:
    """Start the threads and return how many workers will report their end. A busy machine may give fewer
    threads, which then do all the work; if it gives none, the work is done in this thread."""
    for _ in range(count):
        thread = threading.Thread(target=worker, name="replay")
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    if count and not threads:
        worker()
        return 1
    return len(threads)


# Several questions to models at the same time. A run sends no more than `-j` questions at once, for replays
# and comparisons together; each model gets as many of them as its entry allows.


class ModelThreads:
    """Asks models in threads, for the time of a run. These threads only wait for a client, so that the
    threads which wait for them can always go on."""

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

    def ask(self, ask: ModelQuestion) -> Answer:
        with self._free:
            return self._models.ask(ask)

    def check(self, name: str) -> None:
        self._models.check(name)

    def together(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """Return the result of each call. If one fails, those that have not begun are cancelled."""
        if len(calls) == 1:
            return [calls[0]()]
        futures = [self._submit(call) for call in calls]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _submit(self, call: Callable[[], Answer]) -> "Future[Answer]":
        """Submit a call. If the machine can start no thread, an existing one takes it from the queue or this
        thread makes it, whichever comes first."""
        from concurrent.futures import Future, ThreadPoolExecutor  # most runs ask no model

        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._jobs, thread_name_prefix="asking")
        future: Future[Answer] = Future()
        once = threading.Lock()

        def run_call() -> None:
            if once.acquire(blocking=False) and future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)

        try:
            self._threads.submit(run_call)
        except RuntimeError:
            run_call()
        return future


# The run context: what a run needs besides its project.


@frozen
class Clock:
    """The current time, in the forms in which a run writes it."""

    timestamp: Callable[[], str]
    seconds: Callable[[], float]


@frozen
class RunContext:
    """What a run needs besides its project: clients, a way to cancel it, the time, and a progress display."""

    clients: Clients
    cancel: Callable[[], None]
    clock: Clock
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)
