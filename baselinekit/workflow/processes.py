"""Several processes work on the chunks of a run. Each of them is a lane of its own, so that whoever is killed
takes no more with it than its own chunk, which is done again."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from multiprocessing.connection import Connection
from shlex import quote
from types import ModuleType, TracebackType
from typing import Any, Generic, Protocol, Self

from baselinekit.errors import Problem, cannot
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
_TRIES = 4
_TRIES_TOGETHER = 2
"""How often something is tried, for what ends a process may be nothing of its own; and how often together
with all of its chunk."""

_MOST_READ = 256
"""Files that a lane reads at a time: to compile each of many by itself takes a fifth longer."""

_MOST_JUDGED = 64
_SLOTS = 2
_SHARED = 10
"""One chunk in so many, the last ones of each lane, goes to whichever lane has nothing to do: it reads them
again, which takes longer than to judge what has been read."""

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
_cancelled = threading.Event()


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
            _cancel()
    try:
        _cancel()
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _cancel() -> None:
    _cancelled.set()
    for worker in _workers:
        worker.cancel()


def _build(build: Build) -> None:
    _workers.append(build())
    if _cancelled.is_set():  # before there was anybody to hear it
        _cancel()


def _call(method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_workers[0], method)(*arguments)


def _close() -> None:
    _workers[0].close()


# In the process of the run.


class LaneLost(Exception):
    """The process of a lane has ended, and what it had begun is lost."""


class WorkerLane:
    """One process, which does one thing after the other: whoever calls it holds its `lock`."""

    def __init__(self, build: Build, number: int):
        self.number = number
        self._build = build
        self.lock = threading.Lock()
        self._control: Connection | None = None
        self._is_cancelled = False

    def begin(self) -> None:
        """Start the process, which builds its worker."""
        context = multiprocessing.get_context("spawn")
        reader, control = context.Pipe(duplex=False)
        try:
            self._executor = ProcessPoolExecutor(1, context, _begin, (reader,))
            with _deaf(), without_main():
                self._ready: Future[None] = self._executor.submit(_build, self._build)
        except (ImportError, NotImplementedError, OSError) as error:  # a system without semaphores, or full
            control.close()
            raise cannot(LOST, f"no process can be started here: {error}", "--processes 1") from None
        finally:
            reader.close()
        self._control = control
        if self._is_cancelled:
            self.cancel()

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the worker gives; the process is started for the first one. LaneLost: it has
        ended, and what it had begun is lost."""
        if self._control is None:
            self.begin()
        try:
            self._ready.result()
            return self._executor.submit(_call, method, arguments).result()
        except BrokenProcessPool:
            self.abandon()
            raise LaneLost from None

    def cancel(self) -> None:
        """Also of a process that is only about to begin."""
        self._is_cancelled = True
        if (control := self._control) is not None:
            with suppress(OSError):
                control.send_bytes(_CANCEL)

    def abandon(self) -> None:
        """Let it end as soon as it can, whatever it does. That is waited for: the interpreter would in its
        end, and there it may stumble over a pipe that is closed at that moment."""
        control, self._control = self._control, None
        if control is not None:
            control.close()
            self._executor.shutdown(wait=True, cancel_futures=True)

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


_starting = threading.Lock()
_mains: list[ModuleType] = []
"""What was the main module, once for each who hides it."""


@contextmanager
def without_main() -> Iterator[None]:
    """A process that is started meanwhile does not import the main module, of which it needs nothing: where
    that is somebody's script it would be run again from its first line."""
    with _starting:
        _mains.append(_mains[-1] if _mains else sys.modules["__main__"])
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        with _starting:
            main = _mains.pop()
            if not _mains:
                sys.modules["__main__"] = main


@frozen
class Terms(Generic[Item, Judged]):
    """What there is to know of what is judged, whatever it is. `code`: of what kept it from being judged;
    `is_failure`: whether it counts among those after which a run ends; `lost`: the error of one that ends its
    process again and again; `could_not`: that of one that could not be sent, or not be done there."""

    code: Callable[[Judged], str | None]
    is_failure: Callable[[Item, Judged], bool]
    lost: Callable[[Item, str], Judged]
    could_not: Callable[[Item, Problem], Judged]


