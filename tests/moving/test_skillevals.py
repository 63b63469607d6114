"""A skill's evals.json as test cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from baselinekit.graders.by_template import RubricJudge, TemplateJudge
from baselinekit.importers.drafts import SourceText
from baselinekit.model.values import Json
from baselinekit.moving.conversion import read_draft
from baselinekit.moving.reading import DraftEvals, EvalFiles
from baselinekit.suites.loading import load_cases

EVAL: dict[str, Json] = {
    "id": 1,
    "prompt": "Note {{it}} down.",
    "expected_output": "A note.",
    "files": [],
    "expectations": ["It is a note", "It is polite"],
}


def imported(*evals: Any, **more: Json) -> DraftEvals:
    text = json.dumps({"skill_name": "notes", "evals": [*evals], **more}, indent=1)
    draft = read_draft(SourceText("evals.json", text), EvalFiles())
    assert draft is not None
    return draft


def test_expectations_are_a_rubric_and_others_a_judge(tmp_path: Path) -> None:
    draft = imported(EVAL, {"id": "b", "prompt": "Why?", "expected_output": "It asks.", "files": ["a.txt"]})
    assert draft.left_out == ()
    (tmp_path / "a.yaml").write_text(json.dumps(draft.document))
    first, second = load_cases(["a.yaml"], str(tmp_path))
    assert (first.id, first.wanted.outcome) == ("notes/eval-1", "A note.")
    assert first.recipe.input == "Note \\{{it}} down."
    assert first.recipe.execution.skill_name == "notes"
    assert first.graders[0].method == RubricJudge(rubrics=["It is a note", "It is polite"])
    assert second.recipe.input == {"prompt": "Why?", "files": ["a.txt"]}
    assert isinstance(second.graders[0].method, TemplateJudge)


LOST: list[tuple[Any, str]] = [
    ({"id": 1, "prompt": "p"}, "an eval that does not say what is right"),
    ("text", "an eval without a prompt"),
    ({**EVAL, "runs": 3}, "`runs` of an eval"),
    ({**EVAL, "expectations": ["a", {"weight": 1}]}, "an expectation that is not a text"),
]


@pytest.mark.parametrize(("stated", "what"), LOST)
def test_eval_that_does_not_carry_over_is_listed_with_its_line(stated: Any, what: str) -> None:
    (left,) = imported(stated).left_out
    assert left.message == what
    assert left.line >= 4
    assert [left.message for left in imported(EVAL, surprise=1).left_out] == ["`surprise`"]
