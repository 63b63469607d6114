"""A new form of eval file is one file and one row."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput, Problem
from baselinekit.graders.by_text import ExactMatch
from baselinekit.kinds.prompt import PromptInput
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Recipe
from baselinekit.schema import Parts, Schema, add_part, prefix_paths, read_as, ref
from baselinekit.structs import Struct
from baselinekit.suites.authoring import json_schema
from baselinekit.suites.dialect import Defaults, Dialect, EvalDocument, EvalItem
from baselinekit.suites.loading import DIALECTS, load_cases, load_evals

# The file.


class Question(Struct):
    ask: str
    answer: str
    id: str = "question"


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    question, problems = read_as(Question, item.raw)
    if question is not None:
        source = document.source(item.at, item.raw)
        grader = Grader("answer", "code", ExactMatch(question.answer))
        recipe = Recipe(PromptInput(text=question.ask), defaults.target_for())
        document.cases.append(Case(question.id, recipe, (grader,), source=source))
    return prefix_paths(problems, item.at)


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "Question", Question)
    return [ref("Question")]


# The row.

TOY = Dialect("question", read_item, schema, lambda raw: "ask" in raw, "questions")
ALL = (*DIALECTS, TOY)


def load(root: Path, text: str, name: str = "evals/q.yaml") -> list[Case]:
    return load_cases([write(root, name, text)], str(root), dialects=ALL)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evals/q.yaml", "- {ask: six times seven?, answer: '42'}\n- {id: b, ask: 2?, answer: '2'}\n"),
        ("evals/q.json", '{"questions": [{"ask": "1", "answer": ""}, {"id": "b", "ask": "", "answer": ""}]}'),
        ("evals/q.jsonl", '{"ask": "1?", "answer": "1"}\n\n{"id": "b", "ask": "2?", "answer": "2"}\n'),
    ],
)
def test_added_dialect_is_read_in_every_language(tmp_path: Path, name: str, text: str) -> None:
    assert [case.id for case in load(tmp_path, text, name)] == ["question", "b"]


def test_added_dialect_with_a_mistake_has_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path, '{"ask": "1?", "answer": "1"}\n{"ask": "2?", "answre": "2"}\n', "evals/q.jsonl")
    assert [f"{problem.code} {problem.place}" for problem in caught.value.problems] == [
        "BK104 evals/q.jsonl:2:1",
        "BK103 evals/q.jsonl:2:15",
    ]


def test_added_dialect_is_part_of_suites_and_of_the_schema(tmp_path: Path) -> None:
    write(tmp_path, "evals/a.yaml", "{id: a, input: {type: prompt, content: x}, expected: {value: x}}\n")
    text = "eval_suite:\n  name: s\n  evals:\n    - $ref: a.yaml\n    - {ask: 'b?', answer: b}\n"
    suite = load_evals([write(tmp_path, "evals/eval-suite.yaml", text)], str(tmp_path), dialects=ALL)
    assert [case.id for case in suite.cases] == ["a", "question"]
    stated = json_schema(ALL)
    assert {"$ref": "#/$defs/Question"} in stated["anyOf"]
    assert "Question" in stated["$defs"]
    assert any("questions" in form.get("properties", {}) for form in stated["anyOf"])
