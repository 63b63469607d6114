"""Baselines written: new ones, and approved outputs put into the files that hold the old ones."""

import json
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from baselinekit.documents import yamlwrite
from baselinekit.documents.languages import JSON, language
from baselinekit.documents.renewal import renewed
from baselinekit.documents.splice import apply
from baselinekit.documents.text import decode, encode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Place, Problem, Refused
from baselinekit.model.baselines import Source, known_path
from baselinekit.model.changes import Applied, Rewritten
from baselinekit.model.comparison import Edit
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.store import atomic, reading, records, records as outputs, state
from baselinekit.store.checks import ID, check_id
from baselinekit.store.dialects.native import json_schema
from baselinekit.store.dialects.table import DIALECTS
from baselinekit.store.files import MAX_BYTES, MAX_OUTPUT_BYTES, read, resolve
from baselinekit.store.locating import locate
from baselinekit.store.lock import lock, lock_free
from baselinekit.store.reading import discover
from baselinekit.store.state import cannot_write
from baselinekit.tree.changes import Hints as Hints
from baselinekit.tree.equality import identical
from baselinekit.tree.paths import value_at

# New baselines: a file of their own, or a `baseline:` in a file that has only the recipe so far.


_AFTER = ("baseline", "current", "test_case", "comparison", "metadata", "grader")


def refuse_taken(id: str, root: str, folders: Sequence[str]) -> None:
    """An id is unique in a project: whoever wants to give one to a new baseline asks here first."""
    there = [folder for folder in folders if os.path.isdir(os.path.join(root, folder))]
    files = discover(there, root)
    atomic.sweep(root, {os.path.dirname(file) for file in files})
    reading.refuse_taken(id, root, files)


def check_names(id: str, group: str) -> None:
    """Whether a file can be called so."""
    problems = list(check_id(id))
    if not ID.fullmatch(group):
        hint = "letters, digits, `.`, `_` and `-`, the first a letter or a digit"
        problems.append(Problem("BK108", f"{group!r} cannot be the name of a group", hint))
    if problems:
        raise InvalidInput(*problems)


def check_folder(root: str, folder: str) -> None:
    """Whether a file can be made there: found out before anybody pays for what is to stand in it."""
    try:
        atomic.try_folder(resolve(root, folder))
    except OSError as error:
        raise NotRecorded(cannot_write(folder, error)) from None


def write_new(
    record: dict[str, Json], group: str, root: str, folder: str, inline_limit: int, schema: str
) -> str:
    """Write `<folder>/<group>/<id>.yaml`, which must not be there yet, and say how it is called. The record
    has its keys in the order in which they are to stand; `schema` is what editors find the schema by."""
    id = record["id"]
    check_names(id, group)
    file = posixpath.join(folder, group, f"{id}.yaml")
    target = resolve(root, file)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    except OSError as error:
        raise NotRecorded(cannot_write(posixpath.dirname(file), error)) from None
    with lock(root, file):
        if os.path.lexists(target):
            raise InvalidInput(atomic.exists(file))
        known, beside = _kept_short(record["baseline"], file, id, root, inline_limit)
        text = f"# yaml-language-server: $schema={schema}\n{yamlwrite.dump({**record, 'baseline': known})}"
        if beside:
            atomic.replace_file(*beside)
        atomic.replace_file(root, file, text.encode("utf-8"), new=True)
    return file


def add_baseline(source: Source, baseline: dict[str, Json], root: str, inline_limit: int) -> None:
    """Give a record that has none its `baseline:`, before its recipe; the rest of the file stays as it is."""
    file = source.file
    with lock(root, file):
        raw = reading.read_record(source, root)
        if raw.get("baseline") is not None:
            what = "there is a baseline already"
            hint = "remove its `baseline:` first"
            raise InvalidInput(Problem("BK113", what, hint, locate(source, ("baseline",), root)))
        if records.digest(raw) != source.digest.partition("-")[2]:
            what = f"{file} changed since it was read"
            raise NotRecorded(Problem("BK122", what, "run again"))
        id = str(records.id_of(raw, source))
        known, beside = _kept_short(baseline, file, id, root, inline_limit)
        known = DIALECTS[source.form].write(known)
        body, bom = decode(read(root, file), file)
        edit = Edit((*source.at, "baseline"), known)
        text = apply(body, [edit], source.document, language(file), _AFTER)
        if beside:
            atomic.replace_file(*beside)
        atomic.replace_file(root, file, encode(text, bom))


def _kept_short(
    known: dict[str, Json], file: str, id: str, root: str, limit: int
) -> tuple[dict[str, Json], tuple[str, str, bytes] | None]:
    """The `baseline:`, and for an output over the limit the file of its own that it names: where below which
    folder, and its bytes. That one is written first, so that nobody reads a name that leads nowhere."""
    size = len(yamlwrite.dump(known["output"]).encode("utf-8", "surrogatepass"))
    if size <= limit:
        return known, None
    suffix, data = outputs.file_form(known["output"])
    name = f"{id}{outputs.MARK}{suffix}"
    rest = {key: value for key, value in known.items() if key != "output"}
    return {"output_file": name, **rest}, (*outputs.beside(root, file, name), data)


# Approved outputs, written into the files that hold the baselines: of each file only what changes. Under
# the lock the file is read again. A case that somebody edited since is left alone: it was another one
# that was approved.


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
                text, beside = _ApprovedRecord(self.root, file, source).renewed(body, one)
                if len(text.encode()) > MAX_BYTES:
                    what = f"with the new output of {one.id} it would be larger than {MAX_BYTES:,} bytes"
                    raise NotRecorded(Problem("BK106", what, "remove its `baseline:`, and capture it again"))
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
            named = replace(problem, hint=problem.hint.partition(" (compare does not need")[0])
            self.failures.append(named if file in problem.message else named.placed(Place(file)))


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
class _ApprovedRecord:
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
            what = f"the output of {one.id} is kept as bytes in {name}, and only the hash of the new one is"
            raise NotRecorded(Problem("BK122", what, "remove its `baseline:`, and capture it again"))
        if name.endswith(".json"):
            body, bom = decode(old, path)
            return folder, path, old, encode(renewed(body, 0, JSON, (), one.output, one.hints), bom)
        if not isinstance(one.output, str):
            what = f"the output of {one.id} is kept as text in {name}, and the new output is not text"
            raise NotRecorded(Problem("BK122", what, "remove its `baseline:`, and capture it again"))
        return folder, path, old, one.output.encode("utf-8")


def _differing(old: Json, new: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The smallest parts by whose change the old value becomes the new one."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        for name, value in new.items():
            yield from _differing(old.get(name, ABSENT), value, (*path, name))
    elif old is ABSENT or not identical(old, new, ordered=False):
        yield path, new


# The JSON Schema, where the first line of a file that we have written says that an editor finds it.


def reference(
    root: str, folder: str, of: str = "baseline", schema: Callable[[], dict[str, Any]] = json_schema
) -> str:
    """The schema's path as it is written from a folder of the project; the file is brought up to date."""
    text = json.dumps(schema(), indent=1) + "\n"
    path = os.path.join(state.NAME, f"{of}.schema.json")
    try:
        state.folder(root)
        if _read(os.path.join(root, path)) != text:
            atomic.replace_file(root, path, text.encode(), sync=False)
    except NotRecorded:
        pass  # an editor without a schema is no reason not to capture
    return os.path.relpath(os.path.join(root, path), os.path.join(root, folder))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
