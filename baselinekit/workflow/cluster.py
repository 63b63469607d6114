"""Work on the machines of a Dask cluster: which they are, what may be sent to them, and what is done when one
is lost. This is the only file that knows Dask."""

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
from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.trust import NetworkKind, network_of_host
from baselinekit.workflow.parcel import Sealed
from baselinekit.workflow.processes import without_main

LOCAL = lazy_pattern(r"local:(\d{1,3})")
_ADDRESS = lazy_pattern(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?")
_CLOSED = ("tls", "wss", "inproc")
"""Ways on which nobody in between can read."""

_MOST_LOCAL = 512
_TIMES = 3
"""How often a part of a run is begun anew where all the workers that might do it are gone. Where one of
several is gone Dask itself does so, as often as the scheduler is told to."""

_EXTRA = "pip install 'baselinekit[dask]'"

Work = Callable[[str, Sealed], Sealed]
"""Done on a worker: the run that it belongs to, and what is sent -> a value, or a Problem."""


@frozen
class Patience:
    """Seconds: `looks` between two looks at whether the workers that may do a part are still there."""

    connect: float = 10.0
    find_workers: float = 60.0
    stop: float = 5.0
    looks: float = 1.0


_PATIENCE = Patience()


class WorkersLost(CannotReplay):
    """Each worker that had it was lost."""


class Cancelled(Exception):
    """Nobody waits for it any more."""


class Cluster:
    """Workers, reached by a client of Dask. `is_private`: secrets are sent as well, which go only to workers
    that are reached with nobody in between. `stop`: what a worker calls to end a run."""

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
        """The addresses of those that may be sent something; waits until there is one."""
        until = time.monotonic() + self._patience.find_workers
        while True:
            known = self._client.nthreads()
            there = [one for one in known if not self._is_private or is_closed(one)]
            if known and not there:
                self.check_private()
            if there or self._stopped_at is not None:
                return sorted(there)
            if time.monotonic() > until:
                hint = "start one (dask worker ADDRESS), or look at the scheduler's log"
                raise CannotReplay(Problem("BK361", "the Dask cluster has no worker", hint))
            time.sleep(self._patience.looks / 2)

    def check_private(self) -> None:
        """Secrets are sent to nobody whom others could overhear."""
        address = self._client.scheduler.address
        if open_to_others := [one for one in (address, *self._client.nthreads()) if not is_closed(one)]:
            message = f"secrets would travel unencrypted to {', '.join(open_to_others[:3])}"
            hint = "use a cluster with TLS (tls://HOST:PORT), or one on this machine; docs/many-machines.md"
            raise Refused(Problem("BK409", message, hint))

    def done(self, work: Work, sealed: Sealed) -> Any:
        """What a worker makes of what is sent. Whose worker is lost is done again, and comes back once."""
        for _ in range(_TIMES):
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
                answer = self._awaited(future, workers)
            finally:
                with self._lock:
                    self._under_way.discard(future)
                future.release()
            if answer is not None:
                return _said(answer)
        raise _lost("the workers that had it were lost three times")

    def _awaited(self, future: Any, workers: list[str]) -> Sealed | None:
        """None where it has to be begun anew."""
        while True:
            try:
                answer: Sealed = future.result(timeout=self._patience.looks)
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
            except Exception as error:  # Dask's own, and what its workers could not even begin
                raise _fault(error) from None

    @property
    def is_cancelled(self) -> bool:
        return self._stopped_at is not None

    def cancel(self) -> None:
        """The workers are told to stop and hand back what they have; who does not answer is left."""
        with self._lock:
            self._stopped_at = self._stopped_at or time.monotonic()
            left = list(self._under_way)
        telling = threading.Thread(target=self._tell, name="cancel", daemon=True)
        telling.start()
        for future in left:
            if future.status == "pending" and not self._is_held(future):
                with suppress(Exception):
                    future.cancel()
        telling.join(self._patience.stop)  # a worker that is lost may never answer

    def _tell(self) -> None:
        with suppress(Exception):
            self._client.run(self._stop, self.run, on_error="ignore")

    def _is_held(self, future: Any) -> bool:
        """Whether a worker has it: then it comes back soon."""
        try:
            return bool(any(future.key in keys for keys in self._client.processing().values()))
        except Exception:
            return True


def _said(answer: Sealed) -> Any:
    value = answer.unsealed()
    if isinstance(value, Problem):
        raise CannotReplay(value)
    return value


def _fault(error: Exception) -> CannotReplay:
    if type(error).__name__ == "KilledWorker":
        return _lost("each worker that had it was lost")
    if isinstance(error, ImportError):
        message = "the workers of the cluster cannot import baselinekit"
        return CannotReplay(Problem("BK361", message, f"install the same version there, {__version__}"))
    message = f"the cluster could not do a part of this run: {type(error).__name__}"
    return CannotReplay(Problem("BK361", message, "look at the logs of its scheduler and workers"))


def _lost(how: str) -> WorkersLost:
    hint = "look at the workers' logs: they may lack memory; -j 1 lets each do one at a time"
    return WorkersLost(Problem("BK362", f"this part of the run was not done: {how}", hint))


def is_closed(address: str) -> bool:
    """Whether nobody else can read what goes to an address: encrypted, or never off this machine."""
    scheme, _, rest = address.rpartition("://")
    if scheme in _CLOSED:
        return True
    host = urlsplit(f"//{rest}").hostname or ""
    return host == "localhost" or network_of_host(host) is NetworkKind.LOOPBACK


def scratch() -> str | None:
    """The folder that a worker has for its files, which Dask clears away after a worker that was killed; None
    where this is none."""
    if (dask := sys.modules.get("distributed")) is None:  # which every worker has loaded
        return None
    try:
        folder: str = dask.get_worker().local_directory
    except ValueError:
        return None
    return folder


# How a cluster is reached, or one is begun on this machine.


def check_place(text: str) -> None:
    """What --dask is given: the address of a scheduler, or how many workers are to be started here."""
    local = LOCAL.fullmatch(text)
    if local and 1 <= int(local[1]) <= _MOST_LOCAL:
        return
    if local or not _ADDRESS.fullmatch(text):
        message = f"--dask {text!r} is neither the address of a scheduler nor local:N"
        hint = f"as in --dask tls://10.0.0.5:8786, or --dask local:4 (1 to {_MOST_LOCAL})"
        raise InvalidInput(Problem("BK508", message, hint))


@contextmanager
def reached(place: str, is_private: bool, stop: Callable[[str], None]) -> Iterator[Cluster]:
    """The cluster at a place, until this ends."""
    check_place(place)
    with ExitStack() as opened:
        opened.enter_context(_silence())
        atexit.register(_remove_folders)  # before Dask says what it does at the end, and so after that
        try:
            import distributed
        except ImportError:
            message = "--dask needs the package distributed, which is not installed"
            raise CannotReplay(Problem("BK361", message, _EXTRA)) from None
        local = LOCAL.fullmatch(place)
        if local:  # Dask may also start one later, in the place of one that has ended
            opened.enter_context(without_main())
        address = opened.enter_context(_begun_here(int(local[1]))) if local else place
        try:
            client = distributed.Client(address, timeout=_PATIENCE.connect, set_as_default=False)
        except Exception as error:
            message = f"no Dask scheduler answers at {place}: {_why(error)}"
            hint = "check the address; for tls:// Dask's own settings name the certificates"
            raise CannotReplay(Problem("BK361", message, hint)) from None
        opened.callback(_closed, client)
        cluster = Cluster(client, is_private, stop)
        if is_private:
            cluster.check_private()
        cluster.workers()
        yield cluster


def _closed(client: Any) -> None:
    with suppress(Exception):
        client.close(timeout=_PATIENCE.stop)


def _why(error: Exception) -> str:
    """The first line of it, which is Dask's or the system's and holds nothing of ours."""
    return " ".join(str(error).split("\n", 1)[0].split()) or type(error).__name__


@contextmanager
def _begun_here(count: int) -> Iterator[Any]:
    """Workers of this machine, a process each, that nobody else reaches."""
    import distributed

    _folders.append(folder := tempfile.mkdtemp(prefix="baselinekit-dask-"))
    cluster = None
    try:
        with _undisturbed():
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
        message = f"the workers could not be started: {_why(error)}"
        raise CannotReplay(Problem("BK361", message, "try a smaller number: --dask local:2")) from None
    finally:
        if cluster is not None:
            with suppress(Exception):
                cluster.close(timeout=_PATIENCE.stop)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Dask cannot end what it has not finished starting: a signal that comes meanwhile is heard at the end of
    this. A Ctrl-C goes to all programs of a terminal, and is kept from the workers for good: this process
    tells them to stop. A SIGTERM is not, for it is how Dask ends them."""
    resource_tracker.ensure_running()  # else a worker starts it, and lets all signals through again
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    heard = signal.signal(signal.SIGTERM, lambda number, _: came.append(number)) if is_main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, heard)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(signal.SIGTERM)


_folders: list[str] = []
"""Of workers of this machine: after a Ctrl-C while they were being started Dask ends them last of all."""


def _remove_folders() -> None:
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _silence() -> Iterator[None]:
    """What Dask logs is for who runs the cluster: what matters here is told by our own messages. After a
    Ctrl-C that goes for what it does at the very end as well."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    is_interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(logger.level if is_interrupted else level)


def parts_of(entries: Iterable[Any], workers: int, most: int = 64) -> list[list[Any]]:
    """Equal parts, several for each worker, so that none waits long for the last; none larger than `most`."""
    listed = list(entries)
    size = max(1, min(most, -(-len(listed) // (4 * workers))))
    return [listed[start : start + size] for start in range(0, len(listed), size)]
