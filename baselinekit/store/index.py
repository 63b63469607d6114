"""`.baselinekit/index.json`: the ids, names and tags of all baselines, so that a run for a few of them need
not read the files of the others.

It is never trusted over a file. An entry counts only while the file's size, times and inode number are the
same as when it was read, and only for a file that the run does not read. Files with errors are not in it. If
it cannot be written, nothing else changes."""

import json
import os
import struct
from binascii import a2b_base64, b2a_base64
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from functools import partial
from itertools import chain, compress
from typing import Any, NamedTuple, TypeGuard, TypeVar

from baselinekit import __version__
from baselinekit.errors import BaselinekitError
from baselinekit.model.baselines import Entry, Source
from baselinekit.store import atomic
from baselinekit.store.discovery import Discovery, Stamp, stamp_of
from baselinekit.store.project import read
from baselinekit.store.record import RecordedFile
from baselinekit.store.records import bytes_digest, output_location

FILE = atomic.INDEX
_MAX_BYTES = 512_000_000
TICK = 2_000_000_000
"""Nanoseconds within which some file systems give two contents of a file the same time."""

_STAMP = struct.Struct("<4q")


class KnownEntry(NamedTuple):
    """What a baseline is selected by, and the digest of its content."""

    id: str
    name: str | None
    tags: Sequence[str]
    content: str

    def entry(self, file: str) -> Entry:
        return Entry(self.id, self.name, self.tags, Source(file), "", None, self.content, 0)


Outputs = Mapping[str, Stamp | None]
"""The stamps of the output files of a file, by their paths."""


