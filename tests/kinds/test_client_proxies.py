"""Which proxy a request goes through."""

import pytest

from baselinekit.clients.http import proxy_for
from baselinekit.errors import CannotReplay

SET = {"http": "http://p:1", "all": "socks5://a:2", "no": "skip.test, .inner.test,10.0.0.1"}


@pytest.mark.parametrize(
    ("scheme", "host", "proxy"),
    [
        ("http", "api.test", "http://p:1"),
        ("https", "api.test", "socks5://a:2"),
        ("http", "localhost", None),
        ("http", "127.0.0.1", None),
        ("http", "127.8.8.8", None),
        ("https", "::1", None),
        ("http", "skip.test", None),
        ("http", "a.skip.test", None),
        ("http", "noskip.test", "http://p:1"),
        ("http", "x.inner.test", None),
        ("http", "10.0.0.1", None),
    ],
)
def test_proxy_for_scheme_and_host(scheme: str, host: str, proxy: str | None) -> None:
    assert proxy_for(scheme, host, SET) == proxy


def test_proxy_for_without_proxy_or_with_star_exception() -> None:
    assert proxy_for("http", "api.test", {}) is None
    assert proxy_for("http", "api.test", {"http": "p:1"}) == "http://p:1"
    assert proxy_for("http", "api.test", {"http": "p:1", "no": "*"}) is None


@pytest.mark.parametrize(
    "proxy",
    ["http://ada:pass@[x", "http://h:99999", "h:x", "http://", "http://h:0", "ftp://h", "socks5://[x"],
)
def test_proxy_for_invalid_address_is_an_error(proxy: str) -> None:
    with pytest.raises(
        CannotReplay, match=r"BK301 .* is not the address of a proxy: correct HTTP_PROXY"
    ) as raised:
        proxy_for("http", "api.test", {"all": proxy})
    assert "pass" not in str(raised.value)
