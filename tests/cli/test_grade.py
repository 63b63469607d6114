"""`baselinekit grade` in a real terminal."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from console import Console, console
from test_review import Tty, in_terminal

pytestmark = pytest.mark.slow

SUITE = """\
capability_eval:
- id: a-tone
  input: {type: command, content: {argv: [greet]}}
  execution: {type: command}
  grader:
    type: human
    config:
      rubric: Is it friendly?
      blind_evaluation: false
      time_limit_minutes: 0.00001
      rating_scale: {type: likert, range: [1, 5], labels: {4: Good}, criteria: [warm, short]}
- id: b-send
  input: {type: command, content: {argv: [greet]}}
  execution: {type: command}
  grader: {type: human, config: {rating_scale: {type: binary}}}
- id: c-order
  input: {type: command, content: {argv: [drafts]}}
  execution: {type: command, parse: json}
  grader: {type: human, config: {rating_scale: {type: ranking}}}
- id: d-wide
  input: {type: command, content: {argv: [greet]}}
  execution: {type: command}
  grader: {type: human, config: {rating_scale: {type: likert, range: [0, 100]}}}
"""
CONFIG = """\
version: 1
commands:
  greet: [echo, "Dear \\e[31mcustomer"]
  drafts: [printf, '["x","y","z"]']
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Console]:
    """A project in which four outputs wait for two people each."""
    with console(tmp_path / "project") as project:
        (project.folder / "evals").mkdir()
        (project.folder / "evals/tone.yaml").write_text(SUITE)
        (project.folder / "baselinekit.yaml").write_text(CONFIG)
        assert project.run("baselinekit run evals -q").exit_code == 3
        yield project


def grading(project: Console, *words: str, rows: int = 24, columns: int = 80) -> AbstractContextManager[Tty]:
    return in_terminal(project.folder, *words, rows=rows, columns=columns, command="grade")


def ratings_in(project: Console) -> dict[str, list[tuple[str, object, str]]]:
    """The ratings in the queue, by case, with their notes."""
    assert project.run("baselinekit grade --export all.json").exit_code == 0
    items = json.loads((project.folder / "all.json").read_text())["items"]
    return {
        item["case"]: [(it["rater"], it["value"], it.get("note", "")) for it in item.get("ratings", [])]
        for item in items
    }


def test_grade_keys_rate_and_undo_and_each_rating_is_kept(project: Console) -> None:
    with grading(project, "--as", "ada") as tty:
        tty.until("1 of 2  warm")
        assert "Is it friendly?" in tty.output
        assert "Dear \\x1B[31mcustomer" in tty.output  # control characters of an output are shown, not sent
        tty.type("9", "a number from 1 to 5")
        tty.type("4\r", "2 of 2  short")
        tty.type("\x7f", "1 of 2  warm")
        tty.type("45", "1 Pass")
        tty.type("u", "1 of 2  warm")
        tty.type("35", "1 Pass")
        tty.type("2", "best first")
        tty.type("2 3\r", "all 3 numbers, the best first")
        tty.type("231\r", "4 of 4")
        tty.type("87x\r", "a number from 0 to 100")
        tty.type("87", "> 87")
        tty.type("\r", "4 ratings kept")
        assert tty.end() == 0
    assert tty.output.count("a number from 1 to 5") == 1, "Enter after a number is no mistake"
    for line in (
        "kept     a-tone  4, 5",
        "undone   a-tone",
        "kept     a-tone  3, 5",
        "kept     b-send  Fail",
        "kept     c-order  2 > 3 > 1",
        "kept     d-wide  87",
    ):
        assert line in tty.output
    assert ratings_in(project) == {
        "a-tone": [("ada", [3, 5], "")],
        "b-send": [("ada", False, "")],
        "c-order": [("ada", [2, 3, 1], "")],
        "d-wide": [("ada", 87, "")],
    }


def test_grade_that_is_interrupted_keeps_ratings(project: Console) -> None:
    with grading(project, "--as", "ada") as tty:
        tty.until("warm")
        tty.type("44", "1 Pass")
        tty.type("s", "best first")
        tty.type("1", "> 1")
        tty.type("\x03", "interrupted")
        assert tty.end() == 130
    ratings = ratings_in(project)
    assert (ratings["a-tone"], ratings["c-order"]) == ([("ada", [4, 4], "")], [])
