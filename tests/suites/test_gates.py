"""Phase steps and eval triggers, read as gates."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput, Refused
from baselinekit.suites.suite import load_gates

REFERENCE = Path(__file__).parent.parent / "reference"


def test_h70_load_gates_reads_the_phase_of_the_document(tmp_path: Path) -> None:
    write(tmp_path, "plan.yaml", (REFERENCE / "phase-eval-step.yaml").read_text())
    write(tmp_path, "evals/auth-capability.yaml", "id: a\n")
    (gate,) = load_gates("plan.yaml", str(tmp_path))
    assert gate.name == "Implement user authentication: Run capability evals"
    assert (gate.suite, gate.least) == ("evals/auth-capability.yaml", {"pass rate": 0.9})
    assert (gate.shown, gate.blocking, gate.allow_regressions) == (("pass@1", "pass^3"), True, ())


def test_h71_load_gates_reads_the_trigger_of_the_document(tmp_path: Path) -> None:
    write(tmp_path, "plan.yaml", (REFERENCE / "eval-trigger.yaml").read_text())
    write(tmp_path, "evals/feature-x.yaml", "id: a\n")
    (gate,) = load_gates("plan.yaml", str(tmp_path))
    assert gate.least == {"pass@1": 0.85, "pass^3": 0.7}
    assert (gate.categories, gate.tags) == (("capability",), ("critical", "feature-x"))
    assert (gate.blocking, gate.notification, gate.archive) == (True, True, True)
    assert gate.report == "./eval-results/phase-{phase_id}.md"


def test_load_gates_looks_for_a_suite_beside_the_plan_and_then_from_the_root(tmp_path: Path) -> None:
    write(tmp_path, "plans/p.yaml", "eval_trigger: {suite: ./evals/x.yaml, thresholds: {pass@1: 1}}\n")
    for file in ("evals/x.yaml", "plans/evals/x.yaml"):
        write(tmp_path, file, "id: a\n")
        assert load_gates("plans/p.yaml", str(tmp_path))[0].suite == file


LEAST = "thresholds: {pass@1: 1}"
STEP = "phase: {steps: [{type: eval, config: {suite: s.yaml%s}}]}"
REPORTS = [
    "../x.md",
    "/etc/x.md",
    ".git/hooks/x.md",
    ".github/workflows/x.md",
    "src/main.py",
    "x",
    "~/x.md",
    "out/x.md",
]
WRONG = [
    ("a: 1", "BK710 plan.yaml:1:1: no gate here"),
    ("phase: {name: x, steps: [{type: test}]}", "BK710 plan.yaml:1:.*no step of type eval"),
    (STEP % ", required_pass_rate: 90", "a number from 0 to 1"),
    (STEP % ", required_pass_rate: 1, metrics: [f1]", "'f1'"),
    ("eval_trigger: {suite: s.yaml}", "BK723 plan.yaml:1:.*lets everything through"),
    (f"eval_trigger: {{suite: no.yaml, {LEAST}}}", "BK716 plan.yaml:1:23: there is no suite 'no.yaml'"),
    ("eval_trigger: {suite: s.yaml, thresholds: {pas@1: 1}}", "BK723 .*no metric is called 'pas@1'"),
    (f"eval_trigger: {{suite: s.yaml, {LEAST}, allow_regressions: [high]}}", "one of medium, low, found"),
    (f"eval_trigger: {{suite: s.yaml, {LEAST}}}\nname: x", "BK103 plan.yaml:2:1: unknown key 'name' beside"),
    (f"eval_trigger: {{suite: ../s.yaml, {LEAST}}}", "BK404|BK716"),
    *(
        (f"eval_trigger: {{suite: s.yaml, {LEAST}, on_failure: {{report_path: '{path}'}}}}", "BK404|BK710")
        for path in REPORTS
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_load_gates_with_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    root = tmp_path / "p"
    write(root, "plan.yaml", text)
    write(root, "s.yaml", "id: a\n")
    (root / "out").symlink_to(tmp_path)  # a folder that is a link leads no report out
    with pytest.raises((InvalidInput, Refused), match=message):
        load_gates("plan.yaml", str(root))
