"""Several replays of one baseline → one outcome and one verdict."""

from collections.abc import Callable
from typing import Any

import pytest

from baselinekit.commands.judging import JudgedBaseline, combine, replay_repeatedly
from baselinekit.model.changes import KeptOutput
from baselinekit.model.grades import Outcome
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import ABSENT


def spot(path: str, actual: Any, expected: Any = 1, kind: str = "value") -> ReportedDifference:
    keys = tuple(int(key) if key.isdigit() else key for key in path.split("."))
    return ReportedDifference(keys, kind, expected, actual, "b.yaml", 3)  # type: ignore[arg-type]


def result(outcome: Outcome, *spots: ReportedDifference, **more: Any) -> Result:
    resolved = {"x": 2} if outcome == "failed" else None
    found = {"resolved": resolved, "differences": spots, "difference_count": len(spots), **more}
    return Result("b", "b.yaml", 2, "http", outcome, seconds=1.0, **found)


PASS = result("passed")
SAME = result("failed", spot("a", 2))
ERROR = result("error", code="BK301", reason="refused")
BUDGET = result("skipped", code="BK620", reason="the limit")


def new(n: int) -> Result:
    """A failure at a place that is always something else."""
    return result("failed", spot("id", f"id-{n}", "id-0"))


LOST_KEY = [result("failed", spot("id", n, 0), spot("k", ABSENT, 1, "missing")) for n in (1, 2)]
STEADY = [result("failed", spot("id", n, 0), spot("a", 2)) for n in (1, 2, 3)]
EXTRA = [result("failed", spot(key, 1, ABSENT, "extra")) for key in "ab"]
VERDICTS: list[tuple[list[Result], float, str, str | None]] = [
    ([PASS] * 5, 1.0, "passed", None),
    ([SAME] * 2, 1.0, "failed", "regression"),
    ([SAME, ERROR, ERROR], 1.0, "failed", "insufficient data"),
    ([PASS] * 19 + [SAME], 1.0, "failed", "flaky"),
    ([new(1), new(2), new(3)], 1.0, "failed", "noise"),
    (STEADY, 1.0, "failed", "regression"),
    (LOST_KEY, 1.0, "failed", "regression"),
    ([result("failed", spot("a", f"{n}", 1, "type")) for n in (1, 2)], 1.0, "failed", "regression"),
    ([result("failed", spot("a", f"no-{n}", "<<any_uuid>>")) for n in (1, 2)], 1.0, "failed", "regression"),
    (EXTRA, 1.0, "failed", "flaky"),
    ([PASS, ERROR], 1.0, "error", "flaky"),
    ([ERROR, ERROR], 1.0, "error", None),
    ([PASS, SAME, BUDGET], 1.0, "failed", "flaky"),
    ([PASS] * 4 + [SAME], 0.8, "passed", "flaky"),
    ([PASS] * 3 + [SAME] * 2, 0.8, "failed", "insufficient data"),  # it may be chance
    ([PASS] + [SAME] * 4, 0.8, "failed", "regression"),
    ([PASS] * 9 + [ERROR], 0.5, "error", "flaky"),  # an error is no pass
]


@pytest.mark.slow
@pytest.mark.parametrize(("results", "rate", "outcome", "verdict"), VERDICTS)
def test_combine_gives_outcome_and_verdict(
    results: list[Result], rate: float, outcome: str, verdict: str | None
) -> None:
    found = combine(results, rate)
    assert (found.outcome, found.verdict) == (outcome, verdict)
    assert combine(list(reversed(results)), rate).verdict == verdict or BUDGET in results


def test_combine_notes_how_often_each_difference_occurs() -> None:
    first = result("failed", spot("a", 2), spot("id", "x", "y"))
    second = result("failed", spot("a", 2), spot("id", "z", "y"), spot("b", 3))
    found = combine([first, second, PASS])
    assert [(item.path, item.note) for item in found.differences] == [
        (("a",), "in 2 of 3 replays"),
        (("id",), "in 2 of 3 replays"),
        (("b",), "in 1 of 3 replays"),
    ]
    assert found.difference_count == 3


def no_sleep(seconds: float) -> None: ...


def tries(results: list[Result]) -> Callable[[int], JudgedBaseline]:
    """Each with something pending, which names its turn."""
    return lambda turn: JudgedBaseline(results[turn], KeptOutput("x", str(turn), None, "2024-01-15"))


@pytest.mark.parametrize(
    ("results", "kept"),
    [
        ([PASS, PASS], [0]),
        ([SAME, SAME], [0]),
        ([PASS, SAME], []),
        ([new(1), new(2)], []),
        ([ERROR, SAME], [1]),
    ],
    ids=["passes", "regression", "flaky", "noise", "insufficient"],
)
def test_replay_repeatedly_keeps_one_decided_answer(results: list[Result], kept: list[int]) -> None:
    tried = replay_repeatedly(tries(results), len(results), 1.0, lambda: False, no_sleep)
    assert ([int(tried.pending.recipe_hash)] if tried.pending else []) == kept


@pytest.mark.parametrize(("result", "is_stopped"), [(result("unscored", code="BK223"), False), (SAME, True)])
def test_replay_repeatedly_ends_where_no_replay_would_change_anything(
    result: Result, is_stopped: bool
) -> None:
    turns: list[int] = []

    def attempt(turn: int) -> JudgedBaseline:
        turns.append(turn)
        return JudgedBaseline(result)

    replay_repeatedly(attempt, 5, 1.0, lambda: is_stopped, no_sleep)
    assert turns == [0]


def test_replay_repeatedly_waits_a_tick_after_a_difference() -> None:
    sleeps: list[float] = []
    failed = result("failed", spot("a", 5, 6))
    replay_repeatedly(tries([failed] * 3), 3, 1.0, lambda: False, sleeps.append)
    replay_repeatedly(tries([result("passed")] * 3), 3, 1.0, lambda: False, sleeps.append)
    assert sleeps == [1.1]
