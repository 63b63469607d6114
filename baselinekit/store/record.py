"""The record of a baseline, written into its file: `last_passed` and `failure_count`, and not a byte more.

Under the lock the file is read again, since others may have written meanwhile; a case that somebody edited
is left alone, for the verdict was about another one.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby

from baselinekit.documents import yamlwrite
from baselinekit.documents.languages import Language, language
from baselinekit.documents.layout import Splice
from baselinekit.documents.marks import MAPPING, SCALAR, Marks, mark
from baselinekit.documents.splice import apply, spliced
from baselinekit.documents.text import decode, encode
from baselinekit.documents.yamllines import scalar
from baselinekit.errors import InvalidInput, NotRecorded, Place, Refused
from baselinekit.model.baselines import Source, Span
from baselinekit.model.comparison import Edit
from baselinekit.model.values import Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.files import read
from baselinekit.store.lock import Hurry, lock, lock_free
from baselinekit.store.verdictlog import LoggedVerdict, VerdictLog, of_the_dead
from baselinekit.tree.paths import value_at


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was left as it is, and what could not be written."""

    notes: list[str] = field(default_factory=list)
    failures: list[NotRecorded] = field(default_factory=list)


def record_all(
    marks: Sequence[Mark],
    root: str,
    now: str,
    daily: bool = False,
    hurry: Hurry | None = None,
    log: VerdictLog | None = None,
) -> Recorded:
    """The same for many files at once: together those that nobody else is writing, the others one by one. The
    log, if there is one, has these verdicts counted."""
    done = Recorded()
    waiting: dict[str, list[Mark]] = {}
    for one in marks:
        waiting.setdefault(one.source.file, []).append(one)
    try:
        with lock_free(root, waiting) as free:
            _write({file: waiting.pop(file) for file in free}, root, now, daily, done, log)
    except NotRecorded as error:  # no lock at all
        return Recorded(failures=[error])
    for file, few in waiting.items():
        try:
            with lock(root, file, hurry=hurry):
                _write({file: few}, root, now, daily, done, log)
        except NotRecorded as error:
            done.failures.append(error)
    return done


def _write(
    batches: dict[str, list[Mark]],
    root: str,
    now: str,
    daily: bool,
    done: Recorded,
    log: VerdictLog | None,
) -> None:
    """What these files are to hold, and then all of them at once."""
    contents: dict[str, bytes] = {}
    for file, marks in batches.items():
        try:
            data = read(root, file)
            body, bom = decode(data, file)
            new = encode(
                _RecordingJob(file, body, language(file), now, daily, done.notes).marked(marks, data), bom
            )
        except (InvalidInput, Refused, NotRecorded) as error:
            placed = (problem.placed(Place(file)) for problem in error.problems)
            done.failures.append(NotRecorded(*placed))
        else:
            if new != data:
                contents[file] = new
    if log is not None and contents:
        log.will_hold(contents)
    for why in atomic.replace_files(root, contents).values():
        done.failures.append(NotRecorded(*why.problems))


def record_left(root: str, daily: bool = False, hurry: Hurry | None = None) -> Recorded:
    """Record what runs that were killed had found out and not yet recorded."""
    all_done = Recorded()
    for log in of_the_dead(root):
        failed = False
        for when, verdicts in groupby(log.left(), key=lambda one: one.when):
            marks = []
            for file, few in groupby(verdicts, key=lambda one: one.file):
                found = list(few)
                log.count(file, len(found))
                marks += _marks(root, file, found)
            done = record_all(marks, root, when, daily, hurry, log)
            all_done.notes.extend(done.notes)
            all_done.failures.extend(done.failures)
            failed = failed or bool(done.failures)
        log.close(keep=failed)
    return all_done


def _marks(root: str, file: str, verdicts: Sequence[LoggedVerdict]) -> list[Mark]:
    """Of cases that are still there, and still the same."""
    with suppress(InvalidInput, records.NotABaselineError):
        data = read(root, file)
        sources = [source for source, _ in records.sources(data, decode(data, file)[0], file)]
        cases = {source.digest.partition("-")[2]: source for source in sources}
        told = [(cases.get(one.digest.partition("-")[2]), one.passed) for one in verdicts]
        return [Mark(source, passed) for source, passed in told if source]
    return []


