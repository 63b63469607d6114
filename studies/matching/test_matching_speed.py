"""Compiling and walking an equal document takes time in proportion to its size."""

import gc
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import ruled

from baselinekit.matching.explain import explain
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json

UUID = "0190163d-8694-739b-aea5-966c26f8ad91"
WAYS: list[tuple[str, bool, dict[str, Any]]] = [
    ("literal", False, {}),
    ("placeholders", True, {}),
    ("rules", False, {"ignore_fields": ["users.*.seen", "**.etag"], "tolerance": {"users.*.n": {"abs": 1}}}),
    ("both", True, {"ignore_fields": ["users.*.seen"], "ignore_values": ["users.*.tags"]}),
    ("unordered", True, {"arrays": {"users": "unordered"}}),
    ("by", True, {"arrays": {"users": {"by": "n"}}}),
    ("exact", False, {"type": "exact"}),
    ("numeric", False, {"type": "numeric"}),
]


def document(count: int, loose: bool) -> Json:
    return {
        "users": [
            {
                "id": "<<any_uuid>>" if loose else UUID,
                "n": n,
                "name": f"user {n}",
                "active": n % 2 == 0,
                "tags": ["a", "b", 1],
                "address": {"city": "Paris", "zip": str(n)},
                "seen": "<<any_iso_datetime>>" if loose else "2024-01-15T10:30:00Z",
            }
            for n in range(count)
        ]
    }


def seconds(count: int, loose: bool, rules: dict[str, Any]) -> Iterator[float]:
    """Of one comparison after the other."""
    stored, actual = document(count, loose), document(count, False)
    while True:
        gc.collect()
        began = time.thread_time()
        assert ruled.matcher(stored, rules).compare(Observation(actual, 0.0)).passed
        yield time.thread_time() - began


@pytest.mark.parametrize(("name", "loose", "rules"), WAYS, ids=[way[0] for way in WAYS])
def test_compare_takes_time_in_proportion_to_size(name: str, loose: bool, rules: dict[str, Any]) -> None:
    small, large = seconds(1_000, loose, rules), seconds(4_000, loose, rules)
    assert is_in_proportion(small, large), name


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def is_in_proportion(small: Iterator[float], large: Iterator[float]) -> bool:
    """The best of five large ones takes less than six times as long as the best of five small ones, of a
    quarter the size. Another process may have had the processor, so there are three tries; the collector
    is off, because its time depends on everything in memory."""
    for _ in range(3):
        most = 6 * min(islice(small, 5))
        if any(took < most for took in islice(large, 5)):
            return True
    return False


def seconds_of_differing(count: int) -> Iterator[float]:
    stored = {f"k{n}": n for n in range(count)}
    actual = {key: value + 1 for key, value in stored.items()}
    while True:
        gc.collect()
        began = time.thread_time()
        ready = ruled.matcher(stored, {})
        found = ready.compare(Observation(actual, 0.0))
        lines = explain(stored, found)
        took = time.thread_time() - began
        assert found.count == count
        assert len(found.differences) <= 10_000
        assert len(lines) <= 41
        yield took


def test_compare_many_differences_takes_time_in_proportion() -> None:
    assert is_in_proportion(seconds_of_differing(20_000), seconds_of_differing(80_000))
