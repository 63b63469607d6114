"""The JSON Schema that editors use says of a file what the loader says."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES

from baselinekit.files.languages import YAML
from baselinekit.kinds.table import KINDS
from baselinekit.model.baselines import Known, Metadata, Rules
from baselinekit.model.recipes import HttpRequest
from baselinekit.schema import dump_schema
from baselinekit.store import schemafile
from baselinekit.store.dialects.native import json_schema

SCHEMA = json_schema()
DRAFT_07 = {
    *("$schema", "$ref", "$defs", "title", "description", "default", "type", "enum", "const", "pattern"),
    *("anyOf", "oneOf", "properties", "required", "additionalProperties", "items"),
    *("minimum", "maximum", "exclusiveMinimum", "minLength"),
}
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def fits(value: Any, schema: Any) -> bool:
    """A validator of the few keywords that the schema uses."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    kind = schema.get("type")
    if kind and (
        not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool))
    ):
        return False
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, one) for one in schema["oneOf"]) != 1:
        return False
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return False
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, list):
        return all(fits(item, schema.get("items", True)) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        return set(schema.get("required", ())) <= value.keys() and all(
            fits(item, known.get(key, others)) for key, item in value.items()
        )
    return True


def keywords(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, inner in schema.items():
        if key in ("properties", "$defs"):
            found |= {word for part in inner.values() for word in keywords(part)}
        elif key in ("anyOf", "oneOf"):
            found |= {word for part in inner for word in keywords(part)}
        elif key in ("items", "additionalProperties"):
            found |= keywords(inner)
    return found


def test_it_uses_what_every_editor_knows() -> None:
    assert keywords(SCHEMA) <= DRAFT_07
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_has_every_key_of_the_model() -> None:
    for part in (Known, Metadata, Rules, HttpRequest):
        assert set(SCHEMA["$defs"][part.__name__]["properties"]) == set(part.__struct_fields__)
    assert "default" not in SCHEMA["$defs"]["HttpRequest"]["properties"]["json"]
    current = SCHEMA["$defs"]["Record"]["properties"]["current"]["oneOf"]
    assert {one["$ref"].removeprefix("#/$defs/") for one in current} == {
        f"{kind.capitalize()}Current" for kind in (*KINDS, "flow")
    }


HTTP = {"input": {"endpoint": "/x"}, "execution": {"type": "http"}}


@pytest.mark.parametrize(
    ("value", "good"),
    [
        (YAML.load((EXAMPLES / "regression-api-users.yaml").read_text(), "")[0], True),
        (YAML.load((EXAMPLES / "regression-quality.yaml").read_text(), "")[0], True),
        ({"id": "a", "current": HTTP}, True),
        ({"regression_eval": [{"id": "a", "current": HTTP}]}, True),
        (
            {
                "id": "a",
                "current": {"input": {"steps": [{"url": "http://x"}]}, "execution": {"type": "http"}},
            },
            True,
        ),
        ({"id": "a", "current": {"input": {"argv": ["x"]}, "execution": {"type": "command"}}}, True),
        ({"id": "a b", "current": HTTP}, False),
        ({"id": "a"}, False),
        ({"id": "a", "current": HTTP, "nam": "x"}, False),
        ({"id": "a", "current": HTTP, "comparison": {"type": "structral"}}, False),
        ({"id": "a", "current": HTTP, "comparison": {"arrays": {"a": {"by": "id"}, "b": "each"}}}, True),
        ({"id": "a", "current": {"input": {"endpont": "/x"}, "execution": {"type": "http"}}}, False),
        ({"id": "a", "current": {"input": 1, "execution": {"type": "prompt"}}}, False),
        ({"id": "a", "current": {"input": "x", "execution": {"type": "prompt"}}}, True),
        ({"id": "a", "current": {"input": {"content": "x"}, "execution": {"type": "prompt"}}}, True),
    ],
)
def test_it_tells_a_baseline_from_others(value: Any, good: bool) -> None:
    assert fits(value, SCHEMA) is good


def test_the_schema_that_comes_with_the_package_is_that_of_the_classes() -> None:
    """BASELINEKIT_GOLDEN=write renews it."""
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        Path(schemafile.__file__).with_name("baseline.schema.json").write_text(dump_schema(SCHEMA), "utf-8")
    text = schemafile.baseline_schema()
    assert text == dump_schema(SCHEMA), "BASELINEKIT_GOLDEN=write renews it"
    assert json.loads(text)["$defs"]["Record"]["additionalProperties"] is False
