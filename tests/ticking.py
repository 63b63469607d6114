"""A service with a clock, and a project on a desk that asks it: sleeping moves the clock, and a request takes
a moment. What it answers is a function of the time and of how often this path was asked."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from desk import Desk

from baselinekit.commands.context import RunContext
from baselinekit.model.recipes import Request, Response
from baselinekit.structs import replace

START = datetime(2026, 11, 22, 10, 0, tzinfo=UTC).timestamp()
Answer = Callable[[float, int], Any]


@dataclass
class Ticking(Desk):
    service: dict[str, Answer] = field(default_factory=dict)
    seconds: float = START
    log: list[tuple[float, str]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ticking(self) -> RunContext:
        plain = self.context()
        clients = replace(plain.clients, send=self._answer, sleep=self._sleep, now=lambda: self.seconds)
        return replace(plain, clients=clients)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def _answer(self, request: Request) -> Response:
        path = request.url.removeprefix("http://desk")
        with self.lock:
            self.seconds += 0.001
            self.counts[path] += 1
            self.log.append((self.seconds, path))
            body = self.service[path](self.seconds, self.counts[path])
        status, body = body if isinstance(body, tuple) else (200, body)
        is_metrics = isinstance(body, str) and "# TYPE " in body
        kind = "text/plain; version=0.0.4" if is_metrics else "text/plain"
        kind = kind if isinstance(body, str) else "application/json"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return Response(status, (("content-type", kind),), data, 0.001)


def record(id: str, method: str = "GET", **comparison: Any) -> dict[str, Any]:
    """What the command line hands to a capture."""
    current = {"input": {"method": method, "endpoint": f"/{id}"}, "execution": {"type": "http"}}
    return {"id": id, "current": current, "comparison": comparison, "metadata": {}}


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ticking(folder: Path, **service: Answer) -> Ticking:
    return Ticking(folder, service={f"/{name}": answer for name, answer in service.items()})
