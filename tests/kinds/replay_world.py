"""A server on a raw socket that sends any bytes, right or wrong, and clients that are fake."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from baselinekit.errors import CannotReplay, Problem
from baselinekit.kinds.settings import Clients
from baselinekit.model.recipes import ProcessResult, ProcessSpec, Request, Response


@dataclass
class ReceivedRequest:
    """A request as it came in."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Act = Callable[[socket.socket, ReceivedRequest], bool | None]
"""Answers on the connection; True keeps it open for the next request."""


@dataclass
class RawServer:
    tls: ssl.SSLContext | None = None
    routes: dict[str, Act] = field(default_factory=dict)
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    closed: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        if self.tls:
            self.listener = self.tls.wrap_socket(self.listener, server_side=True)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.stopped.set()
        with suppress(OSError):  # closing alone would leave the accept waiting
            socket.socket.shutdown(self.listener, socket.SHUT_RDWR)
        self.listener.close()

    def until_closed(self, number: int) -> None:
        """Wait until this number of connections has been closed on this side."""
        deadline = time.monotonic() + 20
        while self.closed < number:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def serve(self, path: str, raw: bytes, keep: bool = False) -> str:
        """Answer a path with these bytes; the URL."""

        def act(connection: socket.socket, received: ReceivedRequest) -> bool:
            connection.sendall(raw)
            return keep

        self.routes[path] = act
        return self.url + path

    def handle(self, path: str, act: Act) -> str:
        self.routes[path] = act
        return self.url + path

    def _accept(self) -> None:
        while not self.stopped.is_set():
            with suppress(OSError):
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        self._serve(connection)
        self.closed += 1

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while True:
                first = stream.readline().decode("latin-1").split()
                if len(first) < 2:
                    return
                headers = {}
                while line := stream.readline().decode("latin-1").rstrip("\r\n"):
                    name, _, value = line.partition(":")
                    headers[name.strip().lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", "0")))
                received = ReceivedRequest(first[0], first[1], headers, body)
                self.requests.append(received)
                act = self.routes.get(received.target.partition("?")[0])
                if act is None or not act(connection, received):
                    return


def http(status: int = 200, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """An answer's bytes, its Content-Length right unless another is given."""
    lines = [
        f"HTTP/1.1 {status} Said",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class FakeClients:
    """Answers from a list, and keeps the requests."""

    def __init__(self, *answers: Response | ProcessResult | CannotReplay):
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.runs: list[ProcessSpec] = []
        self.slept: list[float] = []

    def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, CannotReplay):
            raise answer
        assert isinstance(answer, Response)
        return answer

    def execute(self, run: ProcessSpec) -> ProcessResult:
        self.runs.append(run)
        answer = self.answers.pop(0)
        assert isinstance(answer, ProcessResult)
        return answer

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    @property
    def clients(self) -> Clients:
        return Clients(self.send, self.execute, self.sleep)


def answer(body: bytes = b"", status: int = 200, **headers: str) -> Response:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status, (("Content-Type", "application/json"), *named), body, 0.25)


NO_CONNECTION = CannotReplay(Problem("BK301", "no connection"))
