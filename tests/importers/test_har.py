"""A HAR file as requests: which of them are meant, what lets them in, and what becomes of their secrets."""

import base64
import json
from typing import Any

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.importers import har
from baselinekit.importers.drafts import ImportChoices, ImportedFile, SourceText
from baselinekit.model.values import Json

SHOP = "http://shop.test"
TOKEN, SID = "tok_8f7a6b5c4d3e2f1a0b9c8d7e", "0123456789abcdef"


def entry(
    target: str,
    *,
    sent: dict[str, str] | None = None,
    cookies: dict[str, str] | None = None,
    posted: Json = None,
    answered: Json = None,
    received: dict[str, str] | None = None,
    mime: str = "application/json; charset=utf-8",
) -> dict[str, Any]:
    method, url = target.split(" ")
    request: dict[str, Any] = {
        "method": method,
        "url": url if "://" in url else SHOP + url,
        "headers": [{"name": name, "value": value} for name, value in (sent or {}).items()],
        "cookies": [{"name": name, "value": value} for name, value in (cookies or {}).items()],
    }
    if posted is not None:
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(posted)}
    content = {"mimeType": mime, "text": "" if answered is None else json.dumps(answered)}
    headers = [{"name": name, "value": value} for name, value in (received or {}).items()]
    return {"request": request, "response": {"status": 200, "headers": headers, "content": content}}


def read(*entries: dict[str, Any], **choices: Any) -> ImportedFile:
    source = SourceText("x.har", json.dumps({"log": {"version": "1.2", "entries": [*entries]}}, indent=1))
    assert har.recognises(source)
    return har.read(source, ImportChoices(**choices))


def asked(found: ImportedFile) -> list[dict[str, Json]]:
    return [draft.current["input"] for draft in found.drafts]


LOGIN = entry(
    "POST /login",
    posted={"username": "ada", "password": "correct-horse"},
    answered={"auth": {"token": TOKEN}},
    received={"Set-Cookie": f"sid={SID}; Path=/; HttpOnly"},
)
LOGIN_STEP = {
    "method": "POST",
    "endpoint": "/login",
    "json": {"username": "ada", "password": "{{PASSWORD}}"},
}


def test_only_answers_of_an_api_are_meant_and_each_request_once() -> None:
    found = read(
        entry("GET /", mime="text/html"),
        entry("GET /app.js", mime="application/javascript"),
        entry("GET /users"),
        entry("GET /users"),
        entry("GET /feed", mime="application/atom+xml"),
        entry("GET wss://shop.test/live", mime=""),
        entry("POST /users", posted={"name": "ada"}),
    )
    assert [request["endpoint"] for request in asked(found)] == ["/users", "/feed"]
    assert (found.unsafe, found.unselected, found.left_out) == (1, 4, ())
    html = read(entry("GET /", mime="text/html"), entry("GET /users"), types=["html"])
    assert [request["endpoint"] for request in asked(html)] == ["/"]


def test_what_the_browser_adds_is_left_out() -> None:
    browser = {
        ":authority": "shop.test",
        "Host": "shop.test",
        "User-Agent": "Mozilla",
        "Sec-Fetch-Mode": "cors",
        "Accept-Encoding": "gzip, br",
        "If-None-Match": '"abc"',
        "Referer": SHOP,
        "Origin": SHOP,
    }
    found = read(entry("GET /users", sent={**browser, "Accept": "application/json", "X-Tenant": "t1"}))
    assert asked(found) == [
        {
            "method": "GET",
            "endpoint": "/users",
            "headers": {"Accept": "application/json", "X-Tenant": "t1"},
        }
    ]


def test_of_several_hosts_one_is_chosen() -> None:
    entries = (entry("GET /a"), entry("GET https://other.test/b"), entry("GET /c"))
    with pytest.raises(InvalidInput) as refused:
        read(*entries)
    assert "shop.test (2), other.test (1): choose with --host, such as --host shop.test" in str(refused.value)
    assert [one["endpoint"] for one in asked(read(*entries, hosts=["other.test"]))] == ["/b"]
    ours = read(*entries, base_url=SHOP)
    assert [draft.current for draft in ours.drafts] == [
        {"input": {"method": "GET", "endpoint": path}, "execution": {"type": "http"}} for path in ("/a", "/c")
    ]


def test_a_token_that_an_answer_gave_is_taken_from_that_answer() -> None:
    found = read(LOGIN, entry("GET /me", sent={"Authorization": f"Bearer {TOKEN}"}))
    assert asked(found) == [
        {
            "steps": [
                {**LOGIN_STEP, "save": {"token": "body.auth.token"}},
                {"method": "GET", "endpoint": "/me", "headers": {"Authorization": "Bearer {{token}}"}},
            ]
        }
    ]
    assert found.secrets == {"PASSWORD": ("correct-horse", ("shop.test",))}
    assert [draft.id for draft in found.drafts] == ["get-me"]


