"""Which files hold baselines: those that are named, and those below the folders that are named. Each folder
is listed once, and nothing in it is opened; a project may have a million files."""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Literal

from baselinekit.documents.jsontext import NotJson, decode as decode_json
from baselinekit.documents.languages import LINES, SUFFIXES, language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, nearest
from baselinekit.lazy import lazy_pattern
from baselinekit.store import records
from baselinekit.store.project import (
    CONFIG_NAME,
    EVALS,
    INPUTS,
    METAS,
    is_prompt_folder,
    limits_of,
    name_in_project,
    read,
)
from baselinekit.store.records import MARK

Stamp = tuple[int, int, int, int]
"""Of a file: its size, when it was written, when anything about it was changed, and its number. Two contents
of a file have the same one only if they were written within one tick of the file system's clock."""


def stamp_of(path: str) -> Stamp | None:
    """None where there is none, or a link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & _MOST


_MOST = (1 << 63) - 1
"""As a number is written in eight bytes."""


class Discovery:
    """The files that were found, in the order in which they are read, each once."""

    def __init__(self, root: str, most: int | None = None):
        self.files: dict[str, None] = {}
        self.folders: set[str] = set()
        """Those that the files are in which were named."""
        self.temporaries: list[str] = []
        """What looks like one in the folders that were listed."""
        self.configs: list[str] = []
        """The configurations of projects that stand in them, by their names in this one."""
        self.passed_over: list[str] = []
        """Those that were found and are plainly no baselines."""
        self._root = root
        self._most = limits_of(root).files if most is None else most
        self._named: set[str] = set()

    def add(self, file: str) -> None:
        """One that was named."""
        self._named.add(file)
        self.folders.add(os.path.dirname(file))
        self.add_all([file])

    def add_all(self, files: Sequence[str]) -> None:
        """Those of one folder, as they were found in it."""
        self.files |= dict.fromkeys(files)
        if len(self.files) > self._most:
            what = f"more than {self._most:,} files, which is the most that are read at once"
            hint = "name a folder with fewer, or state a higher number: limits: {files: …}"
            raise InvalidInput(Problem("BK106", what, hint))

    def pass_over_foreign(self, strict: Sequence[str]) -> None:
        """Leave out what is plainly of other tools. A file that was named stays, and so does one below the
        folders in which all is meant: what is wrong with it is told."""
        below = tuple(f"{os.path.normpath(folder)}/" for folder in strict)
        found = [one for one in self.files if one not in self._named and not one.startswith(below)]
        self.passed_over = [file for file in found if is_foreign_json(self._root, file)]
        for file in self.passed_over:
            del self.files[file]

    def stamp(self, file: str) -> Stamp | None:
        """As it is now. None where it takes more than a look to say whether the file is as it was: of one
        that was named, or is a link."""
        return None if file in self._named else stamp_of(os.path.join(self._root, file))

    def unchanged(self, then: Iterable[tuple[int, str, Stamp]]) -> Iterator[tuple[int, str]]:
        """Those of numbered files whose stamp is still as it was. In one loop that calls nothing else of
        ours: of 100,000 files it is most of what a run does that is about one of them."""
        files, named, lstat, is_regular = self.files, self._named, os.lstat, stat.S_ISREG
        lead = os.path.join(self._root, "")
        for number, file, (size, written, changed, inode) in then:
            if file not in files or file in named:
                continue
            try:
                status = lstat(file if file.startswith("/") else lead + file)
            except (OSError, ValueError):
                continue
            if (
                status.st_mtime_ns == written
                and status.st_ctime_ns == changed
                and status.st_size == size
                and status.st_ino & _MOST == inode
                and is_regular(status.st_mode)
            ):
                yield number, file


def discover(
    paths: Sequence[str],
    root: str,
    without: Collection[str] = (),
    with_prompts: bool = False,
    endings: tuple[str, ...] = SUFFIXES,
) -> list[str]:
    """The names of the files."""
    return list(discover_files(paths, root, without, with_prompts, endings).files)


def discover_files(
    paths: Sequence[str],
    root: str,
    without: Collection[str] = (),
    with_prompts: bool = False,
    endings: tuple[str, ...] = SUFFIXES,
) -> Discovery:
    """The files, sorted within each folder, each once. Paths that are not absolute start at the root, and so
    do the names given back. Hidden folders, outputs beside their baselines, links to folders and the folders
    called as in `without` are passed over; whether the rest can be read is found out when it is. Below a
    folder with a prompt only what looks like a baseline is one, unless all is asked for. `endings`: of the
    files in folders."""
    found = Discovery(root)
    problems = []
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            for files, of_prompt in _below(full, name_in_project(root, full), without, endings, found):
                if of_prompt and not with_prompts:
                    files = [file for file in files if holds_baselines(root, file)]
                found.add_all(files)
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith((*SUFFIXES, LINES)):
            what = "it does not have the name of a baseline file"
            problems.append(Problem("BK110", what, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            found.add(name_in_project(root, full))
    if problems:
        raise InvalidInput(*problems)
    return found


def _below(
    folder: str,
    name: str,
    without: Collection[str],
    endings: tuple[str, ...],
    found: Discovery,
    of_prompt: bool = False,
) -> Iterator[tuple[list[str], bool]]:
    """The files by their names in the project, those of a folder that follow each other at once, and whether
    a folder with a prompt is above them. `name`: that of the folder. `found`: where temporaries and
    configurations are added."""
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=attrgetter("name"))
    of_prompt = of_prompt or is_prompt_folder([entry.name for entry in entries])
    lead = "" if name == os.curdir else f"{name.rstrip('/')}/"
    files: list[str] = []
    for entry in entries:
        own = entry.name
        if own.startswith("."):
            if own.endswith(".tmp"):
                found.temporaries.append(entry.path)
            continue
        if entry.is_file(follow_symlinks=False):  # nearly all are
            is_folder = False
        elif entry.is_dir(follow_symlinks=False):
            if own not in without:
                yield files, of_prompt
                files = []
                yield from _below(entry.path, lead + own, without, endings, found, of_prompt)
            continue
        else:
            is_folder = os.path.isdir(entry.path)  # a link
        if not is_folder and own.endswith(endings) and MARK not in own:
            (found.configs if own == CONFIG_NAME else files).append(lead + own)
    yield files, of_prompt


_LOOKS_SO = lazy_pattern(
    rb"^(?:- )?[\"']?(?:current|baseline|comparison|test_case)[\"']?[ \t]*:", re.MULTILINE
)
"""Of a file that cannot be read."""


def holds_baselines(root: str, file: str) -> bool:
    """Whether a file beside a prompt is one of baselines; one that is too large or gone is none."""
    with suppress(BaselinekitError):
        return looks_like_baselines(file, read(root, file))
    return False


def looks_like_baselines(file: str, data: bytes) -> bool:
    """Right or wrong: other files beside a prompt are what is said of it, its cases, and what these are
    given."""
    if os.path.basename(file) in (*METAS, *EVALS, INPUTS):
        return False
    try:
        return records.holds_any(language(file).load(decode(data, file).body, file))
    except BaselinekitError:
        return _LOOKS_SO.search(data) is not None


_JSON = ".json"
_KEYS = (
    *("current", "baseline", "comparison", "test_case", "eval_type", records.WRAPPER),
    *(*records.OTHERS, *records.CASE),
)
_AS_GOOD_AS = 0.85
"""How alike a key has to be to one of these to be a mistake in writing it."""
_MOST_TOLD = 3


def is_foreign_json(root: str, file: str) -> bool:
    """Whether a file that was only found is JSON and has no key of a baseline or of an eval."""
    return keys_of_json(root, file, _KEYS, _AS_GOOD_AS) in ("others", "none")


def keys_of_json(
    root: str, file: str, known: Collection[str], as_good_as: float
) -> Literal["known", "others", "none", "unread"]:
    """Which keys a JSON file has at its top: one of those that are known, or that could be meant so; only
    others; or none. Unread where it is no JSON, cannot be read or is empty. One that has comments, as other
    tools read it, is looked at as a text."""
    if not file.endswith(_JSON):
        return "unread"
    from difflib import get_close_matches

    try:
        body = decode(read(root, file), file).body
    except BaselinekitError:  # which is told when it is read
        return "unread"
    try:
        document = decode_json(body)
    except NotJson:
        if not body.strip():
            return "unread"
        return "known" if re.search(rf'"(?:{"|".join(known)})"\s*:', body) else "others"
    rows = document if isinstance(document, list) else [document]
    keys = {key for row in rows if isinstance(row, dict) for key in row}
    if any(get_close_matches(key, known, 1, as_good_as) for key in keys):
        return "known"
    return "others" if keys else "none"


def passed_over_notes(files: Sequence[str]) -> tuple[str, ...]:
    """What there is to say of them: of many the first."""
    if not files:
        return ()
    *first, last = files if len(files) <= _MOST_TOLD else (*files[:2], f"{len(files) - 2:,} more")
    named = f"{', '.join(first)} and {last}" if first else last
    verb, them = ("was", "it") if len(files) == 1 else ("were", "them")
    return (f"{named} {verb} passed over: nothing in {them} belongs to a baseline",)


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    beside = os.listdir(folder) if os.path.isdir(folder) else []
    near = nearest(os.path.basename(full), beside)
    hint = near or "check the name"
    if not near and not os.path.splitext(path)[1] and "/" not in path:
        hint += f" (to select an id: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", hint)
