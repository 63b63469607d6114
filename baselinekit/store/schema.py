"""The JSON Schema of a baseline file: what editors complete and check with, and where we look up which keys
a mapping may have."""

from typing import Any

from baselinekit.model.values import Path
from baselinekit.store.checks import ID

_TAGS = {
    "<http>": "HttpCurrent",
    "<flow>": "FlowCurrent",
    "<command>": "CommandCurrent",
    "<skill>": "SkillCurrent",
}


def keys_at(schema: dict[str, Any], loc: Path) -> list[str]:
    """The keys that a mapping may have. The location names members of unions and tags too."""
    parts = schema.get("$defs", {})
    node = _resolved(schema, parts)
    for step in loc:
        part = _TAGS.get(str(step), str(step))
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


def baseline_file_schema(record: dict[str, Any]) -> dict[str, Any]:
    """The schema of a whole file: a record, a list of them, either under `regression_eval`."""
    parts = {name: _without_titles(part) for name, part in record["$defs"].items()}
    whole = _without_titles({key: value for key, value in record.items() if key != "$defs"})
    if "$ref" not in whole:
        parts["Record"] = whole
    parts["Record"]["properties"]["id"]["pattern"] = f"^{ID.pattern}$"
    one = {"$ref": "#/$defs/Record"}
    several = {"type": "array", "items": one}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit baseline file",
        "anyOf": [
            one,
            several,
            {
                "type": "object",
                "properties": {"regression_eval": {"anyOf": [one, several]}},
                "required": ["regression_eval"],
                "additionalProperties": False,
            },
        ],
        "$defs": parts,
    }


def _without_titles(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value)
        for key, value in node.items()
        if key != "title" or not isinstance(value, str)
    }
