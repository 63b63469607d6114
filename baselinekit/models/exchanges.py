"""An HTTP call as it stands in a cassette: what was asked, as values that can be compared part by part, and
what was answered, so that it can be given again."""

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
"""Bytes of a request that are kept as they are, where they are no text; of more their digest is."""

_EVENTS = "text/event-stream"
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
_FORM = "application/x-www-form-urlencoded"
_NO_TEXT = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LAST_EVENT = lazy_pattern(r"(?:data: ?\[DONE\]|event: ?message_stop\n[^\n]*)\s*\Z")
"""How streams end of which clients read no further."""

# Which headers tell one request from another: what is asked for, in which version. All else says who asks.

_COUNTED = {
    *("accept", "accept-language", "content-type", "prefer", "range", "x-http-method-override"),
    *("if-match", "if-none-match", "if-modified-since", "if-unmodified-since"),
}
_VERSION = lazy_pattern(r"^(?!x-stainless-)(?!.*(?:client|sdk|runtime|package|agent)).*-(?:version|beta)$")

# What of an answer's headers says how it travelled, when, and by whom: the body is kept as it reads, and the
# file is to change with the answer alone.

_TRAVEL = {
    *("connection", "keep-alive", "transfer-encoding", "content-encoding", "trailer", "upgrade", "te"),
    *("date", "server", "via", "age", "alt-svc", "nel", "report-to", "reporting-endpoints", "expect-ct"),
    *("strict-transport-security", "x-content-type-options", "server-timing", "openai-processing-ms"),
    *("x-timer", "x-served-by", "x-powered-by", "content-length"),
}
_OF_PROXIES = ("cf-", "x-envoy-", "x-cache", "proxy-", "x-amz-cf-")


@frozen
class HttpAnswer:
    """What came back, as it reads: not compressed. `complete`: to its end."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    complete: bool = True

    @property
    def kind(self) -> str:
        """Its media type."""
        return media_type(next((value for name, value in self.headers if name == "content-type"), ""))

    def pieces(self) -> Iterator[bytes]:
        """Its body as a client that reads a stream gets it: event by event, line by line, else as a whole."""
        end = b"\n\n" if self.kind == _EVENTS else b"\n" if self.kind in _LINES else b""
        start = 0
        while end and (found := self.body.find(end, start)) >= 0:
            yield self.body[start : found + len(end)]
            start = found + len(end)
        if start < len(self.body):
            yield self.body[start:]


def media_type(written: str) -> str:
    kind, _, _ = written.partition(";")
    return kind.strip().lower()


def asked_in(
    method: str, url: str, headers: Headers, body: bytes, counted: Collection[str]
) -> dict[str, Json]:
    """A request by its parts. `counted`: headers that count as well."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port and (parts.scheme, parts.port) not in _USUAL_PORTS else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    told = _together((name.lower(), value) for name, value in headers)
    kind = _first(told.get("content-type"))
    asked: dict[str, Any] = {
        "method": method.upper(),
        "url": f"{parts.scheme}://{host}{port}{parts.path or '/'}",
        "query": _together(parse_qsl(parts.query, keep_blank_values=True)),
        "headers": {
            name: media_type(kind) if name == "content-type" else value
            for name, value in sorted(told.items())
            if (name in _COUNTED or name in counted or _VERSION.search(name)) and value != "*/*"
        },
    }
    return {name: part for name, part in asked.items() if part} | body_in(kind, body, is_request=True)


_USUAL_PORTS = (("http", 80), ("https", 443))


