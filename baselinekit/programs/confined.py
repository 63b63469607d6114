"""The inside of the sandbox: `python -I -S -c SOURCE`, a job as JSON on standard input, one line of JSON for
each call on standard output. It stands alone: nothing of the package is imported.

The code under test runs in a process of its own for each call, and whatever it writes is only what that call
gave: what would be right never comes in here. What it prints goes into a pipe of its own. This process keeps
out of its reach: behind walls it is process 1 there, which nobody inside can stop or end, and nobody may look
into it."""

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
"""So much is shown. Twice as much is handed over: who cuts it has to see what lies across the cut."""
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
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    job["own"] = memory_of(os.getpid())[0]
    _say(out, {"ready": True, "filtered": _closed(job)})
    for call in job["calls"]:
        _say(out, _called(job, call))


def _say(out: int, what: Any) -> None:
    line = json.dumps(what).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]


def _closed(job: Any) -> bool:
    """Nobody looks in here, and of what root has beside its name nothing is left. Whether calls to the system
    can be refused to the code."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        system = ctypes.CDLL(None, use_errno=True)
        set_, drop = system.prctl, system.capset
    except (ImportError, OSError, AttributeError):
        return False
    set_.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    set_(_SET_DUMPABLE, 0, 0, 0, 0)
    set_(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not job["alone"]:
        for capability in range(64):
            set_(_DROP, capability, 0, 0, 0)
        drop((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
    steps = bytes.fromhex(job["filter"])
    words = ctypes.create_string_buffer(steps)
    program = (ctypes.c_uint64 * 2)(len(steps) // 8, ctypes.addressof(words))
    set_(_SET_SECCOMP, 2, 0, 0, 0)  # no filter at all: how it is refused says whether there are any
    if not steps or ctypes.get_errno() != errno.EFAULT:
        return False
    job["refuse"] = lambda: words and set_(_SET_SECCOMP, 2, ctypes.addressof(program), 0, 0) == 0
    return True


def _called(job: Any, call: Any) -> Any:
    """What one call gave, in the time that it has."""
    began = time.monotonic()
    answer_from, answer_to = os.pipe()
    printed_from, printed_to = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(answer_from)
            os.close(printed_from)
            _run(job, call, answer_to, printed_to)
        finally:
            os._exit(1)
    os.close(answer_to)
    os.close(printed_to)
    try:
        answer, printed, fault = _heard(answer_from, printed_from, began + job["timeout"], child, job)
    finally:
        os.close(answer_from)
        os.close(printed_from)
        status = _end(child, job["alone"])
    found: dict[str, Any] = {"printed": printed.decode("utf-8", "replace")}
    found["seconds"] = round(time.monotonic() - began, 6)
    if fault:
        return {"error": fault, **found}

    def once(pairs: Any) -> Any:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a repeated key")
        return dict(pairs)

    def no_number(name: str) -> None:
        raise ValueError(name)

    try:
        said = json.loads(answer, object_pairs_hook=once, parse_constant=no_number)
        if not said.keys() & {"value", "error"}:
            raise ValueError("neither a value nor a reason")
        return {**{name: said[name] for name in ("value", "error", "inexact") if name in said}, **found}
    except (ValueError, TypeError, AttributeError, RecursionError):
        error = f"ended the process (exit code {os.waitstatus_to_exitcode(status)}) instead of returning"
        if len(answer) > _ANSWER:
            error = "returned more than a megabyte"
        elif answer.endswith(b"\n"):
            error = "returned nothing that can be read as a value"
        elif os.WIFSIGNALED(status):
            error = f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return {"error": error, **found}


def _heard(answer_from: int, printed_from: int, deadline: float, child: int, job: Any) -> Any:
    """What came until the answer was whole, or could not come any more: who only sleeps on in the background
    is not waited for. And why it was not heard to its end."""
    heard = {answer_from: b"", printed_from: b""}
    waiting = [answer_from, printed_from]
    looked, ended = time.monotonic(), False
    while answer_from in waiting and not heard[answer_from].endswith(b"\n"):
        now = time.monotonic()
        if now >= deadline:
            return heard[answer_from], heard[printed_from], "timeout"
        if now - looked >= _GLANCE:
            fault, looked = _too_much(job), time.monotonic()
            if fault:
                return heard[answer_from], heard[printed_from], fault
        ready = select.select(waiting, [], [], min(_GLANCE, deadline - now))[0]
        if not ready and ended:
            waiting.remove(answer_from)
        ended = ended or os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        for pipe in ready:
            data = os.read(pipe, 65_536)
            if not data:
                waiting.remove(pipe)
            elif pipe == printed_from:
                heard[pipe] = (heard[pipe] + data)[-2 * _PRINTED :]
            elif len(heard[pipe]) <= _ANSWER:
                heard[pipe] += data
    while printed_from in waiting and select.select([printed_from], [], [], 0)[0]:
        data = os.read(printed_from, 65_536)
        if not data or time.monotonic() > deadline:
            break
        heard[printed_from] = (heard[printed_from] + data)[-2 * _PRINTED :]
    return heard[answer_from], heard[printed_from], ""


def _beginning(text: str) -> str:
    """Twice what is shown of it: it is cut where somebody knows the secrets."""
    return text[: 2 * _LONGEST]


def _too_much(job: Any) -> str:
    """The limits are those of each process; all together have no more memory than one may have. And root may
    start as many as it likes, if nobody counts them. Without walls there is no other process."""
    memory = count = 0
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()] if job["alone"] else []:
        own, threads = memory_of(pid)
        memory, count = memory + max(0, own - job["own"]), count + threads
    if memory > job["memory"] * _MEGABYTE:
        return f"used more than {job['memory']} MB of memory"
    return f"started more than {_PROCESSES} processes" if count > _PROCESSES else ""


def memory_of(pid: int) -> Any:
    """What a process has of the memory, and its threads."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # it has ended, or there is no such list here
        return 0, 0
    return int(fields[21]) * resource.getpagesize(), int(fields[17])


