"""Drafts of rubrics: which cases lack one, how a reply must look, and that nothing else changes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.agentv.rubricdrafts import (
    Draft,
    DraftedItem,
    EvalFileState,
    diff,
    draft,
    load_states,
    read_draft,
    with_rubrics,
)
from baselinekit.errors import BaselinekitError, InvalidInput, cannot_replay
from baselinekit.files.jsontext import compact
from baselinekit.files.languages import language, yaml_flow
from baselinekit.model.recipes import Answer, ModelQuestion, Usage
from baselinekit.structs import asdict
from baselinekit.suites.targets import NO_TARGETS
from baselinekit.values.places import value_at

YAML = """\
# sums, "quoted"
description: 'sums'   # and why

evalcases:
  - id: addition   # the easy one
    expected_outcome: Correctly calculates 15 + 27 = 42

    input: What is 15 + 27?

    expected_output: "42"

  - {id: flow, outcome: Says hi, input: hi}
  # before the next
  - id: has
    expected_outcome: x
    input: y
    rubrics: [Says y]
  - id: last
    expected_outcome: |
      Two
      lines
    input: [{role: system, content: short}, {role: user, content: hello}]
    sidecar: {a: 1}
# the end"""

LINES = """\
{"id": "a", "expected_outcome": "b",  "input": "c"}

{"input": "c", "id": "b", "expected_outcome": "d"}
"""

DRAFTED = [
    DraftedItem("sum", "Says 42", 2, True),
    DraftedItem("steps", "Shows: how", 1.0, False),
    DraftedItem("short", "Is short # really", 0.5, False),
]
ITEMS = [asdict(item) for item in DRAFTED]


def load(folder: Path, **files: str) -> list[EvalFileState]:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    names = [name.replace("_", ".") for name in files]
    return load_states(names, str(folder), None, NO_TARGETS, lambda file: (folder / file).read_text())


class Model:
    """Replies one after the other; a list becomes a reply with the nonce of the question."""

    def __init__(self, *replies: Any):
        self.replies = list(replies)
        self.questions: list[str] = []

    def ask(self, question: ModelQuestion) -> Answer:
        self.questions.append(question.messages[-1].content)
        reply = self.replies.pop(0)
        if isinstance(reply, BaselinekitError):
            raise reply
        nonce = re.findall('"nonce": "(.+?)"', self.questions[-1])[0]
        text = reply if isinstance(reply, str) else json.dumps({"nonce": nonce, "rubrics": reply})
        return Answer(text, usage=Usage(10, 5))


def drafts_of(state: EvalFileState, *replies: Any) -> tuple[list[Draft], Model]:
    model = Model(*replies)
    return [draft(case, "judge", model.ask, lambda text: text) for case in state.lacking], model


def test_a46_only_cases_without_a_rubric_are_drafted(tmp_path: Path) -> None:
    yaml, lines = load(tmp_path, x_yaml=YAML, y_jsonl=LINES)
    assert [case.case.name for case in yaml.lacking] == ["addition", "flow", "last"]
    assert yaml.having == ("has",)
    assert [case.case.name for case in lines.lacking] == ["a", "b"]
    drafts, model = drafts_of(yaml, ITEMS, ITEMS, ITEMS)
    assert [draft.items for draft in drafts] == [DRAFTED] * 3
    for text in ("What is 15 + 27?", "Correctly calculates", "42"):
        assert text in model.questions[0]
    assert "hello" in model.questions[2]
    assert "reference answer" not in model.questions[2].partition("<<<")[2]


def test_a46_every_other_byte_stays(tmp_path: Path) -> None:
    for state in load(tmp_path, x_yaml=YAML, y_jsonl=LINES):
        drafts, _ = drafts_of(state, *[ITEMS] * 3)
        after = with_rubrics(state.body, state.file, drafts)
        found, before = (language(state.file).load(text, state.file) for text in (after, state.body))
        for drafted in drafts:
            source = drafted.lacking.case.source
            assert value_at(found[source.document], source.at).pop("rubrics") == ITEMS
        assert found == before
        left = iter(after)
        assert all(sign in left for sign in state.body)  # in this order
        assert diff(state, drafts).count("Says 42") == len(drafts)


def change(**more: Any) -> list[dict[str, Any]]:
    return [{**ITEMS[0], **more}, *ITEMS[1:]]


UNUSABLE: list[Any] = [
    "no JSON",
    '{"nonce": "0000000000000000", "rubrics": []}',
    ITEMS[:2],
    ITEMS * 3,
    {"sum": 1},
    [{"id": "sum"}, *ITEMS[1:]],
    change(id="Sum"),
    change(id="steps"),
    change(id=5),
    change(expected_outcome=""),
    change(expected_outcome="two\nlines"),
    change(expected_outcome="\x1b[31mred"),
    change(expected_outcome="Shows: how"),
    change(weight=0),
    change(weight=11),
    change(weight=True),
    change(required=1),
    change(score_ranges={"0": "x"}),
]


@pytest.mark.parametrize("reply", UNUSABLE)
def test_a46_reply_in_another_form_is_asked_for_again(reply: Any, tmp_path: Path) -> None:
    (state,) = load(tmp_path, y_jsonl='{"id": "a", "expected_outcome": "b", "input": "c"}')
    (failed,), model = drafts_of(state, reply, reply, reply)
    assert (failed.items, len(model.questions)) == ([], 3)
    assert failed.error is not None
    assert failed.error.code == "BK640"
    assert with_rubrics(state.body, state.file, [failed]) == state.body
    (drafted,), model = drafts_of(state, reply, reply, ITEMS)
    assert drafted.items == DRAFTED
    assert "An earlier reply could not be used" in model.questions[-1]


def test_a46_model_that_cannot_be_asked_affects_no_other_case(tmp_path: Path) -> None:
    (state,) = load(tmp_path, y_jsonl=LINES)
    drafts, _ = drafts_of(state, cannot_replay("BK610", "the model is not there"), ITEMS)
    assert [draft.items for draft in drafts] == [[], DRAFTED]
    assert '"input": "c"}\n\n' in with_rubrics(state.body, state.file, drafts)


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
    (state,) = load(tmp_path, x_yaml=YAML)
    drafts, _ = drafts_of(state, *[ITEMS] * 3)
    with pytest.raises(InvalidInput, match="BK697"):
        with_rubrics(change(YAML), "x.yaml", drafts)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=3, max_size=7, unique=True), st.sampled_from(["x.yaml", "x.jsonl"]))
def test_a46_any_text_of_an_item_is_written_as_it_is(texts: list[str], file: str) -> None:
    items = [
        {"id": f"i{n}", "expected_outcome": text, "weight": 1, "required": False}
        for n, text in enumerate(texts)
    ]
    nonce = "0123456789abcdef"
    read = read_draft(json.dumps({"nonce": nonce, "rubrics": items}), nonce)
    assert [asdict(item) for item in read] == items
    written = (yaml_flow if file == "x.yaml" else compact)(items)
    assert language(file).load(written, file) == [items]
