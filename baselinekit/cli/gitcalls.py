"""The commands that git calls: `git-merge` merges the records that the tool writes and leaves the rest to
git's own merge of texts; `git-textconv` shows a file without those records. `init --git` registers them with
git, which calls them once per file and waits, so their arguments are parsed here without click."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from baselinekit.cli import screen
from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.store.record import merge_records, without_record

_SIDES = ["ours", "base", "theirs"]
_MAX_CONFLICTS = 127
_FAILED = 255


def answer(name: str, words: Sequence[str]) -> NoReturn:
    """Run a command and exit without clean-up, which would take a part of the time."""
    code = call(name, words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def call(name: str, words: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    work, count = CALLS[name]
    if len(words) < count:
        sys.stderr.write(f"git calls {name} with its files, after baselinekit init --git\n")
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
    base, ours, theirs = files = [Path(word) for word in words[:3]]
    marker, name = (*words[3:5], *("7", "baseline.yaml")[max(len(words[:5]) - 3, 0) :])
    labels = words[5:8]  # older versions of git pass none
    sides = _SIDES
    if len(labels) == len(sides) and "%S" not in labels:
        sides = [label or side for label, side in zip((labels[1], labels[0], labels[2]), _SIDES, strict=True)]
    before = [file.read_bytes() for file in files]
    for file, data in zip(files, merge_records(before, name), strict=True):
        file.write_bytes(data)
    argv = ["git", "merge-file", "-q", *(word for side in sides for word in ("-L", side))]
    argv += [f"--marker-size={marker}"] * marker.isdigit()
    conflicts = subprocess.run([*argv, "--", ours, base, theirs], check=False).returncode % 256
    if conflicts > _MAX_CONFLICTS:  # not a text, for example: ours stays, and git reports a conflict
        return 1
    reason = _why_unreadable(ours.read_bytes(), name)
    if conflicts or not reason or any(_why_unreadable(data, name) for data in before[1:]):
        return conflicts
    screen.line(f"baselinekit: the two sides were merged, but: {screen.safe(reason)}", err=True)
    return 1


def _why_unreadable(data: bytes, file: str) -> str:
    """Return why a text cannot be read, or "": two valid changes can give an invalid file together."""
    try:
        language(file).load(decode(data, file).body, file)
    except BaselinekitError as error:
        return str(error.problems[0])
    return ""


def git_textconv(words: Sequence[str]) -> int:
    """Print a file as a diff should show it."""
    file = Path(words[0])
    sys.stdout.flush()
    sys.stdout.buffer.write(without_record(file.read_bytes(), file.name))
    return 0


CALLS: dict[str, tuple[Callable[[Sequence[str]], int], int]] = {
    "git-merge": (git_merge, 3),
    "git-textconv": (git_textconv, 1),
}
"""Each command: its function, and the least number of files."""
