"""For authors of eval files: the JSON Schema that editors use, and the example that `init` writes."""

import os
from collections.abc import Sequence
from pathlib import Path

from baselinekit.grade.by_function import Program
from baselinekit.grade.by_text import Lists
from baselinekit.grade.graders import GRADERS, Graders
from baselinekit.model.evals import Expected
from baselinekit.schema.complaints import Parts, Schema, add_part, closed, one_or_several, ref, written_out
from baselinekit.store import writing
from baselinekit.store.dialects.native import json_schema as baseline_schema
from baselinekit.store.results import write_text
from baselinekit.suites.dialects.dialect import EXECUTIONS, INPUTS, Dialect, StatedInput
from baselinekit.suites.dialects.graders import InlineGrader, NamedGrader
from baselinekit.suites.dialects.table import DIALECTS

# The JSON Schema of eval files and suites, for editors: every form that such a file may have, put
# together from the classes that read them.


_ANYTHING: Schema = {}


def json_schema() -> Schema:
    """The schema of a whole file."""
    return schema_with(GRADERS)


def schema_with(graders: Graders, dialects: Sequence[Dialect] = DIALECTS) -> Schema:
    parts: Parts = dict(baseline_schema()["$defs"])
    add_recipes(parts)
    add_graders(parts, graders)
    add_expectations(parts)
    alone: list[Schema] = []
    wrapped: dict[str, Schema] = {}
    whole: list[Schema] = []
    for dialect in dialects:
        forms = dialect.schema(parts)
        if dialect.wrapper is not None:
            wrapped[dialect.wrapper] = one_or_several(forms[0]) if dialect.in_lists else forms[0]
        (alone if dialect.in_lists else [] if dialect.wrapper else whole).extend(forms)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit eval file",
        "anyOf": [
            *alone,
            {"type": "array", "minItems": 1, "items": {"anyOf": alone}},
            closed(wrapped, at_least=1),
            *whole,
        ],
        "$defs": parts,
    }


def add_recipes(parts: Parts) -> None:
    for name, kind in EXECUTIONS.items():
        add_part(parts, f"{name.title()}Target", kind)
    parts["Execution"] = {"oneOf": [ref(f"{name.title()}Target") for name in EXECUTIONS]}
    kinds = []
    for name, schema in INPUTS.items():
        part = f"Asked_{name}"
        add_part(parts, part, StatedInput, type={"const": name}, content={**schema})
        kinds.append(ref(part))
    parts["Input"] = {"oneOf": kinds}


def add_graders(parts: Parts, graders: Graders) -> None:
    """By its name, or with a config by its type and method. Who leaves the method out is understood by what
    else is said."""
    methods: dict[str, list[Schema]] = {"code": [], "model": [], "human": []}
    every: Parts = {}
    for row in graders.values():
        if row.kind != "code" and not row.method:
            add_part(parts, f"{row.kind.title()}Config", row.schema)
        if not row.method:
            continue
        part = f"{row.config.__name__}Config"
        inner = {"graders": {"type": "array", "items": ref("AnyGrader")}} if row.compose else {}
        add_part(parts, part, row.schema, **inner)
        stated = parts[part]
        every |= stated["properties"] if row.kind == "code" else {}
        stated["properties"] = {"method": {"const": row.method}, **stated["properties"]}
        required = [key for key in stated.get("required", ()) if key != "function_name"]
        parts[part] = {**stated, "required": ["method", *required]}
        methods[row.kind].append(ref(part))
    parts["CodeConfig"] = {"anyOf": [*methods["code"], closed(every)]}
    kinds = []
    for name, others in methods.items():
        part, config = f"{name.title()}Grader", ref(f"{name.title()}Config")
        if others and name != "code":
            config = {"anyOf": [config, *others]}
        add_part(parts, part, InlineGrader, type={"const": name}, config=config)
        kinds.append(ref(part))
    add_part(parts, "NamedGrader", NamedGrader)
    by_name = {"type": "string", "description": "A grader of config/graders.yaml."}
    parts["AnyGrader"] = {"anyOf": [by_name, ref("NamedGrader"), *kinds]}


def add_expectations(parts: Parts) -> None:
    """By its type; without one it is `exact`."""
    add_part(parts, "Lists", Lists)
    calls = dict(parts["Call"]["properties"])
    calls |= {"input": calls["args"], "output": calls["expected"]}  # as the document has them
    call = {**closed(calls), "anyOf": [{"required": ["output"]}, {"required": ["expected"]}]}
    add_part(parts, "Program", Program, test_cases={"type": "array", "minItems": 1, "items": call})
    values: Parts = {
        **dict.fromkeys(("exact", "contains", "pattern"), _ANYTHING),
        "semantic": {"anyOf": [{"type": "string"}, ref("Lists")]},
        "functional": ref("Program"),
    }
    for name, value in values.items():
        several = {"type": "array", "items": value}
        add_part(parts, f"Expected_{name}", Expected, type={"const": name}, value=value, alternatives=several)
        parts[f"Expected_{name}"]["required"] = [] if name == "exact" else ["type"]
    parts["Expected"] = {"anyOf": [ref(f"Expected_{name}") for name in values]}


# The folders and files that evals begin with: a small suite that runs as it is.


SKILL = "reverse"
"""Whom the example asks, by the name that the configuration gives it."""

SKILLS = f"""\
skills:
  {SKILL}: {{python: "baselinekit.demo.skills:reverse"}}  # the example in evals/: put your own here
"""

_NAMES = (
    "eval-suite.yaml",
    "config/graders.yaml",
    "config/thresholds.yaml",
    "capability/strings.yaml",
    "regression/sentence.yaml",
    "baselines/sentence.txt",
    ".gitignore",
)
_FOR_EDITORS = ("eval-suite.yaml", "capability/strings.yaml", "regression/sentence.yaml")


def example_files() -> dict[str, str]:
    """The text of each file of the example, which lies beside this module."""
    folder = Path(__file__).with_name("example")
    return {name: (folder / name.removeprefix(".")).read_text("utf-8") for name in _NAMES}


def scaffold(folder: str, root: str) -> tuple[list[str], list[str]]:
    """Write what is not there yet below a folder: what was written, and what is left as it was. What editors
    check begins with the line by which they find the schema."""
    written, left = [], []
    for name, text in example_files().items():
        path = os.path.join(root, folder, name)
        if os.path.lexists(path):
            left.append(os.path.join(folder, name))
            continue
        if name in _FOR_EDITORS:
            schema = writing.reference(
                root, os.path.dirname(os.path.join(folder, name)), "evals", lambda: written_out(json_schema())
            )
            text = f"# yaml-language-server: $schema={schema}\n{text}"
        write_text(path, text, root)
        written.append(os.path.join(folder, name))
    return written, left
