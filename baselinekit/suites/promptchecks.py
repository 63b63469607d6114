"""What `doctor` says of the shape of prompt folders: what a description has to say, what fits what, and what
makes a prompt a skill that is found when it is needed."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from baselinekit.documents.text import place
from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.values import Json, parse_time
from baselinekit.suites.dialects.triggering import LISTS
from baselinekit.suites.promptfolders import (
    TemplateFile,
    name_of,
    names_of_all,
    read_folder,
    read_template,
)
from baselinekit.suites.promptmeta import STATED, STATUSES, DataFile, misspelt, read_mapping
from baselinekit.variables import NAME

REQUIRED = ("id", "title", "summary", "status", "version", "created", "updated")
_ALIAS = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED = ("claude", "anthropic")
_LONGEST_DESCRIPTION = 1024
_USE_WHEN = "use when"
_MANY_WORDS, _TOO_MANY_WORDS = 3_500, 5_000
_MANY_LINES = 200


@frozen
class FolderShape:
    """What keeps folders from being as they should, and what might."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def examine(root: str, folders: Sequence[str]) -> tuple[list[Problem], FolderShape]:
    """What would stop a run of these folders, whoever is asked, and what there is to say of their shape."""
    broken: list[Problem] = []
    problems: list[Problem] = []
    warnings: list[Problem] = []
    called: Mapping[str, Sequence[str]] = {}
    with suppress(InvalidInput):  # more folders than anybody looks through
        called = names_of_all(root) if folders else {}
    for path in folders:
        folder, wrong = read_folder(root, path)
        template, _ = read_template(root, path)
        broken += wrong
        if not os.path.isfile(os.path.join(root, folder.meta_file)):
            what = f"{path or 'the folder'} has no description"
            hint = f"write {', '.join(REQUIRED)} into it"
            problems.append(Problem("BK756", what, hint, Place(folder.meta_file)))
            continue
        data = read_mapping(root, folder.meta_file, "BK756", "")
        if data.broken and not data.raw:
            continue
        problems += data.placed([*_description(root, folder, data.raw), *_aliases(folder, called)])
        problems += data.placed(list(_skill(folder)))
        problems += [*_variables(folder, template, data), *_too_long(template)]
        warnings += data.placed([*_unknown(data.raw), *_dates(data.raw), *_when(folder, data.raw)])
        warnings += [*_unused(folder, template, data), *_literal(template), *_long(template)]
        warnings += _files(root, folder)
        warnings += _queries(root, folder)
    return broken, FolderShape(tuple(problems), tuple(warnings))


# The description.


def _description(root: str, folder: PromptFolder, raw: Mapping[str, Json]) -> Iterator[Problem]:
    for key in REQUIRED:
        value = raw.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield Problem("BK756", f"the key {key!r} is missing", "add it", at=(key,) if key in raw else ())
    name = name_of(root, folder.path)
    if isinstance(raw.get("id"), str) and raw["id"] != name:
        what = f"the id {raw['id']!r} is not the name of its folder"
        yield Problem("BK756", what, f"write {name!r}, or rename the folder", at=("id",))
    status = raw.get("status")
    if status is not None and status not in STATUSES:
        hint = nearest(str(status), STATUSES) or f"one of {', '.join(STATUSES)}"
        yield Problem("BK756", f"{status!r} is not a status", hint, at=("status",))


