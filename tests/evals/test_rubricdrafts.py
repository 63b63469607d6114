"""Drafts of rubrics: which cases lack one, how a reply must look, and that nothing else changes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import BaselinekitError, InvalidInput, cannot_replay
from baselinekit.evals.rubricdrafts import (
    Draft,
    DraftedItem,
    EvalFileState,
    diff,
    draft,
    load_states,
    read_draft,
    with_rubrics,
    write,
)
from baselinekit.files.jsontext import compact
from baselinekit.files.languages import language, yaml_flow
from baselinekit.model.recipes import Answer, ModelQuestion, Usage

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

DRAFTED = (
    DraftedItem("sum", "Says 42", 2, True),
    DraftedItem("steps", "Shows: how", 1.0, False),
    DraftedItem("short", "Is short # really", 0.5, False),
)
ITEMS = [item.written for item in DRAFTED]


def states(folder: Path, **files: str) -> list[EvalFileState]:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    names = [name.replace("_", ".") for name in files]
    project = open_project(Operator(cwd=str(folder)))
    return load_states(project, names, lambda file: (folder / file).read_text())


def nonce_of(ask: ModelQuestion) -> str:
    found = re.search('"nonce": "(.+?)"', ask.messages[-1].content)
    assert found is not None
    return found[1]


class Model:
    """Replies one after the other; `{nonce}` is that of the question."""

    def __init__(self, *replies: Any):
        self.replies = list(replies)
        self.asked: list[str] = []

    def ask(self, ask: ModelQuestion) -> Answer:
        self.asked.append(ask.messages[-1].content)
        said = self.replies.pop(0)
        if isinstance(said, BaselinekitError):
            raise said
        text = said if isinstance(said, str) else json.dumps({"nonce": nonce_of(ask), "rubrics": said})
        return Answer(text, usage=Usage(10, 5))


def drafted(state: EvalFileState, *replies: Any) -> tuple[list[Draft], Model]:
    model = Model(*replies)
    return [draft(one, "judge", model.ask, lambda text: text) for one in state.lacking], model


def test_a46_which_cases_lack_a_rubric(tmp_path: Path) -> None:
    yaml, lines = states(tmp_path, x_yaml=YAML, y_jsonl=LINES)
    assert [one.name for one in yaml.lacking] == ["addition", "flow", "last"]
    assert yaml.having == ("has",)
    assert [one.name for one in lines.lacking] == ["a", "b"]


def test_a46_what_the_model_is_shown(tmp_path: Path) -> None:
    (state,) = states(tmp_path, x_yaml=YAML)
    drafts, model = drafted(state, ITEMS, ITEMS, ITEMS)
    assert [one.items for one in drafts] == [DRAFTED] * 3
    for text in ("What is 15 + 27?", "Correctly calculates", "42"):
        assert text in model.asked[0]
    assert "hello" in model.asked[2]
    assert "reference answer" not in model.asked[2].partition("<<<")[2]


def test_a46_every_other_byte_stays(tmp_path: Path) -> None:
    yaml, lines = states(tmp_path, x_yaml=YAML, y_jsonl=LINES)
    for state in (yaml, lines):
        drafts, _ = drafted(state, *[ITEMS] * 3)
        after = with_rubrics(state.body, state.file, drafts)
        found, before = (language(state.file).load(text, state.file) for text in (after, state.body))
        for one in drafts:
            document, at = one.lacking.place
            case = found[document]
            for step in at:
                case = case[step]
            assert case.pop("rubrics") == ITEMS
        assert found == before
        left = iter(after)
        assert all(sign in left for sign in state.body)  # in this order
    assert after.splitlines()[1] == ""


def test_a46_the_written_file_is_read_again_and_nothing_is_left_to_do(tmp_path: Path) -> None:
    yaml, lines = states(tmp_path, x_yaml=YAML.replace("\n", "\r\n"), y_jsonl=LINES)
    project = open_project(Operator(cwd=str(tmp_path)))
    for state in (yaml, lines):
        drafts, _ = drafted(state, *[ITEMS] * 3)
        assert diff(state, drafts).count("Says 42") == len(drafts)
        write(project, state.file, drafts)
    data = (tmp_path / "x.yaml").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    again = load_states(project, ["x.yaml", "y.jsonl"], lambda file: (tmp_path / file).read_text())
    assert [state.lacking for state in again] == [(), ()]
    assert again[0].having == ("addition", "flow", "has", "last")


def without(key: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in ITEMS[0].items() if name != key}, *ITEMS[1:]]


def changed(**more: Any) -> list[dict[str, Any]]:
    return [{**ITEMS[0], **more}, *ITEMS[1:]]


UNUSABLE: list[Any] = [
    "no JSON",
    '{"rubrics": []}',
    '{"nonce": "0000000000000000", "rubrics": []}',
    "text",
    ITEMS[:2],
    ITEMS * 3,
    [],
    {"sum": 1},
    *map(without, ITEMS[0]),
    changed(id="Sum"),
    changed(id=""),
    changed(id="steps"),
    changed(id=5),
    changed(expected_outcome=""),
    changed(expected_outcome="two\nlines"),
    changed(expected_outcome="\x1b[31mred"),
    changed(expected_outcome="Shows: how"),
    changed(weight=0),
    changed(weight=-1),
    changed(weight=11),
    changed(weight="2"),
    changed(weight=True),
    changed(required="yes"),
    changed(required=1),
    changed(score_ranges={"0": "x"}),
]


@pytest.mark.parametrize("said", UNUSABLE)
def test_a46_a_draft_is_taken_only_in_the_form_that_was_asked_for(said: Any, tmp_path: Path) -> None:
    (state,) = states(tmp_path, y_jsonl='{"id": "a", "expected_outcome": "b", "input": "c"}')
    (one,), model = drafted(state, said, said, said)
    assert (one.items, len(model.asked)) == (None, 3)
    assert one.error is not None
    assert one.error.code == "BK640"
    assert with_rubrics(state.body, state.file, [one]) == state.body
    (one,), model = drafted(state, said, said, ITEMS)
    assert one.items == DRAFTED
    assert "An earlier reply could not be used" in model.asked[-1]


def test_a46_who_cannot_be_asked_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    (state,) = states(tmp_path, y_jsonl=LINES)
    drafts, _ = drafted(state, cannot_replay("BK610", "the model is not there"), ITEMS)
    assert [one.items for one in drafts] == [None, DRAFTED]
    assert '"input": "c"}\n\n' in with_rubrics(state.body, state.file, drafts)


CHANGES: list[Callable[[str], str]] = [
    lambda body: body.replace("15 + 27?", "16 + 27?"),
    lambda body: body.replace('"42"\n', '"42"\n    rubrics: [mine]\n'),
    lambda body: body.replace("id: addition", "id: sum"),
    lambda body: "evalcases: []\n",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a46_whoever_edited_the_file_meanwhile_is_not_overruled(
    change: Callable[[str], str], tmp_path: Path
) -> None:
    (state,) = states(tmp_path, x_yaml=YAML)
    drafts, _ = drafted(state, *[ITEMS] * 3)
    (tmp_path / "x.yaml").write_text(change(YAML))
    with pytest.raises(InvalidInput) as caught:
        write(open_project(Operator(cwd=str(tmp_path))), "x.yaml", drafts)
    assert caught.value.problems[0].code == "BK697"
    assert (tmp_path / "x.yaml").read_text() == change(YAML)


def test_a46_what_cannot_hold_rubrics_is_told(tmp_path: Path) -> None:
    ours = "- {id: c, input: {type: echo, content: hi}, expected: {value: hi}, grader: {type: code}}\n"
    with pytest.raises(InvalidInput, match=r"BK695 x\.yaml"):
        states(tmp_path, x_yaml=ours)
    with pytest.raises(InvalidInput) as caught:
        states(tmp_path, x_yaml="evalcases:\n  - {id: a, expected_outcome: b}\n")
    assert caught.value.problems[0].code != "BK695"  # it is broken, and says so


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)


@given(st.lists(WORDS, min_size=3, max_size=7, unique=True), st.sampled_from(["x.yaml", "x.jsonl"]))
def test_a46_any_text_of_an_item_is_written_as_it_is(texts: list[str], file: str) -> None:
    items = [
        {"id": f"i{n}", "expected_outcome": text, "weight": 1, "required": False}
        for n, text in enumerate(texts)
    ]
    nonce = "0123456789abcdef"
    read = read_draft(json.dumps({"nonce": nonce, "rubrics": items}), nonce)
    assert [item.written for item in read] == items
    written = (yaml_flow if file == "x.yaml" else compact)([item.written for item in read])
    assert language(file).load(written, file) == [items]
