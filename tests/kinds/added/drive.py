"""Runs in the copy of the package that has the new kind: what its verbs make of it, printed as JSON."""

import json
import sys
from pathlib import Path
from typing import Any

from desk import Desk

from baselinekit.errors import BaselinekitError

BAD = {"input": {"method": "Greet", "message": []}, "execution": {"type": "grpc", "timout": 3}}


def record(name: str) -> dict[str, Any]:
    current = {"input": {"method": f"shop.Prices/{name}"}, "execution": {"type": "grpc"}}
    return {"id": name.lower(), "current": current, "metadata": {}}


def answer(code: int, currency: str) -> dict[str, Any]:
    return {"code": code, "trailers": {"Server": "x", "date": "today"}, "message": {"currency": currency}}


def failure(act: Any) -> list[str]:
    try:
        act()
    except BaselinekitError as error:
        return [f"{problem.code} {problem.message}: {problem.hint}" for problem in error.problems]
    return []


def main() -> dict[str, Any]:
    desk = Desk(Path.cwd())
    said: dict[str, Any] = {}

    def store(name: str) -> str:
        return desk.capture(record(name)).file

    desk.says("shop.Prices/One", answer(14, "EUR"))
    said["refused"] = failure(lambda: store("One"))
    for name in ("One", "Two"):
        desk.says(f"shop.Prices/{name}", answer(0, "EUR"))
    said["files"] = [store("One"), store("Two")]
    said["unchanged"] = [result.outcome for result in desk.compare().results]
    for name in ("One", "Two"):  # further trailers, and the names of trailers in other letters, are no matter
        other = answer(0, "EUR") | {"trailers": {"SERVER": "x", "date": "today", "more": "1"}}
        desk.says(f"shop.Prices/{name}", other)
    said["same"] = [result.outcome for result in desk.compare().results]
    desk.says("shop.Prices/One", answer(0, "USD"))
    desk.says("shop.Prices/Two", answer(5, "USD"))
    results = desk.compare().results
    said["changed"] = [[result.kind, result.outcome, result.target] for result in results]
    proposal = desk.propose()
    said["risks"] = [[change.risk for change in plan.changes] for plan in proposal.plans]
    said["groups"] = [[group.path, len(group.members)] for group in proposal.groups]
    Path("baselines/bad.yaml").write_text(json.dumps({"id": "bad", "current": BAD}))
    said["invalid"] = failure(lambda: desk.compare())
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
