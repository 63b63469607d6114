"""What a service says of its own process: numbers that were the same twice beside others that were not, and
JSON that it sends as plain text."""

import json
from pathlib import Path
from typing import Any

import pytest
from ticking import START, Ticking, record, ticking

from baselinekit.commands.asking import LATER
from baselinekit.commands.capture import Captured, capture_new, named_new
from baselinekit.commands.compare import ComparePolicy, compare
from baselinekit.commands.known_good import CaptureOptions, observe_known_good
from baselinekit.commands.selection import Selection
from baselinekit.learning.learning import TICK


def capture(desk: Ticking, **options: Any) -> Captured:
    wanted = CaptureOptions(**{"repeat": None, **options})
    return capture_new(desk.project, record("x"), wanted, desk.ticking())


def outcome(desk: Ticking) -> str:
    report = compare(desk.project, [], Selection(), ComparePolicy(record="never"), desk.ticking())
    return report.results[0].outcome


def info(used: int, peak: int, start: int, **stated: Any) -> dict[str, Any]:
    sizes = {"used_memory": str(used), "used_memory_peak": str(peak), "used_memory_startup": str(start)}
    return {
        "server": {"port": 6379, "memory": 16, "cpus": 4, **stated},
        "memory": {**sizes, "maxmemory": "0", "total": 4},
    }


def test_a_number_of_a_process_is_learnt_beside_those_that_vary(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: info(1000 + number, 2000 + number, 876056))
    captured = capture(desk)
    assert captured.output["body"] == {
        "server": {"port": 6379, "memory": 16, "cpus": 4},
        "memory": {
            "used_memory": "<<any_digits>>",
            "used_memory_peak": "<<any_digits>>",
            "used_memory_startup": "<<any_digits>>",
            "maxmemory": "0",
            "total": 4,
        },
    }
    reasons = [one.found.proposal.reason for one in captured.learnt]
    assert reasons[-1] == "texts of digits, which its name counts beside others that vary"
    desk.service["/x"] = lambda now, number: info(900, 1800, 875960)
    assert outcome(desk) == "passed"
    for stated in ({"port": 6380}, {"memory": 32}, {"cpus": 2}):
        desk.service["/x"] = lambda now, number, stated=stated: info(900, 1800, 875960, **stated)
        assert outcome(desk) == "failed"


def test_all_that_go_tells_of_its_memory_is_learnt_if_two_numbers_vary(tmp_path: Path) -> None:
    def memory(now: float, number: int) -> dict[str, Any]:
        sizes = {"Alloc": 9000 + number, "TotalAlloc": 20_000 + number, "HeapInuse": 5, "Sys": 14_660_872}
        rows = [{"Size": 8, "Mallocs": 338}, {"Size": 16, "Mallocs": 4415}]
        return {
            "memstats": {**sizes, "GCCPUFraction": 0, "EnableGC": True, "PauseNs": [7, 0], "BySize": rows}
        }

    captured = capture(ticking(tmp_path, x=memory))
    count = "<<any_integer>>"
    assert captured.output["body"]["memstats"] == {
        **dict.fromkeys(("Alloc", "TotalAlloc"), "<<any_integer(0)>>"),
        **dict.fromkeys(("HeapInuse", "Sys"), count),
        "GCCPUFraction": "<<any_number>>",
        "EnableGC": True,
        "PauseNs": [count, count],
        "BySize": [{"Size": 8, "Mallocs": count}, {"Size": 16, "Mallocs": count}],
    }


def test_one_that_moves_says_nothing_of_the_others(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: info(1000 + number, 2000, 876056))
    assert capture(desk).output["body"]["memory"]["used_memory_startup"] == "876056"


