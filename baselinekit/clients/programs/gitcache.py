"""The cache of fetched repositories: each commit has its own folder, which is moved in as a whole.

Nothing is left of a fetch that is killed, of two at once the first one counts, and what has not been used for
long is removed (F46). Names are hashes of what they name, so no two repositories share one."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256

from baselinekit.lazy import lazy_pattern

_KEEP_DAYS = 30.0
_KEPT = ("commits", "files", "names")
_JUST_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_COMMIT = lazy_pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_commit(name: str) -> bool:
    """Whether a name is the full id of a commit."""
    return _COMMIT.fullmatch(name) is not None


def cache_folder(environ: Mapping[str, str]) -> str:
    """The folder of the cache: BASELINEKIT_GIT_CACHE, else below the user's cache folder."""
    configured = environ.get("BASELINEKIT_GIT_CACHE")
    if configured:
        return os.path.abspath(os.path.expanduser(configured))
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.path.abspath(base), "baselinekit", "git")


class GitCache:
    """The folder of the cache. `now`: returns the current time."""

    def __init__(self, folder: str, now: Callable[[], float]):
        self.folder, self._now = folder, now

    def commit(self, clone_url: str, commit: str) -> str:
        """The path of the repository of a commit, which need not exist."""
        return os.path.join(self.folder, "commits", key(clone_url, commit))

    def note(self, clone_url: str, name: str, commit: str) -> None:
        """Store the commit that a branch, a tag or a short id had when it was last asked."""
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

    def take_in(self, repository: str, cached: str) -> None:
        """Move a fetched repository into the cache. If another process was faster, its copy is as good."""
        os.makedirs(os.path.dirname(cached), exist_ok=True)
        try:
            os.rename(repository, cached)
        except OSError:
            if not os.path.isdir(cached):
                raise

    def mark_used(self, cached: str) -> None:
        """Note that an entry was used, so that it is not removed."""
        with suppress(OSError):
            os.utime(cached, (self._now(), self._now()))

    def discard(self, cached: str) -> None:
        with self.aside() as folder, suppress(OSError):
            os.rename(cached, os.path.join(folder, "gone"))

    def tidy(self) -> None:
        """Remove entries that have not been used for long."""
        for base in _KEPT:
            folder = os.path.join(self.folder, base)
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                cached = os.path.join(folder, name)
                with suppress(OSError):
                    if os.stat(cached).st_mtime < self._now() - _KEEP_DAYS * 86_400:
                        self.discard(cached)

    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically, unless it exists with the same content."""
        with suppress(OSError), open(os.open(path, _JUST_READ), "rb") as existing:
            if existing.read(len(data) + 1) == data:
                return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with self.aside() as folder:
            temporary = os.path.join(folder, "file")
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)

    @contextmanager
    def aside(self) -> Iterator[str]:
        """A temporary folder, locked while it is used: folders without a lock are left by killed processes,
        and are removed."""
        base = os.path.join(self.folder, "unfinished")
        os.makedirs(base, mode=0o700, exist_ok=True)
        with open(os.path.join(base, "lock"), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for name in os.listdir(base):
                remove_if_left(os.path.join(base, name))
            folder = os.path.join(base, os.urandom(16).hex())
            os.mkdir(folder)
            folder_fd = os.open(folder, os.O_RDONLY)
            fcntl.flock(folder_fd, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            remove(folder)
            os.close(folder_fd)


def key(*parts: str) -> str:
    """The name of an entry in the cache."""
    return sha256("\0".join(parts).encode()).hexdigest()


def remove(folder: str) -> None:
    """Remove a folder with everything in it."""
    from shutil import rmtree  # it imports every archive format

    rmtree(folder, ignore_errors=True)


def remove_if_left(folder: str) -> None:
    """Remove a folder that no process holds locked any more."""
    with suppress(OSError):
        folder_fd = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
        try:
            fcntl.flock(folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)
        finally:
            os.close(folder_fd)
