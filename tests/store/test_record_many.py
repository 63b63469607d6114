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
def test_a_known_place_and_a_search_give_the_same_bytes(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("p")

    def choose(options: list[Any]) -> Any:
        return data.draw(st.sampled_from(options))

    cases = [case(number, choose) for number in range(choose([1, 3]))]
    text = Hand(choose).document(cases if len(cases) > 1 else cases[0])
    for name in ("known.yaml", "searched.yaml"):
        write(folder, name, choose(["", "\ufeff"]) * (name == "known.yaml") + text)
    passed = [choose([True, False]) for _ in cases]
    for name in ("known.yaml", "searched.yaml"):
        marks = [Mark(one.source, it) for one, it in zip(load([name], str(folder)), passed, strict=True)]
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


def test_what_an_anchor_shares_has_no_place_of_its_own(tmp_path: Path) -> None:
    current = "current: {input: {endpoint: /x}, execution: {type: http}}"
    shared = "{last_passed: null, failure_count: 0}"
    text = f"- id: a\n  {current}\n  metadata: &m {shared}\n- id: b\n  {current}\n  metadata: *m\n"
    write(tmp_path, "f.yaml", text)
    one, two = load(["f.yaml"], str(tmp_path))
    record([Mark(one.source, False), Mark(two.source, True)], str(tmp_path), NOW)
    one, two = load(["f.yaml"], str(tmp_path))
    assert (one.metadata.failure_count, one.metadata.last_passed) == (1, None)
    assert (two.metadata.failure_count, two.metadata.last_passed) == (0, NOW)
