"""A run whose chunks are judged on a cluster: files are read, compiled and checked here, as in a plain run;
what a chunk uses is sent with it, and what is to be written comes back."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, Self

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import ALONE
from baselinekit.model.baselines import Entry
from baselinekit.model.values import Json
from baselinekit.workflow.chunks import (
    Chunk,
    ChunkDone,
    ChunkWorker,
    Item,
    Judged,
    JudgePolicy,
    ReadFiles,
)
from baselinekit.workflow.cluster import Cancelled, Cluster, Work, WorkersLost, parts_of
from baselinekit.workflow.judging import JudgedBaseline
from baselinekit.workflow.leases import Gathered, Lease, Leases
from baselinekit.workflow.loading import Unfit
from baselinekit.workflow.parcel import Packing, Packs, Parcel, Sealed
from baselinekit.workflow.processes import OF_BASELINES, Judging, Terms
from baselinekit.workflow.selection import Test

_TOGETHER = 256
"""Baselines that are looked through at once for what they use: all of a large project take much room."""


@frozen
class Sending:
    """How the chunks of one run are sent. `order`: what a worker is told. `work`: what it does with a parcel.
    `known`: what is known of the place of the run. `take`: told what a chunk cost, and what is to be kept."""

    cluster: Cluster
    order: Any
    work: Work
    leases: Leases
    places: int
    known: Callable[[], dict[str, Json]]
    take: Callable[[Gathered], None]


class Sender(Generic[Item, Judged]):
    """What engines on a cluster have in common, which is reached (`begin`) once there is something to send.
    `packing`: which files go with a chunk; `terms`: how it looks at what is judged."""

    def __init__(
        self,
        begin: AbstractContextManager[Sending],
        packing: Packs[Item],
        terms: Terms[Item, Judged],
        policy: Any,
    ):
        self._begin = begin
        self._packs = packing
        self._terms = terms
        self._policy = policy
        self._known: dict[str, Json] = {}
        self._open = ExitStack()
        self._begun: Sending | None = None
        self._places = Places(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def _sending(self) -> Sending:
        if self._begun is None:
            self._begun = self._open.enter_context(self._begin)
            self._places = Places(self._begun.places)
            self._known = self._begun.known()
        return self._begun

    @property
    def slots(self) -> int:
        return self._sending.places

    def cancel(self) -> None:
        self._sending.cluster.cancel()

    def judge(self, chunk: Chunk[Item]) -> ChunkDone[Judged]:
        """As far as leases go; what one of them does not cover is done with the next. What ends worker after
        worker is done one by one, so that whoever it is takes no others along."""
        sending, judging = self._sending, Judging(chunk.entries, self._terms)
        while judging.left and self._goes_on():
            numbers = judging.next
            part = replace(chunk, entries=tuple(chunk.entries[number] for number in numbers))
            with (
                self._places.one(0 if judging.is_elsewhere else None) as place,
                sending.leases.lease(place, judging.is_short) as lease,
            ):
                if not self._goes_on():  # the lease may have been waited for
                    break
                try:
                    done = self._sent(part, lease)
                except Cancelled:
                    break
                except WorkersLost as error:
                    if len(numbers) > 1:
                        judging.divide()
                        continue
                    done = ChunkDone((self._terms.could_not(part.entries[0], error.problems[0]),))
                except BaselinekitError as error:
                    problem = error.problems[0]
                    done = ChunkDone(tuple(self._terms.could_not(entry, problem) for entry in part.entries))
                sending.leases.settle(done.gathered, judging.failures(numbers, done))
            sending.take(done.gathered)
            judging.take(numbers, done)
        return ChunkDone(tuple(judging.judged), judging.seen)

    def _goes_on(self) -> bool:
        return not (self._sending.cluster.is_cancelled or self._sending.leases.is_over)

    def policy_of(self, chunk: Chunk[Item]) -> Any:
        """How a chunk is to be judged, as its worker is told."""
        return self._policy

    def _sent(self, chunk: Chunk[Item], lease: Lease) -> ChunkDone[Judged]:
        """What a worker makes of it."""
        files = self._packs.files_of(chunk.entries)
        folders = self._packs.folders_of(chunk.entries)
        policy = self.policy_of(chunk)
        parcel = Parcel(self._sending.order, policy, chunk, lease, files, folders, self._known)
        done: ChunkDone[Judged] = self._sending.cluster.done(self._sending.work, Sealed.of(parcel))
        return done


class Elsewhere(Sender[Entry, JudgedBaseline]):
    """The engine of a compare on a cluster."""

    def __init__(
        self,
        begin: AbstractContextManager[Sending],
        packing: Packing,
        worker: ChunkWorker,
        policy: JudgePolicy,
    ):
        super().__init__(begin, packing, OF_BASELINES, policy)
        self._packing = packing
        self._worker = worker

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        return self._worker.read(files, wanted)

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        """What is wrong with any of these. What the others use is noted, and they are let go of."""
        unfit = self._worker.prepare(entries)
        if not unfit:
            for start in range(0, len(entries), _TOGETHER):
                self._packing.note(self._worker.released(entries[start : start + _TOGETHER]))
        return unfit

    def chunks(self, entries: Sequence[Entry]) -> list[Chunk[Entry]]:
        """Parts of those that claim nothing, then of those with the same claim."""
        free = [entry for entry in entries if entry.claim is None]
        claims = dict.fromkeys(entry.claim for entry in entries if entry.claim is not None)
        chunks = [Chunk(tuple(part)) for part in parts_of(free, self.slots)]
        for claim in sorted(claims, key=lambda claim: claim == ALONE):
            own = [entry for entry in entries if entry.claim == claim]
            chunks += [Chunk(tuple(part), claim) for part in parts_of(own, 1)]
        return chunks


class Places:
    """The numbers of those that work at the same time, each given to one of them."""

    def __init__(self, count: int):
        self._free = set(range(count))
        self._changed = threading.Condition()

    @contextmanager
    def one(self, wanted: int | None) -> Iterator[int]:
        """A certain one, or any."""
        with self._changed:
            while not (self._free if wanted is None else wanted in self._free):
                self._changed.wait()
            number = min(self._free) if wanted is None else wanted
            self._free.discard(number)
        try:
            yield number
        finally:
            with self._changed:
                self._free.add(number)
                self._changed.notify_all()
