"""A run whose chunks are judged on a cluster. Files are read, compiled and checked here, as in a plain run; a
chunk is sent with the files that it uses, and its results come back to be written here."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, Self

from baselinekit.commands.chunks import (
    Chunk,
    ChunkDone,
    ChunkWorker,
    Item,
    Judged,
    JudgePolicy,
    ReadFiles,
)
from baselinekit.commands.cluster import Cancelled, Cluster, Work, WorkersLost, split_evenly
from baselinekit.commands.judging import JudgedBaseline
from baselinekit.commands.leases import ChunkCosts, Lease, Leases
from baselinekit.commands.loading import UnfitBaseline
from baselinekit.commands.parcel import Packing, Packs, Parcel, SealedValue
from baselinekit.commands.processes import OF_BASELINES, ChunkProgress, ResultTerms
from baselinekit.commands.selection import Test
from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import ALONE
from baselinekit.model.baselines import Entry
from baselinekit.model.values import Json

_BATCH_SIZE = 256
"""How many baselines are searched at once for the files they use: all of a large project need much memory."""


@frozen
class ClusterRun:
    """How the chunks of one run are sent. `order`: the settings of a worker. `work`: what it does with a
    parcel. `known`: returns the environment of the run. `take`: gets what a chunk cost, and the answers to
    keep."""

    cluster: Cluster
    order: Any
    work: Work
    leases: Leases
    places: int
    known: Callable[[], dict[str, Json]]
    take: Callable[[ChunkCosts], None]


class ClusterSender(Generic[Item, Judged]):
    """What the engines on a cluster have in common. The cluster is connected (`begin`) once there is
    something to send. `packing`: which files go with a chunk; `terms`: how to read and make results."""

    def __init__(
        self,
        begin: AbstractContextManager[ClusterRun],
        packing: Packs[Item],
        terms: ResultTerms[Item, Judged],
        policy: Any,
    ):
        self._begin = begin
        self._packs = packing
        self._terms = terms
        self._policy = policy
        self._known: dict[str, Json] = {}
        self._open = ExitStack()
        self._connected: ClusterRun | None = None
        self._places = Places(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    @property
    def _connection(self) -> ClusterRun:
        if self._connected is None:
            self._connected = self._open.enter_context(self._begin)
            self._places = Places(self._connected.places)
            self._known = self._connected.known()
        return self._connected

    @property
    def slots(self) -> int:
        return self._connection.places

    def cancel(self) -> None:
        self._connection.cluster.cancel()

    def judge(self, chunk: Chunk[Item]) -> ChunkDone[Judged]:
        """Judge a chunk, as far as leases allow; what one lease does not cover is done with the next. A chunk
        that ends worker after worker is divided into single entries, so that only the one that does it is
        lost."""
        connection, judging = self._connection, ChunkProgress(chunk.entries, self._terms)
        while judging.left and self._is_running():
            numbers = judging.next
            part = replace(chunk, entries=tuple(chunk.entries[number] for number in numbers))
            with (
                self._places.acquire(0 if judging.is_elsewhere else None) as place,
                connection.leases.lease(place, judging.is_short) as lease,
            ):
                if not self._is_running():  # that may have changed while waiting for the lease
                    break
                try:
                    done = self._send(part, lease)
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
                connection.leases.settle(done.gathered, judging.failures(numbers, done))
            connection.take(done.gathered)
            judging.take(numbers, done)
        return ChunkDone(tuple(judging.judged), judging.seen)

    def _is_running(self) -> bool:
        return not (self._connection.cluster.is_cancelled or self._connection.leases.is_over)

    def policy_of(self, chunk: Chunk[Item]) -> Any:
        """Return the policy by which the worker is to judge a chunk."""
        return self._policy

    def _send(self, chunk: Chunk[Item], lease: Lease) -> ChunkDone[Judged]:
        """Send a chunk to a worker and return its results."""
        files = self._packs.files_of(chunk.entries)
        folders = self._packs.folders_of(chunk.entries)
        policy = self.policy_of(chunk)
        parcel = Parcel(self._connection.order, policy, chunk, lease, files, folders, self._known)
        done: ChunkDone[Judged] = self._connection.cluster.done(self._connection.work, SealedValue.of(parcel))
        return done


class ClusterEngine(ClusterSender[Entry, JudgedBaseline]):
    """The engine of a compare on a cluster."""

    def __init__(
        self,
        begin: AbstractContextManager[ClusterRun],
        packing: Packing,
        worker: ChunkWorker,
        policy: JudgePolicy,
    ):
        super().__init__(begin, packing, OF_BASELINES, policy)
        self._packing = packing
        self._worker = worker

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        return self._worker.read(files, wanted)

    def prepare(self, entries: Sequence[Entry]) -> list[UnfitBaseline]:
        """Return what is wrong with these. If nothing is, note the files that they use, and hold them no
        longer."""
        unfit = self._worker.prepare(entries)
        if not unfit:
            for start in range(0, len(entries), _BATCH_SIZE):
                self._packing.note(self._worker.released(entries[start : start + _BATCH_SIZE]))
        return unfit

    def chunks(self, entries: Sequence[Entry]) -> list[Chunk[Entry]]:
        """Divide the entries without a claim into parts, then those with the same claim."""
        free = [entry for entry in entries if entry.claim is None]
        claims = dict.fromkeys(entry.claim for entry in entries if entry.claim is not None)
        chunks = [Chunk(tuple(part)) for part in split_evenly(free, self.slots)]
        for claim in sorted(claims, key=lambda claim: claim == ALONE):
            claiming = [entry for entry in entries if entry.claim == claim]
            chunks += [Chunk(tuple(part), claim) for part in split_evenly(claiming, 1)]
        return chunks


class Places:
    """The numbers of the places that work at the same time, each given to one chunk."""

    def __init__(self, count: int):
        self._free = set(range(count))
        self._changed = threading.Condition()

    @contextmanager
    def acquire(self, required: int | None) -> Iterator[int]:
        """Hold the place with this number, or any place."""
        with self._changed:
            while not (self._free if required is None else required in self._free):
                self._changed.wait()
            number = min(self._free) if required is None else required
            self._free.discard(number)
        try:
            yield number
        finally:
            with self._changed:
                self._free.add(number)
                self._changed.notify_all()
