"""The inside of the sandbox: `python -I -S -c SOURCE`, a job as JSON on standard input, one line of JSON for
each call on standard output. It is self-contained: nothing of the package is imported.

The code under test runs in its own process for each call, and whatever it writes only counts as the result of
that call: the expected values never come in here. What it prints goes into a separate pipe. The code cannot
reach this process: under bubblewrap it is process 1, which no process inside can stop or end, and its memory
cannot be read."""

import errno
import io
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any

_PRINTED = 4_000
_LONGEST = 2_000
"""So much is shown. Twice as much is sent, as the cut must see secrets that lie across the cut."""
_ANSWER = 1_000_000
_MEGABYTE = 1_000_000
_FILES = 64
_PROCESSES = 64
_GLANCE = 0.01
_PATIENCE = 2.0

_SET_DUMPABLE, _SET_SECCOMP, _DROP, _SET_NO_NEW_PRIVS = 4, 22, 24, 38


def main() -> None:
    job = json.load(sys.stdin.buffer)
    out = os.dup(1)
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the process of a call on the way
    job["own"] = memory_of(os.getpid())[0]
    _write_line(out, {"ready": True, "filtered": _lock_down(job)})
    for call in job["calls"]:
        _write_line(out, _make_call(job, call))


def _write_line(out: int, message: Any) -> None:
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]


def _lock_down(job: Any) -> bool:
    """Deny access to this process, and drop all capabilities, which root has. Return whether the code can be
    refused system calls."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        system = ctypes.CDLL(None, use_errno=True)
        prctl, capset = system.prctl, system.capset
    except (ImportError, OSError, AttributeError):
        return False
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not job["alone"]:
        for capability in range(64):
            prctl(_DROP, capability, 0, 0, 0)
        capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    steps = bytes.fromhex(job["filter"])
    words = ctypes.create_string_buffer(steps)
    program = (ctypes.c_uint64 * 2)(len(steps) // 8, ctypes.addressof(words))
    prctl(_SET_SECCOMP, 2, 0, 0, 0)  # without a program: the error tells whether filters are supported
    if not steps or ctypes.get_errno() != errno.EFAULT:
        return False
    job["refuse"] = lambda: words and prctl(_SET_SECCOMP, 2, ctypes.addressof(program), 0, 0) == 0
    return True


def _make_call(job: Any, call: Any) -> Any:
    """Make one call, within its time limit, and return its result."""
    began = time.monotonic()
    answer_from, answer_to = os.pipe()
    printed_from, printed_to = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(answer_from)
            os.close(printed_from)
            _run_child(job, call, answer_to, printed_to)
        finally:
            os._exit(1)
    os.close(answer_to)
    os.close(printed_to)
    try:
        answer, printed, fault = _read_answer(answer_from, printed_from, began + job["timeout"], child, job)
    finally:
        os.close(answer_from)
        os.close(printed_from)
        status = _end_processes(child, job["alone"])
    result: dict[str, Any] = {"printed": printed.decode("utf-8", "replace")}
    result["seconds"] = round(time.monotonic() - began, 6)
    if fault:
        return {"error": fault, **result}

    def reject_repeated_keys(pairs: Any) -> Any:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a repeated key")
        return dict(pairs)

    def reject_constant(name: str) -> None:
        raise ValueError(name)

    try:
        message = json.loads(answer, object_pairs_hook=reject_repeated_keys, parse_constant=reject_constant)
        if not message.keys() & {"value", "error"}:
            raise ValueError("neither a value nor a reason")
        known = {name: message[name] for name in ("value", "error", "inexact") if name in message}
        return {**known, **result}
    except (ValueError, TypeError, AttributeError, RecursionError):
        error = f"ended the process (exit code {os.waitstatus_to_exitcode(status)}) instead of returning"
        if len(answer) > _ANSWER:
            error = "returned more than a megabyte"
        elif answer.endswith(b"\n"):
            error = "returned nothing that can be read as a value"
        elif os.WIFSIGNALED(status):
            error = f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return {"error": error, **result}


def _read_answer(answer_from: int, printed_from: int, deadline: float, child: int, job: Any) -> Any:
    """Read the answer and what was printed, until the answer is complete or cannot come any more: processes
    that only sleep in the background are not waited for. Return also why reading stopped early, or ""."""
    received = {answer_from: b"", printed_from: b""}
    waiting = [answer_from, printed_from]
    last_look, has_ended = time.monotonic(), False
    while answer_from in waiting and not received[answer_from].endswith(b"\n"):
        now = time.monotonic()
        if now >= deadline:
            return received[answer_from], received[printed_from], "timeout"
        if now - last_look >= _GLANCE:
            fault, last_look = _exceeded_limit(job), time.monotonic()
            if fault:
                return received[answer_from], received[printed_from], fault
        ready = select.select(waiting, [], [], min(_GLANCE, deadline - now))[0]
        if not ready and has_ended:
            waiting.remove(answer_from)
        has_ended = has_ended or os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        for pipe in ready:
            data = os.read(pipe, 65_536)
            if not data:
                waiting.remove(pipe)
            elif pipe == printed_from:
                received[pipe] = (received[pipe] + data)[-2 * _PRINTED :]
            elif len(received[pipe]) <= _ANSWER:
                received[pipe] += data
    while printed_from in waiting and select.select([printed_from], [], [], 0)[0]:
        data = os.read(printed_from, 65_536)
        if not data or time.monotonic() > deadline:
            break
        received[printed_from] = (received[printed_from] + data)[-2 * _PRINTED :]
    return received[answer_from], received[printed_from], ""


def _beginning(text: str) -> str:
    """The beginning of a text, twice as long as is shown: it is cut again where the secrets are known."""
    return text[: 2 * _LONGEST]


def _exceeded_limit(job: Any) -> str:
    """Which limit all processes of the call together exceed, or "". The limits of the system are for each
    process, and root may start any number of processes. Without bubblewrap there are no other processes."""
    memory = count = 0
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()] if job["alone"] else []:
        process_memory, threads = memory_of(pid)
        memory, count = memory + max(0, process_memory - job["own"]), count + threads
    if memory > job["memory"] * _MEGABYTE:
        return f"used more than {job['memory']} MB of memory"
    return f"started more than {_PROCESSES} processes" if count > _PROCESSES else ""


def memory_of(pid: int) -> Any:
    """The memory of a process, and the number of its threads."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # it has ended, or there is no /proc here
        return 0, 0
    return int(fields[21]) * resource.getpagesize(), int(fields[17])


