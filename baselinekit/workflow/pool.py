"""Work in threads, results in order: output never depends on which finished first. And how a run is
stopped."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


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


class Pool(Generic[Item, Done]):
    """`work` is done for each item by at most `jobs` threads; `finished` is told of each result, one at a
    time, and answers whether to go on. Whoever asks to `stop` has what is under way cancelled (`cancel`) and
    what is done kept.

    The threads take the items themselves: to be handed each one by another thread, and to hand it back, took
    a fifth of the processor time of a run of quick requests."""

    def __init__(self, jobs: int, work: Callable[[Item], Done], cancel: Callable[[], None], stop: Stop):
        self._jobs = jobs
        self._work = work
        self._cancel = cancel
        self._stop = stop

    def run(self, items: Sequence[Item], finished: Callable[[Done], bool]) -> list[Done | None]:
        """The results in the order of the items; None where the work was never done."""
        turns = _Turns(items, finished)
        ended: SimpleQueue[bool] = SimpleQueue()  # its `put` may interrupt its `get`
        self._stop.wake = lambda: ended.put(False)

        def worker() -> None:
            try:
                turns.take(self._work, self._stop)
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


class _Turns(Generic[Item, Done]):
    """Whose turn it is, and what became of those before."""

    def __init__(self, items: Sequence[Item], finished: Callable[[Done], bool]):
        self.results: list[Done | None] = [None] * len(items)
        self._items = items
        self._finished = finished
        self._lock = threading.Lock()
        self._next = 0
        self._end = len(items)
        self._is_open = True

    def take(self, work: Callable[[Item], Done], stop: Stop) -> None:
        """One item after the other, until none is left or the end is called. One that raises ends it all."""
        try:
            while (turn := self._turn()) is not None and not stop.is_set():
                self._keep(turn, work(self._items[turn]))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Nothing is begun any more, and nothing kept."""
        with self._lock:
            self._end, self._is_open = 0, False

    def _turn(self) -> int | None:
        with self._lock:
            if self._next >= self._end:
                return None
            self._next += 1
            return self._next - 1

    def _keep(self, turn: int, done: Done) -> None:
        with self._lock:
            if self._is_open:
                self.results[turn] = done
                if not self._finished(done):
                    self._end = 0
