"""A small users and orders API on a free port of this machine, for `baselinekit demo` and our own baselines.

python -m baselinekit.demo.service --port 8080 --version 2
"""

import argparse
import gzip
import hashlib
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
from urllib.parse import parse_qs, urlsplit

from baselinekit.demo.api import Api, DemoAnswer, DemoRequest, Record, error

_MAX_BODY_BYTES = 1_000_000
_MIN_GZIP_SIZE = 256
_THREAD_WAIT = 5.0


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

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a request in its own thread. A busy machine may briefly be unable to start one: then the
        client waits rather than getting no answer."""
        deadline = time.monotonic() + _THREAD_WAIT
        while True:
            try:
                return super().process_request(request, client_address)
            except RuntimeError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.05)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "baselinekit-demo"
    sys_version = ""
    timeout = 60
    wbufsize = -1  # send head and body together
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, as the output would mix with that of the tool."""

    def _handle(self) -> None:
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self.close_connection = True
            self._send(error(400, "the address cannot be read"))
            return
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > _MAX_BODY_BYTES:
            self.close_connection = True
            self._send(error(413, "the body is too large"))
            return
        request = DemoRequest(query, self.headers, self.rfile.read(int(length)))
        method = "GET" if self.command == "HEAD" else self.command
        self._send(self.server.api.answer(method, parts.path, request))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815  # http.server's names

    def _send(self, answer: DemoAnswer) -> None:
        content, kind = _content(answer.body)
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        status = answer.status
        if status == 200 and self.headers.get("If-None-Match") == tag:
            status, content = 304, b""
        zipped = len(content) > _MIN_GZIP_SIZE and "gzip" in self.headers.get("Accept-Encoding", "")
        if zipped:
            content = gzip.compress(content, mtime=0)
        self.send_response(status)
        headers = {"Content-Type": kind, "ETag": tag, "Vary": "Accept-Encoding", **answer.headers}
        headers |= {"Content-Encoding": "gzip"} if zipped else {}
        headers |= {} if status == 304 else {"Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _content(body: Record | str | bytes) -> tuple[bytes, str]:
    if isinstance(body, bytes):
        return body, "image/png"
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return json.dumps(body, ensure_ascii=False).encode(), "application/json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m baselinekit.demo.service", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--version", type=int, choices=(1, 2), default=1, help="of the API")
    parser.add_argument("--users", type=int, default=42, help="how many it knows")
    options = parser.parse_args()
    with Service(options.port, options.version, options.users) as service:
        sys.stdout.write(f"{service.url}\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            service.wait()


if __name__ == "__main__":
    main()
