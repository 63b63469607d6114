"""Several processes work on the chunks of a run. Each of them is a lane of its own, so that whoever is killed
takes no more with it than its own chunk, which is done again."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from multiprocessing.connection import Connection
from queue import SimpleQueue
from shlex import quote
from types import TracebackType
from typing import Any, Generic, Protocol, Self

from baselinekit.errors import cannot
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Entry, Source
from baselinekit.model.values import Json, Path
from baselinekit.workflow.chunks import Chunk, ChunkDone, Item, Judged, Key, ReadFiles, key_of, unjudged
from baselinekit.workflow.judging import OUT_OF_BUDGET, JudgedBaseline
from baselinekit.workflow.leases import Gathered, Leases
from baselinekit.workflow.loading import Unfit
from baselinekit.workflow.selection import Test

LOST = "BK360"
ASKED_ELSEWHERE = "BK621"
_TRIES = 3
_MOST_READ = 256
"""Files that a lane reads at a time: to compile each of many by itself takes a fifth longer."""

_MOST_JUDGED = 64
_LEAST_PARTS = 4
"""Of what each lane does, so that all of them end at about the same time."""

_FAILURES = ("failed", "error")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANCEL = b"cancel"


# In the worker's process.


class Worker(Protocol):
    """What `build` gives, in the process that is to work."""

    def cancel(self) -> None: ...

    def close(self) -> None: ...


Build = Callable[[], Worker]
"""A function that can be sent to another process: of a module, or a `partial` of one."""

_workers: list[Worker] = []
"""The one of this process, once it is built."""


def _begin(control: Connection) -> None:
    """It hears no signal: whoever sends the chunks does, and says so. What it starts hears them again."""
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_obey, args=(control,), daemon=True).start()


def _obey(control: Connection) -> None:
    """Cancel when that is said. When nobody is there any more to say anything, end."""
    with suppress(EOFError, OSError):
        while control.recv_bytes() == _CANCEL:
            for worker in _workers:
                worker.cancel()
    try:
        for worker in _workers:
            worker.cancel()
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _build(build: Build) -> None:
    _workers.append(build())


def _call(method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_workers[0], method)(*arguments)


def _close() -> None:
    _workers[0].close()


# In the process of the run.


class LaneLost(Exception):
    """The process of a lane has ended, and what it had begun is lost."""


class WorkerLane:
    """One process, which does one thing after the other."""

    def __init__(self, build: Build, number: int):
        self.number = number
        self._build = build
        self._lock = threading.Lock()
        self._control: Connection | None = None

    def begin(self) -> None:
        """Start the process, which builds its worker."""
        context = multiprocessing.get_context("spawn")
        reader, control = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(1, context, _begin, (reader,))
        with _deaf():
            self._ready: Future[None] = self._executor.submit(_build, self._build)
        reader.close()
        self._control = control

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the worker gives; the process is started for the first one. LaneLost: it has
        ended, and what it had begun is lost."""
        with self._lock:
            if self._control is None:
                self.begin()
            try:
                self._ready.result()
                return self._executor.submit(_call, method, arguments).result()
            except BrokenProcessPool:
                self.abandon()
                raise LaneLost from None

    def cancel(self) -> None:
        if (control := self._control) is not None:
            with suppress(OSError):
                control.send_bytes(_CANCEL)

    def abandon(self) -> None:
        """Let it end as soon as it can, whatever it does."""
        control, self._control = self._control, None
        if control is not None:
            control.close()
            self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Nothing is under way any more."""
        if self._control is not None:
            with suppress(BrokenProcessPool):
                self._executor.submit(_close).result()
            self.abandon()


@contextmanager
def _deaf() -> Iterator[None]:
    """What is started meanwhile hears no signal until it says otherwise."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@frozen
class Terms(Generic[Item, Judged]):
    """What there is to know of what is judged, whatever it is. `code`: of what kept it from being judged;
    `is_failure`: whether it counts among those after which a run ends; `lost`: the error of one that ends its
    process again and again."""

    code: Callable[[Judged], str | None]
    is_failure: Callable[[Item, Judged], bool]
    lost: Callable[[Item, str], Judged]


