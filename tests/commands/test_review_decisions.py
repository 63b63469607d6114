"""Decisions that a program sends: read strictly, all of them or none; and what becomes of what was seen."""

import json
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from baselinekit.changes.reviewing import settle_plans
from baselinekit.commands.refresh import Permit, apply
from baselinekit.commands.review import decisions_in, digests_of
from baselinekit.errors import InvalidInput
from baselinekit.model.changes import Applied, ApprovalNote, Decision
from baselinekit.store.results import load_pending

OUTPUT = """\
body:
  id: <<any_uuid>>
  name: Ada
  age: 36
  rows:
    - n: 1
      m: 1
    - n: 2
      m: 2
  old: gone soon
"""
NOW = {"id": "not a uuid", "name": "Grace", "age": 37, "rows": [{"n": 3, "m": 1}, {"n": 4, "m": 2}]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for id in ("a", "b"):
        desk.put(id, OUTPUT)
        desk.says(id, NOW)
    desk.compare()
    return desk


def _decide(desk: Desk, *decisions: dict[str, Any], permit: Permit | None = None) -> Applied:
    proposal = desk.propose()
    read = decisions_in(json.dumps(decisions), "x.json", proposal, desk.project, permit or Permit())
    return apply(desk.project, settle_plans(proposal.plans, read.decided), ApprovalNote())


def _paths(desk: Desk, id: str) -> list[str]:
    """Where something of a baseline is still pending."""
    if id not in desk.pending():
        return []
    return [".".join(map(str, change.path[1:])) for change in desk.propose(id).plans[0].changes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decision", "left"),
    [
        ({"path": "body.name", "decision": "accept"}, ["id", "age", "rows.0.n", "rows.1.n", "old"]),
        ({"path": "body.rows[0]", "decision": "accept"}, ["id", "name", "age", "rows.1.n", "old"]),
        ({"path": "body.rows[0].n", "decision": "ignore"}, ["id", "name", "age", "old"]),
        ({"decision": "skip"}, ["id", "name", "age", "rows.0.n", "rows.1.n", "old"]),
        ({"decision": "accept", "confirm": True}, []),
    ],
)
def test_decisions_leave_only_undecided_changes_pending(
    desk: Desk, decision: dict[str, Any], left: list[str]
) -> None:
    assert _decide(desk, {"id": "a", **decision}).failures == ()
    assert _paths(desk, "a") == left
    assert len(_paths(desk, "b")) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decision", "why"),
    [
        ({"id": "c", "decision": "accept"}, "BK538 x.json:1:9: nothing of 'c' is pending"),
        ({"id": "a", "path": "body.nme", "decision": "accept"}, "what changes is body.id, body.name"),
        ({"id": "a", "path": "body.old", "decision": "accept"}, "BK532"),
        ({"id": "a", "path": "body.id", "decision": "accept"}, "BK533"),
        ({"id": "a", "path": "body.age", "decision": "placeholder", "value": "<<any_uuid>>"}, "not accept"),
        (
            {"id": "a", "path": "body.age", "decision": "ignore", "value": "body.name"},
            "does not lead to body.age",
        ),
    ],
)
def test_decisions_with_a_mistake_change_nothing(desk: Desk, decision: dict[str, Any], why: str) -> None:
    before = {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}
    with pytest.raises(InvalidInput) as wrong:
        _decide(desk, decision, {"id": "b", "path": "body.name", "decision": "accept"})
    assert why in str(wrong.value)
    assert "x.json:1:" in str(wrong.value)
    assert before == {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}


def test_decisions_refuse_a_change_decided_twice(desk: Desk) -> None:
    with pytest.raises(InvalidInput, match=r"a body\.name is decided twice"):
        _decide(
            desk,
            {"id": "a", "path": "body.name", "decision": "reject"},
            {"id": "*", "path": "body.name", "decision": "accept"},
        )


def test_decisions_keep_an_edit_made_meanwhile(desk: Desk) -> None:
    proposal = desk.propose()
    text = '[{"id": "*", "decision": "accept", "confirm": true}]'
    decided = decisions_in(text, "x.json", proposal, desk.project, Permit()).decided
    file = desk.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace("Ada", "Eve"))
    applied = apply(desk.project, settle_plans(proposal.plans, decided), ApprovalNote())
    assert applied.ids == ("b",)
    assert [problem.code for problem in applied.failures] == ["BK122"]
    assert desk.pending() == ["a"]
    assert "Eve" in file.read_text()


def test_decisions_of_all_changes_make_the_baseline_pass(desk: Desk) -> None:
    _decide(
        desk,
        {"id": "a", "path": "body.rows[*].n", "decision": "ignore"},
        {"id": "a", "path": "body.id", "decision": "accept", "confirm": True},
        {"id": "a", "path": "body.name", "decision": "placeholder"},
        {"id": "a", "path": "body.age", "decision": "accept"},
        {"id": "a", "path": "body.old", "decision": "accept", "confirm": True},
    )
    text = (desk.folder / "baselines/a.yaml").read_text()
    assert "failure_count: 0   # since the release" in text
    assert "# how to ask" in text
    assert load_pending(str(desk.folder), "a") is None
    assert {r.id: r.outcome for r in desk.compare().results} == {"a": "passed", "b": "failed"}


def test_decisions_about_what_was_seen_are_used_for_that_alone(desk: Desk) -> None:
    proposal = desk.propose()
    name = next(change.number for change in proposal.plans[0].changes if change.path[-1] == "name")
    seen = digests_of(proposal, desk.project)[0, name]
    entry = {"id": "a", "seen": seen, "decision": "accept"}
    text = json.dumps({"decisions": [entry], "by": "ada", "reason": "as it should be"})
    read = decisions_in(text, "x.json", proposal, desk.project, Permit())
    assert (read.decided, read.by, read.reason) == ({(0, name): Decision("accept")}, "ada", "as it should be")
    desk.says("a", {**NOW, "name": "Eve"})
    desk.compare()
    with pytest.raises(InvalidInput) as stale:
        decisions_in(text, "x.json", desk.propose(), desk.project, Permit())
    assert str(stale.value).startswith("BK531 x.json:1:")
