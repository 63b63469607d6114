"""An HTTP request, or a flow: requests in order, each of which may pass values to the next.

A flow is not a kind of its own: it is a list of requests that share the execution of one request, and a
request is a flow of one step whose whole output is compared."""

import base64
import ipaddress
import os
import random
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC
from functools import partial
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import quote, urlencode, urljoin, urlsplit

from baselinekit import __version__
from baselinekit.clients.trust import origin
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused, cannot_replay
from baselinekit.files.jsontext import to_bytes
from baselinekit.kinds.bodies import Body, BodyWatch, json_in, read_body
from baselinekit.kinds.files import inside, read_bytes
from baselinekit.kinds.flow import (
    HttpFlow,
    collect_outputs,
    headers_used,
    pick,
    problems_of_flow,
    problems_of_path,
    split_step,
    step_names,
)
from baselinekit.kinds.kind import OutcomePlace, RecipeKind, RecognisedForm, Trouble, check_limits, with_limit
from baselinekit.kinds.metrics_text import IGNORED_OF_METRICS, RULES_NOTE, metrics_found
from baselinekit.kinds.settings import (
    DEFAULT_MAX_BODY,
    EXECUTION,
    INPUT,
    MANY_REDIRECTS,
    Setting,
    invalid,
    undefined_in,
    unverified,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.addresses import PORT_HINT, has_no_such_port, url_for_message
from baselinekit.model.recipes import (
    IDEMPOTENT,
    Auth,
    HttpRequest,
    Observation,
    Parse,
    Recipe,
    Request,
    Response,
    Scalar,
    Seconds,
    Surroundings,
)
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.secrets.declared import SHORTEST_WITHIN
from baselinekit.secrets.names import is_secret_header
from baselinekit.secrets.variables import Secret, as_text, names_in
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import Pattern, parse, roots
from baselinekit.values.texts import Mask

_TOKEN = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_WANTS_TLS = lazy_pattern(
    r"(?i)HTTP request (?:was sent )?to (?:an )?HTTPS (?:port|server)|plain HTTP to an SSL"
)
"""How nginx, Go and Apache answer a request without TLS at a port for https."""
_TARGET_FIELDS = ("endpoint", "path", "url")
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""The methods that RFC 9110 calls safe."""
_BODY_FIELDS = ("json", "body", "form", "files")
_OPERATION_HEADERS = ("x-amz-target", "soapaction")
_OPERATION_KEYS = ("operationName", "method")
"""Headers and keys that name the operation, if the address does not."""


class HttpExecution(Struct):
    """The settings that all requests of a recipe share; a setting of a request overrides them."""

    type: Literal["http"]
    base_url: str | None = None
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: Seconds | None = None
    redirects: int | bool | None = None
    retries: int | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: int | None = None
    parse: Parse | None = None
    take: int | None = None
    serial: bool | None = None
    resource: str | None = None


class HttpCurrent(Struct):
    """`current:` with one HTTP request."""

    input: HttpRequest
    execution: HttpExecution


class FlowCurrent(Struct):
    """`current:` with HTTP requests in order."""

    input: HttpFlow
    execution: HttpExecution


def step_places(recipe: Recipe) -> list[tuple[HttpRequest, Path]]:
    """Return each request with its path in the recipe."""
    http_input = recipe.input
    if isinstance(http_input, HttpFlow):
        return [(step, (*INPUT, "steps", index)) for index, step in enumerate(http_input.steps)]
    return [(http_input, INPUT)]


class HttpStatus(OutcomePlace):
    def severity(self, number: int) -> int:
        return (number >= 400) + (number >= 500)

    def describe(self, number: int) -> str:
        if number >= 500:
            subject = f"step {self.step} answered {number}" if self.step else f"the answer is {number}"
            return f"{subject}, a server error"
        subject = f"step {self.step} answered {number}, which" if self.step else str(number)
        return f"{subject} says that the request was refused"


_EVAL_CONTENT = {"$ref": "#/$defs/HttpRequest"}
_OPEN_METRICS = "application/openmetrics-text"
_DEFINING_METRICS = ("type", "unit", "labels", "buckets", "quantiles")


def _collected_places(http_input: HttpRequest | HttpFlow) -> dict[Path, tuple[str, str]]:
    """Map each place of the output to its step and path; an empty path means the whole response."""
    if not isinstance(http_input, HttpFlow):
        return {(): ("", "")}
    if http_input.collect is None:
        number = len(http_input.steps)
        return {(): (http_input.steps[-1].name or str(number), "")} if http_input.steps else {}
    if isinstance(http_input.collect, list):
        return {(name,): (name, "") for name in http_input.collect}
    names = step_names(http_input)
    return {(key,): split_step(text, names) for key, text in http_input.collect.items()}


def is_one_key(path: str, key: str) -> bool:
    """Whether a path consists of this key only, however it is written."""
    try:
        return parse(path).segments == (key,)
    except InvalidInput:
        return False


def with_upper_case_method(request: HttpRequest) -> HttpRequest:
    if request.method.isupper() or "{{" in request.method:
        return request
    return replace(request, method=request.method.upper())


def check_request(request: HttpRequest, at: Path) -> Iterator[Problem]:
    if not _TOKEN.fullmatch(request.method) and "{{" not in request.method:
        message = f"{request.method!r} is not an HTTP method"
        yield Problem("BK108", message, "such as GET or POST", at=(*at, "method"))
    targets = [name for name in _TARGET_FIELDS if getattr(request, name) is not None]
    if len(targets) != 1:
        message = (
            f"`{'` and `'.join(targets)}` cannot be combined" if targets else "the request names no target"
        )
        hint = "keep one of them" if targets else "add `endpoint: /…`, or `url: https://…`"
        code = "BK108" if targets else "BK104"
        yield Problem(code, message, hint, at=(*at, targets[1] if targets else "endpoint"))
    for name in targets:
        text = getattr(request, name)
        if name == "url":
            yield from check_url(text, (*at, name))
        elif not text.startswith(("/", "{{")):
            hint = f"put the whole address under `url`: {text}" if "://" in text else f"such as /{text}"
            yield Problem("BK108", f"`{name}` must start with `/`", hint, at=(*at, name))
    yield from check_headers(request.headers, (*at, "headers"))
    bodies = [name for name in _BODY_FIELDS if getattr(request, name) not in (ABSENT, None)]
    if len(bodies) > 1 and bodies != ["form", "files"]:
        message = f"`{'` and `'.join(bodies)}` cannot be combined"
        yield Problem("BK108", message, "keep one of them (files may go with form)", at=(*at, bodies[1]))
    yield from check_limits(request, at)


def check_base(url: str | None, at: Path) -> Iterator[Problem]:
    """Check an address to which an `endpoint` is appended."""
    yield from check_url(url, at)
    if url is not None and "{{" not in url and ("?" in url or "#" in url):
        message = "a base_url has no `?` and no `#`"
        yield Problem("BK108", message, "write them in the endpoint, which follows it", at=at)


def check_url(url: str | None, at: Path) -> Iterator[Problem]:
    if url is None or url.startswith("{{"):
        return
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme.lower() in ("http", "https") and bool(parts.netloc)
        is_valid = is_valid and ("{{" in url or (parts.port != 0 and not re.search(r"\s", parts.netloc)))
    except ValueError:
        is_valid = False
    if not is_valid:
        shown_url = re.sub("//[^/]*@", "//…@", url.partition("?")[0])
        message, hint = (
            f"not an absolute http or https address, {shown_url!r}",
            "such as https://api.example.com",
        )
        if has_no_such_port(url):
            message, hint = f"there is no such port, {shown_url!r}", PORT_HINT
        yield Problem("BK108", message, hint, at=at)
    elif "@" in parts.netloc:
        message = "the address contains credentials"
        yield Problem("BK108", message, "remove them, and use `auth` with variables", at=at)


def check_headers(headers: Mapping[str, Scalar], at: Path) -> Iterator[Problem]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) and "{{" not in name:
            yield Problem(
                "BK108", f"{name!r} is not a header name", "letters, digits and `-`", at=(*at, name)
            )
        if isinstance(value, str) and ("\n" in value or "\r" in value or "\0" in value):
            yield Problem(
                "BK108", "a header value must be a single line", "remove the line break", at=(*at, name)
            )


# The URL of a request: built, checked and normalized.


_UNSAFE = lazy_pattern(r"[^!$&'()*+,/:;=?@\[\]~A-Za-z0-9._%-]|%(?![0-9A-Fa-f]{2})")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f]")
_HOST = lazy_pattern(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def url_of(step: HttpRequest, execution: HttpExecution, surroundings: Surroundings, at: Path) -> str:
    """Return the URL of a request whose variables are expanded. It is built, checked and normalized, so that
    the check of an origin and the connection cannot read it differently (F16)."""
    given_names = [name for name in _TARGET_FIELDS if getattr(step, name) is not None]
    at = (*at, *given_names)
    if step.url is not None:
        url = as_text(step.url)
    else:
        base = surroundings.override_base_url or execution.base_url or surroundings.base_url
        if not base:
            hint = "pass --base-url URL, or set execution.base_url, or base_url: in baselinekit.yaml"
            raise invalid("BK310", "no base_url", hint, at)
        endpoint = as_text(step.endpoint if step.endpoint is not None else (step.path or ""))
        if endpoint and not endpoint.startswith("/"):
            hint = "an absolute one goes under `url`" if "://" in endpoint else f"write /{endpoint}"
            raise invalid("BK311", f"`{given_names[0]}` must start with /: {endpoint!r}", hint, at)
        url = as_text(base).rstrip("/") + endpoint
    if step.params:
        pairs, url = pairs_of(step.params), url.partition("#")[0]
        url += f"{'&' if '?' in url else '?'}{urlencode(pairs)}" if pairs else ""
    return normalize_url(url, at)


def pairs_of(values: dict[str, Json]) -> list[tuple[str, str]]:
    """Return names with their values as they are sent; a name with a list is repeated for each item."""
    return [
        (name, "" if item is None else as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def normalize_url(url: str, at: Path = ()) -> str:
    """Return a URL in normal form, or raise InvalidInput: http(s), no credentials, a plain host, ASCII."""
    if _CONTROL.search(url):
        raise invalid("BK311", f"a control character in the URL {url_for_message(url)!r}", "remove it", at)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        hint = PORT_HINT if has_no_such_port(url) else ""
        raise invalid("BK311", f"{url_for_message(url)} is not a URL: {error}", hint, at) from None
    if parts.scheme not in ("http", "https"):
        hint = "write http://… or https://…"
        raise invalid("BK311", f"{url_for_message(url)!r} is not an http or https URL", hint, at)
    if "@" in parts.netloc:
        raise invalid("BK311", f"{url_for_message(url)} contains credentials", "give them under `auth:`", at)
    host = parts.hostname or ""
    try:
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host).compressed}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        host = ""
    if not host.startswith("[") and not _HOST.fullmatch(host):
        raise invalid("BK311", f"{url_for_message(parts.geturl())} has no usable host", "", at)
    port_text = f":{port}" if port is not None else ""
    query = f"?{_percent_encode(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{port_text}{_percent_encode(parts.path) or '/'}{query}"


def _percent_encode(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), text)


# One request with every setting decided: by the step, else the execution, the configuration, the default.

DEFAULT_TIMEOUT = 30.0
DEFAULT_KEPT_HEADERS = ["content-type"]
"""The headers that are kept where `keep_headers` is not set."""
_METHOD = lazy_pattern(r"[A-Z][A-Z0-9_-]*")
_BAD_VALUE = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f]")
_FRAMING = lazy_pattern(
    r"host|content-length|transfer-encoding|(proxy-)?connection|keep-alive|te|trailer|upgrade|expect"
)
Headers = dict[str, tuple[str, str]]
"""By lower-case name: the name as written, and the value."""


def compose(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Request:
    """Return the request of a step whose variables are expanded, with the cookies of the recipe."""
    method = as_text(step.method).upper()
    if not _METHOD.fullmatch(method) or method == "CONNECT":
        raise invalid("BK311", f"{method!r} is not a method that can be sent", "", (*at, "method"))
    content, content_type = _body_of(step, setting.surroundings)
    headers = _headers(step, execution, setting, at)
    if content_type:
        headers.setdefault("content-type", ("Content-Type", content_type))
    take = _first_set(step.take, execution.take)
    if take is not None:  # the rows of a compressed stream cannot be counted as it arrives
        headers["accept-encoding"] = ("Accept-Encoding", "identity")
    parse = _first_set(step.parse, execution.parse)
    digest = authorize(step, execution, headers, at)
    cookies = {**execution.cookies, **step.cookies}
    if cookies:
        own_cookies = headers.get("cookie", ("", ""))[1]
        pairs = "; ".join(f"{name}={as_text(value)}" for name, value in cookies.items())
        value = f"{own_cookies}; {pairs}" if own_cookies else pairs
        headers["cookie"] = ("Cookie", _check_header(value, "Cookie", at))
    http = setting.http
    verify, cert = _certificates(execution, setting)
    url = url_of(step, execution, setting.surroundings, at)
    seconds = _first_set(step.timeout, execution.timeout, http.timeout, DEFAULT_TIMEOUT)
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
        http2=bool(_first_set(execution.http2, http.http2, False)),
        max_body=int(_first_set(execution.max_body, http.max_body, DEFAULT_MAX_BODY)),
        parse=parse,
        take=take,
        watch=partial(BodyWatch, parse, take),
    )


def redirects_of(step: HttpRequest, execution: HttpExecution, setting: Setting) -> int:
    """Return how many redirects to follow; `true` means MANY_REDIRECTS."""
    value = _first_set(step.redirects, execution.redirects, setting.http.redirects, 0)
    return (MANY_REDIRECTS if value else 0) if isinstance(value, bool) else int(value)


def retries_of(step: HttpRequest, execution: HttpExecution, setting: Setting) -> int:
    """Return how many times to retry."""
    return int(_first_set(step.retries, execution.retries, setting.http.retries, 0))


def kept_headers(execution: HttpExecution, setting: Setting, used: Iterable[str] = ()) -> list[str]:
    """Return the headers to keep. `used`: those that a flow passes on; secret ones are left out."""
    configured = _first_set(execution.keep_headers, setting.http.keep_headers)
    added = {name for name in used if not is_secret_header(name)} - {*DEFAULT_KEPT_HEADERS}
    return [*DEFAULT_KEPT_HEADERS, *sorted(added)] if configured is None else list(configured)


def _first_set(*choices: Json) -> Json:
    return next((choice for choice in choices if choice is not None), None)


def _headers(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Headers:
    headers: Headers = {
        "user-agent": ("User-Agent", f"baselinekit/{__version__}"),
        "accept": ("Accept", "*/*"),
        "accept-encoding": ("Accept-Encoding", "gzip, deflate"),
    }
    configured = setting.scope.expand(setting.http.headers)
    sources = (configured, ()), (execution.headers, (*EXECUTION, "headers")), (step.headers, (*at, "headers"))
    for headers_given, place in sources:
        for name, value in headers_given.items():
            lower = name.lower()
            if not _TOKEN.fullmatch(name):
                raise invalid("BK311", f"{name!r} is not a header name", "", (*place, name))
            if _FRAMING.fullmatch(lower):
                hint = "leave it out: it is derived from the URL and the body"
                raise invalid("BK311", f"the header {name} cannot be set", hint, (*place, name))
            text = ("true" if value else "false") if isinstance(value, bool) else as_text(value)
            headers[lower] = (name, _check_header(text, name, (*place, name)))
    return headers


def _check_header(value: str, name: str, at: Path) -> str:
    if _BAD_VALUE.search(value):
        raise invalid("BK311", f"a line break or control character in the header {name}", "remove it", at)
    return value.strip()


def authorize(step: HttpRequest, execution: HttpExecution, headers: Headers, at: Path) -> Auth | None:
    """Add credentials as a header. Those for digest are returned: their header depends on the challenge."""
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
    headers["authorization"] = ("Authorization", _check_header(credentials, "Authorization", at))
    return None


def _body_of(step: HttpRequest, surroundings: Surroundings) -> tuple[bytes, str]:
    """Return the body and its media type."""
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
        parts.append((f'form-data; name="{escape_quotes(name)}"', "", value.encode("utf-8", "replace")))
    for name, path in (step.files or {}).items():
        path = as_text(path)
        filename = escape_quotes(path.rsplit("/", 1)[-1])
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        disposition = f'form-data; name="{escape_quotes(name)}"; filename="{filename}"'
        parts.append((disposition, f"\r\nContent-Type: {kind}", read_bytes(surroundings, path)))
    boundary = sha256(b"\0".join(content for _, _, content in parts)).hexdigest()[:32]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: {disposition}{kind}\r\n\r\n".encode() + content + b"\r\n"
        for disposition, kind, content in parts
    )
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def escape_quotes(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _certificates(execution: HttpExecution, setting: Setting) -> tuple[bool | str, str | None]:
    """Return `verify` and `cert`. Paths in a data file stay inside the project; those of the configuration
    are relative to its root."""
    root, http, verify = setting.surroundings.root, setting.http, execution.verify
    configured = os.path.join(root, http.verify) if isinstance(http.verify, str) else http.verify
    if verify is False and http.verify is not False:  # also a value from a variable or an answer
        raise Refused(unverified())
    if isinstance(verify, str):
        verify = inside(setting.surroundings, verify)
        is_same = isinstance(configured, str) and os.path.realpath(configured) == verify
        verify = configured if is_same else verify
    verify = configured if verify is None else verify
    configured_cert = os.path.join(root, http.cert) if http.cert else None
    cert = inside(setting.surroundings, execution.cert) if execution.cert else configured_cert
    return (True if verify is None else verify), cert


def check_authorities(url: str, verify: str, setting: Setting) -> None:
    """Refuse a baseline file that sets certificate authorities for an origin that the operator has named:
    such a file could let anybody answer in the place of that server, as with `verify: false`."""
    configured, root = setting.http.verify, setting.surroundings.root
    is_granted = isinstance(configured, str) and os.path.join(root, configured) == verify
    if configured is False or is_granted or not setting.trust.names(origin(url)):
        return
    message = (
        f"a baseline file may not say which certificates are trusted at {origin(url)}, "
        "which the configuration or the command line names"
    )
    file = os.path.relpath(verify, os.path.realpath(root))
    hint = f"name the authorities in baselinekit.yaml: `http: {{verify: {file}}}`"
    raise Refused(Problem("BK408", message, hint, at=(*EXECUTION, "verify")))


_TOO_BUSY = frozenset((429, 502, 503, 504))
_LONGEST_WAIT = 30.0
_LONGEST_DATE = 100
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


def read_answer(response: Response, request: Request | None = None) -> Body:
    """Return the value of the body, read as the request says."""
    request = request or Request("GET", "")
    content_type = response.header("content-type")
    return read_body(
        response.body, content_type, response.status, request.parse, request.take, request.max_body
    )


def http_output(response: Response, keep: list[str], body: Json) -> dict[str, Json]:
    """Return a response as `{status, headers, body}`, with only the headers that are kept."""
    headers = all_headers(response)
    if keep == DEFAULT_KEPT_HEADERS and 300 <= response.status < 400:
        keep = [*keep, "location"]  # all that a redirect says
    kept_headers = {lower: headers[lower] for name in keep if (lower := name.lower()) in headers}
    return {"status": response.status, "headers": kept_headers, "body": body}


def all_headers(response: Response) -> dict[str, str]:
    """Return all headers by lower-case name. The values of a repeated header are joined in order."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers


def without_unused_base(recipe: Recipe, setting: Setting) -> HttpExecution:
    """Leave out base_url where the operator overrides it: the variables in it need not be defined then."""
    execution: HttpExecution = recipe.execution
    unused = setting.surroundings.override_base_url and execution.base_url
    return replace(execution, base_url=None) if unused else execution


# The cookies of one recipe: later steps send back what an answer sets, to the same host and port. No cookie
# outlives the recipe (F50), and none is for all hosts of a public suffix. The jar of the standard library and
# of httpx fails on broken cookies and writes about it to the terminal, sends a cookie to every port of its
# host, and lets the host 10.0.0.1 set one for 11.0.0.1.

_LARGEST_COOKIE = 4_096
_BAD_COOKIE = lazy_pattern(r"[\x00-\x1f\x7f]")
_SECONDS = lazy_pattern(r"-?[0-9]{1,12}")
_ADDRESS = lazy_pattern(r"[0-9.]+|.*:.*")
_PUBLIC_SUFFIX = lazy_pattern(r"[^.]+|(?:ac|co|com|edu|gob|gov|mil|ne|net|or|org)\.[a-z]{2}")
"""`com`, `co.uk` and the like: the whole list of public suffixes is longer than this program."""


class _Cookie(Struct):
    """`subdomains`: whether it is also sent to subdomains of its host."""

    value: str
    subdomains: bool
    secure: bool


class Cookies:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._cookies: dict[tuple[str, str, str, str], _Cookie] = {}
        """By port, host, path and name."""

    def take(self, url: str, response: Response) -> None:
        """Add the cookies that an answer sets, and remove those that it revokes. A broken one is left out, as
        is one that this host may not set."""
        for header, text in response.headers:
            if header.lower() != "set-cookie":
                continue
            pair, *parts = text.split(";")
            pairs = (part.partition("=") for part in parts)  # the last of a repeated attribute counts
            attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
            name, equals, value = (part.strip() for part in pair.partition("="))
            is_large = len(name) + len(value) > _LARGEST_COOKIE
            if not equals or not name or is_large or _BAD_COOKIE.search(name + value):
                continue
            _, host, port, path = _destination(url)
            domain = attributes.get("domain", "").lower().removeprefix(".")
            is_above = _is_below(host, domain) and not _PUBLIC_SUFFIX.fullmatch(domain)
            if domain and domain != host and not is_above:
                continue
            folder = attributes.get("path", "")
            folder = folder if folder.startswith("/") else path.rpartition("/")[0] or "/"
            key = (port, domain or host, folder, name)
            self._cookies.pop(key, None)
            if _SECONDS.fullmatch(attributes.get("max-age", "")):
                is_expired = int(attributes["max-age"]) <= 0
            else:
                expires = _http_date(attributes.get("expires", ""))
                is_expired = expires is not None and expires <= self._now()
            if not is_expired:  # a server revokes a cookie by an expiry in the past
                self._cookies[key] = _Cookie(value, bool(domain), "secure" in attributes)

    def header_for(self, url: str) -> str:
        """Return the value of the Cookie header for a URL, cookies with longer paths first."""
        if not self._cookies:
            return ""
        scheme, to_host, to_port, to_path = _destination(url)
        chosen = [
            (len(path), f"{name}={cookie.value}")
            for (port, host, path, name), cookie in self._cookies.items()
            if port == to_port
            and (to_host == host or (cookie.subdomains and _is_below(to_host, host)))
            and (to_path == path or to_path.startswith(path.rstrip("/") + "/"))
            and (scheme == "https" or not cookie.secure)
        ]
        chosen.sort(key=lambda cookie: -cookie[0])
        return "; ".join(text for _, text in chosen)


def _is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _destination(url: str) -> tuple[str, str, str, str]:
    """Return scheme, host, port and path."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", origin(url).rpartition(":")[2], parts.path or "/"


def _http_date(text: str) -> float | None:
    """Return a date in a header as seconds since 1970; None if it is no date. A date without a zone is UTC,
    whatever the zone of this machine."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # seldom needed

    try:
        moment = parsedate_to_datetime(text[:_LONGEST_DATE])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


# One request with its cookies, redirects and retries; each time it is sent it is checked again.


def _follow(
    request: Request,
    redirects: int,
    retries: int,
    setting: Setting,
    cookies: Cookies,
    short_secrets: set[str],
) -> tuple[Response, float, int]:
    """Return the answer after redirects, the seconds that its requests took, and the number of retries.
    `short_secrets`: those in the request; a redirected request has none of them."""
    deadline = time.monotonic() + request.timeout
    seconds, retried = 0.0, 0
    seen_urls: list[str] = []
    for hop in range(max(0, redirects) + 1):
        outgoing = request
        if received_cookies := cookies.header_for(request.url):  # cookies in the recipe take precedence
            own_cookies = [value for name, value in request.headers if name.lower() == "cookie"][:1]
            names = {pair.partition("=")[0].strip() for pair in "".join(own_cookies).split(";")}
            pairs = [pair for pair in received_cookies.split("; ") if pair.partition("=")[0] not in names]
            other_headers = (pair for pair in request.headers if pair[0].lower() != "cookie")
            outgoing = replace(
                request, headers=(*other_headers, ("Cookie", "; ".join([*filter(None, own_cookies), *pairs])))
            )
        if hop:
            outgoing = replace(outgoing, timeout=max(0.001, deadline - time.monotonic()))
        admitted = _admit(outgoing, setting, () if hop else short_secrets)
        response, tries = ask_with_retries(admitted, retries, setting)
        seconds, retried = seconds + response.seconds, retried + tries - 1
        cookies.take(request.url, response)
        is_redirect = response.status in _REDIRECTS and response.header("location")
        if not redirects or not is_redirect:
            return response, seconds, retried
        seen_urls.append(request.url)
        if hop < redirects:
            request = _redirected(request, response)
    is_loop = len(set(seen_urls)) < len(seen_urls)
    message = f"more than {redirects} redirects{', in a loop' if is_loop else ''}"
    advice = "correct the service, or follow none" if is_loop else "follow more, if they end"
    options = "capture: -L for 10, --redirects N; recipe: `redirects: N`"
    raise cannot_replay("BK308", message, f"{advice} ({options})")


def _short_secrets(step: HttpRequest, execution: HttpExecution, setting: Setting) -> set[str]:
    """Return the names of the recipe's secrets that are too short to be searched for in its request."""
    secrets = setting.scope.secrets
    if all(len(secret.value) >= SHORTEST_WITHIN for secret in secrets.values()):
        return set()
    names = {*names_in(step), *names_in(execution), *names_in(setting.http.headers)}
    return {name for name in names & secrets.keys() if len(secrets[name].value) < SHORTEST_WITHIN}


def _admit(request: Request, setting: Setting, short_secrets: Iterable[str] = ()) -> Request:
    """Return the request with the check of its address; Refused unless it may be sent with the secrets in it.
    `short_secrets`: the names of the short ones among them."""
    secrets: list[tuple[str, Secret]] = []
    if known_secrets := setting.scope.secrets:
        texts = [request.url, request.content.decode("utf-8", "replace")]
        texts += [text for pair in request.headers for text in pair]
        if request.digest:
            texts += [request.digest.username or "", request.digest.password or ""]
        names = sorted({*setting.redactor.found_in(*texts), *short_secrets})
        secrets = [(name, known_secrets[name]) for name in names if name in known_secrets]
    setting.trust.check_request(request.url, secrets)
    if isinstance(request.verify, str) and request.url[:6].lower() == "https:":
        check_authorities(request.url, request.verify, setting)
    return replace(request, admit=partial(setting.trust.check_address, request.url))


def _redirected(request: Request, response: Response) -> Request:
    """Return the request that a redirect asks for. Credentials are never sent to another origin (F17)."""
    location = response.header("location")
    try:
        url = normalize_url(urljoin(request.url, location.strip()))
    except (InvalidInput, ValueError):
        message = f"a redirect ({response.status}) to {url_for_message(location)!r}, which cannot be followed"
        raise cannot_replay("BK308", message) from None
    method, content = request.method, request.content
    headers = [pair for pair in request.headers if pair[0].lower() != "cookie"]
    becomes_get = response.status == 303 or (response.status in (301, 302) and method == "POST")
    if becomes_get and method != "HEAD":
        method, content = "GET", b""
        headers = [pair for pair in headers if pair[0].lower() != "content-type"]
    if origin(url) == origin(request.url):
        headers += [pair for pair in request.headers if pair[0].lower() == "cookie"]
        return replace(request, method=method, url=url, content=content, headers=tuple(headers))
    if content:
        message = f"a redirect ({response.status}) would send the body to {origin(url)}"
        raise cannot_replay("BK308", message, "request that address directly, if it is the right one")
    headers = [pair for pair in headers if pair[0].lower() in _HARMLESS]
    return replace(request, method=method, url=url, headers=tuple(headers), digest=None, cert=None)


def _wait_after(tries: int) -> float:
    """The seconds to wait before another try: a random part, so that workers do not all retry at once."""
    return min(0.25 * 2.0**tries, 8.0) * (0.5 + random.random() / 2)


def ask_with_retries(request: Request, retries: int, setting: Setting) -> tuple[Response, int]:
    """Return the answer and the number of tries. A request is retried when nothing was sent, and when the
    server was too busy and the method is idempotent, all within the time limit of the request."""
    clients = setting.clients
    deadline = time.monotonic() + request.timeout
    remaining = request.timeout
    tries = 0
    while True:
        tries += 1
        try:
            response = clients.send(replace(request, timeout=remaining) if tries > 1 else request)
        except CannotReplay as error:
            remaining = deadline - time.monotonic()
            nothing_sent = any(problem.code == "BK301" for problem in error.problems)
            if tries > retries or not nothing_sent or (wait := _wait_after(tries)) >= remaining:
                raise
        else:
            if tries > retries or response.status not in _TOO_BUSY or request.method not in IDEMPOTENT:
                return response, tries
            wait = _wait_after(tries)
            retry_after = response.header("retry-after").strip()  # seconds, or a date
            if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
                wait = float(retry_after)
            elif (retry_time := _http_date(retry_after)) is not None:
                wait = max(0.0, retry_time - clients.now())
            remaining = deadline - time.monotonic()
            if wait > _LONGEST_WAIT or wait >= remaining:
                return response, tries
        clients.sleep(wait)
        remaining -= wait


class HttpKind(RecipeKind):
    name = "http"
    execution = HttpExecution
    currents = (HttpCurrent, FlowCurrent)
    parts = ("status", "headers", "body")
    answer = "body"
    headers = "headers"
    paths_start_in_answer = True
    asks_address = True
    eval_input = "api_call"
    eval_content = _EVAL_CONTENT

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        request, problems = read_as(HttpRequest, content)
        return (None if problems else self.normalize(request)), problems

    def current_of(self, raw_input: Json) -> type[Any]:
        return FlowCurrent if isinstance(raw_input, dict) and "steps" in raw_input else HttpCurrent

    def normalize(self, stated_input: Any) -> Any:
        """Return the input with its methods in upper case."""
        if not isinstance(stated_input, HttpFlow):
            return with_upper_case_method(stated_input)
        return replace(stated_input, steps=[with_upper_case_method(step) for step in stated_input.steps])

    def describe_input(self, recipe: Recipe) -> str:
        http_input = recipe.input
        target = not isinstance(http_input, HttpFlow) and (
            http_input.endpoint or http_input.path or http_input.url
        )
        return f"{http_input.method} {target}" if target else ""

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if isinstance(recipe.input, HttpFlow) and not recipe.input.steps:
            yield Problem("BK108", "a flow without steps", "add a request", at=(*INPUT, "steps"))
        for step, at in step_places(recipe):
            yield from check_request(step, at)
        if isinstance(recipe.input, HttpFlow):
            first_steps: dict[str, int] = {}
            for index, step in enumerate(recipe.input.steps):  # so that `collect` is unambiguous
                if step.name is not None and first_steps.setdefault(step.name, index) != index:
                    message = (
                        f"two steps are called {step.name!r}: {first_steps[step.name] + 1} and {index + 1}"
                    )
                    hint = "give each a name of its own"
                    yield Problem("BK108", message, hint, at=(*INPUT, "steps", index, "name"))
        execution: HttpExecution = recipe.execution
        yield from check_base(execution.base_url, (*EXECUTION, "base_url"))
        yield from check_headers(execution.headers, (*EXECUTION, "headers"))
        yield from super().check(recipe)

    def responses(self, recipe: Recipe) -> dict[Path, str]:
        return {place: step for place, (step, path) in _collected_places(recipe.input).items() if not path}

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {
            place if path else (*place, "status"): HttpStatus(step)
            for place, (step, path) in _collected_places(recipe.input).items()
            if not path or is_one_key(path, "status")
        }

    def starts(self, pattern: Pattern, output: Json) -> list[Path]:
        return roots(pattern, output)

    def visible_troubles(self, recipe: Recipe, output: Json) -> Iterator[Trouble]:
        """Return further: that a server does not know a method which looks like a slip of the finger, or
        expects https."""
        yield from super().visible_troubles(recipe, output)
        status, body = (
            (output.get("status"), output.get("body")) if isinstance(output, dict) else (None, None)
        )
        if status == 400 and isinstance(body, str) and _WANTS_TLS.search(body):
            message = "the server says that this port is for https: write https:// in the URL"
            yield Trouble(message, "--allow-error-status")

    def hidden_outcomes(self, recipe: Recipe, observation: Observation) -> list[tuple[OutcomePlace, int]]:
        visible = {outcome.step for outcome in self.outcomes(recipe).values()}
        return [(HttpStatus(step), status) for step, status in observation.statuses if step not in visible]

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        is_flow, targets = isinstance(recipe.input, HttpFlow), []
        for step, _ in step_places(recipe):
            base = "" if is_flow or step.url is not None else (base_url or "").rstrip("/")
            targets.append(f"{step.method} {base}{step.endpoint or step.path or step.url or '/'}")
        return " → ".join(targets)

    def group(self, recipe: Recipe, base_url: Json) -> str:
        """Return the host."""
        url = str(base_url or getattr(recipe.input, "url", "") or "")
        return url.split("://")[-1].split("/")[0].rsplit("@")[-1].split(":")[0] or self.name

    def distinctions(self, recipe: Recipe, base_url: Json) -> list[str]:
        """Return the path, the query, the operation that a body or a header names, and the host."""
        step, _ = step_places(recipe)[0]
        target = (
            step.endpoint or step.path or urlsplit(step.url or "")._replace(scheme="", netloc="").geturl()
        )
        path, _, query = target.partition("#")[0].partition("?")  # urlsplit refuses a path like `//[x`
        params = [f"{name} {value}" for name, value in step.params.items()]
        operations = [value for name, value in step.headers.items() if name.lower() in _OPERATION_HEADERS]
        if isinstance(step.json, dict):
            operations += [step.json[key] for key in _OPERATION_KEYS if isinstance(step.json.get(key), str)]
        host = str(step.url or base_url or "").partition("://")[2].partition("/")[0]
        return [f"{step.method} {path}", " ".join([query, *params]), " ".join(map(str, operations)), host]

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield from super().addresses(recipe)
        yield from (step.url for step, _ in step_places(recipe) if step.url)

    def endpoint(self, recipe: Recipe) -> str | None:
        request = recipe.input
        return None if isinstance(request, HttpFlow) else request.endpoint or request.path

    def is_definition(self, recipe: Recipe, path: Path) -> bool:
        steps = [step for step, _ in step_places(recipe)]
        names = step_names(recipe.input) if isinstance(recipe.input, HttpFlow) else {"": 0}
        for place, name in self.responses(recipe).items():
            parse = steps[names.get(name, 0)].parse or recipe.execution.parse
            family = path[len(place) + 1 :]
            if parse == "prometheus" and path[: len(place) + 1] == (*place, "body") and len(family) > 1:
                return family[1] in _DEFINING_METRICS
        return False

    def form_found(self, recipe: Recipe, output: Json) -> RecognisedForm | None:
        """Recognise metrics, and JSON sent as plain text, as CouchDB and others do if a request asks for no
        media type."""
        http_input, body = recipe.input, output.get("body") if isinstance(output, dict) else None
        if isinstance(http_input, HttpFlow):
            return None
        parse = http_input.parse or recipe.execution.parse
        if parse == "prometheus" and isinstance(body, dict):
            return RecognisedForm(output, {}, (RULES_NOTE,), IGNORED_OF_METRICS)
        if parse or not isinstance(body, str):
            return None
        content_type = str(output["headers"].get("content-type", "")).lower()
        kind = content_type.partition(";")[0].strip()
        if kind not in ("text/plain", _OPEN_METRICS):
            return None
        value = json_in(body)
        if value is ABSENT:
            return metrics_found(output, body, kind == _OPEN_METRICS or "version=0.0.4" in content_type)
        note = "the body is JSON, sent as text/plain: it is compared as JSON (--parse text compares the text)"
        return RecognisedForm({**output, "body": value}, {"parse": "json"}, (note,))

    def only_reads(self, recipe: Recipe) -> bool:
        return all(step.method in SAFE for step, _ in step_places(recipe))

    def writes(self, recipe: Recipe) -> bool:
        """A method given by a variable counts as one that writes, because it may be any."""
        return not self.only_reads(recipe)

    def limited(self, recipe: Recipe) -> Iterator[tuple[Path, object]]:
        yield from ((at, step) for step, at in step_places(recipe))
        yield from super().limited(recipe)

    def within(self, recipe: Recipe, limit: Seconds) -> Recipe:
        if getattr(recipe.input, "timeout", None) is not None:
            return replace(recipe, input=with_limit(recipe.input, limit))
        return super().within(recipe, limit)

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        is_flow, execution = isinstance(recipe.input, HttpFlow), without_unused_base(recipe, setting)
        cookies, saved = Cookies(setting.clients.now), dict[str, Json]()
        outputs: list[Json] = []
        full_outputs: list[Json] = []  # each with every header
        requests: list[Request] = []
        used: Mapping[int, Collection[str]] = {}
        if is_flow:
            used = headers_used(recipe.input)
        statuses: list[tuple[str, int]] = []
        notes: list[str] = []
        values_of_writes, has_written = list[tuple[str, str, Json]](), False
        seconds, retried = 0.0, 0
        for number, (raw_step, at) in enumerate(step_places(recipe), 1):
            step_setting = replace(setting, scope=setting.scope.with_saved(saved)) if saved else setting
            scope = step_setting.scope
            step, shared = scope.expand(raw_step, at), scope.expand(execution, EXECUTION)
            request = compose(step, shared, step_setting, at)
            limits = redirects_of(step, shared, setting), retries_of(step, shared, setting)
            short_secrets = _short_secrets(raw_step, execution, setting)
            requests.append(request)
            response, took, repeats = _follow(request, *limits, step_setting, cookies, short_secrets)
            has_written = has_written or request.method not in SAFE
            body = read_answer(response, request)
            notes += [body.note] if body.note else []
            keep = kept_headers(shared, setting, used.get(number - 1, ()))
            outputs.append(http_output(response, keep, body.value))
            full_outputs.append({**outputs[-1], "headers": all_headers(response)})
            seconds, retried = seconds + took, retried + repeats
            name = (raw_step.name or str(number)) if is_flow else ""
            statuses.append((name, response.status))
            for key, path in raw_step.save.items():
                saved[key] = pick(
                    path, outputs[-1], f"step {name or 1}", (*at, "save", key), full_outputs[-1]
                )
                values_of_writes += [(key, path, saved[key])] if has_written else []
        output = collect_outputs(recipe.input, outputs, full_outputs) if is_flow else outputs[0]
        exchanges = tuple(zip(requests, full_outputs, strict=True))
        return Observation(
            output,
            seconds,
            1 + retried,
            statuses=tuple(statuses),
            exchanges=exchanges,
            notes=tuple(notes),
            saved=tuple(values_of_writes),
        )

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Check what can be known before the first request. Values that an earlier step saves count as
        defined; the request of a step that uses them is not composed yet."""
        problems: list[Problem] = []
        if isinstance(recipe.input, HttpFlow):
            problems += problems_of_flow(recipe.input)
        saved: dict[str, Json] = {}
        execution = without_unused_base(recipe, setting)
        for step, at in step_places(recipe):
            scope = setting.scope.with_saved(saved)
            names = {*names_in(step), *names_in(execution)}
            undefined = (
                [*undefined_in(step, scope, at), *undefined_in(execution, scope, EXECUTION)] if names else []
            )
            problems += [problem for problem in undefined if problem not in problems]
            if not undefined and not saved.keys() & names:
                try:
                    request = compose(scope.expand(step, at), scope.expand(execution), setting, at)
                    _admit(request, setting, _short_secrets(step, execution, setting))
                except InvalidInput as error:
                    problems += error.problems
                except Refused as error:
                    # The place where the recipe states the address.
                    given = [name for name in ("url", "endpoint", "path") if getattr(step, name) is not None]
                    place = (*at, *(given[:1] or [""]))
                    if step.url is None and execution.base_url is not None:
                        place = (*EXECUTION, "base_url")
                    raise Refused(
                        *(problem if problem.at else replace(problem, at=place) for problem in error.problems)
                    ) from None
            for key, path in step.save.items():
                problems += problems_of_path(path, (*at, "save", key))
                saved[key] = ""
        if problems:
            raise InvalidInput(*problems)

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[bytes]:
        """Yield the contents of the files that it sends, except where a path depends on an earlier answer."""

        for step, _ in step_places(recipe):
            for path in (step.files or {}).values():
                with suppress(InvalidInput):
                    yield read_bytes(setting.surroundings, as_text(setting.scope.expand(path)))


KIND = HttpKind()
