"""The client that runs programs: each in its own session, with limited output, killed as a group."""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO

from baselinekit.clients.programs.children import last_error_line
from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.values.texts import end_of

# The watchdog is a shell that ends the programs that this process has started, when this process is killed.
# It notices that through a pipe that only this process holds open. It knows the running programs, and the
# processes that they left behind. On Linux it ends all their descendants, in whatever session; elsewhere it
# ends their process groups.

# Each running process is a shell variable, so that forgetting one of many is as cheap as forgetting the only
# one. A process chooses its own name, so the fields of /proc/PID/stat are read after the last bracket. All
# are stopped as they are found, and killed once there is none left that could start another.
_WATCHDOG = """\
trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU
cd /
while read -r sign pid born; do
  case $sign in
    +) eval "known_${pid}_$born=";;
    -) unset "known_${pid}_$born";;
  esac
done
look() {
  line=
  while IFS= read -r part; do line=$part; done < "/proc/$1/stat" || return 1
  set -- ${line##*) }
  parent=$2 session=$4 born=${20}
}
ours=' '
for each in $(set); do
  case $each in known_*=*) each=${each#known_};; *) continue;; esac
  pid=${each%%_*} birth=${each#*_}
  if [ -r /proc/self/stat ]; then
    case $birth in
      0=*) ;;
      *) look "$pid" && [ "$born" = "${birth%%=*}" ] || continue;;
    esac
    kill -STOP "$pid"
    ours="$ours$pid "
  else
    kill -KILL "-$pid"
  fi
done
[ "$ours" = ' ' ] && exit
more=yes
while [ "$more" ]; do
  more=
  for each in /proc/[0-9]*; do
    pid=${each#/proc/}
    case $ours in *" $pid "*) continue;; esac
    look "$pid" || continue
    case $ours in *" $parent "* | *" $session "*)
      kill -STOP "$pid"
      ours="$ours$pid "
      more=yes
    esac
  done
done
kill -KILL $ours
"""


class Watchdog:
    """The watchdog for all programs that this process runs, in any thread. It is optional: without a shell,
    programs are run without it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = _start_watchdog()

    def keep(self, pid: int, born: int = 0) -> None:
        """End a process when this process is killed. `born`: its start time, as the system counts it, if its
        number may belong to another process by then."""
        self._write(f"+ {pid} {born}\n")

    def forget(self, pid: int, born: int = 0) -> None:
        """Forget a process that has ended."""
        self._write(f"- {pid} {born}\n")

    def _write(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._pipe is not None:
                os.write(self._pipe, line.encode())


@cache
def watchdog() -> Watchdog:
    """The watchdog, which is started with the first program."""
    return Watchdog()


def _start_watchdog() -> int | None:
    """Start the watchdog, and return our end of its pipe. In its own group it does not get Ctrl-C."""
    read_end, write_end = os.pipe()
    to_devnull = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, read_end, 0), *to_devnull]
    try:
        os.posix_spawn("/bin/sh", ["sh", "-c", _WATCHDOG], {}, file_actions=actions, setpgroup=0)
    except OSError:
        os.close(write_end)
        return None
    finally:
        os.close(read_end)
    os.set_blocking(write_end, False)
    return write_end


# Processes that a program leaves behind, in sessions of their own, which killing its group does not reach. On
# Linux they become our children when their parents end, and they are ended as soon as every program has ended
# that was running when they were started (F28). Elsewhere they stay.

_SET_CHILD_SUBREAPER = 36
_PATIENCE = 1.0
_REPORT_EVERY = 0.05


class OrphanReaper:
    """Ends the processes that programs leave behind. Shared by all threads that run programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reported: dict[int, int] = {}
        self._report_at = 0.0
        self._began: list[int] = []
        self._first: int | None = None

    @contextmanager
    def ending_orphans(self) -> Iterator[None]:
        """Used around each program, from before its start until it is collected."""
        if sys.platform != "linux":
            yield
            return
        with self._lock:
            # In the units of the start times of processes.
            began = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
            if self._first is None:
                self._first = began
                import ctypes  # only those who run programs pay for it

                # From now on orphans among our descendants become our children, not those of process 1.
                ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._began.append(began)
        try:
            yield
        finally:
            with self._lock:
                self._began.remove(began)
                self._end_orphans()

    def report_to(self, watchdog: Watchdog) -> None:
        """Report to the watchdog the orphans that became our children while programs still run."""
        if (
            sys.platform != "linux"
            or time.monotonic() < self._report_at
            or not self._lock.acquire(blocking=False)
        ):
            return
        try:
            self._report_at = time.monotonic() + _REPORT_EVERY
            children = set(_children())
            for pid in children - self._reported.keys():
                with suppress(OSError, ValueError):
                    session, self._reported[pid] = session_and_birth(pid)
                    if session != os.getsid(0):
                        watchdog.keep(pid, self._reported[pid])
            for pid in self._reported.keys() - children:
                watchdog.forget(pid, self._reported.pop(pid))
        finally:
            self._lock.release()

    def _end_orphans(self) -> None:
        """Kill orphans until there are none, as one that dies may leave others behind."""
        deadline = time.monotonic() + _PATIENCE
        while (orphans := self._orphans()) and time.monotonic() < deadline:
            for pid in orphans:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.001)

    def _orphans(self) -> list[int]:
        """The adopted children: in another session, and started before any program that still runs."""
        oldest = min(self._began, default=None)
        orphans = []
        for pid in _children():
            with suppress(OSError, ValueError):
                session, born = session_and_birth(pid)
                is_born_in_run = self._first is not None and self._first <= born
                if session != os.getsid(0) and is_born_in_run and (oldest is None or born < oldest):
                    orphans.append(pid)
        return orphans


