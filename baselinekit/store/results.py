"""Files that runs write: reports, and in `.baselinekit/` results and answers that failed."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem
from baselinekit.files.jsontext import dump_json, load_json
from baselinekit.files.text import decode
from baselinekit.lazy import lazy_pattern
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.schema import read_as
from baselinekit.store import atomic
from baselinekit.store.dialects.native import check_id
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.structs import plain

# Reports, written whole or not at all, to where the user wants them.


def write_text(path: str, text: str) -> None:
    """Write a text to a path that the user named. Missing folders are created. What is not a regular
    file (a device, a pipe) is written to, not replaced."""
    data = text.encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    with atomic.reporting(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if is_special(target):
            with open(target, "wb", buffering=0) as file:
                file.write(data)
            return
    atomic.replace_anywhere(target, path, data)


def check_place(path: str) -> None:
    """Refuse a path that cannot be written to, before a run is paid for. It is tried out, since a mode does
    not show that a disk is read-only."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        with atomic.reporting(path):
            if is_special(target):
                return
            while not os.path.lexists(folder):
                folder = os.path.dirname(folder)
        atomic.try_folder(folder, path)
    except NotRecorded as error:
        hint = "name a file in a folder that you may write"
        raise InvalidInput(*(problem._replace(hint=hint) for problem in error.problems)) from None


def append_text(path: str, text: str) -> None:
    """Append to a file that others also write to, such as the summary of a CI step, with a single write."""
    with atomic.reporting(path), open(path, "ab", buffering=0) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def is_special(target: str) -> bool:
    with suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise NotRecorded(Problem("BK120", f"{target} is a folder", "name a file in it"))
        return not stat.S_ISREG(mode)
    return False


# The results of earlier runs, one file each in `.baselinekit/results/`; the oldest are removed if there are
# too many. There is no index, which could be out of date: reading 200 files of 1,000 results each takes three
# seconds, reading those of an ordinary project a tenth of one.

MOST_FILES = 200

_RESULTS = "results"
_NAME = lazy_pattern(r"([0-9TZ]{16})-([0-9]{4})-([0-9a-f]{12})\.json")


def keep_results(root: str, started: str, data: bytes) -> bool:
    """Keep the results of a run. The file is named after the start of the run, a number within that second,
    and a digest: equal results are kept once. False if they are older than all that there is room for. They
    may be lost in a power cut."""
    second, digest = re.sub("[^0-9TZ]", "", started), blake2b(data, digest_size=6).hexdigest()
    matches = map(_NAME.fullmatch, result_files(root))
    same_second = [match for match in matches if match and match[1] == second]
    if any(match[3] == digest for match in same_second):
        return True
    number = max((int(match[2]) for match in same_second), default=0) + 1
    name = f"{second}-{number:04}-{digest}.json"
    atomic.write_state(root, results_path(name), data)
    return name not in _prune(root)


def result_files(root: str) -> list[str]:
    """Return the names of the files, the oldest run first."""
    with suppress(OSError):
        return sorted(name for name in os.listdir(_results_folder(root)) if _NAME.fullmatch(name))
    return []


def results_path(name: str) -> str:
    return os.path.join(atomic.STATE_FOLDER, _RESULTS, name)


def load_results(root: str, names: Sequence[str] | None = None) -> Iterator[tuple[str, Json]]:
    """Yield each file (or only those with these names) with its contents, the oldest run first; None as the
    contents of a file that cannot be read."""
    for name in result_files(root) if names is None else names:
        path = results_path(name)
        try:
            yield path, json.loads(read(root, path, MAX_OUTPUT_BYTES))
        except (BaselinekitError, ValueError, RecursionError):
            yield path, None


def _prune(root: str) -> set[str]:
    """Remove the oldest files beyond the limit, and return their names. Another process may remove them
    first."""
    removed = result_files(root)[:-MOST_FILES]
    for name in removed:
        with suppress(OSError):
            os.unlink(os.path.join(_results_folder(root), name))
    return set(removed)


def _results_folder(root: str) -> str:
    return os.path.join(root, atomic.STATE_FOLDER, _RESULTS)


# Which baselines did not pass when they were last compared, and which cases when they were last run, for
# `--lf`.

COMPARED = os.path.join(atomic.STATE_FOLDER, "last-run.json")
TRIED = os.path.join(atomic.STATE_FOLDER, "last-evals.json")


