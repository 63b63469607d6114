"""Which files hold baselines: the named files, and those below the named folders. Each folder is listed once,
and no file is opened; a project may have a million files."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, suggest
from baselinekit.files.jsontext import NotJson, decode as decode_json
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode
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


class Discovery:
    """The files that were found, each once, in the order in which they are read."""

    def __init__(self, root: str, max_files: int | None = None):
        self.files: dict[str, None] = {}
        self.folders: set[str] = set()
        """The folders of the files that were named."""
        self.temporaries: list[str] = []
        """Paths in the listed folders that look like temporary files."""
        self.configs: list[str] = []
        """The configuration files in the listed folders: of projects inside this one."""
        self.passed_over: list[str] = []
        """Files that were found and plainly hold no baselines."""
        self._root = root
        self._max_files = limits_of(root).files if max_files is None else max_files
        self._named: set[str] = set()

    def add(self, file: str) -> None:
        """Add a file that was named."""
        self._named.add(file)
        self.folders.add(os.path.dirname(file))
        self.add_all([file])

    def add_all(self, files: Sequence[str]) -> None:
        """Add the files that were found in a folder."""
        self.files |= dict.fromkeys(files)
        if len(self.files) > self._max_files:
            message = f"more than {self._max_files:,} files, which is the most that are read at once"
            hint = "name a folder with fewer, or state a higher number: limits: {files: …}"
            raise InvalidInput(Problem("BK106", message, hint))

    def pass_over_foreign(self, strict: Sequence[str]) -> None:
        """Leave out files that plainly belong to other tools. Named files stay, and so do those below the
        `strict` folders: what is wrong with them is reported."""
        below = tuple(f"{os.path.normpath(folder)}/" for folder in strict)
        unnamed = [file for file in self.files if file not in self._named and not file.startswith(below)]
        self.passed_over = [file for file in unnamed if is_foreign_json(self._root, file)]
        for file in self.passed_over:
            del self.files[file]


def discover(
    paths: Sequence[str],
    root: str,
    without: Collection[str] = (),
    with_prompts: bool = False,
    endings: tuple[str, ...] = SUFFIXES,
) -> list[str]:
    """Return the names of the files."""
    return list(discover_files(paths, root, without, with_prompts, endings).files)


def discover_files(
    paths: Sequence[str],
    root: str,
    without: Collection[str] = (),
    with_prompts: bool = False,
    endings: tuple[str, ...] = SUFFIXES,
) -> Discovery:
    """Find the files, each once, sorted within each folder. Relative paths and the returned names start at
    the root. Hidden folders, output files, links to folders and folders with a name in `without` are skipped;
    whether a file can be read is not checked. Below a folder with a prompt, only files that look like
    baselines count, unless `with_prompts`. `endings` are those of the files in folders."""
    discovery = Discovery(root)
    problems = []
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            for files, of_prompt in _below(full, name_in_project(root, full), without, endings, discovery):
                if of_prompt and not with_prompts:
                    files = [file for file in files if holds_baselines(root, file)]
                discovery.add_all(files)
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith((*SUFFIXES, LINES)):
            message = "it does not have the name of a baseline file"
            problems.append(Problem("BK110", message, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            discovery.add(name_in_project(root, full))
    if problems:
        raise InvalidInput(*problems)
    return discovery


def _below(
    folder: str,
    name: str,
    without: Collection[str],
    endings: tuple[str, ...],
    discovery: Discovery,
    of_prompt: bool = False,
) -> Iterator[tuple[list[str], bool]]:
    """Yield lists of files, by their names in the project, and whether the folder is that of a prompt or
    below one. The files of a folder up to its next subfolder are one list. `name` is that of the folder.
    Temporary and configuration files are added to `discovery`."""
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=attrgetter("name"))
    of_prompt = of_prompt or is_prompt_folder([entry.name for entry in entries])
    prefix = "" if name == os.curdir else f"{name.rstrip('/')}/"
    files: list[str] = []
    for entry in entries:
        entry_name = entry.name
        if entry_name.startswith("."):
            if entry_name.endswith(".tmp"):
                discovery.temporaries.append(entry.path)
            continue
        if entry.is_file(follow_symlinks=False):  # nearly all are
            is_folder = False
        elif entry.is_dir(follow_symlinks=False):
            if entry_name not in without:
                yield files, of_prompt
                files = []
                yield from _below(entry.path, prefix + entry_name, without, endings, discovery, of_prompt)
            continue
        else:
            is_folder = os.path.isdir(entry.path)  # a link
        if not is_folder and entry_name.endswith(endings) and MARK not in entry_name:
            (discovery.configs if entry_name == CONFIG_NAME else files).append(prefix + entry_name)
    yield files, of_prompt


_BASELINE_KEY = lazy_pattern(
    rb"^(?:- )?[\"']?(?:current|baseline|comparison|test_case)[\"']?[ \t]*:", re.MULTILINE
)
"""Finds a key of a baseline in a file that cannot be parsed."""


def holds_baselines(root: str, file: str) -> bool:
    """Whether a file beside a prompt holds baselines. A file that is too large or gone does not."""
    with suppress(BaselinekitError):
        return looks_like_baselines(file, read(root, file))
    return False


def looks_like_baselines(file: str, data: bytes) -> bool:
    """Whether a file holds baselines, valid or not. Other files beside a prompt hold its metadata, its evals
    and their inputs."""
    if os.path.basename(file) in (*METAS, *EVALS, INPUTS):
        return False
    try:
        return records.has_records(language(file).load(decode(data, file).body, file))
    except BaselinekitError:
        return _BASELINE_KEY.search(data) is not None


_JSON = ".json"
_KEYS = (
    *("current", "baseline", "comparison", "test_case", "eval_type", records.WRAPPER),
    *(*records.OTHERS, *records.CASE),
)
_MIN_SIMILARITY = 0.85
"""How similar a key has to be to one of these to count as a misspelling."""
_MAX_LISTED = 3


def is_foreign_json(root: str, file: str) -> bool:
    """Whether a file is JSON and has no key of a baseline or of an eval."""
    return keys_of_json(root, file, _KEYS, _MIN_SIMILARITY) in ("others", "none")


def keys_of_json(
    root: str, file: str, known: Collection[str], as_good_as: float
) -> Literal["known", "others", "none", "unread"]:
    """Say which keys a JSON file has at its top: at least one of the known keys, or a misspelling of one;
    only others; or none. "unread" if the file is no JSON, cannot be read or is empty. JSON that does not
    parse, such as JSON with comments, is searched as text."""
    if not file.endswith(_JSON):
        return "unread"
    from difflib import get_close_matches

    try:
        body = decode(read(root, file), file).body
    except BaselinekitError:  # reported when the file is loaded
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
    """Return a note that names the files; of many, only the first."""
    if not files:
        return ()
    *first, last = files if len(files) <= _MAX_LISTED else (*files[:2], f"{len(files) - 2:,} more")
    listed = f"{', '.join(first)} and {last}" if first else last
    verb, them = ("was", "it") if len(files) == 1 else ("were", "them")
    return (f"{listed} {verb} passed over: nothing in {them} belongs to a baseline",)


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    siblings = os.listdir(folder) if os.path.isdir(folder) else []
    suggestion = suggest(os.path.basename(full), siblings)
    hint = suggestion or "check the name"
    if not suggestion and not os.path.splitext(path)[1] and "/" not in path:
        hint += f" (to select an id: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", hint)
