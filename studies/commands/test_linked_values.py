"""A flow that makes a record is captured once, and passes however its ids come out; a mix-up fails."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from little_orders import Orders

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


@pytest.fixture(params=["uuid", "number", "short"])
def orders(request: pytest.FixtureRequest) -> Iterator[Orders]:
    numbers = iter(range(7, 1000))
    make: dict[str, Callable[[], Any]] = {
        "uuid": lambda: str(uuid.uuid4()),
        "number": lambda: next(numbers),
        "short": lambda: f"{next(numbers):03x}f",
    }
    service = Orders(make[request.param], kept={"/orders/first": {"id": "first", "title": "coffee"}})
    yield service
    service.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


@pytest.mark.parametrize("flow", [BY_ID, BY_PLACE], ids=["by id", "by place"])
def test_captured_once_and_replayed(here: Console, orders: Orders, flow: str) -> None:
    (here.folder / "baselines").mkdir()
    file = here.folder / "baselines" / "flow.yaml"
    file.write_text(flow)
    captured = here.run(f"baselinekit capture baselines --base-url {orders.url}")
    assert captured.exit_code == 0, captured.stdout + captured.stderr
    written = file.read_text()
    assert "made by this flow" in captured.stdout
    for _ in range(5):
        compared = here.run(f"baselinekit compare --no-record --base-url {orders.url}")
        assert compared.exit_code == 0, written + compared.stdout
    orders.mixed = True
    assert here.run(f"baselinekit compare --no-record --base-url {orders.url}").exit_code == 1
