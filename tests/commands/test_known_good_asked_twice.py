"""A capture asks what only reads twice: what varied becomes a placeholder, and so does a moment of now; what
looks like an id and was the same stays, and is told."""

import threading
from pathlib import Path
from typing import Any

import pytest
from learning_desk import made_up
from storehelp import write
from ticking import START, Ticking, iso, record, ticking

from baselinekit.commands.capture import Captured, CaptureOptions, NewBaseline, capture
from baselinekit.commands.loading import load
from baselinekit.values.paths import render

pytestmark = pytest.mark.slow

SAME = "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456"


def asked(desk: Ticking, id: str, method: str = "GET", **options: Any) -> Captured:
    options.setdefault("repeat", None)
    return desk.capture(record(id, method), desk.ticking(), **options)


def body(captured: Captured) -> Any:
    assert isinstance(captured.output, dict)
    return captured.output["body"]


def order(now: float, number: int) -> dict[str, Any]:
    return {
        "id": made_up(number),
        "tenant": SAME,
        "at": iso(now),
        "started": iso(START - 90),
        "epoch": int(START - 90),
        "made": "2026-01-15T10:00:00Z",
        "text": f"as of {iso(START - 30)}",
        "total": 3,
    }


def test_capture_does_not_note_that_a_hidden_secret_is_compared(tmp_path: Path) -> None:
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    desk = ticking(tmp_path, order=lambda now, number: {"token": token, "tenant": SAME})
    captured = asked(desk, "order", hide_secrets=True)
    assert body(captured) == {"token": "<<any_token>>", "tenant": SAME}
    assert [render(item.path) for item in captured.lookalikes] == ["body.tenant"]


def test_a_get_is_asked_twice_with_a_tick_between(tmp_path: Path) -> None:
    desk = ticking(tmp_path, order=order)
    captured = asked(desk, "order")
    (first, _), (second, _) = desk.log
    assert second - first >= 1.1
    assert body(captured) == {
        "id": "<<any_uuid(4)>>",
        "tenant": SAME,
        "at": "<<any_iso_datetime>>",
        "started": "<<any_iso_datetime>>",
        "epoch": "<<any_unix_timestamp>>",
        "made": "2026-01-15T10:00:00Z",
        "text": "as of <<any_iso_datetime>>",
        "total": 3,
    }
    assert [render(one.path) for one in captured.lookalikes] == ["body.tenant"]


@pytest.mark.parametrize(
    ("method", "options", "times"),
    [
        ("GET", {}, 2),
        ("HEAD", {}, 2),
        ("DELETE", {}, 1),
        ("GET", {"repeat": 1}, 1),
        ("POST", {"repeat": 3}, 3),
        ("GET", {"exact": True}, 1),
    ],
)
def test_how_often_it_is_asked(tmp_path: Path, method: str, options: dict[str, Any], times: int) -> None:
    desk = ticking(tmp_path, x=lambda now, number: {"x": 1})
    asked(desk, "x", method, **options)
    assert (desk.counts["/x"], len(desk.slept)) == (times, int(times > 1))


def test_what_looks_like_an_id_becomes_a_placeholder_when_somebody_says_so(tmp_path: Path) -> None:
    seen: list[Any] = []

    def accept(found: Any) -> bool:
        seen.append([render(one.path) for one in found])
        return True

    rows = [made_up(number) for number in range(3)]
    desk = ticking(tmp_path, x=lambda now, number: {"id": SAME, "rows": [{"id": id} for id in rows]})
    captured = asked(desk, "x", accept_lookalikes=accept)
    assert seen == [["body.id", "body.rows.*.id"]]  # one question
    assert body(captured) == {"id": "<<any_uuid(4)>>", "rows": [{"id": "<<any_uuid(4)>>"}] * 3}
    assert not captured.lookalikes


def test_what_the_rules_do_not_look_at_is_not_told(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: {"id": SAME, "at": iso(START), "n": 1})
    rules = record("x", ignore_fields=["id", "at"])
    captured = desk.capture(rules, desk.ticking(), repeat=None)
    assert body(captured) == {"id": SAME, "at": iso(START), "n": 1}
    assert not captured.lookalikes


def test_many_wait_for_one_tick(tmp_path: Path) -> None:
    names = [f"r{number}" for number in range(12)]
    desk = ticking(tmp_path, **dict.fromkeys(names, order), broken=lambda now, number: (500, {"x": 1}))
    for name in [*names, "broken"]:
        text = f"id: {name}\ncurrent:\n  input: {{endpoint: /{name}}}\n  execution: {{type: http}}\n"
        write(tmp_path, f"baselines/{name}.yaml", text)
    project = desk.project
    wanted = [NewBaseline(draft, "baselines") for draft in load(project, ())]
    found = capture(project, wanted, CaptureOptions(repeat=None), desk.ticking())
    done, errors = found.done, found.errors
    assert sorted(one.id for one in done) == sorted(names)
    assert [problem.code for error in errors for problem in error.problems] == ["BK521"]
    assert desk.slept == [1.1]
    for name in names:
        first, second = (at for at, path in desk.log if path == f"/{name}")
        assert second - first >= 1.1


def test_each_replay_is_made_in_a_thread_of_its_own(tmp_path: Path) -> None:
    """A thread has its own connections: what a service says of one varies."""
    threads: list[threading.Thread] = []

    def answer(now: float, number: int) -> Any:
        threads.append(threading.current_thread())
        return {"connection": 7 + threads.index(threading.current_thread())}

    desk = ticking(tmp_path, x=answer)
    assert body(asked(desk, "x")) == {"connection": "<<any_integer(0)>>"}


def test_what_a_write_has_made_for_certain_is_learnt_at_once(tmp_path: Path) -> None:
    """It was asked once: the id of what was created and of the request; all else stays, and is told."""
    answer = {
        "id": made_up(1),
        "tenant_id": SAME,
        "request_id": "req_9sd8F7gh2KLm3x",
        "revision": "7",
        "uptime": 7,
        "n": 3,
    }
    desk = ticking(tmp_path, x=lambda now, number: (201, answer))
    captured = asked(desk, "x", "POST")
    assert desk.counts["/x"] == 1
    stored = body(captured)
    assert (stored["id"], stored["tenant_id"], stored["uptime"]) == ("<<any_uuid(4)>>", SAME, 7)
    assert (stored["request_id"], stored["revision"]) == ("<<any_token(9)>>", "7")
    (note,) = captured.notes
    assert note == (
        "a write is asked once: baselinekit refresh x --learn finds what varies, and sends it 3 times more"
    )
    desk.service["/exact"] = desk.service["/x"]
    assert body(asked(desk, "exact", "POST", exact=True)) == answer


def test_capture_of_a_text_with_a_variable_keeps_the_moment_beside_it(tmp_path: Path) -> None:
    def log(now: float, number: int) -> Any:
        return {
            "line": f"[{iso(START - 30)}] listening at http://desk, press enter",
            "old": "[2026-01-15T10:00:00Z] listening at http://desk",
            "day": "Sun, 22 Nov 2026",
            "said": "<<any>> and more",
        }

    desk = ticking(tmp_path, log=log)
    desk.config = "base_url: http://desk\nvariables: {day: 'Sun, 22 Nov 2026'}\n"
    assert body(asked(desk, "log")) == {
        "line": f"[{iso(START - 30)}] listening at <<var(base_url)>>, press enter",
        "old": "[2026-01-15T10:00:00Z] listening at <<var(base_url)>>",
        "day": "<<var(day)>>",
        "said": "\\<<any>> and more",
    }