def glance(now: float, number: int) -> dict[str, Any]:
    """What a service says that measures itself every five seconds."""
    return {"load": round(1 / (now // 5 % 9973 + 7), 12), "context_switches": int(now) // 5, "cores": 4}


def test_what_looks_measured_and_was_the_same_twice_is_asked_for_once_more(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=glance)
    desk.seconds = START // 5 * 5
    captured = capture(desk)
    assert (captured.replays, desk.slept) == (3, [TICK, LATER])
    assert captured.output["body"] == {
        "load": "<<any_number(0)>>",
        "context_switches": "<<any_integer(0)>>",
        "cores": 4,
    }
    assert outcome(desk) == "passed"


@pytest.mark.parametrize(
    "body",
    [
        {"price": 12.5, "revision": 7, "lat": 52.5200066, "hits": 12, "duration": 90, "used": 3, "size": 5},
        {"cpu_limit": 1.2345, "max_heap": 4096},
        {"started": "2026-01-01T10:00:00Z", "load": "high", "uptime": True, "id": "k3j4h5g6j7k8l9"},
    ],
    ids=["ordinary", "settings", "others"],
)
def test_what_does_not_look_measured_is_asked_for_twice(tmp_path: Path, body: dict[str, Any]) -> None:
    desk = ticking(tmp_path, x=lambda now, number: body)
    assert (capture(desk).replays, desk.slept) == (2, [TICK])


def test_what_looks_measured_and_stays_the_same_stays_as_it_is(tmp_path: Path) -> None:
    body = {"pi": 3.141592653589793, "rss": 12}
    desk = ticking(tmp_path, x=lambda now, number: body)
    captured = capture(desk)
    assert (captured.replays, captured.output["body"]) == (3, body)


@pytest.mark.parametrize("options", [{"repeat": 2}, {"exact": True}], ids=["repeat", "exact"])
def test_whoever_says_how_often_is_asked_so_often(tmp_path: Path, options: dict[str, Any]) -> None:
    desk = ticking(tmp_path, x=glance)
    captured = capture(desk, **options)
    assert captured.replays == options.get("repeat", 1)
    assert LATER not in desk.slept


def test_a_write_is_never_asked_for_once_more(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=glance)
    capture_new(desk.project, record("x", "POST"), CaptureOptions(repeat=None), desk.ticking())
    assert desk.counts["/x"] == 1


def test_only_those_that_look_measured_wait(tmp_path: Path) -> None:
    """Of many that are captured together, the others are written first."""
    desk = ticking(tmp_path, x=glance, y=lambda now, number: {"n": 1}, z=glance)
    desk.seconds = START // 5 * 5
    drafts = [(named_new(desk.project, record(id), CaptureOptions()).draft, "baselines") for id in "xyz"]
    options = CaptureOptions(repeat=None)
    groups = list(observe_known_good(desk.project, drafts, options, desk.ticking()))
    assert [[number for number, _ in group] for group in groups] == [[1], [0, 2]]
    assert desk.slept == [TICK, LATER]
    assert desk.counts == {"/x": 3, "/y": 2, "/z": 3}


def test_the_share_of_a_space_that_is_used_is_learnt_beside_the_space_itself(tmp_path: Path) -> None:
    """Rounded to one digit it is often the same, also five seconds later."""

    def memory(now: float, number: int) -> dict[str, Any]:
        used = 900_000_000 + number * 4096
        return {"total": 25_276_502_016, "used": used, "free": 24_000_000_000 - used, "percent": 3.6}

    captured = capture(ticking(tmp_path, x=memory))
    assert captured.output["body"] == {
        "total": 25_276_502_016,
        "used": "<<any_integer(0)>>",
        "free": "<<any_integer(0)>>",
        "percent": "<<any_number>>",
    }


def test_exact_learns_none(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: info(1000 + number, 2000 + number, 876056))
    assert capture(desk, exact=True).output["body"]["memory"]["used_memory_startup"] == "876056"


def test_json_that_is_sent_as_text_is_compared_as_json(tmp_path: Path) -> None:
    """As CouchDB and Buildbot send it: what varies in it is learnt by its key."""

    def answer(now: float, number: int) -> str:
        return json.dumps({"started": int(START - 90), "seq": number, "name": "shop"}, indent=2)

    desk = ticking(tmp_path, x=answer)
    captured = capture(desk)
    assert captured.output["body"] == {
        "started": "<<any_unix_timestamp>>",
        "seq": "<<any_integer(0)>>",
        "name": "shop",
    }
    assert any("JSON, sent as text/plain" in note for note in captured.notes)
    assert "parse: json" in (tmp_path / captured.file).read_text()
    assert outcome(desk) == "passed"
    desk.service["/x"] = lambda now, number: answer(now, number).replace("shop", "store")
    assert outcome(desk) == "failed"


def test_a_later_answer_that_is_none_keeps_it_a_text(tmp_path: Path) -> None:
    desk = ticking(tmp_path, x=lambda now, number: '{"a": 1}' if number == 1 else "no more, and no less")
    assert isinstance(capture(desk).output["body"], str)
