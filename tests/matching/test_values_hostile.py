"""Documents and paths made to take for ever: keys that collide, endless wildcards, one change deep inside."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.values.paths import find, parse, roots, suggest_path


@pytest.mark.slow
def test_f52_compare_colliding_keys_takes_no_longer() -> None:
    size = 10_000
    colliding = [n * (2**61 - 1) for n in range(1, size)]
    plain = [n * 2**40 for n in range(1, size)]

    def seconds(numbers: list[int]) -> float:
        began = time.process_time()
        rows = [{"id": n} for n in numbers]
        loose = [{"id": n, "at": "<<any>>"} for n in numbers]
        came = [{"id": n, "at": n} for n in reversed(numbers)]
        assert ruled.compare(numbers, numbers[::-1], {"arrays": {"$": "unordered"}}).passed
        assert ruled.compare(rows, rows[::-1], {"arrays": {"$": {"by": "id"}}}).passed
        assert ruled.compare(loose, came, {"arrays": {"$": "unordered"}}).passed
        assert not ruled.compare(rows, rows[::-1]).passed
        return time.process_time() - began

    assert seconds(colliding) < 5 * seconds(plain) + 0.5


ENDLESS = [
    "**." * 300 + "a",
    ".".join(["**", "a"] * 150),
    "a." * 500 + "a",
    "*." * 500 + "a",
    "[50000000]",
    "a[-50000000]",
    "$" + ".a" * 400,
    "$..a[0]" + ".a" * 300,
    "$[50000000]",
    "$[0:50000000:1]",
    "$[?(@.a == 1)]",
    "$" + "[?(@.a > 0)]" * 60,
]


@pytest.mark.parametrize("path", ENDLESS, ids=lambda text: text[:20])
def test_f54_endless_path_is_bounded_by_document_size(path: str) -> None:
    deep: Json = {"a": 1}
    for _ in range(60):
        deep = {"a": [deep, {"a": 0}], "b": {"a": 1}}
    began = time.process_time()
    pattern = parse(path)
    find(pattern, deep)
    roots(pattern, {"body": deep})
    suggest_path(pattern, deep)
    for rules in ({"ignore_fields": [path]}, {"tolerance": {path: {"abs": 1}}}, {"require_keys": [path]}):
        with suppress(InvalidInput):
            ruled.compare({"x": deep}, {"x": deep}, rules)
    assert time.process_time() - began < 3


WRAPS: dict[str, Callable[[Json], Json]] = {
    "array": lambda inner: [inner],
    "row": lambda inner: [{"id": 1, "a": inner}],
    "pair": lambda inner: [inner, 0],
    "optional": lambda inner: ["<<any_null?>>", inner],
    "any": lambda inner: [inner, "x"],
}


@pytest.mark.parametrize("kind", WRAPS)
def test_f55_compare_deep_change_is_found_quickly(kind: str) -> None:
    before: Json = 1
    after: Json = 2
    for _ in range(30):
        before, after = WRAPS[kind](before), WRAPS[kind](after)
    rules: dict[str, Any] = {"arrays": {"**": "unordered"}} if kind == "any" else {}
    began = time.process_time()
    assert not ruled.compare(before, after, rules).passed
    assert time.process_time() - began < 2
