"""A run in three steps: what is to be done is planned, chunks of it are worked on, and their results are
finished. A worker reads, compiles, replays and judges; it writes nothing and hears no signal, so that it may
be in this process, in another one or on another machine."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused, cannot
from baselinekit.frozen import frozen
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Baseline, Entry, Known, Variant
from baselinekit.model.grades import Outcome
from baselinekit.model.results import Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.store.reading import LoadedFiles, without_collector
from baselinekit.store.records import (
    case_digest,
    digest as digest_of,
    packed,
    read_record,
    unpacked,
    with_files,
)
from baselinekit.workflow.context import RunContext, ThreadPool
from baselinekit.workflow.judging import BaselineRunner, JudgedBaseline, Repeating, Tried
from baselinekit.workflow.leases import Gathered
from baselinekit.workflow.loading import Prepared, Unfit, compile_and_check, compiled
from baselinekit.workflow.project import CaptureEnvironment
from baselinekit.workflow.selection import Test

_TOGETHER, _BYTES_TOGETHER = 256, 4_000_000
"""Files, and their bytes, that are read before what is in them is compiled: to do each in turn takes a fifth
longer, and all of it is in memory meanwhile."""

MOST_HELD = 80_000_000
"""Bytes that baselines take which are held, compiled, until their turn. Where all of a run would take more,
a quarter of it is for those that come first; the others are held packed, within the same bound, and compiled
in their turn; and what is beyond is read again as well. What is packed is compressed, unless it takes less
than half of these bytes as it is."""

_OF_EACH, _OF_A_BYTE = 9_000, 4
"""What a baseline takes that is read and compiled: whatever it says, and for each byte of its files."""
_OF_A_PACKED_BYTE = 0.8
"""What a byte of its files takes in a packed one that is not compressed."""

Key = tuple[str, str]


class Claiming(Protocol):
    """What waits for its turn. What it claims nobody else may use meanwhile."""

    @property
    def claim(self) -> str | None: ...


Item = TypeVar("Item", bound=Claiming)
Judged = TypeVar("Judged")


@frozen
class JudgePolicy:
    """How each baseline is judged, wherever that is done."""

    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


@dataclass(slots=True)
class ReadFiles:
    """What stands in files: the entries of what can be read, and what is wrong with the rest. `others`: how
    many more are known not to be wanted."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    others: int = 0

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
    """What is judged by one worker: baselines, or attempts at cases. What they `claim` no other chunk may use
    meanwhile."""

    entries: tuple[Item, ...]
    claim: str | None = None


@frozen
class ChunkDone(Generic[Judged]):
    """What became of a chunk: of each of its entries what is said of it, or None where it was not run.
    `seen`: what was found out about the place where it was done."""

    judged: tuple[Judged | None, ...]
    seen: dict[str, Json] = field(default_factory=dict)
    gathered: Gathered = field(default_factory=Gathered)


class Engine(Protocol[Item, Judged]):
    """Where chunks are worked on, `slots` of them at once; each call waits for its answer."""

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
    """Where baselines are read as well."""

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        """The entries of files. Those that are `wanted` are compiled and checked at once (None: later)."""

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        """What is wrong with any of these; all others can be judged."""


class Threads(Generic[Item, Judged]):
    """The engine of a plain run: threads of this process, which `judge` one after the other."""

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


class Here(Threads[Entry, JudgedBaseline]):
    """The same for baselines, which this process reads. What was cut off says nothing."""

    def __init__(self, worker: "ChunkWorker", jobs: int, cancel: Callable[[], None]):
        super().__init__(worker.judge, jobs, self._cut_off)
        self.read, self.prepare = worker.read, worker.prepare
        self._end = cancel
        self._is_cut_off = False

    def _cut_off(self) -> None:
        self._is_cut_off = True
        self._end()

    def judge(self, chunk: Chunk[Entry]) -> ChunkDone[JudgedBaseline]:
        done = super().judge(chunk)
        return ChunkDone((None,)) if self._is_cut_off else done


class ChunkWorker:
    """Reads files and judges the baselines in them, from several threads at once."""

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
        found = ReadFiles()
        batches = self._held.foresee(files)
        with without_collector():
            for batch in batches:
                found.add(self._held.read(batch, wanted))
        return found

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        return self._held.prepare(entries)

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """What stands in the files of these, for whoever selects by that."""
        return self._held.baselines(entries)

    def released(self, entries: Sequence[Entry]) -> list[Baseline]:
        """The same for whoever has them judged elsewhere: they are not held any longer."""
        return self._held.released(entries)

    def run(
        self, chunk: Chunk[Entry], jobs: int, goes_on: Callable[[Result], bool]
    ) -> ChunkDone[JudgedBaseline]:
        """A whole chunk, in threads."""
        self._held.expect(chunk.entries)
        context = self._context
        pool = ThreadPool(jobs, self.judge, context.cancel, context.stop, lambda entry: entry.claim)
        judged = pool.run(chunk.entries, lambda one: goes_on(one.result))
        return ChunkDone(tuple(judged), self._environment.seen)

    def judge(self, entry: Entry) -> JudgedBaseline:
        """One baseline, replayed and compared, as often as the policy says."""
        try:
            baseline, matcher = self._held.take(entry)
        except BaselinekitError as error:
            problem = error.problems[0]
            return JudgedBaseline(unjudged(entry, "error", problem.with_hint, code=problem.code))
        return self._runner.judged(baseline, partial(self._repeated, baseline, matcher))

    def _repeated(self, baseline: Baseline, matcher: Matcher | None) -> Tried:
        if self._repeating.times == 1:
            return self._runner.tried(baseline, matcher)
        from baselinekit.workflow.verdicts import (  # which brings what is learnt of replays
            Pause,
            replay_repeatedly,
        )

        pause = Pause(self._context.stop.is_set, self._context.clients.sleep)
        return replay_repeatedly(partial(self._runner.tried, baseline, matcher), self._repeating, pause)