def _children() -> list[int]:
    """Our children. Orphans become children of the first thread of the process that adopts them."""
    own_pid = os.getpid()
    try:
        with open(f"/proc/self/task/{own_pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without this list
        return []


def session_and_birth(pid: int) -> tuple[int, int]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[3]), int(fields[19])


# No program may read the environment or the memory of the process that runs it: they hold every secret of the
# operator. On Linux a process can deny access to others of the same user (`/proc/PID/environ`, ptrace). Its
# children are accessible again as soon as they run another program. Root can read everything; other systems
# are not known to have anything like it.

_SET_DUMPABLE = 4


@cache
def deny_inspection() -> None:
    """Deny access to this process, before the first program starts, and for good."""
    if sys.platform == "linux":
        import ctypes  # only those who run programs pay for it

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


_GLANCE = 0.05
_GRACE = 2.0
_AFTER_EXIT = 1.0
_CHUNK = 65_536
_TORN = 2_048
"""How many bytes at a cut could belong to one secret, in any encoding, unless the secret is a whole file."""


class Processes:
    """Runs programs from any number of threads."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._running: set[int] = set()
        self._changed = threading.Condition()
        self._orphans = OrphanReaper()

    def execute(self, run: ProcessSpec) -> ProcessResult:
        """Run a program to its end, or raise CannotReplay. Nothing that it started outlives it."""
        if self._cancelled.is_set():
            raise NeverSent(Problem("BK330", f"{run.argv[0]}: interrupted"))
        deny_inspection()
        with self._orphans.ending_orphans():
            started = time.monotonic()
            process = _start(run)
            watchdog().keep(process.pid)
            with self._changed:
                self._running.add(process.pid)
            try:
                with _Conversation(process, run, started + run.timeout, self._cancelled) as conversation:
                    conversation.run_to_end(lambda: self._orphans.report_to(watchdog()))
                    exit_code = _kill_and_collect(process)
                    return ProcessResult(
                        exit_code, bytes(conversation.out), conversation.tail(), time.monotonic() - started
                    )
            finally:
                _kill_and_collect(process)
                watchdog().forget(process.pid)
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

    def run_to_end(self, at_each_glance: Callable[[], None]) -> None:
        ended_at: float | None = None
        pause = 0.0005
        while self._selector.get_map() or ended_at is None:
            self.stop_when_due()
            at_each_glance()
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
