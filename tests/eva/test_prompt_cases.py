"""The eval file of a prompt folder: the four files of the documents, and each key."""

from pathlib import Path
from typing import Any

import pytest
from promptfiles import FOLDER, META, example, prompt_folder
from storehelp import EXAMPLES, write

from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_schema import JsonSchema, SchemaRefused
from baselinekit.graders.by_text import Contains, TokenCount
from baselinekit.model.evals import Case
from baselinekit.suites.loading import load_cases

FILE = f"{FOLDER}/eval.yml"


def cases(root: Path, evals: str, **files: Any) -> list[Case]:
    prompt_folder(root, evals, **files)
    return load_cases([FILE], str(root))


def only_case(root: Path, lines: str, **files: Any) -> Case:
    (case,) = cases(root, "cases:\n  - name: a\n" + "".join(f"    {line}\n" for line in lines.split("\n")))
    return case


def inputs(case: Case) -> dict[str, Any]:
    return dict(case.recipe.input.inputs)


def test_e1_case_of_the_document_is_read(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, example("eval-small-file-happy-path"))
    assert (case.id, case.name) == ("refactor/small-file-happy-path", "small-file-happy-path")
    assert (case.timeout, case.recipe.execution.model) == (60, "claude-opus-4-7")
    assert case.recipe.input.prompt == "prompt.xml"
    assert inputs(case) == {"constraints": "keep the names", "file": "src/foo.py"}
    contains, tokens, judge = case.graders
    assert (contains.name, contains.method) == ("contains", Contains(all=["<diff>"]))
    assert (tokens.name, tokens.method) == ("max_tokens", TokenCount(max=2000))
    rubric = "Score the diff for surgical-ness, 1-5."
    assert judge.method == ScoreLine(rubric, "claude-haiku-4-5-20251001", 4)
    places = [("assert", 0, "contains"), ("assert", 1, "max_tokens"), ("rubric",)]
    assert [grader.at for grader in case.graders] == places
    assert case.folder is not None
    assert case.folder.id == "refactor"
    assert case.judge_after_failure is False


def test_e10_e11_e13_queries_of_the_document_are_read(tmp_path: Path) -> None:
    should, should_not = cases(tmp_path, example("triggering-refactor"))
    assert should.id == "refactor/triggering/should-match-1"
    assert should_not.id == "refactor/triggering/should-not-match-1"
    assert should.name == should.recipe.input == "refactor src/foo.py to remove the global state"
    (grader,) = should.graders
    assert grader.method == DecisionLine(
        wanted="YES",
        description="Refactors code. Use when somebody wants code changed and its behaviour kept.",
        triggers=["refactor this file"],
        not_for=["questions about code"],
        model="claude-haiku-4-5-20251001",
    )
    assert should_not.graders[0].method.wanted == "NO"
    meta = "\n".join(line for line in META.split("\n") if not line.startswith("description"))
    for defaults, model in (("", "judge"), ("defaults: {model: only_case}\n", "only_case")):
        (case,) = cases(tmp_path, defaults + example("triggering-weather"), meta=meta)
        assert case.graders[0].method.model == model
        assert case.graders[0].method.description == "Changes code without changing what it does."
    evals = example("eval-rejects-empty") + "triggering: {should_match: [], should_not_match: []}\n"
    (case,) = cases(tmp_path, evals)  # lists without a query ask nothing
    assert (case.name, inputs(case)) == ("rejects-empty", {"constraints": "", "file": "src/foo.py"})
    assert case.recipe.execution.model == "default"


def test_e4_json_schema_is_read_from_the_root_or_the_folder(tmp_path: Path) -> None:
    write(tmp_path, f"{FOLDER}/shape.json", '{"type": "object", "required": ["a"]}')
    own = only_case(tmp_path, "inputs: {}\nassert:\n  - json_schema: shape.json")
    assert own.graders[0].method == JsonSchema({"type": "object", "required": ["a"]})
    write(tmp_path, "shape.json", '{"type": "array", "items": {"type": "string"}}')
    of_root = only_case(tmp_path, "inputs: {}\nassert:\n  - json_schema: shape.json")
    assert of_root.graders[0].method.schema["type"] == "array"


def test_e4_json_schema_that_is_refused_is_not_read(tmp_path: Path) -> None:
    evals = "defaults: {json_schema: refuse}\ncases:\n  - name: a\n    inputs: {}\n"
    (case,) = cases(tmp_path, evals + "    assert: [json_schema: nowhere.json]\n")
    assert [grader.method for grader in case.graders] == [SchemaRefused()]


def test_e2_e23_inputs_of_a_case_take_precedence_and_are_literal(tmp_path: Path) -> None:
    case = only_case(
        tmp_path, "inputs: {file: b.py}\ninputs_from: examples/happy-path\nassert:\n  - contains: a"
    )
    assert inputs(case) == {"constraints": "keep the names", "file": "b.py"}
    case = only_case(tmp_path, "inputs: {constraints: 'see {{file}}'}\nassert:\n  - contains: a")
    assert inputs(case)["constraints"] == "see \\{{file}}"  # a value is not filled in again
    write(tmp_path, "examples/happy-path/inputs.yml", "constraints: of the root\n")
    (case,) = cases(tmp_path, example("eval-small-file-happy-path"))
    assert inputs(case)["constraints"] == "of the root"


EXAMPLE_FILES = sorted((EXAMPLES / "eva").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLE_FILES, ids=lambda file: file.stem)
def test_e1_example_equals_its_file_in_the_golden_case(file: Path) -> None:
    golden = Path(__file__).parents[1] / "golden/prompt-folder-examples/files/prompts"
    (copy,) = golden.glob(f"*/{file.name}")
    assert copy.read_bytes() == file.read_bytes()
