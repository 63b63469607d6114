"""A small service of orders on 127.0.0.1: POST /orders makes one, GET reads one or all, DELETE ends one."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Orders:
    """Orders whose ids a test makes. `mixed`: the list tells another id than that of the order; `most`: how
    many answers were under way at once, each of which takes `seconds`."""

    def __init__(
        self, new_id: Callable[[], Any], seconds: float = 0, kept: dict[str, Any] | None = None
    ) -> None:
        self.kept: dict[str, Any] = dict(kept or {})
        self.mixed = False
        self.most = 0
        self._open = 0
        self._lock = threading.Lock()
        orders = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self, status: int, value: object, location: str = "") -> None:
                orders._take(seconds)
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if location:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                listed = list(orders.kept.values())
                if orders.mixed:
                    listed[-1] = {**listed[-1], "id": new_id()}
                self._answer(200, listed if self.path == "/orders" else orders.kept[self.path])

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                made = new_id()
                where = f"/orders/{made}"
                orders.kept[where] = {"id": made, **asked, "links": {"self": where}, "state": "open"}
                self._answer(201, orders.kept[where], where)

            def do_DELETE(self) -> None:
                self._answer(200, {"id": orders.kept.pop(self.path)["id"]})

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _take(self, seconds: float) -> None:
        with self._lock:
            self._open += 1
            self.most = max(self.most, self._open)
        time.sleep(seconds)
        with self._lock:
            self._open -= 1

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
