"""Writes verdicts into the files of their baselines.

Only `last_passed` and `failure_count` are changed, and no other byte. The file is read again under its lock,
since others may have written it meanwhile. A case that was edited since is left alone: the verdict was about
the earlier version."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Refused
from baselinekit.files.jsontext import plain_scalar
from baselinekit.files.languages import language, yaml_quoted, yaml_scalar
from baselinekit.files.text import Splice, apply_splices, decode, encode, line_end, line_start, mark, reach
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Source, Span
from baselinekit.model.values import Edit, Json, Path, parse_time
from baselinekit.store import atomic, records
from baselinekit.store.project import read
from baselinekit.structs import Struct, field
from baselinekit.values.places import value_at


class Mark(Struct):
    """A verdict to be recorded. An error is not one."""

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
        cases = records.current_sources([verdict.source for verdict in marks], data, file)
        targets: list[tuple[Source, bool]] = []
        for verdict in marks:
            source = cases.get(records.case_digest(verdict.source.digest))
            if source is None:
                notes.append(f"{file}: changed while it was compared, so nothing was recorded")
            else:
                targets.append((source, verdict.passed))
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


# The record of each baseline in two branches is merged, so that git finds no conflict there; and a file is
# shown to `git diff` without its record and provenance. The merged values are written into all three texts,
# the ancestor's too: git sees no change in them and merges the rest. A text that cannot be read is left as
# it is.


_RECORD_PATHS: list[Path] = [("metadata", key) for key in records.RECORD_KEYS]
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_LINE_REST = lazy_pattern(r"[ \t]*,?[ \t]*")


class _Part(NamedTuple):
    """A value in the text of a baseline, by the id of its baseline and its path there."""

    id: str
    path: Path
    key: int
    start: int
    end: int
    value: Json
    written: str


def merge_records(sides: list[bytes], file: str) -> list[bytes]:
    """Return the texts of the ancestor and of both sides, with one record for each baseline: the later
    `last_passed`, and the ancestor's `failure_count` plus what each side added."""
    try:
        texts = [decode(data, file) for data in sides]
        found = [
            {(part.id, part.path): part for part in _find(data, text.body, file, lambda _: _RECORD_PATHS)}
            for data, text in zip(sides, texts, strict=True)
        ]
    except BaselinekitError:
        return sides
    splices: list[list[Splice]] = [[], [], []]
    for key in dict.fromkeys(key for parts in found for key in parts):
        base, *both = (parts.get(key) for parts in found)
        parts = [part for part in (base, *both) if part is not None]
        value = parts[0].value
        if None not in both:  # else one side removed or added it: git sees no change on the other
            value = _merged(key[1], base and base.value, *(part.value for part in parts[-2:]))
        written = next((part.written for part in parts if part.value == value), str(value))
        for own, own_parts in zip(splices, found, strict=True):
            if key in own_parts:
                own.append(Splice(own_parts[key].start, own_parts[key].end, written))
    return [encode(apply_splices(text.body, own), text.bom) for text, own in zip(texts, splices, strict=True)]


def _find(
    data: bytes, body: str, file: str, paths_of: Callable[[dict[str, Json]], Iterable[Path]]
) -> Iterator[_Part]:
    """Yield these parts of each baseline, but none that an anchor shares. A baseline whose id occurs twice is
    left out."""
    found = records.records_in(data, file) if body.strip() else []
    entries = [(str(records.id_of(raw)), source, raw) for source, raw in found]
    ids = Counter(id for id, *_ in entries)
    marks = mark(language(file).events(body))
    for id, source, raw in entries:
        for path in paths_of(raw) if ids[id] == 1 else ():
            nodes, missing = reach(marks, source.document, (*source.at, *path))
            node = nodes[-1]
            if not missing and node.end > node.start and not any(parent.anchor for parent in nodes):
                end = node.start + len(body[node.start : node.end].rstrip())
                yield _Part(id, path, node.key, node.start, end, value_at(raw, path), body[node.start : end])


def _merged(path: Path, base: Json, ours: Json, theirs: Json) -> Json:
    """Return the value that both sides get. A count below the ancestor's was reset: all of it was added."""
    if path == _RECORD_PATHS[0]:
        return max(ours, theirs, key=lambda value: parse_time(value) or _LONG_AGO)
    start, one, other = (value if isinstance(value, int) else 0 for value in (base, ours, theirs))
    if min(one, other) >= start:
        return one + other - start
    return sum(count - start if count >= start else count for count in (one, other))


def without_record(data: bytes, file: str) -> bytes:
    """Return the text for a diff, without the record and the provenance. Lines that hold nothing else are
    removed; on a line with other content, the value is hidden."""
    try:
        body, bom = decode(data, file)
        parts = list(_find(data, body, file, _hidden))
    except BaselinekitError:  # such as one with conflict markers
        return data
    splices = []
    for part in parts:
        start, (stop, next_line) = line_start(body, part.key), line_end(body, part.end)
        if not body[start : part.key].strip() and _LINE_REST.fullmatch(body, part.end, stop):
            splices.append(Splice(start, next_line, ""))
        else:
            splices.append(Splice(part.start, part.end, "…"))
    return encode(apply_splices(body, splices), bom)


def _hidden(raw: dict[str, Json]) -> list[Path]:
    """Return where a record has what a diff leaves out: what changes with every compare or refresh."""
    metadata, known = raw.get("metadata"), raw.get("baseline")
    variants = known.get("variants") if isinstance(known, dict) else None
    known_at: list[Path] = [("baseline",), *(("baseline", "variants", n) for n in range(len(variants or ())))]
    is_only_record = isinstance(metadata, dict) and metadata.keys() <= {*records.RECORD_KEYS}
    return [
        ("baseline", "version") if "test_case" in raw else ("baseline_version",),
        *((*at, key) for at in known_at for key in ("captured_at", "environment")),
        *([("metadata",)] if is_only_record else _RECORD_PATHS),
    ]
