"""Generated code is run where it can do no harm: under bubblewrap it has no network, no home, no file but its
interpreter's and its own scratch folder, and nothing of it is left when it is over.

Where bubblewrap is not installed only time, memory and output are limited. Who runs it then has allowed it,
and the report says what it could have reached."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from baselinekit.errors import CannotReplay, Problem, Refused
from baselinekit.model.graders import FunctionOutput
from baselinekit.model.observation import Finished, Run
from baselinekit.model.running import Ran, Returned
from baselinekit.model.values import ABSENT, Json
from baselinekit.programs.children import said_last

Execute = Callable[[Run], Finished]

_READY = b'{"ready": true}'
_SLACK = 10.0
_MOST_OUTPUT = 20_000_000
_SCRATCH = 64_000_000
_LIMITED = ("time", "memory", "output", "environment")
_KEPT_OUT = (*_LIMITED, "network", "files", "processes")
_WITHIN_REACH = ("network", "files", "processes")
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/alternatives")


class Sandbox:
    """Runs generated functions. `allowed`: the operator lets programs run (--allow-exec); `walls` finds
    what they are run behind."""

    def __init__(
        self, execute: Execute, allowed: bool = False, walls: "Callable[[], str | None] | None" = None
    ):
        self._execute = execute
        self._allowed = allowed
        self._walls = walls or bubblewrap_here

    def run(self, method: FunctionOutput, code: str) -> Ran:
        """All calls of the function in the code. Its results are values and nothing more: what would be right
        stays out here."""
        bubblewrap = self._walls()
        if bubblewrap is None:
            self._check(method)
        with tempfile.TemporaryDirectory(prefix="baselinekit-") as scratch:
            argv = [*(_walls(bubblewrap) if bubblewrap else ()), *_python()]
            job = {
                "code": code,
                "function": method.function_name,
                "calls": [{"args": call.args, "kwargs": call.kwargs} for call in method.test_cases],
                "timeout": float(method.timeout_per_case),
                "memory": method.max_memory_mb,
                "alone": bubblewrap is not None,
            }
            patience = len(method.test_cases) * (float(method.timeout_per_case) + 1) + _SLACK
            finished = self._execute(
                Run(
                    tuple(argv),
                    stdin=json.dumps(job, default=str).encode(),
                    env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                    cwd=scratch,
                    timeout=patience,
                    max_stdout=_MOST_OUTPUT,
                )
            )
        ready, *lines = finished.stdout.splitlines() or [b""]
        if ready != _READY:
            why = f"the sandbox did not start (exit code {finished.exit_code}){said_last(finished.stderr)}"
            return Ran((), flaw=why)
        calls = tuple(_returned(lines))
        contained = _KEPT_OUT if bubblewrap else _LIMITED
        return Ran(calls, contained, () if bubblewrap else _WITHIN_REACH)

    def check(self, method: FunctionOutput) -> None:
        """Refuse beforehand what `run` would refuse."""
        if self._walls() is None:
            self._check(method)

    def _check(self, method: FunctionOutput) -> None:
        """Nobody runs what a model wrote beside the user's files without being told to."""
        mend = "install bubblewrap"
        if method.sandbox:
            mend += ", or say `sandbox: false` and run it with --allow-exec"
            raise CannotReplay(Problem("BK707", "there is no sandbox on this machine", mend))
        if not self._allowed:
            what = "generated code would run outside of a sandbox"
            raise Refused(Problem("BK406", what, f"{mend}, or allow it with --allow-exec"))


@cache
def bubblewrap_here() -> str | None:
    """Where it is, if it is there and may be used: some systems forbid it to ordinary users."""
    found = shutil.which("bwrap") if sys.platform == "linux" else None
    if found is None:
        return None
    import subprocess

    words = [*_walls(found), "/usr/bin/env", "true"]
    try:
        tried = subprocess.run(words, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found if tried.returncode == 0 else None


def _walls(bubblewrap: str) -> list[str]:
    words = [bubblewrap, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    words += ["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox"]
    for folder in (*_SYSTEM, *_interpreter()):
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.exists(folder):
            words += ["--ro-bind", folder, folder]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(_SCRATCH), "--tmpfs", "/tmp"]
    return [*words, "--setenv", "LANG", "C.UTF-8", "--chdir", "/tmp", "--"]


def _interpreter() -> Iterator[str]:
    """The folders of our own interpreter that the system's do not hold: not that of a virtual environment,
    whose packages are none of the code's business."""
    for folder in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix)):
        if not folder.startswith("/usr"):
            yield folder


@cache
def _python() -> tuple[str, ...]:
    program = os.path.realpath(sys.executable)
    source = Path(__file__).with_name("confined.py").read_text("utf-8")
    return program, "-I", "-S", "-B", "-c", source


def _returned(lines: list[bytes]) -> Iterator[Returned]:
    """One line a call. Whatever else stands there ends it: the calls after it were not reached."""
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            return
        if not isinstance(said, dict):
            return
        yield Returned(
            value=said.get("value", ABSENT),
            error=_text(said.get("error")),
            inexact=_text(said.get("inexact")),
            printed=_text(said.get("printed")),
            seconds=float(said["seconds"]) if isinstance(said.get("seconds"), int | float) else 0.0,
        )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
