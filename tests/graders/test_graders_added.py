"""A new grader is one file and one row: its config, its problems and its judging."""

from collections.abc import Iterator
from typing import Any

import pytest
from cases import case

from baselinekit.errors import Problem
from baselinekit.graders.base import GradeClients, GraderType, Task, text_of
from baselinekit.graders.graders import GRADERS, grade, model_calls_of, problems_of
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.structs import Struct, replace
from baselinekit.suites.settings import GraderContext, read_grader as read

# The file.


class WordCount(Struct):
    """The output has at most so many words. Without a number the expected value is one."""

    most: int | None = None
    dictionary: str | None = None
    of: str | None = None


def judge_words(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    most = task.expected[0] if task.method.most is None else task.method.most
    count = len(text_of(task.look(observation.output)).split())
    part = task.part(observation.output)
    return task.decide(count <= most, f"it has {count} words, and {most} are allowed", {"words": count}, part)


def word_problems(task: Task) -> Iterator[Problem]:
    if task.method.most is not None and task.method.most < 1:
        yield Problem("BK702", "no output has so few words", "1 or more", at=("config", "most"))


# The row.

ROW = GraderType(
    WordCount,
    judge_words,
    "word_count",
    problems=word_problems,
    goes_by_expectation=lambda config: config.most is None,
    files=lambda config: {"dictionary": config.dictionary},
    asks=lambda config: ("counter", 2) if config.dictionary else None,
)


@pytest.fixture(autouse=True)
def with_row() -> Iterator[None]:
    GRADERS[WordCount] = ROW
    yield
    del GRADERS[WordCount]


def read_config(**config: Any) -> Grader:
    grader, problems = read(
        {"type": "code", "config": {"method": "word_count", **config}}, (), GraderContext()
    )
    assert problems == []
    assert grader is not None
    return grader


def test_added_grader_is_read_strictly() -> None:
    grader = read_config(most=3)
    assert (grader.name, grader.kind, grader.method) == ("word_count", "code", WordCount(3))
    raw = {"type": "code", "config": {"method": "word_count", "mst": 3}}
    _, problems = read(raw, (), GraderContext())
    assert [(problem.code, problem.at) for problem in problems] == [("BK103", ("config", "mst"))]
    _, problems = read({"type": "code", "config": {"method": "word_cout"}}, (), GraderContext())
    assert "word_count" in problems[0].hint
    known_by = replace(ROW, known_by=("most",), read=lambda config: (WordCount(int(config["most"])), []))
    GRADERS[WordCount] = known_by
    grader, _ = read({"type": "code", "config": {"most": "3"}}, (), GraderContext())
    assert grader is not None
    assert grader.method == WordCount(3)


def test_added_grader_looks_at_the_answer_or_at_the_named_part() -> None:
    recipe = Recipe(HttpRequest(), HttpExecution("http"))
    output = {"status": 200, "headers": {}, "body": {"text": "one two three", "note": "four"}}

    def reason(grader: Grader, expected: Expected | None = None) -> str:
        made = Case("c", recipe, (grader,), expected=expected)
        return grade(grader, made, Observation(output, 0.1), GradeClients()).reason

    assert reason(read_config(most=2)) == "body: it has 3 words, and 2 are allowed"
    assert reason(read_config(most=0, of="note")) == "note: it has 1 words, and 0 are allowed"
    assert reason(read_config(), Expected("exact", 0, of="note")) == "note: it has 1 words, and 0 are allowed"
    assert reason(read_config(most=1, of="nowhere")) == "the output has no nowhere"


def test_added_grader_has_problems_and_model_calls() -> None:
    grader = read_config(most=0)
    assert [problem.at for problem in problems_of(grader, case(grader))] == [("config", "most")]
    assert model_calls_of(read_config(dictionary="words.txt")) == ("counter", 2)
    assert model_calls_of(read_config(most=3)) is None
