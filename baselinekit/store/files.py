"""Reading what a project holds: regular files inside it, within a size, links followed only as far as they
stay inside."""

import errno
import os
import re
import stat
from functools import lru_cache
from pathlib import PurePath

from baselinekit.errors import InvalidInput, Place, Problem, Refused
from baselinekit.trust import check_inside, followed

MAX_BYTES = 2_000_000
MAX_OUTPUT_BYTES = 64_000_000

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not keep us waiting
_OPENED = "/proc/self/fd/"


def read(root: str, file: str, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file, named relative to the root."""
    try:
        path, handle = _open(root, file)
    except (OSError, ValueError) as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(file, error)) from None
    try:
        if not os.path.isabs(file):
            _check(_real(root), _opened(handle, path), file)
        return _content(handle, file, limit)
    except OSError as error:
        raise InvalidInput(unreadable(file, error)) from None
    finally:
        os.close(handle)


def _open(root: str, file: str) -> tuple[str, int]:
    """Links on the way to a file's folder are followed once for all files in it. A file that is a link is
    rare: what it leads to is looked at only where that is inside."""
    folder, name = os.path.split(file)
    if os.path.isabs(file) or name in ("", os.curdir, os.pardir):
        path = resolve(root, file)
        return path, os.open(path, _FLAGS)
    try:
        path = os.path.join(_folder(root, folder), name)
    except Refused:  # told of the file, not of its folder
        path = resolve(root, file)
    try:
        return path, os.open(path, _FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    path = resolve(root, file)
    return path, os.open(path, _FLAGS | os.O_NOFOLLOW)


@lru_cache(maxsize=4096)
def _folder(root: str, folder: str) -> str:
    return resolve(root, folder)


def resolve(root: str, file: str) -> str:
    """The path that a file's name leads to, which must stay inside the project. A file that the operator
    named by an absolute path may stand elsewhere."""
    try:
        if os.path.isabs(file):
            return os.path.realpath(file)
        return followed(_real(root), _real(root), file, link_at)
    except ValueError as error:  # a name with a zero byte in it
        raise InvalidInput(unreadable(file, error)) from None


def link_at(path: str) -> str | None:
    """What a link holds; None where there is none."""
    try:
        return os.readlink(path)
    except OSError:
        return None


class Resolving:
    """`resolve` for many files at once: the links on the way to a folder are followed only once."""

    def __init__(self, root: str):
        self._root = root
        self._folders: dict[str, str] = {}

    def path(self, file: str) -> str:
        folder, name = os.path.split(os.path.join(self._root, file))
        if os.path.isabs(file) or name in ("", ".", "..") or os.path.islink(os.path.join(folder, name)):
            return resolve(self._root, file)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        path = os.path.join(self._folders[folder], name)
        _check(_real(self._root), path, file)
        return path


def _check(root: str, path: str, file: str) -> None:
    if not path.startswith(f"{root}/") or "/.git" in path:  # nearly every file is inside: ask no further
        check_inside(root, path, file)


def _opened(handle: int, path: str) -> str:
    """What was opened, links followed: asked of the system, so that nobody can change a link in between."""
    try:
        return os.readlink(f"{_OPENED}{handle}")
    except OSError:
        return os.path.realpath(path)


@lru_cache(maxsize=64)
def _real(root: str) -> str:
    return os.path.realpath(root)


def shown(root: str, path: str) -> str:
    """How a file is named in a Source and in a Place: relative to the root, with `/`; a file elsewhere by
    its absolute path."""
    name = os.path.relpath(os.path.abspath(path), os.path.abspath(root))
    return os.path.abspath(path) if name.startswith("..") else PurePath(name).as_posix()


def unreadable(file: str, error: OSError | ValueError) -> Problem:
    hints = {
        errno.ENOENT: "check the name",
        errno.EACCES: "make it readable: chmod u+r",
        errno.ELOOP: "name the file that the link leads to",
    }
    number = error.errno if isinstance(error, OSError) else None
    words = (os.strerror(number) if number else str(error)).lower()
    return Problem("BK111", f"cannot be read: {words}", hints.get(number or 0, ""), Place(file))


def _content(handle: int, file: str, limit: int) -> bytes:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        what = "cannot be read: it is not a regular file"
        raise InvalidInput(Problem("BK111", what, "name a file", Place(file)))
    if status.st_size <= limit:
        data = os.read(handle, status.st_size + 1)  # as much room as the limit allows takes longer to be had
        while len(data) != status.st_size and len(data) <= limit:
            more = os.read(handle, limit + 1 - len(data))
            if not more:
                break
            data += more
        if len(data) <= limit:
            return data
    hint = "split it, or keep the output in a file beside it"
    raise InvalidInput(Problem("BK106", f"larger than {limit:,} bytes", hint, Place(file)))


# The commit that is checked out, as git's own files say it: a run needs it each time, and to start git takes
# as long as many baselines.

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[\w./+@-]+)")
_MOST = 4_000_000


def head_commit(root: str) -> str | None:
    """The commit that is checked out where the project is; None where git cannot be asked so plainly."""
    git = _git_folder(os.path.abspath(root))
    if git is None:
        return None
    text = _text_of(os.path.join(git, "HEAD")).strip()
    reference = _REF.fullmatch(text)
    if reference is not None and ".." not in text:
        text = _commit_of(reference[1], git)
    return text if _HASH.fullmatch(text) else None


def _git_folder(folder: str) -> str | None:
    while True:
        path = os.path.join(folder, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):  # a further worktree, or a submodule
            where = _text_of(path).removeprefix("gitdir:").strip()
            return os.path.normpath(os.path.join(folder, where))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _commit_of(reference: str, git: str) -> str:
    """A branch's commit: in a file of its own, or in the list of those that are packed; both may be the main
    worktree's."""
    common = _text_of(os.path.join(git, "commondir")).strip()
    for folder in (git, os.path.join(git, common)) if common else (git,):
        text = _text_of(os.path.join(folder, reference)).strip()
        if text:
            return text
        for line in _text_of(os.path.join(folder, "packed-refs")).splitlines():
            if line.endswith(f" {reference}"):
                return line.split(" ", 1)[0]
    return ""


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""
