"""The hostile routes by what they do, each with what becomes of a baseline that meets it: its outcome and the
code of its error. Rows F.. of the list of threats group them."""

import gzip
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from server import JSON, TEXT, Act, Peer, chunked, head, kept, whole

SHORT = {"timeout": 0.6}


@dataclass(frozen=True, slots=True)
class Route:
    """`stored` is the output on file, `method` and `execution` are how it is asked for."""

    name: str
    act: Act | bytes
    code: str = ""
    stored: Any = None
    execution: dict[str, Any] = field(default_factory=dict)
    method: str = "GET"

    @property
    def outcome(self) -> str:
        return "error" if self.code else "passed"

    @property
    def output(self) -> Any:
        return {"status": 200, "body": "as it was"} if self.stored is None else self.stored


def bomb(megabytes: int, wbits: int) -> bytes:
    """So many million zeros. After a full flush the compressor has forgotten what came before: each million
    is the same bytes as the one before, and only the checksum goes over all of them."""
    million = bytes(1_000_000)
    stage = zlib.compressobj(9, zlib.DEFLATED, -15)
    first, again = (stage.compress(million) + stage.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    raw = first + again * (megabytes - 1) + stage.flush()
    sums = {"crc": 0, "adler": 1}
    for _ in range(megabytes):
        sums = {"crc": zlib.crc32(million, sums["crc"]), "adler": zlib.adler32(million, sums["adler"])}
    if wbits == 31:
        size = (megabytes * len(million)).to_bytes(4, "little")
        return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + raw + sums["crc"].to_bytes(4, "little") + size
    return raw if wbits < 0 else b"\x78\xda" + raw + sums["adler"].to_bytes(4, "big")


def after(raw: bytes, then: Act) -> Act:
    """Say this, then do that."""

    def act(peer: Peer) -> bool | None:
        peer.say(raw)
        return then(peer)

    return act


def dripping(drop: bytes, pause: float = 0.05) -> Act:
    return lambda peer: peer.drip(drop, pause)


def flooding(wave: bytes) -> Act:
    return lambda peer: peer.flood(wave)


def resetting(peer: Peer) -> None:
    peer.alive(0.05)  # what was said before has to arrive before the reset does
    peer.reset()


def silent(peer: Peer) -> None:
    peer.drip(b"", 0.1)


INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
CHUNKED = head("Transfer-Encoding: chunked")
LENGTH = "Content-Length: {}".format
BODY = {"status": 200, "body": "hello"}
GZIP = "Content-Encoding: gzip"

DRIPS = [
    Route("silence", silent, "BK303", execution=SHORT),
    Route("head-drip", after(b"HTTP/1.1 200 OK\r\nX: ", dripping(b"x")), "BK303", execution=SHORT),
    Route("body-drip", after(head(LENGTH(9999)), dripping(b"x")), "BK303", execution=SHORT),
    Route("chunk-drip", after(CHUNKED, dripping(b"1\r\nx\r\n")), "BK303", execution=SHORT),
    Route("chunk-size-drip", after(CHUNKED, dripping(b"0", 0.1)), "BK303", execution=SHORT),
    Route("interim-drip", dripping(INTERIM, 0.1), "BK303", execution=SHORT),
    Route("gzip-drip", after(head(GZIP), dripping(gzip.compress(b"")[:1])), "BK303", execution=SHORT),
]

TOO_MUCH = [
    Route("interim-flood", flooding(INTERIM * 100), "BK305"),
    Route("eleven-interim", INTERIM * 11 + whole(b"hello", TEXT), "BK305"),
    Route("ten-interim", HINTS * 10 + whole(b"hello", TEXT), "", BODY),
    Route("endless-body", after(head(TEXT), flooding(b"x" * 65_536)), "BK305"),
    Route("endless-chunks", after(CHUNKED, flooding(b"ffff\r\n%b\r\n" % (b"x" * 65_535))), "BK305"),
    Route("announced-large", head(LENGTH(10**12)), "BK305"),
    Route("over-the-limit", whole(b'"%b"' % (b"x" * 10_000_000), JSON), "BK305"),
    Route("own-limit", whole(b"x" * 2000, TEXT), "BK305", execution={"max_body": 1000}),
    Route("huge-header", head(f"X: {'x' * 300_000}", LENGTH(0)), "BK305"),
    Route("endless-header", after(b"HTTP/1.1 200 OK\r\nX: ", flooding(b"x" * 65_536)), "BK305"),
    Route("many-headers", head(*(f"X-{n}: y" for n in range(20_000)), LENGTH(0)), "BK305"),
    Route("endless-status-line", after(b"HTTP/1.1 200 ", flooding(b"x" * 65_536)), "BK305"),
    Route("endless-trailer", after(CHUNKED + b"0\r\nX: ", flooding(b"x" * 65_536)), "BK304"),
    Route("endless-chunk-extension", after(CHUNKED + b"1;", flooding(b"x" * 65_536)), "BK304"),
]

BOMBS = [
    Route("gzip-bomb", whole(bomb(100, 31), GZIP), "BK305"),
    Route("deflate-bomb", whole(bomb(100, 15), "Content-Encoding: deflate"), "BK305"),
    Route("raw-deflate-bomb", whole(bomb(100, -15), "Content-Encoding: deflate"), "BK305"),
    Route("many-members", whole(gzip.compress(b"") * 10_000, GZIP), "BK307"),
    Route("nested", whole(gzip.compress(gzip.compress(b"x")), "Content-Encoding: gzip, gzip"), "BK307"),
    Route("brotli", whole(b"\x0b\x02\x80hello\x03", "Content-Encoding: br"), "BK307"),
    Route("unknown-coding", whole(b"hello", "Content-Encoding: x-mine\x1b[31m"), "BK307"),
]

CUT_SHORT = [
    Route("nothing", b"", "BK304"),
    Route("reset-before-the-head", resetting, "BK304"),
    Route("reset-in-the-head", after(b"HTTP/1.1 200 OK\r\nX-Half", resetting), "BK304"),
    Route("reset-in-the-body", after(head(LENGTH(100)) + b"half", resetting), "BK304"),
    Route("shorter-than-its-length", head(LENGTH(100)) + b"short", "BK304"),
    Route("no-last-chunk", CHUNKED + b"5\r\nhello\r\n", "BK304"),
    Route("no-end-of-the-last-chunk", CHUNKED + b"5\r\nhello\r\n0\r\n", "BK304"),
    Route("truncated-gzip", whole(gzip.compress(b"hello" * 99)[:-12], GZIP), "BK304"),
    Route("gzip-without-its-sum", whole(gzip.compress(b"hello")[:-8], GZIP), "BK304"),
    Route("a-wrong-sum", whole(gzip.compress(b"hello")[:-8] + bytes(8), GZIP), "BK307"),
    Route("truncated-deflate", whole(zlib.compress(b"hello")[:-5], "Content-Encoding: deflate"), "BK304"),
    Route("garbage-after-gzip", whole(gzip.compress(b"hello") + b"garbage", GZIP), "BK307"),
]

LIES = [
    Route("longer-than-its-length", head(LENGTH(3)) + b"longer", "BK304"),
    Route("a-body-of-none", head(LENGTH(0)) + b"surprise", "BK304"),
    Route("negative-length", head(LENGTH(-5)) + b"hello", "BK304"),
    Route("endless-length", head(LENGTH("9" * 5000)) + b"hello", "BK304"),
    Route("two-lengths", head(LENGTH(5), LENGTH(6)) + b"hello!", "BK304"),
    Route("two-lengths-in-one", head(LENGTH("5, 6")) + b"hello!", "BK304"),
    Route("twice-the-same-length", head(LENGTH("5, 5"), TEXT) + b"hello", "", BODY),
    Route("length-and-chunks-agree", chunked(b"hello", LENGTH(5), TEXT), "", BODY),
    Route("length-and-chunks-differ", chunked(b"hello", LENGTH(3), TEXT), "BK304"),
    Route("chunk-of-odd-size", CHUNKED + b"5g\r\nhello\r\n0\r\n\r\n", "BK304"),
    Route("chunk-of-negative-size", CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", "BK304"),
    Route("chunk-of-a-large-size", CHUNKED + b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n", "BK304"),
    Route("chunk-longer-than-it-says", CHUNKED + b"3\r\nhello\r\n0\r\n\r\n", "BK304"),
    Route("surplus-after-the-chunks", chunked(b"hello") + b"surplus", "BK304"),
    Route("a-second-answer", whole(b"hello") + whole(b"forged"), "BK304"),
    Route("coded-chunks", head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n", "BK304"),
    Route("chunked-twice", head(*["Transfer-Encoding: chunked"] * 2) + b"0\r\n\r\n", "BK304"),
    Route("gzip-that-is-none", whole(b"plain", GZIP), "BK307"),
    Route("no-content", kept(whole(b"surprise", status="204 None")), "", {"status": 204, "body": ""}),
    Route("not-modified", kept(whole(b"surprise", status="304 Same")), "", {"status": 304, "body": ""}),
    Route("body-for-head", kept(whole(b"surprise")), "", {"status": 200, "body": ""}, method="HEAD"),
]

BARE = b"HTTP/1.1 200 OK\nContent-Length: 5\nContent-Type: text/plain\n\nhello"
NOT_HTTP = [
    Route("http-0.9", b"<html>hello</html>", "BK304"),
    Route("http-2-settings", b"\0\0\6\4\0\0\0\0\0\0\5\0\0\100\0", "BK304"),
    Route("tls-on-a-plain-port", b"\x15\x03\x01\x00\x02\x02\x46", "BK302"),
    Route("lower-case", b"http/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "BK304"),
    Route("status-of-two-digits", b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", "BK304"),
    Route("status-in-arabic", "HTTP/1.1 ٢٠٠ OK\r\nContent-Length: 0\r\n\r\n".encode(), "BK304"),
    Route("another-protocol", head("Upgrade: websocket", status="101 Switching Protocols"), "BK304"),
    Route("a-header-without-a-colon", head("nonsense", LENGTH(0)), "BK304"),
    Route("a-blank-before-the-colon", head("Content-Length : 0"), "BK304"),
    Route("a-nul-in-a-header", head("X: a\0b", LENGTH(0)), "BK304"),
    Route("a-folded-header", head("X: a", "  b", LENGTH(5), TEXT) + b"hello", "", BODY),
    Route("bare-line-feeds", BARE, "", BODY),
]


def as_json(text: str | bytes, content_type: str = JSON) -> bytes:
    return whole(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), content_type)


def of(body: Any) -> Any:
    return {"status": 200, "body": body}


BAD_JSON = [
    Route("nan", as_json('{"score": NaN}'), "BK307"),
    Route("a-number-beyond-all", as_json("[1e99999]"), "BK307"),
    Route("a-whole-number-of-5000-digits", as_json("1" * 5000), "BK307"),
    Route("a-whole-number-of-1001-digits", as_json("-" + "1" * 1001), "BK307"),
    Route("a-fraction-of-5000-digits", as_json("0." + "1" * 5000), "BK307"),
    Route("deep-arrays", as_json("[" * 100_000), "BK307"),
    Route("deep-objects", as_json('{"a":' * 100_000 + "1" + "}" * 100_000), "BK307"),
    Route("65-levels", as_json("[" * 65 + "]" * 65), "BK307"),
    Route("half-a-document", as_json('{"a": [1, 2'), "BK307"),
    Route("two-documents", as_json("{} {}"), "BK307"),
    Route("invalid-utf-8", as_json(b'{"a": "\xff\xfe\xc3"}'), "BK307"),
    Route("a-surrogate-as-bytes", as_json(b'"\xed\xa0\x80"'), "BK307"),
    Route("html-that-says-json", as_json("<html><script>alert(1)</script></html>"), "BK307"),
    Route("a-large-number", as_json("[1e308, -1e308]"), "", of([1e308, -1e308])),
    Route("a-byte-order-mark", as_json(b"\xef\xbb\xbf[1]"), "", of([1])),
    Route("50-levels", as_json("[" * 50 + "]" * 50), "", of(json.loads("[" * 50 + "]" * 50))),
    Route("half-a-pair", as_json('{"a": "\\ud800"}'), "", of({"a": "\ud800"})),
    Route("an-empty-json-body", as_json(""), "", of("")),
]

REPEATED = [
    Route("a-repeated-key", as_json('{"role": "user", "role": "admin"}'), "BK307"),
    Route("a-repeated-key-escaped", as_json('{"role": 1, "r\\u006fle": 2}'), "BK307"),
    Route("a-repeated-key-inside", as_json('[{"a": {"b": 1, "c": 2, "b": 1}}]'), "BK307"),
    Route("a-repeated-key-apart", as_json('[{"a": 1}, {"a": 1}]'), "", of([{"a": 1}, {"a": 1}])),
]

_COLLIDING = dict.fromkeys((str(n * (2**61 - 1)) for n in range(40_000)), 1)
_NUMBERS = [n * (2**61 - 1) for n in range(2_000)]

NUMBERS = [
    Route("a-float-cannot-hold-it", as_json("[1e999]"), "", "{status: 200, body: [1e+999]}"),
    Route("colliding-keys", as_json(json.dumps(_COLLIDING)), "", of(_COLLIDING)),
    Route("colliding-numbers", as_json(json.dumps(_NUMBERS)), "", of(_NUMBERS)),
    Route("beyond-2-to-the-53", as_json("[9007199254740993]"), "", of([9007199254740993])),
]

_HELLO, _PLAIN = "héllo", b"hello+AGE-"
_UTF_16 = _HELLO.encode("utf-16")


def text_in(charset: str, body: bytes) -> bytes:
    return whole(body, f"Content-Type: text/plain; charset={charset}")


def _hash(body: bytes) -> Any:
    from hashlib import sha256

    return of({"sha256": sha256(body).hexdigest(), "size": len(body)})


ODD_NAMES = "zlib idna rot13 utf-7 unicode_escape hex punycode undefined \x1b[2J"
ODD_CHARSETS = (*ODD_NAMES.split(), "x" * 5000)
CHARSETS = [
    *(Route(f"charset-{n}", text_in(name, _PLAIN), "", _hash(_PLAIN)) for n, name in enumerate(ODD_CHARSETS)),
    *(
        Route(f"json-charset-{n}", as_json("[1]", f"{JSON}; charset={charset}"), "BK307")
        for n, charset in enumerate(ODD_CHARSETS)
    ),
    Route("utf-16-as-odd-json", as_json("[1]", f"{JSON}; charset=utf-16"), "BK307"),
    Route("utf-16-without-its-mark", text_in("utf-16", _PLAIN), "", of(_PLAIN.decode("utf-16-le"))),
    Route("utf-16-with-its-mark", text_in("utf-16", _HELLO.encode("utf-16")), "", of(_HELLO)),
    Route("utf-16-as-json", as_json('["é"]'.encode("utf-16"), JSON), "", of(["é"])),
    Route("utf-16-cut", text_in("utf-16", _UTF_16[:-1]), "", _hash(_UTF_16[:-1])),
    Route("latin-1", text_in("ISO-8859-1", _HELLO.encode("latin-1")), "", of(_HELLO)),
    Route("latin-1-that-says-utf-8", text_in("utf-8", b"h\xe9llo"), "", _hash(b"h\xe9llo")),
    Route("utf-8-that-says-ascii", text_in("us-ascii", _HELLO.encode()), "", _hash(_HELLO.encode())),
    Route("quoted-charset", text_in('"UTF-8"', _HELLO.encode()), "", of(_HELLO)),
]

ROUTES = [*DRIPS, *TOO_MUCH, *BOMBS, *CUT_SHORT, *LIES, *NOT_HTTP, *BAD_JSON, *REPEATED, *NUMBERS, *CHARSETS]


def named(name: str) -> Route:
    return next(route for route in ROUTES if route.name == name)
