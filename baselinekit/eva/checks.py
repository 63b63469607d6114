"""The checks of `doctor` on prompt folders: whether a description is complete, whether its parts fit
together, and whether a skill is described so that it is chosen when it is needed."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from baselinekit.errors import InvalidInput, Place, Problem, suggest
from baselinekit.eva.folders import (
    STATED,
    STATUSES,
    DataFile,
    TemplateFile,
    read_folder,
    read_mapping,
    read_template,
    suggest_key,
)
from baselinekit.eva.form import LISTS
from baselinekit.files.text import place
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.values import Json, parse_time
from baselinekit.secrets.variables import NAME
from baselinekit.structs import Struct
from baselinekit.suites.promptfolders import name_of, names_of_all

REQUIRED = ("id", "title", "summary", "status", "version", "created", "updated")
_ALIAS = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED = ("claude", "anthropic")
_LONGEST_DESCRIPTION = 1024
_USE_WHEN = "use when"
_MANY_WORDS, _TOO_MANY_WORDS = 3_500, 5_000
_MANY_LINES = 200


class FolderShape(Struct):
    """The problems in the shape of folders, and the possible ones (warnings)."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def examine(root: str, folders: Sequence[str]) -> tuple[list[Problem], FolderShape]:
    """Return the problems that would stop any run of these folders, and the findings on their shape."""
    broken: list[Problem] = []
    problems: list[Problem] = []
    warnings: list[Problem] = []
    folders_by_name: Mapping[str, Sequence[str]] = {}
    with suppress(InvalidInput):  # there are too many folders to search
        folders_by_name = names_of_all(root) if folders else {}
    for path in folders:
        folder, folder_problems = read_folder(root, path)
        template, _ = read_template(root, path)
        broken += folder_problems
        if not os.path.isfile(os.path.join(root, folder.meta_file)):
            message = f"{path or 'the folder'} has no description"
            hint = f"write {', '.join(REQUIRED)} into it"
            problems.append(Problem("BK756", message, hint, Place(folder.meta_file)))
            continue
        data = read_mapping(root, folder.meta_file, "BK756", "")
        if data.broken and not data.raw:
            continue
        aliases = _check_aliases(folder, folders_by_name)
        problems += _placed(data, [*_check_meta(root, folder, data.raw), *aliases])
        problems += _placed(data, _check_inputs(folder, template, data.raw))
        warnings += _placed(
            data, [*_meta_warnings(folder, data.raw), *_unused_inputs(folder, template, data.raw)]
        )
        if template is not None:
            words = len(template.text.split())
            if words >= _TOO_MANY_WORDS:
                hint = f"fewer than {_TOO_MANY_WORDS:,}: move parts into files of their own"
                at = Place(template.file, 1, 1)
                problems.append(Problem("BK757", f"the prompt has {words:,} words", hint, at))
            warnings += _template_warnings(template, words)
        warnings += [*_file_warnings(root, folder), *_query_warnings(root, folder)]
    return broken, FolderShape(tuple(problems), tuple(warnings))


def _placed(data: DataFile, problems: Iterable[Problem]) -> list[Problem]:
    """Return problems of the description with their places; those of other files have theirs."""
    own: list[Problem] = []
    others: list[Problem] = []
    for problem in problems:
        (own if problem.place is None else others).append(problem)
    return [*data.placed(own), *others]


def _check_meta(root: str, folder: PromptFolder, raw: Mapping[str, Json]) -> Iterator[Problem]:
    """Check that a description is complete, and that of a skill."""
    meta = folder.meta
    for key in REQUIRED:
        value = raw.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield Problem("BK756", f"the key {key!r} is missing", "add it", at=(key,) if key in raw else ())
    name = name_of(root, folder.path)
    if isinstance(raw.get("id"), str) and raw["id"] != name:
        message = f"the id {raw['id']!r} is not the name of its folder"
        yield Problem("BK756", message, f"write {name!r}, or rename the folder", at=("id",))
    status = raw.get("status")
    if status is not None and status not in STATUSES:
        hint = suggest(str(status), STATUSES) or f"one of {', '.join(STATUSES)}"
        yield Problem("BK756", f"{status!r} is not a status", hint, at=("status",))
    word = next((word for word in _RESERVED if word in meta.id.lower()), None)
    if word is not None:
        message = f"the id {meta.id!r} contains {word!r}, which no skill may be called"
        yield Problem("BK757", message, "choose another id", at=("id",))
    description = meta.description or ""
    if len(description) > _LONGEST_DESCRIPTION:
        message = f"the description has {len(description):,} characters"
        yield Problem("BK757", message, f"at most {_LONGEST_DESCRIPTION:,}", at=("description",))
    if "<" in description or ">" in description:
        message = "the description contains < or >, which a skill's must not"
        yield Problem("BK757", message, "write it in words", at=("description",))
    for key in ("triggers", "not_for"):
        for number, text in enumerate(getattr(meta, key)):
            if not text.strip():
                yield Problem("BK757", f"an empty text in {key!r}", "remove it", at=(key, number))


