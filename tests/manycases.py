"""A project of eval cases of every form that name files: prompts with scripts, judges, schemas, records."""

from pathlib import Path

_MODELS = """\
def answer(input):
    return f"the total of {input}"
"""
_CONFIG = """\
base_url: http://127.0.0.1:9
models:
  default: {python: "models:answer"}
  strict: {command: [python3, tools/strict.py]}
skills: {work: {command: [sh, tools/work.sh]}}
commands:
  words: [python3, evals/judges/words.py]
  guard: [sh, prompts/one/guard.sh]
  verify: [sh, prompts/one/verify.sh]
"""
_JUDGE = """\
import json, pathlib, sys
case = json.load(sys.stdin)
words = pathlib.Path(sys.argv[1]).read_text().split()
found = [word for word in words if word in case["candidate_answer"]]
print(json.dumps({"score": len(found) / len(words), "hits": found}))
"""
_STRICT = """\
import json, re, sys
nonce = re.findall('"nonce": "([^"]+)"', sys.stdin.read())[-1]
print(json.dumps({"score": 1, "hits": [], "misses": [], "reasoning": "fine", "nonce": nonce}))
"""
_META = """\
id: one
title: One
summary: Adds up.
status: draft
version: 1.0.0
created: 2026-01-02
updated: 2026-02-03
description: Adds up. Use when somebody wants a total.
triggers: [add this]
inputs:
  - name: what
  - name: how
    required: false
"""
_CASES = """\
- id: schema
  input: {type: prompt, content: "say 1"}
  grader: {type: code, config: {method: json_schema, schema_file: schemas/text.json}}
- id: words
  input: {type: prompt, content: "say 2"}
  grader: {type: code, config: {method: code_judge, script: [words, words.txt], cwd: judges/data}}
- id: judged
  input: {type: prompt, content: "say 3"}
  grader: {type: model, config: {method: llm_judge, model: strict, prompt: judges/depth.md}}
- id: people
  input: {type: prompt, content: "say something kind"}
  grader: {type: human, config: {rubric: "is it kind?"}}
"""
FILES = {
    "baselinekit.yaml": _CONFIG,
    "models.py": _MODELS,
    "tools/strict.py": _STRICT,
    "tools/work.sh": 'read -r number\ncase "$number" in *3*) printf wrong;; *) printf right;; esac\n',
    "evals/schemas/text.json": '{"type": "string", "minLength": 3}\n',
    "evals/judges/words.py": _JUDGE,
    "evals/judges/data/words.txt": "total say\n",
    "evals/judges/depth.md": "Is this deep? {{candidate_answer}}\n",
    "evals/cases.yaml": _CASES,
    "evals/known.yaml": "id: known\nbaseline: {output_file: known.output.json}\n"
    "current: {input: {text: say 4}, execution: {type: prompt}}\nmetadata: {failure_count: 0}\n",
    "evals/known.output.json": '{"text": "the total of say 4"}\n',
    "prompts/one/meta.yml": _META,
    "prompts/one/prompt.xml": "<prompt>Add {{what}} {{how}}.</prompt>\n",
    "prompts/one/eval.yml": "cases:\n  - {name: c, inputs: {what: it}, assert: [contains: guarded]}\n",
    "prompts/one/guard.sh": "#!/bin/sh\necho how=guarded\n",
    "prompts/one/verify.sh": '#!/bin/sh\ngrep -q guarded "$EVA_OUTPUT_FILE"\n',
}
WORK = """\
- id: w{n}
  input: {{type: skill, content: "{n}"}}
  execution: {{type: skill, skill_name: work}}
  expected: {{type: exact, value: right}}
"""


def project_of_cases(folder: Path) -> Path:
    """Four more cases run a program, and the one with a 3 in its number fails."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    (folder / "evals/cases.yaml").write_text(_CASES + "".join(WORK.format(n=n) for n in range(4)))
    return folder
