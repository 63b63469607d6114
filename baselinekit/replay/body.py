"""From the bytes of an answer to a value that can be compared: JSON strictly, text by its charset, the rest
as hash and size. A charset that the server merely claims decides nothing beyond the common ones."""

import re
from hashlib import sha256

from baselinekit.documents.strictjson import NotJson, decode
from baselinekit.model.observation import Response
from baselinekit.model.values import Json
from baselinekit.replay.setting import cannot

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
_CHARSET = re.compile(r"""(?i);\s*charset\s*=\s*["']?([^"';\s]+)""")


KEPT = ["content-type"]
"""The headers that are kept when nobody says which."""


def http_output(response: Response, keep: list[str]) -> dict[str, Json]:
    """An answer as `{status, headers, body}`, of the headers those that are kept."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    if keep == KEPT and 300 <= response.status < 400:
        keep = [*keep, "location"]  # all that such an answer says
    kept = {lower: headers[lower] for name in keep if (lower := name.lower()) in headers}
    return {"status": response.status, "headers": kept, "body": interpret(response)}


def interpret(response: Response) -> Json:
    if not response.body:
        return ""
    stated = response.header("content-type")
    kind = stated.partition(";")[0].strip().lower()
    charset = _CHARSET.search(stated)
    text = as_text_by(response.body, charset[1] if charset else "utf-8")
    if _JSON.fullmatch(kind):
        return _json(text, response)
    return text if text is not None and (not kind or _TEXT.fullmatch(kind)) else as_hash(response.body)


def _json(text: str | None, response: Response) -> Json:
    says = f"the answer (status {response.status}) says that it is JSON"
    if text is None:
        raise cannot("BK307", f"{says}, but its text cannot be decoded")
    try:
        return decode(text)
    except NotJson as error:
        raise cannot("BK307", f"{says}, but: {error}") from None


def as_text_by(body: bytes, charset: str) -> str | None:
    """The text, or None when these bytes are no text in that charset, or the charset is an unusual one."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        codec: str | None = "utf-16"
    else:
        codec = _CHARSETS.get(charset.lower())
    try:
        return body.decode(codec) if codec else None
    except UnicodeDecodeError:
        return None


def text_or_hash(body: bytes) -> Json:
    """What a program wrote: text as it is, other bytes as hash and size."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return as_hash(body)


def as_hash(body: bytes) -> dict[str, Json]:
    return {"sha256": sha256(body).hexdigest(), "size": len(body)}
