"""One request with everything decided: by itself, else its execution, the configuration, the default."""

import base64
import hashlib
import ipaddress
import os
import re
from urllib.parse import quote, urlencode, urlsplit

from baselinekit import __version__
from baselinekit.documents.jsontext import to_bytes
from baselinekit.errors import Refused, nearest
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION
from baselinekit.model.recipes import Auth, HttpRequest, Request, Surroundings
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.replay.body import DEFAULT_MAX_BODY, KEPT
from baselinekit.replay.files import inside, read_bytes
from baselinekit.replay.settings import MANY_REDIRECTS, Setting, foreign_authorities, invalid, unverified
from baselinekit.trust import origin
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


DEFAULT_TIMEOUT = 30.0

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_METHOD = re.compile(r"[A-Z][A-Z0-9_-]*")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FRAMING = re.compile(
    r"host|content-length|transfer-encoding|(proxy-)?connection|keep-alive|te|trailer|upgrade|expect"
)

Headers = dict[str, tuple[str, str]]
"""By their lower-case name: the name as it was written, and the value."""


def compose(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Request:
    """The request of a step whose variables are expanded. Its cookies of its own are in it already."""
    method = as_text(step.method).upper()
    if not _METHOD.fullmatch(method) or method == "CONNECT":
        hint = nearest(method, {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
        raise invalid("BK311", f"{method!r} is not a method that can be sent", hint, (*at, "method"))
    content, content_type = _content(step, setting.surroundings, at)
    headers = _headers(step, execution, setting, at)
    if content_type:
        headers.setdefault("content-type", ("Content-Type", content_type))
    digest = _authorize(step, execution, headers, at)
    cookies = {**execution.cookies, **step.cookies}
    if cookies:
        own = headers.get("cookie", ("", ""))[1]
        pairs = "; ".join(f"{name}={as_text(value)}" for name, value in cookies.items())
        headers["cookie"] = ("Cookie", _checked(f"{own}; {pairs}" if own else pairs, "Cookie", at))
    http = setting.http
    verify, cert = _certificates(execution, setting)
    url = url_of(step, execution, setting.surroundings, at)
    seconds = _first(step.timeout, execution.timeout, http.timeout, DEFAULT_TIMEOUT)
    if seconds <= 0:
        hint = "give a number above 0"
        raise invalid("BK311", f"a timeout of {seconds} seconds", hint, (*at, "timeout"))
    return Request(
        method=method,
        url=url,
        headers=tuple(headers.values()),
        content=content,
        digest=digest,
        timeout=float(seconds),
        verify=verify,
        cert=cert,
        http2=bool(_first(execution.http2, http.http2, False)),
        max_body=int(_first(execution.max_body, http.max_body, DEFAULT_MAX_BODY)),
    )


def redirects_of(step: HttpRequest, execution: HttpExecution, setting: Setting) -> int:
    """How many redirects to follow; `true` means a few."""
    said = _first(step.redirects, execution.redirects, setting.http.redirects, 0)
    return (MANY_REDIRECTS if said else 0) if isinstance(said, bool) else int(said)


def retries_of(step: HttpRequest, execution: HttpExecution, setting: Setting) -> int:
    """How many times to ask again."""
    return int(_first(step.retries, execution.retries, setting.http.retries, 0))


def kept_headers(execution: HttpExecution, setting: Setting) -> list[str]:
    return list(_first(execution.keep_headers, setting.http.keep_headers, KEPT))


def _first(*choices: Json) -> Json:
    return next((choice for choice in choices if choice is not None), None)


def _headers(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Headers:
    headers: Headers = {
        "user-agent": ("User-Agent", f"baselinekit/{__version__}"),
        "accept": ("Accept", "*/*"),
        "accept-encoding": ("Accept-Encoding", "gzip, deflate"),
    }
    configured = setting.scope.expand(setting.http.headers)
    sources = (configured, ()), (execution.headers, (*EXECUTION, "headers")), (step.headers, (*at, "headers"))
    for stated, where in sources:
        for name, value in stated.items():
            lower = name.lower()
            if not _NAME.fullmatch(name):
                raise invalid("BK311", f"{name!r} is not a header name", "", (*where, name))
            if _FRAMING.fullmatch(lower):
                hint = "leave it out: it is derived from the URL and the body"
                raise invalid("BK311", f"the header {name} cannot be set", hint, (*where, name))
            text = ("true" if value else "false") if isinstance(value, bool) else as_text(value)
            headers[lower] = (name, _checked(text, name, (*where, name)))
    return headers


def _checked(value: str, name: str, at: Path) -> str:
    if _BAD_VALUE.search(value):
        raise invalid("BK311", f"a line break or control character in the header {name}", "remove it", at)
    return value.strip()


def _authorize(step: HttpRequest, execution: HttpExecution, headers: Headers, at: Path) -> Auth | None:
    """Credentials as a header; those for digest are returned, as only the answer says what to send."""
    auth = step.auth or (None if "authorization" in headers else execution.auth)
    if auth is None:
        return None
    at = (*at, "auth") if step.auth else (*EXECUTION, "auth")
    if auth.type == "bearer":
        if not auth.token:
            raise invalid("BK311", "`auth` of type bearer has no token", "add `token:`", at)
        credentials = f"Bearer {as_text(auth.token)}"
    elif auth.username is None:
        raise invalid("BK311", f"`auth` of type {auth.type} has no username", "add `username:`", at)
    elif auth.type == "digest":
        return Auth("digest", as_text(auth.username), as_text(auth.password or ""))
    else:
        pair = f"{as_text(auth.username)}:{as_text(auth.password or '')}"
        credentials = f"Basic {base64.b64encode(pair.encode('utf-8', 'replace')).decode()}"
    headers["authorization"] = ("Authorization", _checked(credentials, "Authorization", at))
    return None


def _content(step: HttpRequest, surroundings: Surroundings, at: Path) -> tuple[bytes, str]:
    """The body and the media type that goes with it."""
    given = [name for name in ("json", "body") if getattr(step, name) is not ABSENT]
    given += [name for name in ("form", "files") if getattr(step, name) is not None]
    if len(given) > 1 and given != ["form", "files"]:
        raise invalid("BK311", f"both `{given[0]}` and `{given[1]}` are given", "keep one", (*at, given[1]))
    if step.files is not None:
        return _multipart(step, surroundings)
    if step.form is not None:
        return urlencode(pairs_of(step.form)).encode(), "application/x-www-form-urlencoded"
    if isinstance(step.body, str):
        return step.body.encode("utf-8", "replace"), ""
    value = step.json if step.json is not ABSENT else step.body
    return (b"", "") if value is ABSENT else (to_bytes(value), "application/json")


def _multipart(step: HttpRequest, surroundings: Surroundings) -> tuple[bytes, str]:
    import mimetypes

    parts = []
    for name, value in pairs_of(dict(step.form or {})):
        parts.append((f'form-data; name="{_in_quotes(name)}"', "", value.encode("utf-8", "replace")))
    for name, path in (step.files or {}).items():
        path = as_text(path)
        filename = _in_quotes(path.rsplit("/", 1)[-1])
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        disposition = f'form-data; name="{_in_quotes(name)}"; filename="{filename}"'
        parts.append((disposition, f"\r\nContent-Type: {kind}", read_bytes(surroundings, path)))
    boundary = hashlib.sha256(b"\0".join(content for _, _, content in parts)).hexdigest()[:32]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: {disposition}{kind}\r\n\r\n".encode() + content + b"\r\n"
        for disposition, kind, content in parts
    )
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _in_quotes(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _certificates(execution: HttpExecution, setting: Setting) -> tuple[bool | str, str | None]:
    """A path that a data file gives stays inside the project; one of the configuration starts at its root."""
    root, http = setting.surroundings.root, setting.http
    verify: bool | str | None = execution.verify
    ours = os.path.join(root, http.verify) if isinstance(http.verify, str) else http.verify
    if verify is False and http.verify is not False:  # also where a variable or an answer has brought it in
        raise Refused(unverified())
    if isinstance(verify, str):
        verify = inside(setting.surroundings, verify)
        verify = ours if isinstance(ours, str) and os.path.realpath(ours) == verify else verify
    elif verify is None:
        verify = ours
    cert = inside(setting.surroundings, execution.cert) if execution.cert else None
    if cert is None and http.cert:
        cert = os.path.join(root, http.cert)
    return (True if verify is None else verify), cert


def check_authorities(url: str, verify: str, setting: Setting) -> None:
    """Who names an origin says whose certificates are believed there: a file that brings its own authorities
    along could let anybody answer in the place of that server, as with `verify: false`."""
    ours = setting.http.verify
    root = setting.surroundings.root
    granted = ours is False or (isinstance(ours, str) and os.path.join(root, ours) == verify)
    if not granted and setting.trust.names(where := origin(url)):
        raise Refused(foreign_authorities(where, os.path.relpath(verify, os.path.realpath(root))))