class Lanes(Generic[Item, Judged]):
    """What the engines of several processes have in common: `builds` has one for each. `terms`: how they look
    at what is judged."""

    def __init__(
        self,
        builds: Sequence[Build],
        leases: Leases,
        gather: Callable[[Gathered], None],
        terms: Terms[Item, Judged],
    ):
        self.slots = len(builds)
        self.lanes = [WorkerLane(build, number) for number, build in enumerate(builds)]
        self._leases, self._gather, self._terms = leases, gather, terms
        self._is_cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.cancel()
        for lane in self.lanes:
            lane.close() if kind is None else lane.abandon()

    def cancel(self) -> None:
        self._is_cancelled = True
        for lane in self.lanes:
            lane.cancel()

    def judge_in(self, home: WorkerLane, chunk: Chunk[Item], in_any: bool = False) -> ChunkDone[Judged]:
        """As far as leases go; what one of them does not cover is done with the next. `in_any`: by another
        lane as well, if that one is free and its own is not."""
        judging = Judging(chunk.entries, self._terms)
        while judging.left and not self._is_over:
            elsewhere = judging.is_elsewhere
            with self.free_lane(self.lanes[0] if elsewhere else home, in_any and not elsewhere) as lane:
                if not self._is_over:  # the lane may have been waited for
                    self._judge_next(lane, chunk, judging)
        return ChunkDone(tuple(judging.judged), judging.seen)

    @property
    def _is_over(self) -> bool:
        return self._is_cancelled or self._leases.is_over

    def _judge_next(self, lane: WorkerLane, chunk: Chunk[Item], judging: "Judging[Item, Judged]") -> None:
        numbers = judging.next
        part = replace(chunk, entries=tuple(chunk.entries[number] for number in numbers))
        with self._leases.lease(lane.number, judging.is_short) as lease:
            if self._is_over:  # the lease may have been waited for
                return
            try:
                done: ChunkDone[Judged] = lane.call("judge", part, lease)
            except LaneLost:
                judging.lose(numbers)
                return
            self._leases.settle(done.gathered, judging.failures(numbers, done))
        self._gather(done.gathered)
        judging.take(numbers, done)

    @contextmanager
    def free_lane(self, home: WorkerLane, in_any: bool = True) -> Iterator[WorkerLane]:
        """A lane that nobody else calls meanwhile."""
        lanes = [home, *(self.lanes if in_any else ())]
        lane = next((lane for lane in lanes if lane.lock.acquire(blocking=False)), None)
        if lane is None:
            lane = home
            lane.lock.acquire()
        try:
            yield lane
        finally:
            lane.lock.release()


