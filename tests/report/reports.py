"""Results to render, made short."""

from typing import Any

from baselinekit.model.results import Metric, Report, ReportedDifference, Result
from baselinekit.model.values import ABSENT

FILE = "baselines/shop/users-list.yaml"
NASTY = "\x1b]52;c;aGk=\x07\u202e\x00\x9b\ud800\ufffe</failure>```\n::error::x\r@team ![i](http://e.example)"


def spot(
    path: tuple[str | int, ...], kind: Any, *sides: Any, line: int | None = 14, **more: Any
) -> ReportedDifference:
    """`sides`: what was expected and what came; for `missing` and `extra` only the one that is there."""
    expected, actual = {"missing": (*sides, ABSENT), "extra": (ABSENT, *sides)}.get(kind, sides)
    return ReportedDifference(path, kind, expected, actual, FILE, line, **more)


def result(
    id: str = "users-list", outcome: Any = "failed", *spots: ReportedDifference, **more: Any
) -> Result:
    standard: dict[str, Any] = {"target": "GET http://127.0.0.1:8123/users", "seconds": 0.125}
    return Result(
        id=id,
        file=FILE,
        line=3,
        kind="http",
        outcome=outcome,
        differences=spots,
        difference_count=more.pop("count", len(spots)),
        **{**standard, **more},
    )


def metric(name: str, value: float | None, view: str = "per case", **more: Any) -> Metric:
    standard: dict[str, Any] = {"low": None, "high": None, "count": 0, "threshold": None}
    return Metric(name, value, view, **{**standard, **more})


def report(*results: Result, **more: Any) -> Report:
    standard: dict[str, Any] = {
        "id": "r1",
        "started": "2024-01-20T14:00:00Z",
        "seconds": 0.21,
        "tool": "baselinekit 0.1.0",
        "command": "compare",
    }
    return Report(results=results, **{**standard, **more})
