"""`gate` where a checkout means harm, and where several things are given at once."""

import json
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from baselinekit.cli.gate import GateOptions
from baselinekit.cli.main import run
from baselinekit.cli.options import command

SUITE = """\
id: a
input: {{type: skill, content: x}}
execution: {{type: skill, skill_name: say}}
expected: {{type: exact, value: {expected}}}
"""
TRIGGER = """\
eval_trigger:
  suite: e.yaml
  thresholds: {pass@1: 1}
  on_failure: {report_path: "out/phase-{phase_id}.md"}
  on_success: {archive_results: true}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    words = f'skills: {{say: {{command: [{json.dumps(sys.executable)}, -c, \'print("no", end="")\']}}}}\n'
    (folder / "baselinekit.yaml").write_text(words)
    (folder / "trigger.yaml").write_text(TRIGGER)
    (folder / "e.yaml").write_text(SUITE.format(expected="yes"))
    with chdir(folder):
        yield folder


def test_a_link_in_the_checkout_leads_no_report_out(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (project / "out").mkdir()
    (project / "out" / "phase-7.md").symlink_to(precious)
    assert run(["gate", "trigger.yaml", "--phase-id", "7"]) == 4
    said = capsys.readouterr()
    assert "NOT MET" in said.out
    assert "BK404" in said.err
    assert precious.read_text() == "mine"


def test_nor_does_a_folder_of_results(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "e.yaml").write_text(SUITE.format(expected="'no'"))
    (tmp_path / "elsewhere").mkdir()
    (project / "results").symlink_to(tmp_path / "elsewhere")
    assert run(["gate", "trigger.yaml"]) == 4
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert capsys.readouterr().err.startswith("BK404 trigger.yaml:5:33: results leads out")


def test_a_gate_that_is_met_archives_what_it_was_judged_by(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "e.yaml").write_text(SUITE.format(expected="'no'"))
    assert run(["gate", "trigger.yaml"]) == 0
    (day,) = [path for path in (project / "results").iterdir() if not path.is_symlink()]
    assert sorted(path.name.split(".", 1)[1] for path in day.iterdir()) == ["gate.json", "json", "phase.md"]
    assert "go on: 1 gate met" in capsys.readouterr().out


def test_results_are_judged_by_the_gate_of_a_plan_without_running_anything(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "e.yaml", "-q", "-o", "r.json"]) == 1
    (project / "baselinekit.yaml").write_text("version: 1\n")  # nothing could be run now
    capsys.readouterr()
    assert run(["gate", "trigger.yaml", "r.json", "--json", "--warn", "-o", "x.md"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["gates"][0]["state"], told["gates"][0]["blocking"]) == (
        0,
        "not met",
        False,
    )
    assert "| `pass@1` | 0.00 | 1.00 | FAIL |" in (project / "x.md").read_text()


MODEL = """\
import sys
asked = sys.stdin.read()
open("asked.txt", "a").write("x")
print("yes", end="")
"""
ASKED = """\
- {id: a, input: {type: prompt, content: one}, expected: {value: 'yes'}}
- {id: b, input: {type: prompt, content: two}, expected: {value: 'yes'}}
"""


def test_a_gate_whose_run_was_stopped_goes_on_where_it_was(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "model.py").write_text(MODEL)
    (project / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: [{json.dumps(sys.executable)}, model.py]}}}}"
    )
    (project / "e.yaml").write_text(ASKED)
    assert run(["gate", "trigger.yaml", "--max-calls", "1", "-j", "1"]) == 3
    said = capsys.readouterr().out
    assert "e is undecided" in said
    assert "--resume" in said.partition("next: ")[2].splitlines()[0]
    assert run(["gate", "trigger.yaml", "--resume"]) == 0
    assert (project / "asked.txt").read_text() == "xx", "the first is not asked again"
    assert run(["gate", "trigger.yaml", "--resume"]) == 0
    assert "there was nothing to resume: everything is run again" in capsys.readouterr().out


PLAN = """\
phase:
  name: build
  steps:
  - {type: eval, description: first, config: {suite: first.yaml, thresholds: {pass@1: 1}}}
  - {type: eval, description: second, config: {suite: e.yaml, thresholds: {pass@1: 1}}}
