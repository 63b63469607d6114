"""A server on raw sockets that keeps to no rule: each path is answered by a function that has the connection
to itself. Every connection ends by itself after a few seconds, and all of them with the server."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

LIFE = 8.0
"""Seconds until a connection ends, whatever its route does."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came in."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Peer:
    """The other end of a connection, as a route sees it."""

    def __init__(self, sock: socket.socket, stopped: threading.Event):
        self.socket = sock
        self._stopped = stopped
        self._end = time.monotonic() + LIFE
        self.seen = Seen("", "", {}, b"")
        sock.settimeout(LIFE)

    def alive(self, pause: float = 0.0) -> bool:
        """Whether to go on, after a pause."""
        return not self._stopped.wait(pause) and time.monotonic() < self._end

    def say(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def drip(self, drop: bytes, pause: float = 0.05) -> None:
        while self.alive(pause):
            self.say(drop)

    def flood(self, wave: bytes) -> None:
        while self.alive():
            self.say(wave)

    def reset(self) -> None:
        """End the connection with a reset instead of a farewell."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


Act = Callable[[Peer], bool | None]
"""Answers a request; True keeps the connection open for the next one."""


@dataclass
class HostileServer:
    routes: dict[str, Act | bytes] = field(default_factory=dict)
    otherwise: Act | bytes | None = None
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._stopped = threading.Event()
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with suppress(OSError):  # closing alone would leave the accept waiting
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def requests(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.target.partition("?")[0] == path]

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, suppress(OSError, ValueError), sock.makefile("rb") as stream:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(sock, self._stopped)
            while peer.alive():
                first = stream.readline(70_000).decode("latin-1").split()
                if len(first) < 2:
                    return
                headers = {}
                while line := stream.readline(70_000).decode("latin-1").rstrip("\r\n"):
                    name, _, value = line.partition(":")
                    headers[name.strip().lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", "0")))
                peer.seen = Seen(first[0], first[1], headers, body)
                self.seen.append(peer.seen)
                act = self.routes.get(first[1].partition("?")[0], self.otherwise)
                if act is None:
                    return
                if isinstance(act, bytes):
                    peer.say(act)
                    return
                if not act(peer):
                    return


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")


def whole(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    """An honest answer, its length right."""
    return head(f"Content-Length: {len(body)}", *lines, status=status) + body


def chunked(body: bytes, *lines: str, end: bytes = b"0\r\n\r\n", size: int = 1000) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    raw = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head("Transfer-Encoding: chunked", *lines) + raw + end


def kept(raw: bytes) -> Act:
    """These bytes, and the connection stays open."""

    def act(peer: Peer) -> bool:
        peer.say(raw)
        return True

    return act


JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain; charset=utf-8"
