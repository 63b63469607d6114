"""HTTP calls as they stand in a cassette: what counts of a request, an answer there and back, and secrets in
every place where they travel."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.documents.languages import YAML, dump_yaml
from baselinekit.models.exchanges import (
    HttpAnswer,
    answer_in,
    body_in,
    credentials_in,
    describe_request,
    is_ended,
    request_parts,
    response_parts,
    same_answers,
)


def there_and_back(answer: HttpAnswer, method: str = "GET") -> HttpAnswer:
    """Through the text of a file."""
    told = response_parts(answer, method)
    (read,) = YAML.load(dump_yaml(told), "x.yaml")
    assert read == told
    return answer_in(read)


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "text/plain", "application/octet-stream", "text/event-stream"]),
)
def test_every_body_comes_back_byte_by_byte(body: bytes, kind: str) -> None:
    came = there_and_back(HttpAnswer(200, (("content-type", kind),) if kind else (), body)).body
    assert came == body or json.loads(came) == json.loads(body)  # JSON is kept as its value


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_kept_as_its_value(value: Any) -> None:
    answer = HttpAnswer(
        200, (("content-type", "application/json; charset=utf-8"),), json.dumps(value).encode()
    )
    assert json.loads(there_and_back(answer).body) == value
    assert json.loads(there_and_back(answer).body.decode()) == json.loads(answer.body)


@pytest.mark.parametrize(
    ("kind", "body", "form"),
    [
        ("application/json", b'{"a": 1}', {"body": {"a": 1}}),
        ("application/problem+json", b"[]", {"body": []}),
        ("application/json", b"{broken", {"text": "{broken"}),
        ("application/json", b'{"a": 1, "a": 2}', {"text": '{"a": 1, "a": 2}'}),
        ("text/event-stream", b"data: 1\n\ndata: 2\n\n", {"events": ["data: 1", "data: 2"]}),
        ("text/event-stream", b"data: 1\r\n\r\n", {"text": "data: 1\r\n\r\n"}),
        ("application/x-ndjson", b'{"a": 1}\n{"a": 2}\n', {"text": '{"a": 1}\n{"a": 2}\n'}),
        ("text/html", "<p>Zoë".encode(), {"text": "<p>Zoë"}),
        (
            "text/html",
            "<p>Zoë".encode("latin-1"),
            {"base64": base64.encodebytes("<p>Zoë".encode("latin-1")).decode()},
        ),
        ("image/png", b"\x89PNG\0", {"base64": "iVBORwA=\n"}),
        ("text/plain", b"", {}),
    ],
)
def test_a_body_is_told_in_the_form_in_which_it_reads(kind: str, body: bytes, form: dict[str, Any]) -> None:
    assert body_in(kind, body) == form
    assert there_and_back(HttpAnswer(200, (("content-type", kind),), body)).body in (
        body,
        body.replace(b": ", b":"),
    )


def test_forms_and_files_of_a_request_are_told_by_their_parts() -> None:
    form = body_in("application/x-www-form-urlencoded", b"a=1&b=x+y&a=2", is_request=True)
    assert form == {"form": {"a": ["1", "2"], "b": "x y"}}
    parts = (
        b'--X\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
        b'--X\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n" + bytes(2_000) + b"\r\n--X--\r\n"
    )
    told = body_in('multipart/form-data; boundary="X"', parts, is_request=True)["multipart"]
    assert told[0] == {"name": "note", "text": "hello"}
    assert told[1]["filename"] == "a.bin"
    assert told[1]["bytes"] == 2_000
    assert len(told[1]["sha256"]) == 64
    other = body_in("multipart/form-data; boundary=YY", parts.replace(b"--X", b"--YY"), is_request=True)
    assert other == {"multipart": told}


def test_a_request_is_told_without_what_says_who_asks() -> None:
    headers = [
        *[("User-Agent", "python-httpx/1"), ("Accept", "*/*"), ("Accept-Encoding", "gzip"), ("Host", "h")],
        *[("Authorization", "Bearer x"), ("X-Stainless-Package-Version", "1"), ("X-Sdk-Version", "2")],
        *[("Anthropic-Version", "2023-06-01"), ("OpenAI-Beta", "v2"), ("Content-Type", "application/json")],
    ]
    assert request_parts("post", "HTTPS://User:pw@H.example:443/a%20b?x=&y=1&x=2#z", headers, b"{}", ()) == {
        "method": "POST",
        "url": "https://h.example/a%20b",
        "query": {"x": ["", "2"], "y": "1"},
        "headers": {
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
            "openai-beta": "v2",
        },
        "body": {},
    }
    assert request_parts("GET", "http://[::1]:8080", (), b"", ())["url"] == "http://[::1]:8080/"
    assert describe_request({"method": "GET", "url": "http://h/"}) == "GET http://h/"


def test_an_answer_is_told_without_how_it_travelled() -> None:
    headers = [
        ("date", "now"),
        ("content-encoding", "gzip"),
        ("content-length", "9"),
        ("cf-ray", "1"),
        ("etag", "2"),
    ]
    told = response_parts(HttpAnswer(200, (*headers, ("link", "a"), ("link", "b")), b""), "GET")
    assert told == {"status": 200, "headers": {"etag": "2", "link": ["a", "b"]}}
    assert answer_in(told).headers == (("etag", "2"), ("link", "a"), ("link", "b"))
    head = response_parts(HttpAnswer(200, tuple(headers), b""), "HEAD")
    assert head["headers"] == {"content-length": "9", "etag": "2"}


def test_the_name_of_a_cookie_stays_and_its_value_goes() -> None:
    told = response_parts(HttpAnswer(200, (("set-cookie", "sid=abc; Path=/; HttpOnly"),), b""), "GET")
    assert told["headers"] == {"set-cookie": "sid=***; Path=/; HttpOnly"}


@pytest.mark.parametrize("told", [{}, {"status": "x"}, {"status": 200, "headers": ["a"]}])
def test_what_is_no_answer_is_said_to_be_none(told: Any) -> None:
    with pytest.raises(ValueError, match="status"):
        answer_in(told)


def test_a_stream_is_handed_out_event_by_event_and_line_by_line() -> None:
    events = HttpAnswer(
        200, (("content-type", "text/event-stream; charset=utf-8"),), b"data: 1\n\ndata: 2\n\nrest"
    )
    assert list(events.pieces()) == [b"data: 1\n\n", b"data: 2\n\n", b"rest"]
    lines = HttpAnswer(200, (("content-type", "application/x-ndjson"),), b"1\n2\n")
    assert list(lines.pieces()) == [b"1\n", b"2\n"]
    assert list(HttpAnswer(200, (), b"1\n\n2").pieces()) == [b"1\n\n2"]
    assert list(HttpAnswer(204, (), b"").pieces()) == []


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        (b"data: 1\n\ndata: [DONE]\n\n", True),
        (b"data: 1\n\ndata: [DONE]\r\n\r\n", True),
        (b'event: message_stop\ndata: {"type": "message_stop"}\n\n', True),
        (b"data: 1\n\n", False),
        (b"data: [DONE] said he\n\n", False),
    ],
)
def test_some_streams_say_that_nothing_follows(body: bytes, ended: bool) -> None:
    assert is_ended("text/event-stream", body) is ended
    assert not is_ended("text/plain", body)


def test_answers_are_the_same_whatever_their_headers_say() -> None:
    one = {"status": 200, "headers": {"x-request-id": "1"}, "body": {"a": 1}}
    assert same_answers([one, {**one, "headers": {"x-request-id": "2"}}])
    assert not same_answers([one, {**one, "body": {"a": 2}}])


BASIC = base64.b64encode(b"ann:hunter22").decode()


@pytest.mark.parametrize(
    ("url", "asked", "answered", "found"),
    [
        ("https://h/", [("Authorization", "Bearer abc123def456")], [], {"abc123def456"}),
        ("https://h/", [("authorization", f"Basic {BASIC}")], [], {BASIC, "hunter22"}),
        ("https://h/", [("X-Api-Key", "abc123def456")], [], {"abc123def456"}),
        ("https://h/", [("Cookie", "a=1; sid=abc123def456")], [], {"abc123def456"}),
        ("https://h/", [], [("set-cookie", "sid=abc123def456; Path=/")], {"abc123def456"}),
        ("https://h/?key=AIzaSyA1234567890abcdefgh", [], [], {"AIzaSyA1234567890abcdefgh"}),
        ("https://h/?key=users", [], [], set()),
        ("https://h/?api_key=abc123def456", [], [], {"abc123def456"}),
        ("https://ann:hunter22@h/", [], [], {"hunter22"}),
        ("https://h/?page=2", [("accept", "application/json"), ("authorization", "test")], [], set()),
    ],
)
def test_credentials_are_known_by_where_they_travel(
    url: str, asked: Any, answered: Any, found: set[str]
) -> None:
    assert set(credentials_in(url, asked, answered)) == found
