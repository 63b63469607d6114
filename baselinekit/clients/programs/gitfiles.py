"""Single files of public git repositories, named by the address of their page at GitHub, GitLab or Bitbucket.

Each commit is fetched once, without history, into a repository of our own, and the file is read from git's
object store: nothing is checked out, so nothing in it is ever run, followed or filtered (F45). Git can never
log in, and does not read the user's configuration."""

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from baselinekit.clients.programs.children import child_environment, last_error_line
from baselinekit.clients.programs.git import Execute
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem, cannot_replay, suggest
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.values.texts import Mask

# The address of a file.

HostForm = Literal["github", "gitlab", "bitbucket"]
HOSTS: dict[str, HostForm] = {"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "bitbucket"}
_FORMS = {
    "github": ("/OWNER/REPOSITORY", "/blob/"),
    "gitlab": ("/GROUP/PROJECT", "/-/blob/"),
    "bitbucket": ("/OWNER/REPOSITORY", "/src/"),
}
"""An example of a repository, and what is before the name of a branch, a tag or a commit."""
_NAME = r"[A-Za-z0-9_.~+-]*[A-Za-z0-9_][A-Za-z0-9_.~+-]*"


def is_remote(value: str) -> bool:
    """Whether the value of a file reference is an address (of any kind), and not a path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(//|:)|git@", value) is not None


class GitAddress(NamedTuple):
    """The address of a file. `words`: the parts of the name of a branch, a tag or a commit, which may contain
    slashes, followed by the parts of the path."""

    url: str
    clone_url: str
    words: tuple[str, ...]

    def readings(self) -> Iterator[tuple[str, str]]:
        """Every split of the words into a name and a path, the longest name first."""
        for count in range(len(self.words) - 1, 0, -1):
            yield "/".join(self.words[:count]), "/".join(self.words[count:])


class FetchedFile(NamedTuple):
    """A file of a repository in the cache. `path` is absolute, and leads to a regular file."""

    url: str
    path: str
    data: bytes
    commit: str


def parse_address(url: str, hosts: Mapping[str, HostForm] = HOSTS) -> GitAddress:
    """Parse an address; InvalidInput if it is not supported. `hosts`: by `host`, by `host:port`, or with
    another scheme than https before it."""
    forms = {key if "://" in key else f"https://{key}": form for key, form in hosts.items()}
    examples = ", ".join(f"{host}{''.join(_FORMS[form])}REF/PATH" for host, form in forms.items())
    message = "a git URL is not the https address of a file in a repository at a host that is known here"
    unusable = InvalidInput(Problem("BK680", message, f"write {examples}, and nothing behind it"))
    try:
        parts = urlsplit(url)
        host = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
        before, _, after = parts.path.partition(_FORMS[forms[host]][1])
    except (ValueError, KeyError):
        raise unusable from None
    repository, words = before.strip("/").split("/"), [unquote(word) for word in after.split("/")]
    is_repository = len(repository) == 2 or (forms[host] == "gitlab" and len(repository) > 2)
    are_names = all(re.fullmatch(_NAME, name) for name in repository)
    if not is_repository or not are_names or len(words) < 2 or parts.fragment or parts.query:
        raise unusable
    for word in words:
        if word.lower() in ("", ".", "..", ".git") or re.search(r"[\x00-\x1f\x7f/\\]", word):
            raise unusable
    path = "/".join(map(quote, repository)).removesuffix(".git")
    return GitAddress(url, f"{host}/{path}.git", tuple(words))


# Git for repositories of others: its time, its memory and what it writes are limited.

_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.helper="),
    *("http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20"),
    *("gc.auto=0", "maintenance.auto=false", "fetch.unpackLimit=1", "fetch.recurseSubmodules=false"),
    *("pack.threads=1", "core.bigFileThreshold=10m", "protocol.version=2", "transfer.bundleURI=false"),
)
_PASSED = (
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
)
"""How to reach the network, and which certificates are trusted. Nothing with which git could log in."""
_BOUNDED = 'trap "" XFSZ; ulimit -f "$0" 2>/dev/null || :; ulimit -v 2000000 2>/dev/null || :; exec "$@"'
"""Limits git's memory, and the size of each file that it writes: a host sends one pack file."""
_BLOCK, _MOST_LISTED = 512, 20_000_000
_COMMIT = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_FILE_MODES = ("100644", "100755")
_PUBLIC_ONLY = (
    "only public repositories are read, at their own address: correct it, check the network, or"
    " copy the file into the project; offline what was fetched before is taken"
)


class GitLimits(NamedTuple):
    """The limits for one file. `seconds`: for each request over the network; `repository`: the bytes of a
    repository as it is sent, at one commit; `file`: those of the file."""

    seconds: float = 60.0
    repository: int = 100_000_000
    file: int = 10_000_000


def cache_folder(environ: Mapping[str, str]) -> str:
    """The folder of the cache: BASELINEKIT_GIT_CACHE, else below the user's cache folder."""
    if configured := environ.get("BASELINEKIT_GIT_CACHE"):
        return os.path.abspath(os.path.expanduser(configured))
    base = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.path.abspath(base), "baselinekit", "git")


