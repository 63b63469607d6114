"""What an answer is: its bytes within their limits, its value, and the cookies that it sets."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from urllib.parse import urlsplit

from baselinekit.errors import CannotReplay, cannot
from baselinekit.frozen import frozen
from baselinekit.kinds.bodies import Body, BodyForm, RowCount, form_of, read_body
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Request, Response
from baselinekit.model.values import Json
from baselinekit.trust import origin

DEFAULT_MAX_BODY = 10_000_000

BROKE_OFF = "the connection was lost before the answer was complete"

KEPT = ["content-type"]
"""The headers that are kept when nobody says which."""


class Broken(Exception):
    """The connection ended too early, or what came is not HTTP."""


def read_answer(response: Response, request: Request | None = None) -> Body:
    """The value of the body, as its request wants it read."""
    asked = request or Request("GET", "")
    stated = response.header("content-type")
    return read_body(response.body, stated, response.status, asked.parse, asked.take, asked.max_body)


def http_output(response: Response, keep: list[str], body: Json) -> dict[str, Json]:
    """An answer as `{status, headers, body}`, of the headers those that are kept."""
    headers = all_headers(response)
    if keep == KEPT and 300 <= response.status < 400:
        keep = [*keep, "location"]  # all that such an answer says
    kept = {lower: headers[lower] for name in keep if (lower := name.lower()) in headers}
    return {"status": response.status, "headers": kept, "body": body}


def all_headers(response: Response) -> dict[str, str]:
    """By their names in small letters; one that comes several times as one, with its values in order."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers


# Content-Encoding undone in bounded steps: a bomb of a few hundred bytes never becomes gigabytes (F19),
# and what was cut short is an error, never a shorter answer (F21).

_MOST_MEMBERS = 100


def read(chunks: Iterable[bytes], codings: str, limit: int) -> bytes:
    """The whole body, decoded; at most `limit` bytes of it, on the wire and after decoding."""
    coding = codings.strip().lower()
    if coding in ("", "identity"):
        return _plain(chunks, limit)
    if coding not in ("gzip", "x-gzip", "deflate"):
        hint = "gzip and deflate can be decoded: leave Accept-Encoding to baselinekit"
        raise cannot("BK306", f"the answer is encoded as {coding!r}", hint)
    return _inflated(_plain(chunks, limit), coding, limit)


def too_large(limit: int) -> CannotReplay:
    hint = "request less, or raise max_body in execution or under `http:` in baselinekit.yaml"
    return cannot("BK305", f"the answer is larger than {limit:,} bytes", hint)


def _plain(chunks: Iterable[bytes], limit: int) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


def _inflated(raw: bytes, coding: str, limit: int) -> bytes:
    body = bytearray()
    try:
        for _ in range(_MOST_MEMBERS):
            if not raw:
                return bytes(body)
            wrapped = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
            bits = 16 + zlib.MAX_WBITS if coding != "deflate" else zlib.MAX_WBITS * (1 if wrapped else -1)
            stage = zlib.decompressobj(bits)
            body += stage.decompress(raw, limit + 1 - len(body))
            if len(body) > limit:
                raise too_large(limit)
            if not stage.eof:
                raise cannot("BK304", f"the answer's {coding} data ends in the middle", "ask again")
            raw = stage.unused_data
    except zlib.error as error:
        raise cannot("BK306", f"the answer says that it is {coding}, but is not: {error}") from None
    raise cannot("BK306", f"the answer's {coding} data has more than {_MOST_MEMBERS} members")


# What an answer may be, on whichever way it comes: the limits of its head, and its body taken in whole.

Headers = list[tuple[bytes, bytes]]
Answer = tuple[int, Headers, bytes]

LARGEST_HEAD = 65_536
LARGEST_STATUS_LINE = 8_192
MOST_INTERIM = 10
_HEAD_HINT = "correct the service"
_WITHOUT_BODY = frozenset((204, 304))


class Interim:
    """Counts the interim (1xx) answers that come before the answer itself."""

    def __init__(self) -> None:
        self._count = 0

    def another(self) -> None:
        self._count += 1
        if self._count > MOST_INTERIM:
            what = f"more than {MOST_INTERIM} interim (1xx) answers came before the answer"
            raise cannot("BK305", what, _HEAD_HINT)


def has_no_body(request: Request, status: int) -> bool:
    """Whatever its headers say."""
    return request.method == "HEAD" or status in _WITHOUT_BODY


def check_head(reason: bytes, headers: Headers) -> None:
    if sum(len(name) + len(value) + 4 for name, value in headers) > LARGEST_HEAD:
        raise head_too_large()
    if len(reason) > LARGEST_STATUS_LINE:
        what = f"the status line of the answer is larger than {LARGEST_STATUS_LINE:,} bytes"
        raise cannot("BK305", what, _HEAD_HINT)


