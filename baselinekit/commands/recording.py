"""Verdicts are recorded while other baselines are still being replayed, by a thread of its own: those on a
file when all its baselines are judged, or when the run ends."""

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable

from baselinekit.commands.context import Stop
from baselinekit.errors import NotRecorded
from baselinekit.model.baselines import Source
from baselinekit.store.atomic import WAIT
from baselinekit.store.record import Mark, Recorded, record_all, record_free

_MOST_FILES = 32
"""How many files are written together, and how many may wait: then `add` blocks, however slow the disk is."""


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
        self._held: list[Mark] = []
        """Those whose files another process is writing: written last, so that the others do not wait."""
        self._lock = threading.Lock()
        self._ready: queue.Queue[list[Mark] | None] = queue.Queue(_MOST_FILES)
        self._writer: threading.Thread | None = None
        self._broken: BaseException | None = None
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
            marks = None if self._open[source.file] else self._marks.pop(source.file, None)
            if marks and self._writer is None:
                self._writer = self._start_writer()
        if marks and self._writer is not None:
            self._ready.put(marks)
        elif marks:
            self._write_held(marks)

    def _start_writer(self) -> threading.Thread | None:
        """Start the writer. A busy machine may have no thread for it: then the caller writes itself."""
        writer = threading.Thread(target=self._write_all, name="record")
        try:
            writer.start()
        except RuntimeError:
            return None
        return writer

    def close(self) -> None:
        if self._writer is not None:
            self._ready.put(None)
            self._writer.join()
        last = [mark for marks in (*self._marks.values(), self._held) for mark in marks]
        self._marks.clear()
        self._held = []
        self._write_held(last)
        if self._broken is not None:
            raise self._broken

    def _write_all(self) -> None:
        batches: list[list[Mark] | None] = []
        while None not in batches:
            batches = [self._ready.get()]
            while len(batches) < _MOST_FILES and not self._ready.empty():
                batches.append(self._ready.get())
            if self._broken is None:
                try:
                    marks = [mark for batch in batches if batch for mark in batch]
                    self._add(record_free(marks, self._root, self._now(), self._daily))
                except BaseException as error:
                    self._broken = error

    def _write_held(self, marks: list[Mark]) -> None:
        """Write into files also if others are writing them: wait for those."""
        self._add(record_all(marks, self._root, self._now(), self._daily, self._wait, self._hurry))

    def _add(self, done: Recorded) -> None:
        self.notes += done.notes
        self.failures += done.failures
        self._held += done.held
