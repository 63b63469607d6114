"""What a run needs besides its project: clients, time, threads to work in, and a way to stop."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self

from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, Ask
from baselinekit.replay.settings import Clients
from baselinekit.workflow.turns import Claim, Done, Item, Turns

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
    what is done kept. What items `claim` keeps them apart (workflow/turns.py).

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

        def worker() -> None:
            try:
                turns.take(self._work, self._stop.is_set)
            finally:
                ended.put(True)

        left = min(self._jobs, len(items))
        with ThreadPoolExecutor(max(1, left), thread_name_prefix="replay") as executor:
            try:
                workers, left = _begun(executor, worker, left)
                while left and not self._stop.is_set():
                    left -= ended.get()
            finally:
                turns.close()
            if self._stop.is_set():
                self._cancel()
        for one in workers:
            one.result()
        return turns.results


def _begun(
    executor: ThreadPoolExecutor, worker: Callable[[], None], wanted: int
) -> tuple[list[Future[None]], int]:
    """Those that work, and how often they will tell of an end. A busy machine may give fewer threads: the
    first one that it refuses waits for the end of another, or is done here."""
    workers: list[Future[None]] = []
    try:
        for _ in range(wanted):
            workers.append(executor.submit(worker))
    except RuntimeError:
        if not workers:
            worker()
        return workers, len(workers) + 1
    return workers, wanted


# The questions of one answer, asked at the same time. Whoever asks, a replay or a comparison: of a run
# no more than `-j` questions are on their way, and of those a model gets as many as its entry allows.


class AtOnce:
    """Around a run. The threads that ask wait for nobody but a client, so those that wait for them go on."""

    def __init__(self, clients: Clients, jobs: int):
        self._models = clients.models
        self._free = threading.Semaphore(jobs)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="asking")
        self.clients = replace(clients, models=self, together=self.together)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def _begun(self, call: Callable[[], Answer]) -> Future[Answer]:
        """In a thread. A busy machine may have none to give: then another one finds it in the queue, or it is
        made here, whichever comes first."""
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


@dataclass(frozen=True, slots=True)
class Clock:
    """The present, in the forms that a run writes it."""

    timestamp: Callable[[], str]
    seconds: Callable[[], float]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs of the world besides the clients: how it is cancelled, the time, and whom to tell."""

    clients: Clients
    cancel: Callable[[], None]
    clock: Clock
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)
