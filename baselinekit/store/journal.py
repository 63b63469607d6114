"""What a run has finished so far, written down at once, so that a killed run goes on where it was.

`.baselinekit/journal/<key>.jsonl`: a line for each attempt, or for each answer of a model, with a checksum
in front. A line that was torn by a crash, and what stands after it, is no part of the journal. Whoever writes
one holds its lock, which the system releases with its owner."""

import contextlib
import fcntl
import os
import stat
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from glob import escape as glob_escape, glob
from hashlib import sha256

from baselinekit.documents.jsontext import MAX_DEPTH, NotJson, decode, to_bytes
from baselinekit.errors import CannotReplay, NotRecorded, Problem
from baselinekit.frozen import frozen
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write

_FOLDER = "journal"
_DEEPER = 16
"""Levels of nesting around an output."""

_MOST_KEPT = 20
_LONGEST_LINE = 512_000_000
"""Bytes: what nobody has written here, and would fill the memory."""

_SYNCED_EVERY = 1.0
"""Seconds of work that a power cut may take; a killed process takes none."""


def name_of(*parts: str) -> str:
    """A key from what has to be the same for two runs to be the same."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


@frozen
class Line:
    """Where a line of a journal stands, and what it says."""

    start: int
    size: int
    entry: Json


class Journal:
    """Of one run. Lines are added from any thread."""

    def __init__(self, root: str, key: str):
        self._name = os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{key}.jsonl")
        self._path = os.path.join(atomic.state_folder(root, _FOLDER), f"{key}.jsonl")
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        self._handle = self._opened()
        self._size = 0
        self.torn = 0
        """Bytes at its end that were no whole lines, when it was read."""
        _sweep(os.path.dirname(self._path))

    def begin(self, go_on: bool) -> list[Json]:
        """What an earlier run has finished, where this one is to go on with it; else it begins anew."""
        return [line.entry for line in self.lines(go_on)]

    def lines(self, go_on: bool) -> Iterator[Line]:
        """The same line by line: to be read to the end before anything is added."""
        self._size = 0
        for line in _whole_lines(self._handle) if go_on else ():
            yield line
            self._size = line.start + line.size
        self.torn = os.fstat(self._handle).st_size - self._size if go_on else 0
        os.ftruncate(self._handle, self._size)

    def at(self, line: Line) -> Json:
        """What a line says that was not kept in memory."""
        return _entry_in(os.pread(self._handle, line.size, line.start))

    def add(self, entry: Json) -> None:
        """Write down one line, before anybody is told of it. One that does not go in whole is taken out
        again: what comes after it would be lost with it."""
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
            is_due = time.monotonic() >= self._synced + _SYNCED_EVERY
            if is_due:
                self._synced = time.monotonic()
        if is_due:  # while others write: a disk takes its time
            try:
                os.fdatasync(self._handle)
            except OSError as error:
                raise NotRecorded(cannot_write(self._name, error)) from None

    def forget(self) -> None:
        """The run is done: there is nothing to go on with."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def close(self) -> None:
        os.close(self._handle)

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            try:
                handle = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise NotRecorded(cannot_write(self._name, error)) from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), os.stat(self._path)):
                    return self._regular(handle)
            except FileNotFoundError:  # who held it has just finished
                pass
            except OSError:
                os.close(handle)
                what = "another run of the same cases is under way"
                raise CannotReplay(
                    Problem("BK720", what, "wait until it has finished, or stop it first")
                ) from None
            os.close(handle)

    def _regular(self, handle: int) -> int:
        """The same, where it is a file: what else stands there is nothing of ours."""
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        raise NotRecorded(Problem("BK120", f"{self._name} is no regular file", "remove it"))


def _whole_lines(handle: int) -> Iterator[Line]:
    """The lines up to the first that is not whole."""
    with open(os.dup(handle), "rb") as file:
        file.seek(0)
        start = 0
        while data := file.readline(_LONGEST_LINE):
            entry = _entry_in(data)
            if entry is None:
                return
            yield Line(start, len(data), entry)
            start += len(data)


def _write(handle: int, data: bytes, place: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, place)
        rest, place = rest[written:], place + written


def _entry_in(data: bytes) -> Json:
    """What a line says; None where it is not whole."""
    checksum, _, body = data.removesuffix(b"\n").partition(b" ")
    if not data.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        return decode(body.decode("utf-8"), MAX_DEPTH + _DEEPER)
    except (NotJson, UnicodeDecodeError):
        return None


def _sweep(folder: str) -> None:
    """Of runs that nobody has gone on with the oldest journals go, unless somebody is writing them."""
    with contextlib.suppress(OSError):
        files = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for file in files[:-_MOST_KEPT]:
            with contextlib.suppress(OSError):
                _remove_unheld(file)


