"""Writes verdicts into the files of their baselines, and keeps a log to recover the verdicts of a killed run.

The log, `.baselinekit/verdicts/*.log`, has a line for each verdict as soon as it is known, and one for each
file that is about to change, with its future digest, so that no verdict is recorded twice. The writer of a
log holds its lock, which the system releases when the process ends. It is best effort: a run that cannot
write its log continues without one. It is not synced: another run finds out again what a power cut loses."""

import contextlib
import fcntl
import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from baselinekit.documents import jsontext
from baselinekit.documents.jsontext import plain_scalar
from baselinekit.documents.languages import Language, language, yaml_quoted, yaml_scalar
from baselinekit.documents.text import MAPPING, SCALAR, Marks, Splice, apply_splices, decode, encode, mark
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Refused
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Source, Span
from baselinekit.model.values import Edit, Json, Path, parse_time
from baselinekit.store import atomic, records
from baselinekit.store.project import read
from baselinekit.tree.places import value_at

_VERDICTS = "verdicts"
_MAX_BYTES = 64_000_000
_ATTEMPTS = 5


@frozen
class LoggedVerdict:
    """The verdict on one case, and its time. `digest`: of the file as the run had read it, and of the
    case."""

    file: str
    digest: str
    passed: bool
    when: str


class VerdictLog:
    """The log of one run. Any thread may add lines; the first line creates the file."""

    def __init__(self, root: str, path: str = "", handle: int | None = None):
        self._root = root
        self._lock = threading.Lock()
        self._path = path
        self._handle = handle
        self._done: Counter[str] = Counter()

    def note(self, source: Source, passed: bool, when: str) -> None:
        """Log a verdict."""
        self._add([["verdict", source.file, source.digest, passed, when]])

    def count(self, file: str, verdicts: int) -> None:
        """Count the next verdicts on a file, in log order, as about to be recorded or given up."""
        self._done[file] += verdicts

    def will_hold(self, contents: Mapping[str, bytes]) -> None:
        """Log what the files are about to hold: all verdicts counted so far."""
        self._add(
            ["file", file, records.bytes_digest(data), self._done[file]] for file, data in contents.items()
        )

    def left(self) -> list[LoggedVerdict]:
        """Return the verdicts in an abandoned log that the files do not hold yet. The others are counted."""
        assert self._handle is not None
        verdicts: dict[str, list[LoggedVerdict]] = {}
        states: dict[str, list[tuple[str, int]]] = {}
        for entry in read_entries(self._handle):
            match entry:
                case ["verdict", str(file), str(digest), bool(passed), str(when)] if parse_time(when):
                    verdicts.setdefault(file, []).append(LoggedVerdict(file, digest, passed, when))
                case ["file", str(file), str(digest), int(count)]:
                    states.setdefault(file, []).append((digest, count))
        for file, file_verdicts in verdicts.items():
            written = count_written(self._root, file, file_verdicts[0].digest, states.get(file, []))
            self._done[file] = max(0, min(written, len(file_verdicts)))
            del file_verdicts[: self._done[file]]
        return [verdict for file_verdicts in verdicts.values() for verdict in file_verdicts]

    def close(self, keep: bool = False) -> None:
        """Close the log, and remove it unless `keep`: each verdict is in its file, or its failure
        reported."""
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
            is_whole = self._handle < 0
            with contextlib.suppress(OSError):
                is_whole = is_whole or os.write(self._handle, data) == len(data)
        if not is_whole:
            self.close()  # with a line missing, what follows would be counted wrongly

    def _create(self) -> int:
        """Create a log and return its locked handle; -1 if that is not possible."""
        with contextlib.suppress(BaselinekitError):
            folder = atomic.state_folder(self._root, _VERDICTS)
            for _ in range(_ATTEMPTS):  # another process may take it for abandoned before it is locked
                self._path = os.path.join(folder, f"{time.time_ns():x}-{os.getpid()}.log")
                handle = open_locked(self._path, os.O_CREAT | os.O_EXCL)
                if handle is not None:
                    return handle
        return -1


def abandoned_logs(root: str) -> Iterator[VerdictLog]:
    """Yield the logs that no process writes any more. The caller continues a log, and may be killed in
    turn."""
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


