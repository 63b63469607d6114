"""What is one value at several places becomes one binding; what is equal by chance does not."""

from collections.abc import Collection
from typing import Any

import pytest

from baselinekit.learning.links import bind_links
from baselinekit.learning.varying import ReplayView, Saved, learn_places
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.grammar import tokens_in
from baselinekit.values.places import with_values

A = "9b2c1d34-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
B = "1f0e2d3c-4b5a-4968-8776-5a4b3c2d1e0f"
C = "77f1c0de-1234-4abc-9def-a1b2c3d4e5f6"


def all_of(paths: Collection[Path]) -> Collection[Path]:
    return paths


def stored(outputs: list[Json], saved: list[Saved] | None = None) -> Any:
    """What is stored of replays; of a single one, as that of a flow that made what it saved."""
    found = learn_places(outputs, ReplayView()).volatile if len(outputs) > 1 else ()
    view = ReplayView(saved=saved or (), is_made=len(outputs) == 1, literal=all_of)
    texts = {
        place: one.proposal.text for one in bind_links(list(found), outputs, view) for place in one.places
    }
    return with_values(outputs[0], texts)


def order(id: Json, **more: Json) -> Json:
    return {"id": id, "links": {"self": f"/orders/{id}", "items": f"/orders/{id}/items?page=1"}, **more}


def test_within_one_answer() -> None:
    output = stored([order(A, item={"order_id": A}), order(B, item={"order_id": B})])
    assert output == {
        "id": "<<any_uuid(4) as id>>",
        "links": {
            "self": "/orders/<<any_uuid(4) as id>>",
            "items": "/orders/<<any_uuid(4) as id>>/items?page=1",
        },
        "item": {"order_id": "<<any_uuid(4) as id>>"},
    }


def test_two_values_are_two_bindings() -> None:
    def answer(one: str, other: str) -> Json:
        return {"order": {"id": one}, "user": {"id": other}, "self": f"/users/{other}/orders/{one}"}

    output = stored([answer(A, B), answer(B, C)])
    assert output["order"] == {"id": "<<any_uuid(4) as order_id>>"}
    assert output["user"] == {"id": "<<any_uuid(4) as user_id>>"}
    assert output["self"] == "/users/<<any_uuid(4) as user_id>>/orders/<<any_uuid(4) as order_id>>"


def test_a_row_s_parent_is_one_value_and_each_row_is_its_own() -> None:
    def answer(parent: str, *rows: str) -> Json:
        return {"id": parent, "rows": [{"id": row, "parent": parent} for row in rows]}

    output = stored([answer(A, B, C), answer(B, C, A)])
    assert output["id"] == "<<any_uuid(4) as id>>"
    assert {row["parent"] for row in output["rows"]} == {"<<any_uuid(4) as id>>"}
    assert {row["id"] for row in output["rows"]} == {"<<any_uuid(4)>>"}


@pytest.mark.parametrize(
    ("saved", "output", "expected"),
    [
        (
            [("order", "body.id", A)],
            {"new": {"id": A}, "got": order(A, state="open")},
            {
                "new": {"id": "<<any_uuid(4) as order>>"},
                "got": {
                    "id": "<<any_uuid(4) as order>>",
                    "links": {
                        "self": "/orders/<<any_uuid(4) as order>>",
                        "items": "/orders/<<any_uuid(4) as order>>/items?page=1",
                    },
                    "state": "open",
                },
            },
        ),
        (
            [("id", "body.id", 7)],
            {"id": 7, "self": "/orders/7", "count": 7, "v": "/v7/x", "items": [{"order": 7, "n": 7}]},
            {
                "id": "<<any_integer as id>>",
                "self": "/orders/<<any_integer as id>>",
                "count": 7,
                "v": "/v7/x",
                "items": [{"order": 7, "n": 7}],
            },
        ),
        (
            [("order_id", "body.id", "a3f2")],
            {"id": "a3f2", "orderId": "a3f2", "name": "a3f2", "title": "of a3f2"},
            {
                "id": "<<any_nonempty_string as order_id>>",
                "orderId": "<<any_nonempty_string as order_id>>",
                "name": "a3f2",
                "title": "of a3f2",
            },
        ),
        (
            [("where", "headers.location", "http://api.test/orders/12?x=1".partition("?")[0])],
            {"headers": {"location": "http://api.test/orders/12"}, "body": {"id": 12, "size": 12}},
            {
                "headers": {"location": "http://api.test/orders/<<any_integer as where>>"},
                "body": {"id": "<<any_integer as where>>", "size": 12},
            },
        ),
        ([("state", "body.state", "created")], {"state": "created"}, {"state": "created"}),
        ([("at", "body.at", "2026-11-22T10:00:00Z")], {"at": "2026-11-22T10:00:00Z"}, None),
        ([("next", "headers.location", "/orders/new")], {"l": "/orders/new", "b": "new"}, None),
        ([("on", "body.id", True)], {"id": True}, None),
        ([("id", "body.id", "two words")], {"id": "two words"}, None),
        ([("id", "body.id", 7)], {"other": 8}, None),
    ],
)
def test_what_a_flow_made_and_saved(saved: Saved, output: Json, expected: Json) -> None:
    assert stored([output], [saved]) == (output if expected is None else expected)


