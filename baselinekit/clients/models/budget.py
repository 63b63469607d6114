"""The budget of a run for its models, and the usage of a question: calls, tokens and dollars."""

import threading
from collections.abc import Mapping
from decimal import Decimal

from baselinekit.errors import OutOfBudget, Problem
from baselinekit.files.jsontext import encode
from baselinekit.model import recipes
from baselinekit.model.values import Json
from baselinekit.structs import Struct, replace

# The budget of a run in calls, tokens and dollars. Usage is reserved before a question is sent and settled
# after it, so that many at once exceed a limit only by what could not be known beforehand.


_LEAST = Decimal("0.000001")


class Reservation(Struct):
    """The reservation for one question. `known`: the dollars are an estimate, and not all that is left."""

    model: str
    usage: recipes.ModelUsage
    known: bool = True


class Budget:
    """Shared by all threads of a run."""

    def __init__(self, limits: recipes.Limits):
        usd = None if limits.usd is None else _exact(limits.usd)
        self._stated = {"calls": limits.calls, "tokens": limits.tokens, "usd": usd}
        self._limits: Mapping[str, int | Decimal | None] = self._stated
        self._changed = threading.Condition()
        self._spent = recipes.ModelUsage()
        self._held = recipes.ModelUsage()
        self._dearest: dict[str, Decimal] = {}

    @property
    def spent(self) -> recipes.ModelUsage:
        return self._spent

    def grant(self, spent: recipes.ModelUsage, limits: Mapping[str, Decimal] | None = None) -> None:
        """Count from the usage of all processes from now on, up to these limits if there are any. Messages
        still name the limits that were stated."""
        with self._changed:
            self._spent = spent
            self._limits = self._limits if limits is None else limits

    def reserve(self, model: str, tokens: int, usd: Decimal | None) -> Reservation:
        """Reserve the budget for one question, or raise OutOfBudget. If questions that are under way hold
        what is left, wait for them: they may use less. A price that is not known beforehand is taken to be
        the highest so far, and for the first question all that is left."""
        with self._changed:
            while True:
                cost, limit = self._dearest.get(model) if usd is None else usd, self._limits.get("usd")
                known = cost is not None or limit is None
                if cost is None:
                    cost = Decimal(0) if limit is None else max(_LEAST, limit - self._spent.at_most.usd)
                held = Reservation(model, recipes.ModelUsage(1, tokens, cost), known)
                total = recipes.added_usage(self._spent.at_most, held.usage)
                if exceeded := self._exceeded_limit(total):
                    raise OutOfBudget(self._refusal(exceeded, held))
                if not self._exceeded_limit(recipes.added_usage(total, self._held)):
                    self._held = recipes.added_usage(self._held, held.usage)
                    return held
                self._changed.wait()

    def settle(self, held: Reservation, tokens: int, usd: Decimal | None) -> None:
        """Replace the reservation of a question that was asked by its usage."""
        cost = Decimal(0) if usd is None else usd
        with self._changed:
            if usd is not None:
                self._dearest[held.model] = max(cost, self._dearest.get(held.model, cost))
            used = recipes.ModelUsage(1, tokens, cost)
            self._spent = recipes.added_usage(self._spent, used)
            self.release(held)

    def fail(self, held: Reservation) -> None:
        """The question was asked, and its usage is unknown: the budget counts the estimate."""
        with self._changed:
            may_usd = held.usage.usd if held.known else Decimal(0)
            usage = recipes.ModelUsage(1, unanswered=1, may_tokens=held.usage.tokens, may_usd=may_usd)
            self._spent = recipes.added_usage(self._spent, usage)
            self.release(held)

    def release(self, held: Reservation) -> None:
        """Release the reservation of a question that did not reach the model, or whose usage is counted."""
        with self._changed:
            self._held = recipes.added_usage(self._held, held.usage, -1)
            self._changed.notify_all()

    def _exceeded_limit(self, total: recipes.ModelUsage) -> str:
        """The limit that this usage would exceed, or an empty text."""
        limits = self._limits.items()
        return next((name for name, most in limits if most is not None and getattr(total, name) > most), "")

    def _refusal(self, name: str, held: Reservation) -> Problem:
        used, most = getattr(self._spent.at_most, name), self._stated[name]
        flag = "--max-cost" if name == "usd" else f"--max-{name}"
        maybe = "are or may be used" if self._spent.unanswered else "are used"
        message = f"the model {held.model!r} is not asked: {used:,} of {most:,} {name} {maybe}"
        if held.known:
            message += f", and it may take {getattr(held.usage, name):,}"
        return Problem("BK620", message, f"raise `limits: {name}`, or pass {flag}")


# The estimated and the actual usage of a question, in tokens and in dollars.


CHARACTERS = 4
"""The approximate length of a token, where the model did not count its tokens."""
USUAL_ANSWER = 1_000
"""Tokens that an answer is expected to have at most if the question sets no limit."""
MOST_OF_ANTHROPIC = 4_096
"""The limit of such a question in the form of Anthropic, which demands one."""
_A_MILLION = 1_000_000


def estimate(ask: recipes.ModelQuestion, model: recipes.Model) -> tuple[int, int]:
    """Estimate the tokens of a question, and those that its answer may have."""
    characters = sum(len(message.content) for message in ask.messages)
    characters += sum(len(tool.name + tool.description + encode(tool.parameters)) for tool in ask.tools)
    settings, usual = model.settings, USUAL_ANSWER if model.anthropic is None else MOST_OF_ANTHROPIC
    names = ("max_completion_tokens", "max_tokens")
    limits = (*(settings[name] for name in names if name in settings), ask.max_tokens)  # as they are sent
    return _tokens(characters), count(limits[0]) or usual


def price(prices: recipes.Prices | None, tokens_in: int, tokens_out: int, cached: int = 0) -> Decimal | None:
    """The price of tokens. `cached`: how many of `tokens_in` were read from a cache."""
    if prices is None:
        return None
    price_cached = prices.input if prices.cached is None else prices.cached
    dollars = (tokens_in - cached) * _exact(prices.input) + cached * _exact(price_cached)
    return (dollars + tokens_out * _exact(prices.output)) / _A_MILLION


def with_cost(usage: recipes.Usage, prices: recipes.Prices | None) -> recipes.Usage:
    """The usage with its cost: as the model reported it, else by the prices of its entry."""
    if usage.cost_usd is not None or usage.tokens_in is None or usage.tokens_out is None:
        return usage
    cost = price(prices, usage.tokens_in, usage.tokens_out, usage.tokens_cached or 0)
    return replace(usage, cost_usd=cost)


def usage_of(
    ask: recipes.ModelQuestion, model: recipes.Model, answer: recipes.Answer
) -> tuple[int, Decimal | None]:
    """The usage of an answer in tokens and dollars, estimated where it was not reported."""
    usage = answer.usage
    tokens_in = estimate(ask, model)[0] if usage.tokens_in is None else usage.tokens_in
    tokens_out = _tokens(len(answer.text)) if usage.tokens_out is None else usage.tokens_out
    cost = price(model.prices, tokens_in, tokens_out) if usage.cost_usd is None else usage.cost_usd
    return tokens_in + tokens_out, cost


def count(value: Json) -> int | None:
    """The value, if it is a valid number of tokens."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def dollars(value: Json) -> Decimal | None:
    """The value as an exact amount, if it is a valid amount of money."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value >= 0:
        return _exact(value)
    return None


def _exact(value: int | float | Decimal) -> Decimal:
    return Decimal(str(value))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS)
