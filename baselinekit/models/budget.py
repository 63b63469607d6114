"""What one run may take of its models, and what a question took: calls, tokens and dollars."""

import threading
from dataclasses import replace
from decimal import Decimal

from baselinekit.documents.jsontext import encode
from baselinekit.errors import OutOfBudget, Problem
from baselinekit.frozen import frozen
from baselinekit.model.recipes import Answer, Ask, Limits, Model, Prices, Spent, Usage
from baselinekit.model.values import Json

# What one run may take of its models, in calls, tokens and dollars. It is reserved before a question
# goes out and settled after it, so that many at once pass a limit by no more than what nobody could
# know.


_LEAST = Decimal("0.000001")


@frozen
class Held:
    """What is reserved for one question. `known`: the dollars are an estimate, and not all that is left."""

    model: str
    tokens: int
    usd: Decimal
    known: bool


class Budget:
    """Shared by all threads of a run."""

    def __init__(self, limits: Limits):
        self._calls, self._tokens = limits.calls, limits.tokens
        self._usd = None if limits.usd is None else Decimal(str(limits.usd))
        self._stated = self._calls, self._tokens, self._usd
        self._is_limited = limits != Limits()
        self._changed = threading.Condition()
        self._spent = Spent()
        self._held = Spent()
        self._dearest: dict[str, Decimal] = {}

    @property
    def spent(self) -> Spent:
        return self._spent

    def lease(self, spent: Spent, calls: int | None, tokens: int | None, usd: Decimal | None) -> None:
        """From now on it counts from what others have taken as well, up to so much. What is told of the
        limits is what was stated."""
        with self._changed:
            self._spent, self._calls, self._tokens, self._usd = spent, calls, tokens, usd

    def reserve(self, model: str, tokens: int, usd: Decimal | None) -> Held:
        """Room for one question, or OutOfBudget. While others that are under way hold what is left, their end
        is waited for: they may take less. A price that nobody knows beforehand is the highest so far, and for
        the first question all that is left."""
        if not self._is_limited:  # nobody waits for what another one holds
            return Held(model, tokens, usd or Decimal(0), True)
        with self._changed:
            while True:
                cost = self._dearest.get(model) if usd is None else usd
                known = cost is not None or self._usd is None
                if cost is None:
                    rest = (self._usd or Decimal(0)) - self._spent.at_most.usd
                    cost = Decimal(0) if known else max(_LEAST, rest)
                held = Held(model, tokens, cost, known)
                spent = self._spent.at_most
                lacking = self._lacking(_sum(spent, 1, held))
                if lacking:
                    raise OutOfBudget(self._refusal(lacking, held))
                if not self._lacking(_sum(_sum(spent, 1, held), self._held.calls, self._held)):
                    self._held = _sum(self._held, 1, held)
                    return held
                self._changed.wait()

    def settle(self, held: Held, tokens: int, usd: Decimal | None) -> None:
        """The question was asked, and took this."""
        cost = Decimal(0) if usd is None else usd
        with self._changed:
            if usd is not None:
                self._dearest[held.model] = max(cost, self._dearest.get(held.model, cost))
            self._spent = _sum(self._spent, 1, Spent(0, tokens, cost))
            self._let_go(held)

    def fail(self, held: Held) -> None:
        """The question was asked, and nobody knows what it took: the budget counts what was estimated."""
        with self._changed:
            before, usd = self._spent, held.usd if held.known else Decimal(0)
            self._spent = replace(
                before,
                calls=before.calls + 1,
                unanswered=before.unanswered + 1,
                may_tokens=before.may_tokens + held.tokens,
                may_usd=before.may_usd + usd,
            )
            self._let_go(held)

    def release(self, held: Held) -> None:
        """The question reached nobody."""
        with self._changed:
            self._let_go(held)

    def _let_go(self, held: Held) -> None:
        if not self._is_limited:
            return
        before = self._held
        self._held = Spent(before.calls - 1, before.tokens - held.tokens, before.usd - held.usd)
        self._changed.notify_all()

    def _lacking(self, total: Spent) -> str:
        """Which limit this would pass."""
        if self._calls is not None and total.calls > self._calls:
            return "calls"
        if self._tokens is not None and total.tokens > self._tokens:
            return "tokens"
        return "usd" if self._usd is not None and total.usd > self._usd else ""

    def _refusal(self, lacking: str, held: Held) -> Problem:
        spent, may = self._spent.at_most, " or may be" if self._spent.unanswered else ""
        most_calls, most_tokens, most_usd = self._stated
        if lacking == "calls":
            what, flag = f"{spent.calls:,} of {most_calls:,} calls are used", "--max-calls"
        elif lacking == "tokens":
            what = (
                f"it may take {held.tokens:,} tokens, and {spent.tokens:,} of {most_tokens:,} are{may} used"
            )
            flag = "--max-tokens"
        else:
            each = f"it may take {held.usd:.4f} dollars, and " if held.known else ""
            what, flag = f"{each}{spent.usd:.4f} of {most_usd} dollars are{may} spent", "--max-cost"
        hint = f"raise `limits: {lacking}`, or pass {flag}"
        return Problem("BK620", f"the model {held.model!r} is not asked: {what}", hint)


