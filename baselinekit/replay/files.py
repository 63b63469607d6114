"""Files that a recipe names: inside the project, regular, of a bounded size; read as they are."""

import os
import stat

from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import Surroundings
from baselinekit.replay.setting import cannot
from baselinekit.trust import check_inside

_LARGEST = 10_000_000


def inside(surroundings: Surroundings, path: str) -> str:
    """Where a path leads that is relative to the baseline's folder, links followed; Refused outside the
    project."""
    found = os.path.realpath(os.path.join(surroundings.folder, path))
    check_inside(os.path.realpath(surroundings.root), found, path)
    return found


def read_bytes(surroundings: Surroundings, path: str) -> bytes:
    try:
        return read_regular(inside(surroundings, path), path)
    except FileNotFoundError:
        folder = os.path.relpath(surroundings.folder, surroundings.root)
        where = "the project's folder" if folder == "." else f"{folder}/"
        raise cannot("BK325", f"the file {path!r} does not exist", f"paths start at {where}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(getattr(error, "strerror", None) or error)) from None


def read_text(surroundings: Surroundings, path: str) -> str:
    try:
        return read_bytes(surroundings, path).decode()
    except UnicodeDecodeError:
        raise _unreadable(path, "it is no UTF-8 text") from None


def read_regular(found: str, path: str) -> bytes:
    """The bytes of a file that is one: a pipe or a device would never end (F42)."""
    descriptor = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable(path, "it is no regular file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise _unreadable(path, f"it is larger than {_LARGEST:,} bytes")
    return content


def _unreadable(path: str, why: str) -> CannotReplay:
    return cannot("BK325", f"the file {path!r} cannot be read: {why}")
