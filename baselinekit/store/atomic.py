"""A file is replaced whole or not at all: a reader, a crash or a full disk sees the old or the new one.

The new bytes go to a temporary file, are synced, read back and compared; only then the name changes hands.
A temporary's name says whose it is, so that the next command can remove what a killed one left."""

import contextlib
import itertools
import os
import re
import socket
import stat
import time
from collections.abc import Iterable, Mapping, Sequence

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem
from baselinekit.store import state
from baselinekit.store.files import Resolving, resolve
from baselinekit.store.state import cannot_write

# A file is replaced whole or not at all: a reader, a crash or a full disk sees the old or the new one.
# The new bytes go to a temporary file, are synced, read back and compared; only then the name changes
# hands. A temporary's name says whose it is, so that the next command can remove what a killed one left.


_COUNTER = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_RUN = f"{time.time_ns():x}"
_TEMPORARY = re.compile(
    r"\.?baselinekit-(?P<host>[A-Za-z0-9-]+)-(?P<pid>[0-9]+)-(?P<run>[0-9a-f]+)-[0-9]+\.tmp"
)
_CHUNK = 1 << 20


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Give a file of the project these bytes. `new`: only if it is not there yet. `sync` may be left out for
    what can be lost in a power cut."""
    target = resolve(root, file)
    _replace_one(_Copy(target, file, _temporary(root, os.path.dirname(target)), data), new, sync)


def replace_files(root: str, contents: Mapping[str, bytes]) -> dict[str, BaselinekitError]:
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
            copies.append(_Copy(target, file, _in(place, folder), data))
    return failed | _replace(copies)


def replace_anywhere(target: str, shown: str, data: bytes, root: str | None = None) -> None:
    """The same for a file anywhere, which an error calls `shown`. The project, if there is one, keeps what is
    not finished yet; else it is beside the file, where those of the dead are removed first."""
    folder = os.path.dirname(target)
    sweep(folder, [folder])
    _replace_one(_Copy(target, shown, _temporary(root, folder), data))


def try_folder(folder: str) -> None:
    """Make a file there and remove it again, which fails where none can be made."""
    temporary = os.path.join(folder, f".{_name()}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    os.unlink(temporary)


def exists(file: str) -> Problem:
    hint = "give it another --id, or remove the file first"
    return Problem("BK113", "the file already exists", hint, Place(file))


def sweep(root: str, folders: Iterable[str] = ()) -> int:
    """Remove the temporaries of processes that are gone, and say how many there were. `folders`, from the
    root: where targets are, for a temporary can also stand beside one."""
    count = 0
    for folder in {os.path.join(root, name) for name in (os.path.join(state.NAME, "tmp"), *folders)}:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.endswith(".tmp") and _is_left(name):
                    _remove(os.path.join(folder, name))
                    count += 1
    return count


def _is_left(name: str) -> bool:
    """Whether nobody will come back for it. In a container our own number may have been another's."""
    match = _TEMPORARY.fullmatch(name)
    if not match or match["host"] != _HOST:
        return False
    pid = int(match["pid"])
    return match["run"] != _RUN if pid == os.getpid() else not _alive(pid)


class _Copy:
    """The new bytes of a file on their way: in a temporary until its name changes hands."""

    def __init__(self, target: str, shown: str, temporary: str, data: bytes):
        self.target = target
        self.shown = shown
        self.folder = os.path.dirname(target)
        self._temporary = temporary
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
        if sync and hasattr(
            os, "posix_fadvise"
        ):  # it goes to the disk from now on: who waits later, waits less
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def seal(self, sync: bool) -> None:
        if sync:
            os.fsync(self._handle)
        size = len(self._data) + 1  # whether more is there as well; in pieces, none larger than need be
        for start in range(0, size, _CHUNK):
            piece = os.pread(self._handle, min(_CHUNK, size - start), start)
            if piece != self._data[start : start + _CHUNK]:
                raise OSError(5, "what was written reads back differently")

    def rename(self, new: bool) -> None:
        _rename(self._temporary, self.target, new)
        self._renamed = True

    def drop(self) -> None:
        """Leave nothing behind."""
        if self._handle >= 0:
            os.close(self._handle)
            if not self._renamed:
                _remove(self._temporary)


def _replace_one(copy: _Copy, new: bool = False, sync: bool = True) -> None:
    for error in _replace([copy], new, sync).values():
        raise error


def _replace(copies: Sequence[_Copy], new: bool = False, sync: bool = True) -> dict[str, BaselinekitError]:
    failed: dict[str, BaselinekitError] = {}
    synced: set[str] = set()

    def sync_folder(copy: _Copy) -> None:
        if sync and copy.folder not in synced:
            _sync_folder(copy.folder)
            synced.add(copy.folder)

    try:
        for step in (
            lambda copy: copy.write(sync),
            lambda copy: copy.seal(sync),
            lambda copy: copy.rename(new),
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


def _temporary(root: str | None, folder: str) -> str:
    return _in(_place(root, folder), folder)


def _place(root: str | None, folder: str) -> str:
    """Where temporaries go: to the state folder if a rename can lead from there to the target, else beside
    the target, which is in `folder`."""
    if root is not None:
        with contextlib.suppress(NotRecorded, OSError):
            place = state.folder(root, "tmp")
            if os.stat(place).st_dev == os.stat(folder).st_dev:
                return place
    return folder


def _in(place: str, folder: str) -> str:
    name = _name()
    return os.path.join(place, f".{name}" if place == folder else name)


def _name() -> str:
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


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