def _together(pairs: Headers) -> dict[str, Json]:
    """By their names; what comes more than once is a list."""
    found: dict[str, list[Json]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _first(value: Json) -> str:
    return str(value[0] if isinstance(value, list) else value or "")


def body_in(written: str, data: bytes, is_request: bool = False) -> dict[str, Json]:
    """A body under the name of its form: `body` is JSON, `events` those of a stream; the others are `form`,
    `multipart`, `text` and `base64`; `sha256` stands for what is long and no text."""
    kind = media_type(written)
    if not data:
        return {}
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if kind.startswith("multipart/") and is_request:
        parts = list(_multipart(written, data))
        if parts:
            return {"multipart": parts}
    if ("json" in kind and kind not in _LINES) or not kind:
        try:
            return {"body": decode(text)}
        except NotJson:
            pass
    if kind == _FORM and is_request and (pairs := parse_qsl(text, keep_blank_values=True)):
        return {"form": _together(pairs)}
    if kind == _EVENTS and _NO_TEXT.search(text) is None and "\r" not in text and text.endswith("\n\n"):
        return {"events": text.removesuffix("\n\n").split("\n\n")}
    if not _NO_TEXT.search(text):
        return {"text": text}
    if is_request and len(data) > _LONGEST_BINARY:
        return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return {"base64": base64.encodebytes(data).decode()}


_BOUNDARY = lazy_pattern(r"""(?i)boundary=(?:"([^"]+)"|([^;\s]+))""")
_DISPOSITION = lazy_pattern(r"""(?i)\b(name|filename)=(?:"([^"]*)"|([^;\s]+))""")


def _multipart(written: str, data: bytes) -> Iterator[Json]:
    """The parts of a form with files. What lies between them is another text each time."""
    boundary = _BOUNDARY.search(written)
    if boundary is None:
        return
    for part in data.split(b"--" + (boundary[1] or boundary[2]).encode())[1:-1]:
        head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        lines = dict(line.partition(": ")[::2] for line in head.decode("utf-8", "replace").split("\r\n"))
        told = {name.lower(): value for name, value in lines.items()}
        kind = told.get("content-type", "")
        named = _DISPOSITION.findall(told.get("content-disposition", ""))
        found: dict[str, Json] = {name.lower(): quoted or plain for name, quoted, plain in named}
        if kind:
            found["type"] = media_type(kind)
        yield found | body_in(kind or "text/plain", body.removesuffix(b"\r\n"), is_request=True)


def answered_in(answer: HttpAnswer, method: str) -> dict[str, Json]:
    """An answer by its parts, without the values of its cookies."""
    kept = [
        (name, _CRUMB.sub(rf"\1{MASK}", value, count=1) if name == "set-cookie" else value)
        for name, value in answer.headers
        if (name not in _TRAVEL or (name == "content-length" and method == "HEAD"))
        and not name.startswith(_OF_PROXIES)
    ]
    told: dict[str, Json] = {"status": answer.status, "headers": _together(kept)}
    if not told["headers"]:
        del told["headers"]
    told |= body_in(dict(answer.headers).get("content-type", ""), answer.body)
    return told if answer.complete else {**told, "ended_early": True}


_CRUMB = lazy_pattern(r"^(\s*[^=;]*=)[^;]*")


def answer_in(told: Any) -> HttpAnswer:
    """The answer that a file holds; ValueError for what is none."""
    stated = told.get("headers") or {}
    well_formed = isinstance(told.get("status"), int) and isinstance(stated, dict)
    if not well_formed:
        raise ValueError("`status` is no number, or `headers` no mapping")
    headers = [
        (name.lower(), str(one))
        for name, value in stated.items()
        for one in (value if isinstance(value, list) else [value])
    ]
    body = b""
    if "body" in told:
        body = to_bytes(told["body"])
    elif "events" in told:
        body = "".join(f"{event}\n\n" for event in told["events"]).encode("utf-8", "surrogatepass")
    elif "text" in told:
        body = str(told["text"]).encode("utf-8", "surrogatepass")
    elif "base64" in told:
        try:
            body = base64.b64decode(str(told["base64"]))
        except NoBase64:
            raise ValueError("`base64` is none") from None
    return HttpAnswer(told["status"], tuple(headers), body, not told.get("ended_early"))


def is_ended(kind: str, body: bytes) -> bool:
    """Whether a stream has said that nothing follows: its client closes it then without another look."""
    if kind != _EVENTS:
        return False
    return bool(_LAST_EVENT.search(body.decode("utf-8", "replace").replace("\r\n", "\n")))


# Keys, passwords and tokens by where they travel: wherever else they turn up, they are masked.

_KEYS_IN_QUERIES = frozenset(("key", "sig", "signature", "auth", "code", "appid", "apikey", "hmac"))
_TELLING = lazy_pattern(r"(?=.*[0-9])\S{8,4000}|(?=.*[0-9])(?=.*[a-zA-Z])\S{6,7}|\S{16,4000}")
_RANDOM = lazy_pattern(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9._~+=-]{16,4000}")


def credentials_in(url: str, asked: Headers, answered: Headers = ()) -> Iterator[str]:
    """What goes along with a request, or is handed out with an answer, and is nobody else's."""
    yield from filter(_TELLING.fullmatch, _credentials(url, asked, answered))


def _credentials(url: str, asked: Headers, answered: Headers) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.password:
        yield parts.password
    for name, value in parse_qsl(parts.query):
        if is_secret_key(name) or (name.lower() in _KEYS_IN_QUERIES and _RANDOM.fullmatch(value)):
            yield value
    for name, value in (*asked, *answered):
        if name.lower() == "cookie":
            yield from (crumb.strip() for _, _, crumb in (one.partition("=") for one in value.split(";")))
        elif name.lower() == "set-cookie":
            crumb, _, _ = value.partition(";")
            _, _, crumb = crumb.partition("=")
            yield crumb.strip()
        elif is_secret_header(name):
            yield from _of_scheme(value)


def _of_scheme(value: str) -> Iterator[str]:
    """The credentials behind their scheme, and the password in them."""
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


def described(asked: Json) -> str:
    """A request in one line."""
    return f"{asked.get('method', 'GET')} {asked.get('url', '')}" if isinstance(asked, dict) else "a call"


def same_answers(answers: Sequence[Json]) -> bool:
    """Whether answers say the same, so that it does not matter which one is given."""
    return len({encode({**one, "headers": None}) for one in answers}) < 2
