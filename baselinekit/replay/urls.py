"""The URL of a request: put together, checked, and written in its one spelling."""

import ipaddress
import re
from urllib.parse import quote, urlencode, urlsplit

from baselinekit.kinds.http import HttpExecution
from baselinekit.model.recipes import HttpRequest, Surroundings
from baselinekit.model.values import Json, Path
from baselinekit.replay.settings import invalid
from baselinekit.variables import as_text

_UNSAFE = re.compile(r"[^!$&'()*+,/:;=?@\[\]~A-Za-z0-9._%-]|%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def url_of(step: HttpRequest, execution: HttpExecution, surroundings: Surroundings, at: Path) -> str:
    """The whole URL of a request whose variables are expanded: put together, checked, and written in one way,
    so that the check of an origin and the connection cannot read it differently (F16)."""
    given = [name for name in ("endpoint", "path", "url") if getattr(step, name) is not None]
    if len(given) > 1:
        raise invalid("BK311", f"both `{given[0]}` and `{given[1]}` are given", "keep one", (*at, given[1]))
    at = (*at, *given)
    if step.url is not None:
        whole = as_text(step.url)
    else:
        base = surroundings.override_base_url or execution.base_url or surroundings.base_url
        if not base:
            hint = "pass --base-url URL, or set execution.base_url, or base_url: in baselinekit.yaml"
            raise invalid("BK310", "no base_url", hint, at)
        endpoint = as_text(step.endpoint if step.endpoint is not None else (step.path or ""))
        if endpoint and not endpoint.startswith("/"):
            hint = "an absolute one goes under `url`" if "://" in endpoint else f"write /{endpoint}"
            raise invalid("BK311", f"`{given[0]}` must start with /: {endpoint!r}", hint, at)
        whole = as_text(base).rstrip("/") + endpoint
    if step.params:
        pairs, whole = pairs_of(step.params), whole.partition("#")[0]
        whole += f"{'&' if '?' in whole else '?'}{urlencode(pairs)}" if pairs else ""
    return normal(whole, at)


def pairs_of(values: dict[str, Json]) -> list[tuple[str, str]]:
    """Names with their values as they are sent; a name with a list of them comes once for each."""
    return [
        (name, "" if item is None else as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def normal(url: str, at: Path = ()) -> str:
    """A URL in its one spelling, or InvalidInput: http(s), no credentials, a plain host, ASCII."""
    if _CONTROL.search(url):
        raise invalid("BK311", f"a control character in the URL {shown(url)!r}", "remove it", at)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise invalid("BK311", f"{shown(url)} is not a URL: {error}", "", at) from None
    if parts.scheme not in ("http", "https"):
        hint = "write http://… or https://…"
        raise invalid("BK311", f"{shown(url)!r} is not an http or https URL", hint, at)
    if "@" in parts.netloc:
        raise invalid("BK311", f"{shown(url)} contains credentials", "give them under `auth:`", at)
    host = parts.hostname or ""
    try:
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host).compressed}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        host = ""
    if not host.startswith("[") and not _HOST.fullmatch(host):
        raise invalid("BK311", f"{shown(parts.geturl())} has no usable host", "", at)
    where = f":{port}" if port is not None else ""
    query = f"?{_quoted(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{where}{_quoted(parts.path) or '/'}{query}"


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), text)


def shown(url: str) -> str:
    """A URL as a message may show it: without credentials, without its query."""
    address, query, _ = url.partition("?")
    address = re.sub(r"//[^/]*@", "//…@", address)
    return f"{address}{'?…' if query else ''}"
