"""The folders and files that evals begin with: a small suite that runs as it is."""

import os
from pathlib import Path

from baselinekit.store import writing
from baselinekit.store.results import write_text
from baselinekit.suites.schema import json_schema

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
                root, os.path.dirname(os.path.join(folder, name)), "evals", json_schema
            )
            text = f"# yaml-language-server: $schema={schema}\n{text}"
        write_text(path, text, root)
        written.append(os.path.join(folder, name))
    return written, left
