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
from baselinekit.suites.loading import load_cases
from baselinekit.suites.settings import NUMBERED

FOLDER = EXAMPLES / "agentv"
CASE = {"id": "a", "expected_outcome": "It is right", "input": "hi"}
SUM = [("user", "What is 15 + 27?")]


def stated(name: str) -> Any:
    (document,) = YAML.load((FOLDER / f"{name}.yaml").read_text(), name, numbered=NUMBERED)
    return document


def load(root: Path, example: Any, at: str = "") -> Case:
    """Load the case of an example, or the one that has it as a part of itself: `at` this key."""
    write(root, "evals/judges/depth.md", "How deep is {{candidate_answer}}?")
    write(root, "evals/guidelines.md", "Be brief.")
    if "evalcases" not in example:
        example = {"evalcases": [{**CASE, **({at: example} if at else example)}]}
    file = write(root, "evals/a.yaml", dump_yaml(example))
    (case,) = load_cases([file], str(root), PromptExecution("prompt"))
    return case


ASKED = {
    "basic-structure": SUM,
    "input-string": SUM,
    "input-messages": [("system", "You are a helpful math tutor."), *SUM],
    "earlier-input-aliases": [("user", "What is 2+2?")],
}
ANSWERED = {
    "expected-output-string": [("assistant", "42")],
    "expected-output-messages": [("assistant", "42")],
    "earlier-input-aliases": [("assistant", "The answer is 4")],
}
PROMPT_SCRIPT = PromptScript(
    ["bun", "run", "../prompts/custom-evaluator.ts"], {"rubric": "Your rubric here", "strictMode": True}
)
JUDGED = {
    "basic-structure": {"llm_judge": TemplateJudge()},
    "per-case-overrides": {"depth_check": TemplateJudge("judges/depth.md")},
    "earlier-code-judge-target": {
        "contextual-precision": CodeJudge("bun scripts/contextual-precision.ts", target=ModelAccess(10))
    },
    "earlier-llm-judge-prompt-script": {"custom-eval": TemplateJudge(PROMPT_SCRIPT)},
}
ITEMS = {
    "rubrics-checklist": 3,
    "rubrics-score-range-map": 1,
    "earlier-rubrics-objects": 5,
    "earlier-rubrics-score-ranges": 2,
    "earlier-rubrics-with-code-judge": None,
}
RUBRICS_ALONE = ("earlier-rubrics-objects", "earlier-rubrics-score-ranges")
OTHERS = ("file-references", "sidecar-metadata", "rubrics-score-range-array")


@pytest.mark.parametrize("name", sorted(ASKED | ANSWERED | JUDGED | ITEMS))
def test_a1_a2_a3_a25_a30_a40_examples_are_read(tmp_path: Path, name: str) -> None:
    case = load(tmp_path, stated(name), "rubrics" if name in RUBRICS_ALONE else "")
    methods: dict[str, Any] = {grader.name: grader.method for grader in case.graders}
    if name in ASKED:
        assert [(message.role, message.content) for message in case.wanted.asked] == ASKED[name]
    if name in ANSWERED:
        assert [(message.role, message.content) for message in case.wanted.messages] == ANSWERED[name]
    if name in JUDGED:
        assert methods == JUDGED[name]
    if name in ITEMS:
        assert isinstance(methods["rubric"], RubricJudge)
        assert ITEMS[name] in (None, len(methods["rubric"].items))


def test_a10_a42_examples_of_files_sidecars_and_score_ranges(tmp_path: Path) -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {*ASKED, *ANSWERED, *JUDGED, *ITEMS, *OTHERS}
    (message,) = load(tmp_path, stated("file-references")).wanted.asked
    file = str(tmp_path / "evals/guidelines.md")
    assert message.content == [
        {"type": "text", "value": "Review this code against our guidelines."},
        {"type": "file", "value": "./guidelines.md", "path": file, "text": "Be brief."},
    ]
    sidecar = {"language": "python", "difficulty": "medium"}
    assert load(tmp_path, stated("sidecar-metadata")).wanted.sidecar == sidecar
    item = {"id": "correctness", "weight": 2.0, "required_min_score": 7}
    array = load(tmp_path, {"rubrics": [item | stated("rubrics-score-range-array")]}).graders[0].method
    as_map = load(tmp_path, stated("rubrics-score-range-map")).graders[0].method
    ((of_array, of_map),) = zip(array.items.values(), as_map.items.values(), strict=True)
    assert of_array.ranges == of_map.ranges
