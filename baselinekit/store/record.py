"""Verdicts written into the files of their baselines, and the log from which those of a killed run are taken.

The log, `.baselinekit/verdicts/*.log`, has a line for each verdict as soon as it is known, and one for each
file that is about to change, with the digest that it will have then: so none is recorded twice. Whoever
writes a log holds its lock, which the system releases with its owner. Best effort: a run that cannot write
its log goes on without. Nothing of it is synced: what a power cut takes, another run finds out again."""

import contextlib
import fcntl
import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from baselinekit.documents import jsontext
from baselinekit.documents.jsontext import plain_scalar
from baselinekit.documents.languages import Language, language, yaml_quoted, yaml_scalar
from baselinekit.documents.text import MAPPING, SCALAR, Marks, Splice, decode, encode, mark, spliced
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Refused
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Source, Span
from baselinekit.model.values import Edit, Json, Path, parse_time
from baselinekit.store import atomic, records
from baselinekit.store.discovery import Stamp, stamp_of
from baselinekit.store.project import read
from baselinekit.tree.places import value_at

_VERDICTS = "verdicts"
_MOST_BYTES = 64_000_000
_TRIES = 5


@frozen
class LoggedVerdict:
    """What became of one case, and when. `digest`: of the file as the run had read it, and of the case."""

    file: str
    digest: str
    passed: bool
    when: str


class VerdictLog:
    """The log of one run. Lines are added from any thread; the first one makes the file."""

    def __init__(self, root: str, path: str = "", handle: int | None = None):
        self._root = root
        self._lock = threading.Lock()
        self._path = path
        self._handle = handle
        self._done: Counter[str] = Counter()

    def note(self, source: Source, passed: bool, when: str) -> None:
        """A verdict is known."""
        self._add([["verdict", source.file, source.digest, passed, when]])

    def count(self, file: str, verdicts: int) -> None:
        """So many more of the verdicts on a file are about to be recorded or given up, in log order."""
        self._done[file] += verdicts

    def will_hold(self, contents: Mapping[str, bytes]) -> None:
        """What the files will hold in a moment: all that was counted."""
        self._add(
            ["file", file, records.bytes_digest(data), self._done[file]] for file, data in contents.items()
        )

    def left(self) -> list[LoggedVerdict]:
        """Of an abandoned log: what the files do not hold yet. The rest is counted."""
        assert self._handle is not None
        verdicts: dict[str, list[LoggedVerdict]] = {}
        states: dict[str, list[tuple[str, int]]] = {}
        for entry in read_entries(self._handle):
            match entry:
                case ["verdict", str(file), str(digest), bool(passed), str(when)] if parse_time(when):
                    verdicts.setdefault(file, []).append(LoggedVerdict(file, digest, passed, when))
                case ["file", str(file), str(digest), int(count)]:
                    states.setdefault(file, []).append((digest, count))
        for file, found in verdicts.items():
            done = count_written(self._root, file, found[0].digest, states.get(file, []))
            self._done[file] = max(0, min(done, len(found)))
            del found[: self._done[file]]
        return [verdict for found in verdicts.values() for verdict in found]

    def close(self, keep: bool = False) -> None:
        """Everything is in its file, or everybody has been told that it is not."""
        with self._lock:
            handle, self._handle = self._handle, -1
            if handle is not None and handle >= 0:
                if not keep:
                    with contextlib.suppress(OSError):
                        os.ftruncate(handle, 0)
                    with contextlib.suppress(OSError):
                        os.unlink(self._path)
                os.close(handle)

    def _add(self, lines: Iterable[Json]) -> None:
        data = b"".join([jsontext.to_bytes(line) + b"\n" for line in lines])
        with self._lock:
            if self._handle is None:
                self._handle = self._create()
            whole = self._handle < 0
            with contextlib.suppress(OSError):
                whole = whole or os.write(self._handle, data) == len(data)
        if not whole:
            self.close()  # with a line missing, what follows would be counted wrongly

    def _create(self) -> int:
        """One that nobody else has; -1 where there can be none."""
        with contextlib.suppress(BaselinekitError):
            folder = atomic.state_folder(self._root, _VERDICTS)
            for _ in range(_TRIES):  # somebody may take it for a dead one's before it is locked
                self._path = os.path.join(folder, f"{time.time_ns():x}-{os.getpid()}.log")
                handle = open_locked(self._path, os.O_CREAT | os.O_EXCL)
                if handle is not None:
                    return handle
        return -1


