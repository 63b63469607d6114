"""What needs pydantic: why a value is not valid, in our own words, and the JSON Schema of a class."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from baselinekit.errors import Problem, nearest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.secrets.names import is_secret_header
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.places import value_at

# Which keys a mapping may have is looked up in the JSON Schema of its class.


def keys_at(schema: dict[str, Any], loc: Path) -> list[str]:
    """The keys that a mapping may have. The location names members of unions and tags too."""
    parts = schema.get("$defs", {})
    node = _resolved(schema, parts)
    for step in loc:
        part = str(step).strip("<>")
        if step in node.get("properties", {}):
            node = node["properties"][step]
        elif part in parts:
            node = parts[part]
        elif isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("additionalProperties") or {}
        node = _resolved(node if isinstance(node, dict) else {}, parts)
    return list(node.get("properties", {}))


def _resolved(node: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """What a reference or an optional value stands for."""
    while True:
        if "$ref" in node:
            node = parts[node["$ref"].rpartition("/")[2]]
            continue
        choices = [one for one in node.get("anyOf", ()) if one.get("type") != "null"]
        if len(choices) != 1:
            return node
        node = choices[0]


# A complaint says where, what was expected, what is there and what was meant. Pydantic's locations name the
# members of a union between the keys; the complaints of a union become one.

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "none_required": "null",
}
_WORD = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}")
_MAPPINGS = ("dict_type", "dataclass_type")
_LONGEST_SHOWN = 40
_MOST_KEYS = 6
_MOST_TOLD = 50


class Complaint(NamedTuple):
    """One complaint: its location, its type, what the type needs to be explained, and pydantic's words."""

    loc: tuple[str | int, ...]
    kind: str
    context: Mapping[str, Any]
    words: str


def problems_of(complaints: Sequence[Complaint], raw: Json, schema: dict[str, Any]) -> list[Problem]:
    """Of a file that is wrong throughout the first ones say it: to explain thousands takes as long as nobody
    waits for, and nobody would read them."""
    problems = _Explainer(schema).explain(complaints[:_MOST_TOLD], (), (), raw)
    more = len(complaints) - _MOST_TOLD
    if more > 0:
        what = f"… and {more:,} more problem{'s' * (more > 1)} in this record"
        hint = "fix the first ones, and look again"
        problems.append(Problem("BK103", what, hint, at=(), counts=more))
    return problems


