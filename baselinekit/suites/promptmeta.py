"""Read the description of a prompt, meta.yml, and other mappings in YAML, with the place of each problem."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from baselinekit.errors import BaselinekitError, Place, Problem, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import SCALAR, MarkedNode, decode, mark
from baselinekit.model.prompts import PromptMeta, PromptVariable, Status
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema import describe_value, place_problems, prefix_paths, read_as, read_right_keys
from baselinekit.secrets.variables import NAME
from baselinekit.store.dialects import native
from baselinekit.store.project import read
from baselinekit.structs import Struct, field, replace

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
    boolean_problems = place_problems(body, file, {0: bare_booleans(body, file)})
    return DataFile(file, body, raw or {}, tuple(boolean_problems))


_BOOLEANS = frozenset(["yes", "no", "on", "off"])


def bare_booleans(body: str, file: str) -> list[Problem]:
    """Report unquoted texts that YAML 1.1 reads as true or false, and YAML 1.2 as text: their meaning depends
    on the program that reads the file."""
    documents = mark(language(file).events(body))
    return [
        Problem(
            "BK759",
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
    problems = [
        Problem("BK103", f"unknown key {key!r}", hint, at=(key,))
        for key in raw
        if (hint := suggest_key(key, raw))
    ]
    stated = {key: value for key, value in raw.items() if key in STATED}
    variables, variable_problems = _read_variables(stated.pop("inputs", None))
    if stated.get("status") not in STATUSES:  # `doctor` reports it with the shape of the folder
        stated.pop("status", None)
    meta, meta_problems = read_right_keys(PromptMeta, stated)
    problems += [*meta_problems, *prefix_paths(variable_problems, ("inputs",))]
    meta = meta or PromptMeta()
    if meta.id:
        problems += native.check_id(meta.id)
    meta = replace(meta, id=meta.id or name, inputs=variables)
    return meta, data, [*data.broken, *data.placed(problems)]


def _read_variables(raw: Json) -> tuple[dict[str, PromptVariable], list[Problem]]:
    """Read `inputs:`, a list of names, a list of mappings with a name, or a mapping by name."""
    entries: list[tuple[Path, Json, Json]] = []
    if isinstance(raw, list):
        for number, item in enumerate(raw):
            is_mapping = isinstance(item, dict)
            entries.append(((number,), item.get("name") if is_mapping else item, item if is_mapping else {}))
    elif isinstance(raw, dict):
        for name, item in raw.items():
            entries.append(((name,), name, {"description": item} if isinstance(item, str) else item or {}))
    elif raw is not None:
        message = f"expected a list of variables, found {describe_value(raw)}"
        return {}, [Problem("BK105", message, "such as - {name: constraints, required: true}", at=())]
    variables: dict[str, PromptVariable] = {}
    problems: list[Problem] = []
    for at, name, item in entries:
        variable, variable_problems = read_as(PromptVariable, item)
        problems += prefix_paths(variable_problems, at)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            message = f"{describe_value(name)} is not the name of a variable"
            problems.append(Problem("BK753", message, "such as - name: constraints", at=at))
        elif name in variables:
            problems.append(Problem("BK753", f"the variable {name!r} is declared twice", "remove one", at=at))
        elif variable is not None:
            variables[name] = variable
    return variables, problems
