"""A review as a machine: keys in, decisions out. Nothing is written before somebody says so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk import Desk
from hypothesis import HealthCheck, example, given, settings, strategies as st

from baselinekit.changes.reviewing import Review, settle_plans
from baselinekit.commands import review as reviewing
from baselinekit.commands.refresh import apply
from baselinekit.model.changes import ApprovalNote, Decision
from baselinekit.report.reviewing import format_screen
from baselinekit.report.wording import Style, width
from baselinekit.values.paths import render

USER = """\
body:
  id: <<any_uuid>>   # made anew
  name: Ada
  age: 36
  rows:
    - n: 1
    - n: 2
  old: gone soon
"""
NOW = {"id": "not a uuid", "name": "Grace", "age": "37", "rows": [{"n": 5}, {"n": 6}]}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Two baselines that differ in the same six ways."""
    return _failed(tmp_path_factory.mktemp("desk"))


def _failed(folder: Path) -> Desk:
    desk = Desk(folder)
    for id in ("a", "b"):
        desk.put(id, USER)
        desk.says(id, NOW)
    desk.compare()
    return desk


def _review(desk: Desk) -> Review:
    return reviewing.begin_review(desk.project, desk.propose())


def _typed(review: Review, keys: str) -> Review:
    for key in keys:
        review.press(key)
    return review


def _verbs(review: Review) -> dict[str, str]:
    """What was decided, by id and path."""
    return {
        f"{review.plans[n].baseline.id} {'.'.join(map(str, review.plans[n].changes[number].path[1:]))}": (
            f"{item.verb} {item.text}".strip()
        )
        for (n, number), item in review.ledger.decided.items()
    }


NAME, ROWS, ID, AGE, OLD = "body.name", "body.rows[0].n", "body.id", "body.age", "body.old"
NAMES, IDS = ("a name", "b name"), ("a id", "b id")
EVERY_ROW = ("a rows.0.n", "a rows.1.n", "b rows.0.n", "b rows.1.n")
WIPE, BACK, ESC = "\x15", "\x7f", "\x1b"


def _at(review: Review, path: str) -> Review:
    """The review, with everything before one question skipped."""
    while render(review.scene.members[0][1].path) != path:
        review.press("s")
    return review


@pytest.mark.parametrize(
    ("path", "keys", "decided"),
    [
        (NAME, "a", dict.fromkeys(NAMES, "accept")),
        (NAME, "r", dict.fromkeys(NAMES, "reject")),
        (NAME, "i?i", {}),
        (NAME, "mar", {"a name": "accept", "b name": "reject"}),
        (NAME, "maru", {"a name": "accept"}),
        (NAME, "p\r", dict.fromkeys(NAMES, "placeholder <<any_nonempty_string>>")),
        (NAME, f"pt{WIPE}<<any_strin>>{BACK}{BACK}g>>\r", dict.fromkeys(NAMES, "placeholder <<any_string>>")),
        (NAME, f"pt{WIPE}<<any{ESC}a", dict.fromkeys(NAMES, "accept")),
        (NAME, f"mgt{WIPE}**.name\r", {"a name": "ignore **.name"}),
        (ROWS, "g\r", dict.fromkeys(EVERY_ROW, "ignore body.rows.*.n")),
        (ROWS, f"mgt{WIPE}body.rows[0].n\r", {"a rows.0.n": "ignore body.rows[0].n"}),
        (ID, "a\r", {}),
        (ID, "ay", dict.fromkeys(IDS, "accept")),
        (OLD, "p", {}),
    ],
)
def test_review_keys_decide(desk: Desk, path: str, keys: str, decided: dict[str, str]) -> None:
    review = _at(_review(desk), path)
    skipped = _verbs(review)
    assert _verbs(_typed(review, keys)) == {**skipped, **decided}


@pytest.mark.parametrize(
    ("keys", "counts"),
    [
        ("Ay", {"accept": 6}),  # the risky ones stay questions
        ("Ry", {"reject": 12}),
        ("rSy", {"reject": 2, "skip": 10}),
    ],
)
def test_review_capital_letter_decides_the_rest(desk: Desk, keys: str, counts: dict[str, int]) -> None:
    assert dict(_typed(_review(desk), keys).scene.counts) == counts


@pytest.mark.parametrize(
    ("keys", "ended"),
    [
        ("q", "write"),  # which is nothing
        ("rq", ""),
        ("rqy", "write"),
        ("Ry", ""),  # the last question is whether to write
        ("Rynn", "nothing"),
    ],
)
def test_review_ends_once_confirmed(desk: Desk, keys: str, ended: str) -> None:
    assert _typed(_review(desk), keys).ended == ended


@pytest.mark.parametrize(
    ("path", "words"),
    [(ID, "the loss of <<any_uuid>>"), (AGE, "2 changes of high risk"), (OLD, "2 changes of high risk")],
)
def test_review_asks_before_a_risky_change(desk: Desk, path: str, words: str) -> None:
    dialog = _typed(_at(_review(desk), path), "a").scene.dialog
    assert dialog is not None
    assert dialog.question == f"accept {words}?"