def _end_processes(child: int, is_alone: bool) -> int:
    """Kill the process of a call and all that it started: under bubblewrap all other processes. Return the
    exit status of the former."""
    status, deadline = 0, time.monotonic() + _PATIENCE
    for pid in (-1,) if is_alone else (-child, child):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    while time.monotonic() < deadline:
        try:
            ended, ended_status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        status = ended_status if ended == child else status
        if not ended:
            time.sleep(0.0005)
    return status


def _run_child(job: Any, call: Any, answer_to: int, printed_to: int) -> None:
    """The child process: it sets the limits, runs the code, and makes the call. It never returns."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(printed_to, 1)
    os.dup2(printed_to, 2)
    os.closerange(3, min(answer_to, printed_to))
    write, exit_now = os.write, os._exit
    unsent = _answer_line(job, call, json.dumps, repr)
    try:
        while unsent:
            unsent = unsent[write(answer_to, unsent) :]
    finally:
        exit_now(0)


def _answer_line(job: Any, call: Any, dumps: Any, as_text: Any) -> Any:
    """The line with the returned value as JSON: a set as a list, and any other value that is not JSON as its
    `repr`; or with the error."""
    message = "an exception without a message"
    try:
        _limit(job)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", "replace", line_buffering=True)
            for number in (1, 2)
        )
        names: dict[str, Any] = {"__name__": "solution", "__builtins__": __builtins__}
        exec(compile(job["code"], "<generated>", "exec"), names)
        function = names.get(job["function"])
        if function is None:
            raise NameError(f"there is no function {job['function']!r} in the code")
        value = function(*call["args"], **call["kwargs"])
        try:
            return dumps({"value": value}, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError, RecursionError):
            text = _beginning(as_text(value))
            parts = list(value) if type(value) in (set, frozenset) else text
            try:
                return dumps({"value": parts, "inexact": text}, allow_nan=False).encode() + b"\n"
            except (TypeError, ValueError, RecursionError):
                return dumps({"value": text, "inexact": text}).encode() + b"\n"
    except BaseException as error:
        with suppress(BaseException):
            message = _beginning(f"{type(error).__name__}: {error}")
    return dumps({"error": message}).encode() + b"\n"


def _limit(job: Any) -> None:
    seconds = int(job["timeout"]) + 1
    for limit, value in (
        (resource.RLIMIT_AS, job["memory"] * _MEGABYTE),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 16 * _MEGABYTE),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _PROCESSES if job["alone"] else 1_000_000),
    ):
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))
    if "refuse" in job and not job["refuse"]():
        raise OSError("the sandbox could not be closed")


if __name__ == "__main__":
    main()