def describe_value(value: Json, name: str | int = "") -> str:
    """A value as a message shows it. What its name gives away as a secret is not shown."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None:
        return "null"
    kinds = {
        str: "string",
        bool: "boolean",
        int: "integer",
        Decimal: "number with more digits than a float holds",
    }
    kind = kinds.get(type(value), "number")
    if is_secret_header(str(name)):
        return f"a {kind}" if kind != "integer" else "an integer"
    shown = repr(value) if isinstance(value, str) else str(value).lower()
    return f"{clipped(shown, _LONGEST_SHOWN, already_masked, counted=False)} ({kind})"


class _Explainer:
    def __init__(self, schema: dict[str, Any]):
        self.schema = schema

    def explain(self, complaints: Sequence[Complaint], loc: Path, at: Path, value: Json) -> list[Problem]:
        """Problems for complaints whose locations begin at `value`, which is at `at`; `loc` leads there
        through the schema."""
        problems: list[Problem] = []
        unions: dict[tuple[Path, Path], list[Complaint]] = {}
        for complaint in complaints:
            depth, path, item = _follow(complaint, value)
            if depth == len(complaint.loc):
                problems += self.one(complaint, (*loc, *complaint.loc), (*at, *path), item)
            else:
                key = ((*loc, *complaint.loc[:depth]), (*at, *path))
                unions.setdefault(key, []).append(complaint._replace(loc=complaint.loc[depth:]))
        for (union_loc, path), members in unions.items():
            problems += self.union(members, union_loc, path, value_at(value, path[len(at) :]))
        return problems

    def one(self, complaint: Complaint, loc: Path, at: Path, value: Json) -> list[Problem]:
        if complaint.kind in ("unexpected_keyword_argument", "extra_forbidden"):
            known = keys_at(self.schema, loc[:-1])
            hint = self.below(str(at[-1]), loc[:-1], known)
            hint = hint or nearest(str(at[-1]), known) or f"known here: {', '.join(known)}"
            return [Problem("BK103", f"unknown key {at[-1]!r}", hint, at=at)]
        if complaint.kind == "missing":
            return [Problem("BK104", f"the key {str(loc[-1])!r} is missing", "add it", at=(*at, loc[-1]))]
        if complaint.kind == "unknown_kind":
            return [kind_problem(value, at, complaint.context["kinds"])]
        problem = _mismatch([complaint], at, value)
        if complaint.kind == "list_type" and isinstance(value, str) and _WORD.fullmatch(value):
            return [replace(problem, hint=f"write [{value}]")]
        keys = keys_at(self.schema, loc) if complaint.kind in _MAPPINGS and not problem.hint else ()
        more = ", …" if len(keys) > _MOST_KEYS else ""
        return [replace(problem, hint=f"with {', '.join(keys[:_MOST_KEYS])}{more}") if keys else problem]

    def below(self, key: str, loc: Path, known: Sequence[str]) -> str:
        """Where a key belongs that stands one level too high."""
        found = [name for name in known if key in keys_at(self.schema, (*loc, name))]
        return f"it belongs below `{found[0]}:`" if len(found) == 1 else ""

    def union(self, members: list[Complaint], loc: Path, at: Path, value: Json) -> list[Problem]:
        """Of a value that is none of several things: the complaints of the one that it is most like."""
        inner: dict[str | int, list[Complaint]] = {}
        for member in members:
            if isinstance(value, dict | list) and (len(member.loc) > 1 or member.kind == "missing"):
                inner.setdefault(member.loc[0], []).append(member._replace(loc=member.loc[1:]))
        for label, complaints in inner.items():
            return self.explain(complaints, (*loc, label), at, value)
        return [_mismatch(members, at, value)]


def kind_problem(current: Json, at: Path, kinds: str) -> Problem:
    """Why a `current:` is of no kind that can be replayed."""
    if not isinstance(current, dict):
        return Problem(
            "BK105",
            f"expected a mapping, found {describe_value(current)}",
            "see `current:` in the docs",
            at=at,
        )
    execution = current.get("execution")
    if not isinstance(execution, dict):
        if "execution" not in current:
            return Problem(
                "BK104",
                "the key 'execution' is missing",
                "add `execution: {type: http}`",
                at=(*at, "execution"),
            )
        what = f"expected a mapping, found {describe_value(execution)}"
        return Problem("BK105", what, "such as {type: http}", at=(*at, "execution"))
    where = (*at, "execution", "type")
    kind = execution.get("type")
    known = f"one of {kinds}"
    if kind is None:
        return Problem("BK104", "the key 'type' is missing", known, at=where)
    hint = nearest(str(kind), kinds.split(", ")) or known
    return Problem("BK105", f"unknown type {describe_value(kind)}", hint, at=where)


def _follow(complaint: Complaint, value: Json) -> tuple[int, Path, Json]:
    """How far a location leads through the value itself, tags aside."""
    path: list[str | int] = []
    for depth, step in enumerate(complaint.loc):
        in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if in_list or (isinstance(value, dict) and step in value):
            value = value[step]
        elif isinstance(step, str) and step.startswith("<") and step.endswith(">"):
            continue
        elif complaint.kind == "missing" and depth == len(complaint.loc) - 1:
            return depth + 1, tuple(path), value
        else:
            return depth, tuple(path), value
        path.append(step)
    return len(complaint.loc), tuple(path), value


def _mismatch(complaints: Sequence[Complaint], at: Path, value: Json) -> Problem:
    choices = [
        choice for each in complaints for choice in re.findall(r"'([^']*)'", each.context.get("expected", ""))
    ]
    expected = list(dict.fromkeys(_EXPECTED.get(each.kind, "") for each in complaints))
    if "a number" in expected and "an integer" in expected:
        expected.remove("an integer")
    if choices:
        expected = [f"one of {', '.join(choices)}", *(word for word in expected if word)]
    if not choices and complaints[0].kind == "literal_error":  # one value alone, and no text
        expected = [complaints[0].context["expected"]]
    words = " or ".join(word for word in expected if word) or complaints[0].words.lower()
    hint = nearest(value, choices) if isinstance(value, str) and choices else ""
    if at[-2:-1] == ("tolerance",) and type(value) in (int, float, Decimal):
        hint = f"write {{abs: {value}}}"  # as the command line takes it
    return Problem(
        "BK105", f"expected {words}, found {describe_value(value, at[-1] if at else '')}", hint, at=at
    )


# Pydantic is imported only when a value is not plainly right, or when somebody asks for the schema.


def validated(kind: Any, raw: Json) -> tuple[Any, list[Problem]]:
    """A value of a class, or what pydantic finds wrong with it."""
    from pydantic_core import ValidationError

    try:
        return _validator(kind).validate_python(raw), []
    except ValidationError as error:
        complaints = [
            Complaint(tuple(each["loc"]), each["type"], each.get("ctx", {}), each["msg"])
            for each in error.errors(include_url=False, include_input=False)
        ]
        return None, problems_of(complaints, raw, schema_of(kind))


@cache
def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a class, its parts under `$defs`: no titles, which repeat the names, and no default
    where it means: not there."""
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        def default_schema(self, schema: Any) -> dict[str, Any]:
            if schema.get("default") is ABSENT:
                return self.generate_inner(schema["schema"])
            return super().default_schema(schema)

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    stated: dict[str, Any] = _adapter(kind).json_schema(schema_generator=Schema)
    return stated