class Lanes(Generic[Item, Judged]):
    """What the engines of several processes have in common. `terms`: how they look at what is judged."""

    def __init__(
        self,
        build: Build,
        processes: int,
        leases: Leases,
        gather: Callable[[Gathered], None],
        terms: Terms[Item, Judged],
    ):
        self.slots = processes
        self.lanes = [WorkerLane(build, number) for number in range(processes)]
        self._leases, self._gather, self._terms = leases, gather, terms
        self._is_cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for lane in self.lanes:
            lane.close() if kind is None else lane.abandon()

    def cancel(self) -> None:
        self._is_cancelled = True
        for lane in self.lanes:
            lane.cancel()

    def judge_in(self, lane: WorkerLane, chunk: Chunk[Item]) -> ChunkDone[Judged]:
        """As far as leases go; what one of them does not cover is done with the next."""
        judging = Judging(chunk.entries, self._terms)
        while judging.left and not self._is_cancelled and not self._leases.is_over:
            numbers = judging.next
            part = replace(chunk, entries=tuple(chunk.entries[number] for number in numbers))
            with self._leases.lease(lane.number, judging.is_short) as lease:
                try:
                    done: ChunkDone[Judged] = lane.call("judge", part, lease)
                except LaneLost:
                    judging.lose(numbers)
                    continue
                self._leases.settle(done.gathered, judging.failures(numbers, done))
            self._gather(done.gathered)
            judging.take(numbers, done)
            lane = self.lanes[0] if judging.is_elsewhere else lane
        return ChunkDone(tuple(judging.judged), judging.seen)


