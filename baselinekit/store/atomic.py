"""A file is replaced whole or not at all: a reader, a crash or a full disk sees the old or the new one.

The new bytes go to a temporary file, are synced, read back and compared; only then the name changes hands.
A temporary's name says whose it is, so that the next command can remove what a killed one left.
"""

import contextlib
import itertools
import os
import re
import socket
import stat
from collections.abc import Sequence

from baselinekit.errors import InvalidInput, NotRecorded, Place, Problem
from baselinekit.store import state
from baselinekit.store.files import resolve
from baselinekit.store.state import cannot_write

_COUNTER = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_TEMPORARY = re.compile(r"\.?baselinekit-(?P<host>[A-Za-z0-9-]+)-(?P<pid>[0-9]+)-[0-9]+\.tmp")
_CHUNK = 1 << 20


def replace_file(root: str, file: str, data: bytes, *, new: bool = False, sync: bool = True) -> None:
    """Give a file of the project these bytes. `new`: only if it is not there yet. `sync` may be left out for
    what can be lost in a power cut."""
    target = resolve(root, file)
    try:
        temporary = _temporary(root, os.path.dirname(target))
    except OSError as error:
        raise NotRecorded(cannot_write(file, error)) from None
    _replace(target, file, data, temporary, new, sync)


def replace_beside(target: str, shown: str, data: bytes) -> None:
    """The same for a file anywhere, which an error calls `shown`."""
    temporary = os.path.join(os.path.dirname(target), f".{_name()}")
    _replace(target, shown, data, temporary, False, True)


def exists(file: str) -> Problem:
    mend = "give it another --id, or remove the file first"
    return Problem("BK113", "there is a file already", mend, Place(file))


def sweep(root: str, folders: Sequence[str] = ()) -> int:
    """Remove the temporaries of processes that are gone, and say how many there were."""
    count = 0
    for folder in (os.path.join(root, state.NAME, "tmp"), *folders):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                match = _TEMPORARY.fullmatch(name)
                if match and match["host"] == _HOST and not _alive(int(match["pid"])):
                    _remove(os.path.join(folder, name))
                    count += 1
    return count


def _replace(target: str, shown: str, data: bytes, temporary: str, new: bool, sync: bool) -> None:
    try:
        mode, owner = _target(target, shown)
        _write(temporary, data, mode, owner, sync)
        _rename(temporary, target, new)
        if sync:
            _sync_folder(os.path.dirname(target))
    except FileExistsError:
        _remove(temporary)
        raise InvalidInput(exists(shown)) from None
    except OSError as error:
        _remove(temporary)
        raise NotRecorded(cannot_write(shown, error)) from None
    except BaseException:
        _remove(temporary)
        raise


def _target(target: str, file: str) -> tuple[int | None, tuple[int, int] | None]:
    """The mode and the owner that the new file takes over, if there is one to take over from."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return None, None
    if not stat.S_ISREG(status.st_mode):
        raise NotRecorded(Problem("BK120", f"{file} is no regular file", "name another one"))
    return stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)


def _temporary(root: str, folder: str) -> str:
    """In the state folder if a rename can lead from there to the target, else beside the target."""
    name = _name()
    with contextlib.suppress(NotRecorded):
        place = state.folder(root, "tmp")
        if os.stat(place).st_dev == os.stat(folder).st_dev:
            return os.path.join(place, name)
    return os.path.join(folder, f".{name}")


def _name() -> str:
    return f"baselinekit-{_HOST}-{os.getpid()}-{next(_COUNTER)}.tmp"


def _write(path: str, data: bytes, mode: int | None, owner: tuple[int, int] | None, sync: bool) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o666 if mode is None else 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if mode is not None:
            os.fchmod(handle, mode)
        if owner and owner != (os.geteuid(), os.getegid()):
            with contextlib.suppress(OSError):
                os.fchown(handle, *owner)
        if sync:
            os.fsync(handle)
        for start in range(0, len(data) + 1, _CHUNK):
            if os.pread(handle, _CHUNK, start) != data[start : start + _CHUNK]:
                raise OSError(5, "what was written reads back differently")
    finally:
        os.close(handle)


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
        os.unlink(temporary)


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
