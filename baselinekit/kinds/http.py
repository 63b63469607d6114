"""An HTTP request, or a flow: requests in order; each may pass values to the next.

A flow is not a kind of its own: it is a list of requests that share the execution of one request, and a
request is a flow of one step whose whole output is compared."""

import base64
import ipaddress
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import quote, urlencode, urljoin, urlsplit

from baselinekit import __version__
from baselinekit.clients.headers import header_fault, merged
from baselinekit.clients.trust import host_of, origin, url_for_message
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused, cannot_replay, suggest
from baselinekit.files.jsontext import to_bytes
from baselinekit.kinds.bodies import (
    Body,
    BodyWatch,
    is_byte_hash,
    is_metrics_definition,
    read_body,
    undeclared_form,
)
from baselinekit.kinds.files import inside, read_bytes
from baselinekit.kinds.kind import OutcomePlace, RecipeKind, RecognisedForm, current_form
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
    http_date,
)
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema import read_as
from baselinekit.secrets.declared import SHORTEST_WITHIN
from baselinekit.secrets.variables import as_text, names_in
from baselinekit.structs import AtLeastOne, Count, Name, NotEmpty, Struct, TimeLimit, field, replace
from baselinekit.values.paths import Pattern, find, parse, roots, suggest_path
from baselinekit.values.texts import Mask


class HttpExecution(Struct):
    """The settings that all requests of a recipe share; a setting of a request overrides them."""

    type: Literal["http"]
    base_url: str | None = None
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: TimeLimit | None = None
    redirects: Count | bool | None = None
    retries: Count | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: Count | None = None
    parse: Parse | None = None
    take: AtLeastOne | None = None
    serial: bool | None = None
    resource: Name | None = None


class HttpFlow(Struct):
    """Requests in order. The last output is compared, or the outputs that `collect` names: steps by their
    name, or `{key: "step.path"}`."""

    steps: NotEmpty[HttpRequest]
    collect: list[str] | dict[str, str] | None = None


def steps_of(http_input: HttpRequest | HttpFlow) -> list[tuple[HttpRequest, Path]]:
    """Return each request with its path in the recipe."""
    if isinstance(http_input, HttpFlow):
        return [(step, (*INPUT, "steps", index)) for index, step in enumerate(http_input.steps)]
    return [(http_input, INPUT)]


def step_names(http_input: HttpRequest | HttpFlow) -> dict[str, int]:
    """Return the index of each step by its number (from 1), and by its name if it has one. The only request
    of a recipe without steps has an empty name."""
    if not isinstance(http_input, HttpFlow):
        return {"": 0}
    names = {str(index + 1): index for index in range(len(http_input.steps))}
    return names | {step.name: index for index, step in enumerate(http_input.steps) if step.name}


def collected_of(http_input: HttpRequest | HttpFlow) -> dict[Path, tuple[str, str]]:
    """Map each place of the output to its step and path; an empty path means the whole response."""
    if not isinstance(http_input, HttpFlow):
        return {(): ("", "")}
    steps, collect = http_input.steps, http_input.collect
    if collect is None:
        return {(): (steps[-1].name or str(len(steps)), "")}
    if isinstance(collect, list):
        return {(name,): (name, "") for name in collect}
    parts = ((key, text.partition(".")) for key, text in collect.items())
    return {(key,): (name, path) for key, (name, _, path) in parts}


# Values from answers: those that a step saves for later steps, and those that the flow collects.

_COMPUTED = lazy_pattern(r"(\$.+)\.(`(?:len|sorted|str\(\)|split\(., +\d+, +(?:\d+|-1)\))`)")
"""A path, and what jsonpath-ng computes from the value there."""


def pick(text: str, output: Json, step: str, at: Path) -> Json:
    """Return the value at a path in a step's output, which has every header of the answer in lower case: from
    `$`, or from whichever of the whole output and its body has it. A path with wildcards that matches several
    values gives a list of them. A path may end in a function."""
    pattern = lowered = _pattern_in(text)
    match pattern.segments:
        case ("headers", str(name), *rest):
            lowered = replace(pattern, segments=("headers", name.lower(), *rest))
    values = _values_at(lowered, output, at) or _values_at(pattern, output, at)
    if not values:
        hint = suggest_path(pattern, output) or f"its status was {output['status']}"
        raise CannotReplay(Problem("BK313", f"{step}: nothing at {text!r} in its output", hint, at=at))
    value = values[0] if len(values) == 1 else values
    if computed := _COMPUTED.fullmatch(text):
        from baselinekit.values.jsonpath import compute  # few flows need it

        try:
            value = compute(computed[2], value)
        except ValueError:
            message = f"{step}: {text!r} cannot be computed from {json_type(value)}"
            raise CannotReplay(Problem("BK313", message, "look at the output", at=at)) from None
    return value


