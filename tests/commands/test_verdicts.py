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


VERDICTS: list[tuple[str, list[Result], float, str, str | None]] = [
    ("all pass", [PASS] * 5, 1.0, "passed", None),
    ("two are enough for a regression", [SAME] * 2, 1.0, "failed", "regression"),
    ("all fail the same way", [SAME] * 5, 1.0, "failed", "regression"),
    ("one answered", [SAME, ERROR, ERROR], 1.0, "failed", "insufficient data"),
    ("one of many", [PASS] * 19 + [SAME], 1.0, "failed", "flaky"),
    ("always another value", [new(1), new(2), new(3)], 1.0, "failed", "noise"),
    ("noise beside a steady difference",
     [result("failed", spot("id", n, 0), spot("a", 2)) for n in (1, 2, 3)], 1.0, "failed", "regression"),
    ("a lost key is no noise, whatever else varies",
     [result("failed", spot("id", n, 0), spot("k", ABSENT, 1, "missing")) for n in (1, 2)],
     1.0, "failed", "regression"),
    ("another type, whatever its value",
     [result("failed", spot("a", f"{n}", 1, "type")) for n in (1, 2)], 1.0, "failed", "regression"),
    ("a placeholder that no value meets",
     [result("failed", spot("a", f"no-{n}", "<<any_uuid>>")) for n in (1, 2)], 1.0, "failed", "regression"),
    ("never the same structure",
     [result("failed", spot("a", 1, ABSENT, "extra")), result("failed", spot("b", 1, ABSENT, "extra"))],
     1.0, "failed", "flaky"),
    ("errors and passes", [PASS, ERROR], 1.0, "error", "flaky"),
    ("errors alone", [ERROR, ERROR], 1.0, "error", None),
    ("the budget ended it after a failure", [PASS, SAME, BUDGET], 1.0, "failed", "flaky"),
    ("as often as asked", [PASS] * 4 + [SAME], 0.8, "passed", "flaky"),
    ("less often than asked, which may be chance", [PASS] * 3 + [SAME] * 2, 0.8,
     "failed", "insufficient data"),
    ("much less often than asked", [PASS] + [SAME] * 4, 0.8, "failed", "regression"),
    ("never, and a flake would hardly do that", [SAME] * 2, 0.5, "failed", "insufficient data"),
    ("an error is no pass, however many do", [PASS] * 9 + [ERROR], 0.5, "error", "flaky"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("results", "rate", "outcome", "verdict"), [row[1:] for row in VERDICTS],
                         ids=[row[0] for row in VERDICTS])  # fmt: skip
def test_the_verdict(results: list[Result], rate: float, outcome: str, verdict: str | None) -> None:
    found = combine(results, rate)
    assert (found.outcome, found.verdict) == (outcome, verdict)
    assert combine(list(reversed(results)), rate).verdict == verdict or BUDGET in results


def test_each_difference_says_how_often() -> None:
    first = result("failed", spot("a", 2), spot("id", "x", "y"))
    second = result("failed", spot("a", 2), spot("id", "z", "y"), spot("b", 3))
    found = combine([first, second, PASS])
    assert [(one.path, one.note) for one in found.differences] == [
        (("a",), "in 2 of 3 replays"),
        (("id",), "in 2 of 3 replays, 2 values"),
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
def test_at_most_one_replay_is_kept_and_no_undecided_one(results: list[Result], kept: list[int]) -> None:
    tried = replay_repeatedly(tries(results), len(results), 1.0, lambda: False, no_sleep)
    assert ([int(tried.pending.recipe_hash)] if tried.pending else []) == kept


def test_what_no_replay_would_change_is_asked_for_once() -> None:
    asked: list[int] = []

    def attempt(turn: int) -> JudgedBaseline:
        asked.append(turn)
        return JudgedBaseline(result("unscored", code="BK223"))

    assert replay_repeatedly(attempt, 5, 1.0, lambda: False, no_sleep).result.outcome == "unscored"
    assert asked == [0]


def test_a_run_that_is_stopped_replays_nothing_more() -> None:
    asked: list[int] = []

    def attempt(turn: int) -> JudgedBaseline:
        asked.append(turn)
        return JudgedBaseline(SAME)

    replay_repeatedly(attempt, 5, 1.0, lambda: True, no_sleep)
    assert asked == [0]


def test_a_clock_ticks_between_the_first_two_replays_where_something_differs() -> None:
    seen: list[float] = []
    failed = result("failed", spot("a", 5, 6))
    replay_repeatedly(tries([failed] * 3), 3, 1.0, lambda: False, seen.append)
    replay_repeatedly(tries([result("passed")] * 3), 3, 1.0, lambda: False, seen.append)
    assert seen == [1.1]
