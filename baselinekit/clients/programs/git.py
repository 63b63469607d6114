"""Git, always run in the same way: without a shell, a pager or a lock; running nothing that a checkout could
name; with names as raw bytes."""

import hashlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping

from baselinekit.clients.programs.children import child_environment
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.structs import Struct

# Everything that the checkout's own git configuration would have git run is switched off (F45). A partial
# clone fetches what it lacks: over https only, and no program is asked for a password.
_GIT = (
    *("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null", "-c", "credential.helper=", "-c", "core.askPass="),
)
_TIMEOUT = 60.0
_MOST = 1_000_000_000
_OWN = {
    "GIT_ALLOW_PROTOCOL": "https",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # its messages are matched
}
_PASSED = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    *("GIT_CONFIG_PARAMETERS", "GIT_CEILING_DIRECTORIES", "XDG_CONFIG_HOME"),
)
_LINK = "120000"

Execute = Callable[[ProcessSpec], ProcessResult]


class CommitFile(Struct):
    """A file of a commit."""

    mode: str
    id: str

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK


class Git(Struct):
    """The repository that a folder is in. Names go in and come out relative to that folder."""

    execute: Execute
    folder: str

    def run(self, *words: str, stdin: bytes = b"") -> ProcessResult:
        """Run git, and return the result whatever the exit code is."""
        counted = [name for name in os.environ if name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))]
        env = child_environment((*_PASSED, *counted), _OWN)
        return self.execute(ProcessSpec((*_GIT, *words), stdin, env, self.folder, _TIMEOUT, _MOST))

    def ask(self, *words: str, stdin: bytes = b"") -> bytes:
        """What git prints; InvalidInput if it fails."""
        finished = self.run(*words, stdin=stdin)
        if finished.exit_code:
            raise InvalidInput(self._problem(words, finished))
        return finished.stdout

    def looked(self, *words: str) -> bytes:
        """As `ask`, for commands that make git read files: it would filter them by programs of the
        configuration, which the checkout's attributes choose. The filters are switched off."""
        configured = self.run("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.")
        if configured.exit_code > 1:  # 1: there is none
            raise InvalidInput(self._problem(words, configured))
        filters = {name.rpartition(".")[0] for name in _lines(configured.stdout)}
        filters_off: list[str] = []
        for name in sorted(filters):
            for key in ("clean=", "smudge=", "process=", "required=false"):
                filters_off += ["-c", f"{name}.{key}"]
        return self.ask(*filters_off, *words)

    def commit(self, rev: str, option: str) -> str:
        """The commit that the operator means by a name, given to `option`."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        finished = self.run(*words)
        commit = finished.stdout.decode("ascii", "replace").strip()
        if finished.exit_code or not commit:
            self.ask("rev-parse", "--git-dir")  # reports it if there is no repository
            hint = "name a branch, a tag or a commit of this clone, or git fetch it first"
            if self.run("rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
                deepen = "git fetch --unshallow, or fetch-depth: 0 in CI"
                hint = f"this clone is shallow: fetch it first ({deepen})"
            raise InvalidInput(Problem("BK542", f"{option} {rev}: git knows no such commit", hint))
        return commit

    def fork(self, commit: str) -> str | None:
        """The merge base of a commit and this checkout; None if git cannot find it (in a shallow clone)."""
        finished = self.run("merge-base", commit, "HEAD")
        commits = finished.stdout.decode("ascii", "replace").split()
        return commits[0] if not finished.exit_code and commits else None

    def tree(self, commit: str) -> dict[str, CommitFile]:
        """Every file of a commit below the folder."""
        files = {}
        for line in _lines(self.ask("ls-tree", "-r", "-z", commit)):
            fields, _, name = line.partition("\t")
            mode, kind, id = fields.split(" ")
            if kind == "blob":
                files[name] = CommitFile(mode, id)
        return files

    def left_out(self) -> list[str]:
        """The names of the files below the folder that a sparse checkout leaves out."""
        entries = _lines(self.ask("ls-files", "-t", "-z"))
        return [entry.removeprefix("S ") for entry in entries if entry.startswith("S ")]

    def contents(self, entries: Mapping[str, CommitFile]) -> dict[str, bytes]:
        """The contents of these files. They are read by their hash, so that any name is possible."""
        if not entries:
            return {}
        ids = "".join(f"{entry.id}\n" for entry in entries.values()).encode()
        blobs = _blobs(self.ask("cat-file", "--batch", stdin=ids))
        return {name: data for name, data in zip(entries, blobs, strict=True) if data is not None}

    def changed_since(self, commit: str) -> set[str]:
        """The names of all files that differ from a commit: committed, staged, edited, new or removed. A
        renamed file is reported under both names."""
        names = set(_lines(self.ask("ls-files", "-z", "--others", "--exclude-standard")))
        words = ("--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev", "--relative")
        fields = iter(_lines(self.looked("diff-index", *words, "--ignore-submodules=dirty", commit, "--")))
        for entry_fields, name in zip(fields, fields, strict=True):
            mode, _, old, new, _ = entry_fields.removeprefix(":").split(" ")
            # Git has only seen other times. The content is compared here: `git diff` would ask the remote of
            # a partial clone for the old content, by programs that the clone's configuration names (F45).
            is_uncertain = not new.strip("0")
            if not (is_uncertain and self._is_still(name, CommitFile(mode, old))):
                names.add(name)
        return names

    def setting(self, key: str) -> str | None:
        """A value of the clone's own configuration."""
        finished = self.run("config", "--local", "--null", "--get", key)
        return None if finished.exit_code else finished.stdout.decode("utf-8", "replace").rstrip("\0")

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
        hashing = hashlib.sha256 if len(entry.id) == 64 else hashlib.sha1  # as the repository hashes files
        return hashing(b"blob %d\0" % len(data) + data).hexdigest() == entry.id

    def _problem(self, words: tuple[str, ...], finished: ProcessResult) -> Problem:
        stderr = finished.stderr.decode("utf-8", "replace").strip()
        if "not a git repository" in stderr:
            message = f"{self.folder} is not in a git repository"
            return Problem("BK542", message, "git init, or work in a clone")
        if "dubious ownership" in stderr:
            folder = shlex.quote(os.path.realpath(self.folder))
            message = f"git refuses {self.folder}: dubious ownership, as another user owns the folder"
            hint = f"if you trust its owner: git config --global --add safe.directory {folder}"
            return Problem("BK542", message, hint)
        last = (stderr.splitlines() or [f"it ended with exit code {finished.exit_code}"])[-1]
        verb = next((word for word in words if word != "-c" and "=" not in word), "")
        return Problem("BK542", f"git {verb}: {last.removeprefix('fatal: ')}", "fix that and run again")


def _lines(data: bytes) -> Iterator[str]:
    """The entries that git ends with a zero byte each, including names that are not UTF-8."""
    return (os.fsdecode(part) for part in data.split(b"\0")[:-1])


def _blobs(data: bytes) -> Iterator[bytes | None]:
    """Parse the output of `cat-file --batch`: a header line, the bytes, a line end; None if one is
    missing."""
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
