"""Prompt folders on the disk: which folder is one, where one is found by its path, its id or an alias, what
its description says, and what the verdicts on its cases hang on."""

import os
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from baselinekit.documents.languages import LINES, SUFFIXES, language
from baselinekit.documents.text import decode, place
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.judging import short_digest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.values import Json
from baselinekit.store.discovery import discover
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
from baselinekit.suites.dialects.dialect import BESIDE
from baselinekit.suites.promptmeta import DataFile, read_meta
from baselinekit.suites.settings import resolve_named
from baselinekit.tree.equality import canonical
from baselinekit.variables import names_in

GUARD, VERIFY = "guard.sh", "verify.sh"

_YAML = (".yml", ".yaml")
_HOLDS_CASES = lazy_pattern(rb"^(?:\xef\xbb\xbf)?(?:cases|triggering)[ \t]*:", re.MULTILINE)
_HOLDS_CASE_LINES = lazy_pattern(rb'"(?:expected_outcome|input_messages)"[ \t]*:')
_LOOKED_AT = 100_000
MOST_FOLDERS = 20_000
_DEEPEST = 12
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


# Which of its files holds cases. All the others are no eval files.


def eval_file_in(root: str, folder: str) -> str | None:
    """The file with the cases of a prompt folder: by its name, else the one that has `cases` or
    `triggering`."""
    names = _names(root, folder)
    found = [name for name in EVALS if name in names]
    if not found:
        others = [name for name in names if name.endswith(_YAML) and name not in (*METAS, CONFIG_NAME)]
        found = [name for name in others if holds_cases(root, posixpath.join(folder, name))]
    if len(found) > 1:
        what = f"{folder or 'the folder'} has {len(found)} eval files: {', '.join(found)}"
        at = Place(posixpath.join(folder, found[1]))
        raise InvalidInput(Problem("BK755", what, "keep one of them, or name the one to run", at))
    return posixpath.join(folder, found[0]) if found else None


