"""Writes verdicts into the files of their baselines.

Only `last_passed` and `failure_count` are changed, and no other byte. The file is read again under its lock,
since others may have written it meanwhile. A case that was edited since is left alone: the verdict was about
the earlier version."""

from collections.abc import Callable, Sequence

from baselinekit.errors import InvalidInput, NotRecorded, Place, Refused
from baselinekit.files.jsontext import plain_scalar
from baselinekit.files.languages import Language, language, yaml_quoted, yaml_scalar
from baselinekit.files.text import Splice, apply_splices, decode, encode
from baselinekit.model.baselines import Source, Span
from baselinekit.model.values import Edit, Json, Path, parse_time
from baselinekit.store import atomic, records
from baselinekit.store.project import read
from baselinekit.structs import MutableStruct, Struct, field
from baselinekit.values.places import value_at


class Mark(Struct):
    """A verdict to be recorded. An error is no verdict, and has no mark."""

    source: Source
    passed: bool


class Recorded(Struct):
    """Notes on what was not recorded, and errors."""

    notes: list[str] = field(default_factory=list)
    failures: list[NotRecorded] = field(default_factory=list)


def record_all(
    marks: Sequence[Mark],
    root: str,
    now: str,
    daily: bool = False,
    wait: Callable[[], float] = lambda: atomic.WAIT,
) -> Recorded:
    """Record verdicts on baselines, one file after the other. A pass sets `last_passed` to now (with `daily`
    only once a day, and never to an earlier time), a failure adds 1 to `failure_count`."""
    done = Recorded()
    marks_by_file: dict[str, list[Mark]] = {}
    for verdict in marks:
        marks_by_file.setdefault(verdict.source.file, []).append(verdict)
    for file, some in marks_by_file.items():
        try:
            with atomic.lock(root, file, wait):
                data, new_data = _with_verdicts(root, file, some, now, daily, done.notes)
                if new_data != data:
                    atomic.replace_file(root, file, new_data)
        except NotRecorded as error:
            if str(error) not in map(str, done.failures):
                done.failures.append(error)
    return done


def _with_verdicts(
    root: str, file: str, marks: Sequence[Mark], now: str, daily: bool, notes: list[str]
) -> tuple[bytes, bytes]:
    """Return the bytes of a file without and with these verdicts."""
    try:
        data = read(root, file)
        body, bom = decode(data, file)
        editor = RecordEditor(file, body, language(file), now, daily, notes)
        return data, encode(editor.with_verdicts(marks, data), bom)
    except (InvalidInput, Refused, NotRecorded) as error:
        raise NotRecorded(*(problem.placed(Place(file)) for problem in error.problems)) from None


class RecordEditor(MutableStruct):
    """Edits the record of the baselines in one text."""

    file: str
    body: str
    language: Language
    now: str
    daily: bool
    notes: list[str]

    def with_verdicts(self, marks: Sequence[Mark], data: bytes) -> str:
        """Return the text with these verdicts. If the place of each value is known, nothing is parsed."""
        cases = records.current_sources([verdict.source for verdict in marks], data, self.file)
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
        from baselinekit.files.edit import edited  # not needed if all values exist already
        from baselinekit.values.changes import Hints

        body, documents = self.body, self.language.load(self.body, self.file)
        for number in dict.fromkeys(source.document for source, _ in targets):
            edits = [
                edit
                for source, passed in targets
                if source.document == number
                for edit in self.edits(value_at(documents[number], source.at), source.at, passed)
            ]
            if edits:
                body = edited(body, edits, self.language, number, Hints(siblings=records.RECORD_KEYS))
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

    def edits(self, raw: dict[str, Json], at: Path, passed: bool) -> list[Edit]:
        """Return the edits of a record without all of its values, which are written together then."""
        metadata = raw.get("metadata")
        old = metadata if isinstance(metadata, dict) else {}
        last, failures = (old.get(key) for key in records.RECORD_KEYS)
        failures = failures if isinstance(failures, int) else 0
        if passed and not self.is_newer(last):
            return []
        when, count = ((*at, "metadata", key) for key in records.RECORD_KEYS)
        if not isinstance(metadata, dict):
            return [Edit(when, self.now if passed else None), Edit(count, failures + (not passed))]
        return [Edit(when, self.now)] if passed else [Edit(count, failures + 1)]

    def is_newer(self, last: Json) -> bool:
        """Whether `now` should replace `last`."""
        last_passed, now = parse_time(last), parse_time(self.now)
        if last_passed is None or now is None:
            return True
        if last_passed > now:
            self.notes.append(f"{self.file}: last_passed is {last}, in the future, and stays as it is")
            return False
        return not (self.daily and last_passed.date() == now.date())
