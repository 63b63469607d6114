"""The folder `.baselinekit/`: what a run leaves for the next one, and nothing that belongs into git."""

import errno
import os
import stat

from baselinekit.errors import NotRecorded, Problem

NAME = ".baselinekit"


def folder(root: str, *parts: str) -> str:
    """A folder in the state folder, made if it is not there. Never through a link: a checkout could bring
    one that leads out of the project."""
    path = root
    for part in (NAME, *parts):
        path = os.path.join(path, part)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                what = f"{os.path.relpath(path, root)} is a link or a file, and should be a folder"
                raise NotRecorded(Problem("BK120", what, "remove it"))
        except FileNotFoundError:
            _make(root, path)
        except OSError as error:
            raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None
    return path


def _make(root: str, path: str) -> None:
    """With the file that hides all of it from git: it is looked after whenever a folder is made here, for
    whoever made the first one may have been killed before the file was there."""
    ignore = os.path.join(root, NAME, ".gitignore")
    try:
        os.makedirs(path, exist_ok=True)
        if not os.path.lexists(ignore) or not os.lstat(ignore).st_size:
            with open(ignore, "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise NotRecorded(cannot_write(os.path.relpath(path, root), error)) from None


def cannot_write(name: str, error: OSError) -> Problem:
    """Why something could not be written, in words that say what to do."""
    mends = {
        errno.ENOSPC: "the disk is full: make room, then run again",
        errno.EDQUOT: "your quota is used up: make room, then run again",
        errno.EFBIG: "the file would grow over the limit of this system or shell (ulimit -f)",
        errno.EACCES: "make the folder writable (compare does not need it: --no-record)",
        errno.EPERM: "make the folder writable (compare does not need it: --no-record)",
        errno.EROFS: "the file system is read-only (compare does not need to write: --no-record)",
        errno.EIO: "the disk reports an error: check the disk first",
    }
    words = (os.strerror(error.errno) if error.errno else str(error)).lower()
    hint = mends.get(error.errno or 0, "nothing was changed; run again")
    return Problem("BK120", f"{name} cannot be written: {words}", hint)