def abandoned_logs(root: str) -> Iterator[VerdictLog]:
    """The logs that nobody writes any more. Who gets one goes on writing it, and may be killed in turn."""
    folder = os.path.join(root, atomic.STATE_FOLDER, _VERDICTS)
    try:
        names = sorted(os.listdir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        handle = open_locked(path)
        if handle is not None:
            yield VerdictLog(root, path, handle)


def open_locked(path: str, more: int = 0) -> int | None:
    """The file, locked; None if somebody has it, or had it and removed it."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags | more, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(path)):
            return handle
    except OSError:
        pass
    if more:
        with contextlib.suppress(OSError):
            os.unlink(path)
    os.close(handle)
    return None


def read_entries(handle: int) -> Iterator[Json]:
    """The lines, up to one that is not whole."""
    try:
        for line in os.pread(handle, _MOST_BYTES, 0).splitlines():
            yield jsontext.decode(line.decode("utf-8"))
    except (OSError, jsontext.NotJson, UnicodeDecodeError):
        return


def count_written(root: str, file: str, digest: str, states: Sequence[tuple[str, int]]) -> int:
    """How many of the verdicts on a file it holds. Where somebody else has written since, all that were on
    their way are taken for written: better one too few than one twice."""
    if os.path.isabs(file):
        return sys.maxsize  # which only who runs it may name, and no file of the project
    try:
        now = records.bytes_digest(read(root, file))
    except BaselinekitError:
        return sys.maxsize
    for then, count in reversed(states):
        if then == now:
            return count
    return 0 if digest.partition("-")[0] == now or not states else states[-1][1]


# The record: `last_passed` and `failure_count`, and not a byte more is changed. Under the lock the file is
# read again, since others may have written meanwhile; a case that somebody edited is left alone, for the
# verdict was about another one.


@frozen
class Mark:
    """One verdict to be recorded. An error is no verdict, and has no mark."""

    source: Source
    passed: bool


def record(marks: Sequence[Mark], root: str, now: str, daily: bool = False) -> list[str]:
    """Record verdicts on baselines. A pass sets `last_passed` to now (with `daily` not twice on one day, and
    never back), a failure adds 1 to `failure_count`. Notes say what was left as it is."""
    done = record_all(marks, root, now, daily)
    for failure in done.failures:
        raise failure
    return done.notes


@frozen
class RecordedFile:
    """A file in which nothing but the record was changed: its stamp before, and the digests of its bytes
    before and since."""

    file: str
    stamp: Stamp | None
    before: str
    digest: str

    def and_then(self, later: "RecordedFile") -> "RecordedFile":
        """Both in turn; of a file that somebody else has changed between them nothing is known."""
        return replace(later, stamp=self.stamp if self.digest == later.before else None)


@frozen
class Recorded:
    """What was left as it is, what could not be written, what somebody else writes, and what was written."""

    notes: list[str] = field(default_factory=list)
    failures: list[NotRecorded] = field(default_factory=list)
    held: list[Mark] = field(default_factory=list)
    rewritten: list[RecordedFile] = field(default_factory=list)


def record_all(
    marks: Sequence[Mark],
    root: str,
    now: str,
    daily: bool = False,
    log: VerdictLog | None = None,
    wait: float = atomic.WAIT,
    hurry: atomic.Hurry | None = None,
) -> Recorded:
    """The same for many files at once: together those that nobody else is writing, the others one by one. The
    log, if there is one, has these verdicts counted."""
    writer = RecordWriter(root, now, daily, log, by_file(marks))
    writer.done.failures.extend(atomic.write_locked(root, writer.batches, writer.write, wait, hurry))
    return writer.done


def record_free(
    marks: Sequence[Mark], root: str, now: str, daily: bool = False, log: VerdictLog | None = None
) -> Recorded:
    """The same without waiting for anybody. The log has these verdicts counted, and those that are held not
    any more."""
    writer = RecordWriter(root, now, daily, log, by_file(marks))
    try:
        held = atomic.write_free(root, writer.batches, writer.write)
    except NotRecorded as error:
        writer.done.failures.append(error)
        return writer.done
    for file in held:
        writer.done.held.extend(writer.batches[file])
        if log is not None:
            log.count(file, -len(writer.batches[file]))
    return writer.done


def by_file(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    batches: dict[str, list[Mark]] = {}
    for mark_ in marks:
        batches.setdefault(mark_.source.file, []).append(mark_)
    return batches


@dataclass(slots=True)
class RecordWriter:
    """Writes the verdicts of one moment into their files."""

    root: str
    now: str
    daily: bool
    log: VerdictLog | None
    batches: dict[str, list[Mark]]
    done: Recorded = field(default_factory=Recorded)

    def write(self, files: Sequence[str]) -> None:
        """Work out what these files are to hold, then write all of them at once."""
        contents: dict[str, bytes] = {}
        rewritten: list[RecordedFile] = []
        for file in files:
            try:
                data = read(self.root, file)
                stamp = stamp_of(os.path.join(self.root, file))
                body, bom = decode(data, file)
                editor = RecordEditor(file, body, language(file), self.now, self.daily, self.done.notes)
                new = encode(editor.with_verdicts(self.batches[file], data), bom)
            except (InvalidInput, Refused, NotRecorded) as error:
                placed = (problem.placed(Place(file)) for problem in error.problems)
                self.done.failures.append(NotRecorded(*placed))
            else:
                if new != data:
                    contents[file] = new
                    before, digest = records.bytes_digest(data), records.bytes_digest(new)
                    rewritten.append(RecordedFile(file, stamp, before, digest))
        if self.log is not None and contents:
            self.log.will_hold(contents)
        failed = atomic.replace_files(self.root, contents)
        self.done.failures.extend(NotRecorded(*failure.problems) for failure in failed.values())
        self.done.rewritten.extend(one for one in rewritten if one.file not in failed)


def record_left(root: str, daily: bool = False, hurry: atomic.Hurry | None = None) -> Recorded:
    """Record what runs that were killed had found out and not yet recorded."""
    total = Recorded()
    for log in abandoned_logs(root):
        failed = False
        for when, verdicts in groupby(log.left(), key=lambda verdict: verdict.when):
            marks = []
            for file, verdicts_on_file in groupby(verdicts, key=lambda verdict: verdict.file):
                batch = list(verdicts_on_file)
                log.count(file, len(batch))
                marks += marks_of(root, file, batch)
            done = record_all(marks, root, when, daily, log, hurry=hurry)
            total.notes.extend(done.notes)
            total.failures.extend(done.failures)
            total.rewritten.extend(done.rewritten)
            failed = failed or bool(done.failures)
        log.close(keep=failed)
    return total


def marks_of(root: str, file: str, verdicts: Sequence[LoggedVerdict]) -> list[Mark]:
    """Those of the verdicts whose cases are still there, and still the same."""
    try:
        data = read(root, file)
        cases = records.current_sources([], data, decode(data, file)[0], file)
    except InvalidInput:
        return []
    sources = [(cases.get(records.case_digest(verdict.digest)), verdict.passed) for verdict in verdicts]
    return [Mark(source, passed) for source, passed in sources if source]


@dataclass(slots=True)
class RecordEditor:
    """Edits the record of the baselines in one text."""

    file: str
    body: str
    language: Language
    now: str
    daily: bool
    notes: list[str]
    loaded: tuple[str, list[Json]] | None = None

    def with_verdicts(self, marks: Sequence[Mark], data: bytes) -> str:
        """The text with these verdicts in it. Where the place of each value is known, nothing is parsed."""
        cases = records.current_sources([mark_.source for mark_ in marks], data, self.body, self.file)
        targets: list[tuple[Source, bool]] = []
        for mark_ in marks:
            source = cases.get(records.case_digest(mark_.source.digest))
            if source is None:
                self.notes.append(f"{self.file}: changed while it was compared, so nothing was recorded")
            else:
                targets.append((source, mark_.passed))
        spans = [(source.spans[0 if passed else 1], passed) for source, passed in targets]
        if all(span for span, _ in spans):
            return spliced(self.body, [self.splice(span, passed) for span, passed in spans if span])
        body = self.body
        for number in dict.fromkeys(source.document for source, _ in targets):
            places = [(source.at, passed) for source, passed in targets if source.document == number]
            try:
                body = self.edited(body, number, places)
            except NotRecorded:  # cases that share something are edited one by one
                if len(places) == 1:
                    raise
                for place in places:
                    body = self.edited(body, number, [place])
        return body

    def splice(self, span: Span, passed: bool) -> Splice:
        """The one value that changes, in its place."""
        written = self.body[slice(*span)]
        quote = written[0] if written[0] in ("'", '"') else ""
        old = written[1:-1] if quote else plain_scalar(written)
        if not passed:
            return Splice(*span, str(old + 1 if isinstance(old, int) else 1))
        if not self.is_newer(old):
            return Splice(*span, written)
        return Splice(*span, yaml_quoted(self.now, quote) if quote else yaml_scalar(self.now))

    def edited(self, body: str, document: int, targets: Sequence[tuple[Path, bool]]) -> str:
        paths = [(*at, "metadata", key) for at, _ in targets for key in records.RECORD_KEYS]
        marks = mark(self.language.events(body), document, paths)
        edits = [edit for at, passed in targets for edit in self.edits(body, document, marks, at, passed)]
        if not edits:
            return body
        from baselinekit.documents.splice import apply  # a value that stands there already needs no plan

        return apply(body, edits, document, self.language, records.RECORD_KEYS, marks)

    def edits(self, body: str, document: int, marks: Marks, at: Path, passed: bool) -> list[Edit]:
        when, count = ((*at, "metadata", key) for key in records.RECORD_KEYS)
        nodes, rest = marks.reach((*at, "metadata"))
        missing = bool(rest) or nodes[-1].kind != MAPPING
        failures = self.old(body, document, marks, count)
        failures = failures if isinstance(failures, int) else 0
        last = self.old(body, document, marks, when)
        if not passed:
            first = [Edit(when, last)] if missing else []
            return [*first, Edit(count, failures + 1)]
        if not self.is_newer(last):
            return []
        return [Edit(when, self.now), *([Edit(count, failures)] if missing else [])]

    def old(self, body: str, document: int, marks: Marks, path: Path) -> Json:
        """The value that is there, None if there is none."""
        nodes, rest = marks.reach(path)
        node = nodes[-1]
        if not rest and node.kind == SCALAR and node.style in ("", '"', "'"):
            return node.value if node.style else plain_scalar(node.value)
        if self.loaded is None or self.loaded[0] is not body:  # the same text is read once
            self.loaded = body, self.language.load(body, self.file)
        try:
            return value_at(self.loaded[1][document], path)
        except (KeyError, TypeError):
            return None

    def is_newer(self, last: Json) -> bool:
        """Whether now is worth writing where `last` stands."""
        before, now = parse_time(last), parse_time(self.now)
        if before is None or now is None:
            return True
        if before > now:
            self.notes.append(f"{self.file}: last_passed is {last}, in the future, and stays as it is")
            return False
        return not (self.daily and before.date() == now.date())
