"""New baselines: a file of their own, or a `baseline:` in a file that has only the recipe so far."""

import os
import posixpath
from collections.abc import Sequence

from baselinekit.documents import yamlwrite
from baselinekit.documents.languages import language
from baselinekit.documents.splice import apply
from baselinekit.documents.text import decode, encode
from baselinekit.errors import InvalidInput, NotRecorded, Problem
from baselinekit.model.baselines import Source
from baselinekit.model.edits import Edit
from baselinekit.model.values import Json
from baselinekit.store import atomic, outputs, reading, records
from baselinekit.store.checks import ID, check_id
from baselinekit.store.dialects import harness
from baselinekit.store.discover import discover
from baselinekit.store.files import read, resolve
from baselinekit.store.locating import locate
from baselinekit.store.lock import lock
from baselinekit.store.state import cannot_write

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
        mend = "letters, digits, `.`, `_` and `-`, the first a letter or a digit"
        problems.append(Problem("BK108", f"{group!r} cannot be the name of a group", mend))
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
            mend = "remove its `baseline:` first"
            raise InvalidInput(Problem("BK113", what, mend, locate(source, ("baseline",), root)))
        if records.digest(raw) != source.digest.partition("-")[2]:
            what = f"{file} changed since it was read"
            raise NotRecorded(Problem("BK122", what, "run again"))
        id = str(records.id_of(raw, source))
        known, beside = _kept_short(baseline, file, id, root, inline_limit)
        if source.form == "response":
            known = harness.mapping(known)
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
    suffix, data = outputs.form(known["output"])
    name = f"{id}{outputs.MARK}{suffix}"
    rest = {key: value for key, value in known.items() if key != "output"}
    return {"output_file": name, **rest}, (*outputs.beside(root, file, name), data)
