"""Files of evals on disk: which files may hold cases, which folders are prompt folders, and how one is found
by path, id or alias; and a prompt folder as a skill. What is in a prompt folder is read by eva/."""

import os
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import LINES, SUFFIXES, dump_yaml
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder, PromptVariable
from baselinekit.secrets.variables import as_text, names_in
from baselinekit.store import project
from baselinekit.store.reading import discover_files
from baselinekit.suites.dialect import BESIDE
from baselinekit.suites.settings import load_documents

_YAML = (".yml", ".yaml")
_HOLDS_CASES = lazy_pattern(rb"^(?:\xef\xbb\xbf)?(?:cases|triggering)[ \t]*:", re.MULTILINE)
_HOLDS_CASE_LINES = lazy_pattern(rb'"(?:expected_outcome|input_messages)"[ \t]*:')
_MAX_BYTES_SCANNED = 100_000
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


# Which of its files holds the cases. No other file is an eval file.


def eval_file_in(root: str, folder: str) -> str | None:
    """Return the file with the cases of a prompt folder: by its name, else the one with `cases` or
    `triggering`."""
    names = _names_in_folder(root, folder)
    eval_names = [name for name in project.EVALS if name in names]
    if not eval_names:
        others = (*project.METAS, project.CONFIG_NAME)
        candidates = [name for name in names if name.endswith(_YAML) and name not in others]
        eval_names = [name for name in candidates if holds_cases(root, posixpath.join(folder, name))]
    if len(eval_names) > 1:
        message = f"{folder or 'the folder'} has {len(eval_names)} eval files: {', '.join(eval_names)}"
        at = Place(posixpath.join(folder, eval_names[1]))
        raise InvalidInput(Problem("BK750", message, "keep one of them, or name the one to run", at))
    return posixpath.join(folder, eval_names[0]) if eval_names else None


def _names_in_folder(root: str, folder: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(root, folder)))
    except OSError:
        return []


def holds_cases(root: str, file: str) -> bool:
    """Whether a file of a prompt folder has cases, by its name or a search in its bytes; its problems are
    found when it is read."""
    if posixpath.basename(file) in project.EVALS:
        return True
    with suppress(BaselinekitError):
        return _HOLDS_CASES.search(project.read(root, file)) is not None
    return False


def eval_files(paths: Sequence[str], root: str) -> list[str]:
    """Return the files below these paths that may hold evals. In a prompt folder only its eval file does,
    unless another file is named."""
    eval_paths: dict[str, None] = {}
    for path in paths:
        files = list(discover_files([path], root, BESIDE, True, (*SUFFIXES, LINES)).files)
        if os.path.isdir(os.path.join(root, path)):
            top = project.name_in_project(root, os.path.join(root, path))
            folders = {folder: None for file in files for folder in _parents(file, top)}
            prompts = [one for one in folders if project.is_prompt_folder(_names_in_folder(root, one))]
            eval_file_of = {folder: eval_file_in(root, folder) for folder in prompts}
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


def folders_below(root: str, paths: Sequence[str]) -> list[str]:
    """Return the prompt folders at and below these paths, each once, relative to the root. For a file, its
    folder counts if it is a prompt folder."""
    folders: dict[str, None] = {}
    for path in paths:
        full = os.path.join(root, path)
        if not os.path.isdir(full):
            parent = posixpath.dirname(project.name_in_project(root, full))
            if project.is_prompt_folder(_names_in_folder(root, parent)):
                folders[parent] = None
        for folder, subfolders, names in os.walk(full):
            subfolders[:] = sorted(one for one in subfolders if one[0] != "." and one not in _SKIPPED_FOLDERS)
            if project.is_prompt_folder(names):
                name = project.name_in_project(root, folder)
                folders["" if name == "." else name] = None
    return list(folders)


def find_folder(root: str, name: str) -> str | None:
    """Return the prompt folder of the project with this id or alias, if there is one."""
    matches = names_of_all(root).get(name, [])
    if len(matches) > 1:
        message = f"{len(matches)} prompts are called {name!r}: {', '.join(matches)}"
        raise InvalidInput(Problem("BK750", message, "name the folder by its path, and rename one of them"))
    return matches[0] if matches else None