def test_a_cookie_that_an_answer_set_comes_of_asking_it_again() -> None:
    found = read(LOGIN, entry("GET /cart", cookies={"sid": SID, "theme": "dark"}))
    last = {"method": "GET", "endpoint": "/cart", "cookies": {"theme": "dark"}}
    assert asked(found) == [{"steps": [LOGIN_STEP, last]}]


def test_what_let_a_step_in_comes_before_it() -> None:
    second = entry("POST /token", cookies={"sid": SID}, posted={}, answered={"access_token": TOKEN[::-1]})
    found = read(LOGIN, second, entry("GET /me", sent={"X-Auth-Token": TOKEN[::-1]}))
    (flow,) = asked(found)
    assert [step["endpoint"] for step in flow["steps"]] == ["/login", "/token", "/me"]
    assert flow["steps"][1]["save"] == {"access_token": "body.access_token"}
    assert flow["steps"][2]["headers"] == {"X-Auth-Token": "{{access_token}}"}


def test_every_other_credential_is_a_variable() -> None:
    sent = {"Authorization": f"Bearer {TOKEN}", "X-Api-Key": "k-998877665544aabb"}
    found = read(
        entry("GET /me?api_key=q7ZxP0vT4mKs", sent=sent, cookies={"sid": SID}), entry("GET /me2", sent=sent)
    )
    first, second = asked(found)
    text = json.dumps([first, second])
    assert all(secret not in text for secret in (TOKEN, "k-998877665544aabb", "q7ZxP0vT4mKs", SID))
    assert second["headers"] == first["headers"]
    assert first["cookies"] == {"sid": "{{SID}}"}
    assert {value for value, _ in found.secrets.values()} == {
        TOKEN,
        "k-998877665544aabb",
        "q7ZxP0vT4mKs",
        SID,
    }
    assert {hosts for _, hosts in found.secrets.values()} == {("shop.test",)}


def test_bodies() -> None:
    form = entry("POST /form")
    form["request"]["postData"] = {"mimeType": "application/x-www-form-urlencoded", "text": "a=1&b=x%20y"}
    fields = entry("POST /fields")
    fields["request"]["postData"] = {
        "mimeType": "application/x-www-form-urlencoded",
        "params": [{"name": "a", "value": "1"}],
    }
    parts = entry("POST /parts")
    parts["request"]["postData"] = {"mimeType": "multipart/form-data; boundary=x", "text": "--x--"}
    found = read(form, fields, parts, entry("POST /json", posted={"q": "{{x}}"}), unsafe=True)
    assert asked(found) == [
        {"method": "POST", "endpoint": "/form", "form": {"a": "1", "b": "x y"}},
        {"method": "POST", "endpoint": "/fields", "form": {"a": "1"}},
        {"method": "POST", "endpoint": "/json", "json": {"q": "\\{{x}}"}},
    ]
    assert [left.message for left in found.left_out] == ["POST /parts: its body is not in the HAR file"]


def test_an_answer_in_base64_gives_its_token_too() -> None:
    login = json.loads(json.dumps(LOGIN))
    content = login["response"]["content"]
    content |= {"text": base64.b64encode(content["text"].encode()).decode(), "encoding": "base64"}
    (flow,) = asked(read(login, entry("GET /me", sent={"Authorization": f"Bearer {TOKEN}"})))
    assert flow["steps"][0]["save"] == {"token": "body.auth.token"}


def test_an_entry_that_is_none_is_told_with_its_line() -> None:
    found = read(entry("GET /users"), {"request": 7})
    assert len(found.drafts) == 1
    (left,) = found.left_out
    assert (left.message, left.line > found.drafts[0].line > 1) == ("an entry that cannot be read", True)


PARTS = (
    '--x\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n\r\nthere\r\n'
    '--x\r\nContent-Disposition: form-data; name="n"\r\nContent-Type: text/plain\r\n\r\n{{one}}\r\n'
    '--x\r\nContent-Disposition: form-data; name="n"\r\n\r\n\r\n--x--\r\n'
)
A_FILE = 'Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain'