class GitFiles:
    """Fetches files by their addresses, from any number of threads and processes. The cache has a repository
    for each commit, the commit that each branch or tag had last, and the files that were read."""

    def __init__(
        self,
        execute: Execute,
        cache: str,
        hosts: Mapping[str, HostForm] = HOSTS,
        permit: Callable[[str], None] = lambda url: None,
        offline: bool = False,
        limits: GitLimits | None = None,
        mask: Mask | None = None,
    ):
        """`permit`: refuses a URL that may not be fetched; `offline`: use only what was fetched before;
        `mask`: takes the secrets out of git's messages."""
        self._execute, self._cache, self._hosts, self._permit = execute, cache, hosts, permit
        self._offline, self._limits, self._mask = offline, limits or GitLimits(), mask
        self._lock = threading.Lock()
        self._files: dict[str, FetchedFile] = {}
        self._failed: dict[str, CannotReplay] = {}
        self._refs: dict[str, dict[str, str]] = {}

    def fetch_file(self, url: str) -> FetchedFile:
        """Return the file at an address, from its repository or from the cache. InvalidInput if there is no
        such file, CannotReplay if that could not be found out, Refused if the address may not be fetched."""
        address = parse_address(url, self._hosts)
        self._permit(address.clone_url)
        with self._lock:
            if url not in self._files:
                try:
                    if not self._offline:
                        os.makedirs(self._cache, exist_ok=True)
                    self._files[url] = self._find(address)
                except OSError as error:
                    message = f"the cache of git files {self._cache} cannot be used"
                    hint = "set BASELINEKIT_GIT_CACHE to a folder that can be written"
                    reason = (error.strerror or str(error)).lower()
                    raise cannot_replay("BK681", f"{message}: {reason}", hint) from None
            return self._files[url]

    def _find(self, address: GitAddress) -> FetchedFile:
        """Find the file, by the longest name that is a branch, a tag or a commit with such a file."""
        not_found = ""
        for name, path in address.readings():
            if commit := self._commit(address, name):
                repository = self._place("commits", address, commit)
                if not os.path.isdir(repository):
                    self._fetch(address, commit, repository)
                if file := self._read(address, repository, commit, path):
                    self._write(self._place("names", address, name), commit.encode())
                    return file
                not_found = not_found or f"there is no file {path!r} in {address.clone_url} at {name!r}"
        if not_found:
            raise InvalidInput(Problem("BK680", not_found, "correct the path or the branch, case included"))
        raise self._unknown(address)

    def _unknown(self, address: GitAddress) -> BaselinekitError:
        if self._offline:
            message = f"{address.url} was never fetched, and offline no one is asked"
            return cannot_replay("BK681", message, "run it once online, with the same cache")
        known_names = self._refs.get(address.clone_url, {})
        hint = suggest(address.words[0], known_names) or "name a branch, a tag or a whole commit that it has"
        message = f"{address.clone_url} has no branch, tag or commit {address.words[0]!r}"
        return InvalidInput(Problem("BK680", message, hint))

    def _commit(self, address: GitAddress, name: str) -> str | None:
        """The commit of a name; offline, its commit when it was last asked."""
        if re.fullmatch(_COMMIT, address.words[0]):
            return name if re.fullmatch(_COMMIT, name) else None
        if not self._offline:
            return self._refs_of(address).get(name)
        with suppress(OSError), open(self._place("names", address, name), encoding="ascii") as file:
            return file.read()
        return None

    def _place(self, kind: str, address: GitAddress, name: str) -> str:
        key = sha256(f"{address.clone_url}\0{name}".encode()).hexdigest()
        return os.path.join(self._cache, kind, key)

    def _write(self, path: str, data: bytes) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
        with open(number, "wb") as file:
            file.write(data)
        os.replace(temporary, path)

    def _fetch(self, address: GitAddress, commit: str, repository: str) -> None:
        """Fetch a commit beside its place, so that half of it is never used."""
        if self._offline:
            raise self._unknown(address)
        os.makedirs(os.path.dirname(repository), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._cache) as folder:
            fetched = os.path.join(folder, "repository")
            form = ["--object-format=sha256"] if len(commit) == 64 else []
            self._ask(address, ["init", "--quiet", "--bare", "--template=", *form, fetched])
            words = ["fetch", "--quiet", "--no-tags", "--no-auto-gc", "--depth=1"]
            self._ask(address, [*words, "--", address.clone_url, commit], fetched)
            with suppress(OSError):  # another process was faster
                os.rename(fetched, repository)

    def _refs_of(self, address: GitAddress) -> dict[str, str]:
        """The commit of each branch and tag, by its short and its full name; asked once. A branch takes
        precedence over a tag of the same name."""
        if address.clone_url not in self._refs:
            words = ["ls-remote", "--quiet", "--", address.clone_url, "HEAD", "refs/heads/*", "refs/tags/*"]
            listed = self._ask(address, words)
            rows = (line.split("\t") for line in listed.decode("utf-8", "replace").splitlines())
            commits = {ref: commit for commit, ref in rows if re.fullmatch(_COMMIT, commit)}
            refs: dict[str, str] = {}
            for ref in sorted(commits, reverse=True):  # tags first
                short = re.sub("^refs/(?:tags|heads)/", "", ref)
                if not ref.endswith("^{}"):  # such a row has the commit of an annotated tag
                    refs |= dict.fromkeys((ref, short), commits.get(f"{ref}^{{}}", commits[ref]))
            self._refs[address.clone_url] = refs
        return self._refs[address.clone_url]

    def _read(self, address: GitAddress, repository: str, commit: str, path: str) -> FetchedFile | None:
        """The file at a commit; None if it has none of this name."""
        listed = self._run(address, ["ls-tree", "-l", "-z", commit, "--", path], repository)
        if listed.exit_code:
            raise self._damaged(repository)
        if not listed.stdout:
            return None
        mode, _, id, size = listed.stdout.partition(b"\t")[0].decode("ascii", "replace").split()
        if mode not in _FILE_MODES:
            message = f"{path!r} is a link, a folder or a submodule in {address.clone_url}, and no file"
            raise InvalidInput(Problem("BK680", message, "name the file itself"))
        if int(size) > self._limits.file:
            bytes_of_it = f"{int(size):,} bytes: the limit is {self._limits.file:,}"
            message = f"{path!r} of {address.clone_url} has {bytes_of_it}"
            raise InvalidInput(Problem("BK680", message, "cut it down"))
        content = self._run(address, ["cat-file", "blob", id], repository)
        if content.exit_code or len(content.stdout) != int(size):
            raise self._damaged(repository)
        if content.stdout.startswith(b"version https://git-lfs.github.com/spec/"):
            message = f"{path!r} of {address.clone_url} is kept in Git LFS, which is not asked"
            raise InvalidInput(Problem("BK680", message, "copy the file into the project"))
        cached = os.path.join(self._cache, "files", id, os.path.basename(path))
        self._write(cached, content.stdout)
        return FetchedFile(address.url, cached, content.stdout, commit)

    def _damaged(self, repository: str) -> CannotReplay:
        return cannot_replay("BK681", "git cannot read a repository of the cache", f"remove {repository}")

    def _ask(self, address: GitAddress, words: list[str], repository: str = "") -> bytes:
        """What git prints. A host that failed is not asked again."""
        if address.clone_url in self._failed:
            raise self._failed[address.clone_url]
        try:
            finished = self._run(address, words, repository)
            if finished.exit_code:
                raise self._failure(address, finished)
        except CannotReplay as error:
            self._failed[address.clone_url] = error
            raise
        return finished.stdout

    def _run(self, address: GitAddress, words: list[str], repository: str = "") -> ProcessResult:
        """Run git, and return the result whatever the exit code is."""
        url = address.clone_url
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        git_dir = (f"--git-dir={repository}",) if repository else ()
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
        limits, env = self._limits, child_environment(_PASSED, environment)
        shell = ("/bin/sh", "-c", _BOUNDED, str(limits.repository // _BLOCK))
        argv = (*shell, "git", "--no-pager", "--literal-pathspecs", *settings, *git_dir, *words)
        most = max(_MOST_LISTED, limits.file)
        spec = ProcessSpec(argv, b"", env, self._cache, limits.seconds, most)
        try:
            return self._execute(spec)
        except CannotReplay as error:
            if error.problems[0].code == "BK321":
                message = f"{url} was not fetched within {self._limits.seconds:g} s"
                hint = "try it again, or copy the file into the project"
                raise cannot_replay("BK681", message, hint) from None
            if error.problems[0].code == "BK322":
                raise self._too_large(address) from None
            raise

    def _failure(self, address: GitAddress, finished: ProcessResult) -> BaselinekitError:
        """The error for a failure of git, as far as its messages say why."""
        stderr = finished.stderr.decode("utf-8", "replace")
        if "File too large" in stderr:
            return self._too_large(address)
        if "not our ref" in stderr or "remote ref" in stderr:
            return self._unknown(address)
        message = f"{address.clone_url} could not be fetched{last_error_line(finished.stderr, self._mask)}"
        return cannot_replay("BK681", message, _PUBLIC_ONLY)

    def _too_large(self, address: GitAddress) -> InvalidInput:
        message = f"{address.clone_url} is larger than {self._limits.repository:,} bytes"
        return InvalidInput(Problem("BK680", message, "copy the file into the project"))
