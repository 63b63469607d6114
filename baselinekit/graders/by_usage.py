"""Graders of what an answer took: time, dollars and tokens. They do not look at the output.

A figure that was not measured is an error: it does not mean that the answer was quick or cheap."""

from collections.abc import Iterator
from decimal import Decimal

from baselinekit.errors import Problem, cannot_replay
from baselinekit.graders.task import GradeClients, GraderType, Task, never_fails
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.structs import Count, NotNegative, Struct, TimeLimit

_PRICES = "state `prices:` of the model, or let the target tell its `cost_usd`"
_USAGE = "let the target tell its `token_usage: {input, output}`"


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
    passed = seconds <= config.max_seconds
    return task.decide((passed, "" if passed else reason, details))


def cost(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: CostLimit = task.method
    usd = observation.usage.cost_usd
    if usd is None:
        raise cannot_replay("BK671", "it is not known what the answer cost", _PRICES)
    limit = Decimal(str(config.max_usd))
    passed = usd <= limit
    reason = "" if passed else f"cost {usd:f} dollars, at most {limit:f} are allowed"
    return task.decide((passed, reason, {"cost_usd": float(usd), "max_usd": config.max_usd}))


def tokens(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    config: TokenLimit = task.method
    usage = observation.usage
    counts = {"input": usage.tokens_in, "output": usage.tokens_out, "total": None}
    if usage.tokens_in is not None and usage.tokens_out is not None:
        counts["total"] = usage.tokens_in + usage.tokens_out
    used = {name: count for name in config.stated if (count := counts[name]) is not None}
    if missing := [name for name in config.stated if name not in used]:
        message = f"it is not known how many tokens the answer took ({', '.join(missing)})"
        raise cannot_replay("BK671", message, _USAGE)
    exceeded = [
        f"{used[name]:,} tokens ({name}), at most {limit:,} are allowed"
        for name, limit in config.stated.items()
        if used[name] > limit
    ]
    details: dict[str, Json] = {"tokens": dict(used)}
    details |= {f"max_{name}": limit for name, limit in config.stated.items()}
    return task.decide((not exceeded, "; ".join(exceeded), details))


def token_problems(task: Task) -> Iterator[Problem]:
    if not task.method.stated:
        yield never_fails("no limit is stated", "state max_total, max_input or max_output", "config")


LATENCY = GraderType(LatencyLimit, latency, "latency")
COST = GraderType(CostLimit, cost, "cost")
TOKEN_USAGE = GraderType(TokenLimit, tokens, "token_usage", problems=token_problems)
