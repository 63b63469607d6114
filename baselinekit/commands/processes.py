"""Several processes work on the chunks of a run. Each process is a lane of its own: if it is killed, only its
own chunk is lost, and is done again."""

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

from baselinekit.commands.chunks import (
    Chunk,
    ChunkDone,
    Item,
    Judged,
    Key,
    ReadFiles,
    key_of,
    unjudged_result,
)
from baselinekit.commands.judging import OUT_OF_BUDGET, JudgedBaseline
from baselinekit.commands.leases import ChunkCosts, Leases
from baselinekit.commands.loading import UnfitBaseline
from baselinekit.commands.selection import Test
from baselinekit.errors import Problem, cannot_replay
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Entry, Source
from baselinekit.model.values import Json, Path

LOST = "BK360"
ASKED_ELSEWHERE = "BK621"
_TRIES = 4
_TRIES_TOGETHER = 2
"""How often an entry is tried, as its process may end for another reason; and how often together with its
whole chunk."""

_MOST_READ = 256
"""Files that a lane reads at a time: to read and compile each by itself takes a fifth longer."""

_MOST_JUDGED = 64
_SLOTS = 2
_SHARED = 10
"""One chunk in so many, the last ones of each lane, goes to any idle lane. It has to read the files again,
which takes longer than to judge baselines that are read already."""

_LEAST_PARTS = 4
"""The parts that the work of a lane is divided into at least, so that all lanes end at about the same
time."""

_FAILURES = ("failed", "error")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANCEL = b"cancel"


# In the worker's process.


class Worker(Protocol):
    """What `build` returns in the process that does the work."""

    def cancel(self) -> None: ...

    def close(self) -> None: ...


Build = Callable[[], Worker]
"""A function that can be pickled: a function of a module, or a `partial` of one."""

_workers: list[Worker] = []
"""The worker of this process, once it is built."""
_cancelled = threading.Event()


def _start_worker(control: Connection) -> None:
    """Ignore signals: the main process handles them, and tells the workers. Child processes do get them."""
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_follow_control, args=(control,), daemon=True).start()


def _follow_control(control: Connection) -> None:
    """Cancel on request. End this process when the main process is gone."""
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


def _build_worker(build: Build) -> None:
    _workers.append(build())
    if _cancelled.is_set():  # the request came before the worker existed
        _cancel()


def _call_worker(method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_workers[0], method)(*arguments)


def _close_worker() -> None:
    _workers[0].close()


# In the process of the run.


class LaneLost(Exception):
    """The process of a lane has ended, and the work it had begun is lost."""


class WorkerLane:
    """One process, which does one thing after the other: its caller holds the `lock`."""

    def __init__(self, build: Build, number: int):
        self.number = number
        self._build_worker = build
        self.lock = threading.Lock()
        self._control: Connection | None = None
        self._is_cancelled = False

    def begin(self) -> None:
        """Start the process, which builds its worker."""
        context = multiprocessing.get_context("spawn")
        reader, control = context.Pipe(duplex=False)
        try:
            self._executor = ProcessPoolExecutor(1, context, _start_worker, (reader,))
            with _block_signals(), without_main():
                self._ready: Future[None] = self._executor.submit(_build_worker, self._build_worker)
        except (ImportError, NotImplementedError, OSError) as error:  # a system without semaphores, or full
            control.close()
            raise cannot_replay(LOST, f"no process can be started here: {error}", "--processes 1") from None
        finally:
            reader.close()
        self._control = control
        if self._is_cancelled:
            self.cancel()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the worker and return its result; the first call starts the process. Raises
        LaneLost if the process has ended."""
        if self._control is None:
            self.begin()
        try:
            self._ready.result()
            return self._executor.submit(_call_worker, method, arguments).result()
        except BrokenProcessPool:
            self.abandon()
            raise LaneLost from None

    def cancel(self) -> None:
        """Cancel the worker, also if its process has not started yet."""
        self._is_cancelled = True
        if (control := self._control) is not None:
            with suppress(OSError):
                control.send_bytes(_CANCEL)

    def abandon(self) -> None:
        """End the process as soon as possible, whatever it does, and wait for it: the interpreter would wait
        at its exit, where it may fail on a pipe that is just being closed."""
        control, self._control = self._control, None
        if control is not None:
            control.close()
            self._executor.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """End the process when no work is under way any more."""
        if self._control is not None:
            with suppress(BrokenProcessPool):
                self._executor.submit(_close_worker).result()
            self.abandon()


@contextmanager
def _block_signals() -> Iterator[None]:
    """Block signals, also in processes started meanwhile, until these unblock them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_starting = threading.Lock()