def load_not_passed(root: str, file: str = COMPARED) -> frozenset[str]:
    """Return the ids; none if nothing was compared yet, or if the file cannot be read."""
    try:
        ids = load_json(decode(read(root, file, MAX_OUTPUT_BYTES), file).body, file)
    except BaselinekitError:
        return frozenset()
    return frozenset(id for id in ids if isinstance(id, str)) if isinstance(ids, list) else frozenset()


def remember_not_passed(root: str, report: Report, file: str = COMPARED) -> None:
    """Keep the ids that did not pass in this run, and those of earlier runs that this one did not cover. What
    an interrupted run did not come to has not passed, so that the next one goes on with it. If they cannot be
    written (a read-only checkout), nothing fails."""
    covered = {result.id for result in report.results if result.outcome != "skipped"}
    failed = {result.id for result in report.results if result.outcome in ("failed", "error", "unscored")}
    if report.interrupted:
        failed |= {result.id for result in report.results if result.verdict == "limit"}
    ids = sorted((load_not_passed(root, file) - covered) | failed)
    with suppress(BaselinekitError):
        atomic.write_state(root, file, json.dumps(ids).encode())


# The answers of replays that failed, kept so that a refresh approves exactly what was seen.


if TYPE_CHECKING:  # not imported at run time: if everything passes, nothing is kept
    from baselinekit.model.changes import KeptOutput

_PENDING = "pending"
_ACCEPTED = "accepted"
_EXTRA_DEPTH = 2
"""Levels of nesting that the file adds around an output."""


def save_pending(root: str, seen: KeptOutput) -> None:
    """Keep an answer, and replace an earlier one. It is not synced, since it can be reproduced. An answer
    that would be too large to read again is not kept."""
    data = dump_json(plain(seen)).encode("utf-8")
    if len(data) > MAX_OUTPUT_BYTES:
        drop_pending(root, seen.id)
        message = f"what {seen.id} answered is larger than {MAX_OUTPUT_BYTES:,} bytes"
        raise NotRecorded(Problem("BK106", message, "make it answer with less"))
    atomic.write_state(root, pending_name(seen.id), data)


def load_pending(root: str, id: str) -> KeptOutput | None:
    """Return the kept answer, if there is one."""
    name = pending_name(id)
    if not os.path.lexists(os.path.join(root, name)):
        return None
    payload = load_json(decode(read(root, name, MAX_OUTPUT_BYTES), name).body, name, _EXTRA_DEPTH)
    from baselinekit.model.changes import KeptOutput

    seen, _ = read_as(KeptOutput, payload)
    if seen is None or seen.id != id or seen.origin != "kept":
        hint = "remove it, and run baselinekit compare again"
        raise InvalidInput(Problem("BK111", f"{name} does not hold what a compare writes", hint))
    return seen


def pending_ids(root: str) -> frozenset[str]:
    """Return the ids that have a kept answer."""
    try:
        names = os.listdir(os.path.join(root, atomic.STATE_FOLDER, _PENDING))
    except OSError:
        return frozenset()
    return frozenset(name.removesuffix(".json") for name in names if name.endswith(".json"))


def drop_pending(root: str, id: str) -> None:
    """Remove the kept answer: it was approved, or the baseline passes again. Ignores errors."""
    with suppress(OSError):
        os.unlink(os.path.join(root, pending_name(id)))


def mark_accepted(root: str, id: str) -> None:
    """Drop the kept answer, and remember that it was approved until the next compare. Ignores errors."""
    drop_pending(root, id)
    with suppress(BaselinekitError):
        atomic.write_state(root, _accepted_name(id), b"")


def is_accepted(root: str, id: str) -> bool:
    return os.path.lexists(os.path.join(root, _accepted_name(id)))


def drop_accepted(root: str, id: str) -> None:
    """Forget that an answer was approved: it was compared since. Ignores errors."""
    with suppress(OSError):
        os.unlink(os.path.join(root, _accepted_name(id)))


def _accepted_name(id: str) -> str:
    return os.path.join(atomic.STATE_FOLDER, _ACCEPTED, id)


def pending_name(id: str) -> str:
    problems = list(check_id(id))
    if problems:
        raise InvalidInput(*problems)
    return os.path.join(atomic.STATE_FOLDER, _PENDING, f"{id}.json")
