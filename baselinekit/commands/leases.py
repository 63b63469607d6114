"""Limits of a run (calls, tokens, dollars, failures) while its chunks are worked on in many places: each
chunk gets a lease on a share of what is left, and gives back what it did not use."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from decimal import Decimal
from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.model.recipes import Limits, ModelUsage
from baselinekit.model.values import Json


@frozen
class Lease:
    """What a worker may use for one chunk. `now`: the time of day of the run. `failures`: after how many it
    stops. `spent`: what the run has used before; `calls`, `tokens` and `usd`: what it may have used in total
    when the chunk is done. `number` and `of`: the worker's share of the questions that a model answers at
    once and per minute."""

    now: float
    failures: int | None = None
    spent: ModelUsage = field(default_factory=ModelUsage)
    calls: int | None = None
    tokens: int | None = None
    usd: Decimal | None = None
    number: int = 0
    of: int = 1


@frozen
class KeptAnswer:
    """A model's answer that the caller has to store (`record`) or to delete (None), and where."""

    where: Literal["record", "offline", "cache", "journal"]
    model: str
    name: str
    record: Json = None


@frozen
class ChunkCosts:
    """What a chunk used besides time. `spent`: for models, None if no call was made. `plain`: texts that look
    random but are no secrets where they are, needed for printing."""

    spent: ModelUsage | None = None
    answers: tuple[KeptAnswer, ...] = ()
    plain: frozenset[str] = frozenset()


@frozen
class _GivenLease:
    """A lease that is in use, and the amounts it holds."""

    lease: Lease
    failures: int
    calls: int
    tokens: int
    usd: Decimal


class Leases:
    """The leases of one run, for the threads that wait for its chunks; `places` chunks are worked on at
    once."""

    def __init__(self, places: int, limits: Limits, maxfail: int | None, now: Callable[[], float]):
        self._places, self._limits, self._maxfail, self._now = places, limits, maxfail, now
        self._usd = None if limits.usd is None else Decimal(str(limits.usd))
        self._changed = threading.Condition()
        self._leases_out: list[_GivenLease] = []
        self._failures = 0
        self.spent: ModelUsage | None = None

    @property
    def is_over(self) -> bool:
        """Whether the number of allowed failures is reached."""
        return self._maxfail is not None and self._failures >= self._maxfail

    @property
    def _are_failures_leased(self) -> bool:
        """Whether the leases in use may use up all failures that are left, with one failure for every other
        place."""
        held = sum(lease.failures for lease in self._leases_out)
        return self._maxfail is not None and self._failures + held >= self._maxfail + self._places - 1

    @contextmanager
    def lease(self, number: int, alone: bool = False) -> Iterator[Lease]:
        """Give a share of what is left. `alone`: all of it, once nobody else holds any."""
        with self._changed:
            while self._leases_out and (alone or self._are_failures_leased):
                self._changed.wait()
            given_lease = self._share(number, 1 if alone else self._places)
            self._leases_out.append(given_lease)
        try:
            yield given_lease.lease
        finally:
            with self._changed:
                self._leases_out = [given for given in self._leases_out if given is not given_lease]
                self._changed.notify_all()

    def settle(self, gathered: ChunkCosts, failures: int) -> None:
        """Report what was used of a lease, before it ends."""
        with self._changed:
            self._failures += failures
            if gathered.spent is not None:
                self.spent = add_spent(self.spent or ModelUsage(), gathered.spent)

    def _share(self, number: int, places: int) -> _GivenLease:
        spent = self.spent or ModelUsage()
        at_most, limits, leases = spent.at_most, self._limits, self._leases_out
        calls = _share_of(limits.calls, at_most.calls, [lease.calls for lease in leases], places)
        tokens = _share_of(limits.tokens, at_most.tokens, [lease.tokens for lease in leases], places)
        usd = None
        if self._usd is not None:
            remaining = self._usd - at_most.usd - sum((lease.usd for lease in leases), Decimal(0))
            usd = max(Decimal(0), min(remaining, (self._usd - at_most.usd) / places))
        failures = _share_of(self._maxfail, self._failures, [lease.failures for lease in leases], places)
        new_lease = Lease(
            now=self._now(),
            failures=None if failures is None else max(1, failures),
            spent=spent,
            calls=None if calls is None else at_most.calls + calls,
            tokens=None if tokens is None else at_most.tokens + tokens,
            usd=None if usd is None else at_most.usd + usd,
            number=number,
            of=self._places,
        )
        return _GivenLease(new_lease, new_lease.failures or 0, calls or 0, tokens or 0, usd or Decimal(0))


def _share_of(limit: int | None, spent: int, held: Sequence[int], places: int) -> int | None:
    """Return how much of what is left one of several places gets."""
    if limit is None:
        return None
    return max(0, min(limit - spent - sum(held), -(-(limit - spent) // places)))


def add_spent(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    return ModelUsage(
        one.calls + other.calls,
        one.tokens + other.tokens,
        one.usd + other.usd,
        one.unanswered + other.unanswered,
        one.may_tokens + other.may_tokens,
        one.may_usd + other.may_usd,
        (one.full_price or 0) + (other.full_price or 0) or None,
    )


def subtract_spent(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    """Return what was spent since an earlier moment."""
    return ModelUsage(
        one.calls - other.calls,
        one.tokens - other.tokens,
        one.usd - other.usd,
        one.unanswered - other.unanswered,
        one.may_tokens - other.may_tokens,
        one.may_usd - other.may_usd,
        (one.full_price or 0) - (other.full_price or 0) or None,
    )
