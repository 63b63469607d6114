"""The grader of what an agent did on the way to its answer: which tools it called, in which order, with which
arguments, and how long that took.

It looks at the trace that the target gives. No trace is an error: it is unknown then what was called."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from baselinekit.errors import Problem, cannot_replay
from baselinekit.files.jsontext import encode
from baselinekit.graders.task import (
    GradeClients,
    GraderType,
    Task,
    never_fails,
)
from baselinekit.graders.wire import calls_of
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, Name, Struct, Threshold, TimeLimit, field
from baselinekit.values.equality import same_json
from baselinekit.values.texts import mask_and_clip

_NO_TRACE = "let the target tell its `output_messages` with their `tool_calls`, or collect `tool_calls`"
_NO_TIME = "let the trace tell each call's `duration_ms`, or remove the limit"
_MOST_PAIRS = 2_000_000
_LONGEST_SHOWN = 200
_MOST_SHOWN = 50


class WantedCall(Struct):
    """An expected call. `args`: `any`, or its arguments; if they are a mapping, only the keys that are stated
    here count, unless `args_match` is exact. `max_seconds`: how long it may take."""

    tool: Name
    args: Json = "any"
    args_match: Literal["partial", "exact"] = "partial"
    max_seconds: TimeLimit | None = None

    def accepts(self, call: ToolCall) -> bool:
        """Whether a call is the expected one, however long it took."""
        if call.name != self.tool:
            return False
        if self.args is None or self.args == "any":
            return True
        arguments = call.input
        if isinstance(self.args, dict) and self.args_match == "partial":
            return isinstance(arguments, dict) and all(
                key in arguments and same_json(value, arguments[key]) for key, value in self.args.items()
            )
        return same_json(self.args, arguments)

    def describe(self) -> str:
        if self.args is None or self.args == "any":
            return self.tool
        return f"{self.tool} with {encode(self.args)}"


class ToolTrajectory(Struct):
    """The tools that must be called. `any_order`: each at least as often as `minimums` says; `in_order`:
    those of `expected`, possibly with others between them; `exact`: these and no others. The score is the
    share of checks that hold: one for each tool or call, one for each time limit and, with `exact`, one that
    fails for each call too many. Only 1 passes, whatever the limits of the case are, unless `pass_at` states
    another score."""

    mode: Literal["any_order", "in_order", "exact"]
    minimums: dict[str, AtLeastOne] = field(default_factory=dict)
    expected: list[WantedCall] = field(default_factory=list)
    pass_at: Threshold | None = None


class TraceFindings(Struct):
    """The checks that hold and those that do not, one line each."""

    hits: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)

    def add(self, holds: bool, hit: str, miss: str) -> None:
        (self.hits if holds else self.misses).append(hit if holds else miss)


def tool_trajectory(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: ToolTrajectory = task.method
    calls = calls_of(observation)
    if calls is None:
        raise cannot_replay(
            "BK670", "the target told no trace, so nobody knows which tools were called", _NO_TRACE
        )
    findings = TraceFindings()
    if config.mode == "any_order":
        counts = Counter(call.name for call in calls)
        for tool, minimum in config.minimums.items():
            line = f"{tool}: {counts[tool]:,} of {minimum:,} calls"
            findings.add(counts[tool] >= minimum, line, line)
    elif config.mode == "in_order":
        _check_calls(config, calls, in_order(config.expected, calls), findings)
    else:
        places = [
            number if number < len(calls) and expected.accepts(calls[number]) else None
            for number, expected in enumerate(config.expected)
        ]
        _check_calls(config, calls, places, findings)
        for number, call in enumerate(calls[len(config.expected) :], len(config.expected) + 1):
            findings.misses.append(f"{call.name} was called as number {number:,}, which is one too many")
    hits = [mask_and_clip(hit, _LONGEST_SHOWN, clients.mask) for hit in findings.hits]
    misses = [mask_and_clip(miss, _LONGEST_SHOWN, clients.mask) for miss in findings.misses]
    details: dict[str, Json] = {
        "mode": config.mode,
        "hits": [*hits[:_MOST_SHOWN]],
        "misses": [*misses[:_MOST_SHOWN]],
    }
    details["called"] = [call.name for call in calls[:_MOST_SHOWN]]
    score = Fraction(len(hits), total) if (total := len(hits) + len(misses)) else Fraction(1)
    # A call too many must not pass because the others, or other graders, make up for it in a mean.
    decides = task.grader.weight or task.grader.required
    gates = ("whole",) if misses and config.pass_at is None and decides else ()
    return task.scored(score, "; ".join(misses), config.pass_at or 1, gates, details=details)


def _check_calls(
    config: ToolTrajectory, calls: Sequence[ToolCall], places: Sequence[int | None], findings: TraceFindings
) -> None:
    """Check each expected call. `places`: the number of the call that matches it."""
    for number, (expected, place) in enumerate(zip(config.expected, places, strict=True)):
        call = None if place is None else calls[place]
        limit = expected.max_seconds
        if call is not None:
            findings.hits.append(f"{expected.describe()} was called")
        else:
            findings.misses.append(_describe_missing(config, expected, calls, number))
        if limit is None:
            continue
        if call is None:
            findings.misses.append(f"{expected.tool} within {limit:g} s: it was not called")
        elif call.seconds is None:
            raise cannot_replay("BK672", f"the trace does not tell how long {expected.tool} took", _NO_TIME)
        else:
            took = f"{expected.tool} took {call.seconds:g} s"
            findings.add(call.seconds <= limit, took, f"{took}, at most {limit:g} s is allowed")


def _describe_missing(
    config: ToolTrajectory, expected: WantedCall, calls: Sequence[ToolCall], number: int
) -> str:
    """Why a call that is expected counts as missing."""
    if config.mode == "exact":
        actual = calls[number].name if number < len(calls) else "nothing"
        if actual == expected.tool:
            arguments = encode(calls[number].input)
            return (
                f"number {number + 1}: {expected.describe()} was expected, and it was called with {arguments}"
            )
        return f"number {number + 1}: {expected.describe()} was expected, and {actual} was called"
    same_tool = [call for call in calls if call.name == expected.tool]
    if not same_tool:
        return f"{expected.describe()} was not called"
    if any(map(expected.accepts, same_tool)):
        return f"{expected.describe()} was not called in this order"
    return f"{expected.describe()} was not called: it was with {encode(same_tool[-1].input)}"


def in_order(expected: Sequence[WantedCall], calls: Sequence[ToolCall]) -> list[int | None]:
    """The number of the call that matches each expected one, in their order: as many as possible, and among
    such matches one that keeps the most time limits."""
    names = {expected_call.tool for expected_call in expected}
    places = [place for place, call in enumerate(calls) if call.name in names]
    if len(places) * len(expected) > _MOST_PAIRS:
        message = f"{len(places):,} calls are too many to find {len(expected):,} among them in their order"
        raise cannot_replay("BK672", message, "expect fewer calls, or count them with `mode: any_order`")
    # best[i][j]: the most (calls, limits) that the calls from j on keep of the expected ones from i on
    best = [[(0, 0)] * (len(places) + 1) for _ in range(len(expected) + 1)]
    for i in range(len(expected) - 1, -1, -1):
        for j in range(len(places) - 1, -1, -1):
            most = max(best[i + 1][j], best[i][j + 1])
            if expected[i].accepts(call := calls[places[j]]):
                remaining = best[i + 1][j + 1]
                most = max(most, (remaining[0] + 1, remaining[1] + _in_time(expected[i], call)))
            best[i][j] = most
    matched: list[int | None] = [None] * len(expected)
    i = j = 0
    while i < len(expected) and j < len(places):
        if best[i][j] == best[i][j + 1]:
            j += 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            matched[i] = places[j]
            i, j = i + 1, j + 1
    return matched


def _in_time(expected: WantedCall, call: ToolCall) -> bool:
    return (
        expected.max_seconds is not None and call.seconds is not None and call.seconds <= expected.max_seconds
    )


def trajectory_problems(task: Task) -> Iterator[Problem]:
    config: ToolTrajectory = task.method
    if config.mode == "any_order":
        if not config.minimums:
            yield never_fails("no tool has to be called", "state `minimums: {TOOL: 1}`", "config", "minimums")
        if config.expected:
            hint = "state `mode: in_order` or exact, or `minimums`"
            yield Problem("BK673", "`expected` has no effect in any order", hint, at=("config", "expected"))
    elif config.minimums:
        hint = "state `mode: any_order`, or `expected`"
        yield Problem(
            "BK673",
            f"`minimums` has no effect where the mode is {config.mode}",
            hint,
            at=("config", "minimums"),
        )
    if config.mode == "in_order" and not config.expected:
        yield never_fails("no call is expected", "state `expected: [{tool: TOOL}]`", "config", "expected")


TOOL_TRAJECTORY = GraderType(
    ToolTrajectory,
    tool_trajectory,
    "tool_trajectory",
    known_by=("minimums",),
    problems=trajectory_problems,
)
