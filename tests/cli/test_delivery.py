"""What the runner of a CI job is told besides the reports: by itself, in bounds, and never at the cost of the
verdict."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, Ran, console

from baselinekit.cli import delivery
from baselinekit.model.results import Report, Result

pytestmark = pytest.mark.slow

BASELINE = """\
id: one
baseline:
  output:
    stdout: expected
current: {input: {argv: [echo, -n, other]}, execution: {type: command}}
"""


class Job:
    """A step of a job in a checkout whose project is one folder of it."""

    def __init__(self, terminal: Console, summary: Path):
        self.terminal, self.summary = terminal, summary

    def run(self, words: str, **environment: str) -> Ran:
        given = {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            **environment,
        }
        told = " ".join(f"{name}='{value}'" for name, value in given.items())
        return self.terminal.run(f"cd svc && {told} baselinekit {words}")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with console(tmp_path / "checkout") as terminal:
        (terminal.folder / ".git").mkdir()
        project = terminal.folder / "svc"
        (project / "baselines").mkdir(parents=True)
        (project / "baselinekit.yaml").write_text("version: 1\ncommands: {echo: [echo]}\n")
        (project / "baselines/one.yaml").write_text(BASELINE)
        yield Job(terminal, tmp_path / "summary.md")


ANNOTATION = "::error file=svc/baselines/one.yaml,line=4,title=one%3A stdout::"


def test_a_step_is_annotated_and_summed_up_unasked(job: Job) -> None:
    ran = job.run("compare")
    assert ran.exit_code == 1
    (told,) = [line for line in ran.stdout.splitlines() if line.startswith("::")]
    assert told.startswith(ANNOTATION)
    assert job.summary.read_text("utf-8").startswith("## baselinekit: 1 failed")
    job.run("compare")
    assert job.summary.read_text("utf-8").count("## baselinekit") == 2


def test_elsewhere_nobody_is_told_unless_asked(job: Job) -> None:
    assert "::" not in job.run("compare", GITHUB_ACTIONS="").stdout
    assert not job.summary.exists()
    asked = job.run("compare -o github", GITHUB_ACTIONS="")
    assert ANNOTATION in asked.stdout
    assert not (job.terminal.folder / "svc/github").exists()


def test_json_stays_json(job: Job) -> None:
    ran = job.run("compare --json")
    assert json.loads(ran.stdout.replace("{seconds}", "0"))["summary"]["failed"] == 1
    assert ANNOTATION in ran.stderr


def test_a_summary_shares_its_room_with_what_is_there(job: Job) -> None:
    job.summary.write_text("x" * 999_900)
    assert job.run("compare").exit_code == 1
    assert job.summary.stat().st_size == 999_900


def test_a_summary_that_cannot_be_written_costs_no_verdict(job: Job) -> None:
    ran = job.run("compare", GITHUB_STEP_SUMMARY="/dev/null/summary")
    assert ran.exit_code == 1
    assert "1 failed" in ran.stdout
    assert re.search("the summary of the step could not be written: .*not a directory", ran.stderr.lower())


def test_f31_files_that_are_wrong_are_annotated_too(job: Job) -> None:
    (job.terminal.folder / "svc/baselines/bad.yaml").write_text("id: b\n\nbaselin: {}\n")
    for command in ("compare", "doctor"):
        ran = job.run(command)
        assert ran.exit_code == 2
        assert "::error file=svc/baselines/bad.yaml,line=3,title=BK103::unknown key" in ran.stderr


def test_the_page_of_a_second_run_shows_the_first(job: Job) -> None:
    for _ in range(2):
        job.run("compare -o page.html -o x.sarif")
    page = (job.terminal.folder / "svc/page.html").read_text("utf-8")
    assert "baselinekit refresh --replay one" in page
    assert '"uri": "svc/baselines/one.yaml"' in (job.terminal.folder / "svc/x.sarif").read_text("utf-8")
    assert os.listdir(job.terminal.folder / "svc/.baselinekit")


def test_a_path_without_a_form_is_refused_before_anything_runs(job: Job) -> None:
    ran = job.run("compare -o github.txt")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "BK503" in ran.stderr


@pytest.mark.parametrize(("outcome", "code"), [("failed", 1), ("passed", 3)])
def test_one_report_that_cannot_be_written_keeps_neither_the_others_nor_the_verdict(
    outcome: str, code: int, tmp_path: Path
) -> None:
    result = Result("a", "baselines/a.yaml", 1, "http", outcome)  # type: ignore[arg-type]
    report = Report("r1", "2024-01-20T14:00:00Z", 0.1, "baselinekit", "compare", results=(result,))
    full, good = str(tmp_path / "full.json"), tmp_path / "good.json"
    os.mkdir(full)
    told = delivery.deliver(report, [full, str(good), full], str(tmp_path))
    assert good.exists()
    assert told.exit_code == code
    assert [text.split(" is a folder")[0] for text in told.not_recorded] == [f"BK120 {full}"] * 2
