"""The description of a prompt, meta.yml, and other mappings in YAML, read with every mistake at its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from difflib import get_close_matches
from typing import get_args

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode, mark_each
from baselinekit.errors import BaselinekitError, Place, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.model.prompts import Promotion, PromptMeta, PromptVariable, Status
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, check, place_problems
from baselinekit.store.dialects import native
from baselinekit.store.project import read
from baselinekit.variables import NAME

# One of the files of a folder, read: a mapping, and what is wrong with it at its place.


@frozen
class DataFile:
    """The mapping of a YAML file, and how to tell where in it something is wrong."""

    file: str
    body: str = ""
    raw: dict[str, Json] = field(default_factory=dict)
    broken: tuple[Problem, ...] = ()

    def placed(self, problems: Sequence[Problem]) -> list[Problem]:
        return place_problems(self.body, self.file, {0: list(problems)}) if problems else []


def read_mapping(root: str, file: str, code: str, example: str) -> DataFile:
    """One document that is a mapping; an empty file is an empty one."""
    try:
        body = decode(read(root, file), file).body
        documents = language(file).load(body, file)
    except BaselinekitError as error:
        return DataFile(file, broken=tuple(one.placed(Place(file)) for one in error.problems))
    raw = documents[0] if documents else None
    if len(documents) > 1 or not (raw is None or isinstance(raw, dict)):
        what = (
            "more than one document" if len(documents) > 1 else f"not a mapping but a JSON {json_type(raw)}"
        )
        return DataFile(file, broken=(Problem(code, what, example, Place(file, 1, 1)),))
    bare = place_problems(body, file, {0: bare_booleans(body, file, raw or {})})
    return DataFile(file, body, raw or {}, tuple(bare))


_BOOLEANS = frozenset(["yes", "no", "on", "off"])


def bare_booleans(body: str, file: str, raw: Json, document: int = 0) -> list[Problem]:
    """Texts without quotes that YAML 1.1 takes for true or false, and YAML 1.2 for text: what is meant
    depends on who reads the file."""
    paths = [path for path, text in _texts(raw, ()) if text.lower() in _BOOLEANS]
    if not paths:
        return []
    marks = mark_each(language(file).events(body), {document: paths})[document]
    problems = []
    for path in paths:
        nodes, rest = marks.reach(path)
        if not rest and not nodes[-1].style:
            word = nodes[-1].value
            what = f"{word} without quotes is a text here, and true or false in YAML 1.1"
            hint = f'write "{word}", or true or false'
            problems.append(Problem("BK759", what, hint, at=path))
    return problems


def _texts(value: Json, at: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(item, (*at, key))


# Its description: meta.yml.


@frozen
class StatedMeta:
    """What meta.yml may say. Which of it has to be there is a question of the folder's shape."""

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


@frozen
class StatedVariable:
    """A variable in `inputs:`; the name only where they are a list."""

    name: str | None = None
    description: str | None = None
    required: bool = True
    default: Json = None
    type: str | None = None


STATED = frozenset(one.name for one in fields(StatedMeta))
STATUSES: tuple[Status, ...] = get_args(Status)


_SAME = 0.8
"""How much alike two keys are where one of them is the other, misspelt: `created_by` (0.82) is that only
where nothing is said about `created`; `tags` is no `status` (0.6)."""


def misspelt(key: str, raw: Mapping[str, Json]) -> str:
    """Which key was meant, as a hint; none where somebody else's key stands in the file, which is most likely
    where the one that is nearly the same stands there too."""
    missing = [] if key in STATED else sorted(STATED - raw.keys())
    near = get_close_matches(key, missing, n=1, cutoff=_SAME)
    return nearest(key, near)


def read_meta(root: str, file: str, name: str) -> tuple[PromptMeta, DataFile, list[Problem]]:
    """The description in a file, and everything that is wrong with it, each with its place. `name`: the id of
    a prompt that says none."""
    data = read_mapping(root, file, "BK756", "write id, title, summary, status, version, created, updated")
    raw = {key: value for key, value in data.raw.items() if value is not None}
    known = {key: value for key, value in raw.items() if key in STATED}
    problems = [
        Problem("BK103", f"unknown key {key!r}", hint, at=(key,))
        for key in raw
        if (hint := misspelt(key, raw))
    ]
    stated, wrong = check(StatedMeta, known)
    if stated is None:  # what is right in it counts all the same, so that one mistake makes no others
        mistaken = {problem.at[0] for problem in wrong if problem.at}
        stated, _ = check(StatedMeta, {key: value for key, value in known.items() if key not in mistaken})
    variables, more = _variables(known.get("inputs"))
    problems += [*wrong, *below(more, ("inputs",))]
    if stated is not None and stated.id:
        problems += native.check_id(stated.id)
    if stated is not None and (stated.promotion.min_uses or 0) < 0:
        what = "fewer than 0 uses"
        problems.append(Problem("BK108", what, "0 or more", at=("promotion", "min_uses")))
    found = [*data.broken, *data.placed(problems)]
    if stated is None:
        id = raw.get("id")
        return PromptMeta(id if isinstance(id, str) and id else name), data, found
    meta = PromptMeta(
        stated.id or name,
        stated.title or "",
        stated.summary or "",
        stated.status if stated.status in STATUSES else "draft",
        "" if stated.version is None else str(stated.version),
        stated.created or "",
        stated.updated or "",
        stated.description,
        tuple(stated.triggers),
        tuple(stated.not_for),
        tuple(stated.aliases),
        variables,
        stated.promotion,
    )
    return meta, data, found


def _variables(raw: Json) -> tuple[dict[str, PromptVariable], list[Problem]]:
    """`inputs:` as a list of names, of mappings with a name, or as a mapping of names."""
    found: dict[str, PromptVariable] = {}
    problems: list[Problem] = []
    entries: list[tuple[Path, Json, Json]] = []
    if isinstance(raw, list):
        for number, item in enumerate(raw):
            named = item.get("name") if isinstance(item, dict) else item
            entries.append(((number,), named, item if isinstance(item, dict) else {}))
    elif isinstance(raw, dict):
        for name, item in raw.items():
            entries.append(((name,), name, {"description": item} if isinstance(item, str) else item or {}))
    elif raw is not None:
        what = f"expected a list of variables, found {describe_value(raw)}"
        problems.append(Problem("BK105", what, "such as - {name: constraints, required: true}", at=()))
    for at, name, item in entries:
        stated, wrong = check(StatedVariable, item)
        problems += below(wrong, at)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            what = (
                f"{describe_value(name)} is not the name of a variable"
                if name
                else "a variable without a name"
            )
            problems.append(Problem("BK753", what, "such as - name: constraints", at=at))
        elif name in found:
            problems.append(Problem("BK753", f"the variable {name!r} is declared twice", "remove one", at=at))
        elif stated is not None:
            found[name] = PromptVariable(stated.description, stated.required, stated.default)
    return found, problems
