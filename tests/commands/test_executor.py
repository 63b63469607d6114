"""The work of a run that others do: each item counts once whoever is lost, limits hold for all together, and
what claims everything is done by the caller."""

import pickle
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.commands.context import Stop
from baselinekit.commands.executor import Chunk, ChunkDone, Elsewhere, Grant, Terms, divide
from baselinekit.errors import Problem
from baselinekit.kinds.kind import ALONE
from baselinekit.model.recipes import Limits, ModelUsage

Judged = tuple[int, str]
TERMS = Terms[int, Judged](
    id=str,
    code=lambda judged: judged[1] if judged[1].startswith("BK6") else None,
    is_failure=lambda item, judged: judged[1] == "failed",
    error=lambda item, problem: (item, problem.code),
)


@dataclass
class Questions:
    """The models of the caller."""

    limits: Limits = field(default_factory=Limits)
    spent: ModelUsage = field(default_factory=ModelUsage)

    def take(self, done: ChunkDone[Any]) -> None:
        if done.spent is not None:
            self.spent = ModelUsage(self.spent.calls + done.spent.calls)


class Workers:
    """Each item takes one call. `losing`: how often a worker is lost with an item; `failing`: what fails."""

    threads = 1

    def __init__(self, count: int, losing: dict[int, int], failing: set[int]):
        self.count, self.losing, self.failing = count, Counter(losing), failing
        self.judged: Counter[int] = Counter()

    def judge(self, worker: int, chunk: Chunk[Any], grant: Grant) -> ChunkDone[Judged] | int:
        chunk, grant = pickle.loads(pickle.dumps((chunk, grant)))
        judged: list[Judged | None] = []
        calls = failures = 0
        for item in chunk.items:
            if self.losing[item] > 0:
                self.losing[item] -= 1
                return 1
            left = grant.limits.get("calls", Decimal(99)) - grant.spent.calls - calls
            if grant.ends_at_failure and failures:
                judged.append(None)
            elif left <= 0:
                judged.append((item, "BK620"))
            else:
                calls += 1
                failures += item in self.failing
                judged.append((item, "failed" if item in self.failing else "passed"))
                self.judged[item] += 1
        return ChunkDone(tuple(judged), {"here": False}, ModelUsage(calls))

    def lost(self, id: str) -> Problem:
        return Problem("BK362", f"{id} is lost", "")

    def cancel(self) -> None: ...


def ran(
    workers: Workers, claims: list[str | None], limits: Limits, maxfail: int | None = None
) -> tuple[dict[int, str], list[int], Questions]:
    """What became of each item, which were done here, and what was asked."""
    outcomes: dict[int, str] = {}
    done_here: list[int] = []
    questions = Questions(limits)

    def finished(item: int, judged: Judged) -> tuple[int, ...]:
        assert item not in outcomes
        outcomes[item] = judged[1]
        return ()

    def goes_on() -> bool:
        return maxfail is None or [*outcomes.values()].count("failed") < maxfail

    def judge(item: int) -> Judged:
        done_here.append(item)
        return item, "passed"

    chunks = [Chunk((n,), claim) for n, claim in enumerate(claims)]
    elsewhere = Elsewhere(nullcontext(workers), TERMS, questions, maxfail is not None, lambda: 0.0)
    elsewhere.run(chunks, judge, Stop(), lambda: None, finished, goes_on)
    return outcomes, done_here, questions


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([None, None, None, ALONE, "orders"]), max_size=60),
    st.integers(1, 4),
    st.dictionaries(st.integers(0, 60), st.integers(1, 6), max_size=3),
)
def test_elsewhere_judges_each_item_once(
    claims: list[str | None], count: int, losing: dict[int, int]
) -> None:
    workers = Workers(count, losing, set())
    outcomes, done_here, _ = ran(workers, claims, Limits())
    assert sorted(outcomes) == list(range(len(claims)))
    assert done_here == [n for n, claim in enumerate(claims) if claim == ALONE]
    deadly = {n for n, times in losing.items() if times >= 4 and n < len(claims) and n not in done_here}
    assert deadly <= {n for n, outcome in outcomes.items() if outcome == "BK362"}
    if len(losing) == 1:  # what is lost with one item is no error of another one
        assert {n for n, outcome in outcomes.items() if outcome != "passed"} == deadly


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 50), st.integers(1, 4))
def test_elsewhere_makes_exactly_the_calls_that_are_allowed(count: int, calls: int, workers: int) -> None:
    at_work = Workers(workers, {}, set())
    outcomes, _, questions = ran(at_work, [None] * count, Limits(calls=calls))
    assert Counter(outcomes.values()) == +Counter(passed=min(calls, count), BK620=max(0, count - calls))
    assert questions.spent.calls == min(calls, count)


@pytest.mark.parametrize("maxfail", [1, 3])
def test_elsewhere_begins_nothing_after_maxfail_failures(maxfail: int) -> None:
    outcomes, _, _ = ran(Workers(3, {}, set(range(90))), [None] * 90, Limits(), maxfail)
    assert maxfail <= len(outcomes) <= maxfail + 2


@pytest.mark.parametrize(
    ("groups", "most", "chunks"),
    [
        ([(None, "ab"), (None, "c"), (None, "d")], 3, ["abc", "d"]),
        ([(None, "abcd"), (None, "e")], 3, ["abcd", "e"]),
        ([("orders", "a"), (None, "b"), ("orders", "c")], 9, ["ac", "b"]),
        ([(ALONE, "ab"), (None, "c")], 9, ["a", "b", "c"]),
    ],
)
def test_divide_keeps_groups_together(groups: list[Any], most: int, chunks: list[str]) -> None:
    given = [Chunk(tuple(items), claim) for claim, items in groups]
    assert ["".join(chunk.items) for chunk in divide(given, most)] == chunks
