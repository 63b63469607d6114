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
    assert [left.what for left in found.left_out] == [
        "a multipart body, of which the files are not in a HAR file"
    ]


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
    assert (left.what, left.line > found.drafts[0].line > 1) == ("an entry that cannot be read", True)
