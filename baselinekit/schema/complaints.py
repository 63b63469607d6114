"""Everything that needs pydantic: why a value is not valid, in our own words, and the JSON Schema of a
class."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from baselinekit.errors import Problem, suggest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.secrets.names import is_secret_header
from baselinekit.values.places import value_at
from baselinekit.values.texts import mask_and_clip, no_mask

# The keys that a mapping may have are looked up in the JSON Schema of its class.


def keys_at(schema: dict[str, Any], loc: Path) -> list[str]:
    """Return the keys that a mapping may have. The location also contains members of unions and tags."""
    definitions = schema.get("$defs", {})
    node = _resolve(schema, definitions)
    for step in loc:
        name = str(step).strip("<>")
        if step in node.get("properties", {}):
            node = node["properties"][step]
        elif name in definitions:
            node = definitions[name]
        elif isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("additionalProperties") or {}
        node = _resolve(node if isinstance(node, dict) else {}, definitions)
    return list(node.get("properties", {}))


def _resolve(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema behind a reference or an optional value."""
    while True:
        if "$ref" in node:
            node = definitions[node["$ref"].rpartition("/")[2]]
            continue
        choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
        if len(choices) != 1:
            return node
        node = choices[0]


# A problem says where, what was expected, what is there, and what may have been meant. Pydantic's locations
# have the members of a union between the keys; the complaints of a union become one problem.

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
_MAX_KEYS = 6
_MAX_REPORTED = 50


class Complaint(NamedTuple):
    """An error of pydantic: its location, its type, the context of that type, and pydantic's message."""

    loc: tuple[str | int, ...]
    kind: str
    context: Mapping[str, Any]
    words: str


def problems_of(complaints: Sequence[Complaint], raw: Json, schema: dict[str, Any]) -> list[Problem]:
    """Explain complaints, but only the first ones if a file is wrong throughout: explaining thousands would
    take very long, and nobody would read them."""
    problems = _Explainer(schema).explain(complaints[:_MAX_REPORTED], (), (), raw)
    remaining = len(complaints) - _MAX_REPORTED
    if remaining > 0:
        message = f"… and {remaining:,} more problem{'s' * (remaining > 1)} in this record"
        hint = "fix the first ones, and look again"
        problems.append(Problem("BK103", message, hint, at=(), counts=remaining))
    return problems


def describe_value(value: Json, name: str | int = "") -> str:
    """Describe a value for a message. A value whose name says that it is a secret is not shown."""
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
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return f"{mask_and_clip(text, _LONGEST_SHOWN, no_mask, counted=False)} ({kind})"


class _Explainer:
    def __init__(self, schema: dict[str, Any]):
        self.schema = schema

    def explain(self, complaints: Sequence[Complaint], loc: Path, at: Path, value: Json) -> list[Problem]:
        """Return problems for complaints whose locations start at `value`, which is at `at`; `loc` is its
        location in the schema."""
        problems: list[Problem] = []
        unions: dict[tuple[Path, Path], list[Complaint]] = {}
        for complaint in complaints:
            depth, path, item = _follow(complaint, value)
            if depth == len(complaint.loc):
                problems += self.explain_one(complaint, (*loc, *complaint.loc), (*at, *path), item)
            else:
                key = ((*loc, *complaint.loc[:depth]), (*at, *path))
                unions.setdefault(key, []).append(complaint._replace(loc=complaint.loc[depth:]))
        for (union_loc, path), members in unions.items():
            problems += self.explain_union(members, union_loc, path, value_at(value, path[len(at) :]))
        return problems

    def explain_one(self, complaint: Complaint, loc: Path, at: Path, value: Json) -> list[Problem]:
        if complaint.kind in ("unexpected_keyword_argument", "extra_forbidden"):
            known_keys = keys_at(self.schema, loc[:-1])
            hint = self.find_parent(str(at[-1]), loc[:-1], known_keys)
            hint = hint or suggest(str(at[-1]), known_keys) or f"known here: {', '.join(known_keys)}"
            return [Problem("BK103", f"unknown key {at[-1]!r}", hint, at=at)]
        if complaint.kind == "missing":
            return [Problem("BK104", f"the key {str(loc[-1])!r} is missing", "add it", at=(*at, loc[-1]))]
        if complaint.kind == "unknown_kind":
            return [kind_problem(value, at, complaint.context["kinds"])]
        problem = _mismatch([complaint], at, value)
        if complaint.kind == "list_type" and isinstance(value, str) and _WORD.fullmatch(value):
            return [replace(problem, hint=f"write [{value}]")]
        keys = keys_at(self.schema, loc) if complaint.kind in _MAPPINGS and not problem.hint else ()
        ellipsis = ", …" if len(keys) > _MAX_KEYS else ""
        return [replace(problem, hint=f"with {', '.join(keys[:_MAX_KEYS])}{ellipsis}") if keys else problem]

    def find_parent(self, key: str, loc: Path, known_keys: Sequence[str]) -> str:
        """Return a hint for a key that is one level too high: the key that it belongs below."""
        parents = [name for name in known_keys if key in keys_at(self.schema, (*loc, name))]
        return f"it belongs below `{parents[0]}:`" if len(parents) == 1 else ""

    def explain_union(self, members: list[Complaint], loc: Path, at: Path, value: Json) -> list[Problem]:
        """Explain a value that matches no member of a union, by the complaints of the most similar member."""
        complaints_by_member: dict[str | int, list[Complaint]] = {}
        for member in members:
            if isinstance(value, dict | list) and (len(member.loc) > 1 or member.kind == "missing"):
                complaints_by_member.setdefault(member.loc[0], []).append(member._replace(loc=member.loc[1:]))
        for label, complaints in complaints_by_member.items():
            return self.explain(complaints, (*loc, label), at, value)
        return [_mismatch(members, at, value)]


