"""A prompt folder: its description (meta.yml), its template, the files that its cases name, the digest of
all that affects the verdicts on them, and the checks of `doctor`."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from hashlib import sha256
from typing import Literal, get_args

from baselinekit import schema
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import SCALAR, MarkedNode, decode, mark, place
from baselinekit.graders.judging import nonce_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.prompts import PromptFolder, PromptMeta, PromptVariable, Status
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import Mistakes
from baselinekit.secrets.variables import NAME, names_in
from baselinekit.store.dialects import native
from baselinekit.store.project import CONFIG_NAME, INPUTS, METAS, TEMPLATE, read
from baselinekit.structs import Struct, field, replace
from baselinekit.suites import promptfolders
from baselinekit.suites.settings import load_documents, resolve_named
from baselinekit.values.equality import canonical

GUARD, VERIFY = "guard.sh", "verify.sh"
LISTS: dict[str, Literal["YES", "NO"]] = {"should_match": "YES", "should_not_match": "NO"}
"""The lists of queries, and the decision that a judge must make for each."""

# A file of a folder: a mapping, and its problems with their places.


class DataFile(Struct):
    """The mapping of a YAML file, with its text, so that problems in it get their places."""

    file: str
    body: str = ""
    raw: dict[str, Json] = field(default_factory=dict)
    broken: tuple[Problem, ...] = ()

    def placed(self, problems: Sequence[Problem]) -> list[Problem]:
        return schema.place_problems(self.body, self.file, {0: list(problems)}) if problems else []


def read_mapping(root: str, file: str, code: str, example: str) -> DataFile:
    """Read a file with one document, a mapping; an empty file is an empty mapping."""
    try:
        body, documents = load_documents(root, file)
    except BaselinekitError as error:
        return DataFile(file, broken=tuple(problem.placed(Place(file)) for problem in error.problems))
    raw = documents[0] if documents else None
    if len(documents) > 1 or not (raw is None or isinstance(raw, dict)):
        message = (
            "more than one document" if len(documents) > 1 else f"not a mapping but a JSON {json_type(raw)}"
        )
        return DataFile(file, broken=(Problem(code, message, example, Place(file, 1, 1)),))
    boolean_problems = schema.place_problems(body, file, {0: bare_booleans(body, file)})
    return DataFile(file, body, raw or {}, tuple(boolean_problems))


_BOOLEANS = frozenset(["yes", "no", "on", "off"])


def bare_booleans(body: str, file: str) -> list[Problem]:
    """Report unquoted texts that YAML 1.1 reads as true or false, and YAML 1.2 as text: their meaning depends
    on the program that reads the file."""
    documents = mark(language(file).events(body))
    return [
        Problem(
            "BK105",
            f"{word} without quotes is a text here, and true or false in YAML 1.1",
            f'write "{word}", or true or false',
            at=at,
        )
        for at, word in (_bare_words(documents[0], ()) if documents else ())
        if word.lower() in _BOOLEANS
    ]


def _bare_words(node: MarkedNode, at: Path) -> Iterator[tuple[Path, str]]:
    if node.kind == SCALAR and not node.style:
        yield at, node.value
    for key, child in node.children.items():
        yield from _bare_words(child, (*at, key))


# Its description: meta.yml.


STATED = frozenset(PromptMeta.__struct_fields__)
STATUSES: tuple[Status, ...] = get_args(Status)


_MISSPELT_SIMILARITY = 0.8
"""How similar two keys must be for one to count as a misspelling of the other: `created_by` (0.82) counts
only if `created` is missing; `tags` is not `status` (0.6)."""


def read_meta(root: str, file: str, name: str) -> tuple[PromptMeta, DataFile, list[Problem]]:
    """Return the description in a file, and all of its problems with their places. `name`: the id of a prompt
    that states none."""
    data = read_mapping(root, file, "BK750", "write id, title, summary, status, version, created, updated")
    raw = {key: value for key, value in data.raw.items() if value is not None}
    problems = []
    missing = sorted(STATED - raw.keys())
    for key in raw.keys() - STATED:  # another key is one of another program
        if meant := get_close_matches(key, missing, n=1, cutoff=_MISSPELT_SIMILARITY):
            problems.append(Problem("BK103", f"unknown key {key!r}", suggest(key, meant), at=(key,)))
    stated = {key: value for key, value in raw.items() if key in STATED}
    variables, variable_problems = _read_variables(stated.pop("inputs", None))
    if stated.get("status") not in STATUSES:  # `doctor` reports it with the shape of the folder
        stated.pop("status", None)
    meta, meta_problems = schema.read_right_keys(PromptMeta, stated)
    problems += [*meta_problems, *schema.prefix_paths(variable_problems, ("inputs",))]
    meta = meta or PromptMeta()
    if meta.id:
        problems += native.check_id(meta.id)
    meta = replace(meta, id=meta.id or name, inputs=variables)
    return meta, data, [*data.broken, *data.placed(problems)]


def _read_variables(raw: Json) -> tuple[dict[str, PromptVariable], list[Problem]]:
    """Read `inputs:`, a list of names or of mappings with a name, or a mapping by name."""
    entries: list[tuple[Path, Json]] = []
    if isinstance(raw, list):
        named = (item if isinstance(item, dict) else {"name": item} for item in raw)
        entries = [((number,), item) for number, item in enumerate(named)]
    elif isinstance(raw, dict):
        entries = [
            ((key,), {"name": key} | item if isinstance(item, dict) else item) for key, item in raw.items()
        ]
    elif raw is not None:
        message = f"expected a list of variables, found {schema.describe_value(raw)}"
        return {}, [Problem("BK105", message, "such as - {name: constraints, required: true}", at=())]
    variables: dict[str, PromptVariable] = {}
    problems = Mistakes()
    for at, item in entries:
        variable = problems.take(schema.read_as(PromptVariable, item), *at)
        name = item.get("name") if isinstance(item, dict) else at[0]
        if not isinstance(name, str) or not NAME.fullmatch(name):
            message = f"{schema.describe_value(name)} is not the name of a variable"
            problems.append(Problem("BK750", message, "such as - name: constraints", at=at))
        elif name in variables:
            problems.append(Problem("BK750", f"the variable {name!r} is declared twice", "remove one", at=at))
        elif variable is not None:
            variables[name] = variable
    return variables, problems


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
        hint = "write the prompt into it, with {{name}} for an input"
        return None, [Problem("BK750", message, hint, Place(file))]
    try:
        text = decode(read(root, file), file).body
    except BaselinekitError as error:
        return None, [problem.placed(Place(file)) for problem in error.problems]
    if not text.strip():
        return None, [Problem("BK750", f"{TEMPLATE} is empty", "write the prompt into it", Place(file, 1, 1))]
    return TemplateFile(file, text), []


def undeclared(meta: PromptMeta, template: TemplateFile) -> list[Problem]:
    """Report variables that the template uses and the description does not declare. A description without
    `inputs:` declares all that the template uses."""
    if not meta.inputs:
        return []
    return [
        Problem(
            "BK750",
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
    file, places = beside_or_below_root(root, folder, posixpath.join(inputs_from, INPUTS))
    if file is None:
        message = f"there is no {' and no '.join(places)}"
        hint = "write one: a mapping of names to values, or give `inputs:`"
        raise InvalidInput(Problem("BK750", message, hint))
    return file


# The digest of what affects the verdicts on its cases.


def content_digest(root: str, folder: str, eval_file: str | None, meta: DataFile) -> str:
    """Return 16 hex digits over the template, the eval file, the inputs and schemas that it names, the
    scripts, and the description without its status and the date of its last change. All line ends count as
    equal."""
    files = [posixpath.join(folder, name) for name in (TEMPLATE, GUARD, VERIFY)]
    named_files: list[str] = []
    if eval_file is not None:
        files.append(eval_file)
        with suppress(BaselinekitError):
            named_files = sorted({*_files_named_by(root, folder, load_documents(root, eval_file)[1])})
    parts = []
    for file in (*files, *named_files):
        content = b""
        with suppress(BaselinekitError):
            content = read(root, file).replace(b"\r\n", b"\n")
        name = posixpath.relpath(file, folder or ".")
        parts.append(f"{name}\0{sha256(content).hexdigest()}")
    compared = {key: value for key, value in meta.raw.items() if key not in ("status", "updated")}
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
            for path in (one for one in schemas if isinstance(one, str)):
                with suppress(BaselinekitError):
                    file, _ = beside_or_below_root(root, folder, path)
                    yield from [file] if file else []


# The whole folder.


class FolderFiles(Struct):
    """A folder with its description and its template, and their problems, each with its place."""

    folder: PromptFolder
    data: DataFile
    template: TemplateFile | None
    problems: list[Problem]


def read_folder(root: str, folder: str, eval_file: str | None = None) -> FolderFiles:
    """Read a folder. `eval_file`: the eval file to use, if it is known."""
    file, problems = promptfolders.first_existing(root, folder, METAS), list[Problem]()
    meta_file = file or posixpath.join(folder, METAS[0])
    meta, data = PromptMeta(promptfolders.name_of(root, folder)), DataFile(meta_file)
    if file is not None:
        meta, data, problems = read_meta(root, file, meta.id)
    template, template_problems = read_template(root, folder)
    problems += template_problems
    if template is not None:
        problems += undeclared(meta, template)
    if eval_file is None:
        try:
            eval_file = promptfolders.eval_file_in(root, folder)
        except InvalidInput as error:
            problems += error.problems
    # a script that cannot be run, such as a broken link, is reported when it is run, not skipped
    guard, verify = (
        script if os.path.lexists(os.path.join(root, script)) else None
        for script in (posixpath.join(folder, name) for name in (GUARD, VERIFY))
    )
    content = content_digest(root, folder, eval_file, data)
    template_file = posixpath.join(folder, TEMPLATE)
    read = PromptFolder(folder, meta, meta_file, template_file, eval_file, guard, verify, content)
    return FolderFiles(read, data, template, problems)


def load_valid_folder(root: str, folder: str) -> PromptFolder:
    """Return a folder without problems, or raise them: as Refused if all problems are files that lead out of
    the project."""
    files = read_folder(root, folder)
    if files.problems:
        is_refused = all(problem.code.startswith("BK4") for problem in files.problems)
        raise Refused(*files.problems) if is_refused else InvalidInput(*files.problems)
    return files.folder


def script_files(root: str) -> Iterator[str]:
    """Return the scripts of all prompt folders of a project, relative to its root."""
    for folder in promptfolders.folders_below(root, [""]):
        files = (posixpath.join(folder, name) for name in (GUARD, VERIFY))
        yield from (file for file in files if os.path.lexists(os.path.join(root, file)))


# The checks of `doctor`: whether a description is complete, whether its parts fit together, and whether a
# skill is described so that it is chosen when it is needed.

REQUIRED = ("id", "title", "summary", "status", "version", "created", "updated")
_ALIAS = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
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
    folders_by_name = promptfolders.names_of_all(root) if folders else {}
    for path in folders:
        files = read_folder(root, path)
        folder, data, template = files.folder, files.data, files.template
        broken += files.problems
        if not os.path.isfile(os.path.join(root, folder.meta_file)):
            message = f"{path or 'the folder'} has no description"
            hint = f"write {', '.join(REQUIRED)} into it"
            problems.append(Problem("BK750", message, hint, Place(folder.meta_file)))
            continue
        if data.broken and not data.raw:
            continue
        problems += _placed(data, _check_meta(root, folder, data.raw))
        problems += _placed(data, _check_aliases(folder, folders_by_name))
        warnings += _placed(data, _meta_warnings(folder))
        if template is not None:
            problems += _placed(data, _check_inputs(folder, template, data.raw))
            too_long, long = _check_length(template)
            problems += too_long
            warnings += long
        if folder.eval_file is None:
            message = f"{path or 'the folder'} has no eval file: it is not stated what is a right answer"
            warnings.append(
                Problem("BK758", message, "write eval.yml with `cases:`", Place(folder.meta_file))
            )
    return broken, FolderShape(tuple(problems), tuple(warnings))


def _placed(data: DataFile, problems: Iterable[Problem]) -> list[Problem]:
    """Return problems of the description with their places; those of other files have theirs."""
    own: list[Problem] = []
    others: list[Problem] = []
    for problem in problems:
        (own if problem.place is None else others).append(problem)
    return [*data.placed(own), *others]


def _check_meta(root: str, folder: PromptFolder, raw: Mapping[str, Json]) -> Iterator[Problem]:
    """Check that a description is complete, and that it can be the description of a skill."""
    meta = folder.meta
    for key in REQUIRED:
        value = raw.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield Problem("BK750", f"the key {key!r} is missing", "add it", at=(key,) if key in raw else ())
    name = promptfolders.name_of(root, folder.path)
    if isinstance(raw.get("id"), str) and raw["id"] != name:
        message = f"the id {raw['id']!r} is not the name of its folder"
        yield Problem("BK750", message, f"write {name!r}, or rename the folder", at=("id",))
    status = raw.get("status")
    if status is not None and status not in STATUSES:
        hint = f"write one of {', '.join(STATUSES)}"
        yield Problem("BK750", f"{status!r} is not a status", hint, at=("status",))
    word = next((word for word in promptfolders.RESERVED if word in meta.id.lower()), None)
    if word is not None:
        message = f"the id {meta.id!r} contains {word!r}, which no skill may be called"
        yield Problem("BK772", message, "choose another id", at=("id",))
    description = meta.description or ""
    if len(description) > promptfolders.LONGEST_DESCRIPTION:
        message = f"the description has {len(description):,} characters"
        yield Problem("BK772", message, f"at most {promptfolders.LONGEST_DESCRIPTION:,}", at=("description",))
    if "<" in description or ">" in description:
        message = "the description contains < or >, which a skill's must not"
        yield Problem("BK772", message, "write it in words", at=("description",))
    for key in ("triggers", "not_for"):
        for number, text in enumerate(getattr(meta, key)):
            if not text.strip():
                yield Problem("BK772", f"an empty text in {key!r}", "remove it", at=(key, number))


def _check_aliases(folder: PromptFolder, folders_by_name: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    for number, alias in enumerate(folder.meta.aliases):
        at = ("aliases", number)
        if not _ALIAS.fullmatch(alias):
            hint = "letters, digits, `_` and `-`, the first a letter or `_`"
            yield Problem("BK750", f"{alias!r} is not an alias", hint, at=at)
        other_folders = [path for path in folders_by_name.get(alias, ()) if path != folder.path]
        if alias in (folder.id, *folder.meta.aliases[:number]):
            yield Problem("BK750", f"the alias {alias!r} is there already", "remove it", at=at)
        elif other_folders:
            message = f"{other_folders[0]} is called {alias!r} too"
            yield Problem("BK750", message, "choose another alias", at=at)


def _check_inputs(folder: PromptFolder, template: TemplateFile, raw: Mapping[str, Json]) -> Iterator[Problem]:
    """Report required inputs that the template does not use, and used names if no inputs are declared."""
    for name, variable in folder.meta.inputs.items():
        if variable.required and name not in template.names:
            message = f"the prompt does not use {{{{{name}}}}}, which is required"
            hint = f"use it in {template.file}, or write `required: false`"
            yield Problem("BK750", message, hint, at=_declaration_path(raw["inputs"], name))
    for name in () if raw.get("inputs") else template.names:
        message = f"the prompt uses {{{{{name}}}}}, and its description declares no `inputs:`"
        hint = f"declare it in {folder.meta_file}: inputs: [{name}]"
        yield Problem("BK750", message, hint, template.place_of(name))


def _declaration_path(inputs: Json, name: str) -> tuple[str | int, ...]:
    """Return the path at which a variable is declared."""
    if not isinstance(inputs, list):
        return "inputs", name
    declared = [item.get("name") if isinstance(item, dict) else item for item in inputs]
    return "inputs", declared.index(name)


def _meta_warnings(folder: PromptFolder) -> Iterator[Problem]:
    description = folder.meta.description
    if not description:
        message = "without a description, its summary decides when the prompt is used"
        yield Problem("BK758", message, "add `description:`", at=())
    elif _USE_WHEN not in " ".join(description.casefold().split()):
        message = "the description does not say when the prompt is used"
        yield Problem("BK758", message, f"write a sentence with {_USE_WHEN!r}", at=("description",))


def _check_length(template: TemplateFile) -> tuple[list[Problem], list[Problem]]:
    """Return the problem of a prompt that is too long, and the warnings about a long one."""
    at, split = Place(template.file, 1, 1), "move parts into files of their own"
    words = len(template.text.split())
    lines = sum(bool(line.strip()) for line in template.text.splitlines())
    too_long, long = list[Problem](), list[Problem]()
    if words >= _TOO_MANY_WORDS:
        hint = f"fewer than {_TOO_MANY_WORDS:,}: {split}"
        too_long.append(Problem("BK772", f"the prompt has {words:,} words", hint, at))
    elif words >= _MANY_WORDS:
        message = f"the prompt has {words:,} words, and {_TOO_MANY_WORDS:,} are too many"
        long.append(Problem("BK758", message, split, at))
    if lines >= _MANY_LINES:
        message = f"the prompt has {lines:,} lines that are not blank"
        long.append(Problem("BK758", message, f"fewer than {_MANY_LINES} are easier to follow", at))
    return too_long, long
