"""Verdicts are recorded while other baselines are still being replayed: many files at once, and a file of
many baselines not for each of them."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from baselinekit.commands.context import Stop
from baselinekit.errors import NotRecorded
from baselinekit.model.baselines import Source
from baselinekit.store.atomic import WAIT
from baselinekit.store.record import (
    Mark,
    Recorded,
    by_file,
    record_all,
    record_free,
)

_GATHERING = 0.02
_GROUP = 32
_MOST_READY = 32
"""Files that may wait to be written, beside those that are being written. `add` of one more blocks until
there is room, however slow the disk is."""

_POLL = 0.1
_LONGEST = 1.0
_SHARE = 10
"""The verdicts on a file whose other baselines are not done yet are written after `_LONGEST` seconds, and so
seldom that this takes no more than one part in `_SHARE` of the time."""


class Recorder:
    """Takes a verdict on each of the baselines, or none, from any thread; writes in a thread of its own. A
    file that another process is writing does not delay the others. `close` waits until all is written; in a
    `hurry` nothing waits long for a lock."""

    def __init__(
        self,
        root: str,
        now: Callable[[], str],
        daily: bool,
        sources: Iterable[Source],
        hurry: Stop | None = None,
        wait: float = WAIT,
    ):
        self._root = root
        self._now = now
        self._daily = daily
        self._open = Counter(source.file for source in sources)
        self._lock = threading.Condition()
        self._waiting: dict[str, list[Mark]] = {}
        self._held: dict[str, float] = {}
        self._ready = 0
        self._has_news = self._is_closing = False
        self._hurry = hurry
        self._wait = wait
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
                self._waiting.setdefault(source.file, []).append(Mark(source, passed))
                self._writer = self._writer or self._start_writer()
                if not self._has_news:
                    self._has_news = True
                    self._lock.notify_all()
            if not self._open[source.file] and source.file in self._waiting:
                self._ready += 1
                if self._ready >= _GROUP:
                    self._lock.notify_all()
                while not self._has_room():
                    self._lock.wait(_POLL)

    def _has_room(self) -> bool:
        """Do not wait in a hurry, or for a writer that has ended."""
        is_hurried = self._hurry is not None and self._hurry.is_set()
        is_over = not (self._writer and self._writer.is_alive())
        return self._ready + len(self._held) <= _MOST_READY or is_hurried or is_over

    def _start_writer(self) -> threading.Thread | None:
        """Start the writer. A busy machine may have no thread for it: the next verdict tries again."""
        writer = threading.Thread(target=self._write_all, name="record")
        try:
            writer.start()
        except RuntimeError:
            return None
        return writer

    def close(self) -> None:
        with self._lock:
            self._is_closing = True
            self._lock.notify_all()
        if self._writer is not None:
            self._writer.join()
        elif self._waiting:
            self._write_all()
        if self._broken is not None:
            raise self._broken

    def _write_all(self) -> None:
        try:
            self._write_loop()
        except BaseException as error:
            self._broken = error

    def _write_loop(self) -> None:
        due = time.monotonic() + _LONGEST
        while True:
            with self._lock:
                self._lock.wait_for(self._is_due, _LONGEST if self._waiting else None)
                self._lock.wait_for(self._is_enough, _GATHERING)
                is_last, began = self._is_closing, time.monotonic()
                batches = self._take(is_last or began >= due)
            held: list[Mark] = []
            for start in range(0, len(batches), _GROUP):
                marks = [mark for batch in batches[start : start + _GROUP] for mark in batch]
                recorded = record_free(marks, self._root, self._now(), self._daily)
                self._take_results(recorded)
                held += recorded.held
            overdue = held if is_last else self._put_back(held)
            wait = self._wait if is_last else 0
            self._take_results(record_all(overdue, self._root, self._now(), self._daily, wait, self._hurry))
            if is_last:
                return
            if began >= due:
                due = time.monotonic() + max(_LONGEST, _SHARE * (time.monotonic() - began))

    def _put_back(self, held: list[Mark]) -> list[Mark]:
        """Put back the marks of files that another process is writing, before those that have come in
        meanwhile. Return those that have waited long enough."""
        now, overdue = time.monotonic(), []
        with self._lock:
            first_seen = {file: self._held.get(file, now) for file in by_file(held)}
            self._held = {file: since for file, since in first_seen.items() if now < since + self._wait}
            for file, marks in by_file(held).items():
                if file in self._held:
                    self._waiting[file] = marks + self._waiting.get(file, [])
                else:
                    overdue += marks
            self._lock.notify_all()
        return overdue

    def _is_due(self) -> bool:
        return self._has_news or self._is_closing

    def _is_enough(self) -> bool:
        return self._ready >= _GROUP or self._is_closing

    def _take(self, unfinished: bool) -> list[list[Mark]]:
        """Return what is to be written now, by file. The lock is held since it was decided whether this is
        the last time, so that a `close` in between is not missed."""
        self._has_news, self._ready = False, 0
        self._lock.notify_all()
        files = [file for file in self._waiting if unfinished or not self._open[file]]
        return [self._waiting.pop(file) for file in files]

    def _take_results(self, recorded: Recorded) -> None:
        self.notes += recorded.notes
        self.failures += recorded.failures
