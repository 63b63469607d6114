"""Git's own files: the commit that is checked out, and our lines in `.gitattributes` and `.gitignore`."""

import os
import re
from collections.abc import Iterable, Sequence

from baselinekit.documents.languages import SUFFIXES
from baselinekit.documents.text import BOM, newline
from baselinekit.store.state import NAME as STATE

# What is checked out, as git's own files say it: a run needs it each time, and a program takes as long
# as many baselines.


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


# Our lines in `.gitattributes` and `.gitignore`: between two comments, on top, so that what people wrote
# below comes later, wins, and is byte for byte the same once ours are gone.


ATTRIBUTES, IGNORE = ".gitattributes", ".gitignore"
DRIVER = "baselinekit"

_BEGIN = "# baselinekit (these lines: `baselinekit init --git`; without them: `baselinekit init --undo-git`)"
_END = "# baselinekit: end"
_BLOCK = re.compile(rf"^{re.escape(_BEGIN)}\r?\n(?:.*\n)*?{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)
_SPECIAL = re.compile(r"([\\*?\[\]])")
_IGNORED = (f"/{STATE}/", f".{DRIVER}-*.tmp")


def attributes(folders: Iterable[str]) -> list[str]:
    """The lines by which git knows the files with baselines in these folders (from the root)."""
    return [
        f"{_pattern(folder, ending)} merge={DRIVER} diff={DRIVER}"
        for folder in folders
        for ending in SUFFIXES
    ]


def ignored(text: str) -> list[str]:
    """What git is not to see, unless the file says so already in lines of its own."""
    own = {line.strip().strip("/") for line in without_block(text).splitlines()}
    return [line for line in _IGNORED if line.strip("/") not in own]


def with_block(text: str, lines: Sequence[str]) -> str:
    """The text with these lines of ours, in the place of those that were there."""
    rest = without_block(text)
    bom = BOM if rest.startswith(BOM) else ""
    end = newline(rest)
    block = "".join(f"{line}{end}" for line in (_BEGIN, *lines, _END)) if lines else ""
    return bom + block + rest.removeprefix(bom)


def without_block(text: str) -> str:
    bom = BOM if text.startswith(BOM) else ""
    return bom + _BLOCK.sub("", text.removeprefix(bom), count=1)


def names_driver(text: str) -> bool:
    return f"merge={DRIVER}" in text


def _pattern(folder: str, ending: str) -> str:
    """Every file with this ending in a folder, as git wants it written."""
    inside = os.path.normpath(folder).replace(os.sep, "/")
    escaped = _SPECIAL.sub(r"\\\1", inside)
    pattern = f"*{ending}" if inside == "." else f"/{escaped}/**/*{ending}"
    if not re.search(r'[\s"]', pattern):
        return pattern
    return '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
