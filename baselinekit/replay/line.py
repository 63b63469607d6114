"""One thread's way to the network: the time that is left for its request, and how to cut it off.

The usual time limits are per read, which an endless drip never reaches (F18)."""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")
_GLANCE = 0.1
_CONNECT_TIMEOUT = 5.0


class Cut(Exception):
    """Cut off by whoever asked for the request."""


class NoConnection(Exception):
    """Nothing was sent: nobody is there, or nobody answers."""


class Broken(Exception):
    """The connection ended too early, or what came is not HTTP."""


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

    def regex_budget(self) -> float:
        """The seconds that somebody has to take a connection."""
        return min(_CONNECT_TIMEOUT, self.left())

    def connect(self, make: Callable[[float], T], discard: Callable[[T], None]) -> T:
        """What `make` gives within the seconds that it is told, or NoConnection."""
        limit = self.regex_budget()
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
