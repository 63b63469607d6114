"""What runs leave: reports where the operator wants them, earlier results, and what `--lf` asks for."""

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from hashlib import blake2b

from baselinekit.documents.jsontext import load_json
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

# Reports to where the operator wants them: whole, or not at all.


def write_text(path: str, text: str, root: str | None = None) -> None:
    """Write a text to a path that the operator named, from the project at `root`. Folders on the way are
    made; what is no regular file (a device, a pipe) is written to, not replaced."""
    data = text.encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if _is_special(target):
            with open(target, "wb", buffering=0) as file:
                file.write(data)
            return
    except OSError as error:
        raise NotRecorded(cannot_write(path, error)) from None
    atomic.replace_anywhere(target, path, data, root)


def check_place(path: str) -> None:
    """Refuse a path that no text can be written to, before anybody pays for what is to stand there. It is
    tried, for a mode says nothing of a read-only disk. A disk that is full now may not be so later."""
    target = os.path.realpath(path)
    try:
        if _is_special(target):
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


def _is_special(target: str) -> bool:
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

_FOLDER = "results"
_NAME = re.compile(r"([0-9TZ]{16})-([0-9]{4})-([0-9a-f]{12})\.json")


def keep(root: str, started: str, data: bytes) -> bool:
    """Keep the results of a run, named by when it started, how many did in that second, and what they are:
    the same ones twice are kept once. False: they are older than all that there is room for. They can be lost
    in a power cut."""
    second, digest = re.sub("[^0-9TZ]", "", started), blake2b(data, digest_size=6).hexdigest()
    beside = [match for name in names(root) if (match := _NAME.fullmatch(name)) and match[1] == second]
    if any(match[3] == digest for match in beside):
        return True
    number = max((int(match[2]) for match in beside), default=0) + 1
    name = f"{second}-{number:04}-{digest}.json"
    atomic.state_folder(root, _FOLDER)
    atomic.replace_file(root, os.path.join(atomic.STATE_FOLDER, _FOLDER, name), data, sync=False)
    return name not in _prune(root)


def names(root: str) -> list[str]:
    """The files, the oldest run first."""
    with contextlib.suppress(OSError):
        return sorted(name for name in os.listdir(_path(root)) if _NAME.fullmatch(name))
    return []


def place(root: str, name: str) -> str:
    return os.path.join(_path(root), name)


def load_all(root: str, last: int | None = None) -> Iterator[tuple[str, Json]]:
    """Each file with what it holds, the oldest run first (of the last so many); None for one that cannot be
    read."""
    yield from _loaded(root, names(root)[-last if last else None :])


def latest_first(root: str) -> Iterator[tuple[str, Json]]:
    """The same from the other end, for whoever looks for one run."""
    yield from _loaded(root, names(root)[::-1])


def _loaded(root: str, chosen: list[str]) -> Iterator[tuple[str, Json]]:
    for name in chosen:
        shown = os.path.join(atomic.STATE_FOLDER, _FOLDER, name)
        try:
            yield shown, json.loads(read(root, shown, MAX_OUTPUT_BYTES))
        except (BaselinekitError, ValueError, RecursionError):
            yield shown, None


def _prune(root: str) -> set[str]:
    """Remove the oldest beyond what is kept. Another process may be faster."""
    room, gone = MOST_BYTES, set()
    for number, name in enumerate(reversed(names(root))):
        path = os.path.join(_path(root), name)
        with contextlib.suppress(OSError):
            room -= os.stat(path).st_size
            if number >= MOST_FILES or (room < 0 and number):
                os.unlink(path)
                gone.add(name)
    return gone


def _path(root: str) -> str:
    return os.path.join(root, atomic.STATE_FOLDER, _FOLDER)


# Which baselines did not pass when they were last compared, and which cases when they were last run:
# what `--lf` asks for.

COMPARED = os.path.join(atomic.STATE_FOLDER, "last-run.json")
TRIED = os.path.join(atomic.STATE_FOLDER, "last-evals.json")


def not_passed(root: str, file: str = COMPARED) -> frozenset[str]:
    """The ids; none when nobody has compared yet, or when what was kept cannot be read."""
    try:
        kept = load_json(decode(read(root, file, MAX_OUTPUT_BYTES), file).body, file)
    except BaselinekitError:
        return frozenset()
    return frozenset(id for id in kept if isinstance(id, str)) if isinstance(kept, list) else frozenset()


def remember(root: str, report: Report, file: str = COMPARED) -> None:
    """Those of this run, and of earlier runs those that this one did not cover. State that cannot be kept
    (a read-only checkout) fails nothing."""
    covered = {result.id for result in report.results if result.outcome != "skipped"}
    failed = {result.id for result in report.results if result.outcome in ("failed", "error", "unscored")}
    ids = sorted((not_passed(root, file) - covered) | failed)
    try:
        atomic.state_folder(root)
        atomic.replace_file(root, file, json.dumps(ids).encode(), sync=False)
    except BaselinekitError:
        return
