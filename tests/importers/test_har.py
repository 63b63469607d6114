"""A HAR file as requests: the selected ones, the requests before them, and their secrets."""

import base64
import json
from typing import Any

import pytest
import yaml

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


def inputs(found: ImportedFile) -> list[dict[str, Json]]:
    return [draft.current["input"] for draft in found.drafts]


LOGIN = entry(
    "POST /login",
    posted={"username": "ada", "password": "correct-horse"},
    answered={"auth": {"token": TOKEN}},
    received={"Set-Cookie": f"sid={SID}; Path=/; HttpOnly"},
)
CREDENTIALS = {"username": "ada", "password": "{{PASSWORD}}"}
LOGIN_STEP = {"method": "POST", "endpoint": "/login", "json": CREDENTIALS}


def test_read_takes_answers_of_an_api_and_each_request_once() -> None:
    found = read(
        entry("GET /", mime="text/html"),
        entry("GET /app.js", mime="application/javascript"),
        entry("GET /users"),
        entry("GET /users"),
        entry("GET /feed", mime="application/atom+xml"),
        entry("GET wss://shop.test/live", mime=""),
        entry("POST /users", posted={"name": "ada"}),
    )
    assert [request["endpoint"] for request in inputs(found)] == ["/users", "/feed"]
    assert (found.unsafe, found.unselected, found.left_out) == (1, 4, ())
    found = read(entry("GET /users"), {"request": 7})
    (draft,), (left,) = found.drafts, found.left_out
    assert (left.message, left.line > draft.line > 1) == ("an entry that cannot be read", True)
    html = read(entry("GET /", mime="text/html"), entry("GET /users"), types=["html"])
    assert [request["endpoint"] for request in inputs(html)] == ["/"]


def test_read_of_several_hosts_takes_the_chosen_one() -> None:
    entries = (entry("GET /a"), entry("GET https://other.test/b"), entry("GET /c"))
    with pytest.raises(InvalidInput) as refused:
        read(*entries)
    assert "shop.test (2), other.test (1): choose with --host, such as --host shop.test" in str(refused.value)
    assert [request["endpoint"] for request in inputs(read(*entries, hosts=["other.test"]))] == ["/b"]
    ours = read(*entries, base_url=SHOP)
    assert [draft.current for draft in ours.drafts] == [
        {"input": {"method": "GET", "endpoint": path}, "execution": {"type": "http"}} for path in ("/a", "/c")
    ]


@pytest.mark.parametrize("encoding", ["", "base64"])
def test_read_repeats_the_request_whose_answer_gave_a_token(encoding: str) -> None:
    login = json.loads(json.dumps(LOGIN))
    content = login["response"]["content"]
    if encoding:
        content |= {"text": base64.b64encode(content["text"].encode()).decode(), "encoding": encoding}
    found = read(login, entry("GET /me", sent={"Authorization": f"Bearer {TOKEN}"}))
    last = {"method": "GET", "endpoint": "/me", "headers": {"Authorization": "Bearer {{token}}"}}
    assert inputs(found) == [{"steps": [{**LOGIN_STEP, "save": {"token": "body.auth.token"}}, last]}]
    assert found.secrets == {"PASSWORD": ("correct-horse", ("shop.test",))}
    assert [draft.id for draft in found.drafts] == ["get-me"]


def test_read_repeats_the_requests_behind_a_cookie_and_those_before_them() -> None:
    found = read(LOGIN, entry("GET /cart", cookies={"sid": SID, "theme": "dark"}))
    last = {"method": "GET", "endpoint": "/cart", "cookies": {"theme": "dark"}}
    assert inputs(found) == [{"steps": [LOGIN_STEP, last]}]
    second = entry("POST /token", cookies={"sid": SID}, posted={}, answered={"access_token": TOKEN[::-1]})
    (flow,) = inputs(read(LOGIN, second, entry("GET /me", sent={"X-Auth-Token": TOKEN[::-1]})))
    assert [step["endpoint"] for step in flow["steps"]] == ["/login", "/token", "/me"]
    assert flow["steps"][1]["save"] == {"access_token": "body.access_token"}
    assert flow["steps"][2]["headers"] == {"X-Auth-Token": "{{access_token}}"}


def test_read_puts_variables_in_place_of_other_credentials() -> None:
    sent = {"Authorization": f"Bearer {TOKEN}", "X-Api-Key": "k-998877665544aabb"}
    entries = (
        entry("GET /me?api_key=q7ZxP0vT4mKs", sent=sent, cookies={"sid": SID}),
        entry("GET /b", sent=sent),
    )
    found = read(*entries)
    first, second = inputs(found)
    text = json.dumps([first, second])
    assert all(secret not in text for secret in (TOKEN, "k-998877665544aabb", "q7ZxP0vT4mKs", SID))
    assert second["headers"] == first["headers"]
    assert first["cookies"] == {"sid": "{{SID}}"}
    assert len(found.secrets) == 4
    assert {hosts for _, hosts in found.secrets.values()} == {("shop.test",)}


