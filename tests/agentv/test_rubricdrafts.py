"""Drafts of rubrics: how a reply must look, and that an edit made meanwhile is kept. The golden case
convert-to-rubrics has the rest."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselinekit.agentv.rubricdrafts import Draft, DraftedItem, draft, find_lacking, with_rubrics
from baselinekit.errors import InvalidInput
from baselinekit.files.languages import language
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.structs import asdict
from baselinekit.suites.targets import NO_TARGETS
from baselinekit.values.places import value_at

YAML = """\
# sums, "quoted"
evalcases:
  - id: addition   # the easy one
    expected_outcome: Correctly calculates 15 + 27 = 42

    input: [{role: system, content: short}, {role: user, content: What is 15 + 27?}]
    expected_output: "42"
# the end"""
DRAFTED = [
    DraftedItem("sum", "Says 42", 2, True),
    DraftedItem("steps", "Shows: how", 1.0, False),
    DraftedItem("short", "Is short # really \N{SNOWMAN}", 0.5, False),
]
ITEMS = [asdict(item) for item in DRAFTED]


class Model:
    """Replies one after the other; a list becomes a reply with the nonce of the question."""

    def __init__(self, *replies: Any):
        self.replies = list(replies)
        self.questions: list[str] = []

    def ask(self, question: ModelQuestion) -> Answer:
        self.questions.append(question.messages[-1].content)
        reply = self.replies.pop(0)
        nonce = re.findall('"nonce": "(.+?)"', self.questions[-1])[0]
        return Answer(reply if isinstance(reply, str) else json.dumps({"nonce": nonce, "rubrics": reply}))


def draft_rubric(root: Path, *replies: Any) -> tuple[Draft, list[str]]:
    """Return the draft for the case, and the questions that were asked."""
    (root / "x.yaml").write_text(YAML)
    (case,), _ = find_lacking(["x.yaml"], str(root), None, NO_TARGETS, lambda file: YAML)
    model = Model(*replies)
    return draft(case, "judge", model.ask, lambda text: text), model.questions


def test_a46_draft_is_added_and_other_bytes_stay(tmp_path: Path) -> None:
    drafted, (question,) = draft_rubric(tmp_path, ITEMS)
    assert drafted.items == DRAFTED
    for text in ("What is 15 + 27?", "Correctly calculates", "42"):
        assert text in question
    after = with_rubrics(YAML, "x.yaml", [drafted])
    found, before = (language("x.yaml").load(text, "x.yaml") for text in (after, YAML))
    assert value_at(found[0], ("evalcases", 0)).pop("rubrics") == ITEMS
    assert found == before
    left = iter(after)
    assert all(sign in left for sign in YAML)  # in this order


def change(**more: Any) -> list[dict[str, Any]]:
    return [{**ITEMS[0], **more}, *ITEMS[1:]]


UNUSABLE: list[Any] = [
    "no JSON",
    '{"nonce": "0000000000000000", "rubrics": []}',
    [{"id": "sum"}, *ITEMS[1:]],
    change(id="steps"),
    change(expected_outcome=""),
    change(expected_outcome="\x1b[31mred"),
    change(expected_outcome="Shows: how"),
    change(weight=0),
    change(required=1),
    change(score_ranges={"0": "x"}),
]


@pytest.mark.parametrize("reply", UNUSABLE)
def test_a46_reply_in_another_form_is_asked_for_again(reply: Any, tmp_path: Path) -> None:
    failed, questions = draft_rubric(tmp_path, reply, reply, reply)
    assert (failed.items, len(questions), failed.error and failed.error.code) == ([], 3, "BK640")
    assert with_rubrics(YAML, "x.yaml", [failed]) == YAML
    drafted, questions = draft_rubric(tmp_path, reply, reply, ITEMS)
    assert drafted.items == DRAFTED
    assert "An earlier reply could not be used" in questions[-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace("15 + 27?", "16 + 27?"),
        lambda body: body.replace('"42"\n', '"42"\n    rubrics: [mine]\n'),
        lambda body: body.replace("id: addition", "id: sum"),
        lambda body: "evalcases: []\n",
    ],
)
def test_a46_case_edited_meanwhile_is_not_overwritten(change: Callable[[str], str], tmp_path: Path) -> None:
    drafted, _ = draft_rubric(tmp_path, ITEMS)
    with pytest.raises(InvalidInput, match="BK122"):
        with_rubrics(change(YAML), "x.yaml", [drafted])
