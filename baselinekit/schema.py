"""Plain values → `Struct`s: `read_as` gives the value, or every mistake with its path. The classes are also
the JSON Schema of the files, for editors."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from baselinekit.errors import Problem, suggest
from baselinekit.files.languages import Language, language
from baselinekit.files.text import MAPPING, SEQUENCE, MarkedNode, mark, place, reach
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.secrets.finding import is_secret_header, is_secret_key
from baselinekit.structs import Struct, choose, fields, replace
from baselinekit.values.texts import mask_and_clip, no_mask

T = TypeVar("T")
Parts = dict[str, Any]
Schema = dict[str, Any]


class Tagged(ABC):
    """The type of a value whose own keys say which class it has, as a `current:` with its kind: `forms()` are
    all classes, `form(raw)` is the value's, and `explain(raw, at)` is the problem of a value of none."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return issubclass(other, Struct) or NotImplemented

    @classmethod
    @abstractmethod
    def form(cls, raw: Json) -> type[Struct] | None: ...


# One conversion settles what is right. Only where it fails the value is walked by the types of the fields:
# each part that does not convert has a mistake inside, or is one.


def read_as(kind: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """Return the value as an instance of the class, or all its problems, with paths instead of places."""
    try:
        return _convert(kind, raw), []
    except msgspec.ValidationError:
        return None, [problem() for problem in _mistakes(kind, raw, ())]


def read_right_keys(kind: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """Return all problems, and the value as it is without its wrong keys, also those of mappings in it, so
    that one mistake does not cause others; None if a key that it needs is missing or wrong."""
    value, problems = read_as(kind, raw)
    if value is None and isinstance(raw, dict):
        for problem in problems:
            at = problem.at or ()
            raw = _without(raw, at[:-1] if problem.code == "BK104" else at)
        value, _ = read_as(kind, raw)
    return value, problems


def _without(raw: dict[str, Json], at: Path) -> dict[str, Json]:
    if len(at) > 1 and isinstance(inner := raw.get(str(at[0])), dict):
        return {**raw, str(at[0]): _without(inner, at[1:])}
    return {key: item for key, item in raw.items() if (key,) != at[:1]}


_LONGEST_SHOWN = 40
_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "true or false", list: "a list"}
_WORDS |= {tuple: "a list", dict: "a mapping", Struct: "a mapping", Decimal: "a number"}


def _convert(kind: Any, raw: Json) -> Any:
    try:
        return msgspec.convert(raw, kind, dec_hook=choose, str_keys=True)
    except UnicodeEncodeError:  # half a surrogate pair in a key that is wrong
        raise msgspec.ValidationError from None


def _mistakes(kind: Any, value: Json, at: Path) -> Iterator[Callable[[], Problem]]:
    """Yield what is wrong with a value of a type, each problem as a function that words it."""
    try:
        _convert(kind, value)
    except msgspec.ValidationError:
        members = _members(kind)
        inner = next((found for member in members if (found := _inside(member, value, at)) is not None), None)
        first = next(inner, None) if inner is not None else None
        yield first or partial(_mismatch, members, value, at)
        if first is not None and inner is not None:
            yield from inner


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types that a value may have."""
    while get_origin(kind) is Annotated and not _words_of(kind):
        kind = get_args(kind)[0]
    if get_origin(kind) not in (Union, UnionType):
        return (kind,)
    return tuple(member for part in get_args(kind) if part is not NoneType for member in _members(part))


def _words_of(member: Any) -> str:
    """Return what a file should have, where the type itself does not say it."""
    notes = member.__metadata__ if get_origin(member) is Annotated else ()
    words = "".join(note.description or "" for note in notes if isinstance(note, msgspec.Meta))
    return words or getattr(member, "words", "")


def _class_of(member: Any) -> Any:
    """Return what a type is, without what is inside."""
    if isinstance(member, type) and issubclass(member, Struct | Tagged):
        return Struct if issubclass(member, Struct) else Tagged
    origin = get_origin(member) or member
    return dict if origin is Mapping else origin


def _inside(member: Any, value: Json, at: Path) -> Iterator[Callable[[], Problem]] | None:
    """Return the mistakes inside a value with the shape of the type; None where it is not."""
    what, arguments = _class_of(member), get_args(member)
    if what is Tagged:
        form = member.form(value)
        return iter([partial(member.explain, value, at)]) if form is None else _mistakes(form, value, at)
    if isinstance(value, dict) and what is Struct:
        return _in_form(member, value, at)
    if isinstance(value, dict) and what is dict:
        return (item for key in value for item in _mistakes(arguments[1], value[key], (*at, key)))
    if isinstance(value, list) and what in (list, tuple):
        types = arguments if what is tuple and arguments[-1] is not ... else arguments[:1] * len(value)
        pairs = zip(types, value, strict=False)
        return (item for n, (kind, part) in enumerate(pairs) for item in _mistakes(kind, part, (*at, n)))
    return None


def _in_form(form: type[Struct], value: dict[str, Json], at: Path) -> Iterator[Callable[[], Problem]]:
    known = {field.encode_name: field for field in fields(form)}
    for name, field in known.items():
        if name in value:
            yield from _mistakes(field.type, value[name], (*at, name))
        elif field.required:
            yield partial(Problem, "BK104", f"the key {name!r} is missing", "add it", at=(*at, name))
    for key in value if form.__struct_config__.forbid_unknown_fields else ():
        if key not in known:
            yield partial(_unknown, form, key, at)


def _unknown(form: type[Struct], key: str, at: Path) -> Problem:
    known = [field.encode_name for field in fields(form)]
    hint = suggest(str(key), known) or f"known here: {', '.join(known)}"
    return Problem("BK103", f"unknown key {key!r}", hint, at=(*at, key))


def _mismatch(members: Sequence[Any], value: Json, at: Path) -> Problem:
    choices = [choice for member in members if _class_of(member) is Literal for choice in get_args(member)]
    words = [("one of " if len(choices) > 1 else "") + ", ".join(map(str, choices))]
    words += [_words_of(member) or _WORDS.get(_class_of(member), "") for member in members]
    if _WORDS[float] in words and _WORDS[int] in words:
        words.remove(_WORDS[int])
    hint = suggest(value, map(str, choices)) if isinstance(value, str) else ""
    if at[-2:-1] == ("tolerance",) and type(value) in (int, float, Decimal):
        hint = f"write {{abs: {value}}}"  # the form on the command line
    expected = " or ".join(dict.fromkeys(filter(None, words)))
    found = describe_value(value, at[-1] if at else "")
    return Problem("BK105", f"expected {expected}, found {found}", hint, at=at)


def describe_value(value: Json, name: str | int = "") -> str:
    """Describe a value for a message. A value with the name of a secret is not shown."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list" if value else "an empty list"
    if value is None:
        return "null"
    kind = {str: "string", bool: "boolean", int: "integer"}.get(type(value), "number")
    if is_secret_header(str(name)) or is_secret_key(str(name)):
        return f"a value that is not shown ({kind})"
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return f"{mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)} ({kind})"


Read = tuple[T | None, list[Problem]]
"""What was read, and the problems of it."""


class Mistakes(list[Problem]):
    """The problems that were found in a record, with paths into it."""

    def take(self, result: tuple[T, Iterable[Problem]], *at: str | int) -> T:
        """Return what was read of a part, and keep the problems of that part, which is at this path."""
        value, problems = result
        self += prefix_paths(problems, at)
        return value


# The places of problems: from a path in a document to file, line and column.


def prefix_paths(problems: Iterable[Problem], at: Path) -> list[Problem]:
    """Return the same problems with a path put before theirs."""
    return [replace(problem, at=(*at, *(problem.at or ()))) for problem in problems]


def move_to_name(problem: Problem, at: Path) -> Problem:
    """Return the problem of a file at the path that names the file."""
    message = f"{problem.place}: {problem.message}" if problem.place else problem.message
    return replace(problem, message=message, place=None, at=at)


def place_problems(
    body: str, file: str, problems: Mapping[int, Sequence[Problem]], written_in: Language | None = None
) -> list[Problem]:
    """Turn problems with paths, by document, into problems with places. The place of an
    unknown key is the key itself."""
    marks = mark((written_in or language(file)).events(body)) if any(problems.values()) else []
    placed: list[tuple[int, Problem]] = []
    for document, document_problems in problems.items():
        for problem in document_problems:
            nodes, missing = reach(marks, document, problem.at or ())
            index = position(nodes[-1], at_key=problem.code == "BK103" and not missing) if nodes else 0
            placed.append((index, replace(problem, place=place(file, body, index), at=None)))
    return [problem for _, problem in sorted(placed, key=lambda pair: pair[0])]


def position(node: MarkedNode, at_key: bool = False) -> int:
    """Return the index to point to: the value's, or the key's if the value is on the lines below."""
    is_block = node.kind in (MAPPING, SEQUENCE) and node.style != "flow"
    return node.key if node.key >= 0 and (at_key or is_block) else node.start


# Parts of a JSON Schema, made from the classes that read the files.


@cache
def schema_of(kind: Any) -> Parts:
    """Return the JSON Schemas of a class and of those inside it, by name, without titles, which only repeat
    the names, and without defaults that mean "missing"."""
    choices: list[type[Struct]] = []

    def choose(choice: Any) -> Schema:
        choices.extend(choice.forms())
        return {"oneOf": [ref(form.__name__) for form in choice.forms()]}

    def components(kinds: Iterable[Any]) -> Parts:
        _, found = msgspec.json.schema_components(kinds, schema_hook=choose, ref_template="#/$defs/{name}")
        return found

    parts = components([kind])
    for part in (parts := parts | components(choices)).values():
        del part["title"]
        if "description" in part:
            part["description"] = cleandoc(part["description"])
        if not part["required"]:
            del part["required"]
        for schema in part["properties"].values():
            if schema.get("default") == ABSENT.value:
                del schema["default"]
    return parts


def add_part(parts: Parts, name: str, kind: Any, **other: Schema) -> None:
    """Add the schema of a class under a name. `other` replaces the schemas of keys that are written
    differently in files."""
    for part_name, part in schema_of(kind).items():
        if part_name == kind.__name__:
            part = {**part, "properties": {**part["properties"], **other}}
            part_name = name
        assert parts.setdefault(part_name, part) == part, part_name


def dump_schema(schema: Schema) -> str:
    """Write a schema as the text of a file."""
    return json.dumps(schema, indent=1) + "\n"


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_or_several(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}


def closed_object(properties: dict[str, Schema], at_least: int = 0) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": at_least,
    }
