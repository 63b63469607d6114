"""What an answer is: its bytes within their limits, its value, and the cookies that it sets."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from urllib.parse import urlsplit

from baselinekit.documents.jsontext import NotJson, decode
from baselinekit.errors import CannotReplay, cannot
from baselinekit.model.recipes import Request, Response
from baselinekit.model.values import Json
from baselinekit.trust import origin

_CHARSETS = {
    "utf-8": "utf-8-sig",
    "utf8": "utf-8-sig",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
}
_TEXT = re.compile(
    r"text/.*|application/(.*\+)?(xml|yaml)|application/(x-)?(javascript|ecmascript|yaml|ndjson|jsonl|toml|sh)"
    r"|application/(x-www-form-urlencoded|graphql|sql|jsonlines|json-seq|jwt|jose|x-pem-file|pem-certificate-chain)"
    r"|image/svg\+xml|message/.*|multipart/.*"
)
_JSON = re.compile(r"application/(.*\+)?json|[a-z]+/.*\+json")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CHARSET = re.compile(r"""(?i);\s*charset\s*=\s*["']?([^"';\s]+)""")


DEFAULT_MAX_BODY = 10_000_000
_BYTES_OF_EACH = 10
_HINT = "correct the service: it sends something else, or the wrong Content-Type"

KEPT = ["content-type"]
"""The headers that are kept when nobody says which."""


def http_output(response: Response, keep: list[str], max_body: int = DEFAULT_MAX_BODY) -> dict[str, Json]:
    """An answer as `{status, headers, body}`, of the headers those that are kept."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    if keep == KEPT and 300 <= response.status < 400:
        keep = [*keep, "location"]  # all that such an answer says
    kept = {lower: headers[lower] for name in keep if (lower := name.lower()) in headers}
    return {"status": response.status, "headers": kept, "body": interpret(response, max_body)}


def interpret(response: Response, max_body: int) -> Json:
    if not response.body:
        return ""
    stated = response.header("content-type")
    kind = stated.partition(";")[0].strip().lower()
    charset = _CHARSET.search(stated)
    name = charset[1] if charset else "utf-8"
    try:
        codec = _codec(response.body, name)
        text = response.body.decode(codec) if codec else None
    except UnicodeDecodeError:
        text = None
    if _JSON.fullmatch(kind):
        return _json(text, response, name, max_body // _BYTES_OF_EACH)
    return text if text is not None and (not kind or _TEXT.fullmatch(kind)) else as_hash(response.body)


def _json(text: str | None, response: Response, charset: str, most: int) -> Json:
    says = f"the answer (status {response.status}) is declared as JSON"
    if text is None:
        codec, why = _codec(response.body, charset), f"its charset {charset!r} is not allowed for JSON"
        if codec is not None:
            try:
                response.body.decode(codec)
                why = "it cannot be decoded"
            except UnicodeDecodeError as error:
                why = f"it is not {codec.removesuffix('-sig')} text at byte {error.start}"
        raise cannot("BK307", f"{says}, but {why}", _HINT)
    if _containers(text) > most and _containers(_STRING.sub("", text)) > most:
        what = f"the answer holds more than {most:,} arrays and objects"
        raise cannot("BK305", what, "request less, or raise max_body (each counts as ten bytes)")
    try:
        return decode(text)
    except NotJson as error:
        raise cannot("BK307", f"{says}, but: {error}", _HINT) from None


def _containers(text: str) -> int:
    """How many arrays and objects a JSON text seems to have: each takes up to thirty times the memory of its
    text. What stands in strings counts too, unless they are taken out."""
    return text.count("[") + text.count("{")


def _codec(body: bytes, charset: str) -> str | None:
    return "utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else _CHARSETS.get(charset.lower())


def text_or_hash(body: bytes) -> Json:
    """What a program wrote: text as it is, other bytes as hash and size."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return as_hash(body)


def as_hash(body: bytes) -> dict[str, Json]:
    return {"sha256": sha256(body).hexdigest(), "size": len(body)}


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
    return read(_counted(chunks, stated), codings.decode("latin-1"), request.max_body)


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
_BAD_COOKIE = re.compile(r"[\x00-\x1f\x7f]")
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
    if domain and domain != host and not ("." in domain and _is_below(host, domain)):
        return None
    stated = attributes.get("path", "")
    folder = stated if stated.startswith("/") else path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), port, folder, "secure" in attributes)


def _is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _where(url: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and path."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", origin(url).rpartition(":")[2], parts.path or "/"
