"""A journal of what a run has finished so far, written at once, so that a killed run can continue where it
was.

`.baselinekit/journal/<key>.jsonl`: a line for each attempt, or for each answer of a model, with a checksum
in front. A line that was torn by a crash, and everything after it, is ignored. The writer of a journal holds
its lock, which the system releases when the process ends."""

import contextlib
import fcntl
import os
import stat
import threading
import time
import zlib
from glob import escape as glob_escape, glob
from hashlib import sha256

from baselinekit.errors import CannotReplay, NotRecorded, Problem
from baselinekit.files.jsontext import MAX_DEPTH, NotJson, decode, to_bytes
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write

_FOLDER = "journal"
_EXTRA_DEPTH = 16
"""Levels of nesting that an entry adds around an output."""

_MAX_JOURNALS = 20
_MAX_LINE_BYTES = 512_000_000
"""Nothing that we wrote is longer, and a longer line could fill the memory."""

_SYNC_INTERVAL = 1.0
"""Seconds of work that a power cut may lose; a killed process loses none."""


def name_of(*parts: str) -> str:
    """Return a key made of everything that has to be equal for two runs to count as the same."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Journal:
    """The journal of one run. Any thread may add lines."""

    def __init__(self, root: str, key: str):
        self._name = os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{key}.jsonl")
        self._path = os.path.join(atomic.state_folder(root, _FOLDER), f"{key}.jsonl")
        self._lock = threading.Lock()
        self._synced = time.monotonic()
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
        body = to_bytes(entry)
        data = b"%08x %s\n" % (zlib.crc32(body), body)
        with self._lock:
            try:
                _write(self._handle, data, self._size)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle, self._size)
                raise NotRecorded(cannot_write(self._name, error)) from None
            self._size += len(data)
            is_due = time.monotonic() >= self._synced + _SYNC_INTERVAL
            if is_due:
                self._synced = time.monotonic()
        if is_due:  # outside of the lock, so that other threads can write meanwhile
            try:
                os.fdatasync(self._handle)
            except OSError as error:
                raise NotRecorded(cannot_write(self._name, error)) from None

    def forget(self) -> None:
        """Delete the journal: the run is done, so there is nothing to continue."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def close(self) -> None:
        os.close(self._handle)

    def _open_locked(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            try:
                handle = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise NotRecorded(cannot_write(self._name, error)) from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), os.stat(self._path)):
                    return self._require_regular(handle)
            except FileNotFoundError:  # the run that held it has just finished
                pass
            except OSError:
                os.close(handle)
                message = "another run of the same cases is under way"
                raise CannotReplay(
                    Problem("BK720", message, "wait until it has finished, or stop it first")
                ) from None
            os.close(handle)

    def _require_regular(self, handle: int) -> int:
        """Return the handle if it is that of a regular file, else raise: nothing else there is ours."""
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        raise NotRecorded(Problem("BK120", f"{self._name} is no regular file", "remove it"))


def _whole_lines(handle: int) -> tuple[list[Json], int]:
    """Return the entries before the first line that is not whole, and their size."""
    entries: list[Json] = []
    size = 0
    with open(os.dup(handle), "rb") as file:
        file.seek(0)
        while data := file.readline(_MAX_LINE_BYTES):
            entry = _parse_entry(data)
            if entry is None:
                break
            entries.append(entry)
            size += len(data)
    return entries, size


def _write(handle: int, data: bytes, position: int) -> None:
    remaining = memoryview(data)
    while remaining:
        written = os.pwrite(handle, remaining, position)
        remaining, position = remaining[written:], position + written


def _parse_entry(data: bytes) -> Json:
    """Return the entry of a line; None if the line is not whole."""
    checksum, _, body = data.removesuffix(b"\n").partition(b" ")
    if not data.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        return decode(body.decode("utf-8"), MAX_DEPTH + _EXTRA_DEPTH)
    except (NotJson, UnicodeDecodeError):
        return None


def _remove_old_journals(folder: str) -> None:
    """Remove the oldest journals, except those that a process is writing."""
    with contextlib.suppress(OSError):
        files = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for file in files[:-_MAX_JOURNALS]:
            with contextlib.suppress(OSError):
                _remove_unheld(file)


def _remove_unheld(file: str) -> None:
    handle = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(file)
    finally:
        os.close(handle)


# The answers that models gave to one run, so that a continued run asks for none of them again. Several runs
# of the same cases may be under way: each writes its own journal. A run continues with the journals that no
# process writes any more; one that starts anew deletes them.


class EarlierAnswers:
    """The answers in journals, read-only, for a worker process: its parent locks and writes the journals.
    `key` says what the run is about."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._known: dict[tuple[str, str], Json] = {}
        for file in files_of(root, key) if go_on else ():
            with contextlib.suppress(OSError):
                handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    self._add(_whole_lines(handle)[0] if stat.S_ISREG(os.fstat(handle).st_mode) else [])
                finally:
                    os.close(handle)

    def _add(self, entries: list[Json]) -> None:
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
    """Keeps answers by their names, as a cassette does, and finds those of earlier runs."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._known = {}
        self._journals = unheld_journals(root, key, go_on)
        self.lost: NotRecorded | None = None
        """The error of the first answer that could not be written."""
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


def unheld_journals(root: str, key: str, go_on: bool) -> list[Journal]:
    """Open the journals of a key that no process writes, the oldest first, or a new one if there are none.
    CannotReplay if `go_on` and all of them are still being written."""
    journals: list[Journal] = []
    held_error: CannotReplay | None = None
    for file in files_of(root, key):
        try:
            journals.append(Journal(root, os.path.basename(file).removesuffix(".jsonl")))
        except CannotReplay as error:
            held_error = error
    if held_error is not None and go_on and not journals:
        raise held_error
    number = 0
    while not journals:
        number += 1
        with contextlib.suppress(CannotReplay):
            journals.append(Journal(root, f"{key}-{number}"))
    return journals
