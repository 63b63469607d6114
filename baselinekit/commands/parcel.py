"""What is sent to a worker on another machine: the files that some baselines use. They are read and sealed by
the caller, and laid out there in a folder of their own, with the paths that they have here."""

import os
import pickle
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, Protocol, TypeVar

from baselinekit import __version__
from baselinekit.commands.project import Project
from baselinekit.commands.since import models_used, names_in_inputs, used_files
from baselinekit.errors import CannotReplay, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Entry
from baselinekit.model.values import Json
from baselinekit.store import atomic
from baselinekit.structs import Struct, asdict, replace

_NEVER_SENT = {".git", "__pycache__", atomic.STATE_FOLDER}
MOST_BYTES = 256_000_000
"""The limit for all files that are sent with one chunk."""

Key = tuple[str, str]
Item = TypeVar("Item", contravariant=True)
Value = TypeVar("Value")


class SealedValue:
    """A value on its way through a scheduler: its content does not appear in logs or on web pages. It is
    compressed, so that no text of it is readable in the memory of the scheduler. `version`: of the sender."""

    __slots__ = ("_packed", "_version")

    def __init__(self, packed: bytes, version: str = __version__):
        self._packed, self._version = packed, version

    @classmethod
    def of(cls, value: object) -> "SealedValue":
        return cls(zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1))

    def unsealed(self) -> Any:
        if self._version != __version__:
            text = f"a worker of the cluster has baselinekit {__version__}, and the command {self._version}"
            raise CannotReplay(Problem("BK361", text, "install the same version on both"))
        return pickle.loads(zlib.decompress(self._packed))

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> tuple[type["SealedValue"], tuple[bytes, str]]:
        return SealedValue, (self._packed, self._version)

    def __sizeof__(self) -> int:
        return len(self._packed)


@frozen
class SentFile:
    """A file as it is here: its absolute path, its bytes, and whether it is executable."""

    path: str
    data: bytes
    runs: bool = False


@frozen
class Parcel:
    """All that a worker elsewhere needs for one chunk. `order`, `policy`, `chunk` and `lease` are as for a
    worker on this machine; `known` is the environment of the run, which is the one here."""

    order: Any
    policy: Any
    chunk: Any
    lease: Any
    files: tuple[SentFile, ...]
    folders: tuple[str, ...]
    known: Mapping[str, Json]


class Packs(Protocol[Item]):
    """Knows which files are sent with a chunk."""

    def files_of(self, entries: Sequence[Item], /) -> tuple[SentFile, ...]: ...

    def folders_of(self, entries: Sequence[Item], /) -> tuple[str, ...]:
        """Return the folders that must exist there, even if they are empty."""


@frozen
class CommonFiles:
    """What is sent with all chunks of one run. `stated`: files with the content they must have there,
    whatever they contain here; `paths`: files that all chunks use; `answers`: files and folders with answers
    of models, for chunks that ask one."""

    project: Project
    stated: Mapping[str, bytes]
    paths: Sequence[str] = ()
    answers: Sequence[str] = ()

    def with_files(self, paths: Iterable[str], is_asking: bool) -> tuple[SentFile, ...]:
        """Return these files (absolute paths) as well; for a chunk that asks a model, also the stored
        answers."""
        answer_files = (path for place in self.answers for path in _files_in(place)) if is_asking else ()
        return read_files([*self.paths, *paths, *answer_files], self.stated)


