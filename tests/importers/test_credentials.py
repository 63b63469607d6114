"""Which parts of a typed request are credentials: known answers, and how many are judged wrongly."""

from typing import Any

import pytest

from baselinekit.importers.credentials import HiddenValues, assign_variables, credentials_in, with_one_cookie
from baselinekit.model.values import Json

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def in_request(**request: Json) -> list[tuple[str, str]]:
    current: dict[str, Json] = {"input": {"method": "GET", "endpoint": "/x", **request}}
    return [(one.name, one.value) for one in credentials_in(current)]


CARRYING: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"headers": {"Authorization": "Bearer abc123"}}, [("API_TOKEN", "abc123")]),
    ({"headers": {"authorization": "abc123"}}, [("AUTHORIZATION", "abc123")]),
    ({"headers": {"Authorization": "Token token=abc"}}, [("API_TOKEN", "token=abc")]),
    ({"headers": {"Proxy-Authorization": "Basic dTpw"}}, [("API_TOKEN", "dTpw")]),
    ({"headers": {"X-Api-Key": "k1"}}, [("X_API_KEY", "k1")]),
    ({"headers": {"X-Auth-Token": "a b"}}, [("X_AUTH_TOKEN", "a b")]),
    ({"headers": {"Ocp-Apim-Subscription-Key": "k1"}}, [("OCP_APIM_SUBSCRIPTION_KEY", "k1")]),
    ({"headers": {"Cookie": "a=1; b=2"}}, [("COOKIE", "a=1; b=2")]),
    ({"auth": {"type": "basic", "username": "ada", "password": "pw"}}, [("API_PASSWORD", "pw")]),
    ({"auth": {"type": "basic", "username": "sk_live_1", "password": ""}}, [("API_KEY", "sk_live_1")]),
    ({"auth": {"type": "bearer", "token": "t1"}}, [("API_TOKEN", "t1")]),
    ({"cookies": {"sid": "abc123"}}, [("SID", "abc123")]),
    ({"cookies": {"token": "abc"}}, [("TOKEN", "abc")]),
    ({"cookies": {"theme": "dark-blue", "sid": "abc123"}}, [("SID", "abc123")]),
    ({"endpoint": "/x?api_key=abc"}, [("API_KEY", "abc")]),
    ({"endpoint": "/x?page=2&access_token=abc%2F1"}, [("ACCESS_TOKEN", "abc%2F1")]),
    ({"json": {"username": "ada", "password": "correct-horse"}}, [("PASSWORD", "correct-horse")]),
    ({"form": {"client_secret": "abcdefgh"}}, [("CLIENT_SECRET", "abcdefgh")]),
    ({"body": "user=ada&password=hunter2hunter2"}, [("SECRET", "hunter2hunter2")]),
    ({"json": {"note": JWT}}, [("NOTE", JWT)]),
    ({"json": {"keys": [{"apiKey": "q7ZxP0vT4mKs"}]}}, [("API_KEY", "q7ZxP0vT4mKs")]),
    (
        {"headers": {"X-Api-Key": "k-123", "X-API-KEY": "k-456"}},
        [("X_API_KEY", "k-123"), ("X_API_KEY_2", "k-456")],
    ),
    ({"headers": {"X-Api-Key": "k-123"}, "json": {"password": "k-123"}}, [("X_API_KEY", "k-123")]),
]
SENT_AS_DOCUMENTED: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    # by the public documentation of GitLab, Shopify, Vault, Datadog, Okta, Splunk, GoDaddy, Google, Supabase,
    # Figma, OpenWeather, Cloudflare, Twilio, Stripe, Algolia, New Relic, Confluent, Slack, Discord, Square
    ({"headers": {"PRIVATE-TOKEN": "glpat-x1"}}, [("PRIVATE_TOKEN", "glpat-x1")]),
    ({"headers": {"X-Shopify-Access-Token": "shpat_1a"}}, [("X_SHOPIFY_ACCESS_TOKEN", "shpat_1a")]),
    ({"headers": {"X-Vault-Token": "hvs.CAES"}}, [("X_VAULT_TOKEN", "hvs.CAES")]),
    (
        {"headers": {"DD-API-KEY": "9775a026", "DD-APPLICATION-KEY": "87ce4a24"}},
        [("DD_API_KEY", "9775a026"), ("DD_APPLICATION_KEY", "87ce4a24")],
    ),
    ({"headers": {"Authorization": "SSWS 00QCjAl4"}}, [("API_TOKEN", "00QCjAl4")]),
    ({"headers": {"Authorization": "Splunk 12345678-1234"}}, [("API_TOKEN", "12345678-1234")]),
    ({"headers": {"Authorization": "sso-key KEY:SECRET"}}, [("API_TOKEN", "KEY:SECRET")]),
    ({"headers": {"x-goog-api-key": "AIzaSy"}}, [("X_GOOG_API_KEY", "AIzaSy")]),
    ({"headers": {"apikey": "eyJh"}}, [("APIKEY", "eyJh")]),
    ({"headers": {"X-Figma-Token": "figd_1"}}, [("X_FIGMA_TOKEN", "figd_1")]),
    ({"endpoint": "/data/2.5/weather?q=London&appid=b6907d28"}, [("APPID", "b6907d28")]),
    ({"headers": {"X-Auth-Email": "a@b.c", "X-Auth-Key": "c2547eb7"}}, [("X_AUTH_KEY", "c2547eb7")]),
    ({"auth": {"type": "basic", "username": "AC123", "password": "tok"}}, [("API_PASSWORD", "tok")]),
    ({"auth": {"type": "basic", "username": "sk_test_4e", "password": ""}}, [("API_KEY", "sk_test_4e")]),
    ({"headers": {"X-Algolia-API-Key": "90b1"}}, [("X_ALGOLIA_API_KEY", "90b1")]),
    ({"headers": {"Api-Key": "NRAK-1"}}, [("API_KEY", "NRAK-1")]),
    ({"headers": {"X-Auth": "a1"}}, [("X_AUTH", "a1")]),
    ({"form": {"token": "xoxb-1", "channel": "C1"}}, [("TOKEN", "xoxb-1")]),
    ({"headers": {"Authorization": "Bot MTk4"}}, [("API_TOKEN", "MTk4")]),
    ({"json": {"client_id": "sq0idp", "client_secret": "sq0csp-1"}}, [("CLIENT_SECRET", "sq0csp-1")]),
    # what people type: short ones, in every place of a body
    ({"json": {"user": "ada", "password": "pw1"}}, [("PASSWORD", "pw1")]),
    ({"json": {"pwd": "pw1", "sessionId": "s1"}}, [("API_PWD", "pw1"), ("SESSION_ID", "s1")]),
    ({"form": {"user": "ada", "pass": "pw1"}}, [("PASS", "pw1")]),
    ({"params": {"otp": "123456"}}, [("OTP", "123456")]),
    ({"body": "user=ada&password=pw1"}, [("PASSWORD", "pw1")]),
    ({"body": '{"user": "ada", "password": "pw1"}'}, [("PASSWORD", "pw1")]),
    ({"body": "<login><ns:password>pw1</ns:password></login>"}, [("PASSWORD", "pw1")]),
    ({"endpoint": "/x?session=s1&pwd=p1"}, [("SESSION", "s1"), ("API_PWD", "p1")]),
]
CARRYING_NONE: list[dict[str, Any]] = [
    {},
    {"headers": {"Authorization": "Bearer {{token}}", "Accept": "*/*"}},
    {"headers": {"X-Request-Id": "550e8400-e29b-41d4-a716-446655440000", "If-None-Match": '"abc123def"'}},
    {"headers": {"Idempotency-Key": "order-17", "X-Amz-Target": "DynamoDB_20120810.ListTables"}},
    {"auth": {"type": "basic", "username": "ada", "password": "{{password}}"}},
    {"cookies": {"theme": "dark-blue", "lang": "en-GB", "consent": "accepted", "seen": "1"}},
    {"endpoint": "/orders?page_token=abc123&next_token=x1&q=secret", "params": {"key": "name"}},
    {"endpoint": "/commits/9fceb02d0ae598e95dc970b74767f19372d61af8"},
    {"json": {"username": "ada", "password": "{{password}}", "token": ""}},
    {"form": {"name": "Ada Lovelace", "card": "visa", "secretary": "Grace Hopper"}},
    {
        "json": {
            "auth": "basic",
            "session": True,
            "pass": "false",
            "bypass": "x",
            "author": "Ada",
            "assid": "x",
        }
    },
    {"form": {"passenger": "Ada", "compass": "north", "side": "left", "class": "economy"}},
    {"endpoint": "/x?auth=none&sessions=3&token=&key=name&sort=-sid"},
    {"body": "user=ada&q=password"},
    {"body": "<p>password</p><otp>required</otp>"},
    {"headers": {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "X-Session-Affinity": "none"}},
    {"json": {"query": "query users($first: Int) { users(first: $first) { id name } }"}},
]


