"""A server of a few lines whose answers a test sets, and which remembers what it was asked."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LittleApi:
    """`answers` maps a path to its answer: JSON, a text, bytes, (status, one of them) or (status, media type,
    one of them), or a function that makes it from the number of the request, counted from 1 for each path. A
    ConnectionError closes the connection; any other path is 404."""

    def __init__(self, answers: dict[str, Any], port: int = 0):
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.counts: Counter[str] = Counter()
        lock, api = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet: two of them wait for each other

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with lock:
                    api.asked.append((self.command, self.path, dict(self.headers.items())))
                    api.counts[self.path] += 1
                    number = api.counts[self.path]
                try:
                    status, kind, body = api.answer(self.path, number, self.headers)
                except ConnectionError:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def do_DELETE(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, number: int, headers: Any) -> tuple[int, str, bytes]:
        answer = self.answers.get(path, (404, "nothing here"))
        answer = answer(number) if callable(answer) else answer
        status, *kind, body = answer if isinstance(answer, tuple) else (200, answer)
        plain = "text/plain" if isinstance(body, str | bytes) else "application/json"
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        return status, kind[0] if kind else plain, text.encode() if isinstance(text, str) else text

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
