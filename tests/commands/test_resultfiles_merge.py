"""Shards and their merge: the report of one run, byte for byte; what does not belong together is refused."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from report.reports import report, result, spot

from baselinekit.commands.history import merge
from baselinekit.commands.selection import parse_shard, shard_of
from baselinekit.errors import InvalidInput
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.recipes import ModelUsage
from baselinekit.model.results import Report, Result, Shard
from baselinekit.report.forms.table import render_report
from baselinekit.structs import replace


def cut(run: Report, of: int) -> list[tuple[str, Report]]:
    """The result files of the shards that a run would have been, cut out of it by hand."""
    parts = []
    for number in range(1, of + 1):
        mine = [(n, one) for n, one in enumerate(run.results) if shard_of(one.id, of) == number]
        part = replace(
            run,
            results=tuple(replace(one, position=n) for n, one in mine),
            command=run.command + f" --shard {number}/{of}",
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
def test_shards_merged_are_byte_for_byte_the_run_without(outcomes: list[Any], of: int, random: Any) -> None:
    whole = a_run(outcomes, spent=ModelUsage(3, 40), environment={"os": "x"}, commit="c" * 40)
    parts = cut(whole, of)
    random.shuffle(parts)
    merged = merge(parts)
    assert render_report(merged, "x.json") == render_report(whole, "x.json")
    assert merged.exit_code == whole.exit_code


def test_what_differs_from_machine_to_machine_is_settled() -> None:
    parts = cut(a_run(["passed"] * 9), 3)
    times = [("2024-01-20T14:00:05Z", 3.0), ("2024-01-20T14:00:02Z", 9.0), ("2024-01-20T14:00:09Z", 4.0)]
    late = [
        (file, replace(one, started=started, id=f"compare-{started}", seconds=seconds))
        for (file, one), (started, seconds) in zip(parts, times, strict=True)
    ]
    merged = merge(late)
    assert (merged.started, merged.id) == ("2024-01-20T14:00:02Z", "compare-2024-01-20T14:00:02Z")
    assert merged.seconds == 9.0
    assert merged.command == "baselinekit compare"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("baselinekit compare --shard 1/3 -o out/1.json --base main", "baselinekit compare --base main"),
        ("baselinekit compare -o 'my results/1.json' -k 'a and b'", "baselinekit compare -k 'a and b'"),
        ("baselinekit compare -o github --secret token='***'", "baselinekit compare --secret 'token=***'"),
    ],
)
def test_the_command_of_the_whole_has_no_part_that_was_a_shard_s_own(typed: str, read: str) -> None:
    (name, first), other = cut(a_run(["passed"] * 3), 2)
    assert merge([(name, replace(first, command=typed)), other]).command == read


def test_a_shard_is_an_id_s_for_ever() -> None:
    """Another release, or another order, must not send a baseline elsewhere: these never change."""
    assert [shard_of(id, 4) for id in ("users", "orders", "a", "é", "suite/case-1")] == [3, 1, 3, 4, 2]


def test_a_shard_that_is_missing_makes_it_incomplete() -> None:
    parts = cut(a_run(["passed"] * 20), 4)
    merged = merge([parts[0], parts[3]])
    lost = 20 - len(merged.results)
    assert merged.warnings[0] == f"2 of 4 shards missing: 2, 3; {lost} baselines are not in here"
    assert not merged.complete
    assert merged.exit_code == 3


def with_(part: tuple[str, Report], **more: Any) -> tuple[str, Report]:
    return "other.json", replace(part[1], **more)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"commit": "d" * 40}, "BK131 other.json: is of another commit than 1.json: dddd"),
        ({"tool": "baselinekit 9"}, "of another version than 1.json: baselinekit 9, not baselinekit 0.1.0"),
        ({"shard": Shard(2, 2, 9, "http://b")}, "is of another target than 1.json: http://b, not none"),
        ({"shard": Shard(2, 2, 9, "", "c2")}, "is of another configuration than 1.json: take"),
        ({"shard": Shard(2, 3, 9)}, "is of another number of shards than 1.json: 3, not 2"),
        ({"shard": Shard(1, 2, 9)}, "is shard 1/2, and so is 1.json"),
        ({"shard": None}, "is not a shard, but the others are"),
    ],
)
def test_what_is_no_part_of_the_same_run_is_refused(change: dict[str, Any], said: str) -> None:
    first, second = cut(a_run(["passed"] * 9, commit=None), 2)
    with pytest.raises(InvalidInput, match="BK131") as error:
        merge([first, with_(second, **change)])
    assert said in str(error.value)


def test_a_baseline_in_two_shards_is_an_error() -> None:
    first, second = cut(a_run(["passed"] * 9), 2)
    stolen: Result = first[1].results[0]
    for again in (replace(stolen, position=99), replace(stolen, id="x")):
        with pytest.raises(InvalidInput, match=r"BK131 other.json: '[^']+' is in 1.json already"):
            merge([first, with_(second, results=(*second[1].results, again))])


def test_what_the_operator_lets_differ_is_merged_and_told() -> None:
    first, second = cut(a_run(["passed"] * 9), 2)
    other = with_(second, tool="baselinekit 9", shard=Shard(2, 2, 9, "http://b", "c2"))
    with pytest.raises(InvalidInput) as error:
        merge([first, other], ["version"])
    assert [problem.message.split(" than ")[0] for problem in error.value.problems] == [
        "is of another target",
        "is of another configuration",
    ]
    assert all("--allow-different" in problem.hint for problem in error.value.problems)
    merged = merge([first, other], ["version", "target", "configuration"])
    assert "shards of another target: none in 1.json, and http://b in other.json" in merged.warnings
    assert "written by baselinekit 0.1.0, and by baselinekit 9 in other.json" in merged.warnings


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "a/b", "-1/4", "1/99999", "1/4\n"])
def test_a_shard_that_cannot_be_is_told(text: str) -> None:
    with pytest.raises(InvalidInput, match="BK508 --shard"):
        parse_shard(text)
