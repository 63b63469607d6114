"""Ratings by many at once, with the server killed at any moment: what was acknowledged is there, once."""

import json
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from serving import Served, serving

CASE = """\
- id: item-{n}
  input: {{type: command, content: {{argv: [say]}}}}
  execution: {{type: command}}
  grader:
    type: human
    config: {{rating_scale: {{type: likert, range: [1, 5]}}, evaluators: {{max_allowed: 50}}}}
"""
RATERS = [f"rater {n}" for n in range(20)]
ITEMS = 10


@pytest.fixture
def project(tmp_path: Path) -> Any:
    with console(tmp_path / "project") as project:
        (project.folder / "evals").mkdir()
        (project.folder / "evals/a.yaml").write_text("".join(CASE.format(n=n) for n in range(ITEMS)))
        (project.folder / "baselinekit.yaml").write_text("version: 1\ncommands: {say: [printf, hi]}\n")
        assert project.run("baselinekit run evals -q").exit_code == 3
        yield project


def ratings_of(project: Console) -> list[tuple[str, str, Any]]:
    assert project.run("baselinekit grade --export all.json").exit_code == 0
    items = json.loads((project.folder / "all.json").read_text())["items"]
    return [(one["item"], it["rater"], it["value"]) for one in items for it in one.get("ratings", [])]


def words() -> list[str]:
    return ["--as", "root", *(word for name in RATERS for word in ("--rater", name))]


def test_200_simultaneous_ratings_are_all_kept_once(project: Console) -> None:
    with serving(project, *words()) as served:
        keys = [one["key"] for one in served.get("/api/rate", RATERS[0]).json["items"]]
        wanted = [(key, name, 1 + (n + m) % 5) for n, key in enumerate(keys) for m, name in enumerate(RATERS)]
        ready = threading.Barrier(len(wanted))

        def rate(key: str, name: str, value: int) -> int:
            ready.wait(30)
            return served.post("/api/rate/rating", {"key": key, "value": value}, name).status

        with ThreadPoolExecutor(len(wanted)) as pool:
            statuses = [*pool.map(lambda one: rate(*one), wanted)]
        assert statuses == [200] * 200
    assert sorted(ratings_of(project)) == sorted(wanted)


def test_acknowledged_ratings_survive_50_kills(project: Console) -> None:
    by_chance = random.Random(17)
    with serving(project, *words()) as served:
        keys = [one["key"] for one in served.get("/api/rate", RATERS[0]).json["items"]]
    wanted = {(key, name): 1 + n % 5 for key in keys for n, name in enumerate(RATERS)}
    acknowledged: set[tuple[str, str]] = set()
    for _ in range(50):
        left = [*(wanted.keys() - acknowledged)]
        by_chance.shuffle(left)
        with serving(project, *words()) as served:
            killer = threading.Timer(
                by_chance.uniform(0.0, 0.12), served.process.send_signal, [signal.SIGKILL]
            )
            killer.start()
            acknowledged |= sent_until_killed(served, [(pair, wanted[pair]) for pair in left[:40]])
            killer.join()
        found = ratings_of(project)
        assert len(found) == len({(key, name) for key, name, _ in found})
        assert acknowledged <= {(key, name) for key, name, value in found if wanted[key, name] == value}
    with serving(project, *words()) as served:
        for (key, name), value in wanted.items():
            assert served.post("/api/rate/rating", {"key": key, "value": value}, name).status == 200
    assert sorted(ratings_of(project)) == sorted((key, name, value) for (key, name), value in wanted.items())


def sent_until_killed(served: Served, ratings: list[tuple[tuple[str, str], int]]) -> set[tuple[str, str]]:
    done: set[tuple[str, str]] = set()

    def send(one: tuple[tuple[str, str], int]) -> None:
        (key, name), value = one
        try:
            if served.post("/api/rate/rating", {"key": key, "value": value}, name).status == 200:
                done.add((key, name))
        except (OSError, HTTPException):
            pass  # nothing was acknowledged

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, ratings))
    return done


def test_slow_clients_are_left_and_others_are_answered(project: Console) -> None:
    """A hundred that send a byte at a time, and one that never ends its body."""
    import socket
    import time

    with serving(project, "--as", "root") as served:
        slow = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(100)]
        for connection in slow[1:]:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        head = (
            f"POST /api/rate/rating HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        )
        head += f"Authorization: Bearer {served.tokens['']}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        slow[0].sendall(head.encode())
        began = time.monotonic()
        assert served.get("/api/rate").status == 200
        assert time.monotonic() - began < 2
        assert [connection.recv(10) for connection in slow[1:]] == [b""] * 99
        assert time.monotonic() - began < 8
        assert slow[0].recv(100).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 15
        for connection in slow:
            connection.close()
