"""A service that answers one thing to everybody, at once or after a while, and counts."""

import json
import socketserver
import threading
from collections import Counter
from typing import Any, Self


class Steady:
    """`{"n": 1}` and the like, whatever is asked. From answer number `slow_from` on (counted from 0) it takes
    `seconds` each, or until it goes on or closes."""

    def __init__(self, answer: Any, slow_from: int = 1 << 60, seconds: float = 20.0):
        body = json.dumps(answer).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        data = head.encode() + body
        self.asked = 0
        self.answered = 0
        self.paths: Counter[str] = Counter()
        self._closed = False
        self._going_on = threading.Event()
        lock = threading.Lock()
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    while self.asked_again():
                        with lock:
                            number, service.asked = service.asked, service.asked + 1
                        if number >= slow_from and service._going_on.wait(seconds) and service._closed:
                            return
                        self.connection.sendall(data)
                        with lock:
                            service.answered += 1
                except OSError:
                    return  # whoever asked is gone

            def asked_again(self) -> bool:
                line = first = self.rfile.readline()
                while line not in (b"", b"\r\n"):
                    line = self.rfile.readline()
                if line:
                    with lock:
                        service.paths[first.split()[1].decode()] += 1
                return line != b""

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 512

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def go_on(self) -> None:
        """Whoever waits is answered, and nobody waits any more."""
        self._going_on.set()

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._going_on.set()
        self._server.shutdown()
        self._server.server_close()
