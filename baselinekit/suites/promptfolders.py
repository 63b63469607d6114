"""Prompt folders on disk: which folders are prompt folders, how one is found by path, id or alias, its
description, and the digest of all that affects the verdicts on its cases."""

import os
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import LINES, SUFFIXES, language
from baselinekit.files.text import decode, place
from baselinekit.graders.judging import nonce_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.values import Json
from baselinekit.secrets.variables import names_in
from baselinekit.store.discovery import discover_files
from baselinekit.store.project import (
    CONFIG_NAME,
    EVALS,
    INPUTS,
    METAS,
    TEMPLATE,
    is_prompt_folder,
    name_in_project,
    read,
)
from baselinekit.structs import Struct
from baselinekit.suites.dialects.dialect import BESIDE
from baselinekit.suites.promptmeta import DataFile, read_meta
from baselinekit.suites.settings import resolve_named
from baselinekit.values.equality import canonical

GUARD, VERIFY = "guard.sh", "verify.sh"

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


def script_files(root: str) -> Iterator[str]:
    """Return the scripts of all prompt folders of a project, relative to its root."""
    for folder in folders_below(root, [""]):
        files = (posixpath.join(folder, name) for name in (GUARD, VERIFY))
        yield from (file for file in files if os.path.lexists(os.path.join(root, file)))


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
    file, raw = _first_existing(root, folder, METAS), {}
    if file is not None:
        with suppress(BaselinekitError):
            documents = language(file).load(decode(read(root, file), file).body, file)
            raw = documents[0] if documents and isinstance(documents[0], dict) else {}
    id, aliases = raw.get("id"), raw.get("aliases")
    aliases = [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []
    return id if isinstance(id, str) and id else name_of(root, folder), aliases


def name_of(root: str, folder: str) -> str:
    return posixpath.basename(folder) or os.path.basename(os.path.realpath(root))


def _first_existing(root: str, folder: str, names: Sequence[str]) -> str | None:
    paths = (posixpath.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(os.path.join(root, path))), None)


# Its template, and the names in it.


class TemplateFile(Struct):
    """A template with its file."""

    file: str
    text: str

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(names_in(self.text)))

    def place_of(self, name: str) -> Place:
        """Return the place where it first uses a variable."""
        match = re.search(rf"(?<!\\)\{{\{{\s*{re.escape(name)}\s*\}}\}}", self.text)
        return place(self.file, self.text, match.start() if match else 0)


def read_template(root: str, folder: str) -> tuple[TemplateFile | None, list[Problem]]:
    file = posixpath.join(folder, TEMPLATE)
    if not os.path.lexists(os.path.join(root, file)):
        message = f"{folder or 'the folder'} has no {TEMPLATE}"
        return None, [
            Problem("BK755", message, "write the prompt into it, with {{name}} for an input", Place(file))
        ]
    try:
        text = decode(read(root, file), file).body
    except BaselinekitError as error:
        return None, [problem.placed(Place(file)) for problem in error.problems]
    if not text.strip():
        return None, [Problem("BK755", f"{TEMPLATE} is empty", "write the prompt into it", Place(file, 1, 1))]
    return TemplateFile(file, text), []


def undeclared(meta: PromptMeta, template: TemplateFile) -> list[Problem]:
    """Report variables that the template uses and the description does not declare. A description without
    `inputs:` declares all that the template uses."""
    if not meta.inputs:
        return []
    return [
        Problem(
            "BK753",
            f"the template uses {{{{{name}}}}}, which meta.inputs does not declare",
            suggest(name, meta.inputs) or f"add it to `inputs:` of meta.yml, or write \\{{{{{name}}}}}",
            template.place_of(name),
        )
        for name in template.names
        if name not in meta.inputs
    ]


# The inputs of a case: inputs.yml, searched from the root first, then from the prompt's folder.


def beside_or_below_root(root: str, folder: str, name: str) -> tuple[str | None, list[str]]:
    """Return the file with this name relative to the project's root, else to the prompt's folder, and both
    places that were searched. A name that leads out of the project is refused."""
    places = [resolve_named(root, CONFIG_NAME, name)]
    in_folder = resolve_named(root, posixpath.join(folder, TEMPLATE), name)
    places += [in_folder] if in_folder not in places else []
    return next((path for path in places if os.path.isfile(os.path.join(root, path))), None), places


