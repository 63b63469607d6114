"""A flow's temporary record never shows in another's list, whatever -j says."""

import time
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from little_orders import Orders

pytestmark = pytest.mark.slow

FLOW = """\
id: flow-{n}
baseline: {{output: {{name: temporary}}}}
current:
  input:
    steps:
      - {{method: POST, endpoint: /orders, json: {{name: temporary}}, save: {{location: headers.location}}}}
      - {{endpoint: '{{{{location}}}}'}}
      - {{method: DELETE, endpoint: '{{{{location}}}}'}}
    collect: {{name: 2.body.name}}
  execution: {{type: http{more}}}
"""
LIST = """\
id: list-{n}
baseline: {{output: {{status: 200, body: []}}}}
current: {{input: {{endpoint: /orders}}, execution: {{type: http{more}}}}}
"""


@pytest.fixture
def orders() -> Any:
    service = Orders(time.monotonic_ns, seconds=0.01)
    yield service
    service.close()


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
