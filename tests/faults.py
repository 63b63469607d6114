"""Faults on demand: a process is followed through every system call that changes a file, and one of them
fails, is cut short, or is the last thing that the process ever does.

ptrace and seccomp over ctypes, so that nothing but Python and Linux is needed. seccomp stops the process at
the calls that are of interest and at no other, so that it is hardly slower than by itself. Threads and
children are followed."""

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MACHINE = platform.machine()
AVAILABLE = platform.system() == "Linux" and MACHINE in ("x86_64", "aarch64")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)

_TRACEME, _CONT, _SYSCALL = 0, 7, 24
_SETOPTIONS, _GETREGSET, _SETREGSET = 0x4200, 0x4204, 0x4205
_GENERAL, _ARM_CALL = 1, 0x404
_OPTIONS = 1 | 2 | 4 | 8 | 0x10 | 0x80 | 0x100000  # sysgood, fork, vfork, clone, exec, seccomp, exitkill
_SECCOMP_STOP = 7
_ALL = 0x40000000  # __WALL: threads as well
_AT_CWD = -100
_PRCTL = 157 if MACHINE == "x86_64" else 167
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _Call(NamedTuple):
    """A system call: its name, its number on both machines, and which arguments say what it is about: `f` a
    file descriptor, `p` a path, `d` a folder's descriptor that the next path starts from."""

    name: str
    x86_64: int
    aarch64: int
    arguments: str


_CALLS = [
    _Call("write", 1, 64, "f"),
    _Call("pwrite", 18, 68, "f"),
    _Call("writev", 20, 66, "f"),
    _Call("sendfile", 40, 71, "f"),
    _Call("fsync", 74, 82, "f"),
    _Call("fdatasync", 75, 83, "f"),
    _Call("ftruncate", 77, 46, "f"),
    _Call("truncate", 76, 45, "p"),
    _Call("fallocate", 285, 47, "f"),
    _Call("open", 2, -1, "p"),
    _Call("open", 257, 56, "dp"),
    _Call("creat", 85, -1, "p"),
    _Call("rename", 82, -1, "pp"),
    _Call("rename", 264, 38, "dpdp"),
    _Call("rename", 316, 276, "dpdp"),
    _Call("link", 86, -1, "pp"),
    _Call("link", 265, 37, "dpdp"),
    _Call("symlink", 88, -1, "-p"),
    _Call("symlink", 266, 36, "-dp"),
    _Call("unlink", 87, -1, "p"),
    _Call("unlink", 263, 35, "dp"),
    _Call("mkdir", 83, -1, "p"),
    _Call("mkdir", 258, 34, "dp"),
    _Call("rmdir", 84, -1, "p"),
    _Call("chmod", 90, -1, "p"),
    _Call("chmod", 91, 52, "f"),
    _Call("chmod", 268, 53, "dp"),
    _Call("chown", 92, -1, "p"),
    _Call("chown", 93, 55, "f"),
    _Call("chown", 260, 54, "dp"),
    _Call("utimens", 280, 88, "dp"),
    _Call("flock", 73, 32, "f"),
    _Call("syncfs", 306, 267, "f"),
]
_BY_NUMBER = {
    number: call for call in _CALLS if (number := call.x86_64 if MACHINE == "x86_64" else call.aarch64) >= 0
}
WITHOUT_FAILURE = {"flock"}
"""Before and after these a process may die, but they are not made to fail: a lock has waits of its own."""


class Seen(NamedTuple):
    """One call that changed, or was about to change, something below the folder."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at the call number `at`, counted from 1. `kind`: "before" and "after" kill everything
    there, "short" halves a write, and a number is the error that the call ends with. `lasting`: it stays, for
    each later call too."""

    at: int
    kind: str | int
    lasting: bool = False


@dataclass(slots=True)
class Followed:
    """How a process ended, and the calls that it made."""

    status: int = 0
    seen: list[Seen] = field(default_factory=list)


def follow_me() -> None:
    """In a child that is about to do what is to be followed. The parent goes on with `follow`."""
    _ptrace(_TRACEME, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    stops = [_instruction(0x20, 0)]  # the number of the call
    for left, number in zip(range(len(_BY_NUMBER), 0, -1), _BY_NUMBER, strict=True):
        stops.append(_instruction(0x15, number, yes=left + 4))
    # A process that is not root could close itself (clients/programs/process.py): the call seems to work.
    stops += [_instruction(0x15, _PRCTL, no=2), _instruction(0x20, 16), _instruction(0x15, 4, yes=1)]
    stops += [_instruction(0x06, verdict) for verdict in (0x7FFF0000, 0x00050000, 0x7FF00000)]
    code = ctypes.create_string_buffer(b"".join(stops))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(stops), ctypes.addressof(code)))
    for words in ((38, 1, 0), (22, 2, ctypes.addressof(program))):  # no new privileges; the filter
        if _libc.prctl(words[0], *map(ctypes.c_void_p, words[1:]), None, None):
            raise OSError(ctypes.get_errno(), "no system call filter here")


def follow(pid: int, folder: str, fault: Fault | None = None) -> Followed:
    """Follow a child that called `follow_me` until it and all that it started have ended."""
    return _Follower(pid, os.path.realpath(folder), fault).to_the_end()