def test_what_a_flow_saves_and_was_the_same_each_time_stays() -> None:
    output = {"id": 7, "self": "/orders/7"}
    assert stored([output, output], [[("id", "body.id", 7)], [("id", "body.id", 7)]]) == output


def test_what_a_flow_saves_and_varied() -> None:
    saved: list[Saved] = [[("order_id", "body.id", 7)], [("order_id", "body.id", 8)]]
    output = stored([order(7, total=7), order(8, total=8)], saved)
    assert output["id"] == "<<any_integer(0) as order_id>>"
    assert output["links"]["self"] == "/orders/<<any_integer(0) as order_id>>"
    assert " as " not in str(output["total"])


# Equal values in all of three replays: those that are one value, and those that are equal by chance.

UUIDS = (A, B, C)
NANOIDS = ("V1StGXR8_Z5jdHi6B-myT", "x9fK2_LqPz7TbWn4-RcYd", "Qm8Zt3-Uv6_XsA1eKjHoN")
ULIDS = ("01HZX3A5B7C9D1E3F5G7H9J1K3", "01HZX3A5B7C9D1E3F5G7H9J1K9", "01HZX3B5B7C9D1E3F5G7H9J1M3")
TRACES = ("4bf92f3577b34da6", "00f067aa0ba902b7", "a3ce929d0e0e4736")
KEYS = ("ord_8fK2jQ9xLm", "ord_2bT7wN4pRs", "ord_6cY1zV3hGd")
SNOWFLAKES = (1189723645098721281, 1189723645098721297, 1189723645098734593)
MOMENTS = ("2026-11-22T10:00:00.1Z", "2026-11-22T10:00:02.3Z", "2026-11-22T10:00:04.5Z")
DATES = tuple(f"Sun, 22 Nov 2026 10:00:0{second} GMT" for second in (0, 2, 4))

ONE: dict[str, list[Json]] = {
    "id and self": [{"id": v, "self": f"/x/{v}"} for v in UUIDS],
    "hex trace": [{"trace": v, "span": {"trace_id": v}} for v in TRACES],
    "request id": [{"meta": {"request_id": v}, "echo": v} for v in UUIDS],
    "nanoid": [{"id": v, "url": f"http://h.test/f/{v}"} for v in NANOIDS],
    "ulid": [{"id": v, "ref": v} for v in ULIDS],
    "snowflake": [{"id": v, "message": {"id": v}} for v in SNOWFLAKES],
    "order number": [{"order_no": v, "order": {"order_no": v}} for v in (104233, 104234, 104237)],
    "key and href": [{"key": v, "href": f"/objects/{v}"} for v in KEYS],
}
BY_CHANCE: dict[str, list[Json]] = {
    "created and updated": [{"created_at": v, "updated_at": v} for v in MOMENTS],
    "epoch seconds": [{"start": v, "end": v} for v in (1795341600, 1795341602, 1795341605)],
    "http dates": [{"date": v, "last_modified": v} for v in DATES],
    "two counts": [{"hits": v, "misses": v} for v in (3, 4, 6)],
    "small ids": [{"user": {"id": v}, "order": {"id": v}} for v in (3, 4, 5)],
    "sizes": [{"total": v, "free": v} for v in (16_777_216, 16_781_312, 16_785_408)],
    "durations": [{"took": v, "elapsed": v} for v in (0.0012, 0.0014, 0.0011)],
    "states": [{"state": v, "last": {"state": v}} for v in ("open", "closed", "pending")],
    "words": [{"name": v, "title": v} for v in ("Ada", "Grace", "Edsger")],
    "flags": [{"a": v, "b": v} for v in (True, False, True)],
    "different keys": [{"user_id": v, "order_id": v} for v in (11, 12, 13)],
    "digits": [{"hour": v, "minute": v} for v in ("07", "08", "09")],
}


def keys_of(outputs: list[Json]) -> list[str]:
    return [token.key for token in tokens_in(stored(outputs)) if token.key]


def test_how_often_it_errs() -> None:
    """0 of 20: 8 that are one value, 12 that are equal by chance."""
    missed = [name for name, outputs in ONE.items() if len(set(keys_of(outputs))) != 1]
    assert missed == []
    assert all(len(keys_of(outputs)) == 2 for outputs in ONE.values())
    assert [name for name, outputs in BY_CHANCE.items() if keys_of(outputs)] == []