def _names(root: str, folder: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return []


def holds_cases(root: str, file: str) -> bool:
    """Whether a file of a prompt folder is one with cases, by its name or a look at its bytes: what is wrong
    with it is found out when it is read."""
    if posixpath.basename(file) in EVALS:
        return True
    with suppress(BaselinekitError):
        return _HOLDS_CASES.search(read(root, file)) is not None
    return False


def eval_files(paths: Sequence[str], root: str) -> list[str]:
    """The files below these paths that may hold evals. Of a prompt folder only its eval file does, unless
    another one is named."""
    found: dict[str, None] = {}
    for path in paths:
        files = discover([path], root, BESIDE, with_prompts=True, endings=(*SUFFIXES, LINES))
        if os.path.isdir(os.path.join(root, path)):
            of = {folder: eval_file_in(root, folder) for folder in _holding(files, path, root)}
            files = [file for file in files if file in of.values() or not is_below(file, of)]
            files = [file for file in files if not file.endswith(LINES) or holds_case_lines(root, file)]
        found.update(dict.fromkeys(files))
    return list(found)


def holds_case_lines(root: str, file: str) -> bool:
    """Whether a file of JSON Lines in a folder is one with cases, by a look at its first lines: other rows
    have lines too."""
    with suppress(OSError), open(os.path.join(root, file), "rb") as opened:
        return _HOLDS_CASE_LINES.search(opened.read(_LOOKED_AT)) is not None
    return False


def _holding(files: Sequence[str], path: str, root: str) -> list[str]:
    """The prompt folders that these files lie in, from the named path on."""
    top = name_in_project(root, os.path.join(root, path))
    top = "" if top == "." else top
    found: dict[str, bool] = {}
    for file in files:
        folder = posixpath.dirname(file)
        while folder not in found:
            found[folder] = is_prompt_folder(_names(root, folder))
            if folder in (top, "", "/"):
                break
            folder = posixpath.dirname(folder)
    return [folder for folder, is_one in found.items() if is_one]


def is_below(file: str, folders: Collection[str]) -> bool:
    folder = posixpath.dirname(file)
    while True:
        if folder in folders:
            return True
        if folder in ("", "/"):
            return False
        folder = posixpath.dirname(folder)


# Where prompt folders are: a bounded walk that follows no link.


def folders_below(root: str, paths: Sequence[str], most: int = MOST_FOLDERS) -> list[str]:
    """The prompt folders at and below these paths, each once, named from the root. The folder of a file
    counts if it is one."""
    found: dict[str, None] = {}
    seen = 0
    for path in paths:
        full = os.path.join(root, path)
        if not os.path.isdir(full):
            parent = posixpath.dirname(name_in_project(root, full))
            if is_prompt_folder(_names(root, parent)):
                found[parent] = None
            continue
        for folder, below_it, names in os.walk(full):
            seen += 1
            if seen > most:
                what = f"more than {most:,} folders to look for prompts in"
                raise InvalidInput(Problem("BK755", what, "name the prompt's folder by its path"))
            name = name_in_project(root, folder)
            depth = os.path.relpath(folder, full).count(os.sep)
            below_it[:] = sorted(one for one in below_it if one[0] != "." and one not in _PASSED_OVER)
            below_it[:] = below_it if depth < _DEEPEST else []
            if is_prompt_folder(names):
                found["" if name == "." else name] = None
    return list(found)


def script_files(root: str) -> Iterator[str]:
    """The scripts of all prompt folders of a project, from its root."""
    for folder in folders_below(root, [""]):
        files = (posixpath.join(folder, name) for name in (GUARD, VERIFY))
        yield from (file for file in files if os.path.lexists(os.path.join(root, file)))


def find_folder(root: str, name: str) -> str | None:
    """The prompt folder of the project with this id, or this alias; None where there is none. Where a folder
    says no id, its name is one."""
    by_id, by_alias = [], []
    for folder in folders_below(root, [""]):
        raw = _raw_meta(root, folder)
        id = raw.get("id")
        aliases = raw.get("aliases")
        if name == (id if isinstance(id, str) else name_of(root, folder)):
            by_id.append(folder)
        elif isinstance(aliases, list) and name in aliases:
            by_alias.append(folder)
    found = by_id or by_alias
    if len(found) > 1:
        what = f"{len(found)} prompts are called {name!r}: {', '.join(found)}"
        raise InvalidInput(Problem("BK755", what, "name the folder by its path, and rename one of them"))
    return found[0] if found else None


def names_of_all(root: str) -> dict[str, list[str]]:
    """All ids and aliases of the project, each with the folders that are called so."""
    names: dict[str, list[str]] = {}
    for folder in folders_below(root, [""]):
        raw = _raw_meta(root, folder)
        aliases = raw.get("aliases")
        stated = [raw.get("id") or name_of(root, folder), *(aliases if isinstance(aliases, list) else [])]
        for name in dict.fromkeys(name for name in stated if isinstance(name, str)):
            names.setdefault(name, []).append(folder)
    return names


def name_of(root: str, folder: str) -> str:
    return posixpath.basename(folder) or os.path.basename(os.path.realpath(root))


def _raw_meta(root: str, folder: str) -> dict[str, Json]:
    """What a description says, as far as it can be read."""
    file = _one_of(root, folder, METAS)
    if file is not None:
        with suppress(BaselinekitError):
            documents = language(file).load(decode(read(root, file), file).body, file)
            if documents and isinstance(documents[0], dict):
                return documents[0]
    return {}


def _one_of(root: str, folder: str, names: Sequence[str]) -> str | None:
    paths = (posixpath.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(os.path.join(root, path))), None)


def _script(root: str, folder: str, name: str) -> str | None:
    """A script, whatever it is: one that cannot be run, such as a link to nowhere, is told by who runs it,
    and not passed over as if there were none."""
    file = posixpath.join(folder, name)
    return file if os.path.lexists(os.path.join(root, file)) else None


# Its template, and the names in it.


@frozen
class TemplateFile:
    """A template as it stands in its file."""

    file: str
    text: str

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(names_in(self.text)))

    def place_of(self, name: str) -> Place:
        """Where it asks for a variable first."""
        found = re.search(rf"(?<!\\)\{{\{{\s*{re.escape(name)}\s*\}}\}}", self.text)
        return place(self.file, self.text, found.start() if found else 0)


def read_template(root: str, folder: str) -> tuple[TemplateFile | None, list[Problem]]:
    file = posixpath.join(folder, TEMPLATE)
    if not os.path.lexists(os.path.join(root, file)):
        what = f"{folder or 'the folder'} has no {TEMPLATE}"
        return None, [
            Problem("BK755", what, "write the prompt into it, with {{name}} for an input", Place(file))
        ]
    try:
        text = decode(read(root, file), file).body
    except BaselinekitError as error:
        return None, [one.placed(Place(file)) for one in error.problems]
    if not text.strip():
        return None, [Problem("BK755", f"{TEMPLATE} is empty", "write the prompt into it", Place(file, 1, 1))]
    return TemplateFile(file, text), []


def undeclared(meta: PromptMeta, template: TemplateFile) -> list[Problem]:
    """Variables that the template uses and a description does not declare. One without `inputs:` declares
    what the template uses."""
    if not meta.inputs:
        return []
    return [
        Problem(
            "BK753",
            f"the template uses {{{{{name}}}}}, which meta.inputs does not declare",
            nearest(name, meta.inputs) or f"add it to `inputs:` of meta.yml, or write \\{{{{{name}}}}}",
            template.place_of(name),
        )
        for name in template.names
        if name not in meta.inputs
    ]


