"""Workers on the machines of a Dask cluster. No other file knows Dask."""

import logging
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any
from urllib.parse import urlsplit

from baselinekit import __version__
from baselinekit.clients.trust import NetworkKind, network_of_host
from baselinekit.commands.context import SIGNAL_CHECK
from baselinekit.commands.executor import Chunk, Grant
from baselinekit.commands.processes import without_main
from baselinekit.commands.shipping import Sealed, judge_parcel, stop_run
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Problem, Refused
from baselinekit.lazy import lazy_pattern

_LOCAL = lazy_pattern(r"local:(\d{1,3})")
_ADDRESS = lazy_pattern(r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5}/?")
_ENCRYPTED = ("tls", "wss", "inproc")
"""Schemes whose traffic nobody in between can read."""

_MOST_LOCAL = 512
_CONNECT_SECONDS, _WORKER_SECONDS, _STOP_SECONDS = 10.0, 60.0, 5.0
"""How long to wait for a scheduler, for a first worker, and for workers that are to stop."""


class Cluster:
    """The workers of a cluster, reached by a Dask client. `is_private`: secrets are sent too, and only to
    workers whose connection nobody can read. `jobs`: how many items all of them do at once. `seal`: what is
    sent."""

    def __init__(self, client: Any, is_private: bool, jobs: int, seal: Callable[[Chunk[Any], Grant], Sealed]):
        self._client, self._is_private, self._seal = client, is_private, seal
        self._run = secrets.token_hex(8)
        self._under_way: set[Future[Any]] = set()
        self.count = max(1, min(len(self.admitted(is_start=True)), jobs))
        self.threads = max(1, jobs // self.count)

    def admitted(self, is_start: bool = False) -> list[str]:
        """Return the addresses of the workers that may be sent something; wait until there is one. Secrets
        are sent to no cluster that others could read at the start, and to none of its workers later."""
        until = time.monotonic() + _WORKER_SECONDS
        while True:
            workers = [*self._client.nthreads()]
            nodes = (self._client.scheduler.address, *workers)
            unencrypted = [node for node in nodes if self._is_private and not is_private_address(node)]
            usable = sorted({*workers} - {*unencrypted})
            if unencrypted and (is_start or not usable):
                message = f"secrets would travel unencrypted to {', '.join(unencrypted[:3])}"
                hint = (
                    "use a cluster with TLS (tls://HOST:PORT), or one on this machine; docs/many-machines.md"
                )
                raise Refused(Problem("BK409", message, hint))
            if usable:
                return usable
            if time.monotonic() > until:
                hint = "start one (dask worker ADDRESS), or look at the scheduler's log"
                raise CannotReplay(Problem("BK361", "the Dask cluster has no worker", hint))
            time.sleep(0.5)

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        workers = self.admitted()
        options = {"pure": False, "workers": workers, "allow_other_workers": False}
        try:
            sealed = self._seal(*arguments)
            future: Future[Any] = self._client.get_executor(**options).submit(_judge, self._run, sealed)
            self._under_way.add(future)
            while not wait([future], SIGNAL_CHECK).done:
                with suppress(OSError):  # where all are lost that may have it, Dask would wait for ever
                    if {*self._client.nthreads()}.isdisjoint(workers):
                        future.cancel()
            self._under_way.discard(future)
            return future.result().opened()
        except CancelledError:
            return 1
        except BaselinekitError as error:
            return error.problems[0]
        except ImportError:
            message = "the workers of the cluster cannot import baselinekit"
            return Problem("BK361", message, f"install the same version there, {__version__}")
        except Exception as error:  # errors of Dask itself, and of workers that could not begin
            if type(error).__name__ == "KilledWorker":  # Dask has lost several workers with it
                return 2
            message = f"the cluster could not do a part of this run: {type(error).__name__}"
            return Problem("BK361", message, "look at the logs of its scheduler and workers")

    def lost(self, id: str) -> Problem:
        hint = "look at the workers' logs: they may lack memory; -j 1 lets each do one at a time"
        return Problem("BK362", "this part of the run was not done: each worker that had it was lost", hint)

    def cancel(self) -> None:
        """Tell the workers to stop and hand back what they have; those that do not answer are left alone."""
        threading.Thread(target=self._tell_workers, daemon=True).start()

    def _tell_workers(self) -> None:
        until = time.monotonic() + _STOP_SECONDS
        with suppress(Exception):
            self._client.run(stop_run, self._run, on_error="ignore")
        while self._under_way and time.monotonic() < until:
            time.sleep(0.1)
        for future in [*self._under_way]:
            future.cancel()


def _judge(run: str, sealed: Sealed) -> Sealed:
    """On a worker: judge a chunk in a folder that Dask removes when the worker is killed."""
    folder = None
    if (dask := sys.modules.get("distributed")) is not None:  # every worker has loaded it
        with suppress(ValueError):
            folder = dask.get_worker().local_directory
    return judge_parcel(run, sealed, folder)


def is_private_address(address: str) -> bool:
    """Whether nobody else can read what is sent to an address: it is encrypted, or stays on this machine."""
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
def connect_to_cluster(
    place: str, is_private: bool, jobs: int, seal: Callable[[Chunk[Any], Grant], Sealed]
) -> Iterator[Cluster]:
    """Connect to the cluster at a place, until this context ends."""
    with ExitStack() as stack:
        for name in ("distributed", "tornado", "asyncio"):  # these logs are for the cluster's operators
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            import distributed
        except ImportError:
            message = "--dask needs the package distributed, which is not installed"
            raise CannotReplay(Problem("BK361", message, "pip install 'baselinekit[dask]'")) from None
        local = _LOCAL.fullmatch(place)
        if local:  # Dask may also start a worker later, to replace one that has ended
            stack.enter_context(without_main())
        address = stack.enter_context(_start_local(int(local[1]))) if local else place
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            message = f"no Dask scheduler answers at {place}: {_first_line(error)}"
            hint = "check the address; for tls:// Dask's own settings name the certificates"
            raise CannotReplay(Problem("BK361", message, hint)) from None
        stack.callback(_close, client)
        yield Cluster(client, is_private, jobs, seal)


def _close(opened: Any) -> None:
    with suppress(Exception):
        opened.close(timeout=_STOP_SECONDS)


def _first_line(error: Exception) -> str:
    """Return the first line of an error of Dask or the system, which contains nothing of the project."""
    return " ".join(str(error).split("\n", 1)[0].split()) or type(error).__name__


@contextmanager
def _start_local(count: int) -> Iterator[Any]:
    """Start workers on this machine, a process each, that nobody else can reach."""
    import distributed

    folder = tempfile.TemporaryDirectory(prefix="baselinekit-dask-", ignore_cleanup_errors=True)
    with folder, ExitStack() as stack:
        try:
            with _delay_signals():
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
            raise CannotReplay(Problem("BK361", message, "try a smaller number: --dask local:2")) from None
        yield cluster


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay signals until the end of this context: Dask cannot end what it has not finished starting. A
    Ctrl-C goes to all programs of a terminal; it stays blocked in the workers, as this process tells them to
    stop. A SIGTERM does not, because Dask ends them with it."""
    resource_tracker.ensure_running()  # otherwise a worker starts it, which unblocks all signals
    received: list[int] = []
    old_handler = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        if received:
            signal.raise_signal(signal.SIGTERM)
