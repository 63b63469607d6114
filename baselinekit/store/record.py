"""Writes verdicts into the files of their baselines.

Only `last_passed` and `failure_count` are changed, and no other byte. The file is read again under its lock,
since others may have written it meanwhile. A case that was edited since is left alone: the verdict was about
the earlier version."""

from collections.abc import Callable, Sequence

from baselinekit.errors import InvalidInput, NotRecorded, Place, Refused
from baselinekit.files.jsontext import plain_scalar
from baselinekit.files.languages import language, yaml_quoted, yaml_scalar
from baselinekit.files.text import Splice, apply_splices, decode, encode
from baselinekit.model.baselines import Source, Span
from baselinekit.model.values import Edit, Json, parse_time
from baselinekit.store import atomic, records
from baselinekit.store.project import read
from baselinekit.structs import Struct, field
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
    for mark in marks:
        marks_by_file.setdefault(mark.source.file, []).append(mark)
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

    def new_value(old: Json, passed: bool) -> Json:
        """Return the new value of a record's key; the old one if that stays."""
        if not passed:
            return old + 1 if isinstance(old, int) else 1
        last, moment = parse_time(old), parse_time(now)
        if last is None or moment is None:
            return now
        if last > moment:
            notes.append(f"{file}: last_passed is {old}, in the future, and stays as it is")
        return old if last > moment or (daily and last.date() == moment.date()) else now

    try:
        data = read(root, file)
        body, bom = decode(data, file)
        cases = records.current_sources([mark.source for mark in marks], data, file)
        targets: list[tuple[Source, bool]] = []
        for mark in marks:
            source = cases.get(records.case_digest(mark.source.digest))
            if source is None:
                notes.append(f"{file}: changed while it was compared, so nothing was recorded")
            else:
                targets.append((source, mark.passed))
        return data, encode(_with_values(body, file, targets, new_value), bom)
    except (InvalidInput, Refused, NotRecorded) as error:
        raise NotRecorded(*(problem.placed(Place(file)) for problem in error.problems)) from None


def _with_values(
    body: str, file: str, targets: Sequence[tuple[Source, bool]], new_value: Callable[[Json, bool], Json]
) -> str:
    """Return the text with the new values. If the place of each is known, nothing is parsed."""
    spans = [(source.spans[0 if passed else 1], passed) for source, passed in targets]
    if all(span for span, _ in spans):
        return apply_splices(body, [_splice(body, span, passed, new_value) for span, passed in spans if span])
    from baselinekit.files.edit import edited  # not needed if all values exist already
    from baselinekit.values.changes import Hints

    documents = language(file).load(body, file)
    for number in dict.fromkeys(source.document for source, _ in targets):
        edits: list[Edit] = []
        for source, passed in targets:
            if source.document == number:
                metadata = value_at(documents[number], source.at).get("metadata")
                missing = {} if isinstance(metadata, dict) else {"last_passed": None, "failure_count": 0}
                key = records.RECORD_KEYS[0 if passed else 1]
                values = {**missing, key: new_value((missing or metadata).get(key), passed)}
                edits += [Edit((*source.at, "metadata", name), value) for name, value in values.items()]
        if edits:
            body = edited(body, edits, language(file), number, Hints(siblings=records.RECORD_KEYS))
    return body


def _splice(body: str, span: Span, passed: bool, new_value: Callable[[Json, bool], Json]) -> Splice:
    """Return the splice of the one value that changes."""
    current = body[slice(*span)]
    quote = current[0] if current[0] in ("'", '"') else ""
    old = current[1:-1] if quote else plain_scalar(current)
    new = new_value(old, passed)
    if new == old:
        return Splice(*span, current)
    return Splice(*span, str(new) if not passed else yaml_quoted(new, quote) if quote else yaml_scalar(new))
