"""Where fetched repositories are kept: each commit a folder of its own, which is moved in as a whole.

Of a fetch that is killed nothing stays, of two at once the first one counts, and what nobody has used for
long goes (F46). Names are hashes of what they stand for, so that no two repositories share one."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from baselinekit.lazy import lazy_pattern

_KEEP_DAYS = 30.0
_KEPT = ("commits", "files", "names")
_JUST_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_COMMIT = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_commit(name: str) -> bool:
    """Whether a name is the whole name of a commit."""
    return _COMMIT.fullmatch(name) is not None


def cache_folder(environ: Mapping[str, str]) -> str:
    """Where repositories are kept: BASELINEKIT_GIT_CACHE, else below the user's cache folder."""
    stated = environ.get("BASELINEKIT_GIT_CACHE")
    if stated:
        return os.path.abspath(os.path.expanduser(stated))
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.path.abspath(base), "baselinekit", "git")


class GitCache:
    """The folder. `now`: the time of day."""

    def __init__(self, folder: str, now: Callable[[], float]):
        self.folder, self._now = folder, now

    def commit(self, clone_url: str, commit: str) -> str:
        """Where the repository of a commit is kept, if it is."""
        return os.path.join(self.folder, "commits", key(clone_url, commit))

    def note(self, clone_url: str, name: str, commit: str) -> None:
        """The commit that a branch, a tag or a short name meant when it was last asked."""
        noted = {"url": clone_url, "name": name, "commit": commit}
        self.write(self.note_of(clone_url, name), json.dumps(noted).encode())
        self.mark_used(self.note_of(clone_url, name))

    def noted(self, clone_url: str, name: str) -> str | None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            with open(self.note_of(clone_url, name), encoding="utf-8") as file:
                commit = json.load(file)["commit"]
            if is_commit(commit):
                return str(commit)
        return None

    def note_of(self, clone_url: str, name: str) -> str:
        return os.path.join(self.folder, "names", key(clone_url, name))

    def take_in(self, repository: str, kept: str) -> None:
        """Move in what was fetched; where another process was faster, its own is as good."""
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        try:
            os.rename(repository, kept)
        except OSError:
            if not os.path.isdir(kept):
                raise

    def mark_used(self, kept: str) -> None:
        """Nobody tidies it away."""
        with suppress(OSError):
            os.utime(kept, (self._now(), self._now()))

    def discard(self, kept: str) -> None:
        with self.aside() as folder, suppress(OSError):
            os.rename(kept, os.path.join(folder, "gone"))

    def tidy(self) -> None:
        """What nobody has used for long goes."""
        for base in _KEPT:
            folder = os.path.join(self.folder, base)
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                kept = os.path.join(folder, name)
                with suppress(OSError):
                    if os.stat(kept).st_mtime < self._now() - _KEEP_DAYS * 86_400:
                        self.discard(kept)

    def write(self, path: str, data: bytes) -> None:
        """As a whole, unless it is there already as it should be."""
        with suppress(OSError), open(os.open(path, _JUST_READ), "rb") as known:
            if known.read(len(data) + 1) == data:
                return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with self.aside() as folder:
            aside = os.path.join(folder, "file")
            with open(aside, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)

    @contextmanager
    def aside(self) -> Iterator[str]:
        """A folder for what is not finished, locked while it is used: by that what a killed process has left
        is told from what another one is at."""
        base = os.path.join(self.folder, "unfinished")
        os.makedirs(base, mode=0o700, exist_ok=True)
        with open(os.path.join(base, "lock"), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for name in os.listdir(base):
                remove_if_left(os.path.join(base, name))
            folder = os.path.join(base, os.urandom(16).hex())
            os.mkdir(folder)
            held = os.open(folder, os.O_RDONLY)
            fcntl.flock(held, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            remove(folder)
            os.close(held)


def key(*parts: str) -> str:
    """A name in the cache."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def remove(folder: str) -> None:
    """With all that is in it."""
    from shutil import rmtree  # it brings every archive format along

    rmtree(folder, ignore_errors=True)


def remove_if_left(folder: str) -> None:
    """Remove a folder that nobody holds any more."""
    with suppress(OSError):
        held = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)
        finally:
            os.close(held)
