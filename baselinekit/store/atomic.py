"""Writing files: one writer at a time, each replaced whole or not at all; and the folder `.baselinekit/`.

The new bytes go to a temporary file beside it, are synced, and then renamed: a reader, a crash or a full disk
sees the old file or the new one. A process locks its temporary files, so the next command can tell what a
killed one left behind.

A lock is a separate file (the data file is replaced with every write), one of a fixed number, so that a
thousand baselines do not leave a thousand lock files. The system releases it when its owner dies."""

import contextlib
import fcntl
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from secrets import token_hex
from typing import BinaryIO

from baselinekit.errors import InvalidInput, NotRecorded, Place, Problem
from baselinekit.files.text import decode, encode
from baselinekit.kinds.files import without_following
from baselinekit.store.project import read, resolve

# The folder `.baselinekit/`: what a run leaves for the next one; nothing that belongs in git.

STATE_FOLDER = ".baselinekit"


def state_folder(root: str, *parts: str) -> str:
    """Return the path of a folder in the state folder, and create it if it is missing, with the file that
    hides all of the state folder from git. Links are refused: a checkout could contain one that leads out of
    the project."""
    path = root
    for part in (STATE_FOLDER, *parts):
        path = os.path.join(path, part)
        with reporting(os.path.relpath(path, root)):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                message = f"{os.path.relpath(path, root)} is a link or a file, and should be a folder"
                raise NotRecorded(Problem("BK120", message, "remove it"))
            ignore = os.path.join(root, STATE_FOLDER, ".gitignore")
            if part == STATE_FOLDER and not os.path.lexists(ignore):
                replace_anywhere(ignore, os.path.relpath(ignore, root), b"*\n", sync=False)
    return path


def write_state(root: str, file: str, data: bytes) -> None:
    """Write a file of the state folder, whose name begins at the root. It may be lost in a power cut."""
    state_folder(root, *os.path.dirname(file).split(os.sep)[1:])
    replace_file(root, file, data, sync=False)


@contextlib.contextmanager
def reporting(name: str) -> Iterator[None]:
    """Turn an error of the system into a NotRecorded about what could not be written."""
    try:
        yield
    except OSError as error:
        raise NotRecorded(cannot_write(name, error)) from None


def cannot_write(name: str, error: OSError) -> Problem:
    """Describe why something could not be written, and what to do about it."""
    reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
    hint = "make room or make it writable, then run again"
    return Problem("BK120", f"{name} cannot be written: {reason}", hint)


# Locks, among all processes of the machine.

STRIPES = 64
WAIT = 30.0
SHORT_WAIT = 1.0
"""Seconds to wait for a lock; the second once a run is to end, or where little is lost."""


@contextlib.contextmanager
def lock(root: str, file: str, wait: Callable[[], float] = lambda: WAIT) -> Iterator[None]:
    """Keep other writers of a file out. Waits for them for at most `wait()` seconds, which may become less
    meanwhile."""
    name = f"{zlib.crc32(file.encode('utf-8', 'surrogateescape')) % STRIPES:02}.lock"
    path = os.path.join(state_folder(root, "locks"), name)
    with reporting(f"{STATE_FOLDER}/locks/{name}"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    started, pause = time.monotonic(), 0.001
    try:
        while not _try_lock(handle, file):
            if time.monotonic() >= started + wait():
                message = "not recorded: its lock is held by another process, and waiting was not enough"
                hint = "wait until it has finished, then run again"
                raise NotRecorded(Problem("BK121", message, hint, Place(file)))
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int, file: str) -> bool:
    with reporting(f"the lock for {file}"), contextlib.suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def edit_text(root: str, file: str, edit: Callable[[str], str], missing: str | None = None) -> None:
    """Read a text file, edit it and replace it, all under its lock. `missing` is the text to edit if there is
    no file."""
    with lock(root, file):
        is_new = missing is not None and not os.path.exists(os.path.join(root, file))
        body, bom = (missing, False) if missing is not None and is_new else decode(read(root, file), file)
        replace_file(root, file, encode(edit(body), bom), new=is_new)


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Replace the contents of a file of the project. `new`: only if the file does not exist yet. `sync=False`
    is for data that may be lost in a power cut."""
    replace_anywhere(resolve(root, file), file, data, new=new, sync=sync)


def replace_anywhere(target: str, label: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Replace a file anywhere; errors call it `label`. It keeps its mode and owner."""
    folder = os.path.dirname(target)
    _sweep_once(folder)
    with reporting(label):
        old = os.lstat(target) if os.path.lexists(target) else None
        if old and not stat.S_ISREG(old.st_mode):
            raise NotRecorded(Problem("BK120", f"{label} is not a regular file", "name another file"))
        with _temporary(folder, 0o600 if old else 0o666) as (temporary, file):
            file.write(data)
            file.flush()
            if old:
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            if sync:
                os.fsync(file.fileno())
            if not new:
                os.replace(temporary, target)
            elif not _rename_new(temporary, target):
                raise InvalidInput(already_exists(label))
        if sync and not old:  # its name is new, too
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


