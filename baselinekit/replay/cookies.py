"""The cookies of one recipe: what an answer sets, later steps send back to the same host and port. Nothing
outlives the recipe (F50).

The standard library's jar stumbles over broken cookies and writes about it to the terminal; and it would send
a cookie to every port of its host."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from urllib.parse import urlsplit

from baselinekit.model.recipes import Request, Response
from baselinekit.trust import origin

_LONGEST = 100


def http_date(text: str) -> float | None:
    """Seconds since 1970, of a date in a header; None if it is no date. One without a zone means UTC,
    wherever this machine is."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:_LONGEST])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_LARGEST = 4_096
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SECONDS = re.compile(r"-?[0-9]{1,12}")
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")


@dataclass(frozen=True, slots=True)
class _Cookie:
    """`subdomains`: whether it goes to the hosts below its own as well."""

    name: str
    value: str
    host: str
    subdomains: bool
    port: str
    path: str
    secure: bool

    def goes_to(self, scheme: str, host: str, port: str, path: str) -> bool:
        whom = host == self.host or (self.subdomains and _is_below(host, self.host))
        below = path == self.path or path.startswith(self.path.rstrip("/") + "/")
        return whom and below and port == self.port and (scheme == "https" or not self.secure)


class Cookies:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: dict[tuple[str, str, str, str], _Cookie] = {}

    def take(self, request: Request, response: Response) -> None:
        """Remember what an answer sets, forget what it takes back."""
        for name, text in response.headers:
            if name.lower() != "set-cookie":
                continue
            attributes = _attributes(text)
            cookie = _cookie(text, attributes, request.url)
            if cookie is None:
                continue
            key = (cookie.port, cookie.host, cookie.path, cookie.name)
            self._kept.pop(key, None)
            if not _is_over(attributes, self._now):
                self._kept[key] = cookie

    def header_for(self, url: str) -> str:
        """The cookies that go to a URL, as the header's value, the more exact paths first."""
        if not self._kept:
            return ""
        where = _where(url)
        going = [cookie for cookie in self._kept.values() if cookie.goes_to(*where)]
        going.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in going)


def _cookie(text: str, attributes: dict[str, str], url: str) -> _Cookie | None:
    """None when it is broken, or none that this host may set."""
    name, equals, value = (part.strip() for part in text.partition(";")[0].partition("="))
    if not equals or not name or len(name) + len(value) > _LARGEST or _CONTROL.search(name + value):
        return None
    _, host, port, path = _where(url)
    domain = attributes.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not ("." in domain and _is_below(host, domain)):
        return None
    stated = attributes.get("path", "")
    folder = stated if stated.startswith("/") else path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), port, folder, "secure" in attributes)


def _attributes(text: str) -> dict[str, str]:
    """What follows the value. Of a repeated one the last counts."""
    pairs = (part.partition("=") for part in text.split(";")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _is_over(attributes: dict[str, str], now: Callable[[], float]) -> bool:
    """Whether its time is over already, which is how a server takes a cookie back."""
    if _SECONDS.fullmatch(attributes.get("max-age", "")):
        return int(attributes["max-age"]) <= 0
    until = http_date(attributes.get("expires", ""))
    return until is not None and until <= now()


def _is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _where(url: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and path."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", origin(url).rpartition(":")[2], parts.path or "/"
