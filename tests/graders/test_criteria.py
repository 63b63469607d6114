"""Criteria and weights as a text states them, measured by a table of rubrics with known answers."""

import random
from pathlib import Path
from time import perf_counter

import pytest
from cases import case
from rubrics import KNOWN_WRONG, REFUSED, RUBRICS

from baselinekit.errors import Problem
from baselinekit.graders.by_model import ModelJudge, Scoring, describe_criteria
from baselinekit.graders.criteria import Criterion
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grader


def problems(how: ModelJudge) -> list[Problem]:
    return list(problems_of(Grader("g", "model", how), case()))


def read(text: str) -> object:
    how = ModelJudge(text)
    if problems(how):
        return REFUSED
    return [(one.name, pytest.approx(one.weight)) for one in how.criteria]


def test_read_rubrics_with_known_answers_gives_the_error_rate_of_the_docs() -> None:
    assert len({text for text, _ in RUBRICS}) == len(RUBRICS) >= 100
    wrong = {text for text, wanted in RUBRICS if read(text) != wanted}
    assert wrong == {*KNOWN_WRONG}
    measured = (Path(__file__).parents[2] / "benchmarks" / "README.md").read_text("utf-8")
    assert f"| rubrics with weights | {len(RUBRICS)} | {len(wrong)} |" in measured


def test_refused_rubrics_are_reported_with_a_code_and_a_hint() -> None:
    refused = [text for text, wanted in RUBRICS if wanted == REFUSED]
    assert all(
        problem.code == "BK702" and problem.hint for text in refused for problem in problems(ModelJudge(text))
    )


def test_unread_weight_is_reported_with_its_line_and_words() -> None:
    (problem,) = problems(ModelJudge("Criteria:\n1. Accuracy (weight: high)\n2. Tone"))
    assert (
        problem.message == "line 2 of the rubric: '(weight: high)' looks like a weight but could not be read"
    )


def test_describe_criteria_shows_weights_and_ranges() -> None:
    how = ModelJudge("1. Accuracy (weight: 3) (0-10)\n2. Tone (weight: 1)")
    assert describe_criteria(how) == ["accuracy: weight 3 (75%), 0 to 10", "tone: weight 1 (25%), 1 to 5"]
    assert describe_criteria(ModelJudge("Is it right?")) == ["overall: all of it, 1 to 5"]
    assert describe_criteria(ModelJudge([Criterion("a", required=True), Criterion("b")])) == [
        "a: weight 1 (50%), 1 to 5, required",
        "b: weight 1 (50%), 1 to 5",
    ]
    assert describe_criteria(ModelJudge("ok?", scoring=Scoring("boolean"))) == ["boolean"]


@pytest.mark.slow
def test_read_any_text_returns_within_seconds() -> None:
    chance = random.Random(5)
    parts = [
        *("1. ", "2) ", "- ", "## ", "| ", "|", "---", "\n", "(", ")", "[", "weight", ": ", "40%"),
        *("0.4", " "),
    ]
    parts += ["**", "Accuracy", "(0-5)", "5", "poor", "—", "\0", "½", "w=", "x2"]
    for _ in range(3_000):
        read("".join(chance.choices(parts, k=chance.randrange(1, 40))))
    for part in ("1. a (40%)\n", "| a | 1% |\n", "(weight " * 3, "(" * 50, "- " * 20, "1 % " * 9, "   " * 30):
        began = perf_counter()
        read(part * 2_000)
        assert perf_counter() - began < 10
