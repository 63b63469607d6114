"""Work in threads, results in order: output never depends on which finished first."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")
AHEAD = 4
"""How many pieces of work may wait for each worker: enough to keep it busy, and few to call back."""


class Pool(Generic[Item, Done]):
    """`work` is done for each item by at most `jobs` threads; `finished` is told of each result, in the
    calling thread, and answers whether to go on. A Ctrl-C cancels what is under way (`cancel`) and keeps
    what is done."""

    def __init__(
        self, jobs: int, work: Callable[[Item], Done], cancel: Callable[[], None], ahead: int = AHEAD
    ):
        self._jobs = jobs
        self._most = jobs * ahead
        self._work = work
        self._cancel = cancel
        self.interrupted = False

    def run(self, items: Sequence[Item], finished: Callable[[Done], bool]) -> list[Done | None]:
        """The results in the order of the items; None where the work was never done."""
        results: list[Done | None] = [None] * len(items)
        waiting = iter(range(len(items)))
        running: dict[Future[Done], int] = {}
        going = True
        executor = ThreadPoolExecutor(self._jobs, thread_name_prefix="replay")
        try:
            while True:
                while going and len(running) < self._most:
                    index = next(waiting, None)
                    if index is None:
                        break
                    running[executor.submit(self._work, items[index])] = index
                if not running:
                    return results
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=running.__getitem__):
                    index = running.pop(future)
                    if future.cancelled():
                        continue
                    results[index] = future.result()
                    if not finished(future.result()) and going:
                        going = False
                        for other in running:
                            other.cancel()
        except KeyboardInterrupt:
            self.interrupted = True
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
