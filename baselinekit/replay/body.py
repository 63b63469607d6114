"""From the bytes of an answer to a value that can be compared: JSON strictly, text by its charset, the rest
as hash and size. A charset that the server merely claims decides nothing beyond the common ones."""

import re
from hashlib import sha256

from baselinekit.documents.strictjson import NotJson, decode
from baselinekit.errors import cannot
from baselinekit.model.observation import Response
from baselinekit.model.values import Json

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
_MEND = "correct the service: it sends something else, or says a Content-Type that is not meant"

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


def interpret(response: Response, max_body: int = DEFAULT_MAX_BODY) -> Json:
    if not response.body:
        return ""
    stated = response.header("content-type")
    kind = stated.partition(";")[0].strip().lower()
    charset = _CHARSET.search(stated)
    name = charset[1] if charset else "utf-8"
    text = as_text_by(response.body, name)
    if _JSON.fullmatch(kind):
        return _json(text, response, name, max_body // _BYTES_OF_EACH)
    return text if text is not None and (not kind or _TEXT.fullmatch(kind)) else as_hash(response.body)


def _json(text: str | None, response: Response, charset: str, most: int) -> Json:
    says = f"the answer (status {response.status}) says that it is JSON"
    if text is None:
        raise cannot("BK307", f"{says}, but {_undecoded(response.body, charset)}", _MEND)
    if text.count("[") + text.count("{") > most and _containers(text) > most:
        what = f"the answer holds more than {most:,} arrays and objects"
        raise cannot("BK305", what, "ask for less, or raise max_body, of which each takes ten bytes")
    try:
        return decode(text)
    except NotJson as error:
        raise cannot("BK307", f"{says}, but: {error}", _MEND) from None


def _containers(text: str) -> int:
    """How many arrays and objects a JSON text has: each takes up to thirty times the memory of its text."""
    bare = _STRING.sub("", text)
    return bare.count("[") + bare.count("{")


def as_text_by(body: bytes, charset: str) -> str | None:
    """The text, or None when these bytes are no text in that charset, or the charset is an unusual one."""
    codec = _codec(body, charset)
    try:
        return body.decode(codec) if codec else None
    except UnicodeDecodeError:
        return None


def _codec(body: bytes, charset: str) -> str | None:
    return "utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else _CHARSETS.get(charset.lower())


def _undecoded(body: bytes, charset: str) -> str:
    codec = _codec(body, charset)
    if codec is None:
        return f"its charset {charset!r} is none that JSON may have"
    try:
        body.decode(codec)
    except UnicodeDecodeError as error:
        return f"it is no {codec.removesuffix('-sig')} text at byte {error.start}"
    return "it cannot be decoded"


def text_or_hash(body: bytes) -> Json:
    """What a program wrote: text as it is, other bytes as hash and size."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return as_hash(body)


def as_hash(body: bytes) -> dict[str, Json]:
    return {"sha256": sha256(body).hexdigest(), "size": len(body)}
