"""Numbers that look as if a service measures them again every few seconds, told with known answers."""

from typing import Any

import pytest

from baselinekit.placeholders.counters import looks_measured

MEASURED: list[tuple[str, Any]] = [
    ("uptime", 12),
    ("uptime_in_seconds", "12"),
    ("rss", 40960),
    ("ctx_switches", 23682561),
    ("goroutines", 28),
    ("min5", 3.02197265625),
    ("time_since_update", 8.284026861190796),
    ("lastScrapeDuration", 0.006237979),
    ("used_memory_peak", "2039"),
    ("swap_free", 0),
    ("cpu_percent", 3.1),
    ("uptime", "4:24:24"),
    ("uptime", "3 days, 4:24:24"),
]
OTHER: list[tuple[str, Any]] = [
    ("price", 12.5),
    ("rating", 4.37),
    ("lat", 52.5200066),
    ("revision", 7),
    ("hits", 12),
    ("duration", 90),
    ("timeout", 2.5001),
    ("max_heap", 4096),
    ("cpu", 4),
    ("memory", 16),
    ("used", 40),
    ("id", 1234567890123),
    ("load", "high"),
    ("uptime", True),
    ("uptime", None),
    ("rss", ["a"]),
    ("version", "1.2.3"),
    ("length", "1:52:10"),
    ("opens", "08:30:00"),
]


@pytest.mark.parametrize(
    ("name", "value", "is_measured"),
    [*((*case, True) for case in MEASURED), *((*case, False) for case in OTHER)],
)
def test_what_looks_measured(name: str, value: Any, is_measured: bool) -> None:
    """0 of 32 are taken for the other."""
    assert looks_measured(("body", name), value, {"body": {name: value}}) == is_measured


def test_space_is_measured_beside_the_size_of_the_whole() -> None:
    disk = {"size": 114_802_630_656, "used": 35_017_560_064, "free": 73_926_733_824}
    assert looks_measured(("free",), disk["free"], disk)
    assert looks_measured(("body",), "4:24:24", {"body": "4:24:24"})
    assert not looks_measured(("size",), disk["size"], disk)
    assert not looks_measured(("free",), 3, {"size": 5, "free": 3})
