"""Workers in processes of this machine, and workers on the machines of a Dask cluster. What is sent to a
cluster: sealed values, and the files of the project, which a worker lays out in a private folder where each
keeps its whole path. No other file knows Dask."""

import io
import logging
import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait as wait_for
from shlex import quote
from types import MappingProxyType, ModuleType
from typing import Any, Self
from urllib.parse import urlsplit

from baselinekit import __version__
from baselinekit.clients.programs.git import Git
from baselinekit.clients.trust import NetworkKind, network_of_host
from baselinekit.commands.context import SIGNAL_CHECK
from baselinekit.commands.executor import LOSSES, Chunk, ChunkDone, Grant
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused, cannot_replay, internal_error
from baselinekit.lazy import lazy_pattern
from baselinekit.store import atomic

_LOCAL = lazy_pattern(r"local:(\d{1,3})")
_ADDRESS = lazy_pattern(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?")
_ENCRYPTED = ("tls", "wss", "inproc")
"""Schemes whose traffic no one in between can read."""

_MOST_LOCAL = 512
_CONNECT_SECONDS, _WORKER_SECONDS, _STOP_SECONDS = 10.0, 60.0, 5.0
"""How long to wait for a scheduler, for a first worker, and for workers that are to stop."""

_NEVER_SENT = (os.pardir, ".git", "__pycache__", atomic.STATE_FOLDER, ".env", ".env.*")
MOST_BYTES = 256_000_000
"""The limit for all files that are sent together."""

# What is sent: sealed values, and files.


class _Pickler(pickle.Pickler):
    moved: Callable[[str], str | None]

    def persistent_id(self, value: object) -> str | None:
        return self.moved(value) if isinstance(value, str) else None


class _Unpickler(pickle.Unpickler):
    moved: Callable[[str], str]

    def persistent_load(self, text: str) -> str:
        return self.moved(text)


class Sealed:
    """A value on its way through a scheduler: its content does not appear in logs or on web pages. It is
    compressed, so that no text of it is readable in the memory of the scheduler. `moved`: what replaces a
    text there, which the reader may change again (None: the text itself)."""

    def __init__(self, value: object, moved: Callable[[str], str | None] = lambda text: None):
        file = io.BytesIO()
        pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
        pickler.moved = moved
        pickler.dump(value)
        self._packed, self._version = zlib.compress(file.getvalue(), 1), __version__

    def opened(self, move: Callable[[str], str] = str) -> Any:
        if self._version != __version__:
            text = f"a worker of the cluster has baselinekit {__version__}, and the command {self._version}"
            raise cannot_replay("BK361", text, "install the same version on both")
        unpickler = _Unpickler(io.BytesIO(zlib.decompress(self._packed)))
        unpickler.moved = move
        return unpickler.load()

    def __repr__(self) -> str:
        return "<sealed>"


def listed_files(git: Git) -> list[str]:
    """Return the absolute paths of the files in a folder that git tracks or would add; none without git."""
    try:
        listed = git.ask("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except BaselinekitError:  # no git, or no repository
        return []
    return [os.path.join(git.folder, os.fsdecode(name)) for name in listed.split(b"\0")[:-1]]


def pack(
    places: Mapping[str, Iterable[str]], stated: Mapping[str, bytes | None] = MappingProxyType({})
) -> tuple[bytes, frozenset[str]]:
    """Return an archive of files, and of folders with all that is in them, and the paths in it. `places`: by
    folder what is packed of it. Links are followed, but not out of that folder. `stated`: files with the
    content that they must have there, whatever they contain here, and folders (None). One that is gone is
    missing there as well, and what needs it reports that."""
    packed, size = io.BytesIO(), 0

    def chosen(top: str, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal size
        path = f"/{member.name}"
        real = os.path.realpath(path)
        inside = os.path.relpath(real, top).split(os.sep)
        is_circle = os.path.islink(path) and f"{path}/".startswith(f"{real}/")
        if stated.get(path) is not None or is_circle or not (member.isreg() or member.isdir()):
            return None
        if any(fnmatchcase(name, never) for name in inside for never in _NEVER_SENT):
            return None
        if (size := size + member.size) > MOST_BYTES:
            message = f"the files of this project have more than {MOST_BYTES:,} bytes together"
            hint = "list in .gitignore what the run does not need, or do it here, without --dask"
            raise cannot_replay("BK362", f"they cannot be sent: {message}", hint)
        return member if os.access(path, os.R_OK) else None

    with tarfile.open(fileobj=packed, mode="w", dereference=True) as archive:
        for top, paths in places.items():
            for path in dict.fromkeys(paths):
                with suppress(OSError):
                    archive.add(path, filter=partial(chosen, os.path.realpath(top)))
        for path, data in stated.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.type, member.size = tarfile.DIRTYPE if data is None else tarfile.REGTYPE, len(data or b"")
            archive.addfile(member, io.BytesIO(data or b""))
        return packed.getvalue(), frozenset(f"/{name}" for name in archive.getnames())


# On the worker.

_cancels: dict[str, list[Callable[[], None]]] = {}
_stopped: set[str] = set()
"""The runs whose parcels this machine works on, and those that were stopped."""


def _stop_run(run: str) -> None:
    """Cancel what is under way of a run, and start nothing more of it."""
    _stopped.add(run)
    for cancel in list(_cancels.get(run, ())):
        cancel()


def judge_parcel(run: str, sealed: Sealed, files: Sealed, within: str | None = None) -> Sealed:
    """Judge a chunk with the worker that is `sealed` together with it. All files are laid out in a new
    folder, `within` one that Dask removes when the worker is killed; what is handed back names the paths of
    the sender. Errors are values: those that are raised only appear in the log of the worker."""
    if (dask := sys.modules.get("distributed")) is not None:  # every worker has loaded it
        with suppress(ValueError):
            within = dask.get_worker().local_directory
    with tempfile.TemporaryDirectory(prefix="baselinekit-", dir=within, ignore_cleanup_errors=True) as folder:
        top = os.path.realpath(folder)
        try:
            with tarfile.open(fileobj=io.BytesIO(files.opened())) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(top)
            build, chunk, grant = sealed.opened(lambda path: path_below(path, top))
            with closing(build()) as worker:
                cancels = _cancels.setdefault(run, [])
                cancels.append(worker.cancel)
                if run in _stopped:
                    worker.cancel()
                try:
                    done = worker.judge(chunk, grant)
                finally:
                    cancels.remove(worker.cancel)
        except Exception as error:
            return Sealed(internal_error(error).problems[0])
        return Sealed(done, lambda text: text.replace(top, "") if top in text else None)


def path_below(path: str, top: str) -> str:
    """Return where a path of the caller is below a folder. It cannot lead out of that, whatever the path
    is."""
    return top + os.path.normpath("///" + path)  # two slashes at the beginning would stay


# Here.


class Cluster:
    """The workers of a cluster, reached by a Dask client. `is_private`: secrets are sent too, and only to
    workers whose connection no one can read. `jobs`: how many items all of them do at once. `seal`: what is
    sent for a chunk, besides the `files`."""

    def __init__(
        self,
        client: Any,
        is_private: bool,
        jobs: int,
        seal: Callable[[Chunk[Any], Grant], Sealed],
        files: Sealed,
    ):
        self._client, self._is_private, self._seal, self._files = client, is_private, seal, files
        self._sent: Any = None
        self._sending = threading.Lock()
        self._run = secrets.token_hex(8)
        self._under_way: set[Future[Any]] = set()
        self.count = max(1, min(len(self.admitted(is_start=True)), jobs))
        self.threads = max(1, jobs // self.count)

    def admitted(self, is_start: bool = False) -> list[str]:
        """Return the addresses of the workers that may be sent something; wait until there is one. Secrets
        are sent to no cluster that others could read at the start, and to none of its workers later."""
        until = time.monotonic() + _WORKER_SECONDS
        while not (workers := [*self._client.nthreads()]):
            if time.monotonic() > until:
                hint = "start one (dask worker ADDRESS), or look at the scheduler's log"
                raise cannot_replay("BK361", "the Dask cluster has no worker", hint)
            time.sleep(0.5)
        nodes = (self._client.scheduler.address, *workers)
        unencrypted = [node for node in nodes if self._is_private and not is_private_address(node)]
        usable = sorted({*workers} - {*unencrypted})
        if unencrypted and (is_start or not usable):
            message = f"secrets would travel unencrypted to {', '.join(unencrypted[:3])}"
            hint = "use a cluster with TLS (tls://HOST:PORT), or one on this machine; docs/runs.md"
            raise Refused(Problem("BK409", message, hint))
        return usable

    def judge(self, worker: int, chunk: Chunk[Any], grant: Grant) -> ChunkDone[Any] | Problem | int:
        workers = self.admitted()
        try:
            sealed = self._seal(chunk, grant)
            with self._sending:
                if self._sent is None or self._sent.status != "finished":  # all that had it may be lost
                    self._sent = self._client.scatter(self._files, workers, broadcast=True, hash=False)
            executor = self._client.get_executor(pure=False, workers=workers, allow_other_workers=False)
            future: Future[Any] = executor.submit(judge_parcel, self._run, sealed, self._sent)
            self._under_way.add(future)
            while not wait([future], SIGNAL_CHECK).done:
                with suppress(OSError):  # where all are lost that may have it, Dask would wait for ever
                    if {*self._client.nthreads()}.isdisjoint(workers):
                        future.cancel()
            self._under_way.discard(future)
            done: ChunkDone[Any] | Problem = future.result().opened()
            return done
        except CancelledError:
            return 1
        except BaselinekitError as error:
            return error.problems[0]
        except Exception as error:  # errors of Dask itself, and of workers that could not begin
            if type(error).__name__ == "KilledWorker":  # Dask has lost several workers with it
                return 2
            message = f"the cluster could not do a part of this run: {type(error).__name__}"
            hint = f"look at the logs of its scheduler and workers; each needs baselinekit {__version__}"
            return Problem("BK361", message, hint)

    def lost(self, id: str) -> Problem:
        hint = "look at the workers' logs: they may lack memory; -j 1 lets each do one at a time"
        return Problem("BK362", "this part of the run was not done: each worker that had it was lost", hint)

    def cancel(self) -> None:
        """Tell the workers to stop and hand back what they have; those that do not answer are left alone."""
        threading.Thread(target=self._tell_workers, daemon=True).start()

    def _tell_workers(self) -> None:
        with suppress(Exception):
            self._client.run(_stop_run, self._run, on_error="ignore")
            wait(self._under_way, _STOP_SECONDS)
        for future in [*self._under_way]:
            future.cancel()


def is_private_address(address: str) -> bool:
    """Whether no one else can read what is sent to an address: it is encrypted, or stays on this machine."""
    scheme, _, rest = address.rpartition("://")
    host = urlsplit(f"//{rest}").hostname or ""
    is_here = host == "localhost" or network_of_host(host) is NetworkKind.LOOPBACK
    return scheme in _ENCRYPTED or is_here


# Connecting to a cluster, or starting one on this machine.


def check_place(text: str) -> None:
    """Check the value of --dask: the address of a scheduler, or the number of workers to start here."""
    local = _LOCAL.fullmatch(text)
    if not (1 <= int(local[1]) <= _MOST_LOCAL if local else _ADDRESS.fullmatch(text)):
        message = f"--dask {text!r} is neither the address of a scheduler nor local:N"
        hint = f"as in --dask tls://10.0.0.5:8786, or --dask local:4 (1 to {_MOST_LOCAL})"
        raise InvalidInput(Problem("BK508", message, hint))


@contextmanager
def connect_to_cluster(place: str, workers_of: Callable[[Any], Cluster]) -> Iterator[Cluster]:
    """Connect to the cluster at a place, until this context ends. `workers_of`: those that a Dask client
    reaches."""
    with ExitStack() as stack:
        for name in ("distributed", "tornado", "asyncio"):  # these logs are for the cluster's operators
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            import distributed
        except ImportError:
            message = "--dask needs the package distributed, which is not installed"
            raise cannot_replay("BK361", message, "pip install 'baselinekit[dask]'") from None
        local = _LOCAL.fullmatch(place)
        if local:  # Dask may also start a worker later, to replace one that has ended
            stack.enter_context(without_main())
        address = stack.enter_context(_start_local(int(local[1]))) if local else place
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            message = f"no Dask scheduler answers at {place}: {_first_line(error)}"
            hint = "check the address; for tls:// Dask's own settings name the certificates"
            raise cannot_replay("BK361", message, hint) from None
        stack.callback(_close, client)
        yield workers_of(client)


def _close(opened: Any) -> None:
    with suppress(Exception):
        opened.close(timeout=_STOP_SECONDS)


def _first_line(error: Exception) -> str:
    """Return the first line of an error of Dask or the system, which contains nothing of the project."""
    return " ".join(str(error).split("\n", 1)[0].split()) or type(error).__name__


@contextmanager
def _start_local(count: int) -> Iterator[Any]:
    """Start workers on this machine, a process each, that no one else can reach."""
    import distributed

    folder = tempfile.TemporaryDirectory(prefix="baselinekit-dask-", ignore_cleanup_errors=True)
    with folder, ExitStack() as stack:
        try:
            resource_tracker.ensure_running()  # otherwise a worker starts it, which unblocks all signals
            with block_signals(signal.SIGINT, signal.SIGHUP):  # Dask cannot end what is still starting
                cluster = distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    scheduler_kwargs={"dashboard": False, "dashboard_address": ":0"},
                    memory_limit=0,
                    local_directory=folder.name,
                    silence_logs=logging.CRITICAL,
                )
                stack.callback(_close, cluster)
        except Exception as error:
            message = f"the workers could not be started: {_first_line(error)}"
            raise cannot_replay("BK361", message, "try a smaller number: --dask local:2") from None
        yield cluster


# Workers in processes of their own: one executor for each, so that a process that is lost takes only its own
# chunk along.


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


Build = Callable[[], Any]
"""Makes what does the work in its process, with the methods `judge` and `cancel`. It can be pickled: a class
or a function of a module, or a `partial` of one."""

_builds: list[Build] = []
_workers: list[Any] = []
"""In the worker's process: how its worker is built, and the worker once it is."""
_cancelled = threading.Event()


def _begin(build: Build, control: Connection) -> None:
    """Ignore signals: the main process handles them, and tells the workers. Child processes do get them."""
    _builds.append(build)
    for number in _ENDING:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_follow, args=(control,), daemon=True).start()


def _follow(control: Connection) -> None:
    """Cancel when the other end is closed. End this process when the main process is gone."""
    with suppress(EOFError, OSError):
        control.recv_bytes()
    try:
        _cancelled.set()
        for worker in _workers:
            worker.cancel()
        if (parent := multiprocessing.parent_process()) is not None:
            wait_for([parent.sentinel])
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _judge(chunk: Chunk[Any], grant: Grant) -> Any:
    if not _workers:
        _workers.append(_builds[0]())
        if _cancelled.is_set():  # before the worker existed
            _workers[0].cancel()
    return _workers[0].judge(chunk, grant)


class WorkerProcesses:
    """Processes of this machine, each started when it gets its first chunk. `builds`: how each makes
    its worker; `command`: what tries one item without them."""

    def __init__(self, builds: Sequence[Build], threads: int, command: str):
        self.count, self.threads = len(builds), threads
        self._builds, self._command = builds, command
        self._executors: dict[int, ProcessPoolExecutor] = {}
        self._context = multiprocessing.get_context("spawn")
        self._control, self._end = self._context.Pipe(duplex=False)
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self.cancel()
        for executor in self._executors.values():
            executor.shutdown()
        self.cancel()
        self._control.close()

    def judge(self, worker: int, chunk: Chunk[Any], grant: Grant) -> ChunkDone[Any] | int:
        try:
            return self._submit(worker, chunk, grant).result()
        except BrokenProcessPool:
            self._executors.pop(worker).shutdown()
            return 1

    def _submit(self, worker: int, chunk: Chunk[Any], grant: Grant) -> Future[ChunkDone[Any]]:
        with self._starting, block_signals(*_ENDING), without_main():
            if worker not in self._executors:
                start = (self._builds[worker], self._control)
                self._executors[worker] = ProcessPoolExecutor(1, self._context, _begin, start)
            return self._executors[worker].submit(_judge, chunk, grant)

    def lost(self, id: str) -> Problem:
        message = f"the process that was to judge it ended {LOSSES} times: killed, or out of memory"
        hint = f"see what happens without --processes: baselinekit {self._command} --id {quote(id)}"
        return Problem("BK362", message, hint)

    def cancel(self) -> None:
        """Cancel the workers, also those whose process has not started yet."""
        self._end.close()


@contextmanager
def block_signals(*signals: signal.Signals) -> Iterator[None]:
    """Block signals, also in processes started meanwhile, until these unblock them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_main() -> Iterator[None]:
    """Keep processes that are started meanwhile from importing the main module, which they do not need: a
    user's script would be run again from its first line."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
