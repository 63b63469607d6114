"""Addresses in messages, and what is wrong with one that leads nowhere."""

import re
from decimal import Decimal
from urllib.parse import urlsplit


def url_for_message(url: str) -> str:
    """Return a URL for a message: without credentials and query."""
    address, query, _ = url.partition("?")
    address = re.sub(r"//[^/]*@", "//…@", address)
    return f"{address}{'?…' if query else ''}"


PORT_HINT = "a port is a number from 1 to 65535"


def has_no_such_port(url: str) -> bool:
    """Whether a URL names a port by a number that no port has."""
    try:
        netloc = urlsplit(url).netloc
    except ValueError:
        return False
    port = re.search(r":([0-9]+)$", netloc)
    return port is not None and not 1 <= Decimal(port[1]) <= 65_535


def why_unclear(url: str) -> tuple[str, str]:
    """Why a URL has no origin, and what to do. It is not shown, because it may hold a password."""
    if has_no_such_port(url):
        return "a URL names a port that does not exist", PORT_HINT
    return "a URL does not say unambiguously where it leads", (
        "write http://host:port/path, with no user, blank, backslash or control character; "
        "credentials go into `auth:` of the recipe (-u NAME:PASSWORD with --secret)"
    )
