"""Work in threads, results in order: output never depends on which finished first. And how a run is
stopped."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")
AHEAD = 4
"""How many pieces of work may wait for each worker: enough to keep it busy, and few to call back."""


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
    """`work` is done for each item by at most `jobs` threads; `finished` is told of each result, in the
    calling thread, and answers whether to go on. Whoever asks to `stop` has what is under way cancelled
    (`cancel`) and what is done kept."""

    def __init__(
        self,
        jobs: int,
        work: Callable[[Item], Done],
        cancel: Callable[[], None],
        stop: Stop,
        ahead: int = AHEAD,
    ):
        self._jobs = jobs
        self._most = jobs * ahead
        self._work = work
        self._cancel = cancel
        self._stop = stop

    def run(self, items: Sequence[Item], finished: Callable[[Done], bool]) -> list[Done | None]:
        """The results in the order of the items; None where the work was never done."""
        results: list[Done | None] = [None] * len(items)
        waiting = iter(range(len(items)))
        running: dict[Future[Done], int] = {}
        ended: SimpleQueue[Future[Done] | None] = SimpleQueue()  # its `put` may interrupt its `get`
        self._stop.wake = lambda: ended.put(None)
        going = True
        executor = ThreadPoolExecutor(self._jobs, thread_name_prefix="replay")
        try:
            while not self._stop.is_set():
                while going and len(running) < self._most:
                    index = next(waiting, None)
                    if index is None:
                        break
                    future = executor.submit(self._work, items[index])
                    running[future] = index
                    future.add_done_callback(ended.put)
                if not running:
                    return results
                for future in sorted(_all_of(ended), key=running.__getitem__):
                    index = running.pop(future)
                    if future.cancelled():
                        continue
                    results[index] = future.result()
                    if not finished(future.result()) and going:
                        going = False
                        for other in running:
                            other.cancel()
            self._keep_what_is_done(running, results, finished)
            return results
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    def _keep_what_is_done(
        self, running: dict[Future[Done], int], results: list[Done | None], finished: Callable[[Done], bool]
    ) -> None:
        done = [(index, future) for future, index in running.items() if future.done()]
        for future in running:
            future.cancel()
        self._cancel()
        for index, future in sorted(done, key=lambda pair: pair[0]):
            if not future.cancelled():
                results[index] = future.result()
                finished(future.result())


def _all_of(ended: "SimpleQueue[Future[Done] | None]") -> list[Future[Done]]:
    """Wait for one, and take what else is there. None is but a call to look up."""
    found = [ended.get()]
    while not ended.empty():
        found.append(ended.get())
    return [future for future in found if future is not None]
