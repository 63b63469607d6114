"""Judged texts that would have themselves passed: none of them persuades a judge that does what it says. One
that is truly persuaded, and replies as it was asked to, cannot be told from one that judges: that is what
`doctor --probe-judges` and calibration are for."""

from collections.abc import Callable

import pytest
from cases import case, exactly, graded, judge
from hostile_texts import GULLIBLE, TEXTS, output_in

from baselinekit.errors import CannotReplay
from baselinekit.grade.by_model import ModelJudge, judge_question
from baselinekit.grade.criteria import Criterion
from baselinekit.grade.judging import meaning_question, read_scores, read_similarity, rubric_question
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Ask, Scores

NUMERIC = ModelJudge([Criterion("right", weight=3), Criterion("kind", weight=1)])


@pytest.mark.parametrize("how", GULLIBLE)
def test_f37_no_text_persuades_a_judge_that_does_what_it_says(how: str) -> None:
    for text in TEXTS:
        clients = judge(lambda nonce, ask: GULLIBLE[how](ask.messages[-1].content))
        found = graded(text, NUMERIC, exactly("the gold"), clients, kind="model")
        assert found.outcome == "error", text[:200]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_f37_a_judged_text_arrives_as_it_is_between_marks_that_it_does_not_know(text: str) -> None:
    grader = Grader(
        "g", "model", ModelJudge("THE RUBRIC", prompt="{rubric} of {output}, {expected} and {input}")
    )
    asked = (
        judge_question(grader.method, case(grader, expected=exactly("THE GOLD")), text).messages[-1].content
    )  # type: ignore[arg-type]
    assert output_in(asked) == text
    assert asked.count("THE RUBRIC") == asked.count("THE GOLD") == 1


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_f37_nor_does_it_persuade_those_who_compare(text: str) -> None:
    """The scores and the likeness of a baseline are asked for in the same way."""
    rubric, scores = {"right": "is it?"}, Scores({"right": "is it?"}, "judge", [1, 5])
    for gullible in GULLIBLE.values():
        said = _said(gullible, rubric_question(text, rubric, scores), "text")
        with pytest.raises(CannotReplay):
            read_scores(said, text, rubric, scores)
        said = _said(gullible, meaning_question("gold", text, "judge"), "second text")
        with pytest.raises(CannotReplay):
            read_similarity(said, "gold", text)


def _said(gullible: Callable[[str], str], ask: Ask, name: str) -> str:
    return gullible(
        ask.messages[-1]
        .content.replace(f"<<<{name} ", "<<<output ")
        .replace(f"end of {name} ", "end of output ")
    )


def test_there_are_enough_of_them() -> None:
    assert len(TEXTS) * len(GULLIBLE) > 400
