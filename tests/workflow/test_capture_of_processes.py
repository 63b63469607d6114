"""What a service says of its own process: numbers that were the same twice beside others that were not, and
JSON that it sends as plain text."""

import json
from pathlib import Path
from typing import Any

from ticking import START, Ticking, record, ticking

from baselinekit.workflow.capture import Captured, capture_new
from baselinekit.workflow.compare import ComparePolicy, compare
from baselinekit.workflow.known_good import CaptureOptions
from baselinekit.workflow.selection import Selection


def capture(desk: Ticking, **options: Any) -> Captured:
    return capture_new(desk.project, record("x"), CaptureOptions(repeat=None, **options), desk.ticking())


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
