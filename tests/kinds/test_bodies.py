"""What the body of an answer is: its form, its text, its value."""

import json
from hashlib import sha256
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import CannotReplay
from baselinekit.kinds.bodies import FORMS, Body, BodyWatch, form_of, read_body
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import HttpRequest, Parse, Recipe


@pytest.mark.parametrize(
    ("media", "name"),
    [
        ("application/json", "json"),
        ("APPLICATION/JSON", "json"),
        ("text/json", "json"),
        ("application/x-amz-json-1.0", "json"),
        ("application/json-rpc", "json"),
        ("application/vnd.api+json", "json"),
        ("application/vnd.docker.distribution.manifest.v2+json", "json"),
        ("application/x-ndjson", "ndjson"),
        ("application/jsonl", "ndjson"),
        ("application/json-lines", "ndjson"),
        ("application/json-seq", "ndjson"),
        ("application/geo+json-seq", "ndjson"),
        ("application/stream+json", "ndjson"),
        ("text/event-stream;charset=UTF-8", "sse"),
        ("text/plain", "text"),
        ("application/xml", "text"),
        ("application/openmetrics-text; version=1.0.0", "text"),
        ("", "text"),
        ("application/octet-stream", "bytes"),
        ("application/jsonp-archive", "bytes"),
        ("image/png", "bytes"),
    ],
)
def test_form_of_media_type(media: str, name: str) -> None:
    assert form_of(media).name == name


def test_forms_are_the_values_of_parse() -> None:
    assert set(FORMS) == set(get_args(Parse))
    for name in FORMS:
        assert form_of("image/png", name).name == name


SSE = "text/event-stream"
NDJSON = "application/x-ndjson"


@pytest.mark.parametrize(
    ("media", "body", "value"),
    [
        (NDJSON, b'{"a":1}\n\n{"a":2}\r\n', [{"a": 1}, {"a": 2}]),
        (NDJSON, b'{"a":1}', [{"a": 1}]),
        (NDJSON, b"", []),
        (NDJSON, b"1\nnull\n", [1, None]),
        ("application/json-seq", b'\x1e{"a":\n1}\n\x1e[2]\n', [{"a": 1}, [2]]),
        ("application/json", b'{\n"id":\n0\n}\n', {"id": 0}),
        (SSE, b"data: hello\n\n", [{"data": "hello"}]),
        (SSE, b"data:hello", [{"data": "hello"}]),
        (SSE, b'event: add\ndata: {\ndata: "a": 1}\n\n', [{"event": "add", "data": {"a": 1}}]),
        (SSE, b": ping\r\n\r\nretry: 10\r\ndata\r\n\r\n", [{"retry": "10", "data": ""}]),
        (SSE, b"data: a\rdata:  b\r\rdata: [DONE]\n\n", [{"data": "a\n b"}, {"data": "[DONE]"}]),
        (SSE, b"data: 12\n\ndata: null\n\ndata: [1]\n\n", [{"data": "12"}, {"data": "null"}, {"data": [1]}]),
        (SSE, b'data: {"a": 1, "a": 2}\n\n', [{"data": '{"a": 1, "a": 2}'}]),
        (SSE, b"event: done\nother: x\n\nother: x\n\n", [{"event": "done"}]),
        (SSE, "\ufeffdata: é\n\n".encode(), [{"data": "é"}]),
        (SSE, b": nothing\n\n", []),
    ],
)
def test_read_body_rows_of_ndjson_and_sse(media: str, body: bytes, value: Any) -> None:
    assert read_body(body, media).value == value


@pytest.mark.parametrize(
    ("media", "text", "encoding"),
    [
        ("text/plain; charset=windows-1252", "€ 5", "cp1252"),
        ("text/plain; charset=Shift_JIS", "日本", "shift_jis"),
        ("text/html; charset=gb2312", "中文", "gb2312"),
        ("text/plain; charset=UTF-16BE", "é", "utf-16-be"),
        ("text/plain; charset=iso-8859-1", "é", "utf-16"),
        ("text/plain", "é", "utf-8-sig"),
        ('text/plain; charset="utf_8"', "é", "utf-8"),
    ],
)
def test_read_body_decodes_charset_of_mark_or_header(media: str, text: str, encoding: str) -> None:
    assert read_body(text.encode(encoding), media) == Body(text)
    as_json = media.replace("text/plain", "text/json").replace("text/html", "text/json")
    assert read_body(json.dumps([text], ensure_ascii=False).encode(encoding), as_json).value == [text]


