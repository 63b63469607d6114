"""Writes verdicts into the files of their baselines.

Only `last_passed` and `failure_count` are changed, and no other byte. The file is read again under its lock,
since others may have written it meanwhile. A case that was edited since is left alone: the verdict was about
the earlier version."""

from collections.abc import Sequence

from baselinekit.errors import InvalidInput, NotRecorded, Place, Refused
from baselinekit.files.jsontext import plain_scalar
from baselinekit.files.languages import Language, language, yaml_quoted, yaml_scalar
from baselinekit.files.text import MAPPING, SCALAR, Marks, Splice, apply_splices, decode, encode, mark
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


def record(marks: Sequence[Mark], root: str, now: str, daily: bool = False) -> list[str]:
    """Record verdicts on baselines. A pass sets `last_passed` to now (with `daily` only once a day, and never
    to an earlier time), a failure adds 1 to `failure_count`. Returns notes on what was not recorded."""
    recorded = record_all(marks, root, now, daily)
    for failure in recorded.failures:
        raise failure
    return recorded.notes


class Recorded(Struct):
    """Notes on what was not recorded, errors, and marks whose files others are writing."""

    notes: list[str] = field(default_factory=list)
    failures: list[NotRecorded] = field(default_factory=list)
    held: list[Mark] = field(default_factory=list)


def record_all(
    marks: Sequence[Mark],
    root: str,
    now: str,
    daily: bool = False,
    wait: float = atomic.WAIT,
    hurry: atomic.Hurry | None = None,
) -> Recorded:
    """Record verdicts in many files: first all files together that nobody else is writing, then the others
    one by one."""
    writer = RecordWriter(root, now, daily, by_file(marks))
    writer.done.failures.extend(atomic.write_locked(root, writer.batches, writer.write, wait, hurry))
    return writer.done


def record_free(marks: Sequence[Mark], root: str, now: str, daily: bool = False) -> Recorded:
    """Like `record_all`, but without waiting for locks."""
    writer = RecordWriter(root, now, daily, by_file(marks))
    try:
        busy = atomic.write_free(root, writer.batches, writer.write)
    except NotRecorded as error:
        writer.done.failures.append(error)
        return writer.done
    writer.done.held.extend(mark for file in busy for mark in writer.batches[file])
    return writer.done


def by_file(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    batches: dict[str, list[Mark]] = {}
    for verdict in marks:
        batches.setdefault(verdict.source.file, []).append(verdict)
    return batches


class RecordWriter(MutableStruct):
    """Writes the verdicts of one point in time into their files."""

    root: str
    now: str
    daily: bool
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
        errors = atomic.replace_files(self.root, contents)
        self.done.failures.extend(NotRecorded(*failure.problems) for failure in errors.values())


class RecordEditor(MutableStruct):
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
        from baselinekit.files.edit import edited  # not needed if all values exist already
        from baselinekit.values.changes import Hints

        return edited(body, edits, self.language, document, Hints(siblings=records.RECORD_KEYS))

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