class Packing:
    """What is sent with the chunks of a compare."""

    def __init__(self, shared: CommonFiles):
        self._shared = shared
        self._project = shared.project
        self._asking: set[Key] = set()
        self._used: dict[Key, tuple[str, ...]] = {}
        self._folders: dict[Key, str] = {}

    def note(self, baselines: Iterable[Baseline]) -> None:
        """Note what each of these uses, while the baselines are in memory."""
        for baseline in baselines:
            key = baseline.source.file, baseline.id
            if names := names_used(baseline, self._project):
                self._used[key] = names
            if folder := working_folder(baseline):
                self._folders[key] = folder
            if self._shared.answers and models_used(baseline, self._project):
                self._asking.add(key)

    def files_of(self, entries: Sequence[Entry]) -> tuple[SentFile, ...]:
        names = {entry.source.file: None for entry in entries}
        for entry in entries:
            names |= dict.fromkeys(self._used.get((entry.source.file, entry.id), ()))
        root = self._project.root
        is_asking = any((entry.source.file, entry.id) in self._asking for entry in entries)
        return self._shared.with_files((os.path.join(root, name) for name in names), is_asking)

    def folders_of(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        folders = {self._folders.get((entry.source.file, entry.id)) for entry in entries}
        root = self._project.root
        recipe_folders = (os.path.join(root, folder) for folder in folders if folder is not None)
        return (root, self._project.cwd, *recipe_folders)


# The files that are sent. Links are followed; files outside of the project are not sent, as a recipe that
# names one is refused there in the same way as here.


def names_used(baseline: Baseline, project: Project) -> tuple[str, ...]:
    """Return the existing files, besides its own, that a baseline may use, relative to the project's root."""
    files, folders = used_files(baseline, project)
    folder = os.path.dirname(baseline.source.file)
    files += names_in_inputs(baseline.current, project, folder)
    names_found = dict.fromkeys(name for name in files if is_inside(project.root, name))
    if (cwd := working_folder(baseline)) and not f"{folder}/".startswith(f"{cwd}/") and cwd != os.curdir:
        folders.append(cwd)
    for name in folders:
        names_found |= dict.fromkeys(files_below(project.root, name))
    return tuple(names_found)


def working_folder(baseline: Baseline) -> str:
    """Return the folder in which its recipe runs its program, relative to the project's root; else ""."""
    folder = kind_of(baseline.current).working_folder(baseline.current)
    return os.path.normpath(os.path.join(os.path.dirname(baseline.source.file), folder)) if folder else ""


def is_inside(root: str, name: str) -> bool:
    """Whether it is a file in the folder `root` that may be sent."""
    try:
        if not stat.S_ISREG(os.stat(os.path.join(root, name)).st_mode):
            return False
    except (OSError, ValueError):  # a name with a zero byte in it
        return False
    real = os.path.realpath(os.path.join(root, name))
    inside = os.path.relpath(real, os.path.realpath(root)).split(os.sep)
    return inside[0] != os.pardir and not _NEVER_SENT & {*inside}


def _files_in(place: str) -> Iterator[str]:
    if not os.path.isdir(place):
        yield place
    for here, _, names in os.walk(place):
        yield from (os.path.join(here, name) for name in sorted(names))


def files_below(root: str, folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if name not in _NEVER_SENT)
        for name in sorted(names):
            inside = os.path.relpath(os.path.join(here, name), root)
            if is_inside(root, inside):
                yield inside


def read_files(paths: Iterable[str], stated: Mapping[str, bytes]) -> tuple[SentFile, ...]:
    """Read the files at these paths; the `stated` ones have the content given there. A file that is gone is
    missing there as well, and what needs it reports that."""
    sent: dict[str, SentFile] = {path: SentFile(path, data) for path, data in stated.items()}
    size = sum(len(data) for data in stated.values())
    for path in paths:
        if path in sent:
            continue
        try:
            with open(path, "rb") as file:
                runs = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
                sent[path] = SentFile(path, file.read(MOST_BYTES - size + 1), runs)
        except OSError:
            continue
        size += len(sent[path].data)
        if size > MOST_BYTES:
            message = f"the files that it uses have more than {MOST_BYTES:,} bytes together"
            hint = "name fewer or smaller files in it, or do it here, without --dask"
            raise CannotReplay(Problem("BK362", f"a part of this run cannot be sent: {message}", hint))
    return tuple(sent.values())


# How the files are laid out. Each keeps its whole path below a folder of this chunk, so that relative paths
# from one to another stay valid.


@contextmanager
def lay_out(files: Iterable[SentFile], folders: Iterable[str], within: str | None = None) -> Iterator[str]:
    """Lay out the files below a new private folder, until this context ends; and create the `folders`, even
    if empty."""
    top = os.path.realpath(tempfile.mkdtemp(prefix="baselinekit-", dir=within))
    try:
        for folder in folders:
            os.makedirs(path_below(folder, top), mode=0o700, exist_ok=True)
        for file in files:
            path = path_below(file.path, top)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb", opener=_open_private) as written:
                written.write(file.data)
            if file.runs:
                os.chmod(path, 0o700)
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def path_below(path: str, top: str) -> str:
    """Return where a path of the caller is below a folder. It cannot lead out of that, whatever the path
    is."""
    return top + os.path.normpath("/" + path)


def with_caller_paths(value: Value, top: str) -> Value:
    """Return the value with the caller's paths in place of the paths below the folder."""
    if top.encode() not in pickle.dumps(value):
        return value
    replaced: Value = _with_texts(value, lambda text: text.replace(top, ""))
    return replaced


def with_worker_paths(value: Value, paths: Iterable[str], top: str) -> Value:
    """Return the value with those texts that are one of these paths changed to where the file is laid out."""
    data = pickle.dumps(value)
    if not (present := {path for path in paths if path.encode("utf-8", "surrogatepass") in data}):
        return value
    replaced: Value = _with_texts(value, lambda text: path_below(text, top) if text in present else text)
    return replaced


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return the value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_with_texts(key, change): _with_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_with_texts(item, change) for item in value]
        if isinstance(value, list):
            return items
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, Struct):
        return replace(value, **{name: _with_texts(item, change) for name, item in asdict(value).items()})
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: _with_texts(getattr(value, field.name), change)
            for field in fields(value)
            if field.init
        }
        return replace(value, **changed)
    return value