"""


@pytest.mark.slow
def test_gates_of_a_plan_that_were_finished_are_not_run_again_by_who_goes_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "model.py").write_text(MODEL)
    (project / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: [{json.dumps(sys.executable)}, model.py]}}}}"
    )
    (project / "e.yaml").write_text(ASKED)
    (project / "first.yaml").write_text(ASKED.partition("\n")[0])
    (project / "plan.yaml").write_text(PLAN)
    assert run(["gate", "--phase", "plan.yaml", "--max-calls", "1", "-j", "1"]) == 3
    assert (project / "asked.txt").read_text() == "xx"
    assert "before" not in capsys.readouterr().out
    kept = project / ".baselinekit/results"
    assert len(list(kept.iterdir())) == 2
    assert run(["gate", "--phase", "plan.yaml", "--resume"]) == 0
    said = capsys.readouterr().out
    assert "build: first had already finished: its one case is reused" in said
    assert "go on: 2 gates met" in said
    assert "anew" not in said
    assert (project / "asked.txt").read_text() == "xxx", "only what was missing is asked"
    assert len(list(kept.iterdir())) == 3, "a run that was not made is no history"
    assert list((project / ".baselinekit/journal").iterdir()) == [], "all of the plan is done"
    assert run(["gate", "--phase", "plan.yaml", "--resume"]) == 0
    assert (project / "asked.txt").read_text() == "x" * 6
    assert "there was nothing to resume: everything is run again" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("second", "exit_code", "told"),
    [
        ("- {id: x, input: {type: prompt, content: one}, expcted: {}}", 2, "did you mean 'expected'"),
        ("- {id: x, input: {type: command, content: [rm]}, expected: {value: x}}", 4, "the program 'rm'"),
        ("- {id: x, input: {type: prompt, content: '{{what}}'}, expected: {value: x}}", 2, "{{what}}"),
    ],
)
def test_what_is_wrong_with_a_later_gate_is_told_before_the_first_is_paid_for(
    project: Path, second: str, exit_code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "model.py").write_text(MODEL)
    (project / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: [{json.dumps(sys.executable)}, model.py]}}}}"
    )
    (project / "first.yaml").write_text(ASKED)
    (project / "e.yaml").write_text(second)
    (project / "plan.yaml").write_text(PLAN)
    assert run(["gate", "--phase", "plan.yaml"]) == exit_code
    assert told in capsys.readouterr().err
    assert not (project / "asked.txt").exists()


def test_a_gate_of_a_plan_whose_cases_have_changed_is_run_anew_by_who_goes_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "model.py").write_text(MODEL)
    (project / "baselinekit.yaml").write_text(
        f"models: {{default: {{command: [{json.dumps(sys.executable)}, model.py]}}}}"
    )
    (project / "e.yaml").write_text(ASKED)
    (project / "first.yaml").write_text(ASKED.partition("\n")[0])
    (project / "plan.yaml").write_text(PLAN)
    assert run(["gate", "--phase", "plan.yaml", "--max-calls", "1", "-j", "1"]) == 3
    (project / "first.yaml").write_text(ASKED.partition("\n")[0].replace("one", "other"))
    assert run(["gate", "--phase", "plan.yaml", "--resume"]) == 0
    assert (project / "asked.txt").read_text() == "x" * 4
    assert "was finished before" not in capsys.readouterr().out


def test_who_gives_a_suite_to_the_gate_is_told_what_comes_before(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "s.yaml").write_text("eval_suite: {name: s, evals: [{$ref: e.yaml}]}\n")
    assert run(["gate", "s.yaml"]) == 2
    assert "this is a suite: baselinekit run --suite s.yaml -o results.json" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["r.json"], ["trigger.yaml", "r.json"], []])
def test_results_cannot_be_resumed(
    project: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "--resume", *words]) == 2
    assert "BK508 only a run can be resumed" in capsys.readouterr().err


@pytest.mark.parametrize("dollars", ["nan", "-1", "inf"])
def test_what_models_may_cost_is_a_sum_of_dollars(
    project: Path, dollars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "e.yaml", "--max-cost", dollars]) == 2
    assert "Invalid value for '--max-cost'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-o", "x.txt"], ["--preset", "stagin"], ["--required-pass-rate", "90"]])
def test_what_is_typed_wrong_is_usage(
    project: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "r.json", *words]) == 2


def test_a_result_of_a_run_that_was_interrupted_is_undecided_and_this_gate_was_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "e.yaml").write_text(SUITE.format(expected="no"))
    assert run(["run", "e.yaml", "-q", "-o", "r.json"]) == 0
    raw = json.loads((project / "r.json").read_text())
    raw["run"]["interrupted"] = True
    (project / "r.json").write_text(json.dumps(raw))
    assert run(["gate", "r.json"]) == 3
    assert "the run of r.json was interrupted" in capsys.readouterr().out
    assert run(["gate", "r.json", "--warn"]) == 0


def test_phases_and_triggers_are_judged_in_the_order_in_which_they_are_typed() -> None:
    seen: list[GateOptions] = []

    noted = command(GateOptions, name="gate")(seen.append)
    words = ["--trigger", "b.yaml", "--phase", "a.yaml", "x.json", "--trigger", "c.yaml"]
    noted.main(words, standalone_mode=False, obj=None)
    assert seen[0].plans == ["b.yaml", "a.yaml", "c.yaml"]
