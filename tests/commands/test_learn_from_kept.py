"""The answer that a failed compare has kept is one more replay for refresh --learn: what varies by nature, or
in the answers asked anew, is learnt as if it had been one of them; what only it says is otherwise no
evidence."""

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from learning_desk import learn, made_up, passes, text_of
from ticking import Ticking, ticking

from baselinekit.commands.refresh import LearnPlan
from baselinekit.values.paths import render

TIMES = 3


def desk_of(folder: Path, stored: Any, answers: list[Any]) -> Ticking:
    """One that answers so, one after the other, and the last one ever after."""
    desk = ticking(folder, x=lambda now, number: answers[min(number, len(answers)) - 1])
    desk.put("x", f"status: 200\nbody: {json.dumps(stored)}")
    return desk


def learnt(plan: LearnPlan) -> dict[str, str]:
    return {render(place): item.proposal.text for item in plan.lesson.volatile for place in item.places}


def test_learn_uses_the_kept_answer_as_one_more_replay(tmp_path: Path) -> None:
    """As after a restart of a name server: it counts from nothing, and three answers agree with the file."""
    desk = desk_of(
        tmp_path,
        {"pid": 1, "latency-ms": 1.25},
        [{"pid": 2, "latency-ms": 1.25}, {"pid": 1, "latency-ms": 1.25}],
    )
    assert not passes(desk)
    plan = learn(desk)
    assert plan.kept is not None
    assert learnt(plan) == {"body.pid": "<<any_integer(0)>>"}
    assert "body.pid: 4 replays: 1, 2" in text_of(desk).replace('"', "")
    assert desk.pending() == []


@pytest.mark.parametrize("anew", [5, 9], ids=["mended since", "changed once more since"])
def test_learn_of_a_value_that_only_the_kept_answer_has_is_refused(tmp_path: Path, anew: int) -> None:
    """Somebody works at the service between the compare and the learning: the price is no measurement."""
    desk = desk_of(tmp_path, {"price": 5}, [{"price": 7}, {"price": anew}])
    assert not passes(desk)
    assert learnt(learn(desk)) == {}
    assert "<<" not in text_of(desk)


def test_learn_ignores_a_kept_answer_that_went_wrong(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, {"pid": 1}, [(503, {"pid": 2}), {"pid": 1}])
    assert not passes(desk)
    plan = learn(desk)
    assert (plan.kept, learnt(plan)) == (None, {})


def test_learn_never_replaces_the_hash_of_a_body(tmp_path: Path) -> None:
    """As of a body of bytes: a placeholder in its place would let any other file pass."""
    stored, now = ({"sha256": sha256(file).hexdigest(), "size": 9} for file in (b"total 100", b"total 999"))
    desk = desk_of(tmp_path, stored, [now])
    assert not passes(desk)
    plan = learn(desk)
    assert learnt(plan) == {}
    assert "any_hex" not in text_of(desk)
    anew = [{"sha256": sha256(b"%d" % number).hexdigest(), "size": 9} for number in range(TIMES)]
    desk = desk_of(tmp_path, stored, anew)  # and if each answer is another one, only its size is the same
    assert learnt(learn(desk)) == {}
    rows = [{"sha256": row["sha256"], "name": "report"} for row in anew]
    stored_row = {"sha256": stored["sha256"], "name": "report"}
    desk = desk_of(tmp_path, stored_row, rows)  # unlike one that each answer tells anew
    assert learnt(learn(desk)) == {"body.sha256": "<<any_hex(64)>>"}


def test_compare_keeps_no_value_with_a_secret(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, {"pid": 1, "key": made_up(1)}, [{"pid": 2, "key": "hunter22-hunter22"}])
    desk.operator = {"secrets": {"word": "hunter22-hunter22"}}
    assert not passes(desk)
    (name,) = desk.pending()
    kept = json.loads((desk.folder / f".baselinekit/pending/{name}.json").read_text())
    assert kept["differing"] == [[["body", "pid"], 2]]


MOVING = {
    "pid": st.integers(1, 9),
    "uptime": st.integers(1, 10**6),
    "request_id": st.integers(1, 4).map(made_up),
    "hits": st.integers(0, 3).map(str),
}
STEADY = {"price": st.integers(1, 3), "name": st.sampled_from(["Ada", "Bob"]), "ok": st.booleans()}
LOOSE = st.fixed_dictionaries({**MOVING, **STEADY})


@pytest.mark.slow
@settings(deadline=None)
@given(LOOSE, LOOSE, LOOSE)
def test_learn_never_learns_a_steady_value(stored: Any, kept: Any, anew: Any) -> None:
    """Three answers agree: what is none of nature's is theirs, whatever the kept answer held."""
    if kept == stored:
        return
    with TemporaryDirectory() as folder:
        desk = desk_of(Path(folder), stored, [kept, anew])
        assert not passes(desk)
        assert not {f"body.{key}" for key in STEADY} & set(learnt(learn(desk)))
