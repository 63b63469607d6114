"""What one run may take of its models, in calls, tokens and dollars. It is reserved before a question goes
out and settled after it, so that many at once pass a limit by no more than what nobody could know."""

import threading
from dataclasses import dataclass, replace
from decimal import Decimal

from baselinekit.errors import OutOfBudget, Problem
from baselinekit.model.asking import Limits, Spent

_LEAST = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
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
        self._changed = threading.Condition()
        self._spent = Spent()
        self._held = Spent()
        self._dearest: dict[str, Decimal] = {}

    @property
    def spent(self) -> Spent:
        return self._spent

    def reserve(self, model: str, tokens: int, usd: Decimal | None) -> Held:
        """Room for one question, or OutOfBudget. While others that are under way hold what is left, their end
        is waited for: they may take less. A price that nobody knows beforehand is the highest so far, and for
        the first question all that is left."""
        with self._changed:
            while True:
                held = self._wanted(model, tokens, usd)
                spent = self._spent.at_most
                lacking = self._lacking(_sum(spent, 1, held))
                if lacking:
                    raise OutOfBudget(self._said(lacking, held))
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
        before = self._held
        self._held = Spent(before.calls - 1, before.tokens - held.tokens, before.usd - held.usd)
        self._changed.notify_all()

    def _wanted(self, model: str, tokens: int, usd: Decimal | None) -> Held:
        if usd is None and model in self._dearest:
            usd = self._dearest[model]
        if usd is not None or self._usd is None:
            return Held(model, tokens, usd or Decimal(0), known=True)
        return Held(model, tokens, max(_LEAST, self._usd - self._spent.at_most.usd), known=False)

    def _lacking(self, total: Spent) -> str:
        """Which limit this would pass."""
        if self._calls is not None and total.calls > self._calls:
            return "calls"
        if self._tokens is not None and total.tokens > self._tokens:
            return "tokens"
        return "usd" if self._usd is not None and total.usd > self._usd else ""

    def _said(self, lacking: str, held: Held) -> Problem:
        spent, may = self._spent.at_most, " or may be" if self._spent.unanswered else ""
        if lacking == "calls":
            what, flag = f"{spent.calls:,} of {self._calls:,} calls are made", "--max-calls"
        elif lacking == "tokens":
            what = (
                f"it may take {held.tokens:,} tokens, and {spent.tokens:,} of {self._tokens:,} are{may} used"
            )
            flag = "--max-tokens"
        else:
            each = f"it may take {held.usd:.4f} dollars, and " if held.known else ""
            what, flag = f"{each}{spent.usd:.4f} of {self._usd} dollars are{may} spent", "--max-cost"
        mend = f"raise `limits: {lacking}`, or pass {flag}"
        return Problem("BK620", f"the model {held.model!r} is not asked: {what}", mend)


def _sum(one: Spent, calls: int, other: Held | Spent) -> Spent:
    return replace(one, calls=one.calls + calls, tokens=one.tokens + other.tokens, usd=one.usd + other.usd)
