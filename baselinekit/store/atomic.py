"""Files written: one writer at a time, each replaced whole or not at all; and the folder `.baselinekit/`.

The new bytes go to a temporary file, are synced, read back and compared, and then renamed: a reader, a crash
or a full disk sees the old file or the new one. A temporary's name says which process made it, so that the
next command can remove what a killed one left.

A lock is a file of its own (the data file is replaced with every write), one of a fixed number, so that a
thousand baselines leave no thousand lock files. The system releases it when its owner dies."""

import contextlib
import errno
import fcntl
import itertools
import os
import re
import socket
import stat
import sys
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.store.project import Resolving, read, resolve

# The folder `.baselinekit/`: what a run leaves for the next one, and nothing that belongs into git.

STATE_FOLDER = ".baselinekit"
INDEX = os.path.join(STATE_FOLDER, "index.json")


def state_folder(root: str, *parts: str) -> str:
    """A folder in the state folder, made if it is not there. Never through a link: a checkout could bring
    one that leads out of the project."""
    path = root
    for part in (STATE_FOLDER, *parts):
        path = os.path.join(path, part)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                what = f"{os.path.relpath(path, root)} is a link or a file, and should be a folder"
                raise NotRecorded(Problem("BK120", what, "remove it"))
        except FileNotFoundError:
            make_state_folder(root, path)
        except OSError as error:
            raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None
    return path


