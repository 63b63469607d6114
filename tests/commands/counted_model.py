"""The demo model behind a socket, which counts what it is asked and may take its time."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from baselinekit.demo.api import FORMS


class CountedModel:
    """`pause` is asked before each answer how many seconds it takes; `forms`: what answers instead of it."""

    def __init__(
        self,
        pause: Callable[[int], float] = lambda number: 0.0,
        forms: Mapping[str, Callable[[dict[str, Any], int], Any]] = FORMS,
    ):
        self.asked: list[dict[str, Any]] = []
        self.version = 1
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.asked.append(given)
                    number = len(outer.asked)
                    outer.at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer.at_once)
                outer._ended.wait(pause(number))
                with outer._lock:
                    outer.at_once -= 1
                body = json.dumps(forms[self.path](given, outer.version)).encode()
                with suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_: object) -> None:
                pass

        self._ended = threading.Event()
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def until(self, number: int, seconds: float = 30.0) -> None:
        """Wait until it was asked so often."""
        deadline = time.monotonic() + seconds
        while len(self.asked) < number:
            assert time.monotonic() < deadline, f"it was asked {len(self.asked)} times in {seconds:g} s"
            time.sleep(0.01)

    def crowded(self, most: int, pause: float) -> float:
        """A pause, once so many have been there at the same time."""
        deadline = time.monotonic() + 20
        while self.most_at_once < most and time.monotonic() < deadline:
            time.sleep(0.002)
        return pause

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