def _end(child: int, alone: bool) -> int:
    """The call's process and all that it started: behind walls everybody else. How the former ended."""
    status, deadline = 0, time.monotonic() + _PATIENCE
    for pid in (-1,) if alone else (-child, child):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    while time.monotonic() < deadline:
        try:
            ended, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        status = how if ended == child else status
        if not ended:
            time.sleep(0.0005)
    return status


def _run(job: Any, call: Any, answer_to: int, printed_to: int) -> None:
    """The child: limits, then the code, then the call. It never returns."""
    os.setsid()
    os.dup2(printed_to, 1)
    os.dup2(printed_to, 2)
    os.closerange(3, min(answer_to, printed_to))
    write, leave = os.write, os._exit
    said = _said(job, call, json.dumps, repr)
    try:
        while said:
            said = said[write(answer_to, said) :]
    finally:
        leave(0)


def _said(job: Any, call: Any, dumps: Any, as_text: Any) -> Any:
    """The value as JSON; a set as the list of what is in it, and whatever is no JSON by its looks."""
    told = "an exception without a message"
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
            looks = _beginning(as_text(value))
            parts = list(value) if type(value) in (set, frozenset) else looks
            try:
                return dumps({"value": parts, "inexact": looks}, allow_nan=False).encode() + b"\n"
            except (TypeError, ValueError, RecursionError):
                return dumps({"value": looks, "inexact": looks}).encode() + b"\n"
    except BaseException as error:
        with suppress(BaseException):
            told = _beginning(f"{type(error).__name__}: {error}")
    return dumps({"error": told}).encode() + b"\n"


def _limit(job: Any) -> None:
    seconds = int(job["timeout"]) + 1
    for what, most in (
        (resource.RLIMIT_AS, job["memory"] * _MEGABYTE),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 16 * _MEGABYTE),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _PROCESSES if job["alone"] else 1_000_000),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    if "refuse" in job and not job["refuse"]():
        raise OSError("the sandbox could not be closed")


if __name__ == "__main__":
    main()
