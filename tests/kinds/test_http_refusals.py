"""What an http recipe refuses to store, and which addresses are none."""

from typing import Any

import pytest

from baselinekit.kinds.http import check_url
from baselinekit.kinds.table import kind_of
from baselinekit.store.reading import parse_record

FOR_HTTPS = [
    "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>",
    "Client sent an HTTP request to an HTTPS server.\n",
    "<p>Reason: You're speaking plain HTTP to an SSL-enabled server port.</p>",
]


def troubles(method: str, status: int, body: Any) -> list[str]:
    current = {"input": {"method": method, "endpoint": "/x"}, "execution": {"type": "http"}}
    recipe = parse_record({"id": "x", "current": current, "metadata": {}}, "/").current
    output = {"status": status, "headers": {}, "body": body}
    return [trouble.message for trouble in kind_of(recipe).visible_troubles(recipe, output)]


@pytest.mark.parametrize("body", FOR_HTTPS)
def test_the_answer_of_a_port_for_https_is_not_stored(body: str) -> None:
    assert troubles("GET", 400, body) == [
        "the server says that this port is for https: write https:// in the URL"
    ]
    assert troubles("GET", 200, body) == []


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("http://a.test:99999/x", "a port is a number from 1 to 65535"),
        ("http://a.test:0/x", "a port is a number from 1 to 65535"),
        ("http://a.test:x/", "such as https://api.example.com"),
        ("http://a.test:65535/", None),
    ],
)
def test_a_port_ends_at_65535(url: str, hint: str | None) -> None:
    assert next((problem.hint for problem in check_url(url, ())), None) == hint
