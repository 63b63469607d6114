"""Verdicts are written down while other baselines are still being replayed: many files at once, and a file of
many baselines not for each of them."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from baselinekit.errors import NotRecorded
from baselinekit.model.baselines import Source
from baselinekit.store.atomic import INDEX, WAIT
from baselinekit.store.record import (
    Mark,
    Recorded,
    RecordedFile,
    VerdictLog,
    by_file,
    record_all,
    record_free,
    record_left,
)
from baselinekit.workflow.context import Stop

_GATHERING = 0.02
_GROUP = 32
_MOST_READY = 32
"""Files that may wait to be written, beside those that are being written. `add` of one more blocks, however
slow the disk is."""

_POLL = 0.1
_LONGEST = 1.0
_SHARE = 10
"""What is known of a file whose other baselines are still open is written after `_LONGEST` seconds, and so
seldom that no more than one part in `_SHARE` of the time goes into it."""


class Recorder:
    """Takes a verdict on each of the baselines, or none, from any thread; writes in a thread of its own, and
    first what killed runs have left. A file that somebody else is writing keeps no other one back. `close`
    waits until all is written, and has the index of the project
    know the files again that were written; in a `hurry` nobody waits long for a lock any more."""

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
        self._log = VerdictLog(root)
        self._lock = threading.Condition()
        self._waiting: dict[str, list[Mark]] = {}
        self._held: dict[str, float] = {}
        self._ready = 0
        self._has_news = self._is_closing = False
        self._hurry = hurry
        self._wait = wait
        self._writer: threading.Thread | None = None
        self._broken: BaseException | None = None
        self._rewritten: dict[str, RecordedFile] | None = (
            {} if os.path.lexists(os.path.join(root, INDEX)) else None
        )
        self.notes: list[str] = []
        self.failures: list[NotRecorded] = []

    @property
    def not_recorded(self) -> tuple[str, ...]:
        """What could not be written, each with what to do about it: a run can do without."""
        problems = [problem for error in self.failures for problem in error.problems]
        instead = ", or leave it: --no-record writes nothing"
        return tuple(f"{one}{instead if one.code == 'BK120' else ''}" for one in problems)

    def add(self, source: Source, passed: bool | None) -> None:
        with self._lock:
            self._open[source.file] -= 1
            if passed is not None:
                self._log.note(source, passed, self._now())
                self._waiting.setdefault(source.file, []).append(Mark(source, passed))
                self._writer = self._writer or self._begun()
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
        """Whoever is in a hurry waits for nobody, and nobody for a writer that is no more."""
        in_a_hurry = self._hurry is not None and self._hurry.is_set()
        is_over = not (self._writer and self._writer.is_alive())
        return self._ready + len(self._held) <= _MOST_READY or in_a_hurry or is_over

    def _begun(self) -> threading.Thread | None:
        """The writer. A busy machine may have no thread for it: the next verdict asks again."""
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
        self._log.close()
        if self._rewritten and not (self._hurry is not None and self._hurry.is_set()):
            from baselinekit.store.index import FileIndex

            FileIndex(self._root).renew(self._rewritten.values())

    def _write_all(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._broken = error

    def _work(self) -> None:
        self._tell(record_left(self._root, self._daily, self._hurry))
        due = time.monotonic() + _LONGEST
        while True:
            with self._lock:
                self._lock.wait_for(self._is_due, _LONGEST if self._waiting else None)
                self._lock.wait_for(self._is_enough, _GATHERING)
                last, began = self._is_closing, time.monotonic()
                batches = self._take(last or began >= due)
            held: list[Mark] = []
            for start in range(0, len(batches), _GROUP):
                marks = [mark for batch in batches[start : start + _GROUP] for mark in batch]
                self._count(marks)
                done = record_free(marks, self._root, self._now(), self._daily, self._log)
                self._tell(done)
                held += done.held
            overdue = held if last else self._put_back(held)
            self._count(overdue)
            wait = self._wait if last else 0
            self._tell(
                record_all(overdue, self._root, self._now(), self._daily, self._log, wait, self._hurry)
            )
            if last:
                return
            if began >= due:
                due = time.monotonic() + max(_LONGEST, _SHARE * (time.monotonic() - began))

    def _count(self, marks: Iterable[Mark]) -> None:
        for file, verdicts in Counter(mark.source.file for mark in marks).items():
            self._log.count(file, verdicts)

    def _put_back(self, held: list[Mark]) -> list[Mark]:
        """What somebody else is writing waits for another round, before what has come in meanwhile. Returns
        what has waited long enough."""
        now, overdue = time.monotonic(), []
        with self._lock:
            since = {file: self._held.get(file, now) for file in by_file(held)}
            self._held = {file: then for file, then in since.items() if now < then + self._wait}
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
        """What is to be written now, by file. The lock is held since it was known whether this is the last
        time: whoever closes meanwhile would not be heard."""
        self._has_news, self._ready = False, 0
        self._lock.notify_all()
        files = [file for file in self._waiting if unfinished or not self._open[file]]
        return [self._waiting.pop(file) for file in files]

    def _tell(self, done: Recorded) -> None:
        self.notes += done.notes
        self.failures += done.failures
        if self._rewritten is not None:
            for one in done.rewritten:
                earlier = self._rewritten.get(one.file)
                self._rewritten[one.file] = one if earlier is None else earlier.and_then(one)