def _aliases(folder: PromptFolder, called: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, alias in enumerate(folder.meta.aliases):
        at = ("aliases", number)
        if not _ALIAS.fullmatch(alias):
            hint = "letters, digits, `_` and `-`, the first a letter or `_`"
            yield Problem("BK756", f"{alias!r} is not an alias", hint, at=at)
        others = [other for other in called.get(alias, ()) if other != folder.path]
        if alias in seen or alias == folder.id:
            yield Problem("BK756", f"the alias {alias!r} is there already", "remove it", at=at)
        elif others:
            yield Problem("BK756", f"{others[0]} is called {alias!r} too", "choose another alias", at=at)
        seen.add(alias)


def _unknown(raw: Mapping[str, Json]) -> Iterator[Problem]:
    """Keys that nothing reads. One that is nearly known is told when the folder is read."""
    for key in raw:
        if key not in STATED and not misspelt(key, raw):
            yield Problem("BK103", f"unknown key {key!r}", "nothing reads it", at=(key,))


def _dates(raw: Mapping[str, Json]) -> Iterator[Problem]:
    for key in ("created", "updated"):
        value = raw.get(key)
        if isinstance(value, str) and value.strip() and parse_time(value) is None:
            yield Problem("BK758", f"{value!r} is not a date", "such as 2026-03-01", at=(key,))


# A skill: what loads it, and how long it is.


def _skill(folder: PromptFolder) -> Iterator[Problem]:
    meta = folder.meta
    word = next((word for word in _RESERVED if word in meta.id.lower()), None)
    if word is not None:
        what = f"the id {meta.id!r} contains {word!r}, which no skill may be called"
        yield Problem("BK757", what, "choose another id", at=("id",))
    said = meta.description or ""
    if len(said) > _LONGEST_DESCRIPTION:
        what = f"the description has {len(said):,} characters"
        yield Problem("BK757", what, f"at most {_LONGEST_DESCRIPTION:,}", at=("description",))
    if "<" in said or ">" in said:
        what = "the description contains < or >, which a skill's must not"
        yield Problem("BK757", what, "say it in words", at=("description",))
    for key in ("triggers", "not_for"):
        for number, text in enumerate(getattr(meta, key)):
            if not text.strip():
                yield Problem("BK757", f"an empty text in {key!r}", "remove it", at=(key, number))


def _when(folder: PromptFolder, raw: Mapping[str, Json]) -> Iterator[Problem]:
    said = folder.meta.description
    if not said:
        what = "without a description, its summary says when the prompt is used"
        yield Problem("BK758", what, "add `description:`", at=())
    elif _USE_WHEN not in " ".join(said.casefold().split()):
        what = "the description does not say when the prompt is used"
        yield Problem("BK758", what, f"write a sentence with {_USE_WHEN!r}", at=("description",))


def _too_long(template: TemplateFile | None) -> Iterator[Problem]:
    if template is not None and (words := len(template.text.split())) >= _TOO_MANY_WORDS:
        hint = f"fewer than {_TOO_MANY_WORDS:,}: move parts into files of their own"
        yield Problem("BK757", f"the prompt has {words:,} words", hint, Place(template.file, 1, 1))


_NO_NAME = lazy_pattern(r"(?<!\\)(?<!\{)\{\{\s*([^{}\s][^{}\n]{0,60}?)\s*\}\}")


def _literal(template: TemplateFile | None) -> Iterator[Problem]:
    """What looks like a variable and is none: it goes to the model with its braces."""
    if template is None:
        return
    for found in _NO_NAME.finditer(template.text):
        if not NAME.fullmatch(found[1]):
            what = f"{{{{{found[1]}}}}} is sent as it stands: it is not the name of a variable"
            hint = "letters from a to z, digits, `_`, `-` and `.`, the first a letter or `_`"
            yield Problem("BK758", what, hint, place(template.file, template.text, found.start()))


def _long(template: TemplateFile | None) -> Iterator[Problem]:
    if template is None:
        return
    words = len(template.text.split())
    if _MANY_WORDS <= words < _TOO_MANY_WORDS:
        what = f"the prompt has {words:,} words, and {_TOO_MANY_WORDS:,} are too many"
        yield Problem("BK758", what, "move parts into files of their own", Place(template.file, 1, 1))
    lines = sum(bool(line.strip()) for line in template.text.splitlines())
    if lines >= _MANY_LINES:
        what = f"the prompt has {lines:,} lines that are not blank"
        hint = f"fewer than {_MANY_LINES} are easier to follow"
        yield Problem("BK758", what, hint, Place(template.file, 1, 1))


# Variables and files.


def _variables(folder: PromptFolder, template: TemplateFile | None, data: DataFile) -> Iterator[Problem]:
    """Required inputs that the template does not use, and names in it where nothing is declared."""
    if template is None:
        return
    unused = [
        Problem(
            "BK756",
            f"the prompt does not use {{{{{name}}}}}, which is required",
            f"use it in {template.file}, or write `required: false`",
            at=_at(data.raw.get("inputs"), name),
        )
        for name, variable in folder.meta.inputs.items()
        if variable.required and name not in template.names
    ]
    yield from data.placed(unused)
    if not data.raw.get("inputs"):
        for name in template.names:
            what = f"the prompt uses {{{{{name}}}}}, and its description declares no `inputs:`"
            hint = f"declare it in {folder.meta_file}: inputs: [{name}]"
            yield Problem("BK756", what, hint, template.place_of(name))


def _unused(folder: PromptFolder, template: TemplateFile | None, data: DataFile) -> Sequence[Problem]:
    """What may be left out, and is never used: a script could still want it."""
    names = template.names if template is not None else []
    return data.placed(
        [
            Problem("BK758", f"the prompt does not use {{{{{name}}}}}", "", at=_at(data.raw["inputs"], name))
            for name, variable in folder.meta.inputs.items()
            if template is not None and not variable.required and name not in names
        ]
    )


def _at(inputs: Json, name: str) -> tuple[str | int, ...]:
    """Where a variable is declared."""
    if not isinstance(inputs, list):
        return "inputs", name
    declared = [item.get("name") if isinstance(item, dict) else item for item in inputs]
    return "inputs", declared.index(name)


def _queries(root: str, folder: PromptFolder) -> Sequence[Problem]:
    """Lists that ask nothing, and queries that are asked twice."""
    if folder.eval_file is None:
        return ()
    data = read_mapping(root, folder.eval_file, "BK750", "")
    stated = data.raw.get("triggering")
    lists = {key: stated.get(key) for key in LISTS} if isinstance(stated, dict) else {}
    found = []
    if lists and not any(lists.values()):
        what = "`triggering` has no query, so nobody is asked"
        found.append(Problem("BK758", what, "add one, or remove it", at=("triggering",)))
    for key, queries in lists.items():
        listed = queries if isinstance(queries, list) else []
        found += [
            Problem("BK758", "this query is in the list twice", "remove one", at=("triggering", key, number))
            for number, query in enumerate(listed)
            if query in listed[:number]
        ]
    return data.placed(found)


def _files(root: str, folder: PromptFolder) -> Iterator[Problem]:
    if folder.eval_file is None:
        what = f"{folder.path or 'the folder'} has no eval file: nothing says what is a right answer"
        yield Problem("BK758", what, "write eval.yml with `cases:`", Place(folder.meta_file))
    for script in filter(None, (folder.guard, folder.verify)):
        if not os.access(os.path.join(root, script), os.X_OK):
            what = "it cannot be executed"
            yield Problem("BK758", what, f"chmod +x {script}", Place(script))
