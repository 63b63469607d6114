"""What runs leave: reports, and in `.baselinekit/` earlier results, failed answers and recorded ones."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import quote

from baselinekit.documents.jsontext import dump_json, load_json
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.schema.records import (
    NULLABLE_TEXT,
    TEXT,
    Field,
    RecordForm,
    RecordReader,
    paths,
    placed,
    texts,
)
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.dialects.native import check_id
from baselinekit.store.project import MAX_OUTPUT_BYTES, name_in_project, read

# Reports to where the operator wants them: whole, or not at all.


def write_text(path: str, text: str, root: str | None = None) -> None:
    """Write a text to a path that the operator named, from the project at `root`. Folders on the way are
    made; what is no regular file (a device, a pipe) is written to, not replaced."""
    data = text.encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if is_special(target):
            with open(target, "wb", buffering=0) as file:
                file.write(data)
            return
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None
    atomic.replace_anywhere(target, path, data, root)


def write_pieces(path: str, pieces: Iterable[bytes]) -> None:
    """The same of a text that comes in pieces, into a regular file."""
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None
    atomic.replace_streamed(target, path, pieces)


def check_place(path: str) -> None:
    """Refuse a path that no text can be written to, before anybody pays for what is to stand there. It is
    tried, for a mode says nothing of a read-only disk. A disk that is full now may not be so later."""
    target = os.path.realpath(path)
    try:
        if is_special(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        folder = os.path.dirname(target)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        atomic.try_folder(folder)
    except NotRecorded as error:
        raise InvalidInput(*error.problems) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            what = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
            raise InvalidInput(Problem("BK120", what, "name a file in a folder that you may write")) from None


def append_text(path: str, text: str) -> None:
    """Add to a file that others write to as well, such as the summary of a CI step: one write, at its end."""
    try:
        with open(path, "ab", buffering=0) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None


def is_special(target: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise NotRecorded(Problem("BK120", f"{target} is a folder", "name a file in it"))
        return not stat.S_ISREG(mode)
    return False


# The results of earlier runs, one file each in `.baselinekit/results/`; of too many the oldest go. There
# is no index: 200 files of 1,000 results each are read in less than two seconds, those of a usual
# project in a few hundredths, and what is not there cannot be out of date.

MOST_FILES = 200
MOST_BYTES = 200_000_000

_RESULTS = "results"
_NAME = lazy_pattern(r"([0-9TZ]{16})-([0-9]{4})-([0-9a-f]{12})\.json")


def keep_results(root: str, started: str, data: bytes) -> bool:
    """Keep the results of a run, named by when it started, how many did in that second, and what they are:
    the same ones twice are kept once. False: they are older than all that there is room for. They can be lost
    in a power cut."""
    second, digest = re.sub("[^0-9TZ]", "", started), blake2b(data, digest_size=6).hexdigest()
    beside = [match for name in result_files(root) if (match := _NAME.fullmatch(name)) and match[1] == second]
    if any(match[3] == digest for match in beside):
        return True
    number = max((int(match[2]) for match in beside), default=0) + 1
    name = f"{second}-{number:04}-{digest}.json"
    atomic.state_folder(root, _RESULTS)
    atomic.replace_file(root, os.path.join(atomic.STATE_FOLDER, _RESULTS, name), data, sync=False)
    return name not in _prune(root)


def result_files(root: str) -> list[str]:
    """The files, the oldest run first."""
    with contextlib.suppress(OSError):
        return sorted(name for name in os.listdir(_path(root)) if _NAME.fullmatch(name))
    return []


def result_path(root: str, name: str) -> str:
    return os.path.join(_path(root), name)


def load_results(root: str, last: int | None = None) -> Iterator[tuple[str, Json]]:
    """Each file with what it holds, the oldest run first (of the last so many); None for one that cannot be
    read."""
    yield from load_chosen(root, result_files(root)[-last if last else None :])


def latest_first(root: str) -> Iterator[tuple[str, Json]]:
    """The same from the other end, for whoever looks for one run."""
    yield from load_chosen(root, result_files(root)[::-1])


def load_chosen(root: str, chosen: list[str]) -> Iterator[tuple[str, Json]]:
    for name in chosen:
        shown = os.path.join(atomic.STATE_FOLDER, _RESULTS, name)
        try:
            yield shown, json.loads(read(root, shown, MAX_OUTPUT_BYTES))
        except (BaselinekitError, ValueError, RecursionError):
            yield shown, None


def _prune(root: str) -> set[str]:
    """Remove the oldest beyond what is kept. Another process may be faster."""
    room, gone = MOST_BYTES, set()
    for number, name in enumerate(reversed(result_files(root))):
        path = os.path.join(_path(root), name)
        with contextlib.suppress(OSError):
            room -= os.stat(path).st_size
            if number >= MOST_FILES or (room < 0 and number):
                os.unlink(path)
                gone.add(name)
    return gone


def _path(root: str) -> str:
    return os.path.join(root, atomic.STATE_FOLDER, _RESULTS)


# Which baselines did not pass when they were last compared, and which cases when they were last run:
# what `--lf` asks for.

COMPARED = os.path.join(atomic.STATE_FOLDER, "last-run.json")
TRIED = os.path.join(atomic.STATE_FOLDER, "last-evals.json")


def load_not_passed(root: str, file: str = COMPARED) -> frozenset[str]:
    """The ids; none when nobody has compared yet, or when what was kept cannot be read."""
    try:
        kept = load_json(decode(read(root, file, MAX_OUTPUT_BYTES), file).body, file)
    except BaselinekitError:
        return frozenset()
    return frozenset(id for id in kept if isinstance(id, str)) if isinstance(kept, list) else frozenset()


def remember_not_passed(root: str, report: Report, file: str = COMPARED) -> None:
    """Those of this run, and of earlier runs those that this one did not cover. State that cannot be kept
    (a read-only checkout) fails nothing."""
    covered = {result.id for result in report.results if result.outcome != "skipped"}
    failed = {result.id for result in report.results if result.outcome in ("failed", "error", "unscored")}
    ids = sorted((load_not_passed(root, file) - covered) | failed)
    try:
        atomic.state_folder(root)
        atomic.replace_file(root, file, json.dumps(ids).encode(), sync=False)
    except BaselinekitError:
        return


# What came back from a replay that failed, kept so that a refresh approves exactly what was seen.


if TYPE_CHECKING:  # where all passes, nothing is kept
    from baselinekit.model.changes import Seen

_PENDING = "pending"
_DEEPER = 2
"""Levels of nesting around an output."""


@cache
def pending_form() -> RecordForm[Seen]:
    from baselinekit.model.changes import Seen

    return RecordForm(
        Seen,
        **dict.fromkeys(("id", "recipe_hash", "compared_with", "captured_at"), TEXT),
        **dict.fromkeys(("environment", "observed"), Field(dict)),
        masked=paths(),
        unsettled=texts(),
        settled=texts(),
        troubles=texts(optional=True),  # which earlier versions did not write
        differing=placed(),
        variant=Field(int, type(None)),
        flaw=NULLABLE_TEXT,
        resolved=Field(),
    )


def save_pending(root: str, seen: Seen) -> None:
    """Keep it, in the place of what was kept before. It can be had again, so nothing waits for the disk. What
    would be too large to be read again is not kept at all."""
    name = pending_name(seen.id)
    atomic.state_folder(root, _PENDING)
    data = dump_json(pending_form().write(seen)).encode("utf-8")
    if len(data) > MAX_OUTPUT_BYTES:
        drop_pending(root, seen.id)
        what = f"what {seen.id} answered is larger than {MAX_OUTPUT_BYTES:,} bytes"
        raise NotRecorded(Problem("BK106", what, "make it answer with less"))
    atomic.replace_file(root, name, data, sync=False)


def load_pending(root: str, id: str) -> Seen | None:
    """What was kept, if anything was."""
    name = pending_name(id)
    if not os.path.lexists(os.path.join(root, name)):
        return None
    payload = load_json(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name, _DEEPER)
    reader = RecordReader()
    seen = pending_form().read(payload, (), reader)
    if seen is None or reader.problems or seen.id != id:
        hint = "remove it, and run baselinekit compare again"
        raise InvalidInput(Problem("BK111", f"{name} does not hold what a compare writes", hint))
    return seen


def pending_ids(root: str) -> frozenset[str]:
    """The ids of which something is kept."""
    try:
        names = os.listdir(os.path.join(root, atomic.STATE_FOLDER, _PENDING))
    except OSError:
        return frozenset()
    return frozenset(name.removesuffix(".json") for name in names if name.endswith(".json"))


def drop_pending(root: str, id: str) -> None:
    """Forget it: it is approved, or it passes again. State that cannot be touched fails nothing."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(root, pending_name(id)))


