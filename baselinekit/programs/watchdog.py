"""What ends the programs we run when we are killed, and the processes that programs leave behind."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

# The watchdog is a shell that ends what this process has started when this process is killed. It notices
# the end through a pipe that only this process holds open. It knows the running programs, and those that
# they left behind. On Linux everything that descends from them is ended, in whatever session; elsewhere
# their groups are.


# Who runs is a variable each: to forget one of many costs as little as to forget the only one. A process
# chooses its own name, so what counts of its /proc/PID/stat stands behind the last bracket. All are
# stopped as they are found, and killed when nobody is left who could start another.
_KEEPER = """\
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
        os.posix_spawn("/bin/sh", ["sh", "-c", _KEEPER], {}, file_actions=actions, setpgroup=0)
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
_GLANCE = 0.05


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

    def tell(self, watchdog: Watchdog) -> None:
        """The watchdog is told of those that have come to us while their programs still run."""
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
                        watchdog.keep(pid, self._told[pid])
            for pid in self._told.keys() - there:
                watchdog.forget(pid, self._told.pop(pid))
        finally:
            self._lock.release()

    def _end_them(self) -> None:
        """One that dies may leave others behind, so again until there are none."""
        regex_budget = time.monotonic() + _PATIENCE
        while (found := self._orphans()) and time.monotonic() < regex_budget:
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
