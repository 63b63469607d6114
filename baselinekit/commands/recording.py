"""Verdicts are recorded while other baselines are still being replayed, by a thread of its own: those on a
file when all its baselines are judged, or when the run ends."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from baselinekit.commands.context import Stop
from baselinekit.errors import NotRecorded
from baselinekit.model.baselines import Source
from baselinekit.store.atomic import WAIT
from baselinekit.store.record import Mark, record_all


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
            if not self._open[source.file] and source.file in self._marks:
                marks = self._marks.pop(source.file)
                self._written.append(self._writer.submit(self._write, marks))

    def close(self) -> None:
        with self._lock:
            for marks in self._marks.values():
                self._written.append(self._writer.submit(self._write, marks))
            self._marks = {}
        self._writer.shutdown()
        for future in self._written:
            future.result()

    def _write(self, marks: Sequence[Mark]) -> None:
        done = record_all(marks, self._root, self._now(), self._daily, self._wait, self._hurry)
        self.notes += done.notes
        self.failures += done.failures
