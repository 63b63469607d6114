"""Approved outputs, written into the files that hold the baselines: of each file only what changes.

Under the lock the file is read again. A case that somebody edited since is left alone: it was another one
that was approved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from baselinekit.documents.changes import Hints as Hints
from baselinekit.documents.languages import JSON, canonical, language
from baselinekit.documents.renewal import renewed
from baselinekit.documents.splice import apply, value_at
from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, Refused
from baselinekit.model.baselines import Source, known_path
from baselinekit.model.changes import Applied, Rewritten
from baselinekit.model.edits import Edit
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.store import atomic, outputs, records
from baselinekit.store.files import MAX_BYTES, MAX_OUTPUT_BYTES, read
from baselinekit.store.lock import lock, lock_free

_ORDER = (
    *("id", "name", "description", "version", "baseline_version", "baseline"),
    *("when", "output", "output_file", "response", "captured_at", "environment", "observed"),
    *("approved_by", "reason", "variants", "current", "test_case", "comparison", "metadata", "grader"),
)
"""Where a key goes that a record does not have yet."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """What is to stand in a record from now on: an output (ABSENT: as it is) of the record itself or of one
    of its variants, and other values by their paths in the record."""

    id: str
    source: Source
    output: Json = ABSENT
    variant: int | None = None
    values: dict[Path, Json] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)


def preview(renewals: Sequence[Renewal], root: str) -> Applied:
    """The files as they would be. Nothing is written."""
    done = _Done(root)
    for file, few in _by_file(renewals).items():
        done.plan(file, few)
    return done.told()


def renew(renewals: Sequence[Renewal], root: str) -> Applied:
    """Write them: together those that nobody else is writing, the others one by one."""
    waiting = _by_file(renewals)
    done = _Done(root)
    try:
        with lock_free(root, waiting) as free:
            for file in free:
                done.plan(file, waiting.pop(file))
            done.write()
    except NotRecorded as error:  # no lock at all
        return Applied(failures=error.problems)
    for file, few in waiting.items():
        try:
            with lock(root, file):
                done.plan(file, few)
                done.write()
        except NotRecorded as error:
            done.failures += error.problems
    return done.told()


def _by_file(renewals: Sequence[Renewal]) -> dict[str, list[Renewal]]:
    files: dict[str, list[Renewal]] = {}
    for one in renewals:
        files.setdefault(one.source.file, []).append(one)
    return files


@dataclass(slots=True)
class _Planned:
    """A file on its way. `beside`: the files of outputs that go with it, each below its folder."""

    ids: list[str]
    before: bytes
    after: bytes
    beside: list[tuple[str, str, bytes, bytes]]


@dataclass(slots=True)
class _Done:
    root: str
    planned: dict[str, _Planned] = field(default_factory=dict)
    files: list[Rewritten] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)

    def plan(self, file: str, renewals: Sequence[Renewal]) -> None:
        """What this file is to hold. One record that cannot be renewed does not stop the others."""
        try:
            data = read(self.root, file)
            body, bom = decode(data, file)
            places = _places(renewals, data, body, file)
        except (InvalidInput, Refused, NotRecorded) as error:
            self._fail(file, error)
            return
        planned = _Planned([], data, data, [])
        for one in renewals:
            try:
                source = places.get(one.source.digest.partition("-")[2])
                if source is None:
                    what = f"{one.id} changed since it was read, so it was left as it is"
                    raise NotRecorded(Problem("BK122", what, "run again"))
                text, beside = _Record(self.root, file, source).renewed(body, one)
                if len(text.encode()) > MAX_BYTES:
                    what = f"with the new output of {one.id} it would be larger than {MAX_BYTES:,} bytes"
                    raise NotRecorded(Problem("BK106", what, "remove its `baseline:`, and capture it anew"))
            except (InvalidInput, Refused, NotRecorded) as error:
                self._fail(file, error)
            else:
                body = text
                planned.ids.append(one.id)
                planned.beside += beside
        planned.after = encode(body, bom)
        self.planned[file] = planned

    def write(self) -> None:
        """First the outputs beside, then the files that name them."""
        for file, planned in list(self.planned.items()):
            try:
                for folder, name, _, data in planned.beside:
                    atomic.replace_file(folder, name, data)
            except BaselinekitError as error:
                self._fail(file, error)
                del self.planned[file]
        contents = {file: one.after for file, one in self.planned.items() if one.after != one.before}
        for file, why in atomic.replace_files(self.root, contents).items():
            self._fail(file, why)
            del self.planned[file]
        self._keep()

    def told(self) -> Applied:
        self._keep()
        return Applied(tuple(self.files), tuple(self.ids), tuple(self.failures))

    def _keep(self) -> None:
        for file, one in self.planned.items():
            self.ids += one.ids
            if one.after != one.before:
                self.files.append(Rewritten(file, _shown(one.before), _shown(one.after)))
            self.files += [Rewritten(name, _shown(old), _shown(new)) for _, name, old, new in one.beside]
        self.planned.clear()

    def _fail(self, file: str, error: BaselinekitError) -> None:
        """What cannot be written says so by name, and how a compare can do without helps nobody here."""
        for problem in error.problems:
            named = replace(problem, mend=problem.mend.partition(" (compare can do without")[0])
            self.failures.append(named if file in problem.what else named.placed(Place(file)))


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _places(renewals: Sequence[Renewal], data: bytes, body: str, file: str) -> dict[str, Source]:
    """Where the cases stand now, by what they say."""
    whole = records.bytes_digest(data)
    if all(one.source.digest.partition("-")[0] == whole for one in renewals):
        return {one.source.digest.partition("-")[2]: one.source for one in renewals}
    try:
        return {source.digest.partition("-")[2]: source for source, _ in records.sources(data, body, file)}
    except records.NotABaselineError as error:
        raise NotRecorded(error.problem) from None


@dataclass(slots=True)
class _Record:
    root: str
    file: str
    source: Source

    def renewed(self, body: str, one: Renewal) -> tuple[str, list[tuple[str, str, bytes, bytes]]]:
        """The text with the new values in it, and the files beside that change."""
        document = language(self.file).load(body, self.file)[self.source.document]
        record = value_at(document, self.source.at)
        known = self._there(record, known_path(one.variant))
        written = language(self.file)
        beside = []
        if one.output is not ABSENT and isinstance(known, dict) and known.get("output_file"):
            beside = [self._output_file(str(known["output_file"]), one)]
        elif one.output is not ABSENT:
            place = records.place_in(self.source, (*known_path(one.variant), "output"))
            body = renewed(body, self.source.document, written, place, one.output, one.hints)
        edits = [
            Edit((*records.place_in(self.source, path), *below), new)
            for path, value in one.values.items()
            for below, new in _differing(self._there(record, path), value)
        ]
        if edits:
            body = apply(body, edits, self.source.document, written, _ORDER)
        return body, beside

    def _there(self, record: Json, path: Path) -> Json:
        """The value at a path of the model, ABSENT if there is none."""
        here = records.place_in(Source("", form=self.source.form), path)
        try:
            return value_at(record, here)
        except (KeyError, IndexError, TypeError):
            return ABSENT

    def _output_file(self, name: str, one: Renewal) -> tuple[str, str, bytes, bytes]:
        folder, path = outputs.beside(self.root, self.file, name)
        old = read(folder, path, MAX_OUTPUT_BYTES)
        if name.endswith(".bin"):
            what = (
                f"the output of {one.id} is kept as bytes in {name}, and of what came back only the hash is"
            )
            raise NotRecorded(Problem("BK122", what, "remove its `baseline:`, and capture it anew"))
        if name.endswith(".json"):
            body, bom = decode(old, path)
            return folder, path, old, encode(renewed(body, 0, JSON, (), one.output, one.hints), bom)
        if not isinstance(one.output, str):
            what = f"the output of {one.id} is kept as text in {name}, and what came back is none"
            raise NotRecorded(Problem("BK122", what, "remove its `baseline:`, and capture it anew"))
        return folder, path, old, one.output.encode("utf-8")


def _differing(old: Json, new: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The smallest parts by whose change the old value becomes the new one."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        for name, value in new.items():
            yield from _differing(old.get(name, ABSENT), value, (*path, name))
    elif old is ABSENT or canonical(old) != canonical(new):
        yield path, new
