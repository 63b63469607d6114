"""The four files of the documents run as they are against the demo model, with the files that they name; and
what this form of eval file does where forms differ."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import promptfiles
import pytest
from console import console
from promptfiles import example, prompt_folder
from storehelp import write

pytestmark = pytest.mark.slow

CONFIG = """\
version: 1
models:
  default: {openai: demo, base_url: "{url}"}
  judge: {openai: demo, base_url: "{url}"}
  claude-opus-4-7: {openai: demo, base_url: "{url}"}
  claude-haiku-4-5-20251001: {anthropic: demo, base_url: "{url}"}
"""


class Played(NamedTuple):
    """What a run in a folder of its own came to: the exit code, its output, the result file, the rows."""

    code: int
    output: str
    file: dict[str, Any]
    rows: list[Any]

    @property
    def results(self) -> dict[str, Any]:
        return {result["id"].removeprefix("refactor/"): result for result in self.file["results"]}


def run(tmp_path: Path, evals: str, template: str = "<prompt>{{constraints}}</prompt>\n") -> Played:
    with console(tmp_path / "project", "demo") as terminal:
        folder = "prompts/refactor"
        files = {
            "baselinekit.yaml": CONFIG.replace("{url}", terminal.service.url),
            f"{folder}/meta.yml": promptfiles.META,
            f"{folder}/prompt.xml": template,
            f"{folder}/examples/happy-path/inputs.yml": "constraints: A <diff> of one line.\n",
            f"{folder}/eval.yml": evals,
        }
        for name, text in files.items():
            write(terminal.folder, name, text)
        done = terminal.run("baselinekit run refactor -o results.json")
        results, log = terminal.folder / "results.json", terminal.folder / folder / ".eval.jsonl"
        file = json.loads(results.read_text()) if results.exists() else {}
        rows = [json.loads(row) for row in log.read_text().splitlines()] if log.exists() else []
        return Played(done.exit_code, done.stdout + done.stderr, file, rows)


JUDGED = """\
cases:
  - name: rough
    inputs: {constraints: "It is obviously a stupid TODO."}
    rubric: Is it polite?
"""


def test_x2_x3_run_refuses_keys_of_other_forms(tmp_path: Path) -> None:
    for key, place in (("test_cases: []", "5:1"), ("    expected_output: a", "5:5")):
        played = run(tmp_path / key.strip()[:4], f"{JUDGED}{key}\n")
        assert (played.code, played.rows) == (2, [])
        assert f"prompts/refactor/eval.yml:{place}" in played.output


def test_f41_x5_e2_run_refuses_inputs_outside_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/inputs.yml", "constraints: of somebody else\n")
    inputs = 'inputs: {constraints: "It is obviously a stupid TODO."}'
    played = run(tmp_path, JUDGED.replace(inputs, "inputs_from: ../../../elsewhere"))
    assert (played.code in (2, 4), played.rows) == (True, []), played.output
    assert "of somebody else" not in played.output
    assert "prompts/refactor/eval.yml:3" in played.output


def test_x4_run_keeps_braces_of_other_forms_in_inputs(tmp_path: Path) -> None:
    evals = JUDGED.replace("It is obviously a stupid TODO.", "{x} ${{ X }} {{constraints}} {X}").replace(
        "rubric: Is it polite?", "assert: [contains: '{x} ${{ X }} {{constraints}} {X}']"
    )
    played = run(tmp_path, evals, "<prompt>Say it.\n\n{{constraints}}.</prompt>\n")
    assert (played.code, played.results["rough"]["outcome"]) == (0, "passed"), played.output


def test_x11_e20_e22_e23_exit_codes_of_commands_on_a_prompt_folder(tmp_path: Path) -> None:
    """0 done, 1 not met or found by doctor, 2 a mistake of a file or of the command, 5 nothing there."""
    with console(tmp_path / "project", "demo") as terminal:
        root = terminal.folder
        write(root, "baselinekit.yaml", CONFIG.replace("{url}", terminal.service.url))
        meta = promptfiles.META
        folder = prompt_folder(root, example("eval-rejects-empty"), meta=meta)

        def codes(*commands: str) -> list[int]:
            return [terminal.run(f"baselinekit {command}").exit_code for command in commands]

        assert codes(
            "doctor prompts", "promote refactor", "convert refactor --to skill", "promote nobody"
        ) == [0, 1, 1, 2]
        assert codes("run refactor --case nothing", "run nobody") == [5, 2]
        (folder / "meta.yml").write_text(meta.replace("id: refactor", "id: other"))
        assert codes("doctor prompts") == [1]
        (folder / "meta.yml").write_text(meta.replace("status: draft", "status: ready"))
        assert codes("promote refactor", "convert refactor --to skill -o out") == [2, 0]
        assert (root / "out/refactor/SKILL.md").exists() or (root / "out/SKILL.md").exists()
        (folder / "eval.yml").write_text("cases:\n  - nam: a\n")
        assert codes("doctor prompts", "run refactor") == [2, 2]
