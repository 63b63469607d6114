"""The four files of the documents run as they are against the demo model, with the files that they name."""

import json
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from promptfiles import example
from storehelp import write

CONFIG = """\
version: 1
models:
  default: {openai: demo, base_url: "{url}"}
  judge: {openai: demo, base_url: "{url}"}
  claude-opus-4-7: {openai: demo, base_url: "{url}"}
  claude-haiku-4-5-20251001: {anthropic: demo, base_url: "{url}"}
"""
META = """\
id: refactor
title: Refactor
summary: Changes code and keeps what it does.
description: Refactors code. Use when somebody asks to refactor a file.
status: draft
version: 1.0.0
created: 2026-01-02
updated: 2026-02-03
triggers: [clean this module up]
not_for: [explaining code]
inputs:
  - name: constraints
"""


def run(
    tmp_path: Path, *names: str, template: str = "", more: str = ""
) -> tuple[int, dict[str, Any], list[Any]]:
    """The exit code, the result file and the rows of one of the files in a folder of its own."""
    with console(tmp_path / "project", "demo") as terminal:
        folder = "prompts/refactor"
        write(terminal.folder, "baselinekit.yaml", CONFIG.replace("{url}", terminal.service.url))
        write(terminal.folder, f"{folder}/meta.yml", META)
        write(terminal.folder, f"{folder}/prompt.xml", template or "<prompt>{{constraints}}</prompt>\n")
        write(
            terminal.folder,
            f"{folder}/examples/happy-path/inputs.yml",
            "constraints: A <diff> of one line.\n",
        )
        write(terminal.folder, f"{folder}/eval.yml", "".join(map(example, names)))
        return ran(terminal, f"baselinekit run refactor -o results.json{more}")


def ran(terminal: Console, command: str) -> tuple[int, dict[str, Any], list[Any]]:
    done = terminal.run(command)
    assert (terminal.folder / "results.json").exists(), done.stderr
    rows = (terminal.folder / "prompts/refactor/.eval.jsonl").read_text().splitlines()
    return (
        done.exit_code,
        json.loads((terminal.folder / "results.json").read_text()),
        [json.loads(row) for row in rows],
    )


def test_e1_e3_e6_the_case_with_a_judge_runs_as_it_is(tmp_path: Path) -> None:
    code, file, rows = run(tmp_path, "eval-small-file-happy-path")
    (result,) = file["results"]
    assert (code, result["id"], result["outcome"]) == (0, "refactor/small-file-happy-path", "passed"), result
    grades = result["case"]["attempts"][0]["grades"]
    assert [(one["grader"], one["outcome"]) for one in grades] == [
        ("contains", "passed"),
        ("max_tokens", "passed"),
        ("judge", "passed"),
    ]
    assert (grades[-1]["score"], grades[-1]["details"]["score"]) == (1.0, 5)
    served = result["case"]["attempts"][0]["environment"]
    assert (served["model"], served["judge"]) == ("demo-1.0", "demo-1.0")
    assert [(row["all_passed"], row["total"], row["passed"], row["scope"]) for row in rows] == [
        (True, 1, 1, "all")
    ]


def test_e3_e4_the_case_with_inputs_in_place_runs_as_it_is(tmp_path: Path) -> None:
    template = "<prompt>What happens?\n\nThe constraints empty it.{{constraints}}</prompt>\n"
    code, file, _ = run(tmp_path, "eval-rejects-empty", template=template)
    (result,) = file["results"]
    assert (code, result["id"], result["outcome"]) == (0, "refactor/rejects-empty", "passed"), result


def test_e4_what_the_case_asks_for_and_does_not_get_is_told_at_its_line(tmp_path: Path) -> None:
    code, file, rows = run(
        tmp_path, "eval-rejects-empty", template="<prompt>Nothing.{{constraints}}</prompt>\n"
    )
    (result,) = file["results"]
    grade = result["case"]["attempts"][0]["grades"][0]
    assert (code, result["outcome"], result["line"], grade["line"]) == (1, "failed", 2, 5)
    assert "constraints empty" in grade["reason"]
    assert rows[-1]["failed_cases"] == ["rejects-empty"]


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("triggering-refactor", ["should-match-1", "should-not-match-1"]),
        ("triggering-weather", ["should-not-match-1"]),
    ],
)
def test_e10_e12_the_queries_run_as_they_are(tmp_path: Path, name: str, queries: list[str]) -> None:
    code, file, rows = run(tmp_path, name)
    assert [one["id"] for one in file["results"]] == [f"refactor/triggering/{query}" for query in queries]
    assert (code, {one["outcome"] for one in file["results"]}) == (0, {"passed"})
    (classified,) = file["run"]["classified"]
    assert (classified["right"], classified["decided"], classified["accuracy"]) == (
        len(queries),
        len(queries),
        1,
    )
    assert (rows[0]["total"], rows[0]["passed"]) == (len(queries), len(queries))


def test_e13_queries_are_left_out_where_a_case_is_named(tmp_path: Path) -> None:
    names = ("eval-rejects-empty", "triggering-refactor")
    _, whole, _ = run(tmp_path / "all", *names)
    _, chosen, rows = run(tmp_path / "one", *names, more=" --case rejects-empty")
    assert [len(file["results"]) for file in (whole, chosen)] == [3, 1]
    assert rows[0]["scope"] == ["rejects-empty"]
    assert ["classified" in file["run"] for file in (whole, chosen)] == [True, False]