class IndexColumns:
    """The index in memory and on disk: one list per attribute of the files and of their entries. For 100,000
    files it loads five times as fast as one object per entry."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.stamps = bytearray()
        self.outputs: dict[str, Outputs] = {}
        self.ids: list[str] = []
        self.names: list[str | None] = []
        self.tags: list[Sequence[str]] = []
        self.contents: list[str] = []
        self.file_numbers: list[int] = []
        """For each entry the number of its file. The entries of a file are consecutive."""

    def add(self, file: str, stamp: Stamp, entries: Iterable[KnownEntry], outputs: Outputs) -> None:
        for entry in entries:
            self.file_numbers.append(len(self.files))
            self.ids.append(entry.id)
            self.names.append(entry.name)
            self.tags.append(entry.tags)
            self.contents.append(entry.content)
        self.files.append(file)
        self.stamps += _STAMP.pack(*stamp)
        if outputs:
            self.outputs[file] = outputs

    def each_file(self) -> Iterator[tuple[int, str, Stamp]]:
        return zip(range(len(self.files)), self.files, _STAMP.iter_unpack(self.stamps), strict=True)

    def each_entry(self) -> Iterator[KnownEntry]:
        rows = zip(self.ids, self.names, self.tags, self.contents, strict=True)
        return map(
            partial(tuple.__new__, KnownEntry), rows
        )  # the same as KnownEntry(*row), in a third of the time

    def entries(self, number: int) -> list[KnownEntry]:
        """Return the entries of one file."""
        part = slice(bisect_left(self.file_numbers, number), bisect_right(self.file_numbers, number))
        return [*map(KnownEntry, self.ids[part], self.names[part], self.tags[part], self.contents[part])]

    def to_json(self) -> bytes:
        tag_numbers: dict[tuple[str, ...], int] = {}
        entry_tags = [tag_numbers.setdefault(tuple(tags), len(tag_numbers)) for tags in self.tags]
        stamps = b2a_base64(self.stamps, newline=False).decode()
        document: dict[str, Any] = {"version": __version__, "files": self.files, "stamps": stamps}
        document |= {"outputs": self.outputs, "ids": self.ids, "names": self.names, "contents": self.contents}
        document |= {"of": self.file_numbers, "tags": [*tag_numbers], "tagged": entry_tags}
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "IndexColumns":
        """Load what `to_json` wrote; empty if it is from another version of this package."""
        loaded: dict[str, Any] = json.loads(data)
        columns = cls()
        if loaded["version"] != __version__:
            return columns
        columns.files, columns.file_numbers = loaded["files"], loaded["of"]
        columns.outputs = {
            file: {
                path: (size, written, changed, inode)
                for path, (size, written, changed, inode) in outputs.items()
            }
            for file, outputs in loaded["outputs"].items()
        }
        columns.ids, columns.names, columns.contents = loaded["ids"], loaded["names"], loaded["contents"]
        columns.stamps = bytearray(a2b_base64(loaded["stamps"]))
        columns.tags = [*map(loaded["tags"].__getitem__, loaded["tagged"])]
        if not columns.are_sound():
            raise ValueError
        return columns

    def are_sound(self) -> bool:
        """Whether the columns could come from `to_json`: something else may have written or damaged the
        file."""
        of_entries: list[Sized] = [self.ids, self.names, self.contents, self.tags]
        texts = chain(self.files, self.ids, self.contents, chain.from_iterable(self.tags))
        return (
            {*map(type, [*of_entries, self.files, self.file_numbers])} == {list}
            and {*map(len, of_entries)} == {len(self.file_numbers)}
            and len(self.stamps) == len(self.files) * _STAMP.size
            and {*map(type, texts)} <= {str}
            and {*map(type, self.names)} <= {str, type(None)}
            and {*map(type, self.tags)} <= {list}
            and {*map(type, self.file_numbers)} <= {int}
            and self.file_numbers == sorted(self.file_numbers)
            and (
                not self.file_numbers
                or (self.file_numbers[0] >= 0 and self.file_numbers[-1] < len(self.files))
            )
        )


Item = TypeVar("Item")


class KnownFiles(Mapping[str, list[KnownEntry]]):
    """The entries of the files that are unchanged."""

    def __init__(self, columns: IndexColumns, numbers: Mapping[str, int]):
        self._columns = columns
        self._numbers = numbers

    def __getitem__(self, file: str) -> list[KnownEntry]:
        return self._columns.entries(self._numbers[file])

    def __contains__(self, file: object) -> bool:
        return file in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def each(self) -> Iterator[tuple[str, KnownEntry]]:
        """Yield each entry with its file. No entry is kept in memory."""
        return self._select(zip(self._files(), self._columns.each_entry(), strict=True))

    def ids(self, without: Collection[str]) -> list[str]:
        """Return the ids in all files but those in `without`."""
        pairs = self._select(zip(self._files(), self._columns.ids, strict=True))
        return [id for file, id in pairs if file not in without]

    def _files(self) -> Iterator[str]:
        return map(self._columns.files.__getitem__, self._columns.file_numbers)

    def _select(self, column: Iterable[Item]) -> Iterator[Item]:
        return compress(column, map({*self._numbers.values()}.__contains__, self._columns.file_numbers))


class FileIndex:
    """What is known about files, by their names, as read from the state folder."""

    def __init__(self, root: str, tick: int = TICK):
        self._root = root
        self._tick = tick
        self._columns = IndexColumns()
        with suppress(BaselinekitError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
            self._columns = IndexColumns.from_json(read(root, FILE, _MAX_BYTES))

    def known(self, discovery: Discovery) -> KnownFiles:
        """Return the entries of the files that are unchanged."""
        numbers = {file: number for number, file in discovery.unchanged(self._columns.each_file())}
        for file, outputs in self._columns.outputs.items():
            if any(stamp_of(path) != old_stamp for path, old_stamp in outputs.items()):
                numbers.pop(file, None)
        return KnownFiles(self._columns, numbers)

    @property
    def files(self) -> Collection[str]:
        """All files in the index, unchanged or not."""
        return self._columns.files

    def begin(self) -> int | None:
        """Return the time by the clock of the file system, which `keep` needs to leave out files that are too
        young to be recognised by their times. None if nothing can be written here."""
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
        """Write the entries read from files with these stamps since `now`, and those of files that are still
        `known`. Files as young as one tick of the clock are left out: they may change without a new stamp."""
        entries_by_file: dict[str, list[Entry]] = {}
        for entry in entries:
            entries_by_file.setdefault(entry.source.file, []).append(entry)
        columns, old_columns = IndexColumns(), self._columns
        for file, stamp in stamps.items():
            file_entries = entries_by_file.get(file)
            if not file_entries or not self._is_old(stamp, now):
                continue
            paths = [
                os.path.join(*output_location(self._root, entry.source.file, name))
                for entry in file_entries
                for name in entry.outputs
            ]
            outputs = {path: stamp_of(path) for path in paths}
            if all(self._is_old(stamp, now) for stamp in outputs.values()):
                known_entries = [
                    KnownEntry(entry.id, entry.name, entry.tags, entry.content) for entry in file_entries
                ]
                columns.add(file, stamp, known_entries, outputs)
        for number, file, old_stamp in old_columns.each_file():
            if file in known and file not in stamps:
                columns.add(file, old_stamp, old_columns.entries(number), old_columns.outputs.get(file, {}))
        self._write(columns)

    def renew(self, rewritten: Iterable[RecordedFile]) -> None:
        """Update the stamps of files in which a run has only changed the record. A file counts only if the
        index knew it as it was before, and if it now holds what the run has written."""
        by_name, renewed = {record.file: record for record in rewritten}, False
        now = self.begin() if by_name and self._columns.files else None
        for number, file, old_stamp in self._columns.each_file() if now is not None else ():
            record = by_name.get(file)
            if now is None or record is None or record.stamp != old_stamp:
                continue
            stamp = stamp_of(os.path.join(self._root, file))
            with suppress(BaselinekitError):
                if self._is_old(stamp, now) and bytes_digest(read(self._root, file)) == record.digest:
                    _STAMP.pack_into(self._columns.stamps, number * _STAMP.size, *stamp)
                    renewed = True
        if renewed:
            self._write(self._columns)

    def _write(self, columns: IndexColumns) -> None:
        with suppress(BaselinekitError):
            atomic.replace_file(self._root, FILE, columns.to_json(), sync=False)

    def _is_old(self, stamp: Stamp | None, now: int) -> TypeGuard[Stamp]:
        return stamp is not None and max(stamp[1:3]) < now - self._tick
