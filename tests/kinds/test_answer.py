"""From the bytes of an answer to a value."""

from hashlib import sha256
from typing import Any

import pytest

from baselinekit.errors import CannotReplay
from baselinekit.kinds.http import http_output, read_answer
from baselinekit.model.recipes import Request, Response


def body_of(content_type: str | None, body: bytes) -> Any:
    headers = (("Content-Type", content_type),) if content_type else ()
    return read_answer(Response(200, headers, body), Request("GET", "")).value


@pytest.mark.parametrize(
    ("content_type", "body", "value"),
    [
        ("application/json", b'{"a": [1]}', {"a": [1]}),
        ("application/json; charset=utf-8", "\ufeff[1]".encode(), [1]),
        ("Application/Problem+JSON", b"{}", {}),
        ("application/json", '["é"]'.encode("utf-16"), ["é"]),
        ('application/json;charset="iso-8859-1"', '["é"]'.encode("latin-1"), ["é"]),
        ("text/plain", "é\r\n".encode(), "é\r\n"),
        ("text/html; charset=ISO-8859-1", b"\xe9", "é"),
        ("text/csv", "é".encode("utf-16"), "é"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/soap+xml", b"<a/>", "<a/>"),
        ("application/x-www-form-urlencoded", b"a=1", "a=1"),
        ("application/yaml", b"a: 1", "a: 1"),
        ("application/javascript", b"a()", "a()"),
        (None, b"plain", "plain"),
        ("application/json", b"", ""),
        ("image/png", b"", ""),
    ],
)
def test_what_is_text_or_json(content_type: str | None, body: bytes, value: Any) -> None:
    assert body_of(content_type, body) == value


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("application/octet-stream", b"text"),
        ("text/plain", b"\xe9"),
        ("text/plain; charset=us-ascii", "é".encode()),
        (None, b"\xff\x00"),
        ("text/plain; charset=zlib", b"F56"),
        ("text/plain; charset=idna", b"F56"),
        ("text/plain; charset=rot13", b"F56"),
        ("text/plain; charset=windows-1252", b"\x81"),
        ("text/plain", b"\xff\xfe\x00"),
    ],
)
def test_what_stays_bytes(content_type: str | None, body: bytes) -> None:
    assert body_of(content_type, body) == {"sha256": sha256(body).hexdigest(), "size": len(body)}


@pytest.mark.parametrize("body", [b'{"a": 1, "a": 2}', b"<html>", b"\xff{}", b"[NaN]", b"[" * 100_000])
def test_json_that_is_none_is_an_error(body: bytes) -> None:
    with pytest.raises(CannotReplay) as raised:
        body_of("application/json", body)
    assert raised.value.problems[0].code == "BK307"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"[" * 65 + b"]" * 65),
        ("application/json", b"[" * 100_000 + b"]" * 100_000),
        ("application/json", b"9" * 1_001),
        ("application/json", b"[1e5000]"),
        ("application/x-ndjson", b"1\n" + b"9" * 1_001),
    ],
)
def test_json_beyond_our_limits_is_no_fault_of_the_service(content_type: str, body: bytes) -> None:
    with pytest.raises(CannotReplay) as raised:
        body_of(content_type, body)
    (problem,) = raised.value.problems
    assert problem.code == "BK307"
    assert "no fault of the service" in problem.hint
    assert "correct the service" not in problem.hint


def test_the_headers_that_are_kept() -> None:
    headers = (("Link", "a"), ("Content-Type", "text/plain"), ("LINK", "b"), ("X-Other", "c"))
    output = http_output(Response(404, headers, b"no"), ["content-type", "link", "X-Absent"], "no")
    assert output == {"status": 404, "headers": {"content-type": "text/plain", "link": "a, b"}, "body": "no"}
