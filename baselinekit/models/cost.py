"""What a question may take and what it took, in tokens and in dollars."""

from decimal import Decimal

from baselinekit.documents.strictjson import encode
from baselinekit.model.asking import Answer, Ask, Model, Prices, Usage
from baselinekit.model.values import Json

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
