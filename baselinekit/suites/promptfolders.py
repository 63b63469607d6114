"""Files of evals on disk: which files may hold cases, which folders are prompt folders, and how one is found
by path, id or alias. What is in a prompt folder is read by eva/."""

import os
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.lazy import lazy_pattern
from baselinekit.store.project import (
    CONFIG_NAME,
    EVALS,
    METAS,
    is_prompt_folder,
    name_in_project,
    read,
)
from baselinekit.store.reading import discover_files
from baselinekit.suites.dialects.dialect import BESIDE

_YAML = (".yml", ".yaml")
_HOLDS_CASES = lazy_pattern(rb"^(?:\xef\xbb\xbf)?(?:cases|triggering)[ \t]*:", re.MULTILINE)
_HOLDS_CASE_LINES = lazy_pattern(rb'"(?:expected_outcome|input_messages)"[ \t]*:')
_MAX_BYTES_SCANNED = 100_000
MOST_FOLDERS = 20_000
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


# Which of its files holds the cases. No other file is an eval file.


def eval_file_in(root: str, folder: str) -> str | None:
    """Return the file with the cases of a prompt folder: by its name, else the one with `cases` or
    `triggering`."""
    names = _names_in_folder(root, folder)
    eval_names = [name for name in EVALS if name in names]
    if not eval_names:
        candidates = [name for name in names if name.endswith(_YAML) and name not in (*METAS, CONFIG_NAME)]
        eval_names = [name for name in candidates if holds_cases(root, posixpath.join(folder, name))]
    if len(eval_names) > 1:
        message = f"{folder or 'the folder'} has {len(eval_names)} eval files: {', '.join(eval_names)}"
        at = Place(posixpath.join(folder, eval_names[1]))
        raise InvalidInput(Problem("BK755", message, "keep one of them, or name the one to run", at))
    return posixpath.join(folder, eval_names[0]) if eval_names else None


def _names_in_folder(root: str, folder: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return []


def holds_cases(root: str, file: str) -> bool:
    """Whether a file of a prompt folder has cases, by its name or a search in its bytes; its problems are
    found when it is read."""
    if posixpath.basename(file) in EVALS:
        return True
    with suppress(BaselinekitError):
        return _HOLDS_CASES.search(read(root, file)) is not None
    return False


def eval_files(paths: Sequence[str], root: str) -> list[str]:
    """Return the files below these paths that may hold evals. In a prompt folder only its eval file does,
    unless another file is named."""
    eval_paths: dict[str, None] = {}
    for path in paths:
        files = list(discover_files([path], root, BESIDE, True, (*SUFFIXES, LINES)).files)
        if os.path.isdir(os.path.join(root, path)):
            top = name_in_project(root, os.path.join(root, path))
            folders = {folder: None for file in files for folder in _parents(file, top)}
            eval_file_of = {
                folder: eval_file_in(root, folder)
                for folder in folders
                if is_prompt_folder(_names_in_folder(root, folder))
            }
            files = [
                file
                for file in files
                if file in eval_file_of.values()
                or (
                    not is_below(file, eval_file_of)
                    and (not file.endswith(LINES) or holds_case_lines(root, file))
                )
            ]
        eval_paths.update(dict.fromkeys(files))
    return list(eval_paths)


def holds_case_lines(root: str, file: str) -> bool:
    """Whether a JSON Lines file in a folder has cases, by a search in its first bytes: such files often hold
    other data."""
    with suppress(OSError), open(os.path.join(root, file), "rb") as opened:
        return _HOLDS_CASE_LINES.search(opened.read(_MAX_BYTES_SCANNED)) is not None
    return False


def _parents(file: str, top: str = "") -> Iterator[str]:
    """Yield the folders of a file, from its own to the top."""
    folder = posixpath.dirname(file)
    yield folder
    while folder not in (top, "", "/"):
        folder = posixpath.dirname(folder)
        yield folder


def is_below(file: str, folders: Collection[str]) -> bool:
    return any(folder in folders for folder in _parents(file))


# Where prompt folders are: a bounded walk that follows no links.


def folders_below(root: str, paths: Sequence[str], most: int = MOST_FOLDERS) -> list[str]:
    """Return the prompt folders at and below these paths, each once, relative to the root. For a file, its
    folder counts if it is a prompt folder."""
    folders: dict[str, None] = {}
    visited = 0
    for path in paths:
        full = os.path.join(root, path)
        if not os.path.isdir(full):
            parent = posixpath.dirname(name_in_project(root, full))
            if is_prompt_folder(_names_in_folder(root, parent)):
                folders[parent] = None
        for folder, subfolders, names in os.walk(full):
            visited += 1
            if visited > most:
                message = f"more than {most:,} folders to look for prompts in"
                raise InvalidInput(Problem("BK755", message, "name the prompt's folder by its path"))
            subfolders[:] = sorted(
                name for name in subfolders if name[0] != "." and name not in _SKIPPED_FOLDERS
            )
            if is_prompt_folder(names):
                name = name_in_project(root, folder)
                folders["" if name == "." else name] = None
    return list(folders)


def find_folder(root: str, name: str) -> str | None:
    """Return the prompt folder of the project with this id or, if there is none, this alias."""
    names = [(folder, *_names_of(root, folder)) for folder in folders_below(root, [""])]
    matches = [folder for folder, id, _ in names if name == id]
    matches = matches or [folder for folder, _, aliases in names if name in aliases]
    if len(matches) > 1:
        message = f"{len(matches)} prompts are called {name!r}: {', '.join(matches)}"
        raise InvalidInput(Problem("BK755", message, "name the folder by its path, and rename one of them"))
    return matches[0] if matches else None


def names_of_all(root: str) -> dict[str, list[str]]:
    """Return all ids and aliases of the project, each with its folders."""
    names: dict[str, list[str]] = {}
    for folder in folders_below(root, [""]):
        id, aliases = _names_of(root, folder)
        for name in dict.fromkeys((id, *aliases)):
            names.setdefault(name, []).append(folder)
    return names


def _names_of(root: str, folder: str) -> tuple[str, list[str]]:
    """Return the id of a folder, which is its name if it states none, and its aliases."""
    file, raw = first_existing(root, folder, METAS), {}
    if file is not None:
        with suppress(BaselinekitError):
            documents = language(file).load(decode(read(root, file), file).body, file)
            raw = documents[0] if documents and isinstance(documents[0], dict) else {}
    id, aliases = raw.get("id"), raw.get("aliases")
    aliases = [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []
    return id if isinstance(id, str) and id else name_of(root, folder), aliases


def name_of(root: str, folder: str) -> str:
    return posixpath.basename(folder) or os.path.basename(os.path.realpath(root))


def first_existing(root: str, folder: str, names: Sequence[str]) -> str | None:
    paths = (posixpath.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(os.path.join(root, path))), None)
