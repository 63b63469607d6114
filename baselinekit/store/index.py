"""`.baselinekit/index.json`: what a run that is about a few baselines has to know of all the others (their
ids, names and tags), so that it need not read their files.

It is never trusted over a file. What it says of one counts only while the file's size, times and number are
those that it had when it was read, and only for a file that the run does not read; it says nothing of a file
in which anything was wrong. Nobody misses it where it cannot be written."""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from baselinekit import __version__
from baselinekit.errors import BaselinekitError
from baselinekit.model.baselines import Entry, Source
from baselinekit.store import atomic
from baselinekit.store.discovery import Discovery, Stamp, stamp_of
from baselinekit.store.project import read
from baselinekit.store.records import beside

FILE = os.path.join(atomic.STATE_FOLDER, "index.json")
_MOST_BYTES = 512_000_000
TICK = 2_000_000_000
"""Nanoseconds within which some file system may give two contents of a file the same time."""


class KnownEntry(NamedTuple):
    """What selects a baseline, and what tells its content."""

    id: str
    name: str | None
    tags: Sequence[str]
    content: str

    def entry(self, file: str) -> Entry:
        return Entry(self.id, self.name, self.tags, Source(file), "", None, self.content, 0)


_Row = list[Any]
"""Of a file: its stamp, its entries, and the stamps of the outputs beside it by their paths."""


def _is_sound(row: _Row) -> bool:
    """Whether it is one that `keep` writes: somebody else may have put it there, or half of it."""
    match row:
        case [_, _, _, _, list(entries), dict()]:
            return all(isinstance(one, list) and len(one) == 4 and _is_entry(*one) for one in entries)
    return False


def _is_entry(known_id: Any, name: Any, tags: Any, content: Any) -> bool:
    return (
        isinstance(known_id, str)
        and (name is None or isinstance(name, str))
        and isinstance(tags, list)
        and all(isinstance(tag, str) for tag in tags)
        and isinstance(content, str)
    )


class FileIndex:
    """What is known of files by their names, as it was read from the state folder."""

    def __init__(self, root: str, tick: int = TICK):
        self._root = root
        self._tick = tick
        self._rows: dict[str, _Row] = {}
        with suppress(BaselinekitError, ValueError, RecursionError, AttributeError):
            kept = json.loads(read(root, FILE, _MOST_BYTES))
            if kept.get("version") == __version__ and isinstance(kept.get("files"), dict):
                self._rows = kept["files"]

    def known(self, found: Discovery) -> dict[str, list[KnownEntry]]:
        """What stands in those of the files that are as they were."""
        known: dict[str, list[KnownEntry]] = {}
        rows = self._rows
        for file in found.files if rows else ():
            row = rows.get(file)
            stamp = found.stamp(file) if row else None
            if stamp is None or not isinstance(row, list) or [*stamp] != row[:4] or not _is_sound(row):
                continue
            if row[5] and any([*(stamp_of(path) or ())] != then for path, then in row[5].items()):
                continue
            known[file] = [KnownEntry(*stated) for stated in row[4]]
        return known

    @property
    def files(self) -> Collection[str]:
        """All of which anything is known, be it so still or not."""
        return self._rows.keys()

    def begin(self) -> int | None:
        """The time by the clock of the file system, from which a new index can tell which files are too young
        to be known by their times. None: nothing can be written here."""
        try:
            path = os.path.join(atomic.state_folder(self._root), os.path.basename(FILE))
            if stamp_of(path) is None:
                atomic.replace_file(self._root, FILE, b"{}", sync=False)
            os.utime(path, follow_symlinks=False)
            return os.lstat(path).st_mtime_ns
        except (BaselinekitError, OSError):
            return None

    def keep(
        self, now: int, stamps: Mapping[str, Stamp | None], entries: Iterable[Entry], known: Collection[str]
    ) -> None:
        """Write what was read since `now` of the files with these stamps, beside what is `known` still. Of
        what is as young as the clock's tick it is not known whether it was written since."""
        rows: dict[str, _Row] = {
            file: [*stamp, [], {}]
            for file, stamp in stamps.items()
            if stamp is not None and self._is_old(stamp, now)
        }
        for entry in entries:
            file = entry.source.file
            if file in rows:
                rows[file][4].append([entry.id, entry.name, [*entry.tags], entry.content])
                rows[file][5] |= {path: stamp_of(path) for path in self._outputs(entry)}
        for file, row in [*rows.items()]:
            if not row[4] or not all(
                stamp is not None and self._is_old(stamp, now) for stamp in row[5].values()
            ):
                del rows[file]
        rows |= {file: self._rows[file] for file in known if file not in stamps and file in self._rows}
        data = json.dumps({"version": __version__, "files": rows}, separators=(",", ":")).encode()
        with suppress(BaselinekitError):
            atomic.replace_file(self._root, FILE, data, sync=False)

    def _outputs(self, entry: Entry) -> list[str]:
        return [os.path.join(*beside(self._root, entry.source.file, name)) for name in entry.outputs]

    def _is_old(self, stamp: Stamp, now: int) -> bool:
        return max(stamp[1:3]) < now - self._tick
