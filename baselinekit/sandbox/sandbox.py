"""Runs generated code where it can do no harm: under bubblewrap it has no network, no home, no files but
those of its interpreter and its own scratch folder, and nothing is left of it when it has ended.

Without bubblewrap only the kernel's filter keeps it from the network and from other processes, and nothing
keeps it from files. Then the operator must have allowed it, and the report shows what it could have
reached."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path

from baselinekit.clients.programs.children import last_error_line
from baselinekit.errors import CannotReplay, Problem, Refused
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.model.grades import FunctionOutput
from baselinekit.model.recipes import CallResult, ProcessResult, ProcessSpec, SandboxResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.values.equality import is_number
from baselinekit.values.texts import no_mask

# The system calls that generated code may not make, as a program for the kernel's filter (seccomp, on Linux).
# No ordinary function needs them: memory that no limit counts, access to other processes, new namespaces, and
# the calls through which kernels were attacked.

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The kernel's number of a machine, and its column in the tables."""

_REFUSED = """
    shmget 29 194, semget 64 190, msgget 68 186, memfd_create 319 279, memfd_secret 447 447,
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, pidfd_getfd 438 438, kcmp 312 272,
    setpriority 141 140, sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,
    unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51,
    open_by_handle_at 304 265, open_tree 428 428, move_mount 429 429, fsopen 430 430, fsconfig 431 431,
    fsmount 432 432, fspick 433 433, mount_setattr 442 442, add_key 248 217, request_key 249 218,
    keyctl 250 219, personality 135 92, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282,
    io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427"""
_REFUSED_WITHOUT_WALLS = """
    fork 57 -, vfork 58 -, kill 62 129, tkill 200 130, tgkill 234 131, rt_sigqueueinfo 129 138,
    rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424, socket 41 198"""
"""Under bubblewrap the code may start processes: they end with it. It may signal those that it sees there,
and open a socket, which reaches nothing."""

_CLONE, _CLONE3, _PRLIMIT = (56, 220), 435, (302, 261)
_NEW_NAMESPACES, _THREAD = 0x7E020000, 0x10000
_OTHER_NUMBERS = 0x40000000  # x86_64 has a second set of numbers

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST = 0, 4, 16  # offsets in the data that the filter gets
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NOT_PERMITTED, _NOT_THERE = 0x50001, 0x50026


def seccomp_filter(machine: str, walled: bool) -> bytes:
    """The filter program for a machine; empty if its numbers are not known. `walled`: under bubblewrap."""
    if machine not in _MACHINES:
        return b""
    machine_number, column = _MACHINES[machine]
    steps = [_step(_LOAD, _MACHINE), _step(_EQUAL, machine_number, 1, 0), _step(_GIVE, _KILL)]
    steps += [_step(_LOAD, _NUMBER), _step(_AT_LEAST, _OTHER_NUMBERS, 0, 1), _step(_GIVE, _NOT_THERE)]
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_GIVE, _NOT_THERE)]  # libraries fall back to clone
    for call in (_REFUSED if walled else f"{_REFUSED}, {_REFUSED_WITHOUT_WALLS}").split(","):
        number = call.split()[1 + column]
        if number != "-":
            steps += [_step(_EQUAL, int(number), 0, 1), _step(_GIVE, _NOT_PERMITTED)]
    steps += [_step(_EQUAL, _PRLIMIT[column], 0, 4), _step(_LOAD, _FIRST)]  # only its own limits
    steps += [_step(_EQUAL, 0, 1, 0), _step(_GIVE, _NOT_PERMITTED), _step(_GIVE, _ALLOW)]
    steps += [_step(_EQUAL, _CLONE[column], 0, 5), _step(_LOAD, _FIRST)]
    steps += [_step(_ANY_OF, _NEW_NAMESPACES, 0, 1), _step(_GIVE, _NOT_PERMITTED)]
    steps += [_step(_ANY_OF, _THREAD, 1, 0), _step(_GIVE, _ALLOW if walled else _NOT_PERMITTED)]
    return b"".join([*steps, _step(_GIVE, _ALLOW)])


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return code.to_bytes(2, "little") + bytes((yes, no)) + value.to_bytes(4, "little")


Execute = Callable[[ProcessSpec], ProcessResult]

_SLACK = 10.0
_MOST_OUTPUT = 20_000_000
_SCRATCH = 64_000_000
_SHARED = 16_000_000
_ALL = ("time", "memory", "output", "environment", "network", "files", "processes")
_WITHIN_REACH: dict[tuple[bool, bool], tuple[str, ...]] = {
    (True, True): (),
    (True, False): ("memory",),
    (False, True): ("files", "processes"),
    (False, False): ("memory", "network", "files", "processes"),
}
"""What the code was not kept from: with bubblewrap or without, with the filter or without."""
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/alternatives")


