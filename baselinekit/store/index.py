"""`.baselinekit/index.json`: what a run that is about a few baselines has to know of all the others (their
ids, names and tags), so that it need not read their files.

It is never trusted over a file. What it says of one counts only while the file's size, times and number are
those that it had when it was read, and only for a file that the run does not read; it says nothing of a file
in which anything was wrong. Nobody misses it where it cannot be written."""

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
from baselinekit.store.records import beside, bytes_digest

FILE = atomic.INDEX
_MOST_BYTES = 512_000_000
TICK = 2_000_000_000
"""Nanoseconds within which some file system may give two contents of a file the same time."""

_STAMP = struct.Struct("<4q")


class KnownEntry(NamedTuple):
    """What selects a baseline, and what tells its content."""

    id: str
    name: str | None
    tags: Sequence[str]
    content: str

    def entry(self, file: str) -> Entry:
        return Entry(self.id, self.name, self.tags, Source(file), "", None, self.content, 0)


Outputs = Mapping[str, Stamp | None]
"""The stamps of the outputs beside a file by their paths."""


class IndexColumns:
    """The index in memory and in its file: a list for each thing that is known of files, and of the entries
    in them. Of 100,000 files that is read five times as fast as an object for each."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.stamps = bytearray()
        self.outputs: dict[str, Outputs] = {}
        self.ids: list[str] = []
        self.names: list[str | None] = []
        self.tags: list[Sequence[str]] = []
        self.contents: list[str] = []
        self.of: list[int] = []
        """Of each entry the number of its file: those of a file stand together."""

    def add(self, file: str, stamp: Stamp, entries: Iterable[KnownEntry], outputs: Outputs) -> None:
        for one in entries:
            self.of.append(len(self.files))
            self.ids.append(one.id)
            self.names.append(one.name)
            self.tags.append(one.tags)
            self.contents.append(one.content)
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
        )  # which is KnownEntry(*row), at a third of its time

    def entries(self, number: int) -> list[KnownEntry]:
        """Those of one file."""
        part = slice(bisect_left(self.of, number), bisect_right(self.of, number))
        return [*map(KnownEntry, self.ids[part], self.names[part], self.tags[part], self.contents[part])]

    def to_json(self) -> bytes:
        table: dict[tuple[str, ...], int] = {}
        tagged = [table.setdefault(tuple(tags), len(table)) for tags in self.tags]
        stamps = b2a_base64(self.stamps, newline=False).decode()
        stated: dict[str, Any] = {"version": __version__, "files": self.files, "stamps": stamps}
        stated |= {"outputs": self.outputs, "ids": self.ids, "names": self.names, "contents": self.contents}
        stated |= {"of": self.of, "tags": [*table], "tagged": tagged}
        return json.dumps(stated, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "IndexColumns":
        """None of any other version."""
        stated: dict[str, Any] = json.loads(data)
        columns = cls()
        if stated["version"] != __version__:
            return columns
        columns.files, columns.of = stated["files"], stated["of"]
        columns.outputs = {
            file: {
                path: (size, written, changed, inode) for path, (size, written, changed, inode) in of.items()
            }
            for file, of in stated["outputs"].items()
        }
        columns.ids, columns.names, columns.contents = stated["ids"], stated["names"], stated["contents"]
        columns.stamps = bytearray(a2b_base64(stated["stamps"]))
        columns.tags = [*map(stated["tags"].__getitem__, stated["tagged"])]
        if not columns.are_sound():
            raise ValueError
        return columns

    def are_sound(self) -> bool:
        """Whether they are what `to_json` writes: somebody else may have put them there, or half of them."""
        of_entries: list[Sized] = [self.ids, self.names, self.contents, self.tags]
        texts = chain(self.files, self.ids, self.contents, chain.from_iterable(self.tags))
        return (
            {*map(type, [*of_entries, self.files, self.of])} == {list}
            and {*map(len, of_entries)} == {len(self.of)}
            and len(self.stamps) == len(self.files) * _STAMP.size
            and {*map(type, texts)} <= {str}
            and {*map(type, self.names)} <= {str, type(None)}
            and {*map(type, self.tags)} <= {list}
            and {*map(type, self.of)} <= {int}
            and self.of == sorted(self.of)
            and (not self.of or (self.of[0] >= 0 and self.of[-1] < len(self.files)))
        )


Of = TypeVar("Of")


class KnownFiles(Mapping[str, list[KnownEntry]]):
    """What stands in those of the files that are as they were."""

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
        """Each entry with its file, none of which is kept."""
        return self._those(zip(self._files(), self._columns.each_entry(), strict=True))

    def ids(self, without: Collection[str]) -> list[str]:
        """Those in all but some of the files."""
        pairs = self._those(zip(self._files(), self._columns.ids, strict=True))
        return [id for file, id in pairs if file not in without]

    def _files(self) -> Iterator[str]:
        return map(self._columns.files.__getitem__, self._columns.of)

    def _those(self, of_all: Iterable[Of]) -> Iterator[Of]:
        return compress(of_all, map({*self._numbers.values()}.__contains__, self._columns.of))


class FileIndex:
    """What is known of files by their names, as it was read from the state folder."""

    def __init__(self, root: str, tick: int = TICK):
        self._root = root
        self._tick = tick
        self._columns = IndexColumns()
        with suppress(BaselinekitError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
            self._columns = IndexColumns.from_json(read(root, FILE, _MOST_BYTES))

    def known(self, found: Discovery) -> KnownFiles:
        """What stands in those of the files that are as they were."""
        numbers = {file: number for number, file in found.unchanged(self._columns.each_file())}
        for file, outputs in self._columns.outputs.items():
            if any(stamp_of(path) != then for path, then in outputs.items()):
                numbers.pop(file, None)
        return KnownFiles(self._columns, numbers)

    @property
    def files(self) -> Collection[str]:
        """All of which anything is known, be it so still or not."""
        return self._columns.files

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
        read_now: dict[str, list[Entry]] = {}
        for entry in entries:
            read_now.setdefault(entry.source.file, []).append(entry)
        columns, old = IndexColumns(), self._columns
        for file, stamp in stamps.items():
            stated = read_now.get(file)
            if not stated or not self._is_old(stamp, now):
                continue
            paths = [
                os.path.join(*beside(self._root, one.source.file, name))
                for one in stated
                for name in one.outputs
            ]
            outputs = {path: stamp_of(path) for path in paths}
            if all(self._is_old(one, now) for one in outputs.values()):
                facts = [KnownEntry(one.id, one.name, one.tags, one.content) for one in stated]
                columns.add(file, stamp, facts, outputs)
        for number, file, then in old.each_file():
            if file in known and file not in stamps:
                columns.add(file, then, old.entries(number), old.outputs.get(file, {}))
        self._write(columns)

    def renew(self, rewritten: Iterable[RecordedFile]) -> None:
        """Know files again in which a run has changed nothing but the record. One counts only if it was known
        as it stood before, and holds now what the run has written."""
        by_name, renewed = {one.file: one for one in rewritten}, False
        now = self.begin() if by_name and self._columns.files else None
        for number, file, then in self._columns.each_file() if now is not None else ():
            one = by_name.get(file)
            if now is None or one is None or one.stamp != then:
                continue
            stamp = stamp_of(os.path.join(self._root, file))
            with suppress(BaselinekitError):
                if self._is_old(stamp, now) and bytes_digest(read(self._root, file)) == one.digest:
                    _STAMP.pack_into(self._columns.stamps, number * _STAMP.size, *stamp)
                    renewed = True
        if renewed:
            self._write(self._columns)

    def _write(self, columns: IndexColumns) -> None:
        with suppress(BaselinekitError):
            atomic.replace_file(self._root, FILE, columns.to_json(), sync=False)

    def _is_old(self, stamp: Stamp | None, now: int) -> TypeGuard[Stamp]:
        return stamp is not None and max(stamp[1:3]) < now - self._tick
