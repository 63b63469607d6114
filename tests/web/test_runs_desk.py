"""Runs as the page reads them: rows, transcripts, two runs, trends."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from console import console

from baselinekit.errors import InvalidInput
from baselinekit.evals.gating import measure
from baselinekit.model.grades import Attempt, Exchange, Grade
from baselinekit.model.recipes import Usage
from baselinekit.model.results import CaseFacts, Report, Result, SuiteFacts
from baselinekit.report import resultfile
from baselinekit.structs import replace
from baselinekit.web.runs import RunsDesk

CASE = """\
- id: greeting
  input: {type: prompt, content: "Summarise: the parcel came late, we are sorry"}
  metadata: {difficulty: hard, tags: [mail]}
  grader: {type: model, config: {rubric: "1. Kind (weight: 1): is it kind?", model: judge}}
"""
CONFIG = """\
version: 1
models:
  default: {{openai: demo, base_url: "{url}"}}
  judge: {{anthropic: demo, base_url: "{url}"}}
"""


def run_of(second: int, definition: str = "", model: str = "m-1", **outcomes: Any) -> Report:
    """A run with a case for each name."""
    results = []
    for id, outcome in outcomes.items():
        score, used = float(outcome == "passed"), Usage(150, 30, Decimal("0.05"))
        judged = Grade("tone", "model", outcome, score, usage=Usage(100, 10, Decimal("0.02")))
        attempt = Attempt(1, outcome, score, (judged,), seconds=2.0, usage=used, judged_seconds=0.5)
        exchanges = Exchange("say", "so", "m-1"), Exchange("judge", "ok", "j", "tone")
        attempt = replace(attempt, environment={"model": "m-1"}, transcript=exchanges)
        case = CaseFacts("capability", (attempt,), tags=("a",), difficulty="easy", score=score)
        case = replace(case, fingerprint={"model": model, "case": definition if id == "same" else ""})
        results.append(Result(id, "evals/x.yaml", 1, "prompt", outcome, seconds=2.0, usage=used, case=case))
    suite = SuiteFacts("s", metrics=measure(tuple(results), {}))
    started = f"2026-01-01T00:00:0{second}Z"
    return Report(
        f"eval-{second}", started, 1.0, "baselinekit", "baselinekit run", tuple(results), suite=suite
    )


def desk_of(folder: Path, *reports: Report) -> RunsDesk:
    names = [f"run{number}.json" for number, _ in enumerate(reports)]
    for name, report in zip(names, reports, strict=True):
        (folder / name).write_text(resultfile.render(report))
    return RunsDesk(str(folder), names, str(folder))


def test_row_tells_the_tested_model_from_its_judge(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, run_of(1, greeting="passed"))
    (row,) = desk.rows({"run": "run0.json"})["rows"]
    wanted = {"tokens": 70, "judged_tokens": 110, "judged_usd": 0.02, "seconds": 2.0, "judged_seconds": 0.5}
    assert {key: row[key] for key in wanted} == wanted
    assert row["usd"] == pytest.approx(0.03)
    assert (row["tags"], row["difficulty"], row["graders"], row["model"]) == (["a"], "easy", ["tone"], "m-1")


def test_two_runs_show_flips_with_the_exact_test(tmp_path: Path) -> None:
    before = run_of(1, **{f"c{n}": "passed" for n in range(6)}, same="failed", gone="passed")
    now = run_of(2, **{f"c{n}": "failed" for n in range(6)}, same="failed", new="passed")
    found = desk_of(tmp_path, before, now).compare({"before": "run0.json", "run": "run1.json"})
    assert [flip["id"] for flip in found["flips"]] == [f"c{n}" for n in range(6)]
    assert (found["both"], found["lost"], found["won"]) == (7, 6, 0)
    assert found["p"] == pytest.approx(2 / 2**6)
    assert (found["added"], found["gone"]) == (["new"], ["gone"])
    assert found["blocks"][0]["text"].startswith("compared to eval-1: 6 ")


def test_two_runs_of_two_models_leave_out_what_was_edited(tmp_path: Path) -> None:
    before = run_of(1, model="a", one="failed", same="passed")
    now = run_of(2, "another", "b", one="passed", same="failed")
    found = desk_of(tmp_path, before, now).compare({"before": "run0.json", "run": "run1.json"})
    assert [flip["why"] for flip in found["flips"]] == ["not counted: another case", "passed"]
    assert (found["both"], found["edited"], found["lost"], found["won"]) == (1, 1, 0, 1)
    assert found["blocks"][0]["text"].endswith("1 not comparable")


def test_list_has_the_latest_run_first_with_its_metrics_and_names_what_is_unreadable(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, run_of(1, a="passed", b="failed"), run_of(2, a="passed"))
    (tmp_path / "run0.json").with_name("run2.json").write_text("{")
    desk = RunsDesk(str(tmp_path), [*desk.names(), "run2.json"], str(tmp_path))
    runs = desk.list()["runs"]
    assert [run["name"] for run in runs] == ["run1.json", "run0.json", "run2.json"]
    assert runs[1]["metrics"]["pass rate"] == 0.5
    assert runs[2]["unreadable"]
    with pytest.raises(InvalidInput):
        desk.rows({"run": "run2.json"})


@pytest.mark.slow
def test_transcripts_are_kept_where_they_are_asked_for_and_nowhere_else(tmp_path: Path) -> None:
    with console(tmp_path / "project", "demo") as project:
        (project.folder / "evals").mkdir()
        (project.folder / "evals/a.yaml").write_text(CASE)
        (project.folder / "baselinekit.yaml").write_text(CONFIG.format(url=project.service.url))
        for words in ("", "--transcripts --processes 2", "--transcripts"):
            assert project.run(f"baselinekit run evals -q {words} -o results.json").exit_code in (0, 1)
            text = (project.folder / "results.json").read_text()
            assert ("is it kind?" in text) is bool(words)
        desk = RunsDesk(str(project.folder), ["results.json"], str(project.folder))
        (attempt,) = desk.case({"run": "results.json", "id": "greeting"})["attempts"]
        asked, judged = attempt["transcript"]
        assert "the parcel came late" in asked["question"]
        assert (asked["grader"], bool(judged["grader"])) == ("", True)
        assert "is it kind?" in judged["question"]
        assert json.loads(judged["reply"])["scores"]
        assert attempt["output"] == asked["reply"]
        (row,) = desk.rows({"run": "results.json"})["rows"]
        assert row["difficulty"] == "hard"
        kept = [path.read_text() for path in (project.folder / ".baselinekit/results").iterdir()]
        assert kept
        assert not any("is it kind?" in one for one in kept)
