"""What is written and read plainly is what h11 writes and reads; of the rest nothing is."""

import h11
import pytest
from hypothesis import given, strategies as st

from baselinekit.replaying import wire
from baselinekit.replaying.answer import Headers

LENGTH = b"Content-Length: 2\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
ODD = {
    "interim": PLAIN.replace(b"200", b"103"),
    "no such status": PLAIN.replace(b"200", b"600"),
    "without a body": PLAIN.replace(b"200 OK", b"204 No Content"),
    "not modified": PLAIN.replace(b"200 OK", b"304 Not Modified"),
    "older": PLAIN.replace(b"1.1", b"1.0"),
    "no reason": PLAIN.replace(b" OK", b""),
    "no length": PLAIN.replace(LENGTH, b""),
    "two lengths": PLAIN.replace(LENGTH, LENGTH + LENGTH),
    "two lengths in one": PLAIN.replace(b": 2", b": 2, 2"),
    "a length with a sign": PLAIN.replace(b": 2", b": +2"),
    "a length without end": PLAIN.replace(b": 2", b": " + b"2" * 16),
    "chunked": PLAIN.replace(LENGTH, b"Transfer-Encoding: chunked\r\n"),
    "chunked, with a length": PLAIN.replace(LENGTH, LENGTH + b"transfer-encoding: chunked\r\n"),
    "closing": PLAIN.replace(LENGTH, LENGTH + b"Connection: close\r\n"),
    "staying and closing": PLAIN.replace(LENGTH, LENGTH + b"Connection: keep-alive\r\nConnection: close\r\n"),
    "folded": PLAIN.replace(b"nginx", b"nginx\r\n more"),
    "a blank before the colon": PLAIN.replace(b"Server:", b"Server :"),
    "bare line ends": PLAIN.replace(b"\r\n", b"\n"),
    "one bare line end": PLAIN.replace(b"nginx\r\n", b"nginx\n"),
    "a blank at the end": PLAIN.replace(b"nginx", b"nginx "),
    "an empty value": PLAIN.replace(b"nginx", b""),
    "no ASCII": PLAIN.replace(b"nginx", "Ngünx".encode()),
    "a zero": PLAIN.replace(b"nginx", b"ng\0inx"),
    "not all of it": PLAIN[:-2],
    "nothing": b"",
}


def test_a_plain_head_is_read() -> None:
    found = wire.parse_head(PLAIN + b"{}")
    assert found is not None
    headers = [(b"Server", b"nginx"), (b"Content-Type", b"application/json"), (b"Content-Length", b"2")]
    assert found == (200, headers, len(PLAIN), 2)


@pytest.mark.parametrize("what", ODD)
def test_what_is_odd_is_left_to_h11(what: str) -> None:
    assert wire.parse_head(ODD[what]) is None


def by_h11(data: bytes, method: str = "GET") -> tuple[int, Headers, bytes] | None:
    """The answer as h11 reads it, if it is whole and the connection stays."""
    state = h11.Connection(h11.CLIENT)
    state.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    state.send(h11.EndOfMessage())
    state.receive_data(data)
    body = b""
    head = state.next_event()
    if not isinstance(head, h11.Response):
        return None
    while isinstance(event := state.next_event(), h11.Data):
        body += event.data
    whole = isinstance(event, h11.EndOfMessage) and state.their_state is h11.DONE
    return (head.status_code, list(head.headers.raw_items()), body) if whole else None


PIECES = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 404 \r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 204 No\r\n"),
    *(
        LENGTH,
        b"content-length: 0\r\n",
        b"Content-Length:2\r\n",
        b"X-A: a b\tc\r\n",
        b"x-a:\r\n",
        b"y: \x80\r\n",
    ),
    *(b"Connection: keep-alive\r\n", b"Connection: Close\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"\r\n", b"\n", b" ", b"{}", b"\0", b": ", b"a"),
]


@given(st.sampled_from(PIECES[:4]), st.lists(st.sampled_from(PIECES), max_size=8))
def test_h11_reads_the_same(first: bytes, pieces: list[bytes]) -> None:
    head = first + b"".join(pieces)
    found = wire.parse_head(head + b"\r\n")
    if found is not None:
        data = (head + b"\r\n")[: found.end] + b"x" * found.length
        assert by_h11(data) == (found.status, found.headers, b"x" * found.length)


NAMES = st.sampled_from(["Accept", "X-Id", "content-length", "x y", "", "É", "a:b"])
VALUES = st.sampled_from(["1", "a b", " a", "a ", "", "é", "a\r\nB: c", "\x01", "a\tb", "0"])


def test_no_value_becomes_a_header_of_its_own() -> None:
    headers = [(b"Host", b"x"), (b"Accept", b"a\r\nX-Admin: yes")]
    assert wire.write_plainly("GET", "/", headers) is None


@given(
    st.sampled_from(["GET", "POST", "HEAD", "get", "M-SEARCH", "G T"]),
    st.sampled_from(["/", "/a?b=c", "/a b", "", "/é", "*"]),
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
)
def test_h11_writes_the_same(method: str, target: str, pairs: list[tuple[str, str]]) -> None:
    headers = [(b"Host", b"127.0.0.1:80"), *((name.encode(), value.encode()) for name, value in pairs)]
    out = wire.write_plainly(method, target, headers)
    if out is not None and b"content-length" not in dict(headers):  # which says what follows: wire.py knows
        state = h11.Connection(h11.CLIENT)
        assert state.send(h11.Request(method=method, target=target, headers=headers)) == out
