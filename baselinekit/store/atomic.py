"""Writing files: one writer at a time, each replaced whole or not at all; and the folder `.baselinekit/`.

The new bytes go to a temporary file beside it, are synced, and then renamed: a reader, a crash or a full disk
sees the old file or the new one. The name of a temporary file says which process made it, so that the next
command can remove what a killed one left behind.

A lock is a separate file (the data file is replaced with every write), one of a fixed number, so that a
thousand baselines do not leave a thousand lock files. The system releases it when its owner dies."""

import contextlib
import errno
import fcntl
import itertools
import os
import re
import socket
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Protocol

from baselinekit.errors import InvalidInput, NotRecorded, Place, Problem
from baselinekit.files.text import decode, encode
from baselinekit.lazy import lazy_pattern
from baselinekit.store.project import read, resolve

# The folder `.baselinekit/`: what a run leaves for the next one; nothing that belongs in git.

STATE_FOLDER = ".baselinekit"


def state_folder(root: str, *parts: str) -> str:
    """Return the path of a folder in the state folder, and create it if it is missing. Links are refused: a
    checkout could contain one that leads out of the project."""
    path = root
    for part in (STATE_FOLDER, *parts):
        path = os.path.join(path, part)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                message = f"{os.path.relpath(path, root)} is a link or a file, and should be a folder"
                raise NotRecorded(Problem("BK120", message, "remove it"))
        except FileNotFoundError:
            make_state_folder(root, path)
        except OSError as error:
            raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None
    return path


def make_state_folder(root: str, path: str) -> None:
    """Create a folder, and the file that hides all of the state folder from git. The file is checked each
    time: the process that created the state folder may have been killed before it wrote the file."""
    ignore = os.path.join(root, STATE_FOLDER, ".gitignore")
    try:
        os.makedirs(path, exist_ok=True)
        if not os.path.lexists(ignore) or not os.lstat(ignore).st_size:
            with open(ignore, "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None


def cannot_write(name: str, error: OSError) -> Problem:
    """Describe why something could not be written, and what to do about it."""
    hints = {
        errno.ENOSPC: "the disk is full: make room, then run again",
        errno.EDQUOT: "your quota is used up: make room, then run again",
        errno.EFBIG: "the file would grow over the limit of this system or shell (ulimit -f)",
        errno.EACCES: "make the folder writable",
        errno.EPERM: "make the folder writable",
        errno.EROFS: "the file system is read-only: work in a copy",
        errno.EIO: "the disk reports an error: check the disk first",
    }
    reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
    hint = hints.get(error.errno or 0, "nothing was changed; run again")
    return Problem("BK120", f"{name} cannot be written: {reason}", hint)


# Locks, among all processes of the machine.

STRIPES = 64
WAIT = 30.0

_MAX_WAIT_IN_HURRY = 1.0
_SIGNATURE_SIZE = 40  # fixed, so that a short signature overwrites all of a longer one


class Hurry(Protocol):
    """Says whether to stop waiting for a lock soon."""

    def is_set(self) -> bool: ...


class Locked(NotRecorded):
    """Another process is writing the file."""


@contextlib.contextmanager
def lock(root: str, file: str, wait: float = WAIT, hurry: Hurry | None = None) -> Iterator[None]:
    """Keep other writers of a file out. Waits for them for at most `wait` seconds, and for at most one second
    once `hurry` is set."""
    name = f"{zlib.crc32(file.encode('utf-8', 'surrogateescape')) % STRIPES:02}.lock"
    path = os.path.join(state_folder(root, "locks"), name)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise NotRecorded(cannot_write(f"{STATE_FOLDER}/locks/{name}", error)) from None
    try:
        _acquire(handle, file, wait, hurry)
        with contextlib.suppress(OSError):  # only there to inform processes that wait
            os.pwrite(handle, f"process {os.getpid()}".ljust(_SIGNATURE_SIZE).encode(), 0)
        yield
    finally:
        os.close(handle)


def write_each(
    root: str,
    files: Iterable[str],
    write: Callable[[str], None],
    wait: float = 0.0,
    hurry: Hurry | None = None,
) -> dict[str, NotRecorded]:
    """Call `write` with each file while its lock is held, and return the errors by file."""
    errors: dict[str, NotRecorded] = {}
    for file in files:
        try:
            with lock(root, file, wait, hurry):
                write(file)
        except NotRecorded as error:
            errors[file] = error
    return errors


def write_locked(
    root: str,
    files: Iterable[str],
    write: Callable[[str], None],
    wait: float = WAIT,
    hurry: Hurry | None = None,
) -> dict[str, NotRecorded]:
    """Like `write_each`, but files that others are writing come last."""
    errors = write_each(root, files, write)
    busy = [file for file, error in errors.items() if isinstance(error, Locked)]
    done = {file: error for file, error in errors.items() if file not in busy}
    return done | write_each(root, busy, write, wait, hurry)


def edit_text(root: str, file: str, edit: Callable[[str], str], missing: str | None = None) -> None:
    """Read a text file, edit it and replace it, all under its lock. `missing` is the text to edit if there is
    no file."""
    with lock(root, file):
        is_new = missing is not None and not os.path.exists(os.path.join(root, file))
        body, bom = (missing, False) if missing is not None and is_new else decode(read(root, file), file)
        replace_file(root, file, encode(edit(body), bom), new=is_new)


def _acquire(handle: int, file: str, wait: float, hurry: Hurry | None) -> None:
    started = time.monotonic()
    pause = 0.001
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait = min(wait, _MAX_WAIT_IN_HURRY) if hurry and hurry.is_set() else wait
            if time.monotonic() >= started + wait:
                owner = os.pread(handle, _SIGNATURE_SIZE, 0).decode("utf-8", "replace").strip()
                owner = owner or "another process"
                message = f"not recorded: its lock is held by {owner}, and waiting was not enough"
                hint = "wait until it has finished, then run again"
                raise Locked(Problem("BK121", message, hint, Place(file))) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError as error:
            raise NotRecorded(cannot_write(f"the lock for {file}", error)) from None
        else:
            return


_COUNTER = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_RUN = f"{time.time_ns():x}"
_TEMPORARY = lazy_pattern(
    r"\.?baselinekit-(?P<host>[A-Za-z0-9-]+)-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]+)-[0-9]+\.tmp"
)


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Replace the contents of a file of the project. `new`: only if the file does not exist yet. `sync=False`
    is for data that may be lost in a power cut."""
    replace_anywhere(resolve(root, file), file, data, new=new, sync=sync)


def replace_anywhere(target: str, label: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Replace a file anywhere; errors call it `label`. The new bytes are in a temporary file beside it until
    all of them are on the disk."""
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{temporary_name()}")
    _sweep_once(folder)
    try:
        mode, owner = _target_mode_and_owner(target, label)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, 0o666 if mode is None else 0o600), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if owner and owner != (os.geteuid(), os.getegid()):
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), *owner)
            if sync:
                os.fsync(file.fileno())
        _rename(temporary, target, new)
        if sync and mode is None:  # its name is new, too
            sync_folder(folder)
    except FileExistsError:
        raise InvalidInput(already_exists(label)) from None
    except OSError as error:  # some file systems report a full disk only on close
        raise NotRecorded(cannot_write(label, error)) from None
    finally:
        _remove(temporary)


def sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@lru_cache(maxsize=1024)
def _sweep_once(folder: str) -> None:
    """Remove what killed processes left beside a file that is written."""
    sweep("", [folder])


def try_folder(folder: str) -> None:
    """Create a file there and remove it again; raises OSError if that is not possible."""
    temporary = os.path.join(folder, f".{temporary_name()}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    os.unlink(temporary)


def already_exists(file: str) -> Problem:
    hint = "give it another --id, or remove the file first"
    return Problem("BK113", "the file already exists", hint, Place(file))


def sweep(root: str, folders: Iterable[str], seen: Iterable[str] = ()) -> int:
    """Remove the temporary files of dead processes in folders, which are relative to the root, and return how
    many there were. `seen`: paths of possible temporary files that the caller has already found."""
    leftovers = [path for path in seen if is_leftover(os.path.basename(path))]
    for folder in {os.path.join(root, name) for name in folders}:
        with contextlib.suppress(OSError):
            names = (name for name in os.listdir(folder) if name.endswith(".tmp"))
            leftovers += [os.path.join(folder, name) for name in names if is_leftover(name)]
    for path in leftovers:
        _remove(path)
    return len(leftovers)


def is_leftover(name: str) -> bool:
    """Whether the process that made it is gone. In a container an earlier process may have had our pid."""
    match = _TEMPORARY.fullmatch(name)
    if not match or match["host"] != _HOST:
        return False
    pid = int(match["pid"])
    if pid == os.getpid():
        return match["run"] != _RUN
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process exists, and belongs to another user
        return False
    return False


def _target_mode_and_owner(target: str, file: str) -> tuple[int | None, tuple[int, int] | None]:
    """Return the mode and the owner of the existing file, which the new one takes over."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return None, None
    if not stat.S_ISREG(status.st_mode):
        raise NotRecorded(Problem("BK120", f"{file} is not a regular file", "name another file"))
    return stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)


def temporary_name() -> str:
    return f"baselinekit-{_HOST}-{os.getpid()}-{_RUN}-{next(_COUNTER)}.tmp"


def _rename(temporary: str, target: str, new: bool) -> None:
    if not new:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)  # unlike a rename, it fails if the name is taken
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(temporary, target)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# Removing a file of the project, when the user has asked for it.


def remove(root: str, file: str) -> None:
    """Remove a regular file inside the project, never through a link. It may be gone already."""
    path = os.path.join(root, file)
    if os.path.islink(path) or os.path.realpath(path) != resolve(root, file):
        raise NotRecorded(Problem("BK120", f"{file} is a link", "remove it by hand"))
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotRecorded(cannot_write(file, error)) from None
