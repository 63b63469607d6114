"""Verdicts are written down while others are still being replayed, all that wait for one file at once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from baselinekit.errors import NotRecorded
from baselinekit.store.baselines import Mark, record

_WRITERS = 4


class Recorder:
    """Takes marks, one thread a file at a time. `close` waits until all are written."""

    def __init__(self, root: str, now: Callable[[], str], daily: bool):
        self._root = root
        self._now = now
        self._daily = daily
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Mark]] = {}
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="record")
        self._futures: list[Future[None]] = []
        self.notes: list[str] = []
        self.failures: list[NotRecorded] = []

    def add(self, mark: Mark) -> None:
        file = mark.source.file
        with self._lock:
            if file in self._waiting:
                self._waiting[file].append(mark)
                return
            self._waiting[file] = [mark]
        self._futures = [future for future in self._futures if not future.done()]
        self._futures.append(self._writers.submit(self._write, file))

    def _write(self, file: str) -> None:
        while True:
            with self._lock:
                marks, self._waiting[file] = self._waiting[file], []
                if not marks:
                    del self._waiting[file]
                    return
            try:
                notes = record(marks, self._root, self._now(), self._daily)
            except NotRecorded as error:
                with self._lock:
                    self.failures.append(error)
            else:
                with self._lock:
                    self.notes += notes

    def close(self) -> None:
        self._writers.shutdown(wait=True)
        for future in self._futures:
            future.result()
