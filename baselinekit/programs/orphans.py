"""What a program leaves behind: processes in a session of their own, which no kill of its group reaches.

On Linux they become our children when their parents end, and they are ended as soon as every program has
that was running when they were born (F28). Elsewhere they stay."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from baselinekit.programs.keeper import Keeper

_SET_CHILD_SUBREAPER = 36
_PATIENCE = 1.0
_GLANCE = 0.05


class Orphans:
    """Shared by all that run programs at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[int, int] = {}
        self._tell_at = 0.0
        self._began: list[int] = []
        self._first: int | None = None

    @contextmanager
    def ended_with_it(self) -> Iterator[None]:
        """Around one program, from before its start until it is collected."""
        if sys.platform != "linux":
            yield
            return
        with self._lock:
            began = _now()
            if self._first is None:
                self._first = began
                _adopt()
            self._began.append(began)
        try:
            yield
        finally:
            with self._lock:
                self._began.remove(began)
                self._end_them()

    def tell(self, keeper: Keeper) -> None:
        """The keeper hears of those that have come to us while their programs still run."""
        if (
            sys.platform != "linux"
            or time.monotonic() < self._tell_at
            or not self._lock.acquire(blocking=False)
        ):
            return
        try:
            self._tell_at = time.monotonic() + _GLANCE
            there = set(_children())
            for pid in there - self._told.keys():
                with suppress(OSError, ValueError):
                    session, self._told[pid] = _session_and_birth(pid)
                    if session != os.getsid(0):
                        keeper.keep(pid, self._told[pid])
            for pid in self._told.keys() - there:
                keeper.forget(pid, self._told.pop(pid))
        finally:
            self._lock.release()

    def _end_them(self) -> None:
        """One that dies may leave others behind, so again until there are none."""
        patience = time.monotonic() + _PATIENCE
        while (found := self._orphans()) and time.monotonic() < patience:
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.001)

    def _orphans(self) -> list[int]:
        """Ours by adoption: in a session that is not ours, and born when nothing ran that still runs."""
        oldest = min(self._began, default=None)
        found = []
        for pid in _children():
            with suppress(OSError, ValueError):
                session, born = _session_and_birth(pid)
                in_a_run = self._first is not None and self._first <= born
                if session != os.getsid(0) and in_a_run and (oldest is None or born < oldest):
                    found.append(pid)
        return found


def _adopt() -> None:
    """From now on the orphans among our descendants become our children, and not those of process 1."""
    import ctypes  # only those who run programs pay for it

    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> list[int]:
    """Orphans come to the first thread of the process that adopts them."""
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without this list
        return []


def _session_and_birth(pid: int) -> tuple[int, int]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[3]), int(fields[19])


def _now() -> int:
    """The time in the units in which the system tells when a process was born."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
