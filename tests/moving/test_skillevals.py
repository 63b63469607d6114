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
    source = SourceText(
        "evals.json", json.dumps({"skill_name": "notes", "evals": [*evals], **more}, indent=1)
    )
    draft = read_draft(source, EvalFiles())
    assert draft is not None
    return draft


def test_each_expectation_is_judged(tmp_path: Path) -> None:
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


SAID = [
    (["a"], ["a"]),
    ([{"text": "a"}], ["a"]),
    ([{"name": "short", "description": "a"}], ["a"]),
    ([{"id": 1, "assertion": "a"}], ["a"]),
    ("a", ["a"]),
]


@pytest.mark.parametrize(("stated", "said"), SAID)
@pytest.mark.parametrize("key", ["expectations", "assertions"])
def test_an_expectation_has_several_forms(key: str, stated: Json, said: list[str]) -> None:
    draft = imported({"id": 1, "prompt": "p", key: stated})
    (case,) = list(draft.document["test_cases"] or [])
    assert case["graders"][0]["config"]["rubrics"] == said


LOST: list[tuple[Any, str]] = [
    ({"id": 1, "prompt": "p"}, "an eval that does not say what is right"),
    ({"id": 1, "expected_output": "x"}, "an eval without a prompt"),
    ("text", "an eval without a prompt"),
    ({**EVAL, "runs": 3}, "`runs` of an eval"),
    ({**EVAL, "expectations": ["a", {"weight": 1}]}, "an expectation that is no text"),
]


@pytest.mark.parametrize(("one", "what"), LOST)
def test_what_does_not_carry_over_is_named_with_its_line(one: Any, what: str) -> None:
    (left,) = imported(one).left_out
    assert left.message == what
    assert left.line >= 4


def test_a_key_of_the_file_that_nothing_reads_is_named() -> None:
    assert [one.message for one in imported(EVAL, surprise=1).left_out] == ["`surprise`"]
