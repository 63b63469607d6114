"""A flow that makes a record is captured once, and passes however its ids come out; a mix-up fails."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console import console
from little_api import LittleApi

FLOW = """\
id: order-flow
current:
  input:
    steps:
      - {name: new, method: POST, endpoint: /new, json: {title: tea}, save: {order_id: body.id}}
      - {name: got, endpoint: '/orders/{{order_id}}'}
      - {name: all, endpoint: /orders}
      - {name: gone, method: DELETE, endpoint: '/orders/{{order_id}}'}
    collect: [new, got, all, gone]
  execution: {type: http}
"""
IDS: dict[str, Callable[[int], Any]] = {
    "uuid": lambda number: str(uuid.UUID(int=0x3F2B8C1E7A9D << 80 | number, version=4)),
    "number": lambda number: 6 + number,
    "short": lambda number: f"{6 + number:03x}f",
}


@pytest.mark.parametrize("kind", IDS)
def test_captured_flow_passes_and_a_mixed_up_id_fails(tmp_path: Path, kind: str) -> None:
    orders = {"first": {"id": "first", "title": "coffee"}}
    is_mixed_up = False

    def make(number: int) -> Any:
        id = IDS[kind](number)
        made = {"id": id, "title": "tea", "links": {"self": f"/orders/{id}"}, "state": "open"}
        orders["new"] = api.answers[f"/orders/{id}"] = made
        return 201, made

    def listed(number: int) -> Any:
        return [orders["first"], {**orders["new"], "id": IDS[kind](99)} if is_mixed_up else orders["new"]]

    with console(tmp_path / "project") as project, LittleApi({"/new": make, "/orders": listed}) as api:
        (project.folder / "baselines").mkdir()
        file = project.folder / "baselines/flow.yaml"
        file.write_text(FLOW)
        captured = project.run(f"baselinekit capture baselines --base-url {api.url}")
        assert captured.exit_code == 0, captured.stdout + captured.stderr
        assert "made by this flow" in captured.stdout
        for _ in range(5):
            compared = project.run(f"baselinekit compare --no-record --base-url {api.url}")
            assert compared.exit_code == 0, file.read_text() + compared.stdout
        is_mixed_up = True
        assert project.run(f"baselinekit compare --no-record --base-url {api.url}").exit_code == 1
