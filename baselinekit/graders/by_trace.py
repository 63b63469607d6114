"""Graders of what an agent did on the way to its answer (which tools it called, in which order, with which
arguments), and of what the answer took: time, dollars and tokens.

They look at the trace and the figures that the target gives. What is unknown is an error: no trace does not
mean that nothing was called, and no figure that the answer was quick or cheap."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from baselinekit.errors import Problem, cannot_replay
from baselinekit.files.jsontext import encode
from baselinekit.graders.base import GradeClients, GraderType, Task, calls_of, never_fails
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import Json
from baselinekit.structs import AtLeastOne, Count, Name, NotNegative, Struct, Threshold, TimeLimit, field
from baselinekit.values.equality import same_json
from baselinekit.values.texts import mask_and_clip

_NO_TRACE = "let the target give its `output_messages` with their `tool_calls`, or collect `tool_calls`"
_NO_TIME = "let the trace state each call's `duration_ms`, or remove the limit"
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

    def is_in_time(self, call: ToolCall) -> bool:
        return self.max_seconds is None or (call.seconds is not None and call.seconds <= self.max_seconds)

    def describe(self) -> str:
        if self.args is None or self.args == "any":
            return self.tool
        return f"{self.tool} with {encode(self.args)}"


class ToolTrajectory(Struct):
    """The tools that must be called. `any_order`: each at least as often as `minimums` states; `in_order`:
    those of `expected`, possibly with others between them; `exact`: these and no others. The score is the
    share of checks that hold: one for each tool or call, one for each time limit and, with `exact`, one that
    fails for each call too many. Only 1 passes, whatever the limits of the case are, unless `pass_at` states
    another score."""

    mode: Literal["any_order", "in_order", "exact"]
    minimums: dict[str, AtLeastOne] = field(default_factory=dict)
    expected: list[WantedCall] = field(default_factory=list)
    pass_at: Threshold | None = None


def tool_trajectory(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: ToolTrajectory = task.method
    calls = calls_of(observation)
    if calls is None:
        message = "the target gives no trace, so it is not known which tools were called"
        raise cannot_replay("BK670", message, _NO_TRACE)
    checks: list[tuple[bool, str]] = []
    """Whether each check holds, and it in words."""
    if config.mode == "any_order":
        counts = Counter(call.name for call in calls)
        for tool, minimum in config.minimums.items():
            checks.append((counts[tool] >= minimum, f"{tool}: {counts[tool]:,} of {minimum:,} calls"))
    else:
        places = in_order(config.expected, calls) if config.mode == "in_order" else exactly(config, calls)
        for number, (expected, place) in enumerate(zip(config.expected, places, strict=True)):
            missing = "" if place is not None else _missing(config, expected, calls, number)
            checks.append((not missing, missing or f"{expected.describe()} was called"))
            if expected.max_seconds is not None:
                checks.append(_check_time(expected, None if place is None else calls[place]))
        if config.mode == "exact":
            for number, call in enumerate(calls[len(config.expected) :], len(config.expected) + 1):
                checks.append((False, f"{call.name} was called as number {number:,}, which is one too many"))
    lines = [(holds, mask_and_clip(line, _LONGEST_SHOWN, clients.mask)) for holds, line in checks]
    hits = [line for holds, line in lines if holds]
    misses = [line for holds, line in lines if not holds]
    listed = {"hits": hits, "misses": misses, "called": [call.name for call in calls]}
    details: dict[str, Json] = {"mode": config.mode}
    details |= {name: entries[:_MOST_SHOWN] for name, entries in listed.items()}
    score = Fraction(len(hits), len(checks)) if checks else Fraction(1)
    # A call too many must not pass because the others, or other graders, make up for it in a mean.
    decides = task.grader.weight or task.grader.required
    gates = ("whole",) if misses and config.pass_at is None and decides else ()
    return task.scored(score, "; ".join(misses), config.pass_at or 1, gates, details=details)


def _check_time(expected: WantedCall, call: ToolCall | None) -> tuple[bool, str]:
    limit = expected.max_seconds or 0
    if call is None:
        return False, f"{expected.tool} within {limit:g} s: it was not called"
    if call.seconds is None:
        raise cannot_replay("BK670", f"the trace does not say how long {expected.tool} took", _NO_TIME)
    took = f"{expected.tool} took {call.seconds:g} s, at most {limit:g} s is allowed"
    return expected.is_in_time(call), took


def _missing(config: ToolTrajectory, expected: WantedCall, calls: Sequence[ToolCall], number: int) -> str:
    """Why a call that is expected counts as missing."""
    wanted = expected.describe()
    if config.mode == "exact":
        call = calls[number] if number < len(calls) else None
        actual = "nothing" if call is None else f"{call.name} with {encode(call.input)}"
        return f"number {number + 1}: {wanted} was expected, and {actual} was called"
    others = [encode(call.input) for call in calls if call.name == expected.tool]
    return f"{wanted} was not called in this order" + (f": it was with {', '.join(others)}" if others else "")


def exactly(config: ToolTrajectory, calls: Sequence[ToolCall]) -> list[int | None]:
    """The number of the call that matches each expected one: its own number."""
    return [
        number if number < len(calls) and expected.accepts(calls[number]) else None
        for number, expected in enumerate(config.expected)
    ]


def in_order(expected: Sequence[WantedCall], calls: Sequence[ToolCall]) -> list[int | None]:
    """The number of the call that matches each expected one, in their order: the first one after the match
    before it, in its time limit if there is one."""
    matched: list[int | None] = []
    start = 0
    for wanted in expected:
        fitting = (number for number in range(start, len(calls)) if wanted.accepts(calls[number]))
        place = next(fitting, None)
        if place is not None and not wanted.is_in_time(calls[place]):
            place = next((number for number in fitting if wanted.is_in_time(calls[number])), place)
        matched.append(place)
        start = start if place is None else place + 1
    return matched


def trajectory_problems(task: Task) -> Iterator[Problem]:
    config: ToolTrajectory = task.method
    needed, other = ("minimums", "expected") if config.mode == "any_order" else ("expected", "minimums")
    if not getattr(config, needed) and config.mode != "exact":
        hint = "state `minimums: {TOOL: 1}` in any order, else `expected: [{tool: TOOL}]`"
        yield never_fails("no call is expected", hint, "config", needed)
    if getattr(config, other):
        message = f"`{other}` has no effect where the mode is {config.mode}"
        hint = "`expected` goes with `mode: in_order` or exact, `minimums` with any_order"
        yield Problem("BK702", message, hint, at=("config", other))


TOOL_TRAJECTORY = GraderType(
    ToolTrajectory, tool_trajectory, "tool_trajectory", known_by=("minimums",), problems=trajectory_problems
)


# What an answer took: time, dollars and tokens. The output is not looked at.

_PRICES = "state `prices:` of the model, or let the target report its `cost_usd`"
_USAGE = "let the target report its `token_usage: {input, output}`"


class LatencyLimit(Struct):
    """The answer came within `max_seconds`: the time that the target states, else the time that was waited. A
    recorded answer has the time of its recording."""

    max_seconds: TimeLimit


class CostLimit(Struct):
    """The answer cost at most `max_usd`."""

    max_usd: NotNegative


class TokenLimit(Struct):
    """The answer took no more tokens than each of these limits: in all, of the question, of the answer.
    Cached tokens are tokens of the question."""

    max_total: Count | None = None
    max_input: Count | None = None
    max_output: Count | None = None

    @property
    def stated(self) -> dict[str, int]:
        limits = {"total": self.max_total, "input": self.max_input, "output": self.max_output}
        return {name: limit for name, limit in limits.items() if limit is not None}


def latency(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: LatencyLimit = task.method
    seconds = observation.seconds
    details: dict[str, Json] = {"seconds": round(seconds, 3), "max_seconds": config.max_seconds}
    reason = f"took {seconds:.3f} s, at most {config.max_seconds:g} s is allowed"
    return task.decide(seconds <= config.max_seconds, reason, details)


def cost(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: CostLimit = task.method
    usd = observation.usage.cost_usd
    if usd is None:
        raise cannot_replay("BK670", "it is not known what the answer cost", _PRICES)
    limit = Decimal(str(config.max_usd))
    reason = f"cost {usd:f} dollars, at most {limit:f} are allowed"
    return task.decide(usd <= limit, reason, {"cost_usd": float(usd), "max_usd": config.max_usd})


def tokens(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: TokenLimit = task.method
    usage = observation.usage
    both = usage.tokens_in, usage.tokens_out
    counts = {"input": both[:1], "output": both[1:], "total": both}
    used: dict[str, Json] = {}
    reasons = []
    for name, limit in config.stated.items():
        if None in counts[name]:
            raise cannot_replay("BK670", f"it is not known how many tokens the answer took ({name})", _USAGE)
        used[name] = sum(count or 0 for count in counts[name])
        if used[name] > limit:
            reasons.append(f"{used[name]:,} tokens ({name}), at most {limit:,} are allowed")
    details = {"tokens": used, **{f"max_{name}": limit for name, limit in config.stated.items()}}
    return task.decide(not reasons, "; ".join(reasons), details)


def token_problems(task: Task) -> Iterator[Problem]:
    if not task.method.stated:
        yield never_fails("no limit is stated", "state max_total, max_input or max_output", "config")


LATENCY = GraderType(LatencyLimit, latency, "latency")
COST = GraderType(CostLimit, cost, "cost")
TOKEN_USAGE = GraderType(TokenLimit, tokens, "token_usage", problems=token_problems)
