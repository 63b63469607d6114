"""An HTTP call as it is stored in a cassette: the request, as values that can be compared part by part, and
the response, so that it can be given again."""

import base64
import hashlib
from binascii import Error as NoBase64
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from baselinekit.documents.jsontext import NotJson, decode, encode, to_bytes
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.secrets.names import is_secret_header, is_secret_key
from baselinekit.variables import MASK

Headers = Iterable[tuple[str, str]]

_LONGEST_BINARY = 1_000
"""Up to so many bytes of a request that is no text are stored; of a longer one only the digest is."""

_EVENTS = "text/event-stream"
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
_FORM = "application/x-www-form-urlencoded"
_NO_TEXT = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LAST_EVENT = lazy_pattern(r"(?:data: ?\[DONE\]|event: ?message_stop\n[^\n]*)\s*\Z")
"""The ends of streams after which clients stop reading."""

# The headers that distinguish requests: what is asked for, in which version. All others say who asks.

_COUNTED = {
    *("accept", "accept-language", "content-type", "prefer", "range", "x-http-method-override"),
    *("if-match", "if-none-match", "if-modified-since", "if-unmodified-since"),
}
_VERSION = lazy_pattern(r"^(?!x-stainless-)(?!.*(?:client|sdk|runtime|package|agent)).*-(?:version|beta)$")

# The headers of a response about how it was sent, when, and by whom. They are not stored: the body is stored
# decoded, and the file should only change if the answer does.

_TRAVEL = {
    *("connection", "keep-alive", "transfer-encoding", "content-encoding", "trailer", "upgrade", "te"),
    *("date", "server", "via", "age", "alt-svc", "nel", "report-to", "reporting-endpoints", "expect-ct"),
    *("strict-transport-security", "x-content-type-options", "server-timing", "openai-processing-ms"),
    *("x-timer", "x-served-by", "x-powered-by", "content-length"),
}
_OF_PROXIES = ("cf-", "x-envoy-", "x-cache", "proxy-", "x-amz-cf-")


@frozen
class HttpAnswer:
    """A response, not compressed. `complete`: whether it was received to its end."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    complete: bool = True

    @property
    def kind(self) -> str:
        """Its media type."""
        return media_type(next((value for name, value in self.headers if name == "content-type"), ""))

    def pieces(self) -> Iterator[bytes]:
        """The body as a client of a stream reads it: event by event, line by line, else as a whole."""
        end = b"\n\n" if self.kind == _EVENTS else b"\n" if self.kind in _LINES else b""
        start = 0
        while end and (position := self.body.find(end, start)) >= 0:
            yield self.body[start : position + len(end)]
            start = position + len(end)
        if start < len(self.body):
            yield self.body[start:]


def media_type(content_type: str) -> str:
    kind, _, _ = content_type.partition(";")
    return kind.strip().lower()


def request_parts(
    method: str, url: str, headers: Headers, body: bytes, counted: Collection[str]
) -> dict[str, Json]:
    """A request by its parts. `counted`: further headers that distinguish requests."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port and (parts.scheme, parts.port) not in _USUAL_PORTS else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    merged = _merge_pairs((name.lower(), value) for name, value in headers)
    kind = _first_value(merged.get("content-type"))
    request: dict[str, Any] = {
        "method": method.upper(),
        "url": f"{parts.scheme}://{host}{port}{parts.path or '/'}",
        "query": _merge_pairs(parse_qsl(parts.query, keep_blank_values=True)),
        "headers": {
            name: media_type(kind) if name == "content-type" else value
            for name, value in sorted(merged.items())
            if (name in _COUNTED or name in counted or _VERSION.search(name)) and value != "*/*"
        },
    }
    return {name: part for name, part in request.items() if part} | body_in(kind, body, is_request=True)


_USUAL_PORTS = (("http", 80), ("https", 443))


def _merge_pairs(pairs: Headers) -> dict[str, Json]:
    """The values by name; several values of one name as a list."""
    values_by_name: dict[str, list[Json]] = {}
    for name, value in pairs:
        values_by_name.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in values_by_name.items()}


def _first_value(value: Json) -> str:
    return str(value[0] if isinstance(value, list) else value or "")


def body_in(content_type: str, data: bytes, is_request: bool = False) -> dict[str, Json]:
    """A body under the name of its form: `body` is JSON, `events` those of a stream; the others are `form`,
    `multipart`, `text` and `base64`; `sha256` is for a long body that is no text."""
    kind = media_type(content_type)
    if not data:
        return {}
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if kind.startswith("multipart/") and is_request:
        parts = list(_multipart(content_type, data))
        if parts:
            return {"multipart": parts}
    if ("json" in kind and kind not in _LINES) or not kind:
        try:
            return {"body": decode(text)}
        except NotJson:
            pass
    if kind == _FORM and is_request and (pairs := parse_qsl(text, keep_blank_values=True)):
        return {"form": _merge_pairs(pairs)}
    if kind == _EVENTS and _NO_TEXT.search(text) is None and "\r" not in text and text.endswith("\n\n"):
        return {"events": text.removesuffix("\n\n").split("\n\n")}
    if not _NO_TEXT.search(text):
        return {"text": text}
    if is_request and len(data) > _LONGEST_BINARY:
        return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return {"base64": base64.encodebytes(data).decode()}


_BOUNDARY = lazy_pattern(r"""(?i)boundary=(?:"([^"]+)"|([^;\s]+))""")
_DISPOSITION = lazy_pattern(r"""(?i)\b(name|filename)=(?:"([^"]*)"|([^;\s]+))""")


