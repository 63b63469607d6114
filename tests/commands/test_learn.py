"""refresh --learn writes placeholders where answers vary, and nothing else; what it leaves is told, and what
it wrote passes the next compare."""

from pathlib import Path
from typing import Any

import pytest
from learning_desk import desk_of, learn, made_up, outcome, stays, text_of
from ticking import START, iso

from baselinekit.commands.refresh import RefreshScope, apply_learning, propose_learning
from baselinekit.errors import NothingSelected
from baselinekit.model.changes import ApprovalNote
from baselinekit.values.paths import render

DAY = 86_400.0


def test_learn_writes_placeholders_and_reports_other_changes(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        return {"id": made_up(number), "at": iso(now), "name": "Bob", "more": 1, "same": "x"}

    stored = 'id: "an-id"   # the id\nat: "2024-01-15T10:30:00Z"\nname: Ada\nold: 1\nsame: x'
    desk = desk_of(tmp_path, answer, stored.replace("an-id", made_up(99)))
    before = text_of(desk)
    plan = learn(desk)
    assert sorted(stays(plan)) == ["body.more", "body.name", "body.old"]
    after = text_of(desk)
    assert [line.strip() for line in after.splitlines() if line not in before.splitlines()] == [
        'id: "<<any_uuid(4)>>"   # the id',
        'at: "<<any_iso_datetime>>"',
        "learnt:",
        f'body.id: "3 replays: {made_up(99)}, {made_up(1)}, {made_up(2)}, …"',
        f'body.at: "3 replays: 2024-01-15T10:30:00Z, {iso(START)}, {iso(START + 1)}, …"',
    ]
    assert {render(spot.path) for spot in outcome(desk).differences} == {"body.more", "body.name", "body.old"}


RESTARTED = START - 3 * DAY
STEADY: list[tuple[str, str, Any, str | None]] = [
    ("id", f'"{made_up(1)}"', made_up(2), "<<any_uuid(4)>>"),
    ("started", '"2024-01-20T10:30:00Z"', iso(RESTARTED), "<<any_iso_datetime>>"),
    ("epoch", "1705746600", int(RESTARTED), "<<any_unix_timestamp>>"),
    ("pid", "4711", 77, "<<any_integer(0)>>"),
    ("later", '"2024-03-01T00:00:00Z"', "2028-04-01T00:00:00Z", None),
    ("price", "5", 7, None),
    ("gone", "x", None, None),
]


@pytest.mark.parametrize(("key", "stored", "now", "placeholder"), STEADY)
def test_learn_of_a_value_that_all_answers_share(
    tmp_path: Path, key: str, stored: str, now: Any, placeholder: str | None
) -> None:
    """After a restart: the answers agree, and are not what is on file."""
    desk = desk_of(tmp_path, lambda at, number: {key: now, "n": 1}, f"{key}: {stored}\nn: 1")
    before = text_of(desk)
    plan = learn(desk)
    if placeholder is None:
        assert (stays(plan), text_of(desk)) == ([f"body.{key}"], before)
        assert outcome(desk).outcome == "failed"
    else:
        assert stays(plan) == []
        assert placeholder in text_of(desk)
        assert outcome(desk).outcome == "passed"


def test_learn_uses_the_rows_that_the_rules_pair(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        rows = [
            {"sku": sku, "seen": iso(now), "token": made_up(number * 10 + n)} for n, sku in enumerate("abc")
        ]
        return {"rows": rows[::-1] if number % 2 else rows}

    stored = "rows:\n" + "".join(
        f'  - {{sku: {sku}, seen: "2024-01-15T10:30:00Z", token: "{made_up(70 + n)}"}}\n'
        for n, sku in enumerate("abc")
    )
    desk = desk_of(tmp_path, answer, stored, "arrays: {rows: {by: sku}}")
    plan = learn(desk)
    assert (stays(plan), sorted(render(item.path) for item in plan.lesson.volatile)) == (
        [],
        ["body.rows.*.seen", "body.rows.*.token"],
    )
    assert outcome(desk).outcome == "passed"
    desk.service["/x"] = lambda now, number: {"rows": answer(now, number)["rows"][:2]}
    assert outcome(desk).outcome == "failed"


def test_learn_of_one_row_keeps_its_array_ordered(tmp_path: Path) -> None:
    def answer(now: float, number: int, rows: int = 1) -> Any:
        return {"rows": [{"id": made_up(number)}] * rows}

    desk = desk_of(tmp_path, answer, f'rows:\n  - id: "{made_up(99)}"')
    plan = learn(desk)
    assert (plan.lesson.singles, stays(plan)) == (("body.rows",), [])
    assert "body.rows: ordered" in text_of(desk)
    assert outcome(desk).outcome == "passed"
    desk.service["/x"] = lambda now, number: answer(now, number, rows=2)
    assert outcome(desk).outcome == "failed"


@pytest.mark.parametrize("rule", ["rows: unordered", "body.rows: unordered", "rows: subset"])
def test_learn_adds_no_rule_for_array_of_one_element_that_has_one(tmp_path: Path, rule: str) -> None:
    stored = f'rows: [{{id: "{made_up(0)}"}}]\n'
    desk = desk_of(
        tmp_path, lambda now, number: {"rows": [{"id": made_up(number)}]}, stored, f"arrays: {{{rule}}}"
    )
    plan = learn(desk)
    assert plan.lesson.volatile
    assert plan.lesson.singles == ()
    assert "ordered" not in text_of(desk).replace("unordered", "")


def test_learn_replaces_a_learnt_placeholder_that_is_too_narrow(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, lambda now, number: {"n": f"{number}"}, 'n: "0"')
    assert stays(learn(desk)) == []
    assert 'n: "<<any_digits>>"' in text_of(desk)
    desk.service["/x"] = lambda now, number: {"n": f"of {number}"}
    assert stays(learn(desk)) == []
    assert outcome(desk).outcome == "passed"
    assert text_of(desk).count("body.n: ") == 1


def test_learn_keeps_and_reports_a_handwritten_placeholder_that_is_too_narrow(tmp_path: Path) -> None:
    desk = desk_of(
        tmp_path,
        lambda now, number: {"n": 100 + number, "at": iso(now)},
        'n: "<<any_integer(0, 20)>>"\nat: x',
    )
    plan = learn(desk)
    (refusal,) = plan.lesson.refusals
    assert (render(refusal.path), refusal.message, refusal.hint) == (
        "body.n",
        "<<any_integer(0, 20)>>, written by hand, does not accept 101, 102, 103",
        "widen it, or have it replaced: --learn --drop-placeholders",
    )
    assert [render(item.path) for item in plan.lesson.volatile] == ["body.at"]
    assert "<<any_integer(0, 20)>>" in text_of(desk)
    assert outcome(desk).outcome == "failed"
    proposal = propose_learning(desk.project, RefreshScope(["x"]), 3, desk.ticking(), True)
    apply_learning(desk.project, proposal.plans, ApprovalNote())
    assert outcome(desk).outcome == "passed"


def test_learn_of_a_text_with_a_variable_keeps_the_variable(tmp_path: Path) -> None:
    """After a restart: a line of a log, and one that looks like a placeholder."""
    stored = """line: "[2024-01-20T10:30:00Z] listening at <<var(base_url)>>, press enter"
sign: "\\\\<<any>> since 2024-01-20T10:30:00Z"
"""

    def answer(now: float, number: int, at: str = iso(RESTARTED)) -> Any:
        return {"line": f"[{at}] listening at http://desk, press enter", "sign": f"<<any>> since {at}"}

    desk = desk_of(tmp_path, answer, stored)
    assert stays(learn(desk)) == []
    assert "[<<any_iso_datetime>>] listening at <<var(base_url)>>, press enter" in text_of(desk)
    assert outcome(desk).outcome == "passed"
    desk.service["/x"] = lambda now, number: {**answer(now, number), "sign": f"<<all>> since {iso(now)}"}
    assert outcome(desk).outcome == "failed"


def test_learn_all_failed_takes_baselines_with_a_kept_answer(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, lambda now, number: {"at": iso(now)}, 'at: "2024-01-15T10:30:00Z"')
    with pytest.raises(NothingSelected):
        propose_learning(desk.project, RefreshScope(all_failed=True), 3, desk.ticking())
    result = outcome(desk)
    assert (result.outcome, result.verdict) == ("failed", "volatile")
    proposal = propose_learning(desk.project, RefreshScope(all_failed=True), 3, desk.ticking())
    apply_learning(desk.project, proposal.plans, ApprovalNote("1", "ada", "restarted"))
    assert ("approved_by: ada" in text_of(desk), desk.pending()) == (True, [])
    assert outcome(desk).outcome == "passed"


@pytest.mark.parametrize(
    ("came", "verdict"),
    [
        ({"id": made_up(3), "at": iso(START - DAY), "n": 1}, "volatile"),
        ({"id": made_up(3), "at": iso(START - DAY), "n": 2}, None),
        ({"id": made_up(3), "at": "2020-01-01T00:00:00Z", "n": 1}, None),
    ],
)
def test_compare_of_ids_and_moments_is_volatile(tmp_path: Path, came: Any, verdict: str | None) -> None:
    stored = f'id: "{made_up(9)}"\nat: "2024-01-15T10:30:00Z"\nn: 1'
    desk = desk_of(tmp_path, lambda now, number: came, stored)
    result = outcome(desk)
    assert (result.outcome, result.verdict) == ("failed", verdict)
    assert any("varies by nature (1 id, 1 moment)" in note for note in result.notes) == (verdict is not None)


def test_learn_refuses_a_failed_answer(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        return (503 if number == 2 else 200, {"at": iso(now)})

    desk = desk_of(tmp_path, answer, 'at: "2024-01-15T10:30:00Z"')
    before = text_of(desk)
    proposal = propose_learning(desk.project, RefreshScope(["x"]), 3, desk.ticking())
    assert [problem.code for problem in proposal.failures] == ["BK521"]
    assert (proposal.plans, text_of(desk)) == ((), before)
