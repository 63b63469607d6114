"""What git calls, and nobody types: `git-merge` settles what the tool wrote itself and leaves the rest to
git's own merge of texts; `git-textconv` shows a file without it. `init --git` tells git of them.

Git calls once a file, and waits: their words are read here, without the library that reads those of people,
and nothing is imported that a merge of two records does not need."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from baselinekit.store import recordmerge

_CONFLICTS_AT_MOST = 127
_OWN_WORDS = ("ours", "base", "theirs")
_FAILED = 255


def answer(name: str, words: Sequence[str]) -> NoReturn:
    """Call, and end: nothing is collected meanwhile, and nothing is tidied up in the end, which would take a
    quarter of the time."""
    gc.disable()
    code = call(name, words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def call(name: str, words: Sequence[str]) -> int:
    """The exit code. Whoever types one of them without its files is told what it is."""
    work, count, usage = CALLS[name]
    if len(words) < count or words[:1] == ["--help"]:
        sys.stderr.write(f"usage: baselinekit {name} {usage}\ngit calls this: baselinekit init --git\n")
        return 2
    try:
        return work(words)
    except OSError as error:
        shown = f" {error.filename}" if error.filename else ""
        what = (error.strerror or str(error)).lower()
        sys.stderr.write(f"BK120{shown}: {what}: fix that and run again\n")
        return _FAILED


def git_merge(words: Sequence[str]) -> int:
    """Merge three versions of a file into the second, as git's merge drivers do: 0 merged, otherwise the
    number of conflicts, which are marked in the file."""
    files, labels = words[:3], words[5:]
    marker, name = (*words[3:5], *("7", "baseline.yaml")[max(len(words[:5]) - 3, 0) :])
    before = [_read(file) for file in files]
    texts = _settled(before, name)
    finished = _merged(files, texts, marker, labels)
    if 0 < finished <= _CONFLICTS_AT_MOST and (disjoint := _disjoint(texts, name)):
        texts = disjoint
        finished = _merged(files, texts, marker, labels)
    if finished > _CONFLICTS_AT_MOST:  # no text, say: ours stays, and git says that it is in conflict
        return 1
    return finished or _checked(_read(files[1]), before, texts, name)


def _settled(before: Sequence[bytes], name: str) -> Sequence[bytes]:
    """Whatever goes wrong with us, git is to get its merge."""
    try:
        return recordmerge.settle(before[0], before[1], before[2], name)
    except Exception:
        return before


def _disjoint(texts: Sequence[bytes], name: str) -> Sequence[bytes] | None:
    """The same with one output in each baseline, where the two sides changed different places of it."""
    from baselinekit.store.outputmerge import merge_outputs

    try:
        return merge_outputs(texts[0], texts[1], texts[2], name)
    except Exception:
        return None


def _merged(files: Sequence[str], texts: Sequence[bytes], marker: str, labels: Sequence[str]) -> int:
    """Git's own merge of three texts, into the second file. Where at most one side differs from the ancestor,
    there is nothing to ask git, and a process less to start."""
    base, ours, theirs = texts
    if base in (ours, theirs) or ours == theirs:
        with open(files[1], "wb") as target:
            target.write(theirs if ours == base else ours)
        return 0
    for file, text in zip(files, texts, strict=True):
        with open(file, "wb") as target:
            target.write(text)
    named = dict(zip(("base", "ours", "theirs"), labels, strict=False))  # older versions of git give none
    shown = (named.get(word, "") for word in _OWN_WORDS)
    sides = (
        word if label in ("", "%S", "%X", "%Y") else label
        for word, label in zip(_OWN_WORDS, shown, strict=True)
    )
    argv = ["git", "merge-file", "-q", *(word for label in sides for word in ("-L", label))]
    argv += [f"--marker-size={marker}"] * marker.isdigit()
    argv += ["--", files[1], files[0], files[2]]
    started = os.posix_spawnp("git", argv, os.environ)
    return os.waitstatus_to_exitcode(os.waitpid(started, 0)[1]) % 256


def _checked(merged: bytes, before: Sequence[bytes], texts: Sequence[bytes], name: str) -> int:
    """Two changes that go together as texts need not make a file; one change alone does."""
    base, ours, theirs = texts
    if base in (ours, theirs) or ours == theirs:
        return 0
    wrong = recordmerge.why_unreadable(merged, name)
    if not wrong or any(recordmerge.why_unreadable(data, name) for data in before[1:]):
        return 0
    from baselinekit.cli import screen

    screen.line(f"baselinekit: the two sides were merged, but: {screen.safe(wrong)}", err=True)
    return 1


def git_textconv(words: Sequence[str]) -> int:
    """Print a file as a diff is to show it. Whatever goes wrong with us, git is to show it."""
    data = _read(words[0])
    try:
        shown = recordmerge.folded(data, os.path.basename(words[0]))
    except Exception:
        shown = data
    sys.stdout.flush()
    sys.stdout.buffer.write(shown)
    return 0


def _read(file: str) -> bytes:
    with open(file, "rb") as source:
        return source.read()


CALLS: dict[str, tuple[Callable[[Sequence[str]], int], int, str]] = {
    "git-merge": (git_merge, 3, "BASE OURS THEIRS [MARKER_SIZE [NAME [LABEL]…]]"),
    "git-textconv": (git_textconv, 1, "FILE"),
}
"""What is called, with how many files at least."""
