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

from baselinekit.clients.programs.children import last_error_line
from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.values.texts import end_of

Child = subprocess.Popen[bytes]

_GLANCE = 0.05
_AFTER_PIPES = 0.002
"""A program usually ends right after its pipes."""
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
            out, err = self._converse(process, run, started + run.timeout)
            exit_code, error_output = _kill_and_collect(process), _tail(err, run)
            return ProcessResult(exit_code, bytes(out), error_output, time.monotonic() - started)
        finally:
            _kill_and_collect(process)
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                with suppress(OSError):
                    pipe.close()
            with self._changed:
                self._running.discard(process.pid)
                self._changed.notify_all()

    def cancel(self) -> None:
        """End every running program, from another thread; from now on each `execute` fails."""
        self._cancelled.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._running, _GRACE + 1)

    def _converse(self, process: Child, run: ProcessSpec, deadline: float) -> tuple[bytearray, bytearray]:
        """Write the input of a program and read its output, until it has ended and its pipes are closed."""
        unsent, out, err = memoryview(run.stdin), bytearray(), bytearray()
        ended_at: float | None = None
        with selectors.DefaultSelector() as selector:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            selector.register(process.stdin, selectors.EVENT_WRITE, None)
            selector.register(process.stdout, selectors.EVENT_READ, out)
            selector.register(process.stderr, selectors.EVENT_READ, err)
            os.set_blocking(process.stdin.fileno(), False)
            while selector.get_map() or ended_at is None:
                if stop := self._stop_reason(run, deadline, out):
                    raise _stop(process, run, err, *stop)
                if ended_at is None and has_ended(process):
                    ended_at = time.monotonic()
                if ended_at is not None and time.monotonic() > ended_at + _AFTER_EXIT:
                    break  # something that it started still holds its pipes
                for key, _ in selector.select(_GLANCE) if selector.get_map() else ():
                    if key.data is None:
                        with suppress(BrokenPipeError):  # it need not read what it is given
                            unsent = unsent[os.write(key.fd, unsent[:_CHUNK]) :]
                            if unsent:
                                continue
                        selector.unregister(key.fd)
                        process.stdin.close()
                    elif data := os.read(key.fd, _CHUNK):
                        key.data.extend(data)
                    else:
                        selector.unregister(key.fd)
                del err[: -2 * run.max_stderr]
                if not selector.get_map() and ended_at is None:
                    time.sleep(_AFTER_PIPES)
        return out, err

    def _stop_reason(self, run: ProcessSpec, deadline: float, out: bytearray) -> tuple[str, str, str] | None:
        if self._cancelled.is_set():
            return "BK330", "was interrupted", ""
        if len(out) > run.max_stdout:
            message = f"wrote more than {run.max_stdout:,} bytes to its standard output"
            return "BK322", message, "let it write less, or into a file"
        if time.monotonic() >= deadline:
            return "BK321", f"did not end within {run.timeout:g} s", "raise `timeout` if it may take longer"
        return None


def _start(run: ProcessSpec) -> Child:
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


def _tail(err: bytearray, run: ProcessSpec) -> bytes:
    """The end of the error output, cut where it splits no secret, as half of one would not be masked.
    Without a `mask`, the line that may be cut is left out."""
    most, mask = run.max_stderr, run.mask
    cut = len(err) - most
    if cut <= 0:
        return bytes(err)
    start = cut + min(_TORN, most // 4)  # from there on the next line, or the next word
    positions = [err.find(end, start, start + _TORN) for end in (b"\n", b" ")]
    start = next((end + 1 for end in positions if end >= 0), start)
    if mask is None:
        return bytes(err[start:])
    room = len(err[start:].decode("utf-8", "surrogateescape"))
    return end_of(err.decode("utf-8", "surrogateescape"), room, mask).encode("utf-8", "surrogateescape")


def _stop(process: Child, run: ProcessSpec, err: bytearray, code: str, text: str, hint: str) -> CannotReplay:
    signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    while not has_ended(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return cannot_replay(code, f"{run.argv[0]} {text}{last_error_line(_tail(err, run), run.mask)}", hint)


def has_ended(process: Child) -> bool:
    """Whether a process has ended, without collecting it: until it is collected its number is not reused, and
    its group can be killed safely."""
    if process.returncode is None and hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def signal_group(process: Child, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _kill_and_collect(process: Child) -> int:
    """Kill what is left of the group, and collect the program."""
    if process.returncode is None:
        signal_group(process, signal.SIGKILL)
        process.wait()
    return process.returncode