def unjudged(
    entry: Entry, outcome: Outcome, reason: str, code: str | None = None, verdict: str | None = None
) -> Result:
    """The result of a baseline of which nothing is known but its entry."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason, code, verdict)


@dataclass(slots=True)
class _Held:
    """A baseline with its matcher, if it `is_ready`, or as it was read; or nothing but its record, packed, of
    a baseline that has been compiled and checked if it `is_ready`."""

    prepared: Prepared | None
    room: int
    is_ready: bool = False
    packed: bytes = b""


@dataclass(slots=True)
class _Found:
    """A baseline that was read, about how many bytes it has in its files, and its record."""

    baseline: Baseline
    size: int
    raw: dict[str, Json] | None = None

    @property
    def key(self) -> Key:
        return self.baseline.source.file, self.baseline.id


class HeldBaselines:
    """Baselines between their reading and their turn, as many as there is room for."""

    def __init__(self, environment: CaptureEnvironment, room: int):
        self._environment = environment
        self._most = self._room = self._packed_room = room
        self._foreseen, self._bytes, self._is_tight, self._is_compressed = 0, 0, False, True
        self._held: dict[Key, _Held] = {}
        self._unfit: dict[Key, Unfit] = {}
        self._checked: set[Key] = set()
        self._due: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def foresee(self, files: Sequence[str]) -> list[list[str]]:
        """What is in these will be read: if not all of it finds room, most of it is packed. They are to be
        read in these batches."""
        batches, left = list[list[str]](), 0
        for file in files:
            size = 0
            with suppress(OSError, ValueError):
                size = os.stat(os.path.join(self._environment.project.root, file)).st_size
                self._foreseen += _OF_EACH + _OF_A_BYTE * size
                self._bytes += size
            if not batches or left < size or len(batches[-1]) == _TOGETHER:
                batches.append([])
                left = _BYTES_TOGETHER
            batches[-1].append(file)
            left -= size
        if self._foreseen > self._most and not self._is_tight:
            self._is_tight = True
            self._room -= self._most // 4 * 3
        self._is_compressed = _OF_A_PACKED_BYTE * self._bytes > self._most // 2
        return batches

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        loaded = LoadedFiles(raw=[] if self._is_tight else None)
        found = self._load(files, loaded)
        claim = self._environment.project.claim
        entries = [entry_of(one.baseline, one.size, claim(one.baseline.current)) for one in found]
        if wanted is None:
            for one in found:
                self._hold(one, (one.baseline, None), is_ready=False)
        else:
            pairs = zip(found, entries, strict=True)
            self._make_ready([one for one, entry in pairs if wanted(entry)])
        return ReadFiles(entries, loaded.problems, loaded.refused)

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        """What is wrong with any of these. What nobody has compiled yet is, and read where it is not held."""
        late: dict[str, list[Entry]] = {}
        for entry in entries:
            if (key := key_of(entry)) not in self._unfit and key not in self._checked:
                late.setdefault(entry.source.file, []).append(entry)
        with without_collector():
            for file, few in late.items():
                self._prepare_late(file, few)
        self.expect(entries)
        return [unfit for entry in entries if (unfit := self._unfit.get(key_of(entry)))]

    def _prepare_late(self, file: str, entries: Sequence[Entry]) -> None:
        wanted = {entry.id for entry in entries}
        late: dict[str, _Found] = {}
        for entry in entries:
            if held := self._held.pop(key_of(entry), None):
                self._leave(held)
                if held.prepared is not None:
                    late[entry.id] = _Found(held.prepared[0], entry.size)
        if len(late) < len(wanted):
            late |= {
                one.baseline.id: one for one in self._load([file]) if one.baseline.id in wanted - late.keys()
            }
        for entry in entries:
            if entry.id not in late:
                self._unfit[key_of(entry)] = Unfit(entry.source, changed(entry))
        self._make_ready([*late.values()])

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """What stands in the files of these."""
        keys = {key_of(entry) for entry in entries}
        held = [(key, self._held[key].prepared) for key in keys & self._held.keys()]
        found = {key: prepared[0] for key, prepared in held if prepared is not None}
        for file in dict.fromkeys(entry.source.file for entry in entries if key_of(entry) not in found):
            found |= {one.key: one.baseline for one in self._load([file])}
        return [found[key] for entry in entries if (key := key_of(entry)) in found]

    def released(self, entries: Sequence[Entry]) -> list[Baseline]:
        """The same, of which nothing is held afterwards. One with variants is read again: it is held as the
        variant that is meant for here."""
        found: dict[Key, Baseline] = {}
        with self._lock:
            for entry in entries:
                if held := self._held.pop(key_of(entry), None):
                    self._leave(held)
                    if held.prepared is not None and held.prepared[0].variant is None:
                        found[key_of(entry)] = held.prepared[0]
        for file in dict.fromkeys(entry.source.file for entry in entries if key_of(entry) not in found):
            found |= {one.key: one.baseline for one in self._load([file])}
        return [found[key] for entry in entries if (key := key_of(entry)) in found]

    def expect(self, entries: Iterable[Entry]) -> None:
        """These are going to be taken: what is read again for one of them is held for the others."""
        with self._lock:
            for entry in entries:
                self._due.setdefault(entry.source.file, set()).add(entry.id)

    def take(self, entry: Entry) -> Prepared:
        """A baseline in its turn, which comes once."""
        file = entry.source.file
        with self._lock:
            if (held := self._held.pop(key_of(entry), None)) is None:
                for one in self._load([file]):
                    if one.baseline.id in self._due.get(file, ()):
                        self._put(one, (one.baseline, None), is_ready=False)
                held = self._held.pop(key_of(entry), None)
            if held is None:
                raise changed(entry)
            self._leave(held)
            if due := self._due.get(file):
                due.discard(entry.id)
        if held.is_ready and held.prepared is not None:
            return held.prepared
        baseline = held.prepared[0] if held.prepared is not None else self._unpacked(entry, held.packed)
        if held.is_ready:
            return compiled(self._environment, baseline)
        prepared, unfit = compile_and_check(self._environment, [baseline])
        if unfit:
            raise unfit[0].error
        return prepared[0]

    def _unpacked(self, entry: Entry, data: bytes) -> Baseline:
        baseline, _ = read_record(unpacked(data), entry.source)
        if baseline is None:
            raise changed(entry)
        known, failed = with_files(baseline.baseline, self._environment.project.root, entry.source.file)
        if failed:
            raise changed(entry)
        return baseline if known is baseline.baseline else replace(baseline, baseline=known)

    def _load(self, files: Sequence[str], loaded: LoadedFiles | None = None) -> list[_Found]:
        loaded = LoadedFiles() if loaded is None else loaded
        for file in files:
            loaded.read(file, self._environment.project.root)
        raw: Sequence[dict[str, Json] | None] = loaded.raw or [None] * len(loaded.baselines)
        return [_Found(*one) for one in zip(loaded.baselines, loaded.sizes, raw, strict=True)]

    def _make_ready(self, found: Sequence[_Found]) -> None:
        """Compiled and checked; held with the matcher, or remembered as unfit."""
        prepared, unfit = compile_and_check(self._environment, [one.baseline for one in found])
        wrong = {(one.source.file, one.source.document, one.source.at): one for one in unfit}
        for one in found:
            source = one.baseline.source
            if error := wrong.get((source.file, source.document, source.at)):
                self._unfit[one.key] = error
        by_key = {one.key: one for one in found}
        for baseline, matcher in prepared:
            key = (baseline.source.file, baseline.id)
            if key not in self._unfit:
                self._checked.add(key)
                self._hold(by_key[key], (baseline, matcher), is_ready=True)

    def _hold(self, one: _Found, prepared: Prepared, is_ready: bool) -> None:
        if _OF_EACH + _OF_A_BYTE * one.size <= self._room:
            self._put(one, prepared, is_ready)
        elif (
            one.raw is not None
            and self._packed_room > 0
            and (data := packed(one.raw, compressed=self._is_compressed))
        ):
            self._packed_room -= len(data)
            self._held[one.key] = _Held(None, 0, is_ready, packed=data)

    def _put(self, one: _Found, prepared: Prepared, is_ready: bool) -> None:
        room = _OF_EACH + _OF_A_BYTE * one.size
        self._room -= room
        self._held[one.key] = _Held(prepared, room, is_ready)

    def _leave(self, held: _Held) -> None:
        self._room += held.room
        self._packed_room += len(held.packed)


def key_of(entry: Entry) -> Key:
    return entry.source.file, entry.id


def changed(entry: Entry) -> BaselinekitError:
    what = f"{entry.source.file} was changed while the run was under way: {entry.id} cannot be read there now"
    return cannot("BK115", what, "compare again")


def entry_of(baseline: Baseline, size: int, claim: str | None) -> Entry:
    source, known = baseline.source, baseline.baseline
    content = case_digest(source.digest)
    stated: list[Known | Variant] = [known, *known.variants] if known is not None else []
    outputs = tuple(one.output_file for one in stated if one.output_file)
    if outputs:
        read = [one.output for one in stated if one.output_file and one.output is not ABSENT]
        content = digest_of({"case": content, "outputs": read})
    kind = baseline.current.kind
    return Entry(
        baseline.id, baseline.name, tuple(baseline.tags), source, kind, claim, content, size, outputs
    )
