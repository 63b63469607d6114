"""The parts of a run that workers do. A run is planned, its chunks are worked on, and their results are
written. A worker reads, compiles, replays and judges; it writes nothing and handles no signal, so that it can
be in this process, in another one or on another machine."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from baselinekit.commands.context import RunContext, ThreadPool
from baselinekit.commands.judging import BaselineRunner, JudgedBaseline, Repeating, ReplayResult
from baselinekit.commands.leases import ChunkCosts
from baselinekit.commands.loading import Prepared, UnfitBaseline, compile_and_check
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.selection import Test
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused, cannot_replay
from baselinekit.frozen import frozen
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Baseline, Entry, Known, Variant
from baselinekit.model.grades import Outcome
from baselinekit.model.results import Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.store.reading import LoadedFiles
from baselinekit.store.records import case_digest, digest as digest_of
from baselinekit.structs import replace

_BATCH_FILES, _BATCH_BYTES = 256, 4_000_000
"""How many files, and how many bytes, are read before their baselines are compiled. To compile file by file
takes a fifth longer; a larger batch takes more memory."""

MOST_HELD = 125_000_000
"""Bytes for the compiled baselines that are held until their turn; the others are read again then."""

_BYTES_PER_BASELINE, _BYTES_PER_FILE_BYTE = 9_000, 4
"""The bytes that a compiled baseline needs: whatever its size, and for each byte of its files."""

Key = tuple[str, str]


class Claiming(Protocol):
    """An item that waits for its turn. Nothing else may use what it claims while it runs."""

    @property
    def claim(self) -> str | None: ...


Item = TypeVar("Item", bound=Claiming)
Judged = TypeVar("Judged")


@frozen
class JudgePolicy:
    """How each baseline is judged, in whatever process."""

    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


@dataclass(slots=True)
class ReadFiles:
    """The entries of the baselines that could be read, and the problems of those that could not."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def add(self, other: "ReadFiles") -> None:
        self.entries += other.entries
        self.problems += other.problems
        self.refused += other.refused

    @property
    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


@frozen
class Chunk(Generic[Item]):
    """What one worker judges: baselines, or attempts at cases. No other chunk may use what they `claim`
    meanwhile."""

    entries: tuple[Item, ...]
    claim: str | None = None


@frozen
class ChunkDone(Generic[Judged]):
    """The results of a chunk: what was judged of each entry, or None where it was not run. `seen`: the
    environment in which it was done."""

    judged: tuple[Judged | None, ...]
    seen: dict[str, Json] = field(default_factory=dict)
    gathered: ChunkCosts = field(default_factory=ChunkCosts)


class Engine(Protocol[Item, Judged]):
    """Works on chunks, `slots` of them at once; each call waits for its result."""

    @property
    def slots(self) -> int: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def chunks(self, entries: Sequence[Item]) -> list[Chunk[Item]]: ...

    def judge(self, chunk: Chunk[Item]) -> ChunkDone[Judged]: ...

    def cancel(self) -> None: ...


class BaselineEngine(Engine[Entry, JudgedBaseline], Protocol):
    """An engine that also reads baselines."""

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        """Return the entries of files. Those that `wanted` selects are compiled and checked (None: later)."""

    def prepare(self, entries: Sequence[Entry]) -> list[UnfitBaseline]:
        """Return those that cannot be judged, with what is wrong with them."""


class Threads(Generic[Item, Judged]):
    """The engine of a plain run: threads of this process, which call `judge` for one item after the other."""

    def __init__(self, judge: Callable[[Item], Judged], jobs: int, cancel: Callable[[], None]):
        self.slots = jobs
        self.cancel = cancel
        self._judge = judge

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def chunks(self, entries: Sequence[Item]) -> list[Chunk[Item]]:
        return [Chunk((entry,), entry.claim) for entry in entries]

    def judge(self, chunk: Chunk[Item]) -> ChunkDone[Judged]:
        return ChunkDone((self._judge(chunk.entries[0]),))


