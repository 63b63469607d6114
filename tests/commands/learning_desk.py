"""A baseline `x` on a desk with a clock, and what refresh --learn makes of the answers of its service."""

from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from ticking import Answer, Ticking, ticking

from baselinekit.commands.compare import compare
from baselinekit.commands.judging import ComparePolicy
from baselinekit.commands.refresh import LearnPlan, RefreshScope, apply_learning, propose_learning
from baselinekit.commands.selection import Selection
from baselinekit.model.changes import ApprovalNote
from baselinekit.values.paths import render


def desk_of(folder: Path, answer: Answer, output: str, rules: str = "") -> Ticking:
    """`output` is the YAML of the body on file."""
    desk = ticking(folder, x=answer)
    desk.put("x", "status: 200\nbody:\n" + "".join(f"  {line}\n" for line in output.splitlines()), rules)
    return desk


def learn(desk: Ticking, times: int = 3, is_unchanged: bool = False) -> LearnPlan:
    scope = RefreshScope(["x"])
    proposal = propose_learning(desk.project, scope, times, desk.ticking(), is_unchanged=is_unchanged)
    assert not proposal.failures
    (plan,) = proposal.plans
    apply_learning(desk.project, proposal.plans if plan.renewal else (), ApprovalNote())
    return plan


def outcome(desk: Ticking) -> Any:
    report = compare(desk.project, [], Selection(), ComparePolicy(record="never"), desk.ticking())
    return report.results[0]


def passes(desk: Ticking, body: Any = None) -> bool:
    """Whether a compare passes, of another body if one is given."""
    usual = desk.service["/x"]
    if body is not None:
        desk.service["/x"] = lambda now, number: body
    result = outcome(desk)
    desk.service["/x"] = usual
    return bool(result.outcome == "passed")


def text_of(desk: Ticking) -> str:
    return (desk.folder / "baselines/x.yaml").read_text()


def stays(plan: LearnPlan) -> list[str]:
    return [render(item.path) for item in plan.lesson.refusals]


def lists(plan: LearnPlan) -> dict[str, str]:
    return {render(rule.path): str(rule.mode) for rule in plan.lesson.lists}


def made_up(number: int) -> str:
    return str(UUID(int=Random(number).getrandbits(128), version=4))