def _multipart(content_type: str, data: bytes) -> Iterator[Json]:
    """The parts of a form with files. The boundary between them is a different text each time."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        return
    for part in data.split(b"--" + (boundary[1] or boundary[2]).encode())[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        lines = dict(line.partition(": ")[::2] for line in head.decode("utf-8", "replace").split("\r\n"))
        headers = {name.lower(): value for name, value in lines.items()}
        kind = headers.get("content-type", "")
        parameters = _DISPOSITION.findall(headers.get("content-disposition", ""))
        part_values: dict[str, Json] = {name.lower(): quoted or plain for name, quoted, plain in parameters}
        if kind:
            part_values["type"] = media_type(kind)
        yield part_values | body_in(kind or "text/plain", body.removesuffix(b"\r\n"), is_request=True)


def response_parts(answer: HttpAnswer, method: str) -> dict[str, Json]:
    """A response by its parts, without the values of its cookies."""
    headers = [
        (name, _COOKIE_VALUE.sub(rf"\1{MASK}", value, count=1) if name == "set-cookie" else value)
        for name, value in answer.headers
        if (name not in _TRAVEL or (name == "content-length" and method == "HEAD"))
        and not name.startswith(_OF_PROXIES)
    ]
    answer_parts: dict[str, Json] = {"status": answer.status, "headers": _merge_pairs(headers)}
    if not answer_parts["headers"]:
        del answer_parts["headers"]
    answer_parts |= body_in(dict(answer.headers).get("content-type", ""), answer.body)
    return answer_parts if answer.complete else {**answer_parts, "ended_early": True}


_COOKIE_VALUE = lazy_pattern(r"^(\s*[^=;]*=)[^;]*")


def answer_in(record: Any) -> HttpAnswer:
    """Read the response in a file; ValueError where it is not valid."""
    stated_headers = record.get("headers") or {}
    is_well_formed = isinstance(record.get("status"), int) and isinstance(stated_headers, dict)
    if not is_well_formed:
        raise ValueError("`status` is no number, or `headers` no mapping")
    headers = [
        (name.lower(), str(single_value))
        for name, value in stated_headers.items()
        for single_value in (value if isinstance(value, list) else [value])
    ]
    body = b""
    if "body" in record:
        body = to_bytes(record["body"])
    elif "events" in record:
        body = "".join(f"{event}\n\n" for event in record["events"]).encode("utf-8", "surrogatepass")
    elif "text" in record:
        body = str(record["text"]).encode("utf-8", "surrogatepass")
    elif "base64" in record:
        try:
            body = base64.b64decode(str(record["base64"]))
        except NoBase64:
            raise ValueError("`base64` is none") from None
    return HttpAnswer(record["status"], tuple(headers), body, not record.get("ended_early"))


def is_ended(kind: str, body: bytes) -> bool:
    """Whether a stream has said that nothing follows: then its client closes it without reading on."""
    if kind != _EVENTS:
        return False
    return bool(_LAST_EVENT.search(body.decode("utf-8", "replace").replace("\r\n", "\n")))


# Keys, passwords and tokens are found by where they are sent, and masked wherever else they occur.

_KEYS_IN_QUERIES = frozenset(("key", "sig", "signature", "auth", "code", "appid", "apikey", "hmac"))
_DISTINCTIVE = lazy_pattern(r"(?=.*[0-9])\S{8,4000}|(?=.*[0-9])(?=.*[a-zA-Z])\S{6,7}|\S{16,4000}")
_RANDOM = lazy_pattern(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9._~+=-]{16,4000}")


def credentials_in(url: str, asked: Headers, answered: Headers = ()) -> Iterator[str]:
    """The credentials that are sent with a request, or handed out with a response."""
    yield from filter(_DISTINCTIVE.fullmatch, _credentials(url, asked, answered))


def _credentials(url: str, asked: Headers, answered: Headers) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.password:
        yield parts.password
    for name, value in parse_qsl(parts.query):
        if is_secret_key(name) or (name.lower() in _KEYS_IN_QUERIES and _RANDOM.fullmatch(value)):
            yield value
    for name, value in (*asked, *answered):
        if name.lower() == "cookie":
            yield from (
                cookie_value.strip()
                for _, _, cookie_value in (cookie.partition("=") for cookie in value.split(";"))
            )
        elif name.lower() == "set-cookie":
            cookie, _, _ = value.partition(";")
            _, _, cookie = cookie.partition("=")
            yield cookie.strip()
        elif is_secret_header(name):
            yield from _credentials_of_scheme(value)


def _credentials_of_scheme(value: str) -> Iterator[str]:
    """The credentials after their scheme, and the password in them."""
    scheme, blank, rest = value.strip().partition(" ")
    if not blank:
        yield scheme
        return
    yield rest.strip()
    if scheme.lower() == "basic":
        try:
            _, _, password = base64.b64decode(rest).decode("utf-8", "replace").partition(":")
        except (NoBase64, ValueError):
            return
        yield password


def describe_request(asked: Json) -> str:
    """Describe a request in one line."""
    return f"{asked.get('method', 'GET')} {asked.get('url', '')}" if isinstance(asked, dict) else "a call"


def same_answers(answers: Sequence[Json]) -> bool:
    """Whether all answers are the same but for their headers, so that any of them can be given."""
    return len({encode({**answer, "headers": None}) for answer in answers}) < 2
