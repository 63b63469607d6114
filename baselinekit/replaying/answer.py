"""Reads HTTP responses: the body within its limits, its value, and the cookies that it sets."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from urllib.parse import urlsplit

from baselinekit.clients.trust import origin
from baselinekit.errors import CannotReplay, cannot_replay
from baselinekit.frozen import frozen
from baselinekit.kinds.bodies import Body, BodyForm, RowCount, form_of, read_body
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Request, Response
from baselinekit.model.values import Json

DEFAULT_MAX_BODY = 10_000_000

SPEAKS_TLS = "the port speaks TLS, which the address does not say"
CONNECTION_LOST = "the connection was lost before the answer was complete"

DEFAULT_KEPT_HEADERS = ["content-type"]
"""The headers that are kept where `keep_headers` is not set."""


class BrokenAnswer(Exception):
    """The connection ended too early, or the data received is not HTTP."""


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


# Content-Encoding is decoded in bounded steps: a bomb of a few hundred bytes never becomes gigabytes (F19),
# and truncated data is an error, never a shorter answer (F21).

_MOST_MEMBERS = 100


def read_decoded(chunks: Iterable[bytes], codings: str, limit: int) -> bytes:
    """Return the whole decoded body: at most `limit` bytes, on the wire and after decoding."""
    coding = codings.strip().lower()
    if coding in ("", "identity"):
        return _join_chunks(chunks, limit)
    if coding not in ("gzip", "x-gzip", "deflate"):
        hint = "gzip and deflate can be decoded: leave Accept-Encoding to baselinekit"
        raise cannot_replay("BK306", f"the answer is encoded as {coding!r}", hint)
    return _decompress(_join_chunks(chunks, limit), coding, limit)


def too_large(limit: int) -> CannotReplay:
    hint = "request less, or raise max_body in execution or under `http:` in baselinekit.yaml"
    return cannot_replay("BK305", f"the answer is larger than {limit:,} bytes", hint)


def _join_chunks(chunks: Iterable[bytes], limit: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


def _decompress(raw: bytes, coding: str, limit: int) -> bytes:
    body = bytearray()
    try:
        for _ in range(_MOST_MEMBERS):
            if not raw:
                return bytes(body)
            wrapped = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
            window_bits = (
                16 + zlib.MAX_WBITS if coding != "deflate" else zlib.MAX_WBITS * (1 if wrapped else -1)
            )
            decompressor = zlib.decompressobj(window_bits)
            body += decompressor.decompress(raw, limit + 1 - len(body))
            if len(body) > limit:
                raise too_large(limit)
            if not decompressor.eof:
                raise cannot_replay("BK304", f"the answer's {coding} data ends in the middle", "ask again")
            raw = decompressor.unused_data
    except zlib.error as error:
        raise cannot_replay("BK306", f"the answer says that it is {coding}, but is not: {error}") from None
    raise cannot_replay("BK306", f"the answer's {coding} data has more than {_MOST_MEMBERS} members")


# The limits of an answer, whichever client received it: those of its head, and of its whole body.

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]

LARGEST_HEAD = 65_536
LARGEST_STATUS_LINE = 8_192
MOST_INTERIM = 10
_HEAD_HINT = "correct the service"
_WITHOUT_BODY = frozenset((204, 304))


class InterimCounter:
    """Counts the interim (1xx) answers that come before the answer itself."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        self._count += 1
        if self._count > MOST_INTERIM:
            message = f"more than {MOST_INTERIM} interim (1xx) answers came before the answer"
            raise cannot_replay("BK305", message, _HEAD_HINT)


def has_no_body(request: Request, status: int) -> bool:
    """Whether the answer has no body, whatever its headers say."""
    return request.method == "HEAD" or status in _WITHOUT_BODY


def check_head(reason: bytes, headers: Headers) -> None:
    if sum(len(name) + len(value) + 4 for name, value in headers) > LARGEST_HEAD:
        raise head_too_large()
    if len(reason) > LARGEST_STATUS_LINE:
        message = f"the status line of the answer is larger than {LARGEST_STATUS_LINE:,} bytes"
        raise cannot_replay("BK305", message, _HEAD_HINT)


def head_too_large() -> CannotReplay:
    return cannot_replay(
        "BK305", f"the headers of the answer are larger than {LARGEST_HEAD:,} bytes", _HEAD_HINT
    )


def surplus_error() -> CannotReplay:
    return cannot_replay("BK304", "more was sent than the announced answer", _HEAD_HINT)


def whole_body(request: Request, status: int, headers: Headers, chunks: Iterable[bytes]) -> bytes:
    """Return the decoded body. Its length must be the one that the answer states."""
    if has_no_body(request, status):
        return read_decoded(chunks, "", request.max_body)
    announced = content_length(headers)
    if announced is not None and announced > request.max_body:
        raise too_large(request.max_body)
    codings = b", ".join(value for name, value in headers if name.lower() == b"content-encoding")
    body_chunks = _chunks_of_length(chunks, announced)
    media_type = next((value for name, value in headers if name.lower() == b"content-type"), b"").decode(
        "latin-1"
    )
    form = form_of(media_type, request.parse)
    if form.rows is not None:
        body_chunks = _chunks_of_rows(body_chunks, form, request)
    elif form.name == "json":
        body_chunks = _chunks_of_json(body_chunks, request)
    return read_decoded(body_chunks, codings.decode("latin-1"), request.max_body)


