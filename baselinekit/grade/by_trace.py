"""The grader of what an agent did on the way to its answer: which tools it called, in which order, with what,
and how long that took.

It looks at the trace that the target tells. No trace is an error: nobody knows then what was called."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Literal

from baselinekit.documents.jsontext import encode
from baselinekit.errors import Problem, cannot
from baselinekit.frozen import frozen
from baselinekit.grade.task import GradeClients, GraderType, Task, never_fails, never_passes, pass_at_problems
from baselinekit.grade.wire import calls_of
from baselinekit.model.baselines import Number
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import Json
from baselinekit.texts import clipped
from baselinekit.tree.equality import same_json

_NO_TRACE = "let the target tell its `output_messages` with their `tool_calls`, or collect `tool_calls`"
_NO_TIME = "let the trace tell each call's `duration_ms`, or remove the limit"
_MOST_PAIRS = 2_000_000
_LONGEST_SHOWN = 200
_MOST_SHOWN = 50


@frozen
class WantedCall:
    """A call that is expected. `args`: `any`, or what it has to be called with: of a mapping the keys that
    are stated here, unless `args_match` is exact. `max_seconds`: how long it may take."""

    tool: str
    args: Json = "any"
    args_match: Literal["partial", "exact"] = "partial"
    max_seconds: Number | None = None

    def accepts(self, call: ToolCall) -> bool:
        """Whether this is such a call, however long it took."""
        if call.name != self.tool:
            return False
        if self.args is None or self.args == "any":
            return True
        given = call.input
        if isinstance(self.args, dict) and self.args_match == "partial":
            return isinstance(given, dict) and all(
                key in given and same_json(value, given[key]) for key, value in self.args.items()
            )
        return same_json(self.args, given)

    def shown(self) -> str:
        if self.args is None or self.args == "any":
            return self.tool
        return f"{self.tool} with {encode(self.args)}"


@frozen
class ToolTrajectory:
    """The tools that were called. By `any_order` each as often as `minimums` says, or more often; `in_order`
    those of `expected`, with others between them; `exact` these and no others. The score is the share of what
    was found: each tool or call is one, each limit of time another, and where it has to be exact each call
    too many. `pass_at`: the score that passes, where that is not what the case says."""

    mode: Literal["any_order", "in_order", "exact"]
    minimums: dict[str, int] = field(default_factory=dict)
    expected: list[WantedCall] = field(default_factory=list)
    pass_at: Number | None = None


@frozen
class Found:
    """What was looked for, one line each."""

    hits: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)

    def tell(self, holds: bool, hit: str, miss: str) -> None:
        (self.hits if holds else self.misses).append(hit if holds else miss)


def tool_trajectory(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: ToolTrajectory = task.method
    calls = calls_of(observation)
    if calls is None:
        raise cannot("BK670", "the target told no trace, so nobody knows which tools were called", _NO_TRACE)
    found = Found()
    if how.mode == "any_order":
        counted = Counter(call.name for call in calls)
        for tool, least in how.minimums.items():
            often = f"{tool}: {counted[tool]:,} of {least:,} calls"
            found.tell(counted[tool] >= least, often, often)
    elif how.mode == "in_order":
        _tell_calls(how, calls, in_order(how.expected, calls), found)
    else:
        places = [
            number if number < len(calls) and wanted.accepts(calls[number]) else None
            for number, wanted in enumerate(how.expected)
        ]
        _tell_calls(how, calls, places, found)
        for number, call in enumerate(calls[len(how.expected) :], len(how.expected) + 1):
            found.misses.append(f"{call.name} was called as number {number:,}, which is one too many")
    hits = [clipped(hit, _LONGEST_SHOWN, clients.mask) for hit in found.hits]
    misses = [clipped(miss, _LONGEST_SHOWN, clients.mask) for miss in found.misses]
    details: dict[str, Json] = {
        "mode": how.mode,
        "hits": [*hits[:_MOST_SHOWN]],
        "misses": [*misses[:_MOST_SHOWN]],
    }
    details["called"] = [call.name for call in calls[:_MOST_SHOWN]]
    score = Fraction(len(hits), total) if (total := len(hits) + len(misses)) else Fraction(1)
    return task.scored(score, "; ".join(misses), how.pass_at, details=details)


def _tell_calls(
    how: ToolTrajectory, calls: Sequence[ToolCall], places: Sequence[int | None], found: Found
) -> None:
    """What became of each expected call. `places`: which call it was."""
    for number, (wanted, place) in enumerate(zip(how.expected, places, strict=True)):
        call = None if place is None else calls[place]
        limit = wanted.max_seconds
        if call is not None:
            found.hits.append(f"{wanted.shown()} was called")
        else:
            found.misses.append(_instead(how, wanted, calls, number))
        if limit is None:
            continue
        if call is None:
            found.misses.append(f"{wanted.tool} within {limit:g} s: it was not called")
        elif call.seconds is None:
            raise cannot("BK672", f"the trace does not tell how long {wanted.tool} took", _NO_TIME)
        else:
            took = f"{wanted.tool} took {call.seconds:g} s"
            found.tell(call.seconds <= limit, took, f"{took}, at most {limit:g} s is allowed")


def _instead(how: ToolTrajectory, wanted: WantedCall, calls: Sequence[ToolCall], number: int) -> str:
    """Why a call that is expected counts as missing."""
    if how.mode == "exact":
        instead = calls[number].name if number < len(calls) else "nothing"
        if instead == wanted.tool:
            given = encode(calls[number].input)
            return f"number {number + 1}: {wanted.shown()} was expected, and it was called with {given}"
        return f"number {number + 1}: {wanted.shown()} was expected, and {instead} was called"
    others = [call for call in calls if call.name == wanted.tool]
    if not others:
        return f"{wanted.shown()} was not called"
    if any(map(wanted.accepts, others)):
        return f"{wanted.shown()} was not called in this order"
    return f"{wanted.shown()} was not called: it was with {encode(others[-1].input)}"


def in_order(expected: Sequence[WantedCall], calls: Sequence[ToolCall]) -> list[int | None]:
    """Which call each expected one was, in their order: as many as can be, and of those ways one that keeps
    most limits of time."""
    names = {wanted.tool for wanted in expected}
    places = [place for place, call in enumerate(calls) if call.name in names]
    if len(places) * len(expected) > _MOST_PAIRS:
        what = f"{len(places):,} calls are too many to find {len(expected):,} among them in their order"
        raise cannot("BK672", what, "expect fewer calls, or count them with `mode: any_order`")
    # best[i][j]: the most (calls, limits) that are kept of the expected from i on in the calls from j on
    best = [[(0, 0)] * (len(places) + 1) for _ in range(len(expected) + 1)]
    for i in range(len(expected) - 1, -1, -1):
        for j in range(len(places) - 1, -1, -1):
            most = max(best[i + 1][j], best[i][j + 1])
            if expected[i].accepts(call := calls[places[j]]):
                after = best[i + 1][j + 1]
                most = max(most, (after[0] + 1, after[1] + _in_time(expected[i], call)))
            best[i][j] = most
    found: list[int | None] = [None] * len(expected)
    i = j = 0
    while i < len(expected) and j < len(places):
        if best[i][j] == best[i][j + 1]:
            j += 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            found[i] = places[j]
            i, j = i + 1, j + 1
    return found


def _in_time(wanted: WantedCall, call: ToolCall) -> bool:
    return wanted.max_seconds is not None and call.seconds is not None and call.seconds <= wanted.max_seconds


def trajectory_problems(task: Task) -> Iterator[Problem]:
    how: ToolTrajectory = task.method
    yield from pass_at_problems(how.pass_at)
    if how.mode == "any_order":
        if not how.minimums:
            yield never_fails("no tool has to be called", "state `minimums: {TOOL: 1}`", "config", "minimums")
        if how.expected:
            hint = "state `mode: in_order` or exact, or `minimums`"
            yield Problem("BK673", "`expected` has no effect in any order", hint, at=("config", "expected"))
    elif how.minimums:
        hint = "state `mode: any_order`, or `expected`"
        yield Problem(
            "BK673", f"`minimums` has no effect where the mode is {how.mode}", hint, at=("config", "minimums")
        )
    if how.mode == "in_order" and not how.expected:
        yield never_fails("no call is expected", "state `expected: [{tool: TOOL}]`", "config", "expected")
    for tool, least in how.minimums.items():
        if least < 1:
            yield never_fails(
                f"{tool} may be called {least} times or more", "1 or more", "config", "minimums", tool
            )
    for number, wanted in enumerate(how.expected):
        if not wanted.tool.strip():
            at = ("config", "expected", str(number), "tool")
            yield never_passes("no tool has an empty name", "the name of a tool", *at)
        if wanted.max_seconds is not None and wanted.max_seconds <= 0:
            what = f"no call takes {wanted.max_seconds:g} s"
            at = ("config", "expected", str(number), "max_seconds")
            yield never_passes(what, "a time above 0", *at)


TOOL_TRAJECTORY = GraderType(
    ToolTrajectory,
    tool_trajectory,
    "tool_trajectory",
    known_by=("minimums",),
    problems=trajectory_problems,
)
