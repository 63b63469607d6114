"""What is checked out, as git's own files say it: a run needs it each time, and a program takes as long as
many baselines."""

import os
import re

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[\w./+@-]+)")
_MOST = 4_000_000


def head(root: str) -> str | None:
    """The commit that is checked out where the project is; None where git cannot be asked so plainly."""
    git = _git_folder(os.path.abspath(root))
    if git is None:
        return None
    text = _read(os.path.join(git, "HEAD")).strip()
    reference = _REF.fullmatch(text)
    if reference is not None and ".." not in text:
        text = _commit_of(reference[1], git)
    return text if _HASH.fullmatch(text) else None


def _git_folder(folder: str) -> str | None:
    while True:
        path = os.path.join(folder, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):  # a further worktree, or a submodule
            where = _read(path).removeprefix("gitdir:").strip()
            return os.path.normpath(os.path.join(folder, where))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _commit_of(reference: str, git: str) -> str:
    """A branch's commit: in a file of its own, or in the list of those that are packed; both may be the main
    worktree's."""
    common = _read(os.path.join(git, "commondir")).strip()
    for folder in (git, os.path.join(git, common)) if common else (git,):
        text = _read(os.path.join(folder, reference)).strip()
        if text:
            return text
        for line in _read(os.path.join(folder, "packed-refs")).splitlines():
            if line.endswith(f" {reference}"):
                return line.split(" ", 1)[0]
    return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""
