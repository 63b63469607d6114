"""What a run may take, in calls, tokens, dollars and failures, while its chunks are worked on in many places:
each chunk gets a lease of what is left, and gives back what it did not take."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from decimal import Decimal
from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.model.recipes import Limits, Spent
from baselinekit.model.values import Json


@frozen
class Lease:
    """What a worker may take for one chunk. `now`: the time of day of the run. `failures`: after how many it
    stops. `spent`: what the run has taken before; `calls`, `tokens` and `usd`: what it may have taken in all
    when the chunk is done. `number` and `of`: which part is the worker's own of the questions that a model
    answers at once and in a minute."""

    now: float
    failures: int | None = None
    spent: Spent = field(default_factory=Spent)
    calls: int | None = None
    tokens: int | None = None
    usd: Decimal | None = None
    number: int = 0
    of: int = 1


@frozen
class KeptAnswer:
    """An answer of a model that the caller is to keep (`record`) or to forget (None), and where."""

    where: Literal["record", "offline", "cache", "journal"]
    model: str
    name: str
    record: Json = None


@frozen
class Gathered:
    """What a chunk took beside its time. `spent`: of models, None where none was made. `plain`: texts that
    look random and are no secret where they stand, for whoever prints them."""

    spent: Spent | None = None
    answers: tuple[KeptAnswer, ...] = ()
    plain: frozenset[str] = frozenset()


@frozen
class _Given:
    """A lease that is out, and what it holds."""

    lease: Lease
    failures: int
    calls: int
    tokens: int
    usd: Decimal


class Leases:
    """Of one run, for the threads that wait for its chunks, of which `places` are worked on at once."""

    def __init__(self, places: int, limits: Limits, maxfail: int | None, now: Callable[[], float]):
        self._places, self._limits, self._maxfail, self._now = places, limits, maxfail, now
        self._usd = None if limits.usd is None else Decimal(str(limits.usd))
        self._changed = threading.Condition()
        self._given: list[_Given] = []
        self._failures = 0
        self.spent: Spent | None = None

    @property
    def is_over(self) -> bool:
        """Whether as many have failed as may."""
        return self._maxfail is not None and self._failures >= self._maxfail

    @property
    def _may_all_be_taken(self) -> bool:
        """Whether those who hold a lease may fail as often as is left, and every other place once."""
        held = sum(one.failures for one in self._given)
        return self._maxfail is not None and self._failures + held >= self._maxfail + self._places - 1

    @contextmanager
    def lease(self, number: int, alone: bool = False) -> Iterator[Lease]:
        """A share of what is left. `alone`: all of it, once nobody else holds any."""
        with self._changed:
            while self._given and (alone or self._may_all_be_taken):
                self._changed.wait()
            given = self._share(number, 1 if alone else self._places)
            self._given.append(given)
        try:
            yield given.lease
        finally:
            with self._changed:
                self._given = [one for one in self._given if one is not given]
                self._changed.notify_all()

    def settle(self, gathered: Gathered, failures: int) -> None:
        """What was taken of a lease, told before it ends."""
        with self._changed:
            self._failures += failures
            if gathered.spent is not None:
                self.spent = plus(self.spent or Spent(), gathered.spent)

    def _share(self, number: int, places: int) -> _Given:
        spent = self.spent or Spent()
        at_most, limits, given = spent.at_most, self._limits, self._given
        calls = _part(limits.calls, at_most.calls, [one.calls for one in given], places)
        tokens = _part(limits.tokens, at_most.tokens, [one.tokens for one in given], places)
        usd = None
        if self._usd is not None:
            left = self._usd - at_most.usd - sum((one.usd for one in given), Decimal(0))
            usd = max(Decimal(0), min(left, (self._usd - at_most.usd) / places))
        failures = _part(self._maxfail, self._failures, [one.failures for one in given], places)
        lease = Lease(
            now=self._now(),
            failures=None if failures is None else max(1, failures),
            spent=spent,
            calls=None if calls is None else at_most.calls + calls,
            tokens=None if tokens is None else at_most.tokens + tokens,
            usd=None if usd is None else at_most.usd + usd,
            number=number,
            of=self._places,
        )
        return _Given(lease, lease.failures or 0, calls or 0, tokens or 0, usd or Decimal(0))


def _part(limit: int | None, spent: int, held: Sequence[int], places: int) -> int | None:
    """How many of those that are left one of several places gets."""
    if limit is None:
        return None
    return max(0, min(limit - spent - sum(held), -(-(limit - spent) // places)))


def plus(one: Spent, other: Spent) -> Spent:
    return Spent(
        one.calls + other.calls,
        one.tokens + other.tokens,
        one.usd + other.usd,
        one.unanswered + other.unanswered,
        one.may_tokens + other.may_tokens,
        one.may_usd + other.may_usd,
    )


def minus(one: Spent, other: Spent) -> Spent:
    """What was taken since another moment."""
    return Spent(
        one.calls - other.calls,
        one.tokens - other.tokens,
        one.usd - other.usd,
        one.unanswered - other.unanswered,
        one.may_tokens - other.may_tokens,
        one.may_usd - other.may_usd,
    )
