"""Phase steps and eval triggers, read as gates."""

import shutil
from pathlib import Path

import pytest

from baselinekit.errors import InvalidInput, Refused
from baselinekit.suites.dialects.gates import load_gates

REFERENCE = Path(__file__).parent.parent / "reference"
SUITE = "id: a\n"


def write(root: Path, text: str, *suites: str) -> None:
    (root / "plan.yaml").write_text(text)
    for name in suites:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(SUITE)


def test_h70_the_phase_of_the_document_is_read(tmp_path: Path) -> None:
    text = (REFERENCE / "phase-eval-step.yaml").read_text()
    write(tmp_path, text, "evals/auth-capability.yaml")
    (gate,) = load_gates("plan.yaml", str(tmp_path))
    assert gate.name == "Implement user authentication: Run capability evals"
    assert (gate.suite, gate.least, gate.shown) == (
        "evals/auth-capability.yaml",
        {"pass rate": 0.9},
        ("pass@1", "pass^3"),
    )
    assert gate.blocking
    assert gate.allow_regressions == ()


def test_h71_the_trigger_of_the_document_is_read(tmp_path: Path) -> None:
    write(tmp_path, (REFERENCE / "eval-trigger.yaml").read_text(), "evals/feature-x.yaml")
    (gate,) = load_gates("plan.yaml", str(tmp_path))
    assert gate.least == {"pass_at_1": 0.85, "pass_hat_3": 0.7}
    assert (gate.categories, gate.tags) == (("capability",), ("critical", "feature-x"))
    assert (gate.blocking, gate.notification, gate.archive) == (True, True, True)
    assert gate.report == "./eval-results/phase-{phase_id}.md"


def test_a_suite_is_looked_for_beside_the_plan_and_then_from_the_root(tmp_path: Path) -> None:
    text = "eval_trigger: {suite: ./evals/x.yaml, thresholds: {pass@1: 1}}\n"
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "p.yaml").write_text(text)
    write(tmp_path, text, "evals/x.yaml")
    assert load_gates("plans/p.yaml", str(tmp_path))[0].suite == "evals/x.yaml"
    write(tmp_path, text, "plans/evals/x.yaml")
    assert load_gates("plans/p.yaml", str(tmp_path))[0].suite == "plans/evals/x.yaml"


WRONG = [
    ("a: 1", "BK730 plan.yaml:1:1: no gate here"),
    ("", "BK730 plan.yaml:1:1: no gate here"),
    ("phase: {name: x, steps: [{type: test}]}", "BK730 plan.yaml:1:.*no step of type eval"),
    (
        "phase: {steps: [{type: eval, config: {suite: s.yaml}}]}",
        "BK731 plan.yaml:1:.*lets everything through",
    ),
    ("eval_trigger: {suite: s.yaml}", "BK731 plan.yaml:1:.*lets everything through"),
    (
        "eval_trigger: {suite: no.yaml, thresholds: {pass@1: 1}}",
        "BK716 plan.yaml:1:23: there is no suite 'no.yaml'",
    ),
    (
        "eval_trigger: {suite: s.yaml, thresholds: {pas@1: 1}}",
        "BK723 plan.yaml:1:.*no metric is called 'pas@1'",
    ),
    ("eval_trigger: {suite: s.yaml, thresholds: {pass@1: 85}}", "BK105 plan.yaml:1:.*a number from 0 to 1"),
    ("eval_trigger: {suite: s.yaml, tresholds: {}}", "BK103 .*did you mean 'thresholds'"),
    (
        "phase: {steps: [{type: eval, config: {suite: s.yaml, required_pass_rate: 90}}]}",
        "a number from 0 to 1",
    ),
    ("phase: {steps: [{type: eval, config: {suite: s.yaml, required_pass_rate: 1, metrics: [f1]}}]}", "'f1'"),
    (
        "eval_trigger: {suite: s.yaml, thresholds: {pass@1: 1}, allow_regressions: [high]}",
        "BK105 plan.yaml:1:.*expected one of medium, low, found 'high'",
    ),
    ("eval_trigger: {suite: ../s.yaml, thresholds: {pass@1: 1}}", "BK404|BK716"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_with_a_gate_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text, "s.yaml")
    with pytest.raises((InvalidInput, Refused), match=message):
        load_gates("plan.yaml", str(tmp_path))


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "/etc/x.md",
        ".git/hooks/x.md",
        ".github/workflows/x.md",
        "src/main.py",
        "a/../../x.md",
        "x",
        "~/x.md",
    ],
)
def test_a_plan_names_a_place_for_a_report_and_for_nothing_else(tmp_path: Path, path: str) -> None:
    text = (
        f"eval_trigger: {{suite: s.yaml, thresholds: {{pass@1: 1}}, on_failure: {{report_path: '{path}'}}}}"
    )
    write(tmp_path, text, "s.yaml")
    with pytest.raises((InvalidInput, Refused), match=r"BK404|BK730"):
        load_gates("plan.yaml", str(tmp_path))


def test_a_folder_that_is_a_link_leads_no_report_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "p", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "out").symlink_to(outside)
    text = "eval_trigger: {suite: s.yaml, thresholds: {pass@1: 1}, on_failure: {report_path: out/x.md}}"
    write(root, text, "s.yaml")
    with pytest.raises(Refused, match="BK404"):
        load_gates("plan.yaml", str(root))
    shutil.rmtree(outside)