@dataclass(slots=True)
class _RecordingJob:
    """What recording in one file has to know, and what it has to say."""

    file: str
    body: str
    language: Language
    now: str
    daily: bool
    notes: list[str]
    read: tuple[str, list[Json]] | None = None

    def marked(self, marks: Sequence[Mark], data: bytes) -> str:
        """The text with these verdicts in it. Where all stand on their own, nothing is read again."""
        here = list(self.found(marks, data))
        spans = [source.spans[0 if passed else 1] for source, passed in here]
        if None not in spans:
            pairs = zip(spans, here, strict=True)
            return spliced(self.body, [self.splice(span, passed) for span, (_, passed) in pairs if span])
        body = self.body
        for number in dict.fromkeys(source.document for source, _ in here):
            targets = [(source.at, passed) for source, passed in here if source.document == number]
            body = self.edited(body, number, targets)
        return body

    def found(self, marks: Sequence[Mark], data: bytes) -> Iterator[tuple[Source, bool]]:
        """Where the cases stand now."""
        digest = records.bytes_digest(data)
        moved: dict[str, Source] = {}
        if any(one.source.digest.partition("-")[0] != digest for one in marks):
            with suppress(records.NotABaselineError):
                for source, _ in records.sources(data, self.body, self.file):
                    moved[source.digest.partition("-")[2]] = source
        for one in marks:
            whole, _, case = one.source.digest.partition("-")
            here = one.source if whole == digest else moved.get(case)
            if here is None:
                self.notes.append(f"{self.file}: changed while it was compared, so nothing was recorded")
            else:
                yield here, one.passed

    def splice(self, span: Span, passed: bool) -> Splice:
        """The one value that changes, in its place."""
        written = self.body[slice(*span)]
        quote = written[0] if written[0] in ("'", '"') else ""
        old = written[1:-1] if quote else scalar(written)
        if not passed:
            return Splice(*span, str(old + 1 if isinstance(old, int) else 1))
        if not self.is_newer(old):
            return Splice(*span, written)
        return Splice(*span, yamlwrite.quoted(self.now, quote) if quote else yamlwrite.scalar(self.now))

    def edited(self, body: str, document: int, targets: Sequence[tuple[Path, bool]]) -> str:
        """The text with these verdicts in it. Cases that share something are edited one by one."""
        try:
            return self._edited_at_once(body, document, targets)
        except NotRecorded:
            if len(targets) == 1:
                raise
        for target in targets:
            body = self._edited_at_once(body, document, [target])
        return body

    def _edited_at_once(self, body: str, document: int, targets: Sequence[tuple[Path, bool]]) -> str:
        paths = [(*at, "metadata", key) for at, _ in targets for key in records.RECORD_KEYS]
        marks = mark(self.language.events(body), document, paths)
        edits = [edit for at, passed in targets for edit in self.edits(body, document, marks, at, passed)]
        return apply(body, edits, document, self.language, records.RECORD_KEYS, marks) if edits else body

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
            return node.value if node.style else scalar(node.value)
        try:
            return value_at(self.values(body)[document], path)
        except (KeyError, TypeError):
            return None

    def values(self, body: str) -> list[Json]:
        """What a text holds; the same text is read once, however many cases ask."""
        if self.read is None or self.read[0] is not body:
            self.read = body, self.language.load(body, self.file)
        return self.read[1]

    def is_newer(self, last: Json) -> bool:
        """Whether now is worth writing where `last` stands."""
        before, now = _time(last), _time(self.now)
        if before is None or now is None:
            return True
        if before > now:
            self.notes.append(f"{self.file}: last_passed is {last}, in the future, and stays as it is")
            return False
        return not (self.daily and before.date() == now.date())


def _time(text: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
