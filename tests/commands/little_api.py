"""Servers of a few lines: what they answer is set by a test, and what they were asked is counted."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from commandline import until

from baselinekit.demo.api import FORMS


class LittleApi:
    """`answers` maps a path to its answer: JSON, a text or bytes; (status, one of them); (status, media type,
    one of them); or a function that makes it from the number of the request, counted from 1 for each path. A
    ConnectionError closes the connection; any other path is 404."""

    def __init__(self, answers: dict[str, Any], port: int = 0):
        self.answers = answers
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.counts: Counter[str] = Counter()
        self.lock, api = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet: two of them wait for each other

            def do_GET(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with api.lock:
                    api.requests.append((self.command, self.path, dict(self.headers.items())))
                    api.counts[self.path] += 1
                    number = api.counts[self.path]
                try:
                    status, kind, body = api.answer(self.path, number, self.headers, data)
                except ConnectionError:
                    self.close_connection = True
                    return
                with suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            do_POST = do_DELETE = do_GET  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_: object) -> None:
                pass

        self._server = Server(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, number: int, headers: Any, data: bytes) -> tuple[int, str, bytes]:
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


class CountedModel(LittleApi):
    """The demo model. `pause` gives the seconds before an answer, by the number of the question."""

    def __init__(self, pause: Callable[[int], float] = lambda number: 0.0):
        super().__init__({})
        self.pause, self.version = pause, 1
        self.questions: list[dict[str, Any]] = []
        self.at_once = self.most_at_once = 0
        self._ended = threading.Event()

    def answer(self, path: str, number: int, headers: Any, data: bytes) -> tuple[int, str, bytes]:
        question = json.loads(data)
        with self.lock:
            self.questions.append(question)
            number = len(self.questions)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self._ended.wait(self.pause(number))
        with self.lock:
            self.at_once -= 1
        return 200, "application/json", json.dumps(FORMS[path](question, self.version)).encode()

    def wait_for(self, number: int) -> None:
        """Until it was asked this many questions."""
        until(lambda: len(self.questions) >= number)

    def pause_when_crowded(self, most: int, pause: float) -> float:
        """A pause that begins once this many questions were there at the same time."""
        deadline = time.monotonic() + 20
        while self.most_at_once < most and time.monotonic() < deadline:
            time.sleep(0.002)
        return pause

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        super().__exit__()
