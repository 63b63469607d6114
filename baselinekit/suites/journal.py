"""What a run has finished so far, written down at once, so that a killed run goes on where it was.

`.baselinekit/journal/<key>.jsonl`: a line for each attempt, with a checksum in front. A line that was torn
by a crash, and what stands after it, is no part of the journal. Whoever writes one holds its lock, which the
system releases with its owner."""

import contextlib
import fcntl
import os
import threading
import time
import zlib
from hashlib import sha256

from baselinekit.documents.jsontext import MAX_DEPTH, NotJson, decode, to_bytes
from baselinekit.errors import CannotReplay, InvalidInput, NotRecorded, Problem
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import MAX_OUTPUT_BYTES, read

_FOLDER = "journal"
_DEEPER = 16
"""Levels of nesting around an output."""

_MOST_KEPT = 20
_SYNCED_EVERY = 1.0
"""Seconds of work that a power cut may take; a killed process takes none."""


def name_of(*parts: str) -> str:
    """A key from what has to be the same for two runs to be the same."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Journal:
    """Of one run. Lines are added from any thread."""

    def __init__(self, root: str, key: str):
        self._name = os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{key}.jsonl")
        self._path = os.path.join(atomic.state_folder(root, _FOLDER), f"{key}.jsonl")
        self._root = root
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        self._handle = self._opened()
        _sweep(os.path.dirname(self._path))

    def begin(self, go_on: bool) -> list[Json]:
        """What an earlier run has finished, where this one is to go on with it; else it begins anew."""
        kept, whole = self._lines() if go_on else ([], 0)
        os.ftruncate(self._handle, whole)
        os.lseek(self._handle, whole, os.SEEK_SET)
        return kept

    def add(self, entry: Json) -> None:
        """Write down one attempt, before anybody is told of it."""
        body = to_bytes(entry)
        line = memoryview(b"%08x %s\n" % (zlib.crc32(body), body))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._handle, line) :]
                if time.monotonic() >= self._synced + _SYNCED_EVERY:
                    os.fdatasync(self._handle)
                    self._synced = time.monotonic()
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
                    return handle
            except FileNotFoundError:  # who held it has just finished
                pass
            except OSError:
                os.close(handle)
                what = "another run of the same cases is under way"
                raise CannotReplay(
                    Problem("BK720", what, "wait until it has finished, or stop it first")
                ) from None
            os.close(handle)

    def _lines(self) -> tuple[list[Json], int]:
        """The lines up to the first that is not whole, and how many bytes they have."""
        try:
            data = read(self._root, self._name, MAX_OUTPUT_BYTES * 4)
        except InvalidInput:
            return [], 0
        kept: list[Json] = []
        whole = 0
        for line in data.splitlines(keepends=True):
            checksum, _, body = line.removesuffix(b"\n").partition(b" ")
            if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
                break
            try:
                entry = decode(body.decode("utf-8"), MAX_DEPTH + _DEEPER)
            except (NotJson, UnicodeDecodeError):
                break
            if entry is None:
                break
            kept.append(entry)
            whole += len(line)
        return kept, whole


def _sweep(folder: str) -> None:
    """Of runs that nobody has gone on with the oldest journals go, unless somebody is writing them."""
    with contextlib.suppress(OSError):
        files = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for file in files[:-_MOST_KEPT]:
            handle = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(file)
            finally:
                os.close(handle)
