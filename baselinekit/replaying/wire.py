"""One connection that speaks HTTP/1.1, the time that is left for its request, and how to cut it off.

A request and the head of an answer as nearly all are (every line plain, one Content-Length, a connection that
stays) are written and read here at once, in a quarter of the time that h11 takes. Anything else is left to
h11, which for what passes here would say the same. What it leaves open is decided here: every step ends with
the time of the whole request (the usual limits are per read, which an endless drip never reaches, F18), and a
connection on which more came than the answer is never used again: what is left over would be taken for the
answer to somebody else's request."""

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
from baselinekit.replaying.answer import BROKE_OFF, Broken, Headers

T = TypeVar("T")
_GLANCE = 0.1
_CONNECT_TIMEOUT = 5.0


class Cut(Exception):
    """Cut off by whoever asked for the request."""


class NoConnection(Exception):
    """Nothing was sent: nobody is there, or nobody answers."""


Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as texts."""


Admit = Callable[[str | None], None]
"""Raises for an address that may not be connected to."""


def addresses(host: str, port: int) -> Sequence[str]:
    """As the system resolves it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def connected(resolve: Resolve, admit: Admit, host: str, port: int, make: Callable[[str], T]) -> T:
    """What `make` gives for the first address of a host that takes a connection; else why the last one did
    not. The name is resolved this once, and what `admit` is asked about is what is connected to, so that no
    second answer of a name server comes in between. One address that is refused refuses them all: which of
    them comes first is the name server's choice."""
    found = resolve(host, port)
    for address in found:
        admit(address)
    why = OSError("the name has no address")
    for address in found:
        try:
            return make(address)
        except OSError as error:
            why = error
    raise why


def _nobody(address: str | None) -> None:
    raise AssertionError("a request is sent that was not admitted")


