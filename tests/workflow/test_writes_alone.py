"""A flow's temporary record never shows in another's list, whatever -j says."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

FLOW = """\
id: flow-{n}
baseline: {{output: {{body: {{name: temporary}}}}}}
current:
  input:
    steps:
      - {{method: POST, endpoint: /orders, save: {{location: headers.location}}}}
      - {{endpoint: '{{{{location}}}}'}}
      - {{method: DELETE, endpoint: '{{{{location}}}}'}}
    collect: {{body: 2.body}}
  execution: {{type: http{more}}}
"""
LIST = """\
id: list-{n}
baseline: {{output: {{status: 200, body: []}}}}
current: {{input: {{endpoint: /orders}}, execution: {{type: http{more}}}}}
"""


class Orders:
    """A list of orders, each call of which takes a while."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.most = 0
        self._open = 0
        lock, orders = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self, status: int, value: object, location: str = "") -> None:
                with lock:
                    orders._open += 1
                    orders.most = max(orders.most, orders._open)
                time.sleep(0.01)
                with lock:
                    orders._open -= 1
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if location:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                if self.path == "/orders":
                    self._answer(200, list(orders.kept.values()))
                else:
                    self._answer(200, orders.kept[self.path])

            def do_POST(self) -> None:
                where = f"/orders/{time.monotonic_ns()}"
                orders.kept[where] = {"name": "temporary"}
                self._answer(201, {}, where)

            def do_DELETE(self) -> None:
                del orders.kept[self.path]
                self._answer(200, {})

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def orders() -> Any:
    service = Orders()
    yield service
    service.server.shutdown()
    service.server.server_close()


@pytest.fixture
def here(tmp_path: Path) -> Any:
    with console(tmp_path / "project") as terminal:
        yield terminal


def written(here: Console, more: str) -> None:
    folder = here.folder / "baselines"
    folder.mkdir()
    for n in range(8):
        (folder / f"{n}-flow.yaml").write_text(FLOW.format(n=n, more=more))
        (folder / f"{n}-list.yaml").write_text(LIST.format(n=n, more=more))


@pytest.mark.parametrize("more", ["", ", resource: orders"])
def test_what_writes_is_not_seen_by_what_reads(here: Console, orders: Orders, more: str) -> None:
    written(here, more)
    ran = here.run(f"baselinekit compare -j 8 --no-record --base-url {orders.url}")
    assert (ran.exit_code, "16 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    assert (orders.most > 1) is not bool(more)  # what only reads goes side by side


def test_without_it_the_records_of_others_are_seen(here: Console, orders: Orders) -> None:
    written(here, ", serial: false")
    ran = here.run(f"baselinekit compare -j 8 --no-record --base-url {orders.url}")
    assert ran.exit_code == 1
    assert orders.most > 1
