"""Single files of public git repositories, named by the address of their page at GitHub, GitLab or Bitbucket.

A repository is fetched once a commit, without history, into a cache of our own, and the file is read out of
git's own store: nothing is checked out, so nothing of a repository is ever run, followed or filtered (F45).
Git is never asked to log in, and knows nothing of the user's configuration."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem, cannot, nearest
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.programs.children import child_environment, said_last
from baselinekit.programs.git import Execute
from baselinekit.programs.gitaddress import HOSTS, FetchedFile, GitAddress, HostForm, parse_address
from baselinekit.programs.gitcache import GitCache, is_commit
from baselinekit.texts import Mask

T = TypeVar("T")

_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.helper="),
    *("http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20"),
    *("gc.auto=0", "maintenance.auto=false", "fetch.unpackLimit=1", "fetch.recurseSubmodules=false"),
    *("pack.threads=1", "core.bigFileThreshold=10m", "protocol.version=2", "transfer.bundleURI=false"),
)
_GIT = ("git", "--no-pager", "--literal-pathspecs", *(word for one in _SETTINGS for word in ("-c", one)))
_PASSED = (
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
)
"""How the network is reached from here, and which certificates hold. Nothing by which git could log in."""

# The shell bounds what git writes into one file, which is the whole of what a host sends, and its memory.
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
"""What git says, what that means for a repository, and what to do."""


@frozen
class GitLimits:
    """What one file may cost. `seconds`: for all that is asked of the network; `repository`: the bytes of a
    repository as it is sent, at one commit; `file`: those of the file."""

    seconds: float = 60.0
    repository: int = 100_000_000
    file: int = 10_000_000


@frozen
class Revision:
    """A name in an address, the branch or tag that it is, and its commit. Without a branch or tag the commit
    itself was named, maybe shortened."""

    name: str
    ref: str | None
    commit: str


Refs = Mapping[str, tuple[str, str]]
"""Branches and tags by their names: the whole name, and the commit."""


class DamagedRepository(Exception):
    """What is kept of a repository cannot be read."""


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
        """`permit`: refuses a URL that must not be asked; `offline`: only what was fetched before, and nobody
        is asked; `mask`: takes the secrets out of what git says."""
        self.cache, self._hosts, self._permit, self._offline = cache, hosts, permit, offline
        self._git = RemoteGit(execute, limits or GitLimits(), mask)
        self._lock = threading.Lock()
        self._files: dict[str, FetchedFile] = {}
        self._failed: dict[str, CannotReplay] = {}
        self._refs: dict[tuple[str, bool], Refs] = {}

    def fetch_file(self, url: str) -> FetchedFile:
        """The file that an address names: asked of its repository, or taken from what is kept of it.
        InvalidInput where there is no such file, CannotReplay where that could not be found out, Refused
        where the address must not be asked."""
        address = parse_address(url, self._hosts)
        self._permit(address.clone_url)
        with self._lock:
            if url not in self._files:
                try:
                    self._files[url] = self._find(address)
                except OSError as error:
                    what = f"the cache of git files {self.cache.folder} cannot be used"
                    hint = "set BASELINEKIT_GIT_CACHE to a folder that can be written"
                    raise cannot("BK687", f"{what}: {(error.strerror or str(error)).lower()}", hint) from None
            return self._files[url]

    def _find(self, address: GitAddress) -> FetchedFile:
        """By the longest name that is a branch or a tag and has such a file."""
        deadline = time.monotonic() + self._git.limits.seconds
        without = ""
        for name, path in address.readings():
            revision = self._revision(address, name, deadline)
            if revision is None:
                continue
            file = self._read(address, revision, path, deadline)
            if file is not None:
                return file
            without = without or f"there is no file {path!r} in {address.clone_url} at {name!r}"
        if without:
            raise InvalidInput(Problem("BK684", without, "correct the path or the branch, case included"))
        raise self._unknown(address)

    def _unknown(self, address: GitAddress) -> BaselinekitError:
        if self._offline:
            what = f"{address.url} was never fetched, and offline nobody is asked"
            return cannot("BK682", what, "run it once online, with the same cache")
        known = {name for (url, _), refs in self._refs.items() if url == address.clone_url for name in refs}
        near = nearest(address.words[0], known) or "name a branch, a tag or a commit that it has"
        what = f"{address.clone_url} has no branch, tag or commit {address.words[0]!r}"
        return InvalidInput(Problem("BK683", what, near))

    def _revision(self, address: GitAddress, name: str, deadline: float) -> Revision | None:
        """The commit that a name means now; offline, what it meant when it was last asked."""
        if is_commit(address.words[0]):
            return Revision(name, None, name) if is_commit(name) else None
        noted = self.cache.noted(address.clone_url, name)
        if self._offline:
            return Revision(name, None, noted) if noted else None
        asked = address.clone_url, address.words[0] == _HEAD
        if asked not in self._refs:
            with self.cache.aside() as folder:
                self._refs[asked] = self._once(address, lambda: self._git.refs(address, folder, deadline))
        refs = self._refs[asked]
        if name in refs:
            return Revision(name, *refs[name])
        if not _SHORT_COMMIT.fullmatch(name):
            return None
        begun = [known for known in refs.values() if known[1].startswith(name)]
        if begun and len({commit for _, commit in begun}) == 1:
            return Revision(name, *begun[0])
        return Revision(name, None, noted if noted and noted.startswith(name) else name)

    def _once(self, address: GitAddress, ask: Callable[[], T]) -> T:
        """What its host says. One that did not answer is not waited for again; what is kept is read all the
        same."""
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
        """The file at a revision; None where it has none of this name. What is kept damaged is fetched again,
        once."""
        for is_last in (False, True):
            commit = self._kept(address, revision, deadline)
            repository = self.cache.commit(address.clone_url, commit)
            try:
                found = self._git.file(address, repository, commit, path)
                break
            except DamagedRepository:
                self.cache.discard(repository)
                if is_last:
                    raise cannot("BK681", f"{address.clone_url} cannot be read", "try it again") from None
        if found is None:
            return None
        id, data = found
        kept = os.path.join(self.cache.folder, "files", id, os.path.basename(path))
        self.cache.write(kept, data)
        self.cache.mark_used(os.path.dirname(kept))
        return FetchedFile(address.url, kept, data, commit)

    def _kept(self, address: GitAddress, revision: Revision, deadline: float) -> str:
        """The commit that is in the cache now. A branch may have moved on while it was fetched: then it is
        what was fetched that counts."""
        commit = revision.commit
        kept = self.cache.commit(address.clone_url, commit)
        if not os.path.isdir(kept):
            if self._offline:
                raise self._unknown(address)
            with self.cache.aside() as folder:
                repository = os.path.join(folder, "repository")
                fetched = self._once(
                    address, lambda: self._git.fetch(address, revision, repository, deadline)
                )
                if fetched is None:
                    raise self._unknown(address)
                commit = fetched
                kept = self.cache.commit(address.clone_url, commit)
                self.cache.take_in(repository, kept)
            self.cache.tidy()
        if revision.name != commit:
            self.cache.note(address.clone_url, revision.name, commit)
        self.cache.mark_used(kept)
        return commit


@frozen
class RemoteGit:
    """Git as it is asked about repositories of others: of the user's and the system's configuration it knows
    nothing, it cannot ask for a password, and its time, its memory and what it writes are bounded."""

    execute: Execute
    limits: GitLimits
    mask: Mask | None

    def refs(self, address: GitAddress, folder: str, deadline: float) -> Refs:
        """Every branch and tag with its commit. A branch goes before a tag of its name."""
        words = ["ls-remote", "--quiet", "--heads", "--tags", "--", address.clone_url]
        listed = self.ask(address, folder, words, deadline).stdout
        if address.words[0] == _HEAD:
            words = ["ls-remote", "--quiet", "--", address.clone_url, _HEAD]
            listed += self.ask(address, folder, words, deadline).stdout
        rows = [line.split("\t") for line in listed.decode("utf-8", "replace").splitlines()]
        commits = {row[1]: row[0] for row in rows if len(row) == 2 and is_commit(row[0])}
        found: dict[str, tuple[str, str]] = {}
        for ref in sorted(commits, reverse=True):  # tags first
            if not ref.endswith("^{}"):
                commit = commits.get(f"{ref}^{{}}", commits[ref])  # what a tag with a message stands for
                short = ref.removeprefix("refs/").removeprefix("tags/").removeprefix("heads/")
                found |= dict.fromkeys((ref, short), (ref, commit))
        return found

    def fetch(self, address: GitAddress, revision: Revision, repository: str, deadline: float) -> str | None:
        """Fetch a revision, without history, into a new repository. The commit; None where there is none."""
        folder = os.path.dirname(repository)
        wide = ["--object-format=sha256"] if len(revision.commit) == 64 else []
        self.ask(address, folder, ["init", "--quiet", "--bare", "--template=", *wide, repository], deadline)
        there = f"--git-dir={repository}"
        words = [there, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"]
        meant, finished = _FETCHED, None
        if revision.ref is not None or is_commit(revision.commit):
            one = f"+{revision.ref or revision.commit}:{_FETCHED}"
            finished = self.run(
                address, folder, [*words, "--depth=1", "--", address.clone_url, one], deadline
            )
        if finished is None or (finished.exit_code and says(finished, _NOT_HANDED_OUT)):
            # some hosts hand out a commit only together with a branch that has it
            every = [f"+refs/{kind}/*:{_FETCHED}/{kind}/*" for kind in ("heads", "tags")]
            finished = self.run(address, folder, [*words, "--", address.clone_url, *every], deadline)
            meant = revision.commit
        if finished.exit_code:
            raise self.failure(address, finished)
        words = [there, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{meant}^{{commit}}"]
        looked = self.run(address, folder, words, deadline)
        commit = looked.stdout.decode("ascii", "replace").strip()
        named = revision.ref is not None or commit.startswith(revision.commit)
        return commit if not looked.exit_code and is_commit(commit) and named else None

    def file(self, address: GitAddress, repository: str, commit: str, path: str) -> tuple[str, bytes] | None:
        """The id and the bytes of a file; None where the commit has none of this name."""
        deadline = time.monotonic() + self.limits.seconds
        there = f"--git-dir={repository}"
        folder = os.path.dirname(repository)
        listed = self.run(address, folder, [there, "ls-tree", "-l", "-z", commit, "--", path], deadline)
        if listed.exit_code:
            raise DamagedRepository
        if not listed.stdout:
            return None
        about = listed.stdout.partition(b"\t")
        mode, _, id, size = about[0].decode("ascii", "replace").split()
        if mode in _NO_FILES:
            what = f"{path!r} is {_NO_FILES[mode]} in {address.clone_url}, and no file"
            raise InvalidInput(Problem("BK685", what, "name the file itself"))
        if int(size) > self.limits.file:
            what = f"{path!r} of {address.clone_url} has {int(size):,} bytes"
            raise InvalidInput(Problem("BK686", f"{what}: the limit is {self.limits.file:,}", "cut it down"))
        shown = self.run(address, folder, [there, "cat-file", "blob", id], deadline, int(size))
        if shown.exit_code or len(shown.stdout) != int(size):
            raise DamagedRepository
        if shown.stdout.startswith(_LFS):
            what = f"{path!r} of {address.clone_url} is kept in Git LFS, which is not asked"
            raise InvalidInput(Problem("BK685", what, "copy the file into the project"))
        return id, shown.stdout

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
        most: int = _MOST_LISTED,
    ) -> ProcessResult:
        """Whatever the exit code."""
        url = address.clone_url
        bounds = ("/bin/sh", "-c", _BOUNDED, str(self.limits.repository // _BLOCK), str(_MEMORY_KB))
        own = {
            "GIT_ALLOW_PROTOCOL": url.partition(":")[0],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "HOME": os.devnull,  # the user's own has passwords in .netrc
            "LC_ALL": "C",  # its words are looked at
        }
        spec = ProcessSpec(
            (*bounds, *_GIT, *words),
            env=child_environment(_PASSED, own),
            cwd=folder,
            timeout=max(deadline - time.monotonic(), 0.001),
            max_stdout=most,
        )
        try:
            return self.execute(spec)
        except CannotReplay as error:
            code = error.problems[0].code
            if code == "BK321":
                what = f"{url} was not fetched within {self.limits.seconds:g} s"
                raise cannot("BK681", what, "try it again, or copy the file into the project") from None
            if code == "BK322":
                raise self.too_large(address) from None
            raise

    def failure(self, address: GitAddress, finished: ProcessResult) -> BaselinekitError:
        """Why git could not do it, as far as that can be told from its words."""
        if says(finished, _TOO_LARGE):
            return self.too_large(address)
        if finished.exit_code == _NO_PROGRAM:
            return cannot("BK681", "git is not found, and files of git repositories need it", "install git")
        for words, what, hint in _FAILURES:
            if says(finished, words):
                return cannot("BK681", f"{address.clone_url} {what}", hint)
        what = f"{address.clone_url} could not be fetched{said_last(finished.stderr, self.mask)}"
        return cannot("BK681", what, "check the network; offline what was fetched before is taken")

    def too_large(self, address: GitAddress) -> InvalidInput:
        what = f"{address.clone_url} is larger than {self.limits.repository:,} bytes"
        return InvalidInput(Problem("BK686", what, "copy the file into the project"))


def says(finished: ProcessResult, words: Sequence[str]) -> bool:
    said = finished.stderr.decode("utf-8", "replace")
    return any(word in said for word in words)