@pytest.mark.parametrize(("request_", "expected"), [*CARRYING, *SENT_AS_DOCUMENTED])
def test_what_a_request_carries(request_: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """Of 51 requests with credentials and 17 without, none is judged wrongly."""
    assert in_request(**request_) == expected


@pytest.mark.parametrize("request_", CARRYING_NONE)
def test_what_is_no_credential(request_: dict[str, Any]) -> None:
    assert in_request(**request_) == []


@pytest.mark.parametrize("request_", [request for request, _ in [*CARRYING, *SENT_AS_DOCUMENTED]])
def test_what_is_imported_holds_no_credential(request_: dict[str, Any]) -> None:
    """The one finder: what it names is a variable afterwards, wherever it stood, and it finds no more."""
    values = HiddenValues()
    hidden = values.hidden({"method": "GET", "url": "https://api.example.com/x", **request_})
    assert credentials_in({"input": hidden}) == []
    assert {value for value, _ in values.found.values()} == {value for _, value in in_request(**request_)}


def test_a_short_credential_leaves_longer_texts() -> None:
    request: dict[str, Json] = {
        "url": "https://h/roots/root?pwd=root",
        "json": {"password": "root", "dir": "/root"},
    }
    assert HiddenValues().hidden(request) == {
        "url": "https://h/roots/root?pwd={{API_PWD}}",
        "json": {"password": "{{API_PWD}}", "dir": "/root"},
    }


def test_several_secret_cookies_are_one_header() -> None:
    request: dict[str, Json] = {"method": "GET", "cookies": {"sid": "abc123", "csrf": "def456", "a": "1"}}
    assert with_one_cookie(request) == {
        "method": "GET",
        "headers": {"Cookie": "sid=abc123; csrf=def456; a=1"},
    }
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
        (["x_api_key"], {}, {"x_api_key": "k-1234"}, ["API_TOKEN"]),
        (["A", "B"], {}, {"A": "abc123", "B": "k-1234"}, []),
        (["X_API_KEY", "B"], {}, {"X_API_KEY": "k-1234", "B": "abc123"}, []),
        (["A", "B", "C"], {}, {"A": "abc123", "B": "k-1234"}, []),
        (["T", "K"], {"T": "abc123", "K": "k-1234"}, {"T": "abc123", "K": "k-1234"}, []),
        (["T", "K"], {"K": "k-1234"}, {"T": "abc123", "K": "k-1234"}, []),
        (["API_TOKEN"], {"API_TOKEN": "other"}, {"API_TOKEN": "other"}, ["API_TOKEN", "X_API_KEY"]),
    ],
)
def test_names_take_values(
    names: list[str], environ: dict[str, str], values: dict[str, str], left: list[str]
) -> None:
    found, others = assign_variables(credentials_in(CURRENT), names, environ)
    assert found == values
    assert [one.name for one in others] == left