def _sum(one: Spent, calls: int, other: Held | Spent) -> Spent:
    tokens, usd = one.tokens + other.tokens, one.usd + other.usd
    return Spent(one.calls + calls, tokens, usd, one.unanswered, one.may_tokens, one.may_usd)


# What a question may take and what it took, in tokens and in dollars.


CHARACTERS = 4
"""That make a token, roughly: where nobody counted."""
USUAL_ANSWER = 1_000
"""Tokens that an answer is expected to take at most, where the question sets no limit."""
_A_MILLION = 1_000_000


def estimate(ask: Ask, model: Model) -> tuple[int, int]:
    """The tokens that a question has, and those that its answer may have."""
    characters = sum(len(message.content) for message in ask.messages)
    characters += sum(len(tool.name + tool.description + encode(tool.parameters)) for tool in ask.tools)
    named = (model.settings.get("max_completion_tokens"), model.settings.get("max_tokens"), ask.max_tokens)
    return _tokens(characters), next((most for most in map(count, named) if most), USUAL_ANSWER)


def price(prices: Prices | None, tokens_in: int, tokens_out: int) -> Decimal | None:
    """Tokens that came out of a cache count as any other: a dollar limit is kept rather than reached."""
    if prices is None:
        return None
    dollars = tokens_in * _exact(prices.input) + tokens_out * _exact(prices.output)
    return dollars / _A_MILLION


def with_cost(usage: Usage, prices: Prices | None) -> Usage:
    """Usage with what it cost: as whoever answered said, else by the prices of the model."""
    if usage.cost_usd is not None or usage.tokens_in is None or usage.tokens_out is None:
        return usage
    return Usage(usage.tokens_in, usage.tokens_out, price(prices, usage.tokens_in, usage.tokens_out))


def taken(ask: Ask, model: Model, answer: Answer) -> tuple[int, Decimal | None]:
    """What an answer took, in tokens and dollars, estimated where nobody said."""
    usage = answer.usage
    tokens_in = estimate(ask, model)[0] if usage.tokens_in is None else usage.tokens_in
    tokens_out = _tokens(len(answer.text)) if usage.tokens_out is None else usage.tokens_out
    cost = price(model.prices, tokens_in, tokens_out) if usage.cost_usd is None else usage.cost_usd
    return tokens_in + tokens_out, cost


def count(value: Json) -> int | None:
    """A number of tokens, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def dollars(value: Json) -> Decimal | None:
    """A sum of money, if it is one."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and value >= 0:
        return _exact(value)
    return None


def _exact(value: int | float | Decimal) -> Decimal:
    return Decimal(str(value))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS)
