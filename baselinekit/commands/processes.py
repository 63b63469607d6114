"""Workers in processes of their own: one executor for each, so that a process that is lost takes only its own
chunk along."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from shlex import quote
from types import ModuleType
from typing import Any, Self

from baselinekit.commands.executor import LOSSES
from baselinekit.errors import Problem, cannot_replay

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


Build = Callable[[], Any]
"""Makes what does the work in its process, with the methods that are called, and `cancel`. It can be
pickled: a class or a function of a module, or a `partial` of one."""

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
            wait([parent.sentinel])
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _call(method: str, arguments: tuple[Any, ...]) -> Any:
    if not _workers:
        _workers.append(_builds[0]())
        if _cancelled.is_set():  # before the worker existed
            _workers[0].cancel()
    return getattr(_workers[0], method)(*arguments)


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

    def call(self, worker: int, method: str, *arguments: Any) -> Any:
        try:
            with self._starting, block_signals(*_ENDING), without_main():
                if worker not in self._executors:
                    start = (self._builds[worker], self._control)
                    self._executors[worker] = ProcessPoolExecutor(1, self._context, _begin, start)
                future = self._executors[worker].submit(_call, method, arguments)
            return future.result()
        except BrokenProcessPool:
            self._executors.pop(worker).shutdown()
            return 1
        except (ImportError, NotImplementedError, OSError) as error:  # a system without semaphores, or full
            raise cannot_replay("BK360", f"no process can start here: {error}", "--processes 1") from None

    def lost(self, id: str) -> Problem:
        message = f"the process that was to judge it ended {LOSSES} times: killed, or out of memory"
        hint = f"see what happens without --processes: baselinekit {self._command} --id {quote(id)}"
        return Problem("BK360", message, hint)

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
