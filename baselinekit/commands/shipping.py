"""What is sent to a worker on another machine: sealed values, with the files that they use. The worker lays
the files out in a private folder, below which each keeps its whole path."""

import io
import os
import pickle
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from baselinekit import __version__
from baselinekit.commands.executor import Chunk, ChunkDone, Grant
from baselinekit.commands.processes import Build
from baselinekit.commands.project import Project
from baselinekit.commands.since import names_in_inputs, names_used, used_files
from baselinekit.errors import BaselinekitError, CannotReplay, Problem, internal_error
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.store import atomic
from baselinekit.structs import Struct

_NEVER_SENT = {".git", "__pycache__", atomic.STATE_FOLDER}
MOST_BYTES = 256_000_000
"""The limit for all files that are sent with one chunk."""

Move = Callable[[str], str]


class SenderPath(str):
    """A path of the sender. For the worker it is where the file or folder is laid out."""


class _Pickler(pickle.Pickler):
    """Pickles what `moved` returns in place of a text (None: the text itself). The reader may change it
    again."""

    def __init__(self, file: io.BytesIO, moved: Callable[[str], str | None]):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._moved = moved

    def persistent_id(self, value: object) -> str | None:
        return self._moved(value) if isinstance(value, str) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, move: Move):
        super().__init__(file)
        self._move = move

    def persistent_load(self, text: str) -> str:
        return self._move(text)


class Sealed:
    """A value on its way through a scheduler: its content does not appear in logs or on web pages. It is
    compressed, so that no text of it is readable in the memory of the scheduler. `version`: of the sender."""

    def __init__(self, packed: bytes, version: str = __version__):
        self._packed, self._version = packed, version

    @classmethod
    def of(cls, value: object, moved: Callable[[str], str | None] = lambda text: None) -> "Sealed":
        file = io.BytesIO()
        _Pickler(file, moved).dump(value)
        return cls(zlib.compress(file.getvalue(), 1))

    def opened(self, move: Move = str) -> Any:
        if self._version != __version__:
            text = f"a worker of the cluster has baselinekit {__version__}, and the command {self._version}"
            raise CannotReplay(Problem("BK361", text, "install the same version on both"))
        return _Unpickler(io.BytesIO(zlib.decompress(self._packed)), move).load()

    def __repr__(self) -> str:
        return "<sealed>"

    def __sizeof__(self) -> int:
        return len(self._packed)


# The files that are sent. Links are followed; files outside of the project are not sent, as a recipe that
# names one is refused there in the same way as here.


class SentFile(Struct):
    """A file as it is here: its absolute path, its bytes, and whether it is executable."""

    path: SenderPath
    data: bytes
    runs: bool = False


class UsedFiles:
    """Collects the files that something may use, by absolute path, and the folders that must exist. `root`:
    of the project; `top`: of the repository, if that is larger. `stated`: files with the content that they
    must have there, whatever they contain here; `asks`: whether it asks a model."""

    def __init__(self, project: Project, top: str = ""):
        self.project, self.root, self.top = project, project.root, top or project.root
        self.paths: dict[str, None] = {}
        self.folders: dict[str, None] = {}
        self.stated: dict[str, bytes] = {}
        self.asks = False

    def add(self, name: str) -> None:
        """Add a file, by its path from the root or its absolute path. One that is missing or outside is left
        out: whatever needs it reports that."""
        path = os.path.normpath(os.path.join(self.root, name))
        if is_inside(self.root, path) or is_inside(self.top, path):
            self.paths[path] = None

    def add_below(self, folder: str, within: str = "") -> None:
        """Add a folder with everything in it; only the folder itself if it holds the whole project, or the
        folder `within` which the thing itself is."""
        path = os.path.normpath(os.path.join(self.root, folder))
        self.folders[path] = None
        for inner in (self.root, self.top, os.path.normpath(os.path.join(self.root, within))):
            if f"{inner}/".startswith(f"{path}/"):
                return
        for name in files_below(path):
            self.add(name)

    def add_baseline(self, baseline: Baseline) -> None:
        recipe, folder = baseline.current, os.path.dirname(baseline.source.file)
        self.paths[os.path.normpath(os.path.join(self.root, baseline.source.file))] = None
        files, folders = used_files(baseline, self.project)
        for name in (*files, *names_in_inputs(recipe, self.project, folder)):
            self.add(name)
        self.asks = self.asks or bool(names_used(baseline, self.project)["models"])
        for name in folders:
            if os.path.isdir(os.path.join(self.root, name)):
                self.add_below(name)
        if cwd := kind_of(recipe).working_folder(recipe):
            self.add_below(os.path.join(folder, cwd), folder)


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


