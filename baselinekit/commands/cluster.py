"""Work on the machines of a Dask cluster: its workers, what may be sent to them, and what to do when one is
lost. No other file knows Dask."""

import atexit
import itertools
import logging
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any
from urllib.parse import urlsplit

from baselinekit import __version__
from baselinekit.clients.trust import NetworkKind, network_of_host
from baselinekit.commands.parcel import SealedValue
from baselinekit.commands.processes import without_main
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern

LOCAL = lazy_pattern(r"local:(\d{1,3})")
_ADDRESS = lazy_pattern(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?")
_ENCRYPTED = ("tls", "wss", "inproc")
"""Schemes whose traffic nobody in between can read."""

_MOST_LOCAL = 512
_TRIES = 3
"""How often a part of a run is started again when all the workers that may do it are lost. When only some are
lost, Dask itself does so, as often as its scheduler is configured to."""

_EXTRA = "pip install 'baselinekit[dask]'"

Work = Callable[[str, SealedValue], SealedValue]
"""Runs on a worker: gets the name of its run and what was sent, and returns a value or a Problem."""


@frozen
class Patience:
    """Time limits in seconds. `looks`: the time between two checks whether the workers are still there."""

    connect: float = 10.0
    find_workers: float = 60.0
    stop: float = 5.0
    looks: float = 1.0


_PATIENCE = Patience()


class WorkersLost(CannotReplay):
    """All workers that had this part were lost."""


class Cancelled(Exception):
    """The run was cancelled, and nobody waits for the result."""


class Cluster:
    """The workers of a cluster, reached by a Dask client. `is_private`: secrets are sent too, and only to
    workers whose connection nobody can read. `stop`: the function that ends a run on a worker."""

    def __init__(
        self,
        client: Any,
        is_private: bool,
        stop: Callable[[str], None],
        patience: Patience = _PATIENCE,
    ):
        self.run = f"baselinekit-{secrets.token_hex(4)}"
        self._client = client
        self._is_private = is_private
        self._stop = stop
        self._patience = patience
        self._numbers = itertools.count(1)
        self._under_way: set[Any] = set()
        self._lock = threading.Lock()
        self._stopped_at: float | None = None

    def workers(self) -> list[str]:
        """Return the addresses of the usable workers; wait until there is one."""
        until = time.monotonic() + self._patience.find_workers
        while True:
            addresses = self._client.nthreads()
            usable = [address for address in addresses if not self._is_private or is_private_address(address)]
            if addresses and not usable:
                self.check_private()
            if usable or self._stopped_at is not None:
                return sorted(usable)
            if time.monotonic() > until:
                hint = "start one (dask worker ADDRESS), or look at the scheduler's log"
                raise CannotReplay(Problem("BK361", "the Dask cluster has no worker", hint))
            time.sleep(self._patience.looks / 2)

    def check_private(self) -> None:
        """Refuse to send secrets over connections that others could read."""
        address = self._client.scheduler.address
        if unencrypted := [
            node for node in (address, *self._client.nthreads()) if not is_private_address(node)
        ]:
            message = f"secrets would travel unencrypted to {', '.join(unencrypted[:3])}"
            hint = "use a cluster with TLS (tls://HOST:PORT), or one on this machine; docs/many-machines.md"
            raise Refused(Problem("BK409", message, hint))

    def done(self, work: Work, sealed: SealedValue) -> Any:
        """Return what a worker makes of what is sent. If its worker is lost, it is done again."""
        for _ in range(_TRIES):
            workers = self.workers()
            with self._lock:
                if self._stopped_at is not None:
                    raise Cancelled
                future = self._client.submit(
                    work,
                    self.run,
                    sealed,
                    key=f"{self.run}-{next(self._numbers)}",
                    workers=workers,
                    allow_other_workers=False,
                    pure=False,
                )
                self._under_way.add(future)
            try:
                answer = self._wait_for(future, workers)
            finally:
                with self._lock:
                    self._under_way.discard(future)
                future.release()
            if answer is not None:
                return _open_answer(answer)
        raise _lost_error("the workers that had it were lost three times")

    def _wait_for(self, future: Any, workers: list[str]) -> SealedValue | None:
        """Wait for the answer; None if it has to be started again."""
        while True:
            try:
                answer: SealedValue = future.result(timeout=self._patience.looks)
                return answer
            except TimeoutError:
                if self._stopped_at is not None and time.monotonic() > self._stopped_at + self._patience.stop:
                    raise Cancelled from None
                with suppress(OSError):
                    if not {*workers} & {*self._client.nthreads()}:
                        future.cancel()
                        return None
            except CancelledError:
                if self._stopped_at is not None:
                    raise Cancelled from None
                return None
            except Exception as error:  # errors of Dask itself, and of workers that could not begin
                raise _as_error(error) from None

    @property
    def is_cancelled(self) -> bool:
        return self._stopped_at is not None

    def cancel(self) -> None:
        """Tell the workers to stop and hand back what they have; those that do not answer are left alone."""
        with self._lock:
            self._stopped_at = self._stopped_at or time.monotonic()
            futures = list(self._under_way)
        telling = threading.Thread(target=self._tell_workers, name="cancel", daemon=True)
        telling.start()
        for future in futures:
            if future.status == "pending" and not self._is_held(future):
                with suppress(Exception):
                    future.cancel()
        telling.join(self._patience.stop)  # a lost worker may never answer

    def _tell_workers(self) -> None:
        with suppress(Exception):
            self._client.run(self._stop, self.run, on_error="ignore")

    def _is_held(self, future: Any) -> bool:
        """Whether a worker is busy with it: then it comes back soon."""
        try:
            return bool(any(future.key in keys for keys in self._client.processing().values()))
        except Exception:
            return True


def _open_answer(answer: SealedValue) -> Any:
    value = answer.unsealed()
    if isinstance(value, Problem):
        raise CannotReplay(value)
    return value


def _as_error(error: Exception) -> CannotReplay:
    if type(error).__name__ == "KilledWorker":
        return _lost_error("each worker that had it was lost")
    if isinstance(error, ImportError):
        message = "the workers of the cluster cannot import baselinekit"
        return CannotReplay(Problem("BK361", message, f"install the same version there, {__version__}"))
    message = f"the cluster could not do a part of this run: {type(error).__name__}"
    return CannotReplay(Problem("BK361", message, "look at the logs of its scheduler and workers"))


def _lost_error(detail: str) -> WorkersLost:
    hint = "look at the workers' logs: they may lack memory; -j 1 lets each do one at a time"
    return WorkersLost(Problem("BK362", f"this part of the run was not done: {detail}", hint))


def is_private_address(address: str) -> bool:
    """Whether nobody else can read what is sent to an address: it is encrypted, or stays on this machine."""
    scheme, _, rest = address.rpartition("://")
    if scheme in _ENCRYPTED:
        return True
    host = urlsplit(f"//{rest}").hostname or ""
    return host == "localhost" or network_of_host(host) is NetworkKind.LOOPBACK


def worker_folder() -> str | None:
    """Return the folder for a worker's files, which Dask removes when a worker is killed; None outside of
    one."""
    if (dask := sys.modules.get("distributed")) is None:  # every worker has loaded it
        return None
    try:
        folder: str = dask.get_worker().local_directory
    except ValueError:
        return None
    return folder


# Connecting to a cluster, or starting one on this machine.


def check_place(text: str) -> None:
    """Check the value of --dask: the address of a scheduler, or the number of workers to start here."""
    local = LOCAL.fullmatch(text)
    if local and 1 <= int(local[1]) <= _MOST_LOCAL:
        return
    if local or not _ADDRESS.fullmatch(text):
        message = f"--dask {text!r} is neither the address of a scheduler nor local:N"
        hint = f"as in --dask tls://10.0.0.5:8786, or --dask local:4 (1 to {_MOST_LOCAL})"
        raise InvalidInput(Problem("BK508", message, hint))


@contextmanager
def connect_to_cluster(place: str, is_private: bool, stop: Callable[[str], None]) -> Iterator[Cluster]:
    """Connect to the cluster at a place, until this context ends."""
    check_place(place)
    with ExitStack() as stack:
        stack.enter_context(_silence_logs())
        atexit.register(_remove_folders)  # registered before Dask's exit handlers, so it runs after them
        try:
            import distributed
        except ImportError:
            message = "--dask needs the package distributed, which is not installed"
            raise CannotReplay(Problem("BK361", message, _EXTRA)) from None
        local = LOCAL.fullmatch(place)
        if local:  # Dask may also start a worker later, to replace one that has ended
            stack.enter_context(without_main())
        address = stack.enter_context(_start_local(int(local[1]))) if local else place
        try:
            client = distributed.Client(address, timeout=_PATIENCE.connect, set_as_default=False)
        except Exception as error:
            message = f"no Dask scheduler answers at {place}: {_first_line(error)}"
            hint = "check the address; for tls:// Dask's own settings name the certificates"
            raise CannotReplay(Problem("BK361", message, hint)) from None
        stack.callback(_close_client, client)
        cluster = Cluster(client, is_private, stop)
        if is_private:
            cluster.check_private()
        cluster.workers()
        yield cluster


def _close_client(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=_PATIENCE.stop)


def _first_line(error: Exception) -> str:
    """Return the first line of an error of Dask or the system, which contains nothing of the project."""
    return " ".join(str(error).split("\n", 1)[0].split()) or type(error).__name__


@contextmanager
def _start_local(count: int) -> Iterator[Any]:
    """Start workers on this machine, a process each, that nobody else can reach."""
    import distributed

    _folders.append(folder := tempfile.mkdtemp(prefix="baselinekit-dask-"))
    cluster = None
    try:
        with _delay_signals():
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                scheduler_kwargs={"dashboard": False, "dashboard_address": ":0"},
                memory_limit=0,
                local_directory=folder,
                silence_logs=logging.CRITICAL,
            )
        yield cluster
    except Exception as error:
        if cluster is not None:
            raise
        message = f"the workers could not be started: {_first_line(error)}"
        raise CannotReplay(Problem("BK361", message, "try a smaller number: --dask local:2")) from None
    finally:
        if cluster is not None:
            with suppress(Exception):
                cluster.close(timeout=_PATIENCE.stop)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay signals until the end of this context: Dask cannot end what it has not finished starting. A
    Ctrl-C goes to all programs of a terminal; it stays blocked in the workers, as this process tells them to
    stop. A SIGTERM does not, because Dask ends them with it."""
    resource_tracker.ensure_running()  # otherwise a worker starts it, which unblocks all signals
    received: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    old_handler = (
        signal.signal(signal.SIGTERM, lambda number, _: received.append(number)) if is_main else None
    )
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, old_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        if received:
            signal.raise_signal(signal.SIGTERM)


_folders: list[str] = []
"""The folders of workers on this machine: after a Ctrl-C during their start, Dask ends them at the very
end."""


def _remove_folders() -> None:
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _silence_logs() -> Iterator[None]:
    """Silence Dask's logs, which are meant for the operators of the cluster: our own messages say what
    matters here. After a Ctrl-C they stay silent until the process ends."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    is_interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(logger.level if is_interrupted else level)


def split_evenly(entries: Iterable[Any], workers: int, most: int = 64) -> list[list[Any]]:
    """Divide into equal parts, several for each worker, so that none waits long for the last; none is larger
    than `most`."""
    items = list(entries)
    size = max(1, min(most, -(-len(items) // (4 * workers))))
    return [items[start : start + size] for start in range(0, len(items), size)]
