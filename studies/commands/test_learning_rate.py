"""How often learning errs, before and after it was written anew: each service is captured, started again,
compared, learnt from and compared once more, by the command line of each product. `pytest -s` prints it.

Two kinds of errors count: a value that varies and was not learnt, and a value that is the same in every
answer and became a placeholder."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml
from lasting_services import SERVICES, Process, Running
from oldproduct import WHEEL
from test_learn_lists_last import SERVICES as LISTS

from baselinekit.model.values import Json, Path as Place
from baselinekit.values.places import places, value_at

DAY = 86_400.0
HERE = Path(__file__).parent.parent.parent


def memory(one: Process) -> Any:
    """What a store says of its process: numbers that vary, numbers that stay until its next start."""
    start = 870_000 + one.number * 5056
    return {
        "server": {
            "port": 6379,
            "memory": 16,
            "cpus": 4,
            "process_id": 100 + one.number,
            "uptime": one.count,
        },
        "memory": {
            "used_memory": str(start + one.count * 16),
            "used_memory_peak": str(start + 40_000 + one.count),
            "used_memory_startup": str(start),
            "maxmemory": "0",
        },
    }


def go(one: Process) -> Any:
    """What a Go program says of its memory."""
    size = 9000 + 1000 * one.number
    rows = [{"Size": size, "Mallocs": 300 + one.number} for size in (8, 16, 32)]
    return {
        "cmdline": ["/bin/shop"],
        "memstats": {
            "Alloc": size + one.count,
            "TotalAlloc": 3 * size + one.count,
            "HeapInuse": 10 * size,
            "Sys": 14_660_872 + 4096 * one.number,
            "NumGC": one.number,
            "EnableGC": True,
            "BySize": rows,
        },
    }


def glance(one: Process) -> Any:
    """A service that measures itself every five seconds."""
    ticks = int(one.now) // 5
    return {"load": round(1 / (ticks % 9973 + 7), 12), "context_switches": ticks, "cores": 4}


def disk(one: Process) -> Any:
    used = 900_000_000 + one.number * 4096 + one.count
    return {"mount": "/", "total": 25_276_502_016, "used": used, "percent": 3.6 + one.number / 10}


def table(one: Process) -> Any:
    """Rows that name their values, and columns that do."""
    counters = [{"name": name, "value": str(one.number * 7 + n)} for n, name in enumerate(("pid", "queries"))]
    rows = [*counters, {"name": "uptime", "value": str(one.count)}, {"name": "cache-ttl", "value": "20"}]
    return {"rows": rows, "series": {"columns": ["goroutines", "limit"], "values": [[20 + one.number, 7]]}}


def record(one: Process) -> Any:
    """What only a start changes: an id of the process, when it began, its pid."""
    start = Process(one.number, one.began)
    return {"instance": start.uuid(), "pid": 300 + one.number, "name": "shop", "term": one.number, "ok": True}


def of_list(service: Callable[..., Any]) -> Callable[[Process], Any]:
    return lambda one: service(one.dice, one.now)


ALL = {
    **SERVICES,
    **{f"/list-{service.__name__}": of_list(service) for service in LISTS},
    **{f"/own-{service.__name__}": service for service in (memory, go, glance, disk, table, record)},
}


@dataclass
class Product:
    """One product on one project, asked by its command line."""

    folder: Path
    path: str

    def run(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": self.path, "PYTHONSAFEPATH": "1", "NO_COLOR": "1"}
        ran = subprocess.run(
            [sys.executable, "-m", "baselinekit", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode in (0, 1, 3), (arguments, ran.stdout, ran.stderr)
        return ran.stdout

    def differing(self) -> dict[str, int]:
        """How many places of each service differ, by a compare."""
        self.run("compare", "-q", "-j1", "-o", "found.json")
        results = json.loads((self.folder / "found.json").read_text())["results"]
        return {
            one["id"]: len(one.get("differences", ())) or 1 for one in results if one["outcome"] != "passed"
        }

    def stored(self) -> Iterator[tuple[str, Json]]:
        for file in self.folder.glob("baselines/*/*.yaml"):
            document = yaml.safe_load(file.read_text())
            output = document["baseline"].get("output")
            if output is not None:
                yield document["id"], output


def told_apart() -> tuple[dict[str, set[Place]], dict[str, set[Place]]]:
    """The leaves of each service that are the same in every answer of every process, and those that are not:
    of the leaves that all answers have."""
    steady: dict[str, set[Place]] = {}
    varying: dict[str, set[Place]] = {}
    answers: dict[str, list[Json]] = {path: [] for path in ALL}
    for number in range(6):
        with Running(number, time.time() + number * 40 * DAY, services=ALL) as service:
            for path in ALL:
                answers[path] += [service.ask(path) for _ in range(3)]
    for path, seen in answers.items():
        id = f"get-{path[1:]}"
        leaves = [at for at, value in places(seen[0]) if not isinstance(value, dict | list)]
        steady[id], varying[id] = set(), set()
        for at in leaves:
            try:
                values = [value_at(answer, at) for answer in seen]
            except (LookupError, TypeError):
                continue
            same = all(value == values[0] for value in values)
            (steady if same else varying)[id].add(at)
    return steady, varying


@dataclass(frozen=True)
class Rate:
    """How many places of each service fail: at once, after a restart, after --learn and another restart,
    after --learn --unchanged and three more; and the places that are steady and became placeholders."""

    found: tuple[dict[str, int], ...]
    loose: tuple[str, ...]

    def places(self, stage: int, of: str) -> int:
        return sum(count for id, count in self.found[stage].items() if is_of(id, of))

    def services(self, stage: int, of: str) -> int:
        return sum(is_of(id, of) for id in self.found[stage])


GROUPS = ("the learning tests", "their own process")
"""The services of the learning tests, and those that say what their process uses, by names that were once
known as such."""


def is_of(id: str, group: str) -> bool:
    return id.startswith("get-own-") == (group == GROUPS[1])


def rate_of(folder: Path, path: str, steady: dict[str, set[Place]]) -> Rate:
    folder.mkdir()
    (folder / "baselinekit.yaml").write_text("version: 1\n")
    product, now, found = Product(folder, path), time.time(), []
    with Running(0, now, services=ALL) as service:
        port = service.port
        product.run("capture", "http", "-j1", *(f"{service.url}{path}" for path in ALL))
        (file,) = folder.glob("baselines/*/get-shuffled.yaml")  # gets the rule that its refusal proposes
        rule = "type: structural\n  arrays: {body.rows: unordered}"
        file.write_text(file.read_text().replace("type: structural", rule))
        found.append(product.differing())
    with Running(1, now + 2 * DAY, port, ALL):
        found.append(product.differing())
        if found[-1]:
            product.run("refresh", "--all-failed", "--learn", "--yes")
    with Running(2, now + 40 * DAY, port, ALL):
        found.append(product.differing())
        if found[-1]:
            product.run("refresh", "--all-failed", "--learn", "--unchanged", "--yes")
    later: dict[str, int] = {}
    for number in (3, 4, 5):
        with Running(number, now + 300 * number * DAY, port, ALL):
            for id, count in product.differing().items():
                later[id] = max(count, later.get(id, 0))
    found.append(later)
    loose = [
        f"{id} {'.'.join(map(str, at))}"
        for id, output in product.stored()
        for at, value in places(output)
        if at in steady.get(id, ()) and isinstance(value, str) and "<<" in value
    ]
    return Rate(tuple(found), tuple(sorted(loose)))


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rate]:
    steady, varying = told_apart()
    folder = tmp_path_factory.mktemp("rate")
    with ZipFile(WHEEL) as wheel:  # its schema is a file beside its modules
        wheel.extractall(folder / "old")
    rates = {
        "before": rate_of(folder / "before", str(folder / "old"), steady),
        "after": rate_of(folder / "after", str(HERE), steady),
    }
    lines = ["fail at once, after a restart, after --learn, after --learn --unchanged"]
    for group, (name, rate) in product(GROUPS, rates.items()):
        services, varied = total_of(group, varying)
        for size, what, of in ((rate.services, "services", services), (rate.places, "places", varied)):
            counts = [size(stage, group) for stage in range(4)]
            shares = "".join(f"{count:5} ({count / of:.1%})" for count in counts)
            lines.append(f"{group:18} {name:6} {of:4} {what:9}{shares}")
    sys.stdout.write("\n".join(["", *lines, *(f"made loose {rate.loose}" for rate in rates.values()), ""]))
    return rates


def total_of(group: str, varying: dict[str, set[Place]]) -> tuple[int, int]:
    """How many services a group has, and how many of their places vary."""
    return sum(is_of(id, group) for id in varying), sum(
        len(places) for id, places in varying.items() if is_of(id, group)
    )


def test_after_a_restart_it_errs_at_most_four_points_more_often(rates: dict[str, Rate]) -> None:
    """Measured: 20.5 % of 151 places before and after, all in lists, which only --learn describes."""
    _, varying = told_apart()
    before, after = (rates[name].places(1, GROUPS[0]) for name in ("before", "after"))
    assert after - before <= 0.04 * total_of(GROUPS[0], varying)[1]


@pytest.mark.parametrize("group", GROUPS)
def test_after_unchanged_it_errs_no_more_often(rates: dict[str, Rate], group: str) -> None:
    assert rates["after"].places(3, group) <= rates["before"].places(3, group)


def test_nothing_steady_becomes_loose_that_was_not_before(rates: dict[str, Rate]) -> None:
    assert set(rates["after"].loose) <= set(rates["before"].loose)
