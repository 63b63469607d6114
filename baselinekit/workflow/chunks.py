"""A run in three steps: what is to be done is planned, chunks of it are worked on, and their results are
finished. A worker reads, compiles, replays and judges; it writes nothing and hears no signal, so that it may
be in this process, in another one or on another machine."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from baselinekit.compare.dispatch import Matcher
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused, cannot
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Baseline, Entry, Known, Source, Variant
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.replay.dispatch import digest
from baselinekit.store.reading import LoadedFiles, without_collector
from baselinekit.store.records import case_digest
from baselinekit.workflow.context import RunContext, ThreadPool
from baselinekit.workflow.judging import BaselineRunner, JudgedBaseline, Repeating, Tried
from baselinekit.workflow.leases import Gathered
from baselinekit.workflow.loading import Prepared, Unfit, compile_and_check
from baselinekit.workflow.project import CaptureEnvironment
from baselinekit.workflow.selection import Test

_TOGETHER = 256
"""Files that are read before what is in them is compiled: to do each in turn takes a fifth longer."""

MOST_HELD = 6_000_000
"""Bytes of files whose baselines are held until they are needed: read and compiled, they take ten times
that. What is beyond is read and compiled again in its turn: memory is dearer."""

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

    slots: int

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
    """The same for baselines, which this process reads."""

    def __init__(self, worker: "ChunkWorker", jobs: int, cancel: Callable[[], None]):
        super().__init__(worker.judge, jobs, cancel)
        self.read, self.prepare = worker.read, worker.prepare


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
        with without_collector():
            for start in range(0, len(files), _TOGETHER):
                found.add(self._held.read(files[start : start + _TOGETHER], wanted))
        return found

    def prepare(self, entries: Sequence[Entry]) -> list[Unfit]:
        return self._held.prepare(entries)

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """What stands in the files of these, for whoever selects by that."""
        return self._held.baselines(entries)

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


def unjudged(entry: Entry, outcome: str, reason: str, **told: str) -> Result:
    """The result of a baseline of which nothing is known but its entry."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason=reason, **told)  # type: ignore[arg-type]  # the callers name outcomes and fields of Result


@dataclass(slots=True)
class _Held:
    """A baseline with its matcher, if it `is_ready`, else as it was read."""

    prepared: Prepared
    size: int
    is_ready: bool


class HeldBaselines:
    """Baselines between their reading and their turn, as many as there is room for."""

    def __init__(self, environment: CaptureEnvironment, room: int):
        self._environment = environment
        self._room = room
        self._held: dict[Key, _Held] = {}
        self._unfit: dict[Key, Unfit] = {}
        self._checked: set[Key] = set()
        self._due: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def read(self, files: Sequence[str], wanted: Test | None) -> ReadFiles:
        loaded = self._load(files)
        sizes = loaded.sizes
        claim = self._environment.project.claim
        pairs = list(zip(loaded.baselines, sizes, strict=True))
        entries = [entry_of(baseline, size, claim(baseline.current)) for baseline, size in pairs]
        chosen = [wanted is not None and wanted(entry) for entry in entries]
        self._make_ready([pair for pair, is_wanted in zip(pairs, chosen, strict=True) if is_wanted])
        for (baseline, size), is_wanted in zip(pairs, chosen, strict=True):
            if not is_wanted and wanted is None:
                self._hold(baseline.source, _Held((baseline, None), size, False), baseline.id)
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
        held = {entry.id: self._held.pop(key_of(entry), None) for entry in entries}
        pairs = [(one.prepared[0], one.size) for one in held.values() if one]
        self._room += sum(size for _, size in pairs)
        missing = {id for id, one in held.items() if one is None}
        if missing:
            loaded = self._load([file])
            pairs += [
                pair for pair in zip(loaded.baselines, loaded.sizes, strict=True) if pair[0].id in missing
            ]
            missing -= {baseline.id for baseline, _ in pairs}
        for entry in entries:
            if entry.id in missing:
                self._unfit[key_of(entry)] = Unfit(entry.source, changed(entry))
        self._make_ready(pairs)

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """What stands in the files of these."""
        found: dict[Key, Baseline] = {key: held.prepared[0] for key, held in self._held.items()}
        for file in dict.fromkeys(entry.source.file for entry in entries if key_of(entry) not in found):
            found |= {(file, baseline.id): baseline for baseline in self._load([file]).baselines}
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
                self._read_again(file)
                held = self._held.pop(key_of(entry), None)
            if held is None:
                raise changed(entry)
            self._room += held.size
            if due := self._due.get(file):
                due.discard(entry.id)
        if held.is_ready:
            return held.prepared
        baseline, _ = held.prepared
        prepared, unfit = compile_and_check(self._environment, [baseline])
        if unfit:
            raise unfit[0].error
        return prepared[0]

    def _read_again(self, file: str) -> None:
        loaded = self._load([file])
        for baseline, size in zip(loaded.baselines, loaded.sizes, strict=True):
            if baseline.id in self._due.get(file, ()):
                self._held[file, baseline.id] = _Held((baseline, None), size, False)
                self._room -= size

    def _load(self, files: Sequence[str]) -> LoadedFiles:
        loaded = LoadedFiles()
        for file in files:
            loaded.read(file, self._environment.project.root)
        return loaded

    def _make_ready(self, pairs: Sequence[tuple[Baseline, int]]) -> None:
        """Compiled and checked; held with the matcher, or remembered as unfit."""
        sizes = {(baseline.source.file, baseline.id): size for baseline, size in pairs}
        prepared, unfit = compile_and_check(self._environment, [baseline for baseline, _ in pairs])
        wrong = {(one.source.file, one.source.document, one.source.at): one for one in unfit}
        for baseline, _ in pairs:
            source, key = baseline.source, (baseline.source.file, baseline.id)
            if found := wrong.get((source.file, source.document, source.at)):
                self._unfit[key] = found
        for baseline, matcher in prepared:
            key = (baseline.source.file, baseline.id)
            if key not in self._unfit:
                self._checked.add(key)
                self._hold(baseline.source, _Held((baseline, matcher), sizes[key], True), baseline.id)

    def _hold(self, source: Source, held: _Held, id: str) -> None:
        if held.size <= self._room:
            self._room -= held.size
            self._held[source.file, id] = held


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
        content = digest([content, known])
    kind = baseline.current.kind
    return Entry(
        baseline.id, baseline.name, tuple(baseline.tags), source, kind, claim, content, size, outputs
    )