def head_too_large() -> CannotReplay:
    return cannot("BK305", f"the headers of the answer are larger than {LARGEST_HEAD:,} bytes", _HEAD_HINT)


def more_than_announced() -> CannotReplay:
    return cannot("BK304", "more was sent than the announced answer", _HEAD_HINT)


def whole_body(request: Request, status: int, headers: Headers, chunks: Iterable[bytes]) -> bytes:
    """The body, decoded, and as long as the answer says that it is."""
    if has_no_body(request, status):
        return read(chunks, "", request.max_body)
    stated = stated_length(headers)
    if stated is not None and stated > request.max_body:
        raise too_large(request.max_body)
    codings = b", ".join(value for name, value in headers if name.lower() == b"content-encoding")
    counted = _counted(chunks, stated)
    kind = next((value for name, value in headers if name.lower() == b"content-type"), b"").decode("latin-1")
    form = form_of(kind, request.parse)
    if form.rows is not None:
        counted = _in_rows(counted, form, request)
    elif form.name == "json":
        counted = _in_one(counted, request)
    return read(counted, codings.decode("latin-1"), request.max_body)


def _in_one(chunks: Iterator[bytes], request: Request) -> Iterator[bytes]:
    """The chunks of one JSON text. A stream of several under its media type may never end."""
    last = b""
    try:
        for last in chunks:
            yield last
    except TimeoutError:
        if not last.endswith(b"\n"):
            raise
        what = f"the answer did not end within {request.timeout:.3g} s, and has whole lines so far"
        hint = "of a stream, `parse: ndjson` with `take: N` (--parse, --take) reads the first N rows"
        raise cannot("BK303", what, f"{hint}; or raise `timeout`") from None


def _in_rows(chunks: Iterator[bytes], form: BodyForm, request: Request) -> Iterator[bytes]:
    """The chunks of a stream, until the rows are there that the request takes."""
    seen = RowCount(form)
    try:
        for chunk in chunks:
            yield chunk
            if request.take is not None:
                seen.add(chunk)
                if seen.rows >= request.take:
                    return
    except TimeoutError:
        what = f"{form.title} did not end within {request.timeout:.3g} s"
        if request.take is not None:
            raise cannot(
                "BK303", f"{what}, and had {seen.rows} of {request.take} rows", "take fewer"
            ) from None
        hint = "`take: N` (--take N) reads the first N rows and hangs up; or raise `timeout`"
        raise cannot("BK303", what, hint) from None


def stated_length(headers: Headers) -> int | None:
    return next((int(value) for name, value in headers if name.lower() == b"content-length"), None)


def _counted(chunks: Iterable[bytes], stated: int | None) -> Iterator[bytes]:
    """The chunks, which together must be as long as Content-Length says: an answer that gives its length in
    two ways is read by its chunks, and could be two answers to whoever reads it otherwise."""
    length = 0
    for chunk in chunks:
        length += len(chunk)
        yield chunk
    if stated is not None and length != stated:
        what = f"{length:,} bytes came, and the answer's Content-Length says {stated:,}"
        raise cannot("BK304", what, _HEAD_HINT)


# The cookies of one recipe: what an answer sets, later steps send back to the same host and port.
# Nothing outlives the recipe (F50). The standard library's jar stumbles over broken cookies and writes
# about it to the terminal; and it would send a cookie to every port of its host.

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
_BAD_COOKIE = lazy_pattern(r"[\x00-\x1f\x7f]")
_SECONDS = lazy_pattern(r"-?[0-9]{1,12}")
_ADDRESS = lazy_pattern(r"[0-9.]+|.*:.*")


@frozen
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
        whom = host == self.host or (self.subdomains and is_below(host, self.host))
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
            pairs = (part.partition("=") for part in text.split(";")[1:])  # of a repeated one the last counts
            attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
            cookie = _cookie(text, attributes, request.url)
            if cookie is None:
                continue
            key = (cookie.port, cookie.host, cookie.path, cookie.name)
            self._kept.pop(key, None)
            if _SECONDS.fullmatch(attributes.get("max-age", "")):
                is_over = int(attributes["max-age"]) <= 0
            else:
                until = http_date(attributes.get("expires", ""))
                is_over = until is not None and until <= self._now()
            if not is_over:  # a time that is over is how a server takes a cookie back
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
    if not equals or not name or len(name) + len(value) > _LARGEST or _BAD_COOKIE.search(name + value):
        return None
    _, host, port, path = _where(url)
    domain = attributes.get("domain", "").lower().removeprefix(".")
    if domain and domain != host and not ("." in domain and is_below(host, domain)):
        return None
    stated = attributes.get("path", "")
    folder = stated if stated.startswith("/") else path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), port, folder, "secure" in attributes)


def is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _where(url: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and path."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", origin(url).rpartition(":")[2], parts.path or "/"