class Transport:
    """`connected` and `received` tell what happened since the exchange began; `sent`, whether anything of the
    request went out, however often it was tried."""

    def __init__(self, cancelled: threading.Event):
        self.cancelled = cancelled
        self.connected = False
        self.received = 0
        self.sent = False
        self.admit: Admit = _nobody
        self._deadline = 0.0
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    def start(self, seconds: float, admit: Admit = _nobody) -> None:
        """`admit`: who decides on the addresses that this request may connect to."""
        self.admit = admit
        self._deadline = time.monotonic() + seconds
        self.sent = False

    def begin(self) -> None:
        self.connected = False
        self.received = 0

    def left(self) -> float:
        """The seconds that the next step may take."""
        if self.cancelled.is_set():
            raise Cut
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def connect_timeout(self) -> float:
        """The seconds that somebody has to take a connection."""
        return min(_CONNECT_TIMEOUT, self.left())

    def connect(self, make: Callable[[float], T], discard: Callable[[T], None]) -> T:
        """What `make` gives within the seconds that it is told, or NoConnection."""
        limit = self.connect_timeout()
        try:
            made = InTime(lambda: make(limit), discard).get(limit, self.cancelled)
        except TimeoutError:
            made = None
        except OSError as error:
            raise NoConnection(f"no connection: {error.strerror or error}") from None
        if made is None:
            raise Cut if self.cancelled.is_set() else NoConnection(f"no connection within {limit:.2g} s")
        self.connected = True
        return made

    def opened(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.add(sock)

    def closed(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)

    def cut(self) -> None:
        """From another thread: whoever waits on a socket of this line wakes up."""
        with self._lock:
            for sock in self._sockets:
                with suppress(OSError):  # the plain shutdown: the one of TLS would first undo the TLS
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def hang_up(self) -> None:
        """Close whatever is still open, once the line's own thread uses it no more."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for sock in sockets:
            sock.close()


class InTime(Generic[T]):
    """Something that cannot be interrupted (a look-up of a name, a connect), done in a thread of its own and
    left alone when it takes too long."""

    def __init__(self, make: Callable[[], T], discard: Callable[[T], None]):
        self._make, self._discard = make, discard
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._given_up = False
        self._made: T | None = None
        self._error: BaseException | None = None

    def get(self, seconds: float, cancelled: threading.Event) -> T | None:
        """What was made, or None when the time is over."""
        try:
            threading.Thread(target=self._work, name="connect", daemon=True).start()
        except RuntimeError:  # a busy machine has no thread to give: then by ourselves, however long it takes
            self._work()
        deadline = time.monotonic() + seconds
        while not self._done.wait(min(_GLANCE, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or cancelled.is_set():
                with self._lock:
                    self._given_up = not self._done.is_set()
                break
        if self._error is not None:
            raise self._error
        return self._made

    def _work(self) -> None:
        try:
            made = self._make()
        except BaseException as error:
            self._error = error
            self._done.set()
            return
        with self._lock:
            if not self._given_up:
                self._made = made
                self._done.set()
                return
        self._discard(made)


def looked_up(
    resolve: Resolve, host: str, port: int, seconds: float, cancelled: threading.Event
) -> list[str]:
    """The addresses of a host as far as they are known here, and soon: a network behind a proxy need not know
    any name, and takes its time to say so."""
    with suppress(OSError):
        return list(InTime(lambda: resolve(host, port), lambda found: None).get(seconds, cancelled) or ())
    return []


_NAME = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_FIELD = lazy_pattern(rb"(%b): ([!-~][\t -~]*)(?<![\t ])\r\n" % _NAME)
_FIELDS = rb"(?:%b: [!-~][\t -~]*(?<![\t ])\r\n)+" % _NAME
_REQUEST = lazy_pattern(rb"[A-Z]+ [!-~]+ HTTP/1\.1\r\nHost: [!-~]+\r\n(?:%b)?\r\n" % _FIELDS)
_HEAD = lazy_pattern(rb"HTTP/1\.1 ([2345][0-9][0-9]) [ -~]{0,100}\r\n(%b)\r\n" % _FIELDS)
_LENGTH = lazy_pattern(rb"[0-9]{1,15}")
_WITHOUT_BODY = (204, 304)
_READ = 65_536
_JOINED = 65_536
_TRUSTED = 1.0  # seconds

if TYPE_CHECKING:
    import ssl

    from baselinekit.replaying.spoken import Spoken


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
        secure.settimeout(line.connect_timeout())
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
        self._spoken: Spoken | None = None
        self._used = time.monotonic()
        self._closed = False
        self._early: bytes | None = None
        """What was read of an answer that is not plain."""

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
            if written is not None:
                self._send(written, request.content)
                if plain := self._plainly(request):
                    return plain
            spoken, early = self._by_h11(), self._early
            begun = spoken.begin(request, target, headers)
            if written is None:
                self._send(begun, request.content)
            self._early = None
            found, stays = spoken.answer(request, early)
        except BaseException:
            self.close()
            raise
        if stays:
            self._used = time.monotonic()
        else:
            self.close()
        return found

    def _by_h11(self) -> Spoken:
        if self._spoken is None:
            from baselinekit.replaying.spoken import Spoken  # which most runs have no use for

            self._spoken = Spoken(self._read, lambda: self._line.received)
        return self._spoken

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
        if not rest.is_read:
            self.close()
        self._used = time.monotonic()
        return head.status, head.headers, body

    def _send(self, out: bytes, content: bytes) -> None:
        pieces = [out + content] if len(content) < _JOINED else [out, content]
        try:
            for piece in pieces:
                self._socket.settimeout(self._line.left())
                self._line.sent = True
                self._socket.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may refuse a large body before it has read all of it: its answer says so

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
    """A body of a known length, of which the beginning came with the head. `surplus`: what came after it;
    `is_read`: whether somebody has read all of it."""

    def __init__(self, begun: bytes, length: int):
        self._begun, self._length = begun, length
        self.surplus = b""
        self.is_read = False

    def chunks(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        data, left = self._begun, self._length
        while left > len(data):
            yield data
            left -= len(data)
            data = read()
            if not data:
                raise Broken(BROKE_OFF)
        self.surplus, self.is_read = data[left:], True
        yield data[:left]
