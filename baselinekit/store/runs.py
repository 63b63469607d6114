"""The results of earlier runs, one file each in `.baselinekit/results/`; of too many the oldest go.

There is no index: 200 files of 1,000 results each are read in less than two seconds, those of a usual project
in a few hundredths, and what is not there cannot be out of date."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from hashlib import blake2b

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.store import atomic, state
from baselinekit.store.files import MAX_OUTPUT_BYTES, read

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
    state.folder(root, _FOLDER)
    atomic.replace_file(root, os.path.join(state.NAME, _FOLDER, name), data, sync=False)
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
        shown = os.path.join(state.NAME, _FOLDER, name)
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
    return os.path.join(root, state.NAME, _FOLDER)
