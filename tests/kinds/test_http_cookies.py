"""Cookies: which are kept, where they go, and that a broken one does no harm."""

import random
import time
from datetime import UTC, datetime

import pytest

from baselinekit.kinds.http import Cookies
from baselinekit.model.recipes import Response

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
URL = "http://api.test:8000/v1/users"


def sent(url: str, *set_cookies: str, by: str = URL) -> str:
    """What goes to a URL once an answer has set these."""
    cookies = Cookies(lambda: NOW)
    headers = tuple(("Set-Cookie", text) for text in set_cookies)
    cookies.take(by, Response(200, headers, b""))
    return cookies.header_for(url)


@pytest.mark.parametrize(
    ("url", "text", "goes"),
    [
        (URL, "a=1", True),
        (URL, "a=1; Max-Age=60; HttpOnly; SameSite=Lax", True),
        (URL, "a=1; Expires=Fri, 01 Jan 2038 00:00:00 GMT", True),
        (URL, "a=1; Expires=Fri, 01 Jqn 2038 00:00:00 GMT", True),
        (URL, "a=1; Expires=Sun, 01 Mar 2026 12:00:01 GMT", True),
        (URL, "a=1; Expires=Sun, 01 Mar 2026 12:00:00 GMT", False),
        (URL, "a=1; Expires=Sun, 01 Mar 2026 12:00:01", True),  # without a zone: UTC, and not where we are
        (URL, "a=1; Expires=Sun, 01 Mar 2026 11:59:59 -0000", False),
        (URL, "a=1; Max-Age", True),
        (URL, "a=1; Max-Age=0", False),
        (URL, "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", False),
        (URL, "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", True),
        ("http://api.test:8000/v1/", "a=1", True),
        ("http://api.test:8000/v1/other?x=/", "a=1", True),
        ("http://api.test:8000/v2", "a=1", False),
        ("http://api.test:8000/v1x", "a=1; Path=/v1", False),
        ("http://api.test:8000/", "a=1; Path=/", True),
        ("http://api.test:9000/v1/users", "a=1; Path=/", False),
        ("http://sub.api.test:8000/", "a=1; Path=/", False),
        ("http://sub.api.test:8000/", "a=1; Path=/; Domain=api.test", True),
        ("http://api.test:8000/", "a=1; Path=/; Domain=.API.test", True),
        ("http://other.test:8000/", "a=1; Path=/; Domain=other.test", False),
        ("http://other.test:8000/", "a=1; Path=/; Domain=test", False),
        (URL, "a=1; Domain=test", False),
        (URL, "a=1; Domain=pi.test", False),
        (URL, "a=1; Secure", False),
        ("https://api.test:8000/v1/users", "a=1; Secure", True),
        (URL, "no pair", False),
        (URL, "=1", False),
        (URL, "a=1\x1b[2J", False),
    ],
)
def test_cookie_is_sent_by_attributes_and_url(url: str, text: str, goes: bool) -> None:
    found = sent(url, text, by=URL)
    assert found == ("a=1" if goes else "")


@pytest.mark.parametrize(
    ("host", "domain", "goes_to"),
    [
        ("a.co.uk", "co.uk", []),
        ("a.shop.co.uk", "shop.co.uk", ["a.shop.co.uk", "b.shop.co.uk"]),
        ("localhost", "LOCALHOST", ["localhost"]),
        ("localhost", "", ["localhost"]),
        ("a.localhost", "localhost", []),
        ("10.0.0.1", "10.0.0.1", ["10.0.0.1"]),
        ("10.0.0.1", "0.0.1", []),
    ],
)
def test_cookie_for_public_suffix_or_part_of_address_is_not_shared(
    host: str, domain: str, goes_to: list[str]
) -> None:
    hosts = ["a.co.uk", "b.co.uk", "a.shop.co.uk", "b.shop.co.uk", "localhost", "a.localhost"]
    hosts += ["10.0.0.1", "11.0.0.1"]
    text = f"a=1; Domain={domain}"
    assert [to for to in hosts if sent(f"http://{to}/", text, by=f"http://{host}/")] == goes_to


def test_cookie_longer_path_first_and_last_value_wins() -> None:
    assert sent(URL, "a=1; Path=/", "b=2", "a=3; Path=/") == "b=2; a=3"
    assert sent(URL, "a=1; Path=/", "a=; Path=/; Max-Age=-1") == ""


PIECES = ["a", "=", "b", ";", " ", "Expires=", "Thu, 01 Jqn 2099 00:00:00 GMT", "01-Jan-99", "99", "00:00:00"]
PIECES += [
    "Path=/",
    "Domain=",
    ".",
    "Max-Age",
    "-1",
    "1e999",
    "9" * 30,
    "Secure",
    "Version=",
    '"',
    "\\",
    "\x1b",
]
PIECES += ["\xff", ",", "\t", "31 Feb 0000 99:99:99 GMT", "(", ")", "0" * 500]


def test_f50_cookie_random_text_raises_nothing() -> None:
    chance = random.Random(5)
    for _ in range(3_000):
        sent(URL, "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14))))


@pytest.mark.parametrize(
    "text",
    ["expires=" * 8_000, "a=b; expires=" + "1 " * 30_000, "a=b;" * 15_000, "a=b; expires=" + "(" * 60_000],
)
def test_f50_cookie_endless_text_is_fast(text: str) -> None:
    started = time.process_time()
    sent(URL, text)
    assert time.process_time() - started < 0.5