_mains: list[ModuleType] = []
"""The hidden main modules, one for each caller that hides it."""


@contextmanager
def without_main() -> Iterator[None]:
    """Keep processes that are started meanwhile from importing the main module, which they do not need: a
    user's script would be run again from its first line."""
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
class ResultTerms(Generic[Item, Judged]):
    """How lanes read and make results, whatever is judged. `code`: the code of the error that kept it from
    being judged; `is_failure`: whether it counts for --maxfail; `lost`: the error of an item that ends its
    process again and again; `could_not`: the error of one that could not be sent, or not be done there."""

    code: Callable[[Judged], str | None]
    is_failure: Callable[[Item, Judged], bool]
    lost: Callable[[Item, str], Judged]
    could_not: Callable[[Item, Problem], Judged]


class ProcessLanes(Generic[Item, Judged]):
    """What the engines of several processes have in common. `builds` has a function for each process; `terms`
    says how to read and make results."""

    def __init__(
        self,
        builds: Sequence[Build],
        leases: Leases,
        gather: Callable[[ChunkCosts], None],
        terms: ResultTerms[Item, Judged],
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
        """Judge a chunk, as far as leases allow; what one lease does not cover is done with the next.
        `in_any`: another lane may do it if that one is free and `home` is not."""
        judging = ChunkProgress(chunk.entries, self._terms)
        while judging.left and not self._is_over:
            elsewhere = judging.is_elsewhere
            with self.free_lane(self.lanes[0] if elsewhere else home, in_any and not elsewhere) as lane:
                if not self._is_over:  # that may have changed while waiting for the lane
                    self._judge_next(lane, chunk, judging)
        return ChunkDone(tuple(judging.judged), judging.seen)

    @property
    def _is_over(self) -> bool:
        return self._is_cancelled or self._leases.is_over

    def _judge_next(
        self, lane: WorkerLane, chunk: Chunk[Item], judging: "ChunkProgress[Item, Judged]"
    ) -> None:
        numbers = judging.next
        part = replace(chunk, entries=tuple(chunk.entries[number] for number in numbers))
        with self._leases.lease(lane.number, judging.is_short) as lease:
            if self._is_over:  # that may have changed while waiting for the lease
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
        """Hold a lane that nobody else calls meanwhile."""
        lanes = [home, *(self.lanes if in_any else ())]
        lane = next((lane for lane in lanes if lane.lock.acquire(blocking=False)), None)
        if lane is None:
            lane = home
            lane.lock.acquire()
        try:
            yield lane
        finally:
            lane.lock.release()


class ProcessEngine(ProcessLanes[Entry, JudgedBaseline]):
    """The engine of a compare in several processes, each of which replays at most `jobs` at once. A lane
    keeps and judges what it has read. It has two slots: while one waits, the results of the other are
    written."""

    def __init__(
        self, builds: Sequence[Build], jobs: int, leases: Leases, gather: Callable[[ChunkCosts], None]
    ):
        super().__init__(builds, leases, gather, OF_BASELINES)
        self.slots = _SLOTS * len(builds)
        self._jobs = jobs
        self._lane_of: dict[str, int] = {}
        self._moved: dict[Key, int] = {}
        self._checked: set[Key] = set()
        self._unfit: list[UnfitBaseline] = []

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        """Read files: each lane takes the next ones as soon as it is done with those before."""
        most = max(1, min(_MOST_READ, -(-len(files) // (_LEAST_PARTS * len(self.lanes)))))
        parts = [list(files[start : start + most]) for start in range(0, len(files), most)]

        def read(part: list[str]) -> tuple[WorkerLane, ReadFiles, list[UnfitBaseline]]:
            with self.free_lane(self.lanes[0]) as lane:
                return (lane, *self._call_until_done(lane, "read", part, wanted))

        files_read = ReadFiles()
        with ThreadPoolExecutor(len(self.lanes)) as threads:
            for part, (lane, part_found, unfit) in zip(parts, threads.map(read, parts), strict=True):
                files_read.add(part_found)
                self._unfit += unfit
                self._lane_of |= dict.fromkeys(part, lane.number)
        if wanted is not None:
            self._checked = {key_of(entry) for entry in files_read.entries if wanted(entry)}
        return files_read

    def prepare(self, entries: Sequence[Entry]) -> list[UnfitBaseline]:
        """Prepare the entries that are not checked yet, each in the lane that has read its file."""
        late = [entry for entry in entries if key_of(entry) not in self._checked]

        def prepare(number: int, lane_entries: list[Entry]) -> list[UnfitBaseline]:
            with self.free_lane(self.lanes[number], in_any=False) as lane:
                unfit_found: list[UnfitBaseline] = self._call_until_done(lane, "prepare", lane_entries)
            return unfit_found

        by_lane = self._group_by_lane(late)
        with ThreadPoolExecutor(len(self.lanes)) as threads:
            for unfit_found in threads.map(prepare, by_lane, by_lane.values()):
                self._unfit += unfit_found
        places = {_place(entry.source): number for number, entry in enumerate(entries)}
        unfit = [problem for problem in self._unfit if _place(problem.source) in places]
        return sorted(unfit, key=lambda problem: places[_place(problem.source)])

    def chunks(self, entries: Sequence[Entry]) -> list[Chunk[Entry]]:
        """Return the chunks of each lane in their order, then those for any idle lane, and last the entries
        that claim something."""
        free = [entry for entry in entries if entry.claim is None]
        per_lane = -(-len(free) // len(self.lanes))
        most = max(self._jobs, min(_MOST_JUDGED, per_lane // _LEAST_PARTS))
        most += -most % self._jobs  # all threads of a lane have something to do to the end
        numbers = {key_of(entry): number for number, entry in enumerate(entries)}
        chunks, last = list[Chunk[Entry]](), list[Chunk[Entry]]()
        for lane, lane_entries in self._level_out(self._group_by_lane(free), per_lane).items():
            parts = [tuple(lane_entries[start : start + most]) for start in range(0, len(lane_entries), most)]
            bound = len(parts) - max(1, len(parts) // _SHARED)
            # a lane works on no more chunks than it has slots; no recipe can claim such a name
            chunks += [
                Chunk(part, f"\0lane {lane} {n % _SLOTS}") for n, part in enumerate(parts[: max(0, bound)])
            ]
            last += [Chunk(part) for part in parts[max(0, bound) :]]
        for some in (chunks, last):
            some.sort(key=lambda chunk: numbers[key_of(chunk.entries[0])])
        claiming = [entry for entry in entries if entry.claim is not None]
        groups = groupby(claiming, lambda entry: (entry.claim, self._home_of(entry)))
        return [*chunks, *last, *(Chunk(tuple(group), claim) for (claim, _), group in groups)]

    def _level_out(self, by_lane: dict[int, list[Entry]], most: int) -> dict[int, list[Entry]]:
        """Move what exceeds the share of a lane to lanes that have less; these read it again."""
        surplus = [entry for lane_entries in by_lane.values() for entry in lane_entries[most:]]
        levelled = {lane.number: by_lane.get(lane.number, [])[:most] for lane in self.lanes}
        for lane, lane_entries in levelled.items():
            missing = most - len(lane_entries)
            moved, surplus = surplus[:missing], surplus[missing:]
            lane_entries += moved
            self._moved |= {key_of(entry): lane for entry in moved}
        return levelled

    def _home_of(self, entry: Entry) -> int:
        return self._moved.get(key_of(entry), self._lane_of.get(entry.source.file, 0))

    def _group_by_lane(self, entries: Sequence[Entry]) -> dict[int, list[Entry]]:
        """Group entries by the lane that has read their file; unread files are divided among the lanes."""
        lanes = len(self.lanes)
        unread = dict.fromkeys(
            entry.source.file for entry in entries if entry.source.file not in self._lane_of
        )
        self._lane_of |= {file: number * lanes // len(unread) for number, file in enumerate(unread)}
        by_lane: dict[int, list[Entry]] = {}
        for entry in entries:
            by_lane.setdefault(self._lane_of[entry.source.file], []).append(entry)
        return by_lane

    def judge(self, chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
        """Judge a chunk in the lane that has read its files; one without a claim may go to an idle lane."""
        return self.judge_in(self.lanes[self._home_of(chunk.entries[0])], chunk, chunk.claim is None)

    def _call_until_done(self, lane: WorkerLane, method: str, *arguments: Any) -> Any:
        """Call a method until it succeeds: there is no result that could say that it was lost."""
        for _ in range(_TRIES):
            with suppress(LaneLost):
                return lane.call(method, *arguments)
        message = f"a process that was to read files ended {_TRIES} times: killed, or out of memory"
        raise cannot_replay(LOST, message, "start fewer: --processes 1")


def _place(source: Source) -> tuple[str, int, Path]:
    return source.file, source.document, source.at


def _lost(entry: Entry, message: str) -> JudgedBaseline:
    hint = f"see what happens without --processes: baselinekit compare --id {quote(entry.id)}"
    return JudgedBaseline(unjudged_result(entry, "error", f"{message}: {hint}", code=LOST))


def _failed(entry: Entry, problem: Problem) -> JudgedBaseline:
    return JudgedBaseline(unjudged_result(entry, "error", problem.with_hint, code=problem.code))


OF_BASELINES = ResultTerms[Entry, JudgedBaseline](
    code=lambda judged: judged.result.code,
    is_failure=lambda entry, judged: judged.result.outcome in _FAILURES,
    lost=_lost,
    could_not=_failed,
)


class ChunkProgress(Generic[Item, Judged]):
    """How far a chunk is done. `left`: the numbers of the entries that are to be done with another lease, or
    in another lane. `is_short`: the lease was too small for one of them; `is_elsewhere`: the lane that asks
    the model is needed."""

    def __init__(self, entries: Sequence[Item], terms: ResultTerms[Item, Judged]):
        self._entries, self._terms = entries, terms
        self._lost: Counter[int] = Counter()
        self.judged: list[Judged | None] = [None] * len(entries)
        self.left = list(range(len(entries)))
        self.seen: dict[str, Json] = {}
        self.is_short = self.is_elsewhere = False

    @property
    def next(self) -> list[int]:
        """The numbers of the next part: all that are left, or only one if a process has ended twice with
        them, so that the entry that ends it is found."""
        return self.left if self._lost[self.left[0]] < _TRIES_TOGETHER else self.left[:1]

    def divide(self) -> None:
        """Do the entries one by one from now on."""
        self._lost.update(dict.fromkeys(self.left, _TRIES_TOGETHER))

    def lose(self, numbers: Sequence[int]) -> None:
        """Note that the process that judged these has ended."""
        self._lost.update(numbers)
        if self._lost[numbers[0]] < _TRIES:
            return
        message = f"the process that was to judge it ended {_TRIES} times: killed, or out of memory"
        self.take(numbers, ChunkDone((self._terms.lost(self._entries[numbers[0]], message),)))

    def failures(self, numbers: Sequence[int], done: ChunkDone[Judged]) -> int:
        pairs = zip(numbers, done.judged, strict=True)
        return sum(
            judged is not None and self._terms.is_failure(self._entries[number], judged)
            for number, judged in pairs
        )

    def take(self, numbers: Sequence[int], done: ChunkDone[Judged]) -> None:
        had_all = self.is_short
        self.seen = self.seen or done.seen
        for number, judged in zip(numbers, done.judged, strict=True):
            self.judged[number] = judged
        codes = [None if judged is None else self._terms.code(judged) for judged in done.judged]
        self.is_short, self.is_elsewhere = OUT_OF_BUDGET in codes, ASKED_ELSEWHERE in codes
        settled = {
            number
            for number, judged, code in zip(numbers, done.judged, codes, strict=True)
            if judged is not None and code != ASKED_ELSEWHERE and (had_all or code != OUT_OF_BUDGET)
        }
        self.left = [number for number in self.left if number not in settled]
