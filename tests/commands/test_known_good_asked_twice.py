"""A capture asks what only reads twice: what varied becomes a placeholder, and so does a moment of now; what
looks like an id and was the same stays, and is told."""

import threading
from pathlib import Path
from typing import Any

import pytest
from learning_desk import made_up
from ticking import START, Ticking, iso, record, ticking

from baselinekit.commands.capture import Captured
from baselinekit.values.paths import render

pytestmark = pytest.mark.slow

SAME = "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456"


def captured_by(desk: Ticking, id: str, method: str = "GET", **options: Any) -> Captured:
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
    captured = captured_by(desk, "order", hide_secrets=True)
    assert body(captured) == {"token": "<<any_token>>", "tenant": SAME}
    assert [render(item.path) for item in captured.lookalikes] == ["body.tenant"]


def test_capture_asks_a_get_twice_with_a_tick_between(tmp_path: Path) -> None:
    desk = ticking(tmp_path, order=order)
    captured = captured_by(desk, "order")
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
    assert [render(item.path) for item in captured.lookalikes] == ["body.tenant"]


@pytest.mark.parametrize(
    ("method", "options", "times"),
    [("GET", {}, 2), ("DELETE", {}, 1), ("GET", {"repeat": 1}, 1), ("GET", {"exact": True}, 1)],
)
def test_capture_asks_writes_once(tmp_path: Path, method: str, options: dict[str, Any], times: int) -> None:
    desk = ticking(tmp_path, x=lambda now, number: {"x": 1})
    captured_by(desk, "x", method, **options)
    assert (desk.counts["/x"], len(desk.slept)) == (times, int(times > 1))


def test_capture_with_replace_lookalikes_stores_placeholders(tmp_path: Path) -> None:
    rows = [made_up(number) for number in range(3)]
    desk = ticking(tmp_path, x=lambda now, number: {"id": SAME, "rows": [{"id": id} for id in rows]})
    captured = captured_by(desk, "x", replace_lookalikes=True)
    assert body(captured) == {"id": "<<any_uuid(4)>>", "rows": [{"id": "<<any_uuid(4)>>"}] * 3}
    assert not captured.lookalikes


def test_capture_notes_no_lookalike_in_an_ignored_field(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: {"id": SAME, "at": iso(START), "n": 1})
    rules = record("x", ignore_fields=["id", "at"])
    captured = desk.capture(rules, desk.ticking(), repeat=None)
    assert body(captured) == {"id": SAME, "at": iso(START), "n": 1}
    assert not captured.lookalikes


def test_capture_makes_each_replay_in_its_own_thread(tmp_path: Path) -> None:
    """A thread has its own connections: what a service says of one varies."""
    threads: list[threading.Thread] = []

    def answer(now: float, number: int) -> Any:
        threads.append(threading.current_thread())
        return {"connection": 7 + threads.index(threading.current_thread())}

    desk = ticking(tmp_path, x=answer)
    assert body(captured_by(desk, "x")) == {"connection": "<<any_integer(0)>>"}


def test_capture_of_a_write_learns_the_ids_that_it_made(tmp_path: Path) -> None:
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
    captured = captured_by(desk, "x", "POST")
    assert desk.counts["/x"] == 1
    stored = body(captured)
    assert (stored["id"], stored["tenant_id"], stored["uptime"]) == ("<<any_uuid(4)>>", SAME, 7)
    assert (stored["request_id"], stored["revision"]) == ("<<any_token(9)>>", "7")
    (note,) = captured.notes
    assert note == (
        "a write is asked once: baselinekit refresh x --learn finds what varies, and sends it 3 times more"
    )
    desk.service["/exact"] = desk.service["/x"]
    assert body(captured_by(desk, "exact", "POST", exact=True)) == answer


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
    assert body(captured_by(desk, "log")) == {
        "line": f"[{iso(START - 30)}] listening at <<var(base_url)>>, press enter",
        "old": "[2026-01-15T10:00:00Z] listening at <<var(base_url)>>",
        "day": "<<var(day)>>",
        "said": "\\<<any>> and more",
    }