@pytest.mark.parametrize(
    ("posted", "expected"),
    [
        (
            {"mimeType": "multipart/form-data; boundary=x", "text": PARTS},
            {"form": {"note": "hello\r\n\r\nthere", "n": ["\\{{one}}", ""]}, "files": {}},
        ),
        (
            {"mimeType": 'multipart/form-data; boundary="x"', "text": PARTS.replace("\r\n", "\n")},
            {"form": {"note": "hello\n\nthere", "n": ["\\{{one}}", ""]}, "files": {}},
        ),
        (
            {"mimeType": "multipart/form-data", "params": [{"name": "a", "value": "1"}]},
            {"form": {"a": "1"}, "files": {}},
        ),
        (
            {"mimeType": "multipart/form-data; boundary=x", "text": f"--x\r\n{A_FILE}\r\n\r\nabc\r\n--x--"},
            "it sends the file a.txt, which is not in the HAR file",
        ),
        (
            {"mimeType": "multipart/form-data", "params": [{"name": "f", "fileName": "a.txt"}]},
            "it sends the file a.txt, which is not in the HAR file",
        ),
        ({"mimeType": "multipart/form-data; boundary=x", "text": ""}, "its body is not in the HAR file"),
        ({"mimeType": "multipart/mixed; boundary=x", "text": PARTS}, "a body of multipart/mixed"),
        (None, "its body is not in the HAR file"),
    ],
)
def test_a_multipart_form(posted: Json, expected: Json) -> None:
    one = entry("POST /parts", sent={"Content-Type": "multipart/form-data; boundary=x"})
    one["request"] |= {"postData": posted} if posted else {}
    found = read(one, unsafe=True)
    if isinstance(expected, str):
        assert ([left.message for left in found.left_out], found.drafts) == ([f"POST /parts: {expected}"], ())
    else:
        assert asked(found) == [{"method": "POST", "endpoint": "/parts", **expected}]
    assert (read(one).unsafe, read(one).left_out) == (1, ()), "what was not asked for is not missed"


def test_a_body_that_was_not_saved_is_missed_and_none_is_not() -> None:
    """Browsers leave out a long one, or one that a worker sent."""
    sent = {"Content-Type": "application/json"}
    lost = entry("PUT /a", sent={**sent, "Content-Length": "17"})
    none = entry("PUT /b", sent={**sent, "Content-Length": "0"})
    found = read(lost, none, entry("GET /c", sent=sent), unsafe=True)
    assert [left.message for left in found.left_out] == ["PUT /a: its body is not in the HAR file"]
    assert [request["endpoint"] for request in asked(found)] == ["/b", "/c"]


def test_what_needs_an_answer_that_cannot_be_asked_for_is_told() -> None:
    login = json.loads(json.dumps(LOGIN))
    login["request"]["postData"] = {
        "mimeType": "multipart/form-data",
        "params": [{"name": "f", "fileName": "k"}],
    }
    found = read(login, entry("GET /me", cookies={"sid": SID}), entry("GET /free"))
    assert [left.message for left in found.left_out] == [
        "POST /login: it sends the file k, which is not in the HAR file"
    ]
    assert [request["endpoint"] for request in asked(found)] == ["/free"]


def browser_file() -> dict[str, Any]:
    """As Chromium's developer tools write one (HTTP/2, cookies left out, an icon from the cache), with what
    Firefox adds."""
    pseudo = {":method": "GET", ":authority": "shop.test", ":scheme": "https", ":path": "/api/me"}
    me = entry("GET https://shop.test/api/me", sent={**pseudo, "priority": "u=1, i", "accept": "*/*"})
    me["request"] |= {"httpVersion": "h2", "headersSize": -1, "bodySize": 0, "queryString": []}
    me |= {
        "_initiator": {"type": "script", "stack": {"callFrames": []}},
        "_priority": "High",
        "_resourceType": "fetch",
        "_connectionId": "42",
        "pageref": "page_1",
        "cache": {},
        "timings": {"blocked": 0.9, "_queued": 0.4},
        "serverIPAddress": "127.0.0.1",
        "_securityState": "secure",
    }
    icon = entry("GET https://shop.test/icon.png", mime="image/png")
    icon["response"]["content"] |= {"encoding": "base64", "text": "iVBORw0KGgo="}
    icon |= {"_fromCache": "memory", "cache": {"beforeRequest": None}}
    lost = entry("GET https://shop.test/api/none", mime="x-unknown")
    lost["response"] |= {"status": 0, "_error": "net::ERR_ABORTED", "cookies": []}
    beacon = entry("POST https://metrics.test/e", sent={"Content-Type": "text/plain", "Content-Length": "9"})
    sent = entry("GET https://shop.test/api/rows")
    sent["response"]["content"] = {"size": 3, "mimeType": "application/json", "comment": "left out"}
    sent["request"].pop("cookies")
    pages = [{"id": "page_1", "title": "https://shop.test/", "pageTimings": {"onLoad": 93.1}}]
    creator = {"name": "WebInspector", "version": "537.36"}
    entries = [me, icon, lost, beacon, sent]
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_a_browser(indent: int | None) -> None:
    source = SourceText("x.har", json.dumps(browser_file(), indent=indent))
    assert har.recognises(source)
    found = har.read(source, ImportChoices(hosts=["shop.test"]))
    assert asked(found) == [
        {"method": "GET", "endpoint": "/api/me"},
        {"method": "GET", "endpoint": "/api/rows"},
    ]
    assert [draft.status for draft in found.drafts] == [200, 200]
    assert (found.unsafe, found.unselected, found.left_out) == (0, 3, ())
