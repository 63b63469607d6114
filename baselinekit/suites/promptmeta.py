"""Read the description of a prompt, meta.yml, and other mappings in YAML, with the place of each problem."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from baselinekit.errors import BaselinekitError, Place, Problem, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import decode, mark, reach
from baselinekit.model.prompts import Promotion, PromptMeta, PromptVariable, Status
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import describe_value, place_problems, prefix_paths, read_as, read_right_keys
from baselinekit.secrets.variables import NAME
from baselinekit.store.dialects import native
from baselinekit.store.project import read
from baselinekit.structs import Struct, field

# A file of a folder: a mapping, and its problems with their places.


class DataFile(Struct):
    """The mapping of a YAML file, with its text, so that problems in it get their places."""

    file: str
    body: str = ""
    raw: dict[str, Json] = field(default_factory=dict)
    broken: tuple[Problem, ...] = ()

    def placed(self, problems: Sequence[Problem]) -> list[Problem]:
        return place_problems(self.body, self.file, {0: list(problems)}) if problems else []


def read_mapping(root: str, file: str, code: str, example: str) -> DataFile:
    """Read a file with one document, a mapping; an empty file is an empty mapping."""
    try:
        body = decode(read(root, file), file).body
        documents = language(file).load(body, file)
    except BaselinekitError as error:
        return DataFile(file, broken=tuple(problem.placed(Place(file)) for problem in error.problems))
    raw = documents[0] if documents else None
    if len(documents) > 1 or not (raw is None or isinstance(raw, dict)):
        message = (
            "more than one document" if len(documents) > 1 else f"not a mapping but a JSON {json_type(raw)}"
        )
        return DataFile(file, broken=(Problem(code, message, example, Place(file, 1, 1)),))
    boolean_problems = place_problems(body, file, {0: bare_booleans(body, file, raw or {})})
    return DataFile(file, body, raw or {}, tuple(boolean_problems))


_BOOLEANS = frozenset(["yes", "no", "on", "off"])


def bare_booleans(body: str, file: str, raw: Json, document: int = 0) -> list[Problem]:
    """Report unquoted texts that YAML 1.1 reads as true or false, and YAML 1.2 as text: their meaning depends
    on the program that reads the file."""
    paths = [path for path, text in _texts_with_paths(raw, ()) if text.lower() in _BOOLEANS]
    if not paths:
        return []
    marks = mark(language(file).events(body))
    problems = []
    for path in paths:
        nodes, rest = reach(marks, document, path)
        if not rest and not nodes[-1].style:
            word = nodes[-1].value
            message = f"{word} without quotes is a text here, and true or false in YAML 1.1"
            hint = f'write "{word}", or true or false'
            problems.append(Problem("BK759", message, hint, at=path))
    return problems


def _texts_with_paths(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts_with_paths(item, (*at, key))


# Its description: meta.yml.


class StatedMeta(Struct):
    """The keys of meta.yml. Which of them are required is checked with the folder's shape."""

    id: str | None = None
    title: str | None = None
    summary: str | None = None
    status: Json = None
    version: str | int | float | None = None
    created: str | None = None
    updated: str | None = None
    description: str | None = None
    triggers: list[str] = field(default_factory=list)
    not_for: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    inputs: Json = None
    promotion: Promotion = field(default_factory=Promotion)


class StatedVariable(Struct):
    """A variable in `inputs:`; it has a name here only if `inputs:` is a list."""

    name: str | None = None
    description: str | None = None
    required: bool = True
    default: Json = None
    type: str | None = None


STATED = frozenset(StatedMeta.__struct_fields__)
STATUSES: tuple[Status, ...] = get_args(Status)


_MISSPELT_SIMILARITY = 0.8
"""How similar two keys must be for one to count as a misspelling of the other: `created_by` (0.82) counts
only if `created` is missing; `tags` is not `status` (0.6)."""


def suggest_key(key: str, raw: Mapping[str, Json]) -> str:
    """Return a hint with the key that was meant, or "". A key whose correctly spelt neighbour is present too
    is most likely a key of another program."""
    missing = [] if key in STATED else sorted(STATED - raw.keys())
    similar = get_close_matches(key, missing, n=1, cutoff=_MISSPELT_SIMILARITY)
    return suggest(key, similar)


def read_meta(root: str, file: str, name: str) -> tuple[PromptMeta, DataFile, list[Problem]]:
    """Return the description in a file, and all of its problems with their places. `name`: the id of a prompt
    that states none."""
    data = read_mapping(root, file, "BK756", "write id, title, summary, status, version, created, updated")
    raw = {key: value for key, value in data.raw.items() if value is not None}
    stated_values = {key: value for key, value in raw.items() if key in STATED}
    problems = [
        Problem("BK103", f"unknown key {key!r}", hint, at=(key,))
        for key in raw
        if (hint := suggest_key(key, raw))
    ]
    stated_meta, meta_problems = read_right_keys(StatedMeta, stated_values)
    variables, variable_problems = _read_variables(stated_values.get("inputs"))
    problems += [*meta_problems, *prefix_paths(variable_problems, ("inputs",))]
    if stated_meta is not None and stated_meta.id:
        problems += native.check_id(stated_meta.id)
    placed_problems = [*data.broken, *data.placed(problems)]
    if stated_meta is None:
        id = raw.get("id")
        return PromptMeta(id if isinstance(id, str) and id else name), data, placed_problems
    meta = PromptMeta(
        stated_meta.id or name,
        stated_meta.title or "",
        stated_meta.summary or "",
        stated_meta.status if stated_meta.status in STATUSES else "draft",
        "" if stated_meta.version is None else str(stated_meta.version),
        stated_meta.created or "",
        stated_meta.updated or "",
        stated_meta.description,
        tuple(stated_meta.triggers),
        tuple(stated_meta.not_for),
        tuple(stated_meta.aliases),
        variables,
        stated_meta.promotion,
    )
    return meta, data, placed_problems


def _read_variables(raw: Json) -> tuple[dict[str, PromptVariable], list[Problem]]:
    """Read `inputs:`, a list of names, a list of mappings with a name, or a mapping by name."""
    variables: dict[str, PromptVariable] = {}
    problems: list[Problem] = []
    entries: list[tuple[Path, Json, Json]] = []
    if isinstance(raw, list):
        for number, item in enumerate(raw):
            item_name = item.get("name") if isinstance(item, dict) else item
            entries.append(((number,), item_name, item if isinstance(item, dict) else {}))
    elif isinstance(raw, dict):
        for name, item in raw.items():
            entries.append(((name,), name, {"description": item} if isinstance(item, str) else item or {}))
    elif raw is not None:
        message = f"expected a list of variables, found {describe_value(raw)}"
        problems.append(Problem("BK105", message, "such as - {name: constraints, required: true}", at=()))
    for at, name, item in entries:
        variable, variable_problems = read_as(StatedVariable, item)
        problems += prefix_paths(variable_problems, at)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            message = (
                f"{describe_value(name)} is not the name of a variable"
                if name
                else "a variable without a name"
            )
            problems.append(Problem("BK753", message, "such as - name: constraints", at=at))
        elif name in variables:
            problems.append(Problem("BK753", f"the variable {name!r} is declared twice", "remove one", at=at))
        elif variable is not None:
            variables[name] = PromptVariable(variable.description, variable.required, variable.default)
    return variables, problems
