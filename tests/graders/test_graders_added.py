"""A new grader is one file and one row: its config, its problems and its judging."""

from collections.abc import Iterator
from typing import Any

from cases import case

from baselinekit.errors import Problem
from baselinekit.graders.base import GradeClients, GraderType, Task, text_of
from baselinekit.graders.graders import GRADERS, by_config, files_of, grade, model_calls_of, problems_of
from baselinekit.kinds.http import HttpExecution
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.structs import Struct, replace
from baselinekit.suites.authoring import schema_with
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
        yield Problem("BK706", "no output has so few words", "1 or more", at=("config", "most"))


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
ALL = {**GRADERS, **by_config(ROW)}
GIVEN = GraderContext(graders=ALL)


def read_config(**config: Any) -> Grader:
    grader, problems = read({"type": "code", "config": {"method": "word_count", **config}}, (), GIVEN)
    assert problems == []
    assert grader is not None
    return grader


def test_added_grader_is_read_strictly_and_is_in_the_schema() -> None:
    grader = read_config(most=3)
    assert (grader.name, grader.kind, grader.method) == ("word_count", "code", WordCount(3))
    raw = {"type": "code", "config": {"method": "word_count", "mst": 3}}
    _, problems = read(raw, (), GIVEN)
    assert [(problem.code, problem.at) for problem in problems] == [("BK103", ("config", "mst"))]
    parts = schema_with(ALL)["$defs"]
    assert parts["WordCountConfig"]["properties"]["method"] == {"const": "word_count"}
    assert {"$ref": "#/$defs/WordCountConfig"} in parts["CodeGrader"]["properties"]["config"]["anyOf"]
    row = replace(ROW, known_by=("most",), read=lambda config: (WordCount(int(config["most"])), []))
    rows = {**GRADERS, **by_config(row)}
    grader, _ = read({"type": "code", "config": {"most": "3"}}, (), GraderContext(graders=rows))
    assert grader is not None
    assert grader.method == WordCount(3)


def test_added_grader_looks_at_the_answer_or_at_the_named_part() -> None:
    recipe = Recipe(HttpRequest(), HttpExecution("http"))
    output = {"status": 200, "headers": {}, "body": {"text": "one two three", "note": "four"}}
    for grader, part, count in ((read_config(most=2), "body", 3), (read_config(), "note", 1)):
        made = Case("c", recipe, (grader,), expected=Expected("exact", 0, of="note"))
        found = grade(grader, made, Observation(output, 0.1), GradeClients(), ALL)
        assert found.reason.startswith(f"{part}: it has {count} words, and ")


def test_added_grader_has_problems_files_and_model_calls() -> None:
    grader = read_config(most=0)
    assert [problem.at for problem in problems_of(grader, case(grader), ALL)] == [("config", "most")]
    assert files_of(read_config(dictionary="words.txt"), ALL) == {"dictionary": "words.txt"}
    assert model_calls_of(read_config(dictionary="words.txt"), ALL) == ("counter", 2)
    assert model_calls_of(read_config(most=3), ALL) is None
