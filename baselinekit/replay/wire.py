"""One connection that speaks HTTP/1.1: a request goes out, and its answer comes back, whole and nothing
else.

A request and the head of an answer as nearly all are (every line plain, one Content-Length, a connection that
stays) are written and read here at once, in a quarter of the time that h11 takes. Anything else is left to
h11, which for what passes here would say the same. What it leaves open is decided here: every step ends with
the time of the whole request, and a connection on which more came than the answer is never used again: what
is left over would be taken for the answer to somebody else's request."""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import h11

from baselinekit.model.recipes import Request
from baselinekit.replay import body as answer
from baselinekit.replay.body import Headers
from baselinekit.replay.line import Broken, NoConnection, Resolve, Transport, connected

_NAME = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_FIELD = re.compile(rb"(%b): ([!-~][\t -~]*)(?<![\t ])\r\n" % _NAME)
_FIELDS = rb"(?:%b: [!-~][\t -~]*(?<![\t ])\r\n)+" % _NAME
_REQUEST = re.compile(rb"[A-Z]+ [!-~]+ HTTP/1\.1\r\nHost: [!-~]+\r\n(?:%b)?\r\n" % _FIELDS)
_HEAD = re.compile(rb"HTTP/1\.1 ([2345][0-9][0-9]) [ -~]{0,100}\r\n(%b)\r\n" % _FIELDS)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_WITHOUT_BODY = (204, 304)
_READ = 65_536
_JOINED = 65_536
_TRUSTED = 1.0  # seconds
_TOO_LARGE = 431
_BROKE_OFF = "the connection was lost before the answer was complete"

if TYPE_CHECKING:
    import ssl


class Head(NamedTuple):
    """`end`: where the body begins in what was read, `length`: how long it is."""

    status: int
    headers: Headers
    end: int
    length: int


def write_plainly(method: str, target: str, headers: Headers) -> bytes | None:
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


def dial(host: str, port: int, tls: ssl.SSLContext | None, line: Transport, resolve: Resolve) -> Wire:
    """A new connection, to an address that this request may go to."""
    admit = line.admit  # as it is now: whoever waits too long for a connection leaves it to itself

    def connect(limit: float) -> tuple[socket.socket, str]:
        def to(address: str) -> tuple[socket.socket, str]:
            return socket.create_connection((address, port), limit), address

        return connected(resolve, admit, host, port, to)

    sock, address = line.connect(connect, lambda made: made[0].close())
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Wire(_encrypted(sock, host, tls, line) if tls else sock, line, address)
    except BaseException:
        sock.close()
        raise


def _encrypted(sock: socket.socket, host: str, tls: ssl.SSLContext, line: Transport) -> ssl.SSLSocket:
    import ssl  # which most runs have no use for

    tls.set_alpn_protocols(["http/1.1"])
    secure = tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    line.opened(secure)
    try:
        secure.settimeout(line.regex_budget())
        secure.do_handshake()
    except BaseException as error:
        line.closed(secure)
        secure.close()
        if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
            raise NoConnection(f"no TLS connection: {error.strerror or error}") from None
        raise
    return secure


