"""The commands that git calls: `git-merge` merges the records that the tool writes and leaves the rest to
git's own merge of texts; `git-textconv` shows a file without those records. `init --git` registers them with
git.

Git calls them once per file and waits, so their arguments are parsed here without click."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from baselinekit.store import recordmerge

_MAX_CONFLICTS = 127
_SIDES = ("ours", "base", "theirs")
_FAILED = 255


def answer(name: str, words: Sequence[str]) -> NoReturn:
    """Run a command and exit without clean-up, which would take a part of the time."""
    code = call(name, words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def call(name: str, words: Sequence[str]) -> int:
    """Run a command and return its exit code. Without its files it prints its usage."""
    work, count, usage = CALLS[name]
    if len(words) < count or words[:1] == ["--help"]:
        sys.stderr.write(f"usage: baselinekit {name} {usage}\ngit calls this: baselinekit init --git\n")
        return 2
    try:
        return work(words)
    except OSError as error:
        file = f" {error.filename}" if error.filename else ""
        message = (error.strerror or str(error)).lower()
        sys.stderr.write(f"BK120{file}: {message}: fix that and run again\n")
        return _FAILED


def git_merge(words: Sequence[str]) -> int:
    """Merge three versions of a file into the second, as git's merge drivers do: 0 merged, otherwise the
    number of conflicts, which are marked in the file."""
    files, labels = words[:3], words[5:]
    marker, name = (*words[3:5], *("7", "baseline.yaml")[max(len(words[:5]) - 3, 0) :])
    originals = [_read(file) for file in files]
    texts = _settle(originals, name)
    status = _merge_texts(files, texts, marker, labels)
    if status > _MAX_CONFLICTS:  # not a text, for example: ours stays, and git reports a conflict
        return 1
    return status or _check_merged(_read(files[1]), originals, texts, name)


def _settle(originals: Sequence[bytes], name: str) -> Sequence[bytes]:
    """Merge the records; if that fails, leave the texts to git's own merge."""
    try:
        return recordmerge.merge_records(originals[0], originals[1], originals[2], name)
    except Exception:
        return originals


def _merge_texts(files: Sequence[str], texts: Sequence[bytes], marker: str, labels: Sequence[str]) -> int:
    """Merge three texts with git into the second file. If at most one side differs from the ancestor, git is
    not needed, which saves a process."""
    base, ours, theirs = texts
    if base in (ours, theirs) or ours == theirs:
        with open(files[1], "wb") as target:
            target.write(theirs if ours == base else ours)
        return 0
    for file, text in zip(files, texts, strict=True):
        with open(file, "wb") as target:
            target.write(text)
    # older versions of git pass no labels
    label_by_side = dict(zip(("base", "ours", "theirs"), labels, strict=False))
    given_labels = (label_by_side.get(word, "") for word in _SIDES)
    sides = (
        word if label in ("", "%S", "%X", "%Y") else label
        for word, label in zip(_SIDES, given_labels, strict=True)
    )
    argv = ["git", "merge-file", "-q", *(word for label in sides for word in ("-L", label))]
    argv += [f"--marker-size={marker}"] * marker.isdigit()
    argv += ["--", files[1], files[0], files[2]]
    return subprocess.run(argv, check=False).returncode % 256


def _check_merged(merged: bytes, originals: Sequence[bytes], texts: Sequence[bytes], name: str) -> int:
    """Check that the merged file is readable: two changes that merge as texts need not form a valid file,
    unlike one change alone."""
    base, ours, theirs = texts
    if base in (ours, theirs) or ours == theirs:
        return 0
    reason = recordmerge.why_unreadable(merged, name)
    if not reason or any(recordmerge.why_unreadable(data, name) for data in originals[1:]):
        return 0
    from baselinekit.cli import screen

    screen.line(f"baselinekit: the two sides were merged, but: {screen.safe(reason)}", err=True)
    return 1


def git_textconv(words: Sequence[str]) -> int:
    """Print a file as a diff should show it; if folding it fails, as it is."""
    data = _read(words[0])
    try:
        output = recordmerge.without_record(data, os.path.basename(words[0]))
    except Exception:
        output = data
    sys.stdout.flush()
    sys.stdout.buffer.write(output)
    return 0


def _read(file: str) -> bytes:
    with open(file, "rb") as source:
        return source.read()


CALLS: dict[str, tuple[Callable[[Sequence[str]], int], int, str]] = {
    "git-merge": (git_merge, 3, "BASE OURS THEIRS [MARKER_SIZE [NAME [LABEL]…]]"),
    "git-textconv": (git_textconv, 1, "FILE"),
}
"""Each command: its function, the least number of files, and its usage."""