def test_read_leaves_out_a_login_in_an_address_which_was_sent_as_a_header() -> None:
    basic = {"Authorization": "Basic a2V5MTIzNDU6"}
    (draft,) = read(entry("GET http://key12345@shop.test/me?next=http://x@y.test/", sent=basic)).drafts
    asked = draft.current["input"]
    assert (draft.current["execution"]["base_url"], asked["endpoint"]) == (SHOP, "/me?next=http://x@y.test/")
    assert asked["headers"] == {"Authorization": "Basic {{API_TOKEN}}"}


FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
OF_PARTS = "a body of multipart/form-data"
NOT_SAVED = "its body is not in the HAR file"
BODIES: list[tuple[Json, dict[str, str], Json]] = [
    ({"mimeType": "application/json", "text": '{"q": "{{x}}"}'}, {}, {"json": {"q": "\\{{x}}"}}),
    ({"mimeType": FORM, "text": "a=1&b=x%20y"}, {}, {"form": {"a": "1", "b": "x y"}}),
    ({"mimeType": FORM, "params": [{"name": "a", "value": "1"}]}, {}, {"form": {"a": "1"}}),
    (None, {"Content-Type": f"{MULTIPART}; boundary=x"}, OF_PARTS),
    (None, {"Content-Type": FORM, "Content-Length": "3"}, NOT_SAVED),
    (None, {"Content-Length": "0"}, {}),
]


@pytest.mark.parametrize(("posted", "sent", "expected"), BODIES)
def test_read_of_a_body_states_it_or_lists_it(posted: Json, sent: dict[str, str], expected: Json) -> None:
    made = entry("POST /parts", sent=sent)
    made["request"] |= {"postData": posted} if posted else {}
    found = read(made, unsafe=True)
    if isinstance(expected, str):
        assert ([left.message for left in found.left_out], found.drafts) == ([f"POST /parts: {expected}"], ())
    else:
        assert inputs(found) == [{"method": "POST", "endpoint": "/parts", **expected}]
    assert (read(made).unsafe, read(made).left_out) == (1, ()), "a request that is not selected is not listed"


def test_read_lists_a_request_behind_one_that_cannot_be_sent() -> None:
    login = json.loads(json.dumps(LOGIN))
    login["request"]["postData"] = {"mimeType": MULTIPART, "params": [{"name": "f", "fileName": "a.txt"}]}
    found = read(login, entry("GET /me", cookies={"sid": SID}), entry("GET /free"))
    assert [left.message for left in found.left_out] == [f"POST /login: {OF_PARTS}"]
    assert [request["endpoint"] for request in inputs(found)] == ["/free"]


BROWSER_FILE = """
log:
  version: "1.2"
  pages: [{id: page_1, title: "https://shop.test/", pageTimings: {onLoad: 93.1}}]
  entries:
  - _initiator: {type: script, stack: {callFrames: []}}
    request:
      {method: GET, url: "https://shop.test/api/me", httpVersion: h2, bodySize: 0, cookies: [],
       headers: [{name: ":authority", value: shop.test}, {name: priority, value: "u=1, i"},
                 {name: accept, value: "*/*"}, {name: User-Agent, value: Mozilla}, {name: Referer, value: x},
                 {name: Sec-Fetch-Mode, value: cors}, {name: X-T, value: t}]}
    response: {status: 200, content: {mimeType: application/json, text: "{}"}}
  - request: {method: GET, url: "https://shop.test/api/none", headers: []}
    response: {status: 0, _error: "net::ERR_ABORTED", cookies: [], content: {mimeType: x-unknown}}
  - request: {method: GET, url: "https://shop.test/api/rows", headers: []}
    response: {status: 200, content: {size: 3, mimeType: application/json, comment: left out}}
"""


def test_read_of_a_file_of_chromium_takes_the_answers_of_the_api() -> None:
    """HTTP/2, cookies left out, and a request that was aborted."""
    source = SourceText("x.har", json.dumps(yaml.safe_load(BROWSER_FILE)))
    assert har.recognises(source)
    found = har.read(source, ImportChoices(hosts=["shop.test"]))
    assert inputs(found) == [
        {"method": "GET", "endpoint": "/api/me", "headers": {"X-T": "t"}},
        {"method": "GET", "endpoint": "/api/rows"},
    ]
    assert [draft.status for draft in found.drafts] == [200, 200]
    assert (found.unsafe, found.unselected, found.left_out) == (0, 1, ())
