"""One loop for all work: it hands chunks to workers, which are threads, processes or machines of a cluster,
and takes what comes back. A worker only replays and judges; files, records, budget and reports stay with the
caller, which also does what must run alone."""

import threading
from bisect import insort_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, Decimal
from queue import Empty, SimpleQueue
from typing import Any, Generic, Literal, Protocol, TypeVar

from baselinekit.commands.context import SIGNAL_CHECK, Stop
from baselinekit.errors import Problem
from baselinekit.kinds.kind import ALONE
from baselinekit.model.recipes import ModelUsage
from baselinekit.model.values import Json
from baselinekit.structs import MutableStruct, Struct, field, replace

OUT_OF_BUDGET = "BK620"
"""The code of results for which a worker's share of the limits was too small."""

_MOST_TOGETHER = 64
_PARTS = 4
"""The least number of chunks of a worker, so that all of them end at about the same time."""

LOSSES = 3
"""How often a worker may be lost with an item. After the first time the items of a chunk are sent one by
one."""

Item = TypeVar("Item")
Judged = TypeVar("Judged")


# The chunks, and when each may begin.


class Chunk(Struct, Generic[Item]):
    """Items for one worker. Nothing else that has the same `claim` is worked on meanwhile. `home`: the only
    worker that may do it; `needs_all`: a share of the limits was too small; `losses`: how many workers were
    lost with it."""

    items: tuple[Item, ...]
    claim: str | None = None
    home: int | None = None
    needs_all: bool = False
    losses: int = 0

    @property
    def rank(self) -> int:
        """What only reads begins first, and at the same time. What needs all that is left of the budget comes
        after that, and what claims everything last: each of both alone."""
        return 2 if self.claim == ALONE else int(self.needs_all)


class Turns(list[Chunk[Item]]):
    """The chunks that wait, in the order in which they begin."""

    def __init__(self, chunks: Iterable[Chunk[Item]]):
        super().__init__(sorted(chunks, key=lambda chunk: chunk.rank))

    def add(self, chunk: Chunk[Item]) -> None:
        """Add a chunk in front of the others."""
        insort_left(self, chunk, key=lambda one: one.rank)

    def next(self, worker: int, under_way: Sequence[Chunk[Item]]) -> Chunk[Item] | None:
        """Return the next chunk for a worker; None if it has to wait."""
        if not self or (under_way and (self[0].rank or under_way[0].rank)):
            return None
        busy = {chunk.claim for chunk in under_way} - {None}
        for number, chunk in enumerate(self):
            if chunk.rank > self[0].rank:
                break
            if chunk.claim not in busy and chunk.home in (None, worker):
                return self.pop(number)
        return None


def divide(chunks: Iterable[Chunk[Item]], most: int) -> list[Chunk[Item]]:
    """Join chunks that have the same claim, up to about `most` items each; what claims everything is divided
    into single items."""
    joined: list[Chunk[Item]] = []
    last: dict[str | None, int] = {}
    for chunk in chunks:
        number = last.get(chunk.claim)
        if chunk.claim == ALONE:
            joined += [replace(chunk, items=(item,)) for item in chunk.items]
        elif number is not None and len(joined[number].items) + len(chunk.items) <= most:
            joined[number] = replace(chunk, items=(*joined[number].items, *chunk.items))
        else:
            last[chunk.claim] = len(joined)
            joined.append(chunk)
    return joined


# The loop.


def take_turns(
    turns: Turns[Item],
    workers: int,
    work: Callable[[int, Chunk[Item]], Judged],
    ended: Callable[[int, Chunk[Item], Judged], None],
    stop: Stop,
    cancel: Callable[[], None],
) -> None:
    """Let workers, a thread each, work on chunks until none is left; `ended` gets the result of each in this
    thread, and may add others. On a stop and on an exception nothing more begins, and what is under way is
    cancelled."""
    done: SimpleQueue[Future[Judged] | None] = SimpleQueue()  # a handler of signals may `put` during a `get`
    stop.wake = lambda: done.put(None)
    free, is_cancelled = set(range(workers)), False
    under_way: dict[Future[Judged], tuple[int, Chunk[Item]]] = {}
    with ThreadPoolExecutor(max(1, workers), "replay") as threads:
        try:
            while True:
                for worker in sorted(free) if not stop.is_set() else ():
                    if (chunk := turns.next(worker, [chunk for _, chunk in under_way.values()])) is not None:
                        free.discard(worker)
                        future = threads.submit(work, worker, chunk)
                        under_way[future] = worker, chunk
                        future.add_done_callback(done.put)
                if not under_way:
                    return
                if stop.is_set() and not is_cancelled:
                    is_cancelled = True
                    cancel()
                try:
                    ended_future = done.get(timeout=SIGNAL_CHECK)
                except Empty:
                    continue
                if ended_future is not None:
                    worker, chunk = under_way.pop(ended_future)
                    free.add(worker)
                    ended(worker, chunk, ended_future.result())
        except BaseException:
            cancel()
            raise


