"""The examples of AgentV's documents, each read as it is written: whole files as files, and parts of a case
where a case has them."""

from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, write

from baselinekit.files.languages import YAML, dump_yaml
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.suites.loading import load_cases
from baselinekit.suites.settings import NUMBERED

FOLDER = EXAMPLES / "agentv"
CASE = {"id": "a", "expected_outcome": "It is right", "input": "hi"}
RUBRICS = ("earlier-rubrics-objects", "earlier-rubrics-score-ranges")
MAP, LIST = "rubrics-score-range-map", "rubrics-score-range-array"


def read_example(name: str) -> Any:
    (document,) = YAML.load((FOLDER / f"{name}.yaml").read_text(), name, numbered=NUMBERED)
    return {"rubrics": document} if name in RUBRICS else document


def load(root: Path, example: Any) -> list[Any]:
    """Load a file, or a case with a part of one; return the configs of its graders."""
    write(root, "evals/judges/depth.md", "How deep is {{candidate_answer}}?")
    write(root, "evals/guidelines.md", "Be brief.")
    document = example if "evalcases" in example else {"evalcases": [{**CASE, **example}]}
    file = write(root, "evals/a.yaml", dump_yaml(document))
    (case,) = load_cases([file], str(root), PromptExecution("prompt"))
    return [grader.method for grader in case.graders]


@pytest.mark.parametrize("name", sorted({file.stem for file in FOLDER.iterdir()} - {LIST}))
def test_a1_a2_a3_a25_a30_a40_every_example_is_read(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, read_example(name))


def test_a42_score_ranges_as_a_map_and_as_a_list_are_the_same(tmp_path: Path) -> None:
    item = {"id": "correctness", "weight": 2.0, "required_min_score": 7, **read_example(LIST)}
    (as_list,), (as_map,) = load(tmp_path, {"rubrics": [item]}), load(tmp_path, read_example(MAP))
    ((of_list,), (of_map,)) = (method.items.values() for method in (as_list, as_map))
    assert of_list.ranges == of_map.ranges
