"""The JSON Schema for editors accepts the files that the loader accepts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from storehelp import EXAMPLES

from baselinekit.files.languages import YAML
from baselinekit.kinds.table import KINDS
from baselinekit.model.baselines import Known, Metadata, Rules
from baselinekit.model.recipes import HttpRequest
from baselinekit.schema import dump_schema
from baselinekit.store import atomic
from baselinekit.store.dialects.native import json_schema

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def test_json_schema_has_every_key_of_the_structs() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for part in (Known, Metadata, Rules, HttpRequest):
        assert set(SCHEMA["$defs"][part.__name__]["properties"]) == set(part.__struct_fields__)
    assert "default" not in SCHEMA["$defs"]["HttpRequest"]["properties"]["json"]
    current = SCHEMA["$defs"]["Record"]["properties"]["current"]["oneOf"]
    assert {choice["$ref"].removeprefix("#/$defs/") for choice in current} == {
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
        ({"id": "a", "current": {"input": {"steps": [{"url": "http://x"}]}, "execution": {"type": "http"}}},
         True),
        ({"id": "a", "current": {"input": {"argv": ["x"]}, "execution": {"type": "command"}}}, True),
        ({"id": "a b", "current": HTTP}, False),
        ({"id": "a"}, False),
        ({"id": "a", "current": HTTP, "nam": "x"}, False),
        ({"id": "a", "current": HTTP, "comparison": {"type": "structral"}}, False),
        ({"id": "a", "current": HTTP, "comparison": {"arrays": {"a": {"by": "id"}, "b": "each"}}}, True),
        ({"id": "a", "current": {"input": {"endpont": "/x"}, "execution": {"type": "http"}}}, False),
        ({"id": "a", "current": {"input": 1, "execution": {"type": "prompt"}}}, False),
        ({"id": "a", "current": {"input": "x", "execution": {"type": "prompt"}}}, True),
        ({"id": "a", "current": {"input": {"text": "x"}, "execution": {"type": "prompt"}}}, True),
    ],
)  # fmt: skip
def test_json_schema_accepts_baselines_only(value: Any, good: bool) -> None:
    assert VALIDATOR.is_valid(value) is good


def test_baseline_schema_file_is_up_to_date() -> None:
    """BASELINEKIT_GOLDEN=write renews it."""
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        Path(atomic.__file__).with_name("baseline.schema.json").write_text(dump_schema(SCHEMA), "utf-8")
    text = atomic.baseline_schema()
    assert text == dump_schema(SCHEMA), "BASELINEKIT_GOLDEN=write renews it"
    assert json.loads(text)["$defs"]["Record"]["additionalProperties"] is False
