"""Pieces of a JSON Schema, put together from the classes that read the files."""

from typing import Any

from baselinekit.schema.validate import schema_of

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
