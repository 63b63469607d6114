"""The examples of AgentV's documents, each read as it is written: whole files as files, and parts of a case
where a case has them."""

from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, write

from baselinekit.files.languages import YAML, dump_yaml
from baselinekit.graders.by_program import CodeJudge, ModelAccess
from baselinekit.graders.by_rubric import RubricJudge
from baselinekit.graders.by_template import PromptScript, TemplateJudge
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.model.evals import Case
from baselinekit.model.traces import TraceMessage
from baselinekit.suites.loading import load_cases
from baselinekit.suites.settings import NUMBERED

FOLDER = EXAMPLES / "agentv"
CASE = {"id": "a", "expected_outcome": "It is right", "input": "hi"}
FILES = {"judges/depth.md": "How deep is {{candidate_answer}}?", "guidelines.md": "Be brief."}
WHOLE = ("basic-structure", "per-case-overrides", "sidecar-metadata", "earlier-rubrics-with-code-judge")


def stated(name: str) -> Any:
    (document,) = YAML.load((FOLDER / f"{name}.yaml").read_text(), name, numbered=NUMBERED)
    return document


def loaded(root: Path, name: str, at: str = "") -> Case:
    """The one case of an example, or the one that has it as a part of itself: `at` this key."""
    for file, text in FILES.items():
        write(root, f"evals/{file}", text)
    example = stated(name)
    if name not in WHOLE:
        example = {"evalcases": [{**CASE, **({at: example} if at else example)}]}
    file = write(root, f"evals/{name}.yaml", dump_yaml(example))
    (case,) = load_cases([file], str(root), PromptExecution("prompt"))
    return case


def graders(case: Case) -> dict[str, Any]:
    return {grader.name: grader.method for grader in case.graders}


def test_every_example_is_read() -> None:
    """A test below names it."""
    named = Path(__file__).read_text()
    assert [file.stem for file in FOLDER.iterdir() if f'"{file.stem}"' not in named] == []


def test_a1_whole_files(tmp_path: Path) -> None:
    case = loaded(tmp_path, "basic-structure")
    assert (case.id, case.wanted.outcome) == (
        "basic-structure/addition",
        "Correctly calculates 15 + 27 = 42",
    )
    assert case.wanted.asked == (TraceMessage("user", "What is 15 + 27?"),)
    assert graders(case) == {"llm_judge": TemplateJudge()}
    case = loaded(tmp_path, "per-case-overrides")
    assert graders(case) == {"depth_check": TemplateJudge("judges/depth.md")}
    assert loaded(tmp_path, "sidecar-metadata").wanted.sidecar == {
        "language": "python",
        "difficulty": "medium",
    }
    case = loaded(tmp_path, "earlier-rubrics-with-code-judge")
    assert [*graders(case)] == ["rubric", "python_syntax"]
    assert graders(case)["python_syntax"] == CodeJudge("uv run python -m py_compile")


@pytest.mark.parametrize(
    ("name", "asked", "wanted"),
    [
        ("input-string", [("user", "What is 15 + 27?")], []),
        (
            "input-messages",
            [("system", "You are a helpful math tutor."), ("user", "What is 15 + 27?")],
            [],
        ),
        ("expected-output-string", [("user", "hi")], [("assistant", "42")]),
        ("expected-output-messages", [("user", "hi")], [("assistant", "42")]),
        ("earlier-input-aliases", [("user", "What is 2+2?")], [("assistant", "The answer is 4")]),
    ],
)
def test_a2_a3_messages(tmp_path: Path, name: str, asked: list[Any], wanted: list[Any]) -> None:
    case = loaded(tmp_path, name)
    assert [(one.role, one.content) for one in case.wanted.asked] == asked
    assert [(one.role, one.content) for one in case.wanted.messages] == wanted


def test_a10_files(tmp_path: Path) -> None:
    (message,) = loaded(tmp_path, "file-references").wanted.asked
    file = str(tmp_path / "evals/guidelines.md")
    assert message.content == [
        {"type": "text", "value": "Review this code against our guidelines."},
        {"type": "file", "value": "./guidelines.md", "path": file, "text": "Be brief."},
    ]


@pytest.mark.parametrize(
    ("name", "at", "items"),
    [
        ("rubrics-checklist", "", 3),
        ("rubrics-score-range-map", "", 1),
        ("earlier-rubrics-objects", "rubrics", 5),
        ("earlier-rubrics-score-ranges", "rubrics", 2),
    ],
)
def test_a40_a42_rubrics(tmp_path: Path, name: str, at: str, items: int) -> None:
    method = graders(loaded(tmp_path, name, at))["rubric"]
    assert isinstance(method, RubricJudge)
    assert len(method.items) == items


def test_a42_score_ranges_as_a_map_and_as_a_list_are_the_same(tmp_path: Path) -> None:
    item = {
        "id": "correctness",
        "weight": 2.0,
        "required_min_score": 7,
        **stated("rubrics-score-range-array"),
    }
    write(tmp_path, "evals/a.yaml", dump_yaml({"evalcases": [{**CASE, "rubrics": [item]}]}))
    (case,) = load_cases(["evals/a.yaml"], str(tmp_path))
    array, as_map = graders(case)["rubric"], graders(loaded(tmp_path, "rubrics-score-range-map"))["rubric"]
    ((of_array, of_map),) = zip(array.items.values(), as_map.items.values(), strict=True)
    assert of_array.ranges == of_map.ranges


def test_a25_a30_evaluators(tmp_path: Path) -> None:
    assert graders(loaded(tmp_path, "earlier-code-judge-target")) == {
        "contextual-precision": CodeJudge("bun scripts/contextual-precision.ts", target=ModelAccess(10))
    }
    assert graders(loaded(tmp_path, "earlier-llm-judge-prompt-script")) == {
        "custom-eval": TemplateJudge(
            PromptScript(
                ["bun", "run", "../prompts/custom-evaluator.ts"],
                {"rubric": "Your rubric here", "strictMode": True},
            )
        )
    }