def read_files(every: Sequence[UsedFiles], answers: Iterable[str]) -> tuple[SentFile, ...]:
    """Read all files that are used; those with `answers` of models too if a model is asked. A file that is
    gone is missing there as well, and what needs it reports that."""
    stated = {path: data for used in every for path, data in used.stated.items()}
    paths = dict.fromkeys(path for used in every for path in used.paths)
    if any(used.asks for used in every):
        paths |= dict.fromkeys(file for place in answers for file in files_below(place))
    sent = [SentFile(SenderPath(path), data) for path, data in stated.items()]
    size = sum(len(data) for data in stated.values())
    for path in paths.keys() - stated.keys():
        with suppress(OSError), open(path, "rb") as file:
            runs = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
            sent.append(SentFile(SenderPath(path), file.read(MOST_BYTES - size + 1), runs))
            size += len(sent[-1].data)
        if size > MOST_BYTES:
            message = f"the files that it uses have more than {MOST_BYTES:,} bytes together"
            hint = "name fewer or smaller files in it, or do it here, without --dask"
            raise CannotReplay(Problem("BK362", f"a part of this run cannot be sent: {message}", hint))
    return tuple(sent)


def files_below(place: str) -> Iterator[str]:
    """Yield the files in a folder, or the file itself; none of what is never sent."""
    if not os.path.isdir(place):
        yield place
    for here, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in _NEVER_SENT)
        yield from (os.path.join(here, name) for name in sorted(names))


# On the worker.


class Parcel(Struct):
    """All that a worker elsewhere needs for one chunk. `build`: makes the worker, once the files are
    there."""

    build: Build
    chunk: Chunk[Any]
    grant: Grant
    files: tuple[SentFile, ...]
    folders: list[SenderPath]

    def sealed(self) -> Sealed:
        """Seal it. Texts that are the path of one of the files are moved with these."""
        files = {*(file.path for file in self.files)}
        return Sealed.of(
            self, lambda text: str(text) if isinstance(text, SenderPath) or text in files else None
        )


_cancels: dict[str, list[Callable[[], None]]] = {}
_stopped: set[str] = set()
"""The runs whose parcels this machine works on, and those that were stopped."""


def stop_run(run: str) -> None:
    """Cancel what is under way of a run, and start nothing more of it."""
    _stopped.add(run)
    for cancel in list(_cancels.get(run, ())):
        cancel()


def judge_parcel(run: str, sealed: Sealed, within: str | None = None) -> Sealed:
    """Judge a chunk. Its files are laid out in a new folder (`within` another one); what is handed back names
    the paths of the sender. Errors are values: those that are raised only appear in the log of the worker."""
    with tempfile.TemporaryDirectory(prefix="baselinekit-", dir=within, ignore_cleanup_errors=True) as folder:
        top = os.path.realpath(folder)
        try:
            done = _judge(run, sealed.opened(lambda path: path_below(path, top)))
        except BaselinekitError as error:
            return Sealed.of(error.problems[0])
        except Exception as error:
            return Sealed.of(internal_error(error).problems[0])
        return Sealed.of(done, lambda text: text.replace(top, "") if top in text else None)


def _judge(run: str, parcel: Parcel) -> ChunkDone[Any]:
    for folder in parcel.folders:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    for file in parcel.files:
        os.makedirs(os.path.dirname(file.path), mode=0o700, exist_ok=True)
        with open(file.path, "wb", opener=_open_private) as written:
            written.write(file.data)
        if file.runs:
            os.chmod(file.path, 0o700)
    worker = parcel.build()
    cancels = _cancels.setdefault(run, [])
    cancels.append(worker.cancel)
    try:
        if run in _stopped:
            worker.cancel()
        return worker.judge(parcel.chunk, parcel.grant)
    finally:
        cancels.remove(worker.cancel)
        worker.close()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def path_below(path: str, top: str) -> str:
    """Return where a path of the caller is below a folder. It cannot lead out of that, whatever the path
    is."""
    return top + os.path.normpath("///" + path)  # two slashes at the beginning would stay
