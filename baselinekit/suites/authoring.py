"""For authors of eval files: the JSON Schema that editors use, and the example that `init` writes."""

import os
from collections.abc import Sequence
from pathlib import Path

from baselinekit.model.evals import Expected
from baselinekit.schema import Parts, Schema, add_part, closed_object, dump_schema, one_or_several, ref
from baselinekit.store import atomic
from baselinekit.store.dialects.native import json_schema as baseline_schema
from baselinekit.store.results import write_text
from baselinekit.suites.dialect import Dialect, add_inputs
from baselinekit.suites.loading import DIALECTS
from baselinekit.suites.settings import InlineGrader, NamedGrader

# The JSON Schema of eval files and suites, for editors: every form that such a file may have, built from
# the classes that read them.


def json_schema(dialects: Sequence[Dialect] = DIALECTS) -> Schema:
    """Return the schema of a whole file."""
    parts: Parts = dict(baseline_schema()["$defs"])
    add_inputs(parts)
    add_part(parts, "InlineGrader", InlineGrader)
    add_part(parts, "NamedGrader", NamedGrader)
    by_name = {"type": "string", "description": "A grader of config/graders.yaml."}
    parts["AnyGrader"] = {"anyOf": [by_name, ref("NamedGrader"), ref("InlineGrader")]}
    add_part(parts, "Expected", Expected)
    list_forms: list[Schema] = []
    wrapped: dict[str, Schema] = {}
    file_forms: list[Schema] = []
    for dialect in dialects:
        forms = dialect.schema(parts)
        if dialect.wrapper is not None:
            wrapped[dialect.wrapper] = one_or_several(forms[0]) if dialect.in_lists else forms[0]
        if dialect.in_lists:
            list_forms += forms
        elif dialect.wrapper is None:
            file_forms += forms
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "baselinekit eval file",
        "anyOf": [
            *list_forms,
            {"type": "array", "minItems": 1, "items": {"anyOf": list_forms}},
            closed_object(wrapped, at_least=1),
            *file_forms,
        ],
        "$defs": parts,
    }


# The folders and files of a new project: a small suite that runs as it is.


SKILL = "reverse"
"""The skill that the example tests, by its name in the configuration."""

SKILLS = f"""\
skills:
  {SKILL}: {{python: "baselinekit.demo.skills:reverse"}}  # the example in evals/: put your own here
"""


_EXAMPLE_FILES = (
    "eval-suite.yaml",
    "config/graders.yaml",
    "config/thresholds.yaml",
    "capability/strings.yaml",
    "regression/sentence.yaml",
    "baselines/sentence.txt",
    ".gitignore",
)


def example_files() -> dict[str, str]:
    """Return the text of each file of the example, which is in a folder next to this module."""
    folder = Path(__file__).with_name("example")
    return {name: (folder / name.removeprefix(".")).read_text("utf-8") for name in _EXAMPLE_FILES}


def scaffold(folder: str, root: str) -> tuple[list[str], list[str]]:
    """Write the example files that do not exist yet below a folder. Return the written and the skipped files.
    Files that editors check begin with the line that points to the schema."""
    written, skipped = [], []
    for name, text in example_files().items():
        path = os.path.join(root, folder, name)
        if os.path.lexists(path):
            skipped.append(os.path.join(folder, name))
            continue
        if name.endswith(".yaml") and not name.startswith("config/"):
            schema = reference(root, os.path.dirname(os.path.join(folder, name)))
            text = f"# yaml-language-server: $schema={schema}\n{text}"
        write_text(path, text)
        written.append(os.path.join(folder, name))
    return written, skipped


def reference(root: str, folder: str) -> str:
    """Update the schema file, and return its path relative to a folder of the project."""
    return atomic.reference(root, folder, "evals", lambda: dump_schema(json_schema()))
