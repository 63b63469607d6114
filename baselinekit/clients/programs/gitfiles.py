"""Single files of public git repositories, named by the address of their page at GitHub, GitLab or Bitbucket.

A repository is fetched once for each commit, without history, into our own cache, and the file is read from
git's object store: nothing is checked out, so nothing in it is ever run, followed or filtered (F45). Git can
never log in, and does not read the user's configuration."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from baselinekit.clients.programs.children import child_environment, last_error_line
from baselinekit.clients.programs.git import Execute
from baselinekit.clients.programs.gitaddress import HOSTS, FetchedFile, GitAddress, HostForm, parse_address
from baselinekit.clients.programs.gitcache import GitCache, is_commit
from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    Problem,
    cannot_replay,
    suggest,
)
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.values.texts import Mask

T = TypeVar("T")

_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.helper="),
    *("http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20"),
    *("gc.auto=0", "maintenance.auto=false", "fetch.unpackLimit=1", "fetch.recurseSubmodules=false"),
    *("pack.threads=1", "core.bigFileThreshold=10m", "protocol.version=2", "transfer.bundleURI=false"),
)
_GIT = (
    "git",
    "--no-pager",
    "--literal-pathspecs",
    *(word for setting in _SETTINGS for word in ("-c", setting)),
)
_PASSED = (
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
)
"""How to reach the network, and which certificates are trusted. Nothing with which git could log in."""

# The shell limits git's memory, and the size of each file that it writes: a host sends one pack file.
_BOUNDED = 'trap "" XFSZ; ulimit -f "$0" 2>/dev/null || :; ulimit -v "$1" 2>/dev/null || :; shift; exec "$@"'
_NO_PROGRAM = 127
_BLOCK = 512
_MEMORY_KB = 2_000_000
_MOST_LISTED = 20_000_000

_SHORT_COMMIT = lazy_pattern(r"[0-9a-f]{7,63}")
_HEAD = "HEAD"
_FETCHED = "refs/fetched"
_NO_FILES = {"120000": "a symbolic link", "160000": "a submodule", "040000": "a folder"}
_LFS = b"version https://git-lfs.github.com/spec/"

_TOO_LARGE = ("File too large",)
_NOT_HANDED_OUT = ("not our ref", "unadvertised object", "remote ref")
_FAILURES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("could not read Username", "could not read Password", "Authentication failed", "error: 401"),
        "is private, or does not exist",
        "only public repositories are read: correct owner and name, or copy the file into the project",
    ),
    (
        ("not found", "error: 404", "error: 403", "not appear to be a git repository"),
        "does not exist, or is not public",
        "correct owner and name, or copy the file into the project",
    ),
    (
        ("redirect", "error: 301", "error: 302", "error: 307", "error: 308"),
        "leads to another address, which is not followed",
        "open its page, and write the address as it is now",
    ),
)
"""What git prints, what that means for a repository, and what to do."""


@frozen
class GitLimits:
    """The limits for one file. `seconds`: for all requests over the network; `repository`: the bytes of a
    repository as it is sent, at one commit; `file`: those of the file."""

    seconds: float = 60.0
    repository: int = 100_000_000
    file: int = 10_000_000


@frozen
class Revision:
    """A name in an address, its branch or tag, and its commit. `ref` is None if the name is a commit, maybe
    shortened."""

    name: str
    ref: str | None
    commit: str


Refs = Mapping[str, tuple[str, str]]
"""Branches and tags by their names: the full name, and the commit."""


class DamagedRepository(Exception):
    """The cached copy of a repository cannot be read."""


class GitFiles:
    """Fetches files by their addresses, from any number of threads and processes."""

    def __init__(
        self,
        execute: Execute,
        cache: GitCache,
        hosts: Mapping[str, HostForm] = HOSTS,
        permit: Callable[[str], None] = lambda url: None,
        offline: bool = False,
        limits: GitLimits | None = None,
        mask: Mask | None = None,
    ):
        """`permit`: refuses a URL that may not be fetched; `offline`: use only what was fetched before;
        `mask`: takes the secrets out of git's messages."""
        self.cache, self._hosts, self._permit, self._offline = cache, hosts, permit, offline
        self._git = RemoteGit(execute, limits or GitLimits(), mask)
        self._lock = threading.Lock()
        self._files: dict[str, FetchedFile] = {}
        self._failed: dict[str, CannotReplay] = {}
        self._refs: dict[tuple[str, bool], Refs] = {}

    def fetch_file(self, url: str) -> FetchedFile:
        """Return the file at an address, from its repository or from the cache. InvalidInput if there is no
        such file, CannotReplay if that could not be found out, Refused if the address may not be fetched."""
        address = parse_address(url, self._hosts)
        self._permit(address.clone_url)
        with self._lock:
            if url not in self._files:
                try:
                    self._files[url] = self._find(address)
                except OSError as error:
                    message = f"the cache of git files {self.cache.folder} cannot be used"
                    hint = "set BASELINEKIT_GIT_CACHE to a folder that can be written"
                    raise cannot_replay(
                        "BK687", f"{message}: {(error.strerror or str(error)).lower()}", hint
                    ) from None
            return self._files[url]

    def _find(self, address: GitAddress) -> FetchedFile:
        """Find the file, by the longest name that is a branch or a tag with such a file."""
        deadline = time.monotonic() + self._git.limits.seconds
        not_found = ""
        for name, path in address.readings():
            revision = self._revision(address, name, deadline)
            if revision is None:
                continue
            file = self._read(address, revision, path, deadline)
            if file is not None:
                return file
            not_found = not_found or f"there is no file {path!r} in {address.clone_url} at {name!r}"
        if not_found:
            raise InvalidInput(Problem("BK684", not_found, "correct the path or the branch, case included"))
        raise self._unknown_revision(address)

    def _unknown_revision(self, address: GitAddress) -> BaselinekitError:
        if self._offline:
            message = f"{address.url} was never fetched, and offline nobody is asked"
            return cannot_replay("BK682", message, "run it once online, with the same cache")
        known_names = {
            name for (url, _), refs in self._refs.items() if url == address.clone_url for name in refs
        }
        hint = suggest(address.words[0], known_names) or "name a branch, a tag or a commit that it has"
        message = f"{address.clone_url} has no branch, tag or commit {address.words[0]!r}"
        return InvalidInput(Problem("BK683", message, hint))

    def _revision(self, address: GitAddress, name: str, deadline: float) -> Revision | None:
        """The commit of a name now; offline, its commit when it was last asked."""
        if is_commit(address.words[0]):
            return Revision(name, None, name) if is_commit(name) else None
        noted_commit = self.cache.noted(address.clone_url, name)
        if self._offline:
            return Revision(name, None, noted_commit) if noted_commit else None
        request = address.clone_url, address.words[0] == _HEAD
        if request not in self._refs:
            with self.cache.aside() as folder:
                self._refs[request] = self._ask_once(
                    address, lambda: self._git.refs(address, folder, deadline)
                )
        refs = self._refs[request]
        if name in refs:
            return Revision(name, *refs[name])
        if not _SHORT_COMMIT.fullmatch(name):
            return None
        matches = [ref for ref in refs.values() if ref[1].startswith(name)]
        if matches and len({commit for _, commit in matches}) == 1:
            return Revision(name, *matches[0])
        return Revision(name, None, noted_commit if noted_commit and noted_commit.startswith(name) else name)

    def _ask_once(self, address: GitAddress, ask: Callable[[], T]) -> T:
        """Ask the host of a repository. After a failure it is not asked again; what is cached can still be
        read."""
        if address.clone_url in self._failed:
            raise self._failed[address.clone_url]
        try:
            return ask()
        except CannotReplay as error:
            self._failed[address.clone_url] = error
            raise

    def _read(
        self, address: GitAddress, revision: Revision, path: str, deadline: float
    ) -> FetchedFile | None:
        """The file at a revision; None if it has none of this name. A damaged cached copy is fetched again,
        once."""
        for is_last in (False, True):
            commit = self._ensure_commit(address, revision, deadline)
            repository = self.cache.commit(address.clone_url, commit)
            try:
                file = self._git.file(address, repository, commit, path)
                break
            except DamagedRepository:
                self.cache.discard(repository)
                if is_last:
                    raise cannot_replay(
                        "BK681", f"{address.clone_url} cannot be read", "try it again"
                    ) from None
        if file is None:
            return None
        id, data = file
        cached = os.path.join(self.cache.folder, "files", id, os.path.basename(path))
        self.cache.write(cached, data)
        self.cache.mark_used(os.path.dirname(cached))
        return FetchedFile(address.url, cached, data, commit)

    def _ensure_commit(self, address: GitAddress, revision: Revision, deadline: float) -> str:
        """Fetch a revision unless it is in the cache, and return its commit. If a branch moved on meanwhile,
        the commit that was fetched counts."""
        commit = revision.commit
        cached = self.cache.commit(address.clone_url, commit)
        if not os.path.isdir(cached):
            if self._offline:
                raise self._unknown_revision(address)
            with self.cache.aside() as folder:
                repository = os.path.join(folder, "repository")
                fetched = self._ask_once(
                    address, lambda: self._git.fetch(address, revision, repository, deadline)
                )
                if fetched is None:
                    raise self._unknown_revision(address)
                commit = fetched
                cached = self.cache.commit(address.clone_url, commit)
                self.cache.take_in(repository, cached)
            self.cache.tidy()
        if revision.name != commit:
            self.cache.note(address.clone_url, revision.name, commit)
        self.cache.mark_used(cached)
        return commit