def in_threads(
    items: Sequence[Item],
    work: Callable[[Item], Judged],
    jobs: int,
    stop: Stop,
    cancel: Callable[[], None],
    finished: Callable[[Item, Judged], Iterable[Item]] = lambda item, judged: (),
    claim: Callable[[Item], str | None] = lambda item: None,
    goes_on: Callable[[], bool] = lambda: True,
) -> list[Judged | None]:
    """Return what `work` makes of each item, in their order; None for those that did not end before a stop.
    `finished` gets every result in this thread, and returns items that are to be done next."""
    results: list[Judged | None] = [None] * len(items)

    def ended(worker: int, chunk: Chunk[tuple[int, Item]], judged: Judged) -> None:
        ((number, item),) = chunk.items
        results[number] = None if stop.is_set() else judged  # it may have been cut off
        for further in finished(item, judged):
            turns.add(replace(chunk, items=((number, further),)))
        if not goes_on():
            turns.clear()

    turns = Turns(Chunk(((number, item),), claim(item)) for number, item in enumerate(items))
    take_turns(turns, min(jobs, len(items)), lambda _, chunk: work(chunk.items[0][1]), ended, stop, cancel)
    return results


# Work in other processes and on other machines. A chunk gets a grant, and gives back what it did not use.


class Grant(Struct):
    """What a worker may use for one chunk. `now`: the time of day of the run. `ends_at_failure`: whether it
    begins nothing more after an item that fails. `spent`: what the run has used before; `limits`: the calls,
    tokens and dollars that it may have used in total when the chunk is done. `of`: among how many workers
    the questions are divided that a model answers at once."""

    now: float
    ends_at_failure: bool = False
    spent: ModelUsage = field(default_factory=ModelUsage)
    limits: Mapping[str, Decimal] = field(default_factory=dict)
    of: int = 1


class NewAnswer(Struct):
    """A model's answer that the caller has to store (`record`) or to delete (None), and where."""

    where: Literal["record", "offline", "cache", "journal"]
    model: str
    name: str
    record: Json = None


class ChunkDone(Struct, Generic[Judged]):
    """What a worker hands back: what it made of each item (None: it was not begun), the environment in which
    it worked, what it spent for models, their answers, and texts that look random but are not secrets."""

    judged: tuple[Judged | None, ...]
    seen: dict[str, Json] = field(default_factory=dict)
    spent: ModelUsage | None = None
    answers: tuple[NewAnswer, ...] = ()
    plain: frozenset[str] = frozenset()


class Workers(Protocol):
    """Where chunks are worked on. `threads`: how many items each of the `count` workers does at once."""

    count: int
    threads: int

    def judge(self, worker: int, chunk: Chunk[Any], grant: Grant) -> "ChunkDone[Any] | Problem | int":
        """Return what a worker makes of a chunk, a Problem that kept it from that, or the number of workers
        that were lost with it. Each of the workers is called in a thread of its own."""

    def lost(self, id: str) -> Problem:
        """Return the error of an item with which workers are lost again and again."""

    def cancel(self) -> None: ...


class Terms(Struct, Generic[Item, Judged]):
    """How results are read and made, whatever is judged. `error`: the result of an item that could not be
    judged."""

    id: Callable[[Item], str]
    code: Callable[[Judged], str | None]
    is_failure: Callable[[Item, Judged], bool]
    error: Callable[[Item, Problem], Judged]


