"""A small users and orders API on a free port of this machine, for the demo and our own baselines."""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Self
from urllib.parse import parse_qs

from baselinekit.demo.api import Api, DemoAnswer, DemoRequest, error

_MAX_BODY_BYTES = 1_000_000


class Service:
    """Serves the API at a port of this machine for the duration of the `with` block."""

    def __init__(
        self, port: int = 0, version: int = 1, users: int = 42, now: Callable[[], float] = time.time
    ):
        self._api = Api(version, users, lambda: datetime.fromtimestamp(now(), UTC))
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.api = self._api
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def version(self) -> int:
        return self._api.version

    def upgrade(self) -> None:
        """Answer as version 2 from now on."""
        self._api.version = 2

    def wait(self) -> None:
        """Block until interrupted."""
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    api: Api
    request_queue_size = 128

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self._connections: set[socket.socket] = set()

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which can take seconds and is not needed."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; report anything else, which is a bug."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "baselinekit-demo"
    sys_version = ""
    timeout = 60
    wbufsize = -1  # send head and body together
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: it would appear within the output of the tool."""

    def _handle(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > _MAX_BODY_BYTES:
            self.close_connection = True
            return self._send(error(413, "the body is too large"))
        path, _, parameters = self.path.partition("?")
        query = {name: values[-1] for name, values in parse_qs(parameters).items()}
        request = DemoRequest(query, self.headers, self.rfile.read(int(length)))
        method = "GET" if self.command == "HEAD" else self.command
        return self._send(self.server.api.answer(method, path, request))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815  # http.server's names

    def _send(self, answer: DemoAnswer) -> None:
        if isinstance(answer.body, str):
            kind, content = "text/plain; charset=utf-8", answer.body.encode()
        elif isinstance(answer.body, bytes):
            kind, content = "image/png", answer.body
        else:
            kind, content = "application/json", json.dumps(answer.body, ensure_ascii=False).encode()
        self.send_response(answer.status)
        headers = {"Content-Type": kind, **answer.headers, "Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