class Wire:
    def __init__(self, sock: socket.socket, line: Transport, address: str):
        self._socket, self._line, self.address = sock, line, address
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=answer.LARGEST_HEAD)
        self._used = time.monotonic()
        self._ended = self._closed = False
        self._early: bytes | None = None
        """What was read, and h11 has not been given yet."""

        line.opened(sock)

    def close(self) -> None:
        self._closed = True
        self._line.closed(self._socket)
        self._socket.close()

    def is_usable(self, repeatable: bool) -> bool:
        """Whether another request may go out here. Something to read on an idle connection is its end, or
        what nobody asked for. And as a server may end it at any moment, a request that must not be sent twice
        wants one that was in use just now."""
        if self._closed or (not repeatable and time.monotonic() - self._used > _TRUSTED):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def ask(self, request: Request, target: str, headers: answer.Headers) -> answer.Answer:
        """The answer; whatever goes wrong, the connection is closed."""
        try:
            written = write_plainly(request.method, target, headers)
            self._send(written or self._begin(request, target, headers), request.content)
            if written is not None:
                if plain := self._plainly(request):
                    return plain
                self._begin(request, target, headers)
            head = self._head()
            received = head.headers.raw_items()
            answer.check_head(head.reason, received)
            body = answer.whole_body(request, head.status_code, received, self._chunks())
            self._finish(answer.has_no_body(request, head.status_code))
        except h11.RemoteProtocolError as error:
            self.close()
            # in the words of who reads answers, and without the bytes that h11 quotes
            words = str(error).partition(": bytearray")[0].replace("request line", "status line")
            raise Broken(_BROKE_OFF if self._ended else f"the answer is not HTTP: {words}") from None
        except BaseException:
            self.close()
            raise
        return head.status_code, received, body

    def _plainly(self, request: Request) -> answer.Answer | None:
        """The answer, if what is read of it first shows that it is plain."""
        data = self._early = self._read()
        head = read(data)
        if head is None:
            return None
        self._early = None
        rest = _Rest(data[head.end :], head.length)
        body = answer.whole_body(request, head.status, head.headers, rest.chunks(self._read))
        if rest.surplus:
            raise answer.more_than_announced()
        self._used = time.monotonic()
        return head.status, head.headers, body

    def _begin(self, request: Request, target: str, headers: answer.Headers) -> bytes:
        """What h11 writes before the body, and h11 knows what it has to read the answer to."""
        out = self._state.send(h11.Request(method=request.method, target=target, headers=headers))
        if request.content:
            self._state.send(h11.Data(data=request.content))
        self._state.send(h11.EndOfMessage())
        return out

    def _send(self, out: bytes, content: bytes) -> None:
        pieces = [out + content] if len(content) < _JOINED else [out, content]
        try:
            for piece in pieces:
                self._socket.settimeout(self._line.left())
                self._line.sent = True
                self._socket.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may refuse a large body before it has read all of it: its answer says so

    def _head(self) -> h11.Response:
        interim = answer.Interim()
        while True:
            try:
                event = self._next()
            except h11.RemoteProtocolError as error:
                raise answer.head_too_large() if error.error_status_hint == _TOO_LARGE else error from None
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise Broken("the server requires another protocol")
            interim.another()

    def _chunks(self) -> Iterator[bytes]:
        while isinstance(event := self._next(), h11.Data):
            yield event.data

    def _finish(self, without_body: bool) -> None:
        surplus, _ = self._state.trailing_data
        if surplus and not without_body:
            raise answer.more_than_announced()
        if surplus or (self._state.our_state, self._state.their_state) != (h11.DONE, h11.DONE):
            self.close()
            return
        self._state.start_next_cycle()
        self._used = time.monotonic()

    def _next(self) -> object:
        while True:
            event = self._state.next_event()
            if event is not h11.NEED_DATA:
                return event
            data = self._read() if self._early is None else self._early
            self._early, self._ended = None, not data
            if self._ended and self._state.their_state is h11.SEND_RESPONSE:
                raise Broken(
                    _BROKE_OFF if self._line.received else "the connection was closed without an answer"
                )
            self._state.receive_data(data)

    def _read(self) -> bytes:
        self._socket.settimeout(self._line.left())
        try:
            data = self._socket.recv(_READ)
        except TimeoutError:
            raise
        except OSError as error:
            raise Broken(f"the connection was lost: {error.strerror or error}") from None
        self._line.received += len(data)
        return data


class _Rest:
    """A body of a known length, of which the beginning came with the head. `surplus`: what came after it."""

    def __init__(self, begun: bytes, length: int):
        self._begun, self._length = begun, length
        self.surplus = b""

    def chunks(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        data, left = self._begun, self._length
        while left > len(data):
            yield data
            left -= len(data)
            data = read()
            if not data:
                raise Broken(_BROKE_OFF)
        yield data[:left]
        self.surplus = data[left:]
