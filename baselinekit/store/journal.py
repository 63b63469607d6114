"""Journals: what a run has finished or paid for so far, written at once, so that a killed run can continue
where it was.

`.baselinekit/journal/<key>.jsonl`: a line for each attempt, or for each answer of a model. A line that was
torn by a crash, and everything after it, is ignored. The writer of a journal holds its lock, which the system
releases when the process ends."""

import contextlib
import fcntl
import os
import stat
import threading
from collections.abc import Iterable
from glob import escape as glob_escape, glob
from hashlib import sha256

from baselinekit.errors import CannotReplay, NotRecorded, Problem
from baselinekit.files.jsontext import MAX_DEPTH, NotJson, decode, to_bytes
from baselinekit.model.values import Json
from baselinekit.store import atomic

_FOLDER = "journal"
_EXTRA_DEPTH = 16
"""Levels of nesting that an entry adds around an output."""

_MAX_JOURNALS = 20
_MAX_LINE_BYTES = 512_000_000
"""Nothing that we wrote is longer, and a longer line could fill the memory."""

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def name_of(*parts: str) -> str:
    """Return a key made of everything that has to be equal for two runs to count as the same."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Journal:
    """The journal of one run. Any thread may add lines."""

    def __init__(self, root: str, key: str):
        self._name = os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{key}.jsonl")
        self._path = os.path.join(atomic.state_folder(root, _FOLDER), f"{key}.jsonl")
        self._lock = threading.Lock()
        self._handle = self._open_locked()
        self._size = 0
        self.torn = 0
        """How many bytes at the end were no whole lines when the journal was read."""
        _remove_old_journals(os.path.dirname(self._path))

    def begin(self, go_on: bool) -> list[Json]:
        """Return the entries of an earlier run if this one continues it; else empty the journal."""
        entries, self._size = _whole_lines(self._handle) if go_on else ([], 0)
        self.torn = os.fstat(self._handle).st_size - self._size if go_on else 0
        os.ftruncate(self._handle, self._size)
        return entries

    def add(self, entry: Json) -> None:
        """Write one line, before its result is used. A line that cannot be written whole is removed again:
        otherwise what follows it would be lost with it."""
        data = to_bytes(entry) + b"\n"
        with self._lock:
            try:
                written = 0
                while written < len(data):  # less than all on a nearly full disk: the next write fails
                    written += os.pwrite(self._handle, data[written:], self._size + written)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle, self._size)
                raise NotRecorded(atomic.cannot_write(self._name, error)) from None
            self._size += len(data)

    def forget(self) -> None:
        """Delete the journal: the run is done, so there is nothing to continue."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def close(self) -> None:
        os.close(self._handle)

    def _open_locked(self) -> int:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        except OSError as error:
            raise NotRecorded(atomic.cannot_write(self._name, error)) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotRecorded(Problem("BK120", f"{self._name} is no regular file", "remove it"))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            message, hint = (
                "another run of the same cases is under way",
                "wait until it has finished, or stop it first",
            )
            raise CannotReplay(Problem("BK720", message, hint)) from None
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # the run that held it has just finished, and deleted it
        return self._open_locked()


def _whole_lines(handle: int) -> tuple[list[Json], int]:
    """Return the entries before the first line that is not whole, and their size."""
    entries: list[Json] = []
    size = 0
    with open(os.dup(handle), "rb") as file, contextlib.suppress(NotJson, UnicodeDecodeError):
        file.seek(0)
        while (data := file.readline(_MAX_LINE_BYTES)).endswith(b"\n"):
            entries.append(decode(data.decode("utf-8"), MAX_DEPTH + _EXTRA_DEPTH))
            size += len(data)
    return entries, size


def _remove_old_journals(folder: str) -> None:
    """Remove the oldest journals, except those that a process is writing."""
    with contextlib.suppress(OSError):
        files = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for file in files[:-_MAX_JOURNALS]:
            with contextlib.suppress(OSError), open(os.open(file, os.O_RDWR | _FLAGS), "rb+") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(file)


# The answers that models gave to one run, so that a continued run asks for none of them again. Several runs
# of the same cases may be under way: each writes its own journal. A run continues with the journals that no
# process writes any more; one that starts anew deletes them.


class EarlierAnswers:
    """The answers in journals, read-only, for a worker process: its parent locks and writes the journals.
    `key` says what the run is about."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._known: dict[tuple[str, str], Json] = {}
        for file in files_of(root, key) if go_on else ():
            with contextlib.suppress(OSError), open(os.open(file, os.O_RDONLY | _FLAGS), "rb") as opened:
                if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                    self._add(_whole_lines(opened.fileno())[0])

    def _add(self, entries: Iterable[Json]) -> None:
        for entry in entries:
            if isinstance(entry, dict) and entry.keys() == {"model", "name", "record"}:
                self._known[entry["model"], entry["name"]] = entry["record"]

    @property
    def name(self) -> str:
        return os.path.join(atomic.STATE_FOLDER, _FOLDER)

    def find(self, model: str, key: str) -> Json:
        """The record, or None when there is none."""
        return self._known.get((model, key))

    def keep(self, model: str, key: str, record: Json) -> None:
        """Do nothing: the process that holds the journal does that."""

    def every(self) -> list[Json]:
        return []

    def names(self, model: str, key: str) -> list[str]:
        return []

    def drop(self, model: str, name: str) -> None:
        """Do nothing: answers stay in a journal, and a later one overrides them."""


class AnswerJournal(EarlierAnswers):
    """Keeps answers by their names, as a cassette does, and finds those of earlier runs. CannotReplay if a
    run is to be continued and all of its journals are still being written."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._known = {}
        self.lost: NotRecorded | None = None
        """The error of the first answer that could not be written."""
        self._journals: list[Journal] = []
        held: CannotReplay | None = None
        for file in files_of(root, key):
            try:
                self._journals.append(Journal(root, os.path.basename(file).removesuffix(".jsonl")))
            except CannotReplay as error:
                held = error
        if held is not None and go_on and not self._journals:
            raise held
        number = 0
        while not self._journals:
            number += 1
            with contextlib.suppress(CannotReplay):
                self._journals.append(Journal(root, f"{key}-{number}"))
        for journal in self._journals:
            self._add(journal.begin(go_on))
        if not go_on:
            for journal in self._journals[:-1]:
                journal.forget()

    @property
    def is_torn(self) -> bool:
        """Whether one of the journals ended within a line."""
        return any(journal.torn for journal in self._journals)

    def keep(self, model: str, key: str, record: Json) -> None:
        """Append an answer. NotRecorded if it cannot be written, which `lost` remembers."""
        try:
            self._journals[-1].add({"model": model, "name": key, "record": record})
        except NotRecorded as error:
            self.lost = self.lost or error
            raise

    def forget(self) -> None:
        for journal in self._journals:
            journal.forget()

    def close(self) -> None:
        for journal in self._journals:
            journal.close()


def files_of(root: str, key: str) -> list[str]:
    """Return the journals of a key, the oldest first."""
    folder = atomic.state_folder(root, _FOLDER)
    with contextlib.suppress(OSError):  # one was removed meanwhile: its run has finished
        return sorted(glob(os.path.join(glob_escape(folder), f"{key}-*.jsonl")), key=os.path.getmtime)
    return []
