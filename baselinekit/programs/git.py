"""Git, asked in one way only: without a shell, a pager or a lock; running nothing that a checkout could name;
with names as the bytes that they are."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.programs.children import child_environment

# Whatever the checkout's own git configuration would have git run is switched off (F45).
_GIT = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
_TIMEOUT = 60.0
_MOST = 1_000_000_000
_OWN = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # its words are looked at
}
_PASSED = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    *("GIT_CONFIG_PARAMETERS", "GIT_CEILING_DIRECTORIES", "XDG_CONFIG_HOME"),
)
_LINK = "120000"

Execute = Callable[[ProcessSpec], ProcessResult]


@frozen
class CommitFile:
    """A file of a commit."""

    mode: str
    id: str

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK


@frozen
class Git:
    """The repository that a folder is in. Names go in and come out relative to that folder."""

    execute: Execute
    folder: str

    def run(self, *words: str, stdin: bytes = b"") -> ProcessResult:
        """Ask, whatever the exit code."""
        counted = [name for name in os.environ if name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))]
        return self.execute(
            ProcessSpec(
                (*_GIT, *_NO_HOOKS, *words),
                stdin=stdin,
                env=child_environment((*_PASSED, *counted), _OWN),
                cwd=self.folder,
                timeout=_TIMEOUT,
                max_stdout=_MOST,
            )
        )

    def ask(self, *words: str, stdin: bytes = b"") -> bytes:
        """What git prints; InvalidInput where it cannot say."""
        finished = self.run(*words, stdin=stdin)
        if finished.exit_code:
            raise InvalidInput(self._problem(words, finished))
        return finished.stdout

    def looked(self, *words: str) -> bytes:
        """As `ask`, for what makes git look into files: it would have them filtered by programs of the
        configuration, which the checkout's attributes choose."""
        named = self.run("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.")
        if named.exit_code > 1:  # 1: there is none
            raise InvalidInput(self._problem(words, named))
        filters = {name.rpartition(".")[0] for name in _lines(named.stdout)}
        off = [
            word
            for name in sorted(filters)
            for key in ("clean=", "smudge=", "process=", "required=false")
            for word in ("-c", f"{name}.{key}")
        ]
        return self.ask(*off, *words)

    def commit(self, rev: str, option: str) -> str:
        """The commit that the operator means by a name, given to `option`."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        finished = self.run(*words)
        found = finished.stdout.decode("ascii", "replace").strip()
        if finished.exit_code or not found:
            self.ask("rev-parse", "--git-dir")  # without a repository this is what there is to say
            refs = ("refs/heads", "refs/remotes", "refs/tags")
            listed = self.run("for-each-ref", "--format=%(refname:short)", *refs)
            names = listed.stdout.decode("utf-8", "replace").split()
            hint = (
                nearest(rev, names) or "name a branch, a tag or a commit of this clone, or git fetch it first"
            )
            if self.run("rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
                hint = (
                    "this clone is shallow: fetch it first (git fetch --unshallow, or fetch-depth: 0 in CI)"
                )
            raise InvalidInput(Problem("BK541", f"{option} {rev}: git knows no such commit", hint))
        return found

    def fork(self, commit: str) -> str | None:
        """The commit at which the work of this checkout left another; None where git cannot see that far."""
        finished = self.run("merge-base", commit, "HEAD")
        found = finished.stdout.decode("ascii", "replace").split()
        return found[0] if not finished.exit_code and found else None

    def tree(self, commit: str) -> dict[str, CommitFile]:
        """Every file of a commit below the folder."""
        found = {}
        for line in _lines(self.ask("ls-tree", "-r", "-z", commit)):
            about, _, name = line.partition("\t")
            mode, kind, id = about.split(" ")
            if kind == "blob":
                found[name] = CommitFile(mode, id)
        return found

    def left_out(self) -> dict[str, CommitFile]:
        """The files below the folder that a sparse checkout leaves out, as the index has them."""
        found = {}
        for line in _lines(self.ask("ls-files", "-t", "-s", "-z")):
            about, _, name = line.partition("\t")
            tag, mode, id, _ = about.split(" ")
            if tag == "S":
                found[name] = CommitFile(mode, id)
        return found

    def contents(self, entries: Mapping[str, CommitFile]) -> dict[str, bytes]:
        """What these files hold. They are asked for by their hash, so that a name may be anything."""
        if not entries:
            return {}
        asked = "".join(f"{entry.id}\n" for entry in entries.values()).encode()
        found = _blobs(self.ask("cat-file", "--batch", stdin=asked))
        return {name: data for name, data in zip(entries, found, strict=True) if data is not None}

    def changed_since(self, commit: str) -> set[str]:
        """The names of all files that differ from a commit: committed, staged, edited, new or gone. A file
        under a new name has changed under both."""
        names = set(_lines(self.ask("ls-files", "-z", "--others", "--exclude-standard")))
        words = ("--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev", "--relative")
        fields = iter(_lines(self.looked("diff-index", *words, "--ignore-submodules=dirty", commit, "--")))
        for about, name in zip(fields, fields, strict=True):
            mode, _, old, new, _ = about.removeprefix(":").split(" ")
            untold = not new.strip("0")  # git has only seen that its times are others: we look ourselves
            if not (untold and self._is_still(name, CommitFile(mode, old))):
                names.add(name)
        return names

    def setting(self, key: str) -> str | None:
        """A value of the clone's own configuration."""
        finished = self.run("config", "--local", "--null", "--get", key)
        return None if finished.exit_code else finished.stdout.decode("utf-8", "replace").rstrip("\0")

    def attributes(self, names: Iterable[str], *wanted: str) -> dict[tuple[str, str], str]:
        """The attributes of files, by name and attribute."""
        asked = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        fields = iter(_lines(self.ask("check-attr", "-z", "--stdin", *wanted, stdin=asked)))
        return {(name, key): value for name, key, value in zip(fields, fields, fields, strict=True)}

    def _is_still(self, name: str, entry: CommitFile) -> bool:
        path = os.path.join(self.folder, name)
        try:
            if entry.is_link or os.path.islink(path):
                data = os.fsencode(os.readlink(path)) if entry.is_link else None
            else:
                with open(path, "rb") as file:
                    data = file.read()
        except OSError:
            return False
        if data is None:
            return False
        hashing = hashlib.sha256 if len(entry.id) == 64 else hashlib.sha1  # as the repository names files
        return hashing(b"blob %d\0" % len(data) + data).hexdigest() == entry.id

    def _problem(self, words: tuple[str, ...], finished: ProcessResult) -> Problem:
        said = finished.stderr.decode("utf-8", "replace").strip()
        if "not a git repository" in said:
            return Problem(
                "BK540", f"{self.folder} is not in a git repository", "git init, or work in a clone"
            )
        last = (said.splitlines() or [f"it ended with exit code {finished.exit_code}"])[-1]
        verb = next((word for word in words if word != "-c" and "=" not in word), "")
        return Problem("BK542", f"git {verb}: {last.removeprefix('fatal: ')}", "fix that and run again")


def _lines(data: bytes) -> Iterator[str]:
    """What git ends with a zero byte each, names that are no UTF-8 included."""
    return (os.fsdecode(part) for part in data.split(b"\0")[:-1])


def _blobs(data: bytes) -> Iterator[bytes | None]:
    """The answers of `cat-file --batch`: a line about it, the bytes, a line end; or that it is missing."""
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        words = data[at:end].split(b" ")
        at = end + 1
        if len(words) != 3:
            yield None
            continue
        size = int(words[2])
        yield data[at : at + size]
        at += size + 1
