"""Graders of what an answer took: time, dollars and tokens. They look at no output.

Who takes part has to tell: what nobody measured is an error, and no answer that was quick or cheap."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from baselinekit.errors import Problem, cannot
from baselinekit.frozen import frozen
from baselinekit.grade.task import GradeClients, GraderType, Task, never_fails, never_passes
from baselinekit.model.baselines import Number
from baselinekit.model.grades import Grade
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json

_PRICES = "state `prices:` of the model, or let the target tell its `cost_usd`"
_USAGE = "let the target tell its `token_usage: {input, output}`"


@frozen
class LatencyLimit:
    """The answer came within `max_seconds`: as long as the target says that it took, else as long as it was
    waited for. A recorded answer took what it took when it was recorded."""

    max_seconds: Number


@frozen
class CostLimit:
    """The answer cost at most `max_usd`."""

    max_usd: Number


@frozen
class TokenLimit:
    """The answer took no more tokens than each of these: in all, of the question, of the answer. Those that
    a cache had are tokens of the question."""

    max_total: int | None = None
    max_input: int | None = None
    max_output: int | None = None

    @property
    def stated(self) -> dict[str, int]:
        limits = {"total": self.max_total, "input": self.max_input, "output": self.max_output}
        return {name: limit for name, limit in limits.items() if limit is not None}


def latency(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: LatencyLimit = task.method
    took = observation.seconds
    details: dict[str, Json] = {"seconds": round(took, 3), "max_seconds": how.max_seconds}
    reason = f"took {took:.3f} s, at most {how.max_seconds:g} s is allowed"
    passed = took <= how.max_seconds
    return task.decide((passed, "" if passed else reason, details))


def cost(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: CostLimit = task.method
    usd = observation.usage.cost_usd
    if usd is None:
        raise cannot("BK671", "it is not known what the answer cost", _PRICES)
    most = Decimal(str(how.max_usd))
    passed = usd <= most
    reason = "" if passed else f"cost {usd:f} dollars, at most {most:f} are allowed"
    return task.decide((passed, reason, {"cost_usd": float(usd), "max_usd": how.max_usd}))


def tokens(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    how: TokenLimit = task.method
    usage = observation.usage
    known = {"input": usage.tokens_in, "output": usage.tokens_out, "total": None}
    if usage.tokens_in is not None and usage.tokens_out is not None:
        known["total"] = usage.tokens_in + usage.tokens_out
    used = _all_known(known, how.stated)
    over = [
        f"{used[name]:,} tokens ({name}), at most {most:,} are allowed"
        for name, most in how.stated.items()
        if used[name] > most
    ]
    details: dict[str, Json] = {"tokens": dict(used)}
    details |= {f"max_{name}": most for name, most in how.stated.items()}
    return task.decide((not over, "; ".join(over), details))


def _all_known(known: Mapping[str, int | None], wanted: Mapping[str, int]) -> dict[str, int]:
    """The numbers that are limited; an error where one of them is not known."""
    used = {name: number for name in wanted if (number := known[name]) is not None}
    missing = [name for name in wanted if name not in used]
    if missing:
        what = f"it is not known how many tokens the answer took ({', '.join(missing)})"
        raise cannot("BK671", what, _USAGE)
    return used


def latency_problems(task: Task) -> Iterator[Problem]:
    if task.method.max_seconds <= 0:
        what = f"no answer comes within {task.method.max_seconds:g} s"
        yield never_passes(what, "a time above 0", "config", "max_seconds")


def cost_problems(task: Task) -> Iterator[Problem]:
    if task.method.max_usd < 0:
        what = f"no answer costs {task.method.max_usd:g} dollars"
        yield never_passes(what, "0 or more", "config", "max_usd")


def token_problems(task: Task) -> Iterator[Problem]:
    stated = task.method.stated
    if not stated:
        yield never_fails("no limit is stated", "state max_total, max_input or max_output", "config")
    for name, most in stated.items():
        if most < 0:
            yield never_passes(f"no answer takes {most} tokens", "0 or more", "config", f"max_{name}")


LATENCY = GraderType(LatencyLimit, latency, "latency", problems=latency_problems)
COST = GraderType(CostLimit, cost, "cost", problems=cost_problems)
TOKEN_USAGE = GraderType(TokenLimit, tokens, "token_usage", problems=token_problems)
