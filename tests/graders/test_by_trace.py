"""The tools that an agent called: number, order, arguments and time; and limits of time, cost and tokens."""

from typing import Any

import pytest
from cases import case, graded
from hypothesis import given, strategies as st

from baselinekit.graders.base import combine_grades
from baselinekit.graders.by_trace import (
    CostLimit,
    LatencyLimit,
    TokenLimit,
    ToolTrajectory,
    WantedCall,
    in_order,
)
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Grade, Grader, Method, PassRule
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.structs import replace

SEARCH = ToolCall("search", {"query": "rivers", "limit": 3}, seconds=0.2)
READ = ToolCall("read", {"page": 1}, seconds=1.5)
ANSWER = ToolCall("answer", {"text": "the Rhine"})


def observed(*calls: ToolCall) -> Observation:
    messages = tuple(TraceMessage("assistant", "", (call,)) for call in calls)
    return Observation("the Rhine", 1.0, messages=(*messages, TraceMessage("assistant", "the Rhine")))


def judged(how: ToolTrajectory, observation: Observation, rule: PassRule | None = None) -> Grade:
    return graded(observation, how, pass_rule=rule or PassRule())


def wanted(*calls: str | tuple[str, Any], **more: Any) -> list[WantedCall]:
    pairs = [(call, "any") if isinstance(call, str) else call for call in calls]
    return [WantedCall(tool, args, **more) for tool, args in pairs]


def ordered(*calls: Any) -> ToolTrajectory:
    return ToolTrajectory("in_order", expected=wanted(*calls))


def exactly_called(*calls: Any) -> ToolTrajectory:
    return ToolTrajectory("exact", expected=wanted(*calls))


@pytest.mark.parametrize(
    ("how", "calls", "score", "why"),
    [
        (ToolTrajectory("any_order", {"search": 1}), [READ, SEARCH], 1.0, ""),
        (ToolTrajectory("any_order", {"search": 2, "read": 1}), [SEARCH, READ], 0.5, "search: 1 of 2 calls"),
        (ordered("answer", "search"), [SEARCH, READ, ANSWER], 0.5, "was not called in this order"),
        (ordered("search", "delete"), [SEARCH], 0.5, "delete was not called"),
        (ordered(("search", {"q": 1})), [SEARCH], 0.0, 'it was with {"query":"rivers","limit":3}'),
        (exactly_called("search", "read"), [SEARCH, READ, ANSWER], 2 / 3, "answer was called as number 3"),
        (exactly_called("search", "read"), [READ, SEARCH], 0.0, "number 1: search was expected, and read"),
        (exactly_called(), [SEARCH], 0.0, "one too many"),
    ],
)
def test_a50_tool_trajectory_by_number_order_and_exactly(
    how: ToolTrajectory, calls: list[ToolCall], score: float, why: str
) -> None:
    found = judged(how, observed(*calls))
    assert found.score == pytest.approx(score)
    assert found.outcome == ("passed" if score == 1 else "failed")
    assert why in found.reason
    assert bool(found.reason) == bool(why)


@pytest.mark.parametrize(
    ("args", "match", "accepted"),
    [
        ("any", "partial", True),
        ({"query": "rivers"}, "partial", True),
        ({"query": "rivers"}, "exact", False),
        ({"query": "rivers", "limit": 3.0}, "exact", True),
        ({"limit": True}, "partial", False),
    ],
)
def test_a50_wanted_call_accepts_the_stated_arguments(args: Any, match: Any, accepted: bool) -> None:
    assert WantedCall("search", args, match).accepts(SEARCH) is accepted
    assert not WantedCall("read", args, match).accepts(SEARCH)


def test_a50_tool_trajectory_with_time_limits_scores_them_too() -> None:
    expected = [*wanted("search", max_seconds=1), *wanted("read", max_seconds=1), *wanted("answer")]
    found = judged(ToolTrajectory("in_order", expected=expected), observed(SEARCH, READ, ANSWER))
    assert (found.outcome, found.score) == ("failed", pytest.approx(4 / 5))
    assert found.details["misses"] == ["read took 1.5 s, at most 1 s is allowed"]
    slow, how = ToolCall("search", {}, seconds=9.0), ToolTrajectory("in_order", expected=expected[:1])
    assert judged(how, observed(slow, SEARCH, slow)).score == 1


