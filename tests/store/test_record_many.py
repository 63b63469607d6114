"""Many verdicts at once: in places that are known since the file was read, together, and never worse than one
by one."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from storehelp import Hand, record, write

from baselinekit.store.reading import load
from baselinekit.store.record import Mark
from baselinekit.structs import replace

NOW = "2024-02-01T00:00:00Z"
OUTPUT: dict[str, Any] = {"a": ["metadata:", "last_passed: null", {"failure_count": 0}], "b": "x: 1 # no"}


@pytest.mark.slow
@settings(deadline=None)
@given(st.data())
def test_record_at_a_known_place_equals_a_search(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("p")

    def choose(options: list[Any]) -> Any:
        return data.draw(st.sampled_from(options))

    cases = [case(number, choose) for number in range(choose([1, 3]))]
    text = Hand(choose).document(cases if len(cases) > 1 else cases[0])
    for name in ("known.yaml", "searched.yaml"):
        write(folder, name, choose(["", "\ufeff"]) * (name == "known.yaml") + text)
    passed = [choose([True, False]) for _ in cases]
    for name in ("known.yaml", "searched.yaml"):
        marks = [Mark(first.source, it) for first, it in zip(load([name], str(folder)), passed, strict=True)]
        assert all(None not in mark.source.spans for mark in marks), text
        if name == "searched.yaml":
            marks = [replace(mark, source=replace(mark.source, spans=(None, None))) for mark in marks]
        assert record(marks, str(folder), NOW) == []
    known, searched = ((folder / name).read_bytes() for name in ("known.yaml", "searched.yaml"))
    assert known.removeprefix("\ufeff".encode()) == searched
    assert known.removeprefix("\ufeff".encode()) != text.encode()


def case(number: int, choose: Any) -> dict[str, Any]:
    return {
        "id": f"id-{number}",
        "baseline": {"output": OUTPUT},
        "current": {"input": {"endpoint": "/x"}, "execution": {"type": "http"}},
        "metadata": {
            "last_passed": choose([None, "2024-01-20T14:00:00Z", "2023-01-01"]),
            "failure_count": choose([0, 9, 41]),
            "tags": choose([[], ["a"]]),
        },
    }


def test_record_of_a_shared_anchor_writes_each_baseline(tmp_path: Path) -> None:
    current = "current: {input: {endpoint: /x}, execution: {type: http}}"
    shared = "{last_passed: null, failure_count: 0}"
    text = f"- id: a\n  {current}\n  metadata: &m {shared}\n- id: b\n  {current}\n  metadata: *m\n"
    write(tmp_path, "f.yaml", text)
    first, two = load(["f.yaml"], str(tmp_path))
    record([Mark(first.source, False), Mark(two.source, True)], str(tmp_path), NOW)
    first, two = load(["f.yaml"], str(tmp_path))
    assert (first.metadata.failure_count, first.metadata.last_passed) == (1, None)
    assert (two.metadata.failure_count, two.metadata.last_passed) == (0, NOW)
