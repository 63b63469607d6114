"""`gate` where a checkout means harm, where a run was stopped, and where several things are given at once."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from baselinekit.cli.main import run

CASE = """\
id: a
input: {type: skill, content: x}
execution: {type: skill, skill_name: say}
expected: {type: exact, value: WANTED}
"""
TRIGGER = """\
eval_trigger:
  suite: e.yaml
  thresholds: {pass@1: 1}
  on_failure: {report_path: "out/phase-{phase_id}.md"}
  on_success: {archive_results: true}
"""
MODEL = """\
import sys
asked = sys.stdin.read()
open("asked.txt", "a").write("x")
print("yes", end="")
"""
ONE = "- {id: a, input: {type: prompt, content: one}, expected: {value: 'yes'}}\n"
TWO = ONE + "- {id: b, input: {type: prompt, content: two}, expected: {value: 'yes'}}\n"
PLAN = """\
phase:
  name: build
  steps:
  - {type: eval, description: first, config: {suite: first.yaml, thresholds: {pass@1: 1}}}
  - {type: eval, description: second, config: {suite: e.yaml, thresholds: {pass@1: 1}}}
"""
Gated = Callable[..., tuple[str, str]]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A skill that answers no, and a model that answers yes and keeps count in asked.txt."""
    folder = tmp_path / "project"
    folder.mkdir()
    python = json.dumps(sys.executable)
    skills = f'skills: {{say: {{command: [{python}, -c, \'print("no", end="")\']}}}}\n'
    files = {"baselinekit": f"{skills}models: {{default: {{command: [{python}, model.py]}}}}\n"}
    files |= {"trigger": TRIGGER, "plan": PLAN, "first": ONE, "e": CASE.replace("WANTED", "yes")}
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "model.py").write_text(MODEL)
    with chdir(folder):
        yield folder


@pytest.fixture
def gate(project: Path, capsys: pytest.CaptureFixture[str]) -> Gated:
    def gated(exit_code: int, *words: str) -> tuple[str, str]:
        capsys.readouterr()
        assert run(["gate", *words]) == exit_code
        return capsys.readouterr()

    return gated


def count_calls(project: Path) -> int:
    file = project / "asked.txt"
    return len(file.read_text()) if file.exists() else 0


def test_gate_writes_no_report_through_a_link(project: Path, tmp_path: Path, gate: Gated) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (project / "out").mkdir()
    (project / "out" / "phase-7.md").symlink_to(precious)
    out, err = gate(4, "--trigger", "trigger.yaml", "--phase-id", "7")
    assert "NOT MET" in out
    assert "BK404" in err
    assert precious.read_text() == "mine"
    (project / "e.yaml").write_text(CASE.replace("WANTED", "'no'"))
    (tmp_path / "elsewhere").mkdir()
    (project / "results").symlink_to(tmp_path / "elsewhere")
    assert gate(4, "--trigger", "trigger.yaml")[1].startswith("BK404 trigger.yaml:5:33: results leads out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_gate_that_is_met_archives_its_results(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(CASE.replace("WANTED", "'no'"))
    assert "go on: 1 gate met" in gate(0, "--trigger", "trigger.yaml")[0]
    (day,) = [path for path in (project / "results").iterdir() if not path.is_symlink()]
    assert sorted(path.name.split(".", 1)[1] for path in day.iterdir()) == ["gate.json", "json", "phase.md"]


def test_gate_with_results_judges_them_and_runs_nothing(project: Path, gate: Gated) -> None:
    assert run(["run", "e.yaml", "-q", "-o", "r.json"]) == 1
    (project / "baselinekit.yaml").write_text("version: 1\n")  # nothing could be run now
    report = json.loads(gate(0, "--trigger", "trigger.yaml", "r.json", "--json", "--warn", "-o", "x.md")[0])
    (found,) = report["gates"]
    assert (report["exit_code"], found["state"], found["blocking"]) == (0, "not met", False)
    assert "| `pass@1` | 0.000 | 1 | FAIL |" in (project / "x.md").read_text()


def test_gate_resume_makes_the_attempts_that_are_missing(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(TWO)
    out, _ = gate(3, "--phase", "plan.yaml", "--max-calls", "1", "-j", "1")
    assert "--resume" in out.partition("next: ")[2].splitlines()[0]
    assert count_calls(project) == 2
    out, _ = gate(0, "--phase", "plan.yaml", "--resume")
    assert "go on: 2 gates met" in out
    assert count_calls(project) == 3, "only what was missing is asked"
    assert list((project / ".baselinekit/journal").iterdir()) == [], "all of the plan is done"


@pytest.mark.parametrize(
    ("second", "exit_code", "message"),
    [
        ("input: {type: prompt, content: one}, expcted: {}", 2, "did you mean 'expected'"),
        ("input: {type: command, content: [rm]}, expected: {value: x}", 4, "the program 'rm'"),
    ],
)
def test_gate_checks_all_gates_of_a_plan_before_it_runs_any(
    project: Path, gate: Gated, second: str, exit_code: int, message: str
) -> None:
    (project / "e.yaml").write_text(f"- {{id: x, {second}}}")
    assert message in gate(exit_code, "--phase", "plan.yaml")[1]
    assert count_calls(project) == 0