def _check_aliases(folder: PromptFolder, folders_by_name: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    for number, alias in enumerate(folder.meta.aliases):
        at = ("aliases", number)
        if not _ALIAS.fullmatch(alias):
            hint = "letters, digits, `_` and `-`, the first a letter or `_`"
            yield Problem("BK756", f"{alias!r} is not an alias", hint, at=at)
        other_folders = [path for path in folders_by_name.get(alias, ()) if path != folder.path]
        if alias in (folder.id, *folder.meta.aliases[:number]):
            yield Problem("BK756", f"the alias {alias!r} is there already", "remove it", at=at)
        elif other_folders:
            message = f"{other_folders[0]} is called {alias!r} too"
            yield Problem("BK756", message, "choose another alias", at=at)


def _check_inputs(
    folder: PromptFolder, template: TemplateFile | None, raw: Mapping[str, Json]
) -> Iterator[Problem]:
    """Report required inputs that the template does not use, and used names if no inputs are declared."""
    if template is None:
        return
    for name, variable in folder.meta.inputs.items():
        if variable.required and name not in template.names:
            message = f"the prompt does not use {{{{{name}}}}}, which is required"
            hint = f"use it in {template.file}, or write `required: false`"
            yield Problem("BK756", message, hint, at=_declaration_path(raw["inputs"], name))
    for name in () if raw.get("inputs") else template.names:
        message = f"the prompt uses {{{{{name}}}}}, and its description declares no `inputs:`"
        hint = f"declare it in {folder.meta_file}: inputs: [{name}]"
        yield Problem("BK756", message, hint, template.place_of(name))


def _unused_inputs(
    folder: PromptFolder, template: TemplateFile | None, raw: Mapping[str, Json]
) -> Iterator[Problem]:
    """Report optional inputs that are never used; only a warning, as a script might use them."""
    for name, variable in folder.meta.inputs.items():
        if template is not None and not variable.required and name not in template.names:
            message = f"the prompt does not use {{{{{name}}}}}"
            yield Problem("BK758", message, at=_declaration_path(raw["inputs"], name))


def _declaration_path(inputs: Json, name: str) -> tuple[str | int, ...]:
    """Return the path at which a variable is declared."""
    if not isinstance(inputs, list):
        return "inputs", name
    declared = [item.get("name") if isinstance(item, dict) else item for item in inputs]
    return "inputs", declared.index(name)


def _meta_warnings(folder: PromptFolder, raw: Mapping[str, Json]) -> Iterator[Problem]:
    for key in raw:  # misspelt keys are reported when the folder is read
        if key not in STATED and not suggest_key(key, raw):
            yield Problem("BK103", f"unknown key {key!r}", "nothing reads it", at=(key,))
    for key in ("created", "updated"):
        value = raw.get(key)
        if isinstance(value, str) and value.strip() and parse_time(value) is None:
            yield Problem("BK758", f"{value!r} is not a date", "such as 2026-03-01", at=(key,))
    description = folder.meta.description
    if not description:
        message = "without a description, its summary says when the prompt is used"
        yield Problem("BK758", message, "add `description:`", at=())
    elif _USE_WHEN not in " ".join(description.casefold().split()):
        message = "the description does not say when the prompt is used"
        yield Problem("BK758", message, f"write a sentence with {_USE_WHEN!r}", at=("description",))


_BRACES = lazy_pattern(r"(?<!\\)(?<!\{)\{\{\s*([^{}\s][^{}\n]{0,60}?)\s*\}\}")


def _template_warnings(template: TemplateFile, words: int) -> Iterator[Problem]:
    at = Place(template.file, 1, 1)
    for match in _BRACES.finditer(template.text):
        if not NAME.fullmatch(match[1]):
            message = f"{{{{{match[1]}}}}} is sent as it is: it is not the name of a variable"
            hint = "letters from a to z, digits, `_`, `-` and `.`, the first a letter or `_`"
            yield Problem("BK758", message, hint, place(template.file, template.text, match.start()))
    if _MANY_WORDS <= words < _TOO_MANY_WORDS:
        message = f"the prompt has {words:,} words, and {_TOO_MANY_WORDS:,} are too many"
        yield Problem("BK758", message, "move parts into files of their own", at)
    lines = sum(bool(line.strip()) for line in template.text.splitlines())
    if lines >= _MANY_LINES:
        message = f"the prompt has {lines:,} lines that are not blank"
        yield Problem("BK758", message, f"fewer than {_MANY_LINES} are easier to follow", at)


def _file_warnings(root: str, folder: PromptFolder) -> Iterator[Problem]:
    if folder.eval_file is None:
        message = f"{folder.path or 'the folder'} has no eval file: nothing says what is a right answer"
        yield Problem("BK758", message, "write eval.yml with `cases:`", Place(folder.meta_file))
    for script in filter(None, (folder.guard, folder.verify)):
        if not os.access(os.path.join(root, script), os.X_OK):
            yield Problem("BK758", "it cannot be executed", f"chmod +x {script}", Place(script))


def _query_warnings(root: str, folder: PromptFolder) -> Sequence[Problem]:
    """Report empty lists of queries, and duplicate queries."""
    if folder.eval_file is None:
        return ()
    data = read_mapping(root, folder.eval_file, "BK750", "")
    triggering = data.raw.get("triggering")
    lists = {key: triggering.get(key) for key in LISTS} if isinstance(triggering, dict) else {}
    problems = []
    if lists and not any(lists.values()):
        message = "`triggering` has no query, so no judge is asked"
        problems.append(Problem("BK758", message, "add one, or remove it", at=("triggering",)))
    for key, queries in lists.items():
        query_list = queries if isinstance(queries, list) else []
        problems += [
            Problem("BK758", "this query is in the list twice", "remove one", at=("triggering", key, number))
            for number, query in enumerate(query_list)
            if query in query_list[:number]
        ]
    return data.placed(problems)