def pending_name(id: str) -> str:
    problems = list(check_id(id))
    if problems:
        raise InvalidInput(*problems)
    return os.path.join(atomic.STATE_FOLDER, _PENDING, f"{id}.json")


# Answers of models on file, one file each: `FOLDER/<model>/<name>.json`. A name begins with the key of
# its question, up to its first dot.


_MOST_COMPARED = 2_000


class Cassettes:
    """One folder of them. Inside the project it is named from its root, elsewhere by the operator alone."""

    def __init__(self, root: str, folder: str):
        self._root = root
        self._folder = name_in_project(root, os.path.join(root, folder))
        self._is_state = self._folder.split("/")[0] == atomic.STATE_FOLDER
        self._lock = threading.Lock()
        self._every: list[Json] | None = None
        self._names: dict[str, dict[str, list[str]]] = {}

    @property
    def name(self) -> str:
        return self._folder

    def find(self, model: str, key: str) -> Json:
        """The record, or None when there is none; InvalidInput when it cannot be read."""
        name = self._file(model, key)
        if not os.path.lexists(os.path.join(self._root, name)):
            return None
        return self._read(name)

    def keep(self, model: str, key: str, record: Json) -> None:
        """In the place of what was kept before. State can be had again: then nothing waits for the disk."""
        name = self._file(model, key)
        self._make(os.path.dirname(name))
        data = dump_json(record).encode("utf-8", "backslashreplace")
        atomic.replace_file(self._root, name, data, sync=not self._is_state)

    def names(self, model: str, key: str) -> list[str]:
        """The names that began with a key when this folder was first looked into."""
        with self._lock:
            if model not in self._names:
                found: dict[str, list[str]] = {}
                with suppress(OSError):
                    for file in sorted(os.listdir(os.path.join(self._root, self._folder, as_folder(model)))):
                        name, extension = os.path.splitext(file)
                        if extension == ".json":
                            found.setdefault(name.partition(".")[0], []).append(name)
                self._names[model] = found
            return self._names[model].get(key, [])

    def drop(self, model: str, name: str) -> None:
        """Forget a record. One that cannot be removed stays."""
        with suppress(OSError):
            os.unlink(os.path.join(self._root, self._file(model, name)))

    def every(self) -> list[Json]:
        """All records that can be read, up to a number: to tell what is nearest to one that is missing."""
        with self._lock:
            if self._every is None:
                self._every = self._load()
            return self._every

    def _load(self) -> list[Json]:
        found: list[Json] = []
        for folder, folders, files in os.walk(os.path.join(self._root, self._folder)):
            folders.sort()
            for file in sorted(files):
                if file.endswith(".json") and len(found) < _MOST_COMPARED:
                    try:
                        found.append(self._read(name_in_project(self._root, os.path.join(folder, file))))
                    except BaselinekitError:
                        continue
        return found

    def _read(self, name: str) -> Json:
        return load_json(decode(read(self._root, name, MAX_OUTPUT_BYTES), name).body, name)

    def _file(self, model: str, key: str) -> str:
        return os.path.join(self._folder, as_folder(model), f"{key}.json")

    def _make(self, folder: str) -> None:
        if self._is_state:
            atomic.state_folder(self._root, *folder.split("/")[1:])
            return
        try:
            os.makedirs(os.path.join(self._root, folder), exist_ok=True)
        except OSError as error:
            raise NotRecorded(cannot_write(folder, error)) from None


def as_folder(model: str) -> str:
    """The model's name where it is a name for a folder; else with what is not so encoded."""
    name = quote(model, safe=" ")[:100]
    return name if name.strip(".") else name.replace(".", "%2E") or "%"
