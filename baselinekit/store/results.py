"""Reports to where the operator wants them: whole, or not at all."""

import contextlib
import errno
import os
import stat

from baselinekit.errors import InvalidInput, NotRecorded, Problem
from baselinekit.store import atomic
from baselinekit.store.state import cannot_write


def write_text(path: str, text: str, root: str | None = None) -> None:
    """Write a text to a path that the operator named, from the project at `root`. Folders on the way are
    made; what is no regular file (a device, a pipe) is written to, not replaced."""
    data = text.encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if _is_special(target):
            with open(target, "wb", buffering=0) as file:
                file.write(data)
            return
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None
    atomic.replace_anywhere(target, path, data, root)


def check_place(path: str) -> None:
    """Refuse a path that no text can be written to, before anybody pays for what is to stand there. It is
    tried, for a mode says nothing of a read-only disk. A disk that is full now may not be so later."""
    target = os.path.realpath(path)
    try:
        if _is_special(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        folder = os.path.dirname(target)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        atomic.try_folder(folder)
    except NotRecorded as error:
        raise InvalidInput(*error.problems) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            what = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
            raise InvalidInput(Problem("BK120", what, "name a file in a folder that you may write")) from None


def append_text(path: str, text: str) -> None:
    """Add to a file that others write to as well, such as the summary of a CI step: one write, at its end."""
    try:
        with open(path, "ab", buffering=0) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None


def _is_special(target: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise NotRecorded(Problem("BK120", f"{target} is a folder", "name a file in it"))
        return not stat.S_ISREG(mode)
    return False
