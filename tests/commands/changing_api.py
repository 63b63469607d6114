"""A server whose answers depend on how often a path was asked before."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class ChangingApi:
    """`answers` maps a path to a function of the number of the request, counted from 1: its JSON body, a
    text, or (status, body). A ConnectionError closes the connection."""

    def __init__(self, answers: dict[str, Callable[[int], Any]]):
        self.answers = answers
        self.asked: Counter[str] = Counter()
        lock = threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with lock:
                    api.asked[self.path] += 1
                    number = api.asked[self.path]
                try:
                    answer = api.answers[self.path](number)
                except ConnectionError:
                    self.close_connection = True
                    return
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                text = isinstance(body, str)
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain" if text else "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
