"""Reads baselines, checks them before the run, and judges them. It writes nothing and handles no signal, so
that it can be in this process, in another one or on another machine."""

import threading
from collections.abc import Sequence
from functools import lru_cache, partial

from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import BaselineRunner, ComparePolicy, JudgedBaseline
from baselinekit.commands.loading import Prepared, Unfit, compile_and_check
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.selection import Test
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused, cannot_replay
from baselinekit.matching.dispatch import Matcher
from baselinekit.model.baselines import Baseline, Entry, Known, Variant
from baselinekit.model.grades import Outcome
from baselinekit.model.results import Result
from baselinekit.model.values import ABSENT
from baselinekit.store.reading import LoadedFiles
from baselinekit.store.records import case_digest, digest as digest_of
from baselinekit.structs import MutableStruct, field, replace

MOST_HELD = 125_000_000
"""Bytes for the baselines that are held until their turn; the files of the others are read again then."""

_BYTES_PER_BASELINE, _BYTES_PER_FILE_BYTE = 9_000, 4
"""The bytes that a baseline needs in memory: whatever its size, and for each byte of its files."""

_FILES_READ_AGAIN = 8
"""Files whose baselines are remembered when they are read again, as the next turns are often of the same
file."""

Key = tuple[str, str]


class ReadFiles(MutableStruct):
    """The entries of the baselines that could be read, the problems of those that could not, and the
    baselines that cannot be judged as they are written, each with the reason."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    unfit: dict[Key, Unfit] = field(default_factory=dict)

    def add(self, other: "ReadFiles") -> None:
        self.entries += other.entries
        self.problems += other.problems
        self.refused += other.refused
        self.unfit |= other.unfit

    @property
    def error(self) -> BaselinekitError | None:
        if self.problems:
            return InvalidInput(*self.problems, *self.refused)
        return Refused(*self.refused) if self.refused else None


class Checker:
    """Reads files and judges the baselines in them; several threads may use it at once. Baselines are held
    from their reading until their turn, as many as there is room for."""

    def __init__(
        self,
        environment: CaptureEnvironment,
        policy: ComparePolicy,
        context: RunContext,
        room: int = MOST_HELD,
    ):
        self.environment = environment
        self._runner = BaselineRunner(environment, policy, context)
        self._policy, self._context = policy, context
        self._room = room
        self._ready: dict[Key, Prepared] = {}
        self._read_again = lru_cache(_FILES_READ_AGAIN)(self._baselines_in)
        self._lock = threading.Lock()

    def read(self, files: Sequence[str], wanted: Test) -> ReadFiles:
        """Return the entries of files. Those that are wanted are checked."""
        found = ReadFiles()
        for file in files:
            loaded = LoadedFiles()
            loaded.read(file, self.environment.project.root)
            found.problems += loaded.problems
            found.refused += loaded.refused
            for baseline, size in zip(loaded.baselines, loaded.sizes, strict=True):
                entry = entry_of(baseline, size, self.environment.project.claim(baseline.current))
                found.entries.append(entry)
                if wanted(entry):
                    self._check(baseline, entry, found)
        return found

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, as they are in their files."""
        return [baseline for entry in entries if (baseline := self._again(entry)) is not None]

    def judge(self, entry: Entry) -> JudgedBaseline:
        """Replay and compare a baseline as often as the policy says."""
        try:
            baseline, matcher = self._take(entry)
        except BaselinekitError as error:
            problem = error.problems[0]
            result = unjudged_result(entry, "error", problem.with_hint, code=problem.code)
            return JudgedBaseline(replace(result, name=entry.name, at=problem.at or ()))
        return self._runner.judge(baseline, partial(self._replay, baseline, matcher))

    def _replay(self, baseline: Baseline, matcher: Matcher | None) -> JudgedBaseline:
        if self._policy.repeating.times == 1:
            return self._runner.replay_once(baseline, matcher)
        from baselinekit.commands.verdicts import replay_repeatedly  # a single replay needs neither

        replay = partial(self._runner.replay_once, baseline, matcher)
        stop, clients = self._context.stop, self._context.clients
        return replay_repeatedly(replay, self._policy.repeating, stop.is_set, clients.sleep)

    def _check(self, baseline: Baseline, entry: Entry, found: ReadFiles) -> None:
        """Hold what can be judged, if there is room."""
        try:
            prepared = compile_and_check(self.environment, baseline)
        except BaselinekitError as error:
            found.unfit[key_of(entry)] = baseline.source, error
            return
        if room_of(entry) <= self._room:
            self._room -= room_of(entry)
            self._ready[key_of(entry)] = prepared

    def _take(self, entry: Entry) -> Prepared:
        """Return a baseline with its matcher when its turn has come."""
        if (ready := self._ready.pop(key_of(entry), None)) is not None:
            with self._lock:
                self._room += room_of(entry)
            return ready
        if (baseline := self._again(entry)) is None:
            message = f"{entry.source.file} was changed while the run was under way: "
            raise cannot_replay("BK115", f"{message}{entry.id} cannot be read there now", "compare again")
        return compile_and_check(self.environment, baseline)

    def _again(self, entry: Entry) -> Baseline | None:
        with self._lock:
            return self._read_again(entry.source.file).get(entry.id)

    def _baselines_in(self, file: str) -> dict[str, Baseline]:
        loaded = LoadedFiles()
        loaded.read(file, self.environment.project.root)
        return {baseline.id: baseline for baseline in loaded.baselines}


def unjudged_result(
    entry: Entry, outcome: Outcome, reason: str, code: str | None = None, verdict: str | None = None
) -> Result:
    """Return the result of a baseline of which only the entry is known."""
    return Result(entry.id, entry.source.file, None, entry.kind, outcome, reason, code, verdict)


def room_of(entry: Entry) -> int:
    return _BYTES_PER_BASELINE + _BYTES_PER_FILE_BYTE * entry.size


def key_of(entry: Entry) -> Key:
    return entry.source.file, entry.id


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
