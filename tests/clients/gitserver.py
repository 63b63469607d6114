"""A git server on loopback: git's own http-backend behind a small HTTP server, and the ways in which others
misbehave: they want a password, send elsewhere, or never answer."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class GitServer(ThreadingHTTPServer):
    """`requests`: the paths that were requested. `private`, `moved`, `silent`: words in a path.
    `held`: set at the end of a test, so that silent requests end with it."""

    daemon_threads = True

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), Exchange)
        self.folder = folder
        self.requests: list[str] = []
        self.request_headers: list[str] = []
        self.held = threading.Event()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Exchange(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(body)

    def answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        self.server.requests.append(parts.path)
        self.server.request_headers += [str(self.headers)]
        if "/private/" in self.path:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif "/moved/" in self.path:
            self.send_response(301)
            self.send_header("Location", self.path.replace("/moved/", "/team/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif "/silent/" in self.path:
            self.server.held.wait(30)
        else:
            self.backend(parts.path, parts.query, body)

    def backend(self, path: str, query: str, body: bytes) -> None:
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environ, capture_output=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ")[::2] for line in head.decode("latin-1").split("\r\n") if line]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def served(folder: Path) -> Iterator[GitServer]:
    server = GitServer(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.held.set()
        server.shutdown()
        server.server_close()
        thread.join()