def _pattern_in(text: str) -> Pattern:
    match = _COMPUTED.fullmatch(text)
    return parse(match[1] if match else text)


def _values_at(pattern: Pattern, output: Json, at: Path) -> list[Json]:
    starts = roots(pattern, output)
    if len(starts) > 1:
        hint = f"write $.{pattern.text} or body.{pattern.text}"
        raise invalid("BK204", f"{pattern.text!r} is both in the whole output and in its body", hint, at)
    return [value for start in starts for _, value in find(pattern, output["body"] if start else output)]


def _problems_of_flow(flow: HttpFlow) -> Iterator[Problem]:
    """Yield unknown steps in `collect`, and invalid paths."""
    names = step_names(flow)
    for number, (place, (name, path)) in enumerate(collected_of(flow).items()):
        at = (*INPUT, "collect", *((number,) if isinstance(flow.collect, list) else place))
        if name not in names:
            hint = suggest(name, names) or f"there are {', '.join(names)}"
            yield Problem("BK108", f"no step is called {name!r}", hint, at=at)
        elif path:
            yield from _problems_of_path(path, at)


def _problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        _pattern_in(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []


# What is wrong with a request: checked as it is written, when its file is read, and as it is sent.

_METHOD = lazy_pattern(r"[A-Z][A-Z0-9_-]*")
_VARIABLE = lazy_pattern(r"\{\{.*?\}\}")
_UNSAFE = lazy_pattern(r"[^!$&'()*+,/:;=?@\[\]~A-Za-z0-9._%-]|%(?![0-9A-Fa-f]{2})")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f]")
_HOST = lazy_pattern(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")
_METHODS = "such as GET or POST"
_ENDPOINTS = "such as /users; a whole address goes under `url`"
_TARGETS = ("endpoint", "path", "url")
_BODIES = ("json", "body", "form", "files")


def check_request(request: HttpRequest, at: Path) -> Iterator[Problem]:
    """Check a request as it is written in a file."""
    if "{{" not in request.method and not _METHOD.fullmatch(request.method):
        yield Problem("BK108", f"{request.method!r} is not an HTTP method", _METHODS, at=(*at, "method"))
    targets = [name for name in _TARGETS if getattr(request, name) is not None]
    if not targets:
        hint = "add `endpoint: /…`, or `url: https://…`"
        yield Problem("BK104", "the request names no target", hint, at=(*at, "endpoint"))
    elif len(targets) > 1:
        yield _combined(targets, at)
    for name in targets:
        text = getattr(request, name)
        if name == "url":
            yield from check_url(text, (*at, name))
        elif not text.startswith(("/", "{{")):
            yield Problem("BK108", f"`{name}` must start with `/`", _ENDPOINTS, at=(*at, name))
    yield from check_headers(request.headers, (*at, "headers"))
    bodies = [name for name in _BODIES if getattr(request, name) not in (ABSENT, None)]
    if len(bodies) > 1 and bodies != ["form", "files"]:
        yield _combined(bodies, at)


def _combined(names: list[str], at: Path) -> Problem:
    message = f"`{'` and `'.join(names)}` cannot be combined"
    return Problem("BK108", message, "keep one of them (files may go with form)", at=(*at, names[1]))


def check_base(url: str | None, at: Path) -> Iterator[Problem]:
    """Check an address to which an `endpoint` is appended."""
    yield from check_url(url, at)
    if url is not None and "{{" not in url and ("?" in url or "#" in url):
        message = "a base_url has no `?` and no `#`"
        yield Problem("BK108", message, "write them in the endpoint, which follows it", at=at)


def check_url(url: str | None, at: Path) -> Iterator[Problem]:
    if url is not None and not url.startswith("{{"):
        try:
            normalize_url(_VARIABLE.sub("1", url), at, url)
        except InvalidInput as error:
            yield from error.problems


def check_headers(headers: Mapping[str, Scalar], at: Path) -> Iterator[Problem]:
    for name, value in headers.items():
        if fault := header_fault(_VARIABLE.sub("x", name), str(value)):
            yield Problem("BK108", *fault, at=(*at, name))


def normalize_url(url: str, at: Path = (), shown: str = "") -> str:
    """Return a URL in normal form, or raise InvalidInput: http(s), no credentials, a plain host, ASCII. The
    check of an origin and the connection then read it alike (F16)."""
    shown = url_for_message(shown or url)
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host).compressed}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
        is_usable = bool(host.startswith("[") or _HOST.fullmatch(host)) and not _CONTROL.search(url)
        is_usable = is_usable and parts.scheme in ("http", "https") and port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        message = f"not an absolute http or https address, {shown!r}"
        raise invalid("BK108", message, "such as https://api.example.com", at)
    if "@" in parts.netloc:
        message = "the address contains credentials"
        raise invalid("BK108", message, "remove them, and use `auth` with variables", at)
    port_text = f":{port}" if port is not None else ""
    query = f"?{_percent_encode(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{port_text}{_percent_encode(parts.path) or '/'}{query}"