def find_inputs(root: str, folder: str, inputs_from: str) -> str:
    """Return the inputs.yml that `inputs_from` names."""
    if posixpath.basename(inputs_from.rstrip("/")) == INPUTS:
        hint = f"name its folder: inputs_from: {posixpath.dirname(inputs_from.rstrip('/')) or '.'}"
        raise InvalidInput(Problem("BK752", f"{inputs_from!r} is a file, and a folder is meant", hint))
    file, places = beside_or_below_root(root, folder, posixpath.join(inputs_from, INPUTS))
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        raise InvalidInput(
            Problem("BK752", message, "write one: a mapping of names to values, or give `inputs:`")
        )
    return file


# The digest of what affects the verdicts on its cases.


def content_digest(root: str, folder: str, eval_file: str | None, meta: DataFile | None) -> str:
    """Return 16 hex digits over the template, the eval file, the inputs and schemas that it names, the
    scripts, and the description without its status and the date of its last change. All line ends count as
    equal."""
    files = [posixpath.join(folder, name) for name in (TEMPLATE, GUARD, VERIFY)]
    named_files: list[str] = []
    if eval_file is not None:
        files.append(eval_file)
        with suppress(BaselinekitError):
            documents = language(eval_file).load(decode(read(root, eval_file), eval_file).body, eval_file)
            named_files = sorted({*_files_named_by(root, folder, documents)})
    parts = []
    for file in (*files, *named_files):
        content = b""
        with suppress(BaselinekitError):
            content = read(root, file).replace(b"\r\n", b"\n")
        name = posixpath.relpath(file, folder or ".")
        parts.append(f"{name}\0{sha256(content).hexdigest()}")
    raw = meta.raw if meta is not None else {}
    compared = {key: value for key, value in raw.items() if key not in ("status", "updated")}
    return nonce_of(*parts, canonical(compared))


def _files_named_by(root: str, folder: str, documents: Sequence[Json]) -> Iterator[str]:
    """Return the files that cases name, if they exist. Mistakes in the form are reported when it is read."""
    for document in documents:
        cases = document.get("cases") if isinstance(document, dict) else None
        for case in cases if isinstance(cases, list) else ():
            stated = case if isinstance(case, dict) else {}
            assertions = stated.get("assert")
            entries = assertions if isinstance(assertions, list) else ()
            schemas = [entry.get("json_schema") for entry in entries if isinstance(entry, dict)]
            with suppress(BaselinekitError):
                if isinstance(stated.get("inputs_from"), str):
                    yield find_inputs(root, folder, stated["inputs_from"])
            for schema in schemas:
                with suppress(BaselinekitError):
                    file, _ = (
                        beside_or_below_root(root, folder, schema) if isinstance(schema, str) else (None, [])
                    )
                    yield from [file] if file else []


# The whole folder.


def read_folder(root: str, folder: str, eval_file: str | None = None) -> tuple[PromptFolder, list[Problem]]:
    """Return a folder, and the problems of its description and its template, each with its place.
    `eval_file`: the eval file to use, if it is known."""
    file, data, problems = _first_existing(root, folder, METAS), None, list[Problem]()
    meta = PromptMeta(name_of(root, folder))
    if file is not None:
        meta, data, problems = read_meta(root, file, meta.id)
    template, template_problems = read_template(root, folder)
    problems += template_problems
    if template is not None:
        problems += undeclared(meta, template)
    if eval_file is None:
        try:
            eval_file = eval_file_in(root, folder)
        except InvalidInput as error:
            problems += error.problems
    # a script that cannot be run, such as a broken link, is reported when it is run, not skipped
    guard, verify = (
        script if os.path.lexists(os.path.join(root, script)) else None
        for script in (posixpath.join(folder, name) for name in (GUARD, VERIFY))
    )
    prompt_folder = PromptFolder(
        folder,
        meta,
        file or posixpath.join(folder, METAS[0]),
        posixpath.join(folder, TEMPLATE),
        eval_file,
        guard,
        verify,
        content_digest(root, folder, eval_file, data),
    )
    return prompt_folder, problems


def load_valid_folder(root: str, folder: str) -> PromptFolder:
    """Return a folder without problems, or raise them: as Refused if all problems are files that lead out of
    the project."""
    prompt_folder, problems = read_folder(root, folder)
    if problems:
        is_refused = all(problem.code.startswith("BK4") for problem in problems)
        raise Refused(*problems) if is_refused else InvalidInput(*problems)
    return prompt_folder