def test_a50_tool_trajectory_without_a_trace_is_an_error() -> None:
    counted = ToolTrajectory("any_order", {"search": 1})
    untraced = judged(counted, Observation("the Rhine", 1.0))
    assert (untraced.outcome, untraced.score, untraced.code) == ("error", None, "BK670")
    assert judged(counted, Observation("the Rhine", 1.0, tool_calls=(SEARCH,))).outcome == "passed"
    assert judged(counted, Observation("x", 1.0, tool_calls=())).score == 0
    timeless = ToolTrajectory("in_order", expected=wanted("answer", max_seconds=1))
    assert judged(timeless, observed(ANSWER)).code == "BK670"
    assert judged(timeless, observed(READ)).score == 0  # it was not called, however long it would have taken


FOUR = ("find", "read", "write", "answer")
NEARLY_WHOLE = [
    (exactly_called(*FOUR), [*FOUR, "delete_all"]),
    (ordered(*FOUR, "log"), FOUR),
    (ToolTrajectory("any_order", dict.fromkeys((*FOUR, "log"), 1)), FOUR),
]
RULES = [PassRule(), PassRule("mean"), PassRule("mean", 0.5), PassRule("mean", borderline_passes=True)]


@pytest.mark.parametrize("rule", RULES)
def test_tool_trajectory_nearly_whole_fails_the_case_unless_it_states_a_limit(rule: PassRule) -> None:
    other = Grade("other", "code", "passed", 1.0)
    for how, tools in NEARLY_WHOLE:
        calls = observed(*(ToolCall(tool, {}) for tool in tools))
        found = judged(how, calls, rule)
        assert (found.outcome, found.score) == ("failed", 0.8)
        assert combine_grades([found], rule)[0] == combine_grades([found, other], rule)[0] == "failed"
        allowed = judged(replace(how, pass_at=0.8), calls, rule)
        assert combine_grades([allowed, other], rule)[0] == "passed"
        strict = judged(replace(how, pass_at=0.9), calls, PassRule())
        assert (strict.outcome, strict.verdict) == ("failed", "borderline")


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=7))
def test_in_order_finds_all_calls_exactly_if_they_are_there(expected: list[str], called: list[str]) -> None:
    found = in_order(wanted(*expected), [ToolCall(name, {}) for name in called])
    places = [place for place in found if place is not None]
    assert places == sorted(set(places))
    assert all(place is None or called[place] == name for name, place in zip(expected, found, strict=True))
    remaining = iter(called)
    assert (len(places) == len(expected)) == all(name in remaining for name in expected)


@pytest.mark.parametrize(
    ("how", "key", "what"),
    [
        (ToolTrajectory("any_order"), ("minimums",), "this cannot fail"),
        (ToolTrajectory("in_order", {"a": 1}, wanted("a")), ("minimums",), "has no effect"),
        (TokenLimit(), (), "this cannot fail"),
    ],
)
def test_tool_trajectory_and_limit_problems(how: Any, key: tuple[str, ...], what: str) -> None:
    grader = Grader("tools", "code", how)
    found = list(problems_of(grader, case(grader)))
    assert [(problem.at, what in problem.message) for problem in found] == [(("config", *key), True)]


# Limits of time, cost and tokens.


@pytest.mark.parametrize(
    ("how", "usage", "outcome", "why"),
    [
        (LatencyLimit(0.999), Usage(), "failed", "took 1.000 s, at most 0.999 s is allowed"),
        (CostLimit(0.1), Usage(), "error", "not known what the answer cost"),
        (TokenLimit(max_total=149), Usage(120, 30), "failed", "150 tokens (total), at most 149"),
        (TokenLimit(max_input=119, max_output=30), Usage(120, 31), "failed", "(output), at most 30"),
    ],
)
def test_a50_limits_are_exact_and_unknown_usage_is_error(
    how: Method, usage: Usage, outcome: str, why: str
) -> None:
    found = graded(Observation("text", 1.0, usage=usage), how)
    assert (found.outcome, why in found.reason) == (outcome, True)
    assert found.score == {"passed": 1.0, "failed": 0.0, "error": None}[outcome]
    assert (found.code == "BK670") == (outcome == "error")