def _chunks_of_json(chunks: Iterator[bytes], request: Request) -> Iterator[bytes]:
    """Yield the chunks of one JSON text. A stream of several texts with the same media type may never end."""
    last = b""
    try:
        for last in chunks:
            yield last
    except TimeoutError:
        if not last.endswith(b"\n"):
            raise
        message = f"the answer did not end within {request.timeout:.3g} s, and has whole lines so far"
        hint = "of a stream, `parse: ndjson` with `take: N` (--parse, --take) reads the first N rows"
        raise cannot_replay("BK303", message, f"{hint}; or raise `timeout`") from None


def _chunks_of_rows(chunks: Iterator[bytes], form: BodyForm, request: Request) -> Iterator[bytes]:
    """Yield the chunks of a stream until it holds as many rows as the request takes."""
    seen = RowCount(form)
    try:
        for chunk in chunks:
            yield chunk
            if request.take is not None:
                seen.add(chunk)
                if seen.rows >= request.take:
                    return
    except TimeoutError:
        message = f"{form.title} did not end within {request.timeout:.3g} s"
        if request.take is not None:
            raise cannot_replay(
                "BK303", f"{message}, and had {seen.rows} of {request.take} rows", "take fewer"
            ) from None
        hint = "`take: N` (--take N) reads the first N rows and hangs up; or raise `timeout`"
        raise cannot_replay("BK303", message, hint) from None


def content_length(headers: Headers) -> int | None:
    return next((int(value) for name, value in headers if name.lower() == b"content-length"), None)


def _chunks_of_length(chunks: Iterable[bytes], announced: int | None) -> Iterator[bytes]:
    """Yield the chunks, which together must be as long as Content-Length says. An answer that gives its
    length in two ways is read by its chunks; a reader that goes by the other length could see two answers."""
    length = 0
    for chunk in chunks:
        length += len(chunk)
        yield chunk
    if announced is not None and length != announced:
        message = f"{length:,} bytes came, and the answer's Content-Length says {announced:,}"
        raise cannot_replay("BK304", message, _HEAD_HINT)


# The cookies of one recipe: later steps send back what an answer sets, to the same host and port.
# No cookie outlives the recipe (F50). The standard library's jar fails on broken cookies and writes
# about it to the terminal; and it would send a cookie to every port of its host.

_LONGEST_DATE = 100


def http_date(text: str) -> float | None:
    """Return a date in a header as seconds since 1970; None if it is no date. A date without a zone is UTC,
    whatever the zone of this machine."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text[:_LONGEST_DATE])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_LARGEST_COOKIE = 4_096
_BAD_COOKIE = lazy_pattern(r"[\x00-\x1f\x7f]")
_SECONDS = lazy_pattern(r"-?[0-9]{1,12}")
_ADDRESS = lazy_pattern(r"[0-9.]+|.*:.*")


@frozen
class _Cookie:
    """`subdomains`: whether it is also sent to subdomains of its host."""

    name: str
    value: str
    host: str
    subdomains: bool
    port: str
    path: str
    secure: bool

    def goes_to(self, scheme: str, host: str, port: str, path: str) -> bool:
        host_matches = host == self.host or (self.subdomains and is_below(host, self.host))
        path_matches = path == self.path or path.startswith(self.path.rstrip("/") + "/")
        return host_matches and path_matches and port == self.port and (scheme == "https" or not self.secure)


class Cookies:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._cookies: dict[tuple[str, str, str, str], _Cookie] = {}

    def take(self, request: Request, response: Response) -> None:
        """Add the cookies that an answer sets, and remove those that it revokes."""
        for name, text in response.headers:
            if name.lower() != "set-cookie":
                continue
            pairs = (
                part.partition("=") for part in text.split(";")[1:]
            )  # the last of a repeated attribute counts
            attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
            cookie = _parse_cookie(text, attributes, request.url)
            if cookie is None:
                continue
            key = (cookie.port, cookie.host, cookie.path, cookie.name)
            self._cookies.pop(key, None)
            if _SECONDS.fullmatch(attributes.get("max-age", "")):
                is_expired = int(attributes["max-age"]) <= 0
            else:
                expires = http_date(attributes.get("expires", ""))
                is_expired = expires is not None and expires <= self._now()
            if not is_expired:  # a server revokes a cookie by an expiry in the past
                self._cookies[key] = cookie

    def header_for(self, url: str) -> str:
        """Return the value of the Cookie header for a URL, cookies with longer paths first."""
        if not self._cookies:
            return ""
        destination = _destination(url)
        cookies = [cookie for cookie in self._cookies.values() if cookie.goes_to(*destination)]
        cookies.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)


def _parse_cookie(text: str, attributes: dict[str, str], url: str) -> _Cookie | None:
    """Return None for a broken cookie, and for one that this host may not set."""
    name, equals, value = (part.strip() for part in text.partition(";")[0].partition("="))
    if not equals or not name or len(name) + len(value) > _LARGEST_COOKIE or _BAD_COOKIE.search(name + value):
        return None
    _, host, port, path = _destination(url)
    domain = attributes.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not ("." in domain and is_below(host, domain)):
        return None
    stated_path = attributes.get("path", "")
    folder = stated_path if stated_path.startswith("/") else path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), port, folder, "secure" in attributes)


def is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _destination(url: str) -> tuple[str, str, str, str]:
    """Return scheme, host, port and path."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", origin(url).rpartition(":")[2], parts.path or "/"
