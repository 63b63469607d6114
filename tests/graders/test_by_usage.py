"""What an answer took: time, dollars and tokens. What nobody told is an error."""

from decimal import Decimal

import pytest
from cases import case

from baselinekit.graders.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.graders.graders import grade, problems_of
from baselinekit.graders.task import GradeClients
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Observation, Usage

UNKNOWN = Usage()


def judged(how: Method, usage: Usage = UNKNOWN, seconds: float = 1.0) -> Grade:
    grader = Grader("limit", "code", how)
    return grade(grader, case(grader), Observation("text", seconds, usage=usage), GradeClients())


@pytest.mark.parametrize(
    ("how", "usage", "seconds", "outcome", "why"),
    [
        (LatencyLimit(2), UNKNOWN, 2.0, "passed", ""),
        (LatencyLimit(2), UNKNOWN, 2.001, "failed", "took 2.001 s, at most 2 s is allowed"),
        (LatencyLimit(0.25), UNKNOWN, 0.2, "passed", ""),
        (CostLimit(0.1), Usage(cost_usd=Decimal("0.1")), 1, "passed", ""),
        (CostLimit(0.1), Usage(cost_usd=Decimal("0.10000001")), 1, "failed", "at most 0.1 are allowed"),
        (CostLimit(0), Usage(cost_usd=Decimal(0)), 1, "passed", ""),
        (CostLimit(0.1), UNKNOWN, 1, "error", "not known what the answer cost"),
        (TokenLimit(max_total=150), Usage(120, 30), 1, "passed", ""),
        (TokenLimit(max_total=149), Usage(120, 30), 1, "failed", "150 tokens (total), at most 149"),
        (TokenLimit(max_total=149), Usage(120), 1, "error", "(total)"),
        (TokenLimit(max_total=150), Usage(120, 30, tokens_cached=100), 1, "passed", ""),
        (TokenLimit(max_input=120), Usage(120), 1, "passed", ""),
        (TokenLimit(max_input=119, max_output=30), Usage(120, 31), 1, "failed", "(output), at most 30"),
        (TokenLimit(max_input=1, max_output=30), Usage(120), 1, "error", "(output)"),
        (TokenLimit(max_output=30), UNKNOWN, 1, "error", "(output)"),
    ],
)
def test_a50_limits_hold_exactly_and_what_is_not_known_is_an_error(
    how: Method, usage: Usage, seconds: float, outcome: str, why: str
) -> None:
    found = judged(how, usage, seconds)
    assert found.outcome == outcome
    assert why in found.reason
    assert found.score == {"passed": 1.0, "failed": 0.0, "error": None}[outcome]
    assert (found.code == "BK671") == (outcome == "error")


def test_token_limit_without_bounds_cannot_fail() -> None:
    grader = Grader("limit", "code", TokenLimit())
    (problem,) = problems_of(grader, case(grader))
    assert (problem.at, "this cannot fail" in problem.message) == (("config",), True)
