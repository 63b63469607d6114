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
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        folder = terminal.folder
        (folder / "baselinekit.yaml").write_text(CONFIG)
        (folder / "skills.py").write_text(SKILLS)
        (folder / "evals").mkdir()
        (folder / "evals" / "eval-suite.yaml").write_text(SUITE)
        (folder / "evals" / "known.yaml").write_text(REGRESSION)
        cases(terminal, ("a", "abc", "upper", "ABC"), ("b", "abc", "upper", "ABC"))
        yield terminal


def cases(here: Console, *rows: tuple[str, str, str, str]) -> None:
    texts = (
        CASE.format(id=id, content=content, skill=skill, value=value) for id, content, skill, value in rows
    )
    (here.folder / "evals" / "cases.yaml").write_text("".join(texts))


def run(here: Console, words: str, exit_code: int) -> Ran:
    ran = here.run(f"baselinekit run {words}".strip())
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran


def test_h64_a_suite_keeps_its_reports_beside_it(here: Console) -> None:
    suite = SUITE + "  reporting: {format: [json, markdown, html]}\n"
    (here.folder / "evals" / "eval-suite.yaml").write_text(suite)
    said = run(here, "", 1).stdout
    latest = here.folder / "evals" / "results" / "latest"
    (page,) = latest.glob("run-*.md")
    endings = sorted(file.name.partition(".")[2] for file in latest.iterdir())
    assert endings == ["eval.json", "html", "json", "md"]
    assert f"kept: evals/results/{os.readlink(latest)}/{page.stem}." in said
    assert page.read_text().startswith("## baselinekit: 1 failed, 2 passed in ")
    shown = next(latest.glob("run-*.html")).read_text()
    assert "<h2>Metrics</h2>" in shown
    assert "<h2>Results by group</h2>" in shown
    told = json.loads(next(latest.glob("run-*.eval.json")).read_text())
    assert told["eval_report"]["summary"]["by_category"]["regression"]["failed"] == 1
    assert run(here, "evals/results/latest/" + page.stem + ".json", 2).stderr.startswith("BK")
    run(here, "evals --tag nothing", 5)


def test_h8_a_regression_is_recorded_as_compare_does_and_not_in_ci(here: Console) -> None:
    known = here.folder / "evals" / "known.yaml"
    run(here, "-q --no-record", 1)
    assert here.run("CI=true baselinekit run -q").exit_code == 1
    assert "failure_count: 3" in known.read_text()
    said = run(here, "", 1).stdout
    assert "failure_count: 4" in known.read_text()
    assert "next: baselinekit review evals/known.yaml" in said
    assert here.run("baselinekit refresh evals/known.yaml --yes --allow-high-risk").exit_code == 0
    run(here, "-q", 0)
    assert "failure_count: 0" in known.read_text()
    assert "last_passed: null" not in known.read_text()


def test_h8_x7_an_error_is_neither_a_pass_nor_a_failure(here: Console) -> None:
    cases(here, ("a", "abc", "upper", "ABC"), ("b", "abc", "gone", "ABC"))
    said = run(here, "--category capability", 3).stdout
    assert "ERROR   b" in said
    assert "pass@1           1.000  (0.207 to 1.000, per case, n=1)" in said
    assert "1 error, 1 passed" in said


def test_what_cannot_be_written_fails_nothing(here: Console) -> None:
    (here.folder / ".baselinekit").write_text("a file in the way")
    (here.folder / "evals" / "results").write_text("another")
    said = run(here, "--category capability", 0).stdout
    assert "warning this run cannot be resumed" in said
    assert "warning the reports could not be kept" in said
    assert "2 passed" in said


def test_h67_a_suite_may_say_where_its_reports_go(here: Console) -> None:
    suite = SUITE + "  reporting: {format: [markdown], output_dir: ../out, include_details: false}\n"
    (here.folder / "evals" / "eval-suite.yaml").write_text(suite)
    cases(here, ("a", "abc", "upper", "WRONG"))
    run(here, "--category capability", 1)
    (page,) = (here.folder / "out" / "latest").glob("*.md")
    assert "WRONG" not in page.read_text()


def test_paths_and_what_is_wrong_with_them(here: Console) -> None:
    assert "2 passed" in run(here, "evals/cases.yaml", 0).stdout
    assert "BK111" in run(here, "nowhere.yaml", 2).stderr
    assert "BK508" in run(here, "--suite evals/eval-suite.yaml evals", 2).stderr
    cases(here, ("a", "abc", "upper", "ABC"), ("a", "abc", "upper", "ABC"))
    assert "cases.yaml:5" in run(here, "", 2).stderr


def test_json_on_standard_output_is_the_result_file(here: Console) -> None:
    ran = here.run(
        "baselinekit run --json --category capability | python3 -c 'import json,sys; json.load(sys.stdin)'"
    )
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_what_did_not_pass_is_listed_and_run_again(here: Console) -> None:
    cases(here, ("a", "abc", "upper", "ABC"), ("b", "abc", "upper", "no"))
    listed = run(here, "--list --lf", 5).stderr
    assert "all of these passed when they were last run" in listed
    run(here, "-q --no-record", 1)
    listed = run(here, "--list --lf --exclude-tag x", 0).stdout.splitlines()
    assert listed[0].split() == ["b", "skill", "evals/cases.yaml:5", "by", "exact_match", "(code)"]
    assert listed[-1] == "2 of 3 cases, 2 attempts, 0 calls of models; nothing was run"
    assert [one["id"] for one in json.loads(run(here, "--list --json", 0).stdout)] == ["a", "b", "known"]
    assert "1 failed in" in run(here, "--lf --id b", 1).stdout
    cases(here, ("b", "abc", "upper", "ABC"))
    said = run(here, "--lf --category capability -v", 0).stdout
    assert "    passed   exact_match (code) 1.00" in said
    run(here, "--lf --category capability", 5)


def test_without_evals_it_says_how_to_begin(tmp_path: Path) -> None:
    with console(tmp_path / "empty") as terminal:
        said = run(terminal, "", 5).stderr
    assert "evals/eval-suite.yaml" in said


@pytest.mark.parametrize(
    ("words", "more", "told"),
    [
        ("--attempts 3", "", True),
        ("", "", False),
        ("--attempts 3 --id a", "", False),
        ("--attempts 3", "thresholds: {pass@1: 0.5}", False),
    ],
)
def test_a_gate_comes_next_where_there_is_something_to_judge_and_nobody_said_what_is_enough(
    here: Console, words: str, more: str, told: bool
) -> None:
    suite = here.folder / "evals" / "eval-suite.yaml"
    suite.write_text(f"eval_suite:\n  name: s\n  evals: [{{$ref: cases.yaml}}]\n  {more}\n")
    (here.folder / "evals" / "known.yaml").unlink()
    said = run(here, words, 0).stdout
    assert ("next: baselinekit gate evals/results/" in said) is told
    if told:
        command = said.partition("next: ")[2].strip()
        assert command.endswith(" --preset staging")
        assert "go on: 1 gate met" in here.run(command).stdout
