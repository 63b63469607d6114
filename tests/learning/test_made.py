"""Answers to writes as public services give them, with what another request would get anew: how often a rule
that looks at one answer alone errs, and why the plain one is none."""

import uuid
from typing import Any

import pytest

from baselinekit.learning.lesson import made_by_write
from baselinekit.learning.varying import ReplayView
from baselinekit.placeholders.nature import looks_like_id
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.values.paths import render
from baselinekit.values.places import places

NOW = 1_795_381_190.4
U1, U2, U3 = (
    str(uuid.UUID(int=n << 100 | 0x3F2B8C1E7A9D * n, version=4)) for n in (0x3F2B8C1, 0x9A1C77D, 0x5D0F6A7)
)
_MS = int(NOW * 1000)


def ulid(seconds: float) -> str:
    signs, number, text = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", int(seconds * 1000), ""
    for _ in range(10):
        number, last = divmod(number, 32)
        text = signs[last] + text
    return f"{text}8Z3M0WQ4N7RT2KXY"


def object_id(seconds: float) -> str:
    return f"{int(seconds):08x}a3f91c07b2d4e586"


def uuid7(seconds: float) -> str:
    text = f"{int(seconds * 1000):012x}"
    return f"{text[:8]}-{text[8:]}-7a3f-9c07-b2d4e586f011"


def snowflake(seconds: float) -> str:
    return str((int(seconds * 1000) - 1_288_834_974_657) << 22 | 74_321)


def uuid1(seconds: float) -> str:
    ticks = f"{int((seconds + 12_219_292_800) * 10**7):015x}"
    return f"{ticks[7:]}-{ticks[3:7]}-1{ticks[:3]}-9c07-b2d4e586f011"


