"""What the runner of a CI job is given besides the reports, and where nothing can be written: in bounds, and
never at the cost of the verdict."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from console import Console, Ran, console
from storehelp import write

from baselinekit.cli import delivery
from baselinekit.cli.main import run as run_cli
from baselinekit.model.results import Report, Result

BASELINE = """\
id: one
baseline:
  output:
    stdout: expected
current: {input: {argv: [echo, -n, other]}, execution: {type: command}}
"""
ANNOTATION = "::error file=svc/baselines/one.yaml,line=4,title=one%3A stdout::"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    """A checkout whose project is one folder of it."""
    with console(tmp_path / "checkout") as terminal:
        (terminal.folder / ".git").mkdir()
        write(terminal.folder, "svc/baselinekit.yaml", "version: 1\ncommands: {echo: [echo]}\n")
        write(terminal.folder, "svc/baselines/one.yaml", BASELINE)
        yield terminal


def run(terminal: Console, words: str, **environment: str) -> Ran:
    job = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "../summary.md"}
    assigned = " ".join(f"{name}={value}" for name, value in {**job, **environment}.items())
    return terminal.run(f"cd svc && {assigned} baselinekit {words}")


@pytest.mark.slow
def test_f31_compare_in_a_job_annotates_and_adds_to_the_summary(terminal: Console) -> None:
    ran = run(terminal, "compare")
    assert ran.exit_code == 1
    (annotation,) = [line for line in ran.stdout.splitlines() if line.startswith("::")]
    assert annotation.startswith(ANNOTATION)
    summary = terminal.folder / "summary.md"
    assert summary.read_text("utf-8").startswith("## baselinekit: 1 failed")
    ran = run(terminal, "compare --json")
    assert json.loads(ran.stdout.replace("{seconds}", "0"))["summary"]["failed"] == 1
    assert ANNOTATION in ran.stderr
    assert summary.read_text("utf-8").count("## baselinekit") == 2
    write(terminal.folder, "svc/baselines/bad.yaml", "id: b\n\nbaselin: {}\n")
    for command in ("compare", "doctor"):
        ran = run(terminal, command)
        assert ran.exit_code == 2
        assert "::error file=svc/baselines/bad.yaml,line=3,title=BK103::unknown key" in ran.stderr


@pytest.mark.slow
def test_compare_outside_of_a_job_annotates_only_if_asked(terminal: Console) -> None:
    assert "::" not in run(terminal, "compare", GITHUB_ACTIONS="").stdout
    assert not (terminal.folder / "summary.md").exists()
    assert ANNOTATION in run(terminal, "compare -o github", GITHUB_ACTIONS="").stdout
    assert not (terminal.folder / "svc/github").exists()
    refused = run(terminal, "compare -o github.txt")
    assert (refused.exit_code, refused.stdout, "BK508" in refused.stderr) == (2, "", True)


@pytest.mark.slow
def test_compare_with_a_full_or_unwritable_summary_keeps_its_verdict(terminal: Console) -> None:
    summary = terminal.folder / "summary.md"
    summary.write_text("x" * 999_900)
    assert run(terminal, "compare").exit_code == 1
    assert summary.stat().st_size == 999_900
    ran = run(terminal, "compare", GITHUB_STEP_SUMMARY="/dev/null/summary")
    assert (ran.exit_code, "1 failed" in ran.stdout) == (1, True)
    assert "the summary of the step could not be written: " in ran.stderr


@pytest.mark.parametrize(("outcome", "code"), [("failed", 1), ("passed", 3)])
def test_deliver_with_one_report_that_cannot_be_written_writes_the_others(
    outcome: str, code: int, tmp_path: Path
) -> None:
    result = Result("a", "baselines/a.yaml", 1, "http", outcome)  # type: ignore[arg-type]
    report = Report("r1", "2024-01-20T14:00:00Z", 0.1, "baselinekit", "compare", results=(result,))
    full, good = str(tmp_path / "full.json"), tmp_path / "good.json"
    os.mkdir(full)
    delivered = delivery.deliver(report, [full, str(good), full], str(tmp_path))
    assert good.exists()
    assert delivered.exit_code == code
    assert [text.split(" is a folder")[0] for text in delivered.not_recorded] == [f"BK120 {full}"] * 2


ASKED = 'open("asked.txt", "a").write("x"); print("yes", end="")'


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A command and a model that note in asked.txt that they ran."""
    folder = tmp_path / "project"
    program = f"[{json.dumps(sys.executable)}, -c, '{ASKED}']"
    config = f"commands: {{say: {program}}}\nmodels: {{default: {{command: {program}}}}}\n"
    files = {"baselinekit.yaml": config, "prompt.md": "Say yes.\n", "taken": "", "baselines/taken": ""}
    for name, text in files.items():
        write(folder, name, text)
    (folder / "baselines/out").symlink_to(tmp_path)
    with chdir(folder):
        yield folder


def test_capture_into_places_that_cannot_be_written_asks_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = ["capture", "command", "--id", "say", "--group"]
    for group, exit_code, code in (
        ("taken", 3, "BK120 baselines/taken cannot be written"),
        ("out", 4, "BK404"),
        ("../..", 4, "BK404"),
        ("a b", 2, "BK108"),
    ):
        assert run_cli([*capture, group, "--", "say"]) == exit_code
        assert capsys.readouterr().err.startswith(code)
    record = ["capture", "prompt", "prompt.md", "--record-calls"]
    for folder in ("taken", "taken/below"):
        assert run_cli([*record, folder]) == 2
        assert capsys.readouterr().err.startswith(f"BK120 {folder}/calls cannot be written")
    assert not (project / "asked.txt").exists()
    assert run_cli([*capture, "free", "--", "say"]) == 0
    assert run_cli([*record, "calls"]) == 0
    assert (project / "asked.txt").read_text() == "xx"
