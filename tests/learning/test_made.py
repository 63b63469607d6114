"""Answers to writes as public services give them, with what another sent would get anew: how often a rule
that looks at one answer alone errs, and why the plain one is none."""

import uuid
from typing import Any

import pytest

from baselinekit.learning.lesson import made_by_write
from baselinekit.learning.varying import ReplayView
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render

NOW = 1_795_381_190.4
U1, U2 = (str(uuid.UUID(int=n << 100 | 0x3F2B8C1E7A9D * n, version=4)) for n in (0x3F2B8C1, 0x9A1C77D))


OLD, NEW = "01M0TS51R08Z3M0WQ4N7RT2KXY", "01M82GXQR08Z3M0WQ4N7RT2KXY"
"""ULIDs of three months before and of now."""

Case = tuple[str, Any, int, Any, set[str]]
CASES: list[Case] = [
    ("order with a ulid", {"item": 3}, 200, {"id": NEW, "item": 3, "buyer": OLD}, {"id"}),
    ("created", {"name": "x"}, 201, {"id": U1, "name": "x", "tenant_id": U2}, {"id"}),
    ("created below data", {"a": 1}, 201, {"data": {"id": "OHUuo-Ey", "a": 1}, "who": ["p"]}, {"data.id"}),
    ("created by a path", {"path": "/b/b1"}, 201, {"data": {"id": "b1"}}, set()),
    ("created under an id of ours", {"id": U1}, 201, {"id": U1}, set()),
    ("a mock that always creates the same", {"a": 1}, 201, {"id": 101, "a": 1}, set()),
    ("login", {"user": "ada"}, 200, {"id": U1, "token": "tk_9sd8F7gh2KLm3x0Q"}, {"token"}),
    ("search", {"q": "x"}, 200, {"items": [{"id": U1}, {"id": U2}], "total": 2}, set()),
    ("json-rpc", {"id": U1, "method": "x"}, 200, {"id": U1, "result": {"chain": "0x1"}}, set()),
    ("with a sent id", {"a": 1}, 200, {"ok": True, "request_id": "req_9sd8F7gh2KLm3x"}, {"request_id"}),
]


def taken(sent: Any, status: int, body: Any) -> set[str]:
    output = {"status": status, "body": body}
    view = ReplayView(words=PlaceholderContext(now=NOW))
    return {render(one.path) for one in made_by_write(output, sent, view)}


@pytest.mark.parametrize(
    ("sent", "status", "body", "anew"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_made_by_write_hides_no_steady_value(sent: Any, status: int, body: Any, anew: set[str]) -> None:
    assert taken(sent, status, body) <= {f"body.{path}" for path in anew}


def test_id_of_request_in_list_is_made_by_write() -> None:
    assert taken({"a": 1}, 200, {"request_id": ["req_9sd8F7gh2KLm3x"]}) == {"body.request_id[0]"}