@frozen
class RemoteGit:
    """Git for repositories of others: it does not read the configuration of the user and the system, it
    cannot ask for a password, and its time, its memory and what it writes are limited."""

    execute: Execute
    limits: GitLimits
    mask: Mask | None

    def refs(self, address: GitAddress, folder: str, deadline: float) -> Refs:
        """Every branch and tag with its commit. A branch takes precedence over a tag of the same name."""
        words = ["ls-remote", "--quiet", "--heads", "--tags", "--", address.clone_url]
        listed = self.ask(address, folder, words, deadline).stdout
        if address.words[0] == _HEAD:
            words = ["ls-remote", "--quiet", "--", address.clone_url, _HEAD]
            listed += self.ask(address, folder, words, deadline).stdout
        rows = [line.split("\t") for line in listed.decode("utf-8", "replace").splitlines()]
        commits = {row[1]: row[0] for row in rows if len(row) == 2 and is_commit(row[0])}
        refs: dict[str, tuple[str, str]] = {}
        for ref in sorted(commits, reverse=True):  # tags first
            if not ref.endswith("^{}"):
                commit = commits.get(f"{ref}^{{}}", commits[ref])  # the commit of an annotated tag
                short = ref.removeprefix("refs/").removeprefix("tags/").removeprefix("heads/")
                refs |= dict.fromkeys((ref, short), (ref, commit))
        return refs

    def fetch(self, address: GitAddress, revision: Revision, repository: str, deadline: float) -> str | None:
        """Fetch a revision, without history, into a new repository. Return its commit, or None."""
        folder = os.path.dirname(repository)
        format_words = ["--object-format=sha256"] if len(revision.commit) == 64 else []
        self.ask(
            address, folder, ["init", "--quiet", "--bare", "--template=", *format_words, repository], deadline
        )
        git_dir = f"--git-dir={repository}"
        words = [git_dir, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"]
        target, finished = _FETCHED, None
        if revision.ref is not None or is_commit(revision.commit):
            refspec = f"+{revision.ref or revision.commit}:{_FETCHED}"
            finished = self.run(
                address, folder, [*words, "--depth=1", "--", address.clone_url, refspec], deadline
            )
        if finished is None or (finished.exit_code and says(finished, _NOT_HANDED_OUT)):
            # some hosts send a commit only together with a branch that has it
            refspecs = [f"+refs/{kind}/*:{_FETCHED}/{kind}/*" for kind in ("heads", "tags")]
            finished = self.run(address, folder, [*words, "--", address.clone_url, *refspecs], deadline)
            target = revision.commit
        if finished.exit_code:
            raise self.failure(address, finished)
        words = [git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{target}^{{commit}}"]
        verified = self.run(address, folder, words, deadline)
        commit = verified.stdout.decode("ascii", "replace").strip()
        is_named = revision.ref is not None or commit.startswith(revision.commit)
        return commit if not verified.exit_code and is_commit(commit) and is_named else None

    def file(self, address: GitAddress, repository: str, commit: str, path: str) -> tuple[str, bytes] | None:
        """The id and the bytes of a file; None if the commit has none of this name."""
        deadline = time.monotonic() + self.limits.seconds
        git_dir = f"--git-dir={repository}"
        folder = os.path.dirname(repository)
        listed = self.run(address, folder, [git_dir, "ls-tree", "-l", "-z", commit, "--", path], deadline)
        if listed.exit_code:
            raise DamagedRepository
        if not listed.stdout:
            return None
        fields = listed.stdout.partition(b"\t")
        mode, _, id, size = fields[0].decode("ascii", "replace").split()
        if mode in _NO_FILES:
            message = f"{path!r} is {_NO_FILES[mode]} in {address.clone_url}, and no file"
            raise InvalidInput(Problem("BK685", message, "name the file itself"))
        if int(size) > self.limits.file:
            message = f"{path!r} of {address.clone_url} has {int(size):,} bytes"
            raise InvalidInput(
                Problem("BK686", f"{message}: the limit is {self.limits.file:,}", "cut it down")
            )
        content = self.run(address, folder, [git_dir, "cat-file", "blob", id], deadline, int(size))
        if content.exit_code or len(content.stdout) != int(size):
            raise DamagedRepository
        if content.stdout.startswith(_LFS):
            message = f"{path!r} of {address.clone_url} is kept in Git LFS, which is not asked"
            raise InvalidInput(Problem("BK685", message, "copy the file into the project"))
        return id, content.stdout

    def ask(self, address: GitAddress, folder: str, words: Sequence[str], deadline: float) -> ProcessResult:
        finished = self.run(address, folder, words, deadline)
        if finished.exit_code:
            raise self.failure(address, finished)
        return finished

    def run(
        self,
        address: GitAddress,
        folder: str,
        words: Sequence[str],
        deadline: float,
        max_stdout: int = _MOST_LISTED,
    ) -> ProcessResult:
        """Run git, and return the result whatever the exit code is."""
        url = address.clone_url
        bounds = ("/bin/sh", "-c", _BOUNDED, str(self.limits.repository // _BLOCK), str(_MEMORY_KB))
        environment = {
            "GIT_ALLOW_PROTOCOL": url.partition(":")[0],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "HOME": os.devnull,  # the user's own has passwords in .netrc
            "LC_ALL": "C",  # its messages are matched
        }
        spec = ProcessSpec(
            (*bounds, *_GIT, *words),
            env=child_environment(_PASSED, environment),
            cwd=folder,
            timeout=max(deadline - time.monotonic(), 0.001),
            max_stdout=max_stdout,
        )
        try:
            return self.execute(spec)
        except CannotReplay as error:
            code = error.problems[0].code
            if code == "BK321":
                message = f"{url} was not fetched within {self.limits.seconds:g} s"
                raise cannot_replay(
                    "BK681", message, "try it again, or copy the file into the project"
                ) from None
            if code == "BK322":
                raise self.too_large(address) from None
            raise

    def failure(self, address: GitAddress, finished: ProcessResult) -> BaselinekitError:
        """The error for a failure of git, as far as its messages say why."""
        if says(finished, _TOO_LARGE):
            return self.too_large(address)
        if finished.exit_code == _NO_PROGRAM:
            return cannot_replay(
                "BK681", "git is not found, and files of git repositories need it", "install git"
            )
        for words, message, hint in _FAILURES:
            if says(finished, words):
                return cannot_replay("BK681", f"{address.clone_url} {message}", hint)
        message = f"{address.clone_url} could not be fetched{last_error_line(finished.stderr, self.mask)}"
        return cannot_replay("BK681", message, "check the network; offline what was fetched before is taken")

    def too_large(self, address: GitAddress) -> InvalidInput:
        message = f"{address.clone_url} is larger than {self.limits.repository:,} bytes"
        return InvalidInput(Problem("BK686", message, "copy the file into the project"))


def says(finished: ProcessResult, words: Sequence[str]) -> bool:
    stderr = finished.stderr.decode("utf-8", "replace")
    return any(word in stderr for word in words)
