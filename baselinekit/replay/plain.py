"""A request and the head of an answer as nearly all are, written and read at once: every line plain, one
Content-Length, a connection that stays. Of anything else nothing is written or read here: h11 decides
(wire.py), and for what passes here it would say the same, in four times the time."""

import re
from typing import NamedTuple

from baselinekit.replay.answer import Headers

_NAME = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_FIELD = re.compile(rb"(%b): ([!-~][\t -~]*)(?<![\t ])\r\n" % _NAME)
_FIELDS = rb"(?:%b: [!-~][\t -~]*(?<![\t ])\r\n)+" % _NAME
_REQUEST = re.compile(rb"[A-Z]+ [!-~]+ HTTP/1\.1\r\nHost: [!-~]+\r\n(?:%b)?\r\n" % _FIELDS)
_HEAD = re.compile(rb"HTTP/1\.1 ([2345][0-9][0-9]) [ -~]{0,100}\r\n(%b)\r\n" % _FIELDS)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_WITHOUT_BODY = (204, 304)


class Head(NamedTuple):
    """`end`: where the body begins in what was read, `length`: how long it is."""

    status: int
    headers: Headers
    end: int
    length: int


def written(method: str, target: str, headers: Headers) -> bytes | None:
    """The request without its body; of a HEAD the answer could not be read here."""
    if method == "HEAD":
        return None
    fields = b"".join([b"%b: %b\r\n" % pair for pair in headers])
    whole = b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode(), target.encode(), fields)
    is_plain = _REQUEST.fullmatch(whole) and whole.count(b"\n") == len(headers) + 2  # no value makes a line
    return whole if is_plain else None


def read(data: bytes) -> Head | None:
    """What an answer begins with."""
    match = _HEAD.match(data)
    if match is None:
        return None
    status, headers = int(match[1]), _FIELD.findall(match[2])
    stated: dict[bytes, bytes] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in stated and lower in (b"content-length", b"connection"):
            return None
        stated[lower] = value
    length = stated.get(b"content-length", b"")
    if status in _WITHOUT_BODY or b"transfer-encoding" in stated or not _LENGTH.fullmatch(length):
        return None
    if stated.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    return Head(status, headers, match.end(), int(length))
