"""The folders and files that evals begin with: a small suite that runs as it is."""

import os

from baselinekit.store import writing
from baselinekit.store.results import write_text
from baselinekit.suites.schema import json_schema

SKILL = "reverse"
"""Whom the example asks, by the name that the configuration gives it."""

SKILLS = f"""\
skills:
  {SKILL}: {{python: "baselinekit.demo.skills:reverse"}}  # the example of evals/: put your own here
"""

FILES = {
    "eval-suite.yaml": """\
# The suite: baselinekit run
eval_suite:
  name: My evals
  version: "1.0"
  description: What it is able to do, and what it must go on doing

  config:
    parallel_execution: true
    max_workers: 4
    timeout_global: 600
    # Whom the cases ask: a skill, or a model with {type: prompt, model: default}
    execution: {type: skill, skill_name: reverse}

  # Files or folders, from this folder on
  evals:
    - $ref: ./capability/
    - $ref: ./regression/

  # Each run is kept in results/
  reporting:
    format: [json, markdown]
    include_details: true
""",
    "config/graders.yaml": """\
# Graders by name: a case says `grader: one-word`.
one-word:
  type: code
  config: {method: regex, pattern: '^\\S*$'}

# A model as a judge: name it under `models:` in baselinekit.yaml first.
# friendly:
#   type: model
#   config:
#     model: judge
#     rubric: |
#       1. **Tone** (weight: 0.6): is it friendly?
#       2. **Brevity** (weight: 0.4): is it short?
#     scoring: {type: numeric, range: [1, 5], threshold: 4}
""",
    "config/thresholds.yaml": """\
# The least values that a run of the suite has to reach. `preset: production` (or development, staging,
# critical) names pass@1, pass@3 and pass^3 at once.
pass@1: 0.9
""",
    "capability/strings.yaml": """\
# What it is able to do: an input, what would be right, and who says so.
schema_version: "1.0"
eval_type: capability

metadata:
  id: strings
  name: Strings backwards
  category: strings
  tags: [basic]

config:
  timeout_seconds: 30
  retries: 0

test_cases:
  - id: word
    name: One word
    input: {type: prompt, content: hello}
    expected: {type: exact, value: olleh}
    graders: [{type: code, config: {method: exact_match}}, one-word]

  - id: empty
    name: No word at all
    input: {type: prompt, content: ""}
    expected: {type: exact, value: ""}
""",
    "regression/sentence.yaml": """\
# What it must go on doing: a baseline, as `baselinekit capture` writes them.
id: sentence
name: A sentence backwards, as it once was
baseline:
  output_file: ../baselines/sentence.txt
current:
  input: A man, a plan, a canal
  execution: {type: skill, skill_name: reverse}
comparison:
  type: exact
metadata:
  criticality: high
  last_passed: null
  failure_count: 0
""",
    "baselines/sentence.txt": "lanac a ,nalp a ,nam A",
    ".gitignore": "results/\n",
}


_FOR_EDITORS = ("eval-suite.yaml", "capability/strings.yaml", "regression/sentence.yaml")


def _written(folder: str, name: str, root: str) -> str:
    """The text of a file, with the line by which an editor finds what may stand in it."""
    if name not in _FOR_EDITORS:
        return FILES[name]
    path = writing.reference(root, os.path.dirname(os.path.join(folder, name)), "evals", json_schema)
    return f"# yaml-language-server: $schema={path}\n{FILES[name]}"


def scaffold(folder: str, root: str) -> tuple[list[str], list[str]]:
    """Write what is not there yet below a folder: what was written, and what is left as it was."""
    written, left = [], []
    for name in FILES:
        path = os.path.join(root, folder, name)
        if os.path.lexists(path):
            left.append(os.path.join(folder, name))
        else:
            write_text(path, _written(folder, name, root), root)
            written.append(os.path.join(folder, name))
    return written, left
