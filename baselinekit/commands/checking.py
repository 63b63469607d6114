"""Reads baselines, checks them before the run, and judges them. It writes nothing and handles no signal, so
that it can be in this process, in another one or on another machine."""

import threading
from collections.abc import Sequence
from functools import lru_cache, partial

from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import BaselineRunner, JudgedBaseline, Repeating, ReplayResult
from baselinekit.commands.loading import Prepared, UnfitBaseline, compile_and_check
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
from baselinekit.structs import MutableStruct, Struct, field, replace

MOST_HELD = 125_000_000
"""Bytes for the baselines that are held until their turn; the files of the others are read again then."""

_BYTES_PER_BASELINE, _BYTES_PER_FILE_BYTE = 9_000, 4
"""The bytes that a baseline needs in memory: whatever its size, and for each byte of its files."""

_FILES_READ_AGAIN = 8
"""Files whose baselines are remembered when they are read again, as the next turns are often of the same
file."""

Key = tuple[str, str]


class JudgePolicy(Struct):
    """How each baseline is judged, in whatever process."""

    strict_rules: bool = False
    explain: bool = False
    repeating: Repeating = field(default_factory=Repeating)


class ReadFiles(MutableStruct):
    """The entries of the baselines that could be read, the problems of those that could not, and the
    baselines that cannot be judged as they are written."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    unfit: dict[Key, UnfitBaseline] = field(default_factory=dict)

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
        policy: JudgePolicy,
        context: RunContext,
        room: int = MOST_HELD,
    ):
        self.environment = environment
        self._runner = BaselineRunner(
            environment, policy.strict_rules, policy.explain, context.clock.timestamp
        )
        self._repeating = policy.repeating
        self._context = context
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
            claim = self.environment.project.claim
            pairs = [
                (baseline, entry_of(baseline, size, claim(baseline.current)))
                for baseline, size in zip(loaded.baselines, loaded.sizes, strict=True)
            ]
            found.add(ReadFiles([entry for _, entry in pairs], loaded.problems, loaded.refused))
            found.unfit |= self._check([pair for pair in pairs if wanted(pair[1])])
        return found

    def baselines(self, entries: Sequence[Entry]) -> list[Baseline]:
        """Return the baselines of these entries, as they are in their files: what is ready is only the
        variant for this environment."""
        found = []
        for entry in entries:
            ready, _ = self._ready.get(key_of(entry), (None, None))
            whole = ready if ready is not None and ready.variant is None else self._again(entry)
            found += [] if whole is None else [whole]
        return found

    def forget(self) -> None:
        """Hold no baselines any longer: they are judged elsewhere."""
        self._ready.clear()

    def judge(self, entry: Entry) -> JudgedBaseline:
        """Replay and compare a baseline as often as the policy says."""
        try:
            baseline, matcher = self._take(entry)
        except BaselinekitError as error:
            problem = error.problems[0]
            result = unjudged_result(entry, "error", problem.with_hint, code=problem.code)
            return JudgedBaseline(replace(result, name=entry.name, at=problem.at or ()))
        return self._runner.judge(baseline, partial(self._repeated, baseline, matcher))

    def _repeated(self, baseline: Baseline, matcher: Matcher | None) -> ReplayResult:
        if self._repeating.times == 1:
            return self._runner.replay_once(baseline, matcher)
        from baselinekit.commands.verdicts import replay_repeatedly  # imports much

        attempt = partial(self._runner.replay_once, baseline, matcher)
        stop, clients = self._context.stop, self._context.clients
        return replay_repeatedly(attempt, self._repeating, stop.is_set, clients.sleep)

    def _check(self, pairs: Sequence[tuple[Baseline, Entry]]) -> dict[Key, UnfitBaseline]:
        """Hold what can be judged, and return the rest."""
        prepared, unfit = compile_and_check(self.environment, [baseline for baseline, _ in pairs])
        entries = {(entry.source.document, entry.source.at): entry for _, entry in pairs}
        found = {key_of(entries[each.source.document, each.source.at]): each for each in unfit}
        for baseline, matcher in prepared:
            entry = entries[baseline.source.document, baseline.source.at]
            if key_of(entry) not in found and self._takes_room(entry):
                self._ready[key_of(entry)] = baseline, matcher
        return found

    def _takes_room(self, entry: Entry) -> bool:
        if is_room := room_of(entry) <= self._room:
            self._room -= room_of(entry)
        return is_room

    def _take(self, entry: Entry) -> Prepared:
        """Return a baseline with its matcher when its turn has come."""
        if (ready := self._ready.pop(key_of(entry), None)) is not None:
            with self._lock:
                self._room += room_of(entry)
            return ready
        if (baseline := self._again(entry)) is None:
            message = f"{entry.source.file} was changed while the run was under way: "
            raise cannot_replay("BK115", f"{message}{entry.id} cannot be read there now", "compare again")
        prepared, unfit = compile_and_check(self.environment, [baseline])
        if unfit:
            raise unfit[0].error
        return prepared[0]

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