class _Follower:
    def __init__(self, pid: int, folder: str, fault: Fault | None):
        self._pid = pid
        self._folder = folder
        self._fault = fault
        self._result = Followed()
        self._after: dict[int, tuple[str, int]] = {}
        self._known = {pid}

    def to_the_end(self) -> Followed:
        os.waitpid(self._pid, _ALL)
        _ptrace(_SETOPTIONS, self._pid, 0, _OPTIONS)
        _ptrace(_CONT, self._pid)
        while True:
            try:
                task, status = os.waitpid(-1, _ALL)
            except ChildProcessError:
                return self._result
            if os.WIFSTOPPED(status):
                self._go_on(task, *self._answer(task, status))
            else:
                self._known.discard(task)
                if task == self._pid:
                    self._result.status = status

    def _answer(self, task: int, status: int) -> tuple[int, int]:
        """How the task goes on, and with which signal."""
        event, number = status >> 16, os.WSTOPSIG(status)
        if event == _SECCOMP_STOP:
            return self._at_call(task), 0
        if event:
            return _CONT, 0
        if number == signal.SIGTRAP | 0x80:
            self._at_return(task)
            return _CONT, 0
        if number == signal.SIGSTOP and task not in self._known:  # every new task begins so
            self._known.add(task)
            return _CONT, 0
        return _CONT, number

    def _go_on(self, task: int, how: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it was killed meanwhile
            _ptrace(how, task, 0, number)

    def _at_call(self, task: int) -> int:
        try:
            call = _Stopped(task)
            about = [path for path in call.paths() if self._is_inside(path)]
        except (ProcessLookupError, FileNotFoundError):
            return _CONT
        if not about:
            return _CONT
        self._result.seen.append(Seen(call.call.name, os.path.relpath(about[-1], self._folder)))
        number, fault = len(self._result.seen), self._fault
        if fault is None or number < fault.at or (number > fault.at and not fault.lasting):
            return _CONT
        if fault.kind == "before":
            self._kill()
        elif fault.kind == "after":
            self._after[task] = ("kill", 0)
            return _SYSCALL
        elif fault.kind == "short":
            return self._shortened(task, call)
        elif isinstance(fault.kind, int) and call.call.name not in WITHOUT_FAILURE:
            call.fail(fault.kind)
        return _CONT

    def _shortened(self, task: int, call: "_Stopped") -> int:
        size = call.argument(2)
        if call.call.name not in ("write", "pwrite") or size < 2:
            return _CONT
        call.set_argument(2, size // 2)
        self._after[task] = ("size", size)
        return _SYSCALL

    def _at_return(self, task: int) -> None:
        what, size = self._after.pop(task, ("", 0))
        if what == "kill":
            self._kill()
        elif what == "size":
            _Stopped(task).set_argument(2, size)

    def _kill(self) -> None:
        for task in {self._pid, *self._known}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(task, signal.SIGKILL)

    def _is_inside(self, path: str) -> bool:
        return path == self._folder or path.startswith(f"{self._folder}/")


class _Stopped:
    """A task that is about to make a system call: its registers and its memory."""

    def __init__(self, task: int):
        self._task = task
        self._registers = (ctypes.c_ulonglong * (27 if MACHINE == "x86_64" else 34))()
        self._move(_GETREGSET)
        number = self._registers[15 if MACHINE == "x86_64" else 8]
        self.call = _BY_NUMBER.get(number, _CALLS[0])

    def argument(self, index: int) -> int:
        return int(self._registers[self._slot(index)])

    def set_argument(self, index: int, value: int) -> None:
        self._registers[self._slot(index)] = value
        self._move(_SETREGSET)

    def fail(self, number: int) -> None:
        """The call is not made, and ends with this error."""
        wrong = ctypes.c_ulonglong(-number).value
        if MACHINE == "x86_64":
            self._registers[15] = ctypes.c_ulonglong(-1).value
            self._registers[10] = wrong
            self._move(_SETREGSET)
            return
        none = ctypes.c_int(-1)
        _regset(_SETREGSET, self._task, _ARM_CALL, none)
        self._registers[0] = wrong
        self._move(_SETREGSET)

    def paths(self) -> Iterator[str]:
        """The absolute paths that the call is about; nothing for an `open` that only reads."""
        arguments = self.call.arguments
        if self.call.name == "open" and not self.argument(len(arguments)) & _CHANGES:
            return
        start = "cwd"
        for index, kind in enumerate(arguments):
            if kind == "f":
                yield self._link(f"fd/{self._number(index)}")
            elif kind == "d":
                folder = self._number(index)
                start = "cwd" if folder == _AT_CWD else f"fd/{folder}"
            elif kind == "p":
                text = self._text(self.argument(index))
                full = text if text.startswith("/") else os.path.join(self._link(start), text)
                folder, name = os.path.split(os.path.normpath(full))
                yield os.path.join(os.path.realpath(folder), name)

    def _number(self, index: int) -> int:
        return ctypes.c_int(self.argument(index) & 0xFFFFFFFF).value

    def _link(self, name: str) -> str:
        return os.readlink(f"/proc/{self._task}/{name}")

    def _text(self, address: int) -> str:
        with open(f"/proc/{self._task}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            data = memory.read(4096 - address % 4096)  # a page at a time: the next one may not be there
            while b"\0" not in data and len(data) < 8192:
                data += memory.read(4096)
        return os.fsdecode(data.split(b"\0")[0])

    @staticmethod
    def _slot(index: int) -> int:
        return (14, 13, 12, 7, 9, 8)[index] if MACHINE == "x86_64" else index

    def _move(self, direction: int) -> None:
        _regset(direction, self._task, _GENERAL, self._registers)


def _regset(direction: int, task: int, kind: int, value: ctypes.Array | ctypes.c_int) -> None:
    vector = struct.pack("PN", ctypes.addressof(value), ctypes.sizeof(value))
    holder = ctypes.create_string_buffer(vector)
    _ptrace(direction, task, kind, ctypes.addressof(holder))


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace {request}: {os.strerror(number)}") from None


def _instruction(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)
