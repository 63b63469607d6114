"""A prompt folder as tests write one down."""

from pathlib import Path

from storehelp import EXAMPLES, write

META = """\
id: refactor
title: Refactor
summary: Changes code without changing what it does.
status: draft
version: 1.0.0
created: 2026-01-02
updated: 2026-02-03
description: Refactors code. Use when somebody wants code changed and its behaviour kept.
triggers:
  - refactor this file
not_for:
  - questions about code
aliases: [rf, tidy]
inputs:
  - name: constraints
    required: false
  - name: file
    default: src/foo.py
"""
TEMPLATE = "<prompt>\nRefactor {{file}}.\n<constraints>{{constraints}}</constraints>\n</prompt>\n"
INPUTS = "constraints: keep the names\n"
CASE = """\
cases:
  - name: one
    inputs: {constraints: none}
    assert: [contains: total]
"""
FOLDER = "prompts/refactor"


def prompt_folder(
    root: Path,
    evals: str | None = CASE,
    folder: str = FOLDER,
    *,
    meta: str | None = META,
    template: str | None = TEMPLATE,
    inputs: str | None = INPUTS,
) -> Path:
    """All that belongs into one; None leaves a file out."""
    files = {
        "meta.yml": meta,
        "prompt.xml": template,
        "examples/happy-path/inputs.yml": inputs,
        "eval.yml": evals,
    }
    for name, text in files.items():
        if text is not None:
            write(root, f"{folder}/{name}", text)
    return root / folder


def example(name: str) -> str:
    """One of the four files of the documents, as it is."""
    return (EXAMPLES / "eva" / f"{name}.yaml").read_text("utf-8")
