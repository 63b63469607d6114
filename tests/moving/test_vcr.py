"""Cassettes that vcrpy wrote itself (with requests and httpx): known answers, and requests that cannot be
sent again."""

import json
from pathlib import Path

import pytest

from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.moving.vcr import Cassette, read as read_cassette

MADE = Path(__file__).parent / "moved"

USUAL = {"n": 1.5, "name": "Zoë"}
ANSWERS: dict[str, object] = {
    "GET /json?x=1&y=a%20b": {**USUAL, "method": "GET", "path": "/json?x=1&y=a%20b", "sent": ""},
    "GET /gzip": {**USUAL, "method": "GET", "path": "/gzip", "sent": ""},
    "GET /deflate": {**USUAL, "method": "GET", "path": "/deflate", "sent": ""},
    "GET /bytes": b"\x89PNG\xff\x00",
    "GET /text": "hello\nÄ\n".encode(),
    "GET /latin": "hellö".encode("latin-1"),
    "GET /json": {**USUAL, "method": "GET", "path": "/json", "sent": ""},  # where /moved leads
    "GET /missing": {"error": "no such thing"},
    "GET /moved": b"",
    "GET /empty": b"",
    "GET /broken": b'{"a": ',
    "POST /orders": {**USUAL, "method": "POST", "path": "/orders", "sent": '{"a": [1, 2], "n": null}'},
    "POST /form": {**USUAL, "method": "POST", "path": "/form", "sent": "a=1&b=x&b=y"},
    "PUT /text": "hello\nÄ\n".encode(),
    "DELETE /orders/7": {**USUAL, "method": "DELETE", "path": "/orders/7", "sent": ""},
}


def cassette(name: str) -> Cassette:
    text = (MADE / "cassettes" / name).read_text("utf-8")
    found = read_cassette(SourceText(name, text), ImportChoices())
    assert found is not None
    return found


def test_read_of_cassette_has_the_recorded_answers() -> None:
    found = cassette("many.yaml")
    assert found.imported.left_out == ()
    bodies = {
        f"{draft.current['input']['method']} {draft.current['input']['endpoint']}": answer.response.body
        for draft, answer in zip(found.imported.drafts, found.answers, strict=True)
    }
    assert bodies.keys() == ANSWERS.keys()
    for name, wanted in ANSWERS.items():
        body = bodies[name]
        assert (body if isinstance(wanted, bytes) else json.loads(body)) == wanted


def test_read_of_cassette_states_json_form_and_body() -> None:
    inputs = {draft.id: draft.current["input"] for draft in cassette("many.yaml").imported.drafts}
    posted = inputs["post-orders"]
    assert (posted["headers"], posted["json"]) == ({"X-Trace": "t1"}, {"a": [1, 2], "n": None})
    assert inputs["post-form"]["form"] == {"a": "1", "b": ["x", "y"]}
    assert inputs["put-text"]["body"] == "plain body"


def test_read_of_cassette_lists_requests_that_cannot_be_sent_again() -> None:
    found = cassette("binary.yaml").imported
    assert [(left.line, left.message.partition("8765")[2]) for left in found.left_out] == [
        (2, "/bin: a body that is not text"),
        (34, "/file: a body of multipart/form-data"),
        (69, "/stream: a body that is not text"),
    ]


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("Thu, 01 Jan 2026 12:00:00 GMT", "2026-01-01T12:00:00Z"),
        ("Thu, 01 Jan 2026 12:00:00 +0200", "2026-01-01T10:00:00Z"),
        ("Thu, 01 Jan 2026 00:00:00 +9999999999999", None),
        ("Fri, 31 Dec 9999 23:59:59 -2300", None),
    ],
)
def test_read_of_cassette_has_the_time_of_an_answer_in_utc(date: str, moment: str | None) -> None:
    answer = {"status_code": 200, "content": "x", "headers": {"Date": [date]}}
    recorded = {"request": {"method": "GET", "uri": "http://shop.test/y", "headers": {}}, "response": answer}
    text = json.dumps({"version": 1, "interactions": [recorded]})
    found = read_cassette(SourceText("c.yaml", text), ImportChoices())
    assert found is not None
    assert [answer.moment for answer in found.answers] == [moment]
