"""`gate` where a checkout means harm, where a run was stopped, and where several things are given at once."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from baselinekit.cli.main import run
from baselinekit.cli.options import command
from baselinekit.cli.run import GateOptions

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


def asked(project: Path) -> int:
    file = project / "asked.txt"
    return len(file.read_text()) if file.exists() else 0


def test_a_link_in_the_checkout_leads_no_report_out(project: Path, tmp_path: Path, gate: Gated) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (project / "out").mkdir()
    (project / "out" / "phase-7.md").symlink_to(precious)
    out, err = gate(4, "trigger.yaml", "--phase-id", "7")
    assert "NOT MET" in out
    assert "BK404" in err
    assert precious.read_text() == "mine"
    (project / "e.yaml").write_text(CASE.replace("WANTED", "'no'"))
    (tmp_path / "elsewhere").mkdir()
    (project / "results").symlink_to(tmp_path / "elsewhere")
    assert gate(4, "trigger.yaml")[1].startswith("BK404 trigger.yaml:5:33: results leads out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_gate_that_is_met_archives_what_it_was_judged_by(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(CASE.replace("WANTED", "'no'"))
    assert "go on: 1 gate met" in gate(0, "trigger.yaml")[0]
    (day,) = [path for path in (project / "results").iterdir() if not path.is_symlink()]
    assert sorted(path.name.split(".", 1)[1] for path in day.iterdir()) == ["gate.json", "json", "phase.md"]


def test_results_are_judged_by_the_gate_of_a_plan_without_running_anything(
    project: Path, gate: Gated
) -> None:
    assert run(["run", "e.yaml", "-q", "-o", "r.json"]) == 1
    (project / "baselinekit.yaml").write_text("version: 1\n")  # nothing could be run now
    report = json.loads(gate(0, "trigger.yaml", "r.json", "--json", "--warn", "-o", "x.md")[0])
    (found,) = report["gates"]
    assert (report["exit_code"], found["state"], found["blocking"]) == (0, "not met", False)
    assert "| `pass@1` | 0.00 | 1.00 | FAIL |" in (project / "x.md").read_text()


def test_results_of_a_run_that_was_interrupted_are_undecided(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(CASE.replace("WANTED", "no"))
    assert run(["run", "e.yaml", "-q", "-o", "r.json"]) == 0
    raw = json.loads((project / "r.json").read_text())
    raw["run"]["interrupted"] = True
    (project / "r.json").write_text(json.dumps(raw))
    assert "the run of r.json was interrupted" in gate(3, "r.json")[0]
    gate(0, "r.json", "--warn")


def test_a_gate_whose_run_was_stopped_goes_on_where_it_was(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(TWO)
    out, _ = gate(3, "trigger.yaml", "--max-calls", "1", "-j", "1")
    assert "e is undecided" in out
    assert "--resume" in out.partition("next: ")[2].splitlines()[0]
    gate(0, "trigger.yaml", "--resume")
    assert asked(project) == 2, "the first is not asked again"
    out, _ = gate(0, "trigger.yaml", "--resume")
    assert "there was nothing to resume: everything is run again" in out


@pytest.mark.slow
def test_finished_gates_of_a_plan_are_not_run_again_by_who_goes_on(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(TWO)
    out, _ = gate(3, "--phase", "plan.yaml", "--max-calls", "1", "-j", "1")
    assert asked(project) == 2
    assert "before" not in out
    kept = project / ".baselinekit/results"
    assert len(list(kept.iterdir())) == 2
    out, _ = gate(0, "--phase", "plan.yaml", "--resume")
    assert "build: first had already finished: its one case is reused" in out
    assert "go on: 2 gates met" in out
    assert "anew" not in out
    assert asked(project) == 3, "only what was missing is asked"
    assert len(list(kept.iterdir())) == 3, "a run that was not made is no history"
    assert list((project / ".baselinekit/journal").iterdir()) == [], "all of the plan is done"
    out, _ = gate(0, "--phase", "plan.yaml", "--resume")
    assert asked(project) == 6
    assert "there was nothing to resume: everything is run again" in out


def test_a_gate_of_a_plan_whose_cases_have_changed_is_run_anew(project: Path, gate: Gated) -> None:
    (project / "e.yaml").write_text(TWO)
    gate(3, "--phase", "plan.yaml", "--max-calls", "1", "-j", "1")
    (project / "first.yaml").write_text(ONE.replace("one", "other"))
    out, _ = gate(0, "--phase", "plan.yaml", "--resume")
    assert asked(project) == 4
    assert "had already finished" not in out


@pytest.mark.parametrize(
    ("second", "exit_code", "message"),
    [
        ("input: {type: prompt, content: one}, expcted: {}", 2, "did you mean 'expected'"),
        ("input: {type: command, content: [rm]}, expected: {value: x}", 4, "the program 'rm'"),
        ("input: {type: prompt, content: '{{what}}'}, expected: {value: x}", 2, "{{what}}"),
    ],
)
def test_what_is_wrong_with_a_later_gate_is_found_before_the_first_is_paid_for(
    project: Path, gate: Gated, second: str, exit_code: int, message: str
) -> None:
    (project / "e.yaml").write_text(f"- {{id: x, {second}}}")
    assert message in gate(exit_code, "--phase", "plan.yaml")[1]
    assert asked(project) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("s.yaml", "this is a suite: baselinekit run --suite s.yaml -o results.json"),
        ("--resume r.json", "BK508 only a run can be resumed"),
        ("--resume trigger.yaml r.json", "BK508 only a run can be resumed"),
        ("--resume", "BK508 only a run can be resumed"),
        ("trigger.yaml --max-cost nan", "Invalid value for '--max-cost': nan"),
        ("trigger.yaml --max-cost -1", "Invalid value for '--max-cost': -1"),
        ("r.json -o x.txt", "x.txt"),
        ("r.json --preset stagin", "stagin"),
        ("r.json --required-pass-rate 90", "90"),
    ],
)
def test_what_is_typed_wrong_is_usage(project: Path, gate: Gated, words: str, message: str) -> None:
    (project / "s.yaml").write_text("eval_suite: {name: s, evals: [{$ref: e.yaml}]}\n")
    assert message in gate(2, *words.split())[1]


def test_phases_and_triggers_are_judged_in_the_order_in_which_they_are_typed() -> None:
    seen: list[GateOptions] = []
    words = ["--trigger", "b.yaml", "--phase", "a.yaml", "x.json", "--trigger", "c.yaml"]
    command(GateOptions, name="gate")(seen.append).main(words, standalone_mode=False, obj=None)
    assert seen[0].plans == ["b.yaml", "a.yaml", "c.yaml"]
