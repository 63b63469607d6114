"""Answers of models on file, one file each: `FOLDER/<model>/<name>.json`. A name begins with the key of its
question, up to its first dot."""

import os
import shutil
import threading
from contextlib import suppress
from urllib.parse import quote

from baselinekit.documents.jsontext import dump_json, load_json
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, NotRecorded
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.store.atomic import cannot_write
from baselinekit.store.files import MAX_OUTPUT_BYTES, read, shown

_MOST_COMPARED = 2_000


class Cassettes:
    """One folder of them. Inside the project it is named from its root, elsewhere by the operator alone."""

    def __init__(self, root: str, folder: str):
        self._root = root
        self._folder = shown(root, os.path.join(root, folder))
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
                self._names[model] = self._listed(os.path.join(self._folder, _as_folder(model)))
            return self._names[model].get(key, [])

    def drop(self, model: str, name: str) -> None:
        """Forget a record. One that cannot be removed stays."""
        with suppress(OSError):
            os.unlink(os.path.join(self._root, self._file(model, name)))

    def _listed(self, folder: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        with suppress(OSError):
            for file in sorted(os.listdir(os.path.join(self._root, folder))):
                name, extension = os.path.splitext(file)
                if extension == ".json":
                    found.setdefault(name.partition(".")[0], []).append(name)
        return found

    def clear(self) -> None:
        """Forget what is kept in the state folder, unless a checkout has put a link in its place."""
        folder = os.path.join(self._root, self._folder)
        if self._is_state and not os.path.islink(os.path.join(self._root, atomic.STATE_FOLDER)):
            shutil.rmtree(folder, ignore_errors=True)

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
                        found.append(self._read(shown(self._root, os.path.join(folder, file))))
                    except BaselinekitError:
                        continue
        return found

    def _read(self, name: str) -> Json:
        return load_json(decode(read(self._root, name, MAX_OUTPUT_BYTES), name).body, name)

    def _file(self, model: str, key: str) -> str:
        return os.path.join(self._folder, _as_folder(model), f"{key}.json")

    def _make(self, folder: str) -> None:
        if self._is_state:
            atomic.state_folder(self._root, *folder.split("/")[1:])
            return
        try:
            os.makedirs(os.path.join(self._root, folder), exist_ok=True)
        except OSError as error:
            raise NotRecorded(cannot_write(folder, error)) from None


def _as_folder(model: str) -> str:
    """The model's name where it is a name for a folder; else with what is not so encoded."""
    name = quote(model, safe=" ")[:100]
    return name if name.strip(".") else name.replace(".", "%2E") or "%"