def test_read_body_undecodable_text_is_its_hash_with_note() -> None:
    body = b"abc\xff"
    read = read_body(body, "text/plain")
    assert read.value == {"sha256": sha256(body).hexdigest(), "size": 4}
    assert "not utf-8 text at byte 3: only its hash" in read.note
    assert "charset 'zlib' is not known" in read_body(body, "text/plain; charset=zlib").note
    assert read_body(b"\x00", "image/png").note == ""


@pytest.mark.parametrize(
    ("body", "media", "options", "message"),
    [
        (b"abc\xff", "text/plain", {"parse": "text"},
         r"is `parse: text`, but it is not utf-8 text at byte 3"),
        (b"<a>", "text/html", {"parse": "json"}, r"`parse: json`, but: Expecting value"),
        (b"{}\n{]\n", NDJSON, {}, "declared as JSON, one text a line, but: row 2: "),
        (b"{}\n{]\n", "application/json", {}, "declared as JSON, but: "),
        (b"[]", "application/json", {"take": 2}, "`take` counts rows"),
        (b"[[],[],[]]\n[]", NDJSON, {"max_body": 20}, "more than 2 arrays"),
    ],
)  # fmt: skip
def test_read_body_wrong_form_is_error(
    body: bytes, media: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CannotReplay, match=message) as raised:
        read_body(body, media, 200, **options)
    assert raised.value.problems[0].hint


def test_read_body_of_failed_answer_may_have_other_form() -> None:
    assert read_body(b"<h1>Bad Gateway", "text/html", 502, "json").value == "<h1>Bad Gateway"
    assert read_body(b'{"why": 1}', "text/plain", 404, "json").value == {"why": 1}
    assert read_body(b'{"why": 1}', "application/json", 503, "sse", take=3).value == {"why": 1}
    assert read_body(b'{"why": 1}', "application/json", 503, None, take=3).value == {"why": 1}


def test_read_body_take_gives_first_rows() -> None:
    assert read_body(b"1\n2\n3\n4 half", NDJSON, take=2).value == [1, 2]
    assert read_body(b"data: a\n\ndata: b\n\n", SSE, take=1).value == [{"data": "a"}]
    assert read_body(b"1\n", NDJSON, take=5).value == [1]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("application/json", b"[" * 65 + b"]" * 65),
        ("application/json", b"[1e5000]"),
        (NDJSON, b"1\n" + b"9" * 1_001),
    ],
)
def test_read_body_json_beyond_limits_is_not_blamed_on_service(media: str, body: bytes) -> None:
    with pytest.raises(CannotReplay, match=r"BK307 .*no fault of the service"):
        read_body(body, media)


@pytest.mark.parametrize(
    ("media", "body", "value"),
    [
        ("text/plain", '{"ok": true}\n', {"ok": True}),
        ("TEXT/PLAIN; charset=utf-8", ' [1, {"a": 2}]', [1, {"a": 2}]),
        ("text/plain", "12", None),
        ("text/plain", "{name} is here", None),
        ("text/plain", '{"a": 1}\n{"a": 2}\n', None),
        ("text/plain", '{"a": 1, "a": 2}', None),
        ("text/html", '{"ok": true}', None),
    ],
)
def test_form_found_json_sent_as_plain_text(media: str, body: str, value: Any) -> None:
    recipe = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http"))
    output = {"status": 200, "headers": {"content-type": media}, "body": body}
    found = kind_of(recipe).form_found(recipe, output)
    assert (found.output["body"] if found else None) == value
    assert found is None or found.execution == {"parse": "json"}
    stated = Recipe(recipe.input, HttpExecution("http", parse="text"))
    assert kind_of(stated).form_found(stated, output) is None


_EVENTS = ["data: a\n\n", "data: b\r\n\r\n", ": ping\n\n", "id: 1\ndata: c\n\n", "data: d\r\r"]


@given(st.lists(st.sampled_from(_EVENTS)), st.data())
def test_body_watch_counts_rows_at_any_chunking(events: list[str], cuts: st.DataObject) -> None:
    body = "".join(events).encode()
    rows = len(read_body(body, SSE).value)
    watch, start, has_enough = BodyWatch("sse", rows, ""), 0, False
    while start < len(body):
        size = cuts.draw(st.integers(1, len(body) - start))
        has_enough = watch.has_enough(body[start : start + size])
        start += size
        assert not has_enough or len(read_body(body[:start], SSE).value) == rows
    assert has_enough or not body
