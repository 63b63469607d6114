"""The JSON Schema of eval files and suites, for editors: every form that such a file may have, put together
from the classes that read them."""

from collections.abc import Mapping
from typing import Any

from baselinekit.grade.graders import GRADERS, Graders
from baselinekit.model.evals import Expected
from baselinekit.schema.validate import schema_of
from baselinekit.store.checks import ID
from baselinekit.store.dialects import harness
from baselinekit.store.dialects.native import json_schema as baseline_schema
from baselinekit.suites import gatefiles
from baselinekit.suites.dialects import asking, capability, expecting, suite, testcases
from baselinekit.suites.dialects.graders import InlineGrader, NamedGrader
from baselinekit.suites.files import CAPABILITY

Schema = dict[str, Any]

_ANYTHING: Schema = {}
_THRESHOLD: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def json_schema() -> Schema:
    """The schema of a whole file."""
    return schema_with(GRADERS)


def schema_with(graders: Graders) -> Schema:
    parts: dict[str, Schema] = dict(baseline_schema()["$defs"])
    _recipes(parts)
    _graders(parts, graders)
    _expected(parts)
    _cases(parts)
    _suites(parts)
    one = [_ref(name) for name in ("Case", "CasesFile", "Record", "JsonRecord")]
    wrapped = _closed(
        {
            CAPABILITY: _one_or_several(_ref("Case")),
            "regression_eval": _one_or_several(_ref("Record")),
            suite.WRAPPER: _ref("Suite"),
        },
        at_least=1,
    )
    gates = _closed({gatefiles.PHASE: _ref("Phase"), gatefiles.TRIGGER: _ref("Trigger")}, at_least=1)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit eval file",
        "anyOf": [*one, {"type": "array", "minItems": 1, "items": {"anyOf": one}}, wrapped, gates],
        "$defs": parts,
    }


def _part(parts: dict[str, Schema], name: str, kind: Any, **other: Schema) -> None:
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


def _recipes(parts: dict[str, Schema]) -> None:
    for name, kind in asking.EXECUTIONS.items():
        _part(parts, f"{name.title()}Target", kind)
    parts["Execution"] = {"oneOf": [_ref(f"{name.title()}Target") for name in asking.EXECUTIONS]}
    content: Mapping[str, Schema] = {
        "prompt": {"type": "string"},
        "file": {"type": "string", "description": "The path of a file, from the folder of this one."},
        "api_call": _ref("HttpRequest"),
        "skill": _ANYTHING,
        "command": {"anyOf": [_ref("CommandInput"), {"type": "array", "items": {"type": "string"}}]},
    }
    kinds = []
    for name, schema in content.items():
        part = f"Asked_{name}"
        _part(parts, part, asking.StatedInput, type={"const": name}, content=schema)
        kinds.append(_ref(part))
    parts["Input"] = {"oneOf": kinds}


def _graders(parts: dict[str, Schema], graders: Graders) -> None:
    """By its name, or with a config by its type and method. Who leaves the method out is understood by what
    else is said."""
    methods = []
    every: dict[str, Schema] = {}
    for row in graders.values():
        if row.kind != "code":
            _part(parts, f"{row.kind.title()}Config", row.config)
        if not row.method:
            continue
        part = f"{row.config.__name__}Config"
        _part(parts, part, row.config)
        stated = parts[part]
        every |= stated["properties"]
        stated["properties"] = {"method": {"const": row.method}, **stated["properties"]}
        required = [key for key in stated.get("required", ()) if key != "function_name"]
        parts[part] = {**stated, "required": ["method", *required]}
        methods.append(_ref(part))
    parts["CodeConfig"] = {"anyOf": [*methods, _closed(every)]}
    kinds = []
    for name in ("code", "model", "human"):
        part = f"{name.title()}Grader"
        _part(parts, part, InlineGrader, type={"const": name}, config=_ref(f"{name.title()}Config"))
        kinds.append(_ref(part))
    _part(parts, "NamedGrader", NamedGrader)
    by_name = {"type": "string", "description": "A grader of config/graders.yaml."}
    parts["AnyGrader"] = {"anyOf": [by_name, _ref("NamedGrader"), *kinds]}


def _expected(parts: dict[str, Schema]) -> None:
    """By its type; without one it is `exact`."""
    _part(parts, "Lists", expecting.Lists)
    calls = dict(parts["Call"]["properties"])
    calls |= {"input": calls["args"], "output": calls["expected"]}  # as the document has them
    call = {**_closed(calls), "anyOf": [{"required": ["output"]}, {"required": ["expected"]}]}
    _part(parts, "Program", expecting.Program, test_cases={"type": "array", "minItems": 1, "items": call})
    values: dict[str, Schema] = {
        **dict.fromkeys(("exact", "contains", "pattern"), _ANYTHING),
        "semantic": {"anyOf": [{"type": "string"}, _ref("Lists")]},
        "functional": _ref("Program"),
    }
    for name, value in values.items():
        several = {"type": "array", "items": value}
        _part(parts, f"Expected_{name}", Expected, type={"const": name}, value=value, alternatives=several)
        parts[f"Expected_{name}"]["required"] = [] if name == "exact" else ["type"]
    parts["Expected"] = {"anyOf": [_ref(f"Expected_{name}") for name in values]}


def _cases(parts: dict[str, Schema]) -> None:
    _part(parts, "CaseMetadata", capability.CaseMetadata)
    graded = {"grader": _ref("AnyGrader"), "graders": {"type": "array", "items": _ref("AnyGrader")}}
    expected = {key: _or_null(_ref("Expected")) for key in capability.EXPECTED}
    _part(
        parts,
        "Case",
        capability.CapabilityRecord,
        id={"type": "string", "pattern": f"^{ID.pattern}$"},
        input=_ref("Input"),
        execution=_or_null(_ref("Execution")),
        metadata=_or_null(_ref("CaseMetadata")),
        **expected,
        **{key: _or_null(schema) for key, schema in graded.items()},
    )
    _part(parts, "CasesFileMetadata", testcases.CaseFileMetadata)
    _part(parts, "CasesFileConfig", testcases.CaseFileConfig, execution=_or_null(_ref("Execution")))
    _part(
        parts,
        "CasesFile",
        testcases.CasesFile,
        metadata=_ref("CasesFileMetadata"),
        config=_or_null(_ref("CasesFileConfig")),
        test_cases={"type": "array", "minItems": 1, "items": _ref("Case")},
        **graded,
    )
    _part(parts, "JsonRecord", harness.RegressionFile)


def _suites(parts: dict[str, Schema]) -> None:
    reference = _closed({suite.REF: {"type": "string"}}, at_least=1)
    entry = {"anyOf": [reference, *map(_ref, ("Case", "CasesFile", "Record"))]}
    _part(parts, "SuiteConfig", suite.SuiteFileConfig, execution=_or_null(_ref("Execution")))
    least = {"type": "object", "additionalProperties": {"anyOf": [_THRESHOLD, {"type": "string"}]}}
    _part(
        parts,
        "Suite",
        suite.StatedSuite,
        config=_or_null(_ref("SuiteConfig")),
        evals={"type": "array", "minItems": 1, "items": entry},
        thresholds={"anyOf": [least, {"type": "string"}]},
    )
    _part(parts, "EvalStep", gatefiles.Step)
    _part(parts, "Trigger", gatefiles.Trigger)
    steps = {"type": "array", "items": {"anyOf": [_ref("EvalStep"), {"type": "object"}]}}
    parts["Phase"] = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_or_several(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}


def _closed(properties: dict[str, Schema], at_least: int = 0) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "minProperties": at_least,
    }
