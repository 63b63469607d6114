"""Which files hold baselines: those that are named, and those below the folders that are named."""

import os
from collections.abc import Collection, Iterator, Sequence

from baselinekit.documents.languages import SUFFIXES
from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.store.config import NAME as CONFIG
from baselinekit.store.files import shown
from baselinekit.store.outputs import MARK

MAX_FILES = 20_000


def discover(paths: Sequence[str], root: str, without: Collection[str] = ()) -> list[str]:
    """The files, sorted within each folder, each once. Paths that are not absolute start at the root, and so
    do the names given back. Hidden folders, outputs beside their baselines, links to folders and the folders
    called as in `without` are passed over; whether the rest can be read is found out when it is."""
    found: dict[str, None] = {}
    problems = []
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            found.update(dict.fromkeys(shown(root, file) for file in _below(full, without)))
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith(SUFFIXES):
            what = "no baseline file by its name"
            problems.append(Problem("BK110", what, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            found[shown(root, full)] = None
    if len(found) > MAX_FILES:
        what = f"{len(found):,} files, and at most {MAX_FILES:,} are read at once"
        problems.append(Problem("BK106", what, "name a folder with fewer"))
    if problems:
        raise InvalidInput(*problems)
    return list(found)


def _below(folder: str, without: Collection[str]) -> Iterator[str]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in without:
                yield from _below(entry.path, without)
        elif _is_ours(entry.name) and not _links_to_folder(entry):
            yield entry.path


def _is_ours(name: str) -> bool:
    return name.endswith(SUFFIXES) and MARK not in name and name != CONFIG


def _links_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    beside = os.listdir(folder) if os.path.isdir(folder) else []
    near = nearest(os.path.basename(full), beside)
    mend = near or "check the name"
    if not near and not os.path.splitext(path)[1] and "/" not in path:
        mend += f" (an id is named so: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", mend)