_CONFIG = "__pydantic_config__"
_STRICT: Any = {"extra": "forbid", "strict": True}


@cache
def _adapter(kind: Any) -> Any:
    """Without unknown keys and coercion: what a dataclass says of that holds for those in its fields too."""
    from pydantic import TypeAdapter

    if not is_dataclass(kind):
        return TypeAdapter(kind, config=_STRICT)
    setattr(kind, _CONFIG, _STRICT)
    return TypeAdapter(kind)


@cache
def _validator(kind: Any) -> Any:
    from pydantic_core import SchemaValidator

    return SchemaValidator(_open(_adapter(kind).core_schema))


def _open(schema: Any) -> Any:
    """The schema with its dataclasses open for mappings. Being strict, they would take instances only; what
    stands in their fields stays strict."""
    if isinstance(schema, dict):
        opened = {key: _open(value) for key, value in schema.items()}
        return {**opened, "strict": False} if schema.get("type") == "dataclass" else opened
    return [_open(item) for item in schema] if isinstance(schema, list) else schema


# Pieces of a JSON Schema, put together from the classes that read the files.

Schema = dict[str, Any]
Parts = dict[str, Schema]


def add_part(parts: Parts, name: str, kind: Any, **other: Schema) -> None:
    """What a class states, under a name, with some of its keys as they are really written. A key with nothing
    behind it is as good as none."""
    stated = dict(schema_of(kind))
    for inner, raw in stated.pop("$defs", {}).items():
        part = {key: value for key, value in raw.items() if key != "title"}
        assert parts.setdefault(inner, part) == part, inner
    stated.pop("title", None)
    known = stated["properties"]
    stated["properties"] = {key: other.get(key, known[key]) for key in known}
    assert parts.setdefault(name, stated) == stated, name


def written_out(schema: Schema) -> str:
    """As it stands in a file."""
    return json.dumps(schema, indent=1) + "\n"


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_or_several(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}


def closed(properties: dict[str, Schema], at_least: int = 0) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": at_least,
    }