class ProcessEngine(Lanes[Entry, JudgedBaseline]):
    """The engine of a compare in several processes, each of which replays at most `jobs` at once. What a lane
    has read it keeps, and judges. It has two slots: while one waits, what it gave before is written."""

    def __init__(
        self, builds: Sequence[Build], jobs: int, leases: Leases, gather: Callable[[Gathered], None]
    ):
        super().__init__(builds, leases, gather, OF_BASELINES)
        self.slots = _SLOTS * len(builds)
        self._jobs = jobs
        self._lane_of: dict[str, int] = {}
        self._moved: dict[Key, int] = {}
        self._checked: set[Key] = set()
        self._unfit: list[Unfit] = []

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        """Each lane takes the next files as soon as it has done with those before."""
        most = max(1, min(_MOST_READ, -(-len(files) // (_LEAST_PARTS * len(self.lanes)))))
        parts = [list(files[start : start + most]) for start in range(0, len(files), most)]

        def read(part: list[str]) -> tuple[WorkerLane, ReadFiles, list[Unfit]]:
            with self.free_lane(self.lanes[0]) as lane:
                return (lane, *self._insisting(lane, "read", part, wanted))

        found = ReadFiles()
        with ThreadPoolExecutor(len(self.lanes)) as threads:
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

        def prepare(number: int, few: list[Entry]) -> list[Unfit]:
            with self.free_lane(self.lanes[number], in_any=False) as lane:
                found: list[Unfit] = self._insisting(lane, "prepare", few)
            return found

        of_lanes = self._of_lanes(late)
        with ThreadPoolExecutor(len(self.lanes)) as threads:
            for found in threads.map(prepare, of_lanes, of_lanes.values()):
                self._unfit += found
        places = {_place(entry.source): number for number, entry in enumerate(entries)}
        unfit = [one for one in self._unfit if _place(one.source) in places]
        return sorted(unfit, key=lambda one: places[_place(one.source)])

    def chunks(self, entries: Sequence[Entry]) -> list[Chunk[Entry]]:
        """Those of each lane in their order, then those of whichever is free, and last what claims
        something."""
        free = [entry for entry in entries if entry.claim is None]
        each = -(-len(free) // len(self.lanes))
        most = max(self._jobs, min(_MOST_JUDGED, each // _LEAST_PARTS))
        most += -most % self._jobs  # all threads of a lane have something to do to the end
        numbers = {key_of(entry): number for number, entry in enumerate(entries)}
        chunks, last = list[Chunk[Entry]](), list[Chunk[Entry]]()
        for lane, few in self._levelled(self._of_lanes(free), each).items():
            parts = [tuple(few[start : start + most]) for start in range(0, len(few), most)]
            bound = len(parts) - max(1, len(parts) // _SHARED)
            # of the chunks of one lane no more are begun than it has slots; no recipe can claim that
            chunks += [
                Chunk(part, f"\0lane {lane} {n % _SLOTS}") for n, part in enumerate(parts[: max(0, bound)])
            ]
            last += [Chunk(part) for part in parts[max(0, bound) :]]
        for some in (chunks, last):
            some.sort(key=lambda chunk: numbers[key_of(chunk.entries[0])])
        claiming = [entry for entry in entries if entry.claim is not None]
        alike = groupby(claiming, lambda entry: (entry.claim, self._home_of(entry)))
        return [*chunks, *last, *(Chunk(tuple(few), claim) for (claim, _), few in alike)]

    def _levelled(self, of_lanes: dict[int, list[Entry]], most: int) -> dict[int, list[Entry]]:
        """Who was quick at reading gives to others what is more than its part: they read that again."""
        surplus = [entry for few in of_lanes.values() for entry in few[most:]]
        levelled = {lane.number: of_lanes.get(lane.number, [])[:most] for lane in self.lanes}
        for lane, few in levelled.items():
            missing = most - len(few)
            more, surplus = surplus[:missing], surplus[missing:]
            few += more
            self._moved |= {key_of(entry): lane for entry in more}
        return levelled

    def _home_of(self, entry: Entry) -> int:
        return self._moved.get(key_of(entry), self._lane_of.get(entry.source.file, 0))

    def _of_lanes(self, entries: Sequence[Entry]) -> dict[int, list[Entry]]:
        """By the lane that has read their file; what none has read they share, file by file."""
        lanes = len(self.lanes)
        unread = dict.fromkeys(
            entry.source.file for entry in entries if entry.source.file not in self._lane_of
        )
        self._lane_of |= {file: number * lanes // len(unread) for number, file in enumerate(unread)}
        found: dict[int, list[Entry]] = {}
        for entry in entries:
            found.setdefault(self._lane_of[entry.source.file], []).append(entry)
        return found

    def judge(self, chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
        """By the lane that has read their files, where it has something to do to the end."""
        return self.judge_in(self.lanes[self._home_of(chunk.entries[0])], chunk, chunk.claim is None)

    def _insisting(self, lane: WorkerLane, method: str, *arguments: Any) -> Any:
        """What nobody can be told is lost: it is asked for again."""
        for _ in range(_TRIES):
            with suppress(LaneLost):
                return lane.call(method, *arguments)
        what = f"a process that was to read files ended {_TRIES} times: killed, or out of memory"
        raise cannot(LOST, what, "start fewer: --processes 1")


def _place(source: Source) -> tuple[str, int, Path]:
    return source.file, source.document, source.at


def _lost(entry: Entry, what: str) -> JudgedBaseline:
    hint = f"see what happens without --processes: baselinekit compare --id {quote(entry.id)}"
    return JudgedBaseline(unjudged(entry, "error", f"{what}: {hint}", code=LOST))


def _could_not(entry: Entry, problem: Problem) -> JudgedBaseline:
    return JudgedBaseline(unjudged(entry, "error", problem.with_hint, code=problem.code))


OF_BASELINES = Terms[Entry, JudgedBaseline](
    code=lambda judged: judged.result.code,
    is_failure=lambda entry, judged: judged.result.outcome in _FAILURES,
    lost=_lost,
    could_not=_could_not,
)


class Judging(Generic[Item, Judged]):
    """How far a chunk is done. `left`: the numbers of the entries that another lease, or another lane, may
    bring further. `is_short`: the lease was too small for one of them; `is_elsewhere`: another lane's part of
    what a model answers is needed."""

    def __init__(self, entries: Sequence[Item], terms: Terms[Item, Judged]):
        self._entries, self._terms = entries, terms
        self._lost: Counter[int] = Counter()
        self.judged: list[Judged | None] = [None] * len(entries)
        self.left = list(range(len(entries)))
        self.seen: dict[str, Json] = {}
        self.is_short = self.is_elsewhere = False

    @property
    def next(self) -> list[int]:
        """All that are left. Where a process ended with them twice, one by one: whoever ends it takes no
        others along."""
        return self.left if self._lost[self.left[0]] < _TRIES_TOGETHER else self.left[:1]

    def divide(self) -> None:
        """From now on one by one."""
        self._lost.update(dict.fromkeys(self.left, _TRIES_TOGETHER))

    def lose(self, numbers: Sequence[int]) -> None:
        """The process that judged these has ended."""
        self._lost.update(numbers)
        if self._lost[numbers[0]] < _TRIES:
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
