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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem
from baselinekit.files.text import decode, encode
from baselinekit.lazy import lazy_pattern
from baselinekit.store.project import Resolving, read, resolve

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

WriteFiles = Callable[[list[str]], None]


class Hurry(Protocol):
    """Says whether to stop waiting for a lock soon."""

    def is_set(self) -> bool: ...


@contextlib.contextmanager
def lock(root: str, file: str, wait: float = WAIT, hurry: Hurry | None = None) -> Iterator[None]:
    """Keep other writers of a file out. Waits for them for at most `wait` seconds, and for at most one second
    once `hurry` is set."""
    handle = open_lock(root, _lock_name(file))
    try:
        _acquire(handle, file, wait, hurry)
        _sign(handle)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def lock_free(root: str, files: Collection[str]) -> Iterator[list[str]]:
    """Lock the files that nobody is writing now, and yield them. It never waits: two processes that hold
    several locks each could wait for each other."""
    taken = set()
    with contextlib.ExitStack() as handles:
        for name in sorted({_lock_name(file) for file in files}):
            handle = open_lock(root, name)
            handles.callback(os.close, handle)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sign(handle)
                taken.add(name)
        yield [file for file in files if _lock_name(file) in taken]


def write_free(root: str, files: Collection[str], write: WriteFiles) -> list[str]:
    """Call `write` with the files that nobody else is writing, and return the others."""
    with lock_free(root, files) as free:
        write(free)
    return [file for file in files if file not in free]


def write_locked(
    root: str, files: Collection[str], write: WriteFiles, wait: float = WAIT, hurry: Hurry | None = None
) -> list[NotRecorded]:
    """Call `write` while the locks of the files are held: first with all files that nobody else is writing,
    then with the others one by one. Returns the errors of the files whose locks could not be taken."""
    failures: list[NotRecorded] = []
    try:
        busy = write_free(root, files, write)
    except NotRecorded as error:
        return [error]
    for file in busy:
        try:
            with lock(root, file, wait, hurry):
                write([file])
        except NotRecorded as error:
            failures.append(error)
    return failures


def edit_text(root: str, file: str, edit: Callable[[str], str], missing: str | None = None) -> None:
    """Read a text file, edit it and replace it, all under its lock. `missing` is the text to edit if there is
    no file."""
    with lock(root, file):
        is_new = missing is not None and not os.path.exists(os.path.join(root, file))
        body, bom = (missing, False) if missing is not None and is_new else decode(read(root, file), file)
        replace_file(root, file, encode(edit(body), bom), new=is_new)


def _lock_name(file: str) -> str:
    return f"{zlib.crc32(file.encode('utf-8', 'surrogateescape')) % STRIPES:02}.lock"


def open_lock(root: str, name: str) -> int:
    path = os.path.join(state_folder(root, "locks"), name)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise NotRecorded(cannot_write(f"{STATE_FOLDER}/locks/{name}", error)) from None


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
                raise NotRecorded(Problem("BK121", message, hint, Place(file))) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError as error:
            raise NotRecorded(cannot_write(f"the lock for {file}", error)) from None
        else:
            return


def _sign(handle: int) -> None:
    with contextlib.suppress(OSError):  # only there to inform processes that wait
        os.pwrite(handle, f"process {os.getpid()}".ljust(_SIGNATURE_SIZE).encode(), 0)


_COUNTER = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_RUN = f"{time.time_ns():x}"
_TEMPORARY = lazy_pattern(
    r"\.?baselinekit-(?P<host>[A-Za-z0-9-]+)-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]+)-[0-9]+\.tmp"
)


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Replace the contents of a file of the project. `new`: only if the file does not exist yet. `sync=False`
    is for data that may be lost in a power cut."""
    for error in _replace([_Copy(resolve(root, file), file, [data])], new, sync).values():
        raise error


def replace_files(root: str, contents: Mapping[str, bytes], sync: bool = True) -> dict[str, BaselinekitError]:
    """Replace many files, which takes less time than one by one: all are written, then all synced, then all
    renamed, and each folder is synced once. Returns the errors of the files that are unchanged."""
    errors: dict[str, BaselinekitError] = {}
    copies = []
    resolving = Resolving(root)
    for file, data in contents.items():
        try:
            copies.append(_Copy(resolving.path(file), file, [data]))
        except BaselinekitError as error:
            errors[file] = error
    return errors | _replace(copies, False, sync)


def replace_anywhere(target: str, label: str, pieces: Iterable[bytes]) -> None:
    """Replace a file anywhere; errors call it `label`. An exception from `pieces` leaves it unchanged."""
    for error in _replace([_Copy(target, label, pieces)], new=False, sync=True).values():
        raise error


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


class _Copy:
    """The new bytes of a file, in a temporary file beside it until it is renamed."""

    def __init__(self, target: str, label: str, pieces: Iterable[bytes]):
        self.target, self.label = target, label
        self.folder = os.path.dirname(target)
        self._temporary = os.path.join(self.folder, f".{temporary_name()}")
        self._pieces = pieces
        self._handle = -1
        self._renamed = False

    def write(self) -> None:
        mode, owner = _target_mode_and_owner(self.target, self.label)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._handle = handle = os.open(self._temporary, flags, 0o666 if mode is None else 0o600)
        for piece in self._pieces:
            remaining = memoryview(piece)
            while remaining:
                remaining = remaining[os.write(handle, remaining) :]
        if mode is not None:
            os.fchmod(handle, mode)
        if owner and owner != (os.geteuid(), os.getegid()):
            with contextlib.suppress(OSError):
                os.fchown(handle, *owner)

    def sync(self) -> None:
        os.fsync(self._handle)

    def rename(self, new: bool) -> None:
        _rename(self._temporary, self.target, new)
        self._renamed = True

    def sync_folder(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def drop(self) -> None:
        """Close the temporary file, and remove it unless it was renamed."""
        if self._handle >= 0:
            if not self._renamed:
                _remove(self._temporary)
            os.close(self._handle)


def _replace(copies: Sequence[_Copy], new: bool, sync: bool) -> dict[str, BaselinekitError]:
    """Temporary files of dead processes beside the targets are removed first."""
    errors: dict[str, BaselinekitError] = {}
    sweep("", {copy.folder for copy in copies})

    def each(step: Callable[[_Copy], None], some: Iterable[_Copy]) -> None:
        for copy in some:
            if copy.label not in errors:
                try:
                    step(copy)
                except BaselinekitError as error:
                    errors[copy.label] = error
                except FileExistsError:
                    errors[copy.label] = InvalidInput(already_exists(copy.label))
                except OSError as error:  # some file systems report a full disk only on close
                    errors[copy.label] = NotRecorded(cannot_write(copy.label, error))

    try:
        each(_Copy.write, copies)
        if sync:
            each(_Copy.sync, copies)
        each(lambda copy: copy.rename(new), copies)
        if sync:
            each(_Copy.sync_folder, {copy.folder: copy for copy in copies}.values())
    finally:
        each(_Copy.drop, [copy for copy in copies if copy.label not in errors])
        for copy in copies:
            if copy.label in errors:
                with contextlib.suppress(OSError):
                    copy.drop()
    return errors


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
    else:
        _remove(temporary)


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