@contextlib.contextmanager
def _temporary(folder: str, mode: int) -> Iterator[tuple[str, BinaryIO]]:
    """Create a temporary file that is locked as long as it is written, and removed afterwards."""
    while True:
        path = os.path.join(folder, f".baselinekit-{token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, mode), "wb") as file:
            with contextlib.suppress(OSError):  # a file system without locks: it is never swept
                fcntl.flock(file, fcntl.LOCK_EX)
            if not os.fstat(file.fileno()).st_nlink:  # another process has swept it before it was locked
                continue
            try:
                yield path, file
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            return


def _rename_new(temporary: str, target: str) -> bool:
    """Give a file its name; False if that is taken."""
    try:
        os.link(temporary, target)  # unlike a rename, it fails if the name is taken
    except OSError:  # or on a file system without hard links
        if os.path.lexists(target):
            return False
        os.replace(temporary, target)
    return True


def try_folder(folder: str, label: str) -> None:
    """Create a file there and remove it again; NotRecorded if that is not possible."""
    with reporting(label), _temporary(folder, 0o600):
        pass


# Files that only grow: a line is appended whole, or not at all.


def open_log(path: str, label: str, mode: int) -> int:
    """Open a file to append to it, or create it. Links are refused: the contents of a checkout must not
    decide which file is written to."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise NotRecorded(Problem("BK120", f"{label} is a link, or no regular file", "remove it"))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with reporting(label):
        return os.open(path, flags, mode)


def append(handle: int, label: str, data: bytes) -> None:
    """Append to an open file. On a full disk, no part of the data stays."""
    size = os.fstat(handle).st_size
    with reporting(label):
        try:
            while data:
                data = data[os.write(handle, data) :]
        except OSError:
            os.ftruncate(handle, size)
            raise


def already_exists(file: str) -> Problem:
    hint = "give it another --id, or remove the file first"
    return Problem("BK113", "the file already exists", hint, Place(file))


@lru_cache(maxsize=1024)
def _sweep_once(folder: str) -> None:
    sweep([folder])


def sweep(folders: Iterable[str]) -> None:
    """Remove what killed processes left beside the files that they wrote."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(".baselinekit-") and name.endswith(".tmp"):
                    _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError), open(path, "rb", opener=without_following) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails as long as it is being written
        os.unlink(path)


# Removing a file of the project, when the user has asked for it.


def remove(root: str, file: str) -> None:
    """Remove a regular file inside the project, never through a link. It may be gone already."""
    path = os.path.join(root, file)
    if os.path.islink(path) or os.path.realpath(path) != resolve(root, file):
        raise NotRecorded(Problem("BK120", f"{file} is a link", "remove it by hand"))
    with reporting(file), contextlib.suppress(FileNotFoundError):
        os.unlink(path)


# The JSON Schema. The first line of each written file names its path, for editors.


def baseline_schema() -> str:
    """Return the schema of a baseline file from the package. Making it from the classes would take longer
    than the rest of the capture of a small output."""
    with open(os.path.join(os.path.dirname(__file__), "baseline.schema.json"), encoding="utf-8") as file:
        return file.read()


def reference(
    root: str, folder: str, subject: str = "baseline", schema: Callable[[], str] = baseline_schema
) -> str:
    """Update the schema file, and return its path relative to a folder of the project."""
    text = schema()
    path = os.path.join(STATE_FOLDER, f"{subject}.schema.json")
    full, is_current = os.path.join(root, path), False
    with contextlib.suppress(OSError, UnicodeDecodeError), open(full, encoding="utf-8") as file:
        is_current = file.read() == text
    if not is_current:
        with contextlib.suppress(NotRecorded):  # a capture does not fail because editors lack a schema
            write_state(root, path, text.encode())
    return os.path.relpath(full, os.path.join(root, folder))
