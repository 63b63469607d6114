"""The client that runs programs: each in a session of its own, its output bounded, killed as a group."""

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

from baselinekit.errors import CannotReplay, NeverSent, Problem, cannot
from baselinekit.model.recipes import ProcessResult, ProcessSpec
from baselinekit.programs.children import said_last
from baselinekit.texts import end_of

# The watchdog is a shell that ends what this process has started when this process is killed. It notices
# the end through a pipe that only this process holds open. It knows the running programs, and those that
# they left behind. On Linux everything that descends from them is ended, in whatever session; elsewhere
# their groups are.

# Who runs is a variable each: to forget one of many costs as little as to forget the only one. A process
# chooses its own name, so what counts of its /proc/PID/stat stands behind the last bracket. All are
# stopped as they are found, and killed when nobody is left who could start another.
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
    """For all that this process runs, in any thread. It is a help and no condition: where there is no shell,
    programs are run without it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = _started()

    def keep(self, pid: int, born: int = 0) -> None:
        """From now on this one ends with us. `born`: where its number may belong to another by then, when it
        was born, as the system counts it."""
        self._tell(f"+ {pid} {born}\n")

    def forget(self, pid: int, born: int = 0) -> None:
        """It has ended, and its number means nothing any more."""
        self._tell(f"- {pid} {born}\n")

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._pipe is not None:
                os.write(self._pipe, line.encode())


@cache
def watchdog() -> Watchdog:
    """Started with the first program."""
    return Watchdog()


def _started() -> int | None:
    """The end of the pipe that is ours. In a group of its own it hears no Ctrl-C."""
    theirs, ours = os.pipe()
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), *nothing]
    try:
        os.posix_spawn("/bin/sh", ["sh", "-c", _WATCHDOG], {}, file_actions=actions, setpgroup=0)
    except OSError:
        os.close(ours)
        return None
    finally:
        os.close(theirs)
    os.set_blocking(ours, False)
    return ours


# What a program leaves behind: processes in a session of their own, which no kill of its group reaches.
# On Linux they become our children when their parents end, and they are ended as soon as every program
# has that was running when they were born (F28). Elsewhere they stay.

_SET_CHILD_SUBREAPER = 36
_PATIENCE = 1.0
_TELL_EVERY = 0.05


class LeftProcesses:
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
            # In the units in which the system tells when a process was born.
            began = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
            if self._first is None:
                self._first = began
                import ctypes  # only those who run programs pay for it

                # From now on the orphans among our descendants become our children, not those of process 1.
                ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._began.append(began)
        try:
            yield
        finally:
            with self._lock:
                self._began.remove(began)
                self._end_them()

    def tell(self, watchdog: Watchdog) -> None:
        """The watchdog is told of those that have come to us while their programs still run."""
        if (
            sys.platform != "linux"
            or time.monotonic() < self._tell_at
            or not self._lock.acquire(blocking=False)
        ):
            return
        try:
            self._tell_at = time.monotonic() + _TELL_EVERY
            there = set(_children())
            for pid in there - self._told.keys():
                with suppress(OSError, ValueError):
                    session, self._told[pid] = session_and_birth(pid)
                    if session != os.getsid(0):
                        watchdog.keep(pid, self._told[pid])
            for pid in self._told.keys() - there:
                watchdog.forget(pid, self._told.pop(pid))
        finally:
            self._lock.release()

    def _end_them(self) -> None:
        """One that dies may leave others behind, so again until there are none."""
        deadline = time.monotonic() + _PATIENCE
        while (found := self._orphans()) and time.monotonic() < deadline:
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
                session, born = session_and_birth(pid)
                in_a_run = self._first is not None and self._first <= born
                if session != os.getsid(0) and in_a_run and (oldest is None or born < oldest):
                    found.append(pid)
        return found


def _children() -> list[int]:
    """Orphans come to the first thread of the process that adopts them."""
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without this list
        return []


def session_and_birth(pid: int) -> tuple[int, int]:
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[3]), int(fields[19])


# No program that is run looks into the process that runs it: in its environment and its memory is every
# secret of the operator. On Linux a process can close itself to others of the same user
# (`/proc/PID/environ`, ptrace). Its children are open again as soon as they are programs of their own.
# Root sees everything; elsewhere nothing is known that would do as much.

_SET_DUMPABLE = 4


@cache
def close() -> None:
    """Before the first program starts, and for good."""
    if sys.platform == "linux":
        import ctypes  # only those who run programs pay for it

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


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
        """Its last words, begun where no secret is torn: nobody finds half of one. Where nobody knows the
        secrets, what could belong to a torn line is left out."""
        most, mask = self._run.max_stderr, self._run.mask
        cut = len(self._err) - most
        if cut <= 0:
            return bytes(self._err)
        start = cut + min(_TORN, most // 4)  # from there on the next line, or the next word
        ends = [self._err.find(end, start, start + _TORN) for end in (b"\n", b" ")]
        start = next((end + 1 for end in ends if end >= 0), start)
        if mask is None:
            return bytes(self._err[start:])
        said = self._err.decode("utf-8", "surrogateescape")
        room = len(self._err[start:].decode("utf-8", "surrogateescape"))
        return end_of(said, room, mask).encode("utf-8", "surrogateescape")

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
            raise self.stopped("BK330", "was interrupted", "")
        if len(self.out) > self._run.max_stdout:
            what = f"wrote more than {self._run.max_stdout:,} bytes to its standard output"
            raise self.stopped("BK322", what, "let it write less, or into a file")
        if time.monotonic() >= self._deadline:
            what = f"did not end within {self._run.timeout:g} s"
            raise self.stopped("BK321", what, "raise `timeout` if it may take longer")

    def stopped(self, code: str, what: str, hint: str) -> CannotReplay:
        signal_group(self._process, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while not has_ended(self._process) and time.monotonic() < deadline:
            time.sleep(0.01)
        return cannot(code, f"{self._run.argv[0]} {what}{said_last(self.tail(), self._run.mask)}", hint)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without collecting it: until then nobody else gets its number, and its group can be killed safely."""
    if process.returncode is None and hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the group, and collect the program."""
    if process.returncode is None:
        signal_group(process, signal.SIGKILL)
        process.wait()
    return process.returncode