class ThreadedBaselineEngine(Threads[Entry, JudgedBaseline]):
    """The same for baselines, which this process reads. Results after a cancel are dropped."""

    def __init__(self, worker: "ChunkWorker", jobs: int, cancel: Callable[[], None]):
        super().__init__(worker.judge, jobs, self._cancel)
        self.read, self.prepare = worker.read, worker.prepare
        self._cancel_run = cancel
        self._is_cancelled = False

    def _cancel(self) -> None:
        self._is_cancelled = True
        self._cancel_run()

    def judge(self, chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
        done = super().judge(chunk)
        return ChunkDone((None,)) if self._is_cancelled else done


class ChunkWorker:
    """Reads files and judges the baselines in them; several threads may use it at once."""

    def __init__(
        self,
        environment: CaptureEnvironment,
        policy: JudgePolicy,
        context: RunContext,
        most_held: int = MOST_HELD,
    ):
        self._environment = environment
        self._runner = BaselineRunner(
            environment, policy.strict_rules, policy.explain, context.clock.timestamp
        )
        self._repeating = policy.repeating
        self._context = context
        self._held = HeldBaselines(environment, most_held)

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        files_read = ReadFiles()
        batches = self._held.plan_batches(files)
        for batch in batches:
            files_read.add(self._held.read(batch, wanted))
        return files_read

    def prepare(self, entries: Sequence[Entry]) -> list[UnfitBaseline]:
        return self._held.prepare(entries)

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, for a selection that needs their content."""
        return self._held.baselines(entries)

    def released(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, which are judged elsewhere: they are no longer held here."""
        return self._held.released(entries)

    def run(
        self, chunk: Chunk[Entry], jobs: int, goes_on: Callable[[Result], bool]
    ) -> ChunkDone[JudgedBaseline]:
        """Judge a whole chunk in threads, until `goes_on` is False for a result."""
        self._held.expect(chunk.entries)
        context = self._context
        pool = ThreadPool(jobs, self.judge, context.cancel, context.stop, lambda entry: entry.claim)
        judged = pool.run(chunk.entries, lambda judged_baseline: goes_on(judged_baseline.result))
        return ChunkDone(tuple(judged), self._environment.seen)

    def judge(self, entry: Entry) -> JudgedBaseline:
        """Replay and compare a baseline as often as the policy says."""
        try:
            baseline, matcher = self._held.take(entry)
        except BaselinekitError as error:
            problem = error.problems[0]
            result = unjudged_result(entry, "error", problem.with_hint, code=problem.code)
            return JudgedBaseline(replace(result, name=entry.name, at=problem.at or ()))
        return self._runner.judge(baseline, partial(self._repeated, baseline, matcher))

    def _repeated(self, baseline: Baseline, matcher: Matcher | None) -> ReplayResult:
        if self._repeating.times == 1:
            return self._runner.replay_once(baseline, matcher)
        from baselinekit.commands.verdicts import (  # imports much that a single replay does not need
            Pause,
            replay_repeatedly,
        )

        pause = Pause(self._context.stop.is_set, self._context.clients.sleep)
        return replay_repeatedly(partial(self._runner.replay_once, baseline, matcher), self._repeating, pause)


def unjudged_result(
    entry: Entry, outcome: Outcome, reason: str, code: str | None = None, verdict: str | None = None
) -> Result:
    """Return the result of a baseline of which only the entry is known."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason, code, verdict)


@dataclass(slots=True)
class _HeldBaseline:
    """A baseline, with its matcher if it `is_ready`."""

    prepared: Prepared
    room: int
    is_ready: bool = False


@dataclass(slots=True)
class _LoadedBaseline:
    """A baseline that was read, and the approximate number of bytes in its files."""

    baseline: Baseline
    size: int

    @property
    def key(self) -> Key:
        return self.baseline.source.file, self.baseline.id


class HeldBaselines:
    """Holds baselines from their reading until their turn, as many as there is room for."""

    def __init__(self, environment: CaptureEnvironment, room: int):
        self._environment = environment
        self._room = room
        self._held: dict[Key, _HeldBaseline] = {}
        self._unfit: dict[Key, UnfitBaseline] = {}
        self._checked: set[Key] = set()
        self._due: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def plan_batches(self, files: Sequence[str]) -> list[list[str]]:
        """Return the batches in which to read these files."""
        batches, room = list[list[str]](), 0
        for file in files:
            size = 0
            with suppress(OSError, ValueError):
                size = os.stat(os.path.join(self._environment.project.root, file)).st_size
            if not batches or room < size or len(batches[-1]) == _BATCH_FILES:
                batches.append([])
                room = _BATCH_BYTES
            batches[-1].append(file)
            room -= size
        return batches

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        loaded = LoadedFiles()
        items = self._load(files, loaded)
        claim = self._environment.project.claim
        entries = [entry_of(item.baseline, item.size, claim(item.baseline.current)) for item in items]
        if wanted is None:
            for item in items:
                self._hold(item, (item.baseline, None), is_ready=False)
        else:
            pairs = zip(items, entries, strict=True)
            self._make_ready([item for item, entry in pairs if wanted(entry)])
        return ReadFiles(entries, loaded.problems, loaded.refused)

    def prepare(self, entries: Sequence[Entry]) -> list[UnfitBaseline]:
        """Return what is wrong with these. Those that are not compiled yet are compiled now, and read if they
        are not held."""
        late: dict[str, list[Entry]] = {}
        for entry in entries:
            if (key := key_of(entry)) not in self._unfit and key not in self._checked:
                late.setdefault(entry.source.file, []).append(entry)
        for file, file_entries in late.items():
            self._prepare_late(file, file_entries)
        self.expect(entries)
        return [unfit for entry in entries if (unfit := self._unfit.get(key_of(entry)))]

    def _prepare_late(self, file: str, entries: Sequence[Entry]) -> None:
        wanted_ids = {entry.id for entry in entries}
        late: dict[str, _LoadedBaseline] = {}
        for entry in entries:
            if held := self._held.pop(key_of(entry), None):
                self._free_room(held)
                late[entry.id] = _LoadedBaseline(held.prepared[0], entry.size)
        if len(late) < len(wanted_ids):
            late |= {
                item.baseline.id: item
                for item in self._load([file])
                if item.baseline.id in wanted_ids - late.keys()
            }
        for entry in entries:
            if entry.id not in late:
                self._unfit[key_of(entry)] = UnfitBaseline(entry.source, changed_error(entry))
        self._make_ready([*late.values()])

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, read again where they are not held."""
        wanted_keys = {key_of(entry) for entry in entries}
        by_key = {key: self._held[key].prepared[0] for key in wanted_keys & self._held.keys()}
        for file in dict.fromkeys(entry.source.file for entry in entries if key_of(entry) not in by_key):
            by_key |= {item.key: item.baseline for item in self._load([file])}
        return [by_key[key] for entry in entries if (key := key_of(entry)) in by_key]

    def released(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries and hold them no longer. One with variants is read again:
        what is held is only the variant for this environment."""
        by_key: dict[Key, Baseline] = {}
        with self._lock:
            for entry in entries:
                if held := self._held.pop(key_of(entry), None):
                    self._free_room(held)
                    if held.prepared[0].variant is None:
                        by_key[key_of(entry)] = held.prepared[0]
        for file in dict.fromkeys(entry.source.file for entry in entries if key_of(entry) not in by_key):
            by_key |= {item.key: item.baseline for item in self._load([file])}
        return [by_key[key] for entry in entries if (key := key_of(entry)) in by_key]

    def expect(self, entries: Iterable[Entry]) -> None:
        """Note that these will be taken: when a file is read again for one, the others are held."""
        with self._lock:
            for entry in entries:
                self._due.setdefault(entry.source.file, set()).add(entry.id)

    def take(self, entry: Entry) -> Prepared:
        """Return a baseline, compiled, when its turn has come; this can be done once."""
        file = entry.source.file
        with self._lock:
            if (held := self._held.pop(key_of(entry), None)) is None:
                for item in self._load([file]):
                    if item.baseline.id in self._due.get(file, ()):
                        self._store(item, (item.baseline, None), is_ready=False)
                held = self._held.pop(key_of(entry), None)
            if held is None:
                raise changed_error(entry)
            self._free_room(held)
            if due := self._due.get(file):
                due.discard(entry.id)
        if held.is_ready:
            return held.prepared
        prepared, unfit = compile_and_check(self._environment, [held.prepared[0]])
        if unfit:
            raise unfit[0].error
        return prepared[0]

    def _load(self, files: Sequence[str], loaded: LoadedFiles | None = None) -> list[_LoadedBaseline]:
        loaded = LoadedFiles() if loaded is None else loaded
        for file in files:
            loaded.read(file, self._environment.project.root)
        return list(map(_LoadedBaseline, loaded.baselines, loaded.sizes))

    def _make_ready(self, items: Sequence[_LoadedBaseline]) -> None:
        """Compile and check these; hold the good ones with their matchers, remember the others as unfit."""
        prepared, unfit = compile_and_check(self._environment, [item.baseline for item in items])
        unfit_by_place = {
            (problem.source.file, problem.source.document, problem.source.at): problem for problem in unfit
        }
        for item in items:
            source = item.baseline.source
            if error := unfit_by_place.get((source.file, source.document, source.at)):
                self._unfit[item.key] = error
        by_key = {item.key: item for item in items}
        for baseline, matcher in prepared:
            key = (baseline.source.file, baseline.id)
            if key not in self._unfit:
                self._checked.add(key)
                self._hold(by_key[key], (baseline, matcher), is_ready=True)

    def _hold(self, item: _LoadedBaseline, prepared: Prepared, is_ready: bool) -> None:
        if _BYTES_PER_BASELINE + _BYTES_PER_FILE_BYTE * item.size <= self._room:
            self._store(item, prepared, is_ready)

    def _store(self, item: _LoadedBaseline, prepared: Prepared, is_ready: bool) -> None:
        room = _BYTES_PER_BASELINE + _BYTES_PER_FILE_BYTE * item.size
        self._room -= room
        self._held[item.key] = _HeldBaseline(prepared, room, is_ready)

    def _free_room(self, held: _HeldBaseline) -> None:
        self._room += held.room


def key_of(entry: Entry) -> Key:
    return entry.source.file, entry.id


def changed_error(entry: Entry) -> BaselinekitError:
    message = (
        f"{entry.source.file} was changed while the run was under way: {entry.id} cannot be read there now"
    )
    return cannot_replay("BK115", message, "compare again")


def entry_of(baseline: Baseline, size: int, claim: str | None) -> Entry:
    source, stored = baseline.source, baseline.baseline
    content = case_digest(source.digest)
    versions: list[Known | Variant] = [stored, *stored.variants] if stored is not None else []
    beside = [version.output for version in versions if version.output_file]
    if beside:
        read_outputs = [output for output in beside if output is not ABSENT]
        content = digest_of({"case": content, "outputs": read_outputs})
    kind = baseline.current.kind
    return Entry(baseline.id, baseline.name, tuple(baseline.tags), source, kind, claim, content, size)