class Elsewhere(MutableStruct, Generic[Item, Judged]):
    """The work of a run that others do. `place`: where the workers are, once there is something to do;
    `ends_at_failure`: whether a chunk ends at its first failure; `asked`: the models of the caller, with
    their `limits` and what is `spent`, which `take` what a worker has asked; `seen`: the environment in which
    they worked."""

    place: AbstractContextManager[Workers]
    terms: Terms[Item, Judged]
    asked: Any
    ends_at_failure: bool
    now: Callable[[], float]
    seen: dict[str, Json] = field(default_factory=dict)
    _lock: AbstractContextManager[Any] = field(default_factory=threading.Lock)
    _grants: dict[int, Grant] = field(default_factory=dict)

    def run(
        self,
        chunks: Sequence[Chunk[Item]],
        here: Callable[[Item], Judged],
        stop: Stop,
        cancel: Callable[[], None],
        finished: Callable[[Item, Judged], Iterable[Item]],
        goes_on: Callable[[], bool],
    ) -> None:
        """Have the items worked on; those that claim everything come last, and are done `here`. `finished`
        gets each result, and returns items that are to be done next by the same worker."""
        if not chunks:
            return
        terms = self.terms
        with self.place as workers:

            def work(worker: int, chunk: Chunk[Item]) -> ChunkDone[Judged] | Problem | int:
                if chunk.claim == ALONE:
                    return ChunkDone((here(chunk.items[0]),))
                with self._lock:
                    of = 1 if chunk.needs_all else workers.count
                    self._grants[worker] = grant = self._grant(of)
                return workers.judge(worker, chunk, grant)

            def ended(worker: int, chunk: Chunk[Item], outcome: ChunkDone[Judged] | Problem | int) -> None:
                if chunk.claim == ALONE and stop.is_set():  # it may have been cut off
                    return
                with self._lock:
                    self._grants.pop(worker, None)
                    if isinstance(outcome, ChunkDone):
                        self.asked.take(outcome)
                        self.seen = self.seen or outcome.seen

                def add(items: Sequence[Item], **changes: Any) -> None:
                    if items:
                        turns.add(replace(chunk, items=tuple(items), **changes))

                if isinstance(outcome, int):
                    if (losses := chunk.losses + outcome) < LOSSES:
                        for item in reversed(chunk.items):
                            add([item], losses=losses)
                        return
                    outcome = workers.lost(terms.id(chunk.items[0]))
                if isinstance(outcome, Problem):
                    outcome = ChunkDone(tuple(terms.error(item, outcome) for item in chunk.items))
                rest: list[Item] = []
                too_much: list[Item] = []
                further: list[Item] = []
                for item, judged in zip(chunk.items, outcome.judged, strict=True):
                    if judged is None:
                        rest.append(item)
                    elif terms.code(judged) == OUT_OF_BUDGET and not chunk.rank:
                        too_much.append(item)
                    else:
                        further += finished(item, judged)
                add(rest, losses=0)
                add(too_much, losses=0, needs_all=True)
                add(further, losses=0, home=worker, needs_all=False)
                if not goes_on():
                    turns.clear()

            def cancel_all() -> None:
                workers.cancel()
                cancel()

            count = sum(len(chunk.items) for chunk in chunks)
            most = max(workers.threads, min(_MOST_TOGETHER, -(-count // (_PARTS * workers.count))))
            turns = Turns(divide(chunks, most))
            take_turns(turns, workers.count, work, ended, stop, cancel_all)

    def _grant(self, of: int) -> Grant:
        """Grant a share of what is left."""
        spent, total = self.asked.spent or ModelUsage(), dict[str, Decimal]()
        for name in ("calls", "tokens", "usd"):
            if (limit := getattr(self.asked.limits, name)) is not None:
                used = Decimal(getattr(spent.at_most, name))
                left = max(Decimal(str(limit)) - used, Decimal(0))
                share = left / of if name == "usd" else (left / of).to_integral_value(ROUND_CEILING)
                grants = self._grants.values()
                held = sum(grant.limits[name] - getattr(grant.spent.at_most, name) for grant in grants)
                total[name] = used + max(Decimal(0), min(share, left - held))
        return Grant(self.now(), self.ends_at_failure, spent, total, of)
