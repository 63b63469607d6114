"""Shards and their merge: the report of one run, byte for byte; what does not belong together is refused."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from report.reports import report, result, spot

from baselinekit.commands.history import merge
from baselinekit.commands.selection import shard_of
from baselinekit.errors import InvalidInput
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import ModelUsage
from baselinekit.model.results import Report, Result, Shard
from baselinekit.report.forms import render_report
from baselinekit.structs import replace


def cut(run: Report, of: int) -> list[tuple[str, Report]]:
    """The result files of the shards that a run would have been, cut out of it by hand."""
    parts = []
    for number in range(1, of + 1):
        mine = [(n, item) for n, item in enumerate(run.results) if shard_of(item.id, of) == number]
        part = replace(
            run,
            results=tuple(replace(item, position=n) for n, item in mine),
            shard=Shard(number, of, len(run.results)),
            spent=run.spent if number == 1 else None,
        )
        parts.append((f"{number}.json", part))
    return parts


def a_run(outcomes: Sequence[Any], **more: Any) -> Report:
    results = [
        result(f"case-{number}", outcome, *([spot(("k",), "value", 1, 2)] if outcome == "failed" else []))
        for number, outcome in enumerate(outcomes)
    ]
    return report(*results, **{"command": "baselinekit compare", "warnings": ("a", "b"), **more})


@pytest.mark.slow
@given(st.lists(st.sampled_from(OUTCOMES), max_size=12), st.integers(1, 7), st.randoms())
def test_merge_of_shards_is_the_whole_run_byte_for_byte(outcomes: list[Any], of: int, random: Any) -> None:
    whole = a_run(outcomes, spent=ModelUsage(3, 40), environment={"os": "x"}, commit="c" * 40)
    parts = cut(whole, of)
    random.shuffle(parts)
    merged = merge(parts)
    assert render_report(merged, "x.json") == render_report(whole, "x.json")
    assert merged.exit_code == whole.exit_code


def test_merge_takes_first_start_and_longest_duration() -> None:
    parts = cut(a_run(["passed"] * 9), 3)
    times = [("2024-01-20T14:00:05Z", 3.0), ("2024-01-20T14:00:02Z", 9.0), ("2024-01-20T14:00:09Z", 4.0)]
    late = [
        (file, replace(item, started=started, id=f"compare-{started}", seconds=seconds))
        for (file, item), (started, seconds) in zip(parts, times, strict=True)
    ]
    merged = merge(late)
    assert (merged.started, merged.id) == ("2024-01-20T14:00:02Z", "compare-2024-01-20T14:00:02Z")
    assert merged.seconds == 9.0


def test_shard_of_an_id_never_changes() -> None:
    """Another release, or another order, must not send a baseline elsewhere: these never change."""
    assert [shard_of(id, 4) for id in ("users", "orders", "a", "é", "suite/case-1")] == [3, 1, 3, 4, 2]


def test_merge_without_a_shard_is_incomplete() -> None:
    parts = cut(a_run(["passed"] * 20), 4)
    merged = merge([parts[0], parts[3]])
    lost = 20 - len(merged.results)
    assert merged.warnings[0] == f"2 of 4 shards missing: 2, 3; {lost} baselines are not in here"
    assert not merged.complete
    assert merged.exit_code == 3


def with_(part: tuple[str, Report], **more: Any) -> tuple[str, Report]:
    return "other.json", replace(part[1], **more)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commit": "d" * 40}, "BK130 other.json: is of another commit than 1.json: dddd"),
        ({"tool": "baselinekit 9"}, "of another version than 1.json: baselinekit 9, not baselinekit 0.1.0"),
        ({"shard": Shard(2, 3, 9)}, "is of another number of shards than 1.json: 3, not 2"),
        ({"shard": None}, "is not a shard, but the others are"),
    ],
)
def test_merge_refuses_parts_of_another_run(change: dict[str, Any], message: str) -> None:
    first, second = cut(a_run(["passed"] * 9, commit=None), 2)
    with pytest.raises(InvalidInput, match="BK130") as error:
        merge([first, with_(second, **change)])
    assert message in str(error.value)


def test_merge_refuses_a_baseline_in_two_shards() -> None:
    first, second = cut(a_run(["passed"] * 9), 2)
    stolen: Result = first[1].results[0]
    for again in (replace(stolen, position=99), replace(stolen, id="x")):
        with pytest.raises(InvalidInput, match=r"BK130 other.json: '[^']+' is in 1.json already"):
            merge([first, with_(second, results=(*second[1].results, again))])