def _percent_encode(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), text)


# One request with every setting decided: by the step, else the execution, the configuration, the default.

DEFAULT_TIMEOUT = 30.0
DEFAULT_KEPT_HEADERS = ["content-type"]
"""The headers that are kept where `keep_headers` is not set."""
_OWN_HEADERS = {
    "User-Agent": f"baselinekit/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
}


def _chosen(name: str, default: Any, *parts: object) -> Any:
    """Return the setting of the first part that has it."""
    return next((value for part in parts if (value := getattr(part, name, None)) is not None), default)


def compose(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Request:
    """Return the request of a step whose variables are expanded, with the cookies of the recipe."""
    method, parts = as_text(step.method), (step, execution, setting.http)
    if not _METHOD.fullmatch(method) or method == "CONNECT":
        raise invalid("BK108", f"{method!r} is not an HTTP method", _METHODS, (*at, "method"))
    content, content_type = _body_of(step, setting)
    configured = setting.scope.expand(setting.http.headers)
    headers = merged(_OWN_HEADERS, configured, execution.headers, step.headers)
    if content_type:
        headers.setdefault("content-type", ("Content-Type", content_type))
    parse, take = _chosen("parse", None, *parts), _chosen("take", None, *parts)
    if take is not None:  # the rows of a compressed stream cannot be counted as it arrives
        headers["accept-encoding"] = ("Accept-Encoding", "identity")
    auth = step.auth or (None if "authorization" in headers else execution.auth)
    credentials = _credentials(auth, (*at, "auth") if step.auth else (*EXECUTION, "auth")) if auth else None
    if isinstance(credentials, str):
        headers["authorization"] = ("Authorization", credentials)
    if cookies := {**execution.cookies, **step.cookies}:
        own = [headers["cookie"][1]] if "cookie" in headers else []
        pairs = (f"{name}={as_text(value)}" for name, value in cookies.items())
        headers["cookie"] = ("Cookie", "; ".join([*own, *pairs]))
    for name, value in headers.values():
        if fault := header_fault(name, value):
            raise invalid("BK108", *fault, (*at, "headers", name) if name in step.headers else at)
    verify, cert = _certificates(execution, setting)
    return Request(
        method=method,
        url=_url_of(step, execution, setting, at),
        headers=tuple(headers.values()),
        content=content,
        digest=credentials if isinstance(credentials, Auth) else None,
        timeout=float(_chosen("timeout", DEFAULT_TIMEOUT, *parts)),
        verify=verify,
        cert=cert,
        http2=bool(_chosen("http2", False, *parts)),
        max_body=int(_chosen("max_body", DEFAULT_MAX_BODY, *parts)),
        parse=parse,
        take=take,
        watch=partial(BodyWatch, parse, take),
    )


def _url_of(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> str:
    name = next((name for name in _TARGETS if getattr(step, name) is not None), "endpoint")
    at, target = (*at, name), as_text(_chosen(name, "", step))
    if name != "url":
        surroundings = setting.surroundings
        base = surroundings.override_base_url or execution.base_url or surroundings.base_url
        if not base:
            hint = "pass --base-url URL, or set execution.base_url, or base_url: in baselinekit.yaml"
            raise invalid("BK310", "no base_url", hint, at)
        if target and not target.startswith("/"):
            raise invalid("BK108", f"`{name}` must start with `/`", _ENDPOINTS, at)
        target = as_text(base).rstrip("/") + target
    if step.params:
        target = target.partition("#")[0]
        target += f"{'&' if '?' in target else '?'}{urlencode(pairs_of(step.params))}"
    return normalize_url(target, at)


def pairs_of(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return names with their values as they are sent; a name with a list is repeated for each item."""
    listed = ((name, value if isinstance(value, list) else [value]) for name, value in values.items())
    return [(name, "" if item is None else as_text(item)) for name, items in listed for item in items]


def _credentials(auth: Auth, at: Path) -> str | Auth:
    """Return the value of the Authorization header; for digest the credentials, as it depends on the
    challenge."""
    if auth.type == "bearer":
        if not auth.token:
            raise invalid("BK108", "`auth` of type bearer has no token", "add `token:`", at)
        return f"Bearer {as_text(auth.token)}"
    if auth.username is None:
        raise invalid("BK108", f"`auth` of type {auth.type} has no username", "add `username:`", at)
    name, password = as_text(auth.username), as_text(auth.password or "")
    if auth.type == "digest":
        return Auth("digest", name, password)
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode('utf-8', 'replace')).decode()}"


def _body_of(step: HttpRequest, setting: Setting) -> tuple[bytes, str]:
    """Return the body and its media type."""
    if step.files is not None:
        return _multipart(step, setting)
    if step.form is not None:
        return urlencode(pairs_of(step.form)).encode(), "application/x-www-form-urlencoded"
    if isinstance(step.body, str):
        return step.body.encode("utf-8", "replace"), ""
    value = step.json if step.json is not ABSENT else step.body
    return (b"", "") if value is ABSENT else (to_bytes(value), "application/json")


def _multipart(step: HttpRequest, setting: Setting) -> tuple[bytes, str]:
    import mimetypes

    def escaped(text: str) -> str:
        return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

    parts = [(name, "", value.encode("utf-8", "replace")) for name, value in pairs_of(step.form or {})]
    for name, path in (step.files or {}).items():
        kind = mimetypes.guess_type(as_text(path))[0] or "application/octet-stream"
        further = f'; filename="{escaped(as_text(path).rsplit("/", 1)[-1])}"\r\nContent-Type: {kind}'
        parts.append((name, further, read_bytes(setting.surroundings, as_text(path))))
    boundary = sha256(b"\0".join(content for _, _, content in parts)).hexdigest()[:32]
    body = b""
    for name, further, content in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{escaped(name)}"{further}\r\n\r\n'
        body += head.encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


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


def read_answer(response: Response, request: Request) -> Body:
    """Return the value of the body, read as the request states."""
    content_type, parse, take = response.header("content-type"), request.parse, request.take
    return read_body(response.body, content_type, response.status, parse, take, request.max_body)


def http_output(response: Response, keep: list[str], body: Json) -> dict[str, Json]:
    """Return a response as `{status, headers, body}`, with only the headers that are kept."""
    headers = all_headers(response)
    if keep == DEFAULT_KEPT_HEADERS and 300 <= response.status < 400:
        keep = [*keep, "location"]  # all that a redirect needs
    kept_headers = {lower: headers[lower] for name in keep if (lower := name.lower()) in headers}
    return {"status": response.status, "headers": kept_headers, "body": body}


def all_headers(response: Response) -> dict[str, str]:
    """Return all headers by lower-case name. The values of a repeated header are joined in order."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers


# The cookies of one recipe: later steps send back what an answer sets, to the same port of its host, and of
# the subdomains for which `Domain=` shares it. No cookie outlives the recipe (F50). The jar of the standard
# library and of httpx fails on broken cookies and writes about it to the terminal, sends a cookie to every
# port of its host, and lets the host 10.0.0.1 set one for 11.0.0.1.

_SECONDS = lazy_pattern(r"-?[0-9]{1,12}")
_UNSHARED = lazy_pattern(r"[^.]+|(?:ac|co|com|edu|gob|gov|mil|ne|net|or|org)\.[a-z]{2}|[0-9.]+|.*:.*")
"""A domain under which hosts have nothing in common: `com`, `co.uk` and the like (the whole list of public
suffixes is longer than this program), and a part of an IP address."""


class Cookies:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._cookies: dict[tuple[str, str, str, str], tuple[str, bool, bool]] = {}
        """By port, host, path and name: the value, whether it is for subdomains, and for https only."""

    def take(self, url: str, response: Response) -> None:
        """Add the cookies that an answer sets, and remove those that it revokes. A broken one is left out, as
        is one for a host that this one does not belong to."""
        parts, (host, _, port) = urlsplit(url), host_of(origin(url)).rpartition(":")
        for text in (text for header, text in response.headers if header.lower() == "set-cookie"):
            pair, *rest = text.split(";")
            name, equals, value = (part.strip() for part in pair.partition("="))
            pairs = (part.partition("=") for part in rest)  # the last of a repeated attribute counts
            attributes = {key.strip().lower(): setting.strip() for key, _, setting in pairs}
            domain = attributes.get("domain", "").lower().removeprefix(".")
            is_shared = bool(domain) and not _UNSHARED.fullmatch(domain)
            is_foreign = domain not in ("", host) and not (is_shared and host.endswith(f".{domain}"))
            if not name or not equals or is_foreign or _CONTROL.search(name + value):
                continue
            path = attributes.get("path", "")
            path = path if path.startswith("/") else parts.path.rpartition("/")[0] or "/"
            key = (port, domain or host, path, name)
            self._cookies.pop(key, None)
            expires = http_date(attributes.get("expires", ""))
            is_expired = expires is not None and expires <= self._now()
            if _SECONDS.fullmatch(attributes.get("max-age", "")):
                is_expired = int(attributes["max-age"]) <= 0
            if not is_expired:  # a server revokes a cookie by an expiry in the past
                self._cookies[key] = value, is_shared, "secure" in attributes

    def header_for(self, url: str) -> str:
        """Return the value of the Cookie header for a URL, cookies with longer paths first."""
        parts, (to_host, _, to_port) = urlsplit(url), host_of(origin(url)).rpartition(":")
        chosen = [
            (len(path), f"{name}={value}")
            for (port, host, path, name), (value, is_shared, is_secure) in self._cookies.items()
            if port == to_port
            and (to_host == host or (is_shared and to_host.endswith(f".{host}")))
            and (parts.path == path or parts.path.startswith(path.rstrip("/") + "/"))
            and (parts.scheme == "https" or not is_secure)
        ]
        chosen.sort(key=lambda cookie: -cookie[0])
        return "; ".join(text for _, text in chosen)


# One request with its cookies, redirects and retries; each time it is sent it is checked again.

_TOO_BUSY = frozenset((429, 502, 503, 504))
_LONGEST_WAIT = 60.0
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


def _follow(
    request: Request, redirects: int, retries: int, setting: Setting, cookies: Cookies, short: set[str]
) -> tuple[Response, float, int]:
    """Return the answer after redirects, the seconds that its requests took, and the number of retries.
    `short`: the short secrets in the request; a redirected request has none of them."""
    deadline = time.monotonic() + request.timeout
    seconds, retried = 0.0, 0
    for hop in range(max(0, redirects) + 1):
        outgoing = request
        if received := cookies.header_for(request.url):  # cookies in the recipe take precedence
            own = [text for name, text in request.headers if name.lower() == "cookie"]
            names = {pair.partition("=")[0].strip() for text in own for pair in text.split(";")}
            pairs = [pair for pair in received.split("; ") if pair.partition("=")[0] not in names]
            others = _without(request.headers, "cookie")
            outgoing = replace(request, headers=(*others, ("Cookie", "; ".join([*own, *pairs]))))
        if hop:
            outgoing = replace(outgoing, timeout=max(0.001, deadline - time.monotonic()))
        admitted = _admit(outgoing, setting, () if hop else short)
        response, tries = ask_with_retries(admitted, retries, setting)
        seconds, retried = seconds + response.seconds, retried + tries - 1
        cookies.take(request.url, response)
        is_redirect = response.status in _REDIRECTS and response.header("location")
        if not redirects or not is_redirect:
            return response, seconds, retried
        if hop < redirects:
            request = _redirected(request, response)
    options = "capture: -L for 10, --redirects N; recipe: `redirects: N`"
    raise cannot_replay("BK308", f"more than {redirects} redirects", f"follow more, if they end ({options})")


def _without(headers: Iterable[tuple[str, str]], name: str) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in headers if pair[0].lower() != name)


def admitted(step: HttpRequest, execution: HttpExecution, setting: Setting, at: Path) -> Request:
    """Return a step as it is sent, or refuse it: its variables expanded, its address checked."""
    scope = setting.scope
    request = compose(scope.expand(step, at), scope.expand(execution, EXECUTION), setting, at)
    try:
        return _admit(request, setting, _short_secrets(step, execution, setting))
    except Refused as error:  # the place where the recipe states the address
        is_shared = step.url is None and execution.base_url is not None
        target = next((name for name in _TARGETS if getattr(step, name) is not None), "")
        place = (*EXECUTION, "base_url") if is_shared else (*at, target)
        raise Refused(*(one if one.at else replace(one, at=place) for one in error.problems)) from None


def _short_secrets(step: HttpRequest, execution: HttpExecution, setting: Setting) -> set[str]:
    """Return the names of the recipe's secrets that are too short to be searched for in its request."""
    short = {name for name, secret in setting.scope.secrets.items() if len(secret.value) < SHORTEST_WITHIN}
    return short and short & {*names_in(step), *names_in(execution), *names_in(setting.http.headers)}


def _admit(request: Request, setting: Setting, short_secrets: Iterable[str] = ()) -> Request:
    """Return the request with the check of its address; Refused unless it may be sent with the secrets in it.
    `short_secrets`: the names of the short ones among them."""
    known, names = setting.scope.secrets, set[str]()
    if known:
        texts = [request.url, request.content.decode("utf-8", "replace")]
        texts += [text for pair in request.headers for text in pair]
        if request.digest:
            texts += [request.digest.username or "", request.digest.password or ""]
        names = {*setting.redactor.found_in(*texts), *short_secrets} & known.keys()
    setting.trust.check_request(request.url, [(name, known[name]) for name in sorted(names)])
    if isinstance(request.verify, str) and request.url[:6].lower() == "https:":
        check_authorities(request.url, request.verify, setting)
    return replace(request, admit=partial(setting.trust.check_address, request.url))


def _redirected(request: Request, response: Response) -> Request:
    """Return the request that a redirect asks for. Credentials are never sent to another origin (F17)."""
    location, status = response.header("location"), response.status
    try:
        url = normalize_url(urljoin(request.url, location.strip()))
    except (InvalidInput, ValueError):
        message = f"a redirect ({status}) to {url_for_message(location)!r}, which cannot be followed"
        raise cannot_replay("BK308", message) from None
    if request.method != "HEAD" and (status == 303 or (status in (301, 302) and request.method == "POST")):
        headers = _without(request.headers, "content-type")
        request = replace(request, method="GET", content=b"", headers=headers)
    if origin(url) == origin(request.url):
        return replace(request, url=url)
    if request.content:
        message = f"a redirect ({status}) would send the body to {origin(url)}"
        raise cannot_replay("BK308", message, "request that address directly, if it is the right one")
    headers = tuple(pair for pair in request.headers if pair[0].lower() in _HARMLESS)
    return replace(request, url=url, headers=headers, digest=None, cert=None)


def ask_with_retries(
    request: Request, retries: int, setting: Setting, retried: frozenset[int] | None = None
) -> tuple[Response, int]:
    """Return the answer and the number of tries. A request is retried when nothing was sent, and when the
    status is one of `retried`, all within the time limit of the request. By default a server that is too busy
    is asked again if the method is idempotent."""
    clients, tries = setting.clients, 0
    if retried is None:
        retried = _TOO_BUSY if request.method in IDEMPOTENT else frozenset()
    deadline = time.monotonic() + request.timeout
    while True:
        tries += 1
        # a random part, so that workers do not all retry at once
        wait = min(2.0 ** (tries - 1), _LONGEST_WAIT) * (0.75 + random.random() / 2)
        try:
            response = clients.send(request)
        except CannotReplay as error:
            remaining = deadline - time.monotonic()
            nothing_sent = any(problem.code == "BK301" for problem in error.problems)
            if tries > retries or not nothing_sent or wait >= remaining:
                raise
        else:
            if tries > retries or response.status not in retried:
                return response, tries
            asked_wait = response.asked_wait(clients.now())
            wait = wait if asked_wait is None else asked_wait
            remaining = deadline - time.monotonic()
            if wait >= remaining:
                return response, tries
        clients.sleep(wait)
        request = replace(request, timeout=remaining - wait)


# The kind.

_EVAL_CONTENT = {"$ref": "#/$defs/HttpRequest"}
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""The methods that RFC 9110 calls safe."""
_OPERATION_KEYS = ("operationName", "method")
"""Keys of a body that name the operation, if the address does not."""
_STATUS = ("status", "$.status")


def without_unused_base(recipe: Recipe, setting: Setting) -> HttpExecution:
    """Leave out base_url where the operator overrides it: the variables in it need not be defined then."""
    execution: HttpExecution = recipe.execution
    return replace(execution, base_url=None) if setting.surroundings.override_base_url else execution


class HttpKind(RecipeKind):
    name = "http"
    execution = HttpExecution
    currents = current_form("Http", HttpRequest, HttpExecution), current_form("Flow", HttpFlow, HttpExecution)
    parts = ("status", "headers", "body")
    answer = "body"
    headers = "headers"
    paths_start_in_answer = True
    asks_address = True
    eval_input = "api_call"
    eval_content = _EVAL_CONTENT

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        return read_as(HttpRequest, content)

    def current_of(self, raw_input: Json) -> type[Any]:
        return self.currents[isinstance(raw_input, dict) and "steps" in raw_input]

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        first_steps: dict[str, int] = {}
        for number, (step, at) in enumerate(steps_of(recipe.input), 1):
            yield from check_request(step, at)
            if step.name is not None and (first := first_steps.setdefault(step.name, number)) != number:
                message = f"two steps are called {step.name!r}: {first} and {number}"  # `collect` names one
                yield Problem("BK108", message, "give each a name of its own", at=(*at, "name"))
        yield from check_base(recipe.execution.base_url, (*EXECUTION, "base_url"))
        yield from check_headers(recipe.execution.headers, (*EXECUTION, "headers"))

    def responses(self, recipe: Recipe) -> dict[Path, str]:
        return {place: step for place, (step, path) in collected_of(recipe.input).items() if not path}

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {
            place if path else (*place, "status"): OutcomePlace(self.judge_outcome, step)
            for place, (step, path) in collected_of(recipe.input).items()
            if not path or path in _STATUS
        }

    def judge_outcome(self, number: int, step: str) -> tuple[int, str]:
        subject = f"step {step} answered {number}" if step else f"the answer is {number}"
        if number >= 500:
            return 2, f"{subject}, a server error"
        return int(number >= 400), f"{subject}, a refused request"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        is_flow, targets = isinstance(recipe.input, HttpFlow), []
        for step, _ in steps_of(recipe.input):
            base = "" if is_flow or step.url is not None else (base_url or "").rstrip("/")
            targets.append(f"{step.method} {base}{step.endpoint or step.path or step.url or '/'}")
        return " → ".join(targets)

    def group(self, recipe: Recipe, base_url: Json) -> str:
        """Return the host."""
        url = str(base_url or getattr(recipe.input, "url", "") or "")
        return url.split("://")[-1].split("/")[0].rsplit("@")[-1].split(":")[0] or self.name

    def distinctions(self, recipe: Recipe, base_url: Json) -> list[str]:
        """Return the path, the query, the operation that a body names, and the host; of a flow, those of its
        last step."""
        step, _ = steps_of(recipe.input)[-1]
        target = step.url or f"{base_url or ''}{step.endpoint or step.path or ''}"
        address, _, query = target.partition("#")[0].partition("?")  # urlsplit refuses a path like `//[x`
        host, _, path = address.rpartition("://")[2].partition("/")
        params = [f"{name} {value}" for name, value in step.params.items()]
        body = step.json if isinstance(step.json, dict) else {}
        operations = [body[key] for key in _OPERATION_KEYS if isinstance(body.get(key), str)]
        return [f"{step.method} {path}", " ".join([query, *params]), " ".join(operations), host]

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield from super().addresses(recipe)
        yield from (step.url for step, _ in steps_of(recipe.input) if step.url)

    def is_definition(self, recipe: Recipe, path: Path) -> bool:
        parse = _chosen("parse", "", recipe.input, recipe.execution)
        return parse == "prometheus" and path[:1] == ("body",) and is_metrics_definition(path[1:])

    def form_found(self, recipe: Recipe, output: Json) -> RecognisedForm | None:
        parse = _chosen("parse", "", recipe.input, recipe.execution)
        return None if isinstance(recipe.input, HttpFlow) else undeclared_form(output, parse)

    def only_reads(self, recipe: Recipe) -> bool:
        """A method given by a variable counts as one that writes, because it may be any."""
        return all(step.method in SAFE for step, _ in steps_of(recipe.input))

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        execution, is_flow = without_unused_base(recipe, setting), isinstance(recipe.input, HttpFlow)
        cookies, saved = Cookies(setting.clients.now), dict[str, Json]()
        outputs: list[dict[str, Json]] = []
        exchanges: list[tuple[str, Request, Json]] = []  # each answer with every header
        notes: list[str] = []
        values_of_writes, has_written = list[tuple[str, str, Json]](), False
        seconds, retried = 0.0, 0
        for index, (raw_step, at) in enumerate(steps_of(recipe.input)):
            step_setting = replace(setting, scope=setting.scope.with_saved(saved)) if saved else setting
            scope, name = step_setting.scope, raw_step.name or str(index + 1)
            step, shared = scope.expand(raw_step, at), scope.expand(execution, EXECUTION)
            request, parts = compose(step, shared, step_setting, at), (step, shared, setting.http)
            redirects = _chosen("redirects", 0, *parts)
            redirects = MANY_REDIRECTS if redirects is True else int(redirects)
            short = _short_secrets(raw_step, execution, setting)
            retries = int(_chosen("retries", 0, *parts))
            response, took, repeats = _follow(request, redirects, retries, step_setting, cookies, short)
            has_written = has_written or request.method not in SAFE
            body = read_answer(response, request)
            if is_byte_hash(body.value):
                setting.keep(response.body)
            kept = _chosen("keep_headers", DEFAULT_KEPT_HEADERS, shared, setting.http)
            output = http_output(response, kept, body.value)
            full_output = {**output, "headers": all_headers(response)}
            outputs.append(output)
            exchanges.append((name if is_flow else "", request, full_output))
            notes += [body.note] if body.note else []
            seconds, retried = seconds + took, retried + repeats
            for key, path in raw_step.save.items():
                saved[key] = pick(path, full_output, f"step {name}", (*at, "save", key))
                values_of_writes += [(key, path, saved[key])] if has_written else []
        collected: dict[Path, Json] = {}
        names = step_names(recipe.input)
        for place, (name, path) in collected_of(recipe.input).items():
            output, at = exchanges[names[name]][2], (*INPUT, "collect", *place)
            collected[place] = pick(path, output, f"step {name}", at) if path else outputs[names[name]]
        return Observation(
            collected[()] if () in collected else {key: value for (key,), value in collected.items()},
            seconds,
            1 + retried,
            exchanges=tuple(exchanges),
            notes=tuple(notes),
            saved=tuple(values_of_writes),
        )

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Check what can be known before the first request. Values that an earlier step saves count as
        defined; the request of a step that uses them is not composed yet."""
        problems = list(_problems_of_flow(recipe.input)) if isinstance(recipe.input, HttpFlow) else []
        saved: dict[str, Json] = {}
        execution = without_unused_base(recipe, setting)
        for step, at in steps_of(recipe.input):
            scope = setting.scope.with_saved(saved)
            undefined = [*undefined_in(step, scope, at), *undefined_in(execution, scope, EXECUTION)]
            problems += [problem for problem in undefined if problem not in problems]
            if not undefined and not saved.keys() & {*names_in(step), *names_in(execution)}:
                try:
                    admitted(step, execution, replace(setting, scope=scope), at)
                except InvalidInput as error:
                    problems += error.problems
            for key, path in step.save.items():
                problems += _problems_of_path(path, (*at, "save", key))
                saved[key] = ""
        if problems:
            raise InvalidInput(*problems)

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[bytes]:
        """Yield the contents of the files that it sends, except where a path depends on an earlier answer."""
        for step, _ in steps_of(recipe.input):
            for path in (step.files or {}).values():
                with suppress(InvalidInput):
                    yield read_bytes(setting.surroundings, as_text(setting.scope.expand(path)))


HTTP = HttpKind()
