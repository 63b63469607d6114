"""One writer at a time for a file, among all processes of the machine.

The lock is on a file of its own (the data file changes hands with every write), one of a fixed number, so
that a thousand baselines leave no thousand lock files. The system releases it when its owner dies.
"""

import contextlib
import fcntl
import os
import socket
import sys
import time
import zlib
from collections.abc import Collection, Iterator
from typing import Protocol

from baselinekit.errors import NotRecorded, Place, Problem
from baselinekit.store import state
from baselinekit.store.state import cannot_write

STRIPES = 64
WAIT = 30.0

_HURRIED = 1.0
_SIGNATURE = 500  # always as long, so that a shorter one leaves nothing of a longer one


class Hurry(Protocol):
    """Whether who waits for a lock should not wait much longer."""

    def is_set(self) -> bool: ...


@contextlib.contextmanager
def lock(root: str, file: str, wait: float = WAIT, hurry: Hurry | None = None) -> Iterator[None]:
    """Keep the other writers of a file out; at most `wait` seconds are spent waiting for them, and hardly any
    from the moment when there is a `hurry`."""
    handle = _open(root, _name(file))
    try:
        _acquire(handle, file, wait, hurry)
        _sign(handle, _signature())
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def lock_free(root: str, files: Collection[str]) -> Iterator[list[str]]:
    """Lock those of the files that nobody is writing at this moment. Who holds some must not wait for others:
    two such could wait for each other."""
    taken, signature = set(), _signature()
    with contextlib.ExitStack() as held:
        for name in sorted({_name(file) for file in files}):
            handle = _open(root, name)
            held.callback(os.close, handle)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sign(handle, signature)
                taken.add(name)
        yield [file for file in files if _name(file) in taken]


def _name(file: str) -> str:
    return f"{zlib.crc32(file.encode('utf-8', 'surrogateescape')) % STRIPES:02}.lock"


def _open(root: str, name: str) -> int:
    path = os.path.join(state.folder(root, "locks"), name)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise NotRecorded(cannot_write(f"{state.NAME}/locks/{name}", error)) from None


def _acquire(handle: int, file: str, wait: float, hurry: Hurry | None) -> None:
    started = time.monotonic()
    pause = 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait = min(wait, _HURRIED) if hurry and hurry.is_set() else wait
            if time.monotonic() >= started + wait:
                raise NotRecorded(_held(handle, file, wait)) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError as error:
            raise NotRecorded(cannot_write(f"the lock for {file}", error)) from None
        else:
            return


def _signature() -> bytes:
    program, *words = sys.argv or [""]
    verb = [
        word for word in words[:1] if word.isalpha()
    ]  # and nothing else that was typed: it may be a secret
    command = " ".join((os.path.basename(program), *verb))
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"process {os.getpid()} on {socket.gethostname()} ({command}), since {started}"
    return line.encode("utf-8", "replace").ljust(_SIGNATURE)


def _sign(handle: int, signature: bytes) -> None:
    with contextlib.suppress(OSError):  # it only helps whoever waits
        os.pwrite(handle, signature, 0)


def _held(handle: int, file: str, wait: float) -> Problem:
    owner = os.pread(handle, _SIGNATURE, 0).decode("utf-8", "replace").strip() or "another process"
    what = f"not recorded: its lock is held by {owner}, and {wait:g} s of waiting were not enough"
    return Problem("BK121", what, "wait until it has finished, then run again", Place(file))
