"""The verdicts of a run that is under way, each written down as soon as it is known: those that a killed run
has not put into their files are put there by the next one.

`.baselinekit/verdicts/*.log`: a line for each verdict, and one for each file that is about to change, with
the digest that it will have then; so none is put in twice. Whoever writes a log holds its lock, which the
system releases with its owner. It is a help and no condition: a run that cannot write one does without.
Nothing of it is synced: what a power cut takes, another run finds out again."""

import contextlib
import fcntl
import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from baselinekit.documents import jsontext
from baselinekit.errors import BaselinekitError
from baselinekit.model.baselines import Source
from baselinekit.model.values import Json
from baselinekit.store import records, state
from baselinekit.store.files import read

_FOLDER = "verdicts"
_MOST_BYTES = 64_000_000
_TRIES = 5


@dataclass(frozen=True, slots=True)
class LoggedVerdict:
    """What became of one case, and when. `digest`: of the file as the run had read it, and of the case."""

    file: str
    digest: str
    passed: bool
    when: str


class VerdictLog:
    """Of one run. Lines are added from any thread; with the first one the file is made."""

    def __init__(self, root: str, path: str = "", handle: int | None = None):
        self._root = root
        self._lock = threading.Lock()
        self._path = path
        self._handle = handle
        self._done: Counter[str] = Counter()

    def note(self, source: Source, passed: bool, when: str) -> None:
        """A verdict is known."""
        self._add([["verdict", source.file, source.digest, passed, when]])

    def count(self, file: str, verdicts: int) -> None:
        """So many more of those on a file are about to be put there, or given up, in the order of the log."""
        self._done[file] += verdicts

    def will_hold(self, contents: Mapping[str, bytes]) -> None:
        """What the files will hold in a moment: all that is counted."""
        self._add(
            ["file", file, records.bytes_digest(data), self._done[file]] for file, data in contents.items()
        )

    def left(self) -> list[LoggedVerdict]:
        """Of a dead one: what the files do not hold yet. The rest is counted."""
        assert self._handle is not None
        verdicts: dict[str, list[LoggedVerdict]] = {}
        states: dict[str, list[tuple[str, int]]] = {}
        for entry in _entries(self._handle):
            match entry:
                case ["verdict", str(file), str(digest), bool(passed), str(when)] if _is_time(when):
                    verdicts.setdefault(file, []).append(LoggedVerdict(file, digest, passed, when))
                case ["file", str(file), str(digest), int(count)]:
                    states.setdefault(file, []).append((digest, count))
        for file, found in verdicts.items():
            done = _done(self._root, file, found[0].digest, states.get(file, []))
            self._done[file] = max(0, min(done, len(found)))
            del found[: self._done[file]]
        return [verdict for found in verdicts.values() for verdict in found]

    def close(self, keep: bool = False) -> None:
        """Everything is in its file, or everybody has been told that it is not."""
        with self._lock:
            handle, self._handle = self._handle, -1
            if handle is not None and handle >= 0:
                if not keep:
                    with contextlib.suppress(OSError):
                        os.ftruncate(handle, 0)
                    with contextlib.suppress(OSError):
                        os.unlink(self._path)
                os.close(handle)

    def _add(self, lines: Iterable[Json]) -> None:
        data = b"".join([jsontext.to_bytes(line) + b"\n" for line in lines])
        with self._lock:
            if self._handle is None:
                self._handle = self._made()
            whole = self._handle < 0
            with contextlib.suppress(OSError):
                whole = whole or os.write(self._handle, data) == len(data)
        if not whole:
            self.close()  # with a line missing, what follows would be counted wrongly

    def _made(self) -> int:
        """One that nobody else has; -1 where there can be none."""
        with contextlib.suppress(BaselinekitError):
            folder = state.folder(self._root, _FOLDER)
            for _ in range(_TRIES):  # somebody may take it for a dead one's before it is locked
                self._path = os.path.join(folder, f"{time.time_ns():x}-{os.getpid()}.log")
                handle = _taken(self._path, os.O_CREAT | os.O_EXCL)
                if handle is not None:
                    return handle
        return -1


def of_the_dead(root: str) -> Iterator[VerdictLog]:
    """The logs that nobody writes any more. Who gets one goes on writing it, and may be killed in turn."""
    folder = os.path.join(root, state.NAME, _FOLDER)
    try:
        names = sorted(os.listdir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        handle = _taken(path)
        if handle is not None:
            yield VerdictLog(root, path, handle)


def _taken(path: str, more: int = 0) -> int | None:
    """The file, locked; None if somebody has it, or had it and removed it."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags | more, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(path)):
            return handle
    except OSError:
        pass
    if more:
        with contextlib.suppress(OSError):
            os.unlink(path)
    os.close(handle)
    return None


def _entries(handle: int) -> Iterator[Json]:
    """The lines, up to one that is not whole."""
    try:
        for line in os.pread(handle, _MOST_BYTES, 0).splitlines():
            yield jsontext.decode(line.decode("utf-8"))
    except (OSError, jsontext.NotJson, UnicodeDecodeError):
        return


def _done(root: str, file: str, digest: str, states: Sequence[tuple[str, int]]) -> int:
    """How many of the verdicts on a file it holds. Where somebody else has written since, all that were on
    their way are taken for written: better one too few than one twice."""
    if os.path.isabs(file):
        return sys.maxsize  # which only who runs it may name, and no file of the project
    try:
        now = records.bytes_digest(read(root, file))
    except BaselinekitError:
        return sys.maxsize
    for then, count in reversed(states):
        if then == now:
            return count
    return 0 if digest.partition("-")[0] == now or not states else states[-1][1]


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
