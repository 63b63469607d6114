"""The client that runs programs: each in a session of its own, its output bounded, killed as a group."""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.programs.children import said_last
from baselinekit.programs.watchdog import LeftProcesses, close, watchdog
from baselinekit.texts import end_of

_GLANCE = 0.05
_GRACE = 2.0
_AFTER_EXIT = 1.0
_CHUNK = 65_536
_TORN = 2_048
"""How much at a torn end could belong to one secret, in any spelling but those of a whole file."""


class Processes:
    """Runs programs from any number of threads."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._running: set[int] = set()
        self._changed = threading.Condition()
        self._orphans = LeftProcesses()

    def execute(self, run: ProcessSpec) -> ProcessResult:
        """Run a program to its end, or CannotReplay. Nothing that it started outlives it."""
        if self._cancelled.is_set():
            raise NeverSent(Problem("BK330", f"{run.argv[0]}: interrupted"))
        close()
        with self._orphans.ended_with_it():
            return self._execute(run)

    def _execute(self, run: ProcessSpec) -> ProcessResult:
        started = time.monotonic()
        process = _start(run)
        watchdog().keep(process.pid)
        with self._changed:
            self._running.add(process.pid)
        try:
            with _Talk(process, run, started + run.timeout, self._cancelled) as talk:
                talk.to_the_end(lambda: self._orphans.tell(watchdog()))
                exit_code = _end(process)
                return ProcessResult(exit_code, bytes(talk.out), talk.tail(), time.monotonic() - started)
        finally:
            _end(process)
            watchdog().forget(process.pid)
            with self._changed:
                self._running.discard(process.pid)
                self._changed.notify_all()

    def cancel(self) -> None:
        """End every program that runs, from another thread; from now on each one fails."""
        self._cancelled.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, _GRACE + 1)


def _start(run: ProcessSpec) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            run.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=run.cwd,
            env=run.env,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        what, hint = f"the program {run.argv[0]!r}", ""
        if not os.path.isdir(run.cwd):
            what, hint = f"the working folder {run.cwd!r}", "correct `cwd`"
        elif isinstance(error, FileNotFoundError):
            hint = "install it, or correct its name"
        elif isinstance(error, PermissionError):
            hint = "make it executable: chmod +x"
        why = getattr(error, "strerror", None) or str(error)
        raise cannot("BK320", f"{what} cannot be used: {why}", hint) from None


class _Talk:
    """What goes into a program and comes out of it, until it has ended and its pipes are closed."""

    def __init__(
        self, process: subprocess.Popen[bytes], run: ProcessSpec, deadline: float, cancelled: threading.Event
    ):
        self._process, self._run = process, run
        self._deadline, self._cancelled = deadline, cancelled
        self._selector = selectors.DefaultSelector()
        self._unsent = memoryview(run.stdin)
        self.out, self._err = bytearray(), bytearray()

    def __enter__(self) -> "_Talk":
        for pipe, event in (
            (self._process.stdin, selectors.EVENT_WRITE),
            (self._process.stdout, selectors.EVENT_READ),
            (self._process.stderr, selectors.EVENT_READ),
        ):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()

    def to_the_end(self, at_each_glance: Callable[[], None]) -> None:
        ended_at: float | None = None
        pause = 0.0005
        while self._selector.get_map() or ended_at is None:
            self._stop_when_due()
            at_each_glance()
            if ended_at is None and _has_ended(self._process):
                ended_at = time.monotonic()
            if ended_at is not None and time.monotonic() > ended_at + _AFTER_EXIT:
                return  # something that it started still holds its pipes
            if self._selector.get_map():
                self._move_what_waits()
            elif ended_at is None:
                time.sleep(pause)  # it usually ends right after its pipes
                pause = min(2 * pause, _GLANCE)

    def _move_what_waits(self) -> None:
        for key, _ in self._selector.select(_GLANCE):
            self._move(key.fileobj)  # type: ignore[arg-type]  # only pipes are registered

    def tail(self) -> bytes:
        """Its last words, begun where no secret is torn: nobody finds half of one. Where nobody knows the
        secrets, what could belong to a torn line is left out."""
        most, mask = self._run.max_stderr, self._run.mask
        cut = len(self._err) - most
        if cut <= 0:
            return bytes(self._err)
        start = _after_torn(self._err, cut + min(_TORN, most // 4))
        if mask is None:
            return bytes(self._err[start:])
        said = self._err.decode("utf-8", "surrogateescape")
        room = len(self._err[start:].decode("utf-8", "surrogateescape"))
        return end_of(said, room, mask).encode("utf-8", "surrogateescape")

    def _move(self, pipe: IO[bytes]) -> None:
        if pipe is self._process.stdin:
            self._write(pipe)
            return
        data = os.read(pipe.fileno(), _CHUNK)
        if not data:
            self._selector.unregister(pipe)
        elif pipe is self._process.stdout:
            self.out += data
        else:
            self._err += data
            del self._err[: -2 * self._run.max_stderr]

    def _write(self, pipe: IO[bytes]) -> None:
        with suppress(BrokenPipeError):  # it need not read what it is given
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK]) :]
            if self._unsent:
                return
        self._selector.unregister(pipe)
        pipe.close()

    def _stop_when_due(self) -> None:
        if self._cancelled.is_set():
            raise self._stopped("BK330", "was interrupted", "")
        if len(self.out) > self._run.max_stdout:
            what = f"wrote more than {self._run.max_stdout:,} bytes to its standard output"
            raise self._stopped("BK322", what, "let it write less, or into a file")
        if time.monotonic() >= self._deadline:
            what = f"did not end within {self._run.timeout:g} s"
            raise self._stopped("BK321", what, "raise `timeout` if it may take longer")

    def _stopped(self, code: str, what: str, hint: str) -> CannotReplay:
        _signal_group(self._process, signal.SIGTERM)
        regex_budget = time.monotonic() + _GRACE
        while not _has_ended(self._process) and time.monotonic() < regex_budget:
            time.sleep(0.01)
        return cannot(code, f"{self._run.argv[0]} {what}{said_last(self.tail(), self._run.mask)}", hint)


def _after_torn(data: bytearray, place: int) -> int:
    """Where the next line begins, or the next word where there is no other line."""
    ends = (data.find(end, place, place + _TORN) for end in (b"\n", b" "))
    return next((end + 1 for end in ends if end >= 0), place)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without collecting it: until then nobody else gets its number, and its group can be killed safely."""
    if process.returncode is None and hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the group, and collect the program."""
    if process.returncode is None:
        _signal_group(process, signal.SIGKILL)
        process.wait()
    return process.returncode
