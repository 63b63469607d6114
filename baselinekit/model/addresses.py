"""Addresses in messages."""

import re


def url_for_message(url: str) -> str:
    """Return a URL for a message: without credentials and query."""
    address, query, _ = url.partition("?")
    address = re.sub(r"//[^/]*@", "//…@", address)
    return f"{address}{'?…' if query else ''}"