def open_locked(path: str, extra_flags: int = 0) -> int | None:
    """Open and lock a file; None if another process holds it or has just removed it."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags | extra_flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(path)):
            return handle
    except OSError:
        pass
    if extra_flags:
        with contextlib.suppress(OSError):
            os.unlink(path)
    os.close(handle)
    return None


def read_entries(handle: int) -> Iterator[Json]:
    """Yield the entries of the lines before the first that is not whole."""
    try:
        for line in os.pread(handle, _MAX_BYTES, 0).splitlines():
            yield jsontext.decode(line.decode("utf-8"))
    except (OSError, jsontext.NotJson, UnicodeDecodeError):
        return


def count_written(root: str, file: str, digest: str, states: Sequence[tuple[str, int]]) -> int:
    """Return how many of the verdicts on a file it holds. If something else has written the file since, all
    verdicts that were about to be written count as written: it is better to lose one than to record it
    twice."""
    if os.path.isabs(file):
        return sys.maxsize  # only the run itself may name a file outside of the project
    try:
        current_digest = records.bytes_digest(read(root, file))
    except BaselinekitError:
        return sys.maxsize
    for logged_digest, count in reversed(states):
        if logged_digest == current_digest:
            return count
    return 0 if digest.partition("-")[0] == current_digest or not states else states[-1][1]


# The record: only `last_passed` and `failure_count` are changed, and no other byte. The file is read again
# under its lock, since others may have written it meanwhile. A case that was edited since is left alone: the
# verdict was about the earlier version.


@frozen
class Mark:
    """A verdict to be recorded. An error is no verdict, and has no mark."""

    source: Source
    passed: bool


def record(marks: Sequence[Mark], root: str, now: str, daily: bool = False) -> list[str]:
    """Record verdicts on baselines. A pass sets `last_passed` to now (with `daily` only once a day, and never
    to an earlier time), a failure adds 1 to `failure_count`. Returns notes on what was not recorded."""
    recorded = record_all(marks, root, now, daily)
    for failure in recorded.failures:
        raise failure
    return recorded.notes


@frozen
class Recorded:
    """Notes on what was not recorded, errors, and marks whose files others are writing."""

    notes: list[str] = field(default_factory=list)
    failures: list[NotRecorded] = field(default_factory=list)
    held: list[Mark] = field(default_factory=list)


def record_all(
    marks: Sequence[Mark],
    root: str,
    now: str,
    daily: bool = False,
    log: VerdictLog | None = None,
    wait: float = atomic.WAIT,
    hurry: atomic.Hurry | None = None,
) -> Recorded:
    """Record verdicts in many files: first all files together that nobody else is writing, then the others
    one by one. These verdicts are already counted in the log, if there is one."""
    writer = RecordWriter(root, now, daily, log, by_file(marks))
    writer.done.failures.extend(atomic.write_locked(root, writer.batches, writer.write, wait, hurry))
    return writer.done


def record_free(
    marks: Sequence[Mark], root: str, now: str, daily: bool = False, log: VerdictLog | None = None
) -> Recorded:
    """Like `record_all`, but without waiting for locks. The verdicts are already counted in the log; those
    that could not be written because of a lock are subtracted again."""
    writer = RecordWriter(root, now, daily, log, by_file(marks))
    try:
        busy = atomic.write_free(root, writer.batches, writer.write)
    except NotRecorded as error:
        writer.done.failures.append(error)
        return writer.done
    for file in busy:
        writer.done.held.extend(writer.batches[file])
        if log is not None:
            log.count(file, -len(writer.batches[file]))
    return writer.done


def by_file(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    batches: dict[str, list[Mark]] = {}
    for verdict in marks:
        batches.setdefault(verdict.source.file, []).append(verdict)
    return batches


@dataclass(slots=True)
class RecordWriter:
    """Writes the verdicts of one point in time into their files."""

    root: str
    now: str
    daily: bool
    log: VerdictLog | None
    batches: dict[str, list[Mark]]
    done: Recorded = field(default_factory=Recorded)

    def write(self, files: Sequence[str]) -> None:
        """Work out the new contents of these files, then write all of them at once."""
        contents: dict[str, bytes] = {}
        for file in files:
            try:
                data = read(self.root, file)
                body, bom = decode(data, file)
                editor = RecordEditor(file, body, language(file), self.now, self.daily, self.done.notes)
                new_data = encode(editor.with_verdicts(self.batches[file], data), bom)
            except (InvalidInput, Refused, NotRecorded) as error:
                problems = (problem.placed(Place(file)) for problem in error.problems)
                self.done.failures.append(NotRecorded(*problems))
            else:
                if new_data != data:
                    contents[file] = new_data
        if self.log is not None and contents:
            self.log.will_hold(contents)
        errors = atomic.replace_files(self.root, contents)
        self.done.failures.extend(NotRecorded(*failure.problems) for failure in errors.values())


def record_abandoned(root: str, daily: bool = False, hurry: atomic.Hurry | None = None) -> Recorded:
    """Record the verdicts that killed runs had logged but not yet recorded."""
    total = Recorded()
    for log in abandoned_logs(root):
        has_failed = False
        for when, verdicts in groupby(log.left(), key=lambda verdict: verdict.when):
            marks = []
            for file, verdicts_on_file in groupby(verdicts, key=lambda verdict: verdict.file):
                batch = list(verdicts_on_file)
                log.count(file, len(batch))
                marks += marks_of(root, file, batch)
            recorded = record_all(marks, root, when, daily, log, hurry=hurry)
            total.notes.extend(recorded.notes)
            total.failures.extend(recorded.failures)
            has_failed = has_failed or bool(recorded.failures)
        log.close(keep=has_failed)
    return total


def marks_of(root: str, file: str, verdicts: Sequence[LoggedVerdict]) -> list[Mark]:
    """Return marks for the verdicts whose cases still exist unchanged."""
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
        """Return the text with these verdicts. If the place of each value is known, nothing is parsed."""
        cases = records.current_sources([verdict.source for verdict in marks], data, self.body, self.file)
        targets: list[tuple[Source, bool]] = []
        for verdict in marks:
            source = cases.get(records.case_digest(verdict.source.digest))
            if source is None:
                self.notes.append(f"{self.file}: changed while it was compared, so nothing was recorded")
            else:
                targets.append((source, verdict.passed))
        spans = [(source.spans[0 if passed else 1], passed) for source, passed in targets]
        if all(span for span, _ in spans):
            return apply_splices(self.body, [self.splice(span, passed) for span, passed in spans if span])
        body = self.body
        for number in dict.fromkeys(source.document for source, _ in targets):
            places = [(source.at, passed) for source, passed in targets if source.document == number]
            try:
                body = self.edited(body, number, places)
            except NotRecorded:  # cases that share a part, as by an anchor, are edited one by one
                if len(places) == 1:
                    raise
                for place in places:
                    body = self.edited(body, number, [place])
        return body

    def splice(self, span: Span, passed: bool) -> Splice:
        """Return the splice of the one value that changes."""
        current = self.body[slice(*span)]
        quote = current[0] if current[0] in ("'", '"') else ""
        old = current[1:-1] if quote else plain_scalar(current)
        if not passed:
            return Splice(*span, str(old + 1 if isinstance(old, int) else 1))
        if not self.is_newer(old):
            return Splice(*span, current)
        return Splice(*span, yaml_quoted(self.now, quote) if quote else yaml_scalar(self.now))

    def edited(self, body: str, document: int, targets: Sequence[tuple[Path, bool]]) -> str:
        paths = [(*at, "metadata", key) for at, _ in targets for key in records.RECORD_KEYS]
        marks = mark(self.language.events(body), document, paths)
        edits = [edit for at, passed in targets for edit in self.edits(body, document, marks, at, passed)]
        if not edits:
            return body
        from baselinekit.documents.splice import apply  # not needed if all values exist already

        return apply(body, edits, document, self.language, records.RECORD_KEYS, marks)

    def edits(self, body: str, document: int, marks: Marks, at: Path, passed: bool) -> list[Edit]:
        when, count = ((*at, "metadata", key) for key in records.RECORD_KEYS)
        nodes, missing_path = marks.reach((*at, "metadata"))
        is_missing = bool(missing_path) or nodes[-1].kind != MAPPING
        failures = self.old(body, document, marks, count)
        failures = failures if isinstance(failures, int) else 0
        last = self.old(body, document, marks, when)
        if not passed:
            edits = [Edit(when, last)] if is_missing else []
            return [*edits, Edit(count, failures + 1)]
        if not self.is_newer(last):
            return []
        return [Edit(when, self.now), *([Edit(count, failures)] if is_missing else [])]

    def old(self, body: str, document: int, marks: Marks, path: Path) -> Json:
        """Return the existing value, None if there is none."""
        nodes, missing_path = marks.reach(path)
        node = nodes[-1]
        if not missing_path and node.kind == SCALAR and node.style in ("", '"', "'"):
            return node.value if node.style else plain_scalar(node.value)
        if self.loaded is None or self.loaded[0] is not body:  # parse each text only once
            self.loaded = body, self.language.load(body, self.file)
        try:
            return value_at(self.loaded[1][document], path)
        except (KeyError, TypeError):
            return None

    def is_newer(self, last: Json) -> bool:
        """Whether `now` should replace `last`."""
        last_passed, now = parse_time(last), parse_time(self.now)
        if last_passed is None or now is None:
            return True
        if last_passed > now:
            self.notes.append(f"{self.file}: last_passed is {last}, in the future, and stays as it is")
            return False
        return not (self.daily and last_passed.date() == now.date())
