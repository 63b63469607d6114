"""The client that runs programs: each in its own session, with limited output, killed as a group."""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from typing import IO

from baselinekit.clients.programs.children import last_error_line
from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.values.texts import end_of

_GLANCE = 0.05
_GRACE = 2.0
_AFTER_EXIT = 1.0
_CHUNK = 65_536
_TORN = 2_048
"""How many bytes at a cut could belong to one secret, in any encoding, unless the secret is a whole file."""
_SET_DUMPABLE = 4


@cache
def deny_inspection() -> None:
    """Before the first program starts, deny it the environment and the memory of this process, which hold
    every secret of the operator (F40). Only Linux can, and not to root."""
    if sys.platform == "linux":
        import ctypes  # only those who run programs pay for it

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


class Processes:
    """Runs programs from any number of threads."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._running: set[int] = set()
        self._changed = threading.Condition()

    def execute(self, run: ProcessSpec) -> ProcessResult:
        """Run a program to its end, or raise CannotReplay. Nothing of its process group outlives it."""
        if self._cancelled.is_set():
            raise NeverSent(Problem("BK330", f"{run.argv[0]}: interrupted"))
        deny_inspection()
        started = time.monotonic()
        process = _start(run)
        with self._changed:
            self._running.add(process.pid)
        try:
            with _Conversation(process, run, started + run.timeout, self._cancelled) as conversation:
                conversation.run_to_end()
                exit_code = _kill_and_collect(process)
                return ProcessResult(
                    exit_code, bytes(conversation.out), conversation.tail(), time.monotonic() - started
                )
        finally:
            _kill_and_collect(process)
            with self._changed:
                self._running.discard(process.pid)
                self._changed.notify_all()

    def cancel(self) -> None:
        """End every running program, from another thread; from now on each `execute` fails."""
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
        subject, hint = f"the program {run.argv[0]!r}", ""
        if not os.path.isdir(run.cwd):
            subject, hint = f"the working folder {run.cwd!r}", "correct `cwd`"
        elif isinstance(error, FileNotFoundError):
            hint = "install it, or correct its name"
        elif isinstance(error, PermissionError):
            hint = "make it executable: chmod +x"
        reason = getattr(error, "strerror", None) or str(error)
        raise cannot_replay("BK320", f"{subject} cannot be used: {reason}", hint) from None


class _Conversation:
    """Writes the input of a program and reads its output, until it has ended and its pipes are closed."""

    def __init__(
        self, process: subprocess.Popen[bytes], run: ProcessSpec, deadline: float, cancelled: threading.Event
    ):
        self._process, self._run = process, run
        self._deadline, self._cancelled = deadline, cancelled
        self._selector = selectors.DefaultSelector()
        self._unsent = memoryview(run.stdin)
        self.out, self._err = bytearray(), bytearray()

    def __enter__(self) -> "_Conversation":
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

    def run_to_end(self) -> None:
        ended_at: float | None = None
        pause = 0.0005
        while self._selector.get_map() or ended_at is None:
            self.stop_when_due()
            if ended_at is None and has_ended(self._process):
                ended_at = time.monotonic()
            if ended_at is not None and time.monotonic() > ended_at + _AFTER_EXIT:
                return  # something that it started still holds its pipes
            if self._selector.get_map():
                for key, _ in self._selector.select(_GLANCE):
                    self.move(key.fileobj)  # type: ignore[arg-type]  # only pipes are registered
            elif ended_at is None:
                time.sleep(pause)  # it usually ends right after its pipes
                pause = min(2 * pause, _GLANCE)

    def tail(self) -> bytes:
        """The end of the error output, cut where it splits no secret, as half of one would not be masked.
        Without a `mask`, the line that may be cut is left out."""
        most, mask = self._run.max_stderr, self._run.mask
        cut = len(self._err) - most
        if cut <= 0:
            return bytes(self._err)
        start = cut + min(_TORN, most // 4)  # from there on the next line, or the next word
        positions = [self._err.find(end, start, start + _TORN) for end in (b"\n", b" ")]
        start = next((end + 1 for end in positions if end >= 0), start)
        if mask is None:
            return bytes(self._err[start:])
        stderr = self._err.decode("utf-8", "surrogateescape")
        room = len(self._err[start:].decode("utf-8", "surrogateescape"))
        return end_of(stderr, room, mask).encode("utf-8", "surrogateescape")

    def move(self, pipe: IO[bytes]) -> None:
        if pipe is self._process.stdin:
            with suppress(BrokenPipeError):  # it need not read what it is given
                self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK]) :]
                if self._unsent:
                    return
            self._selector.unregister(pipe)
            pipe.close()
            return
        data = os.read(pipe.fileno(), _CHUNK)
        if not data:
            self._selector.unregister(pipe)
        elif pipe is self._process.stdout:
            self.out += data
        else:
            self._err += data
            del self._err[: -2 * self._run.max_stderr]

    def stop_when_due(self) -> None:
        if self._cancelled.is_set():
            raise self.stop("BK330", "was interrupted", "")
        if len(self.out) > self._run.max_stdout:
            message = f"wrote more than {self._run.max_stdout:,} bytes to its standard output"
            raise self.stop("BK322", message, "let it write less, or into a file")
        if time.monotonic() >= self._deadline:
            message = f"did not end within {self._run.timeout:g} s"
            raise self.stop("BK321", message, "raise `timeout` if it may take longer")

    def stop(self, code: str, message: str, hint: str) -> CannotReplay:
        signal_group(self._process, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while not has_ended(self._process) and time.monotonic() < deadline:
            time.sleep(0.01)
        return cannot_replay(
            code, f"{self._run.argv[0]} {message}{last_error_line(self.tail(), self._run.mask)}", hint
        )


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended, without collecting it: until it is collected its number is not reused, and
    its group can be killed safely."""
    if process.returncode is None and hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _kill_and_collect(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the group, and collect the program."""
    if process.returncode is None:
        signal_group(process, signal.SIGKILL)
        process.wait()
    return process.returncode
