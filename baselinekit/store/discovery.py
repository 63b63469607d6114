"""Which files hold baselines: the named files, and those below the named folders. Each folder is listed once,
and no file is opened; a project may have a million files."""

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, suggest
from baselinekit.files.jsontext import NotJson, decode as decode_json
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode
from baselinekit.lazy import lazy_pattern
from baselinekit.store import project, records
from baselinekit.store.project import name_in_project, read
from baselinekit.structs import MutableStruct, field
from baselinekit.values.texts import count_noun


class Discovery(MutableStruct):
    """The files that were found, each once, in the order in which they are read. `named`: those of them that
    were named; `configs`: the configuration files in the listed folders, of projects inside this one;
    `passed_over`: files that were found and plainly hold no baselines."""

    root: str
    files: dict[str, None] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    configs: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    def pass_over_foreign(self, strict: Sequence[str]) -> None:
        """Leave out files that plainly belong to other tools. Named files stay, and so do those below the
        `strict` folders: what is wrong with them is reported."""
        below = tuple(f"{os.path.normpath(folder)}/" for folder in strict)
        unnamed = [file for file in self.files if file not in self.named and not file.startswith(below)]
        self.passed_over = [file for file in unnamed if is_foreign_json(self.root, file)]
        for file in self.passed_over:
            del self.files[file]


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
    discovery, most = Discovery(root), project.limits_of(root).files
    problems, prompts = [], set[str]()
    for path in paths:
        full = os.path.join(root, path)
        if os.path.isdir(full):
            found: list[str] = []
            for folder, folders, names in os.walk(os.path.normpath(full)):
                folders[:] = [name for name in folders if not name.startswith(".") and name not in without]
                if os.path.dirname(folder) in prompts or project.is_prompt_folder(names):
                    prompts.add(folder)
                for name in names:
                    if name.startswith(".") or not name.endswith(endings) or records.MARK in name:
                        continue
                    file = os.path.normpath(os.path.join(name_in_project(root, folder), name))
                    if name == project.CONFIG_NAME:
                        discovery.configs.append(file)
                    elif with_prompts or folder not in prompts or holds_baselines(root, file):
                        found.append(file)
                if len(discovery.files) + len(found) > most:
                    message = f"more than {most:,} files, which is the most that are read at once"
                    hint = "name a folder with fewer, or state a higher number: limits: {files: …}"
                    raise InvalidInput(Problem("BK106", message, hint))
            discovery.files |= dict.fromkeys(sorted(found, key=lambda file: file.split("/")))
        elif not os.path.lexists(full):
            problems.append(_missing(path, full))
        elif not full.endswith((*SUFFIXES, LINES)):
            message = "it does not have the name of a baseline file"
            problems.append(Problem("BK110", message, f"they end in {', '.join(SUFFIXES)}", Place(path)))
        else:
            file = name_in_project(root, full)
            discovery.named.add(file)
            discovery.files[file] = None
    if problems:
        raise InvalidInput(*problems)
    return discovery


_BASELINE_KEY = lazy_pattern(rb"(?m)^(?:- )?[\"']?(?:current|baseline|comparison|test_case)[\"']?[ \t]*:")
"""Finds a key of a baseline in a file that cannot be parsed."""


def holds_baselines(root: str, file: str) -> bool:
    """Whether a file beside a prompt holds baselines. A file that is too large or gone does not."""
    with suppress(BaselinekitError):
        return looks_like_baselines(file, read(root, file))
    return False


def looks_like_baselines(file: str, data: bytes) -> bool:
    """Whether a file holds baselines, valid or not. Other files beside a prompt hold its metadata, its evals
    and their inputs."""
    if os.path.basename(file) in (*project.PROMPT_FILES, project.INPUTS):
        return False
    try:
        return records.has_records(language(file).load(decode(data, file).body, file))
    except BaselinekitError:
        return _BASELINE_KEY.search(data) is not None


_KEYS = {
    *("current", "baseline", "comparison", "test_case", "eval_type", records.WRAPPER),
    *(*records.OTHERS, *records.CASE),
}
_MAX_LISTED = 3


def is_foreign_json(root: str, file: str) -> bool:
    """Whether a file is JSON and has no key of a baseline or of an eval."""
    keys = keys_of_json(root, file)
    return keys is not None and not resemble(keys, _KEYS)


def resemble(keys: Collection[str], known: Collection[str]) -> bool:
    """Whether any of the keys is a known one, or a misspelling of one."""
    return any(get_close_matches(key, known, 1, 0.8) for key in keys)


def keys_of_json(root: str, file: str) -> set[str] | None:
    """Return the keys at the top of a JSON file, or of the rows in it; None if the file is no JSON, cannot be
    read or is empty, which is reported when it is loaded. JSON that does not parse, such as JSON with
    comments, is searched as text."""
    if not file.endswith(".json"):
        return None
    try:
        body = decode(read(root, file), file).body
        document = decode_json(body)
    except BaselinekitError:
        return None
    except NotJson:
        return {*re.findall(r'"(\w+)"\s*:', body)} if body.strip() else None
    rows = document if isinstance(document, list) else [document]
    return {key for row in rows if isinstance(row, dict) for key in row}


def passed_over_notes(files: Sequence[str]) -> tuple[str, ...]:
    """Return a note that names the files; of many, only the first."""
    if not files:
        return ()
    listed = ", ".join([*files[:_MAX_LISTED], *(["…"] if len(files) > _MAX_LISTED else [])])
    return (f"{count_noun(len(files), 'file')} passed over, as nothing there is a baseline: {listed}",)


def _missing(path: str, full: str) -> Problem:
    folder = os.path.dirname(full)
    siblings = os.listdir(folder) if os.path.isdir(folder) else []
    suggestion = suggest(os.path.basename(full), siblings)
    hint = suggestion or "check the name"
    if not suggestion and not os.path.splitext(path)[1] and "/" not in path:
        hint += f" (to select an id: --id {path})"
    return Problem("BK111", f"there is no file or folder {path}", hint)
