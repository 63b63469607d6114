"""The questions of one answer, asked at the same time. Whoever asks, a replay or a comparison: of a run no
more than `-j` questions are on their way, and of those a model gets as many as its entry allows."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Self

from baselinekit.model.asking import Answer, Ask
from baselinekit.replay.dispatch import Doors


class AtOnce:
    """Around a run. The threads that ask wait for nobody but a door, so those that wait for them go on."""

    def __init__(self, doors: Doors, jobs: int):
        self._models = doors.models
        self._free = threading.Semaphore(jobs)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="asking")
        self.doors = replace(doors, models=self, together=self.together)

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