def test_review_never_accepts_a_masked_value(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path, config="base_url: http://desk\nvariables: {t: {value: sesame-opens, secret: true}}\n"
    )
    desk.put("x", "body: {key: old, n: 1}")
    desk.says("x", {"key": f"is {b'sesame-opens'.hex()}", "n": 1})
    desk.compare()
    review = _typed(_review(desk), "a")
    assert not review.ledger.decided
    assert "cannot be accepted" in review.scene.said
    assert b"sesame".hex() not in "".join(format_screen(review.scene, Style(False, 80), 24))
    dialog = _typed(review, "p").scene.dialog
    assert dialog is not None
    assert [offer.text for offer in dialog.offers][-1] == "<<any>>"
    _typed(review, "1\r")
    apply(desk.project, settle_plans(review.plans, review.ledger.decided), ApprovalNote())
    assert desk.compare().summary.passed == 1


KEYS = st.lists(st.sampled_from([*"arsARSpgmudiq?yn12b\rt<", ESC, WIPE, "é"]), max_size=30)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KEYS)
def test_review_keeps_one_state_for_each_change_whatever_is_typed(desk: Desk, keys: list[str]) -> None:
    review = _review(desk)
    files = {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}
    every = {(n, change.number) for n, plan in enumerate(review.plans) for change in plan.changes}
    for key in keys:
        steps, before = len(review.ledger.steps), dict(review.ledger.decided)
        review.press(key)
        asked = [member for question in review.ledger.questions for member in question]
        assert sorted(asked) == sorted(every)
        assert set(review.ledger.decided) <= every
        assert not set(review.ledger.in_sight) & set(review.ledger.decided)
        assert bool(review.ledger.in_sight) == (set(review.ledger.decided) != every)
        if len(review.ledger.steps) == steps:
            assert review.ledger.decided == before
        lines = format_screen(review.scene, Style(True, 40), 24)
        assert all(width(line) < 40 for line in lines)
        assert len(lines) < 24
        if review.ended:
            break
    for item in settle_plans(review.plans, review.ledger.decided):
        n = next(n for n, plan in enumerate(review.plans) if plan.baseline is item.plan.baseline)
        verbs = {number: d.verb for (m, number), d in review.ledger.decided.items() if m == n}
        assert item.accepted == {k for k, v in verbs.items() if v in ("accept", "placeholder")}
        assert item.covered == {k for k, v in verbs.items() if v == "ignore"}
        assert item.decided == {k for k, v in verbs.items() if v != "skip"}
    assert files == {path: path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()}
    while review.ledger.undo():
        pass
    assert review.ledger.decided == {}
    assert review.ledger.questions == _review(desk).ledger.questions


DECIDED = st.sampled_from([None, "accept", "reject", "skip", "ignore", "placeholder"])


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(DECIDED, min_size=6, max_size=6))
@example(["ignore"] * 5 + ["accept"])
@example(["ignore"] * 6)
@example(["ignore"] * 5 + [None])
def test_review_writes_decisions(tmp_path_factory: pytest.TempPathFactory, verbs: list[Any]) -> None:
    desk = _failed(tmp_path_factory.mktemp("written"))
    plan = desk.propose("a").plans[0]
    texts: dict[str, Callable[[int], str]] = {
        "placeholder": lambda n: "<<any>>",
        "ignore": lambda n: render(plan.changes[n].path),
    }
    decided = {
        (0, n): Decision(verb, texts.get(verb, lambda n: "")(n))
        for n, verb in enumerate(verbs)
        if verb and not (verb == "placeholder" and plan.changes[n].kind == "removed")
    }
    file = desk.folder / "baselines" / "a.yaml"
    before = file.read_bytes()
    applied = apply(desk.project, settle_plans([plan], decided), ApprovalNote())
    if verbs[:5] == ["ignore"] * 5 and verbs[5] in ("accept", "ignore"):
        assert [problem.code for problem in applied.failures] == ["BK224"], "it could never fail again"
        assert file.read_bytes() == before
        return
    assert applied.failures == ()
    now = {change.path: change for change in desk.propose().plans[0].changes} if desk.pending() else {}
    for change in plan.changes:
        verb = decided.get((0, change.number), Decision("skip")).verb
        is_asked_again = any(p.baseline.id == "a" for p in desk.propose().plans) and change.path in now
        assert is_asked_again == (verb == "skip"), (change.path, verb)
    desk.says("b", {**NOW})
    failing = {spot.path for r in desk.compare().results if r.id == "a" for spot in r.differences}
    left = {
        c.path
        for c in plan.changes
        if decided.get((0, c.number), Decision("skip")).verb in ("skip", "reject")
    }
    assert failing == left
