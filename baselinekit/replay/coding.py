"""Content-Encoding undone in bounded steps: a bomb of a few hundred bytes never becomes gigabytes (F19), and
what was cut short is an error, never a shorter answer (F21)."""

import zlib
from collections.abc import Iterable
from typing import Protocol

from baselinekit.errors import CannotReplay, cannot

_MOST_MEMBERS = 100


class _Decompress(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def read(chunks: Iterable[bytes], codings: str, limit: int) -> bytes:
    """The whole body, decoded; at most `limit` bytes of it, on the wire and after decoding."""
    coding = codings.strip().lower()
    if coding in ("", "identity"):
        return _plain(chunks, limit)
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise cannot(
            "BK306",
            f"the answer is encoded as {coding!r}",
            "gzip and deflate can be decoded: leave Accept-Encoding to baselinekit",
        )
    return _inflated(_plain(chunks, limit), coding, limit)


def too_large(limit: int) -> CannotReplay:
    return cannot(
        "BK305",
        f"the answer is larger than {limit:,} bytes",
        "ask for less, or raise max_body in execution or under `http:` in baselinekit.yaml",
    )


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
            stage = _start(raw, coding)
            body += stage.decompress(raw, limit + 1 - len(body))
            if len(body) > limit:
                raise too_large(limit)
            if not stage.eof:
                raise cannot("BK304", f"the answer's {coding} data ends in the middle", "ask again")
            raw = stage.unused_data
    except zlib.error as error:
        raise cannot("BK306", f"the answer says that it is {coding}, but is not: {error}") from None
    raise cannot("BK306", f"the answer's {coding} data has more than {_MOST_MEMBERS} members")


def _start(raw: bytes, coding: str) -> _Decompress:
    if coding != "deflate":
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    wrapped = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