def _remove_unheld(file: str) -> None:
    handle = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(file)
    finally:
        os.close(handle)


# The answers of models to one run, so that a run which goes on asks for none of them again. Several runs of
# the same things may be under way: each writes a journal of its own. Those that nobody writes any more are
# what there is to go on with; who begins anew is done with them.


class AnswerJournal:
    """Keeps answers by their names, as a cassette does, and finds those of earlier runs. `key`: what the run
    is about."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._journals = unheld_journals(root, key, go_on)
        self.lost: NotRecorded | None = None
        """Why an answer could not be kept, if one could not."""
        self._known: dict[tuple[str, str], tuple[Journal, Line]] = {}
        for journal in self._journals:
            for line in journal.lines(go_on):
                if (place := _place_of(line.entry)) is not None:
                    self._known[place] = journal, replace(line, entry=None)  # read when it is asked for
        if not go_on:
            for journal in self._journals[:-1]:
                journal.forget()

    @property
    def name(self) -> str:
        return os.path.join(atomic.STATE_FOLDER, _FOLDER)

    @property
    def is_torn(self) -> bool:
        """Whether one of them ended within a line."""
        return any(journal.torn for journal in self._journals)

    def find(self, model: str, key: str) -> Json:
        """The record, or None when there is none."""
        if (found := self._known.get((model, key))) is None:
            return None
        journal, line = found
        entry = journal.at(line)
        return entry["record"] if isinstance(entry, dict) else None

    def keep(self, model: str, key: str, record: Json) -> None:
        """Behind the others. NotRecorded where there is no room, which is remembered."""
        try:
            self._journals[-1].add({"model": model, "name": key, "record": record})
        except NotRecorded as error:
            self.lost = self.lost or error
            raise

    def every(self) -> list[Json]:
        return []

    def names(self, model: str, key: str) -> list[str]:
        return []

    def drop(self, model: str, name: str) -> None:
        """Nothing is taken out of a journal: what comes later counts."""

    def forget(self) -> None:
        for journal in self._journals:
            journal.forget()

    def close(self) -> None:
        for journal in self._journals:
            journal.close()


class EarlierAnswers:
    """Those that journals hold, for a worker: somebody else holds and writes them."""

    def __init__(self, root: str, key: str, go_on: bool):
        self._known: dict[tuple[str, str], Json] = {}
        for file in files_of(root, key) if go_on else ():
            with contextlib.suppress(OSError):
                self._read(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))

    def _read(self, handle: int) -> None:
        try:
            is_file = stat.S_ISREG(os.fstat(handle).st_mode)
            for line in _whole_lines(handle) if is_file else ():
                if (place := _place_of(line.entry)) is not None:
                    self._known[place] = line.entry["record"]
        finally:
            os.close(handle)

    @property
    def name(self) -> str:
        return os.path.join(atomic.STATE_FOLDER, _FOLDER)

    def find(self, model: str, key: str) -> Json:
        return self._known.get((model, key))

    def keep(self, model: str, key: str, record: Json) -> None:
        """Whoever holds the journal does that."""

    def every(self) -> list[Json]:
        return []

    def names(self, model: str, key: str) -> list[str]:
        return []

    def drop(self, model: str, name: str) -> None:
        """Nothing is taken out of a journal."""


def _place_of(entry: Json) -> tuple[str, str] | None:
    """The model and the name of an answer, if a line holds one."""
    if isinstance(entry, dict) and entry.keys() == {"model", "name", "record"}:
        return entry["model"], entry["name"]
    return None


def files_of(root: str, key: str) -> list[str]:
    """The journals of a key, the oldest first."""
    folder = atomic.state_folder(root, _FOLDER)
    with contextlib.suppress(OSError):  # one of them has just gone: its run has come to its end
        return sorted(glob(os.path.join(glob_escape(folder), f"{key}-*.jsonl")), key=os.path.getmtime)
    return []


def unheld_journals(root: str, key: str, go_on: bool) -> list[Journal]:
    """Those of a key that nobody writes, the oldest first; a new one where there is none. CannotReplay for
    who wants to `go_on` with what is still under way."""
    found: list[Journal] = []
    held: CannotReplay | None = None
    for file in files_of(root, key):
        try:
            found.append(Journal(root, os.path.basename(file).removesuffix(".jsonl")))
        except CannotReplay as error:
            held = error
    if held is not None and go_on and not found:
        raise held
    number = 0
    while not found:
        number += 1
        with contextlib.suppress(CannotReplay):
            found.append(Journal(root, f"{key}-{number}"))
    return found
