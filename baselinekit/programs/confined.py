"""The inside of the sandbox: `python -I -S -c SOURCE`, a job as JSON on standard input, one line of JSON for
each call on standard output. It stands alone: nothing of the package is imported.

The code under test runs in a process of its own for each call, and whatever it writes is only what that call
gave: what would be right never comes in here. What it prints goes into a pipe of its own."""

import io
import json
import os
import resource
import select
import signal
import sys
import time

_PRINTED = 4_000
_ANSWER = 1_000_000
_MEGABYTE = 1_000_000
_FILES = 64
_PROCESSES = 64


def main() -> None:
    job = json.load(sys.stdin.buffer)
    out = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    _say(out, {"ready": True})
    for call in job["calls"]:
        _say(out, _called(job, call))


def _say(out: int, what: dict) -> None:  # type: ignore[type-arg]
    line = json.dumps(what).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]


def _called(job: dict, call: dict) -> dict:  # type: ignore[type-arg]
    """What one call gave, in the time that it has."""
    began = time.monotonic()
    answer_from, answer_to = os.pipe()
    printed_from, printed_to = os.pipe()
    child = os.fork()
    if not child:
        os.close(answer_from)
        os.close(printed_from)
        _run(job, call, answer_to, printed_to)
    os.close(answer_to)
    os.close(printed_to)
    try:
        answer, printed, in_time = _heard(answer_from, printed_from, began + job["timeout"])
    finally:
        os.close(answer_from)
        os.close(printed_from)
        _end(child, job["alone"])
    status = os.waitpid(child, 0)[1]
    found = {"printed": printed[-_PRINTED:].decode("utf-8", "replace")}
    found["seconds"] = round(time.monotonic() - began, 6)  # type: ignore[assignment]
    if not in_time:
        return {"error": "timeout", **found}
    try:
        said = json.loads(answer)
        return {**{name: said[name] for name in ("value", "error", "inexact") if name in said}, **found}
    except (ValueError, TypeError, RecursionError):
        return {"error": _how_it_ended(status, len(answer)), **found}


def _heard(answer_from: int, printed_from: int, deadline: float) -> tuple[bytes, bytes, bool]:
    """What came until both pipes were closed, or the answer was whole: who only sleeps on in the background
    is not waited for."""
    heard = {answer_from: b"", printed_from: b""}
    waiting = [answer_from, printed_from]
    while answer_from in waiting:
        left = deadline - time.monotonic()
        ready = select.select(waiting, [], [], max(0.0, left))[0] if left > 0 else []
        if not ready:
            return heard[answer_from], heard[printed_from], False
        for pipe in ready:
            data = os.read(pipe, 65_536)
            if not data:
                waiting.remove(pipe)
            elif pipe == printed_from:
                heard[pipe] = (heard[pipe] + data)[-2 * _PRINTED :]
            elif len(heard[pipe]) <= _ANSWER:
                heard[pipe] += data
        if heard[answer_from].endswith(b"\n"):
            break
    while printed_from in waiting and select.select([printed_from], [], [], 0)[0]:
        data = os.read(printed_from, 65_536)
        if not data or time.monotonic() > deadline:
            break
        heard[printed_from] = (heard[printed_from] + data)[-2 * _PRINTED :]
    return heard[answer_from], heard[printed_from], True


def _end(child: int, alone: bool) -> None:
    """The call's process and all that it started; in a process namespace that is everybody else."""
    for number in (-child, child, *((-1,) if alone else ())):
        try:
            if number < -1:
                os.killpg(-number, signal.SIGKILL)
            else:
                os.kill(number, signal.SIGKILL)
        except OSError:
            pass


def _how_it_ended(status: int, length: int) -> str:
    if length > _ANSWER:
        return "gave more than a megabyte"
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended the process (exit code {os.waitstatus_to_exitcode(status)}) instead of returning"


def _run(job: dict, call: dict, answer_to: int, printed_to: int) -> None:  # type: ignore[type-arg]
    """The child: limits, then the code, then the call. It never returns."""
    os.setsid()
    os.dup2(printed_to, 1)
    os.dup2(printed_to, 2)
    os.closerange(3, min(answer_to, printed_to))
    dumps, write, leave, as_text = json.dumps, os.write, os._exit, repr
    try:
        _limit(job)
        sys.stdout, sys.stderr = (_printer(number) for number in (1, 2))
        names = {"__name__": "solution", "__builtins__": __builtins__}
        exec(compile(job["code"], "<generated>", "exec"), names)
        function = names.get(job["function"])
        if function is None:
            raise NameError(f"there is no function {job['function']!r} in the code")
        value = function(*call["args"], **call["kwargs"])  # type: ignore[operator]
        try:
            said = dumps({"value": value}, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            said = dumps({"value": as_text(value)[:2_000], "inexact": as_text(value)[:2_000]})
    except BaseException as error:
        said = dumps({"error": f"{type(error).__name__}: {error}"[:2_000]})
    data = said.encode() + b"\n"
    try:
        while data:
            data = data[write(answer_to, data) :]
    finally:
        leave(0)


def _printer(number: int) -> "io.TextIOWrapper":
    return io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", "replace", line_buffering=True)


def _limit(job: dict) -> None:  # type: ignore[type-arg]
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


if __name__ == "__main__":
    main()