# What a case is given: inputs.yml, looked for from the root first, then from the prompt's folder.


def beside_or_below_root(root: str, folder: str, name: str) -> tuple[str | None, list[str]]:
    """The file of this name from the project's root, else from the prompt's folder; and both places where it
    was looked for. Refused where it would lead out of the project."""
    places = [resolve_named(root, CONFIG_NAME, name)]
    own = resolve_named(root, posixpath.join(folder, TEMPLATE), name)
    places += [own] if own not in places else []
    return next((one for one in places if os.path.isfile(os.path.join(root, one))), None), places


def find_inputs(root: str, folder: str, stated: str) -> str:
    """The inputs.yml that `inputs_from` leads to."""
    if posixpath.basename(stated.rstrip("/")) == INPUTS:
        hint = f"name its folder: inputs_from: {posixpath.dirname(stated.rstrip('/')) or '.'}"
        raise InvalidInput(Problem("BK752", f"{stated!r} is a file, and a folder is meant", hint))
    found, places = beside_or_below_root(root, folder, posixpath.join(stated, INPUTS))
    if found is None:
        what = f"there is no {' and no '.join(places)}"
        raise InvalidInput(
            Problem("BK752", what, "write one: a mapping of names to values, or give `inputs:`")
        )
    return found


# What the verdicts on its cases hang on.


def content_of(root: str, folder: str, eval_file: str | None, meta: DataFile | None) -> str:
    """16 hex digits over the template, the eval file, the inputs and schemas that it names, the scripts, and
    the description without its status and the day of its last change. Line ends are one."""
    files = [posixpath.join(folder, name) for name in (TEMPLATE, GUARD, VERIFY)]
    named: list[str] = []
    if eval_file is not None:
        files.append(eval_file)
        with suppress(BaselinekitError):
            documents = language(eval_file).load(decode(read(root, eval_file), eval_file).body, eval_file)
            named = sorted({*_named_by(root, folder, documents)})
    parts = []
    for file in (*files, *named):
        content = b""
        with suppress(BaselinekitError):
            content = read(root, file).replace(b"\r\n", b"\n")
        name = posixpath.relpath(file, folder or ".")
        parts.append(f"{name}\0{sha256(content).hexdigest()}")
    said = meta.raw if meta is not None else {}
    about = {key: value for key, value in said.items() if key not in ("status", "updated")}
    return short_digest(*parts, canonical(about))


def _named_by(root: str, folder: str, documents: Sequence[Json]) -> Iterator[str]:
    """The files that cases name, as far as they are there."""
    for document in documents:
        cases = document.get("cases") if isinstance(document, dict) else None
        for case in cases if isinstance(cases, list) else ():
            if not isinstance(case, dict):
                continue
            if isinstance(case.get("inputs_from"), str):
                with suppress(BaselinekitError):
                    yield find_inputs(root, folder, case["inputs_from"])
            asserted = case.get("assert")
            for entry in asserted if isinstance(asserted, list) else ():
                schema = entry.get("json_schema") if isinstance(entry, dict) else None
                if isinstance(schema, str):
                    with suppress(BaselinekitError):
                        found, _ = beside_or_below_root(root, folder, schema)
                        yield from [found] if found else []


# All of it.


def read_folder(root: str, folder: str, eval_file: str | None = None) -> tuple[PromptFolder, list[Problem]]:
    """A folder as it stands, and what is wrong with its description and its template, each with its place.
    `eval_file`: the one that is meant, where that is known."""
    file, data, problems = _one_of(root, folder, METAS), None, list[Problem]()
    meta = PromptMeta(name_of(root, folder))
    if file is not None:
        meta, data, problems = read_meta(root, file, meta.id)
    template, wrong = read_template(root, folder)
    problems += wrong
    if template is not None:
        problems += undeclared(meta, template)
    if eval_file is None:
        try:
            eval_file = eval_file_in(root, folder)
        except InvalidInput as error:
            problems += error.problems
    made = PromptFolder(
        folder,
        meta,
        file or posixpath.join(folder, METAS[0]),
        posixpath.join(folder, TEMPLATE),
        eval_file,
        _script(root, folder, GUARD),
        _script(root, folder, VERIFY),
        content_of(root, folder, eval_file, data),
    )
    return made, problems


def sound_folder(root: str, folder: str) -> PromptFolder:
    """The same for who can do nothing with one that is wrong. It is refused where that is all: where one of
    its files leads out of the project."""
    found, problems = read_folder(root, folder)
    if problems:
        is_refused = all(problem.code.startswith("BK4") for problem in problems)
        raise Refused(*problems) if is_refused else InvalidInput(*problems)
    return found
