"""The record of a baseline, written into its file: `last_passed` and `failure_count`, and not a byte more.

Under the lock the file is read again, since others may have written meanwhile; a case that somebody edited
is left alone, for the verdict was about another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from baselinekit.documents.languages import Language, language
from baselinekit.documents.marks import MAPPING, SCALAR, Marks, mark
from baselinekit.documents.splice import apply, value_at
from baselinekit.documents.text import decode, encode
from baselinekit.documents.yamltypes import scalar
from baselinekit.errors import InvalidInput, NotRecorded, Place, Refused
from baselinekit.model.baselines import Source
from baselinekit.model.edits import Edit
from baselinekit.model.values import Json, Path
from baselinekit.store import atomic, records
from baselinekit.store.files import read
from baselinekit.store.lock import lock


@dataclass(frozen=True, slots=True)
class Mark:
    """One verdict to be recorded. An error is no verdict, and has no mark."""

    source: Source
    passed: bool


def record(marks: Sequence[Mark], root: str, now: str, daily: bool = False) -> list[str]:
    """Record verdicts on baselines of one file. A pass sets `last_passed` to now (with `daily` not twice on
    one day, and never back), a failure adds 1 to `failure_count`. Notes say what was left as it is."""
    file = marks[0].source.file
    with lock(root, file):
        try:
            data = read(root, file)
            body, bom = decode(data, file)
            work = _Work(file, body, language(file), now, daily)
            for number, targets in _found(marks, data, work).items():
                body = work.edited(body, number, targets)
        except (InvalidInput, Refused, NotRecorded) as error:
            raise NotRecorded(*(problem.placed(Place(file)) for problem in error.problems)) from None
        new = encode(body, bom)
        if new != data:
            atomic.replace_file(root, file, new)
        return work.notes


@dataclass(slots=True)
class _Work:
    """What recording in one file has to know, and what it has to say."""

    file: str
    body: str
    language: Language
    now: str
    daily: bool
    notes: list[str] = field(default_factory=list)
    read: tuple[str, list[Json]] | None = None

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
            self.notes.append(f"{self.file}: last_passed is {last}, later than now, and stays as it is")
            return False
        return not (self.daily and before.date() == now.date())


def _found(marks: Sequence[Mark], data: bytes, work: _Work) -> dict[int, list[tuple[Path, bool]]]:
    """Where the cases stand now, by document."""
    digest = records.bytes_digest(data)
    moved = {}
    if any(one.source.digest.partition("-")[0] != digest for one in marks):
        documents = work.language.load(work.body, work.file)
        try:
            moved = {records.digest(raw): (number, at) for number, at, raw in records.records(documents)}
        except records.NotABaselineError:
            moved = {}
    found: dict[int, list[tuple[Path, bool]]] = {}
    for one in marks:
        whole, _, case = one.source.digest.partition("-")
        here = (one.source.document, one.source.at) if whole == digest else moved.get(case)
        if here is None:
            work.notes.append(f"{work.file}: changed while it was compared, so nothing was recorded")
        else:
            found.setdefault(here[0], []).append((here[1], one.passed))
    return found


def _time(text: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
