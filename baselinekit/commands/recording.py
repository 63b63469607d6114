"""Verdicts are recorded while other baselines are still being replayed, by a thread of its own: those on a
file when all its baselines are judged, or when the run ends."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from baselinekit.commands.context import Stop
from baselinekit.errors import NotRecorded
from baselinekit.model.baselines import Source
from baselinekit.store.atomic import WAIT
from baselinekit.store.record import Mark, Recorded, record_all, record_free


class Recorder:
    """Takes a verdict on each of the baselines, or none, from any thread. `close` waits until all is written;
    in a `hurry` nothing waits long for a lock."""

    def __init__(
        self,
        root: str,
        now: Callable[[], str],
        daily: bool,
        sources: Iterable[Source],
        hurry: Stop | None = None,
        wait: float = WAIT,
    ):
        self._root, self._now, self._daily, self._hurry, self._wait = root, now, daily, hurry, wait
        self._open = Counter(source.file for source in sources)
        self._marks: dict[str, list[Mark]] = {}
        """By file, as long as not all its baselines are judged."""
        self._ready: list[Mark] = []
        """What is to be written, and what another process keeps from being written."""
        self._lock = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "record")
        self._written: list[Future[None]] = []
        self.notes: list[str] = []
        self.failures: list[NotRecorded] = []

    @property
    def not_recorded(self) -> tuple[str, ...]:
        """What could not be written, each with what to do about it; the run does not fail for it."""
        problems = [problem for error in self.failures for problem in error.problems]
        advice = ", or leave it: --no-record writes nothing"
        return tuple(f"{problem}{advice if problem.code == 'BK120' else ''}" for problem in problems)

    def add(self, source: Source, passed: bool | None) -> None:
        with self._lock:
            self._open[source.file] -= 1
            if passed is not None:
                self._marks.setdefault(source.file, []).append(Mark(source, passed))
            if self._open[source.file] or source.file not in self._marks:
                return
            self._ready += self._marks.pop(source.file)
        self._written.append(self._writer.submit(self._write_free))

    def close(self) -> None:
        self._writer.shutdown()
        rest = [*self._ready, *(mark for marks in self._marks.values() for mark in marks)]
        self._marks, self._ready = {}, []
        self._add(record_all(rest, self._root, self._now(), self._daily, self._wait, self._hurry))
        for future in self._written:
            future.result()

    def _write_free(self) -> None:
        """Write what waits, but nothing that another process is writing: that is written last."""
        with self._lock:
            marks, self._ready = self._ready, []
        done = record_free(marks, self._root, self._now(), self._daily)
        self._add(done)
        with self._lock:
            self._ready += done.held

    def _add(self, done: Recorded) -> None:
        self.notes += done.notes
        self.failures += done.failures
