"""refresh --learn of what the address of a request or its surroundings name: a body that is one length of
time, the port of a connection's other end."""

from pathlib import Path

import pytest
from ticking import ticking

from baselinekit.commands.refresh import LearnPlan, RefreshScope, apply_learning, propose_learning
from baselinekit.learning.lesson import ACCEPT, is_learnable_if_unchanged
from baselinekit.learning.varying import UnlearnablePlace
from baselinekit.model.changes import ApprovalNote
from baselinekit.values.paths import render


def learn(folder: Path, name: str, stored: str, answer: str) -> LearnPlan:
    desk = ticking(folder, **{name: lambda now, number: answer})
    desk.put(name, f"status: 200\nbody: {stored}\n")
    proposal = propose_learning(desk.project, RefreshScope([name]), 3, desk.ticking())
    assert not proposal.failures
    (plan,) = proposal.plans
    apply_learning(desk.project, proposal.plans if plan.renewal else (), ApprovalNote())
    return plan


def test_a_body_of_another_address_is_a_change(tmp_path: Path) -> None:
    plan = learn(tmp_path, "length", '"1:43:00"', "1:44:30")
    assert [place.message for place in plan.lesson.refusals] == [
        "it changed from 1:43:00 (on file) to 1:44:30 (in all 3 answers)"
    ]


def test_a_key_that_is_gone_is_not_learnt_by_unchanged_either() -> None:
    """So that nobody is told to add --unchanged for it."""
    gone, other = (
        UnlearnablePlace(("body", "a"), "structural", "it is gone", ACCEPT),
        "it is 2, and 1 on file",
    )
    assert not is_learnable_if_unchanged(gone)
    assert is_learnable_if_unchanged(UnlearnablePlace(("body", "a"), "unresolved", other, ACCEPT))
    assert is_learnable_if_unchanged(UnlearnablePlace(("body", 1), "structural", "it is gone", ACCEPT))


# What metrics are called and divided by is no value.

METRICS = '# TYPE up {type}\nup{{{label}="a"}} 1\n# TYPE age gauge\nage{{pid="7"}} 2\n'
STORED_METRICS = """\
status: 200
body:
  up: {type: gauge, labels: [job], samples: [{labels: {job: a}, value: 1}]}
  age: {type: gauge, labels: [pid], samples: [{labels: {pid: "7"}, value: 2}]}
"""
CHANGED_METRICS = [
    (METRICS.format(type="gauge", label="task"), "body.up.labels[0]"),
    (METRICS.format(type="counter", label="job"), "body.up.type"),
    (METRICS.format(type="gauge", label='host="b",job'), "body.up.labels"),
]


@pytest.mark.parametrize("is_unchanged", [True, False])
@pytest.mark.parametrize(("answer", "place"), CHANGED_METRICS)
def test_names_of_metrics_are_no_value(tmp_path: Path, answer: str, place: str, is_unchanged: bool) -> None:
    desk = ticking(tmp_path, metrics=lambda now, number: answer)
    desk.put("metrics", STORED_METRICS, "ignore_values: [body.*.samples]\n")
    file = tmp_path / "baselines/metrics.yaml"
    file.write_text(file.read_text().replace("type: http", "type: http, parse: prometheus"))
    proposal = propose_learning(
        desk.project, RefreshScope(["metrics"]), 3, desk.ticking(), is_unchanged=is_unchanged
    )
    assert not proposal.failures
    (plan,) = proposal.plans
    assert not plan.lesson.volatile
    assert not plan.renewal
    assert [render(stays.path).startswith(place) for stays in plan.lesson.refusals] == [True] * len(
        plan.lesson.refusals
    )
    assert plan.lesson.refusals
    assert not any(map(is_learnable_if_unchanged, plan.lesson.refusals))