OLD = NOW - 86_400 * 90
Case = tuple[str, Any, int, Any, set[str]]
CASES: list[Case] = [
    ("order with a ulid", {"item": 3}, 200, {"id": ulid(NOW), "item": 3, "buyer": ulid(OLD)}, {"body.id"}),
    ("document", {"a": 1}, 200, {"insertedId": object_id(NOW), "owner": object_id(OLD)}, {"body.insertedId"}),
    ("uuid 7", {"a": 1}, 201, {"order": {"id": uuid7(NOW)}, "shop": {"id": U1}}, {"body.order.id"}),
    ("uuid 1", {"a": 1}, 200, {"ref": uuid1(NOW), "account": U1}, {"body.ref"}),
    (
        "message",
        {"text": "hi"},
        200,
        {"id": snowflake(NOW - 1), "author": {"id": snowflake(OLD)}},
        {"body.id"},
    ),
    ("created", {"name": "x"}, 201, {"id": U1, "name": "x", "tenant_id": U2}, {"body.id"}),
    (
        "created below data",
        {"a": 1},
        201,
        {"data": {"id": "OHUuo-Ey", "a": 1}, "who": ["p"]},
        {"body.data.id"},
    ),
    ("created, upper", {"a": 1}, 201, {"Id": "8dfafdbc3a40f1b2c77d", "Warnings": []}, {"body.Id"}),
    ("created by a path", {"path": "/b/b1"}, 201, {"data": {"id": "b1"}}, set()),
    ("created under an id of ours", {"id": U1}, 201, {"id": U1}, set()),
    ("a mock that always creates the same", {"a": 1}, 201, {"id": 101, "a": 1}, set()),
    ("created by name", {"a": 1}, 201, {"id": "default", "uid": "default"}, set()),
    ("created, counted", {"a": 1}, 201, {"id": "9", "a": 1}, {"body.id"}),
    (
        "two created",
        {"a": 1},
        201,
        {"rows": [{"id": U1}, {"id": U2}]},
        {"body.rows[0].id", "body.rows[1].id"},
    ),
    ("login", {"user": "ada"}, 200, {"id": U1, "token": "tk_9sd8F7gh2KLm3x0Q"}, {"body.token"}),
    ("search", {"q": "x"}, 200, {"items": [{"id": U1}, {"id": U2}], "total": 2}, set()),
    ("graphql", {"query": "{me{id}}"}, 200, {"data": {"me": {"id": U1, "team": {"id": U2}}}}, set()),
    ("json-rpc", {"id": U1, "method": "x"}, 200, {"id": U1, "result": {"chain": "0x1"}}, set()),
    ("introspection", {"token": "t"}, 200, {"sub": U1, "client_id": U2, "active": True}, set()),
    ("validate", {"a": 1}, 200, {"ok": True, "schema": U3, "errors": []}, set()),
    ("price", {"sku": "a"}, 200, {"price": 3, "sku_id": U1, "warehouse": object_id(OLD)}, set()),
    (
        "key-value",
        {"k": 1},
        200,
        {
            "header": {
                "cluster_id": "14841639068965178418",
                "member_id": "10276657743932975437",
                "revision": "2",
            }
        },
        {"body.header.revision"},
    ),
    (
        "lease",
        {"TTL": "60"},
        200,
        {"header": {"cluster_id": "14841639068965178418", "raft_term": "2"}, "ID": "7587893434561837324"},
        {"body.ID", "body.header.raft_term"},
    ),
    (
        "with a request id",
        {"a": 1},
        200,
        {"ok": True, "request_id": "req_9sd8F7gh2KLm3x"},
        {"body.request_id"},
    ),
    (
        "with a trace",
        {"a": 1},
        200,
        {"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "app": U1},
        {"body.traceId"},
    ),
    (
        "xml",
        {"a": 1},
        200,
        "<R><Users/><RequestId>5hvKJVFpsU7eptT60DbgeIm1MJ8wuBDC</RequestId></R>",
        {"body"},
    ),
    ("xml of always", {"a": 1}, 200, "<R><UserId>AKIAIOSFODNN7EXAMPLE</UserId></R>", set()),
    ("xml id of ours", {"a": 1}, 200, "<R><RequestId>none</RequestId></R>", set()),
    ("upload", {"a": 1}, 202, {"location": f"/uploads/{U1}"}, {"body.location"}),
    (
        "payment",
        {"customer": "cus_1"},
        200,
        {"id": "ch_3MmlLrLkdIwHu7ix", "customer": "cus_1", "account": "acct_1032D82eZvKYlo2C"},
        {"body.id"},
    ),
    ("index", {"a": 1}, 201, {"_index": "x", "_id": "W0tpsmIBdwcYyG50zbta", "_version": 1}, {"body._id"}),
    (
        "deploy",
        {"app": "x"},
        200,
        {"deployment": U1, "app_id": U2, "commit": "9a1c77de04b24f6a8e3b5d0f6a7b8c9d01234567"},
        {"body.deployment"},
    ),
    (
        "cluster object",
        {"kind": "Pod"},
        201,
        {"kind": "Pod", "metadata": {"uid": U1, "resourceVersion": "812"}},
        {"body.metadata.uid", "body.metadata.resourceVersion"},
    ),
    ("first revision", {"a": 1}, 201, {"id": "9", "revision": 1, "a": 1}, {"body.id"}),
    ("revision by name", {"a": 1}, 200, {"targetRevision": "HEAD", "revision": "main", "ok": True}, set()),
    (
        "raft of a cluster",
        {},
        200,
        {"raftIndex": "814", "raftTerm": 2, "dbSize": "20480", "leader": "10276657743932975437"},
        {"body.raftIndex", "body.raftTerm"},
    ),
    ("documents found", {"q": "x"}, 200, {"rows": [{"name": "a", "revision": 7}], "total": 1}, set()),
    ("limits of revisions", {"a": 1}, 200, {"maxRevisions": 50, "revision_limit": "20"}, set()),
    ("search by index", {"q": "x"}, 200, {"nbHits": 12, "hits": 12, "misses": 3, "pages": 2}, set()),
]


def taken(asked: Any, status: int, body: Any) -> set[str]:
    output = {"status": status, "body": body}
    view = ReplayView(words=PlaceholderContext(now=NOW))
    return {render(one.path) for one in made_by_write(output, asked, NOW, view)}


def by_form_alone(asked: Any, status: int, body: Any) -> set[str]:
    """The plain rule: whatever looks like an id and was not asked."""
    output = {"status": status, "body": body}
    return {
        render(path)
        for path, value in places(output)
        if looks_like_id(value, path) and str(value) not in str(asked)
    }


def errors(rule: Any) -> tuple[int, int]:
    """Steady values hidden, and values left that another request gets anew."""
    hidden = sum(len(rule(asked, status, body) - anew) for _, asked, status, body, anew in CASES)
    left = sum(len(anew - rule(asked, status, body)) for _, asked, status, body, anew in CASES)
    return hidden, left


@pytest.mark.parametrize(
    ("asked", "status", "body", "anew"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_no_steady_value_of_a_write_is_hidden(asked: Any, status: int, body: Any, anew: set[str]) -> None:
    assert taken(asked, status, body) <= anew


def test_the_rule_wins_over_none_and_over_the_plain_one() -> None:
    """Measured on 39 answers with 27 places that another request gets anew: 10 are learnt, and nothing that
    is steady; whatever looks like an id would hide 24 steady values to learn 17."""
    assert (len(CASES), sum(len(case[-1]) for case in CASES)) == (39, 27)
    assert errors(taken) == (0, 17)
    assert errors(by_form_alone) == (24, 10)