def make_state_folder(root: str, path: str) -> None:
    """With the file that hides all of it from git. It is checked whenever a folder is made here: whoever made
    the first one may have been killed before the file was there."""
    ignore = os.path.join(root, STATE_FOLDER, ".gitignore")
    try:
        os.makedirs(path, exist_ok=True)
        if not os.path.lexists(ignore) or not os.lstat(ignore).st_size:
            with open(ignore, "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None


def cannot_write(name: str, error: OSError) -> Problem:
    """Why something could not be written, and what to do about it."""
    hints = {
        errno.ENOSPC: "the disk is full: make room, then run again",
        errno.EDQUOT: "your quota is used up: make room, then run again",
        errno.EFBIG: "the file would grow over the limit of this system or shell (ulimit -f)",
        errno.EACCES: "make the folder writable",
        errno.EPERM: "make the folder writable",
        errno.EROFS: "the file system is read-only: work in a copy",
        errno.EIO: "the disk reports an error: check the disk first",
    }
    words = (os.strerror(error.errno) if error.errno else str(error)).lower()
    hint = hints.get(error.errno or 0, "nothing was changed; run again")
    return Problem("BK120", f"{name} cannot be written: {words}", hint)


# Locks, among all processes of the machine.

STRIPES = 64
WAIT = 30.0

_HURRIED = 1.0
_SIGNATURE = 500  # always as long, so that a shorter one leaves nothing of a longer one

WriteFiles = Callable[[list[str]], None]


class Hurry(Protocol):
    """Whether who waits for a lock should not wait much longer."""

    def is_set(self) -> bool: ...


@contextlib.contextmanager
def lock(root: str, file: str, wait: float = WAIT, hurry: Hurry | None = None) -> Iterator[None]:
    """Keep the other writers of a file out; at most `wait` seconds are spent waiting for them, and hardly any
    from the moment when there is a `hurry`."""
    handle = open_lock(root, _lock_name(file))
    try:
        _acquire(handle, file, wait, hurry)
        _sign(handle, _signature())
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def lock_free(root: str, files: Collection[str]) -> Iterator[list[str]]:
    """Lock those of the files that nobody is writing now. Whoever holds several locks must not wait for
    others: two such could wait for each other."""
    taken, signature = set(), _signature()
    with contextlib.ExitStack() as held:
        for name in sorted({_lock_name(file) for file in files}):
            handle = open_lock(root, name)
            held.callback(os.close, handle)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _sign(handle, signature)
                taken.add(name)
        yield [file for file in files if _lock_name(file) in taken]


def write_free(root: str, files: Collection[str], write: WriteFiles) -> list[str]:
    """Have those of the files written that nobody else is writing; returns the others."""
    with lock_free(root, files) as free:
        write(free)
    return [file for file in files if file not in free]


def write_locked(
    root: str, files: Collection[str], write: WriteFiles, wait: float = WAIT, hurry: Hurry | None = None
) -> list[NotRecorded]:
    """Have files written while their locks are held: together those that nobody else is writing, then the
    others one by one. Returns the locks that could not be had; without any lock nothing is written."""
    failures: list[NotRecorded] = []
    try:
        held = write_free(root, files, write)
    except NotRecorded as error:
        return [error]
    for file in held:
        try:
            with lock(root, file, wait, hurry):
                write([file])
        except NotRecorded as error:
            failures.append(error)
    return failures


def edit_text(root: str, file: str, edit: Callable[[str], str], missing: str | None = None) -> None:
    """Read a text, edit it and replace it, all under its lock. `missing`: used where there is none."""
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
            wait = min(wait, _HURRIED) if hurry and hurry.is_set() else wait
            if time.monotonic() >= started + wait:
                owner = os.pread(handle, _SIGNATURE, 0).decode("utf-8", "replace").strip()
                owner = owner or "another process"
                what = f"not recorded: its lock is held by {owner}, and waiting was not enough"
                hint = "wait until it has finished, then run again"
                raise NotRecorded(Problem("BK121", what, hint, Place(file))) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError as error:
            raise NotRecorded(cannot_write(f"the lock for {file}", error)) from None
        else:
            return


def _signature() -> bytes:
    program, *words = sys.argv or [""]
    verb = [word for word in words[:1] if word.isalpha()]  # nothing else that was typed: it may be a secret
    command = " ".join((os.path.basename(program), *verb))
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"process {os.getpid()} on {socket.gethostname()} ({command}), since {started}"
    return line.encode("utf-8", "replace").ljust(_SIGNATURE)


def _sign(handle: int, signature: bytes) -> None:
    with contextlib.suppress(OSError):  # it only helps whoever waits
        os.pwrite(handle, signature, 0)


_COUNTER = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_RUN = f"{time.time_ns():x}"
_TEMPORARY = lazy_pattern(
    r"\.?baselinekit-(?P<host>[A-Za-z0-9-]+)-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]+)-[0-9]+\.tmp"
)
_CHUNK = 1 << 20


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Give a file of the project these bytes. `new`: only if it is not there yet. `sync` may be left out for
    what can be lost in a power cut."""
    target = resolve(root, file)
    replace_one(_Copy(target, file, _place(root, os.path.dirname(target)), data), new, sync)


def replace_files(root: str, contents: Mapping[str, bytes], sync: bool = True) -> dict[str, BaselinekitError]:
    """The same for many files, which takes less time than one by one: all are written, then all synced, then
    all renamed, and each folder is synced once. Given back is why some of them are still as they were."""
    failed: dict[str, BaselinekitError] = {}
    copies = []
    resolving, places = Resolving(root), dict[str, str]()
    for file, data in contents.items():
        try:
            target = resolving.path(file)
        except BaselinekitError as error:
            failed[file] = error
        else:
            folder = os.path.dirname(target)
            place = places[folder] = places.get(folder) or _place(root, folder)
            copies.append(_Copy(target, file, place, data))
    return failed | _replace(copies, sync=sync)


def replace_anywhere(target: str, shown: str, data: bytes, root: str | None = None) -> None:
    """The same for a file anywhere, which an error calls `shown`. The project, if there is one, keeps what is
    not finished yet; else it is beside the file, where those of the dead are removed first."""
    folder = os.path.dirname(target)
    sweep(folder, [folder])
    replace_one(_Copy(target, shown, _place(root, folder), data))


def try_folder(folder: str) -> None:
    """Make a file there and remove it again, which fails where none can be made."""
    temporary = os.path.join(folder, f".{temporary_name()}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    os.unlink(temporary)


def exists(file: str) -> Problem:
    hint = "give it another --id, or remove the file first"
    return Problem("BK113", "the file already exists", hint, Place(file))


def sweep(root: str, folders: Iterable[str] = (), seen: Iterable[str] = ()) -> int:
    """Remove the temporaries of processes that are gone, and say how many there were. `folders`, from the
    root: where targets are, for a temporary can also stand beside one. `seen`: what may be one, by whoever
    has looked already."""
    left = [path for path in seen if is_left(os.path.basename(path))]
    for folder in {os.path.join(root, name) for name in (os.path.join(STATE_FOLDER, "tmp"), *folders)}:
        with contextlib.suppress(OSError):
            names = (name for name in os.listdir(folder) if name.endswith(".tmp"))
            left += [os.path.join(folder, name) for name in names if is_left(name)]
    for path in left:
        _remove(path)
    return len(left)


def is_left(name: str) -> bool:
    """Whether the process that made it is gone. In a container our own number may have been another's."""
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
    except OSError:  # it is there, and somebody else's
        return False
    return False


class _Copy:
    """The new bytes of a file, in a temporary until it is renamed."""

    def __init__(self, target: str, shown: str, place: str, data: bytes):
        self.target = target
        self.shown = shown
        self.folder = os.path.dirname(target)
        name = temporary_name()
        self._temporary = os.path.join(place, f".{name}" if place == self.folder else name)
        self._data = data
        self._handle = -1
        self._renamed = False

    def write(self, sync: bool) -> None:
        mode, owner = _target(self.target, self.shown)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._handle = handle = os.open(self._temporary, flags, 0o666 if mode is None else 0o600)
        rest = memoryview(self._data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if mode is not None:
            os.fchmod(handle, mode)
        if owner and owner != (os.geteuid(), os.getegid()):
            with contextlib.suppress(OSError):
                os.fchown(handle, *owner)
        if sync and hasattr(os, "posix_fadvise"):  # writing to disk begins now, so that the sync waits less
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def seal(self, sync: bool) -> None:
        if sync:
            os.fsync(self._handle)
        size = len(self._data) + 1  # whether more is there as well; in pieces, none larger than need be
        for start in range(0, size, _CHUNK):
            piece = os.pread(self._handle, min(_CHUNK, size - start), start)
            if piece != self._data[start : start + _CHUNK]:
                raise OSError(5, "what was written reads back differently")

    def rename(self, new: bool, sync: bool) -> None:
        try:
            _rename(self._temporary, self.target, new)
        except OSError as error:
            if error.errno != errno.EXDEV or os.path.dirname(self._temporary) == self.folder:
                raise
            self.move(sync)  # a folder that is mounted by itself can be on the same device all the same
            _rename(self._temporary, self.target, new)
        self._renamed = True

    def move(self, sync: bool) -> None:
        """Write it again beside the target, from where a rename always leads there."""
        os.close(self._handle)
        self._handle = -1
        _remove(self._temporary)
        self._temporary = os.path.join(self.folder, f".{temporary_name()}")
        self.write(sync)
        self.seal(sync)

    def drop(self) -> None:
        """Leave nothing behind."""
        if self._handle >= 0:
            os.close(self._handle)
            if not self._renamed:
                _remove(self._temporary)


class _StreamedCopy(_Copy):
    """The same of bytes that come in pieces, none of which is kept."""

    def __init__(self, target: str, shown: str, pieces: Iterable[bytes]):
        super().__init__(target, shown, os.path.dirname(target), b"")
        self._pieces = pieces
        self._sum, self._size = blake2b(), 0

    def write(self, sync: bool) -> None:
        super().write(sync=False)
        for piece in self._pieces:
            self._sum.update(piece)
            self._size += len(piece)
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(self._handle, rest) :]

    def seal(self, sync: bool) -> None:
        if sync:
            os.fsync(self._handle)
        found, start = blake2b(), 0
        while piece := os.pread(self._handle, _CHUNK, start):
            found.update(piece)
            start += len(piece)
        if start != self._size or found.digest() != self._sum.digest():
            raise OSError(5, "what was written reads back differently")


def replace_streamed(target: str, shown: str, pieces: Iterable[bytes]) -> None:
    """As `replace_anywhere`, of a file that is larger than what is to be held of it. Whatever ends the pieces
    early leaves the file as it was."""
    folder = os.path.dirname(target)
    sweep(folder, [folder])
    replace_one(_StreamedCopy(target, shown, pieces))


def replace_one(copy: _Copy, new: bool = False, sync: bool = True) -> None:
    for error in _replace([copy], new, sync).values():
        raise error


def _replace(copies: Sequence[_Copy], new: bool = False, sync: bool = True) -> dict[str, BaselinekitError]:
    failed: dict[str, BaselinekitError] = {}
    synced: set[str] = set()

    def sync_folder(copy: _Copy) -> None:
        if sync and copy.folder not in synced:
            handle = os.open(copy.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            synced.add(copy.folder)

    try:
        for step in (
            lambda copy: copy.write(sync),
            lambda copy: copy.seal(sync),
            lambda copy: copy.rename(new, sync),
            sync_folder,
        ):
            for copy in copies:
                if copy.shown not in failed:
                    try:
                        step(copy)
                    except BaselinekitError as error:
                        failed[copy.shown] = error
                    except FileExistsError:
                        failed[copy.shown] = InvalidInput(exists(copy.shown))
                    except OSError as error:
                        failed[copy.shown] = NotRecorded(cannot_write(copy.shown, error))
    finally:
        for copy in copies:
            try:
                copy.drop()
            except OSError as error:  # some file systems say only now that there was no room
                failed.setdefault(copy.shown, NotRecorded(cannot_write(copy.shown, error)))
    return failed


def _target(target: str, file: str) -> tuple[int | None, tuple[int, int] | None]:
    """The mode and the owner that the new file takes over, if there is one to take over from."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return None, None
    if not stat.S_ISREG(status.st_mode):
        raise NotRecorded(Problem("BK120", f"{file} is not a regular file", "name another file"))
    return stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)


def _place(root: str | None, folder: str) -> str:
    """Where temporaries go: to the state folder if a rename can lead from there to the target, else beside
    the target, which is in `folder`."""
    if root is not None:
        with contextlib.suppress(NotRecorded, OSError):
            place = state_folder(root, "tmp")
            if os.stat(place).st_dev == os.stat(folder).st_dev:
                return place
    return folder


def temporary_name() -> str:
    return f"baselinekit-{_HOST}-{os.getpid()}-{_RUN}-{next(_COUNTER)}.tmp"


def _rename(temporary: str, target: str, new: bool) -> None:
    if not new:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)  # unlike a rename, it fails when the name is taken
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(temporary, target)
    else:
        _remove(temporary)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


# A file of the project removed, when the operator has said so.


def remove(root: str, file: str) -> None:
    """Remove a regular file inside the project; where a link leads is somebody else's. One that is gone
    already is gone."""
    path = os.path.join(root, file)
    if os.path.islink(path) or os.path.realpath(path) != resolve(root, file):
        raise NotRecorded(Problem("BK120", f"{file} is a link", "remove it by hand"))
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotRecorded(cannot_write(file, error)) from None