def names_of_all(root: str) -> dict[str, list[str]]:
    """Return all ids and aliases of the project, each with its folders. A folder without an id has its own
    name as its id."""
    names: dict[str, list[str]] = {}
    for folder in folders_below(root, [""]):
        file, raw = first_existing(root, folder, project.METAS), {}
        if file is not None:
            with suppress(BaselinekitError):
                _, documents = load_documents(root, file)
                raw = documents[0] if documents and isinstance(documents[0], dict) else {}
        id, aliases = raw.get("id") or name_of(root, folder), raw.get("aliases")
        stated = [id, *(aliases if isinstance(aliases, list) else ())]
        for name in dict.fromkeys(name for name in stated if isinstance(name, str)):
            names.setdefault(name, []).append(folder)
    return names


def name_of(root: str, folder: str) -> str:
    return posixpath.basename(folder) or os.path.basename(os.path.realpath(root))


def first_existing(root: str, folder: str, names: Sequence[str]) -> str | None:
    paths = (posixpath.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(os.path.join(root, path))), None)


# A prompt folder as a skill: the SKILL.md and the examples that an agent loads.

_NAME = lazy_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
RESERVED = ("claude", "anthropic")
_LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1_024


def as_skill(folder: PromptFolder, template: str, examples: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files of a prompt folder as a skill, by their paths in its folder. `template`: the text of
    the prompt; `examples`: the texts of the examples' inputs, by name. InvalidInput, with paths below the
    description, if no agent could load it."""
    description = described(folder)
    if problems := [*_flaws(folder.id, description)]:
        raise InvalidInput(*problems)
    files = {
        f"examples/{name}.md": f"# Example: {name}\n\n```yaml\n{text.strip()}\n```\n"
        for name, text in sorted(examples.items())
    }
    links = [f"- [{name}](examples/{name}.md)" for name in sorted(examples)]
    return {"SKILL.md": _format_skill_file(folder, template, description, links), **files}


def described(folder: PromptFolder) -> str:
    """Describe in one line what the skill is for, when to use it and when not."""
    meta = folder.meta
    parts = [meta.description or meta.summary]
    parts += [f"Use when: {'; '.join(meta.triggers)}"] if meta.triggers else []
    parts += [f"Do not use for: {'; '.join(meta.not_for)}"] if meta.not_for else []
    return " ".join(_as_sentence(part) for part in parts if part.strip())


def _as_sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _flaws(name: str, description: str) -> Iterator[Problem]:
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        hint = f"lower-case letters, digits and single hyphens, {_LONGEST_NAME} at most: rename the folder"
        yield Problem("BK772", f"the id {name!r} cannot name a skill", hint, at=("id",))
    for word in (word for word in RESERVED if word in name.lower()):
        message = f"the id {name!r} cannot name a skill"
        yield Problem("BK772", message, f"a skill's name may not contain {word!r}", at=("id",))
    at, size = ("description",), len(description)
    if not description:
        hint = "write a `description`: by it an agent decides whether to load the skill"
        yield Problem("BK772", "it is not stated what the prompt is for", hint, at=at)
    if size > LONGEST_DESCRIPTION:
        message = f"the description, the triggers and `not_for` are {size:,} characters together"
        yield Problem("BK772", message, f"a skill has at most {LONGEST_DESCRIPTION:,}: shorten them", at=at)
    if {"<", ">"} & {*description}:
        message = "the description, a trigger or `not_for` contains < or >"
        yield Problem("BK772", message, "a skill's description may not: say it in words", at=at)


def _format_skill_file(folder: PromptFolder, template: str, description: str, links: list[str]) -> str:
    meta = folder.meta
    front_matter = dump_yaml({"name": meta.id, "description": description})
    parts = [f"---\n{front_matter}---", f"# {' '.join(meta.title.split()) or meta.id}"]
    if meta.summary:
        parts.append(meta.summary.strip())
    if variables := list(_describe_variables(folder, template)):
        parts.append("\n".join(["## Variables", "", _VARIABLES_NOTE, "", *variables]))
    parts.append(f"## Instructions\n\n{template.strip()}")
    if links:
        parts.append("\n".join(["## Examples of inputs", "", *links]))
    return "\n\n".join(parts) + "\n"


_VARIABLES_NOTE = (
    "The instructions contain names in double braces. Read each as the value that the request gives for it; "
    "where the request gives none for a required one, ask for it."
)


def _describe_variables(folder: PromptFolder, template: str) -> Iterator[str]:
    """Describe each variable of the template in a line."""
    for name in dict.fromkeys(names_in(template)):
        variable = folder.meta.inputs.get(name, PromptVariable())
        kind = "required" if variable.required and variable.default is None else "optional"
        if variable.default is not None:
            kind = f"optional; {' '.join(as_text(variable.default).split())} if not given"
        description = f": {' '.join(variable.description.split())}" if variable.description else ""
        yield f"- `{{{{{name}}}}}` ({kind}){description}"