class ProcessEngine(Lanes[Entry, JudgedBaseline]):
    """The engine of a compare in several processes. What a lane has read it keeps, and judges."""

    def __init__(self, build: Build, processes: int, leases: Leases, gather: Callable[[Gathered], None]):
        super().__init__(build, processes, leases, gather, OF_BASELINES)
        self._lane_of: dict[str, int] = {}
        self._checked: set[Key] = set()
        self._unfit: list[Unfit] = []

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        """Each lane takes the next files as soon as it has done with those before."""
        most = max(1, min(_MOST_READ, -(-len(files) // (_LEAST_PARTS * self.slots))))
        parts = [list(files[start : start + most]) for start in range(0, len(files), most)]
        idle: SimpleQueue[WorkerLane] = SimpleQueue()
        for lane in self.lanes:
            idle.put(lane)

        def read(part: list[str]) -> tuple[WorkerLane, ReadFiles, list[Unfit]]:
            lane = idle.get()
            try:
                return (lane, *self._insisting(lane, "read", part, wanted))
            finally:
                idle.put(lane)

        found = ReadFiles()
        with ThreadPoolExecutor(self.slots) as threads:
            for part, (lane, one, unfit) in zip(parts, threads.map(read, parts), strict=True):
                found.add(one)
                self._unfit += unfit
                self._lane_of |= dict.fromkeys(part, lane.number)
        if wanted is not None:
            self._checked = {key_of(entry) for entry in found.entries if wanted(entry)}
        return found

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        """Those of a file in the lane that has read it, as far as that has not been done."""
        late = [entry for entry in entries if key_of(entry) not in self._checked]

        def prepare(lane: int, few: list[Entry]) -> list[Unfit]:
            found: list[Unfit] = self._insisting(self.lanes[lane], "prepare", few)
            return found

        of_lanes = self._of_lanes(late)
        with ThreadPoolExecutor(self.slots) as threads:
            for found in threads.map(prepare, of_lanes, of_lanes.values()):
                self._unfit += found
        places = {_place(entry.source): number for number, entry in enumerate(entries)}
        unfit = [one for one in self._unfit if _place(one.source) in places]
        return sorted(unfit, key=lambda one: places[_place(one.source)])

    def chunks(self, entries: Sequence[Entry]) -> list[Chunk[Entry]]:
        """Those of each lane in their order, and what claims something after all others."""
        free = [entry for entry in entries if entry.claim is None]
        most = max(1, min(_MOST_JUDGED, -(-len(free) // (_LEAST_PARTS * self.slots))))
        chunks: list[tuple[int, Chunk[Entry]]] = []
        numbers = {key_of(entry): number for number, entry in enumerate(entries)}
        for lane, few in self._of_lanes(free).items():
            for start in range(0, len(few), most):
                part = tuple(few[start : start + most])
                chunks.append((numbers[key_of(part[0])], Chunk(part, _claim_of(lane))))
        chunks.sort(key=lambda one: one[0])
        claiming = [entry for entry in entries if entry.claim is not None]
        alike = groupby(claiming, lambda entry: (entry.claim, self._lane_of[entry.source.file]))
        return [chunk for _, chunk in chunks] + [Chunk(tuple(few), claim) for (claim, _), few in alike]

    def _of_lanes(self, entries: Sequence[Entry]) -> dict[int, list[Entry]]:
        """By the lane that has read their file; what none has read they share, file by file."""
        unread = dict.fromkeys(
            entry.source.file for entry in entries if entry.source.file not in self._lane_of
        )
        self._lane_of |= {file: number * self.slots // len(unread) for number, file in enumerate(unread)}
        found: dict[int, list[Entry]] = {}
        for entry in entries:
            found.setdefault(self._lane_of[entry.source.file], []).append(entry)
        return found

    def judge(self, chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
        """By the lane that has read their files."""
        return self.judge_in(self.lanes[self._lane_of[chunk.entries[0].source.file]], chunk)

    def _insisting(self, lane: WorkerLane, method: str, *arguments: Any) -> Any:
        """What nobody can be told is lost: it is asked for again."""
        for _ in range(_TRIES):
            with suppress(LaneLost):
                return lane.call(method, *arguments)
        what = f"a process that was to read files ended {_TRIES} times: killed, or out of memory"
        raise cannot(LOST, what, "start fewer: --processes 1")


def _place(source: Source) -> tuple[str, int, Path]:
    return source.file, source.document, source.at


def _claim_of(lane: int) -> str:
    """So that two chunks of one lane are never begun at the same time. No recipe can claim that."""
    return f"\0lane {lane}"


def _lost(entry: Entry, what: str) -> JudgedBaseline:
    hint = f"see what happens without --processes: baselinekit compare --id {quote(entry.id)}"
    return JudgedBaseline(unjudged(entry, "error", f"{what}: {hint}", code=LOST))


OF_BASELINES = Terms[Entry, JudgedBaseline](
    code=lambda judged: judged.result.code,
    is_failure=lambda entry, judged: judged.result.outcome in _FAILURES,
    lost=_lost,
)


class Judging(Generic[Item, Judged]):
    """How far a chunk is done. `left`: the numbers of the entries that another lease, or another lane, may
    bring further. `is_short`: the lease was too small for one of them; `is_elsewhere`: another lane's part of
    what a model answers is needed."""

    def __init__(self, entries: Sequence[Item], terms: Terms[Item, Judged]):
        self._entries, self._terms = entries, terms
        self._lost = 0
        self.judged: list[Judged | None] = [None] * len(entries)
        self.left = list(range(len(entries)))
        self.seen: dict[str, Json] = {}
        self.is_short = self.is_elsewhere = False

    @property
    def next(self) -> list[int]:
        """All that are left. Where that has ended a process again and again one by one, so that whoever does
        it takes no others along."""
        return self.left if self._lost < _TRIES - 1 else self.left[:1]

    def lose(self, numbers: Sequence[int]) -> None:
        """The process that judged these has ended."""
        self._lost += 1
        if self._lost < _TRIES or len(numbers) > 1:
            return
        what = f"the process that was to judge it ended {_TRIES} times: killed, or out of memory"
        self.take(numbers, ChunkDone((self._terms.lost(self._entries[numbers[0]], what),)))

    def failures(self, numbers: Sequence[int], done: ChunkDone[Judged]) -> int:
        pairs = zip(numbers, done.judged, strict=True)
        return sum(
            one is not None and self._terms.is_failure(self._entries[number], one) for number, one in pairs
        )

    def take(self, numbers: Sequence[int], done: ChunkDone[Judged]) -> None:
        had_all = self.is_short
        self.seen = self.seen or done.seen
        for number, one in zip(numbers, done.judged, strict=True):
            self.judged[number] = one
        codes = [None if one is None else self._terms.code(one) for one in done.judged]
        self.is_short, self.is_elsewhere = OUT_OF_BUDGET in codes, ASKED_ELSEWHERE in codes
        settled = {
            number
            for number, one, code in zip(numbers, done.judged, codes, strict=True)
            if one is not None and code != ASKED_ELSEWHERE and (had_all or code != OUT_OF_BUDGET)
        }
        self.left = [number for number in self.left if number not in settled]
