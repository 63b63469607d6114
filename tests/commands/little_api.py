"""A server of a few lines whose answers a test sets, and which remembers what it was asked."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LittleApi:
    """`answers` maps a path to (status, content type, bytes); anything else is 404."""

    def __init__(self, answers: dict[str, Any]):
        self.answers = {path: self._encoded(answer) for path, answer in answers.items()}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api.asked.append((self.command, self.path, dict(self.headers.items())))
                status, kind, body = api.answers.get(self.path, (404, "text/plain", b"nothing here"))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @staticmethod
    def _encoded(answer: Any) -> tuple[int, str, bytes]:
        if isinstance(answer, tuple):
            return answer
        return 200, "application/json", json.dumps(answer).encode()

    def says(self, path: str, answer: Any) -> None:
        self.answers[path] = self._encoded(answer)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
