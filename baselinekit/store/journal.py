"""Journals: what a run has finished or paid for so far, written at once, so that a killed run can continue
where it was. And cassettes: recorded answers of models, which are given again.

`.baselinekit/journal/<key>.jsonl`: a line for each attempt, or for each answer of a model. A line that was
torn by a crash, and everything after it, is ignored. The writer of a journal holds its lock, which the system
releases when the process ends."""

import fcntl
import os
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from baselinekit.errors import CannotReplay, Problem
from baselinekit.files.jsontext import (
    MAX_DEPTH,
    NotJson,
    decode as decode_json,
    dump_json,
    load_json,
    to_bytes,
)
from baselinekit.files.text import decode
from baselinekit.kinds.files import without_following
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.project import MAX_OUTPUT_BYTES, name_in_project, read

_FOLDER = "journal"
_EXTRA_DEPTH = 16
"""Levels of nesting that an entry adds around an output."""

_MAX_JOURNALS = 20


def name_of(*parts: str) -> str:
    """Return a key made of everything that has to be equal for two runs to count as the same."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Journal:
    """The journal of one run. Any thread may add lines."""

    def __init__(self, root: str, key: str):
        self._name = os.path.join(atomic.STATE_FOLDER, _FOLDER, f"{key}.jsonl")
        self._path = os.path.join(atomic.state_folder(root, _FOLDER), f"{key}.jsonl")
        self._lock = threading.Lock()
        self._handle = self._open_locked()
        _remove_old_journals(os.path.dirname(self._path))

    def begin(self, go_on: bool) -> list[Json]:
        """Return the entries of an earlier run if this one continues it; else empty the journal."""
        entries, size = _whole_lines(self._path) if go_on else ([], 0)
        os.ftruncate(self._handle, size)
        return entries

    def add(self, entry: Json) -> None:
        """Write one line, before its result is used."""
        with self._lock:
            atomic.append(self._handle, self._name, to_bytes(entry) + b"\n")

    def forget(self) -> None:
        """Delete the journal: the run is done, so there is nothing to continue."""
        with suppress(OSError):
            os.unlink(self._path)

    def close(self) -> None:
        os.close(self._handle)

    def _open_locked(self) -> int:
        handle = atomic.open_log(self._path, self._name, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            message = "another run of the same cases is under way"
            hint = "wait until it has finished, or stop it first"
            raise CannotReplay(Problem("BK121", message, hint)) from None
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # the run that held it has just finished, and deleted it
        return self._open_locked()


def _whole_lines(path: str) -> tuple[list[Json], int]:
    """Return the entries before the first line that is not whole, and their size."""
    entries: list[Json] = []
    size = 0
    with suppress(OSError, NotJson, UnicodeDecodeError), open(path, "rb", opener=without_following) as file:
        for line in file:
            if line.endswith(b"\n"):
                entries.append(decode_json(line.decode("utf-8"), MAX_DEPTH + _EXTRA_DEPTH))
                size += len(line)
    return entries, size


def _remove_old_journals(folder: str) -> None:
    with suppress(OSError):  # another process may remove them first
        files = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for file in files[:-_MAX_JOURNALS]:
            os.unlink(file)


class AnswerJournal:
    """The answers that models gave to one run, so that a continued run asks for none of them again. It keeps
    them by their names, as a cassette does. CannotReplay if another run of the same cases is under way.
    `read_only` is for a worker process, whose parent locks and writes the journal."""

    def __init__(self, root: str, key: str, go_on: bool, read_only: bool = False):
        self._known: dict[tuple[str, str], Json] = {}
        self._journal = None if read_only else Journal(root, f"{key}-1")
        if self._journal is not None:
            entries = self._journal.begin(go_on)
        else:
            entries = _whole_lines(answers_file(root, key))[0] if go_on else []
        for entry in entries:
            if isinstance(entry, dict) and entry.keys() == {"model", "name", "record"}:
                self._known[entry["model"], entry["name"]] = entry["record"]

    @property
    def name(self) -> str:
        return os.path.join(atomic.STATE_FOLDER, _FOLDER)

    def find(self, model: str, key: str) -> Json:
        """The record, or None when there is none."""
        return self._known.get((model, key))

    def keep(self, model: str, key: str, record: Json) -> None:
        """Append an answer. NotRecorded if it cannot be written."""
        if self._journal is not None:
            self._journal.add({"model": model, "name": key, "record": record})

    def names(self, model: str, key: str) -> list[str]:
        return []

    def drop(self, model: str, name: str) -> None:
        """Do nothing: answers stay in a journal, and a later one overrides them."""

    def forget(self) -> None:
        if self._journal is not None:
            self._journal.forget()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


def answers_file(root: str, key: str) -> str:
    return os.path.join(root, atomic.STATE_FOLDER, _FOLDER, f"{key}-1.jsonl")


# Recorded answers of models, one file each: `FOLDER/<model>/<name>.json`. A name starts with the key of its
# question, up to its first dot.


class Cassettes:
    """A folder of recorded answers. Inside the project it is named relative to the root; only the user may
    name one elsewhere."""

    def __init__(self, root: str, folder: str):
        self._root = root
        self._folder = name_in_project(root, os.path.join(root, folder))
        self._is_state = self._folder.split("/")[0] == atomic.STATE_FOLDER

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
        """Keep a record, and replace an earlier one. In the state folder it is not synced, since it can be
        reproduced."""
        name, data = self._file(model, key), dump_json(record).encode("utf-8", "backslashreplace")
        if self._is_state:
            atomic.write_state(self._root, name, data)
            return
        with atomic.reporting(os.path.dirname(name)):
            os.makedirs(os.path.join(self._root, os.path.dirname(name)), exist_ok=True)
        atomic.replace_file(self._root, name, data)

    def names(self, model: str, key: str) -> list[str]:
        """Return the names that start with a key."""
        files = Path(self._root, self._folder, as_folder(model)).glob(f"{key}*.json")
        return sorted(file.stem for file in files if file.stem.partition(".")[0] == key)

    def drop(self, model: str, name: str) -> None:
        """Remove a record. Ignores errors."""
        with suppress(OSError):
            os.unlink(os.path.join(self._root, self._file(model, name)))

    def _read(self, name: str) -> Json:
        return load_json(decode(read(self._root, name, MAX_OUTPUT_BYTES), name).body, name)

    def _file(self, model: str, key: str) -> str:
        return os.path.join(self._folder, as_folder(model), f"{key}.json")


def as_folder(model: str) -> str:
    """Return a model's name as the name of a folder, with unsuitable characters percent-encoded."""
    name = quote(model, safe=" ")[:100]
    return name if name.strip(".") else name.replace(".", "%2E") or "%"