class Sandbox:
    """Runs generated functions. `allowed`: the operator allows programs to run (--allow-exec); `walls` finds
    bubblewrap."""

    def __init__(self, run: Execute, allowed: bool = False, walls: Callable[[], str | None] | None = None):
        self._execute = run
        self._allowed = allowed
        self._walls = walls or bubblewrap_here

    def run(self, method: FunctionOutput, code: str) -> SandboxResult:
        """Make all calls of the function in the code. The sandbox returns values only: the expected values
        never go in."""
        bubblewrap = self._walls()
        self.check(method)
        # Under bubblewrap the code starts in a folder inside of it; else in a temporary one.
        folder: AbstractContextManager[str] = nullcontext("/")
        if bubblewrap is None:
            folder = tempfile.TemporaryDirectory(prefix="baselinekit-", ignore_cleanup_errors=True)
        with folder as scratch:
            argv = [*(_bubblewrap_words(bubblewrap) if bubblewrap else ()), *_python()]
            job = {
                "code": code,
                "function": method.function_name,
                "calls": [{"args": call.args, "kwargs": call.kwargs} for call in method.test_cases],
                "timeout": float(method.timeout_per_case),
                "memory": method.max_memory_mb,
                "alone": bubblewrap is not None,
                "filter": seccomp_filter(platform.machine(), walled=bubblewrap is not None).hex(),
            }
            seconds = len(method.test_cases) * (float(method.timeout_per_case) + 1) + _SLACK
            env = {"PATH": os.defpath, "LANG": "C.UTF-8"}
            spec = ProcessSpec(tuple(argv), to_bytes(job), env, scratch, seconds, _MOST_OUTPUT)
            finished = self._execute(spec)
        ready, *lines = _lines(finished.stdout)
        if ready.get("ready") is not True:
            reason = f"the sandbox did not start (exit code {finished.exit_code})"
            return SandboxResult((), flaw=reason + last_error_line(finished.stderr, no_mask))
        within_reach = _WITHIN_REACH[bubblewrap is not None, bool(ready["filtered"])]
        protected = tuple(place for place in _ALL if place not in within_reach)
        return SandboxResult(tuple(map(_returned, lines)), protected, within_reach)

    def check(self, method: FunctionOutput) -> None:
        """Refuse to run code of a model with access to the user's files unless that is allowed."""
        if self._walls() is not None:
            return
        hint = "install bubblewrap (bwrap)"
        if method.sandbox:
            message = "`sandbox: true`, but there is no sandbox on this machine"
            hint += ", or leave it out and run with --allow-exec"
            raise CannotReplay(Problem("BK406", message, hint))
        if not self._allowed:
            message = "generated code would run outside a sandbox, with access to your files"
            raise Refused(Problem("BK406", message, f"{hint}, or allow it with --allow-exec"))


@cache
def bubblewrap_here() -> str | None:
    """The path of bubblewrap if it is installed and works: some systems forbid it to ordinary users."""
    bubblewrap = shutil.which("bwrap") if sys.platform == "linux" else None
    if bubblewrap is None:
        return None
    import subprocess

    words = [*_bubblewrap_words(bubblewrap), "/usr/bin/env", "true"]
    try:
        finished = subprocess.run(words, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return bubblewrap if finished.returncode == 0 else None


def _bubblewrap_words(bubblewrap: str) -> list[str]:
    words = [bubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    words += ["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"]
    # The folders of our own interpreter outside of the system's; not those of a virtual environment, as the
    # code does not need its packages.
    own_folders = dict.fromkeys((sys.base_prefix, sys.base_exec_prefix))
    for folder in (*_SYSTEM, *(folder for folder in own_folders if not folder.startswith("/usr"))):
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.exists(folder):
            words += ["--ro-bind", folder, folder]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(_SHARED), "--tmpfs", "/dev/shm"]
    words += ["--size", str(_SCRATCH), "--tmpfs", "/tmp", "--remount-ro", "/dev", "--remount-ro", "/"]
    words += ["--remount-ro", "/proc"]  # through which root could change system settings
    return [*words, "--setenv", "LANG", "C.UTF-8", "--chdir", "/tmp", "--"]


@cache
def _python() -> tuple[str, ...]:
    program = os.path.realpath(sys.executable)
    source = Path(__file__).with_name("confined.py").read_text("utf-8")
    return program, "-I", "-S", "-B", "-c", source


def _lines(stdout: bytes) -> list[dict[str, Json]]:
    """Parse the messages of the sandbox, line by line, up to the first invalid line: the calls after it were
    not made."""
    messages: list[dict[str, Json]] = []
    for line in stdout.splitlines():
        try:
            message = decode(line.decode("ascii"))
        except ValueError as error:
            is_deep = isinstance(error, NotJson) and error.kind == "deep"
            message = {"error": "returned a value that is nested too deeply"} if is_deep else None
        if not isinstance(message, dict):
            break
        messages.append(message)
    return messages or [{}]


def _returned(message: dict[str, Json]) -> CallResult:
    return CallResult(
        value=message.get("value", ABSENT),
        error=_text(message.get("error")),
        inexact=_text(message.get("inexact")),
        printed=_text(message.get("printed")),
        seconds=float(message["seconds"]) if is_number(message.get("seconds")) else 0.0,
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
