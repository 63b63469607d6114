"""One HTTP/1.1 connection, the time that remains for its request, and how to cut it off.

Plain requests and answers, which nearly all are (every header line plain, one Content-Length, a connection
that stays open), are written and read here, in a quarter of the time that h11 takes and with the same result.
Anything else is left to h11. Two rules go beyond h11: every step is limited by the time of the whole request
(the usual limits are per read, which an endless drip never reaches, F18), and a connection on which more than
the answer was received is never reused: the surplus would be taken for the answer to another request."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Request
from baselinekit.replaying import answer as answer
from baselinekit.replaying.answer import CONNECTION_LOST, BrokenAnswer, Headers

T = TypeVar("T")
_POLL_SECONDS = 0.1
_CONNECT_TIMEOUT = 5.0


class CutOff(Exception):
    """The request was cancelled."""


class NoConnection(Exception):
    """Nothing was sent: the server is not there, or does not answer."""


Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as texts."""


Admit = Callable[[str | None], None]
"""Raises for an address that may not be connected to."""


def addresses(host: str, port: int) -> Sequence[str]:
    """Resolve a host as the system does."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in infos))


def connected(resolve: Resolve, admit: Admit, host: str, port: int, make: Callable[[str], T]) -> T:
    """Return what `make` gives for the first address of a host that accepts a connection; else raise the
    error of the last one. The name is resolved once, so that `admit` checks the very addresses that are
    connected to, and no second answer of a name server comes in between. One refused address refuses them
    all: which of them comes first is the name server's choice."""
    candidates = resolve(host, port)
    for address in candidates:
        admit(address)
    last_error = OSError("the name has no address")
    for address in candidates:
        try:
            return make(address)
        except OSError as error:
            last_error = error
    raise last_error


def _admit_nothing(address: str | None) -> None:
    raise AssertionError("a request is sent that was not admitted")


