"""The eval file of a prompt folder, read: the four files of the documents as they are, and what each key of
one comes to."""

from pathlib import Path
from typing import Any

import pytest
from promptfiles import FOLDER, META, example, prompt_folder
from storehelp import EXAMPLES, write

from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_schema import JsonSchema, SchemaRefused
from baselinekit.graders.by_text import Contains, RegexMatch, TokenCount
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.suites.loading import load_cases, load_evals

FILE = f"{FOLDER}/eval.yml"


def cases(root: Path, evals: str, **files: Any) -> list[Case]:
    prompt_folder(root, evals, **files)
    return load_cases([FILE], str(root))


def one(root: Path, lines: str, **files: Any) -> Case:
    (case,) = cases(root, "cases:\n  - name: a\n" + "".join(f"    {line}\n" for line in lines.split("\n")))
    return case


def inputs(case: Case) -> dict[str, Any]:
    return dict(kind_of(case.recipe).inputs(case.recipe)[0])


def test_e1_the_case_of_the_document_is_read_as_it_is(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, example("eval-small-file-happy-path"))
    assert case.id == "refactor/small-file-happy-path"
    assert case.name == "small-file-happy-path"
    assert case.timeout == 60
    assert case.recipe.execution.model == "claude-opus-4-7"
    assert case.recipe.input.prompt == "prompt.xml"
    assert inputs(case) == {"constraints": "keep the names", "file": "src/foo.py"}
    contains, tokens, judge = case.graders
    assert (contains.name, contains.method) == ("contains", Contains(all=["<diff>"]))
    assert (tokens.name, tokens.method) == ("max_tokens", TokenCount(max=2000))
    rubric = "Score the diff for surgical-ness, 1-5."
    assert judge.method == ScoreLine(rubric, "claude-haiku-4-5-20251001", 4)
    assert [grader.at for grader in case.graders] == [
        ("assert", 0, "contains"),
        ("assert", 1, "max_tokens"),
        ("rubric",),
    ]
    assert case.folder is not None
    assert case.folder.id == "refactor"
    assert case.judge_after_failure is False


def test_e1_the_case_with_inputs_in_place_is_read_as_it_is(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, example("eval-rejects-empty"))
    assert inputs(case) == {"constraints": "", "file": "src/foo.py"}
    assert case.recipe.execution.model == "default"
    assert [grader.method for grader in case.graders] == [Contains(all=["constraints empty"])]


def test_e10_the_queries_of_the_document_are_read_as_they_are(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("defaults", "judge"), [("", "judge"), ("defaults: {model: one}\n", "one")], ids=["unset", "defaults"]
)
def test_e10_who_judges_falls_back_to_the_defaults(tmp_path: Path, defaults: str, judge: str) -> None:
    (case,) = cases(tmp_path, defaults + example("triggering-weather"))
    assert case.graders[0].method.model == judge


def test_e11_without_a_description_the_summary_is_what_is_judged(tmp_path: Path) -> None:
    meta = "\n".join(line for line in META.split("\n") if not line.startswith("description"))
    (case,) = cases(tmp_path, example("triggering-weather"), meta=meta)
    assert case.graders[0].method.description == "Changes code without changing what it does."


@pytest.mark.parametrize(
    ("stated", "method"),
    [
        ('contains: "a"', Contains(all=["a"])),
        ('not_contains: "a"', Contains(none=["a"])),
        ("contains_any: [a, b]", Contains(any=["a", "b"])),
        ("contains_all: [a, b]", Contains(all=["a", "b"])),
        ("matches: 'a+'", RegexMatch("a+")),
        ("not_matches: 'a+'", RegexMatch("a+", must_match=False)),
        ("min_tokens: 3", TokenCount(min=3)),
        ("max_tokens: 3", TokenCount(max=3)),
        ("json_schema: {type: object}", JsonSchema({"type": "object"})),
    ],
)
def test_e4_each_assertion_is_a_grader(tmp_path: Path, stated: str, method: object) -> None:
    case = one(tmp_path, f"inputs: {{}}\nassert:\n  - {stated}")
    assert [grader.method for grader in case.graders] == [method]
    assert case.graders[0].name == stated.partition(":")[0]


def test_e4_assertions_of_one_name_are_numbered(tmp_path: Path) -> None:
    case = one(tmp_path, "inputs: {}\nassert:\n  - contains: a\n  - matches: b\n  - contains: c")
    assert [grader.name for grader in case.graders] == ["contains", "matches", "contains 2"]


def test_e4_a_schema_may_stand_in_a_file_of_the_root_or_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, f"{FOLDER}/shape.json", '{"type": "object", "required": ["a"]}')
    own = one(tmp_path, "inputs: {}\nassert:\n  - json_schema: shape.json")
    assert own.graders[0].method == JsonSchema({"type": "object", "required": ["a"]})
    write(tmp_path, "shape.json", '{"type": "array", "items": {"type": "string"}}')
    of_root = one(tmp_path, "inputs: {}\nassert:\n  - json_schema: shape.json")
    assert of_root.graders[0].method.schema["type"] == "array"


def test_e4_where_schemas_are_refused_none_is_looked_at(tmp_path: Path) -> None:
    evals = "defaults: {json_schema: refuse}\ncases:\n  - name: a\n    inputs: {}\n"
    (case,) = cases(tmp_path, evals + "    assert: [json_schema: nowhere.json]\n")
    assert [grader.method for grader in case.graders] == [SchemaRefused()]


def test_e2_inputs_come_from_the_root_first(tmp_path: Path) -> None:
    evals = example("eval-small-file-happy-path")
    write(tmp_path, "examples/happy-path/inputs.yml", "constraints: of the root\n")
    (case,) = cases(tmp_path, evals)
    assert inputs(case)["constraints"] == "of the root"


def test_e2_inputs_in_place_go_before_those_of_a_file_name_by_name(tmp_path: Path) -> None:
    case = one(tmp_path, "inputs: {file: b.py}\ninputs_from: examples/happy-path\nassert:\n  - contains: a")
    assert inputs(case) == {"constraints": "keep the names", "file": "b.py"}


def test_e23_a_value_is_literal(tmp_path: Path) -> None:
    """What an input brings in is not looked at again, so it stands there escaped."""
    case = one(tmp_path, "inputs: {constraints: 'see {{file}}'}\nassert:\n  - contains: a")
    assert inputs(case)["constraints"] == "see \\{{file}}"


def test_the_examples_run_all_together_from_their_folder(tmp_path: Path) -> None:
    prompt_folder(tmp_path, example("eval-rejects-empty") + example("triggering-refactor"))
    suite = load_evals(["prompts"], str(tmp_path))
    assert len(suite.cases) == 3


def test_e13_lists_without_a_query_ask_nobody(tmp_path: Path) -> None:
    evals = example("eval-rejects-empty") + "triggering: {should_match: [], should_not_match: []}\n"
    assert [case.name for case in cases(tmp_path, evals)] == ["rejects-empty"]


EXAMPLE_FILES = sorted((EXAMPLES / "eva").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLE_FILES, ids=lambda file: file.stem)
def test_e1_the_golden_case_runs_each_example_unchanged(file: Path) -> None:
    golden = Path(__file__).parents[1] / "golden/prompt-folder-examples/files/prompts"
    (copy,) = golden.glob(f"*/{file.name}")
    assert copy.read_bytes() == file.read_bytes()
