"""`baselinekit run` as it is typed: where reports go, what is recorded, what stands in the way."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, Ran, console

pytestmark = pytest.mark.slow

CONFIG = """\
skills:
  upper: {python: "skills:upper"}
  gone: {python: "skills:gone"}
"""
SKILLS = """\
def upper(input):
    return input.upper()
def gone(input):
    raise SystemExit("gone")
"""
CASE = """\
- id: {id}
  input: {{type: skill, content: {content}}}
  execution: {{type: skill, skill_name: {skill}}}
  expected: {{type: exact, value: {value}}}
"""
REGRESSION = """\
id: known
current: {input: abc, execution: {type: skill, skill_name: upper}}
baseline: {output: ABD}
metadata: {failure_count: 3}
"""
SUITE = "eval_suite:\n  name: s\n  evals: [{$ref: cases.yaml}, {$ref: known.yaml}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        folder = terminal.folder
        (folder / "baselinekit.yaml").write_text(CONFIG)
        (folder / "skills.py").write_text(SKILLS)
        (folder / "evals").mkdir()
        (folder / "evals" / "eval-suite.yaml").write_text(SUITE)
        (folder / "evals" / "known.yaml").write_text(REGRESSION)
        write_cases(terminal, ("a", "abc", "upper", "ABC"), ("b", "abc", "upper", "ABC"))
        yield terminal


def write_cases(project: Console, *rows: tuple[str, str, str, str]) -> None:
    texts = (
        CASE.format(id=id, content=content, skill=skill, value=value) for id, content, skill, value in rows
    )
    (project.folder / "evals" / "cases.yaml").write_text("".join(texts))


def run(project: Console, words: str, exit_code: int) -> Ran:
    ran = project.run(f"baselinekit run {words}".strip())
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran


def test_h64_h67_run_keeps_reports_of_a_suite_where_it_says(project: Console) -> None:
    suite = SUITE + "  reporting: {format: [json, markdown, html]}\n"
    (project.folder / "evals" / "eval-suite.yaml").write_text(suite)
    output = run(project, "", 1).stdout
    latest = project.folder / "evals" / "results" / "latest"
    (page,) = latest.glob("run-*.md")
    endings = sorted(file.name.partition(".")[2] for file in latest.iterdir())
    assert endings == ["eval.json", "html", "json", "md"]
    assert f"kept: evals/results/{os.readlink(latest)}/{page.stem}." in output
    assert page.read_text().startswith("## baselinekit: 1 failed, 2 passed in ")
    shown = next(latest.glob("run-*.html")).read_text()
    assert "95 % interval" in shown
    assert "<h2>Results by group</h2>" in shown
    document = json.loads(next(latest.glob("run-*.eval.json")).read_text())
    assert document["eval_report"]["summary"]["by_category"]["regression"]["failed"] == 1
    assert run(project, "evals/results/latest/" + page.stem + ".json", 2).stderr.startswith("BK")
    run(project, "evals --tag nothing", 5)
    suite = SUITE + "  reporting: {format: [markdown], output_dir: ../out, include_details: false}\n"
    (project.folder / "evals" / "eval-suite.yaml").write_text(suite)
    write_cases(project, ("a", "abc", "upper", "WRONG"))
    run(project, "--category capability", 1)
    (page,) = (project.folder / "out" / "latest").glob("*.md")
    assert "WRONG" not in page.read_text()


def test_h8_run_records_a_regression_and_nothing_in_ci(project: Console) -> None:
    known = project.folder / "evals" / "known.yaml"
    run(project, "-q --no-record", 1)
    assert project.run("CI=true baselinekit run -q").exit_code == 1
    assert "failure_count: 3" in known.read_text()
    output = run(project, "", 1).stdout
    assert "failure_count: 4" in known.read_text()
    assert "next: baselinekit review evals/known.yaml" in output
    assert project.run("baselinekit refresh evals/known.yaml --yes --allow-high-risk").exit_code == 0
    run(project, "-q", 0)
    assert "failure_count: 0" in known.read_text()
    assert "last_passed: null" not in known.read_text()


def test_h8_x7_run_with_an_error_is_undecided(project: Console) -> None:
    write_cases(project, ("a", "abc", "upper", "ABC"), ("b", "abc", "gone", "ABC"))
    output = run(project, "--category capability", 3).stdout
    assert "ERROR   b" in output
    assert "pass@1  1.000  0.207 to 1.000        1  per case" in output
    assert "1 error, 1 passed" in output


def test_run_that_cannot_write_its_reports_keeps_its_verdict(project: Console) -> None:
    (project.folder / ".baselinekit").write_text("a file in the way")
    (project.folder / "evals" / "results").write_text("another")
    output = run(project, "--category capability", 0).stdout
    assert "warning this run cannot be resumed" in output
    assert "warning the reports could not be kept" in output
    assert "2 passed" in output


def test_run_lf_lists_and_runs_cases_that_did_not_pass(project: Console) -> None:
    write_cases(project, ("a", "abc", "upper", "ABC"), ("b", "abc", "upper", "no"))
    listed = run(project, "--list --lf", 5).stderr
    assert "all of these passed when they were last run" in listed
    run(project, "-q --no-record", 1)
    listed = run(project, "--list --lf --exclude-tag x", 0).stdout.splitlines()
    assert listed[0].split() == ["b", "skill", "evals/cases.yaml:5", "by", "exact_match", "(code)"]
    assert (
        listed[-1] == "2 of 3 cases, 2 attempts, at most 0 calls of models without retries; nothing was run"
    )
    assert [case["id"] for case in json.loads(run(project, "--list --json", 0).stdout)] == ["a", "b", "known"]
    assert "1 failed in" in run(project, "--lf --id b", 1).stdout
    write_cases(project, ("b", "abc", "upper", "ABC"))
    output = run(project, "--lf --category capability -v", 0).stdout
    assert "  exact_match  code  passed  1.000" in output
    run(project, "--lf --category capability", 5)
