"""What is one value at several places becomes one binding; what is equal by chance does not."""

from typing import Any

import pytest

from baselinekit.learning.links import bind_links
from baselinekit.learning.varying import ReplayView, Saved, learn_places
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import tokens_in
from baselinekit.values.places import with_values

A = "9b2c1d34-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
B = "1f0e2d3c-4b5a-4968-8776-5a4b3c2d1e0f"
C = "77f1c0de-1234-4abc-9def-a1b2c3d4e5f6"


def stored(outputs: list[Json], saved: list[Saved] | None = None) -> Any:
    """What is stored of replays; of a single one, as that of a flow that made what it saved."""
    found = learn_places(outputs, ReplayView()).volatile if len(outputs) > 1 else ()
    view = ReplayView(saved=saved or (), is_made=len(outputs) == 1, literal=lambda paths: paths)
    texts = {at: one.proposal.text for one in bind_links(list(found), outputs, view) for at in one.places}
    return with_values(outputs[0], texts)


def order(id: Json, **more: Json) -> Json:
    return {"id": id, "links": {"self": f"/orders/{id}", "items": f"/orders/{id}/items?page=1"}, **more}


def test_bind_links_binds_the_parent_of_rows() -> None:
    def answer(parent: str, *rows: str) -> Json:
        return {"id": parent, "rows": [{"id": row, "parent": parent} for row in rows]}

    output = stored([answer(A, B, C), answer(B, C, A)])
    assert output["id"] == "<<any_uuid(4) as id>>"
    assert {row["parent"] for row in output["rows"]} == {"<<any_uuid(4) as id>>"}
    assert {row["id"] for row in output["rows"]} == {"<<any_uuid(4)>>"}


TAKEN = "<<any_uuid(4) as order>>"
NUMBER, TEXT = "<<any_integer as id>>", "<<any_nonempty_string as order_id>>"


@pytest.mark.parametrize(
    ("saved", "output", "expected"),
    [
        (
            [("order", "body.id", A)],
            {"new": {"id": A}, "got": order(A, state="open")},
            {"new": {"id": TAKEN}, "got": order(TAKEN, state="open")},
        ),
        (
            [("id", "body.id", 7)],
            {"id": 7, "self": "/orders/7", "v": "/v7/x", "items": [{"order": 7, "n": 7}]},
            {"id": NUMBER, "self": f"/orders/{NUMBER}", "v": "/v7/x", "items": [{"order": 7, "n": 7}]},
        ),
        (
            [("order_id", "body.id", "a3f2")],
            {"id": "a3f2", "orderId": "a3f2", "name": "a3f2", "title": "of a3f2"},
            {"id": TEXT, "orderId": TEXT, "name": "a3f2", "title": "of a3f2"},
        ),
        ([("state", "body.state", "created")], {"state": "created"}, None),
        ([("at", "body.at", "2026-11-22T10:00:00Z")], {"at": "2026-11-22T10:00:00Z"}, None),
        ([("on", "body.id", True)], {"id": True}, None),
    ],
)
def test_bind_links_of_saved_values_of_a_flow(saved: Saved, output: Json, expected: Json) -> None:
    assert stored([output], [saved]) == (output if expected is None else expected)


def test_bind_links_of_saved_values_that_varied() -> None:
    saved: list[Saved] = [[("order_id", "body.id", 7)], [("order_id", "body.id", 8)]]
    output = stored([order(7, total=7), order(8, total=8)], saved)
    assert output["id"] == "<<any_integer(0) as order_id>>"
    assert output["links"]["self"] == "/orders/<<any_integer(0) as order_id>>"
    assert " as " not in str(output["total"])


# Equal values in all of three replays: those that are one value, and those that are equal by chance.

UUIDS = (A, B, C)
NANOIDS = ("V1StGXR8_Z5jdHi6B-myT", "x9fK2_LqPz7TbWn4-RcYd", "Qm8Zt3-Uv6_XsA1eKjHoN")
TRACES = ("4bf92f3577b34da6", "00f067aa0ba902b7", "a3ce929d0e0e4736")
MOMENTS = ("2026-11-22T10:00:00.1Z", "2026-11-22T10:00:02.3Z", "2026-11-22T10:00:04.5Z")

ONE: dict[str, list[Json]] = {
    "id and self": [{"id": v, "self": f"/x/{v}"} for v in UUIDS],
    "hex trace": [{"trace": v, "span": {"trace_id": v}} for v in TRACES],
    "nanoid": [{"id": v, "url": f"http://h.test/f/{v}"} for v in NANOIDS],
    "order number": [{"order_no": v, "order": {"order_no": v}} for v in (104233, 104234, 104237)],
}
BY_CHANCE: dict[str, list[Json]] = {
    "created and updated": [{"created_at": v, "updated_at": v} for v in MOMENTS],
    "epoch seconds": [{"start": v, "end": v} for v in (1795341600, 1795341602, 1795341605)],
    "two counts": [{"hits": v, "misses": v} for v in (3, 4, 6)],
    "different keys": [{"user_id": v, "order_id": v} for v in (11, 12, 13)],
}


def keys_of(outputs: list[Json]) -> list[str]:
    return [token.key for token in tokens_in(stored(outputs)) if token.key]


def test_bind_links_binds_no_values_equal_by_chance() -> None:
    missed = [name for name, outputs in ONE.items() if len(set(keys_of(outputs))) != 1]
    assert missed == []
    assert all(len(keys_of(outputs)) == 2 for outputs in ONE.values())
    assert [name for name, outputs in BY_CHANCE.items() if keys_of(outputs)] == []
