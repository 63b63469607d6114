"""A flow that makes a record is captured once, and passes however its ids come out; a mix-up fails."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

FLOW = """\
id: order-flow
current:
  input:
    steps:
      - {name: new, method: POST, endpoint: /orders, json: {title: tea}, save: {SAVE}}
      - {name: got, endpoint: 'GET'}
      - {name: all, endpoint: /orders}
      - {name: gone, method: DELETE, endpoint: 'GET'}
    collect: [new, got, all, gone]
  execution: {type: http}
"""
BY_ID = FLOW.replace("SAVE", "order_id: body.id").replace("GET", "/orders/{{order_id}}")
BY_PLACE = FLOW.replace("SAVE", "where: headers.location").replace("GET", "{{where}}")


class Orders:
    """Orders whose ids a test makes. `mixed`: the list tells another id than that of the order."""

    def __init__(self, new_id: Callable[[], Any]) -> None:
        self.kept: dict[str, Any] = {"/orders/first": {"id": "first", "title": "coffee"}}
        self.mixed = False
        orders = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self, status: int, value: object, location: str = "") -> None:
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

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture(params=["uuid", "number", "short"])
def orders(request: pytest.FixtureRequest) -> Iterator[Orders]:
    numbers = iter(range(7, 1000))
    make: dict[str, Callable[[], Any]] = {
        "uuid": lambda: str(uuid.uuid4()),
        "number": lambda: next(numbers),
        "short": lambda: f"{next(numbers):03x}f",
    }
    service = Orders(make[request.param])
    yield service
    service.server.shutdown()
    service.server.server_close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


@pytest.mark.parametrize("flow", [BY_ID, BY_PLACE], ids=["by id", "by place"])
def test_captured_once_and_replayed(here: Console, orders: Orders, flow: str) -> None:
    (here.folder / "baselines").mkdir()
    file = here.folder / "baselines" / "flow.yaml"
    file.write_text(flow)
    captured = here.run(f"baselinekit capture from baselines --base-url {orders.url}")
    assert captured.exit_code == 0, captured.stdout + captured.stderr
    written = file.read_text()
    assert "made by this flow" in captured.stdout
    for _ in range(5):
        compared = here.run(f"baselinekit compare --no-record --base-url {orders.url}")
        assert compared.exit_code == 0, written + compared.stdout
    orders.mixed = True
    assert here.run(f"baselinekit compare --no-record --base-url {orders.url}").exit_code == 1


def test_the_hash_of_a_body_is_no_id(here: Console) -> None:
    class Picture(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.end_headers()
            self.wfile.write(b"\x89PNG\r\n")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Picture)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    asked = f"capture http http://127.0.0.1:{server.server_port}/p.png --id p --placeholder-like ids"
    captured = here.run(f"baselinekit {asked}")
    server.shutdown()
    server.server_close()
    assert "looks like an id" not in captured.stdout
    (file,) = here.folder.glob("baselines/*/p.yaml")
    assert "<<" not in file.read_text().partition("environment:")[0]