def kind_problem(current: Json, at: Path, kinds: str) -> Problem:
    """Return the problem of a `current:` that is of no known kind."""
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
        message = f"expected a mapping, found {describe_value(execution)}"
        return Problem("BK105", message, "such as {type: http}", at=(*at, "execution"))
    type_path = (*at, "execution", "type")
    kind = execution.get("type")
    hint_kinds = f"one of {kinds}"
    if kind is None:
        return Problem("BK104", "the key 'type' is missing", hint_kinds, at=type_path)
    hint = suggest(str(kind), kinds.split(", ")) or hint_kinds
    return Problem("BK105", f"unknown type {describe_value(kind)}", hint, at=type_path)


def _follow(complaint: Complaint, value: Json) -> tuple[int, Path, Json]:
    """Follow a location through a value as far as possible, ignoring tags. Returns the depth, path and
    value."""
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
        choice
        for complaint in complaints
        for choice in re.findall(r"'([^']*)'", complaint.context.get("expected", ""))
    ]
    expected = list(dict.fromkeys(_EXPECTED.get(complaint.kind, "") for complaint in complaints))
    if "a number" in expected and "an integer" in expected:
        expected.remove("an integer")
    if choices:
        expected = [f"one of {', '.join(choices)}", *(word for word in expected if word)]
    if not choices and complaints[0].kind == "literal_error":  # a single value that is not a text
        expected = [complaints[0].context["expected"]]
    description = " or ".join(word for word in expected if word) or complaints[0].words.lower()
    hint = suggest(value, choices) if isinstance(value, str) and choices else ""
    if at[-2:-1] == ("tolerance",) and type(value) in (int, float, Decimal):
        hint = f"write {{abs: {value}}}"  # the form on the command line
    return Problem(
        "BK105", f"expected {description}, found {describe_value(value, at[-1] if at else '')}", hint, at=at
    )


# Pydantic is imported only if a value is not plainly valid, or if the schema is needed.


def validated(kind: Any, raw: Json) -> tuple[Any, list[Problem]]:
    """Return a value of a class, or the problems that pydantic finds."""
    from pydantic_core import ValidationError

    try:
        return _validator(kind).validate_python(raw), []
    except ValidationError as error:
        complaints = [
            Complaint(tuple(details["loc"]), details["type"], details.get("ctx", {}), details["msg"])
            for details in error.errors(include_url=False, include_input=False)
        ]
        return None, problems_of(complaints, raw, schema_of(kind))


@cache
def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a class, with its parts under `$defs`, without titles, which only repeat the
    names, and without defaults that mean "missing"."""
    from inspect import cleandoc

    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        def default_schema(self, schema: Any) -> dict[str, Any]:
            if schema.get("default") is ABSENT:
                return self.generate_inner(schema["schema"])
            return super().default_schema(schema)

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            described: dict[str, Any] = super().dataclass_schema(schema)
            described.setdefault("additionalProperties", False)  # before 2.14 only the outermost one said so
            if text := schema["cls"].__doc__:
                described.setdefault("description", cleandoc(text))
            return described

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    json_schema: dict[str, Any] = _adapter(kind).json_schema(schema_generator=Schema)
    return json_schema


_CONFIG = "__pydantic_config__"
_STRICT_CONFIG: Any = {"extra": "forbid", "strict": True}


@cache
def _adapter(kind: Any) -> Any:
    """Return an adapter that allows no unknown keys and no coercion. The configuration of a dataclass also
    applies to the dataclasses in its fields."""
    from pydantic import TypeAdapter

    if not is_dataclass(kind):
        return TypeAdapter(kind, config=_STRICT_CONFIG)
    setattr(kind, _CONFIG, _STRICT_CONFIG)
    return TypeAdapter(kind)


@cache
def _validator(kind: Any) -> Any:
    from pydantic_core import SchemaValidator

    return SchemaValidator(_accept_mappings(_adapter(kind).core_schema))


def _accept_mappings(schema: Any) -> Any:
    """Return the schema with dataclasses that accept mappings. Strict ones would accept only instances. Their
    fields stay strict."""
    if isinstance(schema, dict):
        accepting = {key: _accept_mappings(value) for key, value in schema.items()}
        return {**accepting, "strict": False} if schema.get("type") == "dataclass" else accepting
    return [_accept_mappings(item) for item in schema] if isinstance(schema, list) else schema


# Parts of a JSON Schema, made from the classes that read the files.

Schema = dict[str, Any]
Parts = dict[str, Schema]


def add_part(parts: Parts, name: str, kind: Any, **other: Schema) -> None:
    """Add the schema of a class under a name. `other` replaces the schemas of keys that are written
    differently in files."""
    schema = dict(schema_of(kind))
    for part_name, raw in schema.pop("$defs", {}).items():
        part = {key: value for key, value in raw.items() if key != "title"}
        assert parts.setdefault(part_name, part) == part, part_name
    schema.pop("title", None)
    properties = schema["properties"]
    schema["properties"] = {key: other.get(key, properties[key]) for key in properties}
    assert parts.setdefault(name, schema) == schema, name


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
