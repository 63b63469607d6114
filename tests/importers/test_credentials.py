"""The parts of a request that are credentials: a table of requests with known answers."""

from typing import Any

import pytest

from baselinekit.importers.credentials import HiddenValues, assign_variables, credentials_in, with_one_cookie
from baselinekit.model.values import Json

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def in_request(**request: Json) -> list[tuple[str, str]]:
    current: dict[str, Json] = {"input": {"method": "GET", "endpoint": "/x", **request}}
    return [(found.name, found.value) for found in credentials_in(current)]


CARRYING: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"headers": {"Authorization": "Bearer abc123"}}, [("API_TOKEN", "abc123")]),
    ({"headers": {"Cookie": "a=1; b=2"}}, [("COOKIE", "a=1; b=2")]),
    ({"auth": {"type": "basic", "username": "ada", "password": "pw"}}, [("API_PASSWORD", "pw")]),
    ({"auth": {"type": "basic", "username": "sk_live_1", "password": ""}}, [("API_KEY", "sk_live_1")]),
    ({"auth": {"type": "bearer", "token": "t1"}}, [("API_TOKEN", "t1")]),
    ({"cookies": {"theme": "dark-blue", "sid": "abc123"}}, [("SID", "abc123")]),
    ({"json": {"username": "ada", "password": "correct-horse"}}, [("PASSWORD", "correct-horse")]),
    ({"body": "user=ada&password=hunter2hunter2"}, [("SECRET", "hunter2hunter2")]),
    ({"json": {"note": JWT}}, [("NOTE", JWT)]),
    ({"json": {"keys": [{"apiKey": "q7ZxP0vT4mKs"}]}}, [("API_KEY", "q7ZxP0vT4mKs")]),
    ({"headers": {"X-Api-Key": "k1", "X-API-KEY": "k2"}}, [("X_API_KEY", "k1"), ("X_API_KEY_2", "k2")]),
    ({"headers": {"X-Api-Key": "k-123"}, "json": {"password": "k-123"}}, [("X_API_KEY", "k-123")]),
]
SENT_AS_DOCUMENTED: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    # by the public documentation of Okta, Supabase, OpenWeather, Cloudflare and Square
    ({"headers": {"Authorization": "SSWS 00QCjAl4"}}, [("API_TOKEN", "00QCjAl4")]),
    ({"headers": {"apikey": "eyJh"}}, [("APIKEY", "eyJh")]),
    ({"endpoint": "/weather?q=London&appid=b69%2F07"}, [("APPID", "b69%2F07")]),
    ({"headers": {"X-Auth-Email": "a@b.c", "X-Auth-Key": "c2547eb7"}}, [("X_AUTH_KEY", "c2547eb7")]),
    ({"json": {"client_id": "sq0idp", "client_secret": "sq0csp-1"}}, [("CLIENT_SECRET", "sq0csp-1")]),
    # what people type: short ones, in every place of a body
    ({"json": {"pwd": "pw1", "sessionId": "s1"}}, [("API_PWD", "pw1"), ("SESSION_ID", "s1")]),
    ({"params": {"otp": "123456"}}, [("OTP", "123456")]),
    ({"body": "user=ada&password=pw1"}, [("PASSWORD", "pw1")]),
    ({"body": '{"user": "ada", "password": "pw1"}'}, [("PASSWORD", "pw1")]),
    ({"body": "<login><ns:password>pw1</ns:password></login>"}, [("PASSWORD", "pw1")]),
    ({"endpoint": "/x?session=s1&pwd=p1"}, [("SESSION", "s1"), ("API_PWD", "p1")]),
]
CARRYING_NONE: list[dict[str, Any]] = [
    {"headers": {"Authorization": "Bearer {{token}}", "Accept": "*/*"}},
    {"headers": {"X-Request-Id": "550e8400-e29b-41d4-a716-446655440000", "If-None-Match": '"abc123def"'}},
    {"headers": {"Idempotency-Key": "order-17", "X-Amz-Target": "DynamoDB_20120810.ListTables"}},
    {"auth": {"type": "basic", "username": "ada", "password": "{{password}}"}},
    {"cookies": {"theme": "dark-blue", "lang": "en-GB", "consent": "accepted", "seen": "1"}},
    {"endpoint": "/orders?page_token=abc123&next_token=x1&q=secret", "params": {"key": "name"}},
    {"json": {"username": "ada", "password": "{{password}}", "token": ""}},
    {"json": {"auth": "basic", "session": True, "pass": "false", "bypass": "x", "author": "Ada"}},
    {"endpoint": "/x?auth=none&sessions=3&token=&key=name&sort=-sid"},
    {"body": "user=ada&q=password"},
    {"body": "<p>password</p><otp>required</otp>"},
    {"json": {"query": "query users($first: Int) { users(first: $first) { id name } }"}},
]


@pytest.mark.parametrize(("request_", "expected"), [*CARRYING, *SENT_AS_DOCUMENTED])
def test_credentials_in_a_request_are_hidden(
    request_: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    """Afterwards each is a variable, and no other is found."""
    assert in_request(**request_) == expected
    values = HiddenValues()
    hidden = values.hidden({"method": "GET", "url": "https://api.example.com/x", **request_})
    assert credentials_in({"input": hidden}) == []
    assert {value for value, _ in values.found.values()} == {value for _, value in in_request(**request_)}


def test_credentials_in_requests_without_any_finds_none() -> None:
    assert [request for request in CARRYING_NONE if in_request(**request)] == []


def test_hidden_short_credential_does_not_change_longer_texts() -> None:
    url, body = "https://h/roots/root?pwd=root", {"password": "root", "dir": "/root"}
    request: dict[str, Json] = {"url": url, "json": body}
    assert HiddenValues().hidden(request) == {
        "url": "https://h/roots/root?pwd={{API_PWD}}",
        "json": {"password": "{{API_PWD}}", "dir": "/root"},
    }


def test_with_one_cookie_joins_several_secret_cookies() -> None:
    request: dict[str, Json] = {"method": "GET", "cookies": {"sid": "abc123", "csrf": "def456", "a": "1"}}
    joined = {"Cookie": "sid=abc123; csrf=def456; a=1"}
    assert with_one_cookie(request) == {"method": "GET", "headers": joined}
    alone: dict[str, Json] = {"method": "GET", "cookies": {"sid": "abc123", "theme": "dark"}}
    assert with_one_cookie(alone) == alone


CURRENT: dict[str, Json] = {
    "input": {"headers": {"Authorization": "Bearer abc123", "X-Api-Key": "k-1234"}, "endpoint": "/"}
}


@pytest.mark.parametrize(
    ("names", "environ", "values", "left"),
    [
        ([], {}, {}, ["API_TOKEN", "X_API_KEY"]),
        (["API_TOKEN"], {}, {"API_TOKEN": "abc123"}, ["X_API_KEY"]),
        (["X_API_KEY", "B"], {}, {"X_API_KEY": "k-1234", "B": "abc123"}, []),
        (["T", "K"], {"T": "abc123", "K": "k-1234"}, {"T": "abc123", "K": "k-1234"}, []),
        (["API_TOKEN"], {"API_TOKEN": "other"}, {"API_TOKEN": "other"}, ["API_TOKEN", "X_API_KEY"]),
    ],
)
def test_assign_variables_by_name_or_order(
    names: list[str], environ: dict[str, str], values: dict[str, str], left: list[str]
) -> None:
    found, others = assign_variables(credentials_in(CURRENT), names, environ)
    assert found == values
    assert [credential.name for credential in others] == left