class Transport:
    """The time limit of a request, and its open sockets. `connected` and `received`: what happened since the
    exchange began; `sent`: whether any part of the request was sent, in any of its tries."""

    def __init__(self, cancelled: threading.Event):
        self.cancelled = cancelled
        self.connected = False
        self.received = 0
        self.sent = False
        self.admit: Admit = _admit_nothing
        self._deadline = 0.0
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    def start(self, seconds: float, admit: Admit = _admit_nothing) -> None:
        """`admit`: raises for addresses that this request may not connect to."""
        self.admit = admit
        self._deadline = time.monotonic() + seconds
        self.sent = False

    def begin(self) -> None:
        self.connected = False
        self.received = 0

    def remaining(self) -> float:
        """Return the seconds that the next step may take."""
        if self.cancelled.is_set():
            raise CutOff
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return remaining

    def connect_timeout(self) -> float:
        """Return the seconds that a server has to accept a connection."""
        return min(_CONNECT_TIMEOUT, self.remaining())

    def connect(self, make: Callable[[float], T], discard: Callable[[T], None]) -> T:
        """Return the connection that `make` gives within its time limit, or raise NoConnection."""
        limit = self.connect_timeout()
        try:
            connection = TimeLimitedCall(lambda: make(limit), discard).get(limit, self.cancelled)
        except TimeoutError:
            connection = None
        except OSError as error:
            raise NoConnection(f"no connection: {error.strerror or error}") from None
        if connection is None:
            raise CutOff if self.cancelled.is_set() else NoConnection(f"no connection within {limit:.2g} s")
        self.connected = True
        return connection

    def opened(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.add(sock)

    def closed(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)

    def cut(self) -> None:
        """Wake up any thread that waits on a socket of this transport; called from another thread."""
        with self._lock:
            for sock in self._sockets:
                with suppress(OSError):  # the plain shutdown: that of an SSLSocket would first end the TLS
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def close_sockets(self) -> None:
        """Close what is still open, once the thread of this transport no longer uses it."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for sock in sockets:
            sock.close()


class TimeLimitedCall(Generic[T]):
    """A call that cannot be interrupted (resolving a name, connecting), made in a thread of its own and
    abandoned when it takes too long."""

    def __init__(self, make: Callable[[], T], discard: Callable[[T], None]):
        self._make, self._discard = make, discard
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._has_given_up = False
        self._made: T | None = None
        self._error: BaseException | None = None

    def get(self, seconds: float, cancelled: threading.Event) -> T | None:
        """Return the result, or None when the time is over."""
        try:
            threading.Thread(target=self._work, name="connect", daemon=True).start()
        except RuntimeError:  # no thread to be had on a busy machine: called here, however long it takes
            self._work()
        deadline = time.monotonic() + seconds
        while not self._done.wait(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or cancelled.is_set():
                with self._lock:
                    self._has_given_up = not self._done.is_set()
                break
        if self._error is not None:
            raise self._error
        return self._made

    def _work(self) -> None:
        try:
            result = self._make()
        except BaseException as error:
            self._error = error
            self._done.set()
            return
        with self._lock:
            if not self._has_given_up:
                self._made = result
                self._done.set()
                return
        self._discard(result)


def resolve_within(
    resolve: Resolve, host: str, port: int, seconds: float, cancelled: threading.Event
) -> list[str]:
    """Return the addresses of a host, or none when it cannot be resolved in time: a network behind a proxy
    may know no names, and be slow to say so."""
    with suppress(OSError):
        return list(
            TimeLimitedCall(lambda: resolve(host, port), lambda result: None).get(seconds, cancelled) or ()
        )
    return []


_NAME = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_FIELD = lazy_pattern(rb"(%b): ([!-~][\t -~]*)(?<![\t ])\r\n" % _NAME)
_FIELDS = rb"(?:%b: [!-~][\t -~]*(?<![\t ])\r\n)+" % _NAME
_REQUEST = lazy_pattern(rb"[A-Z]+ [!-~]+ HTTP/1\.1\r\nHost: [!-~]+\r\n(?:%b)?\r\n" % _FIELDS)
_HEAD = lazy_pattern(rb"HTTP/1\.1 ([2345][0-9][0-9]) [ -~]{0,100}\r\n(%b)\r\n" % _FIELDS)
_LENGTH = lazy_pattern(rb"[0-9]{1,15}")
_WITHOUT_BODY = (204, 304)
_READ_SIZE = 65_536
_LARGEST_JOINED = 65_536
_TRUSTED_SECONDS = 1.0  # seconds

if TYPE_CHECKING:
    import ssl

    from baselinekit.replaying.spoken import H11Exchanges


class Head(NamedTuple):
    """The head of an answer. `end`: where the body begins in the data; `length`: that of the body."""

    status: int
    headers: Headers
    end: int
    length: int


def write_plainly(method: str, target: str, headers: Headers) -> bytes | None:
    """Return a plain request without its body, else None; also None for HEAD, whose answer h11 has to
    read."""
    if method == "HEAD":
        return None
    fields = b"".join([b"%b: %b\r\n" % pair for pair in headers])
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode(), target.encode(), fields)
    is_plain = (
        _REQUEST.fullmatch(head) and head.count(b"\n") == len(headers) + 2
    )  # no value contains a line break
    return head if is_plain else None


def parse_head(data: bytes) -> Head | None:
    """Return the head of a plain answer, else None."""
    match = _HEAD.match(data)
    if match is None:
        return None
    status, headers = int(match[1]), _FIELD.findall(match[2])
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in values and lower in (b"content-length", b"connection"):
            return None
        values[lower] = value
    length = values.get(b"content-length", b"")
    if status in _WITHOUT_BODY or b"transfer-encoding" in values or not _LENGTH.fullmatch(length):
        return None
    if values.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    return Head(status, headers, match.end(), int(length))


def dial(host: str, port: int, tls: ssl.SSLContext | None, transport: Transport, resolve: Resolve) -> Wire:
    """A new connection, to an address that this request may go to."""
    admit = transport.admit  # read now: an abandoned thread may run on when the next request has begun

    def connect(limit: float) -> tuple[socket.socket, str]:
        def connect_to(address: str) -> tuple[socket.socket, str]:
            return socket.create_connection((address, port), limit), address

        return connected(resolve, admit, host, port, connect_to)

    sock, address = transport.connect(connect, lambda connection: connection[0].close())
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Wire(_encrypted(sock, host, tls, transport) if tls else sock, transport, address)
    except BaseException:
        sock.close()
        raise


def _encrypted(sock: socket.socket, host: str, tls: ssl.SSLContext, transport: Transport) -> ssl.SSLSocket:
    import ssl  # not needed by most runs

    tls.set_alpn_protocols(["http/1.1"])
    secure = tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    transport.opened(secure)
    try:
        secure.settimeout(transport.connect_timeout())
        secure.do_handshake()
    except BaseException as error:
        transport.closed(secure)
        secure.close()
        if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
            raise NoConnection(f"no TLS connection: {error.strerror or error}") from None
        raise
    return secure


class Wire:
    """One HTTP/1.1 connection."""

    def __init__(self, sock: socket.socket, transport: Transport, address: str):
        self._socket, self._transport, self.address = sock, transport, address
        self._h11: H11Exchanges | None = None
        self._last_used = time.monotonic()
        self._closed = False
        self._early_data: bytes | None = None
        """What was read of an answer that is not plain."""

        transport.opened(sock)

    def close(self) -> None:
        self._closed = True
        self._transport.closed(self._socket)
        self._socket.close()

    def is_usable(self, repeatable: bool) -> bool:
        """Whether another request may be sent here. Data on an idle connection means that it has ended, or
        that the server sent a surplus. And since a server may close it at any moment, a request that must not
        be sent twice needs a connection that was used within the last second."""
        if self._closed or (not repeatable and time.monotonic() - self._last_used > _TRUSTED_SECONDS):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def ask(self, request: Request, target: str, headers: answer.Headers) -> answer.Answer:
        """Return the answer; on any error the connection is closed."""
        try:
            written = write_plainly(request.method, target, headers)
            if written is not None:
                self._send(written, request.content)
                if plain := self._plainly(request):
                    return plain
            spoken, early_data = self._by_h11(), self._early_data
            head = spoken.begin(request, target, headers)
            if written is None:
                self._send(head, request.content)
            self._early_data = None
            response, is_reusable = spoken.answer(request, early_data)
        except BaseException:
            self.close()
            raise
        if is_reusable:
            self._last_used = time.monotonic()
        else:
            self.close()
        return response

    def _by_h11(self) -> H11Exchanges:
        if self._h11 is None:
            from baselinekit.replaying.spoken import H11Exchanges  # not needed by most runs

            self._h11 = H11Exchanges(self._read, lambda: self._transport.received)
        return self._h11

    def _plainly(self, request: Request) -> answer.Answer | None:
        """Return the answer if the data read first shows that it is plain, else None."""
        data = self._early_data = self._read()
        head = parse_head(data)
        if head is None:
            return None
        self._early_data = None
        body_rest = _RestOfBody(data[head.end :], head.length)
        body = answer.whole_body(request, head.status, head.headers, body_rest.chunks(self._read))
        if body_rest.surplus:
            raise answer.surplus_error()
        if not body_rest.is_read:
            self.close()
        self._last_used = time.monotonic()
        return head.status, head.headers, body

    def _send(self, out: bytes, content: bytes) -> None:
        pieces = [out + content] if len(content) < _LARGEST_JOINED else [out, content]
        try:
            for piece in pieces:
                self._socket.settimeout(self._transport.remaining())
                self._transport.sent = True
                self._socket.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may refuse a large body before it has read all of it: its answer says so

    def _read(self) -> bytes:
        self._socket.settimeout(self._transport.remaining())
        try:
            data = self._socket.recv(_READ_SIZE)
        except TimeoutError:
            raise
        except OSError as error:
            raise BrokenAnswer(f"the connection was lost: {error.strerror or error}") from None
        self._transport.received += len(data)
        return data


class _RestOfBody:
    """A body of a known length, whose beginning was received with the head. `surplus`: the data after it;
    `is_read`: whether all of it has been read."""

    def __init__(self, begun: bytes, length: int):
        self._begun, self._length = begun, length
        self.surplus = b""
        self.is_read = False

    def chunks(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        data, remaining = self._begun, self._length
        while remaining > len(data):
            yield data
            remaining -= len(data)
            data = read()
            if not data:
                raise BrokenAnswer(CONNECTION_LOST)
        self.surplus, self.is_read = data[remaining:], True
        yield data[:remaining]
